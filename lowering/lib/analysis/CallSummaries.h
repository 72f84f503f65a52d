// SPDX-License-Identifier: Apache-2.0
// What the functions of a unit do, in callees too, as far as it matters to whoever waits: whether
// they read what another warp may write, and what makes a plain load such a read.
#pragma once

#include "lowering/Lowering.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace rubia::lowering {

class CallSummaries {
public:
  /// `addressTaken`: functions that calls through an address may reach.
  CallSummaries(const Unit &unit, const llvm::DenseSet<const ptx::Function *> &addressTaken);

  llvm::ArrayRef<const ptx::Function *> functions() const { return all; }

  /// What an instruction reads itself or in a callee; null: nothing that another warp may write.
  const ptx::Instruction *readOf(const ptx::Function &function,
                                 const ptx::Instruction &instruction) const;
  /// The first of these in a function; null: it has none.
  const ptx::Instruction *firstReadOf(const ptx::Function &function) const {
    return firstRead.lookup(&function);
  }

  /// Whether it calls a function that may end its thread, that has what memory is read anew after,
  /// that has a plain load.
  bool mayExit(const ptx::Function &caller, const ptx::Instruction &call) const {
    return callsOne(caller, call, exiting);
  }
  bool readsAnewAfter(const ptx::Function &caller, const ptx::Instruction &call) const {
    return callsOne(caller, call, fencing);
  }
  bool mayLoad(const ptx::Function &caller, const ptx::Instruction &call) const {
    return callsOne(caller, call, loading);
  }

  bool isRecursive(const ptx::Function &function) const;

private:
  using Functions = llvm::DenseSet<const ptx::Function *>;
  void forEachCallee(const ptx::Function &caller, const ptx::Instruction &call,
                     llvm::function_ref<void(const ptx::Function &)> visit) const;
  bool callsOne(const ptx::Function &caller, const ptx::Instruction &instruction,
                const Functions &functions) const;
  bool summarize(const ptx::Function &function);

  const Functions &addressTaken;
  llvm::SmallVector<const ptx::Function *> all;
  llvm::DenseMap<const ptx::Function *, const ptx::Instruction *> firstRead;
  Functions exiting, fencing, loading;
};

} // namespace rubia::lowering
