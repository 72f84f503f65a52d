// SPDX-License-Identifier: Apache-2.0
// Thrust: scans, sums, sorts, sets and searches. TYPE is one of the types of Checked.h.
#include "Checked.h"
#include <thrust/adjacent_difference.h>
#include <thrust/binary_search.h>
#include <thrust/copy.h>
#include <thrust/count.h>
#include <thrust/device_vector.h>
#include <thrust/extrema.h>
#include <thrust/functional.h>
#include <thrust/gather.h>
#include <thrust/inner_product.h>
#include <thrust/merge.h>
#include <thrust/partition.h>
#include <thrust/reduce.h>
#include <thrust/remove.h>
#include <thrust/scan.h>
#include <thrust/sequence.h>
#include <thrust/set_operations.h>
#include <thrust/sort.h>
#include <thrust/transform.h>
#include <thrust/transform_reduce.h>
#include <thrust/transform_scan.h>
#include <thrust/unique.h>

template <class T> struct Add {
  __host__ __device__ T operator()(const T &a, const T &b) const { return a + b; }
};
template <class T> struct Twice {
  __host__ __device__ T operator()(const T &a) const { return a + a; }
};
template <class T> struct Below {
  T limit;
  __host__ __device__ bool operator()(const T &value) const { return value < limit; }
};

template <class T> std::vector<T> hostOf(const thrust::device_vector<T> &values, size_t n) {
  std::vector<T> result(n);
  thrust::copy(values.begin(), values.begin() + ptrdiff_t(n), result.begin());
  return result;
}
template <class T> std::vector<T> hostOf(const thrust::device_vector<T> &values) {
  return hostOf(values, values.size());
}

template <class T> void scansAndSums() {
  const std::vector<T> in = inputs<T>(elements);
  const thrust::device_vector<T> input(in);
  thrust::device_vector<T> output(elements);
  std::vector<T> expected(elements);
  std::partial_sum(in.begin(), in.end(), expected.begin(), Add<T>());
  thrust::inclusive_scan(input.begin(), input.end(), output.begin(), Add<T>());
  check("inclusive scan", nameOf<T>(), hostOf(output), expected);

  for (T &value : expected)
    value = value + value;
  thrust::transform_inclusive_scan(input.begin(), input.end(), output.begin(), Twice<T>(),
                                   Add<T>());
  check("transformed scan", nameOf<T>(), hostOf(output), expected);

  check("sum", nameOf<T>(),
        std::vector<T>{thrust::reduce(input.begin(), input.end(), T{}, Add<T>())},
        std::vector<T>{std::accumulate(in.begin(), in.end(), T{}, Add<T>())});
  check("transformed sum", nameOf<T>(),
        std::vector<T>{
            thrust::transform_reduce(input.begin(), input.end(), Twice<T>(), T{}, Add<T>())},
        std::vector<T>{expected.back()});

  const std::vector<int32_t> keys = runs<int32_t>(elements, 900);
  const thrust::device_vector<int32_t> keysOfRuns(keys);
  for (size_t i = 0; i < elements; ++i)
    expected[i] = i && keys[i] == keys[i - 1] ? expected[i - 1] + in[i - 1] : T{};
  thrust::exclusive_scan_by_key(keysOfRuns.begin(), keysOfRuns.end(), input.begin(),
                                output.begin(), T{}, thrust::equal_to<int32_t>(), Add<T>());
  check("exclusive scan by key", nameOf<T>(), hostOf(output), expected);

  thrust::device_vector<int32_t> keysOut(elements);
  const auto ends = thrust::reduce_by_key(keysOfRuns.begin(), keysOfRuns.end(), input.begin(),
                                          keysOut.begin(), output.begin(),
                                          thrust::equal_to<int32_t>(), Add<T>());
  std::vector<T> sums;
  for (size_t i = 0; i < elements; ++i)
    if (i && keys[i] == keys[i - 1])
      sums.back() = sums.back() + in[i];
    else
      sums.push_back(in[i]);
  check("sums by key", nameOf<T>(), hostOf(output, size_t(ends.second - output.begin())), sums);

  std::adjacent_difference(in.begin(), in.end(), expected.begin());
  thrust::adjacent_difference(input.begin(), input.end(), output.begin());
  check("differences", nameOf<T>(), hostOf(output), expected);

  const auto extrema = thrust::minmax_element(input.begin(), input.end());
  check("places of minimum and maximum", nameOf<T>(),
        std::vector<int64_t>{extrema.first - input.begin(), extrema.second - input.begin()},
        std::vector<int64_t>{std::min_element(in.begin(), in.end()) - in.begin(),
                             std::max_element(in.begin(), in.end()) - in.begin()});
}

template <class T> void sorts() {
  const std::vector<T> in = wideInputs<T>(elements);
  thrust::device_vector<T> values(in);
  std::vector<T> sorted = in;
  std::sort(sorted.begin(), sorted.end());
  thrust::sort(values.begin(), values.end());
  check("sort", nameOf<T>(), hostOf(values), sorted);

  const std::vector<T> few = inputs<T>(elements, 2);
  std::vector<int32_t> order(elements);
  std::iota(order.begin(), order.end(), 0);
  thrust::device_vector<T> keys(few);
  thrust::device_vector<int32_t> places(elements);
  thrust::sequence(places.begin(), places.end());
  std::stable_sort(order.begin(), order.end(),
                   [&](int32_t a, int32_t b) { return few[size_t(b)] < few[size_t(a)]; });
  thrust::stable_sort_by_key(keys.begin(), keys.end(), places.begin(), thrust::greater<T>());
  check("places of stable sort by key", nameOf<T>(), hostOf(places), order);

  thrust::device_vector<T> gathered(elements);
  std::vector<T> expected(elements);
  for (size_t i = 0; i < elements; ++i)
    expected[i] = sorted[size_t(order[i])];
  thrust::gather(places.begin(), places.end(), values.begin(), gathered.begin());
  check("gather", nameOf<T>(), hostOf(gathered), expected);

  thrust::device_vector<int64_t> bounds(elements);
  std::vector<int64_t> expectedBounds(elements);
  const thrust::device_vector<T> sought(few);
  for (size_t i = 0; i < elements; ++i)
    expectedBounds[i] = std::lower_bound(sorted.begin(), sorted.end(), few[i]) - sorted.begin();
  thrust::lower_bound(values.begin(), values.end(), sought.begin(), sought.end(), bounds.begin());
  check("lower bounds", nameOf<T>(), hostOf(bounds), expectedBounds);
}

template <class T> void selections() {
  const std::vector<T> in = inputs<T>(elements);
  const thrust::device_vector<T> input(in);
  const Below<T> below{in[3]};
  thrust::device_vector<T> output(input);
  auto kept = thrust::remove_if(output.begin(), output.end(), below);
  std::vector<T> expected;
  std::remove_copy_if(in.begin(), in.end(), std::back_inserter(expected), below);
  check("remove if", nameOf<T>(), hostOf(output, size_t(kept - output.begin())), expected);

  kept = thrust::copy_if(input.begin(), input.end(), output.begin(), below);
  expected.clear();
  std::copy_if(in.begin(), in.end(), std::back_inserter(expected), below);
  check("copy if", nameOf<T>(), hostOf(output, size_t(kept - output.begin())), expected);
  check("count if", nameOf<T>(),
        std::vector<int64_t>{thrust::count_if(input.begin(), input.end(), below)},
        std::vector<int64_t>{int64_t(expected.size())});

  output = input;
  thrust::stable_partition(output.begin(), output.end(), below);
  expected = in;
  std::stable_partition(expected.begin(), expected.end(), below);
  check("stable partition", nameOf<T>(), hostOf(output), expected);

  expected = runs<T>(elements, 4);
  thrust::device_vector<T> repeated(expected);
  expected.erase(std::unique(expected.begin(), expected.end()), expected.end());
  kept = thrust::unique(repeated.begin(), repeated.end());
  check("unique", nameOf<T>(), hostOf(repeated, size_t(kept - repeated.begin())), expected);
}

template <class T> void sets() {
  std::vector<T> a = inputs<T>(elements / 2, 5), b = inputs<T>(elements / 2 + 77, 6);
  for (size_t i = 0; i < a.size(); i += 3)
    b[i] = a[i];
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  const thrust::device_vector<T> first(a), second(b);
  thrust::device_vector<T> output(a.size() + b.size());
  auto compare = [&](const char *name, auto end, auto host) {
    std::vector<T> expected;
    host(std::back_inserter(expected));
    check(name, nameOf<T>(), hostOf(output, size_t(end - output.begin())), expected);
  };
#define SET(name, function)                                                                        \
  compare(name,                                                                                    \
          thrust::function(first.begin(), first.end(), second.begin(), second.end(),               \
                           output.begin()),                                                        \
          [&](auto out) { std::function(a.begin(), a.end(), b.begin(), b.end(), out); })
  SET("merge", merge);
  SET("union", set_union);
  SET("intersection", set_intersection);
  SET("difference of sets", set_difference);
  SET("symmetric difference", set_symmetric_difference);
#undef SET
}

int main(int count, char **arguments) {
  readArguments(count, arguments);
  scansAndSums<TYPE>();
  sorts<TYPE>();
  selections<TYPE>();
  sets<TYPE>();
  return report();
}
