// SPDX-License-Identifier: Apache-2.0
// Warps that a branch has divided between ways that are too long for one place at which their
// threads meet (analysis/WarpMeetings.h). A kernel ends if they come to an instruction there at
// which they would.
//
// The branch leaves in a slot whether it has divided the thread's warp. A bit that an earlier round
// of a loop has left may end a kernel that would be right.
#pragma once

#include "lowering/lib/analysis/WarpMeetings.h"

namespace llvm {
class AllocaInst;
} // namespace llvm

namespace rubia::lowering {

class FunctionLowering;

class DividedWarps {
public:
  DividedWarps(FunctionLowering &fn, const WarpMeetings &meetings);

  /// At the builder, which is in front of an instruction and its guard. Nothing for most.
  void lowerBefore(uint32_t index);

private:
  llvm::AllocaInst *slotOf(size_t branch) const { return slots[branch / 32]; }
  void note(const ptx::Instruction &branch, size_t number);
  void check(const ptx::Instruction &instruction, llvm::ArrayRef<size_t> branches);

  FunctionLowering &fn;
  llvm::ArrayRef<Meetings::LongWays> longWays;
  std::vector<llvm::AllocaInst *> slots; // a bit for each branch
  llvm::DenseMap<uint32_t, size_t> numberOf;
  llvm::DenseMap<uint32_t, llvm::SmallVector<size_t, 4>> branchesBefore;
};

} // namespace rubia::lowering
