// SPDX-License-Identifier: Apache-2.0
// Shared memory in device memory, for launches that ask for more than LDS has: a CTA takes a slot
// of abi::SharedPool when it starts and gives it back when its last wave ends.
//
// There are as many slots as such CTAs can run at once, since each asks for a part of LDS that
// nobody uses (abi::kSharedPoolLdsBytes). So a CTA that starts finds one. Should it not (a queue
// may be taken off the device with its CTAs half done), it waits, and holds nothing that others
// wait for.
#pragma once

#include "lowering/lib/frame/UnitLowering.h"

namespace rubia::lowering {

/// The words of LDS that a CTA keeps of its slot. 8-byte aligned.
struct SlotWords {
  static constexpr uint32_t kStart = 0;  // u64: where it starts
  static constexpr uint32_t kNumber = 8; // u32: of the slot
  static constexpr uint32_t kWaves = 12; // u32: how many have not ended
  static constexpr uint32_t kLanes = 16; // u32 for each wave: lanes that have not ended
  static constexpr uint32_t kBytes = kLanes + 4 * BarrierWords::kMaxWaves;
};

/// Builds the kernel's start: all of its threads pass here. Returns where the slot starts, a
/// pointer to global memory, the same in all threads.
llvm::Value *takeSharedSlot(UnitLowering &unit, const ptx::Function &kernel,
                            llvm::IRBuilder<> &builder);

/// The same for a function, in its prologue.
llvm::Value *loadSharedSlot(UnitLowering &unit, llvm::IRBuilder<> &builder);

/// A pointer to a 32-bit .shared address, wherever shared memory lies: in functions that Rubia
/// makes itself. Elsewhere FunctionLowering::toPointer.
llvm::Value *sharedPointer(UnitLowering &unit, llvm::IRBuilder<> &builder, llvm::Value *address);

/// Builds what threads do before they end: any of the wave, at any time. The last thread of the CTA
/// gives back the slot. `wave`: LaunchState::waveIndex().
void leaveSharedSlot(UnitLowering &unit, llvm::IRBuilder<> &builder, llvm::Value *wave);

/// The same where all of a wave ends, with lanes that are not active.
void loseWave(UnitLowering &unit, llvm::IRBuilder<> &builder, llvm::Value *wave);

} // namespace rubia::lowering
