#include "lowering/lib/ThreadFacts.h"
#include "lowering/lib/Definitions.h"

using namespace llvm;

namespace rubia::lowering {

bool isSameFor(Group group, ptx::SpecialRegister special) {
  using S = ptx::SpecialRegister;
  switch (special) {
  case S::NTid:
  case S::NWarpId:
  case S::CtaId:
  case S::NCtaId:
  case S::GridId:
  case S::WarpSize:
  case S::TotalSmemSize:
  case S::DynamicSmemSize:
  case S::EnvReg1:
  case S::EnvReg2:
  case S::IsExplicitCluster:
  case S::ClusterId:
  case S::NClusterId:
  case S::ClusterCtaId:
  case S::ClusterNCtaId:
  case S::ClusterCtaRank:
  case S::ClusterNCtaRank:
    return true;
  case S::WarpId:
  case S::SmId:
  case S::NSmId:
    return group != Group::Cta;
  default:
    return false;
  }
}

bool hasSemantics(const ptx::Instruction &instruction) {
  for (ptx::Mod mod :
       {ptx::Mod::Volatile, ptx::Mod::Relaxed, ptx::Mod::Acquire, ptx::Mod::Mmio, ptx::Mod::Cv})
    if (instruction.spelling->has(mod))
      return true;
  return false;
}

bool mayPoll(const ptx::Instruction &instruction) {
  if (instruction.op() != ptx::Op::Ld)
    return instruction.op() == ptx::Op::Atom;
  switch (instruction.spelling->space()) {
  case ptx::StateSpace::Local:
  case ptx::StateSpace::Param:
  case ptx::StateSpace::Const:
    return false;
  default:
    return hasSemantics(instruction) || instruction.spelling->has(ptx::Mod::Cg);
  }
}

bool isMeeting(const ptx::Instruction &instruction) {
  switch (instruction.op()) {
  case ptx::Op::BarSync:
  case ptx::Op::BarRed:
  case ptx::Op::BarWarpSync:
  case ptx::Op::Call:
    return true;
  case ptx::Op::BarrierCluster:
    return instruction.spelling->has(ptx::Mod::Wait);
  default:
    return instruction.spelling->has(ptx::Mod::Sync);
  }
}

DenseSet<const ptx::Function *> functionsWithAddress(const Unit &unit) {
  DenseSet<const ptx::Function *> result;
  auto add = [&](const ptx::Function &function) { result.insert(&definitionOf(function)); };
  auto addIn = [&](auto &self, const ptx::Operand &operand) -> void {
    if (operand.function())
      add(*operand.function());
    for (const ptx::Operand &element : operand.elements())
      self(self, element);
  };
  auto addOf = [&](const ptx::Function &function) {
    for (const ptx::Instruction &instruction : function.body)
      for (const ptx::Operand &operand : instruction.operands)
        if (instruction.op() != ptx::Op::Call || !operand.function())
          addIn(addIn, operand);
    for (const ptx::Prototype &prototype : function.prototypes)
      for (const ptx::Function *target : prototype.targets)
        add(*target);
  };
  for (const ptx::Function *kernel : unit.kernels)
    addOf(*kernel);
  for (const ptx::Function *function : unit.functions)
    addOf(*function);
  for (const ptx::Function *function : unit.inInitializers)
    add(*function);
  return result;
}

} // namespace rubia::lowering
