// SPDX-License-Identifier: Apache-2.0
// What a special register or a unit says about the threads of a warp or CTA, for all analyses that
// ask. What an instruction says is in InstructionEffects.h.
#pragma once

#include "lowering/Lowering.h"
#include "llvm/ADT/DenseSet.h"

namespace rubia::lowering {

/// Threads about which something is asked. RowWarp: warps, if %ntid.x is a multiple of 32, so that
/// a warp is 32 threads with consecutive %tid.x.
enum class Group : uint8_t { Warp, RowWarp, Cta };

/// Whether all threads of a group read the same in a special register.
bool isSameFor(Group group, ptx::SpecialRegister special);

/// Functions of the unit that calls through an address may reach.
llvm::DenseSet<const ptx::Function *> functionsWithAddress(const Unit &unit);

} // namespace rubia::lowering
