// SPDX-License-Identifier: Apache-2.0
#include "emulator/lib/decode/Disassembly.h"
#include "emulator/lib/scalar/ControlFlow.h"
#include "llvm/ADT/SmallVector.h"

using namespace llvm;

namespace rubia::emulator {

std::optional<DisassembledInstruction> disassembleAt(const Program &program, uint64_t pc) {
  if (pc >= program.image.size())
    return std::nullopt;
  DisassembledInstruction found;
  if (!program.target->disassemble(found.inst, program.image.drop_front(pc), pc))
    return std::nullopt;
  found.text = program.target->print(found.inst, pc);
  return found;
}

bool continuesInstruction(const Program &program, size_t index) {
  if (index == 0)
    return false;
  const MicroOp &op = program.operations[index], &before = program.operations[index - 1];
  // The operation behind the end of a function has the pc of what follows.
  return op.pc == before.pc && before.handler != illegalInstruction;
}

std::string mnemonics(StringRef printed) {
  std::string names;
  SmallVector<StringRef> halves;
  printed.split(halves, "::");
  for (StringRef half : halves) {
    StringRef name = half.trim().take_until([](char c) { return c == ' ' || c == '\t'; });
    for (StringRef encoding : {"_dpp", "_sdwa", "_e32", "_e64"})
      name.consume_back(encoding);
    names += (names.empty() ? "" : " :: ") + name.str();
  }
  return names;
}

} // namespace rubia::emulator
