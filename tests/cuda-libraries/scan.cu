// SPDX-License-Identifier: Apache-2.0
// cub::DeviceScan
#include "Checked.h"

struct Larger {
  template <class T> __host__ __device__ T operator()(const T &a, const T &b) const {
    return a < b ? b : a;
  }
};
struct Add {
  template <class T> __host__ __device__ T operator()(const T &a, const T &b) const {
    return a + b;
  }
};
// Not commutative: the composition of x -> a x + b.
struct Compose {
  __host__ __device__ int2 operator()(int2 f, int2 g) const {
    return {int(unsigned(f.x) * unsigned(g.x)),
            int(unsigned(g.x) * unsigned(f.y) + unsigned(g.y))};
  }
};

template <class T> void scans() {
  const int n = int(elements);
  const std::vector<T> in = inputs<T>(elements);
  Buffer<T> input(in), output(elements);
  std::vector<T> expected(elements);

  std::partial_sum(in.begin(), in.end(), expected.begin(), Add());
  withStorage([&](void *storage, size_t &bytes) {
    return cub::DeviceScan::InclusiveScan(storage, bytes, input.get(), output.get(), Add(), n);
  });
  check("inclusive sum", nameOf<T>(), output.host(), expected);

  expected.insert(expected.begin(), T{});
  expected.pop_back();
  for (T &value : expected)
    value = value + in[7];
  withStorage([&](void *storage, size_t &bytes) {
    return cub::DeviceScan::ExclusiveScan(storage, bytes, input.get(), output.get(), Add(), in[7],
                                          n);
  });
  check("exclusive sum", nameOf<T>(), output.host(), expected);

  std::partial_sum(in.begin(), in.end(), expected.begin(), Larger());
  withStorage([&](void *storage, size_t &bytes) {
    return cub::DeviceScan::InclusiveScan(storage, bytes, input.get(), output.get(), Larger(), n);
  });
  check("inclusive maximum", nameOf<T>(), output.host(), expected);

  const std::vector<int32_t> keys = runs<int32_t>(elements, 3000);
  Buffer<int32_t> keysBuffer(keys);
  for (size_t i = 0; i < elements; ++i)
    expected[i] = i && keys[i] == keys[i - 1] ? expected[i - 1] + in[i] : in[i];
  withStorage([&](void *storage, size_t &bytes) {
    return cub::DeviceScan::InclusiveScanByKey(storage, bytes, keysBuffer.get(), input.get(),
                                               output.get(), Add(), n);
  });
  check("inclusive sum by key", nameOf<T>(), output.host(), expected);
}

void compositions() {
  std::vector<int2> in(elements), expected(elements);
  for (size_t i = 0; i < elements; ++i)
    in[i] = {int(noise(i) | 1), int(noise(i) >> 32)};
  std::partial_sum(in.begin(), in.end(), expected.begin(), Compose());
  Buffer<int2> input(in), output(elements);
  withStorage([&](void *storage, size_t &bytes) {
    return cub::DeviceScan::InclusiveScan(storage, bytes, input.get(), output.get(), Compose(),
                                          int(elements));
  });
  std::vector<int64_t> found, wanted;
  for (int2 f : output.host())
    found.push_back(int64_t(f.x) << 32 | uint32_t(f.y));
  for (int2 f : expected)
    wanted.push_back(int64_t(f.x) << 32 | uint32_t(f.y));
  check("inclusive composition", "int2", found, wanted);
}

int main(int count, char **arguments) {
  readArguments(count, arguments);
  scans<int32_t>();
  scans<int64_t>();
  scans<float>();
  scans<double>();
  scans<Record>();
  compositions();
  return report();
}
