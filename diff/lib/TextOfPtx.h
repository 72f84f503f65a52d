// SPDX-License-Identifier: Apache-2.0
// PTX that is changed as text, at the places that the parser gives.
#pragma once

#include "ptx-frontend/Module.h"
#include "llvm/Support/Error.h"
#include <string>

namespace rubia::capsule {

class PtxEditor {
public:
  /// An error: there is no such kernel, or its text cannot be changed. Keeps `text` by reference.
  static llvm::Expected<PtxEditor> open(llvm::StringRef text, llvm::StringRef kernel);
  PtxEditor(PtxEditor &&) = default;

  const ptx::Module &module() const { return *parsed; }
  /// The kernel, and all that it may call.
  llvm::ArrayRef<const ptx::Function *> functions() const { return reached; }

  /// Behind the directives that every module begins with.
  void declare(llvm::StringRef declaration);
  /// Where a function's body begins, in front of all that is in it.
  void atEntry(const ptx::Function &function, llvm::StringRef code);
  /// In front of its first instruction, once.
  void atFirst(const ptx::Function &function, llvm::StringRef code);
  /// In front of an instruction. Instructions come in the order of the text.
  void before(const ptx::Instruction &instruction, llvm::StringRef code);
  /// Behind the one that before() was called for.
  void behind(const ptx::Instruction &instruction, llvm::StringRef code);
  /// In the place of one.
  void replace(const ptx::Instruction &instruction, llvm::StringRef code);
  std::string finish();

  uint32_t lineOf(const ptx::Instruction &instruction) const;
  /// From its guard to its semicolon.
  llvm::StringRef statement(const ptx::Instruction &instruction) const;

private:
  PtxEditor(llvm::StringRef text, std::shared_ptr<ptx::Module> parsed)
      : text(text), parsed(std::move(parsed)) {}
  void copyTo(size_t place);

  llvm::StringRef text;
  std::shared_ptr<ptx::Module> parsed;
  std::vector<const ptx::Function *> reached;
  std::string out;
  size_t done = 0;
};

/// "!%p1"; empty: there is none.
std::string guardOf(const ptx::Function &function, const ptx::Instruction &instruction);
/// The first operand that is an address; null: none is.
const ptx::Operand *addressIn(const ptx::Instruction &instruction);
/// The code for it, into a register of 64 bits. Addresses in shared memory are offsets there.
void takeAddress(llvm::raw_ostream &os, llvm::StringRef into, const ptx::Function &function,
                 const ptx::Operand &address);
/// Code for a number of three parts: "%ctaid" in "%nctaid" into %rubia_r`result`; the register
/// behind it is used too.
void takeNumber(llvm::raw_ostream &os, llvm::StringRef what, llvm::StringRef in, unsigned result);
/// "file.cu:12" of an instruction; empty: the PTX does not say.
std::string sourceOf(const ptx::Module &module, const ptx::Instruction &instruction);

/// The text for a device of this compute capability (90 for 9.0); empty: it is for no higher one.
std::string withTarget(llvm::StringRef text, unsigned capability);

} // namespace rubia::capsule
