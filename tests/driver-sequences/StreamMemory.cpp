// SPDX-License-Identifier: Apache-2.0
// Words that streams write and wait for, alone, in batches, in captures and as nodes of graphs.
#include "tests/driver-sequences/Sequence.h"
#include <chrono>
#include <cstring>
#include <thread>
#include <type_traits>

namespace sequences {
namespace {

union Operation { // CUstreamBatchMemOpParams
  int type;
  struct {
    int type;
    Pointer address;
    uint64_t value;
    unsigned flags;
    Pointer alias;
  } word;
  struct {
    int type;
    unsigned flags;
  } barrier;
  uint64_t pad[6];
};
static_assert(sizeof(Operation) == 48);

enum Type { kWait32 = 1, kWrite32 = 2, kFlush = 3, kWait64 = 4, kWrite64 = 5, kBarrier = 6 };
enum How : unsigned { kGreaterOrEqual, kEqual, kAnd, kNor };

Operation word(Type type, Pointer address, uint64_t value, unsigned flags = 0) {
  Operation operation{};
  operation.word = {type, address, value, flags, kNone};
  return operation;
}
Operation barrier(Type type, unsigned flags) {
  Operation operation{};
  operation.barrier = {type, flags};
  return operation;
}

struct BatchParameters { // CUDA_BATCH_MEM_OP_NODE_PARAMS
  Pointer context;
  unsigned count;
  Operation *operations;
  unsigned flags;
};

SEQUENCE(words_written) {
  Setup s;
  cu("cuStreamWriteValue32_v2", s.stream, s.memory, 7u, 0u);
  cu("cuStreamWriteValue64_v2", s.stream, at(s.memory, 248), 5ull << 32 | 3, 0u);
  sayMemory("memory", s.memory);
  cu("cuStreamWriteValue32", s.stream, s.memory, 8u, 0u);
  cu("cuStreamWriteValue64", s.stream, at(s.memory, 248), 6ull << 32 | 4, 0u);
  sayMemory("memory", s.memory);
  cu("cuStreamWriteValue32_ptsz", kNone, s.memory, 9u, 0u);
  cu("cuStreamWriteValue64_ptsz", kNone, at(s.memory, 248), 7ull << 32 | 5, 0u);
  cu("cuStreamWriteValue32_v2_ptsz", kNone, at(s.memory, 4), 10u, 0u);
  cu("cuStreamWriteValue64_v2_ptsz", kNone, at(s.memory2, 248), 8ull << 32 | 5, 0u);
  sayMemory("memory", s.memory);
  sayMemory("memory2", s.memory2);
  cu("cuStreamWriteValue32_v2", kNone, s.memory, 11u, 0u);
  cu("cuStreamWriteValue32_v2", Pointer(1), at(s.memory, 4), 12u, 0u);
  cu("cuStreamWriteValue32_v2", Pointer(2), at(s.memory, 252), 13u, 0u);
  sayMemory("memory", s.memory);
  cu("cuStreamWriteValue32_v2", s.stream, Pointer(s.host), 14u, 0u);
  cu("cuStreamSynchronize", s.stream);
  say("host %d", s.host[0]);
  Pointer managed = kNone;
  quiet("cuMemAllocManaged", &managed, size_t(64), 1u);
  cu("cuStreamWriteValue64_v2", s.stream, managed, 15ull, 0u);
  cu("cuStreamSynchronize", s.stream);
  say("managed %d", *static_cast<int *>(managed));
}

SEQUENCE(words_written_wrongly) {
  Setup s;
  int local = 0;
  cu("cuStreamWriteValue32_v2", s.stream, kNone, 1u, 0u);
  cu("cuStreamWriteValue32_v2", s.stream, Pointer(&local), 1u, 0u);
  cu("cuStreamWriteValue32_v2", s.stream, Pointer(16), 1u, 0u);
  cu("cuStreamWriteValue32_v2", s.stream, at(s.memory, 2), 1u, 0u);
  cu("cuStreamWriteValue64_v2", s.stream, at(s.memory, 4), 1ull, 0u);
  for (unsigned flags : {1u, 2u, 4u, 0x40000000u}) {
    say("flags %x", flags);
    cu("cuStreamWriteValue32_v2", s.stream, s.memory, 1u, flags);
    cu("cuStreamWriteValue64_v2", s.stream, s.memory, 1ull, flags);
    cu("cuStreamWriteValue32", s.stream, s.memory, 1u, flags);
  }
  cu("cuStreamWriteValue32_v2", s.stream, at(s.memory, 2), 1u, 8u);
  cu("cuStreamSynchronize", s.stream);
  sayMemory("memory", s.memory);
}

SEQUENCE(words_awaited_wrongly) {
  Setup s;
  int local = 0;
  cu("cuStreamWaitValue32_v2", s.stream, kNone, 0u, 1u);
  cu("cuStreamWaitValue32_v2", s.stream, Pointer(&local), 0u, 1u);
  cu("cuStreamWaitValue32_v2", s.stream, at(s.memory, 2), 0u, 1u);
  cu("cuStreamWaitValue64_v2", s.stream, at(s.memory, 4), 0ull, 1u);
  for (unsigned flags : {4u, 8u, 0x20000000u, 0x40000001u, 0x80000000u}) {
    say("flags %x", flags);
    cu("cuStreamWaitValue32_v2", s.stream, s.memory, 0u, flags);
    cu("cuStreamWaitValue64_v2", s.stream, s.memory, 0ull, flags);
    cu("cuStreamWaitValue32", s.stream, s.memory, 0u, flags);
  }
  sayMemory("memory", s.memory);
}

struct Row {
  How how;
  uint64_t before, value, after;
};

template <class Word> bool isMet(const Row &row) {
  const Word word = Word(row.before), value = Word(row.value);
  switch (row.how) {
  case kGreaterOrEqual:
    return std::make_signed_t<Word>(word - value) >= 0;
  case kEqual:
    return word == value;
  case kAnd:
    return word & value;
  case kNor:
    return Word(~(word | value));
  }
  return false;
}

// Waits, sees that it has to wait, and writes what ends it. `before` that ends it at once is not
// written again; that may take a while on a busy machine.
template <class Word>
void awaitWords(const char *wait, const char *write, std::initializer_list<Row> rows) {
  Setup s;
  for (const Row &row : rows) {
    auto [how, before, value, after] = row;
    quiet(write, s.other, s.memory, Word(before), 0u);
    quiet("cuStreamSynchronize", s.other);
    int waits = quiet(wait, s.stream, s.memory, Word(value), unsigned(how));
    int adds = launchAdd(s, s.stream, s.memory2, 1);
    int query = 600; // not ready
    for (int i = 0; query && i < (waits || isMet<Word>(row) ? 200 : 1); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      query = quiet("cuStreamQuery", s.stream);
    }
    if (query)
      quiet(write, s.other, s.memory, Word(after), 0u);
    int done = quiet("cuStreamSynchronize", s.stream);
    say("%d: %llx for %llx: %d %d, then %d; %llx: %d", how, (unsigned long long)before,
        (unsigned long long)value, waits, adds, query, (unsigned long long)after, done);
  }
  sayMemory("memory2", s.memory2);
}

// The comparison with "greater or equal" is cyclic.
SEQUENCE(words_awaited) {
  awaitWords<unsigned>("cuStreamWaitValue32_v2", "cuStreamWriteValue32_v2",
                       {{kGreaterOrEqual, 5, 5, 5},
                        {kGreaterOrEqual, 4, 5, 6},
                        {kGreaterOrEqual, 0xffffffff, 5, 5},
                        {kGreaterOrEqual, 3, 0xfffffff0, 3},
                        {kGreaterOrEqual, 0xffffffef, 0xfffffff0, 0},
                        {kGreaterOrEqual, 0x80000005, 5, 0x80000004},
                        {kEqual, 3, 3, 3},
                        {kEqual, 4, 3, 3},
                        {kAnd, 6, 2, 6},
                        {kAnd, 6, 9, 8},
                        {kNor, 0xffffffff, 0, 0xfffffffe},
                        {kNor, 0xf0f0f0f0, 0x0f0f0f0f, 0x70f0f0f0}});
}

SEQUENCE(long_words_awaited) {
  awaitWords<unsigned long long>("cuStreamWaitValue64_v2", "cuStreamWriteValue64_v2",
                                 {{kGreaterOrEqual, 5, 5, 5},
                                  {kGreaterOrEqual, 0xffffffff, 1ull << 32, 1ull << 33},
                                  {kGreaterOrEqual, ~0ull, 5, 5},
                                  {kGreaterOrEqual, 3, ~0ull, 3},
                                  {kEqual, 1ull << 40, 0, 0},
                                  {kAnd, 1ull << 40, 3ull << 40, 0},
                                  {kAnd, 1, 1ull << 40, 1ull << 40},
                                  {kNor, ~0ull, 0, ~0ull >> 1}});
}

SEQUENCE(words_awaited_by_the_first_version) {
  awaitWords<unsigned>("cuStreamWaitValue32", "cuStreamWriteValue32",
                       {{kGreaterOrEqual, 4, 5, 6}, {kEqual, 4, 3, 3}, {kAnd, 6, 9, 8}});
}

SEQUENCE(words_between_launches) {
  Setup s;
  launchAdd(s, s.stream, s.memory, 1);
  cu("cuStreamWriteValue32_v2", s.stream, s.memory, 100u, 0u);
  launchAdd(s, s.stream, s.memory, 1);
  cu("cuStreamWaitValue32_v2", s.stream, s.memory, 101u, kEqual);
  cu("cuStreamWriteValue32_v2", s.stream, s.memory2, 5u, 0u);
  cu("cuStreamWaitValue32_v2", s.other, s.memory2, 5u, kEqual);
  cu("cuStreamWriteValue32_v2", s.other, at(s.memory2, 252), 6u, 0u);
  sayMemory("memory", s.memory);
  sayMemory("memory2", s.memory2);
  cu("cuStreamWaitValue32_ptsz", kNone, s.memory2, 5u, unsigned(kEqual));
  cu("cuStreamWaitValue64_ptsz", kNone, s.memory2, 5ull, unsigned(kEqual));
  cu("cuStreamWaitValue32_v2_ptsz", kNone, s.memory2, 5u, unsigned(kEqual));
  cu("cuStreamWaitValue64_v2_ptsz", kNone, s.memory2, 5ull, unsigned(kEqual));
  cu("cuStreamWaitValue64", s.stream, s.memory2, 5ull, unsigned(kEqual));
  cu("cuCtxSynchronize");
}

SEQUENCE(words_of_the_host_awaited) {
  Setup s;
  cu("cuStreamWaitValue32_v2", s.stream, Pointer(s.host), 3u, unsigned(kGreaterOrEqual));
  cu("cuStreamWriteValue32_v2", s.stream, Pointer(s.host + 1), 4u, 0u);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  say("%d, query %d", s.host[1], quiet("cuStreamQuery", s.stream));
  __atomic_store_n(s.host, 3, __ATOMIC_SEQ_CST);
  cu("cuStreamSynchronize", s.stream);
  say("%d", s.host[1]);
}

SEQUENCE(batches_of_words) {
  Setup s;
  Operation all[] = {word(kWrite32, s.memory, 1),
                     word(kWrite64, at(s.memory, 248), 2ull << 32),
                     word(kWait32, s.memory, 1, kEqual),
                     barrier(kBarrier, 0),
                     word(kWait64, at(s.memory, 248), 1ull << 32),
                     word(kWrite32, s.memory2, 3)};
  cu("cuStreamBatchMemOp_v2", s.stream, 6u, &all[0], 0u);
  sayMemory("memory", s.memory);
  sayMemory("memory2", s.memory2);
  all[3] = barrier(kBarrier, 1);
  cu("cuStreamBatchMemOp_v2_ptsz", kNone, 6u, &all[0], 0u);
  cu("cuStreamBatchMemOp", s.stream, 3u, &all[0], 0u);
  cu("cuStreamBatchMemOp_ptsz", kNone, 3u, &all[0], 0u);
  cu("cuStreamBatchMemOp", s.stream, 6u, &all[0], 0u);
  sayMemory("memory", s.memory);
}

SEQUENCE(batches_of_words_refused) {
  Setup s;
  Operation one = word(kWrite32, s.memory, 1), *none = nullptr;
  cu("cuStreamBatchMemOp_v2", s.stream, 0u, &one, 0u);
  cu("cuStreamBatchMemOp_v2", s.stream, 0u, none, 0u);
  cu("cuStreamBatchMemOp_v2", s.stream, 1u, none, 0u);
  cu("cuStreamBatchMemOp_v2", s.stream, 1u, &one, 1u);
  sayMemory("memory", s.memory);
  static Operation many[257];
  for (Operation &operation : many)
    operation = word(kWrite32, s.memory2, 2);
  cu("cuStreamBatchMemOp_v2", s.stream, 256u, &many[0], 0u);
  sayMemory("memory2", s.memory2);
  many[0].word.value = 3;
  cu("cuStreamBatchMemOp_v2", s.stream, 257u, &many[0], 0u);
  sayMemory("memory2", s.memory2);
  for (Operation wrong :
       {word(Type(0), s.memory, 1), word(Type(7), s.memory, 1), word(kWrite32, at(s.memory, 1), 1),
        word(kWrite32, s.memory, 1, 1), word(kWait32, s.memory, 0, 4), barrier(kBarrier, 2),
        barrier(kFlush, 0), barrier(kFlush, 1), word(kWrite32, kNone, 1)}) {
    Operation two[] = {word(kWrite32, at(s.memory, 4), 7), wrong};
    say("type %d, flags %u", wrong.type, wrong.word.flags);
    cu("cuStreamBatchMemOp_v2", s.stream, 2u, &two[0], 0u);
  }
  sayMemory("memory", s.memory);
}

void sayBatch(const char *what, const Setup &s, Pointer node) {
  BatchParameters p{};
  int code = quiet("cuGraphBatchMemOpNodeGetParams", node, &p);
  say("%s: %d, context %s, %u operations, flags %u", what, code,
      p.context == s.context ? "of it" : "another", p.count, p.flags);
  for (unsigned i = 0; !code && i < p.count; ++i)
    say("  type %d, value %llu, flags %u", p.operations[i].type,
        (unsigned long long)p.operations[i].word.value, p.operations[i].word.flags);
}

SEQUENCE(words_captured) {
  Setup s;
  Operation two[] = {word(kWait32, s.memory, 1, kEqual), word(kWrite64, s.memory2, 9)};
  quiet("cuStreamBeginCapture_v2", s.stream, 0);
  cu("cuStreamWriteValue32_v2", s.stream, s.memory, 1u, 0u);
  cu("cuStreamWaitValue32_v2", s.stream, s.memory, 0u, unsigned(kGreaterOrEqual));
  cu("cuStreamWriteValue64_v2", s.stream, at(s.memory, 248), 3ull << 32, 0u);
  cu("cuStreamBatchMemOp_v2", s.stream, 2u, &two[0], 0u);
  cu("cuStreamWaitValue64_v2", s.stream, at(s.memory, 2), 0ull, unsigned(kEqual));
  sayCapture(s.stream);
  cu("cuStreamWriteValue32", s.stream, at(s.memory2, 252), 4u, 0u);
  sayCapture(s.stream);
  Pointer graph = kNone;
  cu("cuStreamEndCapture", s.stream, &graph);
  if (!graph)
    return;
  sayGraph("graph", graph);
  Pointer nodes[8] = {};
  size_t count = 8;
  quiet("cuGraphGetNodes", graph, &nodes[0], &count);
  for (size_t i = 0; i < count; ++i)
    sayBatch("node", s, nodes[i]);
  Pointer executable = instantiate(graph);
  cu("cuGraphLaunch", executable, s.stream);
  sayMemory("memory", s.memory);
  sayMemory("memory2", s.memory2);
}

SEQUENCE(node_of_words) {
  Setup s;
  Pointer graph = makeGraph(), node = kNone;
  Pointer const *none = nullptr;
  Operation two[] = {word(kWrite32, s.memory, 1), word(kWrite32, at(s.memory, 4), 2)};
  BatchParameters p{s.context, 2, two, 0};
  const BatchParameters *parameters = &p, *null = nullptr;
  cu("cuGraphAddBatchMemOpNode", &node, graph, none, size_t(0), parameters);
  two[0].word.value = 50; // it has been copied
  int type = -1;
  cu("cuGraphNodeGetType", node, &type);
  say("type %d", type);
  sayBatch("node", s, node);
  Pointer executable = instantiate(graph);
  cu("cuGraphLaunch", executable, s.stream);
  sayMemory("memory", s.memory);
  cu("cuGraphBatchMemOpNodeSetParams", node, parameters);
  sayBatch("node", s, node);
  p.flags = 1;
  cu("cuGraphBatchMemOpNodeSetParams", node, parameters);
  p.flags = 0;
  p.count = 1;
  cu("cuGraphBatchMemOpNodeSetParams", node, parameters);
  sayBatch("node", s, node);
  cu("cuGraphBatchMemOpNodeSetParams", node, null);
  cu("cuGraphBatchMemOpNodeGetParams", node, static_cast<BatchParameters *>(nullptr));
  Pointer other = kNone;
  cu("cuGraphAddBatchMemOpNode", &other, graph, none, size_t(0), null);
  for (BatchParameters wrong : {BatchParameters{kNone, 1, two, 0},
                                {s.context, 0, two, 0},
                                {s.context, 1, nullptr, 0},
                                {s.context, 1, two, 1},
                                {s.context, 257, two, 0}})
    if (wrong.count < 257)
      cu("cuGraphAddBatchMemOpNode", &other, graph, none, size_t(0),
         static_cast<const BatchParameters *>(&wrong));
  two[0].word.address = at(s.memory, 2);
  cu("cuGraphAddBatchMemOpNode", &other, graph, none, size_t(0), parameters);
  sayGraph("graph", graph);
}

SEQUENCE(node_of_words_changed_when_executable) {
  Setup s;
  Pointer graph = makeGraph(), node = kNone;
  Pointer const *none = nullptr;
  Operation two[] = {word(kWrite32, s.memory, 1), word(kWait32, s.memory, 1, kEqual)};
  BatchParameters p{s.context, 2, two, 0};
  const BatchParameters *parameters = &p;
  cu("cuGraphAddBatchMemOpNode", &node, graph, none, size_t(0), parameters);
  Pointer executable = instantiate(graph);
  auto change = [&](const char *what) {
    say("%s", what);
    cu("cuGraphExecBatchMemOpNodeSetParams", executable, node, parameters);
    cu("cuGraphLaunch", executable, s.stream);
    sayMemory("memory", s.memory);
    sayMemory("memory2", s.memory2);
  };
  two[0].word.value = two[1].word.value = 5;
  change("values");
  two[0].word.address = two[1].word.address = s.memory2;
  change("addresses");
  two[1].word.flags = kGreaterOrEqual;
  change("condition");
  two[1] = word(kWrite32, s.memory, 6);
  change("type");
  p.count = 1;
  change("number");
  p.flags = 1;
  change("flags");
  p = {kNone, 2, two, 0};
  change("context");
  unsigned isEnabled = 7;
  cu("cuGraphNodeSetEnabled", executable, node, 0u);
  cu("cuGraphNodeGetEnabled", executable, node, &isEnabled);
  say("enabled %u", isEnabled);
}

SEQUENCE(node_of_words_of_any_kind) {
  Setup s;
  Pointer graph = makeGraph(), node = kNone;
  Pointer const *none = nullptr;
  Operation one[] = {word(kWrite32, s.memory, 1)};
  NodeParameters n{};
  n.type = 12;
  const BatchParameters p{s.context, 1, one, 0};
  memcpy(n.words, &p, sizeof(p));
  cu("cuGraphAddNode", &node, graph, none, size_t(0), &n);
  sayBatch("node", s, node);
  one[0].word.value = 2;
  cu("cuGraphNodeSetParams", node, &n);
  sayBatch("node", s, node);
  Pointer executable = instantiate(graph);
  one[0].word.value = 3;
  cu("cuGraphExecNodeSetParams", executable, node, &n);
  cu("cuGraphLaunch", executable, s.stream);
  sayMemory("memory", s.memory);
  UpdateResult result{};
  cu("cuGraphExecUpdate_v2", executable, graph, &result);
  say("result %d", result.result);
  cu("cuGraphLaunch", executable, s.stream);
  sayMemory("memory", s.memory);
  one[0] = word(kWait32, s.memory, 2, kEqual);
  cu("cuGraphNodeSetParams", node, &n);
  cu("cuGraphExecUpdate_v2", executable, graph, &result);
  say("result %d", result.result);
  Pointer clone = kNone;
  cu("cuGraphClone", &clone, graph);
  sayGraph("clone", clone);
}

SEQUENCE(attributes_of_words) {
  Setup s;
  for (int attribute : {92, 93, 94, 98, 122, 123}) {
    int value = -1;
    int code = quiet("cuDeviceGetAttribute", &value, attribute, 0);
    say("attribute %d: %d %d", attribute, code, value);
  }
}

} // namespace
} // namespace sequences
