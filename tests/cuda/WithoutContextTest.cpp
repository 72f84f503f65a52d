// SPDX-License-Identifier: Apache-2.0
// A thread without a current context may use what it has handles of, in their context; CatBoost's
// threads do. What succeeds and what does not was seen on an H100.
#include "tests/cuda/LaunchFixture.h"
#include <thread>

namespace rubia::runtime::cuda {
namespace {

class WithoutContext : public InContext {
protected:
  void SetUp() override {
    InContext::SetUp();
    ASSERT_EQ(cu("cuModuleLoadData", &module, static_cast<const void *>(kPtx)), kSuccess);
    ASSERT_EQ(cu("cuModuleGetFunction", &function, module, "reverse"), kSuccess);
    ASSERT_EQ(cu("cuStreamCreate", &stream, 1u), kSuccess);
    ASSERT_EQ(cu("cuStreamCreate", &other, 1u), kSuccess);
    ASSERT_EQ(cu("cuEventCreate", &event, 0u), kSuccess);
    ASSERT_EQ(cu("cuEventCreate", &second, 0u), kSuccess);
    memory = static_cast<int *>(allocate(64 * 4));
    ASSERT_EQ(cu("cuMemAllocHost_v2", &host, size_t(64 * 4)), kSuccess);
    ASSERT_EQ(cu("cuCtxSetCurrent", static_cast<Context *>(nullptr)), kSuccess);
  }

  Module *module = nullptr;
  Function *function = nullptr;
  Stream *stream = nullptr, *other = nullptr;
  Event *event = nullptr, *second = nullptr;
  int *memory = nullptr;
  void *host = nullptr;
  Stream *const none = nullptr;
};

TEST_F(WithoutContext, StreamsAndEventsWorkInTheirOwn) {
  void *values[] = {&memory};
  std::thread([&] { // which never had one
    EXPECT_EQ(cu("cuEventRecord", event, stream), kSuccess);
    EXPECT_EQ(cu("cuLaunchKernel", function, 1u, 1u, 1u, 64u, 1u, 1u, 256u, stream,
                 static_cast<void **>(values), static_cast<void **>(nullptr)),
              kSuccess);
    EXPECT_EQ(cu("cuMemcpyDtoHAsync_v2", host, static_cast<void *>(memory), size_t(256), stream),
              kSuccess);
    EXPECT_EQ(cu("cuEventRecordWithFlags", second, stream, 0u), kSuccess);
    EXPECT_EQ(cu("cuStreamWaitEvent", other, second, 0u), kSuccess);
    EXPECT_EQ(cu("cuEventSynchronize", second), kSuccess);
    EXPECT_EQ(cu("cuEventQuery", second), kSuccess);
    float milliseconds = -1;
    EXPECT_EQ(cu("cuEventElapsedTime", &milliseconds, event, second), kSuccess);
    EXPECT_GE(milliseconds, 0);
    EXPECT_EQ(cu("cuStreamSynchronize", other), kSuccess);
    EXPECT_EQ(cu("cuStreamQuery", stream), kSuccess);
  })
      .join();
  EXPECT_EQ(static_cast<int *>(host)[0], 63);
  EXPECT_EQ(static_cast<int *>(host)[63], 0);

  Context *owner = nullptr;
  EXPECT_EQ(cu("cuStreamGetCtx", stream, &owner), kSuccess);
  EXPECT_EQ(owner, context);
  int capturing = -1;
  EXPECT_EQ(cu("cuStreamIsCapturing", stream, &capturing), kSuccess);
  void *pooled = nullptr;
  EXPECT_EQ(cu("cuMemAllocAsync", &pooled, size_t(64), stream), kSuccess);
  EXPECT_EQ(cu("cuMemsetD8Async", pooled, static_cast<unsigned char>(1), size_t(64), stream),
            kSuccess);
  EXPECT_EQ(cu("cuMemFreeAsync", pooled, stream), kSuccess);
  Context *current = context;
  EXPECT_EQ(cu("cuCtxGetCurrent", &current), kSuccess);
  EXPECT_EQ(current, nullptr); // it stays so
}

TEST_F(WithoutContext, DefaultStreamsAndNewThingsNeedOne) {
  void *values[] = {&memory};
  EXPECT_EQ(cu("cuLaunchKernel", function, 1u, 1u, 1u, 64u, 1u, 1u, 256u, none,
               static_cast<void **>(values), static_cast<void **>(nullptr)),
            kInvalidContext);
  for (Stream *stream : {none, reinterpret_cast<Stream *>(1), reinterpret_cast<Stream *>(2)}) {
    EXPECT_EQ(cu("cuStreamQuery", stream), kInvalidContext);
    EXPECT_EQ(cu("cuStreamSynchronize", stream), kInvalidContext);
    EXPECT_EQ(cu("cuEventRecord", event, stream), kInvalidContext);
    EXPECT_EQ(cu("cuMemcpyAsync", static_cast<void *>(memory), host, size_t(64), stream),
              kInvalidContext);
  }
  EXPECT_EQ(cu("cuMemcpy", static_cast<void *>(memory), host, size_t(64)), kInvalidContext);
  Event *made = nullptr;
  EXPECT_EQ(cu("cuEventCreate", &made, 0u), kInvalidContext);
  EXPECT_EQ(cu("cuCtxSynchronize"), kInvalidContext);
  int blocks = 0;
  EXPECT_EQ(cu("cuOccupancyMaxActiveBlocksPerMultiprocessor", &blocks, function, 32, size_t(0)),
            kInvalidContext);
}

TEST_F(WithoutContext, ModulesFunctionsMemoryAndGraphsAnswer) {
  Function *found = nullptr;
  EXPECT_EQ(cu("cuModuleGetFunction", &found, module, "reverse"), kSuccess);
  EXPECT_EQ(found, function);
  void *table = nullptr;
  size_t bytes = 0;
  EXPECT_EQ(cu("cuModuleGetGlobal_v2", &table, &bytes, module, "table"), kSuccess);
  EXPECT_EQ(bytes, 32u);
  int value = 0;
  EXPECT_EQ(cu("cuFuncGetAttribute", &value, 0, function), kSuccess);
  EXPECT_GT(value, 0);
  EXPECT_EQ(cu("cuFuncSetAttribute", function, 8, 1024), kSuccess);
  EXPECT_EQ(
      cu("cuPointerGetAttribute", static_cast<void *>(&value), 2, static_cast<void *>(memory)),
      kSuccess);
  EXPECT_EQ(value, 2); // CU_MEMORYTYPE_DEVICE

  Graph *graph = nullptr, *clone = nullptr;
  EXPECT_EQ(cu("cuGraphCreate", &graph, 0u), kSuccess);
  EXPECT_EQ(cu("cuGraphClone", &clone, graph), kSuccess);
  size_t nodes = 9;
  EXPECT_EQ(cu("cuGraphGetNodes", clone, static_cast<GraphNode **>(nullptr), &nodes), kSuccess);
  EXPECT_EQ(nodes, 0u);
  EXPECT_EQ(cu("cuGraphDestroy", clone), kSuccess);
  EXPECT_EQ(cu("cuGraphDestroy", graph), kSuccess);

  EXPECT_EQ(cu("cuEventDestroy_v2", event), kSuccess);
  EXPECT_EQ(cu("cuStreamDestroy_v2", other), kSuccess);
  EXPECT_EQ(cu("cuMemFree_v2", static_cast<void *>(memory)), kSuccess);
  EXPECT_EQ(cu("cuMemFreeHost", host), kSuccess);
  EXPECT_EQ(cu("cuModuleUnload", module), kSuccess);
}

// Not seen on an H100, but what NVIDIA's package cuda.core expects of its driver.
TEST_F(WithoutContext, AnAddressThatIsNotKnownHasAttributes) {
  int own = 0;
  unsigned type = 9;
  int ordinal = 9;
  int which[] = {2, 9}; // memory type, device ordinal
  void *out[] = {&type, &ordinal};
  EXPECT_EQ(cu("cuPointerGetAttributes", 2u, &which[0], &out[0], static_cast<void *>(&own)),
            kSuccess);
  EXPECT_EQ(type, 0u);
  EXPECT_EQ(ordinal, -2);
  EXPECT_EQ(cu("cuPointerGetAttributes", 2u, &which[0], &out[0], static_cast<void *>(memory)),
            kSuccess);
  EXPECT_EQ(type, 2u); // CU_MEMORYTYPE_DEVICE
  EXPECT_EQ(ordinal, 0);
}

TEST_F(WithoutContext, ParametersOfAKernelNeedOne) {
  Library *library = nullptr;
  Function *kernel = nullptr;
  ASSERT_EQ(cu("cuLibraryLoadData", &library, static_cast<const void *>(kPtx),
               static_cast<int *>(nullptr), static_cast<void **>(nullptr), 0u,
               static_cast<int *>(nullptr), static_cast<void **>(nullptr), 0u),
            kSuccess);
  ASSERT_EQ(cu("cuLibraryGetKernel", &kernel, library, "reverse"), kSuccess);
  size_t offset = 0, size = 0;
  EXPECT_EQ(cu("cuKernelGetParamInfo", kernel, size_t(0), &offset, &size), kInvalidContext);
  ASSERT_EQ(cu("cuCtxSetCurrent", context), kSuccess);
  EXPECT_EQ(cu("cuKernelGetParamInfo", kernel, size_t(0), &offset, &size), kSuccess);
  EXPECT_EQ(cu("cuLibraryUnload", library), kSuccess);
}

} // namespace
} // namespace rubia::runtime::cuda
