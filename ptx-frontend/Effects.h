// SPDX-License-Identifier: Apache-2.0
// What an operation does beside computing: the second column of Operations.def, in the words
// below. Whoever has to know whether an instruction may be moved, who waits at it, or whether its
// result differs between threads asks here: nobody keeps a list of operations of his own. So an
// operation without effects does not build, and neither does one whose effects contradict its forms
// (InstructionTable.cpp: kShapes).
//
// A word says what the operation may do in some of its forms. What depends on modifiers and
// operands is refined where instructions are at hand (lowering: InstructionEffects.h). Operations
// that lowering does not have yet, and those that are done later (cp.async), have the effects of
// what will be done.
#pragma once

#include "ptx-frontend/Operation.h"
#include "llvm/ADT/bit.h"
#include <cstdint>

namespace rubia::ptx {

/// Where an operation's result comes from. Each operation has one of these.
enum class Result : uint8_t {
  Pure,     // from the operands alone (and from CC.CF, see ReadsCarry)
  Loads,    // from memory: threads that read one address at the same time get the same
  WarpWide, // from the lanes of a warp that take part, which all get the same
  CtaWide,  // from the threads of a CTA, which all get the same
  Lane,     // each thread may get another one, whatever its operands are
  NoResult, // there is none
};

class Effects {
public:
  constexpr Effects() = default;
  constexpr explicit Effects(Result result) : bits(1ull << unsigned(result)) {}
  static constexpr Effects flag(unsigned number) { return {1ull << (8 + number), 0}; }

  friend constexpr Effects operator|(Effects a, Effects b) { return {a.bits | b.bits, 0}; }
  /// All of the words, or any of them.
  constexpr bool has(Effects words) const { return (bits & words.bits) == words.bits; }
  constexpr bool hasAny(Effects words) const { return (bits & words.bits) != 0; }

  /// For the check of the table.
  constexpr unsigned results() const { return unsigned(llvm::popcount(bits & 0xff)); }
  constexpr unsigned count(Effects words) const {
    return unsigned(llvm::popcount(bits & words.bits));
  }
  constexpr Result result() const { return Result(llvm::countr_zero(bits & 0xff)); }

private:
  constexpr Effects(uint64_t bits, int) : bits(bits) {}
  uint64_t bits = 0;
};

// The words of the column.
namespace effects {

inline constexpr Effects Pure{Result::Pure}, Loads{Result::Loads}, WarpWide{Result::WarpWide},
    CtaWide{Result::CtaWide}, Lane{Result::Lane}, NoResult{Result::NoResult};

// ---------- Guards

/// So cheap that it is executed where its guard is false too, its result dropped. Only for Pure.
inline constexpr Effects Speculate = Effects::flag(0);

// ---------- Memory

/// Memory that others may write: not texture memory, nor what .nc and ldu read.
inline constexpr Effects Reads = Effects::flag(1);
inline constexpr Effects Writes = Effects::flag(2);
/// It has an address, and neither reads memory that changes nor writes any: a hint, a texture.
inline constexpr Effects NamesAddress = Effects::flag(3);
/// Programs wait in a loop for what it reads. Of Ld only what mayPoll() says.
inline constexpr Effects Polls = Effects::flag(4);
/// Compilers read memory again behind it, so that programs wait with plain loads around it.
inline constexpr Effects Renews = Effects::flag(5);

// ---------- Other threads

/// It is for several lanes of a warp together: with .sync a thread waits there for others.
inline constexpr Effects MeetsWarp = Effects::flag(6);
/// A thread waits there for the threads of its CTA, or only tells them that it came by.
inline constexpr Effects MeetsCta = Effects::flag(7);
inline constexpr Effects ArrivesCta = Effects::flag(8);
/// With .wait a thread waits there for its cluster, which is one CTA here.
inline constexpr Effects MeetsCluster = Effects::flag(9);

// ---------- Control

inline constexpr Effects Jumps = Effects::flag(10);   // to a label
inline constexpr Effects Calls = Effects::flag(11);   // does what the callee does
inline constexpr Effects Returns = Effects::flag(12); // of a kernel: the thread ends
inline constexpr Effects Exits = Effects::flag(13);   // the thread ends, others go on
inline constexpr Effects Traps = Effects::flag(14);   // the kernel ends

// ---------- CC.CF. What writes it has .cc.

inline constexpr Effects ReadsCarry = Effects::flag(15);

// ---------- Denormals of f32. An operation with a form of .f32 or .bf16 has one of these words:
// in a unit that flushes, it would give other bits unless lowering does something about it.

/// f32 arithmetic; without .ftz it keeps denormals. The first type counts.
inline constexpr Effects F32 = Effects::flag(16);
/// A comparison of f32, or of bf16 as f32. The last type counts.
inline constexpr Effects F32Compared = Effects::flag(17);
/// A conversion; conversionNeedsF32Denormals() says which.
inline constexpr Effects F32Converted = Effects::flag(18);
/// An addition to memory, which flushes in global memory only.
inline constexpr Effects F32Added = Effects::flag(19);
/// bf16 computed as f32; the f32 form gives the same in both modes.
inline constexpr Effects Bf16Widened = Effects::flag(20);
/// The same bits in both modes: a move, bit operations, or code that is written for both.
inline constexpr Effects AnyMode = Effects::flag(21);

// ---------- What NVIDIA's compiler makes of it, as far as fused products depend on that
// (Contraction.h). Measured on an H100.

/// With a guard it is branched around. So is what has an address.
inline constexpr Effects NvidiaBranches = Effects::flag(22);
/// It becomes several blocks, or does in forms that have a slow path.
inline constexpr Effects NvidiaSplits = Effects::flag(23);
inline constexpr Effects NvidiaSlowPath = Effects::flag(24);

} // namespace effects

Effects effectsOf(Operation op);

/// Who certainly reads the same in a special register: the last column of SpecialRegisters.def.
enum class SharedBy : uint8_t { Thread, Warp, Cta };
enum class SpecialRegister : uint8_t; // SpecialRegisters.h
SharedBy sharedBy(SpecialRegister special);

} // namespace rubia::ptx
