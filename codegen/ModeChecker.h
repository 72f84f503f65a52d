// SPDX-License-Identifier: Apache-2.0
// Proves on the final machine code that every floating-point instruction executes under the
// rounding and denormal mode that it was written for. LLVM does not order plain floating-point
// operations against writes of the MODE register, so this cannot be trusted.
//
// The protocol with lowering: a kernel runs in the mode of its descriptor. An operation that needs
// another one is emitted as one inline asm block: switch the mode, the operations, switch back.
// Such a *region* is straight-line code inside one basic block.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>

namespace rubia::codegen {

/// Checks every function of a linked code object, and code without a symbol. The rules:
/// - a kernel's descriptor says round to nearest even;
/// - at the beginning and end of every basic block, at every call and every return, the mode is the
/// kernel descriptor's (so all ways agree at
///   joins); a function that is no kernel must satisfy this for the mode of at least one kernel in
///   the code object;
/// - a region of another rounding consists of arithmetic that rounds, conversions, register moves
/// and waits, at least one of which depends on
///   a changed field; every one that rounds needs a changed rounding of its own width, conversions
///   between widths of both;
/// - a region of another denormal mode or f16 overflow mode contains vector arithmetic that depends
/// on it, and besides that only what depends
///   on no mode: LLVM schedules integer instructions and loads into its f32 division. No scalar
///   floating point, no float atomics, no branches;
/// - the MODE register is written by constants only, and only these fields of it.
/// The error is a CodegenError that names function, address, instruction, expected and found mode;
/// one line for each violation, at most 20.
llvm::Error checkMode(llvm::ArrayRef<uint8_t> codeObject);

} // namespace rubia::codegen
