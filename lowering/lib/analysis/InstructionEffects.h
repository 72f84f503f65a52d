// SPDX-License-Identifier: Apache-2.0
// What an instruction does beside computing: the words of its operation (ptx-frontend/Effects.h),
// refined by its modifiers and operands. Every analysis asks here, so that all of them agree, and
// none has a list of operations that a new one is missing from.
#pragma once

#include "lowering/lib/analysis/Definitions.h"
#include "ptx-frontend/Effects.h"
#include "ptx-frontend/Module.h"
#include <optional>

namespace rubia::lowering {

namespace effects = ptx::effects;

/// Whether the operation does any of these.
inline bool does(const ptx::Instruction &instruction, ptx::Effects words) {
  return ptx::effectsOf(instruction.op()).hasAny(words);
}

/// Whether the result is a function of the operands alone, and nothing else happens.
bool isPure(const ptx::Instruction &instruction);

// ---------- Memory

/// The operand in brackets, the first if there are several; null: there is none.
const ptx::Operand *addressOf(const ptx::Instruction &instruction);

/// Whether two addresses are written in the same way.
bool isSamePlace(const ptx::Operand &a, const ptx::Operand &b);

/// An access with semantics (.volatile, .relaxed, .acquire, .mmio, and .cv, which fetches again):
/// the program expects that others write at the same time.
bool hasSemantics(const ptx::Instruction &instruction);

/// Whether programs wait with it, in a loop, for what others write: atomic operations, loads with
/// semantics, and .cg, which passes by the cache that other multiprocessors do not see.
bool mayPoll(const ptx::Instruction &instruction);

/// Whether compilers read memory again after it, so that a loop with it may wait for a plain load:
/// `while (*flag == 0) __threadfence();` is a data race since PTX 6.0, and runs everywhere.
/// Barriers of the CTA do not count: all of its threads come to them, so that none waits in such a
/// loop.
bool readsAnewAfter(const ptx::Instruction &instruction);

/// Whether it reads what is there, gives that, and writes something else, at once: locks are taken
/// so.
bool isExchange(const ptx::Instruction &instruction);

/// A load of what others may write, if the program tells nobody that they do.
bool isPlainLoad(const ptx::Instruction &instruction);

// ---------- Other threads

/// What makes a thread wait for others of its warp or CTA; a call may.
bool isMeeting(const ptx::Instruction &instruction);

/// Whether PTX wants all threads of a warp to execute the barrier together: bar, barrier.aligned.
bool isAligned(const ptx::Instruction &barrier);

/// The membermask; null: it has none.
const ptx::Operand *membersOf(const ptx::Instruction &instruction);

/// Whether the membermask is constant and names all lanes.
bool namesWholeWarp(const ptx::Instruction &instruction, const Definitions &definitions);

// ---------- Control

/// Whether it may end its thread: exit, trap, a failed assertion.
bool endsThread(const ptx::Instruction &instruction);

/// The function that a call names, or what its name stands for; null: it is called through an
/// address.
const ptx::Function *calleeOf(const ptx::Instruction &call);

/// The operand that says which of its labels a jump goes to; null: it has one label.
const ptx::Operand *choiceOf(const ptx::Instruction &jump);

/// Whether what stands behind it is another block.
bool endsBlock(const ptx::Instruction &instruction);

// ---------- Floating point

/// Whether an instruction keeps f32 denormals, so that a unit with it cannot run in the mode that
/// flushes them. Operations that give the same bits in both modes do not count.
bool needsF32Denormals(const ptx::Instruction &instruction);

} // namespace rubia::lowering
