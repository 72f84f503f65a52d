// SPDX-License-Identifier: Apache-2.0
// The modifiers of vector instructions: neg and abs, op_sel, SDWA, DPP, clamp, omod, as
// VectorPath's handlers want them.
#include "emulator/lib/decode/Decoder.h"
#include "emulator/lib/decode/Instructions.h"
#include "emulator/lib/machine/Semantics.h"

using namespace llvm;

namespace rubia::targets::Fact {
extern const GenerationFact halfResultsZeroHigh;
} // namespace rubia::targets::Fact

namespace rubia::emulator {

// Modifier immediates (LLVM's SISrcMods).
enum Modifier : unsigned {
  kNeg = 1,
  kAbs = 2,
  kNegHigh = 2,
  kOpSel0 = 4,
  kOpSel1 = 8,
  kSignExtend = 16
};

static constexpr OperandName kModifiers[] = {
    OperandName::src0_modifiers, OperandName::src1_modifiers, OperandName::src2_modifiers};

Diagnostic Decoder::readDpp(VectorDetail &detail) {
  if (index(OperandName::dpp8) >= 0) {
    detail.dpp = VectorDetail::Dpp::Dpp8;
    constexpr int64_t kFetchInactive = 0xea; // the encoding's src0; 0xe9 is without
    detail.selectors = uint32_t(immediate(OperandName::dpp8));
    detail.fetchInactive = immediate(OperandName::fi) == kFetchInactive;
    return {};
  }
  if (index(OperandName::dpp_ctrl) < 0)
    return {};
  detail.dpp = VectorDetail::Dpp::Dpp16;
  detail.control = uint16_t(immediate(OperandName::dpp_ctrl));
  detail.rowMask = uint8_t(immediate(OperandName::row_mask, 0xf));
  detail.bankMask = uint8_t(immediate(OperandName::bank_mask, 0xf));
  detail.boundControl = immediate(OperandName::bound_ctrl) & 1;
  detail.fetchInactive = immediate(OperandName::fi) & 1;
  static constexpr unsigned kWaveWide[] = {0x130, 0x134, 0x138, 0x13c, 0x142, 0x143};
  const unsigned group = detail.control & 0x1f0;
  const unsigned major = target.row().isa;
  const bool known =
      detail.control <= 0xff ||
      ((group == 0x100 || group == 0x110 || group == 0x120) && detail.control & 15) ||
      detail.control == 0x140 || detail.control == 0x141 || group == 0x150 ||
      (group == 0x160 && major >= 10) || (major < 10 && is_contained(kWaveWide, detail.control));
  return known ? Diagnostic()
               : "DPP control " + std::to_string(detail.control) + " is not supported";
}

/// SDWA's selections (CDNA3 ISA "SDWA"; LLVM's SdwaSel): bytes 0 to 3, words 0 and 1, all.
static void setSelection(unsigned select, uint8_t &shift, uint8_t &width) {
  const bool isByte = select < 4, isWord = select == 4 || select == 5;
  shift = uint8_t(isByte ? 8 * select : isWord ? 16 * (select - 4) : 0);
  width = uint8_t(isByte ? 8 : isWord ? 16 : 32);
}

/// Where a result of 8 or 16 bits goes, and an SDWA result.
void Decoder::readResultPlace(const Semantics &row, bool named, bool highRegister,
                              VectorDetail &detail) {
  constexpr int64_t kDword = 6;
  using Unused = VectorDetail::Unused;
  const Element element = row.operation.shape.result;
  const unsigned first = detail.modifiers[0], third = detail.modifiers[2];
  if (element == Element::B8) { // op_sel[3:2]
    unsigned byte = (third & kOpSel0 ? 1 : 0) | (first & kOpSel1 ? 2 : 0);
    byte = unsigned(named ? immediate(OperandName::byte_sel, byte) : byte) & 3;
    detail.resultShift = uint8_t(8 * byte);
    detail.resultWidth = 8;
  } else if (isHalf(element)) {
    const bool vop3p = named && flags() & kFlagVop3p;
    const bool high = highRegister || row.flags & kResultHigh || (!vop3p && first & kOpSel1);
    // The legacy forms of gfx9's fused instructions clear the other half as most of gfx9 does.
    const bool keeps =
        row.flags & kKeepsHigh && !target.fullName(inst->getOpcode()).contains("_LEGACY_");
    detail.resultShift = high ? 16 : 0;
    detail.resultWidth = 16;
    if (targets::Fact::halfResultsZeroHigh(target.row()) && !high && !keeps)
      detail.resultUnused = Unused::Zero;
  }
  if (row.operation.function && highRegister)
    detail.modifiers[0] |= kOpSel1;
  if (!named || !(flags() & kFlagSdwa) || index(OperandName::dst_sel) < 0)
    return;
  if (int64_t select = immediate(OperandName::dst_sel); select != kDword) {
    setSelection(unsigned(select), detail.resultShift, detail.resultWidth);
    detail.resultUnused = Unused(immediate(OperandName::dst_unused));
  } else if (isHalf(element)) {
    detail.resultUnused = Unused::Zero;
  }
}

Diagnostic Decoder::readModifiers(const Semantics &row, ArrayRef<unsigned> sources,
                                  VectorDetail &detail) {
  const bool packed = flags() & kFlagVop3p, sdwa = flags() & kFlagSdwa;
  const Shape &shape = row.operation.shape;
  for (unsigned i = 0; i < 3; ++i)
    detail.modifiers[i] = unsigned(immediate(kModifiers[i], 0));
  for (unsigned i = 0; i < sources.size() && i < 3; ++i) {
    const bool high = at(sources[i]).isReg() && registerAt(sources[i]).highHalf;
    if (row.operation.function) {
      detail.modifiers[i] |= high ? kOpSel0 : 0;
      continue;
    }
    const unsigned bits = detail.modifiers[i];
    VectorDetail::Source &source = detail.sources[i];
    const Element element = shape.sources[i];
    if (isHalf(element))
      source.selectHigh = high;
    if (shape.takesSigns) {
      detail.signs |= (bits & kNeg) << i;
      continue;
    }
    // The manuals define neg for floats only, and LLVM has meant the sign of a half by it
    // (docs/errata.md E25).
    if (packed && !isFloat(element) && bits & (kNeg | kNegHigh))
      return "neg of the packed integers of " + name.str() + " is not supported";
    if (isPackedHalf(element) || isPackedSingle(element)) {
      source.negate = bits & kNeg;
      source.negateHigh = bits & kNegHigh;
      source.selectHigh = bits & kOpSel0;
      source.selectHighForHigh = packed ? bits & kOpSel1 : true;
      source.fix =
          source.negate || source.negateHigh || source.selectHigh || !source.selectHighForHigh;
      continue;
    }
    source.negate = bits & kNeg;
    source.absolute = bits & kAbs;
    if (element == Element::B8) { // op_sel[1:0]
      unsigned byte =
          (detail.modifiers[0] & kOpSel0 ? 1 : 0) | (detail.modifiers[1] & kOpSel0 ? 2 : 0);
      source.shift = uint8_t(8 * (immediate(OperandName::byte_sel, byte) & 3));
      source.width = 8;
    } else if (row.flags & kMixedSources) {
      source.half = bits & kOpSel1;
      source.selectHigh = bits & kOpSel0;
    } else if (isHalf(element)) {
      source.selectHigh |= bool(bits & kOpSel0);
    }
    if (sdwa && i < 2) {
      setSelection(unsigned(immediate(i ? OperandName::src1_sel : OperandName::src0_sel, 6)),
                   source.shift, source.width);
      source.signExtend = bits & kSignExtend;
    }
    source.fix =
        source.negate || source.absolute || source.selectHigh || source.half || source.width != 32;
  }
  detail.clamp = immediate(OperandName::clamp) & 1;
  detail.omod = uint8_t(immediate(OperandName::omod) & 3);
  detail.immediate = uint32_t(immediate(OperandName::bitop3));
  if (row.operation.function)
    return {};
  // Conversions to integers take the clamp bit for a switch of exceptions (CDNA4 ISA
  // V_CVT_I32_F32), those to 8 bits ignore it.
  const bool ignoresClamp = row.name[0] && StringRef(row.name).starts_with("V_CVT_");
  if (detail.clamp && !isFloat(shape.result) && !shape.takesSaturate && !ignoresClamp)
    return "clamp of " + name.str() + " is not supported";
  if (detail.omod && (!isFloat(shape.result) || shape.result == Element::PackedF16))
    return "omod of " + name.str() + " is not supported";
  return {};
}

/// Marks an instruction whose bits the hardware does not promise, if it is to show that.
void Decoder::noteApproximation(const Semantics &row, VectorDetail &detail) const {
  if (program.perturb)
    detail.perturbed = exactnessOf(row.flags);
}

} // namespace rubia::emulator
