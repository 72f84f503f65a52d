// SPDX-License-Identifier: Apache-2.0
// Green contexts: one part, which has all of the device.
#include "tests/cuda/LaunchFixture.h"

namespace rubia::runtime::cuda {
namespace {

class GreenContexts : public InContext {
protected:
  void SetUp() override {
    InContext::SetUp();
    ASSERT_EQ(cu("cuDeviceGetDevResource", 0, &whole, 1), kSuccess);
    ASSERT_GT(whole.count, 0u);
    ASSERT_EQ(cu("cuDevResourceGenerateDesc", &list, &whole, 1u), kSuccess);
  }
  DeviceResource whole = {};
  void *list = nullptr, *green = nullptr;
};

TEST_F(GreenContexts, OneGroupIsAllThatThereIs) {
  DeviceResource groups[2] = {}, rest = {};
  unsigned count = 2;
  EXPECT_EQ(cu("cuDevSmResourceSplitByCount", static_cast<DeviceResource *>(nullptr), &count,
               static_cast<const DeviceResource *>(&whole), &rest, 0u, 1u),
            kSuccess);
  EXPECT_EQ(count, 1u);
  count = 2;
  EXPECT_EQ(cu("cuDevSmResourceSplitByCount", static_cast<DeviceResource *>(groups), &count,
               static_cast<const DeviceResource *>(&whole), &rest, 0u, 1u),
            kSuccess);
  EXPECT_EQ(count, 1u);
  EXPECT_EQ(groups[0].count, whole.count);
  EXPECT_EQ(rest.count, 0u);
  EXPECT_EQ(cu("cuDevSmResourceSplitByCount", static_cast<DeviceResource *>(groups), &count,
               static_cast<const DeviceResource *>(&whole), &rest, 0u, whole.count + 1),
            kInvalidResourceConfiguration);
  EXPECT_EQ(cu("cuDevSmResourceSplitByCount", static_cast<DeviceResource *>(groups), &count,
               static_cast<const DeviceResource *>(&rest), &rest, 0u, 0u),
            kInvalidResourceConfiguration);
  EXPECT_EQ(cu("cuDevSmResourceSplitByCount", static_cast<DeviceResource *>(groups),
               static_cast<unsigned *>(nullptr), static_cast<const DeviceResource *>(&whole), &rest,
               0u, 1u),
            kInvalidValue);
}

TEST_F(GreenContexts, TheirStreamsWork) {
  ASSERT_EQ(cu("cuGreenCtxCreate", &green, list, 0, 1u), kSuccess);
  Context *primary = nullptr, *handle = nullptr, *found = nullptr;
  DeviceResource resource = {};
  unsigned long long id = 0;
  EXPECT_EQ(cu("cuDevicePrimaryCtxRetain", &primary, 0), kSuccess);
  EXPECT_EQ(cu("cuDevicePrimaryCtxRelease_v2", 0), kSuccess);
  EXPECT_EQ(cu("cuCtxFromGreenCtx", &handle, green), kSuccess);
  EXPECT_EQ(cu("cuGreenCtxGetDevResource", green, &resource, 1), kSuccess);
  EXPECT_EQ(resource.count, whole.count);
  EXPECT_EQ(cu("cuGreenCtxGetId", green, &id), kSuccess);
  EXPECT_NE(id, 0u);

  ASSERT_EQ(cu("cuCtxSetCurrent", handle), kSuccess);
  Stream *stream = nullptr, *other = nullptr;
  ASSERT_EQ(cu("cuGreenCtxStreamCreate", &stream, green, 1u, 0), kSuccess);
  ASSERT_EQ(cu("cuStreamCreate", &other, 1u), kSuccess);
  void *told = nullptr;
  EXPECT_EQ(cu("cuStreamGetGreenCtx", stream, &told), kSuccess);
  EXPECT_EQ(told, green);
  told = nullptr;
  EXPECT_EQ(cu("cuStreamGetCtx_v2", stream, &found, &told), kSuccess);
  EXPECT_EQ(told, green);
  EXPECT_EQ(found, primary);
  EXPECT_EQ(cu("cuStreamGetGreenCtx", other, &told), kSuccess);
  EXPECT_EQ(told, nullptr);

  // What is recorded of the green context is its stream's work.
  void *memory = allocate(64);
  Event *event = nullptr;
  unsigned word = 0;
  ASSERT_EQ(cu("cuEventCreate", &event, 0u), kSuccess);
  EXPECT_EQ(cu("cuMemsetD32Async", memory, 9u, size_t(16), stream), kSuccess);
  EXPECT_EQ(cu("cuGreenCtxRecordEvent", green, event), kSuccess);
  EXPECT_EQ(cu("cuGreenCtxWaitEvent", green, event), kSuccess);
  EXPECT_EQ(cu("cuStreamWaitEvent", other, event, 0u), kSuccess);
  EXPECT_EQ(cu("cuMemcpyDtoHAsync_v2", static_cast<void *>(&word), memory, size_t(4), other),
            kSuccess);
  EXPECT_EQ(cu("cuStreamSynchronize", other), kSuccess);
  EXPECT_EQ(word, 9u);

  EXPECT_EQ(cu("cuGreenCtxDestroy", green), kSuccess);
  EXPECT_EQ(cu("cuGreenCtxDestroy", green), kInvalidHandle);
  // Its reference to the primary context was the last.
  EXPECT_EQ(cu("cuStreamQuery", stream), kContextIsDestroyed);
}

// NVIDIA's package cuda.core ends a green context only where its handle is not the current one.
TEST_F(GreenContexts, TheirContextsHaveHandlesOfTheirOwn) {
  ASSERT_EQ(cu("cuGreenCtxCreate", &green, list, 0, 1u), kSuccess);
  Context *primary = nullptr, *handle = nullptr, *again = nullptr, *found = nullptr;
  ASSERT_EQ(cu("cuDevicePrimaryCtxRetain", &primary, 0), kSuccess);
  ASSERT_EQ(cu("cuCtxFromGreenCtx", &handle, green), kSuccess);
  EXPECT_EQ(cu("cuCtxFromGreenCtx", &again, green), kSuccess);
  EXPECT_EQ(handle, again);
  EXPECT_NE(handle, primary);
  uint64_t id = 0, ofPrimary = 0;
  EXPECT_EQ(cu("cuCtxGetId", handle, &id), kSuccess);
  EXPECT_EQ(cu("cuCtxGetId", primary, &ofPrimary), kSuccess);
  EXPECT_NE(id, ofPrimary);

  // Calls in it are calls in the primary context.
  ASSERT_EQ(cu("cuCtxPushCurrent_v2", handle), kSuccess);
  EXPECT_EQ(cu("cuCtxGetCurrent", &found), kSuccess);
  EXPECT_EQ(found, handle);
  void *memory = allocate(64);
  EXPECT_EQ(cu("cuPointerGetAttribute", static_cast<void *>(&found), 1, memory), kSuccess);
  EXPECT_EQ(found, primary);
  Event *event = nullptr;
  ASSERT_EQ(cu("cuEventCreate", &event, 0u), kSuccess);
  EXPECT_EQ(cu("cuCtxRecordEvent", handle, event), kSuccess);
  EXPECT_EQ(cu("cuCtxSynchronize_v2", handle), kSuccess);
  EXPECT_EQ(cu("cuMemcpyPeer", memory, handle,
               static_cast<void *>(static_cast<char *>(memory) + 32), primary, size_t(32)),
            kSuccess);
  EXPECT_EQ(cu("cuCtxDestroy_v2", handle), kInvalidContext);
  EXPECT_EQ(cu("cuCtxPopCurrent_v2", &found), kSuccess);
  EXPECT_EQ(found, handle);

  ASSERT_EQ(cu("cuCtxPushCurrent_v2", handle), kSuccess);
  EXPECT_EQ(cu("cuGreenCtxDestroy", green), kSuccess);
  EXPECT_EQ(cu("cuCtxSynchronize"), kContextIsDestroyed);
  EXPECT_EQ(cu("cuCtxSetCurrent", primary), kSuccess);
  EXPECT_EQ(cu("cuMemFree_v2", memory), kSuccess);
  EXPECT_EQ(cu("cuCtxSetCurrent", handle), kInvalidContext);
  EXPECT_EQ(cu("cuDevicePrimaryCtxRelease_v2", 0), kSuccess);
}

TEST_F(GreenContexts, WrongArgumentsAreRefused) {
  ASSERT_EQ(cu("cuGreenCtxCreate", &green, list, 0, 1u), kSuccess);
  void *made = nullptr, *wild = this;
  Context *context = nullptr;
  Event *event = nullptr;
  Stream *stream = nullptr;
  DeviceResource resource = {}, part = whole, other = whole;
  part.count = 1;
  other.type = 0;
  void *ofPart = nullptr;
  EXPECT_EQ(cu("cuDevResourceGenerateDesc", &ofPart, &part, 1u), kSuccess);
  const struct {
    const char *what;
    Result result, expected;
  } calls[] = {
      {"create to null", cu("cuGreenCtxCreate", static_cast<void **>(nullptr), list, 0, 1u),
       kInvalidValue},
      {"create without flags", cu("cuGreenCtxCreate", &made, list, 0, 0u), kInvalidValue},
      {"create on no device", cu("cuGreenCtxCreate", &made, list, 99, 1u), kInvalidDevice},
      {"create of anything", cu("cuGreenCtxCreate", &made, wild, 0, 1u), kInvalidHandle},
      {"describe nothing",
       cu("cuDevResourceGenerateDesc", &made, static_cast<DeviceResource *>(nullptr), 1u),
       kInvalidValue},
      {"describe none", cu("cuDevResourceGenerateDesc", &made, &whole, 0u), kInvalidValue},
      {"describe another kind", cu("cuDevResourceGenerateDesc", &made, &other, 1u),
       kInvalidResourceType},
      {"stream to null",
       cu("cuGreenCtxStreamCreate", static_cast<Stream **>(nullptr), green, 1u, 0), kInvalidValue},
      {"blocking stream", cu("cuGreenCtxStreamCreate", &stream, green, 0u, 0), kInvalidValue},
      {"stream of anything", cu("cuGreenCtxStreamCreate", &stream, wild, 1u, 0), kInvalidHandle},
      {"context of anything", cu("cuCtxFromGreenCtx", &context, wild), kInvalidHandle},
      {"context to null", cu("cuCtxFromGreenCtx", static_cast<Context **>(nullptr), green),
       kInvalidValue},
      {"record of anything", cu("cuGreenCtxRecordEvent", wild, event), kInvalidHandle},
      {"wait of anything", cu("cuGreenCtxWaitEvent", wild, event), kInvalidHandle},
      {"resource of anything", cu("cuGreenCtxGetDevResource", wild, &resource, 1), kInvalidHandle},
      {"another resource", cu("cuGreenCtxGetDevResource", green, &resource, 2),
       kInvalidResourceType},
      {"id to null", cu("cuGreenCtxGetId", green, static_cast<unsigned long long *>(nullptr)),
       kInvalidValue},
      {"destroy null", cu("cuGreenCtxDestroy", static_cast<void *>(nullptr)), kInvalidContext},
  };
  for (const auto &call : calls)
    EXPECT_EQ(call.result, call.expected) << call.what;
  if (whole.count > 1)
    EXPECT_EQ(cu("cuGreenCtxCreate", &made, ofPart, 0, 1u), kInvalidResourceConfiguration);
  EXPECT_EQ(cu("cuGreenCtxDestroy", green), kSuccess);
}

} // namespace
} // namespace rubia::runtime::cuda
