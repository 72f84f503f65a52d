// SPDX-License-Identifier: Apache-2.0
// The loops of Loops.cl for the host's vector instructions, in whole: each call does what one
// launch does.
#pragma once

#include <cstdint>

namespace native {
void mix(uint32_t *out, uint32_t count, uint32_t steps);
void hash(uint32_t *out, uint32_t count, uint32_t steps);
void horner(float *out, uint32_t count, uint32_t steps);
void mandelbrot(uint32_t *out, uint32_t count, uint32_t width, uint32_t limit);
void saxpy(float *y, const float *x, float a, uint32_t count);
void gather(uint32_t *out, const uint32_t *x, uint32_t mask, uint32_t count, uint32_t steps);
} // namespace native
