// SPDX-License-Identifier: Apache-2.0
// What the programs of this folder share: inputs, memory of the device, and comparison with what
// the host computes. Each program prints one line per algorithm, type and size, and fails if any
// result is wrong.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cub/cub.cuh>
#include <numeric>
#include <string>
#include <vector>

/// At least 64 tiles of every algorithm here, and no whole number of them.
inline size_t elements = 600011;
inline int wrongResults = 0;

inline void expectSuccess(cudaError_t error, const char *what) {
  if (error == cudaSuccess)
    return;
  std::printf("FAILED %s: %s\n", what, cudaGetErrorString(error));
  std::exit(1);
}
#define EXPECT_SUCCESS(call) expectSuccess(call, #call)

/// A structure with an order, an equality, and a sum that wraps.
struct Record {
  int64_t key;
  int32_t low, high;
  __host__ __device__ friend bool operator<(const Record &a, const Record &b) {
    return a.key != b.key ? a.key < b.key : a.low < b.low;
  }
  __host__ __device__ friend bool operator>(const Record &a, const Record &b) { return b < a; }
  __host__ __device__ friend bool operator==(const Record &a, const Record &b) {
    return a.key == b.key && a.low == b.low && a.high == b.high;
  }
  __host__ __device__ friend bool operator!=(const Record &a, const Record &b) { return !(a == b); }
  __host__ __device__ friend Record operator+(const Record &a, const Record &b) {
    return {int64_t(uint64_t(a.key) + uint64_t(b.key)), a.low ^ b.low,
            int32_t(uint32_t(a.high) + uint32_t(b.high))};
  }
  __host__ __device__ friend Record operator-(const Record &a, const Record &b) {
    return {int64_t(uint64_t(a.key) - uint64_t(b.key)), a.low ^ b.low,
            int32_t(uint32_t(a.high) - uint32_t(b.high))};
  }
};

template <class T> const char *nameOf();
template <> inline const char *nameOf<int32_t>() { return "int32"; }
template <> inline const char *nameOf<int64_t>() { return "int64"; }
template <> inline const char *nameOf<float>() { return "float"; }
template <> inline const char *nameOf<double>() { return "double"; }
template <> inline const char *nameOf<Record>() { return "struct"; }

/// Noise, the same in every run.
inline uint64_t noise(uint64_t i) {
  i = (i + 1) * 0x9e3779b97f4a7c15;
  i = (i ^ i >> 30) * 0xbf58476d1ce4e5b9;
  i = (i ^ i >> 27) * 0x94d049bb133111eb;
  return i ^ i >> 31;
}

/// A number from noise. Floats are small whole numbers, so that sums are exact in any order.
template <class T> T made(uint64_t bits);
template <> inline int32_t made(uint64_t bits) { return int32_t(bits) % 1000; }
template <> inline int64_t made(uint64_t bits) { return int64_t(bits) >> 20; }
template <> inline float made(uint64_t bits) { return float(int(bits % 7) - 3); }
template <> inline double made(uint64_t bits) { return double(int64_t(bits) >> 32); }
template <> inline Record made(uint64_t bits) {
  return {int64_t(bits) % 100000, int32_t(bits >> 40), int32_t(bits >> 20)};
}
/// One of any value of the type but NaNs and -0.
template <class T> T madeWide(uint64_t bits) { return made<T>(bits); }
template <> inline int32_t madeWide(uint64_t bits) { return int32_t(bits); }
template <> inline int64_t madeWide(uint64_t bits) { return int64_t(bits); }
template <> inline float madeWide(uint64_t bits) { return float(int32_t(bits)) * 1e-3f; }
template <> inline double madeWide(uint64_t bits) { return double(int64_t(bits)) * 1e-3; }

template <class T> std::vector<T> inputs(size_t n, uint64_t seed = 0) {
  std::vector<T> values(n);
  for (size_t i = 0; i < n; ++i)
    values[i] = made<T>(noise(i + (seed << 32)));
  return values;
}
template <class T> std::vector<T> wideInputs(size_t n, uint64_t seed = 0) {
  std::vector<T> values(n);
  for (size_t i = 0; i < n; ++i)
    values[i] = madeWide<T>(noise(i + (seed << 32)));
  return values;
}
/// Keys in runs of 1 to `longest`.
template <class T> std::vector<T> runs(size_t n, unsigned longest) {
  std::vector<T> values(n);
  uint64_t key = 0;
  for (size_t i = 0; i < n; ++key)
    for (uint64_t length = 1 + noise(key) % longest; length && i < n; --length)
      values[i++] = made<T>(noise(key * 3));
  return values;
}

template <class T> class Buffer {
public:
  explicit Buffer(size_t n) : size(n) {
    EXPECT_SUCCESS(cudaMalloc(&pointer, std::max<size_t>(n, 1) * sizeof(T)));
    EXPECT_SUCCESS(cudaMemset(pointer, 0xa5, n * sizeof(T)));
  }
  explicit Buffer(const std::vector<T> &values) : Buffer(values.size()) {
    EXPECT_SUCCESS(cudaMemcpy(pointer, values.data(), size * sizeof(T), cudaMemcpyHostToDevice));
  }
  ~Buffer() { cudaFree(pointer); }
  Buffer(const Buffer &) = delete;
  T *get() const { return pointer; }
  std::vector<T> host() const { return host(size); }
  std::vector<T> host(size_t n) const {
    std::vector<T> values(n);
    EXPECT_SUCCESS(cudaDeviceSynchronize());
    EXPECT_SUCCESS(cudaMemcpy(values.data(), pointer, n * sizeof(T), cudaMemcpyDeviceToHost));
    return values;
  }

private:
  T *pointer = nullptr;
  size_t size;
};

/// Calls an algorithm of CUB twice: for the size of its storage, and to do it.
template <class Algorithm> void withStorage(Algorithm algorithm) {
  size_t bytes = 0;
  EXPECT_SUCCESS(algorithm(nullptr, bytes));
  Buffer<uint8_t> storage(std::max<size_t>(bytes, 1));
  EXPECT_SUCCESS(algorithm(storage.get(), bytes));
  EXPECT_SUCCESS(cudaGetLastError());
  EXPECT_SUCCESS(cudaDeviceSynchronize());
}

template <class T>
void check(const char *what, const char *type, const std::vector<T> &found,
           const std::vector<T> &expected) {
  size_t wrong = found.size() == expected.size() ? 0 : 1, first = 0;
  for (size_t i = 0; i < std::min(found.size(), expected.size()); ++i)
    if (!(found[i] == expected[i]) && wrong++ == 0)
      first = i;
  std::printf("%s %s of %s: %zu of %zu", wrong ? "WRONG" : "ok", what, type,
              expected.size() - std::min(wrong, expected.size()), expected.size());
  if (wrong)
    std::printf(", the first wrong one at %zu; %zu were found", first, found.size());
  std::printf("\n");
  std::fflush(stdout);
  wrongResults += wrong != 0;
}

/// main's arguments: the number of elements.
inline void readArguments(int count, char **arguments) {
  if (count > 1)
    elements = std::strtoull(arguments[1], nullptr, 10);
}
inline int report() {
  std::printf("%s\n", wrongResults ? "FAIL" : "PASS");
  return wrongResults != 0;
}
