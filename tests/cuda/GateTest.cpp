// SPDX-License-Identifier: Apache-2.0
// Streams that wait at gates, beside whatever else the program does meanwhile. What goes wrong here
// waits for ever: each test has a time.
#include "tests/cuda/Conditions.h"
#include <chrono>
#include <thread>
#include <unistd.h>

namespace rubia::runtime::cuda {
namespace {

constexpr unsigned kSeconds = 100; // on a machine that others use

class Gate : public Conditions {
protected:
  void SetUp() override {
    alarm(kSeconds);
    // Atomics on memory of the host have another form here.
    setenv("RUBIA_ARCH", "gfx90a", 1);
    Conditions::SetUp();
  }
  void *hostWord() {
    void *word = nullptr;
    EXPECT_EQ(cu("cuMemHostAlloc", &word, size_t(4096), 0u), kSuccess);
    memset(word, 0, 4096);
    return word;
  }
  static void store(void *word, int value) {
    std::atomic_ref(*static_cast<int *>(word)).store(value);
  }
  Stream *makeStream(unsigned flags) {
    Stream *made = nullptr;
    EXPECT_EQ(cu("cuStreamCreate", &made, flags), kSuccess);
    return made;
  }
};

constexpr unsigned kBlocking = 0, kNonBlocking = 1;
constexpr unsigned kAtLeast = 0, kEqual = 1;

// The kernel is loaded in another form than it was when the graph was instantiated.
TEST_F(Gate, BodyIsLoadedAnewBesideABlockingStream) {
  Node choice = addConditional(graph, nullptr, makeHandle(graph, 1), kIfNode, 1);
  addKernel(choice.bodies[0], nullptr, "addFloat", {at(0)});
  ExecutableGraph *executable = instantiate();
  void *managed = nullptr;
  ASSERT_EQ(cu("cuMemAllocManaged", &managed, size_t(4096), 1u), kSuccess);
  stream = makeStream(kBlocking);
  launch(executable);
  EXPECT_EQ(wait(1)[0], 0x3f800000);
  stream = nullptr; // the legacy stream
  launch(executable);
  EXPECT_EQ(wait(1)[0], 0x40000000);
}

TEST_F(Gate, HandleIsMadeWhileABlockingStreamWaits) {
  void *word = hostWord();
  stream = makeStream(kBlocking);
  EXPECT_EQ(cu("cuStreamWaitValue32_v2", stream, word, 1u, kEqual), kSuccess);
  EXPECT_NE(makeHandle(graph, 1), 0u);
  EXPECT_EQ(cu("cuStreamQuery", stream), kNotReady);
  store(word, 1);
  EXPECT_EQ(cu("cuStreamSynchronize", stream), kSuccess);
}

TEST_F(Gate, HandleIsZeroThoughAnEarlierOneWasNot) {
  uint64_t first = makeHandle(graph, 0, 0);
  addConditional(graph, addKernel(graph, nullptr, "set", {first, 1}), first, kIfNode, 1);
  ExecutableGraph *executable = instantiate();
  launch(executable);
  wait();
  EXPECT_EQ(cu("cuGraphExecDestroy", executable), kSuccess);
  EXPECT_EQ(cu("cuGraphDestroy", graph), kSuccess);
  ASSERT_EQ(cu("cuGraphCreate", &graph, 0u), kSuccess);
  Node choice = addConditional(graph, nullptr, makeHandle(graph, 0, 0), kIfNode, 1);
  EXPECT_EQ(choice.handle, first);
  addKernel(choice.bodies[0], nullptr, "add", {at(0), 1});
  launch(instantiate());
  EXPECT_EQ(wait(1)[0], 0);
}

// A launch sets a handle that nobody has any more.
TEST_F(Gate, HandleIsNotAnothersWhileALaunchMaySetIt) {
  struct Signals {
    std::atomic<bool> isThere = false, mayGo = false;
  } signals;
  const uint64_t first = makeHandle(graph, 0, 0);
  Node choice = addConditional(graph, nullptr, first, kIfNode, 1);
  HostNodeParameters p{};
  p.data = &signals;
  p.function = [](void *data) {
    auto &signals = *static_cast<Signals *>(data);
    signals.isThere = true;
    while (!signals.mayGo)
      std::this_thread::yield();
  };
  GraphNode *host = nullptr;
  ASSERT_EQ(cu("cuGraphAddHostNode", &host, graph, &choice.node, size_t(1), &p), kSuccess);
  addKernel(graph, host, "set", {first, 1});
  ExecutableGraph *executable = instantiate();
  launch(executable);
  while (!signals.isThere)
    std::this_thread::yield();
  EXPECT_EQ(cu("cuGraphExecDestroy", executable), kSuccess);
  EXPECT_EQ(cu("cuGraphDestroy", graph), kSuccess);
  ASSERT_EQ(cu("cuGraphCreate", &graph, 0u), kSuccess);
  choice = addConditional(graph, nullptr, makeHandle(graph, 0, 0), kIfNode, 1);
  addKernel(choice.bodies[0], nullptr, "add", {at(0), 1});
  executable = instantiate();
  signals.mayGo = true;
  wait();
  launch(executable);
  EXPECT_EQ(wait(1)[0], 0);
}

// The error is the runtime's own: HIP goes on.
TEST_F(Gate, ErrorOfABodyEndsAnEndlessLoop) {
  Node choice = addConditional(graph, nullptr, makeHandle(graph, 1), kIfNode, 1);
  addKernel(choice.bodies[0], nullptr, "add", {at(0), 1});
  ExecutableGraph *failing = instantiate();
  EXPECT_EQ(cu("cuModuleUnload", module), kSuccess);
  Graph *endless = nullptr;
  ASSERT_EQ(cu("cuGraphCreate", &endless, 0u), kSuccess);
  addConditional(endless, nullptr, makeHandle(endless, 1), kWhileNode, 1);
  std::swap(graph, endless);
  ExecutableGraph *loop = instantiate();
  launch(loop);
  EXPECT_EQ(cu("cuStreamQuery", stream), kNotReady);
  Stream *other = makeStream(kNonBlocking);
  Result result = cu("cuGraphLaunch", failing, other);
  while (result == kSuccess || result == kNotReady)
    result = cu("cuStreamQuery", other);
  EXPECT_EQ(cu("cuCtxDestroy_v2", context), kSuccess);
}

// Streams come to their gates while the context ends, which has a fault.
TEST_F(Gate, ContextIsResetAgainAndAgain) {
  constexpr int kGates = 300;
  Context *primary = nullptr;
  ASSERT_EQ(cu("cuDevicePrimaryCtxRetain", &primary, 0), kSuccess);
  ASSERT_EQ(cu("cuCtxSetCurrent", primary), kSuccess);
  for (int i = 0; i < 3; ++i) {
    Module *own = nullptr;
    Function *add = nullptr;
    ASSERT_EQ(cu("cuModuleLoadData", &own, static_cast<const void *>(kConditions)), kSuccess);
    ASSERT_EQ(cu("cuModuleGetFunction", &add, own, "add"), kSuccess);
    auto *word = static_cast<char *>(allocate(64));
    ASSERT_EQ(
        cu("cuMemsetD8_v2", static_cast<void *>(word), static_cast<unsigned char>(0), size_t(64)),
        kSuccess);
    Stream *waiting = makeStream(kNonBlocking);
    EXPECT_EQ(cu("cuStreamWaitValue32_v2", waiting, static_cast<void *>(word), 7u, kEqual),
              kSuccess);
    for (int j = 0; j < kGates; ++j)
      EXPECT_EQ(cu("cuStreamWaitValue32_v2", waiting, static_cast<void *>(word + 4), 0u, kAtLeast),
                kSuccess);
    uint64_t nowhere = 16;
    int value = 1;
    void *values[] = {&nowhere, &value};
    Stream *faulty = makeStream(kNonBlocking);
    EXPECT_EQ(cu("cuLaunchKernel", add, 1u, 1u, 1u, 1u, 1u, 1u, 0u, faulty,
                 static_cast<void **>(values), static_cast<void **>(nullptr)),
              kSuccess);
    EXPECT_EQ(cu("cuStreamSynchronize", faulty), kIllegalAddress);
    EXPECT_EQ(cu("cuDevicePrimaryCtxReset_v2", 0), kSuccess);
    std::this_thread::sleep_for(std::chrono::milliseconds(50)); // some came to their gates late
    EXPECT_EQ(cu("cuCtxSynchronize"), kSuccess);
    EXPECT_EQ(cu("cuDevicePrimaryCtxReset_v2", 0), kSuccess);
  }
}

} // namespace
} // namespace rubia::runtime::cuda
