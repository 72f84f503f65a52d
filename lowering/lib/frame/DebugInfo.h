// SPDX-License-Identifier: Apache-2.0
// Line tables: every machine instruction knows the line of the CUDA source (where the PTX has .loc)
// or of the PTX itself, so that a fault can always be named. For a debugger, registers too.
#pragma once

#include "ptx-frontend/Module.h"
#include "settings/Code.h"
#include "llvm/IR/DIBuilder.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/Instructions.h"
#include <map>

namespace rubia::settings::DebugInfoMode {
extern const Word Lines;
} // namespace rubia::settings::DebugInfoMode

namespace rubia::lowering {

class DebugInfo {
public:
  DebugInfo(const ptx::Module &ptxModule, llvm::Module &module, settings::Word mode);

  llvm::DISubprogram *addFunction(const ptx::Function &function, llvm::Function &llvmFunction);
  llvm::DILocation *locationOf(const ptx::Instruction &instruction, llvm::DISubprogram *subprogram);
  /// Says that `slot` is a register of the function, if registers have names.
  void addRegister(const ptx::Function &function, ptx::RegisterId reg, uint8_t component,
                   llvm::AllocaInst *slot, llvm::DISubprogram *subprogram);
  void finalize();

  /// 1-based line of a byte offset in the text.
  uint32_t lineOf(uint32_t place) const;

private:
  bool namesRegisters() const { return mode != settings::DebugInfoMode::Lines; }
  /// Whether an instruction has a line of the CUDA source that is to be used.
  bool hasSourceLine(const ptx::Instruction &instruction) const;
  llvm::DIType *typeOf(ptx::Type type);
  llvm::DIFile *file(uint32_t number);
  llvm::DILocation *location(uint32_t sourceLine, llvm::DISubprogram *subprogram, unsigned depth);
  llvm::DISubprogram *inlinedFunction(const ptx::SourceLine &line, llvm::DIFile *file);
  void readNames();
  std::string nameAt(llvm::StringRef label, uint32_t offset);

  const ptx::Module &ptxModule;
  const settings::Word mode;
  llvm::DIBuilder builder;
  llvm::DIFile *ptxFile;
  llvm::DICompileUnit *compileUnit;
  llvm::DISubroutineType *subroutineType;
  std::map<uint32_t, llvm::DIFile *> files;
  std::map<ptx::Type, llvm::DIType *> types;
  std::map<std::pair<std::string, llvm::DIFile *>, llvm::DISubprogram *> inlined;
  std::map<std::pair<uint32_t, llvm::DISubprogram *>, llvm::DILocation *> locations;
  /// .debug_str, where the names of inlined functions are; read when the first is asked for.
  bool hasStrings = false;
  std::string strings;
  std::map<llvm::StringRef, size_t> labels;
};

} // namespace rubia::lowering
