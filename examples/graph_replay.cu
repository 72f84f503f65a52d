// SPDX-License-Identifier: Apache-2.0
// Work that is recorded once and launched many times: captured from two streams that fork and join,
// with memory that the graph allocates for itself; built node by node, with a host function and a
// graph inside; and changed between launches.

#include "Check.h"
#include <cstring>

constexpr int kCount = 4096, kLaunches = 5;

__global__ void scale(float *out, const float *in, float factor, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    out[i] = in[i] * factor;
}

__global__ void accumulate(float *sum, const float *a, const float *b, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    sum[i] += a[i] + b[i];
}

constexpr int kBlock = 256, kGrid = (kCount + kBlock - 1) / kBlock;
constexpr size_t kBytes = kCount * sizeof(float);

// sum += first * x + second * x, the two products in streams of their own.
static cudaGraph_t captureSum(float *sum, const float *x, float first, float second) {
  cudaStream_t main, side;
  cudaEvent_t fork, join;
  CHECK(cudaStreamCreateWithFlags(&main, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking));
  CHECK(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
  CHECK(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));

  CHECK(cudaStreamBeginCapture(main, cudaStreamCaptureModeThreadLocal));
  float *a, *b;
  CHECK(cudaMallocAsync(&a, kBytes, main));
  CHECK(cudaMallocAsync(&b, kBytes, main));
  CHECK(cudaEventRecord(fork, main));
  CHECK(cudaStreamWaitEvent(side, fork, 0));
  scale<<<kGrid, kBlock, 0, main>>>(a, x, first, kCount);
  scale<<<kGrid, kBlock, 0, side>>>(b, x, second, kCount);
  CHECK(cudaEventRecord(join, side));
  CHECK(cudaStreamWaitEvent(main, join, 0));
  accumulate<<<kGrid, kBlock, 0, main>>>(sum, a, b, kCount);
  CHECK(cudaFreeAsync(a, main));
  CHECK(cudaFreeAsync(b, main));
  cudaStreamCaptureStatus status;
  CHECK(cudaStreamIsCapturing(side, &status));
  if (status != cudaStreamCaptureStatusActive)
    fail("capture of the other stream", 0, cudaStreamCaptureStatusActive, status);
  cudaGraph_t graph;
  CHECK(cudaStreamEndCapture(main, &graph));

  CHECK(cudaEventDestroy(fork));
  CHECK(cudaEventDestroy(join));
  CHECK(cudaStreamDestroy(side));
  CHECK(cudaStreamDestroy(main));
  return graph;
}

static void captured() {
  std::vector<float> x(kCount), expected(kCount);
  for (int i = 0; i < kCount; ++i) {
    x[i] = uniform(i);
    for (int launch = 0; launch < kLaunches; ++launch)
      expected[i] += x[i] * 0.5f + x[i] * 0.25f;
  }
  float *deviceX = upload(x), *sum = upload(std::vector<float>(kCount));
  cudaGraph_t graph = captureSum(sum, deviceX, 0.5f, 0.25f);
  size_t nodes = 0;
  CHECK(cudaGraphGetNodes(graph, nullptr, &nodes));
  if (nodes != 7)
    fail("nodes of the captured graph", 0, 7, double(nodes));
  cudaGraphExec_t executable;
  CHECK(cudaGraphInstantiate(&executable, graph, 0));
  CHECK(cudaGraphDestroy(graph));
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  for (int launch = 0; launch < kLaunches; ++launch)
    CHECK(cudaGraphLaunch(executable, stream));
  CHECK(cudaStreamSynchronize(stream));
  expectEqual("sum of a captured graph", download(sum, kCount), expected);
  CHECK(cudaGraphExecDestroy(executable));
  CHECK(cudaStreamDestroy(stream));
  CHECK(cudaFree(deviceX));
  CHECK(cudaFree(sum));
}

static void count(void *data) { ++*static_cast<int *>(data); }

static cudaGraphNode_t addScale(cudaGraph_t graph, const std::vector<cudaGraphNode_t> &after,
                                float *out, const float *in, float factor) {
  int n = kCount;
  void *arguments[] = {&out, &in, &factor, &n};
  cudaKernelNodeParams parameters{};
  parameters.func = reinterpret_cast<void *>(scale);
  parameters.gridDim = dim3(kGrid);
  parameters.blockDim = dim3(kBlock);
  parameters.kernelParams = arguments;
  cudaGraphNode_t node;
  CHECK(cudaGraphAddKernelNode(&node, graph, after.data(), after.size(), &parameters));
  return node;
}

// Copy in, scale in a graph inside, count, copy out; then with other factors.
static void built() {
  std::vector<float> in(kCount), out(kCount), expected(kCount);
  for (int i = 0; i < kCount; ++i)
    in[i] = uniform(i + kCount);
  float *a = upload(out), *b = upload(out);
  int launches = 0;

  cudaGraph_t inner, graph;
  CHECK(cudaGraphCreate(&inner, 0));
  cudaGraphNode_t first = addScale(inner, {}, b, a, 3.0f);
  addScale(inner, {first}, b, b, 2.0f);
  CHECK(cudaGraphCreate(&graph, 0));
  cudaGraphNode_t copyIn, child, host, copyOut;
  CHECK(cudaGraphAddMemcpyNode1D(&copyIn, graph, nullptr, 0, a, in.data(), kBytes,
                                 cudaMemcpyHostToDevice));
  CHECK(cudaGraphAddChildGraphNode(&child, graph, &copyIn, 1, inner));
  cudaHostNodeParams counting{count, &launches};
  CHECK(cudaGraphAddHostNode(&host, graph, &child, 1, &counting));
  CHECK(cudaGraphAddMemcpyNode1D(&copyOut, graph, &host, 1, out.data(), b, kBytes,
                                 cudaMemcpyDeviceToHost));
  cudaGraphExec_t executable;
  CHECK(cudaGraphInstantiate(&executable, graph, 0));
  auto check = [&](const char *what, float factor) {
    CHECK(cudaGraphLaunch(executable, 0));
    CHECK(cudaStreamSynchronize(0));
    for (int i = 0; i < kCount; ++i)
      expected[i] = in[i] * factor;
    expectEqual(what, out, expected);
  };
  check("built graph", 6.0f);
  in[7] = 100.0f; // the copies are those of the launch
  check("built graph with other data", 6.0f);

  // Another graph of the same shape takes the place of the old one.
  cudaGraph_t otherInner, other;
  CHECK(cudaGraphCreate(&otherInner, 0));
  first = addScale(otherInner, {}, b, a, 0.5f);
  addScale(otherInner, {first}, b, b, 0.25f);
  CHECK(cudaGraphClone(&other, graph));
  cudaGraphNode_t otherChild;
  CHECK(cudaGraphNodeFindInClone(&otherChild, child, other));
  CHECK(cudaGraphExecChildGraphNodeSetParams(executable, child, otherInner));
  check("graph whose inner one was changed", 0.125f);
  cudaGraphExecUpdateResultInfo result;
  CHECK(cudaGraphExecUpdate(executable, other, &result));
  check("updated graph", 6.0f);
  CHECK(cudaGraphNodeSetEnabled(executable, copyOut, 0));
  memset(out.data(), 0, kBytes);
  CHECK(cudaGraphLaunch(executable, 0));
  CHECK(cudaStreamSynchronize(0));
  expectEqual("graph without its last copy", out, std::vector<float>(kCount));
  if (launches != 5)
    fail("launches that the host counted", 0, 5, launches);

  for (cudaGraph_t each : {inner, graph, otherInner, other})
    CHECK(cudaGraphDestroy(each));
  CHECK(cudaGraphExecDestroy(executable));
  CHECK(cudaFree(a));
  CHECK(cudaFree(b));
}

// What a capture forbids ends it, with CUDA's errors.
static void refused() {
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  cudaError_t error = cudaStreamSynchronize(stream);
  if (error != cudaErrorStreamCaptureUnsupported)
    fail("waiting for a captured stream", 0, cudaErrorStreamCaptureUnsupported, error);
  cudaGraph_t graph;
  error = cudaStreamEndCapture(stream, &graph);
  if (error != cudaErrorStreamCaptureInvalidated)
    fail("the end of an invalid capture", 0, cudaErrorStreamCaptureInvalidated, error);
  (void)cudaGetLastError();
  CHECK(cudaStreamDestroy(stream));
}

int main() {
  captured();
  built();
  refused();
  return pass("graph_replay");
}
