#include "lowering/lib/WaitingLoops.h"
#include "lowering/lib/ControlFlowGraph.h"
#include "lowering/lib/Definitions.h"
#include "lowering/lib/UnitLowering.h"

using namespace llvm;

namespace rubia::lowering {
namespace {

using Kind = ptx::Operand::Kind;

// Whether it reads what another warp may write at any time.
bool readsWhatOthersWrite(const ptx::Instruction &instruction) {
  switch (instruction.op()) {
  case ptx::Op::Atom:
  case ptx::Op::MbarrierWait:
  case ptx::Op::MultimemLdReduce:
    return true;
  case ptx::Op::Ld:
    switch (instruction.spelling->space()) {
    case ptx::StateSpace::Local:
    case ptx::StateSpace::Param:
    case ptx::StateSpace::Const:
      return false;
    default:
      break;
    }
    // .cv fetches again; .cg passes by the cache that other multiprocessors do not see.
    for (ptx::Mod mod : {ptx::Mod::Volatile, ptx::Mod::Relaxed, ptx::Mod::Acquire, ptx::Mod::Mmio,
                         ptx::Mod::Cv, ptx::Mod::Cg})
      if (instruction.spelling->has(mod))
        return true;
    return false;
  default:
    return false;
  }
}

// Where values come from that another warp may write.
struct Taint {
  DenseMap<ptx::RegisterId, const ptx::Instruction *> registers;
  const ptx::Instruction *memory = nullptr; // of the thread's own: .local, .param, through pointers
  const ptx::Instruction *conditionCode = nullptr;
};

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
        if (none_of(loop.blocks, [&](uint32_t block) { return reads(*function, graph, block); }))
          continue;
        if (postDominators.empty())
          postDominators = graph.immediatePostDominators();
        if (std::optional<WaitingLoop> spin =
                check(*function, graph, definitions, postDominators, loop))
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
    if (readsWhatOthersWrite(instruction))
      return &instruction;
    const ptx::Instruction *result = nullptr;
    if (instruction.op() == ptx::Op::Call)
      forEachCallee(function, instruction, [&](const ptx::Function &callee) {
        if (firstRead.lookup(&callee))
          result = &instruction;
      });
    return result;
  }

  bool reads(const ptx::Function &function, const ControlFlowGraph &graph, uint32_t block) const {
    for (uint32_t index = graph.blocks[block].first; index < graph.blocks[block].end; ++index)
      if (readOf(function, function.body[index]))
        return true;
    return false;
  }

  void summarize() {
    for (bool changed = true; changed;) {
      changed = false;
      for (const ptx::Function *function : all) {
        const ptx::Instruction *&read = firstRead[function];
        for (const ptx::Instruction &instruction : function->body) {
          if (instruction.op() == ptx::Op::Exit && !function->isKernel)
            changed |= exiting.insert(function).second;
          if (instruction.op() == ptx::Op::Call)
            forEachCallee(*function, instruction, [&](const ptx::Function &callee) {
              if (exiting.contains(&callee))
                changed |= exiting.insert(function).second;
            });
          if (!read && readOf(*function, instruction)) {
            firstRead[function] = &instruction;
            changed = true;
            break;
          }
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
        if (instruction.op() == ptx::Op::Call)
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
        bool isReload = write.op() == ptx::Op::Ld && write.operands[1].reg == place.reg &&
                        write.operands[1].variable() == place.variable() &&
                        write.operands[1].offset == place.offset;
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
                                   const ControlFlowGraph::Loop &loop) const {
    BitVector blocks(unsigned(graph.blocks.size()));
    BitVector inLoop(unsigned(function.body.size()));
    for (uint32_t block : loop.blocks) {
      blocks.set(block);
      inLoop.set(graph.blocks[block].first, graph.blocks[block].end);
    }
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
      return !from && branch.op() == ptx::Op::BrxIdx ? ofOperand(branch.operands[0]) : from;
    };
    auto propagate = [&](const ptx::Instruction &instruction, const ptx::Instruction *control) {
      const ptx::Instruction *from = readOf(function, instruction);
      bool isCall = instruction.op() == ptx::Op::Call;
      if (!from)
        from = control;
      if (!from)
        from = ofGuard(instruction);
      bool isOwnMemory = false;
      switch (instruction.spelling->space()) {
      case ptx::StateSpace::None:
      case ptx::StateSpace::Local:
        isOwnMemory = true;
        break;
      case ptx::StateSpace::Param:
        isOwnMemory = !function.isKernel || instruction.op() != ptx::Op::Ld;
        break;
      default:
        break;
      }
      if (!from && (isCall || (instruction.op() == ptx::Op::Ld && isOwnMemory)))
        from = taint.memory;
      if (!from && !isRetry(function, definitions, inLoop, instruction)) {
        // What is stored counts, not where.
        bool skipsFirst = writesFirstOperand(instruction) || instruction.op() == ptx::Op::St;
        for (const ptx::Operand &operand : drop_begin(instruction.operands, skipsFirst))
          if (!from)
            from = ofOperand(operand);
        if (instruction.op() == ptx::Op::Addc || instruction.op() == ptx::Op::Subc ||
            instruction.op() == ptx::Op::Madc)
          if (!from)
            from = taint.conditionCode;
      }
      if (!from)
        return;
      auto write = [&](ptx::RegisterId reg) { note(taint.registers[reg], from); };
      if (isCall) {
        for (const ptx::Operand &operand : instruction.operands)
          if (operand.kind == Kind::List)
            forEachRegister(operand, write);
        note(taint.memory, from);
      } else if (writesFirstOperand(instruction)) {
        forEachRegister(instruction.operands[0], write);
      }
      if (instruction.op() == ptx::Op::St && isOwnMemory)
        note(taint.memory, from);
      if (instruction.spelling->has(ptx::Mod::Cc))
        note(taint.conditionCode, from);
    };
    while (std::exchange(changed, false)) {
      for (uint32_t block : loop.blocks) {
        const ControlFlowGraph::Block &code = graph.blocks[block];
        for (uint32_t index = code.first; index < code.end; ++index)
          propagate(function.body[index], controlled.lookup(block));
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
        if (call.op() == ptx::Op::Call)
          for (const ptx::Operand &operand : call.operands)
            if (operand.function() && exiting.contains(&definitionOf(*operand.function())))
              return WaitingLoop{&function, &call, &call};
      }
      bool leaves = !loop.hasOneEntry || any_of(code.successors, [&](uint32_t successor) {
        return !blocks.test(successor);
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
  DenseSet<const ptx::Function *> exiting; // functions that may end their thread
};

} // namespace

std::optional<WaitingLoop> findWaitingLoop(const Unit &unit,
                                           const DenseSet<const ptx::Function *> &addressTaken) {
  return WaitingLoops(unit, addressTaken).find();
}

} // namespace rubia::lowering
