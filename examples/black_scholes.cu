// SPDX-License-Identifier: Apache-2.0
// Option prices: logarithm, exponential, square root and error function in single precision, and a
// double-precision kernel beside it.

#include "Check.h"

template <typename T> struct Prices {
  T call, put;
};

template <typename T>
__host__ __device__ Prices<T> price(T spot, T strike, T years, T rate, T volatility) {
  T root = sqrt(years);
  T d1 = (log(spot / strike) + (rate + volatility * volatility / 2) * years) / (volatility * root);
  T d2 = d1 - volatility * root;
  T half = T(0.70710678118654752440);
  T n1 = erfc(-d1 * half) / 2, n2 = erfc(-d2 * half) / 2;
  T discounted = strike * exp(-rate * years);
  return {spot * n1 - discounted * n2, discounted * (1 - n2) - spot * (1 - n1)};
}

template <typename T>
__global__ void priceAll(const float *spots, const float *strikes, const float *years, T *calls,
                         T *puts, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  Prices<T> prices = price<T>(spots[i], strikes[i], years[i], T(0.02), T(0.3));
  calls[i] = prices.call;
  puts[i] = prices.put;
}

template <typename T> void run(const char *what, double tolerance) {
  const int n = 4096;
  std::vector<float> spots(n), strikes(n), years(n);
  for (int i = 0; i < n; ++i) {
    spots[i] = 5 + 25 * uniform(3 * i);
    strikes[i] = 1 + 99 * uniform(3 * i + 1);
    years[i] = 0.25f + 9.75f * uniform(3 * i + 2);
  }
  float *deviceSpots = upload(spots), *deviceStrikes = upload(strikes),
        *deviceYears = upload(years);
  T *calls, *puts;
  CHECK(cudaMalloc(&calls, n * sizeof(T)));
  CHECK(cudaMalloc(&puts, n * sizeof(T)));
  priceAll<T><<<n / 128, 128>>>(deviceSpots, deviceStrikes, deviceYears, calls, puts, n);
  checkLaunch(what);
  std::vector<T> hostCalls = download(calls, n), hostPuts = download(puts, n);
  for (int i = 0; i < n; ++i) {
    Prices<double> expected = price<double>(spots[i], strikes[i], years[i], 0.02, 0.3);
    if (!(std::fabs(hostCalls[i] - expected.call) <= tolerance))
      fail(what, i, expected.call, hostCalls[i]);
    if (!(std::fabs(hostPuts[i] - expected.put) <= tolerance))
      fail(what, i, expected.put, hostPuts[i]);
  }
  for (float *pointer : {deviceSpots, deviceStrikes, deviceYears})
    CHECK(cudaFree(pointer));
  CHECK(cudaFree(calls));
  CHECK(cudaFree(puts));
}

int main() {
  run<float>("single precision", 1e-4);
  run<double>("double precision", 1e-12);
  return pass("black_scholes");
}
