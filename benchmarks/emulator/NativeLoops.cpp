// SPDX-License-Identifier: Apache-2.0
// Blocks of lanes that the compiler keeps in vector registers, as a translator of the kernels
// would.
#include "benchmarks/emulator/NativeLoops.h"
#include <bit>

namespace {
constexpr uint32_t kLanes = 32;

float fused(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
} // namespace

#define LANES                                                                                      \
  _Pragma("clang loop vectorize(enable) unroll(full)") for (uint32_t l = 0; l < kLanes; ++l)

void native::mix(uint32_t *out, uint32_t count, uint32_t steps) {
  for (uint32_t first = 0; first < count; first += kLanes) {
    uint32_t h[kLanes];
    float f[kLanes];
    LANES h[l] = first + l, f[l] = float(first + l);
    for (uint32_t k = 0; k < steps; ++k)
      LANES {
        h[l] ^= h[l] << 13, h[l] ^= h[l] >> 17, h[l] ^= h[l] << 5, h[l] += k * 0x9e3779b9u;
        f[l] = fused(fused(f[l], 0.999f, 0.5f), 1.001f, -0.25f);
      }
    LANES out[first + l] = h[l] + uint32_t(int32_t(f[l]));
  }
}

void native::hash(uint32_t *out, uint32_t count, uint32_t steps) {
  for (uint32_t first = 0; first < count; first += kLanes) {
    uint32_t x[kLanes];
    LANES x[l] = first + l;
    for (uint32_t k = 0; k < steps; ++k)
      LANES {
        x[l] ^= x[l] >> 16, x[l] *= 0x85ebca6bu, x[l] ^= x[l] >> 13, x[l] *= 0xc2b2ae35u;
        x[l] ^= x[l] >> 16, x[l] += k;
      }
    LANES out[first + l] = x[l];
  }
}

void native::horner(float *out, uint32_t count, uint32_t steps) {
  constexpr float kFactors[] = {0.142857f, 0.166667f, 0.2f, 0.25f, 0.333333f, 0.5f, 1.0f, 1.0f};
  for (uint32_t first = 0; first < count; first += kLanes) {
    float x[kLanes], sum[kLanes];
    LANES x[l] = float(first + l) * 0x1p-16f, sum[l] = 0;
    for (uint32_t k = 0; k < steps; ++k)
      LANES {
        float p = 0.125f;
        for (float factor : kFactors)
          p = fused(p, x[l], factor);
        sum[l] += p;
        x[l] = x[l] * 0.75f + 0.1f;
      }
    LANES out[first + l] = sum[l];
  }
}

void native::mandelbrot(uint32_t *out, uint32_t count, uint32_t width, uint32_t limit) {
  for (uint32_t first = 0; first < count; first += kLanes) {
    float cx[kLanes], cy[kLanes], x[kLanes] = {}, y[kLanes] = {};
    uint32_t k[kLanes] = {};
    LANES {
      const uint32_t column = (first + l) % width, row = (first + l) / width;
      cx[l] = float(column) * (3.0f / float(width)) - 2.0f;
      cy[l] = float(row) * (2.0f / float(width)) - 1.0f;
    }
    for (uint32_t step = 0; step < limit; ++step) {
      uint32_t any = 0;
      LANES {
        const uint32_t inside = x[l] * x[l] + y[l] * y[l] < 4.0f ? 1 : 0;
        const float t = x[l] * x[l] - y[l] * y[l] + cx[l];
        y[l] = inside ? 2 * x[l] * y[l] + cy[l] : y[l];
        x[l] = inside ? t : x[l];
        k[l] += inside;
        any |= inside;
      }
      if (!any)
        break;
    }
    LANES out[first + l] = k[l];
  }
}

void native::saxpy(float *__restrict y, const float *__restrict x, float a, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i)
    y[i] = fused(a, x[i], y[i]);
}

void native::gather(uint32_t *out, const uint32_t *x, uint32_t mask, uint32_t count,
                    uint32_t steps) {
  for (uint32_t first = 0; first < count; first += kLanes) {
    uint32_t at[kLanes], sum[kLanes] = {};
    LANES at[l] = (first + l) * 0x9e3779b9u;
    for (uint32_t k = 0; k < steps; ++k)
      LANES {
        at[l] = at[l] * 1664525u + 1013904223u;
        sum[l] += x[(at[l] >> 8) & mask];
      }
    LANES out[first + l] = sum[l];
  }
}
