// SPDX-License-Identifier: Apache-2.0
// Finding the row of an instruction by name.
#pragma once

#include "emulator/lib/machine/Addressing.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace rubia::emulator {

struct Semantics;

/// The row of a vector instruction, compiled for the best instruction set of this machine; null if
/// there is none.
const Semantics *findVectorAlu(llvm::StringRef name);

/// How far its result may be from the hardware's.
Exactness exactnessOf(llvm::StringRef name);

/// The host's instruction sets that the tables are compiled for, each with all before it.
enum class HostIsa : uint8_t { Baseline, Avx2, Avx512 };

/// The best that this machine has and RUBIA_EMULATOR_ISA (baseline, avx2, avx512) allows, if that
/// is set at the first call.
HostIsa hostIsa();

/// An error if RUBIA_EMULATOR_ISA says something else.
llvm::Error checkHostIsa();

/// The tables of one instruction set, for tests that compare them.
const Semantics *findVectorAlu(llvm::StringRef name, HostIsa isa);

/// The handler of a memory instruction, or null.
Handler findMemory(const MemoryTable &table, llvm::StringRef name);

/// The fast handler of a memory instruction or a move between lanes on this machine, or null.
Handler findFast(llvm::StringRef name);

} // namespace rubia::emulator
