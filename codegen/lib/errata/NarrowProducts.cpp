// SPDX-License-Identifier: Apache-2.0
// LLVM makes llvm.amdgcn.mul.u24 of a product of 64 bits whose factors have 24, and takes their
// masks away, since v_mul_u32_u24 reads no more. Where the product is then added to something it
// selects v_mad_u64_u32, which reads all 32 bits (docs/errata.md). It does not where the halves of
// the product are two values.
#include "codegen/lib/errata/NarrowProducts.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "llvm/Pass.h"

using namespace llvm;

namespace rubia::codegen {

namespace {

class NarrowProducts : public FunctionPass {
public:
  static char ID;
  NarrowProducts() : FunctionPass(ID) {}
  StringRef getPassName() const override { return "Rubia Narrow Products"; }
  void getAnalysisUsage(AnalysisUsage &usage) const override { usage.setPreservesCFG(); }
  bool runOnFunction(Function &function) override;
};

char NarrowProducts::ID = 0;

bool NarrowProducts::runOnFunction(Function &function) {
  bool isChanged = false;
  for (Instruction &inst : make_early_inc_range(instructions(function))) {
    auto *product = dyn_cast<IntrinsicInst>(&inst);
    if (!product || product->getIntrinsicID() != Intrinsic::amdgcn_mul_u24 ||
        !product->getType()->isIntegerTy(64))
      continue;
    IRBuilder<> b(product);
    Value *factors[] = {product->getArgOperand(0), product->getArgOperand(1)};
    Value *low = b.CreateIntrinsic(Intrinsic::amdgcn_mul_u24, {b.getInt32Ty()}, factors);
    Value *high = b.CreateIntrinsic(Intrinsic::amdgcn_mulhi_u24, {}, factors);
    product->replaceAllUsesWith(b.CreateOr(b.CreateShl(b.CreateZExt(high, b.getInt64Ty()), 32),
                                           b.CreateZExt(low, b.getInt64Ty())));
    product->eraseFromParent();
    isChanged = true;
  }
  return isChanged;
}

} // namespace

Pass *makeNarrowProducts() { return new NarrowProducts; }

} // namespace rubia::codegen
