// SPDX-License-Identifier: Apache-2.0
// cub::DeviceReduce, cub::DeviceRunLengthEncode
#include "Checked.h"

struct Add {
  template <class T> __host__ __device__ T operator()(const T &a, const T &b) const {
    return a + b;
  }
};
struct Smaller {
  template <class T> __host__ __device__ T operator()(const T &a, const T &b) const {
    return b < a ? b : a;
  }
};

template <class T> void reductions() {
  const int n = int(elements);
  const std::vector<T> in = inputs<T>(elements);
  Buffer<T> input(in), result(1);
  withStorage([&](void *storage, size_t &bytes) {
    return cub::DeviceReduce::Reduce(storage, bytes, input.get(), result.get(), n, Add(), T{});
  });
  check("sum", nameOf<T>(), result.host(),
        std::vector<T>{std::accumulate(in.begin(), in.end(), T{}, Add())});
  withStorage([&](void *storage, size_t &bytes) {
    return cub::DeviceReduce::Reduce(storage, bytes, input.get(), result.get(), n, Smaller(),
                                     in[0]);
  });
  check("minimum", nameOf<T>(), result.host(),
        std::vector<T>{*std::min_element(in.begin(), in.end())});

  const std::vector<int32_t> keys = runs<int32_t>(elements, 40);
  Buffer<int32_t> keysBuffer(keys), unique(elements), number(1);
  Buffer<T> sums(elements);
  withStorage([&](void *storage, size_t &bytes) {
    return cub::DeviceReduce::ReduceByKey(storage, bytes, keysBuffer.get(), unique.get(),
                                          input.get(), sums.get(), number.get(), Add(), n);
  });
  std::vector<int32_t> wantedKeys;
  std::vector<T> wantedSums;
  for (size_t i = 0; i < elements; ++i)
    if (i && keys[i] == keys[i - 1]) {
      wantedSums.back() = wantedSums.back() + in[i];
    } else {
      wantedKeys.push_back(keys[i]);
      wantedSums.push_back(in[i]);
    }
  const size_t found = std::min<size_t>(size_t(number.host()[0]), elements);
  check("keys of sums by key", nameOf<T>(), unique.host(found), wantedKeys);
  check("sums by key", nameOf<T>(), sums.host(found), wantedSums);
}

template <class T> void standard() {
  const int n = int(elements);
  const std::vector<T> in = wideInputs<T>(elements);
  Buffer<T> input(in), result(1);
  withStorage([&](void *storage, size_t &bytes) {
    return cub::DeviceReduce::Max(storage, bytes, input.get(), result.get(), n);
  });
  check("Max", nameOf<T>(), result.host(), std::vector<T>{*std::max_element(in.begin(), in.end())});
  Buffer<cub::KeyValuePair<int, T>> place(1);
  withStorage([&](void *storage, size_t &bytes) {
    return cub::DeviceReduce::ArgMin(storage, bytes, input.get(), place.get(), n);
  });
  check("ArgMin", nameOf<T>(), std::vector<int64_t>{place.host()[0].key},
        std::vector<int64_t>{std::min_element(in.begin(), in.end()) - in.begin()});
}

template <class T> void runLengths() {
  const int n = int(elements);
  const std::vector<T> in = runs<T>(elements, 5);
  Buffer<T> input(in), unique(elements);
  Buffer<int32_t> lengths(elements), offsets(elements), number(1);
  std::vector<T> wanted;
  std::vector<int32_t> wantedLengths, wantedOffsets, longer;
  for (size_t i = 0; i < elements; ++i) {
    if (i == 0 || in[i] != in[i - 1]) {
      wanted.push_back(in[i]);
      wantedLengths.push_back(0);
      wantedOffsets.push_back(int32_t(i));
    }
    ++wantedLengths.back();
  }
  withStorage([&](void *storage, size_t &bytes) {
    return cub::DeviceRunLengthEncode::Encode(storage, bytes, input.get(), unique.get(),
                                              lengths.get(), number.get(), n);
  });
  size_t found = std::min<size_t>(size_t(number.host()[0]), elements);
  check("values of runs", nameOf<T>(), unique.host(found), wanted);
  check("lengths of runs", nameOf<T>(), lengths.host(found), wantedLengths);
  withStorage([&](void *storage, size_t &bytes) {
    return cub::DeviceRunLengthEncode::NonTrivialRuns(storage, bytes, input.get(), offsets.get(),
                                                      lengths.get(), number.get(), n);
  });
  for (size_t i = 0; i < wantedLengths.size(); ++i)
    if (wantedLengths[i] > 1)
      longer.push_back(wantedOffsets[i]);
  found = std::min<size_t>(size_t(number.host()[0]), elements);
  check("places of longer runs", nameOf<T>(), offsets.host(found), longer);
}

int main(int count, char **arguments) {
  readArguments(count, arguments);
  reductions<int32_t>();
  reductions<int64_t>();
  reductions<float>();
  reductions<double>();
  reductions<Record>();
  standard<int32_t>();
  standard<int64_t>();
  standard<float>();
  standard<double>();
  runLengths<int32_t>();
  runLengths<int64_t>();
  runLengths<double>();
  return report();
}
