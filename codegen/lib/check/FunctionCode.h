// SPDX-License-Identifier: Apache-2.0
// The machine code of a linked code object, function by function.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"
#include <optional>
#include <string>
#include <vector>

namespace rubia::codegen {

struct FunctionCode {
  std::string name;
  uint64_t address = 0; ///< virtual address in the code object
  llvm::ArrayRef<uint8_t> bytes;
  std::optional<uint32_t>
      computePgmRsrc1; ///< of the kernel descriptor; a function that is no kernel has none
};

struct ProgramCode {
  std::string processor;
  bool isWave64 = false; ///< of the kernels; RDNA has both
  std::vector<FunctionCode>
      functions; ///< by address; code without a symbol is a function of its own
};

/// The bytes stay those of the code object.
llvm::Expected<ProgramCode> readProgramCode(llvm::ArrayRef<uint8_t> codeObject);

} // namespace rubia::codegen
