// SPDX-License-Identifier: Apache-2.0
// Conditional nodes whose conditions kernels set, gates that streams wait at, and the workspace of
// launches that are not cooperative. What the functions answer is in tests/driver-sequences.
#include "tests/cuda/LaunchFixture.h"
#include <chrono>
#include <thread>

namespace rubia::runtime::cuda {
namespace {

constexpr const char *kConditions = R"(.version 8.4
.target sm_80
.address_size 64

.extern .func cudaGraphSetConditional(.param .b64 handle, .param .b32 value);

.visible .entry countDown(.param .u64 counter, .param .u64 turns, .param .u64 handle)
{
  .reg .pred %p<2>;
  .reg .b32 %r<8>;
  .reg .b64 %d<4>;
  ld.param.u64 %d1, [counter];
  ld.param.u64 %d2, [turns];
  ld.param.u64 %d3, [handle];
  ld.global.u32 %r1, [%d2];
  add.u32 %r2, %r1, 1;
  st.global.u32 [%d2], %r2;
  ld.global.u32 %r3, [%d1];
  sub.u32 %r4, %r3, 1;
  st.global.u32 [%d1], %r4;
  setp.gt.s32 %p1, %r4, 0;
  selp.u32 %r5, 1, 0, %p1;
  call.uni cudaGraphSetConditional, (%d3, %r5);
  ret;
}

.visible .entry set(.param .u64 handle, .param .u32 value)
{
  .reg .b32 %r<2>;
  .reg .b64 %d<2>;
  ld.param.u64 %d1, [handle];
  ld.param.u32 %r1, [value];
  call.uni cudaGraphSetConditional, (%d1, %r1);
  ret;
}

.visible .entry add(.param .u64 to, .param .u32 value)
{
  .reg .b32 %r<4>;
  .reg .b64 %d<2>;
  ld.param.u64 %d1, [to];
  ld.param.u32 %r1, [value];
  ld.global.u32 %r2, [%d1];
  add.u32 %r3, %r2, %r1;
  st.global.u32 [%d1], %r3;
  ret;
}

.visible .entry hasWorkspace(.param .u64 out)
{
  .reg .pred %p<2>;
  .reg .b32 %r<5>;
  .reg .b64 %d<2>;
  ld.param.u64 %d1, [out];
  mov.u32 %r1, %envreg1;
  mov.u32 %r2, %envreg2;
  or.b32 %r3, %r1, %r2;
  setp.ne.u32 %p1, %r3, 0;
  selp.u32 %r4, 1, 0, %p1;
  st.global.u32 [%d1], %r4;
  ret;
}
)";

class Conditions : public InContext {
protected:
  void SetUp() override {
    InContext::SetUp();
    ASSERT_EQ(cu("cuModuleLoadData", &module, static_cast<const void *>(kConditions)), kSuccess);
    ASSERT_EQ(cu("cuStreamCreate", &stream, 1u), kSuccess);
    words = static_cast<int *>(allocate(64));
    ASSERT_EQ(cu("cuMemsetD32_v2", static_cast<void *>(words), 0u, size_t(16)), kSuccess);
    ASSERT_EQ(cu("cuCtxSynchronize"), kSuccess);
    ASSERT_EQ(cu("cuGraphCreate", &graph, 0u), kSuccess);
  }

  struct Node {
    uint64_t handle = 0;
    GraphNode *node = nullptr;
    std::vector<Graph *> bodies;
  };

  uint64_t makeHandle(Graph *in, unsigned value, unsigned flags = 1) {
    uint64_t handle = 0;
    EXPECT_EQ(cu("cuGraphConditionalHandleCreate", &handle, in, static_cast<Context *>(nullptr),
                 value, flags),
              kSuccess);
    return handle;
  }

  Node addConditional(Graph *to, GraphNode *after, uint64_t handle, ConditionalType type,
                      unsigned size) {
    Node made;
    made.handle = handle;
    NodeParameters p{};
    p.type = kConditionalNode;
    p.conditional.handle = handle;
    p.conditional.type = type;
    p.conditional.size = size;
    EXPECT_EQ(cu("cuGraphAddNode", &made.node, to, &after, size_t(after ? 1 : 0), &p), kSuccess);
    made.bodies.assign(p.conditional.bodies, p.conditional.bodies + size);
    return made;
  }

  GraphNode *addKernel(Graph *to, GraphNode *after, const char *name, std::vector<uint64_t> words) {
    KernelNodeParametersV2 p{};
    EXPECT_EQ(cu("cuModuleGetFunction", &p.first.function, module, name), kSuccess);
    std::vector<void *> values;
    for (uint64_t &word : words)
      values.push_back(&word);
    for (int i = 0; i < 3; ++i)
      p.first.grid[i] = p.first.block[i] = 1;
    p.first.values = values.data();
    GraphNode *node = nullptr;
    EXPECT_EQ(cu("cuGraphAddKernelNode_v2", &node, to, &after, size_t(after ? 1 : 0), &p),
              kSuccess);
    return node;
  }
  GraphNode *addKernel(Graph *to, GraphNode *after, const char *name, int *first, uint64_t second) {
    return addKernel(to, after, name, {reinterpret_cast<uint64_t>(first), second});
  }

  ExecutableGraph *instantiate() {
    ExecutableGraph *executable = nullptr;
    EXPECT_EQ(cu("cuGraphInstantiateWithFlags", &executable, graph, uint64_t(0)), kSuccess);
    return executable;
  }
  void launch(ExecutableGraph *executable) {
    EXPECT_EQ(cu("cuGraphLaunch", executable, stream), kSuccess);
  }
  std::vector<int> wait(size_t count = 8) {
    EXPECT_EQ(cu("cuStreamSynchronize", stream), kSuccess);
    return fetch(words, count);
  }
  void write(int index, unsigned value) {
    EXPECT_EQ(cu("cuMemsetD32Async", static_cast<void *>(words + index), value, size_t(1), stream),
              kSuccess);
  }
  uint64_t at(int index) { return reinterpret_cast<uint64_t>(words + index); }

  Module *module = nullptr;
  Stream *stream = nullptr;
  Graph *graph = nullptr;
  int *words = nullptr; // 16
};

TEST_F(Conditions, LoopGoesRoundAsOftenAsItsKernelSays) {
  Node loop = addConditional(graph, nullptr, makeHandle(graph, 1), kWhileNode, 1);
  addKernel(loop.bodies[0], nullptr, "countDown", {at(0), at(1), loop.handle});
  addKernel(graph, loop.node, "add", words + 2, 1);
  ExecutableGraph *executable = instantiate();
  write(0, 5);
  launch(executable);
  EXPECT_EQ(wait(3), (std::vector<int>{0, 5, 1}));
  // The default value comes back; launches follow each other without anybody waiting.
  write(0, 3);
  launch(executable);
  launch(executable);
  EXPECT_EQ(wait(3), (std::vector<int>{-1, 9, 3}));
  // A launch goes on when its executable graph ends.
  write(0, 100);
  launch(executable);
  EXPECT_EQ(cu("cuGraphExecDestroy", executable), kSuccess);
  EXPECT_EQ(wait(3), (std::vector<int>{0, 109, 4}));
}

TEST_F(Conditions, LaunchDoesNotWaitForALoop) {
  Node loop = addConditional(graph, nullptr, makeHandle(graph, 1), kWhileNode, 1);
  addKernel(loop.bodies[0], nullptr, "countDown", {at(0), at(1), loop.handle});
  ExecutableGraph *executable = instantiate();
  write(0, 1);
  // The stream stands still until the word is written.
  EXPECT_EQ(cu("cuStreamWaitValue32_v2", stream, static_cast<void *>(words + 9), 1u, 1u), kSuccess);
  launch(executable);
  EXPECT_EQ(cu("cuStreamQuery", stream), kNotReady);
  Stream *other = nullptr;
  ASSERT_EQ(cu("cuStreamCreate", &other, 1u), kSuccess);
  EXPECT_EQ(cu("cuStreamWriteValue32_v2", other, static_cast<void *>(words + 9), 1u, 0u), kSuccess);
  EXPECT_EQ(wait(2), (std::vector<int>{0, 1}));
}

TEST_F(Conditions, KernelsChooseBodies) {
  uint64_t condition = makeHandle(graph, 0), number = makeHandle(graph, 0, 0);
  GraphNode *last = addKernel(graph, nullptr, "set", {condition, 1});
  Node choice = addConditional(graph, last, condition, kIfNode, 2);
  addKernel(choice.bodies[0], nullptr, "add", words, 1);
  addKernel(choice.bodies[1], nullptr, "add", words + 1, 1);
  last = addKernel(graph, choice.node, "set", {number, 2});
  Node cases = addConditional(graph, last, number, kSwitchNode, 3);
  for (int i = 0; i < 3; ++i)
    addKernel(cases.bodies[i], nullptr, "add", words + 2 + i, 1);
  ExecutableGraph *executable = instantiate();
  for (int i = 0; i < 3; ++i)
    launch(executable);
  EXPECT_EQ(wait(5), (std::vector<int>{3, 0, 0, 0, 3}));
}

TEST_F(Conditions, LoopsLieInLoops) {
  uint64_t outer = makeHandle(graph, 1), inner = makeHandle(graph, 0);
  Node loop = addConditional(graph, nullptr, outer, kWhileNode, 1);
  GraphNode *last = addKernel(loop.bodies[0], nullptr, "set", {inner, 1});
  last = addKernel(loop.bodies[0], last, "add", words + 2, 4);
  Node inside = addConditional(loop.bodies[0], last, inner, kWhileNode, 1);
  addKernel(inside.bodies[0], nullptr, "countDown", {at(2), at(3), inner});
  addKernel(loop.bodies[0], inside.node, "countDown", {at(0), at(1), outer});
  addKernel(graph, loop.node, "add", words + 4, 1);
  ExecutableGraph *executable = instantiate();
  write(0, 3);
  launch(executable);
  EXPECT_EQ(wait(5), (std::vector<int>{0, 3, 0, 12, 1}));
}

TEST_F(Conditions, ChangesReachLaterLaunchesAlone) {
  Node choice = addConditional(graph, nullptr, makeHandle(graph, 1), kIfNode, 1);
  GraphNode *node = addKernel(choice.bodies[0], nullptr, "add", words, 1);
  ExecutableGraph *executable = instantiate();
  EXPECT_EQ(cu("cuStreamWaitValue32_v2", stream, static_cast<void *>(words + 9), 1u, 1u), kSuccess);
  launch(executable); // has not begun when the body is changed
  KernelNodeParametersV2 p{};
  ASSERT_EQ(cu("cuGraphKernelNodeGetParams_v2", node, &p), kSuccess);
  int value = 10;
  void *values[] = {p.first.values[0], &value};
  p.first.values = values;
  EXPECT_EQ(cu("cuGraphExecKernelNodeSetParams_v2", executable, node, &p), kSuccess);
  launch(executable);
  Stream *other = nullptr;
  ASSERT_EQ(cu("cuStreamCreate", &other, 1u), kSuccess);
  EXPECT_EQ(cu("cuStreamWriteValue32_v2", other, static_cast<void *>(words + 9), 1u, 0u), kSuccess);
  EXPECT_EQ(wait(1)[0], 11);
}

TEST_F(Conditions, FaultInABodyIsTheContexts) {
  Node loop = addConditional(graph, nullptr, makeHandle(graph, 1), kWhileNode, 1);
  addKernel(loop.bodies[0], nullptr, "add", reinterpret_cast<int *>(16), 1);
  ExecutableGraph *executable = instantiate();
  launch(executable);
  EXPECT_EQ(cu("cuStreamSynchronize", stream), kIllegalAddress);
  EXPECT_EQ(cu("cuCtxSynchronize"), kIllegalAddress);
}

TEST_F(Conditions, ManyLaunchesAndGraphsAtOnce) {
  constexpr int kThreads = 4, kLaunches = 20;
  std::vector<std::thread> threads;
  Context *context = nullptr;
  ASSERT_EQ(cu("cuCtxGetCurrent", &context), kSuccess);
  for (int i = 0; i < kThreads; ++i) {
    Graph *own = nullptr;
    ASSERT_EQ(cu("cuGraphCreate", &own, 0u), kSuccess);
    Node choice = addConditional(own, nullptr, makeHandle(own, 1), kIfNode, 1);
    addKernel(choice.bodies[0], nullptr, "add", words + i, 1);
    threads.emplace_back([=] {
      ASSERT_EQ(cu("cuCtxSetCurrent", context), kSuccess);
      Stream *stream = nullptr;
      ExecutableGraph *executable = nullptr;
      ASSERT_EQ(cu("cuStreamCreate", &stream, 1u), kSuccess);
      ASSERT_EQ(cu("cuGraphInstantiateWithFlags", &executable, own, uint64_t(0)), kSuccess);
      UpdateResult result{};
      for (int j = 0; j < kLaunches; ++j) {
        ASSERT_EQ(cu("cuGraphLaunch", executable, stream), kSuccess);
        ASSERT_EQ(cu("cuGraphExecUpdate_v2", executable, own, &result), kSuccess);
      }
      ASSERT_EQ(cu("cuStreamSynchronize", stream), kSuccess);
      ASSERT_EQ(cu("cuGraphExecDestroy", executable), kSuccess);
      ASSERT_EQ(cu("cuStreamDestroy_v2", stream), kSuccess);
    });
  }
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(fetch(words, kThreads), std::vector<int>(kThreads, kLaunches));
}

// cooperative_groups' grid_group::is_valid() asks for it.
TEST_F(Conditions, PlainLaunchHasAWorkspace) {
  addKernel(graph, nullptr, "hasWorkspace", {at(0)});
  launch(instantiate());
  EXPECT_EQ(wait(1)[0], 1);
}

} // namespace
} // namespace rubia::runtime::cuda
