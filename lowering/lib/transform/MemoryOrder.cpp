// SPDX-License-Identifier: Apache-2.0
// Three rules, each of which a litmus test (tests/litmus) has shown to be needed:
//
// - An acquiring load is a relaxed one and a fence: LLVM's load-store vectoriser moves plain loads
//   over an acquiring load (docs/errata.md E15), but not over a fence.
// - On gfx9 a release at workgroup scope waits for the wave's own vector memory operations. LLVM
//   waits for LDS only, since the waves of a workgroup share an L1. But another of them may then
//   release at a wider scope, and must release these operations too (happens-before is
//   transitive); its own wait does not count them. For the same reason LLVM waits on RDNA in CU
//   mode.
// - On gfx9 a release that writes back the L2 waits for that: LLVM drops the wait behind
//   buffer_wbl2 where it thinks that nothing is outstanding (E16).
//
// The wait is an instruction of its own behind a release fence, and the operation that releases is
// relaxed then.
#include "lowering/lib/transform/MemoryOrder.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace rubia::targets::Fact {
extern const GenerationFact releasesMustWait;
} // namespace rubia::targets::Fact

namespace rubia::lowering {

namespace {

/// S_WAITCNT of gfx9: vmcnt(0), the other counters at their highest.
constexpr uint32_t kWaitForVectorMemory = 0x0f70;

void waitForVectorMemory(IRBuilder<> &b) {
  b.CreateIntrinsic(Intrinsic::amdgcn_s_waitcnt, {}, {b.getInt32(kWaitForVectorMemory)});
}

void releaseBefore(Instruction &operation, SyncScope::ID scope) {
  IRBuilder<> b(&operation);
  b.CreateFence(AtomicOrdering::Release, scope);
  waitForVectorMemory(b);
}

/// What is left of an ordering when a fence has taken over the release.
AtomicOrdering withoutRelease(AtomicOrdering ordering) {
  return isAcquireOrStronger(ordering) ? AtomicOrdering::Acquire : AtomicOrdering::Monotonic;
}

void makeExplicit(Instruction &instruction, bool waits) {
  if (auto *load = dyn_cast<LoadInst>(&instruction)) {
    if (!isAcquireOrStronger(load->getOrdering()))
      return;
    IRBuilder<> b(load->getNextNode());
    b.SetCurrentDebugLocation(load->getDebugLoc());
    b.CreateFence(AtomicOrdering::Acquire, load->getSyncScopeID());
    load->setOrdering(AtomicOrdering::Monotonic);
  } else if (!waits) {
    return;
  } else if (auto *fence = dyn_cast<FenceInst>(&instruction)) {
    if (!isReleaseOrStronger(fence->getOrdering()))
      return;
    IRBuilder<> b(fence->getNextNode());
    b.SetCurrentDebugLocation(fence->getDebugLoc());
    waitForVectorMemory(b);
  } else if (auto *store = dyn_cast<StoreInst>(&instruction)) {
    if (!isReleaseOrStronger(store->getOrdering()))
      return;
    releaseBefore(*store, store->getSyncScopeID());
    store->setOrdering(AtomicOrdering::Monotonic);
  } else if (auto *update = dyn_cast<AtomicRMWInst>(&instruction)) {
    if (!isReleaseOrStronger(update->getOrdering()))
      return;
    releaseBefore(*update, update->getSyncScopeID());
    update->setOrdering(withoutRelease(update->getOrdering()));
  } else if (auto *exchange = dyn_cast<AtomicCmpXchgInst>(&instruction)) {
    if (!isReleaseOrStronger(exchange->getSuccessOrdering()))
      return;
    releaseBefore(*exchange, exchange->getSyncScopeID());
    exchange->setSuccessOrdering(withoutRelease(exchange->getSuccessOrdering()));
  }
}

} // namespace

void makeOrderExplicit(Function &function, const Target &target) {
  for (Instruction &instruction : make_early_inc_range(instructions(function)))
    makeExplicit(instruction, targets::Fact::releasesMustWait(*target.row));
}

} // namespace rubia::lowering
