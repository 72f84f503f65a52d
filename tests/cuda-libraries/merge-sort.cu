// SPDX-License-Identifier: Apache-2.0
// cub::DeviceMergeSort, cub::DeviceMerge
#include "Checked.h"

struct Less {
  template <class T> __host__ __device__ bool operator()(const T &a, const T &b) const {
    return a < b;
  }
};

template <class T> void sorts() {
  const int n = int(elements);
  const std::vector<T> in = wideInputs<T>(elements);
  const std::vector<T> few = runs<T>(elements, 9);
  std::vector<T> expected = in;
  std::sort(expected.begin(), expected.end());
  Buffer<T> keys(in), output(elements);
  withStorage([&](void *storage, size_t &bytes) {
    return cub::DeviceMergeSort::SortKeysCopy(storage, bytes, keys.get(), output.get(), n, Less());
  });
  check("merge sort", nameOf<T>(), output.host(), expected);

  std::vector<int32_t> order(elements);
  std::iota(order.begin(), order.end(), 0);
  Buffer<int32_t> values(order);
  Buffer<T> fewBuffer(few);
  std::stable_sort(order.begin(), order.end(),
                   [&](int32_t a, int32_t b) { return few[size_t(a)] < few[size_t(b)]; });
  withStorage([&](void *storage, size_t &bytes) {
    return cub::DeviceMergeSort::StableSortPairs(storage, bytes, fewBuffer.get(), values.get(), n,
                                                 Less());
  });
  check("values of stable merge sort", nameOf<T>(), values.host(), order);

  std::vector<T> a(in.begin(), in.begin() + n / 3), b(in.begin() + n / 3, in.end());
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  Buffer<T> first(a), second(b);
  withStorage([&](void *storage, size_t &bytes) {
    return cub::DeviceMerge::MergeKeys(storage, bytes, first.get(), int(a.size()), second.get(),
                                       int(b.size()), output.get(), Less());
  });
  check("merge", nameOf<T>(), output.host(), expected);
}

int main(int count, char **arguments) {
  readArguments(count, arguments);
  sorts<int32_t>();
  sorts<int64_t>();
  sorts<float>();
  sorts<double>();
  sorts<Record>();
  return report();
}
