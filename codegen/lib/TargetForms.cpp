// SPDX-License-Identifier: Apache-2.0
#include "codegen/lib/TargetForms.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/PatternMatch.h"

using namespace llvm;
using namespace llvm::PatternMatch;

namespace rubia::codegen {

namespace {

/// More conditions than these are counted by the instruction for it.
constexpr unsigned kMostConditions = 8;

/// zext(ctpop(conditions)), alone or added to another number.
bool countByCarries(IntrinsicInst &count) {
  Value *conditions;
  if (count.getIntrinsicID() != Intrinsic::ctpop ||
      !match(count.getArgOperand(0), m_BitCast(m_Value(conditions))))
    return false;
  auto *vector = dyn_cast<FixedVectorType>(conditions->getType());
  if (!vector || !vector->getElementType()->isIntegerTy(1) ||
      vector->getNumElements() > kMostConditions || !count.hasOneUse())
    return false;
  auto *wide = dyn_cast<ZExtInst>(*count.user_begin());
  if (!wide || !wide->getType()->isIntegerTy(32))
    return false;
  Instruction *replaced = wide;
  Value *sum = nullptr, *other;
  if (wide->hasOneUse() && match(*wide->user_begin(), m_c_Add(m_Specific(wide), m_Value(other)))) {
    replaced = cast<Instruction>(*wide->user_begin());
    sum = other;
  }
  IRBuilder<> b(replaced);
  for (unsigned i = 0; i < vector->getNumElements(); ++i) {
    Value *one = b.CreateZExt(b.CreateExtractElement(conditions, i), wide->getType());
    sum = sum ? b.CreateAdd(sum, one) : one;
  }
  replaced->replaceAllUsesWith(sum);
  return true;
}

/// ((x ^ y) & c) == 0, where y does not change in the loop, is (x & c) == (y & c).
bool compareInvariant(ICmpInst &comparison, const LoopInfo &loops) {
  Value *first, *second, *both, *bits;
  const APInt *mask;
  if (!comparison.isEquality() || !match(comparison.getOperand(1), m_Zero()))
    return false;
  bits = comparison.getOperand(0);
  if (!match(bits, m_OneUse(m_And(m_Value(both), m_APInt(mask)))) ||
      !match(both, m_OneUse(m_Xor(m_Value(first), m_Value(second)))))
    return false;
  const Loop *loop = loops.getLoopFor(comparison.getParent());
  BasicBlock *before = loop ? loop->getLoopPreheader() : nullptr;
  if (!before || loop->isLoopInvariant(first) == loop->isLoopInvariant(second))
    return false;
  if (loop->isLoopInvariant(first))
    std::swap(first, second);
  IRBuilder<> inside(&comparison), outside(before->getTerminator());
  Constant *kept = ConstantInt::get(first->getType(), *mask);
  comparison.setSameSign(false); // what was known of the operands is not of the new ones
  comparison.setOperand(0, inside.CreateAnd(first, kept));
  comparison.setOperand(1, outside.CreateAnd(second, kept));
  return true;
}

/// What a kernel may read of its arguments at its start without taking many registers.
constexpr uint64_t kMostArgumentBytes = 64;

/// A kernel's few arguments are read where it starts, side by side.
bool readArgumentsFirst(Function &kernel) {
  if (kernel.getCallingConv() != CallingConv::AMDGPU_KERNEL || kernel.arg_size() != 1 ||
      !kernel.getArg(0)->getType()->isPointerTy())
    return false;
  const DataLayout &layout = kernel.getDataLayout();
  SmallVector<std::pair<LoadInst *, int64_t>> loads;
  uint64_t bytes = 0;
  for (Instruction &instruction : instructions(kernel)) {
    auto *load = dyn_cast<LoadInst>(&instruction);
    APInt offset(64, 0);
    if (!load || !load->hasMetadata(LLVMContext::MD_invariant_load) ||
        load->getPointerOperand()->stripAndAccumulateConstantOffsets(
            layout, offset, /*AllowNonInbounds=*/true) != kernel.getArg(0))
      continue;
    loads.push_back({load, offset.getSExtValue()});
    bytes += layout.getTypeStoreSize(load->getType());
  }
  if (bytes > kMostArgumentBytes)
    return false;
  bool changed = false;
  BasicBlock &entry = kernel.getEntryBlock();
  IRBuilder<> b(&entry, entry.getFirstNonPHIOrDbgOrAlloca());
  for (auto [load, offset] : loads) {
    if (load->getParent() == &entry)
      continue;
    load->setOperand(0, b.CreateConstGEP1_64(b.getInt8Ty(), kernel.getArg(0), uint64_t(offset)));
    load->moveBefore(entry, b.GetInsertPoint());
    changed = true;
  }
  return changed;
}

/// Whether a condition can be negated by turning comparisons that have no other use.
bool canNegate(Value *condition) {
  Value *first, *second;
  if (!condition->hasOneUse())
    return false;
  if (isa<CmpInst>(condition))
    return true;
  if (match(condition, m_Xor(m_Value(first), m_Value(second))))
    return canNegate(first) || canNegate(second);
  if (match(condition, m_c_And(m_Value(first), m_Value(second))) ||
      match(condition, m_c_Or(m_Value(first), m_Value(second))))
    return canNegate(first) && canNegate(second);
  return false;
}

Value *negated(Value *condition) {
  if (auto *comparison = dyn_cast<CmpInst>(condition)) {
    comparison->setPredicate(comparison->getInversePredicate());
    return comparison;
  }
  auto *operation = cast<BinaryOperator>(condition);
  if (operation->getOpcode() == Instruction::Xor) {
    negated(operation->getOperand(canNegate(operation->getOperand(0)) ? 0 : 1));
    return operation;
  }
  Value *first = negated(operation->getOperand(0)), *second = negated(operation->getOperand(1));
  IRBuilder<> b(operation);
  Value *other = operation->getOpcode() == Instruction::And ? b.CreateOr(first, second)
                                                            : b.CreateAnd(first, second);
  operation->replaceAllUsesWith(other);
  operation->eraseFromParent();
  return other;
}

/// A branch to what follows its other successor.
bool branchOverBody(BranchInst &branch) {
  if (!branch.isConditional())
    return false;
  BasicBlock *behind = branch.getSuccessor(0), *body = branch.getSuccessor(1);
  if (body->getSinglePredecessor() != branch.getParent() || body->getSingleSuccessor() != behind ||
      isa<CmpInst>(branch.getCondition()) || !canNegate(branch.getCondition()))
    return false;
  negated(branch.getCondition());
  branch.swapSuccessors();
  return true;
}

/// Of the lower half of a number, whose upper half is known to be zero or the sign: LLVM would
/// convert all 64 bits.
bool convertLowerHalf(CastInst &conversion) {
  auto *half = dyn_cast<TruncInst>(conversion.getOperand(0));
  if (!half || !(isa<UIToFPInst>(conversion)   ? half->hasNoUnsignedWrap()
                 : isa<SIToFPInst>(conversion) ? half->hasNoSignedWrap()
                                               : false))
    return false;
  half->setHasNoUnsignedWrap(false);
  half->setHasNoSignedWrap(false);
  return true;
}

} // namespace

PreservedAnalyses TargetFormsPass::run(Function &function, FunctionAnalysisManager &analyses) {
  const LoopInfo &loops = analyses.getResult<LoopAnalysis>(function);
  bool changed = readArgumentsFirst(function);
  for (BasicBlock &block : function) {
    for (Instruction &instruction : block)
      if (auto *intrinsic = dyn_cast<IntrinsicInst>(&instruction))
        changed |= countByCarries(*intrinsic);
      else if (auto *comparison = dyn_cast<ICmpInst>(&instruction))
        changed |= compareInvariant(*comparison, loops);
      else if (auto *conversion = dyn_cast<CastInst>(&instruction))
        changed |= convertLowerHalf(*conversion);
    if (auto *branch = dyn_cast<BranchInst>(block.getTerminator()))
      changed |= branchOverBody(*branch);
  }
  if (!changed)
    return PreservedAnalyses::all();
  PreservedAnalyses preserved;
  preserved.preserveSet<CFGAnalyses>();
  return preserved;
}

} // namespace rubia::codegen
