// SPDX-License-Identifier: Apache-2.0
// Room between the numbers that LLVM gives to machine instructions.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace llvm {
class Pass;
} // namespace llvm

namespace rubia::codegen {

constexpr llvm::StringLiteral kScheduler = "Machine Instruction Scheduler";

/// A pass to be run right before the scheduler.
llvm::Pass *makeWideIndexes();

} // namespace rubia::codegen
