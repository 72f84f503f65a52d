// SPDX-License-Identifier: Apache-2.0
// What the code that takes and leaves slots of shared memory in device memory is made with
// (SharedSlot.cpp, ClusterSlots.cpp).
#pragma once

#include "lowering/lib/frame/LaunchState.h"
#include "lowering/lib/frame/SharedSlot.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "llvm/IR/Module.h"

namespace rubia::lowering {

struct SlotBuilder {
  llvm::IRBuilder<> &b;
  UnitLowering &unit;
  llvm::SyncScope::ID workgroup, agent;

  SlotBuilder(UnitLowering &unit, llvm::IRBuilder<> &b)
      : b(b), unit(unit), workgroup(b.getContext().getOrInsertSyncScopeID("workgroup")),
        agent(b.getContext().getOrInsertSyncScopeID("agent")) {}

  llvm::BasicBlock *block(const llvm::Twine &name) {
    llvm::Function *function = b.GetInsertBlock()->getParent();
    return llvm::BasicBlock::Create(b.getContext(), name, function);
  }
  // Goes on in a new block if a condition holds; both come to the block that is returned.
  llvm::BasicBlock *enterIf(llvm::Value *condition, const llvm::Twine &name) {
    llvm::BasicBlock *inside = block(name), *behind = block(name + ".end");
    b.CreateCondBr(condition, inside, behind);
    b.SetInsertPoint(inside);
    return behind;
  }
  void goOn(llvm::BasicBlock *behind) {
    b.CreateBr(behind);
    b.SetInsertPoint(behind);
  }

  llvm::Value *activeLanes() {
    llvm::Value *mask = b.CreateIntrinsic(llvm::Intrinsic::amdgcn_ballot,
                                          {b.getIntNTy(unit.target.waveSize)}, {b.getTrue()});
    return b.CreateZExtOrTrunc(b.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, mask),
                               b.getInt32Ty());
  }
  llvm::Value *isFirstActive() {
    llvm::Value *mask = b.CreateIntrinsic(llvm::Intrinsic::amdgcn_ballot,
                                          {b.getIntNTy(unit.target.waveSize)}, {b.getTrue()});
    llvm::Value *before = b.CreateIntrinsic(b.getInt32Ty(), llvm::Intrinsic::amdgcn_mbcnt_lo,
                                            {b.CreateTrunc(mask, b.getInt32Ty()), b.getInt32(0)});
    if (unit.target.waveSize == 64)
      before = b.CreateIntrinsic(b.getInt32Ty(), llvm::Intrinsic::amdgcn_mbcnt_hi,
                                 {b.CreateTrunc(b.CreateLShr(mask, 32), b.getInt32Ty()), before});
    return b.CreateICmpEQ(before, b.getInt32(0));
  }
  llvm::Value *firstLane(llvm::Value *value) {
    return b.CreateIntrinsic(value->getType(), llvm::Intrinsic::amdgcn_readfirstlane, {value});
  }

  llvm::Value *word(uint32_t offset) {
    return b.CreateConstGEP1_32(b.getInt8Ty(), unit.slotWords(), offset);
  }
  llvm::Value *lanesOf(llvm::Value *wave) {
    return b.CreateGEP(b.getInt32Ty(), word(SlotWords::kLanes), wave);
  }
  llvm::Value *modify(llvm::AtomicRMWInst::BinOp operation, llvm::Value *place, llvm::Value *value,
                      llvm::SyncScope::ID scope) {
    llvm::AtomicRMWInst *update = b.CreateAtomicRMW(operation, place, value, alignmentOf(value),
                                                    llvm::AtomicOrdering::Monotonic, scope);
    isDeviceMemory(update);
    return update;
  }
  /// The pool is memory of the device: see Atomics.cpp.
  void isDeviceMemory(llvm::Instruction *update) {
    for (llvm::StringRef fact : {"amdgpu.no.fine.grained.memory", "amdgpu.no.remote.memory"})
      update->setMetadata(fact, llvm::MDNode::get(b.getContext(), {}));
  }
  void store(llvm::Value *value, llvm::Value *place, llvm::SyncScope::ID scope) {
    b.CreateAlignedStore(value, place, alignmentOf(value))
        ->setAtomic(llvm::AtomicOrdering::Monotonic, scope);
  }
  llvm::Value *load(llvm::Value *place, llvm::SyncScope::ID scope, unsigned bits = 32) {
    llvm::LoadInst *load = b.CreateAlignedLoad(b.getIntNTy(bits), place, llvm::Align(bits / 8));
    load->setAtomic(llvm::AtomicOrdering::Monotonic, scope);
    return load;
  }
  /// What does not change during a launch.
  llvm::Value *constantField(llvm::Value *start, size_t offset, unsigned bits) {
    llvm::LoadInst *load =
        b.CreateAlignedLoad(b.getIntNTy(bits), b.CreateConstGEP1_64(b.getInt8Ty(), start, offset),
                            llvm::Align(bits / 8));
    load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(b.getContext(), {}));
    return load;
  }

private:
  static llvm::Align alignmentOf(llvm::Value *value) {
    return llvm::Align(value->getType()->getIntegerBitWidth() / 8);
  }
};

} // namespace rubia::lowering
