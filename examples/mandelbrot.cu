// SPDX-License-Identifier: Apache-2.0
// Iterations until a point leaves the circle: every lane of a warp loops a different number of
// times. The arithmetic is rounded operation by operation (no contraction), so the host gets the
// same numbers.

#include "Check.h"

constexpr int kWidth = 160, kHeight = 120, kLimit = 100;

__host__ __device__ inline float times(float a, float b) {
#ifdef __CUDA_ARCH__
  return __fmul_rn(a, b);
#else
  volatile float product = a * b;
  return product;
#endif
}

__host__ __device__ inline float plus(float a, float b) {
#ifdef __CUDA_ARCH__
  return __fadd_rn(a, b);
#else
  volatile float sum = a + b;
  return sum;
#endif
}

__host__ __device__ inline int iterations(int x, int y) {
  float real = plus(times(float(x), 3.0f / kWidth), -2.25f);
  float imaginary = plus(times(float(y), 2.5f / kHeight), -1.25f);
  float a = 0, b = 0;
  int i = 0;
  while (i < kLimit && plus(times(a, a), times(b, b)) <= 4.0f) {
    float next = plus(plus(times(a, a), -times(b, b)), real);
    b = plus(times(times(2.0f, a), b), imaginary);
    a = next;
    ++i;
  }
  return i;
}

__global__ void draw(int *image) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < kWidth && y < kHeight)
    image[y * kWidth + x] = iterations(x, y);
}

int main() {
  std::vector<int> expected(kWidth * kHeight);
  for (int y = 0; y < kHeight; ++y)
    for (int x = 0; x < kWidth; ++x)
      expected[y * kWidth + x] = iterations(x, y);
  int *image;
  CHECK(cudaMalloc(&image, expected.size() * sizeof(int)));
  draw<<<dim3((kWidth + 31) / 32, (kHeight + 7) / 8), dim3(32, 8)>>>(image);
  checkLaunch("draw");
  expectEqual("iterations", download(image, expected.size()), expected);
  CHECK(cudaFree(image));
  return pass("mandelbrot");
}
