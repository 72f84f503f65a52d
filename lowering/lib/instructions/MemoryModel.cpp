// SPDX-License-Identifier: Apache-2.0
#include "lowering/lib/instructions/MemoryModel.h"

using namespace llvm;

namespace rubia::ptx::Mod {
extern const Modifier AcqRel, Acquire, Cta, Release, Sc, Sys;
} // namespace rubia::ptx::Mod

namespace rubia::lowering {

SyncScope::ID syncScopeOf(LLVMContext &context, ptx::Modifier scope) {
  if (scope == ptx::Mod::Cta)
    return context.getOrInsertSyncScopeID("workgroup");
  if (scope == ptx::Mod::Sys)
    return SyncScope::System;
  return context.getOrInsertSyncScopeID("agent"); // .gpu, .gl, .cluster, or none
}

AtomicOrdering orderingOf(ptx::Modifier semantics) {
  if (semantics == ptx::Mod::Acquire)
    return AtomicOrdering::Acquire;
  if (semantics == ptx::Mod::Release)
    return AtomicOrdering::Release;
  if (semantics == ptx::Mod::AcqRel)
    return AtomicOrdering::AcquireRelease;
  if (semantics == ptx::Mod::Sc)
    return AtomicOrdering::SequentiallyConsistent;
  return AtomicOrdering::Monotonic;
}

} // namespace rubia::lowering
