// SPDX-License-Identifier: Apache-2.0
// Kernels of libraries and their launches.
#include "tests/cuda/LaunchFixture.h"
#include <atomic>
#include <numeric>
#include <thread>

namespace rubia::runtime::cuda {
namespace {

TEST_F(Launch, TakesAKernelOfALibrary) {
  const int n = 1000;
  std::vector<int> in(n);
  std::iota(in.begin(), in.end(), 0);
  void *from = allocate(n * 4), *to = allocate(n * 4), *constant = nullptr;
  size_t size = 0;
  ASSERT_EQ(cu("cuMemcpyHtoD_v2", from, static_cast<const void *>(in.data()), size_t(n * 4)),
            kSuccess);
  ASSERT_EQ(cu("cuLibraryGetGlobal", &constant, &size, library, "offset"), kSuccess);
  EXPECT_EQ(size, 4u);
  int offset = 5;
  ASSERT_EQ(cu("cuMemcpyHtoD_v2", constant, static_cast<const void *>(&offset), size_t(4)),
            kSuccess);

  uint8_t factor = 200;
  int count = n;
  void *values[] = {&to, &from, &factor, &count};
  ASSERT_EQ(launch(kernel(library, "scale"), 4, 256, 0, values), kSuccess);
  ASSERT_EQ(cu("cuCtxSynchronize"), kSuccess);
  std::vector<int> out = fetch(to, n);
  for (int i = 0; i < n; ++i)
    ASSERT_EQ(out[i], i * 200 + 5) << i;

  // The same, its parameters in one buffer as PTX lays them out.
  struct __attribute__((packed)) {
    void *to, *from;
    uint8_t factor, gap[3];
    int count;
  } buffer{to, from, 3, {}, n};
  size_t bytes = sizeof(buffer);
  void *extra[] = {reinterpret_cast<void *>(1), &buffer, reinterpret_cast<void *>(2), &bytes,
                   nullptr};
  ASSERT_EQ(launch(kernel(library, "scale"), 4, 256, 0, nullptr, extra), kSuccess);
  EXPECT_EQ(fetch(to, n)[10], 35);
  bytes = 8; // the rest is 0
  EXPECT_EQ(launch(kernel(library, "scale"), 4, 256, 0, nullptr, extra), kSuccess);
  bytes = sizeof(buffer);
  EXPECT_EQ(launch(kernel(library, "scale"), 4, 256, 0, values, extra), kInvalidValue);
}

TEST_F(Launch, ParametersAndAttributesAreKnownWithoutCompiling) {
  Function *scale = kernel(library, "scale");
  const size_t expected[][2] = {{0, 8}, {8, 8}, {16, 1}, {20, 4}};
  size_t offset = 0, size = 0;
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(cu("cuKernelGetParamInfo", scale, i, &offset, &size), kSuccess);
    EXPECT_EQ(offset, expected[i][0]) << i;
    EXPECT_EQ(size, expected[i][1]) << i;
  }
  EXPECT_EQ(cu("cuKernelGetParamInfo", scale, size_t(4), &offset, &size), kInvalidValue);
  auto attribute = [&](const char *name, FunctionAttribute which) {
    int value = -1;
    EXPECT_EQ(cu("cuKernelGetAttribute", &value, int(which), kernel(library, name), 0), kSuccess);
    return value;
  };
  EXPECT_EQ(attribute("scale", kPtxVersion), 80);
  EXPECT_EQ(attribute("scale", kBinaryVersion), 80);
  EXPECT_EQ(attribute("scale", kMaxThreadsPerBlock), 1024);
  EXPECT_EQ(attribute("reverse", kMaxThreadsPerBlock), 256);
  EXPECT_EQ(attribute("scale", kMaxDynamicSharedSizeBytes), 48 << 10);
  EXPECT_GT(attribute("scale", kNumRegs), 0);
  EXPECT_EQ(attribute("unlinked", kNumRegs), 0); // cannot be compiled: it says so at its launch
  const char *name = nullptr;
  EXPECT_EQ(cu("cuKernelGetName", &name, scale), kSuccess);
  EXPECT_STREQ(name, "scale");
  Function *function = nullptr;
  EXPECT_EQ(cu("cuKernelGetFunction", &function, scale), kSuccess);
  int value = 0;
  EXPECT_EQ(cu("cuFuncGetAttribute", &value, int(kMaxThreadsPerBlock), function), kSuccess);
  EXPECT_EQ(value, 1024);
}

TEST_F(Launch, DynamicSharedMemoryIsLimitedAndCanBeAskedFor) {
  Function *reverse = kernel(library, "reverse");
  void *out = allocate(256 * 4);
  void *values[] = {&out};
  ASSERT_EQ(launch(reverse, 1, 256, 1024, values), kSuccess);
  std::vector<int> result = fetch(out, 256);
  for (int i = 0; i < 256; ++i)
    ASSERT_EQ(result[i], 255 - i);
  EXPECT_EQ(launch(reverse, 1, 256, 60000, values), kInvalidValue);
  ASSERT_EQ(cu("cuKernelSetAttribute", int(kMaxDynamicSharedSizeBytes), 60000, reverse, 0),
            kSuccess);
  EXPECT_EQ(launch(reverse, 1, 256, 60000, values), kSuccess);
  EXPECT_EQ(cu("cuKernelSetAttribute", int(kMaxDynamicSharedSizeBytes), 1 << 20, reverse, 0),
            kInvalidValue);
}

// More than LDS has, for a kernel that has no use for it.
TEST_F(Launch, SharedMemoryThatAKernelHasNoUseForIsNoMatter) {
  constexpr unsigned kMost = 99 << 10;
  Function *scale = kernel(library, "scale");
  ASSERT_EQ(cu("cuKernelSetAttribute", int(kMaxDynamicSharedSizeBytes), int(kMost), scale, 0),
            kSuccess);
  void *memory = allocate(64 * 4);
  ASSERT_EQ(cu("cuMemsetD32_v2", memory, 7u, size_t(64)), kSuccess);
  uint8_t factor = 6;
  uint32_t count = 64;
  void *values[] = {&memory, &memory, &factor, &count};
  ASSERT_EQ(launch(scale, 1, 64, kMost, values), kSuccess);
  EXPECT_EQ(fetch(memory, 64), std::vector<int>(64, 42));
  int blocks = 0;
  ASSERT_EQ(cu("cuOccupancyMaxActiveBlocksPerMultiprocessor", &blocks, scale, 64, size_t(kMost)),
            kSuccess);
  EXPECT_EQ(blocks, 1);
}

TEST_F(Launch, RefusesImpossibleShapes) {
  Function *scale = kernel(library, "scale");
  void *out = allocate(4);
  uint8_t factor = 1;
  int n = 0;
  void *values[] = {&out, &out, &factor, &n};
  EXPECT_EQ(launch(scale, 0, 256, 0, values), kInvalidValue);
  EXPECT_EQ(launch(scale, 1, 0, 0, values), kInvalidValue);
  EXPECT_EQ(launch(scale, 1, 2048, 0, values), kInvalidValue);
  EXPECT_EQ(launch(scale, 1, 32, 0, nullptr), kInvalidValue);
  EXPECT_EQ(launch(kernel(library, "reverse"), 1, 512, 4096, values), kInvalidValue); // .maxntid
  EXPECT_EQ(launch(nullptr, 1, 32, 0, values), kInvalidHandle);
  EXPECT_EQ(launch(scale, 1, 32, 0, values), kSuccess);
}

TEST_F(Launch, AKernelThatCannotBeCompiledFailsAlone) {
  Function *unlinked = kernel(library, "unlinked");
  EXPECT_EQ(launch(unlinked, 1, 1, 0, nullptr), kInvalidPtx);
  EXPECT_EQ(cu("cuCtxSynchronize"), kSuccess);
  void *out = allocate(4);
  void *values[] = {&out};
  EXPECT_EQ(launch(kernel(library, "reverse"), 1, 1, 4, values), kSuccess);
  EXPECT_EQ(cu("cuCtxSynchronize"), kSuccess);
}

TEST_F(Launch, AFaultSticks) {
  ASSERT_EQ(launch(kernel(library, "wild"), 1, 1, 0, nullptr), kSuccess);
  EXPECT_EQ(cu("cuCtxSynchronize"), kIllegalAddress);
  void *none = nullptr;
  EXPECT_EQ(cu("cuMemAlloc_v2", &none, size_t(16)), kIllegalAddress);
}

// It is the process's: there are no new contexts until those that it reached have ended.
TEST_F(Launch, AFaultReachesContextsToCome) {
  Context *faulty = nullptr, *other = nullptr;
  ASSERT_EQ(cu("cuCtxGetCurrent", &faulty), kSuccess);
  ASSERT_EQ(launch(kernel(library, "wild"), 1, 1, 0, nullptr), kSuccess);
  EXPECT_EQ(cu("cuCtxSynchronize"), kIllegalAddress);
  EXPECT_EQ(cu("cuCtxCreate_v2", &other, 0u, 0), kIllegalAddress);
  EXPECT_EQ(cu("cuDevicePrimaryCtxRetain", &other, 0), kIllegalAddress);
  EXPECT_EQ(cu("cuCtxDestroy_v2", faulty), kSuccess);
  ASSERT_EQ(cu("cuCtxCreate_v2", &other, 0u, 0), kSuccess);
  void *out = allocate(16);
  EXPECT_EQ(cu("cuMemFree_v2", out), kSuccess);
}

TEST_F(Launch, ATrapIsALaunchFailure) {
  ASSERT_EQ(launch(kernel(library, "trapping"), 1, 1, 0, nullptr), kSuccess);
  testing::internal::CaptureStderr();
  EXPECT_EQ(cu("cuCtxSynchronize"), kLaunchFailed);
  std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("thread (0, 0, 0) of CTA (0, 0, 0) executed trap"), std::string::npos)
      << said;
  EXPECT_EQ(cu("cuCtxSynchronize"), kLaunchFailed);
}

LaunchAttribute attributeOf(LaunchAttributeId id, int value) {
  LaunchAttribute attribute{};
  attribute.id = id;
  attribute.cluster = {unsigned(value), 1, 1};
  return attribute;
}

TEST_F(Launch, AttributesAreHonouredOrRefused) {
  Function *reverse = kernel(library, "reverse");
  void *out = allocate(256 * 4);
  void *values[] = {&out};
  auto with = [&](LaunchAttribute attribute) {
    LaunchConfig config{{1, 1, 1}, {32, 1, 1}, 128, nullptr, &attribute, 1};
    return cu("cuLaunchKernelEx", static_cast<const LaunchConfig *>(&config), reverse,
              static_cast<void **>(values), static_cast<void **>(nullptr));
  };
  EXPECT_EQ(with(attributeOf(kLaunchIgnore, 0)), kSuccess);
  EXPECT_EQ(with(attributeOf(kLaunchProgrammaticStreamSerialization, 1)), kSuccess);
  EXPECT_EQ(with(attributeOf(kLaunchClusterDimension, 1)), kSuccess);
  EXPECT_EQ(with(attributeOf(kLaunchClusterDimension, 2)), kInvalidClusterSize); // of one CTA
  EXPECT_EQ(with(attributeOf(kLaunchDeviceUpdatableKernelNode, 1)), kNotSupported);
  EXPECT_EQ(with(attributeOf(LaunchAttributeId(99), 0)), kInvalidValue);
  Event *event = nullptr;
  ASSERT_EQ(cu("cuEventCreate", &event, 2u), kSuccess);
  LaunchAttribute completion{};
  completion.id = kLaunchCompletionEvent;
  completion.event = event;
  EXPECT_EQ(with(completion), kSuccess);
  EXPECT_EQ(cu("cuEventSynchronize", event), kSuccess);
  // Events with times are refused, as on an H200.
  ASSERT_EQ(cu("cuEventCreate", &completion.event, 0u), kSuccess);
  EXPECT_EQ(with(completion), kNotSupported);
  completion.id = kLaunchProgrammaticEvent;
  EXPECT_EQ(with(completion), kNotSupported);
  // A preferred size holds whole clusters, and the grid whole ones of it.
  for (const auto &[preferred, expected] :
       {std::pair(0u, kSuccess), std::pair(1u, kSuccess), std::pair(3u, kInvalidClusterSize)}) {
    LaunchAttribute sizes[] = {attributeOf(kLaunchClusterDimension, 1),
                               attributeOf(kLaunchPreferredClusterDimension, 1)};
    sizes[1].cluster = {preferred, preferred ? 1u : 0u, preferred ? 1u : 0u};
    LaunchConfig config{{4, 1, 1}, {32, 1, 1}, 128, nullptr, sizes, 2};
    EXPECT_EQ(cu("cuLaunchKernelEx", static_cast<const LaunchConfig *>(&config), reverse,
                 static_cast<void **>(values), static_cast<void **>(nullptr)),
              expected)
        << preferred;
  }
}

// out: %gridid, %is_explicit_cluster, whether there is a workspace.
constexpr const char *kGridFacts = R"(.version 8.0
.target sm_90
.address_size 64
.visible .entry facts(.param .u64 out)
{
  .reg .pred %p1;
  .reg .b32 %r<4>;
  .reg .b64 %d<3>;
  ld.param.u64 %d1, [out];
  mov.u64 %d2, %gridid;
  st.global.u32 [%d1], %d2;
  mov.pred %p1, %is_explicit_cluster;
  selp.u32 %r1, 1, 0, %p1;
  st.global.u32 [%d1+4], %r1;
  mov.b32 %r1, %envreg1;
  mov.b32 %r2, %envreg2;
  or.b32 %r1, %r1, %r2;
  setp.ne.u32 %p1, %r1, 0;
  selp.u32 %r1, 1, 0, %p1;
  st.global.u32 [%d1+8], %r1;
  ret;
}
.extern .func nowhere();
.visible .entry unlinked() { call nowhere, (); ret; }
.visible .entry clusters() .reqnctapercluster 2 { ret; }
.visible .entry meeting() .reqnctapercluster 2 { barrier.cluster.arrive; barrier.cluster.wait; ret; }
)";

// As an H200 answers: the legacy default stream is done when all blocking streams are.
TEST_F(Launch, TheLegacyStreamIsBusyWhileBlockingStreamsAre) {
  for (unsigned flags : {0u, 1u}) { // CU_STREAM_NON_BLOCKING
    Stream *stream = nullptr;
    ASSERT_EQ(cu("cuStreamCreate", &stream, flags), kSuccess);
    std::atomic<bool> mayGoOn = false;
    void (*wait)(void *) = [](void *word) { static_cast<std::atomic<bool> *>(word)->wait(false); };
    ASSERT_EQ(cu("cuLaunchHostFunc", stream, wait, static_cast<void *>(&mayGoOn)), kSuccess);
    EXPECT_EQ(cu("cuStreamQuery", stream), kNotReady);
    EXPECT_EQ(cu("cuStreamQuery", static_cast<Stream *>(nullptr)), flags ? kSuccess : kNotReady);
    mayGoOn = true;
    mayGoOn.notify_all();
    EXPECT_EQ(cu("cuStreamSynchronize", stream), kSuccess);
    EXPECT_EQ(cu("cuStreamQuery", static_cast<Stream *>(nullptr)), kSuccess);
    EXPECT_EQ(cu("cuStreamDestroy_v2", stream), kSuccess);
  }
}

TEST_F(Launch, GridsKnowHowTheyWereLaunched) {
  std::vector<uint64_t> image = container(kGridFacts, 1, 90);
  Wrapper wrapper{.data = image.data()};
  Library *library = load(&wrapper);
  ASSERT_TRUE(library);
  Function *facts = kernel(library, "facts");
  void *out = allocate(12);
  void *values[] = {&out};
  auto cooperative = [&](Function *function, unsigned grid, unsigned block) {
    return cu("cuLaunchCooperativeKernel", function, grid, 1u, 1u, block, 1u, 1u, 0u,
              static_cast<Stream *>(nullptr), static_cast<void **>(values));
  };
  ASSERT_EQ(launch(facts, 1, 1, 0, values), kSuccess);
  std::vector<int> plain = fetch(out, 3);
  EXPECT_EQ(plain[1], 0);
  EXPECT_EQ(plain[2], 1);

  ASSERT_EQ(cooperative(facts, 1, 1), kSuccess);
  std::vector<int> together = fetch(out, 3);
  EXPECT_NE(together[0], plain[0]);
  EXPECT_EQ(together[2], 1);
  EXPECT_EQ(cooperative(facts, 1 << 20, 32), kCooperativeLaunchTooLarge);
  // Why it cannot be launched at all comes first.
  EXPECT_EQ(cooperative(kernel(library, "unlinked"), 1, 1), kInvalidPtx);
  EXPECT_EQ(launch(kernel(library, "clusters"), 2, 1, 0, nullptr), kSuccess);
  EXPECT_EQ(launch(kernel(library, "clusters"), 3, 1, 0, nullptr), kInvalidClusterSize);

  LaunchAttribute attribute = attributeOf(kLaunchClusterDimension, 1);
  LaunchConfig config{{1, 1, 1}, {1, 1, 1}, 0, nullptr, &attribute, 1};
  ASSERT_EQ(cu("cuLaunchKernelEx", static_cast<const LaunchConfig *>(&config), facts,
               static_cast<void **>(values), static_cast<void **>(nullptr)),
            kSuccess);
  EXPECT_EQ(fetch(out, 3)[1], 1);
}

// A cluster of 3 or 5 CTAs takes as many slots as one of 4 or 8, and a cooperative launch has room
// for as many as run at once.
TEST_F(Launch, OccupancyCountsTheSlotsOfClusters) {
  std::vector<uint64_t> image = container(kGridFacts, 1, 90);
  Wrapper wrapper{.data = image.data()};
  Library *library = load(&wrapper);
  ASSERT_TRUE(library);
  auto active = [&](unsigned ctas) {
    LaunchAttribute attribute = attributeOf(kLaunchClusterDimension, int(ctas));
    LaunchConfig config{{ctas, 1, 1}, {32, 1, 1}, 0, nullptr, &attribute, 1};
    int clusters = -1;
    EXPECT_EQ(cu("cuOccupancyMaxActiveClusters", &clusters, kernel(library, "facts"),
                 static_cast<const LaunchConfig *>(&config)),
              kSuccess);
    return clusters;
  };
  EXPECT_EQ(active(3), active(4));
  EXPECT_EQ(active(5), active(8));
  EXPECT_GT(active(4), active(8));
  auto cooperative = [&](int ctas) { // in clusters of 2
    return cu("cuLaunchCooperativeKernel", kernel(library, "meeting"), unsigned(ctas), 1u, 1u, 32u,
              1u, 1u, 0u, static_cast<Stream *>(nullptr), static_cast<void **>(nullptr));
  };
  EXPECT_EQ(cooperative(2 * active(2)), kSuccess);
  EXPECT_EQ(cooperative(2 * active(2) + 2), kCooperativeLaunchTooLarge);
  EXPECT_EQ(cu("cuCtxSynchronize"), kSuccess);
}

// Cooperative or not: the pool of slots and the numbers of CTAs are those of the device.
TEST_F(Launch, ClustersRunOneLaunchAfterTheOther) {
  std::vector<uint64_t> image = container(kGridFacts, 1, 90);
  Wrapper wrapper{.data = image.data()};
  Library *library = load(&wrapper);
  ASSERT_TRUE(library);
  Function *meeting = kernel(library, "meeting");
  Stream *first = nullptr, *second = nullptr, *third = nullptr;
  for (Stream **stream : {&first, &second, &third})
    ASSERT_EQ(cu("cuStreamCreate", stream, 1u), kSuccess);
  void *word = allocate(4);
  auto start = [&](Stream *stream, bool isCooperative) {
    return isCooperative ? cu("cuLaunchCooperativeKernel", meeting, 4u, 1u, 1u, 32u, 1u, 1u, 0u,
                              stream, static_cast<void **>(nullptr))
                         : cu("cuLaunchKernel", meeting, 4u, 1u, 1u, 32u, 1u, 1u, 0u, stream,
                              static_cast<void **>(nullptr), static_cast<void **>(nullptr));
  };
  ASSERT_EQ(cu("cuMemsetD32_v2", word, 0u, size_t(1)), kSuccess);
  ASSERT_EQ(cu("cuCtxSynchronize"), kSuccess);
  for (bool isFirst : {true, false}) { // the cooperative one
    const unsigned value = isFirst ? 1 : 2;
    ASSERT_EQ(cu("cuStreamWaitValue32_v2", first, word, value, 1u), kSuccess);
    ASSERT_EQ(start(first, isFirst), kSuccess);
    ASSERT_EQ(start(second, !isFirst), kSuccess);
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    EXPECT_EQ(cu("cuStreamQuery", second), kNotReady) << isFirst;
    ASSERT_EQ(cu("cuStreamWriteValue32_v2", third, word, value, 0u), kSuccess);
    EXPECT_EQ(cu("cuCtxSynchronize"), kSuccess);
  }
}

TEST_F(Launch, ThreadsShareAContext) {
  Function *scale = kernel(library, "scale");
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      ASSERT_EQ(cu("cuCtxSetCurrent", context), kSuccess);
      int n = 64;
      void *memory = allocate(n * 4);
      ASSERT_EQ(cu("cuMemsetD32_v2", memory, 1u, size_t(n)), kSuccess);
      uint8_t factor = t + 2;
      void *values[] = {&memory, &memory, &factor, &n};
      ASSERT_EQ(cu("cuLaunchKernel_ptsz", scale, 2u, 1u, 1u, 32u, 1u, 1u, 0u,
                   static_cast<Stream *>(nullptr), static_cast<void **>(values),
                   static_cast<void **>(nullptr)),
                kSuccess);
      ASSERT_EQ(cu("cuStreamSynchronize_ptsz", static_cast<Stream *>(nullptr)), kSuccess);
      EXPECT_EQ(fetch(memory, n), std::vector<int>(n, t + 2));
    });
  for (std::thread &thread : threads)
    thread.join();
}

TEST_F(Launch, OccupancyIsHips) {
  int blocks = 0, grid = 0, block = 0;
  Function *reverse = kernel(library, "reverse");
  ASSERT_EQ(cu("cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags", &blocks, reverse, 128,
               size_t(0), 0u),
            kSuccess);
  EXPECT_GT(blocks, 0);
  ASSERT_EQ(cu("cuOccupancyMaxPotentialBlockSize", &grid, &block, reverse,
               static_cast<void *>(nullptr), size_t(0), 0),
            kSuccess);
  EXPECT_GT(grid, 0);
  EXPECT_LE(block, 256); // .maxntid
  EXPECT_GT(block, 0);
  // Too many threads, also where their number does not fit an int or 64 bits.
  for (unsigned side : {32u, 1u << 16, 1u << 31}) {
    int clusters = -1;
    LaunchConfig config{{1, 1, 1}, {side, side, side + 1}, 0, nullptr, nullptr, 0};
    EXPECT_EQ(cu("cuOccupancyMaxActiveClusters", &clusters, reverse,
                 static_cast<const LaunchConfig *>(&config)),
              kSuccess)
        << side;
    EXPECT_EQ(clusters, 0) << side;
  }
  size_t shared = 0;
  ASSERT_EQ(cu("cuOccupancyAvailableDynamicSMemPerBlock", &shared, reverse, 2, 128), kSuccess);
  EXPECT_EQ(shared, 32u << 10);
  int size = 0; // of a cluster
  LaunchConfig config{{1, 1, 1}, {64, 1, 1}, 0, nullptr, nullptr, 0};
  EXPECT_EQ(cu("cuOccupancyMaxPotentialClusterSize", &size, reverse,
               static_cast<const LaunchConfig *>(&config)),
            kSuccess);
  EXPECT_EQ(size, 8);
}

TEST_F(Launch, LibrariesEndWithTheirKernels) {
  Function *scale = kernel(library, "scale");
  Function *none = nullptr;
  EXPECT_EQ(cu("cuLibraryGetKernel", &none, library, "no such kernel"), kNotFound);
  EXPECT_EQ(none, nullptr);
  void *address = nullptr;
  EXPECT_EQ(cu("cuLibraryGetGlobal", &address, static_cast<size_t *>(nullptr), library, "missing"),
            kNotFound);
  unsigned count = 0;
  EXPECT_EQ(cu("cuLibraryGetKernelCount", &count, library), kSuccess);
  EXPECT_EQ(count, 5u);
  EXPECT_EQ(cu("cuLibraryUnload", library), kSuccess);
  EXPECT_EQ(cu("cuLibraryUnload", library), kInvalidHandle);
  EXPECT_EQ(launch(scale, 1, 1, 0, nullptr), kInvalidHandle);
}

} // namespace
} // namespace rubia::runtime::cuda
