// What an instruction, a special register or a unit says about the threads of a warp or CTA, for
// all analyses that ask: spin loops, loops that wait for a warp, values that are the same for all.
#pragma once

#include "lowering/Lowering.h"
#include "llvm/ADT/DenseSet.h"

namespace rubia::lowering {

// Threads about which something is asked. RowWarp: warps, if %ntid.x is a multiple of 32, so that a
// warp is 32 threads with consecutive %tid.x.
enum class Group : uint8_t { Warp, RowWarp, Cta };

// Whether all threads of a group read the same in a special register.
bool isSameFor(Group group, ptx::SpecialRegister special);

// An access with semantics (.volatile, .relaxed, .acquire, .mmio, and .cv, which fetches again):
// the program expects that others write at the same time.
bool hasSemantics(const ptx::Instruction &instruction);

// A load or an atomic operation that programs use to wait for what others write: those with
// semantics, and .cg, which passes by the cache that other multiprocessors do not see.
bool mayPoll(const ptx::Instruction &instruction);

// What makes a thread wait for others of its warp or CTA; a call may.
bool isMeeting(const ptx::Instruction &instruction);

// Functions of the unit that calls through an address may reach.
llvm::DenseSet<const ptx::Function *> functionsWithAddress(const Unit &unit);

} // namespace rubia::lowering
