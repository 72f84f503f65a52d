// SPDX-License-Identifier: Apache-2.0
// cub::DeviceSelect, cub::DevicePartition
#include "Checked.h"

template <class T> struct Below {
  T limit;
  __host__ __device__ bool operator()(const T &value) const { return value < limit; }
};
struct Equal {
  template <class T> __host__ __device__ bool operator()(const T &a, const T &b) const {
    return a == b;
  }
};

template <class T> void selections() {
  const int n = int(elements);
  const std::vector<T> in = inputs<T>(elements);
  const Below<T> below{in[11]}, farBelow{in[5] < in[11] ? in[5] : in[17]};
  std::vector<uint8_t> flags(elements);
  std::vector<T> selected, rest, flagged;
  for (size_t i = 0; i < elements; ++i) {
    (below(in[i]) ? selected : rest).push_back(in[i]);
    flags[i] = noise(i + 99) % 3 == 0;
    if (flags[i])
      flagged.push_back(in[i]);
  }
  std::vector<T> parted = selected;
  parted.insert(parted.end(), rest.rbegin(), rest.rend());

  Buffer<T> input(in), output(elements), second(elements), third(elements);
  Buffer<uint8_t> flagsBuffer(flags);
  Buffer<int32_t> number(2);
  auto found = [&] { return std::min<size_t>(size_t(number.host()[0]), elements); };
  withStorage([&](void *storage, size_t &bytes) {
    return cub::DeviceSelect::If(storage, bytes, input.get(), output.get(), number.get(), n, below);
  });
  check("select if", nameOf<T>(), output.host(found()), selected);
  withStorage([&](void *storage, size_t &bytes) {
    return cub::DeviceSelect::Flagged(storage, bytes, input.get(), flagsBuffer.get(), output.get(),
                                      number.get(), n);
  });
  check("select flagged", nameOf<T>(), output.host(found()), flagged);
  withStorage([&](void *storage, size_t &bytes) {
    return cub::DevicePartition::If(storage, bytes, input.get(), output.get(), number.get(), n,
                                    below);
  });
  check("partition if", nameOf<T>(), output.host(), parted);
  withStorage([&](void *storage, size_t &bytes) {
    return cub::DevicePartition::If(storage, bytes, input.get(), output.get(), second.get(),
                                    third.get(), number.get(), n, farBelow, below);
  });
  std::vector<T> three[3];
  for (const T &value : in)
    three[farBelow(value) ? 0 : below(value) ? 1 : 2].push_back(value);
  check("first of three parts", nameOf<T>(), output.host(found()), three[0]);
  check("second of three parts", nameOf<T>(),
        second.host(std::min<size_t>(size_t(number.host()[1]), elements)), three[1]);
  check("third of three parts", nameOf<T>(), third.host(three[2].size()), three[2]);

  const std::vector<T> keys = runs<T>(elements, 6);
  Buffer<T> keysBuffer(keys);
  Buffer<int64_t> values(inputs<int64_t>(elements)), valuesOut(elements);
  const std::vector<int64_t> valuesIn = values.host();
  std::vector<T> unique;
  std::vector<int64_t> uniqueValues;
  for (size_t i = 0; i < elements; ++i)
    if (i == 0 || keys[i] != keys[i - 1]) {
      unique.push_back(keys[i]);
      uniqueValues.push_back(valuesIn[i]);
    }
  withStorage([&](void *storage, size_t &bytes) {
    return cub::DeviceSelect::Unique(storage, bytes, keysBuffer.get(), output.get(), number.get(),
                                     n);
  });
  check("unique", nameOf<T>(), output.host(found()), unique);
  withStorage([&](void *storage, size_t &bytes) {
    return cub::DeviceSelect::UniqueByKey(storage, bytes, keysBuffer.get(), values.get(),
                                          output.get(), valuesOut.get(), number.get(), n, Equal());
  });
  check("keys of unique by key", nameOf<T>(), output.host(found()), unique);
  check("values of unique by key", nameOf<T>(), valuesOut.host(found()), uniqueValues);
}

int main(int count, char **arguments) {
  readArguments(count, arguments);
  selections<int32_t>();
  selections<int64_t>();
  selections<float>();
  selections<double>();
  selections<Record>();
  return report();
}
