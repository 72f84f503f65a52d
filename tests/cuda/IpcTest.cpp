// SPDX-License-Identifier: Apache-2.0
// Two processes that use the same memory, events and pools.
#include "runtime/device/Hip.h"
#include "tests/cuda/Peer.h"
#include <atomic>
#include <thread>

namespace rubia::runtime::cuda {
namespace {

constexpr unsigned kLazy = 1; // CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS
constexpr unsigned kShared = 4 | 2;
constexpr int kDescriptor = 1;
constexpr unsigned long long kNoFlags = 0;
Stream *const kNone = nullptr;

Result fill(void *at, unsigned value, size_t count) {
  const Result result = cu("cuMemsetD32_v2", at, value, count);
  DONE(cu("cuCtxSynchronize")); // the other process does not wait for the stream
  return result;
}
unsigned wordAt(void *at) {
  unsigned word = 0;
  DONE(cu("cuMemcpyDtoH_v2", static_cast<void *>(&word), at, size_t(4)));
  return word;
}
char *allocated(size_t bytes) {
  void *memory = nullptr;
  DONE(cu("cuMemAlloc_v2", &memory, bytes));
  return static_cast<char *>(memory);
}
HipIpcHandle handleOf(void *memory) {
  HipIpcHandle handle;
  DONE(cu("cuIpcGetMemHandle", &handle, memory));
  return handle;
}
Result open(void **at, const HipIpcHandle &handle) {
  return cu("cuIpcOpenMemHandle_v2", at, handle, kLazy);
}

// Of all sizes: what lies beside them stays its process's.
TEST(Ipc, BothSeeTheSameMemory) {
  constexpr size_t kSizes[] = {4, 256, 5000, 3 << 20};
  Peer peer([&](Channel parent) {
    makeContext();
    for (size_t bytes : kSizes) {
      const auto handle = parent.receive<HipIpcHandle>();
      void *first = nullptr, *again = nullptr, *base = nullptr;
      size_t size = 0;
      DONE(open(&first, handle));
      REQUIRE(cu("cuIpcOpenMemHandle", &again, handle, kLazy) ==
              kAlreadyMapped); // the first version
      DONE(open(&again, handle));
      REQUIRE(first == again);
      DONE(cu("cuMemGetAddressRange_v2", &base, &size, first));
      REQUIRE(base == first && size == bytes);
      char *last = static_cast<char *>(first) + bytes - 4;
      REQUIRE(wordAt(first) == 11 && wordAt(last) == 11);
      DONE(fill(last, 22, 1));
      REQUIRE(fill(last, 22, 2) == kInvalidValue);
      REQUIRE(cu("cuMemFree_v2", first) == kInvalidValue);
      parent.meet(); // it has read that and written
      parent.meet();
      REQUIRE(wordAt(first) == 33);
      DONE(cu("cuIpcCloseMemHandle", first));
      REQUIRE(wordAt(first) == 33); // opened twice
      DONE(cu("cuIpcCloseMemHandle", first));
      REQUIRE(cu("cuIpcCloseMemHandle", first) == kInvalidValue);
      REQUIRE(fill(first, 1, 1) == kInvalidValue);
      parent.meet();
    }
  });
  const Channel child = peer.channel();
  makeContext();
  for (size_t bytes : kSizes) {
    char *before = allocated(bytes), *memory = allocated(bytes), *behind = allocated(bytes);
    for (char *each : {before, memory, behind})
      ASSERT_EQ(fill(each, 11, bytes / 4), kSuccess);
    child.send(handleOf(memory));
    child.meet();
    EXPECT_EQ(wordAt(memory + bytes - 4), 22u);
    EXPECT_EQ(wordAt(behind), 11u);
    EXPECT_EQ(fill(memory, 33, 1), kSuccess);
    child.meet();
    child.meet();
    for (char *each : {before, memory, behind})
      EXPECT_EQ(cu("cuMemFree_v2", static_cast<void *>(each)), kSuccess);
  }
  EXPECT_EQ(peer.end(), 0);
}

// Kernels write to it meanwhile: no byte is lost when its pages become a file.
TEST(Ipc, KernelsGoOnWhileMemoryIsNamed) {
  Peer peer([](Channel parent) {
    makeContext();
    void *memory = nullptr;
    DONE(open(&memory, parent.receive<HipIpcHandle>()));
    parent.meet();
    REQUIRE(wordAt(memory) == 15 && wordAt(static_cast<char *>(memory) + 4092) == 15);
  });
  makeContext();
  Module *module = nullptr;
  Function *scale = nullptr;
  DONE(cu("cuModuleLoadData", &module, static_cast<const void *>(kPtx)));
  DONE(cu("cuModuleGetFunction", &scale, module, "scale"));
  void *memory = allocated(4096), *ones = allocated(4096);
  DONE(fill(ones, 5, 1024));
  unsigned count = 1024;
  uint8_t factor = 3;
  void *values[] = {&memory, &ones, &factor, &count};
  for (int i = 0; i < 20; ++i)
    DONE(cu("cuLaunchKernel", scale, 4u, 1u, 1u, 256u, 1u, 1u, 0u, kNone,
            static_cast<void **>(values), static_cast<void **>(nullptr)));
  peer.channel().send(handleOf(memory));
  DONE(cu("cuCtxSynchronize"));
  peer.channel().meet();
  EXPECT_EQ(peer.end(), 0);
}

TEST(Ipc, HandlesOfTheDeadAndTheFreedAreRefused) {
  Peer peer([](Channel parent) {
    makeContext();
    void *freed = allocated(64), *kept = allocated(64);
    const HipIpcHandle ofFreed = handleOf(freed);
    DONE(cu("cuMemFree_v2", freed));
    parent.send(ofFreed);
    parent.send(handleOf(kept));
    parent.meet();
  });
  const auto ofFreed = peer.channel().receive<HipIpcHandle>();
  const auto ofKept = peer.channel().receive<HipIpcHandle>();
  makeContext();
  void *memory = nullptr;
  EXPECT_EQ(open(&memory, ofFreed), kInvalidValue);
  EXPECT_EQ(open(&memory, ofKept), kSuccess);
  EXPECT_EQ(cu("cuIpcCloseMemHandle", memory), kSuccess);
  peer.channel().meet();
  EXPECT_EQ(peer.end(), 0);
  EXPECT_EQ(open(&memory, ofKept), kInvalidHandle);
}

TEST(Ipc, WrongArgumentsAreRefused) {
  makeContext();
  void *memory = allocated(64), *opened = nullptr, *pinned = nullptr, *none = nullptr;
  HipIpcHandle handle = handleOf(memory), nonsense = {};
  DONE(cu("cuMemAllocHost_v2", &pinned, size_t(64)));
  Event *plain = nullptr, *shared = nullptr, *made = nullptr;
  DONE(cu("cuEventCreate", &plain, 0u));
  DONE(cu("cuEventCreate", &shared, kShared));
  HipIpcHandle ofEvent;
  DONE(cu("cuIpcGetEventHandle", &ofEvent, shared));
  const struct {
    const char *what;
    Result result, expected;
  } calls[] = {
      {"name to null", cu("cuIpcGetMemHandle", static_cast<HipIpcHandle *>(nullptr), memory),
       kInvalidValue},
      {"name null", cu("cuIpcGetMemHandle", &handle, none), kInvalidValue},
      {"name pinned memory", cu("cuIpcGetMemHandle", &handle, pinned), kInvalidValue},
      {"name any", cu("cuIpcGetMemHandle", &handle, static_cast<void *>(&handle)), kInvalidValue},
      {"open one's own", open(&opened, handle), kInvalidContext},
      {"open to null", open(nullptr, handle), kInvalidValue},
      {"open nonsense", open(&opened, nonsense), kInvalidValue},
      {"open an event as memory", open(&opened, ofEvent), kInvalidValue},
      {"open without flags", cu("cuIpcOpenMemHandle_v2", &opened, handle, 0u), kInvalidValue},
      {"open with other flags", cu("cuIpcOpenMemHandle_v2", &opened, handle, 2u), kInvalidValue},
      {"close one's own", cu("cuIpcCloseMemHandle", memory), kInvalidValue},
      {"close null", cu("cuIpcCloseMemHandle", none), kInvalidValue},
      {"name an event of this process", cu("cuIpcGetEventHandle", &ofEvent, plain), kInvalidHandle},
      {"name no event", cu("cuIpcGetEventHandle", &ofEvent, static_cast<Event *>(nullptr)),
       kInvalidValue},
      {"name an event to null",
       cu("cuIpcGetEventHandle", static_cast<HipIpcHandle *>(nullptr), shared), kInvalidValue},
      {"open an event to null", cu("cuIpcOpenEventHandle", static_cast<Event **>(nullptr), ofEvent),
       kInvalidValue},
      {"open one's own event", cu("cuIpcOpenEventHandle", &made, ofEvent), kInvalidContext},
      {"open nonsense as an event", cu("cuIpcOpenEventHandle", &made, nonsense), kMapFailed},
      {"open memory as an event", cu("cuIpcOpenEventHandle", &made, handle), kMapFailed},
  };
  for (const auto &call : calls)
    EXPECT_EQ(call.result, call.expected) << call.what;
  unsigned isCapable = 0;
  EXPECT_EQ(cu("cuPointerGetAttribute", static_cast<void *>(&isCapable),
               int(kPointerIsLegacyIpcCapable), memory),
            kSuccess);
  EXPECT_EQ(isCapable, 1u);
}

std::atomic<bool> gate = false;
void waitAtGate(void *) {
  while (!gate)
    std::this_thread::yield();
}

TEST(Ipc, EventsOrderTheWorkOfBoth) {
  Peer peer([](Channel parent) {
    makeContext();
    Event *event = nullptr;
    void *memory = nullptr;
    unsigned seen = 0;
    Stream *stream = nullptr;
    DONE(cu("cuStreamCreate", &stream, 1u));
    DONE(cu("cuIpcOpenEventHandle", &event, parent.receive<HipIpcHandle>()));
    DONE(open(&memory, parent.receive<HipIpcHandle>()));
    parent.meet(); // it is recorded, behind a gate
    REQUIRE(cu("cuEventQuery", event) == kNotReady);
    DONE(cu("cuStreamWaitEvent", stream, event, 0u));
    void *host = nullptr;
    DONE(cu("cuMemAllocHost_v2", &host, size_t(4)));
    DONE(cu("cuMemcpyDtoHAsync_v2", host, memory, size_t(4), stream));
    REQUIRE(cu("cuStreamQuery", stream) == kNotReady);
    parent.meet(); // the gate opens
    DONE(cu("cuStreamSynchronize", stream));
    memcpy(&seen, host, 4);
    REQUIRE(seen == 7);
    DONE(cu("cuEventSynchronize", event));
    DONE(cu("cuEventQuery", event));
    DONE(cu("cuEventRecord", event, stream)); // the other way round
    parent.meet();
    parent.meet();
    DONE(cu("cuEventDestroy_v2", event));
  });
  const Channel child = peer.channel();
  makeContext();
  Event *event = nullptr;
  Stream *stream = nullptr;
  HipIpcHandle handle;
  void *memory = allocated(64);
  DONE(fill(memory, 1, 1));
  DONE(cu("cuStreamCreate", &stream, 1u));
  DONE(cu("cuEventCreate", &event, kShared));
  DONE(cu("cuIpcGetEventHandle", &handle, event));
  child.send(handle);
  child.send(handleOf(memory));
  void (*wait)(void *) = waitAtGate;
  DONE(cu("cuLaunchHostFunc", stream, wait, static_cast<void *>(nullptr)));
  DONE(cu("cuMemsetD32Async", memory, 7u, size_t(1), stream));
  DONE(cu("cuEventRecord", event, stream));
  EXPECT_EQ(cu("cuEventQuery", event), kNotReady);
  child.meet();
  child.meet();
  gate = true;
  EXPECT_EQ(cu("cuEventSynchronize", event), kSuccess);
  child.meet();
  EXPECT_EQ(cu("cuEventSynchronize", event), kSuccess);
  child.meet();
  EXPECT_EQ(peer.end(), 0);
}

TEST(Ipc, AnEventOfADeadProcessIsAnError) {
  Peer peer([](Channel parent) {
    makeContext();
    Event *event = nullptr;
    Stream *stream = nullptr;
    DONE(cu("cuStreamCreate", &stream, 1u));
    DONE(cu("cuIpcOpenEventHandle", &event, parent.receive<HipIpcHandle>()));
    void (*wait)(void *) = waitAtGate;
    DONE(cu("cuLaunchHostFunc", stream, wait, static_cast<void *>(nullptr)));
    DONE(cu("cuEventRecord", event, stream));
    parent.meet();
    pause();
  });
  makeContext();
  Event *event = nullptr;
  HipIpcHandle handle;
  DONE(cu("cuEventCreate", &event, kShared));
  DONE(cu("cuIpcGetEventHandle", &handle, event));
  peer.channel().send(handle);
  peer.channel().meet();
  EXPECT_EQ(cu("cuEventQuery", event), kNotReady);
  peer.kill();
  EXPECT_EQ(cu("cuEventSynchronize", event), kLaunchFailed);
}

MemoryPoolProperties sharedPool() {
  MemoryPoolProperties properties = {};
  properties.allocationType = 1;
  properties.handleTypes = kDescriptor;
  properties.location = {1, 0};
  return properties;
}

/// 1,000 bytes with words of 5. The other process gets their pool and then their pointer.
void *givenFromPool(const Channel &child) {
  const MemoryPoolProperties properties = sharedPool();
  MemoryPool *pool = nullptr;
  void *memory = nullptr;
  int descriptor = -1;
  HipIpcHandle data = {};
  DONE(cu("cuMemPoolCreate", &pool, &properties));
  DONE(cu("cuMemAllocFromPoolAsync", &memory, size_t(1000), pool, kNone));
  DONE(fill(memory, 5, 250));
  DONE(cu("cuMemPoolExportToShareableHandle", static_cast<void *>(&descriptor), pool, kDescriptor,
          kNoFlags));
  DONE(cu("cuMemPoolExportPointer", &data, memory));
  child.sendDescriptor(descriptor);
  child.send(data);
  DONE(close(descriptor));
  return memory;
}

// As Python's multiprocessing does it, which gives a new process its arguments before that runs.
TEST(Ipc, PoolsAreOpenedBeforeThereIsAContext) {
  Peer peer([](Channel parent) {
    const int descriptor = parent.receiveDescriptor();
    auto data = parent.receive<HipIpcHandle>();
    MemoryPool *pool = nullptr;
    void *memory = nullptr;
    Context *context = nullptr;
    DONE(cu("cuInit", 0u));
    DONE(cu("cuMemPoolImportFromShareableHandle", &pool,
            reinterpret_cast<void *>(uintptr_t(descriptor)), kDescriptor, kNoFlags));
    close(descriptor);
    DONE(cu("cuMemPoolImportPointer", &memory, pool, &data));
    size_t size = 0;
    constexpr int kRangeSize = 12;
    DONE(cu("cuPointerGetAttribute", static_cast<void *>(&size), kRangeSize, memory));
    REQUIRE(size == 1000);
    DONE(cu("cuDevicePrimaryCtxRetain", &context, 0));
    DONE(cu("cuCtxSetCurrent", context));
    REQUIRE(wordAt(memory) == 5);
    DONE(fill(memory, 6, 1));
    DONE(cu("cuMemFreeAsync", memory, kNone));
    DONE(cu("cuCtxSynchronize"));
    DONE(cu("cuMemPoolDestroy", pool));
    parent.meet();
  });
  makeContext();
  void *memory = givenFromPool(peer.channel());
  peer.channel().meet();
  EXPECT_EQ(wordAt(memory), 6u);
}

// The memory stays mapped until what was begun on it is done: NVIDIA's pools give nothing back
// before.
TEST(Ipc, MemoryThatAnotherStreamStillFillsIsFreed) {
  Peer peer([](Channel parent) {
    makeContext();
    const int descriptor = parent.receiveDescriptor();
    auto data = parent.receive<HipIpcHandle>();
    MemoryPool *pool = nullptr;
    void *memory = nullptr;
    Stream *fills = nullptr, *frees = nullptr;
    DONE(cu("cuMemPoolImportFromShareableHandle", &pool,
            reinterpret_cast<void *>(uintptr_t(descriptor)), kDescriptor, kNoFlags));
    DONE(cu("cuMemPoolImportPointer", &memory, pool, &data));
    DONE(cu("cuStreamCreate", &fills, 1u));
    DONE(cu("cuStreamCreate", &frees, 1u));
    gate = false;
    void (*wait)(void *) = waitAtGate;
    DONE(cu("cuLaunchHostFunc", fills, wait, static_cast<void *>(nullptr)));
    DONE(cu("cuMemsetD32Async", memory, 6u, size_t(250), fills));
    DONE(cu("cuMemFreeAsync", memory, frees));
    DONE(cu("cuStreamSynchronize", frees));
    gate = true;
    DONE(cu("cuStreamSynchronize", fills));
    parent.meet();
  });
  makeContext();
  void *memory = givenFromPool(peer.channel());
  peer.channel().meet();
  EXPECT_EQ(wordAt(memory), 6u);
  EXPECT_EQ(peer.end(), 0);
}

TEST(Ipc, PoolsAreOpenedByDescriptorAndPointer) {
  Peer peer([](Channel parent) {
    makeContext();
    const int descriptor = parent.receiveDescriptor();
    MemoryPool *pool = nullptr;
    DONE(cu("cuMemPoolImportFromShareableHandle", &pool,
            reinterpret_cast<void *>(uintptr_t(descriptor)), kDescriptor, kNoFlags));
    close(descriptor);
    auto data = parent.receive<HipIpcHandle>();
    void *memory = nullptr, *again = nullptr;
    DONE(cu("cuMemPoolImportPointer", &memory, pool, &data));
    REQUIRE(wordAt(memory) == 5);
    REQUIRE(cu("cuMemPoolImportPointer", &again, pool, &data) == kInvalidValue);
    REQUIRE(cu("cuMemAllocFromPoolAsync", &again, size_t(64), pool, kNone) == kInvalidValue);
    DONE(fill(memory, 6, 1));
    DONE(cu("cuMemFreeAsync", memory, kNone));
    DONE(cu("cuCtxSynchronize"));
    data.bytes[0] ^= 1;
    REQUIRE(cu("cuMemPoolImportPointer", &again, pool, &data) == kInvalidValue);
    DONE(cu("cuMemPoolDestroy", pool));
    parent.meet();
  });
  const Channel child = peer.channel();
  makeContext();
  MemoryPoolProperties properties = sharedPool();
  MemoryPool *pool = nullptr, *plain = nullptr;
  void *memory = nullptr, *unshared = nullptr;
  int descriptor = -1;
  HipIpcHandle data = {};
  DONE(cu("cuMemPoolCreate", &pool, &properties));
  properties.handleTypes = 0;
  DONE(cu("cuMemPoolCreate", &plain, &properties));
  DONE(cu("cuMemAllocFromPoolAsync", &memory, size_t(1000), pool, kNone));
  DONE(cu("cuMemAllocFromPoolAsync", &unshared, size_t(1000), plain, kNone));
  DONE(fill(memory, 5, 250));
  DONE(cu("cuMemPoolExportToShareableHandle", static_cast<void *>(&descriptor), pool, kDescriptor,
          kNoFlags));
  child.sendDescriptor(descriptor);
  EXPECT_EQ(close(descriptor), 0);
  EXPECT_EQ(cu("cuMemPoolExportPointer", &data, unshared), kInvalidValue);
  EXPECT_EQ(cu("cuMemPoolExportToShareableHandle", static_cast<void *>(&descriptor), plain,
               kDescriptor, kNoFlags),
            kInvalidValue);
  EXPECT_EQ(
      cu("cuMemPoolExportToShareableHandle", static_cast<void *>(&descriptor), pool, 2, kNoFlags),
      kInvalidValue);
  DONE(cu("cuMemPoolExportPointer", &data, memory));
  EXPECT_EQ(cu("cuIpcGetMemHandle", &data, memory), kInvalidValue); // not of a pool
  child.send(data);
  child.meet();
  EXPECT_EQ(wordAt(memory), 6u);
  EXPECT_EQ(wordAt(static_cast<char *>(memory) + 4), 5u);
  EXPECT_EQ(cu("cuMemFreeAsync", memory, kNone), kSuccess);
  EXPECT_EQ(cu("cuMemPoolDestroy", pool), kSuccess);
  MemoryPool *imported = nullptr;
  EXPECT_EQ(cu("cuMemPoolImportFromShareableHandle", &imported, reinterpret_cast<void *>(-1),
               kDescriptor, kNoFlags),
            kUnknown);
  EXPECT_EQ(peer.end(), 0);
}

TEST(Ipc, MappedMemoryGoesByDescriptor) {
  constexpr size_t kUnit = 2 << 20;
  const AllocationProperties properties{1, kDescriptor, {1, 0}, nullptr, 0, 0, 0, {}};
  const MemoryAccess access{{1, 0}, 3};
  auto mapped = [&](uint64_t handle) {
    void *range = nullptr;
    DONE(cu("cuMemAddressReserve", &range, kUnit, size_t(0), static_cast<void *>(nullptr),
            kNoFlags));
    DONE(cu("cuMemMap", range, kUnit, size_t(0), handle, kNoFlags));
    DONE(cu("cuMemSetAccess", range, kUnit, &access, size_t(1)));
    return range;
  };
  Peer peer([&](Channel parent) {
    makeContext();
    uint64_t handle = 0;
    const int descriptor = parent.receiveDescriptor();
    DONE(cu("cuMemImportFromShareableHandle", &handle,
            reinterpret_cast<void *>(uintptr_t(descriptor)), kDescriptor));
    void *range = mapped(handle);
    REQUIRE(wordAt(range) == 1);
    DONE(fill(range, 2, kUnit / 4));
    parent.meet();
    parent.meet(); // it has dropped its own
    REQUIRE(wordAt(range) == 2);
  });
  makeContext();
  uint64_t handle = 0;
  int descriptor = -1;
  DONE(cu("cuMemCreate", &handle, kUnit, &properties, kNoFlags));
  DONE(cu("cuMemExportToShareableHandle", static_cast<void *>(&descriptor), handle, kDescriptor,
          kNoFlags));
  void *range = mapped(handle);
  DONE(fill(range, 1, 1));
  peer.channel().sendDescriptor(descriptor);
  EXPECT_EQ(close(descriptor), 0);
  peer.channel().meet();
  EXPECT_EQ(wordAt(static_cast<char *>(range) + kUnit - 4), 2u);
  EXPECT_EQ(cu("cuMemUnmap", range, kUnit), kSuccess);
  EXPECT_EQ(cu("cuMemRelease", handle), kSuccess);
  peer.channel().meet();
  EXPECT_EQ(peer.end(), 0);
}

} // namespace
} // namespace rubia::runtime::cuda
