// SPDX-License-Identifier: Apache-2.0
// Loops that wait for another warp. Values that another warp may write are followed through
// registers, memory and branches, within the loop, until nothing more is found; then the loop's
// exits are looked at.
#include "lowering/lib/analysis/WaitingLoops.h"
#include "lowering/lib/analysis/CallSummaries.h"
#include "lowering/lib/analysis/ControlFlowGraph.h"
#include "lowering/lib/analysis/Definitions.h"
#include "lowering/lib/analysis/InstructionEffects.h"
#include "lowering/lib/analysis/LoopValues.h"

using namespace llvm;

namespace rubia::ptx::Mod {
extern const Modifier Cc;
} // namespace rubia::ptx::Mod

namespace rubia::lowering {
namespace {

using Kind = ptx::Operand::Kind;

// Kinds of memory, of which values in it are not told apart.
enum MemoryKind : unsigned { kOwn = 1, kShared = 2, kGlobal = 4, kAnyMemory = 7 };

// What an instruction reads or writes; 0: nothing that changes.
unsigned memoryOf(const ptx::Instruction &instruction) {
  if (does(instruction, effects::Calls))
    return kAnyMemory;
  if (!does(instruction, effects::Reads | effects::Writes))
    return 0;
  auto isAddress = [](const ptx::Operand &operand) {
    return operand.kind == Kind::Address || operand.kind == Kind::AddressList;
  };
  if (count_if(instruction.operands, isAddress) != 1) // copies, and what has descriptors
    return kAnyMemory;
  const ptx::Variable *variable = addressOf(instruction)->variable();
  switch (instruction.spelling->space()) {
  case ptx::StateSpace::Const:
    return 0;
  case ptx::StateSpace::Local:
    return kOwn;
  case ptx::StateSpace::Shared:
    return kShared;
  case ptx::StateSpace::Global:
    return kGlobal;
  case ptx::StateSpace::Param: // arguments and results of calls are .param memory too
    return variable && variable->isKernelParameter ? 0 : unsigned(kOwn);
  case ptx::StateSpace::None: // generic
  case ptx::StateSpace::Reg:
  case ptx::StateSpace::SReg:
  case ptx::StateSpace::Tex:
    return kAnyMemory;
  }
  return kAnyMemory;
}

// Calls visit(register) for every register that an instruction writes; of a call also for its
// arguments, which does no harm.
template <typename Visit> void forEachWritten(const ptx::Instruction &instruction, Visit visit) {
  if (does(instruction, effects::Calls)) {
    for (const ptx::Operand &operand : instruction.operands)
      if (operand.kind == Kind::List)
        forEachRegister(operand, visit);
  } else if (writesFirstOperand(instruction)) {
    forEachRegister(instruction.operands[0], visit);
  }
}

// Registers whose value is another one each round, because it is computed from that of the round
// before: those that are left when what follows from none of them is taken away.
BitVector steppedRegisters(const ptx::Function &function, const BitVector &inLoop) {
  BitVector stepped(unsigned(function.registers.size()));
  DenseMap<ptx::RegisterId, SmallVector<uint32_t, 4>> users;
  DenseMap<uint32_t, unsigned> sourcesLeft; // of instructions
  DenseMap<ptx::RegisterId, unsigned> writersLeft;
  for (unsigned index : inLoop.set_bits())
    forEachWritten(function.body[index], [&](ptx::RegisterId reg) {
      stepped.set(reg);
      ++writersLeft[reg];
    });
  SmallVector<uint32_t> done;
  for (unsigned index : inLoop.set_bits()) {
    const ptx::Instruction &instruction = function.body[index];
    unsigned sources = 0;
    if (!does(instruction, effects::Calls))
      for (const ptx::Operand &operand :
           drop_begin(instruction.operands, writesFirstOperand(instruction)))
        forEachRegister(operand, [&](ptx::RegisterId reg) {
          if (stepped.test(reg)) {
            users[reg].push_back(index);
            ++sources;
          }
        });
    sourcesLeft[index] = sources;
    if (!sources)
      done.push_back(index);
  }
  while (!done.empty())
    forEachWritten(function.body[done.pop_back_val()], [&](ptx::RegisterId reg) {
      if (--writersLeft[reg])
        return;
      stepped.reset(reg);
      for (uint32_t user : users.lookup(reg))
        if (!--sourcesLeft[user])
          done.push_back(user);
    });
  return stepped;
}

// ---------- Barriers and plain loads

// Whether a barrier of the CTA is on every way round. Packed warps come to barriers together, so
// that what a round hands on through memory is nothing that a warp still waits for.
bool meetsEachRound(const LoopValues &values) {
  if (!values.loop.hasOneEntry)
    return false;
  auto hasBarrier = [&](uint32_t block) {
    const ControlFlowGraph::Block &code = values.graph.blocks[block];
    return any_of(ArrayRef(values.function.body).slice(code.first, code.end - code.first),
                  [](const ptx::Instruction &instruction) {
                    return does(instruction, effects::MeetsCta) &&
                           instruction.guard.reg == ptx::kNone;
                  });
  };
  BitVector seen(unsigned(values.graph.blocks.size()));
  SmallVector<uint32_t> open{values.loop.header};
  while (!open.empty()) {
    uint32_t block = open.pop_back_val();
    if (hasBarrier(block))
      continue;
    for (uint32_t next : values.graph.blocks[block].successors) {
      if (next == values.loop.header)
        return false;
      if (!values.blocks.test(next) || seen.test(next))
        continue;
      seen.set(next);
      open.push_back(next);
    }
  }
  return true;
}

// The plain loads of a loop, in it and in callees, that another warp may answer: from where the
// loop has an atomic operation, and, if there is something after which memory is read again, from
// where it has been read in the round before.
BitVector findPlainReads(const LoopValues &values, const CallSummaries &calls, bool meet) {
  const ptx::Function &function = values.function;
  BitVector result(unsigned(function.body.size()));
  bool readsAnew = false;
  SmallVector<const ptx::Operand *> places;
  for (unsigned index : values.instructions.set_bits()) {
    const ptx::Instruction &instruction = function.body[index];
    readsAnew |= readsAnewAfter(instruction) || calls.readsAnewAfter(function, instruction);
    if (isExchange(instruction))
      for (const ptx::Operand &operand : instruction.operands)
        if (operand.kind == Kind::Address)
          places.push_back(&operand);
  }
  if (!readsAnew)
    return result;
  BitVector stepped = steppedRegisters(function, values.instructions);
  for (unsigned index : values.instructions.set_bits()) {
    const ptx::Instruction &instruction = function.body[index];
    bool counts = false;
    if (isPlainLoad(instruction)) {
      const ptx::Operand &address = instruction.operands[1];
      counts =
          any_of(places, [&](const ptx::Operand *place) { return isSamePlace(address, *place); }) ||
          (!meet && (address.reg == ptx::kNone || !stepped.test(address.reg)));
    } else {
      counts = !meet && calls.mayLoad(function, instruction);
    }
    if (counts)
      result.set(index);
  }
  return result;
}

// ---------- What follows from what is read

// The values of a loop that another warp may write, each with the instruction that reads it.
class Taint {
public:
  Taint(const LoopValues &values, const CallSummaries &calls)
      : values(values), calls(calls), function(values.function), graph(values.graph),
        meet(meetsEachRound(values)), plainReads(findPlainReads(values, calls, meet)) {}

  bool hasReads() const {
    return plainReads.any() || any_of(values.instructions.set_bits(), [&](unsigned index) {
             return calls.readOf(function, function.body[index]);
           });
  }

  void follow(ArrayRef<uint32_t> postDominators) {
    while (std::exchange(changed, false))
      for (uint32_t block : values.loop.blocks)
        followBlock(block, postDominators);
  }

  std::optional<WaitingLoop> findExit() const;

private:
  using Source = const ptx::Instruction *; // that reads; null: not tainted

  void note(Source &slot, Source from) {
    if (from && !slot) {
      slot = from;
      changed = true;
    }
  }
  Source ofRegisters(const ptx::Operand &operand) const;
  Source ofGuard(const ptx::Instruction &instruction) const {
    return instruction.guard.reg == ptx::kNone ? nullptr : registers.lookup(instruction.guard.reg);
  }
  Source ofBranch(const ptx::Instruction &branch) const {
    const ptx::Operand *choice = choiceOf(branch);
    Source from = ofGuard(branch);
    return !from && choice ? ofRegisters(*choice) : from;
  }
  Source ofMemory(unsigned kinds) const;
  Source givenTo(const ptx::Instruction &instruction, Source control) const;
  void propagate(uint32_t index, Source control);
  void followBlock(uint32_t block, ArrayRef<uint32_t> postDominators);

  const LoopValues &values;
  const CallSummaries &calls;
  const ptx::Function &function;
  const ControlFlowGraph &graph;
  const bool meet;
  const BitVector plainReads; // plain loads that count as reads of what others write

  DenseMap<ptx::RegisterId, Source> registers;
  Source memory[3] = {}; // by the bits of MemoryKind
  Source conditionCode = nullptr;
  DenseMap<uint32_t, Source> controlled; // blocks
  bool changed = true;
};

Taint::Source Taint::ofRegisters(const ptx::Operand &operand) const {
  Source from = nullptr;
  forEachRegister(operand, [&](ptx::RegisterId reg) {
    if (!from)
      from = registers.lookup(reg);
  });
  return from;
}

Taint::Source Taint::ofMemory(unsigned kinds) const {
  for (auto [bit, kind] : enumerate(memory))
    if (kind && (kinds >> bit & 1))
      return kind;
  return nullptr;
}

// What an instruction is given, and whether it is executed.
Taint::Source Taint::givenTo(const ptx::Instruction &instruction, Source control) const {
  Source given = control ? control : ofGuard(instruction);
  if (given || values.isRetry(instruction))
    return given;
  for (const ptx::Operand &operand :
       drop_begin(instruction.operands, writesFirstOperand(instruction)))
    if (!given)
      given = ofRegisters(operand);
  return !given && does(instruction, effects::ReadsCarry) ? conditionCode : given;
}

void Taint::propagate(uint32_t index, Source control) {
  const ptx::Instruction &instruction = function.body[index];
  const bool isCall = does(instruction, effects::Calls);
  const unsigned kinds = memoryOf(instruction);
  const Source given = givenTo(instruction, control);
  Source from = calls.readOf(function, instruction);
  if (!from && plainReads.test(index))
    from = &instruction;
  if (!from)
    from = given;
  if (!from && (isCall || writesFirstOperand(instruction)))
    from = ofMemory(kinds);
  if (!from)
    return;
  forEachWritten(instruction, [&](ptx::RegisterId reg) { note(registers[reg], from); });
  if (isCall || (given && does(instruction, effects::Writes)))
    for (auto [bit, kind] : enumerate(memory)) {
      unsigned which = 1u << bit;
      if ((kinds & which) && (which == kOwn || !meet))
        note(kind, isCall ? from : given);
    }
  if (instruction.spelling->has(ptx::Mod::Cc))
    note(conditionCode, from);
}

void Taint::followBlock(uint32_t block, ArrayRef<uint32_t> postDominators) {
  const ControlFlowGraph::Block &code = graph.blocks[block];
  for (uint32_t index = code.first; index < code.end; ++index)
    propagate(index, controlled.lookup(block));
  if (block >= graph.codeBlocks() || !code.decides())
    return;
  if (Source from = ofBranch(function.body[code.branch()]))
    graph.forEachDecided(block, postDominators,
                         [&](uint32_t next) { note(controlled[next], from); });
}

// The first exit that depends on what another warp may write.
std::optional<WaitingLoop> Taint::findExit() const {
  for (uint32_t block : values.loop.blocks) {
    const ControlFlowGraph::Block &code = graph.blocks[block];
    for (uint32_t index = code.first; index < code.end; ++index) {
      const ptx::Instruction &call = function.body[index];
      if (calls.mayExit(function, call))
        return WaitingLoop{&function, &call, &call};
    }
    const bool leaves = !values.loop.hasOneEntry || any_of(code.successors, [&](uint32_t next) {
      return !values.blocks.test(next);
    });
    if (!code.decides() || !leaves)
      continue;
    const ptx::Instruction &branch = function.body[code.branch()];
    Source from = ofBranch(branch);
    if (!from)
      from = controlled.lookup(block); // which of several exits it is
    if (from)
      return WaitingLoop{&function, &branch, from};
  }
  return std::nullopt;
}

std::optional<WaitingLoop> findIn(const ptx::Function &function, const CallSummaries &calls) {
  ControlFlowGraph graph(function);
  Definitions definitions(function);
  std::vector<uint32_t> postDominators; // take time
  for (const ControlFlowGraph::Loop &loop : graph.loops()) {
    LoopValues values(function, definitions, graph, loop);
    Taint taint(values, calls);
    if (!taint.hasReads())
      continue;
    if (postDominators.empty())
      postDominators = graph.immediatePostDominators();
    taint.follow(postDominators);
    if (std::optional<WaitingLoop> found = taint.findExit())
      return found;
  }
  // Going round by calling oneself.
  if (const ptx::Instruction *read = calls.firstReadOf(function);
      read && calls.isRecursive(function))
    return WaitingLoop{&function, read, read};
  return std::nullopt;
}

} // namespace

std::optional<WaitingLoop> findWaitingLoop(const Unit &unit,
                                           const DenseSet<const ptx::Function *> &addressTaken) {
  CallSummaries calls(unit, addressTaken);
  for (const ptx::Function *function : calls.functions())
    if (std::optional<WaitingLoop> found = findIn(*function, calls))
      return found;
  return std::nullopt;
}

} // namespace rubia::lowering
