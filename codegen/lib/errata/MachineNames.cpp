// SPDX-License-Identifier: Apache-2.0
#include "codegen/lib/errata/MachineNames.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/CodeGen/TargetInstrInfo.h"
#include "llvm/CodeGen/TargetOpcodes.h"
#include "llvm/CodeGen/TargetRegisterInfo.h"
#include "llvm/Support/ErrorHandling.h"
#include <mutex>
#include <optional>

using namespace llvm;

namespace rubia::codegen {
namespace {

/// TableGen sorts a target's instructions by name, those that are pseudo first: twenty comparisons
/// find one of 25,000. Generic opcodes have an order of their own; few of them are asked for.
std::optional<unsigned> search(const TargetInstrInfo &instructions, StringRef name) {
  const unsigned ownFirst = TargetOpcode::GENERIC_OP_END + 1;
  const auto named = [&](unsigned opcode) { return instructions.getName(opcode) == name; };
  const auto own = seq(ownFirst, instructions.getNumOpcodes());
  const auto realFirst =
      partition_point(own, [&](unsigned opcode) { return instructions.get(opcode).isPseudo(); });
  for (const auto &part : {make_range(own.begin(), realFirst), make_range(realFirst, own.end())}) {
    const auto at =
        partition_point(part, [&](unsigned opcode) { return instructions.getName(opcode) < name; });
    if (at != part.end() && named(*at))
      return *at;
  }
  const auto generic = seq(0u, ownFirst);
  if (const auto at = find_if(generic, named); at != generic.end())
    return *at;
  return std::nullopt;
}

} // namespace

unsigned findOpcode(const TargetInstrInfo &instructions, StringRef name) {
  // Passes ask for the same few names again for each function: a tenth of a small kernel's time.
  static std::mutex turn;
  static StringMap<unsigned> known;
  std::lock_guard lock(turn);
  const auto [place, isNew] = known.try_emplace(name);
  if (!isNew)
    return place->second;
  const std::optional<unsigned> opcode = search(instructions, name);
  if (!opcode)
    report_fatal_error("LLVM has no instruction " + Twine(name));
  return place->second = *opcode;
}

MCRegister findRegister(const TargetRegisterInfo &registers, StringRef name) {
  for (unsigned number = 1; number < registers.getNumRegs(); ++number)
    if (name == registers.getName(number))
      return MCRegister(number);
  report_fatal_error("LLVM has no register " + Twine(name));
}

} // namespace rubia::codegen
