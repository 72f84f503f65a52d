// SPDX-License-Identifier: Apache-2.0
// LLVM's IR allows no atomic access of 16 bytes for AMDGPU: AtomicExpand would make a call of it.
// A volatile access stays one instruction, but pays the cache policy of the system and a wait of
// its own. Machine instructions know no such limit: what the memory legaliser does follows from the
// memory operand's ordering and scope, whatever its size. So the operand becomes atomic right
// before that pass, and the access gets what AMDGPUUsage, "Memory Model", says of a monotonic one.
// Until then all passes see a volatile access, which they leave alone.
#include "codegen/lib/errata/WholeAccesses.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/CodeGen/MachineFunctionPass.h"
#include "llvm/CodeGen/MachineInstr.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Metadata.h"

using namespace llvm;

namespace rubia::codegen {
namespace {

constexpr unsigned kBytes = 16;
// llvm/lib/Target/AMDGPU, AMDGPUAS::PRIVATE_ADDRESS.
constexpr unsigned kPrivate = 5;

/// TBAA's access tag is {base type, access type, offset}, a type begins with its name.
SyncScope::ID scopeOf(LLVMContext &context, const MDNode *tag) {
  if (!tag || tag->getNumOperands() < 2)
    return SyncScope::System;
  const auto *type = dyn_cast_or_null<MDNode>(tag->getOperand(1).get());
  if (!type || type->getNumOperands() == 0)
    return SyncScope::System;
  const auto *name = dyn_cast_or_null<MDString>(type->getOperand(0).get());
  StringRef scope = name ? name->getString() : "";
  return scope.consume_front("rubia.whole.") ? context.getOrInsertSyncScopeID(scope)
                                             : SyncScope::ID(SyncScope::System);
}

bool isWhole(const MachineMemOperand &operand) {
  return operand.isVolatile() && !operand.isAtomic() && operand.getSize().hasValue() &&
         operand.getSize().getValue() == kBytes && operand.getAddrSpace() != kPrivate;
}

class WholeAccesses : public MachineFunctionPass {
public:
  static char ID;
  WholeAccesses() : MachineFunctionPass(ID) {}
  StringRef getPassName() const override { return "Rubia Whole Accesses"; }
  void getAnalysisUsage(AnalysisUsage &usage) const override {
    usage.setPreservesAll();
    MachineFunctionPass::getAnalysisUsage(usage);
  }

  bool runOnMachineFunction(MachineFunction &function) override {
    bool isChanged = false;
    for (MachineBasicBlock &block : function)
      for (MachineInstr &inst : block.instrs())
        if (inst.hasOneMemOperand() && isWhole(**inst.memoperands_begin())) {
          inst.setMemRefs(function, {atomic(function, **inst.memoperands_begin())});
          isChanged = true;
        }
    return isChanged;
  }

private:
  static MachineMemOperand *atomic(MachineFunction &function, const MachineMemOperand &operand) {
    LLVMContext &context = function.getFunction().getContext();
    return function.getMachineMemOperand(
        operand.getPointerInfo(), operand.getFlags() & ~MachineMemOperand::MOVolatile,
        operand.getMemoryType(), operand.getBaseAlign(), operand.getAAInfo(), nullptr,
        scopeOf(context, operand.getAAInfo().TBAA), AtomicOrdering::Monotonic);
  }
};

char WholeAccesses::ID = 0;

} // namespace

Pass *makeWholeAccesses() { return new WholeAccesses; }

} // namespace rubia::codegen
