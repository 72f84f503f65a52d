// SPDX-License-Identifier: Apache-2.0
// The named loops, for the emulated processors. NativeLoops.cpp has the same ones for the host.
#define GID (__builtin_amdgcn_workgroup_id_x() * 256 + __builtin_amdgcn_workitem_id_x())

// 32-bit integers and floats, a few instructions of everything. No memory in the loop.
kernel void mix(global uint *out, uint n) {
  uint i = GID, h = i;
  float f = (float)i;
  for (uint k = 0; k < n; ++k) {
    h ^= h << 13;
    h ^= h >> 17;
    h ^= h << 5;
    h += k * 0x9e3779b9u;
    f = __builtin_fmaf(f, 0.999f, 0.5f);
    f = __builtin_fmaf(f, 1.001f, -0.25f);
  }
  out[i] = h + (uint)f;
}

// The finaliser of MurmurHash3, again and again: shifts, exclusive or, 32-bit products.
kernel void hash(global uint *out, uint n) {
  uint i = GID, x = i;
  for (uint k = 0; k < n; ++k) {
    x ^= x >> 16;
    x *= 0x85ebca6bu;
    x ^= x >> 13;
    x *= 0xc2b2ae35u;
    x ^= x >> 16;
    x += k;
  }
  out[i] = x;
}

// A polynomial of degree 8 by Horner's rule.
kernel void horner(global float *out, uint n) {
  uint i = GID;
  float x = (float)i * 0x1p-16f, sum = 0;
  for (uint k = 0; k < n; ++k) {
    float p = 0.125f;
    p = __builtin_fmaf(p, x, 0.142857f);
    p = __builtin_fmaf(p, x, 0.166667f);
    p = __builtin_fmaf(p, x, 0.2f);
    p = __builtin_fmaf(p, x, 0.25f);
    p = __builtin_fmaf(p, x, 0.333333f);
    p = __builtin_fmaf(p, x, 0.5f);
    p = __builtin_fmaf(p, x, 1.0f);
    p = __builtin_fmaf(p, x, 1.0f);
    sum += p;
    x = x * 0.75f + 0.1f;
  }
  out[i] = sum;
}

// Divergent: lanes leave the loop one by one.
kernel void mandelbrot(global uint *out, uint width, uint limit) {
  uint i = GID;
  float cx = (float)(i % width) * (3.0f / (float)width) - 2.0f;
  float cy = (float)(i / width) * (2.0f / (float)width) - 1.0f;
  float x = 0, y = 0;
  uint k = 0;
  while (x * x + y * y < 4.0f && k < limit) {
    float t = x * x - y * y + cx;
    y = 2 * x * y + cy;
    x = t;
    ++k;
  }
  out[i] = k;
}

// Memory, in order: two loads, one operation and a store.
kernel void saxpy(global float *y, global const float *x, float a, uint n) {
  uint stride = 64 * 256;
  for (uint i = GID; i < n; i += stride)
    y[i] = __builtin_fmaf(a, x[i], y[i]);
}

// Memory, in any order: each lane reads a place of its own.
kernel void gather(global uint *out, global const uint *x, uint mask, uint n) {
  uint i = GID, at = i * 0x9e3779b9u, sum = 0;
  for (uint k = 0; k < n; ++k) {
    at = at * 1664525u + 1013904223u;
    sum += x[(at >> 8) & mask];
  }
  out[i] = sum;
}

// LDS and barriers: a tree of sums over the workgroup.
kernel void reduce(global uint *out, uint n) {
  local uint sums[256];
  uint lane = __builtin_amdgcn_workitem_id_x(), value = GID;
  for (uint k = 0; k < n; ++k) {
    sums[lane] = value + k;
    __builtin_amdgcn_s_barrier();
    for (uint width = 128; width > 0; width >>= 1) {
      if (lane < width)
        sums[lane] += sums[lane + width];
      __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
      __builtin_amdgcn_s_barrier();
      __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
    }
    value = value * 3 + sums[0];
    __builtin_amdgcn_s_barrier();
  }
  out[GID] = value;
}
