// Barriers. PTX ISA: parallel-synchronization-and-communication-instructions-bar.
//
// AMD has one barrier a workgroup, which every wave must reach. PTX's barriers for all threads of
// the CTA become it, whatever their number: no thread can wait at two of them, so a program that
// does not deadlock passes them in one order. Barriers for some of the threads (a thread count, or
// arrive) are not supported.
#include "lowering/lib/FunctionLowering.h"
#include "lowering/lib/MemoryModel.h"
#include "lowering/lib/UnitLowering.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"

using namespace llvm;

namespace rubia::lowering {

static void fence(FunctionLowering &fn, AtomicOrdering ordering, ptx::Mod scope) {
  fn.builder().CreateFence(ordering, syncScopeOf(fn.context(), scope));
}

// A barrier orders what the CTA's threads did before and do after it.
static void barrier(FunctionLowering &fn) {
  IRBuilder<> &b = fn.builder();
  fence(fn, AtomicOrdering::Release, ptx::Mod::Cta);
  b.CreateIntrinsic(b.getVoidTy(), Intrinsic::amdgcn_s_barrier, {});
  fence(fn, AtomicOrdering::Acquire, ptx::Mod::Cta);
}

// Whether operand n, the number of threads, is that of the whole CTA.
static bool isWholeCta(FunctionLowering &fn, unsigned n) {
  std::optional<uint64_t> threads = fn.sourceConstant(n);
  const uint32_t (&required)[3] = fn.ptxFunction().attributes.requiredThreads;
  return threads && required[0] &&
         *threads == uint64_t(required[0]) * std::max(required[1], 1u) * std::max(required[2], 1u);
}

static Error someThreads(FunctionLowering &fn, const ptx::Instruction &inst) {
  return fn.unsupported(inst, "a barrier for some of the CTA's threads");
}

// bar.sync a{, b}; barrier.sync{.aligned} a{, b}
Expected<Value *> lowerBarSync(FunctionLowering &fn, const ptx::Instruction &inst) {
  if (fn.hasSource(1) && !isWholeCta(fn, 1))
    return someThreads(fn, inst);
  barrier(fn);
  return nullptr;
}

// bar.arrive a, b
Expected<Value *> lowerBarArrive(FunctionLowering &fn, const ptx::Instruction &inst) {
  return someThreads(fn, inst);
}

// bar.red.popc.u32 d, a{, b}, {!}c; bar.red.(and|or).pred d, a{, b}, {!}c
// Each wave adds the number of its lanes that count to a word of LDS. The first of the three
// barriers keeps the word from being cleared before everybody has read the result of the previous
// one.
Expected<Value *> lowerBarRed(FunctionLowering &fn, const ptx::Instruction &inst) {
  IRBuilder<> &b = fn.builder();
  bool hasCount = fn.hasSource(2);
  if (hasCount && !isWholeCta(fn, 1))
    return someThreads(fn, inst);
  bool isAnd = inst.spelling->has(ptx::Mod::And);
  Value *condition = fn.source(hasCount ? 2 : 1, ptx::Type::Pred);
  if (isAnd) // all are true if none is false
    condition = b.CreateNot(condition);

  Value *word = fn.unit().barrierReductionWord();
  SyncScope::ID workgroup = syncScopeOf(fn.context(), ptx::Mod::Cta);
  barrier(fn);
  b.CreateAlignedStore(b.getInt32(0), word, Align(4))
      ->setAtomic(AtomicOrdering::Monotonic, workgroup);
  barrier(fn);

  Value *mask =
      b.CreateIntrinsic(Intrinsic::amdgcn_ballot, {fn.intType(fn.target().waveSize)}, {condition});
  mask = b.CreateTrunc(mask, b.getInt32Ty());
  Value *active =
      b.CreateTrunc(b.CreateIntrinsic(Intrinsic::amdgcn_ballot, {fn.intType(fn.target().waveSize)},
                                      {b.getTrue()}),
                    b.getInt32Ty());
  // The first active lane speaks for its wave.
  Value *before =
      b.CreateIntrinsic(b.getInt32Ty(), Intrinsic::amdgcn_mbcnt_lo, {active, b.getInt32(0)});
  BasicBlock *speak = fn.newBlock("reduce"), *next = fn.newBlock("reduced");
  b.CreateCondBr(b.CreateICmpEQ(before, b.getInt32(0)), speak, next);
  b.SetInsertPoint(speak);
  b.CreateAtomicRMW(AtomicRMWInst::Add, word, b.CreateUnaryIntrinsic(Intrinsic::ctpop, mask),
                    Align(4), AtomicOrdering::Monotonic, workgroup);
  b.CreateBr(next);
  b.SetInsertPoint(next);
  barrier(fn);
  LoadInst *count = b.CreateAlignedLoad(b.getInt32Ty(), word, Align(4));
  count->setAtomic(AtomicOrdering::Monotonic, workgroup);

  if (inst.spelling->has(ptx::Mod::Popc))
    return count;
  return isAnd ? b.CreateICmpEQ(count, b.getInt32(0)) : b.CreateICmpNE(count, b.getInt32(0));
}

} // namespace rubia::lowering
