// SPDX-License-Identifier: Apache-2.0
// Sinking compares each load of a block with all writes behind it. Of one block of 64,000
// instructions, a fifth loads and a tenth stores, that is 60 % of the time. It does so even where
// nothing can be moved, as in a function of one block. A gate (errata/PassLimits.h) does not help:
// the pass asks none.
#include "codegen/lib/speed/LimitedSinking.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/LegacyPassManagers.h"
#include <memory>

using namespace llvm;

namespace rubia::codegen {
namespace {

constexpr uint64_t kMostComparisons = 250'000; // some 10 ms

uint64_t comparisons(const Function &function) {
  uint64_t count = 0;
  for (const BasicBlock &block : function) {
    uint64_t writes = 0;
    for (const Instruction &inst : reverse(block)) {
      if (inst.mayWriteToMemory())
        ++writes;
      else if (inst.mayReadFromMemory())
        count += writes;
    }
  }
  return count;
}

class LimitedSinking : public FunctionPass {
public:
  static char ID;
  explicit LimitedSinking(FunctionPass *pass) : FunctionPass(ID), pass(pass) {}

  StringRef getPassName() const override { return "Rubia Limited Sinking"; }
  void getAnalysisUsage(AnalysisUsage &usage) const override { pass->getAnalysisUsage(usage); }

  bool runOnFunction(Function &function) override {
    if (comparisons(function) > kMostComparisons)
      return false;
    PMDataManager &manager = getResolver()->getPMDataManager();
    if (!pass->getResolver())
      pass->setResolver(new AnalysisResolver(manager)); // the pass owns it
    pass->getResolver()->clearAnalysisImpls();
    manager.initializeAnalysisImpl(pass.get());
    return pass->runOnFunction(function);
  }

private:
  std::unique_ptr<FunctionPass> pass;
};

char LimitedSinking::ID = 0;

} // namespace

Pass *makeLimitedSinking(Pass *pass) {
  return new LimitedSinking(static_cast<FunctionPass *>(pass));
}

} // namespace rubia::codegen
