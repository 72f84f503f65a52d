// SPDX-License-Identifier: Apache-2.0
// What cudart does when it starts and ends, call by call: tables, local storage, contexts; and what
// it must survive: forks, foreign LLVM libraries, exit handlers that run late.
#include "tests/cuda/Client.h"
#include <cstring>
#include <ctime>
#include <set>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace rubia::runtime::cuda {
namespace {

using Table = void *const *;

Table table(const Uuid &uuid) {
  const void *found = nullptr;
  EXPECT_EQ(cu("cuGetExportTable", &found, &uuid), kSuccess);
  return static_cast<Table>(found);
}

template <class... Arguments> Result slot(Table table, unsigned index, Arguments... arguments) {
  return reinterpret_cast<Result (*)(Arguments...)>(table[index])(arguments...);
}

const Uuid kCudartInterface = {{0x6b, 0xd5, 0xfb, 0x6c, 0x5b, 0xf4, 0xe7, 0x4a, 0x89, 0x87, 0xd9,
                                0x39, 0x12, 0xfd, 0x9d, 0xf9}};
const Uuid kCallbackHooks = {{0xa0, 0x94, 0x79, 0x8c, 0x2e, 0x74, 0x2e, 0x74, 0x93, 0xf2, 0x08,
                              0x00, 0x20, 0x0c, 0x0a, 0x66}};
const Uuid kToolsTls = {{0x42, 0xd8, 0x5a, 0x81, 0x23, 0xf6, 0xcb, 0x47, 0x82, 0x98, 0xf6, 0xe7,
                         0x8a, 0x3a, 0xec, 0xdc}};
const Uuid kLocalStorage = {{0xc6, 0x93, 0x33, 0x6e, 0x11, 0x21, 0xdf, 0x11, 0xa8, 0xc3, 0x68, 0xf3,
                             0x55, 0xd8, 0x95, 0x93}};
const Uuid kContextChecks = {{0x26, 0x3e, 0x88, 0x60, 0x7c, 0xd2, 0x61, 0x43, 0x92, 0xf6, 0xbb,
                              0xd5, 0x00, 0x6d, 0xfa, 0x7e}};
const Uuid kIntegrityCheck = {{0xd4, 0x08, 0x20, 0x55, 0xbd, 0xe6, 0x70, 0x4b, 0x8d, 0x34, 0xba,
                               0x12, 0x3c, 0x66, 0xe1, 0xf2}};
const Uuid kToolsContext = {{0x21, 0x31, 0x8c, 0x60, 0x97, 0x14, 0x32, 0x48, 0x8c, 0xa6, 0x41, 0xff,
                             0x73, 0x24, 0xc8, 0xf2}};
// Of which callers have to find that it is there (docs/driver.md, "Profilers").
const Uuid kProfiler = {{0x7c, 0xb6, 0x3f, 0x9b, 0x9c, 0xa4, 0x8e, 0x42, 0xa4, 0x84, 0xbe, 0xb6,
                         0x6e, 0x6a, 0xed, 0x7f}};

// The part of the start that comes before the first use of a device.
void startUp() {
  int version = 0;
  ASSERT_EQ(cu("cuDriverGetVersion", &version), kSuccess);
  ASSERT_GE(version, 13000);
  ASSERT_EQ(cu("cuInit", 0u), kSuccess);
  int mode = 0, count = 0, device = -1;
  ASSERT_EQ(cu("cuModuleGetLoadingMode", &mode), kSuccess);
  EXPECT_EQ(mode, 2);
  ASSERT_EQ(cu("cuDeviceGetCount", &count), kSuccess);
  ASSERT_EQ(count, 1);
  ASSERT_EQ(cu("cuDeviceGet", &device, 0), kSuccess);
  char name[256] = "";
  ASSERT_EQ(cu("cuDeviceGetName", name, 256, 0), kSuccess);
  EXPECT_STREQ(name, "Fake Radeon");
  size_t bytes = 0;
  ASSERT_EQ(cu("cuDeviceTotalMem_v2", &bytes, 0), kSuccess);
  EXPECT_EQ(bytes, size_t(8) << 30);
}

TEST(Startup, EveryAttributeHasAValue) {
  startUp();
  for (int attribute = 1; attribute <= 147; ++attribute) {
    int value = -1;
    EXPECT_EQ(cu("cuDeviceGetAttribute", &value, attribute, 0), kSuccess) << attribute;
  }
  int warp = 0, threads = 0;
  cu("cuDeviceGetAttribute", &warp, 10, 0);
  cu("cuDeviceGetAttribute", &threads, 1, 0);
  EXPECT_EQ(warp, 32);
  EXPECT_EQ(threads, 1024);
}

TEST(Startup, TablesSayTheirSize) {
  const std::pair<const Uuid *, size_t> sizes[] = {
      {&kCudartInterface, 13}, {&kCallbackHooks, 7}, {&kToolsTls, 4}, {&kContextChecks, 4},
      {&kIntegrityCheck, 3},   {&kToolsContext, 91}, {&kProfiler, 64}};
  for (auto [uuid, slots] : sizes) {
    Table found = table(*uuid);
    ASSERT_TRUE(found);
    EXPECT_EQ(reinterpret_cast<size_t>(found[0]), slots * 8);
    for (size_t i = 1; i < slots; ++i)
      EXPECT_TRUE(found[i]) << i;
    EXPECT_EQ(table(*uuid), found);
  }
  Uuid unknown = {{1, 2, 3}};
  const void *none = &none;
  EXPECT_NE(cu("cuGetExportTable", &none, &unknown), kSuccess);
  EXPECT_EQ(none, nullptr);
}

TEST(Startup, CallbackFlagsAreZeroesForEveryFunction) {
  startUp();
  for (auto [index, least] : {std::pair(2u, 600u), std::pair(6u, 14u)}) {
    uint32_t *flags = nullptr;
    size_t count = 0;
    slot(table(kCallbackHooks), index, &flags, &count);
    ASSERT_GE(count, least);
    for (size_t i = 0; i < count; ++i)
      EXPECT_EQ(flags[i], 0u);
  }
}

TEST(Startup, SlotsThatNobodyUsesFail) {
  EXPECT_EQ(slot(table(kCudartInterface), 3), kNotSupported);
  EXPECT_EQ(slot(table(kToolsContext), 90), kNotSupported);
}

TEST(Startup, ToolsTablesAnswerZero) {
  startUp();
  uint64_t value = 1;
  EXPECT_EQ(slot(table(kToolsTls), 2, &value, 0x50u), kSuccess);
  EXPECT_EQ(value, 0u);
  uint32_t first = 1;
  EXPECT_EQ(slot(table(kContextChecks), 2, static_cast<Context *>(nullptr), &first,
                 static_cast<void **>(nullptr)),
            kSuccess);
  EXPECT_EQ(first, 0u);
  EXPECT_EQ(slot(table(kToolsContext), 4, static_cast<Context *>(nullptr), &value), kSuccess);
}

// cuBLAS gives the same semaphores to streams that have a channel in common, without waiting.
TEST(Startup, StreamsHaveNoChannelInCommon) {
  startUp();
  auto groupOf = [](Stream *stream) {
    struct {
      uint32_t value = 0, behind = 0x12345678;
    } channel, group;
    Context *current = nullptr;
    EXPECT_EQ(slot(table(kToolsContext), 51, current, stream, &channel.value), kSuccess);
    EXPECT_EQ(slot(table(kToolsContext), 39, current, channel.value, &group.value), kSuccess);
    EXPECT_EQ(channel.behind, 0x12345678u); // it is a word
    EXPECT_EQ(group.behind, 0x12345678u);
    return group.value;
  };
  Context *context = nullptr;
  ASSERT_EQ(cu("cuCtxCreate_v2", &context, 0u, 0), kSuccess);
  Stream *streams[10] = {nullptr, kPerThreadStream};
  std::set<uint32_t> groups;
  for (int i = 0; i < 10; ++i) {
    if (i > 1)
      ASSERT_EQ(cu("cuStreamCreate", &streams[i], 1u), kSuccess);
    EXPECT_TRUE(groups.insert(groupOf(streams[i])).second) << i;
    EXPECT_EQ(groupOf(streams[i]), groupOf(streams[i]));
  }
  std::thread([&] {
    ASSERT_EQ(cu("cuCtxSetCurrent", context), kSuccess);
    EXPECT_TRUE(groups.insert(groupOf(kPerThreadStream)).second);
  }).join();
}

// The answer covers thread, time and version, and is the same when asked again.
TEST(Startup, HandshakeDependsOnWhatItCovers) {
  startUp();
  auto answer = [](uint32_t version, uint64_t time) {
    std::pair<uint64_t, uint64_t> out;
    Result result = slot(table(kIntegrityCheck), 1, version, time, &out);
    EXPECT_EQ(result, RUBIA_CUDART_HANDSHAKE ? kSuccess : kNotSupported);
    return out;
  };
  auto now = answer(13002, 1700000000);
  if (!RUBIA_CUDART_HANDSHAKE)
    return;
  EXPECT_EQ(now, answer(13002, 1700000000));
  EXPECT_NE(now, answer(13002, 1700000001));
  EXPECT_NE(now, answer(12082, 1700000000));
  EXPECT_EQ(answer(13000, 1), answer(12000, 2));
  EXPECT_NE(answer(13000, 1), answer(13001, 1));
  std::thread([&] { EXPECT_NE(now, answer(13002, 1700000000)); }).join();
}

int destroyed = 0;
void countDestroyed(Context *, void *key, void *value) {
  EXPECT_EQ(key, &destroyed);
  EXPECT_EQ(value, &kLocalStorage);
  ++destroyed;
}

Result getLocal(void **value, Context *context) {
  return slot(table(kLocalStorage), 2, value, context, static_cast<void *>(&destroyed));
}
Result putLocal(Context *context) {
  return slot(table(kLocalStorage), 0, context, static_cast<void *>(&destroyed),
              const_cast<void *>(static_cast<const void *>(&kLocalStorage)), &countDestroyed);
}

TEST(Startup, FollowsTheOrderOfCudart) {
  startUp();
  Context *primary = nullptr, *current = nullptr, *retained = nullptr;
  ASSERT_EQ(slot(table(kCudartInterface), 2, &primary, 0), kSuccess);
  void *value = nullptr;
  EXPECT_EQ(getLocal(&value, nullptr), kInvalidContext);
  EXPECT_EQ(cu("cuCtxGetCurrent", &current), kSuccess);
  EXPECT_EQ(current, nullptr);
  EXPECT_EQ(cu("cuCtxSetCurrent", primary), kSuccess);
  void *memory = nullptr;
  EXPECT_EQ(cu("cuMemAlloc_v2", &memory, size_t(16)), kContextIsDestroyed); // not retained yet
  EXPECT_EQ(cu("cuDevicePrimaryCtxRetain", &retained, 0), kSuccess);
  EXPECT_EQ(retained, primary);
  EXPECT_EQ(getLocal(&value, nullptr), kInvalidHandle);
  int device = -1;
  EXPECT_EQ(cu("cuCtxGetDevice_v2", &device, primary), kSuccess);
  EXPECT_EQ(device, 0);
  EXPECT_EQ(putLocal(nullptr), kSuccess);
  EXPECT_EQ(getLocal(&value, nullptr), kSuccess);
  EXPECT_EQ(value, &kLocalStorage);

  // A second thread has no context, and takes the same one.
  std::thread([&] {
    Context *mine = primary;
    EXPECT_EQ(getLocal(&value, nullptr), kInvalidContext);
    EXPECT_EQ(cu("cuCtxGetCurrent", &mine), kSuccess);
    EXPECT_EQ(mine, nullptr);
    EXPECT_EQ(cu("cuCtxSetCurrent", primary), kSuccess);
    EXPECT_EQ(getLocal(&value, nullptr), kSuccess);
  }).join();

  // A reset runs the destructors.
  EXPECT_EQ(cu("cuDevicePrimaryCtxReset", 0), kSuccess);
  EXPECT_EQ(destroyed, 1);
  EXPECT_EQ(getLocal(&value, primary), kInvalidHandle);
  EXPECT_EQ(putLocal(primary), kSuccess);
  EXPECT_EQ(slot(table(kLocalStorage), 1, primary, static_cast<void *>(&destroyed)), kSuccess);
  EXPECT_EQ(slot(table(kLocalStorage), 1, primary, static_cast<void *>(&destroyed)),
            kInvalidHandle);
  EXPECT_EQ(cu("cuDevicePrimaryCtxRelease", 0), kSuccess);
  EXPECT_EQ(cu("cuDevicePrimaryCtxRelease", 0), kInvalidContext);
  EXPECT_EQ(destroyed, 1);
}

// cudart's own teardown: registered before libcuda is loaded, so it runs after everything of
// libcuda's.
void teardown() {
  void *key = &destroyed;
  bool fine = !slot(table(kLocalStorage), 1, static_cast<Context *>(nullptr), key) &&
              !cu("cuLibraryUnload", static_cast<Library *>(nullptr)) &&
              !cu("cuMemFree_v2", static_cast<void *>(nullptr)) &&
              !cu("cuDevicePrimaryCtxRelease", 0) && cu("cuCtxSynchronize") == kDeinitialized;
  _exit(fine ? 42 : 1);
}

TEST(Startup, TeardownAfterStaticDestructorsIsQuiet) {
  EXPECT_EXIT(
      {
        atexit(teardown);
        startUp();
        Context *context = nullptr;
        cu("cuDevicePrimaryCtxRetain", &context, 0);
        cu("cuCtxSetCurrent", context);
        putLocal(context);
        exit(0);
      },
      testing::ExitedWithCode(42), "");
}

TEST(Startup, AForkedChildIsToldAndTheProgramsOwnWaitIsNotDisturbed) {
  startUp();
  Context *context = nullptr;
  ASSERT_EQ(cu("cuCtxCreate_v2", &context, 0u, 0), kSuccess);
  int status = 0;
  EXPECT_EQ(waitpid(-1, &status, WNOHANG), -1); // no child of ours
  EXPECT_EQ(errno, ECHILD);
  pid_t child = fork();
  if (!child)
    _exit(cu("cuCtxSynchronize") == kNotInitialized && cu("cuInit", 0u) == kNotInitialized ? 7 : 1);
  ASSERT_EQ(waitpid(-1, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 7);
  EXPECT_EQ(cu("cuCtxSynchronize"), kSuccess);
}

// A child made before anything was initialised is a process like any other.
TEST(Startup, AChildForkedBeforeInitializationWorks) {
  library();
  pid_t child = fork();
  if (!child)
    _exit(cu("cuInit", 0u) == kSuccess ? 7 : 1);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 7);
  EXPECT_EQ(cu("cuInit", 0u), kSuccess);
}

TEST(Startup, WorksBehindAGlobalLlvm) {
  ASSERT_TRUE(dlopen(RUBIA_LIBLLVM, RTLD_NOW | RTLD_GLOBAL)) << dlerror();
  startUp();
}

TEST(Startup, WorksBeforeAGlobalLlvm) {
  startUp();
  ASSERT_TRUE(dlopen(RUBIA_LIBLLVM, RTLD_NOW | RTLD_GLOBAL)) << dlerror();
  Context *context = nullptr;
  EXPECT_EQ(cu("cuCtxCreate_v2", &context, 0u, 0), kSuccess);
  EXPECT_EQ(cu("cuCtxSynchronize"), kSuccess);
}

TEST(Startup, WithoutADeviceSaysSo) {
  setenv("FAKE_HIP_DEVICES", "0", 1);
  EXPECT_EQ(cu("cuInit", 0u), kNoDevice);
  int count = -1;
  EXPECT_EQ(cu("cuDeviceGetCount", &count), kNotInitialized);
}

// A processor that is not in targets/Targets.def.
TEST(Startup, DevicesOfUnknownProcessorsAreNotUsed) {
  setenv("FAKE_HIP_DEVICES", "2", 1);
  setenv("FAKE_HIP_ARCH", "gfx1036", 1);
  testing::internal::CaptureStderr();
  ASSERT_EQ(cu("cuInit", 0u), kSuccess);
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_NE(log.find("device 0, Fake Radeon, is not used: 'gfx1036' is not in Rubia's table of "
                     "targets; the generic target nearest to it is gfx10-3-generic"),
            std::string::npos)
      << log;
  int count = -1, bus = -1;
  EXPECT_EQ(cu("cuDeviceGetCount", &count), kSuccess);
  EXPECT_EQ(count, 1);
  EXPECT_EQ(cu("cuDeviceGetAttribute", &bus, 33, 0), kSuccess);
  EXPECT_EQ(bus, 0x0b);
}

TEST(Startup, UnknownProcessorsAloneAreNoDevice) {
  setenv("FAKE_HIP_ARCH", "gfx1036:xnack-", 1);
  EXPECT_EQ(cu("cuInit", 0u), kNoDevice);
}

TEST(Startup, VisibleDevicesAreChosenAndReordered) {
  setenv("FAKE_HIP_DEVICES", "3", 1);
  setenv("CUDA_VISIBLE_DEVICES", "1,0,7,2", 1); // the list ends at the first that is missing
  ASSERT_EQ(cu("cuInit", 0u), kSuccess);
  int count = -1, bus = -1;
  EXPECT_EQ(cu("cuDeviceGetCount", &count), kSuccess);
  EXPECT_EQ(count, 2);
  EXPECT_EQ(cu("cuDeviceGetAttribute", &bus, 33, 0), kSuccess);
  EXPECT_EQ(bus, 0x0b);
}

using Probe = int (*)(Result (*)(int *, int, int), int *, int *);

std::pair<int, int> capabilitySeenBy(const char *path) {
  void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  EXPECT_TRUE(handle) << dlerror();
  auto probe = reinterpret_cast<Probe>(dlsym(handle, "probe"));
  std::pair<int, int> seen;
  EXPECT_EQ(probe(reinterpret_cast<Result (*)(int *, int, int)>(symbol("cuDeviceGetAttribute")),
                  &seen.first, &seen.second),
            0);
  return seen;
}

TEST(Capability, DependsOnTheCallingLibrary) {
  startUp();
  int major = 0, minor = 0;
  ASSERT_EQ(cu("cuDeviceGetAttribute", &major, 75, 0), kSuccess);
  ASSERT_EQ(cu("cuDeviceGetAttribute", &minor, 76, 0), kSuccess);
  EXPECT_EQ(std::pair(major, minor), std::pair(8, 9));
  EXPECT_EQ(capabilitySeenBy(RUBIA_PROBE_PLAIN), std::pair(8, 9));
  EXPECT_EQ(capabilitySeenBy(RUBIA_PROBE_CLOSED), std::pair(13, 0));
  EXPECT_EQ(capabilitySeenBy(RUBIA_PROBE_NCCL), std::pair(12, 0));
  ASSERT_EQ(cu("cuDeviceComputeCapability", &major, &minor, 0), kSuccess);
  EXPECT_EQ(std::pair(major, minor), std::pair(8, 9));
}

// As NVIDIA's libraries for CUDA 13 do it: they ask the runtime library that the program has.
TEST(Capability, DependsOnWhoCallsTheSharedRuntime) {
  using GetAttribute = int (*)(int *, int, int);
  startUp();
  void *runtime = dlopen(RUBIA_FAKE_CUDART, RTLD_NOW | RTLD_LOCAL);
  ASSERT_TRUE(runtime) << dlerror();
  auto function = [&](const char *name) {
    return reinterpret_cast<GetAttribute>(dlsym(runtime, name));
  };
  reinterpret_cast<void (*)(void *)>(dlsym(runtime, "setDriver"))(symbol("cuDeviceGetAttribute"));
  auto seenBy = [&](const char *path, const char *through) {
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    EXPECT_TRUE(handle) << dlerror();
    std::pair<int, int> seen;
    reinterpret_cast<int (*)(GetAttribute, int *, int *)>(dlsym(handle, "probe"))(
        function(through), &seen.first, &seen.second);
    return seen;
  };
  EXPECT_EQ(seenBy(RUBIA_PROBE_PLAIN, "getAttribute"), std::pair(8, 9));
  EXPECT_EQ(seenBy(RUBIA_PROBE_CLOSED, "getAttribute"), std::pair(13, 0));
  EXPECT_EQ(seenBy(RUBIA_PROBE_NCCL, "getAttribute"), std::pair(12, 0));
  // The table of properties is the program's, whoever starts the runtime library.
  EXPECT_EQ(seenBy(RUBIA_PROBE_CLOSED, "getAttributeAtStart"), std::pair(8, 9));
}

struct Told {
  const char *setting;
  int capability, sharedKiB; // of a CTA, that it has opted in for
};
class CapabilityOverride : public testing::TestWithParam<Told> {};

TEST_P(CapabilityOverride, IsForPrograms) {
  setenv("RUBIA_COMPUTE_CAPABILITY", GetParam().setting, 1);
  startUp();
  int major = 0, minor = 0;
  ASSERT_EQ(cu("cuDeviceComputeCapability", &major, &minor, 0), kSuccess);
  EXPECT_EQ(major * 10 + minor, GetParam().capability);
  int shared = 0;
  ASSERT_EQ(cu("cuDeviceGetAttribute", &shared, 97, 0), kSuccess);
  EXPECT_EQ(shared, GetParam().sharedKiB << 10);
  EXPECT_EQ(capabilitySeenBy(RUBIA_PROBE_CLOSED), std::pair(13, 0));
}
INSTANTIATE_TEST_SUITE_P(Capability, CapabilityOverride,
                         testing::Values(Told{"7.5", 75, 64}, Told{"8.0", 80, 163},
                                         Told{"90", 90, 227}, Told{"12.0", 120, 99},
                                         Told{"nonsense", 89, 99}, Told{"", 89, 99}));

} // namespace
} // namespace rubia::runtime::cuda
