// SPDX-License-Identifier: Apache-2.0
// One pass alone, on machine code that is written down.
#pragma once

#include "codegen/lib/Translate.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/CodeGen/MIRParser/MIRParser.h"
#include "llvm/CodeGen/MachineModuleInfo.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/InitializePasses.h"
#include "llvm/PassRegistry.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Target/TargetMachine.h"
#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace rubia::codegen::test {

/// Runs a pass on the text of a module (MIR) and shows what has become of its function `k`. Takes
/// the pass. What the pass reports is added to `errors`; without them, and where the text is none,
/// the test fails.
inline void runOnMachineText(llvm::StringRef processor, llvm::StringRef text, llvm::Pass *pass,
                             llvm::function_ref<void(const llvm::MachineFunction &)> show,
                             std::vector<std::string> *errors = nullptr) {
  std::unique_ptr<llvm::Pass> own(pass);
  llvm::Expected<TargetId> target = parseTargetId(processor);
  ASSERT_TRUE(bool(target));
  llvm::Expected<llvm::TargetMachine *> machine = targetMachine(*target, 0);
  ASSERT_TRUE(bool(machine));
  initializeCodeGen(*llvm::PassRegistry::getPassRegistry());
  llvm::LLVMContext context;
  std::unique_ptr<llvm::MIRParser> parser =
      createMIRParser(llvm::MemoryBuffer::getMemBufferCopy(text, "test"), context);
  std::unique_ptr<llvm::Module> module = parser->parseIRModule();
  ASSERT_TRUE(module);
  module->setDataLayout((*machine)->createDataLayout());
  auto *info = new llvm::MachineModuleInfoWrapperPass(*machine);
  llvm::legacy::PassManager passes;
  passes.add(info);
  ASSERT_FALSE(parser->parseMachineFunctions(*module, info->getMMI()));
  passes.add(own.release());
  context.setDiagnosticHandlerCallBack(
      [](const llvm::DiagnosticInfo *error, void *errors) {
        std::string text;
        llvm::raw_string_ostream stream(text);
        llvm::DiagnosticPrinterRawOStream printer(stream);
        error->print(printer);
        if (errors)
          static_cast<std::vector<std::string> *>(errors)->push_back(text);
        else
          ADD_FAILURE() << text;
      },
      errors);
  passes.run(*module);
  show(*info->getMMI().getMachineFunction(*module->getFunction("k")));
}

} // namespace rubia::codegen::test
