// SPDX-License-Identifier: Apache-2.0
// LLVM's disassembler for one processor and wave size, and the names of its instructions.
//
// LLVM names the same instruction differently per generation and encoding
// (V_ADD_CO_CI_U32_e64_dpp_gfx11). Its tables from "pseudo" to real opcodes, read backwards, give a
// name that all generations share (V_ADDC_U32); that is the key of our own tables. The functions
// behind it are private to LLVM, hence the declarations in Target.cpp and the check at start-up
// that their enumerations are those of the LLVM that we were written for.
#pragma once

#include "targets/Target.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/MC/MCDisassembler/MCDisassembler.h"
#include "llvm/MC/MCInst.h"
#include "llvm/Support/Error.h"
#include <memory>
#include <mutex>
#include <string>

namespace llvm {
class MCInstrInfo;
class MCRegisterInfo;
class MCSubtargetInfo;
class MCAsmInfo;
class MCContext;
class MCInstPrinter;
class MCInstrDesc;
} // namespace llvm

namespace rubia::emulator {

/// LLVM's operand names (llvm::AMDGPU::OpName), as far as decoding needs them.
enum class OperandName : uint8_t {
  vdst = 0,
  src0 = 1,
  vdata = 2,
  vaddr = 3,
  srsrc = 4,
  soffset = 5,
  offset = 6,
  cpol = 7,
  saddr = 10,
  addr = 11,
  data0 = 12,
  gds = 13,
  data1 = 15,
  offset0 = 20,
  offset1 = 21,
  src1 = 24,
  src2 = 25,
  src0_modifiers = 30,
  clamp = 31,
  omod = 32,
  idx = 44,
  sdst = 48,
  simm16 = 49,
  sbase = 51,
  imm = 53,
  vaddr0 = 55, // of an image; others follow it
  r128 = 59,
  old = 60,
  dpp_ctrl = 61,
  row_mask = 62,
  bank_mask = 63,
  bound_ctrl = 64,
  src1_modifiers = 65,
  dst_sel = 66,
  dst_unused = 67,
  src0_sel = 68,
  src1_sel = 69,
  src2_modifiers = 70,
  bitop3 = 71,
  byte_sel = 72,
  cbsz = 79,
  blgp = 80,
  abid = 81,
  scale_src0 = 82,
  scale_src1 = 83,
  fi = 85,
  index_key_16bit = 88,
  index_key_8bit = 91,
  rsrc = 99,
  dmask = 100,
  dim = 101,
  a16 = 102,
  tfe = 103,
  unorm = 104,
  lwe = 105,
  ssamp = 117,
  d16 = 118,
  samp = 119,
  dpp8 = 120,
  vdstX = 121,
  vdstY = 122,
  src0X = 124,
  src0Y = 128,
};

/// A register operand in the emulator's numbering (Wave.h).
struct RegisterOperand {
  enum Class : uint8_t {
    Vector, // accumulation registers too, from kFirstAccumulator on
    Scalar,
    Null,
    Scc,
    Vccz,
    Execz,
    SharedBase,
    SharedLimit,
    PrivateBase,
    PrivateLimit,
    Other
  };
  Class kind = Other;
  uint16_t index = 0;
  bool highHalf = false;
};

/// May be used from any thread.
class Target {
public:
  static llvm::Expected<std::unique_ptr<Target>> create(llvm::StringRef cpu, unsigned waveSize);
  ~Target();

  const targets::Target &row() const { return *facts; }

  /// The instruction at the start of `bytes`, or size 0 if these are not one.
  uint64_t disassemble(llvm::MCInst &inst, llvm::ArrayRef<uint8_t> bytes, uint64_t address) const;
  std::string print(const llvm::MCInst &inst, uint64_t address) const;

  /// The generation-independent name without encoding suffixes; empty if LLVM has no pseudo for the
  /// opcode.
  llvm::StringRef name(unsigned opcode) const;
  /// LLVM's own name, for messages and the few cases that depend on the encoding.
  llvm::StringRef fullName(unsigned opcode) const;
  const llvm::MCInstrDesc &description(unsigned opcode) const;
  /// The index of a named operand, or -1.
  int operand(const llvm::MCInst &inst, OperandName name) const;
  RegisterOperand reg(unsigned llvmRegister) const;
  /// How many registers of 32 bits it consists of; 1 for a part of one.
  unsigned registerDwords(unsigned llvmRegister) const;
  /// Whether it is half of a VGPR (RegisterOperand::highHalf says which).
  bool isHalfRegister(unsigned llvmRegister) const;
  /// The names of the two halves of a VOPD instruction.
  std::pair<llvm::StringRef, llvm::StringRef> dualNames(unsigned opcode) const;

private:
  Target();
  uint64_t disassembleOnce(llvm::MCInst &inst, llvm::ArrayRef<uint8_t> bytes,
                           uint64_t address) const;
  uint64_t disassembleWithHalfLiteral(llvm::MCInst &inst, llvm::ArrayRef<uint8_t> bytes,
                                      uint64_t address) const;
  void restoreLiterals(llvm::MCInst &inst, uint32_t literal) const;
  class Names;
  mutable std::mutex mutex; // LLVM's disassembler and printer keep state
  const targets::Target *facts = nullptr;
  std::unique_ptr<llvm::MCRegisterInfo> registers;
  std::unique_ptr<llvm::MCAsmInfo> assembly;
  std::unique_ptr<llvm::MCInstrInfo> instructions;
  std::unique_ptr<llvm::MCSubtargetInfo> subtarget;
  std::unique_ptr<llvm::MCContext> context;
  std::unique_ptr<llvm::MCDisassembler> disassembler;
  std::unique_ptr<llvm::MCInstPrinter> printer;
  Names *names = nullptr; // of all targets
  llvm::ArrayRef<RegisterOperand> registerOperands;
};

} // namespace rubia::emulator
