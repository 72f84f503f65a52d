// SPDX-License-Identifier: Apache-2.0
// Memory, copies, streams and events, as far as they are the driver's work and not HIP's.
#include "tests/cuda/Client.h"
#include <atomic>
#include <cstring>
#include <numeric>
#include <thread>
#include <vector>

namespace rubia::runtime::cuda {
namespace {

using Memory = InContext;

TEST_F(Memory, CopiesThereAndBack) {
  std::vector<int> in(100), out(100);
  std::iota(in.begin(), in.end(), 1);
  void *a = allocate(400), *b = allocate(400);
  EXPECT_EQ(cu("cuMemcpyHtoD_v2", a, static_cast<const void *>(in.data()), size_t(400)), kSuccess);
  EXPECT_EQ(cu("cuMemcpyDtoD_v2", b, a, size_t(400)), kSuccess);
  EXPECT_EQ(cu("cuMemcpyDtoH_v2", static_cast<void *>(out.data()), b, size_t(400)), kSuccess);
  EXPECT_EQ(in, out);
  EXPECT_EQ(cu("cuMemFree_v2", a), kSuccess);
  EXPECT_EQ(cu("cuMemFree_v2", a), kInvalidValue);
  EXPECT_EQ(cu("cuMemFree_v2", static_cast<void *>(nullptr)), kSuccess);
  EXPECT_EQ(cu("cuMemFree_v2", static_cast<void *>(static_cast<char *>(b) + 4)), kInvalidValue);
  void *none = nullptr;
  EXPECT_EQ(cu("cuMemAlloc_v2", &none, size_t(0)), kInvalidValue);
  EXPECT_EQ(cu("cuMemAlloc_v2", &none, size_t(1) << 40), kOutOfMemory);
  EXPECT_EQ(cu("cuMemAlloc_v2", &none, size_t(16)), kSuccess); // that was no fault
}

TEST_F(Memory, NeedsAContext) {
  Context *popped = nullptr;
  ASSERT_EQ(cu("cuCtxPopCurrent_v2", &popped), kSuccess);
  EXPECT_EQ(popped, context);
  void *none = nullptr;
  EXPECT_EQ(cu("cuMemAlloc_v2", &none, size_t(16)), kInvalidContext);
  EXPECT_EQ(cu("cuCtxPopCurrent_v2", &popped), kInvalidContext);
}

TEST_F(Memory, CopiesRectangles) {
  // 3 rows of 5 bytes at (2, 1) of a 16-byte-wide source to (1, 2) of a 32-byte-wide destination.
  std::vector<char> in(16 * 8), out(32 * 8, 0), expected(32 * 8, 0);
  std::iota(in.begin(), in.end(), 0);
  for (int y = 0; y < 3; ++y)
    for (int x = 0; x < 5; ++x)
      expected[(2 + y) * 32 + 1 + x] = in[(1 + y) * 16 + 2 + x];
  void *device = allocate(32 * 8);
  ASSERT_EQ(cu("cuMemsetD8_v2", device, static_cast<unsigned char>(0), size_t(32 * 8)), kSuccess);
  Copy2D copy{};
  copy.from = {2, 1, kMemoryHost, in.data(), nullptr, nullptr, 16};
  copy.to = {1, 2, kMemoryDevice, nullptr, device, nullptr, 32};
  copy.widthInBytes = 5;
  copy.height = 3;
  EXPECT_EQ(cu("cuMemcpy2D_v2", &copy), kSuccess);
  memcpy(out.data(), device, out.size());
  EXPECT_EQ(out, expected);

  copy.from.pitch = 4; // narrower than the rectangle
  EXPECT_EQ(cu("cuMemcpy2D_v2", &copy), kInvalidValue);
  copy.from.pitch = 16;
  copy.from.type = kMemoryArray;
  EXPECT_EQ(cu("cuMemcpy2D_v2", &copy), kInvalidValue); // no array
}

// A table of 8 rows of 4 bytes behind another one: it begins 40 bytes into a memory whose pitch
// is 4.
TEST_F(Memory, CopiesRowsThatBeginBehindTheFirstPitch) {
  std::vector<char> in(8 * 4), out(80, 0), expected(80, 0);
  std::iota(in.begin(), in.end(), 1);
  std::copy(in.begin(), in.end(), expected.begin() + 40);
  void *device = allocate(80);
  ASSERT_EQ(cu("cuMemsetD8_v2", device, static_cast<unsigned char>(0), size_t(80)), kSuccess);
  Copy2D copy{};
  copy.from = {0, 0, kMemoryHost, in.data(), nullptr, nullptr, 4};
  copy.to = {40, 0, kMemoryDevice, nullptr, device, nullptr, 4};
  copy.widthInBytes = 4;
  copy.height = 8;
  EXPECT_EQ(cu("cuMemcpy2D_v2", &copy), kSuccess);
  memcpy(out.data(), device, out.size());
  EXPECT_EQ(out, expected);
  copy.to.xInBytes = 42; // its rows would go on in the next
  EXPECT_EQ(cu("cuMemcpy2D_v2", &copy), kInvalidValue);
  copy.to.xInBytes = 52; // its last row would end behind the memory
  EXPECT_EQ(cu("cuMemcpy2D_v2", &copy), kInvalidValue);
}

TEST_F(Memory, CopiesBoxes) {
  std::vector<char> in(4 * 4 * 4), out(4 * 4 * 4, 0);
  std::iota(in.begin(), in.end(), 0);
  void *device = allocate(64);
  ASSERT_EQ(cu("cuMemsetD32_v2", device, 0u, size_t(16)), kSuccess);
  Copy3D copy{};
  copy.from = {1, 1, 1, 0, kMemoryHost, in.data(), nullptr, nullptr, nullptr, 4, 4};
  copy.to = {0, 0, 0, 0, kMemoryDevice, nullptr, device, nullptr, nullptr, 4, 4};
  copy.widthInBytes = 2;
  copy.height = 2;
  copy.depth = 2;
  EXPECT_EQ(cu("cuMemcpy3D_v2", &copy), kSuccess);
  memcpy(out.data(), device, 64);
  for (int z = 0; z < 4; ++z)
    for (int y = 0; y < 4; ++y)
      for (int x = 0; x < 4; ++x)
        EXPECT_EQ(out[z * 16 + y * 4 + x],
                  z < 2 && y < 2 && x < 2 ? in[(z + 1) * 16 + (y + 1) * 4 + x + 1] : 0);
}

// What the host can see it may read when the call returns.
// One row without pitches, whose place y and z say all the same.
TEST_F(Memory, CopiesARowFromInside) {
  std::vector<char> from(64), to(64);
  std::iota(from.begin(), from.end(), 0);
  char *device = static_cast<char *>(allocate(128));
  Copy3D copy{};
  copy.widthInBytes = 8;
  copy.height = copy.depth = 1;
  copy.from.type = copy.to.type = kMemoryHost;
  copy.from.host = from.data();
  copy.to = {2, 1, 3, 0, kMemoryDevice, nullptr, device, nullptr, nullptr, 0, 0};
  ASSERT_EQ(cu("cuMemcpy3D_v2", &copy), kSuccess);
  // Without a pitch and a height, a row has 10 bytes, and a slice 2 rows (an H200).
  Copy2D back{};
  back.from = {2, 7, kMemoryDevice, nullptr, device, nullptr, 0};
  back.to = {0, 2, kMemoryHost, to.data(), nullptr, nullptr, 0};
  back.widthInBytes = 8;
  back.height = 1;
  ASSERT_EQ(cu("cuMemcpy2D_v2", &back), kSuccess);
  EXPECT_TRUE(std::equal(from.begin(), from.begin() + 8, to.begin() + 16));
  EXPECT_EQ(to[0], 0);
}

TEST_F(Memory, FillsOfMemoryThatTheHostSeesHaveFinished) {
  auto *synchronizations = fakeHip<int()>("fakeHipSynchronizations");
  void *pinned = nullptr, *managed = nullptr;
  static char buffer[4096];
  void *registered = buffer;
  ASSERT_EQ(cu("cuMemHostAlloc", &pinned, size_t(64), 0u), kSuccess);
  ASSERT_EQ(cu("cuMemAllocManaged", &managed, size_t(64), 1u), kSuccess);
  ASSERT_EQ(cu("cuMemHostRegister_v2", registered, size_t(4096), 0u), kSuccess);
  auto waits = [&](const char *name, void *to) {
    int before = synchronizations();
    EXPECT_EQ(cu(name, to, static_cast<unsigned char>(1), size_t(64)), kSuccess);
    return synchronizations() - before;
  };
  for (const char *name : {"cuMemsetD8_v2", "cuMemsetD8_v2_ptds"}) {
    for (void *to : {pinned, managed, registered})
      EXPECT_EQ(waits(name, to), 1) << name;
    EXPECT_EQ(waits(name, allocate(64)), 0) << name;
  }
  int before = synchronizations();
  EXPECT_EQ(cu("cuMemsetD2D32_v2", managed, size_t(16), 1u, size_t(2), size_t(4)), kSuccess);
  EXPECT_EQ(synchronizations(), before + 1);
  EXPECT_EQ(cu("cuMemsetD8Async", managed, static_cast<unsigned char>(1), size_t(64),
               static_cast<Stream *>(nullptr)),
            kSuccess);
  EXPECT_EQ(synchronizations(), before + 1);
}

// Sizes whose product in bytes is small only because it does not fit.
TEST_F(Memory, SizesThatDoNotFitAreRefused) {
  void *p = allocate(64);
  size_t quarter = size_t(1) << 62, half = size_t(1) << 63;
  Stream *none = nullptr;
  EXPECT_EQ(cu("cuMemsetD32_v2", p, 1u, quarter), kInvalidValue);
  EXPECT_EQ(cu("cuMemsetD32Async", p, 1u, quarter, none), kInvalidValue);
  EXPECT_EQ(cu("cuMemsetD16_v2", p, static_cast<unsigned short>(1), half), kInvalidValue);
  EXPECT_EQ(cu("cuMemsetD2D32_v2", p, size_t(16), 1u, quarter, size_t(2)), kInvalidValue);
  EXPECT_EQ(cu("cuMemsetD2D8_v2", p, half, static_cast<unsigned char>(1), size_t(4), size_t(3)),
            kInvalidValue);
  EXPECT_EQ(cu("cuMemsetD2D8_v2", p, quarter, static_cast<unsigned char>(1), quarter, size_t(4)),
            kInvalidValue);

  std::vector<char> host(64);
  Copy3D good{};
  good.from = {0, 0, 0, 0, kMemoryHost, host.data(), nullptr, nullptr, nullptr, 4, 4};
  good.to = {0, 0, 0, 0, kMemoryDevice, nullptr, p, nullptr, nullptr, 4, 4};
  good.widthInBytes = good.height = good.depth = 4;
  EXPECT_EQ(cu("cuMemcpy3D_v2", &good), kSuccess);
  auto with = [&](auto change) {
    Copy3D copy = good;
    change(copy);
    return cu("cuMemcpy3D_v2", &copy);
  };
  EXPECT_EQ(with([&](Copy3D &c) { c.from.pitch = c.to.pitch = quarter; }), kInvalidValue);
  EXPECT_EQ(with([&](Copy3D &c) { c.to.height = quarter; }), kInvalidValue);
  EXPECT_EQ(with([&](Copy3D &c) { c.to.y = quarter; }), kInvalidValue);
  EXPECT_EQ(with([&](Copy3D &c) { c.from.z = quarter; }), kInvalidValue);
  EXPECT_EQ(with([&](Copy3D &c) { c.depth = quarter; }), kInvalidValue);
  EXPECT_EQ(with([&](Copy3D &c) { c.height = quarter; }), kInvalidValue);
}

TEST_F(Memory, FillsRows) {
  auto *device = static_cast<unsigned short *>(allocate(4 * 16));
  ASSERT_EQ(cu("cuMemsetD8_v2", static_cast<void *>(device), static_cast<unsigned char>(0xff),
               size_t(64)),
            kSuccess);
  EXPECT_EQ(cu("cuMemsetD2D16_v2", static_cast<void *>(device), size_t(16),
               static_cast<unsigned short>(7), size_t(3), size_t(4)),
            kSuccess);
  for (int y = 0; y < 4; ++y)
    for (int x = 0; x < 8; ++x)
      EXPECT_EQ(device[y * 8 + x], x < 3 ? 7 : 0xffff);
  EXPECT_EQ(cu("cuMemsetD32_v2", static_cast<void *>(device + 1), 1u, size_t(1)), kInvalidValue);
}

template <class T> T attribute(PointerAttribute which, void *pointer) {
  T value{};
  EXPECT_EQ(cu("cuPointerGetAttribute", static_cast<void *>(&value), int(which), pointer), kSuccess)
      << which;
  return value;
}

TEST_F(Memory, PointersKnowWhatTheyPointTo) {
  auto *device = static_cast<char *>(allocate(1000));
  EXPECT_EQ(attribute<unsigned>(kPointerMemoryType, device + 10), unsigned(kMemoryDevice));
  EXPECT_EQ(attribute<Context *>(kPointerContext, device + 10), context);
  EXPECT_EQ(attribute<void *>(kPointerRangeStart, device + 999), device);
  EXPECT_EQ(attribute<size_t>(kPointerRangeSize, device), 1000u);
  EXPECT_EQ(attribute<int>(kPointerDeviceOrdinal, device), 0);
  EXPECT_EQ(attribute<unsigned>(kPointerIsManaged, device), 0u);
  void *other = allocate(16);
  EXPECT_NE(attribute<uint64_t>(kPointerBufferId, device),
            attribute<uint64_t>(kPointerBufferId, other));

  void *host = nullptr, *seen = nullptr;
  ASSERT_EQ(cu("cuMemHostAlloc", &host, size_t(64), 2u), kSuccess);
  EXPECT_EQ(attribute<unsigned>(kPointerMemoryType, host), unsigned(kMemoryHost));
  EXPECT_EQ(cu("cuMemHostGetDevicePointer_v2", &seen,
               static_cast<void *>(static_cast<char *>(host) + 8), 0u),
            kSuccess);
  EXPECT_EQ(seen, static_cast<char *>(host) + 8);
  EXPECT_EQ(cu("cuMemFree_v2", host), kInvalidValue);
  EXPECT_EQ(cu("cuMemFreeHost", host), kSuccess);

  void *managed = nullptr;
  ASSERT_EQ(cu("cuMemAllocManaged", &managed, size_t(64), 1u), kSuccess);
  EXPECT_EQ(attribute<unsigned>(kPointerIsManaged, managed), 1u);
  EXPECT_EQ(attribute<void *>(kPointerHostPointer, managed), managed);

  // An ordinary host pointer: an error for the single query, zeroes for the other.
  int local = 0;
  unsigned type = 9;
  EXPECT_EQ(cu("cuPointerGetAttribute", static_cast<void *>(&type), int(kPointerMemoryType),
               static_cast<void *>(&local)),
            kInvalidValue);
  int which[] = {kPointerMemoryType};
  void *out[] = {&type};
  EXPECT_EQ(cu("cuPointerGetAttributes", 1u, which, out, static_cast<void *>(&local)), kSuccess);
  EXPECT_EQ(type, 0u);

  void *base = nullptr;
  size_t bytes = 0;
  EXPECT_EQ(cu("cuMemGetAddressRange_v2", &base, &bytes, static_cast<void *>(device + 5)),
            kSuccess);
  EXPECT_EQ(base, device);
  EXPECT_EQ(bytes, 1000u);
}

TEST_F(Memory, HostMemoryIsRegisteredOnce) {
  static char buffer[8192];
  void *host = buffer;
  // All of it is mapped; whether it is portable is told (an H200).
  for (const auto &[flags, told] : {std::pair(0u, 2u), {1u, 3u}, {2u, 2u}, {3u, 3u}}) {
    unsigned got = 77;
    ASSERT_EQ(cu("cuMemHostRegister_v2", host, size_t(8192), flags), kSuccess);
    EXPECT_EQ(cu("cuMemHostGetFlags", &got, host), kSuccess);
    EXPECT_EQ(got, told) << flags;
    ASSERT_EQ(cu("cuMemHostUnregister", host), kSuccess);
  }
  EXPECT_EQ(cu("cuMemHostRegister_v2", host, size_t(8192), 0u), kSuccess);
  EXPECT_EQ(cu("cuMemHostRegister_v2", host, size_t(8192), 0u), kHostMemoryAlreadyRegistered);
  EXPECT_EQ(attribute<unsigned>(kPointerMemoryType, host), unsigned(kMemoryHost));
  EXPECT_EQ(cu("cuMemHostUnregister", host), kSuccess);
  EXPECT_EQ(cu("cuMemHostUnregister", host), kHostMemoryNotRegistered);
}

TEST_F(Memory, RowsOfPitchedAllocationsAreAligned) {
  void *pointer = nullptr;
  size_t pitch = 0;
  EXPECT_EQ(cu("cuMemAllocPitch_v2", &pointer, &pitch, size_t(100), size_t(10), 4u), kSuccess);
  EXPECT_EQ(pitch, 512u);
  EXPECT_EQ(cu("cuMemAllocPitch_v2", &pointer, &pitch, size_t(100), size_t(10), 3u), kInvalidValue);
  // 512 bytes but for what does not fit into 64 bits.
  EXPECT_EQ(cu("cuMemAllocPitch_v2", &pointer, &pitch, size_t(1), (size_t(1) << 55) + 1, 4u),
            kInvalidValue);
  EXPECT_EQ(cu("cuMemAllocPitch_v2", &pointer, &pitch, ~size_t(0), size_t(1), 4u), kInvalidValue);
}

TEST_F(Memory, ContextsFreeWhatTheyOwn) {
  auto *live = fakeHip<int()>("fakeHipAllocations");
  auto *streams = fakeHip<int()>("fakeHipStreams");
  int before = live();
  allocate(100);
  void *host = nullptr;
  cu("cuMemHostAlloc", &host, size_t(64), 0u);
  Stream *stream = nullptr;
  ASSERT_EQ(cu("cuStreamCreate", &stream, 0u), kSuccess);
  EXPECT_EQ(live(), before + 2);
  EXPECT_EQ(cu("cuCtxDestroy_v2", context), kSuccess);
  EXPECT_EQ(live(), before);
  EXPECT_EQ(streams(), 0);
  EXPECT_EQ(cu("cuCtxSynchronize"), kInvalidContext);
}

// A node that allocates memory, in a graph of its own.
Graph *graphWithMemory(size_t bytes, void *&address) {
  Graph *graph = nullptr;
  GraphNode *node = nullptr;
  EXPECT_EQ(cu("cuGraphCreate", &graph, 0u), kSuccess);
  AllocateNodeParameters p{};
  p.pool.allocationType = 1;
  p.pool.location = {1, 0};
  p.bytes = bytes;
  EXPECT_EQ(
      cu("cuGraphAddMemAllocNode", &node, graph, static_cast<GraphNode **>(nullptr), size_t(0), &p),
      kSuccess);
  address = p.address;
  return graph;
}

// Memory that was freed with its context is nobody's, whatever has its address then.
TEST_F(Memory, GraphsFreeOnlyTheirOwn) {
  constexpr size_t kBytes = 1000;
  auto renew = [&] {
    ASSERT_EQ(cu("cuCtxDestroy_v2", context), kSuccess);
    ASSERT_EQ(cu("cuCtxCreate_v2", &context, 0u, 0), kSuccess);
  };
  void *address = nullptr, *base = nullptr;
  size_t size = 0;
  Graph *first = graphWithMemory(kBytes, address);
  renew();
  ASSERT_EQ(allocate(kBytes), address);
  EXPECT_EQ(cu("cuGraphDestroy", first), kSuccess);
  EXPECT_EQ(cu("cuMemGetAddressRange_v2", &base, &size, address), kSuccess);
  EXPECT_EQ(cu("cuMemFree_v2", address), kSuccess);

  // The same address in a node of another graph.
  Graph *second = graphWithMemory(kBytes, address), *third = nullptr;
  renew();
  third = graphWithMemory(kBytes, base);
  ASSERT_EQ(base, address);
  EXPECT_EQ(cu("cuGraphDestroy", second), kSuccess);
  EXPECT_EQ(cu("cuMemGetAddressRange_v2", &base, &size, address), kSuccess);
  EXPECT_EQ(cu("cuGraphDestroy", third), kSuccess);
  EXPECT_EQ(cu("cuMemFree_v2", address), kInvalidValue);
}

TEST_F(Memory, PoolsReuseOnTheSameStreamAtOnce) {
  void *a = nullptr, *b = nullptr;
  Stream *none = nullptr;
  ASSERT_EQ(cu("cuMemAllocAsync", &a, size_t(1000), none), kSuccess);
  ASSERT_EQ(cu("cuMemFreeAsync", a, none), kSuccess);
  ASSERT_EQ(cu("cuMemAllocAsync", &b, size_t(900), none), kSuccess);
  EXPECT_EQ(a, b);
  MemoryPool *pool = nullptr;
  ASSERT_EQ(cu("cuDeviceGetDefaultMemPool", &pool, 0), kSuccess);
  uint64_t used = 0;
  ASSERT_EQ(cu("cuMemPoolGetAttribute", pool, 7, static_cast<void *>(&used)), kSuccess);
  EXPECT_EQ(used, 900u);
  EXPECT_EQ(cu("cuMemFree_v2", b), kSuccess);
  ASSERT_EQ(cu("cuMemPoolGetAttribute", pool, 7, static_cast<void *>(&used)), kSuccess);
  EXPECT_EQ(used, 0u);
  EXPECT_EQ(cu("cuMemFreeAsync", b, none), kInvalidValue);
}

// HIP may give the next stream the address of one that has ended, and whose work goes on.
TEST_F(Memory, PoolsTakeNoNewStreamForOneThatHasEnded) {
  auto *last = fakeHip<void *()>("fakeHipLastStream");
  auto hipStreamOf = [&](Stream *stream) {
    void *any = allocate(64);
    EXPECT_EQ(cu("cuMemsetD8Async", any, static_cast<unsigned char>(0), size_t(64), stream),
              kSuccess);
    return last();
  };
  Stream *ended = nullptr, *next = nullptr;
  void *freed = nullptr, *taken = nullptr;
  ASSERT_EQ(cu("cuStreamCreate", &ended, 1u), kSuccess);
  void *const address = hipStreamOf(ended);
  ASSERT_EQ(cu("cuMemAllocAsync", &freed, size_t(1000), ended), kSuccess);
  ASSERT_EQ(cu("cuMemFreeAsync", freed, ended), kSuccess);
  fakeHip<void(int)>("fakeHipKeepBusy")(1);
  ASSERT_EQ(cu("cuStreamDestroy_v2", ended), kSuccess);
  ASSERT_EQ(cu("cuStreamCreate", &next, 1u), kSuccess);
  ASSERT_EQ(hipStreamOf(next), address);
  ASSERT_EQ(cu("cuMemAllocAsync", &taken, size_t(1000), next), kSuccess);
  EXPECT_NE(taken, freed);
  fakeHip<void(int)>("fakeHipKeepBusy")(0);
  ASSERT_EQ(cu("cuMemAllocAsync", &taken, size_t(1000), next), kSuccess);
  EXPECT_EQ(taken, freed);
}

// A length below 0, say. Rounded up to whole blocks it would be 0.
TEST_F(Memory, PoolsHaveNoMoreThanThereIs) {
  Stream *none = nullptr;
  for (size_t bytes : {~size_t(0), ~size_t(0) - 70'000, (size_t(1) << 63) + 1, size_t(1) << 62}) {
    void *pointer = this;
    EXPECT_EQ(cu("cuMemAllocAsync", &pointer, bytes, none), kOutOfMemory) << bytes;
  }
  unsigned type = 0;
  EXPECT_EQ(cu("cuPointerGetAttribute", static_cast<void *>(&type), 2, static_cast<void *>(&type)),
            kInvalidValue); // which none of it holds
}

// A program that frees twice at once is told so, whichever way: the memory is given out once.
TEST_F(Memory, IsFreedByOneThreadOnly) {
  Stream *none = nullptr;
  for (int round = 0; round < 300; ++round) {
    void *pointer = nullptr;
    ASSERT_EQ(cu("cuMemAllocAsync", &pointer, size_t(1000), none), kSuccess);
    std::atomic<int> ready = 0, freed = 0;
    auto release = [&] {
      cu("cuCtxSetCurrent", context);
      ++ready;
      while (ready < 2)
        std::this_thread::yield();
      freed += cu("cuMemFreeAsync", pointer, none) == kSuccess;
    };
    std::thread one(release), two(release);
    one.join();
    two.join();
    ASSERT_EQ(freed, 1);
  }
  MemoryPool *pool = nullptr;
  uint64_t used = 1;
  ASSERT_EQ(cu("cuDeviceGetDefaultMemPool", &pool, 0), kSuccess);
  ASSERT_EQ(cu("cuMemPoolGetAttribute", pool, 7, static_cast<void *>(&used)), kSuccess);
  EXPECT_EQ(used, 0u);
}

// A program may ask for a pool of managed memory and do without: it is not its mistake.
// A node of the host is a place as the host is (an H200, driver 580.159.04).
TEST_F(Memory, IsPrefetchedToANodeOfTheHost) {
  void *managed = nullptr;
  ASSERT_EQ(cu("cuMemAllocManaged", &managed, size_t(4096), 1u), kSuccess);
  auto prefetch = [&](MemoryLocation place) {
    return cu("cuMemPrefetchAsync_v2", managed, size_t(4096), place, 0u,
              static_cast<Stream *>(nullptr));
  };
  auto last = [&](int attribute) {
    int value = 77;
    EXPECT_EQ(cu("cuMemRangeGetAttribute", static_cast<void *>(&value), sizeof(value), attribute,
                 managed, size_t(4096)),
              kSuccess);
    return value;
  };
  EXPECT_EQ(prefetch({3, 0}), kSuccess);
  EXPECT_EQ(last(4), -1); // CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION, _TYPE and _ID
  EXPECT_EQ(last(7), 3);
  EXPECT_EQ(last(8), 0);
  EXPECT_EQ(prefetch({4, 5}), kSuccess);
  EXPECT_EQ(last(8), 5);
  EXPECT_EQ(prefetch({3, 4000}), kInvalidValue);
  EXPECT_EQ(prefetch({3, -1}), kInvalidValue);
  EXPECT_EQ(cu("cuMemAdvise_v2", managed, size_t(4096), 3, MemoryLocation{3, 0}), kSuccess);
  EXPECT_EQ(last(5), 0); // CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE
  EXPECT_EQ(cu("cuMemFree_v2", managed), kSuccess);
}

TEST_F(Memory, PoolsOfManagedMemoryAreNotSupported) {
  MemoryPoolProperties properties = {};
  properties.allocationType = 2;
  properties.location = {1, 0};
  MemoryPool *pool = nullptr;
  auto create = [&] {
    return cu("cuMemPoolCreate", &pool, static_cast<const MemoryPoolProperties *>(&properties));
  };
  EXPECT_EQ(create(), kNotSupported);
  properties.allocationType = 3;
  EXPECT_EQ(create(), kInvalidValue);
}

TEST_F(Memory, PoolsHaveALimit) {
  MemoryPoolProperties properties = {};
  properties.allocationType = 1;
  properties.location = {1, 0};
  properties.maxSize = 3 << 20; // of blocks of 2 MiB
  MemoryPool *pool = nullptr;
  Stream *none = nullptr;
  ASSERT_EQ(cu("cuMemPoolCreate", &pool, static_cast<const MemoryPoolProperties *>(&properties)),
            kSuccess);
  void *first = nullptr, *second = nullptr;
  auto allocate = [&](void **out, size_t bytes) {
    return cu("cuMemAllocFromPoolAsync", out, bytes, pool, none);
  };
  EXPECT_EQ(allocate(&first, (4 << 20) + 1), kOutOfMemory);
  ASSERT_EQ(allocate(&first, 3 << 20), kSuccess);
  EXPECT_EQ(allocate(&second, (1 << 20) + 1), kOutOfMemory);
  ASSERT_EQ(allocate(&second, 1 << 20), kSuccess);
  ASSERT_EQ(cu("cuMemFreeAsync", first, none), kSuccess);
  EXPECT_EQ(allocate(&first, 2 << 20), kSuccess);
}

TEST_F(Memory, PoolsKeepWhatTheirThresholdAllows) {
  auto *live = fakeHip<int()>("fakeHipAllocations");
  int before = live();
  void *a = nullptr;
  Stream *none = nullptr;
  ASSERT_EQ(cu("cuMemAllocAsync", &a, size_t(1000), none), kSuccess);
  ASSERT_EQ(cu("cuMemFreeAsync", a, none), kSuccess);
  EXPECT_EQ(live(), before + 1);
  // HIP waits for the whole device when it frees, which a stream's own wait must not.
  ASSERT_EQ(cu("cuStreamSynchronize", none), kSuccess);
  EXPECT_EQ(live(), before + 1);
  ASSERT_EQ(cu("cuCtxSynchronize"), kSuccess);
  EXPECT_EQ(live(), before);
  MemoryPool *pool = nullptr;
  uint64_t threshold = 1 << 20;
  ASSERT_EQ(cu("cuDeviceGetDefaultMemPool", &pool, 0), kSuccess);
  ASSERT_EQ(cu("cuMemPoolSetAttribute", pool, 4, static_cast<void *>(&threshold)), kSuccess);
  ASSERT_EQ(cu("cuMemAllocAsync", &a, size_t(1000), none), kSuccess);
  ASSERT_EQ(cu("cuMemFreeAsync", a, none), kSuccess);
  ASSERT_EQ(cu("cuCtxSynchronize"), kSuccess);
  EXPECT_EQ(live(), before + 1);
  ASSERT_EQ(cu("cuMemPoolTrimTo", pool, size_t(0)), kSuccess);
  EXPECT_EQ(live(), before);
}

using Streams = InContext;

TEST_F(Streams, HandleTwoIsTheThreadsOwn) {
  auto *last = fakeHip<void *()>("fakeHipLastStream");
  void *a = allocate(16);
  auto set = [&](const char *name, Stream *stream) {
    EXPECT_EQ(cu(name, a, static_cast<unsigned char>(0), size_t(16), stream), kSuccess);
    return last();
  };
  EXPECT_EQ(set("cuMemsetD8Async", nullptr), nullptr);
  EXPECT_EQ(set("cuMemsetD8Async", kLegacyStream), nullptr);
  void *mine = set("cuMemsetD8Async", kPerThreadStream);
  EXPECT_NE(mine, nullptr);
  EXPECT_EQ(set("cuMemsetD8Async_ptsz", nullptr), mine);
  EXPECT_EQ(set("cuMemsetD8Async_ptsz", kLegacyStream), nullptr);
  void *others = nullptr, *third = nullptr;
  std::thread([&] {
    cu("cuCtxSetCurrent", context);
    others = set("cuMemsetD8Async", kPerThreadStream);
  }).join();
  EXPECT_NE(others, mine);
  std::thread([&] { // takes over the stream of the thread that ended
    cu("cuCtxSetCurrent", context);
    third = set("cuMemsetD8Async", kPerThreadStream);
  })
      .join();
  EXPECT_EQ(third, others);
  std::vector<char> data(16);
  EXPECT_EQ(cu("cuMemcpyHtoD_v2_ptds", a, static_cast<const void *>(data.data()), size_t(16)),
            kSuccess);
  EXPECT_EQ(last(), mine);
}

// What an H100 answers; cuBLAS asks for every stream that it is given.
TEST_F(Streams, BelongToNoGreenContext) {
  Stream *own = nullptr;
  ASSERT_EQ(cu("cuStreamCreate", &own, 1u), kSuccess);
  for (Stream *stream : {own, static_cast<Stream *>(nullptr), reinterpret_cast<Stream *>(1),
                         reinterpret_cast<Stream *>(2)})
    for (const char *name : {"cuStreamGetCtx_v2", "cuStreamGetCtx_v2_ptsz"}) {
      void *green = &green;
      Context *context = nullptr, *current = nullptr;
      ASSERT_EQ(cu("cuCtxGetCurrent", &current), kSuccess);
      EXPECT_EQ(cu("cuStreamGetGreenCtx", stream, &green), kSuccess);
      EXPECT_EQ(green, nullptr);
      green = &green;
      EXPECT_EQ(cu(name, stream, &context, &green), kSuccess);
      EXPECT_EQ(green, nullptr);
      EXPECT_EQ(context, current);
      context = nullptr;
      EXPECT_EQ(cu(name, stream, &context, static_cast<void **>(nullptr)), kSuccess);
      EXPECT_EQ(context, current);
      EXPECT_EQ(cu(name, stream, static_cast<Context **>(nullptr), &green), kSuccess);
      EXPECT_EQ(cu(name, stream, static_cast<Context **>(nullptr), static_cast<void **>(nullptr)),
                kInvalidValue);
      EXPECT_EQ(cu("cuStreamGetGreenCtx", stream, static_cast<void **>(nullptr)), kInvalidValue);
    }
  EXPECT_EQ(cu("cuStreamDestroy_v2", own), kSuccess);
  void *green = nullptr;
  EXPECT_EQ(cu("cuStreamGetGreenCtx", own, &green), kInvalidHandle);
}

TEST_F(Streams, RememberHowTheyWereMade) {
  Stream *stream = nullptr;
  ASSERT_EQ(cu("cuStreamCreateWithPriority", &stream, 1u, -100), kSuccess);
  unsigned flags = 9;
  int priority = 9;
  EXPECT_EQ(cu("cuStreamGetFlags", stream, &flags), kSuccess);
  EXPECT_EQ(cu("cuStreamGetPriority", stream, &priority), kSuccess);
  EXPECT_EQ(flags, 1u);
  EXPECT_EQ(priority, -5); // as an H100 says
  LaunchAttribute changed{};
  changed.flag = -1;
  EXPECT_EQ(cu("cuStreamSetAttribute", stream, int(kLaunchPriority),
               static_cast<const char *>(changed.bytes)),
            kSuccess);
  EXPECT_EQ(cu("cuStreamGetPriority", stream, &priority), kSuccess);
  EXPECT_EQ(priority, -1);
  EXPECT_EQ(cu("cuStreamDestroy_v2", stream), kSuccess);
  EXPECT_EQ(cu("cuStreamSynchronize", stream), kInvalidHandle);
  EXPECT_EQ(cu("cuStreamDestroy_v2", stream), kInvalidHandle);
  EXPECT_EQ(cu("cuStreamCreate", &stream, 2u), kInvalidValue);
}

TEST_F(Streams, EventsKnowWhetherTheyWereRecorded) {
  Event *start = nullptr, *stop = nullptr, *untimed = nullptr;
  Stream *none = nullptr;
  ASSERT_EQ(cu("cuEventCreate", &start, 0u), kSuccess);
  ASSERT_EQ(cu("cuEventCreate", &stop, 0u), kSuccess);
  ASSERT_EQ(cu("cuEventCreate", &untimed, 2u), kSuccess);
  float ms = 0;
  EXPECT_EQ(cu("cuEventElapsedTime_v2", &ms, start, stop), kInvalidHandle);
  EXPECT_EQ(cu("cuEventQuery", start), kSuccess);
  EXPECT_EQ(cu("cuEventRecord", start, none), kSuccess);
  EXPECT_EQ(cu("cuEventRecord", stop, none), kSuccess);
  EXPECT_EQ(cu("cuEventRecord", untimed, none), kSuccess);
  EXPECT_EQ(cu("cuEventElapsedTime_v2", &ms, start, stop), kSuccess);
  EXPECT_EQ(ms, 1.5f);
  EXPECT_EQ(cu("cuEventElapsedTime_v2", &ms, start, untimed), kInvalidHandle);
  EXPECT_EQ(cu("cuStreamWaitEvent", none, start, 0u), kSuccess);
  EXPECT_EQ(cu("cuEventDestroy_v2", start), kSuccess);
  EXPECT_EQ(cu("cuEventSynchronize", start), kInvalidHandle);
}

void countCall(void *data) { ++*static_cast<int *>(data); }
void checkStatus(Stream *stream, Result status, void *data) {
  EXPECT_EQ(stream, nullptr);
  EXPECT_EQ(status, kSuccess);
  ++*static_cast<int *>(data);
}

TEST_F(Streams, CallBack) {
  int calls = 0;
  Stream *none = nullptr;
  EXPECT_EQ(cu("cuLaunchHostFunc", none, &countCall, static_cast<void *>(&calls)), kSuccess);
  EXPECT_EQ(cu("cuStreamAddCallback", none, &checkStatus, static_cast<void *>(&calls), 0u),
            kSuccess);
  EXPECT_EQ(cu("cuStreamSynchronize", none), kSuccess);
  EXPECT_EQ(calls, 2);
}

void keepStatus(Stream *, Result status, void *data) { *static_cast<Result *>(data) = status; }

TEST_F(Streams, CallbacksAreToldOfFaults) {
  fakeHip<void(int)>("fakeHipBreak")(700);
  Result told = kSuccess;
  Stream *none = nullptr;
  EXPECT_EQ(cu("cuStreamAddCallback", none, &keepStatus, static_cast<void *>(&told), 0u), kSuccess);
  EXPECT_EQ(told, kIllegalAddress);
}

TEST(StreamsOfTwoDevices, AreDestroyedOnTheirOwn) {
  setenv("FAKE_HIP_DEVICES", "2", 1);
  ASSERT_EQ(cu("cuInit", 0u), kSuccess);
  Context *first = nullptr, *second = nullptr;
  ASSERT_EQ(cu("cuCtxCreate_v2", &first, 0u, 0), kSuccess);
  Stream *stream = nullptr, *another = nullptr;
  ASSERT_EQ(cu("cuStreamCreate", &stream, 0u), kSuccess);
  ASSERT_EQ(cu("cuCtxCreate_v2", &second, 0u, 1), kSuccess);
  EXPECT_EQ(cu("cuStreamDestroy_v2", stream), kSuccess);
  EXPECT_EQ(fakeHip<int()>("fakeHipStreams")(), 0);
  ASSERT_EQ(cu("cuStreamCreate", &another, 0u), kSuccess); // on the current device again
  EXPECT_EQ(cu("cuStreamDestroy_v2", another), kSuccess);
}

class Faults : public InContext, public testing::WithParamInterface<int> {};

TEST_P(Faults, StickToTheContext) {
  void *a = allocate(16);
  Result fault = Result(GetParam());
  fakeHip<void(int)>("fakeHipFailNext")(fault);
  EXPECT_EQ(cu("cuCtxSynchronize"), fault);
  int value = 0;
  EXPECT_EQ(cu("cuMemcpyDtoH_v2", static_cast<void *>(&value), a, size_t(4)), fault);
  void *none = nullptr;
  EXPECT_EQ(cu("cuMemAlloc_v2", &none, size_t(16)), fault);
  Stream *stream = nullptr;
  EXPECT_EQ(cu("cuStreamSynchronize", stream), fault);
  // Another context is not affected, and this one can be destroyed.
  EXPECT_EQ(cu("cuCtxDestroy_v2", context), kSuccess);
  ASSERT_EQ(cu("cuCtxCreate_v2", &context, 0u, 0), kSuccess);
  EXPECT_EQ(cu("cuMemAlloc_v2", &none, size_t(16)), kSuccess);
}
INSTANTIATE_TEST_SUITE_P(Driver, Faults, testing::Values(700, 710, 715, 716, 719));

TEST(Reset, MendsABrokenDevice) {
  ASSERT_EQ(cu("cuInit", 0u), kSuccess);
  Context *context = nullptr;
  ASSERT_EQ(cu("cuDevicePrimaryCtxRetain", &context, 0), kSuccess);
  ASSERT_EQ(cu("cuCtxSetCurrent", context), kSuccess);
  fakeHip<void(int)>("fakeHipBreak")(700);
  void *pointer = nullptr;
  EXPECT_EQ(cu("cuCtxSynchronize"), kIllegalAddress);
  EXPECT_EQ(cu("cuMemAlloc_v2", &pointer, size_t(16)), kIllegalAddress);
  EXPECT_EQ(cu("cuDevicePrimaryCtxReset_v2", 0), kSuccess);
  EXPECT_EQ(cu("cuMemAlloc_v2", &pointer, size_t(16)), kSuccess);
  EXPECT_EQ(cu("cuCtxSynchronize"), kSuccess);
}

// After a reset nothing that HIP gave before it may be used, or given back, by any context of the
// device.
TEST(Reset, ForgetsWhatHipGaveBefore) {
  ASSERT_EQ(cu("cuInit", 0u), kSuccess);
  Context *other = nullptr, *context = nullptr;
  Stream *none = nullptr, *stream = nullptr;
  ASSERT_EQ(cu("cuCtxCreate_v2", &other, 0u, 0), kSuccess);
  void *others = allocate(16);
  ASSERT_EQ(cu("cuDevicePrimaryCtxRetain", &context, 0), kSuccess);
  ASSERT_EQ(cu("cuCtxSetCurrent", context), kSuccess);
  auto fill = [&] {
    return cu("cuMemsetD8Async", allocate(16), static_cast<unsigned char>(0), size_t(16),
              kPerThreadStream);
  };
  auto fillInThread = [&] {
    std::thread([&] {
      EXPECT_EQ(cu("cuCtxSetCurrent", context), kSuccess);
      EXPECT_EQ(fill(), kSuccess);
    }).join();
  };
  EXPECT_EQ(fill(), kSuccess);
  fillInThread();
  ASSERT_EQ(cu("cuStreamCreate", &stream, 0u), kSuccess);
  void *pooled = nullptr;
  ASSERT_EQ(cu("cuMemAllocAsync", &pooled, size_t(1000), none), kSuccess);
  ASSERT_EQ(cu("cuMemFreeAsync", pooled, none), kSuccess);

  fakeHip<void(int)>("fakeHipBreak")(700);
  EXPECT_EQ(cu("cuCtxSynchronize"), kIllegalAddress);
  EXPECT_EQ(cu("cuDevicePrimaryCtxReset_v2", 0), kSuccess);
  fillInThread();
  EXPECT_EQ(fill(), kSuccess);
  ASSERT_EQ(cu("cuMemAllocAsync", &pooled, size_t(1000), none), kSuccess);
  ASSERT_EQ(cu("cuMemFreeAsync", pooled, none), kSuccess);
  EXPECT_EQ(cu("cuCtxSynchronize"), kSuccess);
  int live = fakeHip<int()>("fakeHipAllocations")();

  // The other context lost its memory, says so, and its end takes nothing from this one.
  ASSERT_EQ(cu("cuCtxSetCurrent", other), kSuccess);
  EXPECT_EQ(cu("cuMemFree_v2", others), kIllegalAddress);
  EXPECT_EQ(cu("cuCtxDestroy_v2", other), kSuccess);
  ASSERT_EQ(cu("cuCtxSetCurrent", context), kSuccess);
  EXPECT_EQ(fill(), kSuccess);
  EXPECT_EQ(cu("cuCtxSynchronize"), kSuccess);
  EXPECT_EQ(fakeHip<int()>("fakeHipAllocations")(), live + 1);
  EXPECT_EQ(fakeHip<int()>("fakeHipDeadUses")(), 0);
}

TEST_F(Streams, NotReadyIsNoFault) {
  fakeHip<void(int)>("fakeHipFailNext")(600);
  Stream *none = nullptr;
  EXPECT_EQ(cu("cuStreamQuery", none), kNotReady);
  EXPECT_EQ(cu("cuStreamQuery", none), kSuccess);
}

TEST(Errors, HaveNamesAndTexts) {
  const char *text = nullptr;
  EXPECT_EQ(cu("cuGetErrorName", 700, &text), kSuccess);
  EXPECT_STREQ(text, "CUDA_ERROR_ILLEGAL_ADDRESS");
  EXPECT_EQ(cu("cuGetErrorString", 2, &text), kSuccess);
  EXPECT_STREQ(text, "out of memory");
  EXPECT_EQ(cu("cuGetErrorName", 12345, &text), kInvalidValue);
  EXPECT_EQ(text, nullptr);
}

TEST_F(Memory, TensorMapsTakeAnotherAddress) {
  struct alignas(64) Map {
    uint64_t words[16];
  };
  const uint64_t sizes[] = {64, 32}, strides[] = {256};
  const uint32_t box[] = {16, 4}, steps[] = {1, 1};
  auto encode = [&](Map &map, void *address) {
    return cu("cuTensorMapEncodeTiled", static_cast<void *>(&map), 7, 2u, address, &sizes[0],
              &strides[0], &box[0], &steps[0], 0, 0, 0, 0);
  };
  void *first = allocate(8192), *second = allocate(8192);
  Map map{}, wanted{};
  ASSERT_EQ(encode(map, first), kSuccess);
  ASSERT_EQ(encode(wanted, second), kSuccess);
  EXPECT_NE(memcmp(&map, &wanted, sizeof(map)), 0);
  EXPECT_EQ(cu("cuTensorMapReplaceAddress", static_cast<void *>(&map), second), kSuccess);
  EXPECT_EQ(memcmp(&map, &wanted, sizeof(map)), 0);
  EXPECT_EQ(cu("cuTensorMapReplaceAddress", static_cast<void *>(&map),
               static_cast<void *>(static_cast<char *>(first) + 4)),
            kInvalidValue);
  Map none{};
  EXPECT_EQ(cu("cuTensorMapReplaceAddress", static_cast<void *>(&none), second), kInvalidValue);
}

} // namespace
} // namespace rubia::runtime::cuda
