// SPDX-License-Identifier: Apache-2.0
// Regions of the schedulers that are not too long.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace llvm {
class Pass;
} // namespace llvm

namespace rubia::codegen {

constexpr llvm::StringLiteral kLateScheduler = "PostRA Machine Instruction Scheduler";

constexpr unsigned kEarlyRegion = 1000, kLateRegion = 128; // instructions

/// A pass before a scheduler: it ends regions of more than so many instructions by SCHED_BARRIER,
/// which is no code.
llvm::Pass *makeShortRegions(unsigned most);

} // namespace rubia::codegen
