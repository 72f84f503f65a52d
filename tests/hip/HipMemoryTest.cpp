// SPDX-License-Identifier: Apache-2.0
// Memory beyond hipMalloc: pools, what is told of pointers and of managed memory, copies that are
// described by structures, and streams that wait for words.
#include <gtest/gtest.h>
#define __HIP_PLATFORM_AMD__ 1
#include <hip/hip_runtime_api.h>

#include <cstring>
#include <numeric>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

#define OK(CALL) ASSERT_EQ(CALL, hipSuccess)

uint64_t attributeOf(hipMemPool_t pool, hipMemPoolAttr attribute) {
  uint64_t value = ~uint64_t(0);
  EXPECT_EQ(hipMemPoolGetAttribute(pool, attribute, &value), hipSuccess);
  return value;
}

TEST(HipMemory, PoolsCountWhatIsInUse) {
  hipMemPoolProps wanted = {};
  wanted.allocType = hipMemAllocationTypePinned;
  wanted.location = {hipMemLocationTypeDevice, 0};
  hipMemPool_t pool, other;
  OK(hipMemPoolCreate(&pool, &wanted));
  void *memory;
  OK(hipMallocFromPoolAsync(&memory, 1000, pool, nullptr));
  EXPECT_EQ(attributeOf(pool, hipMemPoolAttrUsedMemCurrent), 1000u);
  OK(hipFreeAsync(memory, nullptr));
  OK(hipDeviceSynchronize());
  EXPECT_EQ(attributeOf(pool, hipMemPoolAttrUsedMemCurrent), 0u);
  EXPECT_EQ(attributeOf(pool, hipMemPoolAttrUsedMemHigh), 1000u);
  uint64_t zero = 0;
  OK(hipMemPoolSetAttribute(pool, hipMemPoolAttrUsedMemHigh, &zero));
  EXPECT_EQ(attributeOf(pool, hipMemPoolAttrUsedMemHigh), 0u);
  EXPECT_EQ(hipMemPoolSetAttribute(pool, hipMemPoolAttrUsedMemCurrent, &zero),
            hipErrorInvalidValue);

  OK(hipDeviceSetMemPool(0, pool));
  OK(hipDeviceGetMemPool(&other, 0));
  EXPECT_EQ(other, pool);
  OK(hipMallocAsync(&memory, 64, nullptr));
  EXPECT_EQ(attributeOf(pool, hipMemPoolAttrUsedMemCurrent), 64u);
  OK(hipMemPoolDestroy(pool)); // what came from it stays
  OK(hipMemset(memory, 0, 64));
  OK(hipFree(memory));
  EXPECT_EQ(hipMemPoolDestroy(pool), hipErrorInvalidValue);
  OK(hipDeviceGetDefaultMemPool(&pool, 0));
  OK(hipDeviceGetMemPool(&other, 0));
  EXPECT_EQ(other, pool);
}

TEST(HipMemory, PoolsGiveNoMoreThanTheirLimit) {
  hipMemPoolProps wanted = {};
  wanted.allocType = hipMemAllocationTypePinned;
  wanted.location = {hipMemLocationTypeDevice, 0};
  const uint64_t most = 1000; // maxSize, which headers have since HIP 6
  memcpy(wanted.reserved, &most, sizeof(most));
  hipMemPool_t pool;
  void *first, *second;
  OK(hipMemPoolCreate(&pool, &wanted));
  OK(hipMallocFromPoolAsync(&first, 600, pool, nullptr));
  EXPECT_EQ(hipMallocFromPoolAsync(&second, 401, pool, nullptr), hipErrorOutOfMemory);
  OK(hipFreeAsync(first, nullptr));
  OK(hipDeviceSynchronize());
  OK(hipMallocFromPoolAsync(&second, 1000, pool, nullptr));
  OK(hipFree(second));
  OK(hipMemPoolDestroy(pool));
}

TEST(HipMemory, IsMappedIntoRanges) {
  constexpr size_t kBytes = 1 << 16;
  hipMemAllocationProp wanted = {};
  wanted.type = hipMemAllocationTypePinned;
  wanted.location = {hipMemLocationTypeDevice, 0};
  wanted.requestedHandleType = hipMemHandleTypePosixFileDescriptor;
  size_t granularity = 0;
  OK(hipMemGetAllocationGranularity(&granularity, &wanted, hipMemAllocationGranularityMinimum));
  EXPECT_EQ(kBytes % granularity, 0u);
  hipMemGenericAllocationHandle_t first, second, again;
  OK(hipMemCreate(&first, kBytes, &wanted, 0));
  OK(hipMemCreate(&second, kBytes, &wanted, 0));
  void *range = nullptr;
  OK(hipMemAddressReserve(&range, 4 * kBytes, 0, nullptr, 0));
  auto *bytes = static_cast<char *>(range);
  EXPECT_EQ(hipMemset(range, 1, 1), hipErrorInvalidValue);
  OK(hipMemMap(bytes, kBytes, 0, first, 0));
  OK(hipMemMap(bytes + kBytes, kBytes, 0, second, 0));
  EXPECT_EQ(hipMemMap(bytes + kBytes, kBytes, 0, first, 0), hipErrorInvalidValue);
  EXPECT_EQ(hipMemset(range, 1, 1), hipErrorInvalidValue);
  hipMemAccessDesc access = {{hipMemLocationTypeDevice, 0}, hipMemAccessFlagsProtReadWrite};
  OK(hipMemSetAccess(bytes, 2 * kBytes, &access, 1));
  OK(hipMemset(bytes, 7, 2 * kBytes)); // across both
  EXPECT_EQ(hipMemset(bytes, 7, 2 * kBytes + 1), hipErrorInvalidValue);
  EXPECT_EQ(bytes[2 * kBytes - 1], 7);
  EXPECT_EQ(hipFree(bytes), hipErrorInvalidValue);
  EXPECT_EQ(hipHostUnregister(bytes), hipErrorHostMemoryNotRegistered);

  int descriptor = -1;
  OK(hipMemExportToShareableHandle(&descriptor, first, hipMemHandleTypePosixFileDescriptor, 0));
  OK(hipMemImportFromShareableHandle(&again, &descriptor, hipMemHandleTypePosixFileDescriptor));
  close(descriptor);
  OK(hipMemMap(bytes + 2 * kBytes, kBytes, 0, again, 0));
  OK(hipMemSetAccess(bytes + 2 * kBytes, kBytes, &access, 1));
  EXPECT_EQ(bytes[2 * kBytes], 7);
  hipMemAllocationProp told = {};
  OK(hipMemGetAllocationPropertiesFromHandle(&told, again));
  EXPECT_EQ(told.location.type, hipMemLocationTypeDevice);
  EXPECT_EQ(told.requestedHandleType, hipMemHandleTypePosixFileDescriptor);
  unsigned long long flags = 0;
  OK(hipMemGetAccess(&flags, &access.location, bytes));
  EXPECT_EQ(flags, 3u);
  for (auto handle : {first, second, again})
    OK(hipMemRelease(handle));
  EXPECT_EQ(hipMemAddressFree(range, 4 * kBytes), hipErrorInvalidValue);
  OK(hipMemUnmap(bytes, 3 * kBytes));
  EXPECT_EQ(hipMemRetainAllocationHandle(&again, bytes), hipErrorInvalidValue);
  OK(hipMemAddressFree(range, 4 * kBytes));
}

// As the kernel driver maps it. Taichi lays its runtime out in one allocation and rounds addresses
// up to pages, without room for that.
TEST(HipMemory, WhatFillsAPageBeginsAtOne) {
  for (size_t bytes : {4096, 5000, 1 << 20, (1 << 20) + 4096}) {
    void *plain, *pooled, *managed, *host;
    OK(hipMalloc(&plain, bytes));
    OK(hipMallocAsync(&pooled, bytes, nullptr));
    OK(hipMallocManaged(&managed, bytes, hipMemAttachGlobal));
    OK(hipHostMalloc(&host, bytes, 0));
    for (void *memory : {plain, pooled, managed, host})
      EXPECT_EQ(uintptr_t(memory) % 4096, 0u) << bytes;
    for (void *memory : {plain, pooled, managed})
      OK(hipFree(memory));
    OK(hipHostFree(host));
  }
}

TEST(HipMemory, IsRegisteredOnce) {
  std::vector<char> host(100);
  EXPECT_EQ(hipHostUnregister(host.data()), hipErrorHostMemoryNotRegistered);
  OK(hipHostRegister(host.data(), host.size(), 0));
  EXPECT_EQ(hipHostRegister(host.data() + 50, 10, 0), hipErrorHostMemoryAlreadyRegistered);
  OK(hipHostUnregister(host.data()));
  EXPECT_EQ(hipHostUnregister(host.data()), hipErrorHostMemoryNotRegistered);
}

TEST(HipMemory, TellsWhatAPointerIs) {
  char *memory;
  OK(hipMalloc(reinterpret_cast<void **>(&memory), 300));
  void *start = nullptr;
  size_t size = 0;
  bool mapped = false;
  int onStack = 0;
  OK(hipPointerGetAttribute(&start, HIP_POINTER_ATTRIBUTE_RANGE_START_ADDR, memory + 17));
  OK(hipPointerGetAttribute(&size, HIP_POINTER_ATTRIBUTE_RANGE_SIZE, memory + 17));
  OK(hipPointerGetAttribute(&mapped, HIP_POINTER_ATTRIBUTE_MAPPED, memory));
  EXPECT_EQ(start, memory);
  EXPECT_EQ(size, 300u);
  EXPECT_TRUE(mapped);
  OK(hipPointerGetAttribute(&mapped, HIP_POINTER_ATTRIBUTE_MAPPED, &onStack));
  EXPECT_FALSE(mapped);
  EXPECT_EQ(hipPointerGetAttribute(&size, HIP_POINTER_ATTRIBUTE_RANGE_SIZE, &onStack),
            hipErrorInvalidValue);
  OK(hipFree(memory));
}

TEST(HipMemory, TellsWhatWasAdvised) {
  void *memory;
  OK(hipMallocManaged(&memory, 4096, hipMemAttachGlobal));
  auto asked = [&](hipMemRangeAttribute attribute) {
    int value = -99;
    EXPECT_EQ(hipMemRangeGetAttribute(&value, sizeof(value), attribute, memory, 4096), hipSuccess);
    return value;
  };
  EXPECT_EQ(asked(hipMemRangeAttributePreferredLocation), hipInvalidDeviceId);
  OK(hipMemAdvise(memory, 4096, hipMemAdviseSetReadMostly, 0));
  OK(hipMemAdvise(memory, 4096, hipMemAdviseSetPreferredLocation, hipCpuDeviceId));
  OK(hipMemAdvise(memory, 4096, hipMemAdviseSetAccessedBy, 0));
  OK(hipMemPrefetchAsync(memory, 4096, 0, nullptr));
  EXPECT_EQ(asked(hipMemRangeAttributeReadMostly), 1);
  EXPECT_EQ(asked(hipMemRangeAttributePreferredLocation), hipCpuDeviceId);
  EXPECT_EQ(asked(hipMemRangeAttributeLastPrefetchLocation), 0);
  int by[2] = {};
  OK(hipMemRangeGetAttribute(by, sizeof(by), hipMemRangeAttributeAccessedBy, memory, 4096));
  EXPECT_EQ(by[0], 0);
  EXPECT_EQ(by[1], hipInvalidDeviceId);
  EXPECT_EQ(hipMemRangeGetAttribute(by, sizeof(by), hipMemRangeAttributeReadMostly, memory, 4096),
            hipErrorInvalidValue);
  OK(hipFree(memory));
}

TEST(HipMemory, FillsAndCopiesBoxes) {
  hipPitchedPtr box;
  OK(hipMalloc3D(&box, hipExtent{10, 6, 4}));
  OK(hipMemset3D(box, 1, hipExtent{10, 6, 4}));
  OK(hipMemset3D(box, 7, hipExtent{3, 2, 2}));
  EXPECT_EQ(hipMemset3D(box, 7, hipExtent{3, 2, 5}), hipErrorInvalidValue);
  std::vector<char> host(10 * 6 * 4);
  HIP_MEMCPY3D copy = {};
  copy.srcMemoryType = hipMemoryTypeDevice;
  copy.srcDevice = box.ptr;
  copy.srcPitch = unsigned(box.pitch);
  copy.srcHeight = 6;
  copy.dstMemoryType = hipMemoryTypeHost;
  copy.dstHost = host.data();
  copy.WidthInBytes = 10, copy.Height = 6, copy.Depth = 4;
  OK(hipDrvMemcpy3D(&copy));
  EXPECT_EQ(std::accumulate(host.begin(), host.end(), 0), 10 * 6 * 4 + 6 * 3 * 2 * 2);
  EXPECT_EQ(host[10 * 6 + 10 + 2], 7);
  EXPECT_EQ(host[10 * 6 + 10 + 3], 1);

  std::vector<char> part(4);
  hip_Memcpy2D rows = {};
  rows.srcMemoryType = hipMemoryTypeDevice;
  rows.srcDevice = box.ptr;
  rows.srcPitch = box.pitch;
  rows.srcXInBytes = 2, rows.srcY = 1;
  rows.dstMemoryType = hipMemoryTypeHost;
  rows.dstHost = part.data();
  rows.dstPitch = 2;
  rows.WidthInBytes = 2, rows.Height = 2;
  OK(hipMemcpyParam2D(&rows));
  EXPECT_EQ(part, std::vector<char>({7, 1, 1, 1}));
  rows.dstMemoryType = hipMemoryTypeArray;
  EXPECT_EQ(hipMemcpyParam2D(&rows), hipErrorInvalidValue); // there is no array
  rows.dstMemoryType = hipMemoryType(9);
  EXPECT_EQ(hipMemcpyParam2D(&rows), hipErrorInvalidValue);
  char first = 0;
  OK(hipMemcpy_spt(&first, box.ptr, 1, hipMemcpyDeviceToHost));
  EXPECT_EQ(first, 7);
  OK(hipFree(box.ptr));
}

TEST(HipMemory, StreamsWaitForWords) {
  uint32_t *words;
  OK(hipExtMallocWithFlags(reinterpret_cast<void **>(&words), 8, hipMallocSignalMemory));
  words[0] = words[1] = 0;
  hipStream_t waits, writes;
  OK(hipStreamCreateWithFlags(&waits, hipStreamNonBlocking));
  OK(hipStreamCreateWithFlags(&writes, hipStreamNonBlocking));
  OK(hipStreamWaitValue32(waits, words, 0x15, hipStreamWaitValueEq, 0xff));
  OK(hipStreamWriteValue32(waits, words + 1, 1, 0));
  OK(hipStreamWriteValue32(writes, words, 0x16, 0));
  OK(hipStreamSynchronize(writes));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(hipStreamQuery(waits), hipErrorNotReady);
  EXPECT_EQ(words[1], 0u);
  OK(hipStreamWriteValue32(writes, words, 0xa15, 0));
  OK(hipStreamSynchronize(waits));
  EXPECT_EQ(words[1], 1u);
  EXPECT_EQ(hipStreamWaitValue32(waits, words, 0, 4, ~0u), hipErrorInvalidValue);
  EXPECT_EQ(hipStreamWriteValue64(waits, words + 1, 0, 0), hipErrorInvalidValue);
  OK(hipStreamDestroy(waits));
  OK(hipStreamDestroy(writes));
  OK(hipFree(words));
}

TEST(HipMemory, StreamsTellTheirMaskOfComputeUnits) {
  hipStream_t stream;
  const uint32_t mask[] = {5};
  uint32_t told[2] = {};
  OK(hipExtStreamCreateWithCUMask(&stream, 1, mask));
  OK(hipExtStreamGetCUMask(stream, 2, told));
  EXPECT_EQ(told[0], 5u);
  EXPECT_EQ(told[1], 0u);
  EXPECT_EQ(hipGetStreamDeviceId(stream), 0);
  OK(hipStreamDestroy(stream));
  EXPECT_EQ(hipGetStreamDeviceId(stream), -1);
}

} // namespace
