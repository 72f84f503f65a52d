// SPDX-License-Identifier: Apache-2.0
// What the examples share: a failed CUDA call ends the program with a message, and every program
// ends with `PASS <name>` and status 0, or says what differs and ends with status 1.

#pragma once

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call) checkCuda(call, #call, __LINE__)

inline void checkCuda(cudaError_t status, const char *call, int line) {
  if (status == cudaSuccess)
    return;
  printf("FAIL line %d: %s: %s\n", line, call, cudaGetErrorString(status));
  exit(1);
}

/// The error of a launch, and of the kernel that it started.
inline void checkLaunch(const char *kernel) {
  cudaError_t status = cudaGetLastError();
  if (status == cudaSuccess)
    status = cudaDeviceSynchronize();
  if (status == cudaSuccess)
    return;
  printf("FAIL %s: %s\n", kernel, cudaGetErrorString(status));
  exit(1);
}

[[noreturn]] inline void fail(const char *what, long long index, double expected, double found) {
  printf("FAIL %s: element %lld is %.9g, expected %.9g\n", what, index, found, expected);
  exit(1);
}

template <typename T>
void expectEqual(const char *what, const std::vector<T> &found, const std::vector<T> &expected) {
  for (size_t i = 0; i < expected.size(); ++i)
    if (found[i] != expected[i])
      fail(what, i, double(expected[i]), double(found[i]));
}

/// |found - expected| <= tolerance * max(1, |expected|); a NaN is never near.
inline void expectNear(const char *what, const std::vector<float> &found,
                       const std::vector<float> &expected, double tolerance) {
  for (size_t i = 0; i < expected.size(); ++i) {
    double scale = std::fmax(1.0, std::fabs(expected[i]));
    if (!(std::fabs(double(found[i]) - expected[i]) <= tolerance * scale))
      fail(what, i, expected[i], found[i]);
  }
}

inline int pass(const char *name) {
  printf("PASS %s\n", name);
  return 0;
}

/// The same numbers on every machine: the 32-bit finaliser of MurmurHash3 as a counter-based
/// generator.
__host__ __device__ inline uint32_t mix(uint32_t x) {
  x ^= x >> 16;
  x *= 0x85ebca6bu;
  x ^= x >> 13;
  x *= 0xc2b2ae35u;
  return x ^ (x >> 16);
}

/// In [0, 1), a multiple of 2^-24.
inline float uniform(uint32_t index) { return (mix(index + 1) >> 8) * (1.0f / 16777216.0f); }

/// A copy of a vector in device memory.
template <typename T> T *upload(const std::vector<T> &host) {
  T *device;
  CHECK(cudaMalloc(&device, host.size() * sizeof(T)));
  CHECK(cudaMemcpy(device, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice));
  return device;
}

template <typename T> std::vector<T> download(const T *device, size_t count) {
  std::vector<T> host(count);
  CHECK(cudaMemcpy(host.data(), device, count * sizeof(T), cudaMemcpyDeviceToHost));
  return host;
}
