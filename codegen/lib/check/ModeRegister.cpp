// SPDX-License-Identifier: Apache-2.0
// MODE is written by s_round_mode and s_denorm_mode (gfx10 and later), and by s_setreg on any bit
// range of any hardware register.
#include "codegen/lib/check/ModeRegister.h"
#include "llvm/MC/MCInst.h"
#include "llvm/Support/AMDHSAKernelDescriptor.h"

using namespace llvm;

namespace rubia::codegen {

uint32_t modeOfDescriptor(uint32_t computePgmRsrc1) {
  // The eight bits of rounding and denormals have the order that they have in MODE.
  uint32_t mode = (computePgmRsrc1 >> amdhsa::COMPUTE_PGM_RSRC1_FLOAT_ROUND_MODE_32_SHIFT) & 0xff;
  if (AMDHSA_BITS_GET(computePgmRsrc1, amdhsa::COMPUTE_PGM_RSRC1_GFX9_PLUS_FP16_OVFL))
    mode |= kFp16Overflow;
  return mode;
}

std::string describeMode(uint32_t mode) {
  static constexpr const char *kRoundings[] = {"nearest", "up", "down", "to zero"};
  static constexpr const char *kDenormalModes[] = {"flush", "flush results", "flush sources",
                                                   "keep"};
  auto pair = [mode](const char *const *names, unsigned shift) {
    std::string single = names[(mode >> shift) & 3], twice = names[(mode >> (shift + 2)) & 3];
    return single == twice ? single : "f32 " + single + ", f16/f64 " + twice;
  };
  return "round " + pair(kRoundings, 0) + "; denormals " + pair(kDenormalModes, 4) +
         (mode & kFp16Overflow ? "; f16 overflow clamps" : "");
}

namespace {

/// s_setreg: id in bits 5:0, first bit in 10:6, number of bits less one in 15:11. AMDGPUUsage
/// "hwreg".
std::optional<ModeWrite> writeOfSetreg(uint32_t hwreg, uint32_t value, bool isConstant) {
  constexpr unsigned kModeId = 1;
  if ((hwreg & 0x3f) != kModeId)
    return std::nullopt;
  unsigned offset = (hwreg >> 6) & 31, width = ((hwreg >> 11) & 31) + 1;
  uint32_t mask = uint32_t(((uint64_t(1) << width) - 1) << offset);
  return ModeWrite{mask, (value << offset) & mask, isConstant};
}

} // namespace

std::optional<ModeWrite> modeWriteOf(const Disassembler &disassembler, const MCInst &inst) {
  StringRef name = disassembler.name(inst.getOpcode());
  auto immediate = [&](unsigned index) { return uint32_t(inst.getOperand(index).getImm()); };
  if (name.starts_with("S_ROUND_MODE"))
    return ModeWrite{kRounding, immediate(0) & kRounding};
  if (name.starts_with("S_DENORM_MODE"))
    return ModeWrite{kDenormals, (immediate(0) << 4) & kDenormals};
  if (name.starts_with("S_SETREG_IMM32"))
    return writeOfSetreg(immediate(1), immediate(0), true);
  if (name.starts_with("S_SETREG"))
    return writeOfSetreg(immediate(1), 0, false);
  return std::nullopt;
}

} // namespace rubia::codegen
