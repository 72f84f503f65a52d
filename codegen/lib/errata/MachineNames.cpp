// SPDX-License-Identifier: Apache-2.0
#include "codegen/lib/errata/MachineNames.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/CodeGen/TargetInstrInfo.h"
#include "llvm/CodeGen/TargetRegisterInfo.h"
#include "llvm/Support/ErrorHandling.h"
#include <mutex>

using namespace llvm;

namespace rubia::codegen {

unsigned findOpcode(const TargetInstrInfo &instructions, StringRef name) {
  // Passes ask for the same few names again for each function: a tenth of a small kernel's time.
  static std::mutex turn;
  static StringMap<unsigned> known;
  std::lock_guard lock(turn);
  const auto [place, isNew] = known.try_emplace(name);
  if (!isNew)
    return place->second;
  for (unsigned opcode = 0; opcode < instructions.getNumOpcodes(); ++opcode)
    if (instructions.getName(opcode) == name)
      return place->second = opcode;
  report_fatal_error("LLVM has no instruction " + Twine(name));
}

MCRegister findRegister(const TargetRegisterInfo &registers, StringRef name) {
  for (unsigned number = 1; number < registers.getNumRegs(); ++number)
    if (name == registers.getName(number))
      return MCRegister(number);
  report_fatal_error("LLVM has no register " + Twine(name));
}

} // namespace rubia::codegen
