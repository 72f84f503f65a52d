// SPDX-License-Identifier: Apache-2.0
// Code and IR of litmus tests with one thing less that keeps order: a wait, a cache operation, a
// scope bit; a fence, an ordering, a scope.
#pragma once

#include "emulator/lib/decode/InstructionStep.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace llvm {
class Module;
}

namespace rubia::litmus {

/// Bytes of a code object to overwrite.
struct CodeMutant {
  std::string kernel;
  std::string kind; // "without s_waitcnt vmcnt", "global_load_dword without glc"
  uint64_t offset = 0;
  std::vector<uint8_t> bytes;
  uint32_t pc = 0;                               // of the instruction
  std::optional<emulator::InstructionStep> step; // that it is now; none: it does nothing
};
/// All mutants of the kernels of a code object for `arch`.
llvm::Expected<std::vector<CodeMutant>> codeMutants(llvm::ArrayRef<uint8_t> code,
                                                    const std::string &arch);

/// Applies mutation `index` to the kernel's IR; empty, and nothing changes, if there are not so
/// many. Gives its kind.
std::string mutateModule(llvm::Module &module, const std::string &kernel, unsigned index);

} // namespace rubia::litmus
