// SPDX-License-Identifier: Apache-2.0
// All of LLVM that codegen/ uses and that stands in no installed header. LLVM's static archives
// export it. When LLVM changes: these declarations, ExistingPhis.cpp, and the number of an operand
// name, which errata/HalfResults.cpp compares with LLVM before it uses it.
#pragma once

#include <cstdint>

namespace llvm::AMDGPU {
enum class OpName : uint8_t {};
int16_t getNamedOperandIdx(uint16_t opcode, OpName name);
} // namespace llvm::AMDGPU
