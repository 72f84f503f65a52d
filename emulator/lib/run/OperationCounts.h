// SPDX-License-Identifier: Apache-2.0
// Counts of operations by the names that people know.
#pragma once

#include "emulator/Emulator.h"
#include "emulator/lib/machine/Program.h"

namespace rubia::emulator {

/// How often an operation was executed, and by how many active lanes in all.
struct OperationTally {
  uint64_t waves = 0, lanes = 0;
};

/// `counts` has a number for each of the program's operations, or none at all. One instruction is
/// one or more operations in a row; what counts is the first.
std::vector<OperationCount> nameOperations(const Program &program, llvm::ArrayRef<uint64_t> counts);

/// The sum over the vector instructions of the active lanes that executed them, of which `lanes`
/// has a number for each operation. A pair (V_DUAL_*) is two instructions.
uint64_t laneOperations(const Program &program, llvm::ArrayRef<uint64_t> lanes);

} // namespace rubia::emulator
