// SPDX-License-Identifier: Apache-2.0
// Ranges of addresses and memory that is mapped into them: what allocators do, what kernels may
// reach, sharing by file descriptor, and every kind of wrong argument.
#include "tests/cuda/LaunchFixture.h"
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace rubia::runtime::cuda {
namespace {

constexpr size_t kUnit = 2 << 20; // the granularity
constexpr unsigned long long kNoFlags = 0;
constexpr int kDescriptor = 1; // CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
constexpr MemoryAccess kReadAndWrite{{1, 0}, 3}, kRead{{1, 0}, 1}, kNone{{1, 0}, 0},
    kNobody{{0, 0}, 3};

AllocationProperties propertiesOf(int handleTypes = 0, int ordinal = 0) {
  return {1, handleTypes, {1, ordinal}, nullptr, 0, 0, 0, {}};
}

uint64_t create(size_t bytes, int handleTypes = 0) {
  uint64_t handle = 0;
  const AllocationProperties properties = propertiesOf(handleTypes);
  EXPECT_EQ(cu("cuMemCreate", &handle, bytes, &properties, kNoFlags), kSuccess);
  EXPECT_NE(handle, 0u);
  return handle;
}

char *reserve(size_t bytes) {
  void *address = nullptr;
  EXPECT_EQ(
      cu("cuMemAddressReserve", &address, bytes, size_t(0), static_cast<void *>(nullptr), kNoFlags),
      kSuccess);
  EXPECT_NE(address, nullptr);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(address) % kUnit, 0u);
  return static_cast<char *>(address);
}

Result map(void *address, size_t bytes, uint64_t handle, size_t offset = 0) {
  return cu("cuMemMap", address, bytes, offset, handle, kNoFlags);
}
Result unmap(void *address, size_t bytes) { return cu("cuMemUnmap", address, bytes); }
Result setAccess(void *address, size_t bytes, const MemoryAccess &access) {
  return cu("cuMemSetAccess", address, bytes, &access, size_t(1));
}
Result fill(void *address, unsigned value, size_t count) {
  return cu("cuMemsetD32_v2", address, value, count);
}
unsigned wordAt(void *address) {
  unsigned word = 0;
  EXPECT_EQ(cu("cuMemcpyDtoH_v2", static_cast<void *>(&word), address, size_t(4)), kSuccess);
  return word;
}
size_t freeBytes() {
  size_t free = 0, total = 0;
  EXPECT_EQ(cu("cuMemGetInfo_v2", &free, &total), kSuccess);
  return free;
}

class VirtualMemory : public InContext {
protected:
  void SetUp() override {
    InContext::SetUp();
    Module *module = nullptr;
    ASSERT_EQ(cu("cuModuleLoadData", &module, static_cast<const void *>(kPtx)), kSuccess);
    ASSERT_EQ(cu("cuModuleGetFunction", &function, module, "scale"), kSuccess);
    void *words = allocate(4); // launched once: what it needs is there
    ASSERT_EQ(launchScale(words, words, 1), kSuccess);
  }
  /// out[i] = in[i] * 3
  Result launchScale(void *out, void *in, unsigned count) {
    uint8_t factor = 3;
    void *values[] = {&out, &in, &factor, &count};
    Stream *none = nullptr;
    EXPECT_EQ(cu("cuLaunchKernel", function, (count + 255) / 256, 1u, 1u, 256u, 1u, 1u, 0u, none,
                 static_cast<void **>(values), static_cast<void **>(nullptr)),
              kSuccess);
    return cu("cuCtxSynchronize");
  }
  Function *function = nullptr;
};

// A range that grows, as expandable segments and pools do.
TEST_F(VirtualMemory, GrowsInPlace) {
  const size_t before = freeBytes();
  char *range = reserve(64 * kUnit);
  uint64_t first = create(kUnit), second = create(3 * kUnit);
  EXPECT_EQ(before - freeBytes(), 4 * kUnit);
  ASSERT_EQ(map(range, kUnit, first), kSuccess);
  ASSERT_EQ(setAccess(range, kUnit, kReadAndWrite), kSuccess);
  ASSERT_EQ(fill(range, 7, kUnit / 4), kSuccess);
  ASSERT_EQ(map(range + kUnit, 3 * kUnit, second), kSuccess);
  ASSERT_EQ(setAccess(range + kUnit, 3 * kUnit, kReadAndWrite), kSuccess);
  // Fills, copies and kernels that lie in both.
  ASSERT_EQ(fill(range + kUnit - 8192, 9, 4096), kSuccess);
  ASSERT_EQ(launchScale(range + kUnit - 2048, range + kUnit - 8192, 1024), kSuccess);
  EXPECT_EQ(wordAt(range + kUnit - 8196), 7u);
  EXPECT_EQ(wordAt(range + kUnit - 2052), 9u);
  EXPECT_EQ(wordAt(range + kUnit - 2048), 27u);
  EXPECT_EQ(wordAt(range + kUnit + 2044), 27u);
  EXPECT_EQ(cu("cuMemcpyDtoD_v2", static_cast<void *>(range + 2 * kUnit - 64),
               static_cast<void *>(range + kUnit - 2048), size_t(2048)),
            kSuccess);
  EXPECT_EQ(wordAt(range + 2 * kUnit - 64), 27u);
  // Mapped memory lives without its handle, and ends with its mapping.
  EXPECT_EQ(cu("cuMemRelease", first), kSuccess);
  EXPECT_EQ(cu("cuMemRelease", second), kSuccess);
  EXPECT_EQ(wordAt(range), 7u);
  EXPECT_EQ(before - freeBytes(), 4 * kUnit);
  EXPECT_EQ(unmap(range, 4 * kUnit), kSuccess); // a row of mappings
  EXPECT_EQ(freeBytes(), before);
  EXPECT_EQ(cu("cuMemAddressFree", static_cast<void *>(range), 64 * kUnit), kSuccess);
}

TEST_F(VirtualMemory, OneMemoryMayBeMappedTwice) {
  char *range = reserve(4 * kUnit);
  uint64_t handle = create(2 * kUnit), again = 0;
  ASSERT_EQ(map(range, 2 * kUnit, handle), kSuccess);
  ASSERT_EQ(map(range + 2 * kUnit, 2 * kUnit, handle), kSuccess);
  ASSERT_EQ(setAccess(range, 4 * kUnit, kReadAndWrite), kSuccess);
  ASSERT_EQ(fill(range + 8, 5, 1), kSuccess);
  EXPECT_EQ(wordAt(range + 2 * kUnit + 8), 5u);
  void *inside = range + 3 * kUnit;
  EXPECT_EQ(cu("cuMemRetainAllocationHandle", &again, inside), kSuccess);
  EXPECT_EQ(again, handle);
  EXPECT_EQ(cu("cuMemRelease", handle), kSuccess);
  EXPECT_EQ(cu("cuMemRelease", again), kSuccess);
  EXPECT_EQ(cu("cuMemRelease", again), kInvalidValue);
  EXPECT_EQ(unmap(range, 2 * kUnit), kSuccess);
  EXPECT_EQ(wordAt(range + 2 * kUnit + 8), 5u);
  EXPECT_EQ(unmap(range + 2 * kUnit, 2 * kUnit), kSuccess);
  EXPECT_EQ(cu("cuMemRetainAllocationHandle", &again, inside), kInvalidValue);
}

TEST_F(VirtualMemory, AllThatARangeHasIsUnmapped) {
  char *range = reserve(8 * kUnit);
  ASSERT_EQ(map(range + kUnit, kUnit, create(kUnit)), kSuccess);
  ASSERT_EQ(map(range + 4 * kUnit, 2 * kUnit, create(2 * kUnit)), kSuccess);
  ASSERT_EQ(setAccess(range + kUnit, kUnit, kReadAndWrite), kSuccess);
  EXPECT_EQ(unmap(range, 5 * kUnit), kInvalidValue); // divides the second
  EXPECT_EQ(unmap(range + 5 * kUnit, kUnit), kInvalidValue);
  EXPECT_EQ(fill(range + kUnit, 1, 1), kSuccess);
  EXPECT_EQ(unmap(range, 4 * kUnit), kSuccess);
  EXPECT_EQ(fill(range + kUnit, 1, 1), kInvalidValue);
  EXPECT_EQ(unmap(range, 4 * kUnit), kSuccess); // there is nothing
  EXPECT_EQ(unmap(range, 8 * kUnit), kSuccess);
  EXPECT_EQ(cu("cuMemAddressFree", static_cast<void *>(range), 8 * kUnit), kSuccess);
}

TEST_F(VirtualMemory, NothingIsReachedWithoutAccess) {
  char *range = reserve(2 * kUnit);
  uint64_t handle = create(kUnit);
  unsigned word = 1;
  auto fromHost = [&] {
    return cu("cuMemcpyHtoD_v2", static_cast<void *>(range), static_cast<const void *>(&word),
              size_t(4));
  };
  EXPECT_EQ(fromHost(), kInvalidValue);
  ASSERT_EQ(map(range, kUnit, handle), kSuccess);
  EXPECT_EQ(fromHost(), kInvalidValue);
  ASSERT_EQ(setAccess(range, kUnit, kReadAndWrite), kSuccess);
  EXPECT_EQ(fromHost(), kSuccess);
  // Beyond what is mapped.
  EXPECT_EQ(fill(range + kUnit - 4, 1, 2), kInvalidValue);
  ASSERT_EQ(setAccess(range, kUnit, kNone), kSuccess);
  EXPECT_EQ(fromHost(), kInvalidValue);
  EXPECT_EQ(launchScale(range, range, 1), kIllegalAddress);
}

TEST_F(VirtualMemory, KernelsMayOnlyReadWhatIsToBeRead) {
  char *range = reserve(2 * kUnit);
  ASSERT_EQ(map(range, kUnit, create(kUnit)), kSuccess);
  ASSERT_EQ(map(range + kUnit, kUnit, create(kUnit)), kSuccess);
  ASSERT_EQ(setAccess(range, 2 * kUnit, kReadAndWrite), kSuccess);
  ASSERT_EQ(fill(range, 4, 512), kSuccess);
  ASSERT_EQ(setAccess(range, kUnit, kRead), kSuccess);
  EXPECT_EQ(launchScale(range + kUnit, range, 512), kSuccess);
  EXPECT_EQ(wordAt(range + kUnit + 2044), 12u);
  EXPECT_EQ(launchScale(range, range + kUnit, 512), kIllegalAddress);
}

TEST_F(VirtualMemory, AccessIsTold) {
  char *range = reserve(2 * kUnit);
  const MemoryLocation here{1, 0}, nowhere{1, 99};
  unsigned long long flags = 9;
  auto get = [&](void *address, const MemoryLocation &location) {
    return cu("cuMemGetAccess", &flags, &location, address);
  };
  EXPECT_EQ(get(range, here), kInvalidValue);
  ASSERT_EQ(map(range, kUnit, create(kUnit)), kSuccess);
  EXPECT_EQ(get(range, here), kSuccess);
  EXPECT_EQ(flags, 0u);
  ASSERT_EQ(setAccess(range, kUnit, kRead), kSuccess);
  EXPECT_EQ(get(range + kUnit - 1, here), kSuccess);
  EXPECT_EQ(flags, 1u);
  ASSERT_EQ(setAccess(range, kUnit, kReadAndWrite), kSuccess);
  EXPECT_EQ(get(range, here), kSuccess);
  EXPECT_EQ(flags, 3u);
  EXPECT_EQ(get(range + kUnit, here), kInvalidValue);
  EXPECT_EQ(get(range, nowhere), kInvalidDevice);
}

TEST_F(VirtualMemory, PointersTellOfBothRanges) {
  char *range = reserve(4 * kUnit);
  ASSERT_EQ(map(range + kUnit, kUnit, create(kUnit, kDescriptor)), kSuccess);
  ASSERT_EQ(setAccess(range + kUnit, kUnit, kReadAndWrite), kSuccess);
  auto ask = [&](auto value, int which) {
    EXPECT_EQ(cu("cuPointerGetAttribute", static_cast<void *>(&value), which,
                 static_cast<void *>(range + kUnit + 5)),
              kSuccess)
        << which;
    return value;
  };
  void *none = nullptr;
  EXPECT_EQ(ask(0u, kPointerMemoryType), unsigned(kMemoryDevice));
  EXPECT_EQ(ask(none, kPointerContext), nullptr);
  EXPECT_EQ(ask(none, kPointerDevicePointer), range + kUnit + 5);
  EXPECT_EQ(ask(none, kPointerRangeStart), range);
  EXPECT_EQ(ask(size_t(0), kPointerRangeSize), 4 * kUnit);
  EXPECT_EQ(ask(none, kPointerMappingBase), range + kUnit);
  EXPECT_EQ(ask(size_t(0), kPointerMappingSize), kUnit);
  EXPECT_EQ(ask(-1, kPointerDeviceOrdinal), 0);
  EXPECT_EQ(ask(0u, kPointerMapped), 1u);
  EXPECT_EQ(ask(0u, kPointerAccessFlags), 3u);
  EXPECT_EQ(ask(uint64_t(0), kPointerAllowedHandleTypes), uint64_t(kDescriptor));
  void *base = nullptr;
  size_t bytes = 0;
  void *inside = range + kUnit + 5;
  EXPECT_EQ(cu("cuMemGetAddressRange_v2", &base, &bytes, inside), kSuccess);
  EXPECT_EQ(base, range + kUnit);
  EXPECT_EQ(bytes, kUnit);
  // It is no allocation of the other functions'.
  for (const char *name : {"cuMemFree_v2", "cuMemFreeHost", "cuMemHostUnregister"})
    EXPECT_EQ(cu(name, static_cast<void *>(range + kUnit)), kInvalidValue) << name;
  EXPECT_EQ(
      cu("cuMemFreeAsync", static_cast<void *>(range + kUnit), static_cast<Stream *>(nullptr)),
      kInvalidValue);
}

TEST_F(VirtualMemory, GoesByFileDescriptor) {
  const size_t before = freeBytes();
  uint64_t handle = create(2 * kUnit, kDescriptor), imported = 0;
  int descriptor = -1;
  ASSERT_EQ(cu("cuMemExportToShareableHandle", static_cast<void *>(&descriptor), handle,
               kDescriptor, kNoFlags),
            kSuccess);
  ASSERT_GE(descriptor, 0);
  ASSERT_EQ(cu("cuMemImportFromShareableHandle", &imported,
               reinterpret_cast<void *>(uintptr_t(descriptor)), kDescriptor),
            kSuccess);
  EXPECT_EQ(close(descriptor), 0); // it is the program's
  AllocationProperties properties = {};
  EXPECT_EQ(cu("cuMemGetAllocationPropertiesFromHandle", &properties, imported), kSuccess);
  EXPECT_EQ(properties.type, 1);
  EXPECT_EQ(properties.handleTypes, 0); // it is not to be given on
  EXPECT_EQ(properties.location.type, 1);
  EXPECT_EQ(properties.location.id, 0);
  char *range = reserve(4 * kUnit);
  ASSERT_EQ(map(range, 2 * kUnit, handle), kSuccess);
  ASSERT_EQ(map(range + 2 * kUnit, 2 * kUnit, imported), kSuccess);
  EXPECT_EQ(cu("cuMemRelease", handle), kSuccess);
  ASSERT_EQ(setAccess(range, 4 * kUnit, kReadAndWrite), kSuccess);
  ASSERT_EQ(fill(range, 77, 2), kSuccess);
  EXPECT_EQ(wordAt(range + 2 * kUnit), 77u);
  EXPECT_EQ(unmap(range, 2 * kUnit), kSuccess);
  EXPECT_EQ(wordAt(range + 2 * kUnit + 4), 77u); // of the other handle
  EXPECT_EQ(unmap(range + 2 * kUnit, 2 * kUnit), kSuccess);
  EXPECT_EQ(cu("cuMemRelease", imported), kSuccess);
  EXPECT_EQ(freeBytes(), before);
}

TEST_F(VirtualMemory, OtherDescriptorsAreRefused) {
  auto import = [](int descriptor) {
    uint64_t handle = 5;
    Result result = cu("cuMemImportFromShareableHandle", &handle,
                       reinterpret_cast<void *>(uintptr_t(unsigned(descriptor))), kDescriptor);
    EXPECT_EQ(handle, 5u);
    return result;
  };
  const int zero = open("/dev/zero", O_RDWR), file = memfd_create("any", MFD_ALLOW_SEALING);
  ASSERT_EQ(ftruncate(file, off_t(8 * kUnit)), 0);
  EXPECT_EQ(import(zero), kUnknown);
  EXPECT_EQ(import(file), kUnknown);
  EXPECT_EQ(import(-1), kUnknown);
  EXPECT_EQ(import(1 << 20), kUnknown);
  EXPECT_EQ(close(zero), 0); // they are still the program's
  EXPECT_EQ(close(file), 0);
}

// Memory of the host, which XGBoost has such ranges of.
TEST_F(VirtualMemory, OfTheHost) {
  const size_t before = freeBytes();
  for (int type : {2, 3}) { // HOST, HOST_NUMA
    char *range = reserve(2 * kUnit);
    AllocationProperties properties = propertiesOf();
    properties.location.type = type;
    uint64_t handle = 0;
    ASSERT_EQ(cu("cuMemCreate", &handle, kUnit, &properties, kNoFlags), kSuccess);
    ASSERT_EQ(map(range, kUnit, handle), kSuccess);
    const MemoryAccess both[] = {kReadAndWrite, {{3, 0}, 3}};
    ASSERT_EQ(cu("cuMemSetAccess", static_cast<void *>(range), kUnit,
                 static_cast<const MemoryAccess *>(both), size_t(2)),
              kSuccess);
    EXPECT_EQ(freeBytes(), before);
    auto *words = reinterpret_cast<unsigned *>(range);
    words[0] = 14;
    EXPECT_EQ(launchScale(words + 1, words, 1), kSuccess);
    EXPECT_EQ(words[1], 42u);
    unsigned memoryType = 0;
    void *host = nullptr, *pointer = words;
    EXPECT_EQ(cu("cuPointerGetAttribute", static_cast<void *>(&memoryType), int(kPointerMemoryType),
                 pointer),
              kSuccess);
    EXPECT_EQ(memoryType, unsigned(kMemoryHost));
    EXPECT_EQ(
        cu("cuPointerGetAttribute", static_cast<void *>(&host), int(kPointerHostPointer), pointer),
        kSuccess);
    EXPECT_EQ(host, pointer);
    unsigned long long flags = 0;
    EXPECT_EQ(cu("cuMemGetAccess", &flags, &both[1].location, pointer), kSuccess);
    EXPECT_EQ(flags, 3u);
    EXPECT_EQ(cu("cuMemHostUnregister", pointer), kInvalidValue);
    EXPECT_EQ(unmap(range, kUnit), kSuccess);
    EXPECT_EQ(cu("cuMemRelease", handle), kSuccess);
  }
}

// Handles and mappings are the process's, not the context's.
TEST_F(VirtualMemory, OutlivesItsContext) {
  char *range = reserve(kUnit);
  ASSERT_EQ(map(range, kUnit, create(kUnit)), kSuccess);
  ASSERT_EQ(setAccess(range, kUnit, kReadAndWrite), kSuccess);
  ASSERT_EQ(fill(range, 3, 1), kSuccess);
  ASSERT_EQ(cu("cuCtxDestroy_v2", context), kSuccess);
  ASSERT_EQ(cu("cuCtxCreate_v2", &context, 0u, 0), kSuccess);
  EXPECT_EQ(wordAt(range), 3u);
  EXPECT_EQ(unmap(range, kUnit), kSuccess);
}

TEST_F(VirtualMemory, AHintIsFollowedWhereNothingLies) {
  char *range = reserve(2 * kUnit);
  ASSERT_EQ(cu("cuMemAddressFree", static_cast<void *>(range), 2 * kUnit), kSuccess);
  void *again = nullptr, *other = nullptr;
  EXPECT_EQ(
      cu("cuMemAddressReserve", &again, 2 * kUnit, kUnit, static_cast<void *>(range), kNoFlags),
      kSuccess);
  EXPECT_EQ(again, range);
  EXPECT_EQ(
      cu("cuMemAddressReserve", &other, 2 * kUnit, 8 * kUnit, static_cast<void *>(range), kNoFlags),
      kSuccess);
  EXPECT_NE(other, range);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(other) % (8 * kUnit), 0u);
}

TEST_F(VirtualMemory, WrongArgumentsAreRefused) {
  char *range = reserve(8 * kUnit);
  const uint64_t handle = create(2 * kUnit), none = 0, wild = 0x1234;
  ASSERT_EQ(map(range, kUnit, create(kUnit)), kSuccess);
  void *out = nullptr, *null = nullptr;
  uint64_t made = 0;
  size_t granularity = 0;
  int descriptor = -1;
  unsigned long long flags = 0;
  auto pointer = [&](size_t offset) { return static_cast<void *>(range + offset); };
  auto reserved = [&](void **to, size_t bytes, size_t alignment, void *hint,
                      unsigned long long flags) {
    return cu("cuMemAddressReserve", to, bytes, alignment, hint, flags);
  };
  auto created = [&](size_t bytes, AllocationProperties properties, unsigned long long flags = 0) {
    return cu("cuMemCreate", &made, bytes, &properties, flags);
  };
  auto changed = [](auto change) {
    AllocationProperties properties = propertiesOf();
    change(properties);
    return properties;
  };
  auto access = [&](size_t offset, size_t bytes, MemoryAccess one) {
    return setAccess(range + offset, bytes, one);
  };
  const AllocationProperties plain = propertiesOf();
  const MemoryLocation here{1, 0};
  const struct {
    const char *what;
    Result result, expected;
  } calls[] = {
      {"reserve to null", reserved(nullptr, kUnit, 0, null, 0), kInvalidValue},
      {"reserve nothing", reserved(&out, 0, 0, null, 0), kInvalidValue},
      {"reserve part of a page", reserved(&out, kUnit + 1, 0, null, 0), kInvalidValue},
      {"alignment of 3", reserved(&out, kUnit, 3, null, 0), kInvalidValue},
      {"hint inside a page", reserved(&out, kUnit, 0, pointer(5), 0), kInvalidValue},
      {"reserve with flags", reserved(&out, kUnit, 0, null, 1), kInvalidValue},
      {"reserve everything", reserved(&out, size_t(1) << 62, 0, null, 0), kOutOfMemory},
      {"free another size", cu("cuMemAddressFree", pointer(0), kUnit), kInvalidValue},
      {"free from the middle", cu("cuMemAddressFree", pointer(kUnit), 7 * kUnit), kInvalidValue},
      {"free null", cu("cuMemAddressFree", null, kUnit), kInvalidValue},
      {"free what is mapped", cu("cuMemAddressFree", pointer(0), 8 * kUnit), kInvalidValue},
      {"create nothing", created(0, plain), kInvalidValue},
      {"create half a unit", created(kUnit / 2, plain), kInvalidValue},
      {"create with flags", created(kUnit, plain, 1), kInvalidValue},
      {"create to null",
       cu("cuMemCreate", static_cast<uint64_t *>(nullptr), kUnit, &plain, kNoFlags), kInvalidValue},
      {"create of nothing known",
       cu("cuMemCreate", &made, kUnit, static_cast<const AllocationProperties *>(nullptr),
          kNoFlags),
       kInvalidValue},
      {"create too much", created(size_t(1) << 50, plain), kOutOfMemory},
      {"create of type 0", created(kUnit, changed([](auto &p) { p.type = 0; })), kInvalidValue},
      {"create nowhere", created(kUnit, changed([](auto &p) { p.location.type = 0; })),
       kInvalidValue},
      {"create on no node", created(kUnit, changed([](auto &p) { p.location = {3, 4000}; })),
       kInvalidValue},
      {"share the host's", created(kUnit, changed([](auto &p) {
                                     p.location.type = 2;
                                     p.handleTypes = kDescriptor;
                                   })),
       kInvalidValue},
      {"create on the thread's node", created(kUnit, changed([](auto &p) { p.location.type = 4; })),
       kInvalidValue},
      {"create on no device", created(kUnit, changed([](auto &p) { p.location.id = 99; })),
       kInvalidDevice},
      {"create for a fabric", created(kUnit, changed([](auto &p) { p.handleTypes = 8; })),
       kNotSupported},
      {"create for Windows", created(kUnit, changed([](auto &p) { p.handleTypes = 2; })),
       kInvalidValue},
      {"create compressed", created(kUnit, changed([](auto &p) { p.compression = 2; })),
       kInvalidValue},
      {"create with a pointer of Windows",
       created(kUnit, changed([&](auto &p) { p.windows = range; })), kInvalidValue},
      {"release nothing", cu("cuMemRelease", none), kInvalidValue},
      {"release anything", cu("cuMemRelease", wild), kInvalidValue},
      {"map no handle", map(range + kUnit, kUnit, none), kInvalidValue},
      {"map a wild handle", map(range + kUnit, kUnit, wild), kInvalidValue},
      {"map nothing", map(range + kUnit, 0, handle), kInvalidValue},
      {"map half a unit", map(range + kUnit, kUnit / 2, handle), kNotSupported},
      {"map between units", map(range + kUnit + 4096, 2 * kUnit, handle), kNotSupported},
      {"map a part", map(range + kUnit, kUnit, handle), kNotSupported},
      {"map more than there is", map(range + kUnit, 3 * kUnit, handle), kNotSupported},
      {"map from the middle", map(range + kUnit, kUnit, handle, kUnit), kNotSupported},
      {"map beyond the range", map(range + 7 * kUnit, 2 * kUnit, handle), kInvalidValue},
      {"map at null", map(null, 2 * kUnit, handle), kInvalidValue},
      {"map over a mapping", map(range, 2 * kUnit, handle), kInvalidValue},
      {"map with flags", cu("cuMemMap", pointer(kUnit), kUnit, size_t(0), handle, 1ull),
       kInvalidValue},
      {"unmap part", unmap(range, kUnit / 2), kInvalidValue},
      {"unmap nothing", unmap(range, 0), kInvalidValue},
      {"unmap null", unmap(null, kUnit), kInvalidValue},
      {"access to part", access(0, kUnit / 2, kReadAndWrite), kInvalidValue},
      {"access to more", access(0, 2 * kUnit, kReadAndWrite), kInvalidValue},
      {"access to nothing", access(0, 0, kReadAndWrite), kInvalidValue},
      {"access of no device", access(0, kUnit, {{1, 99}, 3}), kInvalidValue},
      {"access of the host", access(0, kUnit, {{3, 0}, 3}), kNotSupported},
      {"access of nobody", access(0, kUnit, {{0, 0}, 3}), kInvalidValue},
      {"access to write alone", access(0, kUnit, {{1, 0}, 2}), kInvalidValue},
      {"access without a list",
       cu("cuMemSetAccess", pointer(0), kUnit, static_cast<const MemoryAccess *>(nullptr),
          size_t(1)),
       kInvalidValue},
      {"access of none", cu("cuMemSetAccess", pointer(0), kUnit, &kReadAndWrite, size_t(0)),
       kInvalidValue},
      {"access of a list without an end",
       cu("cuMemSetAccess", pointer(0), kUnit, &kNobody, ~size_t(0) / 16), kInvalidValue},
      {"ask to null",
       cu("cuMemGetAccess", static_cast<unsigned long long *>(nullptr), &here, pointer(0)),
       kInvalidValue},
      {"ask of nowhere",
       cu("cuMemGetAccess", &flags, static_cast<const MemoryLocation *>(nullptr), pointer(0)),
       kInvalidValue},
      {"granularity to null",
       cu("cuMemGetAllocationGranularity", static_cast<size_t *>(nullptr), &plain, 0),
       kInvalidValue},
      {"granularity of a third kind", cu("cuMemGetAllocationGranularity", &granularity, &plain, 2),
       kInvalidValue},
      {"properties to null",
       cu("cuMemGetAllocationPropertiesFromHandle", static_cast<AllocationProperties *>(nullptr),
          handle),
       kInvalidValue},
      {"retain to null",
       cu("cuMemRetainAllocationHandle", static_cast<uint64_t *>(nullptr), pointer(0)),
       kInvalidValue},
      {"retain what is not mapped", cu("cuMemRetainAllocationHandle", &made, pointer(kUnit)),
       kInvalidValue},
      {"export what was not to be",
       cu("cuMemExportToShareableHandle", static_cast<void *>(&descriptor), handle, kDescriptor,
          kNoFlags),
       kInvalidValue},
      {"export of another type",
       cu("cuMemExportToShareableHandle", static_cast<void *>(&descriptor), handle, 2, kNoFlags),
       kInvalidValue},
      {"import of another type", cu("cuMemImportFromShareableHandle", &made, null, 8),
       kNotSupported},
  };
  for (const auto &call : calls)
    EXPECT_EQ(call.result, call.expected) << call.what;
  for (int option : {0, 1}) {
    EXPECT_EQ(cu("cuMemGetAllocationGranularity", &granularity, &plain, option), kSuccess);
    EXPECT_EQ(granularity, kUnit);
  }
}

} // namespace
} // namespace rubia::runtime::cuda
