// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lowering/lib/analysis/Target.h"
#include "ptx-frontend/Module.h"

namespace llvm {
class Function;
}

namespace rubia::lowering {

struct Unit;

/// Gives `llvmFunction` the limit of vector registers that `.maxnreg` of the kernel asks for; LLVM
/// raises it to what the kernel's LDS leaves to each wave. PTX ISA:
/// performance-tuning-directives-maxnreg.
void limitRegisters(const ptx::Function &kernel, const Unit &unit, const Target &target,
                    llvm::Function &llvmFunction);

} // namespace rubia::lowering
