// SPDX-License-Identifier: Apache-2.0
// Graphs whose kernels set the conditions of their nodes. Prints what an NVIDIA GPU and Rubia must
// have in common.
#include <cstdio>
#include <cuda_runtime.h>

#define OK(call)                                                                                   \
  if (cudaError_t error = (call)) {                                                                \
    printf("%s: %d\n", #call, error);                                                              \
    return;                                                                                        \
  }

__global__ void countDown(int *counter, int *turns, cudaGraphConditionalHandle handle) {
  ++*turns;
  cudaGraphSetConditional(handle, --*counter > 0);
}
__global__ void set(cudaGraphConditionalHandle handle, unsigned value) {
  cudaGraphSetConditional(handle, value);
}
__global__ void add(int *to, int value) { *to += value; }

struct Test {
  int *words; // 8, managed
  cudaStream_t stream;
  cudaGraph_t graph;

  explicit Test(const char *name) {
    printf("%s\n", name);
    cudaMallocManaged(&words, 64);
    for (int i = 0; i < 8; ++i)
      words[i] = 0;
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    cudaGraphCreate(&graph, 0);
  }
  void run(int times = 1) {
    cudaGraphExec_t executable;
    OK(cudaGraphInstantiate(&executable, graph, 0));
    for (int i = 0; i < times; ++i)
      OK(cudaGraphLaunch(executable, stream));
    say();
    cudaGraphExecDestroy(executable);
  }
  void say() {
    cudaError_t error = cudaStreamSynchronize(stream);
    printf("  %d:", error);
    for (int i = 0; i < 8; ++i)
      printf(" %d", words[i]);
    printf("\n");
  }
};

cudaGraphConditionalHandle makeHandle(cudaGraph_t graph, unsigned value, unsigned flags) {
  cudaGraphConditionalHandle handle = 0;
  cudaGraphConditionalHandleCreate(&handle, graph, value, flags);
  return handle;
}

// The node and its bodies.
cudaGraphNode_t addConditional(cudaGraph_t graph, cudaGraphNode_t after,
                               cudaGraphConditionalHandle handle, cudaGraphConditionalNodeType type,
                               unsigned size, cudaGraph_t *bodies) {
  cudaGraphNodeParams p = {};
  p.type = cudaGraphNodeTypeConditional;
  p.conditional.handle = handle;
  p.conditional.type = type;
  p.conditional.size = size;
  cudaGraphNode_t node = nullptr;
  if (cudaError_t error = cudaGraphAddNode(&node, graph, after ? &after : nullptr, nullptr,
                                           after ? 1 : 0, &p))
    printf("cudaGraphAddNode: %d\n", error);
  for (unsigned i = 0; node && i < size; ++i)
    bodies[i] = p.conditional.phGraph_out[i];
  return node;
}

template <class... Parameters, class... Arguments>
cudaGraphNode_t addKernel(cudaGraph_t graph, cudaGraphNode_t after, void (*kernel)(Parameters...),
                          Arguments... arguments) {
  cudaGraphNode_t node = nullptr;
  auto with = [&](Parameters... values) {
    void *list[] = {&values...};
    cudaKernelNodeParams p = {};
    p.func = reinterpret_cast<void *>(kernel);
    p.gridDim = p.blockDim = dim3(1);
    p.kernelParams = list;
    if (cudaError_t error =
            cudaGraphAddKernelNode(&node, graph, after ? &after : nullptr, after ? 1 : 0, &p))
      printf("cudaGraphAddKernelNode: %d\n", error);
  };
  with(arguments...);
  return node;
}

void loops() {
  Test t("while");
  t.words[0] = 5;
  auto handle = makeHandle(t.graph, 1, cudaGraphCondAssignDefault);
  cudaGraph_t body;
  auto node = addConditional(t.graph, nullptr, handle, cudaGraphCondTypeWhile, 1, &body);
  addKernel(body, nullptr, countDown, t.words, t.words + 1, handle);
  addKernel(t.graph, node, add, t.words + 2, 1);
  t.run();
  t.words[0] = 3;
  t.run(2); // the second launch goes round once: the counter is below 0
}

void choices() {
  Test t("if and switch");
  auto condition = makeHandle(t.graph, 0, cudaGraphCondAssignDefault);
  auto number = makeHandle(t.graph, 0, 0);
  cudaGraph_t bodies[3], cases[3];
  auto first = addKernel(t.graph, nullptr, set, condition, 1u);
  auto node = addConditional(t.graph, first, condition, cudaGraphCondTypeIf, 2, bodies);
  addKernel(bodies[0], nullptr, add, t.words, 1);
  addKernel(bodies[1], nullptr, add, t.words + 1, 1);
  auto second = addKernel(t.graph, node, set, number, 2u);
  auto last = addConditional(t.graph, second, number, cudaGraphCondTypeSwitch, 3, cases);
  for (int i = 0; i < 3; ++i)
    addKernel(cases[i], nullptr, add, t.words + 2 + i, 1);
  auto third = addKernel(t.graph, last, set, condition, 0u);
  addKernel(t.graph, third, add, t.words + 5, 1);
  t.run(3);
}

// An inner loop whose condition is set by the outer one's body before it.
void nested() {
  Test t("while in while");
  auto outer = makeHandle(t.graph, 1, cudaGraphCondAssignDefault);
  auto inner = makeHandle(t.graph, 0, cudaGraphCondAssignDefault);
  t.words[0] = 3;
  cudaGraph_t body, innerBody;
  auto node = addConditional(t.graph, nullptr, outer, cudaGraphCondTypeWhile, 1, &body);
  auto first = addKernel(body, nullptr, set, inner, 1u);
  first = addKernel(body, first, add, t.words + 2, 4);
  auto innerNode = addConditional(body, first, inner, cudaGraphCondTypeWhile, 1, &innerBody);
  addKernel(innerBody, nullptr, countDown, t.words + 2, t.words + 3, inner);
  addKernel(body, innerNode, countDown, t.words, t.words + 1, outer);
  addKernel(t.graph, node, add, t.words + 4, 1);
  t.run();
}

// When a handle that was made for a body gets its default value.
void defaults() {
  Test t("default of a body's handle");
  auto outer = makeHandle(t.graph, 1, cudaGraphCondAssignDefault);
  t.words[0] = 3;
  cudaGraph_t body, innerBody;
  addConditional(t.graph, nullptr, outer, cudaGraphCondTypeWhile, 1, &body);
  auto inner = makeHandle(body, 1, cudaGraphCondAssignDefault);
  auto innerNode = addConditional(body, nullptr, inner, cudaGraphCondTypeIf, 1, &innerBody);
  auto last = addKernel(innerBody, nullptr, add, t.words + 2, 1);
  addKernel(innerBody, last, set, inner, 0u);
  addKernel(body, innerNode, countDown, t.words, t.words + 1, outer);
  t.run();
  t.words[0] = 3;
  t.run(2);
}

// A handle without a default keeps its value from launch to launch.
void kept() {
  Test t("no default");
  auto handle = makeHandle(t.graph, 1, 0);
  cudaGraph_t body;
  auto first = addKernel(t.graph, nullptr, add, t.words, 1);
  auto node = addConditional(t.graph, first, handle, cudaGraphCondTypeIf, 1, &body);
  addKernel(body, nullptr, add, t.words + 1, 1);
  addKernel(t.graph, node, set, handle, 1u);
  cudaGraphExec_t executable;
  OK(cudaGraphInstantiate(&executable, t.graph, 0));
  OK(cudaGraphLaunch(executable, t.stream));
  OK(cudaStreamSynchronize(t.stream));
  const int before = t.words[1];
  OK(cudaGraphLaunch(executable, t.stream));
  OK(cudaStreamSynchronize(t.stream));
  printf("  second launch: %d\n", t.words[1] - before);
}

// Branches beside the loop do not wait for it, and a launch does not wait for anything.
void beside() {
  Test t("beside a loop");
  auto handle = makeHandle(t.graph, 1, cudaGraphCondAssignDefault);
  t.words[0] = 50;
  cudaGraph_t body;
  auto node = addConditional(t.graph, nullptr, handle, cudaGraphCondTypeWhile, 1, &body);
  addKernel(body, nullptr, countDown, t.words, t.words + 1, handle);
  auto other = addKernel(t.graph, nullptr, add, t.words + 2, 1);
  cudaGraphNode_t both[] = {node, other};
  cudaGraphNode_t last = addKernel(t.graph, nullptr, add, t.words + 3, 1);
  cudaGraphNode_t twice[] = {last, last};
  OK(cudaGraphAddDependencies(t.graph, both, twice, nullptr, 2));
  cudaGraphExec_t executable;
  OK(cudaGraphInstantiate(&executable, t.graph, 0));
  OK(cudaGraphLaunch(executable, t.stream));
  OK(cudaGraphExecDestroy(executable)); // the launch goes on
  add<<<1, 1, 0, t.stream>>>(t.words + 4, 1);
  t.say();
}

int main() {
  loops();
  choices();
  nested();
  defaults();
  kept();
  beside();
  return 0;
}
