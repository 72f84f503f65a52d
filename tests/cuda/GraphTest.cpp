// SPDX-License-Identifier: Apache-2.0
// Graphs and captures with the compiler and the emulator behind them: orders, threads, faults. What
// the functions answer is compared with an H100 in tests/driver-sequences.
#include "tests/cuda/LaunchFixture.h"
#include <algorithm>
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
  EXPECT_EQ(cu("cuGraphLaunch", executable, stream), kSuccess);
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
TEST_F(Graphs, RunBranchesAtTheSameTime) {
  static std::atomic<int> arrived;
  arrived = 0;
  auto meet = [](void *) {
    ++arrived;
    for (int i = 0; arrived < 2 && i < 5000; ++i)
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

} // namespace
} // namespace rubia::runtime::cuda
