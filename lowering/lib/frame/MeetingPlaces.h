// SPDX-License-Identifier: Apache-2.0
// Instructions at which the threads of several ways meet (analysis/WarpMeetings.h) are executed at
// one place.
//
// Each instruction leaves its operands in slots, goes to the place, and takes the results from
// there when it comes back. Lanes wait for each other where ways of a divided wave come together,
// so that all of them execute it at once.
#pragma once

#include "lowering/lib/analysis/WarpMeetings.h"
#include "llvm/IR/Instructions.h"

namespace rubia::lowering {

class FunctionLowering;

class MeetingPlaces {
public:
  MeetingPlaces(FunctionLowering &fn, const WarpMeetings &meetings);

  /// Lowers an instruction of a place, at the builder, and leaves the builder behind it. False: it
  /// is of none.
  bool lower(uint32_t index);

  /// Where the instructions of the places are executed.
  std::vector<llvm::BasicBlock *> blocks() const;

private:
  struct Place {
    llvm::ArrayRef<uint32_t> instructions;
    llvm::SmallVector<llvm::AllocaInst *, 4> sources; // null: the same constant for all
    llvm::SmallVector<llvm::AllocaInst *, 2> results;
    llvm::AllocaInst *from = nullptr; // the index of the instruction that a thread comes from
    llvm::BasicBlock *block = nullptr, *end = nullptr; // where it is executed
    llvm::SwitchInst *ways = nullptr;                  // back
  };
  void make(Place &place);
  void visit(Place &place, uint32_t index);
  ptx::Type resultType(size_t n) const; // of the current instruction

  FunctionLowering &fn;
  std::vector<Place> places;
  llvm::DenseMap<uint32_t, size_t> placeOf;
};

} // namespace rubia::lowering
