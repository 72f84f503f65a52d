// SPDX-License-Identifier: Apache-2.0
// Which values are masks of lanes that control flow reads.
//
// Selection asks that for each value that another block reads. LLVM then goes through all integers
// of a mask's width that the value leads to: in waves of 32 lanes, all that depends on it. Of a
// kernel with many branches that was half of the time. Here the other end is looked at, once for a
// function: control flow, and what its masks are made of.
//
// The linker is told to call the function of here in the place of LLVM's (`--wrap`).
#pragma once

namespace llvm {
class Pass;
} // namespace llvm

namespace rubia::codegen {

/// A pass to be run right before selection (kSelection): finds the masks of its function.
llvm::Pass *makeMaskValues();
/// To be run behind selection: the function's values may go.
llvm::Pass *makeMaskValuesForgotten();

/// Whether this process has asked the function of here: not if LLVM has another one.
bool wasAskedForMasks();

} // namespace rubia::codegen
