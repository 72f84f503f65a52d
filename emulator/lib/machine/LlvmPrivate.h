// SPDX-License-Identifier: Apache-2.0
// All of LLVM that emulator/ uses and that stands in no installed header. LLVM's static archives
// export it. When LLVM changes: these declarations, and the numbers of operand names,
// which Target.cpp compares with LLVM before it uses them.
#pragma once

#include <cstdint>
#include <utility>

namespace llvm::AMDGPU {
enum class OpName : uint8_t {};
int16_t getNamedOperandIdx(uint16_t opcode, OpName name);
int64_t getMCOpcode(uint16_t opcode, unsigned generation);
std::pair<unsigned, unsigned> getVOPDComponents(unsigned opcode);
} // namespace llvm::AMDGPU
