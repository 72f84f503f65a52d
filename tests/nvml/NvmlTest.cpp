// SPDX-License-Identifier: Apache-2.0
// libnvidia-ml.so.1 through its exported symbols, on devices of a stand-in for HIP, with one for
// ROCm SMI. Each test runs in a process of its own.
#include "runtime/nvml/Types.h"
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <thread>

namespace rubia::runtime::nvml {
namespace {

using Handle = void *;

template <class... Arguments> int nvml(const char *name, Arguments... arguments) {
  static void *library = dlopen(RUBIA_LIBNVML, RTLD_NOW);
  EXPECT_TRUE(library) << dlerror();
  void *function = dlsym(library, name);
  EXPECT_TRUE(function) << name;
  return function ? reinterpret_cast<int (*)(Arguments...)>(function)(arguments...) : -1;
}

class Nvml : public testing::Test {
protected:
  void SetUp() override {
    setenv("RUBIA_DEVICE", "hip", 1);
    setenv("RUBIA_HIP_LIBRARY", RUBIA_FAKE_HIP, 1);
    setenv("FAKE_HIP_DEVICES", "2", 1);
    setenv("CUDA_VISIBLE_DEVICES", "1", 1);             // of no meaning here
    ASSERT_TRUE(dlopen(RUBIA_FAKE_ROCM_SMI, RTLD_NOW)); // found by its name from now on
    ASSERT_EQ(nvml("nvmlInit_v2"), kSuccess);
  }
  Handle device(unsigned index) {
    Handle handle = nullptr;
    EXPECT_EQ(nvml("nvmlDeviceGetHandleByIndex_v2", index, &handle), kSuccess);
    return handle;
  }
};

TEST_F(Nvml, CountsAllDevicesOfTheMachine) {
  unsigned count = 0, index = 7;
  EXPECT_EQ(nvml("nvmlDeviceGetCount_v2", &count), kSuccess);
  EXPECT_EQ(count, 2u);
  EXPECT_EQ(nvml("nvmlDeviceGetIndex", device(1), &index), kSuccess);
  EXPECT_EQ(index, 1u);
  Handle none = nullptr;
  EXPECT_EQ(nvml("nvmlDeviceGetHandleByIndex_v2", 2u, &none), kInvalidArgument);
  EXPECT_EQ(nvml("nvmlDeviceGetIndex", none, &index), kInvalidArgument);
  EXPECT_EQ(nvml("nvmlDeviceGetIndex", Handle(&count), &index), kInvalidArgument);
}

// The driver numbers the one device that it sees 0; both give it the same UUID and place.
TEST_F(Nvml, AgreesWithTheDriver) {
  void *driver = dlopen(RUBIA_LIBCUDA, RTLD_NOW);
  ASSERT_TRUE(driver) << dlerror();
  auto cu = [&](const char *name, auto... arguments) {
    return reinterpret_cast<int (*)(decltype(arguments)...)>(dlsym(driver, name))(arguments...);
  };
  ASSERT_EQ(cu("cuInit", 0u), 0);
  unsigned char uuid[16];
  char name[80], bus[32], text[80];
  ASSERT_EQ(cu("cuDeviceGetUuid", &uuid[0], 0), 0);
  ASSERT_EQ(cu("cuDeviceGetName", &name[0], 80, 0), 0);
  ASSERT_EQ(cu("cuDeviceGetPCIBusId", &bus[0], 32, 0), 0);
  std::string wanted = "GPU-";
  for (int i = 0; i < 16; ++i) {
    char digits[4];
    snprintf(digits, sizeof(digits), "%02x", uuid[i]);
    wanted += (i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "") + std::string(digits);
  }
  ASSERT_EQ(nvml("nvmlDeviceGetUUID", device(1), &text[0], 80u), kSuccess);
  EXPECT_EQ(text, wanted);
  ASSERT_EQ(nvml("nvmlDeviceGetName", device(1), &text[0], 80u), kSuccess);
  EXPECT_STREQ(text, name);
  Handle found = nullptr;
  EXPECT_EQ(nvml("nvmlDeviceGetHandleByUUID", wanted.c_str(), &found), kSuccess);
  EXPECT_EQ(found, device(1));
  EXPECT_EQ(nvml("nvmlDeviceGetHandleByPciBusId_v2", static_cast<const char *>(bus), &found),
            kSuccess);
  EXPECT_EQ(found, device(1));
  EXPECT_EQ(nvml("nvmlDeviceGetHandleByPciBusId_v2", "00000000:0B:00.0", &found), kSuccess);
  EXPECT_EQ(found, device(1));
  EXPECT_EQ(nvml("nvmlDeviceGetHandleByPciBusId_v2", "00:7f:00", &found), kNotFound);
  for (const char *name : {"nvmlDeviceGetHandleByUUID", "nvmlDeviceGetHandleByPciBusId_v2"})
    EXPECT_EQ(nvml(name, static_cast<const char *>(nullptr), &found), kInvalidArgument);
  int major = 0, minor = 0, version = 0;
  EXPECT_EQ(nvml("nvmlDeviceGetCudaComputeCapability", device(1), &major, &minor), kSuccess);
  EXPECT_EQ(std::pair(major, minor), std::pair(8, 9));
  EXPECT_EQ(nvml("nvmlSystemGetCudaDriverVersion_v2", &version), kSuccess);
  EXPECT_EQ(version, 13000);
}

TEST_F(Nvml, TellsWhatRocmSmiMeasures) {
  Utilization busy{};
  Memory memory{};
  MemoryV2 memory2{};
  Temperature degrees{kTemperatureVersion, 0, 0};
  unsigned value = 0;
  ASSERT_EQ(nvml("nvmlDeviceGetUtilizationRates", device(1), &busy), kSuccess);
  EXPECT_EQ(busy.gpu, 42u);
  EXPECT_EQ(busy.memory, 7u);
  EXPECT_EQ(nvml("nvmlDeviceGetTemperature", device(1), 0, &value), kSuccess);
  EXPECT_EQ(value, 61u);
  EXPECT_EQ(nvml("nvmlDeviceGetTemperatureV", device(1), &degrees), kSuccess);
  EXPECT_EQ(degrees.temperature, 61);
  EXPECT_EQ(nvml("nvmlDeviceGetPowerUsage", device(1), &value), kSuccess);
  EXPECT_EQ(value, 123456u);
  EXPECT_EQ(nvml("nvmlDeviceGetEnforcedPowerLimit", device(1), &value), kSuccess);
  EXPECT_EQ(value, 300000u);
  EXPECT_EQ(nvml("nvmlDeviceGetFanSpeed", device(1), &value), kNotSupported);
  EXPECT_EQ(nvml("nvmlDeviceGetMemoryInfo", device(1), &memory), kSuccess);
  EXPECT_EQ(memory.total, 8ull << 30);
  EXPECT_EQ(memory.used, 3ull << 30);
  EXPECT_EQ(memory.free, 5ull << 30);
  EXPECT_EQ(nvml("nvmlDeviceGetMemoryInfo_v2", device(1), &memory2), kArgumentVersionMismatch);
  memory2.version = kMemoryV2Version;
  EXPECT_EQ(nvml("nvmlDeviceGetMemoryInfo_v2", device(1), &memory2), kSuccess);
  EXPECT_EQ(memory2.used, 3ull << 30);
}

TEST_F(Nvml, KnowsTheSensorsOfNewerDevices) {
  setenv("FAKE_ROCM_SMI", "new", 1);
  unsigned value = 0;
  EXPECT_EQ(nvml("nvmlDeviceGetTemperature", device(1), 0, &value), kSuccess);
  EXPECT_EQ(value, 71u);
  EXPECT_EQ(nvml("nvmlDeviceGetPowerUsage", device(1), &value), kSuccess);
  EXPECT_EQ(value, 234567u);
}

TEST_F(Nvml, InventsNothing) {
  Utilization busy{};
  unsigned value = 77;
  EXPECT_EQ(nvml("nvmlDeviceGetUtilizationRates", device(0), &busy), kNotSupported);
  EXPECT_EQ(nvml("nvmlDeviceGetTemperature", device(0), 0, &value), kNotSupported);
  EXPECT_EQ(nvml("nvmlDeviceGetPowerUsage", device(0), &value), kNotSupported);
  EXPECT_EQ(nvml("nvmlDeviceGetClockInfo", device(0), 0, &value), kNotSupported);
  EXPECT_EQ(nvml("nvmlDeviceGetNvLinkState", device(0), 0u, &value), kNotSupported);
  EXPECT_EQ(value, 77u);
  // HIP's own answer, of this process.
  Memory memory{};
  EXPECT_EQ(nvml("nvmlDeviceGetMemoryInfo", device(0), &memory), kSuccess);
  EXPECT_EQ(memory.total, memory.free + memory.used);
  FieldValue fields[2] = {};
  EXPECT_EQ(nvml("nvmlDeviceGetFieldValues", device(0), 2, &fields[0]), kSuccess);
  EXPECT_EQ(fields[1].result, kNotSupported);
}

// PyTorch lists them where it says that memory is out.
TEST_F(Nvml, NoProcessesAreKnown) {
  for (const char *name :
       {"nvmlDeviceGetComputeRunningProcesses", "nvmlDeviceGetComputeRunningProcesses_v2",
        "nvmlDeviceGetComputeRunningProcesses_v3"}) {
    unsigned count = 8;
    unsigned long long processes[32] = {};
    EXPECT_EQ(nvml(name, device(0), &count, &processes[0]), kSuccess) << name;
    EXPECT_EQ(count, 0u) << name;
  }
}

TEST_F(Nvml, PlacesAreWrittenInBothWays) {
  PciInfo info{};
  PciInfoV2 old{};
  EXPECT_EQ(nvml("nvmlDeviceGetPciInfo_v3", device(1), &info), kSuccess);
  EXPECT_STREQ(info.busId, "00000000:0B:00.0");
  EXPECT_STREQ(info.busIdLegacy, "0000:0B:00.0");
  EXPECT_EQ(info.bus, 0x0bu);
  EXPECT_EQ(nvml("nvmlDeviceGetPciInfo_v2", device(1), &old), kSuccess);
  EXPECT_STREQ(old.busId, "0000:0B:00.0");
}

// No device has events, and none comes.
TEST_F(Nvml, EventsCanBeWaitedFor) {
  Handle set = nullptr;
  EXPECT_EQ(nvml("nvmlEventSetCreate", &set), kSuccess);
  unsigned long long types = 7;
  EXPECT_EQ(nvml("nvmlDeviceGetSupportedEventTypes", device(0), &types), kSuccess);
  EXPECT_EQ(types, 0u);
  constexpr unsigned long long kXid = 8;
  EXPECT_EQ(nvml("nvmlDeviceRegisterEvents", device(0), kXid, set), kNotSupported);
  EXPECT_EQ(nvml("nvmlDeviceRegisterEvents", device(0), 0ull, set), kSuccess);
  EXPECT_EQ(nvml("nvmlDeviceRegisterEvents", device(0), 0ull, Handle(&types)), kInvalidArgument);
  char event[64];
  EXPECT_EQ(nvml("nvmlEventSetWait_v2", set, static_cast<void *>(event), 20u), kTimeout);
  EXPECT_EQ(nvml("nvmlEventSetWait_v2", set, static_cast<void *>(nullptr), 20u), kInvalidArgument);
  // Who waits for long is told that the set is gone.
  std::thread waiting([&] {
    EXPECT_EQ(nvml("nvmlEventSetWait", set, static_cast<void *>(event), 1000000u),
              kInvalidArgument);
  });
  EXPECT_EQ(nvml("nvmlEventSetFree", set), kSuccess);
  waiting.join();
  EXPECT_EQ(nvml("nvmlEventSetFree", set), kInvalidArgument);
}

TEST_F(Nvml, TextNeedsRoom) {
  char text[4];
  EXPECT_EQ(nvml("nvmlDeviceGetName", device(0), &text[0], 4u), kInsufficientSize);
  EXPECT_EQ(nvml("nvmlDeviceGetName", device(0), static_cast<char *>(nullptr), 4u),
            kInvalidArgument);
  EXPECT_EQ(nvml("nvmlSystemGetDriverVersion", &text[0], 4u), kInsufficientSize);
  EXPECT_EQ(nvml("nvmlDeviceGetName", device(0), &text[0], 0u), kInsufficientSize);
}

TEST_F(Nvml, NeedsInitialisation) {
  unsigned count = 0;
  EXPECT_EQ(nvml("nvmlInit"), kSuccess);
  EXPECT_EQ(nvml("nvmlShutdown"), kSuccess);
  EXPECT_EQ(nvml("nvmlDeviceGetCount_v2", &count), kSuccess);
  Handle handle = device(0);
  EXPECT_EQ(nvml("nvmlShutdown"), kSuccess);
  EXPECT_EQ(nvml("nvmlShutdown"), kUninitialized);
  EXPECT_EQ(nvml("nvmlDeviceGetCount_v2", &count), kUninitialized);
  EXPECT_EQ(nvml("nvmlDeviceGetIndex", handle, &count), kUninitialized);
  EXPECT_EQ(nvml("nvmlDeviceGetClockInfo", handle, 0, &count), kUninitialized);
}

// Monitors open NVML for each query, on several threads: a shutdown takes nothing from under a
// query.
TEST_F(Nvml, IsShutDownWhileOthersAsk) {
  std::atomic<bool> isDone = false;
  std::thread other([&] {
    for (int i = 0; i < 20000; ++i) {
      nvml("nvmlShutdown");
      nvml("nvmlInit_v2");
    }
    isDone = true;
  });
  Handle handle = nullptr, found = nullptr;
  while (!isDone) {
    unsigned count = 0;
    if (nvml("nvmlDeviceGetHandleByIndex_v2", 1u, &handle) == kSuccess)
      EXPECT_TRUE(handle);
    nvml("nvmlDeviceGetMaxClockInfo", handle, 0, &count);
    nvml("nvmlDeviceGetCount_v2", &count);
    nvml("nvmlDeviceGetHandleByPciBusId_v2", "00:0b:00", &found);
  }
  other.join();
}

// Programs that ask NVML know this code and go on without a GPU.
TEST(NvmlWithoutDevices, SaysThatThereIsNoDriver) {
  setenv("RUBIA_DEVICE", "hip", 1);
  setenv("RUBIA_HIP_LIBRARY", RUBIA_FAKE_HIP, 1);
  setenv("FAKE_HIP_DEVICES", "0", 1);
  unsigned count = 7;
  EXPECT_EQ(nvml("nvmlInit_v2"), kDriverNotLoaded);
  EXPECT_EQ(nvml("nvmlDeviceGetCount_v2", &count), kUninitialized);
  EXPECT_EQ(count, 7u);
}

} // namespace
} // namespace rubia::runtime::nvml
