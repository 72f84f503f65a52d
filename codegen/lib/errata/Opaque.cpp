// SPDX-License-Identifier: Apache-2.0
// llvm.amdgcn.softwqm hands its operand on, in the registers of that operand's kind, and nothing in
// instruction selection looks through it. It is meant for pixel shaders, and has no effect without
// them. LLVM makes a copy of it behind the scheduler, too late for the copy to go away: here it is
// made one before.
//
// A generic address may be one of private memory: then lanes that load by the same address get
// different values. Selection knows that of plain loads. It takes what an atomic load gives for
// uniform if its address is (isSDNodeSourceOfDivergence), and computes with the first lane's value
// (docs/errata.md). PTX's volatile loads are such loads. `nvcc -G` makes them of volatile variables
// of a function. Their address becomes one in a vector register, where such a load needs it.
#include "codegen/lib/errata/Opaque.h"
#include "codegen/lib/errata/MachineNames.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/CodeGen/MachineFunctionPass.h"
#include "llvm/CodeGen/TargetInstrInfo.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "llvm/Support/AMDGPUAddrSpace.h"

using namespace llvm;

namespace rubia::codegen {

namespace {

class OpaqueCopies : public MachineFunctionPass {
public:
  static char ID;
  OpaqueCopies() : MachineFunctionPass(ID) {}
  StringRef getPassName() const override { return "Rubia Opaque Copies"; }

  bool runOnMachineFunction(MachineFunction &function) override {
    const TargetInstrInfo &instructions = *function.getSubtarget().getInstrInfo();
    static const unsigned opaque = findOpcode(instructions, "SOFT_WQM");
    bool isChanged = false;
    for (MachineBasicBlock &block : function)
      for (MachineInstr &inst : block) {
        if (inst.getOpcode() != opaque)
          continue;
        inst.setDesc(instructions.get(TargetOpcode::COPY));
        while (inst.getNumOperands() > 2) // EXEC
          inst.removeOperand(2);
        isChanged = true;
      }
    return isChanged;
  }
};

char OpaqueCopies::ID = 0;

// The metadata has ranges of address spaces that it is none of.
bool mayBePrivate(const LoadInst &load) {
  const MDNode *others = load.getMetadata(LLVMContext::MD_noalias_addrspace);
  for (unsigned i = 0; others && i + 1 < others->getNumOperands(); i += 2) {
    auto at = [&](unsigned operand) {
      return mdconst::extract<ConstantInt>(others->getOperand(operand))->getZExtValue();
    };
    if (at(i) <= AMDGPUAS::PRIVATE_ADDRESS && AMDGPUAS::PRIVATE_ADDRESS < at(i + 1))
      return false;
  }
  return true;
}

class OpaqueAddresses : public FunctionPass {
public:
  static char ID;
  OpaqueAddresses() : FunctionPass(ID) {}
  StringRef getPassName() const override { return "Rubia Opaque Addresses"; }
  void getAnalysisUsage(AnalysisUsage &usage) const override { usage.setPreservesCFG(); }

  bool runOnFunction(Function &function) override {
    bool isChanged = false;
    for (Instruction &inst : instructions(function)) {
      auto *load = dyn_cast<LoadInst>(&inst);
      if (!load || !load->isAtomic() || load->getPointerAddressSpace() != AMDGPUAS::FLAT_ADDRESS ||
          !mayBePrivate(*load))
        continue;
      IRBuilder<> b(load);
      Type *type = b.getInt64Ty();
      InlineAsm *copy = InlineAsm::get(FunctionType::get(type, {type}, false), "", "=v,0",
                                       /*hasSideEffects=*/false);
      Value *address = b.CreateCall(copy, b.CreatePtrToInt(load->getPointerOperand(), type));
      load->setOperand(LoadInst::getPointerOperandIndex(),
                       b.CreateIntToPtr(address, load->getPointerOperandType()));
      isChanged = true;
    }
    return isChanged;
  }
};

char OpaqueAddresses::ID = 0;

} // namespace

Value *makeOpaque(IRBuilder<> &b, Value *value) {
  return b.CreateUnaryIntrinsic(Intrinsic::amdgcn_softwqm, value);
}

Pass *makeOpaqueCopies() { return new OpaqueCopies; }
Pass *makeOpaqueAddresses() { return new OpaqueAddresses; }

} // namespace rubia::codegen
