// SPDX-License-Identifier: Apache-2.0
// The classification works on mnemonics in AMD's notation, operation and types ("v_fma_mixlo_f16",
// "v_cvt_f32_f64_e32"), because they are the same for every generation. Whether an instruction
// depends on MODE at all is in LLVM's tables; which of its fields is in the types. AMD does not
// document which field a conversion between f32 and f16 or f64 obeys: such an instruction is taken
// to need both.
#include "codegen/lib/check/RegionRules.h"
#include "codegen/lib/check/ModeRegister.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

using namespace llvm;

namespace rubia::codegen {

namespace {

/// Operations whose result is rounded as MODE says, without "v_" and types; each is a whole word or
/// words.
constexpr StringLiteral kRounded[] = {
    "add",      "sub",       "subrev",    "mul",     "mul_legacy", "mul_dx9_zero", "fma",
    "fmac",     "fmaak",     "fmamk",     "mad",     "mac",        "madak",        "madmk",
    "mad_mix",  "mad_mixlo", "mad_mixhi", "fma_mix", "fma_mixlo",  "fma_mixhi",    "ldexp",
    "div_fmas", "div_fixup", "pk_add",    "pk_mul",  "pk_fma",     "pk_fmac"};

constexpr StringLiteral kMoves[] = {"mov",          "pk_mov",        "cndmask",    "swap",
                                    "accvgpr_read", "accvgpr_write", "accvgpr_mov"};

constexpr StringLiteral kSmallFloatTypes[] = {"bf16", "fp8", "bf8", "fp6", "bf6", "fp4"};
constexpr StringLiteral kFloatTypes[] = {"f16", "f32", "f64", "bf16", "fp8",
                                         "bf8", "fp6", "bf6", "fp4"};
constexpr StringLiteral kOtherTypes[] = {"b16", "b32", "b64",    "i16",    "i32",    "i64",   "u16",
                                         "u32", "u64", "ubyte0", "ubyte1", "ubyte2", "ubyte3"};

constexpr StringLiteral kEncodings[] = {"e32", "e64", "dpp", "dpp8", "sdwa"};

struct Mnemonic {
  std::string operation;        ///< "fma_mixlo"
  SmallVector<StringRef> types; ///< {"f16"}
};

bool isType(StringRef word) {
  return is_contained(kFloatTypes, word) || is_contained(kOtherTypes, word);
}

/// One half of a dual instruction, or the whole of any other.
Mnemonic parseMnemonic(StringRef word) {
  word.consume_front("v_");
  word.consume_front("dual_");
  Mnemonic mnemonic;
  SmallVector<StringRef> parts;
  word.split(parts, '_');
  for (StringRef part : parts) {
    if (isType(part))
      mnemonic.types.push_back(part);
    else if (!is_contained(kEncodings, part))
      mnemonic.operation += (mnemonic.operation.empty() ? "" : "_") + part.str();
  }
  return mnemonic;
}

bool mentions(const Mnemonic &mnemonic, ArrayRef<StringLiteral> types) {
  return any_of(mnemonic.types, [&](StringRef type) { return is_contained(types, type); });
}

bool isConversion(const Mnemonic &mnemonic) {
  return StringRef(mnemonic.operation).starts_with("cvt");
}

/// A conversion rounds as MODE says unless it has a rounding of its own, its result is an integer,
/// or it holds every value of its source.
bool rounds(const Mnemonic &mnemonic) {
  StringRef operation = mnemonic.operation;
  if (!isConversion(mnemonic))
    return is_contained(kRounded, operation) && mentions(mnemonic, kFloatTypes);
  if (mnemonic.types.size() < 2 || operation.contains("rtz") || operation.contains("sr"))
    return false;
  StringRef to = mnemonic.types[0], from = mnemonic.types[1];
  if (!is_contained(kFloatTypes, to) || to == "f64")
    return false;
  return to != "f32" || from == "f64" || from == "i32" || from == "u32";
}

RegionInstruction classifyVector(const Mnemonic &mnemonic) {
  RegionInstruction result;
  bool isRounded = rounds(mnemonic);
  result.fitsRoundingRegion =
      isRounded || isConversion(mnemonic) || is_contained(kMoves, mnemonic.operation);
  bool isSmall = mentions(mnemonic, kSmallFloatTypes); // these have no field of their own
  bool isSingle = isSmall || is_contained(mnemonic.types, "f32");
  bool isOther =
      isSmall || is_contained(mnemonic.types, "f16") || is_contained(mnemonic.types, "f64");
  result.fields = (isSingle ? kDenorm32 : 0) | (isOther ? kDenorm64 | kFp16Overflow : 0);
  if (isRounded)
    result.fields |= (isSingle ? kRound32 : 0) | (isOther ? kRound64 : 0);
  return result;
}

bool isFloatAtomic(StringRef word) {
  bool isMemory = word.starts_with("ds_") || word.contains("_atomic_");
  return isMemory && (word.contains("_f16") || word.contains("_f32") || word.contains("_f64") ||
                      word.contains("_bf16") || word.contains("_fmin") || word.contains("_fmax"));
}

bool leavesTheBlock(StringRef word) {
  for (StringRef beginning : {"s_branch", "s_cbranch", "s_setpc", "s_swappc", "s_call", "s_endpgm",
                              "s_rfe", "s_trap", "s_subvector"})
    if (word.starts_with(beginning))
      return true;
  return false;
}

bool isWait(StringRef word) {
  return word.starts_with("s_nop") || word.starts_with("v_nop") || word.starts_with("s_wait") ||
         word.starts_with("s_delay_alu");
}

} // namespace

RegionInstruction classify(const Disassembler &disassembler, unsigned opcode, StringRef text) {
  StringRef word = text.split(' ').first;
  RegionInstruction result;
  if (isWait(word)) {
    result.fitsRoundingRegion = true;
    return result;
  }
  if (!disassembler.isVectorAlu(opcode)) {
    result.isForeign = disassembler.usesMode(opcode) || leavesTheBlock(word) || isFloatAtomic(word);
    return result;
  }
  result = classifyVector(parseMnemonic(word));
  StringRef second = text.split("::").second.ltrim();
  if (!second.empty()) { // the other half of a dual instruction
    RegionInstruction other = classifyVector(parseMnemonic(second.split(' ').first));
    result.fitsRoundingRegion &= other.fitsRoundingRegion;
    result.fields |= other.fields;
  }
  if (!disassembler.usesMode(opcode))
    result.fields = 0;
  return result;
}

} // namespace rubia::codegen
