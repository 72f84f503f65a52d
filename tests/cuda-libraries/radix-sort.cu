// SPDX-License-Identifier: Apache-2.0
// cub::DeviceRadixSort
#include "Checked.h"

template <class T> void sorts() {
  const int n = int(elements);
  const std::vector<T> in = wideInputs<T>(elements);
  const std::vector<T> few = inputs<T>(elements);
  Buffer<T> input(in), fewBuffer(few), output(elements);
  std::vector<T> expected = in;
  std::sort(expected.begin(), expected.end());
  withStorage([&](void *storage, size_t &bytes) {
    return cub::DeviceRadixSort::SortKeys(storage, bytes, input.get(), output.get(), n);
  });
  check("sort", nameOf<T>(), output.host(), expected);
  std::reverse(expected.begin(), expected.end());
  withStorage([&](void *storage, size_t &bytes) {
    return cub::DeviceRadixSort::SortKeysDescending(storage, bytes, input.get(), output.get(), n);
  });
  check("descending sort", nameOf<T>(), output.host(), expected);

  // Stable: values of equal keys stay in order.
  std::vector<int64_t> order(elements);
  std::iota(order.begin(), order.end(), 0);
  Buffer<int64_t> values(order), valuesOut(elements);
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return few[size_t(a)] < few[size_t(b)]; });
  withStorage([&](void *storage, size_t &bytes) {
    return cub::DeviceRadixSort::SortPairs(storage, bytes, fewBuffer.get(), output.get(),
                                           values.get(), valuesOut.get(), n);
  });
  check("values of sorted pairs", nameOf<T>(), valuesOut.host(), order);
}

void someBits() {
  const std::vector<uint32_t> in = [] {
    std::vector<uint32_t> values(elements);
    for (size_t i = 0; i < elements; ++i)
      values[i] = uint32_t(noise(i));
    return values;
  }();
  auto digits = [](uint32_t value) { return value >> 5 & 0x7ff; };
  std::vector<uint32_t> expected = in;
  std::stable_sort(expected.begin(), expected.end(),
                   [&](uint32_t a, uint32_t b) { return digits(a) < digits(b); });
  Buffer<uint32_t> input(in), output(elements);
  withStorage([&](void *storage, size_t &bytes) {
    return cub::DeviceRadixSort::SortKeys(storage, bytes, input.get(), output.get(), int(elements),
                                          5, 16);
  });
  check("sort by bits 5 to 15", "uint32", output.host(), expected);
}

int main(int count, char **arguments) {
  readArguments(count, arguments);
  sorts<int32_t>();
  sorts<int64_t>();
  sorts<float>();
  sorts<double>();
  someBits();
  return report();
}
