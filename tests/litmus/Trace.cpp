// SPDX-License-Identifier: Apache-2.0
#include "tests/litmus/Trace.h"
#include "emulator/lib/observe/ObservedRun.h"
#include "emulator/lib/observe/Observer.h"
#include "tests/litmus/Kernel.h"
#include "llvm/ADT/STLExtras.h"
#include <array>
#include <deque>
#include <map>
#include <set>

using namespace llvm;
using namespace rubia::emulator;

namespace rubia::litmus {

namespace {

constexpr unsigned kRegisters = 512;
constexpr unsigned kMaxRuns = 100; // until each loop has had several rounds
constexpr uint64_t kNowhere = ~uint64_t(0);
constexpr uint64_t kLocationBytes = 16; // Kernel.cpp: what a location has for itself

unsigned registerOf(uint64_t offsetInFile) { return unsigned(offsetInFile / kBlockLanes) - 1; }

/// An executed instruction, and what has yet to be found out about its accesses.
struct Entry {
  size_t index = 0; // in the program
  MachineOp op;
  std::vector<uint64_t> local; // LDS address of each access
};

/// What one word of a load is of, by its entry's number and the access there.
struct Origin {
  unsigned entry = 0, access = 0;
  bool isKnown = false;
};

struct Thread {
  std::deque<Entry> entries;
  std::map<size_t, std::set<size_t>> loops; // what was executed in the rounds, by where they begin
  std::map<unsigned, Entry *> byNumber;
  std::array<Origin, kRegisters> origins;
  unsigned number = 0;
};

class Tracer : public Observer {
public:
  Tracer(const Test &test, const Prepared &prepared, const SteppedProgram &code);
  ~Tracer() override { consumeError(std::move(error)); }

  void before(RunningGroup &group, Wave &wave, const MicroOp &op, const InstructionStep &step,
              const Accesses &accesses) override;
  Error finish(MachineProgram &program);

private:
  void fold(Thread &thread, size_t index);
  Error note(Thread &thread, const Wave &wave, const MicroOp &op, const InstructionStep &step,
             const Accesses &accesses);
  Error noteMemory(Entry &entry, unsigned number, Thread &thread, const Wave &wave,
                   const MicroOp &op, const Accesses &accesses, StringRef name);
  Error noteResult(Thread &thread, unsigned slot, unsigned vgpr, uint32_t value);
  void followRegisters(Thread &thread, const MicroOp &op, const InstructionStep &step);
  Error addLoops(const Thread &thread, size_t number, std::vector<MachineOp> &ops);
  StringRef nameOf(const MicroOp &op) const;

  const Test &test;
  const Prepared &prepared;
  const SteppedProgram &code;
  std::vector<Thread> threads;
  std::map<std::pair<unsigned, unsigned>, Thread *> threadOf; // by CTA and wave
  std::map<uint64_t, int> locationOfLocal;                    // by LDS address
  std::vector<std::pair<unsigned, uint32_t>> constants;
  Error error = Error::success();
};

Tracer::Tracer(const Test &test, const Prepared &prepared, const SteppedProgram &code)
    : test(test), prepared(prepared), code(code), threads(test.threads.size()) {
  std::map<unsigned, unsigned> waves; // of each CTA
  for (size_t i = 0; i < threads.size(); ++i, ++waves[test.cta[i - 1]])
    threadOf[{test.cta[i], 2 * waves[test.cta[i]]}] = &threads[i]; // two warps: the second leaves
}

StringRef Tracer::nameOf(const MicroOp &op) const {
  MCInst inst;
  const Target &target = *code.program->target;
  return target.disassemble(inst, code.program->image.drop_front(op.pc), op.pc)
             ? target.name(inst.getOpcode())
             : "";
}

/// If a loop begins anew, forgets its last round.
void Tracer::fold(Thread &thread, size_t index) {
  auto head = llvm::find_if(thread.entries, [&](const Entry &e) { return e.index == index; });
  if (head == thread.entries.end())
    return;
  for (auto at = head; at != thread.entries.end(); ++at)
    thread.loops[index].insert(at->index);
  for (auto at = head; at != thread.entries.end(); ++at)
    for (auto known = thread.byNumber.begin(); known != thread.byNumber.end(); ++known)
      if (known->second == &*at) {
        thread.byNumber.erase(known);
        break;
      }
  thread.entries.erase(head, thread.entries.end());
}

Error Tracer::noteResult(Thread &thread, unsigned slot, unsigned vgpr, uint32_t value) {
  const Origin &origin = thread.origins[vgpr];
  if (!origin.isKnown) {
    constants.emplace_back(slot, value);
    return Error::success();
  }
  auto found = thread.byNumber.find(origin.entry);
  if (found == thread.byNumber.end())
    return createStringError(test.name + ": a result of a loop's earlier round");
  found->second->op.accesses[origin.access].slots.push_back(slot);
  if (slot >= test.results) // the final value of a location in LDS
    locationOfLocal[found->second->local[origin.access]] = int(slot - test.results);
  return Error::success();
}

Error Tracer::noteMemory(Entry &entry, unsigned number, Thread &thread, const Wave &wave,
                         const MicroOp &op, const Accesses &accesses, StringRef name) {
  const InstructionStep &step = entry.op.step;
  const bool isLocal = step.kind == StepKind::Lds;
  entry.op.kind = MachineOp::Memory;
  entry.op.effect = name.contains("SWAP") || name.contains("WRXCHG")   ? MachineOp::Swap
                    : name.contains("ADD")                             ? MachineOp::Add
                    : name.contains("STORE") || name.contains("WRITE") ? MachineOp::Store
                                                                       : MachineOp::Load;
  struct Word {
    uint64_t address;
    unsigned vgpr; // stored or loaded
  };
  SmallVector<Word, 4> words;
  const bool loads = entry.op.effect == MachineOp::Load;
  for (const LaneAccess &access : accesses.lanes) {
    if (access.lane != 0)
      continue;
    if (access.bytes % 4 != 0 || access.space == Space::Scratch)
      return createStringError(test.name + ": unexpected instruction " + name);
    for (unsigned i = 0; i < access.bytes / 4u; ++i) {
      const bool isSecond = step.lds == LdsForm::Two && !words.empty();
      words.push_back({access.address + 4 * i, loads
                                                   ? registerOf(op.result) + unsigned(words.size())
                                                   : registerOf(op.source[isSecond ? 3 : 2]) + i});
    }
  }
  SmallVector<unsigned, 4> accessOf; // of each word
  for (auto [address, vgpr] : words) {
    const uint32_t value = wave.block(0)[vectorOffset(vgpr)];
    const uint64_t offset = address - uint64_t(prepared.results);
    if (!isLocal && offset < 4 * (test.results + test.locations.size())) {
      if (Error error = noteResult(thread, unsigned(offset / 4), vgpr, value))
        return error;
      continue;
    }
    Access access;
    access.value = value;
    for (size_t i = 0; i < test.locations.size(); ++i)
      if (!isLocal && address - uint64_t(prepared.locations[i]) < kLocationBytes)
        access.location = int(i);
    // The words of a vector are one access of its location.
    const uint64_t local = isLocal ? address / kLocationBytes * kLocationBytes : kNowhere;
    const bool isSame = !entry.local.empty() && entry.local.back() == local &&
                        entry.op.accesses.back().location == access.location &&
                        (isLocal || access.location >= 0);
    if (!isSame) {
      entry.op.accesses.push_back(access);
      entry.local.push_back(local);
    }
    accessOf.push_back(unsigned(entry.local.size()) - 1);
  }
  const bool returns = loads || op.data & kAtomicReturns;
  for (unsigned i = 0; returns && i < accessOf.size(); ++i)
    thread.origins[registerOf(op.result) + i] = {number, accessOf[i], true};
  return Error::success();
}

/// Where the value of a register that is computed comes from: what is computed of one loaded word
/// counts as it, since results are only moved.
void Tracer::followRegisters(Thread &thread, const MicroOp &op, const InstructionStep &step) {
  const unsigned result = registerOf(op.result);
  const bool writes = llvm::any_of(step.registers, [&](const RegisterRange &range) {
    return range.vector && range.written && result >= range.first &&
           result < unsigned(range.first) + range.count;
  });
  if (!writes || op.result == 0)
    return;
  Origin origin;
  for (unsigned i = 0; i < 4; ++i)
    if (op.kind[i] == OperandKind::Vector && op.source[i] != 0)
      if (const Origin &from = thread.origins[registerOf(op.source[i])]; from.isKnown)
        origin = from;
  thread.origins[result] = origin;
}

Error Tracer::note(Thread &thread, const Wave &wave, const MicroOp &op, const InstructionStep &step,
                   const Accesses &accesses) {
  const size_t index = size_t(&op - code.program->operations.data());
  fold(thread, index);
  const unsigned number = thread.number++;
  Entry &entry = thread.entries.emplace_back();
  thread.byNumber[number] = &entry;
  entry.index = index;
  entry.op.pc = op.pc;
  entry.op.step = step;
  switch (step.kind) {
  case StepKind::Wait:
    entry.op.kind = MachineOp::Wait;
    return Error::success();
  case StepKind::Cache:
    entry.op.kind = MachineOp::Cache;
    return Error::success();
  case StepKind::Vector:
  case StepKind::Lds:
    return noteMemory(entry, number, thread, wave, op, accesses, nameOf(op));
  case StepKind::Scalar: // arguments
  case StepKind::Other:
    break;
  }
  if (step.barrier) {
    const StringRef name = nameOf(op);
    entry.op.kind = name == "S_BARRIER_WAIT" ? MachineOp::AwaitSignals : MachineOp::Signal;
    if (name == "S_BARRIER") { // both
      Entry &second = thread.entries.emplace_back();
      second.index = index;
      second.op.kind = MachineOp::AwaitSignals;
    }
  } else if (step.kind == StepKind::Other) {
    followRegisters(thread, op, step);
  }
  return Error::success();
}

void Tracer::before(RunningGroup &group, Wave &wave, const MicroOp &op, const InstructionStep &step,
                    const Accesses &accesses) {
  auto thread = threadOf.find({group.id.x, wave.indexInGroup});
  if (thread != threadOf.end() && !error)
    error = note(*thread->second, wave, op, step, accesses);
}

/// At the end of each round the thread stays in the loop unless its load has given what is awaited.
Error Tracer::addLoops(const Thread &thread, size_t number, std::vector<MachineOp> &ops) {
  std::vector<const Operation *> awaits;
  for (const Operation &operation : test.threads[number])
    if (operation.kind == Operation::Await)
      awaits.push_back(&operation);
  std::map<size_t, size_t> ends; // of loops, by where they begin
  for (const auto &[first, body] : thread.loops) {
    auto head = llvm::find_if(thread.entries, [&](const Entry &e) { return e.index == first; });
    auto end = head;
    std::set<size_t> missing;
    for (size_t index : body)
      if (code.steps[index].kind != StepKind::Other)
        missing.insert(index);
    for (auto at = head; at != thread.entries.end(); ++at)
      if (body.contains(at->index)) {
        missing.erase(at->index);
        end = at + 1;
      }
    if (!missing.empty())
      return createStringError(test.name + ": a loop whose last round is different");
    ends[size_t(head - thread.entries.begin())] = size_t(end - thread.entries.begin());
  }
  if (ends.size() != awaits.size())
    return createStringError(test.name + ": loops that are not understood");
  size_t next = 0;
  for (auto [head, end] : ends) {
    MachineOp loop;
    loop.kind = MachineOp::Loop;
    loop.head = unsigned(head + next);
    loop.awaited = awaits[next]->value;
    ops.insert(ops.begin() + ptrdiff_t(end + next++), loop);
  }
  return Error::success();
}

Error Tracer::finish(MachineProgram &program) {
  if (error)
    return std::move(error);
  program.constants = constants;
  for (size_t i = 0; i < threads.size(); ++i) {
    std::vector<MachineOp> &ops = program.threads.emplace_back();
    for (Entry &entry : threads[i].entries) {
      for (size_t j = 0; j < entry.local.size(); ++j)
        if (entry.local[j] != kNowhere) {
          auto found = locationOfLocal.find(entry.local[j]);
          if (found == locationOfLocal.end())
            return createStringError(test.name + ": an unknown place in LDS");
          entry.op.accesses[j].location = found->second;
        }
      ops.push_back(entry.op);
    }
    if (Error error = addLoops(threads[i], i, ops))
      return error;
  }
  return Error::success();
}

} // namespace

Expected<MachineProgram> trace(Runner &runner, const Test &test, size_t index) {
  Error last = Error::success();
  for (unsigned seed = 1; seed <= kMaxRuns; ++seed) {
    Prepared prepared;
    if (Error error = runner.prepare(test, index, false, prepared))
      return joinErrors(std::move(last), std::move(error));
    const Kernel &kernel = *prepared.launch.kernel;
    auto kernarg = runner.memory.allocateZeroed(kernel.kernargSize + 256, MemoryKind::Code, 64);
    if (!kernarg)
      return joinErrors(std::move(last), kernarg.takeError());
    llvm::copy(prepared.launch.kernarg.take_front(kernel.kernargSize),
               static_cast<uint8_t *>(*kernarg));
    Tracer tracer(test, prepared, kernel.program->stepped());
    Dispatch dispatch(prepared.launch, runner.memory, Bounds(), uint64_t(*kernarg),
                      uint64_t(*kernarg), 1);
    Observer *observers[] = {&tracer};
    Error error = runObserved(dispatch, observers, seed).takeError();
    if (Error leak = runner.memory.free(*kernarg))
      error = joinErrors(std::move(error), std::move(leak));
    MachineProgram program;
    program.arch = kernel.program->target->row().name.str();
    program.spread = kernel.resource1 >> 29 & 1;
    if (!error)
      error = tracer.finish(program);
    consumeError(std::move(last));
    if (!error)
      return program;
    last = std::move(error);
  }
  return std::move(last);
}

} // namespace rubia::litmus
