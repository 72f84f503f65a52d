// SPDX-License-Identifier: Apache-2.0
// Atomic accesses of 128 bits: atom.(cas|exch).b128, and ld and st of .b128 that are not weak.
//
// AMD has no atomic instruction of more than 64 bits. So all of these operations take a lock: a
// word in memory of the context (abi::kAtomicLocksSlot) that the address chooses. The lanes of a
// wave take turns, in a loop that all of them stay in until the last has had its turn: a lane that
// waited for a lock which another lane of its wave holds would wait for ever.
//
// The lock alone makes them atomic towards each other: a store without it could be lost between the
// load and the store of a compare-and-swap. Accesses of vectors take no lock. So that these see all
// of an operation or nothing, the lock's holder loads and stores the 128 bits at once as they do.
#include "lowering/Abi.h"
#include "lowering/lib/frame/UnitLowering.h"
#include "lowering/lib/instructions/Atomics.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"

using namespace llvm;

namespace rubia::ptx::Mod {
extern const Modifier Gpu;
} // namespace rubia::ptx::Mod

namespace rubia::lowering {

// The word that belongs to an address. Its lower half decides, which is the same for an address in
// shared memory and the generic address of the same place.
static Value *lockOf(FunctionLowering &fn, Value *pointer) {
  IRBuilder<> &b = fn.builder();
  unsigned bits = fn.module().getDataLayout().getPointerTypeSizeInBits(pointer->getType());
  Value *address = b.CreateTrunc(b.CreatePtrToInt(pointer, fn.intType(bits)), b.getInt32Ty());
  Value *hash = b.CreateXor(b.CreateLShr(address, 4), b.CreateLShr(address, 14));
  Value *offset = b.CreateShl(b.CreateAnd(hash, abi::kAtomicLocks - 1), 2);
  Value *table = fn.unit().loadModuleTable(b, abi::kAtomicLocksSlot);
  return b.CreateIntToPtr(b.CreateAdd(table, b.CreateZExt(offset, b.getInt64Ty())),
                          b.getPtrTy(kGlobalSpace));
}

// What the lane does whose turn it is: one lane of the wave is active.
static Value *updateLocked(FunctionLowering &fn, Value *lock, Value *pointer, ptx::Modifier scope,
                           function_ref<Value *(Value *)> update) {
  IRBuilder<> &b = fn.builder();
  SyncScope::ID agent = syncScopeOf(fn.context(), ptx::Mod::Gpu);
  BasicBlock *take = fn.newBlock("lock.take"), *wait = fn.newBlock("lock.wait"),
             *held = fn.newBlock("lock.held");
  b.CreateBr(take);
  b.SetInsertPoint(take);
  AtomicCmpXchgInst *taken =
      b.CreateAtomicCmpXchg(lock, b.getInt32(0), b.getInt32(1), Align(4), AtomicOrdering::Acquire,
                            AtomicOrdering::Monotonic, agent);
  b.CreateCondBr(b.CreateExtractValue(taken, 1), held, wait);
  b.SetInsertPoint(wait);
  b.CreateIntrinsic(b.getVoidTy(), Intrinsic::amdgcn_s_sleep, {b.getInt32(1)});
  b.CreateBr(take);

  b.SetInsertPoint(held);
  Value *old = b.CreateBitCast(loadWhole(fn, pointer, scope), fn.intType(128));
  if (Value *made = update(old))
    storeWhole(fn, b.CreateBitCast(made, wholeType(b)), pointer, scope);
  b.CreateAlignedStore(b.getInt32(0), lock, Align(4))->setAtomic(AtomicOrdering::Release, agent);
  return old;
}

Value *updateWide(FunctionLowering &fn, Value *pointer, ptx::Modifier scope,
                  function_ref<Value *(Value *)> update) {
  IRBuilder<> &b = fn.builder();
  Value *lock = lockOf(fn, pointer);
  Type *mask = fn.intType(fn.target().waveSize);
  Value *active = b.CreateIntrinsic(Intrinsic::amdgcn_ballot, {mask}, {b.getTrue()});
  Value *lane = b.CreateIntrinsic(b.getInt32Ty(), Intrinsic::amdgcn_mbcnt_lo,
                                  {b.getInt32(~0u), b.getInt32(0)});
  if (fn.target().waveSize == 64)
    lane = b.CreateIntrinsic(b.getInt32Ty(), Intrinsic::amdgcn_mbcnt_hi, {b.getInt32(~0u), lane});

  BasicBlock *before = b.GetInsertBlock(), *next = fn.newBlock("turn.next"),
             *mine = fn.newBlock("turn.mine"), *end = fn.newBlock("turn.end"),
             *done = fn.newBlock("turn.done");
  b.CreateBr(next);
  b.SetInsertPoint(next);
  PHINode *rest = b.CreatePHI(mask, 2), *result = b.CreatePHI(fn.intType(128), 2);
  Value *turn = b.CreateZExtOrTrunc(b.CreateBinaryIntrinsic(Intrinsic::cttz, rest, b.getTrue()),
                                    b.getInt32Ty());
  b.CreateCondBr(b.CreateICmpEQ(lane, turn), mine, end);
  b.SetInsertPoint(mine);
  Value *old = updateLocked(fn, lock, pointer, scope, update);
  BasicBlock *last = b.GetInsertBlock();
  b.CreateBr(end);

  b.SetInsertPoint(end);
  PHINode *resultSoFar = b.CreatePHI(fn.intType(128), 2);
  resultSoFar->addIncoming(result, next);
  resultSoFar->addIncoming(old, last);
  Value *others = b.CreateAnd(rest, b.CreateSub(rest, ConstantInt::get(mask, 1)));
  b.CreateCondBr(b.CreateICmpEQ(others, ConstantInt::get(mask, 0)), done, next);
  rest->addIncoming(active, before);
  rest->addIncoming(others, end);
  result->addIncoming(ConstantInt::get(fn.intType(128), 0), before);
  result->addIncoming(resultSoFar, end);
  b.SetInsertPoint(done);
  return resultSoFar;
}

} // namespace rubia::lowering
