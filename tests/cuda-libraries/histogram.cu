// SPDX-License-Identifier: Apache-2.0
// cub::DeviceHistogram
#include "Checked.h"

template <class T> void histograms() {
  const int n = int(elements);
  std::vector<T> in(elements);
  for (size_t i = 0; i < elements; ++i)
    in[i] = T(noise(i) % 1100) - T(50);
  Buffer<T> input(in);

  // Many bins need memory outside of shared memory.
  for (int bins : {10, 250, 1000}) {
    Buffer<int32_t> counts{size_t(bins)};
    std::vector<int32_t> expected(size_t(bins), 0);
    for (const T &value : in)
      if (value >= T(0) && value < T(1000))
        ++expected[size_t(int(value) / (1000 / bins))];
    withStorage([&](void *storage, size_t &bytes) {
      return cub::DeviceHistogram::HistogramEven(storage, bytes, input.get(), counts.get(),
                                                 bins + 1, T(0), T(1000), n);
    });
    check(("even histogram, " + std::to_string(bins) + " bins").c_str(), nameOf<T>(),
          counts.host(), expected);
  }

  const std::vector<T> limits = {T(-10), T(0), T(1), T(3), T(100), T(777), T(1001)};
  Buffer<T> limitsBuffer(limits);
  Buffer<int32_t> counts(limits.size() - 1);
  std::vector<int32_t> expected(limits.size() - 1, 0);
  for (const T &value : in)
    for (size_t bin = 0; bin + 1 < limits.size(); ++bin)
      expected[bin] += value >= limits[bin] && value < limits[bin + 1];
  withStorage([&](void *storage, size_t &bytes) {
    return cub::DeviceHistogram::HistogramRange(storage, bytes, input.get(), counts.get(),
                                                int(limits.size()), limitsBuffer.get(), n);
  });
  check("histogram of ranges", nameOf<T>(), counts.host(), expected);
}

void channels() {
  std::vector<uint8_t> in(4 * elements);
  for (size_t i = 0; i < in.size(); ++i)
    in[i] = uint8_t(noise(i / 3));
  std::vector<int32_t> expected[3];
  for (auto &one : expected)
    one.assign(256, 0);
  for (size_t i = 0; i < in.size(); ++i)
    if (i % 4 < 3)
      ++expected[i % 4][in[i]];
  Buffer<uint8_t> input(in);
  Buffer<int32_t> red(256), green(256), blue(256);
  int32_t *counts[3] = {red.get(), green.get(), blue.get()};
  int levels[3] = {257, 257, 257}, lower[3] = {}, upper[3] = {256, 256, 256};
  withStorage([&](void *storage, size_t &bytes) {
    return cub::DeviceHistogram::MultiHistogramEven<4, 3>(storage, bytes, input.get(), counts,
                                                          levels, lower, upper, int(elements));
  });
  check("first of four channels", "uint8", red.host(), expected[0]);
  check("second of four channels", "uint8", green.host(), expected[1]);
  check("third of four channels", "uint8", blue.host(), expected[2]);
}

int main(int count, char **arguments) {
  readArguments(count, arguments);
  histograms<int32_t>();
  histograms<int64_t>();
  histograms<float>();
  histograms<double>();
  channels();
  return report();
}
