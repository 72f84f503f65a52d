// SPDX-License-Identifier: Apache-2.0
// LLVM's back end selects a product in single precision that is rounded to half precision as
// v_fma_mixlo_f16 or v_fma_mixhi_f16 with +0 for an addend, which makes +0 of a product -0
// (docs/errata.md). A fused multiplication and addition of -0 gives what the product is, and is
// selected as the same instruction, with the right addend. What lies between the product and the
// rounding may be moved or dropped in the back end, so it is looked through; to rewrite a product
// in vain does no harm.
#include "codegen/lib/errata/RoundedProducts.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace rubia::codegen {

namespace {

bool isRoundedToHalf(const Instruction &inst) {
  return isa<FPTruncInst>(inst) && inst.getType()->getScalarType()->isHalfTy() &&
         inst.getOperand(0)->getType()->getScalarType()->isFloatTy();
}

/// Whether the result may be one of the operands, or one with another sign.
bool passesOn(const Instruction &inst) {
  if (const auto *call = dyn_cast<IntrinsicInst>(&inst))
    return call->getIntrinsicID() == Intrinsic::fabs ||
           call->getIntrinsicID() == Intrinsic::copysign;
  switch (inst.getOpcode()) {
  case Instruction::FNeg:
  case Instruction::BitCast:
  case Instruction::And:
  case Instruction::Or:
  case Instruction::Xor:
  case Instruction::ExtractElement:
  case Instruction::InsertElement:
  case Instruction::ShuffleVector:
  case Instruction::Freeze:
  case Instruction::Select:
  case Instruction::PHI:
    return true;
  default:
    return false;
  }
}

/// What may be rounded to half precision, and all on the way there.
SetVector<Instruction *> roundedValues(Function &function) {
  SetVector<Instruction *> values;
  auto addOperands = [&](Instruction &inst) {
    for (Value *operand : inst.operands())
      if (auto *source = dyn_cast<Instruction>(operand))
        values.insert(source);
  };
  for (Instruction &inst : instructions(function))
    if (isRoundedToHalf(inst))
      addOperands(inst);
  for (size_t i = 0; i < values.size(); ++i)
    if (passesOn(*values[i]))
      addOperands(*values[i]);
  return values;
}

} // namespace

void protectRoundedProducts(Module &module) {
  for (Function &function : module)
    for (Instruction *inst : roundedValues(function)) {
      if (inst->getOpcode() != Instruction::FMul || !inst->getType()->getScalarType()->isFloatTy())
        continue;
      IRBuilder<> b(inst);
      inst->replaceAllUsesWith(b.CreateIntrinsic(Intrinsic::fma, {inst->getType()},
                                                 {inst->getOperand(0), inst->getOperand(1),
                                                  ConstantFP::getNegativeZero(inst->getType())}));
      inst->eraseFromParent();
    }
}

} // namespace rubia::codegen
