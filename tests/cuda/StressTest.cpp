// SPDX-License-Identifier: Apache-2.0
// Many threads use one context at the same time, each in a random order of its own: memory, pools,
// streams, events, modules, launches, callbacks, contexts. Every result is compared, and all of it
// is what the thread sanitizer looks at (docs/testing-faults.md, "Threads").
//
// RUBIA_TEST_STRESS=THREADS:SECONDS, default 8:2.
#include "tests/cuda/LaunchFixture.h"
#include <atomic>
#include <chrono>
#include <cstdio>
#include <random>
#include <thread>

namespace rubia::runtime::cuda {
namespace {

// Each thread of the grid adds 1 to sum[0], through shared memory and one atomic of each block.
constexpr const char *kCountingPtx = R"(.version 7.0
.target sm_80
.address_size 64

.visible .entry count(.param .u64 sum)
{
  .reg .pred %p<2>;
  .reg .b32 %r<8>;
  .reg .b64 %d<2>;
  .shared .align 4 .u32 here;
  ld.param.u64 %d1, [sum];
  mov.u32 %r1, %tid.x;
  setp.ne.u32 %p1, %r1, 0;
  @!%p1 st.shared.u32 [here], 0;
  bar.sync 0;
  atom.shared.add.u32 %r2, [here], 1;
  bar.sync 0;
  @%p1 bra done;
  ld.shared.u32 %r3, [here];
  atom.global.add.u32 %r4, [%d1], %r3;
done:
  ret;
}
)";

struct Extent {
  unsigned threads = 8, seconds = 1;
};
Extent extent() {
  Extent wanted;
  if (const char *text = std::getenv("RUBIA_TEST_STRESS"))
    if (std::sscanf(text, "%u:%u", &wanted.threads, &wanted.seconds) != 2)
      throw std::runtime_error("RUBIA_TEST_STRESS: not THREADS:SECONDS");
  return wanted;
}

/// What all threads have.
struct Shared {
  Context *context = nullptr;
  Function *scale = nullptr, *count = nullptr;
  void *sum = nullptr; // how many threads of grids have counted
  std::atomic<uint64_t> counted = 0, steps = 0, failures = 0;
};

/// One thread of the program.
class Worker {
public:
  Worker(Shared &shared, unsigned number) : shared(shared), random(number) {}

  void run(std::chrono::steady_clock::time_point end) {
    expect(cu("cuCtxSetCurrent", shared.context), kSuccess, "cuCtxSetCurrent");
    expect(cu("cuStreamCreate", &stream, 1u), kSuccess, "cuStreamCreate"); // non-blocking
    expect(cu("cuStreamCreate", &other, 1u), kSuccess, "cuStreamCreate");
    static constexpr void (Worker::*kSteps[])() = {
        &Worker::scaleOnStream, &Worker::scaleOnOwnDefault, &Worker::countTogether,
        &Worker::usePool,       &Worker::useEvents,         &Worker::useModule,
        &Worker::useContext,    &Worker::usePrimary,        &Worker::callBack,
        &Worker::ask,           &Worker::copyRoundabout,    &Worker::doWrong};
    do {
      (this->*kSteps[random() % std::size(kSteps)])();
      ++shared.steps;
    } while (std::chrono::steady_clock::now() < end);
    expect(cu("cuStreamDestroy_v2", stream), kSuccess, "cuStreamDestroy");
    expect(cu("cuStreamDestroy_v2", other), kSuccess, "cuStreamDestroy");
  }

private:
  void expect(Result result, Result wanted, const char *what) {
    if (result != wanted && ++shared.failures < 20)
      std::fprintf(stderr, "%s: %d\n", what, int(result));
  }
  void done(Result result, const char *what) { expect(result, kSuccess, what); }
  void holds(bool condition, const char *what) {
    if (!condition && ++shared.failures < 20)
      std::fprintf(stderr, "wrong: %s\n", what);
  }

  void start(Function *function, unsigned grid, unsigned block, Stream *on, void **values) {
    done(cu("cuLaunchKernel", function, grid, 1u, 1u, block, 1u, 1u, 0u, on, values,
            static_cast<void **>(nullptr)),
         "cuLaunchKernel");
  }
  void synchronize(Stream *on) { done(cu("cuStreamSynchronize", on), "cuStreamSynchronize"); }

  /// Of memory that holds `value`: times a number.
  void scaleOn(Stream *on, void *memory, int n) {
    const uint32_t value = uint32_t(random() % 100);
    uint8_t factor = uint8_t(random());
    void *values[] = {&memory, &memory, &factor, &n};
    done(cu("cuMemsetD32Async", memory, value, size_t(n), on), "cuMemsetD32Async");
    start(shared.scale, unsigned(n + 63) / 64, 64, on, values);
    std::vector<uint32_t> out(size_t(n), 0);
    done(cu("cuMemcpyDtoHAsync_v2", static_cast<void *>(out.data()), memory, size_t(n) * 4, on),
         "cuMemcpyDtoHAsync");
    synchronize(on);
    holds(out == std::vector<uint32_t>(size_t(n), value * factor), "scale");
  }
  void *allocateSome(size_t bytes) {
    void *memory = nullptr;
    done(cu("cuMemAlloc_v2", &memory, bytes), "cuMemAlloc");
    return memory;
  }
  void release(void *memory) { done(cu("cuMemFree_v2", memory), "cuMemFree"); }

  void scaleOnStream() {
    const int n = 1 + int(random() % 2000);
    void *memory = allocateSome(size_t(n) * 4);
    scaleOn(stream, memory, n);
    release(memory);
  }
  void scaleOnOwnDefault() {
    void *memory = allocateSome(256);
    scaleOn(reinterpret_cast<Stream *>(2), memory, 64); // CU_STREAM_PER_THREAD
    release(memory);
  }
  void countTogether() {
    const unsigned grid = 1 + unsigned(random() % 16), block = 1 + unsigned(random() % 200);
    void *values[] = {&shared.sum};
    start(shared.count, grid, block, random() % 2 ? stream : other, values);
    shared.counted += grid * block;
  }
  void usePool() {
    void *memory = nullptr;
    done(cu("cuMemAllocAsync", &memory, size_t(4096), stream), "cuMemAllocAsync");
    scaleOn(stream, memory, 1000);
    done(cu("cuMemFreeAsync", memory, stream), "cuMemFreeAsync");
  }
  void useEvents() {
    Event *first = nullptr, *second = nullptr;
    done(cu("cuEventCreate", &first, 0u), "cuEventCreate");
    done(cu("cuEventCreate", &second, 0u), "cuEventCreate");
    done(cu("cuEventRecord", first, stream), "cuEventRecord");
    done(cu("cuStreamWaitEvent", other, first, 0u), "cuStreamWaitEvent");
    done(cu("cuEventRecord", second, other), "cuEventRecord");
    done(cu("cuEventSynchronize", second), "cuEventSynchronize");
    done(cu("cuEventQuery", first), "cuEventQuery");
    float ms = -1;
    done(cu("cuEventElapsedTime", &ms, first, second), "cuEventElapsedTime");
    holds(ms >= 0, "time goes on");
    done(cu("cuEventDestroy_v2", first), "cuEventDestroy");
    done(cu("cuEventDestroy_v2", second), "cuEventDestroy");
  }
  void useModule() {
    Module *module = nullptr;
    Function *function = nullptr;
    done(cu("cuModuleLoadData", &module, static_cast<const void *>(kCountingPtx)),
         "cuModuleLoadData");
    done(cu("cuModuleGetFunction", &function, module, "count"), "cuModuleGetFunction");
    void *values[] = {&shared.sum};
    start(function, 3, 32, stream, values);
    shared.counted += 3 * 32;
    if (random() % 2)
      synchronize(stream);
    done(cu("cuModuleUnload", module), "cuModuleUnload");
  }
  void useContext() {
    Context *mine = nullptr;
    done(cu("cuCtxCreate_v2", &mine, 0u, 0), "cuCtxCreate");
    release(allocateSome(100));
    done(cu("cuCtxSynchronize"), "cuCtxSynchronize");
    done(cu("cuCtxDestroy_v2", mine), "cuCtxDestroy");
    done(cu("cuCtxSetCurrent", shared.context), "cuCtxSetCurrent");
  }
  void usePrimary() {
    Context *primary = nullptr;
    done(cu("cuDevicePrimaryCtxRetain", &primary, 0), "cuDevicePrimaryCtxRetain");
    done(cu("cuCtxPushCurrent_v2", primary), "cuCtxPushCurrent");
    release(allocateSome(64));
    done(cu("cuCtxPopCurrent_v2", &primary), "cuCtxPopCurrent");
    done(cu("cuDevicePrimaryCtxRelease_v2", 0), "cuDevicePrimaryCtxRelease");
  }
  void callBack() {
    unsigned called = 0; // read after the stream has been waited for
    auto *call = +[](void *data) { ++*static_cast<unsigned *>(data); };
    for (unsigned i = 0; i < 3; ++i)
      done(cu("cuLaunchHostFunc", stream, call, static_cast<void *>(&called)), "cuLaunchHostFunc");
    synchronize(stream);
    holds(called == 3, "callbacks");
  }
  void ask() {
    size_t free = 0, total = 0;
    done(cu("cuMemGetInfo_v2", &free, &total), "cuMemGetInfo");
    holds(free <= total, "free memory");
    int blocks = 0;
    done(cu("cuOccupancyMaxActiveBlocksPerMultiprocessor", &blocks, shared.scale, 64, size_t(0)),
         "cuOccupancyMaxActiveBlocksPerMultiprocessor");
    holds(blocks > 0, "occupancy");
    const Result state = cu("cuStreamQuery", stream);
    holds(state == kSuccess || state == kNotReady, "cuStreamQuery");
  }
  /// Host, device, device, host.
  void copyRoundabout() {
    const size_t bytes = 1 + random() % 10000;
    std::vector<uint8_t> in(bytes), out(bytes);
    for (uint8_t &one : in)
      one = uint8_t(random());
    void *first = allocateSome(bytes), *second = allocateSome(bytes);
    done(cu("cuMemcpyHtoDAsync_v2", first, static_cast<const void *>(in.data()), bytes, stream),
         "cuMemcpyHtoDAsync");
    done(cu("cuMemcpyDtoDAsync_v2", second, first, bytes, stream), "cuMemcpyDtoDAsync");
    done(cu("cuMemcpyDtoHAsync_v2", static_cast<void *>(out.data()), second, bytes, stream),
         "cuMemcpyDtoHAsync");
    synchronize(stream);
    holds(in == out, "copies");
    release(first);
    release(second);
  }
  void doWrong() {
    void *memory = nullptr;
    expect(cu("cuMemAlloc_v2", &memory, size_t(0)), kInvalidValue, "cuMemAlloc of nothing");
    if (random() % 64 == 0) { // is logged
      Module *module = nullptr;
      const Result result = cu("cuModuleLoadData", &module, static_cast<const void *>("no PTX"));
      holds(result != kSuccess, "cuModuleLoadData of nonsense");
    }
    const uint64_t local = 0;
    holds(cu("cuMemFree_v2", const_cast<void *>(static_cast<const void *>(&local))) != kSuccess,
          "cuMemFree of a local variable");
  }

  Shared &shared;
  std::mt19937_64 random;
  Stream *stream = nullptr, *other = nullptr;
};

using Stress = Launch;

TEST_F(Stress, ManyThreadsAtOnce) {
  Shared shared;
  shared.context = context;
  shared.scale = kernel(library, "scale");
  Module *module = nullptr;
  ASSERT_EQ(cu("cuModuleLoadData", &module, static_cast<const void *>(kCountingPtx)), kSuccess);
  ASSERT_EQ(cu("cuModuleGetFunction", &shared.count, module, "count"), kSuccess);
  shared.sum = allocate(4);
  ASSERT_EQ(cu("cuMemsetD32_v2", shared.sum, 0u, size_t(1)), kSuccess);
  ASSERT_EQ(cu("cuCtxSynchronize"),
            kSuccess); // the threads' streams do not wait for the null stream
  const Extent wanted = extent();
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(wanted.seconds);
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < wanted.threads; ++i)
    threads.emplace_back([&, i] { Worker(shared, i).run(end); });
  for (std::thread &thread : threads)
    thread.join();
  ASSERT_EQ(cu("cuCtxSynchronize"), kSuccess);
  EXPECT_EQ(shared.failures, 0u);
  EXPECT_EQ(uint32_t(fetch(shared.sum, 1)[0]), uint32_t(shared.counted));
  EXPECT_EQ(cu("cuMemFree_v2", shared.sum), kSuccess);
  std::printf("%u threads, %llu steps\n", wanted.threads,
              static_cast<unsigned long long>(shared.steps));
}

} // namespace
} // namespace rubia::runtime::cuda
