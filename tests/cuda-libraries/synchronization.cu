// SPDX-License-Identifier: Apache-2.0
// What libcu++ builds on atomics: messages, fences, waiting and notifying, flags, locks,
// semaphores, latches, barriers, atomics with a lock inside; among warps, blocks, and the device
// and the host. BLOCK_BARRIER: also cuda::barrier of a block, which needs mbarrier instructions
// from compute_80 on.
#include "Checked.h"
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/latch>
#include <cuda/semaphore>
#include <cuda/std/atomic>
#include <thread>

template <> inline const char *nameOf<long long>() { return "int64"; }

constexpr int kRounds = 40, kWords = 96;
using Flag = cuda::atomic<int, cuda::thread_scope_device>;
__device__ bool isFirst() { return threadIdx.x == 0; }

/// How a message's flag is set, and waited for.
struct Ordered {
  template <class A> __device__ static void set(A &flag, int v) {
    flag.store(v, cuda::memory_order_release);
  }
  template <class A> __device__ static void wait(A &flag, int v) {
    while (flag.load(cuda::memory_order_acquire) != v)
      ;
  }
};
struct Sequential {
  template <class A> __device__ static void set(A &flag, int v) { flag = v; }
  template <class A> __device__ static void wait(A &flag, int v) {
    while (flag != v)
      ;
  }
};
struct Fenced {
  template <class A> __device__ static void set(A &flag, int v) {
    cuda::atomic_thread_fence(cuda::memory_order_release, cuda::thread_scope_device);
    flag.store(v, cuda::memory_order_relaxed);
  }
  template <class A> __device__ static void wait(A &flag, int v) {
    while (flag.load(cuda::memory_order_relaxed) != v)
      ;
    cuda::atomic_thread_fence(cuda::memory_order_acquire, cuda::thread_scope_device);
  }
};
struct Notified {
  template <class A> __device__ static void set(A &flag, int v) {
    flag.store(v, cuda::memory_order_release);
    flag.notify_all();
  }
  template <class A> __device__ static void wait(A &flag, int v) {
    for (int seen; (seen = flag.load(cuda::memory_order_acquire)) != v;)
      flag.wait(seen, cuda::memory_order_acquire);
  }
};
struct Swapped {
  template <class A> __device__ static void set(A &flag, int v) {
    flag.exchange(v, cuda::memory_order_acq_rel);
  }
  template <class A> __device__ static void wait(A &flag, int v) {
    int expected = v;
    while (!flag.compare_exchange_weak(expected, v, cuda::memory_order_acq_rel))
      expected = v;
  }
};

/// Blocks pass words in a ring: each waits for its turn, adds to all words and passes them on.
template <class How, class A> __global__ void ring(A *flag, int *words) {
  for (int round = 0; round < kRounds; ++round) {
    const int turn = round * gridDim.x + blockIdx.x;
    if (isFirst())
      How::wait(*flag, turn);
    __syncthreads();
    words[threadIdx.x] = words[threadIdx.x] * 3 + turn + threadIdx.x;
    __syncthreads();
    if (isFirst())
      How::set(*flag, turn + 1);
  }
}
/// The same among the warps of a block, in shared memory.
template <class How, class A> __global__ void ringOfWarps(int *words) {
  __shared__ alignas(A) unsigned char storage[sizeof(A)];
  __shared__ int shared[32];
  A &flag = *reinterpret_cast<A *>(storage);
  if (isFirst())
    new (storage) A(0);
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  if (warp == 0)
    shared[lane] = 0;
  __syncthreads();
  for (int round = 0; round < kRounds; ++round) {
    const int turn = round * (blockDim.x / 32) + warp;
    if (lane == 0)
      How::wait(flag, turn);
    __syncwarp();
    shared[lane] = shared[lane] * 3 + turn + lane;
    __syncwarp();
    if (lane == 0)
      How::set(flag, turn + 1);
  }
  __syncthreads();
  if (warp == 0)
    words[lane] = shared[lane];
}
std::vector<int> ringOnHost(int count, int turns) {
  std::vector<int> words(count);
  for (int turn = 0; turn < turns; ++turn)
    for (int i = 0; i < count; ++i)
      words[i] = int(unsigned(words[i]) * 3 + turn + i);
  return words;
}
template <class How, class A, class Warps> void messages(const char *name) {
  Buffer<int> flag(std::vector<int>(16)), words(std::vector<int>(kWords, 0)), ofWarps(32);
  ring<How, A><<<5, kWords>>>(reinterpret_cast<A *>(flag.get()), words.get());
  check((std::string("messages of blocks, ") + name).c_str(), "int32", words.host(),
        ringOnHost(kWords, 5 * kRounds));
  ringOfWarps<How, Warps><<<1, 128>>>(ofWarps.get());
  check((std::string("messages of warps, ") + name).c_str(), "int32", ofWarps.host(),
        ringOnHost(32, 4 * kRounds));
}

/// Two blocks set a flag each and look at the other's: one of them sees it.
__global__ void storeBuffering(Flag *x, Flag *y, int *seen) {
  if (isFirst())
    for (int round = 0; round < kRounds; ++round) {
      (blockIdx.x ? y : x)[round * 16].store(1, cuda::memory_order_seq_cst);
      seen[2 * round + blockIdx.x] =
          (blockIdx.x ? x : y)[round * 16].load(cuda::memory_order_seq_cst);
    }
}
void checkStoreBuffering() {
  Buffer<int> flags(std::vector<int>(2 * 16 * kRounds)), seen(2 * kRounds);
  storeBuffering<<<2, 32>>>(reinterpret_cast<Flag *>(flags.get()),
                            reinterpret_cast<Flag *>(flags.get() + 16 * kRounds), seen.get());
  const std::vector<int> values = seen.host();
  std::vector<int> any(kRounds);
  for (int i = 0; i < kRounds; ++i)
    any[i] = values[2 * i] | values[2 * i + 1];
  check("store buffering", "int32", any, std::vector<int>(kRounds, 1));
}

// Locks. Each warp's first thread counts in plain memory.
struct Counted {
  long long count;
  int least, most, inside;
};
struct FlagLock {
  cuda::std::atomic_flag flag;
  __device__ void lock() {
    while (flag.test_and_set(cuda::std::memory_order_acquire))
      ;
  }
  __device__ void unlock() { flag.clear(cuda::std::memory_order_release); }
};
struct WaitingLock {
  cuda::std::atomic_flag flag;
  __device__ void lock() {
    while (flag.test_and_set(cuda::std::memory_order_acquire))
      flag.wait(true, cuda::std::memory_order_relaxed);
  }
  __device__ void unlock() {
    flag.clear(cuda::std::memory_order_release);
    flag.notify_one();
  }
};
struct TicketLock {
  cuda::atomic<unsigned, cuda::thread_scope_device> next, served;
  __device__ void lock() {
    const unsigned mine = next.fetch_add(1, cuda::memory_order_relaxed);
    while (served.load(cuda::memory_order_acquire) != mine)
      ;
  }
  __device__ void unlock() { served.fetch_add(1, cuda::memory_order_release); }
};
struct SemaphoreLock {
  cuda::binary_semaphore<cuda::thread_scope_device> semaphore;
  __device__ SemaphoreLock() : semaphore(1) {}
  __device__ void lock() { semaphore.acquire(); }
  __device__ void unlock() { semaphore.release(); }
};
struct TryingLock {
  cuda::counting_semaphore<cuda::thread_scope_device, 1> semaphore;
  __device__ TryingLock() : semaphore(1) {}
  __device__ void lock() {
    while (!semaphore.try_acquire())
      ;
  }
  __device__ void unlock() { semaphore.release(1); }
};
template <class Lock> __global__ void makeLock(void *memory) { new (memory) Lock(); }
template <class Lock> __global__ void locking(Lock *lock, Counted *all) {
  if (threadIdx.x % 32)
    return;
  for (int i = 0; i < 10; ++i) {
    lock->lock();
    all->most = max(all->most, ++all->inside);
    all->count = all->count * 3 / 3 + 1;
    --all->inside;
    lock->unlock();
  }
}
template <class Lock> void locks(const char *name) {
  Buffer<int> memory(std::vector<int>(64));
  Buffer<Counted> counted(std::vector<Counted>(1));
  makeLock<Lock><<<1, 1>>>(memory.get());
  locking<<<12, 128>>>(reinterpret_cast<Lock *>(memory.get()), counted.get());
  const Counted result = counted.host()[0];
  check((std::string("lock: ") + name).c_str(), "int64",
        std::vector<int64_t>{result.count, result.most, result.inside},
        std::vector<int64_t>{12 * 4 * 10, 1, 0});
}

/// At most three at once; all get in.
__global__ void entering(cuda::counting_semaphore<cuda::thread_scope_device> *semaphore,
                         Flag *inside, Flag *most, Flag *total) {
  if (blockIdx.x == 0 && isFirst())
    semaphore->release(3);
  if (threadIdx.x % 32)
    return;
  for (int i = 0; i < 5; ++i) {
    semaphore->acquire();
    most->fetch_max(inside->fetch_add(1) + 1);
    total->fetch_add(1);
    inside->fetch_sub(1);
    semaphore->release();
  }
}
void checkSemaphore() {
  Buffer<int> memory(std::vector<int>(64));
  auto flag = [&](int n) { return reinterpret_cast<Flag *>(memory.get() + 16 * n); };
  entering<<<12, 96>>>(
      reinterpret_cast<cuda::counting_semaphore<cuda::thread_scope_device> *>(memory.get()),
      flag(1), flag(2), flag(3));
  const std::vector<int> after = memory.host();
  check("semaphore", "int32",
        std::vector<int>{after[0], after[16], after[32] >= 1 && after[32] <= 3, after[48]},
        std::vector<int>{3, 0, 1, 12 * 3 * 5});
}

// Latches and barriers of a grid: all blocks are resident.
__global__ void makeLatch(cuda::latch<cuda::thread_scope_device> *latch, int count) {
  new (latch) cuda::latch<cuda::thread_scope_device>(count);
}
__global__ void passing(cuda::latch<cuda::thread_scope_device> *latch, int *words) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x, all = gridDim.x * blockDim.x;
  words[i] = int(i * i);
  if (blockIdx.x == 0) {
    latch->count_down();
    while (!latch->try_wait())
      ;
  } else
    latch->arrive_and_wait();
  words[all + i] = words[(i + 77) % all];
}
template <class Barrier> __global__ void makeBarrier(Barrier *barrier, int count) {
  new (barrier) Barrier(count);
}
template <class Barrier> __global__ void exchanging(Barrier *barrier, int *words) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x, all = gridDim.x * blockDim.x;
  int mine = int(i);
  for (int round = 0; round < 6; ++round) {
    words[(round & 1) * all + i] = mine;
    if (round % 2)
      barrier->wait(barrier->arrive());
    else
      barrier->arrive_and_wait();
    mine = mine * 5 + words[(round & 1) * all + (i + 33 + round) % all];
    if (round == 3 && blockIdx.x == 1) { // the others go on, and read what this block has left
      barrier->arrive_and_drop();
      break;
    }
    barrier->arrive_and_wait();
  }
  words[2 * all + i] = mine;
}
std::vector<int> exchangedOnHost(unsigned blocks, unsigned threads) {
  const unsigned all = blocks * threads;
  std::vector<int> words(2 * all), mine(all);
  std::iota(mine.begin(), mine.end(), 0);
  for (int round = 0; round < 6; ++round) {
    auto isHere = [&](unsigned i) { return round <= 3 || i / threads != 1; };
    for (unsigned i = 0; i < all; ++i)
      if (isHere(i))
        words[(round & 1) * all + i] = mine[i];
    for (unsigned i = 0; i < all; ++i)
      if (isHere(i))
        mine[i] = int(unsigned(mine[i]) * 5 +
                      unsigned(words[(round & 1) * all + (i + 33 + round) % all]));
  }
  return mine;
}
struct Completion {
  int *count;
  __host__ __device__ void operator()() const noexcept { ++*count; }
};
__global__ void makeCounting(cuda::barrier<cuda::thread_scope_device, Completion> *barrier,
                             int count, int *completed) {
  new (barrier) cuda::barrier<cuda::thread_scope_device, Completion>(count, Completion{completed});
}
void checkLatchAndBarriers() {
  constexpr unsigned kBlocks = 6, kThreads = 96, kAll = kBlocks * kThreads;
  Buffer<int> memory(std::vector<int>(64)), words(std::vector<int>(3 * kAll)),
      completed(std::vector<int>(1));
  auto last = [&](unsigned part) {
    const std::vector<int> all = words.host();
    return std::vector<int>(all.begin() + part * kAll, all.begin() + (part + 1) * kAll);
  };
  auto *latch = reinterpret_cast<cuda::latch<cuda::thread_scope_device> *>(memory.get());
  makeLatch<<<1, 1>>>(latch, kAll);
  passing<<<kBlocks, kThreads>>>(latch, words.get());
  std::vector<int> squares(kAll);
  for (unsigned i = 0; i < kAll; ++i)
    squares[i] = int((i + 77) % kAll * ((i + 77) % kAll));
  check("latch", "int32", last(1), squares);

  using Plain = cuda::barrier<cuda::thread_scope_device>;
  auto *plain = reinterpret_cast<Plain *>(memory.get());
  makeBarrier<<<1, 1>>>(plain, int(kAll));
  exchanging<<<kBlocks, kThreads>>>(plain, words.get());
  check("barrier", "int32", last(2), exchangedOnHost(kBlocks, kThreads));

  using Counting = cuda::barrier<cuda::thread_scope_device, Completion>;
  auto *counting = reinterpret_cast<Counting *>(memory.get());
  makeCounting<<<1, 1>>>(counting, int(kAll), completed.get());
  exchanging<<<kBlocks, kThreads>>>(counting, words.get());
  check("barrier with completion", "int32", last(2), exchangedOnHost(kBlocks, kThreads));
  check("completions of a barrier", "int32", completed.host(), std::vector<int>{12});
}

#ifdef BLOCK_BARRIER
/// Two producing warps and two consuming ones, with a barrier for each way.
__global__ void pipeline(int *words) {
  using Barrier = cuda::barrier<cuda::thread_scope_block>;
  __shared__ Barrier filled, emptied, together;
  __shared__ int shared[64];
  if (isFirst()) {
    init(&filled, 128);
    init(&emptied, 128);
    init(&together, 128);
  }
  __syncthreads();
  const int lane = threadIdx.x % 64;
  int sum = 0;
  for (int round = 0; round < 20; ++round) {
    if (threadIdx.x < 64) {
      shared[lane] = round * 100 + lane;
      (void)filled.arrive();
      emptied.arrive_and_wait();
    } else {
      filled.arrive_and_wait();
      sum = sum * 3 + shared[63 - lane];
      (void)emptied.arrive();
    }
  }
  together.arrive_and_wait();
  words[threadIdx.x] = sum;
}
/// Threads of one warp leave the others, one after the other.
__global__ void leaving(int *words) {
  __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
  if (isFirst())
    init(&barrier, blockDim.x);
  __syncthreads();
  for (int round = 0; round < 4; ++round) {
    if (int(threadIdx.x % 4) == round) {
      barrier.arrive_and_drop();
      return;
    }
    barrier.arrive_and_wait();
    words[threadIdx.x] = round + 1;
  }
}
void checkBlockBarrier() {
  Buffer<int> words(std::vector<int>(128));
  leaving<<<1, 128>>>(words.get());
  std::vector<int> rounds(128);
  for (int i = 0; i < 128; ++i)
    rounds[i] = i % 4;
  check("threads that leave a barrier", "int32", words.host(), rounds);
  pipeline<<<1, 128>>>(words.get());
  std::vector<int> expected(128);
  for (int round = 0; round < 20; ++round)
    for (int lane = 0; lane < 64; ++lane)
      expected[64 + lane] = int(unsigned(expected[64 + lane]) * 3 + round * 100 + 63 - lane);
  check("barriers of a block", "int32", words.host(), expected);
}
#endif

/// An atomic that is too wide for instructions has a lock inside. Its parts always belong together.
struct Wide {
  long long a, b, c;
};
using WideAtomic = cuda::atomic<Wide, cuda::thread_scope_device>;
__global__ void wideExchanges(WideAtomic *atomic, int *torn, long long *sums) {
  if (threadIdx.x % 32)
    return;
  const unsigned warp = blockIdx.x * 4 + threadIdx.x / 32;
  const long long mine = warp + 1;
  for (int i = 0; i < 8; ++i) {
    const Wide old = atomic->exchange({mine, mine * 3, -mine}), seen = atomic->load();
    torn[warp] |=
        old.b != old.a * 3 || old.c != -old.a || seen.b != seen.a * 3 || seen.c != -seen.a;
    sums[warp] += old.a - mine;
  }
}
/// Pointers, enumerations and bools.
enum class Colour : short { Red = 1, Green = 300, Blue = -7 };
__global__ void others(int *memory, long long *seen) {
  __shared__ int targets[8];
  cuda::atomic<int *, cuda::thread_scope_device> &pointer =
      *new (memory) cuda::atomic<int *, cuda::thread_scope_device>(targets);
  int n = 0;
  auto note = [&](long long v) { seen[n++] = v; };
  note(pointer.fetch_add(3) - targets);
  note(pointer.fetch_sub(1, cuda::memory_order_release) - targets);
  note(++pointer - targets);
  note((pointer -= 2) - targets);
  note(pointer.exchange(targets + 7) - targets);
  note(pointer.load() - targets);
  cuda::atomic<Colour> &colour = *new (memory + 8) cuda::atomic<Colour>(Colour::Red);
  Colour expected = Colour::Green;
  note(colour.compare_exchange_strong(expected, Colour::Blue));
  note((long long)expected);
  note(colour.compare_exchange_strong(expected, Colour::Blue));
  note((long long)colour.exchange(Colour::Green));
  note((long long)colour.load());
  cuda::atomic_ref<bool, cuda::thread_scope_block> truth(*reinterpret_cast<bool *>(memory + 12));
  truth.store(false);
  note(truth.exchange(true));
  note(truth.load());
  note(truth.is_lock_free());
}
void checkOthers() {
  Buffer<int> memory(std::vector<int>(64)), torn(std::vector<int>(48));
  Buffer<long long> sums(std::vector<long long>(48)), seen(14);
  auto *wide = reinterpret_cast<WideAtomic *>(memory.get());
  wideExchanges<<<12, 128>>>(wide, torn.get(), sums.get());
  const std::vector<long long> parts = sums.host();
  const std::vector<int> after = memory.host();
  check("structures of 24 bytes are whole", "int32", torn.host(), std::vector<int>(48));
  check("exchanged structures", "int64",
        std::vector<long long>{std::accumulate(parts.begin(), parts.end(), 0ll) + after[0]},
        std::vector<long long>{0});
  others<<<1, 1>>>(memory.get(), seen.get());
  check("pointers, enumerations, bools", "int64", seen.host(),
        std::vector<long long>{0, 3, 3, 1, 1, 7, 0, 1, 1, -7, 300, 0, 1, 1});
}

/// The device and the host answer each other while the kernel runs.
__global__ void answering(cuda::atomic<int, cuda::thread_scope_system> *question,
                          cuda::atomic<int, cuda::thread_scope_system> *answer) {
  for (int i = 1; i <= kRounds; ++i) {
    while (question->load(cuda::memory_order_acquire) < i)
      ;
    answer->store(question->load(cuda::memory_order_relaxed) * 7, cuda::memory_order_release);
  }
}
void checkHost() {
  int *memory = nullptr, *onDevice = nullptr;
  EXPECT_SUCCESS(cudaHostAlloc(&memory, 256, cudaHostAllocMapped));
  std::fill_n(memory, 64, 0);
  EXPECT_SUCCESS(cudaHostGetDevicePointer(&onDevice, memory, 0));
  using Shared = cuda::atomic<int, cuda::thread_scope_system>;
  answering<<<1, 1>>>(reinterpret_cast<Shared *>(onDevice),
                      reinterpret_cast<Shared *>(onDevice + 32));
  std::vector<int> answers, expected;
  for (int i = 1; i <= kRounds; ++i) {
    reinterpret_cast<Shared *>(memory)->store(i, cuda::memory_order_release);
    int answer;
    while ((answer = reinterpret_cast<Shared *>(memory + 32)->load(cuda::memory_order_acquire)) !=
           i * 7)
      std::this_thread::yield();
    answers.push_back(answer);
    expected.push_back(i * 7);
  }
  EXPECT_SUCCESS(cudaDeviceSynchronize());
  check("answers to the host", "int32", answers, expected);
  EXPECT_SUCCESS(cudaFreeHost(memory));
}

/// All but the slow ones in a sample: `synchronization 1`.
int main(int count, char **) {
  const bool isSample = count > 1;
  using System = cuda::atomic<int, cuda::thread_scope_system>;
  using Block = cuda::atomic<int, cuda::thread_scope_block>;
  using Standard = cuda::std::atomic<int>;
  messages<Fenced, Flag, Flag>("fences");
  checkLatchAndBarriers();
  checkOthers();
  if (!isSample) {
    messages<Ordered, Flag, Block>("release and acquire");
    messages<Sequential, System, Block>("sequentially consistent");
    messages<Notified, Flag, Block>("wait and notify");
    messages<Swapped, Standard, Standard>("read-modify-write");
    checkStoreBuffering();
    locks<FlagLock>("flag");
    locks<WaitingLock>("flag that is waited for");
    locks<TicketLock>("tickets");
    locks<SemaphoreLock>("binary semaphore");
    locks<TryingLock>("semaphore that is tried");
    checkSemaphore();
    checkHost();
  }
#ifdef BLOCK_BARRIER
  checkBlockBarrier();
#endif
  return report();
}
