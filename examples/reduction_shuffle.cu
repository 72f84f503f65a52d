// SPDX-License-Identifier: Apache-2.0
// Sum, minimum and maximum of a vector: shuffles inside a warp, shared memory between warps,
// atomics between blocks.

#include "Check.h"
#include <algorithm>
#include <climits>

struct Result {
  unsigned long long sum;
  int min, max;
};

template <typename T, typename Combine> __device__ T reduceWarp(T value, Combine combine) {
  for (int offset = 16; offset > 0; offset /= 2)
    value = combine(value, __shfl_down_sync(0xffffffffu, value, offset));
  return value;
}

__global__ void reduce(const int *input, int n, Result *result) {
  __shared__ long long sums[32];
  __shared__ int mins[32], maxs[32];
  long long sum = 0;
  int low = INT_MAX, high = INT_MIN;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    sum += input[i];
    low = min(low, input[i]);
    high = max(high, input[i]);
  }
  auto add = [](long long a, long long b) { return a + b; };
  auto smaller = [](int a, int b) { return min(a, b); };
  auto larger = [](int a, int b) { return max(a, b); };
  sum = reduceWarp(sum, add);
  low = reduceWarp(low, smaller);
  high = reduceWarp(high, larger);
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32, warps = blockDim.x / 32;
  if (lane == 0) {
    sums[warp] = sum;
    mins[warp] = low;
    maxs[warp] = high;
  }
  __syncthreads();
  if (warp != 0)
    return;
  sum = reduceWarp(lane < warps ? sums[lane] : 0ll, add);
  low = reduceWarp(lane < warps ? mins[lane] : INT_MAX, smaller);
  high = reduceWarp(lane < warps ? maxs[lane] : INT_MIN, larger);
  if (lane == 0) {
    atomicAdd(&result->sum, static_cast<unsigned long long>(sum));
    atomicMin(&result->min, low);
    atomicMax(&result->max, high);
  }
}

// Every lane gets the sum of its group of `width` lanes.
__global__ void groupSums(const int *input, int *output, int width) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, value = input[i];
  for (int mask = width / 2; mask > 0; mask /= 2)
    value += __shfl_xor_sync(0xffffffffu, value, mask, width);
  output[i] = value;
}

int main() {
  const int n = 200000;
  std::vector<int> input(n);
  long long sum = 0;
  for (int i = 0; i < n; ++i) {
    input[i] = int(mix(i));
    sum += input[i];
  }
  int *device = upload(input);
  Result *deviceResult;
  CHECK(cudaMalloc(&deviceResult, sizeof(Result)));
  Result result{0, INT_MAX, INT_MIN};
  CHECK(cudaMemcpy(deviceResult, &result, sizeof(result), cudaMemcpyHostToDevice));
  reduce<<<24, 256>>>(device, n, deviceResult);
  checkLaunch("reduce");
  CHECK(cudaMemcpy(&result, deviceResult, sizeof(result), cudaMemcpyDeviceToHost));
  if (static_cast<long long>(result.sum) != sum)
    fail("sum", 0, double(sum), double(static_cast<long long>(result.sum)));
  if (result.min != *std::min_element(input.begin(), input.end()))
    fail("minimum", 0, *std::min_element(input.begin(), input.end()), result.min);
  if (result.max != *std::max_element(input.begin(), input.end()))
    fail("maximum", 0, *std::max_element(input.begin(), input.end()), result.max);

  const int few = 1024;
  int *output;
  CHECK(cudaMalloc(&output, few * sizeof(int)));
  for (int width = 2; width <= 32; width *= 2) {
    groupSums<<<few / 128, 128>>>(device, output, width);
    checkLaunch("groupSums");
    std::vector<int> expected(few);
    for (int i = 0; i < few; ++i) {
      unsigned group = 0;
      for (int k = 0; k < width; ++k)
        group += unsigned(input[i / width * width + k]);
      expected[i] = int(group);
    }
    expectEqual("sum of a group", download(output, few), expected);
  }
  CHECK(cudaFree(device));
  CHECK(cudaFree(deviceResult));
  CHECK(cudaFree(output));
  return pass("reduction_shuffle");
}
