// SPDX-License-Identifier: Apache-2.0
// Conversions between number types. MODE's rounding applies to conversions to a float type;
// conversions to integers truncate and saturate.
#include "emulator/lib/vector/Fused.h"
#include "emulator/lib/vector/VectorAluInteger.h"

namespace rubia::emulator::RUBIA_ISA {
namespace {

// 2^52 + value as bits, less 2^52. A cast would become the same in vectors, but without the last
// step: when rounding down, the difference is -0 for 0, and the compiler knows that a cast never
// gives that.
double fromUnsigned(uint32_t value) {
  return __builtin_fabs(std::bit_cast<double>(0x4330000000000000 | uint64_t(value)) - 0x1p52);
}

// Assumed: normalised conversions round to nearest even.
template <class I> I normalized(float value) {
  constexpr float kLow = std::is_signed_v<I> ? -1.0f : 0.0f;
  float limited = value < kLow ? kLow : value > 1.0f ? 1.0f : value;
  // The product of 24 and 16 bits is exact in double, so it is rounded once.
  return toInteger<I>(__builtin_roundeven(double(limited) * double(std::numeric_limits<I>::max())));
}

// 4 bits as a signed number of sixteenths.
float offsetFromNibble(uint32_t nibble) { return float(int32_t(nibble << 28) >> 28) * 0x1p-4f; }

// Assumed: the fraction is dropped. The other bytes come from `rest`.
uint32_t packByte(float value, uint32_t index, uint32_t rest) {
  uint32_t shift = (index & 3) * 8;
  return (rest & ~(0xffu << shift)) | uint32_t(toInteger<uint8_t>(value)) << shift;
}

// V_CVT_PKACCUM_U8_F32 replaces one byte of its destination.
void packIntoResult(WaveOperands &w) {
  const uint32_t flip = w.modifiers(0) & 1 ? 0x80000000 : 0;
  const uint32_t keep = w.modifiers(0) & 2 ? 0x7fffffff : ~0u;
  for (unsigned lane = 0; lane < w.laneCount(); ++lane)
    if (w.active(lane)) {
      const float value = std::bit_cast<float>((w.source(0, lane) & keep) ^ flip);
      w.setResult(lane, packByte(value, w.source(1, lane), w.result(lane)));
    }
}

constexpr Semantics kRows[] = {
    {"V_CVT_F32_I32", hot<[](int32_t a) { return float(a); }>},
    {"V_CVT_F32_U32", hot<[](uint32_t a) { return float(fromUnsigned(a)); }>},
    {"V_CVT_I32_F32", hot<[](float a) { return toInteger<int32_t>(a); }>},
    {"V_CVT_U32_F32", hot<[](float a) { return toInteger<uint32_t>(a); }>},
    {"V_CVT_RPI_I32_F32",
     hot<[](float a) { return toInteger<int32_t>(__builtin_floorf(a + 0.5f)); }>},
    {"V_CVT_FLR_I32_F32", hot<[](float a) { return toInteger<int32_t>(__builtin_floorf(a)); }>},
    {"V_CVT_F32_UBYTE0", hot<[](uint32_t a) { return float(int32_t(a & 0xff)); }>},
    {"V_CVT_F32_UBYTE1", hot<[](uint32_t a) { return float(int32_t(a >> 8 & 0xff)); }>},
    {"V_CVT_F32_UBYTE2", hot<[](uint32_t a) { return float(int32_t(a >> 16 & 0xff)); }>},
    {"V_CVT_F32_UBYTE3", hot<[](uint32_t a) { return float(int32_t(a >> 24)); }>},
    {"V_CVT_OFF_F32_I4", hot<[](uint32_t a) { return offsetFromNibble(a); }>},

    {"V_CVT_F64_I32", hot<[](int32_t a) { return double(a); }>},
    {"V_CVT_F64_U32", hot<[](uint32_t a) { return fromUnsigned(a); }>},
    {"V_CVT_I32_F64", hot<[](double a) { return toInteger<int32_t>(a); }>},
    {"V_CVT_U32_F64", hot<[](double a) { return toInteger<uint32_t>(a); }>},
    {"V_CVT_F32_F64", hot<[](double a) { return float(a); }>},
    {"V_CVT_F64_F32", hot<[](float a) { return double(a); }>},

    {"V_CVT_F16_F32", hot<[](float a) { return Half(a); }>},
    {"V_CVT_F32_F16", hot<[](Half a) { return float(a); }>},
    {"V_CVT_F16_I16", hot<[](int16_t a) { return Half(float(a)); }>},
    {"V_CVT_F16_U16", hot<[](uint16_t a) { return Half(float(int32_t(a))); }>},
    {"V_CVT_I16_F16", hot<[](Half a) { return toInteger<int16_t>(float(a)); }>},
    {"V_CVT_U16_F16", hot<[](Half a) { return toInteger<uint16_t>(float(a)); }>},
    {"V_CVT_F32_BF16", hot<[](Bfloat a) { return float(a); }>},
    {"V_CVT_I32_I16", hot<[](int16_t a) { return int32_t(a); }>},
    {"V_CVT_U32_U16", hot<[](uint16_t a) { return uint32_t(a); }>},

    {"V_CVT_PKRTZ_F16_F32",
     hot<[](float a, float b) { return Pair<Half>{truncateToHalf(a), truncateToHalf(b)}; }>},
    // CDNA4 ISA: to nearest even, whatever MODE says.
    {"V_CVT_PK_F16_F32", hot<[](float a, float b) { return Pair<Half>{Half(a), Half(b)}; }>,
     kRoundNearest},
    {"V_CVT_PK_BF16_F32", hot<[](float a, float b) { return Pair<Bfloat>{Bfloat(a), Bfloat(b)}; }>},
    {"V_CVT_NORM_I16_F16", hot<[](Half a) { return normalized<int16_t>(a); }>},
    {"V_CVT_NORM_U16_F16", hot<[](Half a) { return normalized<uint16_t>(a); }>},
    {"V_CVT_PKNORM_I16_F16", hot<[](Half a, Half b) {
       return Pair<int16_t>{normalized<int16_t>(a), normalized<int16_t>(b)};
     }>},
    {"V_CVT_PKNORM_U16_F16", hot<[](Half a, Half b) {
       return Pair<uint16_t>{normalized<uint16_t>(a), normalized<uint16_t>(b)};
     }>},
    {"V_CVT_PKNORM_I16_F32", hot<[](float a, float b) {
       return Pair<int16_t>{normalized<int16_t>(a), normalized<int16_t>(b)};
     }>},
    {"V_CVT_PKNORM_U16_F32", hot<[](float a, float b) {
       return Pair<uint16_t>{normalized<uint16_t>(a), normalized<uint16_t>(b)};
     }>},
    {"V_CVT_PK_I16_F32", hot<[](float a, float b) {
       return Pair<int16_t>{toInteger<int16_t>(a), toInteger<int16_t>(b)};
     }>},
    {"V_CVT_PK_U16_F32", hot<[](float a, float b) {
       return Pair<uint16_t>{toInteger<uint16_t>(a), toInteger<uint16_t>(b)};
     }>},
    {"V_CVT_PK_I16_I32", hot<[](int32_t a, int32_t b) {
       return Pair<int16_t>{saturated<int16_t>(a), saturated<int16_t>(b)};
     }>},
    {"V_CVT_PK_U16_U32", hot<[](uint32_t a, uint32_t b) {
       return Pair<uint16_t>{saturated<uint16_t>(a), saturated<uint16_t>(b)};
     }>},
    {"V_CVT_PK_U8_F32",
     hot<[](float a, uint32_t index, uint32_t rest) { return packByte(a, index, rest); }>},
    {"V_CVT_PKACCUM_U8_F32", wavewise<packIntoResult>},
    {"V_SAT_PK_U8_I16", hot<[](Pair<int16_t> a) {
       return uint16_t(saturated<uint8_t>(int32_t(a.lo)) | saturated<uint8_t>(int32_t(a.hi)) << 8);
     }>},
};

} // namespace

extern const SemanticsTable kVectorAluConversion;
const SemanticsTable kVectorAluConversion = table(kRows);

} // namespace rubia::emulator::RUBIA_ISA
