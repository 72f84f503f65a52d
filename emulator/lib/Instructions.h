// Finding the row of an instruction by name.
#pragma once

#include "emulator/lib/Addressing.h"
#include "emulator/lib/Semantics.h"
#include "llvm/ADT/StringRef.h"

namespace rubia::emulator {

/// The row of a vector instruction, compiled for the best instruction set of this machine; null if
/// there is none.
const Semantics *findVectorAlu(llvm::StringRef name);

/// The tables of one instruction set, for tests that compare them: "baseline" or "avx2".
const Semantics *findVectorAlu(llvm::StringRef name, llvm::StringRef isa);

/// The handler of a memory instruction, or null.
Handler findMemory(const MemoryTable &table, llvm::StringRef name);

/// Whether this machine runs the AVX2 tables.
bool hasAvx2();

} // namespace rubia::emulator
