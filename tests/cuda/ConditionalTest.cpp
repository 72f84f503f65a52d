// SPDX-License-Identifier: Apache-2.0
// Conditional nodes whose conditions kernels set, gates that streams wait at, and the workspace of
// launches that are not cooperative. What the functions answer is in tests/driver-sequences.
#include "tests/cuda/Conditions.h"
#include <thread>

namespace rubia::runtime::cuda {
namespace {

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

// They would wait for launches with clusters behind the conditional node, which wait for the body.
TEST_F(Conditions, BodiesHaveNoClusters) {
  Node choice = addConditional(graph, nullptr, makeHandle(graph, 1), kIfNode, 1);
  addKernel(choice.bodies[0], nullptr, "meet", std::vector<uint64_t>(), 2);
  addKernel(graph, choice.node, "add", words, 1);
  ExecutableGraph *executable = nullptr;
  testing::internal::CaptureStderr();
  EXPECT_EQ(cu("cuGraphInstantiateWithFlags", &executable, graph, uint64_t(0)), kNotSupported);
  std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("'meet': clusters of several CTAs in the body"), std::string::npos) << said;
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
  const Result launched = cu("cuGraphLaunch", executable, stream);
  EXPECT_TRUE(launched == kSuccess || launched == kIllegalAddress); // the body may be faster
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
