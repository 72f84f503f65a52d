// SPDX-License-Identifier: Apache-2.0
// Which instructions write a PTX register: enough to follow values backwards. Compilers write most
// registers once; of the others nothing is said about which of its values an instruction reads.
#pragma once

#include "ptx-frontend/Module.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>
#include <vector>

namespace rubia::lowering {

class Definitions {
public:
  explicit Definitions(const ptx::Function &function);

  /// Indexes into the body, ascending.
  llvm::ArrayRef<uint32_t> of(ptx::RegisterId reg) const { return instructions[reg]; }

  /// The value of an operand that is an integer constant, or a register that only ever gets one by
  /// `mov`: the way in which nvcc passes constants to inline assembly.
  std::optional<uint64_t> constant(const ptx::Operand &operand) const;

private:
  const ptx::Function &function;
  std::vector<llvm::SmallVector<uint32_t, 1>> instructions; // by register
};

/// Calls visit(register) for every register that the operand names, in brackets, vectors and lists
/// too.
template <typename Visit> void forEachRegister(const ptx::Operand &operand, Visit visit) {
  if (operand.reg != ptx::kNone)
    visit(operand.reg);
  for (const ptx::Operand &element : operand.elements())
    forEachRegister(element, visit);
}

/// Whether the first operand of an instruction is written.
bool writesFirstOperand(const ptx::Instruction &instruction);

/// The function that a name stands for: itself, or what .alias says.
inline const ptx::Function &definitionOf(const ptx::Function &function) {
  return function.aliasOf ? *function.aliasOf : function;
}

} // namespace rubia::lowering
