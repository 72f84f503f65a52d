// SPDX-License-Identifier: Apache-2.0
#include "codegen/lib/errata/signs/Elements.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Analysis/ConstantFolding.h"
#include "llvm/IR/DataLayout.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Operator.h"

using namespace llvm;

namespace rubia::codegen {
namespace {

constexpr unsigned kDepth = 6; // of operands, as selection looks at

Constant *constantOf(Element element, unsigned depth);

/// Of an instruction that computes each element from the same element of its operands.
Constant *foldedElement(Instruction &inst, unsigned index, unsigned depth) {
  const auto *call = dyn_cast<IntrinsicInst>(&inst);
  const unsigned count = call ? call->arg_size() : inst.getNumOperands();
  SmallVector<Constant *, 3> operands;
  for (unsigned i = 0; i < count; ++i) {
    Value *operand = inst.getOperand(i);
    const bool isForAll = isa<SelectInst>(inst) && !operand->getType()->isVectorTy();
    if (!isForAll && elementsOf(operand) != elementsOf(&inst))
      return nullptr;
    operands.push_back(constantOf({operand, isForAll ? 0 : index}, depth));
    if (!operands.back() && !isa<SelectInst>(inst))
      return nullptr;
  }
  if (isa<SelectInst>(inst)) {
    if (operands[0])
      return operands[operands[0]->isNullValue() ? 2 : 1];
    return operands[1] == operands[2] ? operands[1] : nullptr;
  }
  const DataLayout &layout = inst.getDataLayout();
  Type *type = inst.getType()->getScalarType();
  if (inst.isUnaryOp())
    return ConstantFoldUnaryOpOperand(inst.getOpcode(), operands[0], layout);
  if (inst.isBinaryOp())
    return ConstantFoldBinaryOpOperands(inst.getOpcode(), operands[0], operands[1], layout);
  if (inst.isCast())
    return ConstantFoldCastOperand(inst.getOpcode(), operands[0], type, layout);
  if (call && count == 2)
    return ConstantFoldBinaryIntrinsic(call->getIntrinsicID(), operands[0], operands[1], type,
                                       nullptr);
  return nullptr;
}

Constant *constantOf(Element element, unsigned depth) {
  element = sourceOf(element);
  if (auto *constant = dyn_cast<Constant>(element.value))
    return constant->getType()->isVectorTy() ? constant->getAggregateElement(element.index)
                                             : constant;
  auto *inst = dyn_cast<Instruction>(element.value);
  const bool isKnown = inst && (isa<SelectInst, IntrinsicInst>(inst) || inst->isUnaryOp() ||
                                inst->isBinaryOp() || inst->isCast());
  return isKnown && depth ? foldedElement(*inst, element.index, depth - 1) : nullptr;
}

} // namespace

unsigned elementsOf(const Value *value) {
  const auto *type = dyn_cast<FixedVectorType>(value->getType());
  return type ? type->getNumElements() : 1;
}

Element sourceOf(Element element) {
  for (;;) {
    auto &[value, index] = element;
    if (auto *inserted = dyn_cast<InsertElementInst>(value)) {
      const auto *at = dyn_cast<ConstantInt>(inserted->getOperand(2));
      if (!at)
        return element;
      element = at->getZExtValue() == index ? Element{inserted->getOperand(1), 0}
                                            : Element{inserted->getOperand(0), index};
    } else if (auto *extracted = dyn_cast<ExtractElementInst>(value)) {
      const auto *at = dyn_cast<ConstantInt>(extracted->getIndexOperand());
      if (!at || at->getZExtValue() >= elementsOf(extracted->getVectorOperand()))
        return element;
      element = {extracted->getVectorOperand(), unsigned(at->getZExtValue())};
    } else if (auto *shuffle = dyn_cast<ShuffleVectorInst>(value)) {
      const int at = shuffle->getMaskValue(index);
      const int count = int(elementsOf(shuffle->getOperand(0)));
      if (at < 0)
        return element;
      element = at < count ? Element{shuffle->getOperand(0), unsigned(at)}
                           : Element{shuffle->getOperand(1), unsigned(at - count)};
    } else {
      return element;
    }
  }
}

const ConstantFP *numberOf(Element element) {
  return dyn_cast_or_null<ConstantFP>(constantOf(element, kDepth));
}

} // namespace rubia::codegen
