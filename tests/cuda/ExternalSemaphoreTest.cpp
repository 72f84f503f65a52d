// SPDX-License-Identifier: Apache-2.0
// Semaphores that another library has made, by file descriptor: the test's own words in a memfd.
#include "tests/cuda/Peer.h"
#include <atomic>
#include <sys/mman.h>
#include <thread>

namespace rubia::runtime::cuda {
namespace {

constexpr int kBinary = 1, kTimeline = 9;
using Semaphores = ExternalSemaphore *;
Stream *const kNone = nullptr;

/// The word of a semaphore, as its library sees it.
struct Word {
  explicit Word(int file = memfd_create("semaphore", 0)) : file(file) {
    REQUIRE(ftruncate(file, 8) == 0);
    number = static_cast<std::atomic<uint64_t> *>(
        mmap(nullptr, 8, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
    REQUIRE(number != MAP_FAILED);
  }
  int file;
  std::atomic<uint64_t> *number;
};

/// By a descriptor of its own, which the driver takes over.
Result import(Semaphores *out, int type, int descriptor, unsigned flags = 0) {
  ExternalSemaphoreHandle wanted = {};
  wanted.type = type;
  wanted.descriptor = descriptor;
  wanted.flags = flags;
  return cu("cuImportExternalSemaphore", out,
            static_cast<const ExternalSemaphoreHandle *>(&wanted));
}
Semaphores imported(const Word &word, int type) {
  Semaphores semaphore = nullptr;
  DONE(import(&semaphore, type, dup(word.file)));
  return semaphore;
}
SemaphoreParameters value(uint64_t number) {
  SemaphoreParameters parameters = {};
  parameters.value = number;
  return parameters;
}
Result signal(Semaphores semaphore, uint64_t number, Stream *stream) {
  const SemaphoreParameters parameters = value(number);
  const Semaphores list[] = {semaphore};
  return cu("cuSignalExternalSemaphoresAsync", static_cast<const Semaphores *>(list), &parameters,
            1u, stream);
}
Result await(Semaphores semaphore, uint64_t number, Stream *stream) {
  const SemaphoreParameters parameters = value(number);
  const Semaphores list[] = {semaphore};
  return cu("cuWaitExternalSemaphoresAsync", static_cast<const Semaphores *>(list), &parameters, 1u,
            stream);
}
Stream *makeStream() {
  Stream *stream = nullptr;
  DONE(cu("cuStreamCreate", &stream, 1u));
  return stream;
}
/// Long enough for a stream that does not wait.
void pause() { std::this_thread::sleep_for(std::chrono::milliseconds(20)); }

class ExternalSemaphores : public InContext {
protected:
  void SetUp() override {
    InContext::SetUp();
    stream = makeStream();
    memory = allocate(256);
    ASSERT_EQ(cu("cuMemsetD32_v2", memory, 0u, size_t(64)), kSuccess);
    ASSERT_EQ(cu("cuCtxSynchronize"), kSuccess);
  }
  unsigned first() const { return unsigned(fetch(memory, 1)[0]); }
  Result fill(unsigned number, Stream *on) const {
    return cu("cuMemsetD32Async", memory, number, size_t(64), on);
  }
  Stream *stream = nullptr;
  void *memory = nullptr;
};

// The host does not wait, the stream does.
TEST_F(ExternalSemaphores, StreamsWaitForTheValueOfATimeline) {
  const Word word;
  Semaphores semaphore = imported(word, kTimeline);
  EXPECT_EQ(await(semaphore, 3, stream), kSuccess);
  EXPECT_EQ(fill(7, stream), kSuccess);
  for (uint64_t number : {0, 2}) {
    word.number->store(number);
    pause();
    EXPECT_EQ(cu("cuStreamQuery", stream), kNotReady);
    EXPECT_EQ(first(), 0u);
  }
  word.number->store(4);
  EXPECT_EQ(cu("cuStreamSynchronize", stream), kSuccess);
  EXPECT_EQ(first(), 7u);
  EXPECT_EQ(word.number->load(), 4u); // a wait leaves it
  EXPECT_EQ(await(semaphore, 4, stream), kSuccess);
  EXPECT_EQ(cu("cuStreamSynchronize", stream), kSuccess);
}

TEST_F(ExternalSemaphores, StreamsSignalBehindTheirWork) {
  const Word word, gate;
  Semaphores semaphore = imported(word, kTimeline), before = imported(gate, kTimeline);
  EXPECT_EQ(await(before, 1, stream), kSuccess);
  EXPECT_EQ(signal(semaphore, 9, stream), kSuccess);
  pause();
  EXPECT_EQ(word.number->load(), 0u);
  gate.number->store(1);
  EXPECT_EQ(cu("cuStreamSynchronize", stream), kSuccess);
  EXPECT_EQ(word.number->load(), 9u);
}

// One signal is one wait's.
TEST_F(ExternalSemaphores, AWaitTakesTheSignalOfABinaryOne) {
  const Word word;
  Semaphores semaphore = imported(word, kBinary);
  EXPECT_EQ(signal(semaphore, 0, stream), kSuccess);
  EXPECT_EQ(cu("cuStreamSynchronize", stream), kSuccess);
  EXPECT_EQ(word.number->load(), 1u);
  Stream *const other = makeStream();
  EXPECT_EQ(await(semaphore, 0, stream), kSuccess);
  EXPECT_EQ(cu("cuStreamSynchronize", stream), kSuccess);
  EXPECT_EQ(word.number->load(), 0u);
  EXPECT_EQ(await(semaphore, 0, other), kSuccess);
  EXPECT_EQ(fill(5, other), kSuccess);
  pause();
  EXPECT_EQ(first(), 0u);
  EXPECT_EQ(signal(semaphore, 0, stream), kSuccess);
  EXPECT_EQ(cu("cuStreamSynchronize", other), kSuccess);
  EXPECT_EQ(first(), 5u);
}

TEST_F(ExternalSemaphores, SeveralAreOneCall) {
  const Word a, b;
  const Semaphores list[] = {imported(a, kTimeline), imported(b, kBinary)};
  const SemaphoreParameters values[] = {value(11), value(12)};
  const auto *semaphores = static_cast<const Semaphores *>(list);
  const auto *parameters = static_cast<const SemaphoreParameters *>(values);
  EXPECT_EQ(cu("cuSignalExternalSemaphoresAsync_ptsz", semaphores, parameters, 2u, kNone),
            kSuccess);
  EXPECT_EQ(cu("cuWaitExternalSemaphoresAsync_ptsz", semaphores, parameters, 2u, kNone), kSuccess);
  EXPECT_EQ(cu("cuStreamSynchronize_ptsz", kNone), kSuccess);
  EXPECT_EQ(a.number->load(), 11u);
  EXPECT_EQ(b.number->load(), 0u);
  EXPECT_EQ(cu("cuWaitExternalSemaphoresAsync", semaphores, parameters, 0u, stream), kInvalidValue);
}

// Work that is under way keeps what it needs.
TEST_F(ExternalSemaphores, AStreamGoesOnWaitingForOneThatWasDestroyed) {
  const Word word;
  Semaphores semaphore = imported(word, kTimeline);
  EXPECT_EQ(await(semaphore, 1, stream), kSuccess);
  EXPECT_EQ(fill(3, stream), kSuccess);
  EXPECT_EQ(cu("cuDestroyExternalSemaphore", semaphore), kSuccess);
  EXPECT_EQ(cu("cuDestroyExternalSemaphore", semaphore), kInvalidHandle);
  EXPECT_EQ(await(semaphore, 1, stream), kInvalidHandle);
  pause();
  EXPECT_EQ(cu("cuStreamQuery", stream), kNotReady);
  word.number->store(1);
  EXPECT_EQ(cu("cuStreamSynchronize", stream), kSuccess);
  EXPECT_EQ(first(), 3u);
}

TEST(ExternalSemaphoresOfProcesses, OrderTheirStreams) {
  const Word there, back;
  Peer peer([&](Channel parent) {
    makeContext();
    Stream *stream = makeStream();
    Semaphores wait = imported(there, kTimeline), done = imported(back, kBinary);
    DONE(await(wait, 2, stream));
    DONE(signal(done, 0, stream));
    parent.meet();
    DONE(cu("cuStreamSynchronize", stream));
  });
  makeContext();
  Stream *stream = makeStream();
  Semaphores go = imported(there, kTimeline), done = imported(back, kBinary);
  peer.channel().meet();
  EXPECT_EQ(await(done, 0, stream), kSuccess);
  pause();
  EXPECT_EQ(cu("cuStreamQuery", stream), kNotReady);
  EXPECT_EQ(signal(go, 2, makeStream()), kSuccess);
  EXPECT_EQ(cu("cuStreamSynchronize", stream), kSuccess);
  EXPECT_EQ(peer.end(), 0);
}

TEST_F(ExternalSemaphores, WrongArgumentsAreRefused) {
  const Word word;
  Semaphores semaphore = imported(word, kTimeline), made = nullptr;
  auto *wild = reinterpret_cast<Semaphores>(this);
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const int small = memfd_create("small", 0);
  ASSERT_EQ(ftruncate(small, 4), 0);
  SemaphoreParameters parameters = value(1), flagged = value(1);
  flagged.flags = 1;
  const Semaphores list[] = {semaphore};
  const auto *semaphores = static_cast<const Semaphores *>(list);
  auto signalWith = [&](const Semaphores *which, const SemaphoreParameters *how) {
    return cu("cuSignalExternalSemaphoresAsync", which, how, 1u, stream);
  };
  const struct {
    const char *what;
    Result result, expected;
  } calls[] = {
      {"import to null", import(nullptr, kTimeline, word.file), kInvalidValue},
      {"import of type 0", import(&made, 0, word.file), kInvalidValue},
      {"import of type 11", import(&made, 11, word.file), kInvalidValue},
      {"import of Windows", import(&made, 2, word.file), kNotSupported},
      {"import with flags", import(&made, kTimeline, word.file, 1), kInvalidValue},
      {"import a pipe", import(&made, kTimeline, ends[0]), kUnknown},
      {"import of 4 bytes", import(&made, kBinary, small), kUnknown},
      {"import no descriptor", import(&made, kBinary, 1 << 20), kUnknown},
      {"signal anything", signal(wild, 1, stream), kInvalidHandle},
      {"wait for anything", await(wild, 1, stream), kInvalidHandle},
      {"signal none", signalWith(nullptr, &parameters), kInvalidValue},
      {"signal with nothing", signalWith(semaphores, nullptr), kInvalidValue},
      {"signal with flags", signalWith(semaphores, &flagged), kInvalidValue},
      {"destroy anything", cu("cuDestroyExternalSemaphore", wild), kInvalidHandle},
  };
  for (const auto &call : calls)
    EXPECT_EQ(call.result, call.expected) << call.what;
  EXPECT_EQ(cu("cuStreamSynchronize", stream), kSuccess);
  EXPECT_EQ(word.number->load(), 0u);
}

// ---------- Graphs

using Nodes = SemaphoresNodeParameters;
GraphNode *const *const kNoNodes = nullptr;

ExecutableGraph *instantiate(Graph *graph) {
  ExecutableGraph *executable = nullptr;
  EXPECT_EQ(cu("cuGraphInstantiateWithFlags", &executable, graph, 0ull), kSuccess);
  return executable;
}
Result run(ExecutableGraph *executable, Stream *stream) {
  const Result launched = cu("cuGraphLaunch", executable, stream);
  return launched ? launched : cu("cuStreamSynchronize", stream);
}

TEST_F(ExternalSemaphores, AreCaptured) {
  const Word word;
  Semaphores semaphore = imported(word, kTimeline);
  Graph *graph = nullptr;
  ASSERT_EQ(cu("cuStreamBeginCapture_v2", stream, 0), kSuccess);
  EXPECT_EQ(await(semaphore, 1, stream), kSuccess);
  EXPECT_EQ(signal(semaphore, 5, stream), kSuccess);
  ASSERT_EQ(cu("cuStreamEndCapture", stream, &graph), kSuccess);
  GraphNode *nodes[2];
  size_t count = 2;
  ASSERT_EQ(cu("cuGraphGetNodes", graph, static_cast<GraphNode **>(nodes), &count), kSuccess);
  ASSERT_EQ(count, 2u);
  const int expected[] = {kWaitSemaphoresNode, kSignalSemaphoresNode};
  for (size_t i = 0; i < 2; ++i) {
    int type = -1;
    EXPECT_EQ(cu("cuGraphNodeGetType", nodes[i], &type), kSuccess);
    EXPECT_EQ(type, expected[i]);
  }
  ExecutableGraph *executable = instantiate(graph);
  EXPECT_EQ(cu("cuGraphLaunch", executable, stream), kSuccess);
  pause();
  EXPECT_EQ(cu("cuStreamQuery", stream), kNotReady);
  word.number->store(1);
  EXPECT_EQ(cu("cuStreamSynchronize", stream), kSuccess);
  EXPECT_EQ(word.number->load(), 5u);
}

TEST_F(ExternalSemaphores, AreNodes) {
  const Word a, b;
  const Semaphores first[] = {imported(a, kTimeline)}, second[] = {imported(b, kTimeline)};
  SemaphoreParameters one = value(1), two = value(2), three = value(3), four = value(4);
  Graph *graph = nullptr;
  GraphNode *waits = nullptr, *signals = nullptr;
  ASSERT_EQ(cu("cuGraphCreate", &graph, 0u), kSuccess);
  Nodes p{first, &one, 1}, q{second, &two, 1};
  EXPECT_EQ(cu("cuGraphAddExternalSemaphoresWaitNode", &waits, graph, kNoNodes, size_t(0), &p),
            kSuccess);
  EXPECT_EQ(cu("cuGraphAddExternalSemaphoresSignalNode", &signals, graph, &waits, size_t(1), &q),
            kSuccess);
  Nodes got{};
  EXPECT_EQ(cu("cuGraphExternalSemaphoresWaitNodeGetParams", waits, &got), kSuccess);
  EXPECT_EQ(got.count, 1u);
  EXPECT_EQ(got.semaphores[0], first[0]);
  EXPECT_EQ(got.parameters[0].value, 1u);
  EXPECT_EQ(cu("cuGraphExternalSemaphoresSignalNodeGetParams", signals, &got), kSuccess);
  EXPECT_EQ(got.semaphores[0], second[0]);
  EXPECT_EQ(cu("cuGraphExternalSemaphoresSignalNodeGetParams", waits, &got), kInvalidValue);

  ExecutableGraph *executable = instantiate(graph);
  a.number->store(1);
  EXPECT_EQ(run(executable, stream), kSuccess);
  EXPECT_EQ(b.number->load(), 2u);

  // The graph's nodes, and then those of what was made of it.
  p = {second, &two, 1};
  q = {first, &three, 1};
  EXPECT_EQ(cu("cuGraphExternalSemaphoresWaitNodeSetParams", waits, &p), kSuccess);
  EXPECT_EQ(cu("cuGraphExternalSemaphoresSignalNodeSetParams", signals, &q), kSuccess);
  EXPECT_EQ(cu("cuGraphExternalSemaphoresSignalNodeSetParams", waits, &q), kInvalidValue);
  EXPECT_EQ(run(instantiate(graph), stream), kSuccess);
  EXPECT_EQ(a.number->load(), 3u);
  p = {first, &three, 1};
  q = {second, &four, 1};
  EXPECT_EQ(cu("cuGraphExecExternalSemaphoresWaitNodeSetParams", executable, waits, &p), kSuccess);
  EXPECT_EQ(cu("cuGraphExecExternalSemaphoresSignalNodeSetParams", executable, signals, &q),
            kSuccess);
  q.count = 0;
  EXPECT_EQ(cu("cuGraphExecExternalSemaphoresSignalNodeSetParams", executable, signals, &q),
            kInvalidValue);
  EXPECT_EQ(run(executable, stream), kSuccess);
  EXPECT_EQ(b.number->load(), 4u);

  EXPECT_EQ(cu("cuDestroyExternalSemaphore", second[0]), kSuccess);
  EXPECT_EQ(cu("cuGraphLaunch", executable, stream), kInvalidHandle);
}

TEST_F(ExternalSemaphores, AreNodesOfAnyKind) {
  const Word word;
  const Semaphores list[] = {imported(word, kTimeline)};
  SemaphoreParameters six = value(6), seven = value(7);
  Graph *graph = nullptr;
  GraphNode *node = nullptr;
  ASSERT_EQ(cu("cuGraphCreate", &graph, 0u), kSuccess);
  NodeParameters p = {};
  p.type = kSignalSemaphoresNode;
  p.semaphores.first = {list, &six, 1};
  p.semaphores.context = context;
  EXPECT_EQ(cu("cuGraphAddNode", &node, graph, kNoNodes, size_t(0), &p), kSuccess);
  EXPECT_EQ(run(instantiate(graph), stream), kSuccess);
  EXPECT_EQ(word.number->load(), 6u);
  p.semaphores.first.parameters = &seven;
  EXPECT_EQ(cu("cuGraphNodeSetParams", node, &p), kSuccess);
  EXPECT_EQ(run(instantiate(graph), stream), kSuccess);
  EXPECT_EQ(word.number->load(), 7u);
}

} // namespace
} // namespace rubia::runtime::cuda
