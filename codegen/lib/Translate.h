// SPDX-License-Identifier: Apache-2.0
// Everything of a compilation that LLVM does: verify, optimise, select, assemble.
#pragma once

#include "codegen/Codegen.h"
#include "codegen/lib/RegisterUse.h"
#include "codegen/lib/TargetId.h"
#include "llvm/ADT/SmallVector.h"

namespace llvm {
class TargetMachine;
} // namespace llvm

namespace rubia::codegen {

/// This thread's machine for the target and level. It is made once: what LLVM finds out about the
/// registers in the course of a compilation costs as much as a small kernel does.
llvm::Expected<llvm::TargetMachine *> targetMachine(const TargetId &target, unsigned optLevel);

/// Makes the module one for this target and this code object version and verifies it.
llvm::Error prepare(llvm::Module &module, llvm::TargetMachine &machine, const TargetId &target,
                    unsigned codeObjectVersion);

/// An error that names the function, if LLVM's verifier finds anything.
llvm::Error verify(llvm::Module &module, const llvm::Twine &when);

/// Whether a debugger shows registers of PTX (RUBIA_DEBUG_INFO).
bool hasDebugVariables(const llvm::Module &module);

/// The middle end (Optimise.cpp).
llvm::Error optimise(llvm::Module &module, llvm::TargetMachine &machine, unsigned optLevel);

/// The back end: `kind` is Assembly or Object. Registers are counted if `use` is given.
llvm::Error translate(llvm::Module &module, llvm::TargetMachine &machine, EmitKind kind,
                      llvm::SmallVectorImpl<char> &output, RegisterUse *use = nullptr);

/// What follows prepare(): the middle end, the back end and what is between.
llvm::Expected<std::string> emitPrepared(llvm::Module &module, llvm::TargetMachine &machine,
                                         unsigned optLevel, EmitKind kind,
                                         RegisterUse *use = nullptr);

} // namespace rubia::codegen
