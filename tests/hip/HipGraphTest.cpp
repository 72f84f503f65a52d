// SPDX-License-Identifier: Apache-2.0
// Graphs as HIP 5.3 to 7 have them: nodes by one structure, nodes that are switched off, captures
// into graphs that are there, and streams that go while they are captured.
#include <gtest/gtest.h>
#define __HIP_PLATFORM_AMD__ 1
#include <hip/hip_runtime_api.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <dlfcn.h>
#include <fstream>
#include <functional>
#include <sstream>
#include <thread>

// Not in HIP 5.2's headers.
struct NodeParameters {
  int type, reserved[3];
  union {
    long long words[29];
    hipMemsetParams fill;
    hipHostNodeParams host;
    hipGraph_t graph;
    struct {
      int flags, reserved[3];
      hipMemcpy3DParms parameters;
    } copy;
  };
  long long reservedEnd;
};
struct InstantiateParameters {
  hipGraphNode_t errorNode;
  unsigned long long flags;
  int result;
  hipStream_t uploadStream;
};
struct DriverFill {
  hipDeviceptr_t to;
  size_t pitch;
  unsigned value, elementBytes;
  size_t width, height;
};
extern "C" {
hipError_t hipGraphAddNode(hipGraphNode_t *, hipGraph_t, const hipGraphNode_t *, size_t,
                           NodeParameters *);
hipError_t hipGraphNodeSetParams(hipGraphNode_t, NodeParameters *);
hipError_t hipGraphExecNodeSetParams(hipGraphExec_t, hipGraphNode_t, NodeParameters *);
hipError_t hipGraphInstantiateWithParams(hipGraphExec_t *, hipGraph_t, InstantiateParameters *);
hipError_t hipGraphExecGetFlags(hipGraphExec_t, unsigned long long *);
hipError_t hipGraphUpload(hipGraphExec_t, hipStream_t);
hipError_t hipGraphNodeSetEnabled(hipGraphExec_t, hipGraphNode_t, unsigned);
hipError_t hipGraphNodeGetEnabled(hipGraphExec_t, hipGraphNode_t, unsigned *);
hipError_t hipGraphDebugDotPrint(hipGraph_t, const char *, unsigned);
hipError_t hipStreamBeginCaptureToGraph(hipStream_t, hipGraph_t, const hipGraphNode_t *,
                                        const void *, size_t, hipStreamCaptureMode);
hipError_t hipDrvGraphAddMemsetNode(hipGraphNode_t *, hipGraph_t, const hipGraphNode_t *, size_t,
                                    const DriverFill *, hipCtx_t);
hipError_t hipDrvGraphAddMemcpyNode(hipGraphNode_t *, hipGraph_t, const hipGraphNode_t *, size_t,
                                    const HIP_MEMCPY3D *, hipCtx_t);
hipError_t hipStreamBeginCapture_spt(hipStream_t, hipStreamCaptureMode);
hipError_t hipMemsetAsync_spt(void *, int, size_t, hipStream_t);
hipError_t hipStreamEndCapture_spt(hipStream_t, hipGraph_t *);
hipError_t hipGraphLaunch_spt(hipGraphExec_t, hipStream_t);
hipError_t hipGetProcAddress(const char *, void **, int, uint64_t, int *);
hipError_t hipEventRecordWithFlags(hipEvent_t, hipStream_t, unsigned);
float __gnu_h2f_ieee(unsigned short);
unsigned short __gnu_f2h_ieee(float);
}

namespace {

#define OK(CALL) ASSERT_EQ(CALL, hipSuccess)

constexpr int kMemset = 3, kHost = 4, kGraph = 5, kEmpty = 6; // as HIP 5 numbers them

class HipGraph : public testing::Test {
protected:
  void SetUp() override {
    OK(hipMalloc(reinterpret_cast<void **>(&bytes), 4));
    OK(hipMemset(bytes, 0, 4));
    OK(hipGraphCreate(&graph, 0));
    OK(hipStreamCreate(&stream));
  }
  void TearDown() override {
    EXPECT_EQ(hipStreamDestroy(stream), hipSuccess);
    EXPECT_EQ(hipGraphDestroy(graph), hipSuccess);
    EXPECT_EQ(hipFree(bytes), hipSuccess);
  }
  NodeParameters fillOf(int at, int value) {
    NodeParameters node = {};
    node.type = kMemset;
    node.fill = {.dst = bytes + at,
                 .elementSize = 1,
                 .height = 1,
                 .pitch = 0,
                 .value = unsigned(value),
                 .width = 1};
    return node;
  }
  hipGraphExec_t instantiated() {
    hipGraphExec_t executable = nullptr;
    EXPECT_EQ(hipGraphInstantiate(&executable, graph, nullptr, nullptr, 0), hipSuccess);
    return executable;
  }
  // What the four bytes are after a launch.
  std::string launched(hipGraphExec_t executable) {
    EXPECT_EQ(hipMemset(bytes, '.', 4), hipSuccess);
    EXPECT_EQ(hipGraphLaunch(executable, stream), hipSuccess);
    EXPECT_EQ(hipStreamSynchronize(stream), hipSuccess);
    std::string text(4, ' ');
    EXPECT_EQ(hipMemcpy(text.data(), bytes, 4, hipMemcpyDeviceToHost), hipSuccess);
    return text;
  }
  std::string launchedOnce() {
    hipGraphExec_t executable = instantiated();
    std::string text = launched(executable);
    EXPECT_EQ(hipGraphExecDestroy(executable), hipSuccess);
    return text;
  }

  char *bytes = nullptr;
  hipGraph_t graph = nullptr;
  hipStream_t stream = nullptr;
};

TEST_F(HipGraph, AddsAndChangesNodesOfAnyType) {
  NodeParameters fill = fillOf(0, 'a');
  hipGraphNode_t first, second, host, child;
  OK(hipGraphAddNode(&first, graph, nullptr, 0, &fill));
  int calls = 0;
  NodeParameters function = {};
  function.type = kHost;
  function.host = {[](void *count) { ++*static_cast<int *>(count); }, &calls};
  OK(hipGraphAddNode(&host, graph, &first, 1, &function));
  fill = fillOf(1, 'b');
  OK(hipGraphAddNode(&second, graph, &host, 1, &fill));
  hipGraph_t inner;
  OK(hipGraphCreate(&inner, 0));
  hipGraphNode_t inside;
  fill = fillOf(2, 'c');
  OK(hipGraphAddNode(&inside, inner, nullptr, 0, &fill));
  NodeParameters graphNode = {};
  graphNode.type = kGraph;
  graphNode.graph = inner;
  OK(hipGraphAddNode(&child, graph, &second, 1, &graphNode));
  NodeParameters nothing = {};
  nothing.type = kEmpty;
  hipGraphNode_t empty;
  OK(hipGraphAddNode(&empty, graph, &child, 1, &nothing));
  nothing.type = 77;
  EXPECT_EQ(hipGraphAddNode(&empty, graph, nullptr, 0, &nothing), hipErrorNotSupported);
  EXPECT_EQ(hipGraphAddNode(&empty, graph, nullptr, 0, nullptr), hipErrorInvalidValue);
  hipGraphExec_t executable = instantiated();
  EXPECT_EQ(launched(executable), "abc.");
  EXPECT_EQ(calls, 1);
  fill = fillOf(3, 'd');
  OK(hipGraphExecNodeSetParams(executable, second, &fill));
  EXPECT_EQ(launched(executable), "a.cd");
  EXPECT_EQ(hipGraphExecNodeSetParams(executable, host, &fill), hipErrorInvalidValue);
  OK(hipGraphExecDestroy(executable));
  fill = fillOf(1, 'e');
  OK(hipGraphNodeSetParams(second, &fill));
  EXPECT_EQ(launchedOnce(), "aec.");
  OK(hipGraphDestroy(inner));
}

// A node's graph is its own copy, and what is changed in that is what the node does.
TEST_F(HipGraph, FollowsChangesOfItsChildren) {
  hipGraph_t outer, inner, found;
  hipGraphNode_t fillNode, child, grandchild;
  OK(hipGraphCreate(&outer, 0));
  OK(hipGraphCreate(&inner, 0));
  NodeParameters fill = fillOf(0, 'a');
  OK(hipGraphAddNode(&fillNode, inner, nullptr, 0, &fill));
  OK(hipGraphAddChildGraphNode(&grandchild, outer, nullptr, 0, inner));
  OK(hipGraphAddChildGraphNode(&child, graph, nullptr, 0, outer));
  OK(hipGraphDestroy(inner));
  OK(hipGraphDestroy(outer));
  hipGraphExec_t executable = instantiated();
  size_t one = 1;
  OK(hipGraphChildGraphNodeGetGraph(child, &found));
  OK(hipGraphGetNodes(found, &grandchild, &one));
  OK(hipGraphChildGraphNodeGetGraph(grandchild, &found));
  OK(hipGraphGetNodes(found, &fillNode, &one));
  fill = fillOf(1, 'b');
  OK(hipGraphNodeSetParams(fillNode, &fill));
  fill = fillOf(2, 'c');
  OK(hipGraphAddNode(&fillNode, found, &fillNode, 1, &fill));
  EXPECT_EQ(launchedOnce(), ".bc.");
  EXPECT_EQ(launched(executable), "a...");
  hipGraphNode_t none;
  hipGraphExecUpdateResult updated;
  OK(hipGraphExecUpdate(executable, graph, &none, &updated));
  EXPECT_EQ(launched(executable), ".bc.");
  OK(hipGraphExecDestroy(executable));
}

// A launch on a captured stream is a node, whose graph is nobody's.
TEST_F(HipGraph, IsLaunchedInCaptures) {
  hipGraphNode_t node;
  NodeParameters fill = fillOf(3, 'a');
  OK(hipGraphAddNode(&node, graph, nullptr, 0, &fill));
  hipGraphExec_t executable = instantiated();
  hipGraph_t captured, inner;
  OK(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
  OK(hipGraphLaunch(executable, stream));
  OK(hipStreamEndCapture(stream, &captured));
  OK(hipGraphExecDestroy(executable));
  std::swap(graph, captured);
  EXPECT_EQ(launchedOnce(), "...a");
  size_t one = 1;
  OK(hipGraphGetNodes(graph, &node, &one));
  EXPECT_EQ(hipGraphChildGraphNodeGetGraph(node, &inner), hipErrorNotSupported);
  OK(hipGraphDestroy(captured));
}

TEST_F(HipGraph, TakesNodesOfTheDriverApi) {
  const DriverFill fill = {bytes, 0, 'x', 1, 2, 1};
  hipGraphNode_t filled, copied;
  OK(hipDrvGraphAddMemsetNode(&filled, graph, nullptr, 0, &fill, nullptr));
  HIP_MEMCPY3D copy = {};
  copy.srcMemoryType = copy.dstMemoryType = hipMemoryTypeDevice;
  copy.srcDevice = copy.dstDevice = bytes;
  copy.dstXInBytes = 2;
  copy.WidthInBytes = copy.Height = copy.Depth = 1;
  OK(hipDrvGraphAddMemcpyNode(&copied, graph, &filled, 1, &copy, nullptr));
  EXPECT_EQ(launchedOnce(), "xxx.");
}

TEST_F(HipGraph, NodesAreSwitchedOff) {
  hipGraphNode_t first, second, empty;
  NodeParameters fill = fillOf(0, 'a');
  OK(hipGraphAddNode(&first, graph, nullptr, 0, &fill));
  fill = fillOf(1, 'b');
  OK(hipGraphAddNode(&second, graph, &first, 1, &fill));
  OK(hipGraphAddEmptyNode(&empty, graph, nullptr, 0));
  InstantiateParameters how = {};
  how.flags = 2; // upload
  hipGraphExec_t executable;
  OK(hipGraphInstantiateWithParams(&executable, graph, &how));
  EXPECT_EQ(how.result, 0);
  unsigned long long flags = 0;
  OK(hipGraphExecGetFlags(executable, &flags));
  EXPECT_EQ(flags, 2u);
  OK(hipGraphUpload(executable, stream));
  OK(hipGraphNodeSetEnabled(executable, first, 0));
  unsigned enabled = 7;
  OK(hipGraphNodeGetEnabled(executable, first, &enabled));
  EXPECT_EQ(enabled, 0u);
  EXPECT_EQ(launched(executable), ".b..");
  OK(hipGraphNodeSetEnabled(executable, first, 1));
  EXPECT_EQ(launched(executable), "ab..");
  EXPECT_EQ(hipGraphNodeSetEnabled(executable, empty, 0), hipErrorInvalidValue);
  OK(hipGraphExecDestroy(executable));
  EXPECT_EQ(hipGraphUpload(executable, stream), hipErrorInvalidValue);
  OK(hipGraphAddDependencies(graph, &second, &first, 1));
  EXPECT_EQ(hipGraphInstantiateWithParams(&executable, graph, &how), hipErrorInvalidValue);
  EXPECT_EQ(how.result, 2); // a cycle
}

TEST_F(HipGraph, IsWrittenForGraphviz) {
  hipGraphNode_t first, second;
  NodeParameters fill = fillOf(0, 'a');
  OK(hipGraphAddNode(&first, graph, nullptr, 0, &fill));
  OK(hipGraphAddEmptyNode(&second, graph, &first, 1));
  const std::string path = testing::TempDir() + "HipGraph.dot";
  auto written = [&](unsigned flags) {
    EXPECT_EQ(hipGraphDebugDotPrint(graph, path.c_str(), flags), hipSuccess);
    std::ifstream file(path);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  };
  const std::string brief = written(0), verbose = written(1);
  EXPECT_EQ(brief.find("digraph"), 0u);
  EXPECT_NE(brief.find("[label=\"fill\"]"), std::string::npos);
  EXPECT_EQ(std::count(brief.begin(), brief.end(), '>'), 1);
  EXPECT_NE(verbose.find("with 97\\n1 x 1 of 1 bytes"), std::string::npos);
  std::remove(path.c_str());
  EXPECT_EQ(hipGraphDebugDotPrint(graph, "/no/such/place", 0), hipErrorOperatingSystem);
  EXPECT_EQ(hipGraphDebugDotPrint(graph, path.c_str(), 1u << 20), hipErrorInvalidValue);
}

TEST_F(HipGraph, CapturesIntoAGraphThatIsThere) {
  hipGraphNode_t first;
  NodeParameters fill = fillOf(0, 'a');
  OK(hipGraphAddNode(&first, graph, nullptr, 0, &fill));
  const auto mode = hipStreamCaptureModeGlobal;
  hipGraph_t ended = nullptr, other;
  OK(hipStreamBeginCaptureToGraph(stream, graph, &first, nullptr, 1, mode));
  OK(hipMemsetAsync(bytes + 1, 'b', 1, stream));
  EXPECT_EQ(hipGraphDestroy(graph), hipErrorInvalidValue); // not while it is captured into
  OK(hipStreamEndCapture(stream, &ended));
  EXPECT_EQ(ended, graph);
  size_t edges = 0;
  OK(hipGraphGetEdges(graph, nullptr, nullptr, &edges));
  EXPECT_EQ(edges, 1u);
  EXPECT_EQ(launchedOnce(), "ab..");
  // What goes wrong in the capture does not take the graph along.
  OK(hipStreamBeginCaptureToGraph(stream, graph, nullptr, nullptr, 0, mode));
  EXPECT_EQ(hipStreamSynchronize(stream), hipErrorStreamCaptureUnsupported);
  EXPECT_EQ(hipStreamEndCapture(stream, &ended), hipErrorStreamCaptureInvalidated);
  EXPECT_EQ(launchedOnce(), "ab..");
  OK(hipGraphCreate(&other, 0));
  EXPECT_EQ(hipStreamBeginCaptureToGraph(stream, other, &first, nullptr, 1, mode),
            hipErrorInvalidValue);
  OK(hipGraphDestroy(other));
}

// A stream that has joined may go before the capture ends; one that has not leaves it open.
TEST_F(HipGraph, OutlivesStreamsOfItsCapture) {
  for (bool joins : {true, false}) {
    hipStream_t side;
    hipEvent_t fork, join;
    OK(hipStreamCreate(&side));
    OK(hipEventCreate(&fork));
    OK(hipEventCreate(&join));
    OK(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
    OK(hipMemsetAsync(bytes, 'a', 1, stream));
    OK(hipEventRecord(fork, stream));
    OK(hipStreamWaitEvent(side, fork, 0));
    OK(hipMemsetAsync(bytes + 1, 'b', 1, side));
    OK(hipEventRecord(join, side));
    if (joins)
      OK(hipStreamWaitEvent(stream, join, 0));
    OK(hipStreamDestroy(side));
    OK(hipMemsetAsync(bytes + 2, 'c', 1, stream));
    hipGraph_t captured;
    EXPECT_EQ(hipStreamEndCapture(stream, &captured),
              joins ? hipSuccess : hipErrorStreamCaptureUnjoined);
    if (joins) {
      std::swap(graph, captured);
      EXPECT_EQ(launchedOnce(), "abc.");
      OK(hipGraphDestroy(captured));
    }
    OK(hipEventDestroy(fork));
    OK(hipEventDestroy(join));
  }
}

// The wait of a launch is for what other streams have recorded before it.
TEST_F(HipGraph, WaitsForOtherStreams) {
  hipStream_t other;
  hipEvent_t event;
  hipGraphNode_t wait, host;
  static std::atomic<int> done;
  int seen = -1;
  done = 0;
  OK(hipStreamCreateWithFlags(&other, hipStreamNonBlocking));
  OK(hipEventCreate(&event));
  const hipHostNodeParams look = {[](void *place) { *static_cast<int *>(place) = done; }, &seen};
  OK(hipGraphAddEventWaitNode(&wait, graph, nullptr, 0, event));
  OK(hipGraphAddHostNode(&host, graph, &wait, 1, &look));
  hipGraphExec_t executable = instantiated();
  auto slow = [](void *) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    done = 1;
  };
  OK(hipLaunchHostFunc(other, slow, nullptr));
  OK(hipEventRecord(event, other));
  OK(hipGraphLaunch(executable, stream));
  OK(hipStreamSynchronize(stream));
  EXPECT_EQ(seen, 1);
  OK(hipGraphExecDestroy(executable));
  OK(hipStreamDestroy(other));
  OK(hipEventDestroy(event));
}

// Events that belong to nobody's capture: each launch records them, or waits for them.
TEST_F(HipGraph, RecordsAndWaitsForEventsOfOthers) {
  constexpr unsigned kExternal = 1;
  hipEvent_t recorded, waited;
  OK(hipEventCreate(&recorded));
  OK(hipEventCreate(&waited));
  OK(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
  OK(hipStreamWaitEvent(stream, waited, kExternal));
  OK(hipMemsetAsync(bytes, 'a', 1, stream));
  OK(hipEventRecordWithFlags(recorded, stream, kExternal));
  hipGraph_t captured;
  OK(hipStreamEndCapture(stream, &captured));
  std::swap(graph, captured);
  hipGraphNode_t nodes[3];
  size_t count = 3;
  OK(hipGraphGetNodes(graph, nodes, &count));
  ASSERT_EQ(count, 3u);
  hipEvent_t found;
  OK(hipGraphEventWaitNodeGetEvent(nodes[0], &found));
  EXPECT_EQ(found, waited);
  OK(hipGraphEventRecordNodeGetEvent(nodes[2], &found));
  EXPECT_EQ(found, recorded);
  OK(hipEventRecord(waited, stream));
  EXPECT_EQ(launchedOnce(), "a...");
  float ms = -1;
  OK(hipEventElapsedTime(&ms, waited, recorded));
  EXPECT_GE(ms, 0);
  OK(hipGraphDestroy(captured));
  OK(hipEventDestroy(recorded));
  OK(hipEventDestroy(waited));
}

// Which threads must not allocate is a matter of the capture's mode, and of their own.
TEST_F(HipGraph, CapturesForbidUnsafeCalls) {
  constexpr auto kGlobal = hipStreamCaptureModeGlobal, kLocal = hipStreamCaptureModeThreadLocal,
                 kRelaxed = hipStreamCaptureModeRelaxed;
  for (auto mode : {kGlobal, kLocal, kRelaxed})
    for (auto ownMode : {kGlobal, kLocal, kRelaxed})
      for (const bool isHere : {true, false}) {
        SCOPED_TRACE(testing::Message() << mode << " " << ownMode << " " << isHere);
        const bool isForbidden =
            ownMode != kRelaxed && (isHere ? mode != kRelaxed : mode == kGlobal && ownMode == mode);
        OK(hipStreamBeginCapture(stream, mode));
        void *memory = nullptr;
        auto allocate = [&] {
          auto exchanged = ownMode;
          OK(hipThreadExchangeStreamCaptureMode(&exchanged));
          EXPECT_EQ(exchanged, kGlobal);
          EXPECT_EQ(hipMalloc(&memory, 4),
                    isForbidden ? hipErrorStreamCaptureUnsupported : hipSuccess);
          OK(hipThreadExchangeStreamCaptureMode(&exchanged));
        };
        if (isHere)
          allocate();
        else
          std::thread(allocate).join();
        hipGraph_t captured;
        EXPECT_EQ(hipStreamEndCapture(stream, &captured),
                  isForbidden ? hipErrorStreamCaptureInvalidated : hipSuccess);
        EXPECT_EQ(hipFree(memory), hipSuccess);
        if (!isForbidden)
          OK(hipGraphDestroy(captured));
      }
}

// Whatever the mode.
TEST_F(HipGraph, CapturesAreNotWaitedFor) {
  hipEvent_t event;
  OK(hipEventCreate(&event));
  const std::pair<std::function<hipError_t()>, hipError_t> refused[] = {
      {[] { return hipDeviceSynchronize(); }, hipErrorStreamCaptureUnsupported},
      {[&] { return hipStreamQuery(stream); }, hipErrorStreamCaptureUnsupported},
      {[&] { return hipEventQuery(event); }, hipErrorCapturedEvent},
      {[&] { return hipEventSynchronize(event); }, hipErrorCapturedEvent}};
  hipGraph_t captured;
  for (const auto &[call, error] : refused) {
    OK(hipStreamBeginCapture(stream, hipStreamCaptureModeRelaxed));
    OK(hipEventRecord(event, stream));
    EXPECT_EQ(call(), error);
    EXPECT_EQ(hipStreamEndCapture(stream, &captured), hipErrorStreamCaptureInvalidated);
    EXPECT_EQ(call(), hipSuccess);
  }
  for (auto mode : {hipStreamCaptureModeThreadLocal, hipStreamCaptureModeRelaxed}) {
    OK(hipStreamBeginCapture(stream, mode));
    hipError_t elsewhere;
    std::thread([&] { elsewhere = hipStreamEndCapture(stream, &captured); }).join();
    if (mode == hipStreamCaptureModeThreadLocal) {
      EXPECT_EQ(elsewhere, hipErrorStreamCaptureWrongThread);
      elsewhere = hipStreamEndCapture(stream, &captured);
    }
    ASSERT_EQ(elsewhere, hipSuccess);
    OK(hipGraphDestroy(captured));
  }
  OK(hipEventDestroy(event));
}

// Work of the null stream would come between; what is outside, or in another capture, never comes.
TEST_F(HipGraph, CapturesKeepApart) {
  constexpr auto kMode = hipStreamCaptureModeRelaxed;
  hipStream_t other;
  hipEvent_t mine, outside;
  hipGraph_t captured;
  OK(hipStreamCreateWithFlags(&other, hipStreamNonBlocking));
  OK(hipEventCreate(&mine));
  OK(hipEventCreate(&outside));
  OK(hipEventRecord(outside, other));

  OK(hipStreamBeginCapture(stream, kMode));
  EXPECT_EQ(hipMemsetAsync(bytes, 0, 4, nullptr), hipErrorStreamCaptureImplicit);
  EXPECT_EQ(hipStreamEndCapture(stream, &captured), hipErrorStreamCaptureInvalidated);
  OK(hipStreamBeginCapture(other, kMode)); // which the null stream does not wait for
  OK(hipMemsetAsync(bytes, 0, 4, nullptr));
  OK(hipStreamEndCapture(other, &captured));
  OK(hipGraphDestroy(captured));
  char byte;
  const std::function<hipError_t()> waiting[] = {
      [&] { return hipMemset(bytes, 0, 4); },
      [&] { return hipMemcpy(&byte, bytes, 1, hipMemcpyDeviceToHost); }};
  for (const auto &call : waiting) {
    OK(hipStreamBeginCapture(other, kMode));
    EXPECT_EQ(call(), hipErrorStreamCaptureImplicit);
    EXPECT_EQ(hipStreamEndCapture(other, &captured), hipErrorStreamCaptureInvalidated);
  }

  OK(hipStreamBeginCapture(stream, kMode));
  EXPECT_EQ(hipStreamWaitEvent(stream, outside, 0), hipErrorStreamCaptureIsolation);
  OK(hipStreamBeginCapture(other, kMode));
  OK(hipEventRecord(mine, stream));
  EXPECT_EQ(hipStreamWaitEvent(other, mine, 0), hipErrorStreamCaptureMerge);
  EXPECT_EQ(hipStreamWaitEvent(nullptr, mine, 0), hipErrorStreamCaptureImplicit);
  for (hipStream_t one : {stream, other}) {
    OK(hipStreamEndCapture(one, &captured));
    OK(hipGraphDestroy(captured));
  }
  OK(hipStreamWaitEvent(other, mine, 0)); // it stands for nothing any more
  OK(hipStreamSynchronize(other));
  OK(hipStreamDestroy(other));
  OK(hipEventDestroy(mine));
  OK(hipEventDestroy(outside));
}

TEST_F(HipGraph, IsUpdatedByGraphsOfItsShape) {
  NodeParameters fill = fillOf(0, 'a');
  hipGraphNode_t node, none;
  OK(hipGraphAddNode(&node, graph, nullptr, 0, &fill));
  hipGraphExec_t executable = instantiated();
  hipGraph_t other;
  hipGraphExecUpdateResult why;
  OK(hipGraphCreate(&other, 0));
  EXPECT_EQ(hipGraphExecUpdate(executable, other, &none, &why), hipErrorGraphExecUpdateFailure);
  EXPECT_EQ(why, hipGraphExecUpdateErrorTopologyChanged);
  OK(hipGraphAddEmptyNode(&node, other, nullptr, 0));
  EXPECT_EQ(hipGraphExecUpdate(executable, other, &none, &why), hipErrorGraphExecUpdateFailure);
  EXPECT_EQ(why, hipGraphExecUpdateErrorNodeTypeChanged);
  EXPECT_EQ(none, node);
  EXPECT_EQ(launched(executable), "a...");
  OK(hipGraphDestroyNode(node));
  fill = fillOf(1, 'b');
  OK(hipGraphAddNode(&node, other, nullptr, 0, &fill));
  OK(hipGraphExecUpdate(executable, other, &none, &why));
  EXPECT_EQ(why, hipGraphExecUpdateSuccess);
  EXPECT_EQ(launched(executable), ".b..");
  OK(hipGraphExecDestroy(executable));
  OK(hipGraphDestroy(other));
}

TEST_F(HipGraph, IsCapturedOnTheThreadsOwnStream) {
  OK(hipStreamBeginCapture_spt(nullptr, hipStreamCaptureModeThreadLocal));
  OK(hipMemsetAsync_spt(bytes, 'a', 4, nullptr));
  hipGraph_t captured;
  OK(hipStreamEndCapture_spt(nullptr, &captured));
  std::swap(graph, captured);
  hipGraphExec_t executable = instantiated();
  OK(hipGraphLaunch_spt(executable, nullptr));
  OK(hipStreamSynchronize_spt(nullptr));
  char last = 0;
  OK(hipMemcpy(&last, bytes + 3, 1, hipMemcpyDeviceToHost));
  EXPECT_EQ(last, 'a');
  OK(hipGraphExecDestroy(executable));
  OK(hipGraphDestroy(captured));
}

TEST(HipNames, ConvertHalvesOfTheHost) {
  EXPECT_EQ(__gnu_h2f_ieee(0x3e00), 1.5f);
  EXPECT_EQ(__gnu_h2f_ieee(0x0001), 0x1p-24f);
  EXPECT_EQ(__gnu_f2h_ieee(1.5f), 0x3e00);
  EXPECT_EQ(__gnu_f2h_ieee(1.0f + 0x1p-11f), 0x3c00); // to even
  EXPECT_EQ(__gnu_f2h_ieee(65520.0f), 0x7c00);
}

TEST(HipNames, AreThoseOfTheCallersVersion) {
  auto found = [](const char *name, int version) {
    void *function = nullptr;
    EXPECT_EQ(hipGetProcAddress(name, &function, version, 0, nullptr), hipSuccess);
    return function;
  };
  for (const char *name : {"hipGetDeviceProperties", "hipChooseDevice"}) {
    EXPECT_EQ(found(name, 502), dlsym(RTLD_DEFAULT, name));
    EXPECT_EQ(found(name, 602), dlsym(RTLD_DEFAULT, (std::string(name) + "R0600").c_str()));
  }
  EXPECT_EQ(found("hipMalloc", 602), dlsym(RTLD_DEFAULT, "hipMalloc"));
  int status = 7;
  void *function;
  EXPECT_EQ(hipGetProcAddress("hipNoSuchThing", &function, 602, 0, &status), hipErrorInvalidValue);
  EXPECT_EQ(status, 1);
}

} // namespace
