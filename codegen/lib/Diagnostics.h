// SPDX-License-Identifier: Apache-2.0
// Turns the diagnostics that LLVM sends to the context into one llvm::Error.
#pragma once

#include "codegen/Codegen.h"
#include "llvm/Support/Error.h"
#include <memory>
#include <string>

namespace llvm {
class DiagnosticHandler;
class LLVMContext;
} // namespace llvm

namespace rubia::codegen {

/// While it lives, errors that LLVM reports to the context are collected; without it LLVM prints
/// them and exits.
class DiagnosticCollector {
public:
  explicit DiagnosticCollector(llvm::LLVMContext &context);
  ~DiagnosticCollector();
  DiagnosticCollector(const DiagnosticCollector &) = delete;

  /// What was reported so far, success if nothing was; the collection is empty afterwards.
  llvm::Error take();

  /// The first function named, and all messages, one a line. The handler fills it.
  struct Record {
    std::string function;
    std::string text;
    unsigned count = 0;
    Fault fault = Fault::Unsupported;
  };

private:
  llvm::LLVMContext &context;
  std::unique_ptr<llvm::DiagnosticHandler> previous;
  Record record;
};

} // namespace rubia::codegen
