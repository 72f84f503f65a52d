// SPDX-License-Identifier: Apache-2.0
// A sample of the other programs: scans, whose tiles publish pairs of 8 and of 16 bytes.
#include "Checked.h"
#include <thrust/device_vector.h>
#include <thrust/scan.h>

template <class T> void scans() {
  const std::vector<T> in = inputs<T>(elements);
  Buffer<T> input(in), output(elements);
  std::vector<T> expected(elements);
  std::partial_sum(in.begin(), in.end(), expected.begin());
  withStorage([&](void *storage, size_t &bytes) {
    return cub::DeviceScan::InclusiveSum(storage, bytes, input.get(), output.get(), int(elements));
  });
  check("inclusive sum", nameOf<T>(), output.host(), expected);
}

int main(int count, char **arguments) {
  readArguments(count, arguments);
  scans<int64_t>();
  scans<float>();
  const std::vector<int64_t> in = inputs<int64_t>(elements);
  thrust::device_vector<int64_t> values(in);
  std::vector<int64_t> expected(elements), found(elements);
  std::exclusive_scan(in.begin(), in.end(), expected.begin(), int64_t(0));
  thrust::exclusive_scan(values.begin(), values.end(), values.begin());
  thrust::copy(values.begin(), values.end(), found.begin());
  check("exclusive scan of Thrust", "int64", found, expected);
  return report();
}
