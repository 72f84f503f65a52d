// SPDX-License-Identifier: Apache-2.0
// Thrust: what thrust.cu leaves out, algorithms over single elements, searches, keys with values,
// and iterators that compute. TYPE is one of the types of Checked.h.
#include "Checked.h"
#include <thrust/binary_search.h>
#include <thrust/copy.h>
#include <thrust/count.h>
#include <thrust/device_vector.h>
#include <thrust/equal.h>
#include <thrust/extrema.h>
#include <thrust/fill.h>
#include <thrust/find.h>
#include <thrust/for_each.h>
#include <thrust/gather.h>
#include <thrust/inner_product.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/permutation_iterator.h>
#include <thrust/iterator/transform_iterator.h>
#include <thrust/iterator/zip_iterator.h>
#include <thrust/logical.h>
#include <thrust/merge.h>
#include <thrust/mismatch.h>
#include <thrust/partition.h>
#include <thrust/remove.h>
#include <thrust/replace.h>
#include <thrust/reverse.h>
#include <thrust/scan.h>
#include <thrust/scatter.h>
#include <thrust/sequence.h>
#include <thrust/sort.h>
#include <thrust/swap.h>
#include <thrust/tabulate.h>
#include <thrust/transform.h>
#include <thrust/transform_scan.h>
#include <thrust/unique.h>

using T = TYPE;
using Vector = thrust::device_vector<T>;
using Places = thrust::device_vector<int32_t>;

struct Sum {
  __host__ __device__ T operator()(const T &a, const T &b) const { return a + b; }
};
struct Less {
  __host__ __device__ bool operator()(const T &a, const T &b) const { return a < b; }
};
struct Below {
  T limit;
  __host__ __device__ bool operator()(const T &value) const { return value < limit; }
};
struct Scrambled {
  __host__ __device__ int32_t operator()(int32_t i) const { return int32_t(i * 7919ll % 600011); }
};
struct AddTo {
  T *values;
  __host__ __device__ void operator()(int32_t i) const { values[i] = values[i] + values[i]; }
};

template <class V> std::vector<V> hostOf(const thrust::device_vector<V> &values, ptrdiff_t n = -1) {
  std::vector<V> result(n < 0 ? values.size() : size_t(n));
  thrust::copy_n(values.begin(), result.size(), result.begin());
  return result;
}
void expect(const char *what, const std::vector<T> &found, const std::vector<T> &expected) {
  check(what, nameOf<T>(), found, expected);
}
void expectNumbers(const char *what, std::vector<int64_t> found, std::vector<int64_t> expected) {
  check(what, nameOf<T>(), found, expected);
}

const std::vector<T> in = inputs<T>(elements), other = inputs<T>(elements, 9);
const Vector input(in), second(other);
const Below below{in[3]};

void single() {
  Vector out(elements);
  std::vector<T> expected(elements);
  thrust::transform(input.begin(), input.end(), second.begin(), out.begin(), Sum());
  std::transform(in.begin(), in.end(), other.begin(), expected.begin(), Sum());
  expect("transform", hostOf(out), expected);

  thrust::transform_if(
      input.begin(), input.end(), second.begin(), out.begin(),
      [] __host__ __device__(const T &a) { return a + a; }, below);
  for (size_t i = 0; i < elements; ++i)
    expected[i] = below(other[i]) ? in[i] + in[i] : expected[i];
  expect("transform if", hostOf(out), expected);

  thrust::replace_if(out.begin(), out.end(), below, in[5]);
  std::replace_if(expected.begin(), expected.end(), below, in[5]);
  expect("replace if", hostOf(out), expected);

  thrust::reverse(out.begin(), out.end());
  std::reverse(expected.begin(), expected.end());
  expect("reverse", hostOf(out), expected);

  thrust::for_each(thrust::counting_iterator<int32_t>(100),
                   thrust::counting_iterator<int32_t>(int32_t(elements) - 7),
                   AddTo{thrust::raw_pointer_cast(out.data())});
  for (size_t i = 100; i < elements - 7; ++i)
    expected[i] = expected[i] + expected[i];
  expect("for each", hostOf(out), expected);

  thrust::fill(out.begin() + 3, out.end() - 9, in[7]);
  std::fill(expected.begin() + 3, expected.end() - 9, in[7]);
  expect("fill", hostOf(out), expected);

  Vector left(input), right(second);
  thrust::swap_ranges(left.begin() + 11, left.end(), right.begin());
  std::vector<T> hostLeft(in), hostRight(other);
  std::swap_ranges(hostLeft.begin() + 11, hostLeft.end(), hostRight.begin());
  expect("swapped ranges", hostOf(left), hostLeft);
  expect("swapped ranges, the others", hostOf(right), hostRight);

  Places places(elements);
  thrust::tabulate(places.begin(), places.end(), Scrambled());
  std::vector<int32_t> order(elements);
  for (size_t i = 0; i < elements; ++i)
    order[i] = Scrambled()(int32_t(i));
  check("tabulate", nameOf<T>(), hostOf(places), order);
  if (elements == 600011) { // a prime: each place once
    thrust::scatter(input.begin(), input.end(), places.begin(), out.begin());
    for (size_t i = 0; i < elements; ++i)
      expected[size_t(order[i])] = in[i];
    expect("scatter", hostOf(out), expected);
    thrust::copy(thrust::make_permutation_iterator(input.begin(), places.begin()),
                 thrust::make_permutation_iterator(input.begin(), places.end()), out.begin());
    for (size_t i = 0; i < elements; ++i)
      expected[i] = in[size_t(order[i])];
    expect("permuted copy", hostOf(out), expected);
  }
}

void searches() {
  std::vector<T> changed(in);
  changed[elements - 5] = changed[elements - 5] + in[3];
  const Vector device(changed);
  expectNumbers(
      "mismatch",
      {thrust::mismatch(input.begin(), input.end(), device.begin()).first - input.begin()},
      {std::mismatch(in.begin(), in.end(), changed.begin()).first - in.begin()});
  expectNumbers("equal",
                {thrust::equal(input.begin(), input.end(), device.begin()),
                 thrust::equal(input.begin(), input.end() - 5, device.begin())},
                {in == changed, 1});
  std::vector<T> sorted(in);
  std::sort(sorted.begin(), sorted.end());
  Vector ordered(sorted);
  const Below most{sorted[elements - 2]};
  expectNumbers(
      "find if",
      {thrust::find_if(ordered.begin(), ordered.end(), Below{sorted[0]}) - ordered.begin(),
       thrust::find_if_not(ordered.begin(), ordered.end(), most) - ordered.begin()},
      {int64_t(elements), std::find_if_not(sorted.begin(), sorted.end(), most) - sorted.begin()});
  expectNumbers("partition point",
                {thrust::partition_point(ordered.begin(), ordered.end(), below) - ordered.begin(),
                 thrust::is_partitioned(ordered.begin(), ordered.end(), below),
                 thrust::is_partitioned(input.begin(), input.end(), below)},
                {std::partition_point(sorted.begin(), sorted.end(), below) - sorted.begin(), 1,
                 std::is_partitioned(in.begin(), in.end(), below)});
  expectNumbers("sorted until",
                {thrust::is_sorted(ordered.begin(), ordered.end()),
                 thrust::is_sorted_until(input.begin(), input.end()) - input.begin()},
                {1, std::is_sorted_until(in.begin(), in.end()) - in.begin()});
  expectNumbers("all, any, none",
                {thrust::all_of(input.begin(), input.end(), below),
                 thrust::any_of(input.begin(), input.end(), below),
                 thrust::none_of(input.begin(), input.end(), below)},
                {std::all_of(in.begin(), in.end(), below), std::any_of(in.begin(), in.end(), below),
                 std::none_of(in.begin(), in.end(), below)});
  expectNumbers("least and most",
                {thrust::min_element(input.begin(), input.end()) - input.begin(),
                 thrust::max_element(input.begin(), input.end()) - input.begin(),
                 int64_t(thrust::count(input.begin(), input.end(), in[9]))},
                {std::min_element(in.begin(), in.end()) - in.begin(),
                 std::max_element(in.begin(), in.end()) - in.begin(),
                 std::count(in.begin(), in.end(), in[9])});
  thrust::device_vector<bool> found(elements);
  thrust::binary_search(ordered.begin(), ordered.end(), second.begin(), second.end(),
                        found.begin());
  thrust::device_vector<int64_t> bounds(elements);
  thrust::upper_bound(ordered.begin(), ordered.end(), second.begin(), second.end(), bounds.begin());
  std::vector<int64_t> foundHere(elements), expected(elements), upper(elements);
  thrust::copy(found.begin(), found.end(), foundHere.begin());
  for (size_t i = 0; i < elements; ++i) {
    upper[i] = std::upper_bound(sorted.begin(), sorted.end(), other[i]) - sorted.begin();
    expected[i] = std::binary_search(sorted.begin(), sorted.end(), other[i]);
  }
  expectNumbers("binary search", foundHere, expected);
  expectNumbers("upper bounds", hostOf(bounds), upper);
}

void keys() {
  const std::vector<T> wide = wideInputs<T>(elements);
  std::vector<int32_t> order(elements);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int32_t a, int32_t b) { return wide[size_t(a)] < wide[size_t(b)]; });
  Vector sorted(wide);
  Places places(elements);
  thrust::sequence(places.begin(), places.end());
  thrust::stable_sort_by_key(sorted.begin(), sorted.end(), places.begin(), Less());
  check("stable sort by key", nameOf<T>(), hostOf(places), order);

  const std::vector<int32_t> run = runs<int32_t>(elements, 50);
  const Places keysOfRuns(run);
  Vector out(elements);
  thrust::inclusive_scan_by_key(keysOfRuns.begin(), keysOfRuns.end(), input.begin(), out.begin(),
                                thrust::equal_to<int32_t>(), Sum());
  std::vector<T> expected(in), firsts;
  std::vector<int32_t> keysLeft;
  for (size_t i = 0; i < elements; ++i) {
    const bool goesOn = i && run[i] == run[i - 1];
    if (goesOn)
      expected[i] = expected[i - 1] + in[i];
    else {
      firsts.push_back(in[i]);
      keysLeft.push_back(run[i]);
    }
  }
  expect("inclusive scan by key", hostOf(out), expected);
  Places uniqueKeys(keysOfRuns);
  Vector values(input);
  const auto ends = thrust::unique_by_key(uniqueKeys.begin(), uniqueKeys.end(), values.begin());
  expect("unique by key", hostOf(values, ends.second - values.begin()), firsts);
  check("unique keys", nameOf<T>(), hostOf(uniqueKeys, ends.first - uniqueKeys.begin()), keysLeft);

  Vector yes(elements), no(elements);
  const auto parts =
      thrust::partition_copy(input.begin(), input.end(), yes.begin(), no.begin(), below);
  std::vector<T> hostYes, hostNo;
  std::partition_copy(in.begin(), in.end(), std::back_inserter(hostYes), std::back_inserter(hostNo),
                      below);
  expect("partition copy", hostOf(yes, parts.first - yes.begin()), hostYes);
  expect("partition copy, the others", hostOf(no, parts.second - no.begin()), hostNo);

  thrust::transform_exclusive_scan(
      input.begin(), input.end(), out.begin(), [] __host__ __device__(const T &a) { return a + a; },
      in[1], Sum());
  T sum = in[1];
  for (size_t i = 0; i < elements; ++i) {
    expected[i] = sum;
    sum = sum + (in[i] + in[i]);
  }
  expect("transformed exclusive scan", hostOf(out), expected);

  std::vector<T> a(in.begin(), in.begin() + ptrdiff_t(elements / 3)),
      b(other.begin(), other.begin() + ptrdiff_t(elements / 2));
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  const Vector first(a), next(b);
  Vector merged(a.size() + b.size());
  Places origins(merged.size());
  thrust::merge_by_key(
      first.begin(), first.end(), next.begin(), next.end(), thrust::counting_iterator<int32_t>(0),
      thrust::counting_iterator<int32_t>(1000000), merged.begin(), origins.begin());
  std::vector<int32_t> expectedOrigins;
  std::vector<T> expectedMerged;
  for (size_t i = 0, j = 0; i < a.size() || j < b.size();) {
    const bool fromB = i == a.size() || (j < b.size() && b[j] < a[i]);
    expectedMerged.push_back(fromB ? b[j] : a[i]);
    expectedOrigins.push_back(fromB ? 1000000 + int32_t(j) : int32_t(i));
    ++(fromB ? j : i);
  }
  expect("merge by key", hostOf(merged), expectedMerged);
  check("values of merge by key", nameOf<T>(), hostOf(origins), expectedOrigins);

  const auto pairs = thrust::make_zip_iterator(thrust::make_tuple(merged.begin(), origins.begin()));
  thrust::sort(pairs, pairs + ptrdiff_t(merged.size()),
               [] __host__ __device__(const thrust::tuple<T, int32_t> &x,
                                      const thrust::tuple<T, int32_t> &y) {
                 return thrust::get<1>(y) < thrust::get<1>(x);
               });
  std::sort(expectedOrigins.rbegin(), expectedOrigins.rend());
  check("sort of pairs", nameOf<T>(), hostOf(origins), expectedOrigins);
}

int main(int count, char **arguments) {
  if (count > 1)
    return 2; // the inputs are made before
  single();
  searches();
  keys();
  return report();
}
