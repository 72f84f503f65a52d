// SPDX-License-Identifier: Apache-2.0
// Regions of the schedulers, and of the pass that joins accesses, that are not too long.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace llvm {
class Pass;
} // namespace llvm

namespace rubia::codegen {

constexpr llvm::StringLiteral kLateScheduler = "PostRA Machine Instruction Scheduler";

constexpr llvm::StringLiteral kAccessJoiner = "SI Load Store Optimizer";

constexpr unsigned kAccessRegion = 4000, kEarlyRegion = 1000, kLateRegion = 128; // instructions

/// A pass before a scheduler: it ends regions of more than so many instructions by SCHED_BARRIER,
/// which is no code.
llvm::Pass *makeShortRegions(unsigned most);

/// A pass that makes one region of them again.
llvm::Pass *makeJoinedRegions();

} // namespace rubia::codegen
