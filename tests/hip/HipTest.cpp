// SPDX-License-Identifier: Apache-2.0
// The emulator through its HIP functions, compiled against AMD's headers as a HIP program is.
#include <gtest/gtest.h>
#define __HIP_PLATFORM_AMD__ 1
#include <hip/hip_runtime_api.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

#define OK(CALL) ASSERT_EQ(CALL, hipSuccess)

std::atomic<int> order;

// Work that takes a while and says when it was done.
struct Slow {
  std::atomic<int> place{0};
  static void run(void *data) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    static_cast<Slow *>(data)->place = ++order;
  }
};
// And work that takes none: it would be first were it not to wait.
struct Quick : Slow {
  static void run(void *data) { static_cast<Quick *>(data)->place = ++order; }
};

TEST(Hip, DeviceSynchronizeWaitsForADestroyedStream) {
  hipStream_t stream;
  Slow slow;
  OK(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
  OK(hipLaunchHostFunc(stream, Slow::run, &slow));
  OK(hipStreamDestroy(stream));
  OK(hipDeviceSynchronize());
  EXPECT_NE(slow.place, 0);
  EXPECT_NE(hipStreamSynchronize(stream), hipSuccess); // the handle is gone
}

TEST(Hip, TheNullStreamWaitsForADestroyedBlockingStream) {
  hipStream_t stream;
  Slow slow;
  void *memory;
  OK(hipMalloc(&memory, 16));
  OK(hipStreamCreateWithFlags(&stream, hipStreamDefault));
  OK(hipLaunchHostFunc(stream, Slow::run, &slow));
  OK(hipStreamDestroy(stream));
  OK(hipMemsetD8(memory, 0, 16));
  EXPECT_NE(slow.place, 0);
  OK(hipFree(memory));
}

TEST(Hip, BlockingStreamsAndTheNullStreamWaitForEachOther) {
  hipStream_t stream;
  Slow first, third, fourth;
  Quick second;
  OK(hipStreamCreate(&stream));
  OK(hipLaunchHostFunc(nullptr, Slow::run, &first));
  OK(hipLaunchHostFunc(stream, Quick::run, &second));
  OK(hipLaunchHostFunc(stream, Slow::run, &third));
  OK(hipStreamSynchronize(nullptr));
  EXPECT_NE(third.place, 0);
  EXPECT_LT(first.place, second.place);
  OK(hipLaunchHostFunc(stream, Slow::run, &fourth));
  OK(hipDeviceSynchronize());
  EXPECT_NE(fourth.place, 0);
  OK(hipStreamDestroy(stream));
}

// What may be reused or is expected as soon as the call returns is waited for; pinned memory is
// not.
TEST(Hip, CopiesOfPageableMemoryAreWaitedFor) {
  hipStream_t stream;
  int pageable = 0, *pinned, *memory;
  OK(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
  OK(hipHostMalloc(reinterpret_cast<void **>(&pinned), 4, 0));
  OK(hipMalloc(reinterpret_cast<void **>(&memory), 4));
  for (bool isPageable : {true, false}) {
    Slow before;
    OK(hipLaunchHostFunc(stream, Slow::run, &before));
    OK(hipMemcpyAsync(isPageable ? &pageable : pinned, memory, 4, hipMemcpyDeviceToHost, stream));
    EXPECT_EQ(before.place != 0, isPageable);
    OK(hipStreamSynchronize(stream));
  }
  OK(hipStreamDestroy(stream));
  OK(hipHostFree(pinned));
  OK(hipFree(memory));
}

TEST(Hip, MemoryIsFreedWhenItsUseIsOver) {
  hipStream_t stream;
  void *ordered, *memory;
  hipPointerAttribute_t attributes;
  Slow before, after;
  OK(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
  OK(hipMallocAsync(&ordered, 4, stream));
  OK(hipMalloc(&memory, 4));
  OK(hipLaunchHostFunc(stream, Slow::run, &before));
  OK(hipFreeAsync(ordered, stream));
  OK(hipPointerGetAttributes(&attributes, ordered)); // it is still there
  EXPECT_EQ(before.place, 0);
  OK(hipStreamSynchronize(stream));
  EXPECT_EQ(hipPointerGetAttributes(&attributes, ordered), hipErrorInvalidValue);
  OK(hipLaunchHostFunc(stream, Slow::run, &after));
  OK(hipFree(memory)); // waits for whoever may use it
  EXPECT_NE(after.place, 0);
  OK(hipStreamDestroy(stream));
}

TEST(Hip, NonBlockingStreamsDoNotWaitForTheNullStream) {
  hipStream_t stream;
  Slow slow;
  OK(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
  OK(hipLaunchHostFunc(nullptr, Slow::run, &slow));
  std::atomic<bool> ran{false};
  OK(hipLaunchHostFunc(
      stream, [](void *flag) { *static_cast<std::atomic<bool> *>(flag) = true; }, &ran));
  OK(hipStreamSynchronize(stream));
  EXPECT_TRUE(ran);
  EXPECT_EQ(slow.place, 0);
  OK(hipDeviceSynchronize());
  OK(hipStreamDestroy(stream));
}

// The program is told; what could not be done is not waited for.
TEST(Hip, AStreamWithoutAThreadIsAnError) {
  pthread_attr_t before, immense;
  ASSERT_EQ(pthread_getattr_default_np(&before), 0);
  ASSERT_EQ(pthread_attr_init(&immense), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&immense, size_t(1) << 47), 0);
  hipStream_t stream;
  void *memory;
  ASSERT_EQ(hipMalloc(&memory, 4), hipSuccess);
  ASSERT_EQ(hipStreamCreate(&stream), hipSuccess);
  ASSERT_EQ(pthread_setattr_default_np(&immense), 0);
  const hipError_t submitted = hipMemsetAsync(memory, 1, 4, stream);
  ASSERT_EQ(pthread_setattr_default_np(&before), 0);
  EXPECT_EQ(submitted, hipSuccess);
  EXPECT_NE(hipStreamSynchronize(stream), hipSuccess);
  EXPECT_EQ(hipDeviceReset(), hipSuccess); // with the stream
  EXPECT_EQ(hipMemset(memory, 1, 4), hipSuccess);
  EXPECT_EQ(hipFree(memory), hipSuccess);
}

// Threads are about to use streams that others destroy by hundreds.
TEST(Hip, StreamsEndWhileOthersUseThem) {
  constexpr int kEnders = 4, kUsers = 12, kSlots = 600, kTurns = 30;
  std::atomic<hipStream_t> streams[kSlots] = {};
  std::atomic<int> wrong = 0, ended = 0;
  auto end = [&] {
    for (int i = 0; i < kTurns * kSlots; ++i) {
      hipStream_t stream = nullptr;
      wrong += hipStreamCreateWithFlags(&stream, hipStreamNonBlocking) != hipSuccess;
      if (hipStream_t old = streams[i % kSlots].exchange(stream))
        wrong += hipStreamDestroy(old) != hipSuccess;
    }
    ++ended;
  };
  auto use = [&](int number) {
    for (int i = number; ended < kEnders; i += 7)
      if (hipStream_t stream = streams[i % kSlots]) {
        const hipError_t code = hipStreamSynchronize(stream);
        wrong += code != hipSuccess && code != hipErrorInvalidHandle;
      }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < kEnders; ++i)
    threads.emplace_back(end);
  for (int i = 0; i < kUsers; ++i)
    threads.emplace_back(use, i);
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(wrong, 0);
  for (std::atomic<hipStream_t> &place : streams)
    OK(hipStreamDestroy(place));
}

// A signal that all threads of the program block stays for who waits for it.
std::atomic<int> handled;

TEST(Hip, ThreadsOfStreamsTakeNoSignals) {
  hipStream_t stream;
  void *memory;
  OK(hipMalloc(&memory, 16));
  OK(hipStreamCreate(&stream));
  OK(hipMemsetD8Async(memory, 0, 16, stream)); // there is a thread now
  OK(hipStreamSynchronize(stream));
  handled = 0;
  signal(SIGUSR1, [](int) { ++handled; });
  sigset_t one, before, pending;
  sigemptyset(&one);
  sigaddset(&one, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &one, &before);
  kill(getpid(), SIGUSR1);
  OK(hipMemsetD8Async(memory, 0, 16, stream));
  OK(hipStreamSynchronize(stream));
  EXPECT_EQ(handled, 0);
  sigpending(&pending);
  EXPECT_TRUE(sigismember(&pending, SIGUSR1));
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  EXPECT_EQ(handled, 1);
  signal(SIGUSR1, SIG_DFL);
  OK(hipStreamDestroy(stream));
  OK(hipFree(memory));
}

TEST(Hip, AnEventOrdersTwoStreams) {
  hipStream_t first, second;
  hipEvent_t event;
  Slow a;
  Quick b;
  OK(hipStreamCreateWithFlags(&first, hipStreamNonBlocking));
  OK(hipStreamCreateWithFlags(&second, hipStreamNonBlocking));
  OK(hipEventCreateWithFlags(&event, hipEventDisableTiming));
  OK(hipLaunchHostFunc(first, Slow::run, &a));
  OK(hipEventRecord(event, first));
  OK(hipStreamWaitEvent(second, event, 0));
  OK(hipLaunchHostFunc(second, Quick::run, &b));
  EXPECT_EQ(hipEventQuery(event), hipErrorNotReady);
  OK(hipStreamSynchronize(second));
  EXPECT_NE(a.place, 0);
  EXPECT_LT(a.place, b.place);
  float ms;
  EXPECT_EQ(hipEventElapsedTime(&ms, event, event), hipErrorInvalidHandle); // no timing
  OK(hipEventDestroy(event));
  EXPECT_EQ(hipEventSynchronize(event), hipErrorInvalidHandle);
  OK(hipStreamDestroy(first));
  OK(hipStreamDestroy(second));
}

TEST(Hip, CopiesAndFillsStayInsideOfAllocations) {
  char *memory;
  char host[32] = {};
  OK(hipMalloc(reinterpret_cast<void **>(&memory), 16));
  EXPECT_EQ(hipMemcpy(memory, host, 17, hipMemcpyHostToDevice), hipErrorInvalidValue);
  EXPECT_EQ(hipMemcpy(host, memory + 8, 9, hipMemcpyDeviceToHost), hipErrorInvalidValue);
  EXPECT_EQ(hipMemsetD32(memory, 1, 5), hipErrorInvalidValue);
  EXPECT_EQ(hipMemsetD32(memory, 1, size_t(1) << 62), hipErrorInvalidValue);
  EXPECT_EQ(hipMemsetD32(memory + 2, 1, 1), hipErrorInvalidValue);
  OK(hipMemsetD32(memory, 0x01020304, 4));
  OK(hipMemcpy(host, memory, 16, hipMemcpyDefault));
  EXPECT_EQ(host[15], 1);
  OK(hipFree(memory));
  EXPECT_EQ(hipMemcpy(host, memory, 16, hipMemcpyDefault), hipErrorInvalidValue);
  EXPECT_EQ(hipMemcpy(memory, host, 16, hipMemcpyDefault), hipErrorInvalidValue);
  EXPECT_EQ(hipFree(memory), hipErrorInvalidValue);
}

TEST(Hip, ImagesThatAreNoCodeObjectsAreRefused) {
  hipModule_t module;
  std::vector<char> bytes(4096, 'x');
  EXPECT_EQ(hipModuleLoadData(&module, bytes.data()), hipErrorInvalidImage);
  EXPECT_EQ(hipModuleLoadData(&module, nullptr), hipErrorInvalidValue);
  hipFunction_t function;
  EXPECT_EQ(hipModuleGetFunction(&function, reinterpret_cast<hipModule_t>(bytes.data()), "k"),
            hipErrorInvalidHandle);
}

TEST(Hip, TheDeviceIsTheOneThatWasAskedFor) {
  int count = 0;
  OK(hipGetDeviceCount(&count));
  ASSERT_EQ(count, 1);
  hipDeviceProp_t properties;
  OK(hipGetDeviceProperties(&properties, 0));
  EXPECT_STREQ(properties.gcnArchName, "gfx1100");
  EXPECT_EQ(properties.warpSize, 32);
  EXPECT_EQ(hipSetDevice(1), hipErrorInvalidDevice);
  EXPECT_EQ(hipGetLastError(), hipErrorInvalidDevice);
  EXPECT_EQ(hipGetLastError(), hipSuccess);
}

} // namespace
