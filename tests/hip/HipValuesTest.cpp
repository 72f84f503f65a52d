// SPDX-License-Identifier: Apache-2.0
// Settings that an emulator has no use for: values that HIP knows are taken, others are refused.
#include <gtest/gtest.h>
#define __HIP_PLATFORM_AMD__ 1
#include <hip/hip_ext.h>
#include <hip/hip_runtime_api.h>

extern "C" hipError_t hipDeviceSetLimit(hipLimit_t, size_t); // in headers since HIP 5.3

namespace {

#define OK(CALL) EXPECT_EQ(CALL, hipSuccess)
#define REFUSED(CALL) EXPECT_EQ(CALL, hipErrorInvalidValue)

TEST(HipValues, OfDevicesAndContexts) {
  OK(hipSetDeviceFlags(hipDeviceScheduleYield | hipDeviceMapHost));
  REFUSED(hipSetDeviceFlags(hipDeviceScheduleSpin | hipDeviceScheduleYield));
  REFUSED(hipSetDeviceFlags(1u << 12));
  OK(hipSetDeviceFlags(hipDeviceLmemResizeToMax | hipDeviceScheduleSpin));
  OK(hipDevicePrimaryCtxSetFlags(0, hipDeviceScheduleSpin));
  unsigned told = 0;
  OK(hipGetDeviceFlags(&told));
  EXPECT_EQ(told, unsigned(hipDeviceScheduleSpin));
  OK(hipSetDeviceFlags(hipDeviceScheduleAuto));
  hipCtx_t context;
  REFUSED(hipCtxCreate(&context, 1u << 12, 0));
  OK(hipCtxCreate(&context, hipDeviceScheduleSpin, 0));
  OK(hipCtxDestroy(context));
  OK(hipDeviceSetCacheConfig(hipFuncCachePreferL1));
  REFUSED(hipDeviceSetCacheConfig(hipFuncCache_t(4)));
  OK(hipDeviceSetSharedMemConfig(hipSharedMemBankSizeEightByte));
  REFUSED(hipDeviceSetSharedMemConfig(hipSharedMemConfig(3)));
  size_t value = 0;
  OK(hipDeviceSetLimit(hipLimit_t(0), 128 << 10));
  OK(hipDeviceGetLimit(&value, hipLimit_t(0)));
  EXPECT_EQ(value, size_t(128) << 10);
  EXPECT_EQ(hipDeviceSetLimit(hipLimitPrintfFifoSize, 1 << 20), hipErrorUnsupportedLimit);
  REFUSED(hipDeviceSetLimit(hipLimit_t(77), 1));
}

// Numbers of attributes without gaps where programs ask for them; what is not there is 0.
TEST(HipValues, OfAttributes) {
  auto value = [](hipDeviceAttribute_t attribute) {
    int value = -1;
    OK(hipDeviceGetAttribute(&value, attribute, 0));
    return value;
  };
  EXPECT_EQ(value(hipDeviceAttributeImageSupport), 1); // on RDNA
  EXPECT_EQ(value(hipDeviceAttributeStreamPrioritiesSupported), 0);
  EXPECT_EQ(value(hipDeviceAttributeMaxBlocksPerMultiProcessor),
            value(hipDeviceAttributeMaxThreadsPerMultiProcessor) /
                value(hipDeviceAttributeWarpSize));
  EXPECT_GT(value(hipDeviceAttributeAsyncEngineCount), 0);
  EXPECT_EQ(value(hipDeviceAttributeMaxSurfaceCubemap), 16384);
  constexpr int kWallClockRate = hipDeviceAttributeFineGrainSupport + 1; // since HIP 6
  EXPECT_EQ(value(hipDeviceAttribute_t(kWallClockRate)), 100000);        // kHz
  int unknown;
  REFUSED(hipDeviceGetAttribute(&unknown, hipDeviceAttribute_t(5555), 0));
}

TEST(HipValues, OfCopies) {
  void *memory;
  OK(hipMalloc(&memory, 8));
  constexpr int kNoCU = 1024; // hipMemcpyDeviceToDeviceNoCU, since HIP 6
  OK(hipMemcpy(memory, static_cast<char *>(memory) + 4, 4, hipMemcpyKind(kNoCU)));
  OK(hipFree(memory));
}

TEST(HipValues, OfEvents) {
  hipEvent_t event;
  for (unsigned flags : {0u, 1u, 2u, 3u, 0x40000000u, 0x80000000u}) {
    OK(hipEventCreateWithFlags(&event, flags));
    OK(hipEventDestroy(event));
  }
  REFUSED(hipEventCreateWithFlags(&event, 8));
  REFUSED(hipEventCreateWithFlags(&event, hipEventReleaseToDevice | hipEventReleaseToSystem));
  REFUSED(hipEventCreateWithFlags(&event, hipEventInterprocess));
  OK(hipEventCreateWithFlags(&event, hipEventInterprocess | hipEventDisableTiming));
  OK(hipEventDestroy(event));
}

TEST(HipValues, OfMemory) {
  void *memory;
  OK(hipHostMalloc(&memory, 64, hipHostMallocMapped | hipHostMallocCoherent));
  OK(hipHostFree(memory));
  REFUSED(hipHostMalloc(&memory, 64, 8));
  REFUSED(hipHostMalloc(&memory, 64, hipHostMallocCoherent | hipHostMallocNonCoherent));
  static char host[4096];
  REFUSED(hipHostRegister(host, sizeof(host), 16));
  OK(hipHostRegister(host, sizeof(host), hipHostRegisterMapped));
  OK(hipHostUnregister(host));
  REFUSED(hipExtMallocWithFlags(&memory, 64, 5));
  REFUSED(hipExtMallocWithFlags(&memory, 64, hipMallocSignalMemory));
  OK(hipExtMallocWithFlags(&memory, 8, hipMallocSignalMemory));
  OK(hipFree(memory));
  REFUSED(hipMallocManaged(&memory, 64, hipMemAttachSingle));
  OK(hipMallocManaged(&memory, 64, hipMemAttachHost));
  OK(hipMemAdvise(memory, 64, hipMemAdviseSetReadMostly, 0));
  REFUSED(hipMemAdvise(memory, 64, hipMemoryAdvise(7), 0));
  REFUSED(hipStreamAttachMemAsync(nullptr, memory, 0, 3));
  OK(hipStreamAttachMemAsync(nullptr, memory, 0, hipMemAttachSingle));
  OK(hipFree(memory));
}

TEST(HipValues, OfModulesAndLaunches) {
  hipModule_t module;
  hipJitOption options[] = {hipJitOptionNumOptions};
  void *values[] = {nullptr};
  char image[64] = {};
  REFUSED(hipModuleLoadDataEx(&module, image, 1, options, values));
  options[0] = hipJitOptionMaxRegisters;
  REFUSED(hipModuleLoadDataEx(&module, image, 1, nullptr, values));
  EXPECT_EQ(hipModuleLoadDataEx(&module, image, 1, options, values), hipErrorInvalidImage);
  REFUSED(hipExtLaunchKernel(image, dim3(1), dim3(1), values, 0, nullptr, nullptr, nullptr, 2));
  EXPECT_EQ(hipExtLaunchKernel(image, dim3(1), dim3(1), values, 0, nullptr, nullptr, nullptr, 1),
            hipErrorInvalidDeviceFunction);
  REFUSED(hipFuncSetCacheConfig(image, hipFuncCache_t(9)));
  REFUSED(hipFuncSetSharedMemConfig(image, hipSharedMemConfig(9)));
}

TEST(HipValues, OfFormats) {
  hipChannelFormatDesc format = hipCreateChannelDesc(32, 0, 0, 0, hipChannelFormatKindFloat);
  EXPECT_EQ(format.x, 32);
  EXPECT_EQ(format.f, hipChannelFormatKindFloat);
}

extern "C" hipError_t hipDeviceGraphMemTrim(int device); // newer headers have it

TEST(HipValues, WhatIsNotThereSaysSo) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(hipDeviceGraphMemTrim(0), hipErrorNotSupported);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "rubia emulator: hipDeviceGraphMemTrim: graph nodes that allocate are not supported\n");
}

} // namespace
