// SPDX-License-Identifier: Apache-2.0
#include "codegen/lib/speed/KeptRegisters.h"
#include "codegen/Codegen.h"
#include "codegen/lib/check/FunctionCode.h"
#include "codegen/lib/check/LaneMasks.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"
#include "llvm/IR/Function.h"
#include "llvm/MC/MCInstrDesc.h"
#include "llvm/MC/MCRegisterInfo.h"
#include "llvm/Target/TargetMachine.h"

using namespace llvm;

namespace rubia::codegen {
namespace {

constexpr unsigned kStackPointer = 32; // a scalar register

struct Written {
  Clobbers registers;
  bool scc = false; // which has no number
};

Error unknown(const Function &function, const Twine &what) {
  return make_error<CodegenError>(Fault::System,
                                  ("its code " + what + ", of which callers would not know").str(),
                                  function.getName().str());
}

bool isScc(const MCRegisterInfo &names, MCRegister one) {
  return StringRef("SCC") == names.getName(one);
}

Written declared(ArrayRef<unsigned> numbers, const Disassembler &disassembler,
                 const MCRegisterInfo &names) {
  Written result;
  for (unsigned number : numbers) {
    result.registers.add(disassembler.range(MCRegister(number)));
    result.scc |= isScc(names, MCRegister(number));
  }
  result.registers.add({RegisterRange::Scalar, kExec, 2});
  result.registers.add({RegisterRange::Scalar, kStackPointer, 1});
  return result;
}

} // namespace

Error checkWritten(const Function &function, StringRef code, ArrayRef<unsigned> written,
                   const TargetMachine &machine) {
  const bool isWave64 = machine.getSubtargetImpl(function)->checkFeatures("+wavefrontsize64");
  Expected<std::shared_ptr<const Disassembler>> disassembler =
      disassemblerFor(machine.getTargetCPU().str(), isWave64);
  if (!disassembler)
    return disassembler.takeError();
  const MCRegisterInfo &names = *machine.getMCRegisterInfo();
  const Written known = declared(written, **disassembler, names);
  Written found;
  MCInst inst;
  for (ArrayRef<uint8_t> rest = arrayRefFromStringRef(code); !rest.empty();) {
    const uint64_t size = (*disassembler)->decode(rest, 0, inst);
    if (size == 0)
      return unknown(function, "has an instruction that is none");
    (*disassembler)->forEachWritten(inst, [&](RegisterRange range) { found.registers.add(range); });
    for (MCPhysReg one : (*disassembler)->description(inst.getOpcode()).implicit_defs())
      found.scc |= isScc(names, one);
    rest = rest.drop_front(size);
  }
  const auto scalars = found.registers.scalars & ~known.registers.scalars;
  const auto vectors = found.registers.vectors & ~known.registers.vectors;
  if (found.scc && !known.scc)
    return unknown(function, "writes scc");
  for (unsigned i = 0; i < scalars.size(); ++i)
    if (scalars[i])
      return unknown(function, "writes the scalar register " + Twine(i));
  for (unsigned i = 0; i < vectors.size(); ++i)
    if (vectors[i])
      return unknown(function, "writes the vector register " +
                                   Twine(i < Clobbers::kVectors ? "v" : "a") +
                                   Twine(i % Clobbers::kVectors));
  return Error::success();
}

} // namespace rubia::codegen
