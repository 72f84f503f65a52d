// SPDX-License-Identifier: Apache-2.0
// Every instruction that LLVM can encode for a processor, with stand-in operands.
//
// LLVM's opcode tables hold all generations. Whether a processor has an opcode is found by trying:
// it is encoded with the first register of every operand's class and zeros for immediates, and
// belongs to the processor if the disassembler gives the same opcode back.
#pragma once

#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <string>
#include <vector>

namespace rubia::emulator::test {

struct EncodableInstruction {
  std::string fullName; // LLVM's
  std::string name;     // the tables' key, empty if there is none
  std::string family;   // SOP1, VOP3P, DS, ...
  std::vector<uint8_t> bytes;
  std::string text;
};

/// All instructions of `cpu`. Fails the test if LLVM cannot be set up.
std::vector<EncodableInstruction> encodableInstructions(llvm::StringRef cpu, unsigned waveSize);

} // namespace rubia::emulator::test
