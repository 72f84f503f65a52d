// SPDX-License-Identifier: Apache-2.0
// libcu++'s atomics of TYPE: cuda::atomic, cuda::atomic_ref and cuda::std::atomic, each operation
// with each order and scope, in global and shared memory, by threads alone and by many at once. A
// script of operations runs on the device and, over a plain variable, on the host.
#include "Checked.h"
#include <cuda/atomic>
#include <cuda/std/atomic>
#include <type_traits>

using cuda::memory_order;

template <> inline const char *nameOf<int8_t>() { return "int8"; }
template <> inline const char *nameOf<uint8_t>() { return "uint8"; }
template <> inline const char *nameOf<int16_t>() { return "int16"; }
template <> inline const char *nameOf<uint16_t>() { return "uint16"; }
template <> inline const char *nameOf<uint32_t>() { return "uint32"; }
template <> inline const char *nameOf<uint64_t>() { return "uint64"; }
template <class T> T value(uint64_t i) {
  if constexpr (std::is_integral_v<T>)
    return T(noise(i));
  else // whole numbers: no sum is rounded, in any order
    return T(int64_t(noise(i) % 4001) - 2000);
}

/// The host's: a variable that nobody else sees, with the interface of an atomic.
template <class T> struct Plain {
  T held;
  template <class... Order> void store(T v, Order...) { held = v; }
  template <class... Order> T load(Order...) const { return held; }
  template <class... Order> T exchange(T v, Order...) { return std::exchange(held, v); }
  template <class... Order> bool compare_exchange_strong(T &expected, T v, Order...) {
    if (!(held == expected))
      return expected = held, false;
    return held = v, true;
  }
  template <class... Order> bool compare_exchange_weak(T &expected, T v, Order...) {
    return compare_exchange_strong(expected, v);
  }
  template <class... Order> T fetch_add(T v, Order...) { return exchange(T(held + v)); }
  template <class... Order> T fetch_sub(T v, Order...) { return exchange(T(held - v)); }
  template <class... Order> T fetch_and(T v, Order...) { return exchange(T(held & v)); }
  template <class... Order> T fetch_or(T v, Order...) { return exchange(T(held | v)); }
  template <class... Order> T fetch_xor(T v, Order...) { return exchange(T(held ^ v)); }
  template <class... Order> T fetch_min(T v, Order...) { return exchange(std::min(held, v)); }
  template <class... Order> T fetch_max(T v, Order...) { return exchange(std::max(held, v)); }
  operator T() const { return held; }
  T operator=(T v) { return held = v; }
  T operator++() { return ++held; }
  T operator--() { return --held; }
  T operator++(int) { return held++; }
  T operator--(int) { return held--; }
  T operator+=(T v) { return held += v; }
  T operator-=(T v) { return held -= v; }
  T operator&=(T v) { return held &= v; }
  T operator|=(T v) { return held |= v; }
  T operator^=(T v) { return held ^= v; }
};

constexpr int kLogged = 40;

/// What a thread does with an atomic of its own, and sees.
#pragma nv_exec_check_disable // Plain is the host's
template <bool WithMinMax, memory_order Order, class T, class Atomic>
__host__ __device__ void script(Atomic &&a, T first, T second, T *log) {
  constexpr memory_order kLoad = Order == cuda::memory_order_acq_rel   ? cuda::memory_order_acquire
                                 : Order == cuda::memory_order_release ? cuda::memory_order_relaxed
                                                                       : Order;
  constexpr memory_order kStore =
      Order == cuda::memory_order_acq_rel ? cuda::memory_order_release
      : Order == cuda::memory_order_acquire || Order == cuda::memory_order_consume
          ? cuda::memory_order_relaxed
          : Order;
  int n = 0;
  auto note = [&](T v) { log[n++] = v; };
  a.store(first, kStore);
  note(a.load(kLoad));
  note(a.exchange(second, Order));
  note(a.load(kLoad));
  T expected = first;
  note(T(a.compare_exchange_strong(expected, first, Order, kLoad)));
  note(expected);
  note(T(a.compare_exchange_strong(expected, first, Order)));
  note(a.load(kLoad));
  expected = second;
  while (!a.compare_exchange_weak(expected, second, Order, kLoad))
    ;
  note(expected);
  while (!a.compare_exchange_weak(expected, first, Order))
    ;
  note(expected);
  note(a);
  note(a = second);
  note(a.load());
  a.store(first);
  note(a.exchange(second));
  if constexpr (std::is_arithmetic_v<T>) {
    note(a.fetch_add(first, Order));
    note(a.fetch_sub(second, Order));
    note(a.fetch_add(first));
    note(a += first);
    note(a -= second);
    if constexpr (WithMinMax) {
      a.store(first); // libcu++ has a word for atomics of fewer bits, and sums do not wrap in it
      note(a.fetch_min(second, Order));
      note(a.fetch_max(first, Order));
      note(a.fetch_min(first, Order));
    }
  }
  if constexpr (std::is_integral_v<T>) {
    note(a.fetch_and(second, Order));
    note(a.fetch_or(first, Order));
    note(a.fetch_xor(second, Order));
    note(a++);
    note(++a);
    note(a--);
    note(--a);
    note(a &= first);
    note(a |= second);
    note(a ^= first);
  }
  note(a.load());
}

/// Atomics of the threads of a block; threads of a warp have neighbours in the same word.
template <class Atomic> struct InSharedMemory {
  alignas(Atomic) unsigned char bytes[64][sizeof(Atomic)];
};

template <class T, cuda::thread_scope Scope> struct Owned {
  using Atomic = cuda::atomic<T, Scope>;
  static constexpr bool kMinMax = std::is_arithmetic_v<T>;
  __device__ static Atomic &of(void *memory) { return *new (memory) Atomic(T{}); }
};
template <class T, cuda::thread_scope Scope> struct Referred {
  using Atomic = T;
  static constexpr bool kMinMax = std::is_arithmetic_v<T>;
  __device__ static cuda::atomic_ref<T, Scope> of(void *memory) {
    return cuda::atomic_ref<T, Scope>(*static_cast<T *>(memory));
  }
};
template <class T> struct Standard {
  using Atomic = cuda::std::atomic<T>;
  static constexpr bool kMinMax = false;
  __device__ static Atomic &of(void *memory) { return *new (memory) Atomic(T{}); }
};

template <class Kind, class T, memory_order Order>
__global__ void alone(typename Kind::Atomic *atomics, const T *values, T *logs) {
  const unsigned i = blockIdx.x * 64 + threadIdx.x;
  const T first = values[2 * i], second = values[2 * i + 1];
  script<Kind::kMinMax, Order>(Kind::of(atomics + i), first, second, logs + 2 * i * kLogged);
  __shared__ InSharedMemory<typename Kind::Atomic> shared;
  script<Kind::kMinMax, Order>(Kind::of(shared.bytes[threadIdx.x]), first, second,
                               logs + (2 * i + 1) * kLogged);
}

template <class Kind, class T, memory_order Order> void checkAlone(const std::string &name) {
  constexpr unsigned kThreads = 128;
  std::vector<T> values(2 * kThreads), expected(2 * kThreads * kLogged);
  for (unsigned i = 0; i < 2 * kThreads; ++i)
    values[i] = value<T>(i);
  for (unsigned i = 0; i < kThreads; ++i)
    for (unsigned space = 0; space < 2; ++space)
      script<Kind::kMinMax, Order>(Plain<T>(), values[2 * i], values[2 * i + 1],
                                   &expected[(2 * i + space) * kLogged]);
  Buffer<T> input(values), logs(expected.size());
  EXPECT_SUCCESS(cudaMemset(logs.get(), 0, expected.size() * sizeof(T)));
  Buffer<typename Kind::Atomic> atomics(kThreads);
  alone<Kind, T, Order><<<kThreads / 64, 64>>>(atomics.get(), input.get(), logs.get());
  EXPECT_SUCCESS(cudaGetLastError());
  check((name + " alone").c_str(), nameOf<T>(), logs.host(), expected);
}

// Many at once: `kCells` neighbours, each of which all threads come to.
constexpr unsigned kCells = 5, kBlocks = 12, kThreads = 160, kAll = kBlocks * kThreads;
enum Contended { Add, Increment, Exchange, Min, Max, And, Or, Xor, kContended };

template <class T> struct Contention {
  T *cells;  // kContended * kCells
  T *olds;   // kContended * kCells * kAll
  T *inputs; // kAll
};

template <memory_order Order, class Of, class T>
__device__ void contend(Of of, T input, unsigned thread, unsigned all, T *olds) {
  for (unsigned c = 0; c < kCells; ++c) {
    auto old = [&](unsigned what) -> T & { return olds[(what * kCells + c) * all + thread]; };
    old(Add) = of(Add * kCells + c).fetch_add(T(1), Order);
    auto &&counter = of(Increment * kCells + c);
    T seen = counter.load(cuda::memory_order_relaxed);
    while (!counter.compare_exchange_weak(seen, T(seen + T(1)), Order, cuda::memory_order_relaxed))
      ;
    old(Increment) = seen;
    old(Exchange) = of(Exchange * kCells + c).exchange(input, Order);
    old(Min) = of(Min * kCells + c).fetch_min(input, Order);
    old(Max) = of(Max * kCells + c).fetch_max(input, Order);
    if constexpr (std::is_integral_v<T>) {
      old(And) = of(And * kCells + c).fetch_and(T(input | T(1)), Order);
      old(Or) = of(Or * kCells + c).fetch_or(T(input & ~T(1)), Order);
      old(Xor) = of(Xor * kCells + c).fetch_xor(input, Order);
    }
  }
}

template <class T, cuda::thread_scope Scope, memory_order Order>
__global__ void together(Contention<T> all) {
  const unsigned i = blockIdx.x * kThreads + threadIdx.x;
  contend<Order>([&](unsigned n) { return cuda::atomic_ref<T, Scope>(all.cells[n]); },
                 all.inputs[i], i, kAll, all.olds);
}

/// In shared memory: each block has cells and results of its own.
template <class T, cuda::thread_scope Scope, memory_order Order>
__global__ void togetherInShared(Contention<T> all) {
  __shared__ T cells[kContended * kCells];
  T *global = all.cells + blockIdx.x * kContended * kCells;
  for (unsigned n = threadIdx.x; n < kContended * kCells; n += kThreads)
    cells[n] = global[n];
  __syncthreads();
  const unsigned i = blockIdx.x * kThreads + threadIdx.x;
  contend<Order>([&](unsigned n) { return cuda::atomic_ref<T, Scope>(cells[n]); }, all.inputs[i],
                 threadIdx.x, kThreads, all.olds + blockIdx.x * kContended * kCells * kThreads);
  __syncthreads();
  for (unsigned n = threadIdx.x; n < kContended * kCells; n += kThreads)
    global[n] = cells[n];
}

template <class T> T start(unsigned what) {
  switch (what) {
  case Exchange:
    return T(77);
  case Min:
    return std::is_integral_v<T> ? std::numeric_limits<T>::max() : T(9000);
  case Max:
    return std::is_integral_v<T> ? std::numeric_limits<T>::min() : T(-9000);
  case And:
    return T(-1);
  }
  return T(0);
}

/// All values that a cell has had in any order: what each thread found, and what is left.
template <class T> std::vector<T> history(unsigned what, const T *inputs, unsigned threads) {
  std::vector<T> values{start<T>(what)};
  for (unsigned i = 0; i < threads; ++i)
    switch (what) {
    case Add:
    case Increment:
      values.push_back(T(values.back() + T(1)));
      break;
    case Exchange:
      values.push_back(inputs[i]);
    }
  std::sort(values.begin(), values.end());
  return values;
}

template <class T> T folded(unsigned what, const T *inputs, unsigned threads) {
  T result = start<T>(what);
  for (unsigned i = 0; i < threads; ++i) {
    const T input = inputs[i];
    if (what == Min || what == Max)
      result = what == Min ? std::min(result, input) : std::max(result, input);
    if constexpr (std::is_integral_v<T>)
      result = what == And   ? T(result & T(input | T(1)))
               : what == Or  ? T(result | T(input & ~T(1)))
               : what == Xor ? T(result ^ input)
                             : result;
  }
  return result;
}

template <class T, class Kernel>
void checkTogether(const std::string &name, Kernel kernel, bool isShared) {
  const unsigned groups = isShared ? kBlocks : 1, threads = isShared ? kThreads : kAll;
  const unsigned cellCount = kContended * kCells;
  std::vector<T> inputs(kAll), cells(groups * cellCount);
  for (unsigned i = 0; i < kAll; ++i)
    inputs[i] = value<T>(i + 1000000);
  for (unsigned i = 0; i < cells.size(); ++i)
    cells[i] = start<T>(i % cellCount / kCells);
  Buffer<T> input(inputs), cell(cells), old(cells.size() * threads);
  EXPECT_SUCCESS(cudaMemset(old.get(), 0, old.host().size() * sizeof(T)));
  kernel<<<kBlocks, kThreads>>>(Contention<T>{cell.get(), old.get(), input.get()});
  EXPECT_SUCCESS(cudaGetLastError());
  const std::vector<T> after = cell.host(), olds = old.host();
  std::vector<T> found, expected;
  for (unsigned n = 0; n < cells.size(); ++n) {
    const unsigned what = n % cellCount / kCells;
    const T *const ofGroup = &inputs[n / cellCount * kThreads];
    if (what <= Exchange) {
      std::vector<T> seen(olds.begin() + n * threads, olds.begin() + (n + 1) * threads);
      seen.push_back(after[n]);
      std::sort(seen.begin(), seen.end());
      found.insert(found.end(), seen.begin(), seen.end());
      const std::vector<T> wanted = history(what, ofGroup, threads);
      expected.insert(expected.end(), wanted.begin(), wanted.end());
    } else if (what <= Max || std::is_integral_v<T>) {
      found.push_back(after[n]);
      expected.push_back(folded(what, ofGroup, threads));
    }
  }
  check(name.c_str(), nameOf<T>(), found, expected);
}

template <class T, cuda::thread_scope Scope, memory_order Order>
void ofScope(const std::string &scope, const std::string &order) {
  checkAlone<Owned<T, Scope>, T, Order>("cuda::atomic, " + scope + ", " + order);
  checkAlone<Referred<T, Scope>, T, Order>("cuda::atomic_ref, " + scope + ", " + order);
  if constexpr (Scope == cuda::thread_scope_device || Scope == cuda::thread_scope_system)
    checkTogether<T>("together, " + scope + ", " + order, together<T, Scope, Order>, false);
  if constexpr (Scope != cuda::thread_scope_thread)
    checkTogether<T>("together in shared memory, " + scope + ", " + order,
                     togetherInShared<T, Scope, Order>, true);
}

template <class T, memory_order Order> void ofOrder(const std::string &order) {
  ofScope<T, cuda::thread_scope_system, Order>("system", order);
  ofScope<T, cuda::thread_scope_device, Order>("device", order);
  ofScope<T, cuda::thread_scope_block, Order>("block", order);
  ofScope<T, cuda::thread_scope_thread, Order>("thread", order);
  checkAlone<Standard<T>, T, Order>("cuda::std::atomic, " + order);
}

int main() {
  ofOrder<TYPE, cuda::memory_order_relaxed>("relaxed");
  ofOrder<TYPE, cuda::memory_order_consume>("consume");
  ofOrder<TYPE, cuda::memory_order_acquire>("acquire");
  ofOrder<TYPE, cuda::memory_order_release>("release");
  ofOrder<TYPE, cuda::memory_order_acq_rel>("acq_rel");
  ofOrder<TYPE, cuda::memory_order_seq_cst>("seq_cst");
  return report();
}
