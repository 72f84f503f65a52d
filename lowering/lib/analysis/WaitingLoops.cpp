// SPDX-License-Identifier: Apache-2.0
#include "lowering/lib/analysis/WaitingLoops.h"
#include "lowering/lib/analysis/ControlFlowGraph.h"
#include "lowering/lib/analysis/Definitions.h"
#include "lowering/lib/analysis/InstructionEffects.h"

using namespace llvm;

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

// Where values come from that another warp may write.
struct Taint {
  DenseMap<ptx::RegisterId, const ptx::Instruction *> registers;
  const ptx::Instruction *memory[3] = {}; // by the bits of MemoryKind
  const ptx::Instruction *conditionCode = nullptr;
};

// What is asked of a loop again and again.
struct LoopBody {
  LoopBody(const ptx::Function &function, const ControlFlowGraph &graph,
           const ControlFlowGraph::Loop &loop)
      : blocks(unsigned(graph.blocks.size())), instructions(unsigned(function.body.size())),
        plainReads(unsigned(function.body.size())) {
    for (uint32_t block : loop.blocks) {
      blocks.set(block);
      instructions.set(graph.blocks[block].first, graph.blocks[block].end);
    }
    meetsEachRound = loop.hasOneEntry && !comesRoundWithoutBarrier(function, graph, loop.header);
  }

  BitVector blocks, instructions;
  BitVector plainReads; // plain loads that count as reads of what others write
  // There is a barrier of the CTA on every way round. Packed warps come to barriers together, so
  // that what a round hands on through memory is nothing that a warp still waits for.
  bool meetsEachRound;

private:
  bool comesRoundWithoutBarrier(const ptx::Function &function, const ControlFlowGraph &graph,
                                uint32_t header) const {
    auto hasBarrier = [&](uint32_t block) {
      const ControlFlowGraph::Block &code = graph.blocks[block];
      return any_of(ArrayRef(function.body).slice(code.first, code.end - code.first),
                    [](const ptx::Instruction &instruction) {
                      return does(instruction, effects::MeetsCta) &&
                             instruction.guard.reg == ptx::kNone;
                    });
    };
    BitVector seen(unsigned(graph.blocks.size()));
    SmallVector<uint32_t> open{header};
    while (!open.empty()) {
      uint32_t block = open.pop_back_val();
      if (hasBarrier(block))
        continue;
      for (uint32_t next : graph.blocks[block].successors) {
        if (next == header)
          return true;
        if (!blocks.test(next) || seen.test(next))
          continue;
        seen.set(next);
        open.push_back(next);
      }
    }
    return false;
  }
};

// Registers whose value is another one each round, because it is computed from that of the round
// before: those that are left when what follows from none of them is taken away.
BitVector steppedRegisters(const ptx::Function &function, const BitVector &inLoop) {
  BitVector stepped(unsigned(function.registers.size()));
  DenseMap<ptx::RegisterId, SmallVector<uint32_t, 4>> users;
  DenseMap<uint32_t, unsigned> sourcesLeft; // of instructions
  DenseMap<ptx::RegisterId, unsigned> writersLeft;
  auto forEachWritten = [&](const ptx::Instruction &instruction, auto visit) {
    if (does(instruction, effects::Calls)) {
      for (const ptx::Operand &operand : instruction.operands)
        if (operand.kind == Kind::List)
          forEachRegister(operand, visit);
    } else if (writesFirstOperand(instruction)) {
      forEachRegister(instruction.operands[0], visit);
    }
  };
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

class WaitingLoops {
public:
  WaitingLoops(const Unit &unit, const DenseSet<const ptx::Function *> &addressTaken)
      : addressTaken(addressTaken) {
    all.append(unit.kernels.begin(), unit.kernels.end());
    all.append(unit.functions.begin(), unit.functions.end());
  }

  std::optional<WaitingLoop> find() {
    summarize();
    for (const ptx::Function *function : all) {
      ControlFlowGraph graph(*function);
      std::vector<uint32_t> postDominators;
      Definitions definitions(*function);
      for (const ControlFlowGraph::Loop &loop : graph.loops()) {
        LoopBody body(*function, graph, loop);
        findPlainReads(*function, body);
        if (body.plainReads.none() && none_of(body.instructions.set_bits(), [&](unsigned index) {
              return readOf(*function, function->body[index]);
            }))
          continue;
        if (postDominators.empty())
          postDominators = graph.immediatePostDominators();
        if (std::optional<WaitingLoop> spin =
                check(*function, graph, definitions, postDominators, loop, body))
          return spin;
      }
      // Going round by calling oneself.
      if (const ptx::Instruction *read = firstRead.lookup(function); read && isRecursive(*function))
        return WaitingLoop{function, read, read};
    }
    return std::nullopt;
  }

private:
  // The functions that a call may reach.
  void forEachCallee(const ptx::Function &caller, const ptx::Instruction &call,
                     function_ref<void(const ptx::Function &)> visit) const {
    for (const ptx::Operand &operand : call.operands) {
      if (operand.kind == Kind::Function) {
        visit(definitionOf(*operand.function()));
        return;
      }
    }
    for (const ptx::Function *function : addressTaken)
      visit(*function);
    for (const ptx::Prototype &prototype : caller.prototypes)
      for (const ptx::Function *target : prototype.targets)
        visit(definitionOf(*target));
  }

  // What an instruction reads itself or in a callee.
  const ptx::Instruction *readOf(const ptx::Function &function,
                                 const ptx::Instruction &instruction) const {
    if (mayPoll(instruction))
      return &instruction;
    const ptx::Instruction *result = nullptr;
    if (does(instruction, effects::Calls))
      forEachCallee(function, instruction, [&](const ptx::Function &callee) {
        if (firstRead.lookup(&callee))
          result = &instruction;
      });
    return result;
  }

  bool callsOne(const ptx::Function &caller, const ptx::Instruction &instruction,
                const DenseSet<const ptx::Function *> &functions) const {
    bool found = false;
    if (does(instruction, effects::Calls))
      forEachCallee(caller, instruction,
                    [&](const ptx::Function &callee) { found |= functions.contains(&callee); });
    return found;
  }

  // The plain loads of a loop, in it and in callees, that another warp may answer: from where the
  // loop has an atomic operation, and, if there is something after which memory is read again,
  // from where it has been read in the round before.
  void findPlainReads(const ptx::Function &function, LoopBody &body) const {
    bool readsAnew = false;
    SmallVector<const ptx::Operand *> places;
    for (unsigned index : body.instructions.set_bits()) {
      const ptx::Instruction &instruction = function.body[index];
      readsAnew |= readsAnewAfter(instruction) || callsOne(function, instruction, fencing);
      if (isExchange(instruction))
        for (const ptx::Operand &operand : instruction.operands)
          if (operand.kind == Kind::Address)
            places.push_back(&operand);
    }
    if (!readsAnew)
      return;
    BitVector stepped = steppedRegisters(function, body.instructions);
    for (unsigned index : body.instructions.set_bits()) {
      const ptx::Instruction &instruction = function.body[index];
      bool counts = false;
      if (isPlainLoad(instruction)) {
        const ptx::Operand &address = instruction.operands[1];
        counts =
            any_of(places,
                   [&](const ptx::Operand *place) { return isSamePlace(address, *place); }) ||
            (!body.meetsEachRound && (address.reg == ptx::kNone || !stepped.test(address.reg)));
      } else {
        counts = !body.meetsEachRound && callsOne(function, instruction, loading);
      }
      if (counts)
        body.plainReads.set(index);
    }
  }

  void summarize() {
    for (bool changed = true; changed;) {
      changed = false;
      for (const ptx::Function *function : all) {
        const ptx::Instruction *read = firstRead.lookup(function), *load = nullptr;
        for (const ptx::Instruction &instruction : function->body) {
          auto note = [&](DenseSet<const ptx::Function *> &functions, bool itself) {
            bool holds = itself || callsOne(*function, instruction, functions);
            changed |= holds && functions.insert(function).second;
            return holds;
          };
          note(exiting, does(instruction, effects::Exits) && !function->isKernel);
          note(fencing, readsAnewAfter(instruction));
          if (note(loading, isPlainLoad(instruction)) && !load)
            load = &instruction;
          if (!read)
            read = readOf(*function, instruction);
        }
        // Calls of it may be what reads anew.
        if (!read && fencing.contains(function))
          read = load;
        if (read && !firstRead.lookup(function)) {
          firstRead[function] = read;
          changed = true;
        }
      }
    }
  }

  bool isRecursive(const ptx::Function &start) const {
    DenseSet<const ptx::Function *> seen;
    SmallVector<const ptx::Function *> open{&start};
    bool found = false;
    while (!open.empty() && !found) {
      const ptx::Function *function = open.pop_back_val();
      for (const ptx::Instruction &instruction : function->body)
        if (does(instruction, effects::Calls))
          forEachCallee(*function, instruction, [&](const ptx::Function &callee) {
            found |= &callee == &start;
            if (seen.insert(&callee).second)
              open.push_back(&callee);
          });
    }
    return found;
  }

  // setp.eq/ne of a compare-and-swap's old value and the value that it was compared with, which is
  // the old value of the round before, or loaded anew from the same place.
  static bool isRetry(const ptx::Function &function, const Definitions &definitions,
                      const BitVector &inLoop, const ptx::Instruction &setp) {
    auto isWrittenInLoop = [&](ptx::RegisterId reg) {
      return any_of(definitions.of(reg), [&](uint32_t writer) {
        return writer < function.body.size() && inLoop.test(writer);
      });
    };
    if (setp.op() != ptx::Op::Setp ||
        !(setp.spelling->has(ptx::Mod::Eq) || setp.spelling->has(ptx::Mod::Ne)) ||
        setp.operands.size() != 3 || setp.operands[1].kind != Kind::Register ||
        setp.operands[2].kind != Kind::Register)
      return false;
    auto isMove = [&](const ptx::Instruction &move) {
      return move.op() == ptx::Op::Mov && move.guard.reg == ptx::kNone &&
             move.operands.size() == 2 && move.operands[1].kind == Kind::Register;
    };
    // Through copies that are made once.
    auto origin = [&](ptx::RegisterId reg) {
      for (unsigned steps = 0; steps < 8; ++steps) {
        ArrayRef<uint32_t> writers = definitions.of(reg);
        if (writers.size() != 1 || writers[0] >= function.body.size() ||
            !isMove(function.body[writers[0]]))
          break;
        reg = function.body[writers[0]].operands[1].reg;
      }
      return reg;
    };
    ptx::RegisterId one = origin(setp.operands[1].reg), other = origin(setp.operands[2].reg);
    for (unsigned index : inLoop.set_bits()) {
      const ptx::Instruction &swap = function.body[index];
      if (swap.op() != ptx::Op::Atom || !swap.spelling->has(ptx::Mod::Cas) ||
          swap.operands.size() < 4 || swap.operands[0].kind != Kind::Register ||
          swap.operands[2].kind != Kind::Register)
        continue;
      ptx::RegisterId old = swap.operands[0].reg, compared = origin(swap.operands[2].reg);
      if (!((one == old && other == compared) || (one == compared && other == old)))
        continue;
      bool renewed = false, isRetried = true;
      for (uint32_t writer : definitions.of(compared)) {
        if (writer >= function.body.size() || !inLoop.test(writer))
          continue;
        const ptx::Instruction &write = function.body[writer];
        const ptx::Operand &place = swap.operands[1];
        bool isOld = isMove(write) && origin(write.operands[1].reg) == old;
        bool isReload = write.op() == ptx::Op::Ld && write.guard.reg == ptx::kNone &&
                        isSamePlace(write.operands[1], place) &&
                        (place.reg == ptx::kNone || !isWrittenInLoop(place.reg));
        isRetried &= isOld || isReload;
        renewed = true;
      }
      if (renewed && isRetried)
        return true;
    }
    return false;
  }

  std::optional<WaitingLoop> check(const ptx::Function &function, const ControlFlowGraph &graph,
                                   const Definitions &definitions,
                                   ArrayRef<uint32_t> postDominators,
                                   const ControlFlowGraph::Loop &loop, const LoopBody &body) const {
    DenseMap<uint32_t, const ptx::Instruction *> controlled; // blocks
    Taint taint;
    bool changed = true;
    auto note = [&](const ptx::Instruction *&slot, const ptx::Instruction *from) {
      if (from && !slot) {
        slot = from;
        changed = true;
      }
    };
    auto ofOperand = [&](const ptx::Operand &operand) {
      const ptx::Instruction *from = nullptr;
      forEachRegister(operand, [&](ptx::RegisterId reg) {
        if (!from)
          from = taint.registers.lookup(reg);
      });
      return from;
    };
    auto ofGuard = [&](const ptx::Instruction &instruction) -> const ptx::Instruction * {
      return instruction.guard.reg == ptx::kNone ? nullptr
                                                 : taint.registers.lookup(instruction.guard.reg);
    };
    auto ofBranch = [&](const ptx::Instruction &branch) {
      const ptx::Instruction *from = ofGuard(branch);
      const ptx::Operand *choice = choiceOf(branch);
      return !from && choice ? ofOperand(*choice) : from;
    };
    auto ofMemory = [&](unsigned kinds) {
      const ptx::Instruction *from = nullptr;
      for (auto [bit, kind] : enumerate(taint.memory))
        if (!from && (kinds >> bit & 1))
          from = kind;
      return from;
    };
    auto propagate = [&](uint32_t index, const ptx::Instruction *control) {
      const ptx::Instruction &instruction = function.body[index];
      const bool isCall = does(instruction, effects::Calls);
      const bool hasResult = writesFirstOperand(instruction);
      const unsigned memory = memoryOf(instruction);
      // What it is given, and whether it is executed.
      const ptx::Instruction *given = control ? control : ofGuard(instruction);
      if (!given && !isRetry(function, definitions, body.instructions, instruction)) {
        for (const ptx::Operand &operand : drop_begin(instruction.operands, hasResult))
          if (!given)
            given = ofOperand(operand);
        if (!given && does(instruction, effects::ReadsCarry))
          given = taint.conditionCode;
      }
      const ptx::Instruction *from = readOf(function, instruction);
      if (!from && body.plainReads.test(index))
        from = &instruction;
      if (!from)
        from = given;
      if (!from && (isCall || hasResult))
        from = ofMemory(memory);
      if (!from)
        return;
      auto write = [&](ptx::RegisterId reg) { note(taint.registers[reg], from); };
      if (isCall) {
        for (const ptx::Operand &operand : instruction.operands)
          if (operand.kind == Kind::List)
            forEachRegister(operand, write);
      } else if (hasResult) {
        forEachRegister(instruction.operands[0], write);
      }
      if (isCall || (given && does(instruction, effects::Writes)))
        for (auto [bit, kind] : enumerate(taint.memory)) {
          unsigned which = 1u << bit;
          if ((memory & which) && (which == kOwn || !body.meetsEachRound))
            note(kind, isCall ? from : given);
        }
      if (instruction.spelling->has(ptx::Mod::Cc))
        note(taint.conditionCode, from);
    };
    while (std::exchange(changed, false)) {
      for (uint32_t block : loop.blocks) {
        const ControlFlowGraph::Block &code = graph.blocks[block];
        for (uint32_t index = code.first; index < code.end; ++index)
          propagate(index, controlled.lookup(block));
        if (block >= graph.codeBlocks() || !code.decides())
          continue;
        if (const ptx::Instruction *from = ofBranch(function.body[code.branch()]))
          graph.forEachDecided(block, postDominators,
                               [&](uint32_t next) { note(controlled[next], from); });
      }
    }

    for (uint32_t block : loop.blocks) {
      const ControlFlowGraph::Block &code = graph.blocks[block];
      for (uint32_t index = code.first; index < code.end; ++index) {
        const ptx::Instruction &call = function.body[index];
        if (callsOne(function, call, exiting))
          return WaitingLoop{&function, &call, &call};
      }
      bool leaves = !loop.hasOneEntry || any_of(code.successors, [&](uint32_t successor) {
        return !body.blocks.test(successor);
      });
      if (!code.decides() || !leaves)
        continue;
      const ptx::Instruction &branch = function.body[code.branch()];
      const ptx::Instruction *from = ofBranch(branch);
      if (!from)
        from = controlled.lookup(block); // which of several exits it is
      if (from)
        return WaitingLoop{&function, &branch, from};
    }
    return std::nullopt;
  }

  const DenseSet<const ptx::Function *> &addressTaken;
  SmallVector<const ptx::Function *> all;
  DenseMap<const ptx::Function *, const ptx::Instruction *> firstRead; // in it or in a callee
  // Functions that may end their thread, that have what memory is read anew after, and that have a
  // plain load; in callees too.
  DenseSet<const ptx::Function *> exiting, fencing, loading;
};

} // namespace

std::optional<WaitingLoop> findWaitingLoop(const Unit &unit,
                                           const DenseSet<const ptx::Function *> &addressTaken) {
  return WaitingLoops(unit, addressTaken).find();
}

} // namespace rubia::lowering
