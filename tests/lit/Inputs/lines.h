// SPDX-License-Identifier: Apache-2.0
#pragma once
__device__ inline float square(float x) { return x * x; }

__device__ inline float length(float x, float y) {
  float sum = square(x) + square(y);
  return sqrtf(sum);
}
