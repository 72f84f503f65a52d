// SPDX-License-Identifier: Apache-2.0
#include "tests/emulator/Census.h"
#include "emulator/lib/machine/Target.h"
#include "targets/Target.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/MC/MCAsmInfo.h"
#include "llvm/MC/MCCodeEmitter.h"
#include "llvm/MC/MCContext.h"
#include "llvm/MC/MCFixup.h"
#include "llvm/MC/MCInstrInfo.h"
#include "llvm/MC/MCRegisterInfo.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/MCTargetOptions.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/TargetParser/Triple.h"
#include <gtest/gtest.h>

using namespace llvm;

namespace rubia::emulator::test {

/// The encoding family by LLVM's SIInstrFlags.
static std::string familyOf(uint64_t flags, StringRef name) {
  auto has = [&](unsigned bit) { return flags >> bit & 1; };
  if (has(59))
    return "WMMA";
  if (has(54))
    return "MFMA";
  if (has(24))
    return name.starts_with("GLOBAL_")    ? "GLOBAL"
           : name.starts_with("SCRATCH_") ? "SCRATCH"
                                          : "FLAT";
  static constexpr std::pair<unsigned, const char *> kFamilies[] = {
      {2, "SOP1"},   {3, "SOP2"},   {4, "SOPC"},  {5, "SOPK"},   {6, "SOPP"},  {12, "VOP3P"},
      {7, "VOP1"},   {8, "VOP2"},   {9, "VOPC"},  {11, "VOP3P"}, {10, "VOP3"}, {13, "VINTRP"},
      {17, "MUBUF"}, {18, "MTBUF"}, {19, "SMEM"}, {20, "MIMG"},  {22, "EXP"},  {25, "DS"}};
  for (auto [bit, family] : kFamilies)
    if (has(bit))
      return family;
  return has(14) ? "SDWA" : has(15) ? "DPP" : name.starts_with("V_DUAL_") ? "VOPD" : "OTHER";
}

std::vector<EncodableInstruction> encodableInstructions(StringRef cpu, unsigned waveSize) {
  std::vector<EncodableInstruction> result;
  auto target = emulator::Target::create(cpu, waveSize);
  if (!target) {
    ADD_FAILURE() << toString(target.takeError());
    return result;
  }
  std::string error;
  Triple triple("amdgcn-amd-amdhsa");
  const llvm::Target *llvmTarget = TargetRegistry::lookupTarget(triple, error);
  if (!llvmTarget) {
    ADD_FAILURE() << error;
    return result;
  }
  std::string features;
  if (targets::find(cpu)->hasWave32)
    features = waveSize == 64 ? "+wavefrontsize64" : "+wavefrontsize32";
  std::unique_ptr<MCInstrInfo> instructions(llvmTarget->createMCInstrInfo());
  std::unique_ptr<MCRegisterInfo> registers(llvmTarget->createMCRegInfo(triple));
  std::unique_ptr<MCAsmInfo> assembly(
      llvmTarget->createMCAsmInfo(*registers, triple, MCTargetOptions()));
  std::unique_ptr<MCSubtargetInfo> subtarget(
      llvmTarget->createMCSubtargetInfo(triple, cpu, features));
  MCContext context(triple, assembly.get(), registers.get(), subtarget.get());
  std::unique_ptr<MCCodeEmitter> emitter(llvmTarget->createMCCodeEmitter(*instructions, context));
  const unsigned mode = subtarget->getHwMode(MCSubtargetInfo::HwMode_RegInfo);

  for (unsigned opcode = 0; opcode < instructions->getNumOpcodes(); ++opcode) {
    const MCInstrDesc &description = instructions->get(opcode);
    if (description.isPseudo() || description.getSize() == 0)
      continue;
    MCInst inst;
    inst.setOpcode(opcode);
    StringRef full = instructions->getName(opcode);
    const bool isHardwareRegister = full.starts_with("S_GETREG") || full.starts_with("S_SETREG");
    for (const MCOperandInfo &info : description.operands()) {
      const int registerClass = instructions->getOpRegClassID(info, mode);
      if (registerClass < 0) {
        // Immediates are 0, but a hardware register must be one: 1 is MODE.
        inst.addOperand(MCOperand::createImm(isHardwareRegister ? 1 : 0));
        continue;
      }
      const MCRegisterClass &classInfo = registers->getRegClass(unsigned(registerClass));
      inst.addOperand(MCOperand::createReg(classInfo.getRegister(0)));
    }
    SmallVector<char, 24> code;
    SmallVector<MCFixup, 2> fixups;
    emitter->encodeInstruction(inst, code, fixups, *subtarget);
    // Room for a literal.
    SmallVector<uint8_t, 32> bytes(code.begin(), code.end());
    bytes.append(8, 0);
    MCInst decoded;
    const uint64_t size = (*target)->disassemble(decoded, bytes, 0);
    if (size == 0 || decoded.getOpcode() != opcode)
      continue;
    EncodableInstruction one;
    one.fullName = full.str();
    one.name = (*target)->name(opcode).str();
    one.family = familyOf(description.TSFlags, full);
    one.bytes.assign(bytes.begin(), bytes.begin() + ptrdiff_t(size));
    one.text = (*target)->print(decoded, 0);
    result.push_back(std::move(one));
  }
  return result;
}

} // namespace rubia::emulator::test
