// SPDX-License-Identifier: Apache-2.0
// What the checks of machine code find, and the error that they make of it.
#pragma once

#include "codegen/lib/check/FunctionCode.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace rubia::codegen {

struct Violation {
  uint64_t address;
  std::string text;
};

/// Collects the violations of a program's functions.
class Violations {
public:
  /// `subject`: what each line begins with, as in "EXEC of 'k' at 0x40: ...".
  explicit Violations(llvm::StringRef subject) : subject(subject) {}

  void add(const FunctionCode &function, llvm::ArrayRef<Violation> found);
  /// A CodegenError that names the first function and has the first lines; success if there is
  /// none.
  llvm::Error take() const;

private:
  llvm::StringRef subject;
  std::string text, firstFunction;
  size_t count = 0;
};

/// A check of a program, for those who have its code object.
llvm::Error checkDecoded(llvm::ArrayRef<uint8_t> codeObject,
                         llvm::function_ref<llvm::Error(const DecodedProgram &program)> check);

} // namespace rubia::codegen
