// SPDX-License-Identifier: Apache-2.0
// membar and fence. PTX ISA: parallel-synchronization-and-communication-instructions-membar.
//
// A fence is LLVM's fence with the same semantics and scope. AMD has no proxies: what PTX does in
// its async, tensormap or alias proxy are plain accesses here, so a proxy fence is what it says
// about plain accesses, and at least a fence that the compiler and the caches see.
#include "lowering/lib/frame/FunctionLowering.h"
#include "lowering/lib/frame/LoweringFunctions.h"
#include "lowering/lib/instructions/MemoryModel.h"

using namespace llvm;

namespace rubia::ptx::Mod {
extern const Modifier AcqRel, Alias, Cta, Proxy, Sc, Sys;
} // namespace rubia::ptx::Mod

namespace rubia::lowering {

LoweringFunction lowerFenceProxy;

static void fence(FunctionLowering &fn, ptx::Modifier semantics, ptx::Modifier scope) {
  fn.builder().CreateFence(orderingOf(semantics), syncScopeOf(fn.context(), scope));
}

// membar.level: fence.sc with .cta, .gpu or .sys; membar.proxy.alias: fence.proxy.alias
Expected<Value *> lowerMembar(FunctionLowering &fn, const ptx::Instruction &inst) {
  if (inst.spelling->has(ptx::Mod::Proxy))
    return lowerFenceProxy(fn, inst);
  fence(fn, ptx::Mod::Sc, inst.spelling->first(ptx::ModCategory::Scope));
  return nullptr;
}

// fence{.sc|.acq_rel|.acquire|.release}.scope: .acq_rel if nothing is said
Expected<Value *> lowerFence(FunctionLowering &fn, const ptx::Instruction &inst) {
  ptx::Modifier semantics = inst.spelling->first(ptx::ModCategory::Semantics);
  fence(fn, semantics == ptx::Mod::None ? ptx::Mod::AcqRel : semantics,
        inst.spelling->first(ptx::ModCategory::Scope));
  return nullptr;
}

// fence.proxy.alias: of accesses by different addresses of the same memory, which may be in any
// cache by either.
// fence.proxy.async{.space}: of plain accesses and those of cp.async.bulk and its like, which the
// threads of the same CTA do.
// fence.proxy.(tensormap|async)::generic.(acquire|release)....scope, fence.mbarrier_init.release
// .cluster, fence.(acquire|release).sync_restrict....cluster: fences of their semantics and scope
Expected<Value *> lowerFenceProxy(FunctionLowering &fn, const ptx::Instruction &inst) {
  const ptx::Spelling &spelling = *inst.spelling;
  ptx::Modifier semantics = spelling.first(ptx::ModCategory::Semantics);
  if (semantics != ptx::Mod::None)
    fence(fn, semantics, spelling.first(ptx::ModCategory::Scope));
  else
    fence(fn, ptx::Mod::AcqRel, spelling.has(ptx::Mod::Alias) ? ptx::Mod::Sys : ptx::Mod::Cta);
  return nullptr;
}

} // namespace rubia::lowering
