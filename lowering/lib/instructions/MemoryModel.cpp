// SPDX-License-Identifier: Apache-2.0
#include "lowering/lib/instructions/MemoryModel.h"

using namespace llvm;

namespace rubia::lowering {

SyncScope::ID syncScopeOf(LLVMContext &context, ptx::Mod scope) {
  switch (scope) {
  case ptx::Mod::Cta:
    return context.getOrInsertSyncScopeID("workgroup");
  case ptx::Mod::Sys:
    return SyncScope::System;
  default: // .gpu, .gl, .cluster, or none
    return context.getOrInsertSyncScopeID("agent");
  }
}

AtomicOrdering orderingOf(ptx::Mod semantics) {
  switch (semantics) {
  case ptx::Mod::Acquire:
    return AtomicOrdering::Acquire;
  case ptx::Mod::Release:
    return AtomicOrdering::Release;
  case ptx::Mod::AcqRel:
    return AtomicOrdering::AcquireRelease;
  case ptx::Mod::Sc:
    return AtomicOrdering::SequentiallyConsistent;
  default:
    return AtomicOrdering::Monotonic;
  }
}

} // namespace rubia::lowering
