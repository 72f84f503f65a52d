// SPDX-License-Identifier: Apache-2.0
// What a thread knows about its launch: the values behind %tid, %ntid and their kin, from the
// hardware's ids and the launch arguments (docs/architecture.md), in every warp form.
#pragma once

#include "lowering/Abi.h"
#include "lowering/lib/frame/UnitLowering.h"
#include "ptx-frontend/Module.h"
#include "llvm/IR/IRBuilder.h"

namespace rubia::lowering {

/// Values are built where the builder stands when they are first asked for, and kept.
class LaunchState {
public:
  /// `function` is null in a body that Rubia makes itself.
  LaunchState(UnitLowering &unit, const ptx::Function *function, llvm::IRBuilder<> &builder)
      : unit(unit), function(function), builder(builder) {}

  llvm::Value *threadIndex(unsigned dimension);    // %tid
  llvm::Value *ctaSize(unsigned dimension);        // %ntid
  llvm::Value *ctaIndex(unsigned dimension);       // %ctaid
  llvm::Value *workgroupIndex(unsigned dimension); // the same, but for clusters of several CTAs
  llvm::Value *gridSize(unsigned dimension);       // %nctaid
  llvm::Value *clusterSize(unsigned dimension);    // %cluster_nctaid
  llvm::Value *clusterCtas();                      // %cluster_nctarank
  llvm::Value *indexInCluster(unsigned dimension); // %cluster_ctaid
  llvm::Value *clusterIndex(unsigned dimension);   // %clusterid
  llvm::Value *clustersInGrid(unsigned dimension); // %nclusterid
  llvm::Value *laneIndex();                        // %laneid
  llvm::Value *laneInWave();                       // another one only in the packed form
  llvm::Value *isUpperWarp(); // packed form: whether the thread is in the wave's lanes 32 to 63
  llvm::Value *linearThreadIndex();                    // x fastest
  llvm::Value *threadCount();                          // of the CTA
  llvm::Value *argument(size_t offset, unsigned bits); // a field of abi::LaunchArguments
  /// Where the kernel's parameters start (i64), and their size (i64).
  std::pair<llvm::Value *, llvm::Value *> parameters();
  /// Half-filled form: whether the lane is one of the CTA's threads at all.
  llvm::Value *isThread();
  llvm::Value *waveIndex();     // in the workgroup
  llvm::Value *isFirstThread(); // of the workgroup

private:
  llvm::Value *start(); // of the launch arguments
  llvm::Value *id(llvm::Intrinsic::ID intrinsic);
  llvm::Value *nonZero(llvm::Value *value);

  UnitLowering &unit;
  const ptx::Function *function;
  llvm::IRBuilder<> &builder;
  llvm::Value *arguments = nullptr;
  llvm::Value *lane = nullptr, *waveLane = nullptr, *upper = nullptr;
  llvm::Value *linear = nullptr, *wave = nullptr;
  llvm::DenseMap<unsigned, llvm::Value *> fields, ids, threadIndexes, ctaIndexes;
};

/// Claims the trap record if nobody has, says why and where, and ends the wave.
void emitTrap(llvm::IRBuilder<> &builder, UnitLowering &unit, abi::TrapReason reason,
              unsigned place);
/// The same of a place (i32) that the way there tells.
void emitTrapOf(llvm::IRBuilder<> &builder, UnitLowering &unit, abi::TrapReason reason,
                llvm::Value *place);
/// The same of a reason too, which is no failed assertion.
void emitTrapOf(llvm::IRBuilder<> &builder, UnitLowering &unit, llvm::Value *reason,
                llvm::Value *place);
/// The same for what ends all waves, but as something that LLVM believes to return. It keeps its
/// place among what others of the wave do. LLVM executes other ends of a kernel last, behind the
/// loops in which others may wait for who comes there.
void emitTrapInPlace(llvm::IRBuilder<> &builder, UnitLowering &unit, llvm::Value *reason,
                     llvm::Value *place);

} // namespace rubia::lowering
