// Proves on the final machine code that every floating-point instruction executes under the
// rounding and denormal mode that it was written for. LLVM does not order plain floating-point
// operations against writes of the MODE register, so this cannot be trusted.
//
// The protocol with lowering: a kernel runs in the mode of its descriptor. An operation that needs
// another one is emitted as one inline asm block: switch the mode, the operations, switch back.
// Such a *region* is straight-line code inside one basic block.
#ifndef RUBIA_CODEGEN_MODECHECKER_H
#define RUBIA_CODEGEN_MODECHECKER_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>

namespace rubia::codegen {

/// Checks every function of a linked code object. The rules:
/// - at the end of every basic block, at every call and every return, rounding and denormal mode
/// are the kernel descriptor's;
/// - where control flow joins, all ways agree on the mode;
/// - a region of another rounding contains at least one instruction that rounds, and besides those
/// only register moves and waits:
///   no memory access, no scalar floating point, no branch;
/// - a region of another denormal mode contains only floating-point instructions, moves and waits,
/// as in LLVM's f32 division;
/// - the MODE register is written only by constants, and nothing but its rounding and denormal
/// fields is changed. The error names function, address, instruction, expected and found mode; one
/// line for each violation, at most 20.
llvm::Error checkMode(llvm::ArrayRef<uint8_t> codeObject);

} // namespace rubia::codegen

#endif
