// SPDX-License-Identifier: Apache-2.0
// Which passes are too slow, wrong or not wanted for which functions.
#pragma once

#include "llvm/ADT/StringSet.h"
#include "llvm/IR/OptBisect.h"

namespace llvm {
class LLVMContext;
class Module;
} // namespace llvm

namespace rubia::codegen {

/// While it lives, the context's passes of the back end skip the functions that they would take
/// too long for or miscompile. LLVM asks a gate for each pass and function; the gate was made for
/// bisecting, and it is the only switch that needs no global option.
class PassLimits {
public:
  explicit PassLimits(llvm::Module &module);
  ~PassLimits();
  PassLimits(const PassLimits &) = delete;

private:
  class Gate : public llvm::OptPassGate {
  public:
    bool isEnabled() const override {
      return !withoutStrengthReduction.empty() || !withoutSdwaPeephole.empty() ||
             !withoutAtomicOptimizer.empty() || !withoutExecMasking.empty() ||
             !withoutPreparation.empty() || !withoutLiveRanges.empty() ||
             !withoutJoinedAccesses.empty();
    }
    bool shouldRunPass(llvm::StringRef pass, llvm::StringRef unit) const override;
    /// "function (name)", as LLVM describes them
    llvm::StringSet<> withoutStrengthReduction, withoutSdwaPeephole, withoutAtomicOptimizer,
        withoutExecMasking, withoutPreparation, withoutLiveRanges, withoutJoinedAccesses;
  };

  llvm::LLVMContext &context;
  llvm::OptPassGate &previous;
  Gate gate;
};

} // namespace rubia::codegen
