// SPDX-License-Identifier: Apache-2.0
// cub::DeviceSegmentedReduce, DeviceSegmentedSort, DeviceSegmentedRadixSort
#include "Checked.h"

template <class T> void segments() {
  const int n = int(elements);
  const std::vector<T> in = inputs<T>(elements);
  // Empty, short and long ones.
  std::vector<int32_t> offsets = {0};
  for (uint64_t i = 0; offsets.back() < n; ++i) {
    const uint64_t length = i % 50 == 7    ? 5000 + noise(i) % 20000
                            : i % 5 == 0 ? 0
                                         : noise(i) % 200;
    offsets.push_back(int32_t(std::min<uint64_t>(uint64_t(n), uint64_t(offsets.back()) + length)));
  }
  const int number = int(offsets.size()) - 1;
  Buffer<T> input(in), output(elements), results{size_t(number)};
  Buffer<int32_t> places(offsets);
  std::vector<T> sums, sorted = in;
  for (size_t i = 0; i + 1 < offsets.size(); ++i) {
    sums.push_back(std::accumulate(in.begin() + offsets[i], in.begin() + offsets[i + 1], T{}));
    std::sort(sorted.begin() + offsets[i], sorted.begin() + offsets[i + 1]);
  }
  withStorage([&](void *storage, size_t &bytes) {
    return cub::DeviceSegmentedReduce::Sum(storage, bytes, input.get(), results.get(), number,
                                           places.get(), places.get() + 1);
  });
  check("sums of segments", nameOf<T>(), results.host(), sums);
  withStorage([&](void *storage, size_t &bytes) {
    return cub::DeviceSegmentedSort::SortKeys(storage, bytes, input.get(), output.get(), n, number,
                                              places.get(), places.get() + 1);
  });
  check("sorted segments", nameOf<T>(), output.host(), sorted);
  withStorage([&](void *storage, size_t &bytes) {
    return cub::DeviceSegmentedRadixSort::SortKeys(storage, bytes, input.get(), output.get(), n,
                                                   number, places.get(), places.get() + 1);
  });
  check("segments sorted by radix", nameOf<T>(), output.host(), sorted);

  std::vector<int32_t> order(elements);
  std::iota(order.begin(), order.end(), 0);
  Buffer<int32_t> values(order), valuesOut(elements);
  for (size_t i = 0; i + 1 < offsets.size(); ++i)
    std::stable_sort(order.begin() + offsets[i], order.begin() + offsets[i + 1],
                     [&](int32_t a, int32_t b) { return in[size_t(b)] < in[size_t(a)]; });
  withStorage([&](void *storage, size_t &bytes) {
    return cub::DeviceSegmentedSort::StableSortPairsDescending(
        storage, bytes, input.get(), output.get(), values.get(), valuesOut.get(), n, number,
        places.get(), places.get() + 1);
  });
  check("values of segments in descending order", nameOf<T>(), valuesOut.host(), order);
}

int main(int count, char **arguments) {
  readArguments(count, arguments);
  segments<int32_t>();
  segments<int64_t>();
  segments<float>();
  segments<double>();
  return report();
}
