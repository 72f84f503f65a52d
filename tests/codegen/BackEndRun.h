// SPDX-License-Identifier: Apache-2.0
// LLVM's back end alone, with passes put between or in the place of its own.
#pragma once

#include "codegen/lib/Translate.h"
#include "tests/codegen/ModuleFromText.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"

namespace rubia::codegen::test {

/// Runs the back end on IR text. The passes are a manager whose add() sees each of LLVM's. Fails
/// the test if there is an error.
inline void runBackEnd(llvm::StringRef processor, llvm::StringRef text,
                       llvm::legacy::PassManager &passes) {
  ModuleSource source;
  std::unique_ptr<llvm::Module> module = source.parse(text);
  llvm::Expected<TargetId> target = parseTargetId(processor);
  ASSERT_TRUE(module && target);
  llvm::Expected<llvm::TargetMachine *> machine = targetMachine(*target, 3);
  ASSERT_TRUE(bool(machine)) << llvm::toString(machine.takeError());
  module->setDataLayout((*machine)->createDataLayout());
  llvm::SmallString<0> object;
  llvm::raw_svector_ostream os(object);
  ASSERT_FALSE(
      (*machine)->addPassesToEmitFile(passes, os, nullptr, llvm::CodeGenFileType::ObjectFile));
  passes.run(*module);
}

} // namespace rubia::codegen::test
