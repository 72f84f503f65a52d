// SPDX-License-Identifier: Apache-2.0
// Calls with nonsense get the codes that an H100's driver gave (CUDA 13.0), and crash nothing.
#include "tests/cuda/LaunchFixture.h"
#include <atomic>
#include <cfenv>
#include <cstring>
#include <random>
#include <sys/mman.h>
#include <thread>

namespace rubia::runtime::cuda {
namespace {

class Abuse : public ::testing::Test {
protected:
  void SetUp() override {
    ASSERT_EQ(cu("cuInit", 0u), kSuccess);
    ASSERT_EQ(cu("cuCtxCreate_v2", &first, 0u, 0), kSuccess);
  }
  // The last `size` bytes before a page that cannot be accessed.
  static char *beforeHole(size_t size) {
    constexpr size_t kPage = 4096;
    auto *pages = static_cast<char *>(
        mmap(nullptr, 2 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    EXPECT_EQ(mprotect(pages + kPage, kPage, PROT_NONE), 0);
    return pages + kPage - size;
  }

  Context *first = nullptr;
};

TEST_F(Abuse, ANameFitsWhateverLengthIsGiven) {
  char *name = beforeHole(64);
  memset(name, 'x', 64);
  EXPECT_EQ(cu("cuDeviceGetName", name, 0x7fffffff, 0), kSuccess);
  EXPECT_LT(strlen(name), 63u);
  char *four = beforeHole(4);
  EXPECT_EQ(cu("cuDeviceGetName", four, 4, 0), kSuccess);
  EXPECT_EQ(strlen(four), 3u);
}

TEST_F(Abuse, BogusNumbersAreInvalidValues) {
  int value = -7;
  size_t limit = 7;
  for (int attribute : {-1, 0, 148, 9999, 0x7fffffff}) {
    EXPECT_EQ(cu("cuDeviceGetAttribute", &value, attribute, 0), kInvalidValue) << attribute;
    EXPECT_EQ(cu("cuCtxGetLimit", &limit, attribute < 0 ? attribute : attribute + 10),
              kInvalidValue);
    EXPECT_EQ(cu("cuCtxSetLimit", attribute < 0 ? attribute : attribute + 10, limit),
              kInvalidValue);
  }
  EXPECT_EQ(value, -7);
  EXPECT_EQ(limit, 7u);
  for (int attribute = 1; attribute <= 147; ++attribute)
    EXPECT_EQ(cu("cuDeviceGetAttribute", &value, attribute, 0), kSuccess) << attribute;
  EXPECT_EQ(cu("cuDeviceGetP2PAttribute", &value, 1, 0, 0), kInvalidDevice);
}

TEST_F(Abuse, PeerCopiesOfWildPointersAreRefused) {
  char *memory = static_cast<char *>(allocate(4096)), *wild = reinterpret_cast<char *>(0x1234);
  Stream *none = nullptr;
  Context *current = nullptr;
  auto copy = [&](char *to, char *from, size_t bytes, Context *context) {
    Result result = cu("cuMemcpyPeer", to, context, from, context, bytes);
    EXPECT_EQ(cu("cuMemcpyPeerAsync", to, context, from, context, bytes, none), result);
    return result;
  };
  EXPECT_EQ(copy(wild, wild + 64, 16, first), kInvalidValue);
  EXPECT_EQ(copy(memory, wild, 16, first), kInvalidValue);
  EXPECT_EQ(copy(nullptr, memory, 16, first), kInvalidValue);
  EXPECT_EQ(copy(memory, memory + 4080, 17, first), kInvalidValue);
  EXPECT_EQ(copy(memory, memory + 64, size_t(-1), first), kInvalidValue);
  EXPECT_EQ(copy(wild, wild, 0, first), kSuccess);
  EXPECT_EQ(copy(memory, memory + 4080, 16, first), kSuccess);
  EXPECT_EQ(copy(memory, memory + 4080, 16, current), kSuccess);
  EXPECT_EQ(copy(memory, memory + 64, 16, reinterpret_cast<Context *>(wild)), kInvalidContext);
}

// A variable of a module is memory as any other.
TEST_F(Abuse, PeerCopiesTakeModuleVariables) {
  Module *module = nullptr;
  void *table = nullptr, *out = allocate(32);
  size_t bytes = 0;
  uint64_t values[4] = {};
  ASSERT_EQ(cu("cuModuleLoadData", &module, static_cast<const void *>(kPtx)), kSuccess);
  ASSERT_EQ(cu("cuModuleGetGlobal_v2", &table, &bytes, module, "table"), kSuccess);
  EXPECT_EQ(cu("cuMemcpyPeer", out, first, table, first, bytes), kSuccess);
  EXPECT_EQ(cu("cuMemcpyDtoH_v2", static_cast<void *>(values), out, size_t(32)), kSuccess);
  EXPECT_EQ(values[3], 4u);
}

TEST_F(Abuse, ALinkersTextEndsAtItsNul) {
  const char *ptx = ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry k() { ret; }\n";
  const size_t whole = strlen(ptx) + 1;
  for (size_t size : {size_t(-1), size_t(1) << 31, whole, whole - 1}) {
    char *text = beforeHole(whole);
    memcpy(text, ptx, whole);
    void *state = nullptr, *image = nullptr;
    size_t bytes = 0;
    Module *module = nullptr;
    ASSERT_EQ(cu("cuLinkCreate_v2", 0u, nullptr, nullptr, &state), kSuccess);
    EXPECT_EQ(cu("cuLinkAddData_v2", state, 1, text, size, "text", 0u, nullptr, nullptr), kSuccess);
    EXPECT_EQ(cu("cuLinkComplete", state, &image, &bytes), kSuccess);
    EXPECT_GE(bytes, whole);
    EXPECT_EQ(cu("cuModuleLoadData", &module, static_cast<const void *>(image)), kSuccess);
    EXPECT_EQ(cu("cuLinkDestroy", state), kSuccess);
  }
}

TEST_F(Abuse, StreamsWorkInTheirOwnContext) {
  Context *second = nullptr;
  Stream *ofFirst = nullptr, *ofSecond = nullptr, *none = nullptr;
  Event *eventOfFirst = nullptr, *eventOfSecond = nullptr;
  ASSERT_EQ(cu("cuStreamCreate", &ofFirst, 0u), kSuccess);
  ASSERT_EQ(cu("cuEventCreate", &eventOfFirst, 0u), kSuccess);
  Library *library = load(kPtx);
  Module *module = nullptr;
  Function *function = nullptr;
  ASSERT_EQ(cu("cuModuleLoadData", &module, static_cast<const void *>(kPtx)), kSuccess);
  ASSERT_EQ(cu("cuModuleGetFunction", &function, module, "reverse"), kSuccess);
  void *out = allocate(1024), *values[] = {&out};
  ASSERT_EQ(cu("cuCtxCreate_v2", &second, 0u, 0), kSuccess);
  ASSERT_EQ(cu("cuStreamCreate", &ofSecond, 0u), kSuccess);
  ASSERT_EQ(cu("cuEventCreate", &eventOfSecond, 0u), kSuccess);

  EXPECT_EQ(cu("cuEventRecord", eventOfFirst, ofSecond), kInvalidHandle);
  EXPECT_EQ(cu("cuEventRecord", eventOfFirst, none), kInvalidHandle);
  EXPECT_EQ(cu("cuEventRecord", eventOfSecond, ofFirst), kInvalidHandle);
  EXPECT_EQ(cu("cuEventRecord", eventOfFirst, ofFirst), kSuccess);
  EXPECT_EQ(cu("cuEventRecord", eventOfSecond, ofSecond), kSuccess);
  EXPECT_EQ(cu("cuStreamWaitEvent", ofSecond, eventOfFirst, 0u), kSuccess);
  EXPECT_EQ(cu("cuStreamSynchronize", ofFirst), kSuccess);
  EXPECT_EQ(cu("cuStreamQuery", ofFirst), kSuccess);
  float ms = 0;
  EXPECT_EQ(cu("cuEventElapsedTime", &ms, eventOfFirst, eventOfSecond), kInvalidHandle);

  auto launchOn = [&](Stream *stream, Function *launched) {
    return cu("cuLaunchKernel", launched, 1u, 1u, 1u, 256u, 1u, 1u, 1024u, stream,
              static_cast<void **>(values), static_cast<void **>(nullptr));
  };
  EXPECT_EQ(launchOn(ofSecond, function), kInvalidHandle);
  EXPECT_EQ(launchOn(none, function), kInvalidHandle);
  EXPECT_EQ(launchOn(ofFirst, function), kSuccess);
  EXPECT_EQ(launchOn(ofFirst, kernel(library, "reverse")), kSuccess); // of any context
  EXPECT_EQ(cu("cuStreamSynchronize", ofFirst), kSuccess);
}

// Threads may not do that, but a program whose threads end in another order than it thinks gets an
// error for it, and goes on.
TEST_F(Abuse, StreamsAndEventsEndWhileOthersUseThem) {
  constexpr unsigned kSlots = 6, kThreads = 4;
  std::atomic<Stream *> streams[kSlots] = {};
  std::atomic<Event *> events[kSlots] = {};
  std::atomic<unsigned> done = 0;
  void *memory = allocate(4096);
  auto work = [&](unsigned seed) {
    std::minstd_rand random(seed);
    auto any = [&] { return random() % kSlots; };
    EXPECT_EQ(cu("cuCtxSetCurrent", first), kSuccess);
    for (unsigned i = 0; i < 6000; ++i) {
      Stream *stream = streams[any()];
      Event *event = events[any()];
      switch (random() % 9) {
      case 0:
        if (cu("cuStreamCreate", &stream, unsigned(random() % 2)) == kSuccess)
          (void)cu("cuStreamDestroy_v2", streams[any()].exchange(stream));
        break;
      case 1:
        (void)cu("cuStreamDestroy_v2", stream);
        break;
      case 2:
        if (cu("cuEventCreate", &event, 0u) == kSuccess)
          (void)cu("cuEventDestroy_v2", events[any()].exchange(event));
        break;
      case 3:
        (void)cu("cuEventDestroy_v2", event);
        break;
      case 4:
        done += cu("cuEventRecord", event, stream) == kSuccess;
        break;
      case 5:
        done += cu("cuStreamWaitEvent", stream, event, 0u) == kSuccess;
        break;
      case 6:
        done += cu("cuMemsetD8Async", memory, static_cast<unsigned char>(seed), size_t(4096),
                   stream) == kSuccess;
        break;
      case 7:
        done += cu("cuStreamSynchronize", stream) == kSuccess;
        break;
      case 8:
        done += cu("cuEventQuery", event) == kSuccess;
        break;
      }
    }
  };
  std::vector<std::thread> threads;
  for (unsigned i = 1; i <= kThreads; ++i)
    threads.emplace_back(work, i);
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_GT(done, kThreads * 500);
  for (unsigned i = 0; i < kSlots; ++i) {
    (void)cu("cuStreamDestroy_v2", streams[i].load());
    (void)cu("cuEventDestroy_v2", events[i].load());
  }
  EXPECT_EQ(cu("cuCtxSynchronize"), kSuccess);
}

// What a reset takes with it is gone for all. Kernels that use it meanwhile may fail: that is told
// until the next reset.
TEST(PrimaryContext, IsResetWhileOthersUseIt) {
  constexpr unsigned kThreads = 8, kSlots = 8;
  ASSERT_EQ(cu("cuInit", 0u), kSuccess);
  Context *context = nullptr;
  ASSERT_EQ(cu("cuDevicePrimaryCtxRetain", &context, 0), kSuccess);
  ASSERT_EQ(cu("cuCtxSetCurrent", context), kSuccess);
  std::atomic<void *> memory = allocate(4096);
  std::atomic<Stream *> streams[kSlots] = {};
  std::atomic<unsigned> done = 0;
  auto work = [&](unsigned seed) {
    std::minstd_rand random(seed);
    EXPECT_EQ(cu("cuCtxSetCurrent", context), kSuccess);
    Module *module = nullptr;
    Function *function = nullptr;
    Graph *graph = nullptr;
    void *made = nullptr;
    uint64_t handle = 0;
    for (unsigned i = 0; i < 3000; ++i) {
      std::atomic<Stream *> &place = streams[random() % kSlots];
      Stream *stream = place;
      void *values[] = {&made};
      switch (random() % 12) {
      case 0:
        if (random() % 4 == 0)
          EXPECT_EQ(cu("cuDevicePrimaryCtxReset_v2", 0), kSuccess);
        break;
      case 1:
        if (cu("cuMemAlloc_v2", &made, size_t(4096)) == kSuccess)
          (void)cu("cuMemFree_v2", memory.exchange(made));
        break;
      case 2:
        if (cu("cuModuleLoadData", &module, kPtx) == kSuccess &&
            cu("cuModuleGetFunction", &function, module, "reverse") == kSuccess) {
          made = memory;
          done += cu("cuLaunchKernel", function, 1u, 1u, 1u, 256u, 1u, 1u, 1024u, stream,
                     static_cast<void **>(values), static_cast<void **>(nullptr)) == kSuccess;
        }
        (void)cu("cuModuleUnload", module);
        break;
      case 3: // takes a word of device memory
        if (cu("cuGraphCreate", &graph, 0u) == kSuccess)
          (void)cu("cuGraphConditionalHandleCreate", &handle, graph, context, 1u, 1u);
        (void)cu("cuGraphDestroy", graph);
        break;
      case 4:
        done += cu("cuStreamSynchronize", stream) == kSuccess;
        break;
      case 5:
        done += cu("cuMemsetD8Async", memory.load(), static_cast<unsigned char>(seed), size_t(4096),
                   stream) == kSuccess;
        break;
      default:
        if (cu("cuStreamCreate", &stream, random() % 2) == kSuccess)
          (void)cu("cuStreamDestroy_v2", place.exchange(stream));
      }
    }
  };
  std::vector<std::thread> threads;
  for (unsigned i = 1; i <= kThreads; ++i)
    threads.emplace_back(work, i);
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_GT(done, 100u);
  EXPECT_EQ(cu("cuDevicePrimaryCtxReset_v2", 0), kSuccess);
  memory = allocate(4096);
  EXPECT_EQ(cu("cuMemFree_v2", memory.load()), kSuccess);
  EXPECT_EQ(cu("cuDevicePrimaryCtxRelease_v2", 0), kSuccess);
}

// The end of a thread would unwind functions that throw nothing.
TEST_F(Abuse, AThreadIsCancelledBehindItsCall) {
  for (int i = 0; i < 40; ++i) {
    std::atomic<bool> hasBegun = false;
    auto work = [&]() -> void * {
      EXPECT_EQ(cu("cuCtxSetCurrent", first), kSuccess);
      void *memory = allocate(4096);
      for (Stream *none = nullptr;; pthread_testcancel()) {
        EXPECT_EQ(cu("cuMemsetD8Async", memory, static_cast<unsigned char>(1), size_t(4096), none),
                  kSuccess);
        EXPECT_EQ(cu("cuStreamSynchronize", none), kSuccess);
        hasBegun = true;
      }
    };
    pthread_t thread;
    ASSERT_EQ(pthread_create(
                  &thread, nullptr,
                  [](void *pointer) { return (*static_cast<decltype(work) *>(pointer))(); }, &work),
              0);
    while (!hasBegun)
      std::this_thread::yield();
    void *result = nullptr;
    EXPECT_EQ(pthread_cancel(thread), 0);
    EXPECT_EQ(pthread_join(thread, &result), 0);
    EXPECT_EQ(result, PTHREAD_CANCELED);
  }
}

// Programs look for mistakes with it. The driver's own sums are none of theirs.
TEST_F(Abuse, FloatingPointMayTrap) {
  const std::string text = "// " + std::to_string(getpid()) + "\n" + kPtx; // none has compiled it
  feclearexcept(FE_ALL_EXCEPT);
  feenableexcept(FE_ALL_EXCEPT);
  void *memory = allocate(4096), *values[] = {&memory};
  EXPECT_EQ(launch(kernel(load(text.c_str()), "reverse"), 1, 256, 1024, values), kSuccess);
  EXPECT_EQ(cu("cuCtxSynchronize"), kSuccess);
  EXPECT_EQ(fegetexcept(), FE_ALL_EXCEPT);
  fedisableexcept(FE_ALL_EXCEPT);
}

// Who retains a primary context while its last reference goes gets one that lives.
TEST(PrimaryContext, IsRetainedWhileItIsReleased) {
  ASSERT_EQ(cu("cuInit", 0u), kSuccess);
  std::atomic<int> failures = 0;
  auto work = [&] {
    for (int i = 0; i < 20'000; ++i) {
      Context *context = nullptr;
      void *memory = nullptr;
      failures += cu("cuDevicePrimaryCtxRetain", &context, 0) != kSuccess;
      failures += cu("cuCtxSetCurrent", context) != kSuccess;
      failures += cu("cuMemAlloc_v2", &memory, size_t(64)) != kSuccess;
      failures += cu("cuMemFree_v2", memory) != kSuccess;
      failures += cu("cuDevicePrimaryCtxRelease_v2", 0) != kSuccess;
    }
  };
  std::thread one(work), two(work), three(work);
  one.join();
  two.join();
  three.join();
  EXPECT_EQ(failures, 0);
}

} // namespace
} // namespace rubia::runtime::cuda
