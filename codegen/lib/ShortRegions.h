// SPDX-License-Identifier: Apache-2.0
// Regions of the scheduler behind register allocation that are not too long.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace llvm {
class Pass;
} // namespace llvm

namespace rubia::codegen {

constexpr llvm::StringLiteral kLateScheduler = "PostRA Machine Instruction Scheduler";

/// A pass before that scheduler. It adds SCHED_BARRIER, which is no code.
llvm::Pass *makeShortRegions();

} // namespace rubia::codegen
