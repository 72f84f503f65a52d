// SPDX-License-Identifier: Apache-2.0
// RUN: env RUBIA_ARCH=gfx1030 %hiplib %each-version %programs/graph | FileCheck %s
// RUN: env RUBIA_ARCH=gfx90a %hiplib %each-version %programs/graph | FileCheck %s
#include "Inputs/check.h"
#include <unistd.h>
#include <vector>

__global__ void add(int *data, int n, int value) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    data[i] += value;
}

static int hostCalls = 0;
static void count(void *by) { hostCalls += *static_cast<int *>(by); }

static const int n = 1000;

static void expectAll(const int *data, int value) {
  for (int i = 0; i < n; ++i)
    EXPECT(data[i] == value);
}

// n words of a fill, as the program's version of HIP has them: HIP 7 has another order.
struct Fill {
  Fill(int *memory, unsigned value) {
    if (version() >= 70000000)
      since7 = {memory, 0, value, 4, size_t(n), 1};
    else
      before7 = {memory, 4, 1, 0, value, size_t(n)};
  }
  operator hipMemsetParams *() { return &before7; }
  static int version() {
    int number;
    CHECK(hipRuntimeGetVersion(&number));
    return number;
  }
  unsigned value() const { return version() >= 70000000 ? since7.value : before7.value; }
  union {
    hipMemsetParams before7;
    struct {
      void *memory;
      size_t pitch;
      unsigned value, elementBytes;
      size_t width, height;
    } since7;
  };
};

// memset -> kernel -> copy, and a host function beside them.
static void explicitGraph(int *device, int *host) {
  hipGraph_t graph;
  CHECK(hipGraphCreate(&graph, 0));
  hipGraphNode_t fillNode, kernelNode, copyNode, hostNode;
  CHECK(hipGraphAddMemsetNode(&fillNode, graph, nullptr, 0, Fill(device, 7)));
  int value = 10, count1 = n;
  void *arguments[] = {&device, &count1, &value};
  hipKernelNodeParams kernel = {};
  kernel.func = reinterpret_cast<void *>(add);
  kernel.gridDim = dim3((n + 127) / 128);
  kernel.blockDim = dim3(128);
  kernel.kernelParams = arguments;
  CHECK(hipGraphAddKernelNode(&kernelNode, graph, &fillNode, 1, &kernel));
  CHECK(hipGraphAddMemcpyNode1D(&copyNode, graph, nullptr, 0, host, device, n * sizeof(int),
                                hipMemcpyDeviceToHost));
  CHECK(hipGraphAddDependencies(graph, &kernelNode, &copyNode, 1));
  int one = 1;
  hipHostNodeParams function = {count, &one};
  CHECK(hipGraphAddHostNode(&hostNode, graph, nullptr, 0, &function));

  size_t nodes = 0, roots = 0, edges = 0;
  CHECK(hipGraphGetNodes(graph, nullptr, &nodes));
  CHECK(hipGraphGetRootNodes(graph, nullptr, &roots));
  CHECK(hipGraphGetEdges(graph, nullptr, nullptr, &edges));
  EXPECT(nodes == 4 && roots == 2 && edges == 2);
  hipKernelNodeParams read;
  CHECK(hipGraphKernelNodeGetParams(kernelNode, &read));
  EXPECT(read.blockDim.x == 128 && *static_cast<int *>(read.kernelParams[2]) == 10);

  hipGraphExec_t executable;
  CHECK(hipGraphInstantiate(&executable, graph, nullptr, nullptr, 0));
  hipStream_t stream;
  CHECK(hipStreamCreate(&stream));
  for (int run = 0; run < 3; ++run) {
    CHECK(hipGraphLaunch(executable, stream));
    CHECK(hipStreamSynchronize(stream));
    expectAll(host, 17);
  }
  EXPECT(hostCalls == 3);

  // Another value in the instantiated graph only.
  value = 30;
  CHECK(hipGraphExecKernelNodeSetParams(executable, kernelNode, &kernel));
  CHECK(hipGraphLaunch(executable, stream));
  CHECK(hipStreamSynchronize(stream));
  expectAll(host, 37);

  // Another fill, there and in the graph.
  CHECK(hipGraphExecMemsetNodeSetParams(executable, fillNode, Fill(device, 1)));
  CHECK(hipGraphLaunch(executable, stream));
  CHECK(hipStreamSynchronize(stream));
  expectAll(host, 31);
  Fill told(nullptr, 0);
  CHECK(hipGraphMemsetNodeSetParams(fillNode, Fill(device, 5)));
  CHECK(hipGraphMemsetNodeGetParams(fillNode, told));
  EXPECT(told.value() == 5);

  // A cycle cannot be instantiated.
  CHECK(hipGraphAddDependencies(graph, &copyNode, &fillNode, 1));
  hipGraphExec_t none;
  EXPECT(hipGraphInstantiate(&none, graph, nullptr, nullptr, 0) == hipErrorInvalidValue);
  CHECK(hipGraphExecDestroy(executable));
  CHECK(hipGraphDestroy(graph));
  CHECK(hipStreamDestroy(stream));
}

// Two streams that fork and join become a graph.
static void capturedGraph(int *device, int *host) {
  hipStream_t stream, side;
  hipEvent_t fork, join;
  CHECK(hipStreamCreate(&stream));
  CHECK(hipStreamCreate(&side));
  CHECK(hipEventCreate(&fork));
  CHECK(hipEventCreate(&join));
  for (int i = 0; i < n; ++i)
    host[i] = -1;

  CHECK(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
  CHECK(hipMemsetAsync(device, 0, 2 * n * sizeof(int), stream));
  CHECK(hipEventRecord(fork, stream));
  CHECK(hipStreamWaitEvent(side, fork, 0));
  add<<<8, 128, 0, stream>>>(device, n, 1);
  add<<<8, 128, 0, side>>>(device + n, n, 2);
  CHECK(hipEventRecord(join, side));
  CHECK(hipStreamWaitEvent(stream, join, 0));
  CHECK(hipMemcpyAsync(host, device + n, n * sizeof(int), hipMemcpyDeviceToHost, stream));
  hipStreamCaptureStatus status;
  CHECK(hipStreamIsCapturing(side, &status));
  EXPECT(status == hipStreamCaptureStatusActive);
  hipGraph_t graph;
  CHECK(hipStreamEndCapture(stream, &graph));
  CHECK(hipStreamIsCapturing(side, &status));
  EXPECT(status == hipStreamCaptureStatusNone);
  expectAll(host, -1); // nothing has run

  size_t nodes = 0, edges = 0;
  CHECK(hipGraphGetNodes(graph, nullptr, &nodes));
  CHECK(hipGraphGetEdges(graph, nullptr, nullptr, &edges));
  EXPECT(nodes == 4 && edges == 4);
  hipGraphExec_t executable;
  CHECK(hipGraphInstantiateWithFlags(&executable, graph, 0));
  CHECK(hipGraphDestroy(graph));
  CHECK(hipGraphLaunch(executable, stream));
  CHECK(hipStreamSynchronize(stream));
  expectAll(host, 2);
  CHECK(hipGraphExecDestroy(executable));

  // A side stream that is not joined, and a wait for a stream that is being captured.
  CHECK(hipStreamBeginCapture(stream, hipStreamCaptureModeRelaxed));
  CHECK(hipEventRecord(fork, stream));
  CHECK(hipStreamWaitEvent(side, fork, 0));
  add<<<8, 128, 0, side>>>(device, n, 1);
  EXPECT(hipStreamEndCapture(side, &graph) == hipErrorStreamCaptureUnmatched);
  EXPECT(hipStreamEndCapture(stream, &graph) == hipErrorStreamCaptureUnjoined);
  CHECK(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
  EXPECT(hipStreamSynchronize(stream) == hipErrorStreamCaptureUnsupported);
  EXPECT(hipStreamEndCapture(stream, &graph) == hipErrorStreamCaptureInvalidated);
  EXPECT(hipStreamEndCapture(stream, &graph) == hipErrorIllegalState);
}

static void sleepThenCount(void *by) {
  usleep(50000);
  count(by);
}

// Events are those of the launch: a wait is for what was recorded before it, a record is done when
// its node is.
static void eventNodes() {
  hipStream_t stream;
  hipEvent_t event;
  CHECK(hipStreamCreate(&stream));
  CHECK(hipEventCreate(&event));
  hipGraph_t graph;
  hipGraphNode_t first, second;
  int hundred = 100;
  hipHostNodeParams slow = {sleepThenCount, &hundred};
  hipGraphExec_t executable;
  CHECK(hipGraphCreate(&graph, 0));
  CHECK(hipGraphAddEventWaitNode(&first, graph, nullptr, 0, event));
  CHECK(hipGraphAddHostNode(&second, graph, &first, 1, &slow));
  CHECK(hipGraphAddEventRecordNode(&first, graph, &second, 1, event));
  CHECK(hipGraphInstantiate(&executable, graph, nullptr, nullptr, 0));
  const int before = hostCalls;
  CHECK(hipGraphLaunch(executable, stream)); // the event was never recorded
  EXPECT(hipEventQuery(event) == hipErrorNotReady);
  CHECK(hipGraphLaunch(executable, stream)); // waits for the first launch
  CHECK(hipEventRecord(event, stream));
  CHECK(hipEventSynchronize(event));
  EXPECT(hostCalls == before + 200);
  CHECK(hipGraphLaunch(executable, stream));
  CHECK(hipEventSynchronize(event));
  EXPECT(hostCalls == before + 300);
  CHECK(hipGraphExecDestroy(executable));
  CHECK(hipGraphDestroy(graph));
  CHECK(hipStreamDestroy(stream));
}

// A stream that is destroyed while it is captured takes its capture with it.
static void destroyedStream() {
  hipStream_t stream, side;
  hipEvent_t fork;
  CHECK(hipStreamCreate(&side));
  CHECK(hipEventCreate(&fork));
  for (int i = 0; i < 4; ++i) {
    CHECK(hipStreamCreate(&stream));
    hipStreamCaptureStatus status;
    CHECK(hipStreamIsCapturing(stream, &status));
    EXPECT(status == hipStreamCaptureStatusNone);
    CHECK(hipStreamBeginCapture(stream, hipStreamCaptureModeRelaxed));
    CHECK(hipEventRecord(fork, stream));
    CHECK(hipStreamWaitEvent(side, fork, 0));
    CHECK(hipStreamDestroy(stream));
    CHECK(hipStreamIsCapturing(side, &status));
    EXPECT(status == hipStreamCaptureStatusNone);
  }
}

// Memory of malloc in a captured copy is what the launch finds there.
static void pageableMemory(int *device) {
  std::vector<int> from(n, 3), to(n);
  hipStream_t stream;
  hipGraph_t graph;
  hipGraphExec_t executable;
  CHECK(hipStreamCreate(&stream));
  CHECK(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
  CHECK(hipMemcpyAsync(device, from.data(), n * sizeof(int), hipMemcpyHostToDevice, stream));
  add<<<8, 128, 0, stream>>>(device, n, 1);
  CHECK(hipMemcpy2DAsync(to.data(), 4, device, 4, 4, n, hipMemcpyDeviceToHost, stream));
  CHECK(hipStreamEndCapture(stream, &graph));
  CHECK(hipGraphInstantiateWithFlags(&executable, graph, 1 | 2 | 8)); // nothing to do for them
  for (int i = 0; i < 2; ++i) {
    from.assign(n, 10 * i);
    CHECK(hipGraphLaunch(executable, stream));
    CHECK(hipStreamSynchronize(stream));
    expectAll(to.data(), 10 * i + 1);
  }
  CHECK(hipGraphExecDestroy(executable));
  CHECK(hipGraphDestroy(graph));
  CHECK(hipStreamDestroy(stream));
}

// What has no node is refused and leaves the capture as it is.
static void notCaptured(int *device) {
  hipStream_t stream;
  hipGraph_t graph;
  int *ordered, *freed;
  CHECK(hipStreamCreate(&stream));
  CHECK(hipMallocAsync(&freed, 4, stream));
  CHECK(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
  EXPECT(hipMallocAsync(&ordered, 4, stream) == hipErrorNotSupported);
  EXPECT(hipFreeAsync(freed, stream) == hipErrorNotSupported);
  EXPECT(hipStreamWriteValue32(stream, device, 1, 0) == hipErrorNotSupported);
  EXPECT(hipStreamWaitValue32(stream, device, 1, 0, ~0u) == hipErrorNotSupported);
  EXPECT(hipGetLastError() == hipErrorNotSupported);
  CHECK(hipStreamEndCapture(stream, &graph));
  size_t nodes = 1;
  CHECK(hipGraphGetNodes(graph, nullptr, &nodes));
  EXPECT(nodes == 0);
  CHECK(hipGraphDestroy(graph));
  CHECK(hipFreeAsync(freed, stream));
  CHECK(hipStreamDestroy(stream));
}

// A program adds a node of its own to the graph that is being captured.
static void nodeInCapture(int *device, int *host) {
  hipStream_t stream;
  CHECK(hipStreamCreate(&stream));
  CHECK(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
  CHECK(hipMemsetAsync(device, 0, n * sizeof(int), stream));
  hipStreamCaptureStatus status;
  unsigned long long id;
  hipGraph_t graph, ended;
  const hipGraphNode_t *tail;
  size_t tails = 0;
  CHECK(hipStreamGetCaptureInfo_v2(stream, &status, &id, &graph, &tail, &tails));
  EXPECT(tails == 1);
  EXPECT(hipGraphDestroyNode(*tail) == hipErrorIllegalState);
  EXPECT(hipGraphDestroy(graph) == hipErrorInvalidValue);
  hipGraphNode_t own;
  CHECK(hipGraphAddMemsetNode(&own, graph, tail, tails, Fill(device, 7)));
  CHECK(hipStreamUpdateCaptureDependencies(stream, &own, 1, hipStreamSetCaptureDependencies));
  CHECK(hipMemcpyAsync(host, device, n * sizeof(int), hipMemcpyDeviceToHost, stream));
  CHECK(hipStreamEndCapture(stream, &ended));
  EXPECT(ended == graph);
  hipGraphExec_t executable;
  CHECK(hipGraphInstantiate(&executable, graph, nullptr, nullptr, 0));
  CHECK(hipGraphLaunch(executable, stream));
  CHECK(hipStreamSynchronize(stream));
  expectAll(host, 7);
  CHECK(hipGraphExecDestroy(executable));
  CHECK(hipGraphDestroy(graph));
  CHECK(hipStreamDestroy(stream));
}

// HIP 6 numbers the types of nodes anew.
static void nodeTypes(int *device, int *host) {
  const bool isOld = Fill::version() < 60000000;
  hipGraph_t graph;
  hipGraphNode_t empty, copy, event;
  hipEvent_t recorded;
  hipGraphNodeType type;
  CHECK(hipEventCreate(&recorded));
  CHECK(hipGraphCreate(&graph, 0));
  auto number = [&](hipGraphNode_t node) {
    CHECK(hipGraphNodeGetType(node, &type));
    return int(type);
  };
  CHECK(hipGraphAddEmptyNode(&empty, graph, nullptr, 0));
  CHECK(hipGraphAddEventRecordNode(&event, graph, nullptr, 0, recorded));
  CHECK(hipGraphAddMemcpyNode1D(&copy, graph, nullptr, 0, host, device, 4, hipMemcpyDeviceToHost));
  EXPECT(number(empty) == (isOld ? 6 : 5));
  EXPECT(number(event) == (isOld ? 8 : 7));
  EXPECT(number(copy) == (isOld ? 9 : 1));
  hipMemcpy3DParms read;
  // Since then a copy of one dimension is changed like others.
  const hipError_t expected = isOld ? hipErrorInvalidValue : hipSuccess;
  EXPECT(hipGraphMemcpyNodeGetParams(copy, &read) == expected);
  if (!isOld)
    CHECK(hipGraphMemcpyNodeSetParams(copy, &read));
  CHECK(hipGraphDestroy(graph));
}

int main() {
  int *device, *host;
  CHECK(hipMalloc(&device, 2 * n * sizeof(int)));
  CHECK(hipHostMalloc(&host, n * sizeof(int), 0));
  explicitGraph(device, host);
  capturedGraph(device, host);
  eventNodes();
  destroyedStream();
  pageableMemory(device);
  notCaptured(device);
  nodeInCapture(device, host);
  nodeTypes(device, host);
  // CHECK: PASS
  printf("PASS\n");
}
