// SPDX-License-Identifier: Apache-2.0
// PTX's memory consistency model as LLVM's: what each of PTX's words becomes, and nothing else.
// docs/architecture.md "Memory model" has the same table. PTX ISA: memory-consistency-model;
// AMDGPUUsage "Memory Model".
#pragma once

#include "ptx-frontend/Module.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/Support/AtomicOrdering.h"

namespace rubia::lowering {

/// .cta is a workgroup, .gpu an agent, .sys the system. .cluster becomes an agent: AMD has nothing
/// between. Without a scope it is .gpu.
llvm::SyncScope::ID syncScopeOf(llvm::LLVMContext &context, ptx::Modifier scope);

/// .relaxed is Monotonic, as is an atomic without semantics; .acquire, .release, .acq_rel are what
/// they are called; .sc, of fences only, is SequentiallyConsistent.
llvm::AtomicOrdering orderingOf(ptx::Modifier semantics);

} // namespace rubia::lowering
