// Stretches of a PTX function: instructions that are always executed one after the other, and what
// registers hold for those behind.
//
// A stretch goes beyond a label that nothing else branches to, and beyond a branch to where it
// leads anyway. Within one, a register's value can be followed from its write to all of its uses.
#pragma once

#include "ptx-frontend/Module.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include <vector>

namespace rubia::lowering {

struct Stretches {
  // A stretch also ends behind an instruction for which `ends` is true.
  Stretches(const ptx::Function &function, llvm::function_ref<bool(const ptx::Instruction &)> ends);

  struct Stretch {
    std::vector<uint32_t> instructions; // indexes into the body, in order of execution
    llvm::SmallVector<uint32_t, 2> successors;
    llvm::BitVector liveAtEnd; // registers, by number in `shared`
  };
  std::vector<Stretch> stretches;
  // Instructions that do something: those with effects of their own, and those whose results are
  // read by others that do something.
  llvm::BitVector needed;

  bool isLiveAtEnd(const Stretch &stretch, ptx::RegisterId reg) const {
    return shared[reg] != ptx::kNone && stretch.liveAtEnd.test(shared[reg]);
  }

private:
  void connect(const ptx::Function &function,
               llvm::function_ref<bool(const ptx::Instruction &)> ends);
  void findShared(const ptx::Function &function);
  void findLive(const ptx::Function &function);

  std::vector<uint32_t>
      shared; // by register: its number among those of several stretches, or kNone
  unsigned sharedCount = 0;
};

// Calls written(register) and read(register) for what an instruction does to registers. A write
// that keeps some of the old value (under a guard, of a vector's component) is a read too.
void forEachAccess(const ptx::Instruction &instruction,
                   llvm::function_ref<void(ptx::RegisterId)> written,
                   llvm::function_ref<void(ptx::RegisterId)> read);

} // namespace rubia::lowering
