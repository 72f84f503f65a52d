// SPDX-License-Identifier: Apache-2.0
// Selection leaves a constant of -0 as it is where it is clamped to between 0 and 1. The optimiser
// knows better, so it concerns numbers that only selection finds to be constants: by known bits.
#include "codegen/lib/errata/signs/Clamps.h"
#include "codegen/lib/errata/Opaque.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PatternMatch.h"

using namespace llvm;
using namespace llvm::PatternMatch;

namespace rubia::codegen {
namespace {

constexpr unsigned kDepth = 8; // of operands; selection looks no further than at 6

/// Whether selection may find that a value is a constant: not if it comes from memory, an argument
/// or the like, unless by what takes bits away.
bool mayBecomeConstant(const Value *value, unsigned depth = kDepth) {
  if (isa<Constant>(value) || depth == 0)
    return true;
  const auto *inst = dyn_cast<Instruction>(value);
  if (!inst)
    return false;
  if (inst->isBitwiseLogicOp() || inst->isShift() || isa<SelectInst, TruncInst, CmpInst>(inst))
    return true;
  const auto *call = dyn_cast<IntrinsicInst>(inst);
  const bool isPure =
      inst->isUnaryOp() || inst->isBinaryOp() || inst->isCast() ||
      isa<FreezeInst, ExtractElementInst, InsertElementInst, ShuffleVectorInst>(inst) ||
      (call && call->doesNotAccessMemory() && call->arg_size() > 0);
  if (!isPure)
    return false;
  const unsigned count = call ? call->arg_size() : inst->getNumOperands();
  return all_of(seq(count),
                [&](unsigned i) { return mayBecomeConstant(inst->getOperand(i), depth - 1); });
}

bool isOneOf(const Value *value, ArrayRef<Intrinsic::ID> ids) {
  const auto *call = dyn_cast<IntrinsicInst>(value);
  return call && is_contained(ids, call->getIntrinsicID());
}

/// The operand of a minimum or maximum beside a number.
Use *besides(Value *value, ArrayRef<Intrinsic::ID> ids, double number) {
  if (!isOneOf(value, ids))
    return nullptr;
  auto *call = cast<IntrinsicInst>(value);
  for (const unsigned i : {0, 1})
    if (match(call->getArgOperand(1 - i), m_SpecificFP(number)))
      return &call->getArgOperandUse(i);
  return nullptr;
}

constexpr Intrinsic::ID kMinima[] = {Intrinsic::minnum, Intrinsic::minimumnum, Intrinsic::minimum};
constexpr Intrinsic::ID kMaxima[] = {Intrinsic::maxnum, Intrinsic::maximumnum, Intrinsic::maximum};

/// What an instruction clamps to between 0 and 1; null: it does not.
Use *clampedOperand(Instruction &inst) {
  if (const Use *inner = besides(&inst, kMinima, 1))
    return besides(*inner, kMaxima, 0);
  if (const Use *inner = besides(&inst, kMaxima, 0))
    return besides(*inner, kMinima, 1);
  return nullptr;
}

} // namespace

void protectClamps(Module &module) {
  for (Function &function : module)
    for (Instruction &inst : instructions(function))
      if (Use *operand = clampedOperand(inst); operand && mayBecomeConstant(*operand)) {
        IRBuilder<> b(cast<Instruction>(operand->getUser()));
        operand->set(makeOpaque(b, *operand));
      }
}

} // namespace rubia::codegen
