// SPDX-License-Identifier: Apache-2.0
// Large units. Functions whose addresses are taken reach each other through memory, so that they
// and all their callers are one unit: hundreds of functions, and minutes for one thread. Those
// functions are compiled apart, at the same time, and linked with the kernels.
#pragma once

#include "codegen/Codegen.h"
#include "codegen/lib/TargetId.h"

namespace rubia::codegen {

/// The relocatable objects of a module: one, or that of the kernels behind those of functions. How
/// it is divided depends on the module and Options::instructionsPerPart alone.
llvm::Expected<std::vector<std::string>>
emitObjects(std::unique_ptr<llvm::Module> module, const TargetId &target, const Options &options);

} // namespace rubia::codegen
