// SPDX-License-Identifier: Apache-2.0
// cub::DeviceAdjacentDifference, DeviceFor, DeviceTransform, DeviceMemcpy
#include "Checked.h"

struct Difference {
  template <class T> __host__ __device__ T operator()(const T &a, const T &b) const {
    return a - b;
  }
};
template <class T> struct Mark {
  T *output;
  __device__ void operator()(int i) const { output[i] = output[i] + output[i]; }
};
template <class T> struct Twice {
  __host__ __device__ T operator()(const T &a, const T &b) const { return a + b + b; }
};

template <class T> void transformations() {
  const int n = int(elements);
  const std::vector<T> in = inputs<T>(elements), other = inputs<T>(elements, 1);
  Buffer<T> input(in), second(other), output(elements);
  std::vector<T> expected = in;
  std::adjacent_difference(in.begin(), in.end(), expected.begin(), Difference());
  withStorage([&](void *storage, size_t &bytes) {
    return cub::DeviceAdjacentDifference::SubtractLeftCopy(storage, bytes, input.get(),
                                                           output.get(), n, Difference());
  });
  check("differences", nameOf<T>(), output.host(), expected);
  for (size_t i = 0; i + 1 < elements; ++i)
    expected[i] = in[i] - in[i + 1];
  expected.back() = in.back();
  Buffer<T> place(in);
  withStorage([&](void *storage, size_t &bytes) {
    return cub::DeviceAdjacentDifference::SubtractRight(storage, bytes, place.get(), n,
                                                        Difference());
  });
  check("differences in place", nameOf<T>(), place.host(), expected);

  for (size_t i = 0; i < elements; ++i)
    expected[i] = expected[i] + expected[i];
  EXPECT_SUCCESS(cub::DeviceFor::Bulk(n, Mark<T>{place.get()}));
  check("for each index", nameOf<T>(), place.host(), expected);

  for (size_t i = 0; i < elements; ++i)
    expected[i] = Twice<T>()(in[i], other[i]);
  EXPECT_SUCCESS(cub::DeviceTransform::Transform(cuda::std::make_tuple(input.get(), second.get()),
                                                 output.get(), n, Twice<T>()));
  check("transformation of two", nameOf<T>(), output.host(), expected);
}

// Pieces of every size and alignment.
void copies() {
  std::vector<uint8_t> in(elements);
  for (size_t i = 0; i < elements; ++i)
    in[i] = uint8_t(noise(i));
  std::vector<size_t> sizes, from, to;
  for (size_t at = 0, i = 0; at < elements; ++i) {
    const size_t size = std::min(elements - at, size_t(i % 40 == 3 ? noise(i) % 30000 : noise(i) % 70));
    from.push_back(at);
    sizes.push_back(size);
    at += size;
  }
  size_t end = 0;
  std::vector<uint8_t> expected(elements);
  to.resize(sizes.size());
  for (size_t i = sizes.size(); i-- > 0; end += sizes[i]) {
    to[i] = end;
    std::copy_n(in.begin() + ptrdiff_t(from[i]), sizes[i], expected.begin() + ptrdiff_t(end));
  }
  Buffer<uint8_t> input(in), output(elements);
  std::vector<void *> sources, places;
  for (size_t i = 0; i < sizes.size(); ++i) {
    sources.push_back(input.get() + from[i]);
    places.push_back(output.get() + to[i]);
  }
  Buffer<void *> sourcesBuffer(sources), placesBuffer(places);
  Buffer<size_t> sizesBuffer(sizes);
  withStorage([&](void *storage, size_t &bytes) {
    return cub::DeviceMemcpy::Batched(storage, bytes, sourcesBuffer.get(), placesBuffer.get(),
                                      sizesBuffer.get(), unsigned(sizes.size()));
  });
  check("batched copies", "uint8", output.host(), expected);
}

int main(int count, char **arguments) {
  readArguments(count, arguments);
  transformations<int32_t>();
  transformations<int64_t>();
  transformations<float>();
  transformations<double>();
  transformations<Record>();
  copies();
  return report();
}
