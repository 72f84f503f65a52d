// SPDX-License-Identifier: Apache-2.0
// Kernels that write what they like into what the host shares with them: the host neither crashes
// nor loops, and tells of it.
#define __HIP_PLATFORM_AMD__ 1
#include "tests/emulator/Fixture.h"
#include <hip/hip_runtime_api.h>

namespace {

// The packet on top of the ready ones is made by hand; then the fields of the buffer that the test
// names are spoilt.
constexpr const char *kSource = R"(
typedef struct { ulong packets, payloads, signal, free, ready, indexMask; } Buffer;
typedef struct { ulong next, lanes; uint service, control; } Packet;
enum { Nothing, Payloads, Packets, IndexMask, Round, FarLink };

void call(Buffer spoilt, global Buffer *buffer, global Packet *packet, ulong number) {
  packet->control = 1;
  *buffer = spoilt;
  __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "");
  __opencl_atomic_store((global atomic_ulong *)&buffer->ready, number, __ATOMIC_RELEASE,
                        __OPENCL_MEMORY_SCOPE_ALL_SVM_DEVICES);
  for (int i = 0; i < 200000; ++i) {
    if (!(__opencl_atomic_load((global atomic_uint *)&packet->control, __ATOMIC_ACQUIRE,
                               __OPENCL_MEMORY_SCOPE_ALL_SVM_DEVICES) & 1))
      break;
    __builtin_amdgcn_s_sleep(1);
  }
}

kernel void k(global ulong *out, int spoil, uint service, ulong first, ulong second) {
  constant ulong *hidden = (constant ulong *)__builtin_amdgcn_implicitarg_ptr();
  global Buffer *buffer = (global Buffer *)hidden[10];
  Buffer known = *buffer;
  global Packet *packet = (global Packet *)known.packets;
  global ulong *payload = (global ulong *)known.payloads;
  packet->next = spoil == Round ? known.indexMask + 1 : spoil == FarLink ? 0x123456789abcdefUL : 0;
  packet->lanes = 1;
  packet->service = service;
  payload[0] = first == 1 ? (ulong)buffer : first;
  payload[1] = second;
  ulong number = known.indexMask + 1;
  if (spoil == Payloads) known.payloads = 16;
  if (spoil == Packets) known.packets = 16;
  if (spoil == IndexMask) {
    known.indexMask = ~0UL;
    number = 0x7ffffff00000UL;
  }
  call(known, buffer, packet, number);
  out[0] = payload[0];
}
)";

enum Spoil { kNothing, kPayloads, kPackets, kIndexMask, kRound, kFarLink };
constexpr uint32_t kPrintf = 2, kMemory = 3;

class HostCallsTest : public ::testing::Test {
protected:
  void SetUp() override {
    const auto object = rubia::emulator::test::compile(kSource, "gfx1100");
    ASSERT_EQ(hipModuleLoadData(&module, object.data()), hipSuccess);
    ASSERT_EQ(hipModuleGetFunction(&function, module, "k"), hipSuccess);
    ASSERT_EQ(hipMalloc(reinterpret_cast<void **>(&out), sizeof(*out)), hipSuccess);
  }
  void TearDown() override {
    EXPECT_EQ(hipDeviceReset(), hipSuccess);
    EXPECT_EQ(hipFree(out), hipSuccess);
    EXPECT_EQ(hipModuleUnload(module), hipSuccess);
  }
  /// The result of a launch and what it says.
  std::pair<hipError_t, std::string> launch(int spoil, uint32_t service, uint64_t first,
                                            uint64_t second) {
    void *arguments[] = {&out, &spoil, &service, &first, &second};
    testing::internal::CaptureStderr();
    hipError_t error =
        hipModuleLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, arguments, nullptr);
    if (!error)
      error = hipDeviceSynchronize();
    return {error, testing::internal::GetCapturedStderr()};
  }

  hipModule_t module = nullptr;
  hipFunction_t function = nullptr;
  uint64_t *out = nullptr;
};

TEST_F(HostCallsTest, WhereThePacketsAreIsTheHostsOwnKnowledge) {
  for (int spoil : {kNothing, kPayloads, kPackets, kIndexMask}) {
    auto [error, text] = launch(spoil, kMemory, 0, 4096);
    EXPECT_EQ(error, hipSuccess) << spoil << ": " << text;
    if (spoil != kIndexMask) // of which the packet is another one
      EXPECT_NE(*out, 0u) << spoil;
  }
}

TEST_F(HostCallsTest, AListThatGoesRoundEnds) {
  // A link to the packet itself, and one that leads nowhere: to a packet that is free.
  for (int spoil : {kRound, kFarLink}) {
    auto [error, text] = launch(spoil, kMemory, 0, 4096);
    EXPECT_NE(error, hipSuccess);
    EXPECT_NE(text.find("it goes round"), std::string::npos) << text;
    EXPECT_EQ(hipDeviceReset(), hipSuccess);
  }
}

TEST_F(HostCallsTest, KernelsFreeOnlyWhatTheyWereGiven) {
  auto [allocated, none] = launch(kNothing, kMemory, 0, 4096);
  ASSERT_EQ(allocated, hipSuccess);
  const uint64_t given = *out;
  ASSERT_NE(given, 0u);
  EXPECT_EQ(launch(kNothing, kMemory, given, 0).first, hipSuccess);
  // Again, the program's memory, and the buffer of the calls itself.
  for (uint64_t address : {given, uint64_t(out), uint64_t(1)}) {
    auto [error, text] = launch(kNothing, kMemory, address, 0);
    EXPECT_NE(error, hipSuccess) << address;
    EXPECT_NE(text.find("which it has not been given"), std::string::npos) << text;
    EXPECT_EQ(hipDeviceReset(), hipSuccess);
  }
  hipPointerAttribute_t attributes;
  EXPECT_EQ(hipPointerGetAttributes(&attributes, out), hipSuccess);
}

TEST_F(HostCallsTest, MessagesThatNobodyBeganAndUnknownServices) {
  auto [error, text] = launch(kNothing, kPrintf, 77 << 8 | 7 << 5, 0);
  EXPECT_NE(error, hipSuccess);
  EXPECT_NE(text.find("has not begun"), std::string::npos) << text;
  EXPECT_EQ(hipDeviceReset(), hipSuccess);
  std::tie(error, text) = launch(kNothing, 99, 0, 0);
  EXPECT_NE(error, hipSuccess);
  EXPECT_NE(text.find("service 99"), std::string::npos) << text;
}

} // namespace
