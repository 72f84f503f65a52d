// Encodings that the manuals reserve or forbid and that LLVM's disassembler takes for instructions,
// or dies of (docs/errata.md E17). What comes before and after a call of it.
#pragma once

#include "llvm/ADT/ArrayRef.h"

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

} // namespace rubia::emulator
