// SPDX-License-Identifier: Apache-2.0
// Encodings that the manuals reserve or forbid and that LLVM's disassembler takes for instructions,
// or dies of (docs/errata.md E17). What comes before and after a call of it.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace llvm {
class MCInst;
}

namespace rubia::emulator {

class Target;

/// Whether LLVM's disassembler can be given `bytes`, of which there are at least 16.
bool mayDisassemble(const Target &target, llvm::ArrayRef<uint8_t> bytes);

/// Whether what it made of `size` bytes is an instruction of the processor, which its printer
/// survives too.
bool isSound(const Target &target, const llvm::MCInst &inst, uint64_t size);

/// Whether it is one of the VOP2 instructions of halves with a literal of their own (docs/errata.md
/// E27).
bool hasHalfLiteral(const Target &target, llvm::ArrayRef<uint8_t> bytes);

/// Hardware ignores the fields that an instruction does not use (modifiers of integers and of
/// sources that it has not, data of DS and FLAT instructions); LLVM wants them to be 0. `bytes`
/// with such bits cleared, if they are an instruction then, else nothing. `decodes` says whether
/// LLVM takes bytes for one.
std::vector<uint8_t> withoutUnusedBits(const Target &target, llvm::ArrayRef<uint8_t> bytes,
                                       llvm::function_ref<bool(llvm::ArrayRef<uint8_t>)> decodes);

} // namespace rubia::emulator
