// SPDX-License-Identifier: Apache-2.0
// Graphs with conditional nodes whose conditions kernels set.
#pragma once

#include "tests/cuda/LaunchFixture.h"

namespace rubia::runtime::cuda {

inline constexpr const char *kConditions = R"(.version 8.4
.target sm_90
.address_size 64

.global .align 4 .u32 mark;
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

.visible .entry addFloat(.param .u64 to)
{
  .reg .b64 %d<3>;
  ld.param.u64 %d1, [to];
  mov.u64 %d2, mark;
  st.global.u32 [%d2], 1;
  red.global.add.f32 [%d1], 0f3F800000;
  ret;
}

.visible .entry meet() .reqnctapercluster 2
{
  barrier.cluster.arrive;
  barrier.cluster.wait;
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

/// A module, a stream and a graph.
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

  GraphNode *addKernel(Graph *to, GraphNode *after, const char *name, std::vector<uint64_t> words,
                       unsigned ctas = 1) {
    KernelNodeParametersV2 p{};
    EXPECT_EQ(cu("cuModuleGetFunction", &p.first.function, module, name), kSuccess);
    std::vector<void *> values;
    for (uint64_t &word : words)
      values.push_back(&word);
    for (int i = 0; i < 3; ++i)
      p.first.grid[i] = p.first.block[i] = 1;
    p.first.grid[0] = ctas;
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

} // namespace rubia::runtime::cuda
