// SPDX-License-Identifier: Apache-2.0
// The sampler's functions are some 15,000 LLVM instructions each, and code generation keeps their
// machine code (codegen/lib/speed/KeptFunctions.h). So a unit gets such a body when it is asked
// for.
#pragma once

#include "lowering/Lowering.h"

namespace llvm {
class Function;
} // namespace llvm

namespace rubia::lowering {

class UnitLowering;

/// The bodies that lower() left out of a module. The module's context outlives it.
class LaterBodies {
public:
  LaterBodies();
  ~LaterBodies();

  /// Lowers the body of a function that has the attribute "rubia-body-later", and takes that away.
  llvm::Error give(llvm::Function &function);

private:
  friend llvm::Expected<std::unique_ptr<llvm::Module>>
  lower(const ptx::Module &module, const Unit &unit, const Options &options,
        llvm::LLVMContext &context, LaterBodies &later);
  Options options; // those of the unit
  std::unique_ptr<UnitLowering> library;
};

/// lower() without these bodies. In their place stands one that nobody may execute.
llvm::Expected<std::unique_ptr<llvm::Module>> lower(const ptx::Module &module, const Unit &unit,
                                                    const Options &options,
                                                    llvm::LLVMContext &context, LaterBodies &later);

/// How many bodies of the sampler this process has lowered.
unsigned samplerBodyCount();

} // namespace rubia::lowering
