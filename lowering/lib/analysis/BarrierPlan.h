// SPDX-License-Identifier: Apache-2.0
// How each barrier instruction of a unit is brought about.
//
// AMD has one barrier a workgroup, which every wave that has not ended must reach. A PTX barrier
// for all threads of the CTA becomes it, whatever its number: no thread can wait at two of them, so
// a program that does not deadlock passes them in one order. Barriers for some of the threads are
// counted in LDS (Barriers.cpp). Which of the two it is must be the same for all instructions that
// meet at a barrier; the number of threads, on which they have to agree, decides. No number never
// meets a number, not even that of the CTA: an H100 reports an illegal instruction.
// PTX ISA: parallel-synchronization-and-communication-instructions-bar.
#pragma once

#include "lowering/Lowering.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>
#include <string>

namespace rubia::lowering {

enum class BarrierForm : uint8_t {
  Hardware, // s_barrier
  BySize,   // s_barrier if the number of threads is that of the CTA, which only the launch tells;
            /// else counted
  Counted,  // in LDS
};

struct BarrierUse {
  const ptx::Function *function;
  const ptx::Instruction *instruction;
  BarrierForm form;
  std::optional<uint64_t> id;      // if it is constant; or kCluster, kWarpgroups
  std::optional<uint64_t> threads; // if it is constant; 0: all of the CTA
  const char *reason;              // why it is no plain s_barrier: "bar.arrive does not wait"
  /// Threads of a warp may come to it apart: it is not .aligned, and a branch that may divide them
  /// decides about it.
  bool mayDivide = false;
  /// Who comes to it late is noticed (Barriers.cpp): threads, as some barrier of its number may
  /// divide; in the checked form warps (WarpForm.h).
  bool noticesLate = false;
};

/// The words of LDS that barriers need, 8-byte aligned and zero when a kernel's own code starts.
/// docs/synchronization.md describes them.
struct BarrierWords {
  uint32_t states = 0;     // of 8 bytes, at the start: one for each barrier number that is counted
  bool reductions = false; // then kReductionWords of 4 bytes for bar.red as s_barrier
  uint32_t missed = 0;     // of 4 bytes, one for each wave: who has missed a barrier
  static constexpr uint32_t kMaxWaves = 32;
  static constexpr uint32_t kReductionWords = 3 + kMaxWaves;

  uint32_t reductionOffset() const { return states * 8; }
  uint32_t missedOffset() const { return states * 8 + (reductions ? kReductionWords * 4 : 0); }
  uint32_t sizeInBytes() const { return missedOffset() + missed * 4; }
};

struct BarrierPlan {
  static constexpr uint32_t kNumbers = 16; // of the barriers of a CTA
  static constexpr uint32_t kMaxWarpgroups = 8;
  /// The barrier of a cluster, and those of warpgroups, which have the numbers from kNumbers on.
  static constexpr uint32_t kCluster = 16, kWarpgroups = 17;

  llvm::SmallVector<BarrierUse, 0> uses; // in the order of the unit
  llvm::DenseMap<const ptx::Instruction *, unsigned> indexes;
  BarrierWords words;

  const BarrierUse &of(const ptx::Instruction &instruction) const {
    return uses[indexes.lookup(&instruction)];
  }
  /// Whether every barrier is s_barrier in a CTA of this many threads.
  bool isHardware(uint64_t ctaThreads) const;
  /// A use that is counted in LDS in a CTA of any size; null if there is none.
  const BarrierUse *alwaysCounted() const;
};

BarrierPlan planBarriers(const Unit &unit, bool isChecked = false);

} // namespace rubia::lowering
