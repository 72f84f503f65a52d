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
  /// u32 for each wave (of clusters too: two warps of a packed one): lanes that have not ended.
  static constexpr uint32_t kLanes = 16;
  static constexpr uint32_t kLanesEnd = kLanes + 4 * BarrierWords::kMaxWaves;
  // The others are of code for clusters.
  static constexpr uint32_t kCluster = kLanesEnd;      // u64: where the cluster's first slot starts
  static constexpr uint32_t kBarrier = kCluster + 8;   // u64: address of abi::ClusterBarrier
  static constexpr uint32_t kCtaId = kBarrier + 8;     // 3 u32: %ctaid
  static constexpr uint32_t kRank = kCtaId + 12;       // u32: %cluster_ctarank
  static constexpr uint32_t kArrivedLanes = kRank + 4; // u64 for each wave: that did so
  /// u32 for each wave: the phase of barrier.cluster after the one that it has arrived in last.
  static constexpr uint32_t kNextPhase = kArrivedLanes + 8 * BarrierWords::kMaxWaves;
  static constexpr uint32_t bytes(bool isForClusters) {
    return isForClusters ? kNextPhase + 4 * BarrierWords::kMaxWaves : kLanesEnd;
  }
};

/// Builds the kernel's start: all of its threads pass here. Returns where the slot starts, a
/// pointer to global memory, the same in all threads.
llvm::Value *takeSharedSlot(UnitLowering &unit, const ptx::Function &kernel,
                            llvm::IRBuilder<> &builder);

/// The same for a function, in its prologue.
llvm::Value *loadSharedSlot(UnitLowering &unit, llvm::IRBuilder<> &builder);

/// What FunctionLowering::sharedAddress() counts from: the slot, or the first one of the cluster.
llvm::Value *loadSharedBase(UnitLowering &unit, llvm::IRBuilder<> &builder);

/// A pointer to what FunctionLowering::sharedAddress() gives, wherever shared memory lies: in
/// functions that Rubia makes itself. Elsewhere FunctionLowering::toPointer.
llvm::Value *sharedPointer(UnitLowering &unit, llvm::IRBuilder<> &builder, llvm::Value *address);

/// Builds what threads do before they end: any of the wave, at any time. The last thread of the CTA
/// gives back the slot. `wave`: LaunchState::waveIndex().
void leaveSharedSlot(UnitLowering &unit, llvm::IRBuilder<> &builder, llvm::Value *wave);

/// The same where all of a wave ends, with lanes that are not active.
void loseWave(UnitLowering &unit, llvm::IRBuilder<> &builder, llvm::Value *wave);

} // namespace rubia::lowering
