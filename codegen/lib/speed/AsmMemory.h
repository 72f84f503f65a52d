// SPDX-License-Identifier: Apache-2.0
// For a clobber of assembly, "~{memory}" included, LLVM's selection looks for the stack pointer: it
// compares the clobber's name with those of all registers of all classes, 0.3 ms each. So the
// clobber of memory is taken away before selection, and what it stands for is said behind it.
#pragma once

namespace llvm {
class FunctionPass;
} // namespace llvm

namespace rubia::codegen {

/// To be run right before selection (kSelection), and right behind it (kFinalizeSelection).
llvm::FunctionPass *makeAsmWithoutMemory();
llvm::FunctionPass *makeAsmWithMemory();

} // namespace rubia::codegen
