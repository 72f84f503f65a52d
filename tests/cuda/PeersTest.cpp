// SPDX-License-Identifier: Apache-2.0
// Two devices that reach each other's memory.
#include "tests/cuda/LaunchFixture.h"

namespace rubia::runtime::cuda {
namespace {

class Peers : public testing::Test {
protected:
  void SetUp() override {
    setenv("RUBIA_ARCH", "gfx1100,gfx1100", 1);
    ASSERT_EQ(cu("cuInit", 0u), kSuccess);
    ASSERT_EQ(cu("cuCtxCreate_v2", &first, 0u, 0), kSuccess);
    ASSERT_EQ(cu("cuCtxCreate_v2", &second, 0u, 1), kSuccess);
  }
  Context *first = nullptr, *second = nullptr; // which is current
};

TEST_F(Peers, TellWhatTheyCan) {
  int value = -1;
  EXPECT_EQ(cu("cuDeviceCanAccessPeer", &value, 0, 1), kSuccess);
  EXPECT_EQ(value, 1);
  EXPECT_EQ(cu("cuDeviceCanAccessPeer", &value, 1, 1), kSuccess);
  EXPECT_EQ(value, 0);
  EXPECT_EQ(cu("cuDeviceCanAccessPeer", &value, 0, 2), kInvalidDevice);
  EXPECT_EQ(cu("cuDeviceGetP2PAttribute", &value, 2, 0, 1), kSuccess); // ACCESS_SUPPORTED
  EXPECT_EQ(value, 1);
  EXPECT_EQ(cu("cuDeviceGetP2PAttribute", &value, 3, 0, 1), kSuccess); // NATIVE_ATOMIC_SUPPORTED
  EXPECT_EQ(value, 0);
  EXPECT_EQ(cu("cuDeviceGetP2PAttribute", &value, 2, 1, 1), kInvalidDevice);
  EXPECT_EQ(cu("cuDeviceGetP2PAttribute", &value, 0, 0, 1), kInvalidValue);
}

TEST_F(Peers, KernelsReachEachOthersMemory) {
  EXPECT_EQ(cu("cuCtxDisablePeerAccess", first), kPeerAccessNotEnabled);
  EXPECT_EQ(cu("cuCtxEnablePeerAccess", first, 1u), kInvalidValue);
  EXPECT_EQ(cu("cuCtxEnablePeerAccess", second, 0u), kPeerAccessUnsupported);
  EXPECT_EQ(cu("cuCtxEnablePeerAccess", static_cast<Context *>(nullptr), 0u), kInvalidContext);
  EXPECT_EQ(cu("cuCtxEnablePeerAccess", first, 0u), kSuccess);
  EXPECT_EQ(cu("cuCtxEnablePeerAccess", first, 0u), kPeerAccessAlreadyEnabled);

  Context *popped = nullptr;
  ASSERT_EQ(cu("cuCtxPushCurrent_v2", first), kSuccess);
  void *there = allocate(1024);
  ASSERT_EQ(cu("cuMemsetD32_v2", there, 6u, size_t(256)), kSuccess);
  ASSERT_EQ(cu("cuCtxSynchronize"), kSuccess);
  ASSERT_EQ(cu("cuCtxPopCurrent_v2", &popped), kSuccess);

  Module *module = nullptr;
  Function *function = nullptr;
  Stream *none = nullptr;
  void *here = allocate(1024);
  unsigned count = 256, word = 0;
  uint8_t factor = 7;
  void *values[] = {&here, &there, &factor, &count};
  ASSERT_EQ(cu("cuModuleLoadData", &module, static_cast<const void *>(kPtx)), kSuccess);
  ASSERT_EQ(cu("cuModuleGetFunction", &function, module, "scale"), kSuccess);
  ASSERT_EQ(cu("cuLaunchKernel", function, 1u, 1u, 1u, 256u, 1u, 1u, 0u, none,
               static_cast<void **>(values), static_cast<void **>(nullptr)),
            kSuccess);
  EXPECT_EQ(cu("cuMemcpyDtoH_v2", static_cast<void *>(&word), here, size_t(4)), kSuccess);
  EXPECT_EQ(word, 42u);
  EXPECT_EQ(cu("cuMemcpyPeer", there, first, here, second, size_t(1024)), kSuccess);
  EXPECT_EQ(cu("cuMemcpyDtoH_v2", static_cast<void *>(&word), there, size_t(4)), kSuccess);
  EXPECT_EQ(word, 42u);
  EXPECT_EQ(cu("cuCtxDisablePeerAccess", first), kSuccess);
  EXPECT_EQ(cu("cuCtxDisablePeerAccess", first), kPeerAccessNotEnabled);
}

} // namespace
} // namespace rubia::runtime::cuda
