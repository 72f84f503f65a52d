// SPDX-License-Identifier: Apache-2.0
// Graphs and captures with the compiler and the emulator behind them: orders, threads, faults. What
// the functions answer is compared with an H100 in tests/driver-sequences.
#include "tests/cuda/LaunchFixture.h"
#include <algorithm>
#include <atomic>
#include <chrono>
#include <climits>
#include <functional>
#include <numeric>
#include <random>
#include <set>
#include <thread>

namespace rubia::runtime::cuda {
namespace {

class Graphs : public Launch {
protected:
  Graph *makeGraph() {
    Graph *graph = nullptr;
    EXPECT_EQ(cu("cuGraphCreate", &graph, 0u), kSuccess);
    return graph;
  }
  ExecutableGraph *instantiate(Graph *graph) {
    ExecutableGraph *executable = nullptr;
    EXPECT_EQ(cu("cuGraphInstantiateWithFlags", &executable, graph, uint64_t(0)), kSuccess);
    return executable;
  }
  Stream *makeStream(unsigned flags = 1) {
    Stream *stream = nullptr;
    EXPECT_EQ(cu("cuStreamCreate", &stream, flags), kSuccess);
    return stream;
  }
  void run(ExecutableGraph *executable, Stream *stream) {
    EXPECT_EQ(cu("cuGraphLaunch", executable, stream), kSuccess);
    EXPECT_EQ(cu("cuStreamSynchronize", stream), kSuccess);
  }
  // out = in * factor, `n` words
  KernelNodeParametersV2 scaling(void *out, void *in, uint8_t factor, int n) {
    theOut = out;
    theIn = in;
    theFactor = factor;
    theCount = n;
    KernelNodeParametersV2 p{};
    p.kernel = kernel(library, "scale");
    p.first.grid[0] = p.first.grid[1] = p.first.grid[2] = 1;
    p.first.block[0] = n;
    p.first.block[1] = p.first.block[2] = 1;
    p.first.values = values;
    return p;
  }
  GraphNode *add(Graph *graph, const std::vector<GraphNode *> &after,
                 const KernelNodeParametersV2 &p) {
    GraphNode *node = nullptr;
    EXPECT_EQ(cu("cuGraphAddKernelNode_v2", &node, graph, after.data(), after.size(), &p),
              kSuccess);
    return node;
  }

private:
  void *theOut = nullptr, *theIn = nullptr;
  uint8_t theFactor = 0;
  int theCount = 0;
  void *values[4] = {&theOut, &theIn, &theFactor, &theCount};
};

// A random graph of copies, fills and kernels on a few buffers, in which what uses a buffer is
// ordered, against the same work on the host, in the order in which nodes were added.
class RandomGraph {
public:
  static constexpr int kBuffers = 12, kWords = 64;

  RandomGraph(unsigned seed) : random(seed) {
    for (int i = 0; i < kBuffers; ++i) {
      device.push_back(allocate(kWords * 4));
      host.push_back(std::vector<unsigned>(kWords, 0));
      EXPECT_EQ(cu("cuMemsetD32_v2", device.back(), 0u, size_t(kWords)), kSuccess);
    }
    // In the null stream, for which that of the test does not wait.
    EXPECT_EQ(cu("cuCtxSynchronize"), kSuccess);
  }
  ~RandomGraph() {
    for (void *memory : device)
      EXPECT_EQ(cu("cuMemFree_v2", memory), kSuccess);
  }

  int pick(int limit) { return int(random() % unsigned(limit)); }

  /// The nodes that must come before one that writes `to` and reads `from`; notes it.
  std::vector<GraphNode *> before(int to, int from) {
    std::set<GraphNode *> all(readers[to].begin(), readers[to].end());
    for (int buffer : {to, from})
      if (GraphNode *writer = writers[buffer])
        all.insert(writer);
    return {all.begin(), all.end()};
  }
  void note(GraphNode *node, int to, int from) {
    writers[to] = node;
    readers[to].clear();
    if (from != to)
      readers[from].push_back(node);
  }

  /// Again what all nodes do.
  void repeat() {
    for (const auto &step : steps)
      step();
  }
  void check() {
    for (int i = 0; i < kBuffers; ++i) {
      std::vector<int> found = fetch(device[i], kWords);
      EXPECT_TRUE(std::equal(found.begin(), found.end(), host[i].begin(),
                             [](int a, unsigned b) { return unsigned(a) == b; }))
          << "buffer " << i;
    }
  }

  std::mt19937 random;
  std::vector<void *> device;
  std::vector<std::vector<unsigned>> host;
  std::vector<std::function<void()>> steps;

private:
  GraphNode *writers[kBuffers] = {};
  std::vector<GraphNode *> readers[kBuffers];
};

TEST_F(Graphs, RandomOnesDoWhatTheHostDoes) {
  Stream *stream = makeStream();
  for (unsigned seed = 1; seed <= 8; ++seed) {
    SCOPED_TRACE(seed);
    RandomGraph model(seed);
    Graph *graph = makeGraph();
    const int nodes = 20 + model.pick(40);
    for (int i = 0; i < nodes; ++i) {
      const int to = model.pick(model.kBuffers), from = model.pick(model.kBuffers);
      std::vector<GraphNode *> after = model.before(to, from);
      GraphNode *node = nullptr;
      auto &target = model.host[to], &source = model.host[from];
      switch (model.pick(3)) {
      case 0: {
        const unsigned value = model.random(), offset = model.pick(32);
        FillNodeParameters p{static_cast<char *>(model.device[to]) + offset * 4,
                             0,
                             value,
                             4,
                             model.kWords - offset,
                             1};
        ASSERT_EQ(cu("cuGraphAddMemsetNode", &node, graph, after.data(), after.size(), &p, context),
                  kSuccess);
        model.steps.push_back(
            [&target, value, offset] { std::fill(target.begin() + offset, target.end(), value); });
        break;
      }
      case 1: {
        if (to == from)
          continue;
        Copy3D p{};
        p.from.type = p.to.type = kMemoryDevice;
        p.from.device = model.device[from];
        p.to.device = model.device[to];
        p.widthInBytes = model.kWords * 4;
        p.height = p.depth = 1;
        ASSERT_EQ(cu("cuGraphAddMemcpyNode", &node, graph, after.data(), after.size(), &p, context),
                  kSuccess);
        model.steps.push_back([&target, &source] { target = source; });
        break;
      }
      default: {
        const uint8_t factor = 1 + model.pick(9);
        node =
            add(graph, after, scaling(model.device[to], model.device[from], factor, model.kWords));
        model.steps.push_back([&target, &source, factor] {
          for (size_t j = 0; j < target.size(); ++j)
            target[j] = source[j] * factor;
        });
        break;
      }
      }
      model.note(node, to, from);
    }
    ExecutableGraph *executable = instantiate(graph);
    for (int launch = 0; launch < 3; ++launch) {
      ASSERT_EQ(cu("cuGraphLaunch", executable, stream), kSuccess);
      model.repeat();
    }
    ASSERT_EQ(cu("cuStreamSynchronize", stream), kSuccess);
    model.check();
    EXPECT_EQ(cu("cuGraphExecDestroy", executable), kSuccess);
    EXPECT_EQ(cu("cuGraphDestroy", graph), kSuccess);
  }
}

// Threads capture in streams of their own, and launch what they have captured.
TEST_F(Graphs, AreCapturedInManyThreads) {
  Function *scale = kernel(library, "scale");
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      auto expect = [&](Result result) { wrong += result != kSuccess; };
      expect(cu("cuCtxSetCurrent", context));
      for (int round = 0; round < 5; ++round) {
        Stream *stream = makeStream();
        void *memory = allocate(256);
        expect(cu("cuMemsetD32Async", memory, 1u, size_t(64), stream));
        expect(cu("cuStreamBeginCapture_v2", stream, 2)); // relaxed: others allocate
        uint8_t factor = 2 + t;
        int count = 64;
        void *values[] = {&memory, &memory, &factor, &count};
        for (int i = 0; i < 3; ++i)
          expect(cu("cuLaunchKernel", scale, 1u, 1u, 1u, 64u, 1u, 1u, 0u, stream,
                    static_cast<void **>(values), static_cast<void **>(nullptr)));
        Graph *graph = nullptr;
        expect(cu("cuStreamEndCapture", stream, &graph));
        ExecutableGraph *executable = nullptr;
        expect(cu("cuGraphInstantiateWithFlags", &executable, graph, uint64_t(0)));
        expect(cu("cuGraphDestroy", graph));
        expect(cu("cuGraphLaunch", executable, stream));
        expect(cu("cuGraphLaunch", executable, stream));
        expect(cu("cuGraphExecDestroy", executable));
        expect(cu("cuStreamSynchronize", stream));
        int power = 1;
        for (int i = 0; i < 6; ++i)
          power *= factor;
        wrong += fetch(memory, 64) != std::vector<int>(64, power);
        expect(cu("cuStreamDestroy_v2", stream));
        expect(cu("cuMemFree_v2", memory));
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(wrong, 0);
}

// The fault is that of the stream that the graph was launched in, and the kernel is known.
TEST_F(Graphs, ReportWhatAKernelDoes) {
  Graph *graph = makeGraph();
  KernelNodeParametersV2 p{};
  p.kernel = kernel(library, "trapping");
  for (int i = 0; i < 3; ++i)
    p.first.grid[i] = p.first.block[i] = 1;
  add(graph, {}, p);
  ExecutableGraph *executable = instantiate(graph);
  Stream *stream = makeStream();
  // The kernel starts once the launch has returned, which would else return the fault at times.
  std::atomic<bool> isLaunched = false;
  void (*wait)(void *) = [](void *flag) { static_cast<std::atomic<bool> *>(flag)->wait(false); };
  ASSERT_EQ(cu("cuLaunchHostFunc", stream, wait, static_cast<void *>(&isLaunched)), kSuccess);
  EXPECT_EQ(cu("cuGraphLaunch", executable, stream), kSuccess);
  isLaunched = true;
  isLaunched.notify_one();
  EXPECT_EQ(cu("cuStreamSynchronize", stream), kLaunchFailed);
  EXPECT_EQ(cu("cuGraphLaunch", executable, stream), kLaunchFailed);
}

// A kernel that cannot be compiled is an error before anything is launched.
TEST_F(Graphs, OfWhatCannotBeCompiledAreRefused) {
  Graph *graph = makeGraph();
  KernelNodeParametersV2 p{};
  p.kernel = kernel(library, "unlinked");
  for (int i = 0; i < 3; ++i)
    p.first.grid[i] = p.first.block[i] = 1;
  GraphNode *node = add(graph, {}, p);
  ExecutableGraph *executable = nullptr;
  InstantiateParameters parameters{};
  EXPECT_EQ(cu("cuGraphInstantiateWithParams", &executable, graph, &parameters), kInvalidPtx);
  EXPECT_EQ(parameters.result, 1);
  EXPECT_EQ(parameters.errorNode, node);

  Stream *stream = makeStream();
  EXPECT_EQ(cu("cuStreamBeginCapture_v2", stream, 0), kSuccess);
  EXPECT_EQ(cu("cuLaunchKernel", p.kernel, 1u, 1u, 1u, 1u, 1u, 1u, 0u, stream,
               static_cast<void **>(nullptr), static_cast<void **>(nullptr)),
            kInvalidPtx);
  Graph *captured = nullptr;
  EXPECT_EQ(cu("cuStreamEndCapture", stream, &captured), kStreamCaptureInvalidated);
}

// The runtime's own work while a stream is captured, here loading a module and its variables, is no
// part of the capture and does not end it.
TEST_F(Graphs, CaptureTheFirstLaunchOfAKernel) {
  Stream *stream = makeStream();
  void *from = allocate(256), *to = allocate(256);
  ASSERT_EQ(cu("cuMemsetD32_v2", from, 3u, size_t(64)), kSuccess);
  ASSERT_EQ(cu("cuCtxSynchronize"), kSuccess);
  ASSERT_EQ(cu("cuStreamBeginCapture_v2", stream, 0), kSuccess);
  uint8_t factor = 7;
  int count = 64;
  void *values[] = {&to, &from, &factor, &count};
  ASSERT_EQ(cu("cuLaunchKernel", kernel(library, "scale"), 1u, 1u, 1u, 64u, 1u, 1u, 0u, stream,
               static_cast<void **>(values), static_cast<void **>(nullptr)),
            kSuccess);
  Graph *graph = nullptr;
  ASSERT_EQ(cu("cuStreamEndCapture", stream, &graph), kSuccess);
  run(instantiate(graph), stream);
  EXPECT_EQ(fetch(to, 64), std::vector<int>(64, 21));
}

// What the program frees or destroys after an executable graph was made is not read again.
TEST_F(Graphs, KeepWhatTheyNeed) {
  void *memory = allocate(256);
  ASSERT_EQ(cu("cuMemsetD32_v2", memory, 1u, size_t(64)), kSuccess);
  ASSERT_EQ(cu("cuCtxSynchronize"), kSuccess);
  Graph *graph = makeGraph(), *child = makeGraph();
  GraphNode *node = nullptr;
  add(child, {}, scaling(memory, memory, 5, 64));
  ASSERT_EQ(cu("cuGraphAddChildGraphNode", &node, graph, static_cast<GraphNode **>(nullptr),
               size_t(0), child),
            kSuccess);
  ASSERT_EQ(cu("cuGraphDestroy", child), kSuccess);
  ExecutableGraph *executable = instantiate(graph);
  ASSERT_EQ(cu("cuGraphDestroy", graph), kSuccess);
  Stream *stream = makeStream(), *other = makeStream();
  ASSERT_EQ(cu("cuGraphLaunch", executable, other), kSuccess);
  ASSERT_EQ(cu("cuStreamDestroy_v2", other), kSuccess);
  ASSERT_EQ(cu("cuGraphLaunch", executable, stream), kSuccess);
  ASSERT_EQ(cu("cuGraphExecDestroy", executable), kSuccess);
  ASSERT_EQ(cu("cuStreamSynchronize", stream), kSuccess);
  EXPECT_EQ(fetch(memory, 64), std::vector<int>(64, 25));
}

// Branches are executed at the same time: each of two kernels' host functions waits for the other.
// A program that destroys a graph twice: its memory may be an executable graph's by then.
TEST_F(Graphs, HandlesThatHaveEndedNameNothingOfExecutableGraphs) {
  void *memory = allocate(256);
  const auto none = static_cast<GraphNode **>(nullptr);
  auto addFill = [&](Graph *graph) {
    FillNodeParameters fill{memory, 0, 7, 4, 64, 1};
    GraphNode *node = nullptr;
    EXPECT_EQ(cu("cuGraphAddMemsetNode", &node, graph, none, size_t(0),
                 static_cast<const FillNodeParameters *>(&fill), context),
              kSuccess);
    return node;
  };
  Graph *kept = makeGraph(), *child = makeGraph();
  GraphNode *part = nullptr;
  for (int i = 0; i < 4; ++i) {
    addFill(kept);
    addFill(child);
  }
  ASSERT_EQ(cu("cuGraphAddChildGraphNode", &part, kept, none, size_t(0), child), kSuccess);
  std::vector<Graph *> graphs;
  std::vector<GraphNode *> nodes;
  for (int i = 0; i < 40; ++i) {
    graphs.push_back(makeGraph());
    for (int j = 0; j < 8; ++j)
      nodes.push_back(addFill(graphs.back()));
  }
  for (Graph *graph : graphs)
    ASSERT_EQ(cu("cuGraphDestroy", graph), kSuccess);
  std::vector<ExecutableGraph *> executables;
  for (int i = 0; i < 20; ++i)
    executables.push_back(instantiate(kept));
  for (Graph *graph : graphs)
    EXPECT_EQ(cu("cuGraphDestroy", graph), kInvalidValue);
  for (GraphNode *node : nodes)
    EXPECT_EQ(cu("cuGraphDestroyNode", node), kInvalidValue);
  Stream *stream = makeStream();
  for (ExecutableGraph *executable : executables) {
    ASSERT_EQ(cu("cuMemsetD32_v2", memory, 0u, size_t(64)), kSuccess);
    ASSERT_EQ(cu("cuCtxSynchronize"), kSuccess); // that was in the null stream
    run(executable, stream);
    EXPECT_EQ(fetch(memory, 64), std::vector<int>(64, 7));
    EXPECT_EQ(cu("cuGraphExecDestroy", executable), kSuccess);
  }
}

// As many as 32 bits hold, and more.
TEST_F(Graphs, UserObjectsAreCounted) {
  static std::atomic<int> ended = 0;
  void (*end)(void *) = [](void *) { ++ended; };
  UserObject *object = nullptr;
  ASSERT_EQ(cu("cuUserObjectCreate", &object, static_cast<void *>(nullptr), end, 1u, 1u), kSuccess);
  for (int i = 0; i < 3; ++i)
    ASSERT_EQ(cu("cuUserObjectRetain", object, unsigned(INT_MAX)), kSuccess);
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(cu("cuUserObjectRelease", object, unsigned(INT_MAX)), kSuccess);
  EXPECT_EQ(ended, 0);
  EXPECT_EQ(cu("cuUserObjectRelease", object, 1u), kSuccess);
  EXPECT_EQ(ended, 1);
}

TEST_F(Graphs, RunBranchesAtTheSameTime) {
  static std::atomic<int> arrived;
  arrived = 0;
  auto meet = [](void *) {
    ++arrived;
    for (int i = 0; arrived < 2 && i < 60'000; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    arrived += arrived >= 2 ? 10 : 0;
  };
  Graph *graph = makeGraph();
  HostNodeParameters p{meet, nullptr};
  for (int i = 0; i < 2; ++i) {
    GraphNode *node = nullptr;
    ASSERT_EQ(
        cu("cuGraphAddHostNode", &node, graph, static_cast<GraphNode **>(nullptr), size_t(0), &p),
        kSuccess);
  }
  run(instantiate(graph), makeStream());
  EXPECT_EQ(arrived, 22);
}

// ---------- What ends while it is used

std::atomic<int> ended = 0;
void countEnd(void *) { ++ended; }
void dawdle(void *) { std::this_thread::sleep_for(std::chrono::milliseconds(100)); }

bool endsSoon(int count) {
  for (int i = 0; ended < count && i < 60'000; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return ended == count;
}

GraphNode *addHost(Graph *graph, HostFunction function) {
  GraphNode *node = nullptr;
  HostNodeParameters p{function, nullptr};
  EXPECT_EQ(
      cu("cuGraphAddHostNode", &node, graph, static_cast<GraphNode **>(nullptr), size_t(0), &p),
      kSuccess);
  return node;
}

void *addMemory(Graph *graph, size_t bytes) {
  GraphNode *node = nullptr;
  AllocateNodeParameters p{};
  p.pool.allocationType = 1;
  p.pool.location = {1, 0};
  p.bytes = bytes;
  EXPECT_EQ(
      cu("cuGraphAddMemAllocNode", &node, graph, static_cast<GraphNode **>(nullptr), size_t(0), &p),
      kSuccess);
  return p.address;
}

// The user objects, also of graphs inside, last as long as the launch; the memory goes with the
// executable graph, which waits for the launch while others work.
TEST_F(Graphs, AreDestroyedWhileTheyRun) {
  ended = 0;
  Graph *graph = makeGraph(), *child = makeGraph();
  for (Graph *owner : {graph, child}) {
    UserObject *object = nullptr;
    ASSERT_EQ(cu("cuUserObjectCreate", &object, static_cast<void *>(nullptr),
                 static_cast<HostFunction>(countEnd), 1u, 1u),
              kSuccess);
    ASSERT_EQ(cu("cuGraphRetainUserObject", owner, object, 1u, 1u), kSuccess);
  }
  GraphNode *node = nullptr;
  ASSERT_EQ(cu("cuGraphAddChildGraphNode", &node, graph, static_cast<GraphNode **>(nullptr),
               size_t(0), child),
            kSuccess);
  ASSERT_EQ(cu("cuGraphDestroy", child), kSuccess);
  addHost(graph, dawdle);
  void *memory = addMemory(graph, 4096);
  Stream *stream = makeStream();
  ExecutableGraph *executable = instantiate(graph);
  ASSERT_EQ(cu("cuGraphLaunch", executable, stream), kSuccess);
  ASSERT_EQ(cu("cuMemFreeAsync", memory, stream), kSuccess);
  ASSERT_EQ(cu("cuGraphDestroy", graph), kSuccess);
  ASSERT_EQ(cu("cuGraphLaunch", executable, stream), kSuccess);
  ASSERT_EQ(cu("cuMemFreeAsync", memory, stream), kSuccess);
  ASSERT_EQ(cu("cuGraphExecDestroy", executable), kSuccess);
  ASSERT_EQ(cu("cuStreamSynchronize", stream), kSuccess);
  EXPECT_TRUE(endsSoon(2));
}

// A graph has references that the program cannot release.
TEST_F(Graphs, KeepUserObjects) {
  ended = 0;
  Graph *graph = makeGraph();
  UserObject *object = nullptr;
  ASSERT_EQ(cu("cuUserObjectCreate", &object, static_cast<void *>(nullptr),
               static_cast<HostFunction>(countEnd), 1u, 1u),
            kSuccess);
  ASSERT_EQ(cu("cuGraphRetainUserObject", graph, object, 1u, 0u), kSuccess);
  EXPECT_EQ(cu("cuUserObjectRelease", object, 2u), kInvalidValue);
  EXPECT_EQ(cu("cuUserObjectRelease", object, 1u), kSuccess);
  EXPECT_EQ(cu("cuUserObjectRelease", object, 1u), kInvalidValue);
  EXPECT_EQ(ended, 0);
  EXPECT_EQ(cu("cuGraphDestroy", graph), kSuccess);
  EXPECT_TRUE(endsSoon(1));
}

// What a launch that fails has not allocated, the next one may.
TEST_F(Graphs, AllocateNothingIfTheyFail) {
  void *memory = allocate(256);
  Module *module = nullptr;
  Function *function = nullptr;
  ASSERT_EQ(cu("cuModuleLoadData", &module, static_cast<const void *>(kPtx)), kSuccess);
  ASSERT_EQ(cu("cuModuleGetFunction", &function, module, "scale"), kSuccess);
  Graph *graph = makeGraph();
  addMemory(graph, 4096);
  KernelNodeParametersV2 p = scaling(memory, memory, 1, 64);
  p.kernel = nullptr;
  p.first.function = function;
  add(graph, {}, p);
  ExecutableGraph *executable = instantiate(graph);
  ASSERT_EQ(cu("cuModuleUnload", module), kSuccess);
  Stream *stream = makeStream();
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(cu("cuGraphLaunch", executable, stream), kInvalidHandle);
}

// An executable graph takes the graph that it was made of again, memory and all. Another graph has
// other memory (an H200, driver 580.159.04).
TEST_F(Graphs, AreUpdatedWithTheSameMemory) {
  Stream *stream = makeStream();
  auto make = [this] {
    Graph *graph = makeGraph();
    void *memory = addMemory(graph, 4096);
    GraphNode *allocating = nullptr, *freeing = nullptr;
    size_t count = 1;
    EXPECT_EQ(cu("cuGraphGetNodes", graph, &allocating, &count), kSuccess);
    EXPECT_EQ(cu("cuGraphAddMemFreeNode", &freeing, graph, &allocating, size_t(1), memory),
              kSuccess);
    return graph;
  };
  Graph *graph = make(), *other = make();
  ExecutableGraph *executable = instantiate(graph);
  UpdateResult result{};
  EXPECT_EQ(cu("cuGraphExecUpdate_v2", executable, graph, &result), kSuccess);
  EXPECT_EQ(result.result, 0);
  EXPECT_EQ(cu("cuGraphLaunch", executable, stream), kSuccess);
  EXPECT_EQ(cu("cuGraphExecUpdate_v2", executable, other, &result), kGraphExecUpdateFailure);
  EXPECT_EQ(result.result, 1);
  EXPECT_NE(result.errorNode, nullptr);
  EXPECT_EQ(cu("cuGraphLaunch", executable, stream), kSuccess);
  EXPECT_EQ(cu("cuStreamSynchronize", stream), kSuccess);
}

Result captureTo(Stream *stream, Graph *graph) {
  return cu("cuStreamBeginCaptureToGraph", stream, graph, static_cast<GraphNode **>(nullptr),
            static_cast<EdgeData *>(nullptr), size_t(0), 2);
}

// What contains a graph that is being captured stays; and a stream that ends leaves a graph to the
// node that has it.
TEST_F(Graphs, StayWhileACaptureAddsToThem) {
  Graph *graph = makeGraph(), *empty = makeGraph(), *child = nullptr;
  GraphNode *node = nullptr;
  ASSERT_EQ(cu("cuGraphAddChildGraphNode", &node, graph, static_cast<GraphNode **>(nullptr),
               size_t(0), empty),
            kSuccess);
  ASSERT_EQ(cu("cuGraphChildGraphNodeGetGraph", node, &child), kSuccess);
  GraphNode *other = addHost(graph, countEnd);
  Stream *stream = makeStream();
  ASSERT_EQ(captureTo(stream, child), kSuccess);
  EXPECT_EQ(cu("cuGraphDestroy", graph), kIllegalState);
  EXPECT_EQ(cu("cuGraphDestroyNode", node), kIllegalState);
  EXPECT_EQ(cu("cuGraphDestroyNode", other), kSuccess);
  EXPECT_EQ(cu("cuStreamDestroy_v2", stream), kSuccess);
  size_t count = 1;
  EXPECT_EQ(cu("cuGraphGetNodes", child, static_cast<GraphNode **>(nullptr), &count), kSuccess);
  EXPECT_EQ(count, 0u);
  EXPECT_EQ(cu("cuGraphDestroy", graph), kSuccess);
  EXPECT_EQ(cu("cuGraphGetNodes", child, static_cast<GraphNode **>(nullptr), &count),
            kInvalidValue);

  stream = makeStream();
  ASSERT_EQ(captureTo(stream, empty), kSuccess);
  NodeParameters p{};
  p.type = kChildNode;
  p.child.graph = empty;
  p.child.ownership = 1;
  graph = makeGraph();
  EXPECT_EQ(cu("cuGraphAddNode", &node, graph, static_cast<GraphNode **>(nullptr), size_t(0), &p),
            kInvalidValue);
}

// A thread ends in the middle of a capture; the next one gets its stream.
TEST_F(Graphs, CapturesEndWithTheirThread) {
  void *memory = allocate(256);
  auto inThread = [&](auto body) {
    std::thread([&] {
      EXPECT_EQ(cu("cuCtxSetCurrent", context), kSuccess);
      body();
    }).join();
  };
  inThread([] { EXPECT_EQ(cu("cuStreamBeginCapture_v2", kPerThreadStream, 2), kSuccess); });
  inThread([&] {
    int status = -1;
    EXPECT_EQ(cu("cuStreamIsCapturing", kPerThreadStream, &status), kSuccess);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(cu("cuMemsetD32Async", memory, 5u, size_t(64), kPerThreadStream), kSuccess);
    EXPECT_EQ(cu("cuStreamSynchronize", kPerThreadStream), kSuccess);
  });
  EXPECT_EQ(fetch(memory, 64), std::vector<int>(64, 5));
}

// After a fault and a reset the streams of a launch are new ones.
TEST_F(Graphs, OutliveAReset) {
  ended = 0;
  Context *primary = nullptr;
  ASSERT_EQ(cu("cuDevicePrimaryCtxRetain", &primary, 0), kSuccess);
  ASSERT_EQ(cu("cuCtxSetCurrent", primary), kSuccess);
  Graph *graph = makeGraph();
  addHost(graph, countEnd);
  addHost(graph, countEnd);
  ExecutableGraph *executable = instantiate(graph);
  run(executable, nullptr);
  EXPECT_EQ(ended, 2);
  ASSERT_EQ(launch(kernel(library, "trapping"), 1, 1, 0, nullptr), kSuccess);
  EXPECT_EQ(cu("cuCtxSynchronize"), kLaunchFailed);
  ASSERT_EQ(cu("cuDevicePrimaryCtxReset_v2", 0), kSuccess);
  run(executable, nullptr);
  EXPECT_EQ(ended, 4);
  EXPECT_EQ(cu("cuGraphExecDestroy", executable), kSuccess);
}

// A grid that cannot be resident would wait for itself.
TEST_F(Graphs, CooperativeNodesAreChecked) {
  void *memory = allocate(4096);
  Graph *graph = makeGraph();
  KernelNodeParametersV2 p = scaling(memory, memory, 1, 64);
  GraphNode *node = add(graph, {}, p);
  LaunchAttribute cooperative{};
  cooperative.flag = 1;
  ASSERT_EQ(cu("cuGraphKernelNodeSetAttribute", node, int(kLaunchCooperative),
               static_cast<const char *>(cooperative.bytes)),
            kSuccess);
  ExecutableGraph *executable = instantiate(graph), *none = nullptr;
  p.first.grid[0] = 1 << 20;
  EXPECT_EQ(cu("cuGraphExecKernelNodeSetParams_v2", executable, node,
               static_cast<const KernelNodeParametersV2 *>(&p)),
            kCooperativeLaunchTooLarge);
  ASSERT_EQ(
      cu("cuGraphKernelNodeSetParams_v2", node, static_cast<const KernelNodeParametersV2 *>(&p)),
      kSuccess);
  EXPECT_EQ(cu("cuGraphInstantiateWithFlags", &none, graph, uint64_t(0)),
            kCooperativeLaunchTooLarge);
}

TEST_F(Graphs, KnowThatAFunctionIsGone) {
  void *memory = allocate(256);
  Module *module = nullptr;
  Function *function = nullptr;
  ASSERT_EQ(cu("cuModuleLoadData", &module, static_cast<const void *>(kPtx)), kSuccess);
  ASSERT_EQ(cu("cuModuleGetFunction", &function, module, "scale"), kSuccess);
  Graph *graph = makeGraph();
  KernelNodeParametersV2 p = scaling(memory, memory, 1, 64), out{};
  p.kernel = nullptr;
  p.first.function = function;
  GraphNode *node = add(graph, {}, p);
  ASSERT_EQ(cu("cuGraphKernelNodeGetParams_v2", node, &out), kSuccess);
  EXPECT_TRUE(out.first.values);
  ASSERT_EQ(cu("cuModuleUnload", module), kSuccess);
  // Another function, which may get the address of the first.
  ASSERT_EQ(cu("cuModuleLoadData", &module, static_cast<const void *>(kPtx)), kSuccess);
  ASSERT_EQ(cu("cuModuleGetFunction", &function, module, "wild"), kSuccess);
  ASSERT_EQ(cu("cuGraphKernelNodeGetParams_v2", node, &out), kSuccess);
  EXPECT_FALSE(out.first.values);
  ExecutableGraph *none = nullptr;
  EXPECT_EQ(cu("cuGraphInstantiateWithFlags", &none, graph, uint64_t(0)), kInvalidHandle);
}

// An event that a capture has recorded is an ordinary one again when a graph has.
TEST_F(Graphs, RecordEventsThatWereCaptured) {
  Event *event = nullptr;
  ASSERT_EQ(cu("cuEventCreate", &event, 0u), kSuccess);
  Stream *stream = makeStream();
  Graph *captured = nullptr, *graph = makeGraph();
  ASSERT_EQ(cu("cuStreamBeginCapture_v2", stream, 2), kSuccess);
  ASSERT_EQ(cu("cuEventRecord", event, stream), kSuccess);
  ASSERT_EQ(cu("cuStreamEndCapture", stream, &captured), kSuccess);
  GraphNode *node = nullptr;
  ASSERT_EQ(cu("cuGraphAddEventRecordNode", &node, graph, static_cast<GraphNode **>(nullptr),
               size_t(0), event),
            kSuccess);
  run(instantiate(graph), stream);
  EXPECT_EQ(cu("cuEventQuery", event), kSuccess);
}

// What a stream is told of its capture stays when another one is told of the same.
TEST_F(Graphs, CapturesTellEachStream) {
  Stream *streams[] = {makeStream(), makeStream()};
  Event *event = nullptr;
  ASSERT_EQ(cu("cuEventCreate", &event, 0u), kSuccess);
  void *memory = allocate(256);
  ASSERT_EQ(cu("cuStreamBeginCapture_v2", streams[0], 2), kSuccess);
  ASSERT_EQ(cu("cuEventRecord", event, streams[0]), kSuccess);
  ASSERT_EQ(cu("cuStreamWaitEvent", streams[1], event, 0u), kSuccess);
  const GraphNode *const *told[2] = {};
  const GraphNode *first = nullptr;
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(cu("cuMemsetD32Async", memory, 5u, size_t(64), streams[i]), kSuccess);
    int status = 0;
    size_t count = 0;
    ASSERT_EQ(cu("cuStreamGetCaptureInfo_v2", streams[i], &status, static_cast<uint64_t *>(nullptr),
                 static_cast<Graph **>(nullptr), &told[i], &count),
              kSuccess);
    ASSERT_EQ(count, 1u);
    if (!i)
      first = *told[0];
  }
  EXPECT_EQ(*told[0], first);
  EXPECT_NE(*told[1], first);
}

} // namespace
} // namespace rubia::runtime::cuda
