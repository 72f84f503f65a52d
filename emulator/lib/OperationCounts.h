// Counts of operations by the names that people know.
#pragma once

#include "emulator/Emulator.h"
#include "emulator/lib/Program.h"

namespace rubia::emulator {

/// `counts` has a number for each of the program's operations, or none at all. One instruction is
/// one or more operations in a row; what counts is the first.
std::vector<OperationCount> nameOperations(const Program &program, llvm::ArrayRef<uint64_t> counts);

} // namespace rubia::emulator
