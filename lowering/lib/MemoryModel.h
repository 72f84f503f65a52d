// PTX's scopes and semantics as LLVM's. PTX ISA: memory-consistency-model; AMDGPUUsage "Memory
// Scopes".
#pragma once

#include "ptx-frontend/Module.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/Support/AtomicOrdering.h"

namespace rubia::lowering {

// .cta is a workgroup, .gpu an agent, .sys the system. .cluster becomes an agent: AMD has nothing
// between.
llvm::SyncScope::ID syncScopeOf(llvm::LLVMContext &context, ptx::Mod scope);

// Of .relaxed, .acquire, .release, .acq_rel; Monotonic for anything else.
llvm::AtomicOrdering orderingOf(ptx::Mod semantics);

} // namespace rubia::lowering
