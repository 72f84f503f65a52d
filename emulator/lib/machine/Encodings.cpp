// SPDX-License-Identifier: Apache-2.0
#include "emulator/lib/machine/Encodings.h"
#include "emulator/lib/machine/Target.h"
#include "llvm/Support/Endian.h"

using namespace llvm;
using support::endian::read32le;

namespace rubia::emulator {

constexpr uint32_t kLiteral = 0xff; // as a source: a dword behind the instruction

/// S_BARRIER_SIGNAL to S_BARRIER_JOIN: their operand is a constant or M0.
static bool isBarrierWithLiteral(uint32_t word) {
  const bool isSop1 = word >> 23 == 0x17d;
  const uint32_t opcode = word >> 8 & 0xff;
  return isSop1 && opcode >= 0x4e && opcode <= 0x52 && (word & 0xff) == kLiteral;
}

/// The second dword of a matrix product: LLVM looks for the registers of A and B.
static bool multipliesRegisters(uint32_t word) {
  constexpr uint32_t kIsRegister = 1 << 8;
  return word & kIsRegister && word >> 9 & kIsRegister;
}

static bool mayDisassembleScaled(ArrayRef<uint8_t> bytes) {
  constexpr uint32_t kLoadScale = 0xd3ac, kFirstProduct = 0xd3ad, kLastProduct = 0xd3ae;
  auto word = [&](unsigned i) { return read32le(bytes.data() + 4 * i); };
  auto isProduct = [&](unsigned i) {
    const uint32_t key = word(i) >> 16;
    return key == kFirstProduct || key == kLastProduct;
  };
  if (isProduct(0))
    return multipliesRegisters(word(1));
  if (word(0) >> 16 != kLoadScale)
    return true;
  // With the product that follows it is one instruction, and there is no room for a literal.
  auto source = [&](unsigned i, unsigned shift) { return word(i) >> shift & 0x1ff; };
  if (source(1, 0) == kLiteral || source(1, 9) == kLiteral)
    return false;
  return !isProduct(2) || (multipliesRegisters(word(3)) && source(3, 18) != kLiteral);
}

bool mayDisassemble(const Target &target, ArrayRef<uint8_t> bytes) {
  if (target.row().isa == 12)
    return !isBarrierWithLiteral(read32le(bytes.data()));
  return target.row().matrix != targets::Matrix::MfmaScaled || mayDisassembleScaled(bytes);
}

bool hasHalfLiteral(const Target &target, ArrayRef<uint8_t> bytes) {
  // The first of V_MADMK_F16 and V_MADAK_F16, or V_FMAMK_F16 and V_FMAAK_F16.
  const uint32_t first = target.row().isa < 10 ? 0x24 : 0x37;
  const uint32_t opcode = read32le(bytes.data()) >> 25; // with the 0 in bit 31 that VOP2 has
  return opcode == first || opcode == first + 1;
}

/// Bits of the first eight bytes that some instructions of their encoding use and others do not. No
/// bit of a field in which single bits can be invalid values.
static uint64_t bitsThatMayBeUnused(const Target &target, uint32_t word) {
  constexpr uint64_t kModifiers = 0xf8000000'0000ff00; // abs, op_sel, clamp; omod, neg
  constexpr uint64_t kLocal = 0xffffff00'00000000;     // data0, data1, vdst
  constexpr uint64_t kFlat = 0xff00ff00'00000000;      // data, vdst
  const unsigned major = target.row().isa;
  switch (word >> 26) {
  case 0x33: // VOP3P
  case 0x35: // VOP3
    return major >= 10 ? kModifiers : 0;
  case 0x34: // both
    return major < 10 ? kModifiers : 0;
  case 0x36:
    return kLocal;
  case 0x37:
    return major < 12 ? kFlat : 0;
  default:
    return 0;
  }
}

std::vector<uint8_t> withoutUnusedBits(const Target &target, ArrayRef<uint8_t> bytes,
                                       function_ref<bool(ArrayRef<uint8_t>)> decodes) {
  const uint64_t whole = support::endian::read64le(bytes.data());
  const uint64_t candidates = bitsThatMayBeUnused(target, uint32_t(whole)) & whole;
  if (candidates == 0)
    return {};
  std::vector<uint8_t> changed(bytes.begin(), bytes.end());
  auto decodesAs = [&](uint64_t word) {
    support::endian::write64le(changed.data(), word);
    return decodes(changed);
  };
  const uint64_t base = whole & ~bitsThatMayBeUnused(target, uint32_t(whole));
  if (!decodesAs(base))
    return {};
  uint64_t result = whole;
  for (uint64_t rest = candidates; rest; rest &= rest - 1)
    if (const uint64_t bit = rest & -rest; !decodesAs(base | bit))
      result &= ~bit;
  return result != whole && decodesAs(result) ? changed : std::vector<uint8_t>();
}

bool isSound(const Target &target, const MCInst &inst, uint64_t size) {
  // Before gfx10 no instruction of eight bytes has a literal.
  if (target.row().isa < 10 && size == 12)
    return false;
  auto atMost = [&](OperandName name, int64_t last) {
    const int i = target.operand(inst, name);
    return i < 0 || !inst.getOperand(unsigned(i)).isImm() ||
           inst.getOperand(unsigned(i)).getImm() <= last;
  };
  constexpr int64_t kDword = 6, kPreserve = 2; // SDWA's last selections
  return atMost(OperandName::src0_sel, kDword) && atMost(OperandName::src1_sel, kDword) &&
         atMost(OperandName::dst_sel, kDword) && atMost(OperandName::dst_unused, kPreserve);
}

} // namespace rubia::emulator
