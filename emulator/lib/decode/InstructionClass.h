// SPDX-License-Identifier: Apache-2.0
// Instructions by the unit that executes them.
#pragma once

#include "emulator/Profile.h"
#include "emulator/lib/machine/Target.h"

namespace rubia::emulator {

InstructionClass classify(const Target &target, const llvm::MCInst &inst);

/// Whether it narrows EXEC to the lanes for which a condition holds.
bool masksLanes(const Target &target, const llvm::MCInst &inst);

} // namespace rubia::emulator
