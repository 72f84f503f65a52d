// SPDX-License-Identifier: Apache-2.0
#include "codegen/lib/speed/MaskValues.h"
#include "codegen/lib/speed/Wrap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/CodeGen/MachineFunctionPass.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/InstrTypes.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include <atomic>

using namespace llvm;

namespace rubia::codegen {

namespace {

std::atomic<bool> wasAsked;

struct Masks {
  const Function *function = nullptr; // whose values these are
  DenseSet<const Value *> values;
};

/// Of the function that is being selected.
thread_local Masks masks;

/// The mask that an intrinsic of control flow reads.
const Value *maskOf(const IntrinsicInst &intrinsic) {
  switch (intrinsic.getIntrinsicID()) {
  case Intrinsic::amdgcn_if_break:
    return intrinsic.getArgOperand(1);
  case Intrinsic::amdgcn_end_cf:
  case Intrinsic::amdgcn_loop:
    return intrinsic.getArgOperand(0);
  default:
    return nullptr;
  }
}

void addMask(const Value *mask) {
  SmallVector<const Value *> ahead = {mask};
  while (!ahead.empty()) {
    const auto *inst = dyn_cast<Instruction>(ahead.pop_back_val());
    if (!inst || !masks.values.insert(inst).second || isa<IntrinsicInst>(inst))
      continue;
    for (const Value *operand : inst->operands())
      if (operand->getType() == mask->getType())
        ahead.push_back(operand);
  }
}

class MaskValues : public FunctionPass {
public:
  static char ID;
  MaskValues() : FunctionPass(ID) {}
  StringRef getPassName() const override { return "Rubia Mask Values"; }
  void getAnalysisUsage(AnalysisUsage &usage) const override { usage.setPreservesAll(); }

  bool runOnFunction(Function &function) override {
    masks.function = &function;
    masks.values.clear();
    for (const Instruction &inst : instructions(function))
      if (const auto *intrinsic = dyn_cast<IntrinsicInst>(&inst))
        if (const Value *mask = maskOf(*intrinsic))
          addMask(mask);
    return false;
  }
};

char MaskValues::ID = 0;

class MaskValuesForgotten : public MachineFunctionPass {
public:
  static char ID;
  MaskValuesForgotten() : MachineFunctionPass(ID) {}
  StringRef getPassName() const override { return "Rubia Mask Values Forgotten"; }
  void getAnalysisUsage(AnalysisUsage &usage) const override {
    usage.setPreservesAll();
    MachineFunctionPass::getAnalysisUsage(usage);
  }

  bool runOnMachineFunction(MachineFunction &) override {
    masks.function = nullptr;
    masks.values.clear();
    return false;
  }
};

char MaskValuesForgotten::ID = 0;

} // namespace

Pass *makeMaskValues() { return new MaskValues; }
Pass *makeMaskValuesForgotten() { return new MaskValuesForgotten; }

bool wasAskedForMasks() { return wasAsked; }

} // namespace rubia::codegen

// SITargetLowering::requiresUniformRegister(MachineFunction &, const Value *) const
#define RUBIA_FUNCTION                                                                             \
  _ZNK4llvm16SITargetLowering23requiresUniformRegisterERNS_15MachineFunctionEPKNS_5ValueE

extern "C" {

bool RUBIA_REAL(RUBIA_FUNCTION)(const void *lowering, MachineFunction &function,
                                const Value *value);

bool RUBIA_WRAP(RUBIA_FUNCTION)(const void *lowering, MachineFunction &function,
                                const Value *value) {
  using rubia::codegen::masks;
  const auto *call = dyn_cast<CallInst>(value);
  // What assembly gives may be scalar. Without the passes of here nothing is known.
  if ((call && call->isInlineAsm()) || masks.function != &function.getFunction())
    return RUBIA_REAL(RUBIA_FUNCTION)(lowering, function, value);
  rubia::codegen::wasAsked.store(true, std::memory_order_relaxed);
  return masks.values.contains(value);
}
}
