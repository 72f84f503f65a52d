// SPDX-License-Identifier: Apache-2.0
// Clusters of several CTAs: their CTAs run at the same time and reach each other's shared memory.
// PTX ISA: thread-hierarchy-cluster. AMD GPUs have no such thing, so that it is made of device
// memory: shared memory lies in slots (SharedSlot.h), those of a cluster one after the other.
//
// Which CTA a workgroup is follows from the order in which workgroups begin, not from their number:
// the first to begin are the first cluster. So at most one cluster waits for workgroups that have
// not begun. It holds slots, and places of its CTAs on the device; all others that wait for either
// have ended or run, whatever the order in which hardware starts workgroups. Launches with
// clusters run one after the other on a device, and the device has room for one cluster
// (runtime/device/ClusterLaunches.h). So no CTA of a launch that has begun waits here for ever,
// unless the program makes clusters that run wait for later ones.
//
// An emulator may promise that workgroups begin cluster by cluster (abi::kWorkgroupsInOrder): then
// a workgroup is the CTA of the same indices, so that reports name it as CUDA does. Under its check
// `order` the emulator does not.
#pragma once

#include "lowering/lib/frame/UnitLowering.h"

namespace rubia::lowering {

/// Whether code of the unit depends on how many CTAs a cluster has.
bool namesClusters(const Unit &unit);
/// Whether the unit is written for clusters of several CTAs, so that launches will have them.
bool expectsClusters(const Unit &unit);

/// takeSharedSlot(), leaveSharedSlot() and loseWave() (SharedSlot.h) of units for clusters.
llvm::Value *takeClusterSlot(UnitLowering &unit, const ptx::Function &kernel,
                             llvm::IRBuilder<> &builder);
void leaveCluster(UnitLowering &unit, llvm::IRBuilder<> &builder, llvm::Value *wave);
void loseWaveOfCluster(UnitLowering &unit, llvm::IRBuilder<> &builder, llvm::Value *wave);

/// %ctaid, %cluster_ctarank: i32, the same in all threads of the CTA.
llvm::Value *loadCtaIndex(UnitLowering &unit, llvm::IRBuilder<> &builder, unsigned dimension);
llvm::Value *loadClusterRank(UnitLowering &unit, llvm::IRBuilder<> &builder);

/// The active lanes of the wave arrive at barrier.cluster, and their warps with them: on NVIDIA's
/// GPUs the threads of a warp that come later in the phase would be waited for, here they end the
/// kernel (`late`: TrapRecord::place).
void arriveAtCluster(UnitLowering &unit, llvm::IRBuilder<> &builder, llvm::Value *wave,
                     unsigned late);
/// Whether the phase that the lane has arrived in is over, an i1.
/// `lane`: LaunchState::laneInWave().
llvm::Value *isClusterPhaseOver(UnitLowering &unit, llvm::IRBuilder<> &builder, llvm::Value *wave,
                                llvm::Value *lane);

} // namespace rubia::lowering
