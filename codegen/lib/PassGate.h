// SPDX-License-Identifier: Apache-2.0
// Numbers the passes of LLVM that a compilation can do without, and leaves out those behind a
// limit: the first pass without which a difference goes away can be searched for (docs/diff.md).
#pragma once

#include "codegen/Codegen.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/OptBisect.h"

namespace rubia::codegen {

/// For the context while it lives, if the options ask for anything of it.
class PassGate : public llvm::OptPassGate {
public:
  PassGate(llvm::LLVMContext &context, const Options &options);
  ~PassGate() override;
  PassGate(const PassGate &) = delete;

  static bool isWanted(const Options &options) { return options.passLimit || options.onPass; }
  bool isEnabled() const override { return isWanted(options); }
  bool shouldRunPass(llvm::StringRef pass, llvm::StringRef on) const override;

private:
  llvm::LLVMContext &context;
  llvm::OptPassGate &previous;
  const Options &options;
  mutable unsigned count = 0; // LLVM asks a gate that is const
};

} // namespace rubia::codegen
