// SPDX-License-Identifier: Apache-2.0
// The scalar integer instructions: SOP1, SOP2, SOPC and SOPK (RDNA3 ISA "Scalar ALU Operations").
#include "emulator/lib/scalar/ScalarAlu.h"

namespace rubia::emulator {
namespace {

template <class T> WithScc<T> nonZero(T value) { return {value, value != 0}; }

WithScc<uint32_t> addSigned(uint32_t a, uint32_t b) {
  int32_t sum;
  bool overflow = __builtin_add_overflow(int32_t(a), int32_t(b), &sum);
  return {uint32_t(sum), overflow};
}
WithScc<uint32_t> subSigned(uint32_t a, uint32_t b) {
  int32_t difference;
  bool overflow = __builtin_sub_overflow(int32_t(a), int32_t(b), &difference);
  return {uint32_t(difference), overflow};
}
WithScc<uint32_t> addWide(uint64_t a, uint64_t b) { return {uint32_t(a + b), bool((a + b) >> 32)}; }

template <unsigned Shift> WithScc<uint32_t> shiftAdd(uint32_t a, uint32_t b) {
  return addWide(uint64_t(a) << Shift, b);
}

/// The field of `width` bits at `offset`, as S_BFE_* take them from the second operand.
template <class T> T field(T value, uint32_t control) {
  constexpr unsigned kBits = sizeof(T) * 8;
  unsigned offset = control & (kBits - 1), width = control >> 16 & 0x7f;
  if (width == 0)
    return 0;
  if (offset + width >= kBits)
    return T(value >> offset);
  return T(std::make_unsigned_t<T>(value) << (kBits - width - offset)) >> (kBits - width);
}

template <class T> T bitMask(uint32_t width, uint32_t offset) {
  constexpr unsigned kBits = sizeof(T) * 8;
  return ((T(1) << (width & (kBits - 1))) - 1) << (offset & (kBits - 1));
}

template <class T> T reverse(T value) {
  T result = 0;
  for (unsigned i = 0; i < sizeof(T) * 8; ++i)
    result |= (value >> i & 1) << (sizeof(T) * 8 - 1 - i);
  return result;
}

/// Ones in every group of four bits that is not zero.
template <class T> T wholeQuad(T value) {
  T any = (value | value >> 1 | value >> 2 | value >> 3) & T(0x1111111111111111);
  return any * 15;
}
template <class T> T quadMask(T value) {
  T result = 0;
  for (unsigned i = 0; i < sizeof(T) * 2; ++i)
    result |= T((value >> (4 * i) & 15) != 0) << i;
  return result;
}

template <class T> uint32_t firstSet(T value) {
  return value ? uint32_t(std::countr_zero(value)) : ~0u;
}
template <class T> uint32_t leadingZeros(T value) {
  return value ? uint32_t(std::countl_zero(value)) : ~0u;
}
/// The number of leading bits equal to the sign, or -1 if all are.
template <class T> uint32_t leadingSigns(T value) {
  T bits = std::make_signed_t<T>(value) < 0 ? T(~value) : value;
  return bits ? uint32_t(std::countl_zero(bits)) : ~0u;
}

/// S_*_SAVEEXEC and S_*_WREXEC: EXEC = combine(source, EXEC); the destination gets the old or the
/// new EXEC.
template <class T> T execOf(Wave &w) {
  return T(sizeof(T) == 4 ? w.scalars[kExec] : w.pair(kExec));
}
template <class T> void setExec(Wave &w, T value) {
  w.scalars[kExec] = uint32_t(value);
  if constexpr (sizeof(T) == 8)
    w.scalars[kExec + 1] = uint32_t(value >> 32);
}
template <auto Combine, class T>
constexpr ScalarHandlers saveExec = scalar<[](Wave &w, T source) {
  T old = execOf<T>(w);
  T result = Combine(source, old);
  setExec<T>(w, result);
  return WithScc<T>{old, result != 0};
}>;
template <auto Combine, class T>
constexpr ScalarHandlers writeExec = scalar<[](Wave &w, T source) {
  T result = Combine(source, execOf<T>(w));
  setExec<T>(w, result);
  return nonZero(result);
}>;

constexpr auto kAnd = [](auto a, auto b) { return a & b; };
constexpr auto kOr = [](auto a, auto b) { return a | b; };
constexpr auto kXor = [](auto a, auto b) { return a ^ b; };
constexpr auto kAndNot2 = [](auto a, auto b) { return a & ~b; };
constexpr auto kAndNot1 = [](auto a, auto b) { return ~a & b; };
constexpr auto kOrNot2 = [](auto a, auto b) { return a | ~b; };
constexpr auto kOrNot1 = [](auto a, auto b) { return ~a | b; };
constexpr auto kNand = [](auto a, auto b) { return ~(a & b); };
constexpr auto kNor = [](auto a, auto b) { return ~(a | b); };
constexpr auto kXnor = [](auto a, auto b) { return ~(a ^ b); };

template <auto Combine, class T>
constexpr ScalarHandlers logic = scalar<[](T a, T b) { return nonZero(T(Combine(a, b))); }>;

/// Relative addressing, M0 in registers; an index outside of the file reads 0 and writes nothing.
uint32_t readRelative(Wave &w, const MicroOp &op, unsigned dword) {
  uint64_t index = op.source[0] + w.scalars[kM0] + dword;
  return op.kind[0] == OperandKind::Scalar && index < kVcc ? w.scalars[index] : 0;
}
void writeRelative(Wave &w, const MicroOp &op, unsigned dword, uint32_t value) {
  uint64_t index = uint64_t(op.result) + w.scalars[kM0] + dword;
  if (index < kVcc)
    w.scalars[index] = value;
}

constexpr ScalarSemantics kRows[] = {
    // SOP2
    {"S_ADD_U32", scalar<[](uint32_t a, uint32_t b) { return addWide(a, b); }>},
    {"S_SUB_U32", scalar<[](uint32_t a, uint32_t b) { return WithScc<uint32_t>{a - b, b > a}; }>},
    {"S_ADD_I32", scalar<[](uint32_t a, uint32_t b) { return addSigned(a, b); }>},
    {"S_SUB_I32", scalar<[](uint32_t a, uint32_t b) { return subSigned(a, b); }>},
    {"S_ADDC_U32",
     scalar<[](uint32_t a, uint32_t b, Scc in) { return addWide(a, uint64_t(b) + in.value); }>},
    {"S_SUBB_U32", scalar<[](uint32_t a, uint32_t b, Scc in) {
       return WithScc<uint32_t>{a - b - in.value, uint64_t(b) + in.value > a};
     }>},
    {"S_ADD_U64", scalar<[](uint64_t a, uint64_t b) { return a + b; }>},
    {"S_SUB_U64", scalar<[](uint64_t a, uint64_t b) { return a - b; }>},
    {"S_MUL_U64", scalar<[](uint64_t a, uint64_t b) { return a * b; }>},
    {"S_ABSDIFF_I32", scalar<[](uint32_t a, uint32_t b) {
       return nonZero(int32_t(a) > int32_t(b) ? a - b : b - a);
     }>},
    {"S_MIN_I32",
     scalar<[](int32_t a, int32_t b) { return WithScc<int32_t>{a < b ? a : b, a < b}; }>},
    {"S_MIN_U32",
     scalar<[](uint32_t a, uint32_t b) { return WithScc<uint32_t>{a < b ? a : b, a < b}; }>},
    {"S_MAX_I32",
     scalar<[](int32_t a, int32_t b) { return WithScc<int32_t>{a >= b ? a : b, a >= b}; }>},
    {"S_MAX_U32",
     scalar<[](uint32_t a, uint32_t b) { return WithScc<uint32_t>{a >= b ? a : b, a >= b}; }>},
    {"S_CSELECT_B32", scalar<[](uint32_t a, uint32_t b, Scc scc) { return scc.value ? a : b; }>},
    {"S_CSELECT_B64", scalar<[](uint64_t a, uint64_t b, Scc scc) { return scc.value ? a : b; }>},
    {"S_AND_B32", logic<kAnd, uint32_t>},
    {"S_AND_B64", logic<kAnd, uint64_t>},
    {"S_OR_B32", logic<kOr, uint32_t>},
    {"S_OR_B64", logic<kOr, uint64_t>},
    {"S_XOR_B32", logic<kXor, uint32_t>},
    {"S_XOR_B64", logic<kXor, uint64_t>},
    {"S_ANDN2_B32", logic<kAndNot2, uint32_t>},
    {"S_ANDN2_B64", logic<kAndNot2, uint64_t>},
    {"S_ORN2_B32", logic<kOrNot2, uint32_t>},
    {"S_ORN2_B64", logic<kOrNot2, uint64_t>},
    {"S_NAND_B32", logic<kNand, uint32_t>},
    {"S_NAND_B64", logic<kNand, uint64_t>},
    {"S_NOR_B32", logic<kNor, uint32_t>},
    {"S_NOR_B64", logic<kNor, uint64_t>},
    {"S_XNOR_B32", logic<kXnor, uint32_t>},
    {"S_XNOR_B64", logic<kXnor, uint64_t>},
    {"S_LSHL_B32", scalar<[](uint32_t a, uint32_t b) { return nonZero(a << (b & 31)); }>},
    {"S_LSHL_B64", scalar<[](uint64_t a, uint32_t b) { return nonZero(a << (b & 63)); }>},
    {"S_LSHR_B32", scalar<[](uint32_t a, uint32_t b) { return nonZero(a >> (b & 31)); }>},
    {"S_LSHR_B64", scalar<[](uint64_t a, uint32_t b) { return nonZero(a >> (b & 63)); }>},
    {"S_ASHR_I32", scalar<[](int32_t a, uint32_t b) { return nonZero(a >> (b & 31)); }>},
    {"S_ASHR_I64", scalar<[](int64_t a, uint32_t b) { return nonZero(a >> (b & 63)); }>},
    {"S_BFM_B32", scalar<[](uint32_t a, uint32_t b) { return bitMask<uint32_t>(a, b); }>},
    {"S_BFM_B64", scalar<[](uint32_t a, uint32_t b) { return bitMask<uint64_t>(a, b); }>},
    {"S_MUL_I32", scalar<[](uint32_t a, uint32_t b) { return a * b; }>},
    {"S_MUL_HI_U32",
     scalar<[](uint32_t a, uint32_t b) { return uint32_t(uint64_t(a) * b >> 32); }>},
    {"S_MUL_HI_I32", scalar<[](int32_t a, int32_t b) { return int32_t(int64_t(a) * b >> 32); }>},
    {"S_BFE_U32", scalar<[](uint32_t a, uint32_t b) { return nonZero(field(a, b)); }>},
    {"S_BFE_I32", scalar<[](int32_t a, uint32_t b) { return nonZero(field(a, b)); }>},
    {"S_BFE_U64", scalar<[](uint64_t a, uint32_t b) { return nonZero(field(a, b)); }>},
    {"S_BFE_I64", scalar<[](int64_t a, uint32_t b) { return nonZero(field(a, b)); }>},
    {"S_LSHL1_ADD_U32", scalar<[](uint32_t a, uint32_t b) { return shiftAdd<1>(a, b); }>},
    {"S_LSHL2_ADD_U32", scalar<[](uint32_t a, uint32_t b) { return shiftAdd<2>(a, b); }>},
    {"S_LSHL3_ADD_U32", scalar<[](uint32_t a, uint32_t b) { return shiftAdd<3>(a, b); }>},
    {"S_LSHL4_ADD_U32", scalar<[](uint32_t a, uint32_t b) { return shiftAdd<4>(a, b); }>},
    {"S_PACK_LL_B32_B16", scalar<[](uint32_t a, uint32_t b) { return (a & 0xffff) | b << 16; }>},
    {"S_PACK_LH_B32_B16",
     scalar<[](uint32_t a, uint32_t b) { return (a & 0xffff) | (b & 0xffff0000); }>},
    {"S_PACK_HL_B32_B16", scalar<[](uint32_t a, uint32_t b) { return a >> 16 | b << 16; }>},
    {"S_PACK_HH_B32_B16",
     scalar<[](uint32_t a, uint32_t b) { return a >> 16 | (b & 0xffff0000); }>},
    // SOP1
    {"S_MOV_B32", scalar<[](uint32_t a) { return a; }>},
    {"S_MOV_B64", scalar<[](uint64_t a) { return a; }>},
    {"S_CMOV_B32",
     scalar<[](uint32_t a, Scc scc, Old<uint32_t> old) { return scc.value ? a : old.value; }>},
    {"S_CMOV_B64",
     scalar<[](uint64_t a, Scc scc, Old<uint64_t> old) { return scc.value ? a : old.value; }>},
    {"S_NOT_B32", scalar<[](uint32_t a) { return nonZero(~a); }>},
    {"S_NOT_B64", scalar<[](uint64_t a) { return nonZero(~a); }>},
    {"S_WQM_B32", scalar<[](uint32_t a) { return nonZero(wholeQuad(a)); }>},
    {"S_WQM_B64", scalar<[](uint64_t a) { return nonZero(wholeQuad(a)); }>},
    {"S_QUADMASK_B32", scalar<[](uint32_t a) { return nonZero(quadMask(a)); }>},
    {"S_QUADMASK_B64", scalar<[](uint64_t a) { return nonZero(quadMask(a)); }>},
    {"S_BREV_B32", scalar<[](uint32_t a) { return reverse(a); }>},
    {"S_BREV_B64", scalar<[](uint64_t a) { return reverse(a); }>},
    {"S_BCNT0_I32_B32", scalar<[](uint32_t a) { return nonZero(uint32_t(std::popcount(~a))); }>},
    {"S_BCNT0_I32_B64", scalar<[](uint64_t a) { return nonZero(uint32_t(std::popcount(~a))); }>},
    {"S_BCNT1_I32_B32", scalar<[](uint32_t a) { return nonZero(uint32_t(std::popcount(a))); }>},
    {"S_BCNT1_I32_B64", scalar<[](uint64_t a) { return nonZero(uint32_t(std::popcount(a))); }>},
    {"S_FF0_I32_B32", scalar<[](uint32_t a) { return firstSet(~a); }>},
    {"S_FF0_I32_B64", scalar<[](uint64_t a) { return firstSet(~a); }>},
    {"S_FF1_I32_B32", scalar<[](uint32_t a) { return firstSet(a); }>},
    {"S_FF1_I32_B64", scalar<[](uint64_t a) { return firstSet(a); }>},
    {"S_FLBIT_I32_B32", scalar<[](uint32_t a) { return leadingZeros(a); }>},
    {"S_FLBIT_I32_B64", scalar<[](uint64_t a) { return leadingZeros(a); }>},
    {"S_FLBIT_I32", scalar<[](uint32_t a) { return leadingSigns(a); }>},
    {"S_FLBIT_I32_I64", scalar<[](uint64_t a) { return leadingSigns(a); }>},
    {"S_SEXT_I32_I8", scalar<[](uint32_t a) { return uint32_t(int8_t(a)); }>},
    {"S_SEXT_I32_I16", scalar<[](uint32_t a) { return uint32_t(int16_t(a)); }>},
    {"S_BITSET0_B32",
     scalar<[](uint32_t a, Old<uint32_t> old) { return old.value & ~(1u << (a & 31)); }>},
    {"S_BITSET0_B64",
     scalar<[](uint32_t a, Old<uint64_t> old) { return old.value & ~(uint64_t(1) << (a & 63)); }>},
    {"S_BITSET1_B32",
     scalar<[](uint32_t a, Old<uint32_t> old) { return old.value | 1u << (a & 31); }>},
    {"S_BITSET1_B64",
     scalar<[](uint32_t a, Old<uint64_t> old) { return old.value | uint64_t(1) << (a & 63); }>},
    {"S_BITREPLICATE_B64_B32", scalar<[](uint32_t a) {
       uint64_t result = 0;
       for (unsigned i = 0; i < 32; ++i)
         result |= uint64_t(a >> i & 1) * 3 << (2 * i);
       return result;
     }>},
    {"S_ABS_I32", scalar<[](uint32_t a) { return nonZero(int32_t(a) < 0 ? 0 - a : a); }>},
    {"S_MOVRELS_B32", scalar<[](Wave &w, const MicroOp &op) { return readRelative(w, op, 0); }>},
    {"S_MOVRELS_B64", scalar<[](Wave &w, const MicroOp &op) {
       return uint64_t(readRelative(w, op, 1)) << 32 | readRelative(w, op, 0);
     }>},
    {"S_MOVRELD_B32",
     scalar<[](Wave &w, const MicroOp &op, uint32_t a) { writeRelative(w, op, 0, a); }>},
    {"S_MOVRELD_B64", scalar<[](Wave &w, const MicroOp &op, uint64_t a) {
       writeRelative(w, op, 0, uint32_t(a));
       writeRelative(w, op, 1, uint32_t(a >> 32));
     }>},
    {"S_MOVRELSD_2_B32", scalar<[](Wave &w, const MicroOp &op) {
       // M0 holds two offsets: 9:0 of the source, 25:16 of the destination.
       const uint32_t offsets = w.scalars[kM0];
       const uint64_t from = op.source[0] + (offsets & 0x3ff),
                      to = uint64_t(op.result) + (offsets >> 16 & 0x3ff);
       const bool inFile = op.kind[0] == OperandKind::Scalar && from < kVcc;
       if (to < kVcc)
         w.scalars[to] = inFile ? w.scalars[from] : 0;
     }>},
    {"S_AND_SAVEEXEC_B32", saveExec<kAnd, uint32_t>},
    {"S_AND_SAVEEXEC_B64", saveExec<kAnd, uint64_t>},
    {"S_OR_SAVEEXEC_B32", saveExec<kOr, uint32_t>},
    {"S_OR_SAVEEXEC_B64", saveExec<kOr, uint64_t>},
    {"S_XOR_SAVEEXEC_B32", saveExec<kXor, uint32_t>},
    {"S_XOR_SAVEEXEC_B64", saveExec<kXor, uint64_t>},
    {"S_ANDN2_SAVEEXEC_B32", saveExec<kAndNot2, uint32_t>},
    {"S_ANDN2_SAVEEXEC_B64", saveExec<kAndNot2, uint64_t>},
    {"S_ANDN1_SAVEEXEC_B32", saveExec<kAndNot1, uint32_t>},
    {"S_ANDN1_SAVEEXEC_B64", saveExec<kAndNot1, uint64_t>},
    {"S_ORN2_SAVEEXEC_B32", saveExec<kOrNot2, uint32_t>},
    {"S_ORN2_SAVEEXEC_B64", saveExec<kOrNot2, uint64_t>},
    {"S_ORN1_SAVEEXEC_B32", saveExec<kOrNot1, uint32_t>},
    {"S_ORN1_SAVEEXEC_B64", saveExec<kOrNot1, uint64_t>},
    {"S_NAND_SAVEEXEC_B32", saveExec<kNand, uint32_t>},
    {"S_NAND_SAVEEXEC_B64", saveExec<kNand, uint64_t>},
    {"S_NOR_SAVEEXEC_B32", saveExec<kNor, uint32_t>},
    {"S_NOR_SAVEEXEC_B64", saveExec<kNor, uint64_t>},
    {"S_XNOR_SAVEEXEC_B32", saveExec<kXnor, uint32_t>},
    {"S_XNOR_SAVEEXEC_B64", saveExec<kXnor, uint64_t>},
    {"S_ANDN1_WREXEC_B32", writeExec<kAndNot1, uint32_t>},
    {"S_ANDN1_WREXEC_B64", writeExec<kAndNot1, uint64_t>},
    {"S_ANDN2_WREXEC_B32", writeExec<kAndNot2, uint32_t>},
    {"S_ANDN2_WREXEC_B64", writeExec<kAndNot2, uint64_t>},
    // SOPC, SOPK
    {"S_CMP_EQ_I32", scalar<[](uint32_t a, uint32_t b) { return SccOnly{a == b}; }>},
    {"S_CMP_LG_I32", scalar<[](uint32_t a, uint32_t b) { return SccOnly{a != b}; }>},
    {"S_CMP_GT_I32", scalar<[](int32_t a, int32_t b) { return SccOnly{a > b}; }>},
    {"S_CMP_GE_I32", scalar<[](int32_t a, int32_t b) { return SccOnly{a >= b}; }>},
    {"S_CMP_LT_I32", scalar<[](int32_t a, int32_t b) { return SccOnly{a < b}; }>},
    {"S_CMP_LE_I32", scalar<[](int32_t a, int32_t b) { return SccOnly{a <= b}; }>},
    {"S_CMP_EQ_U32", scalar<[](uint32_t a, uint32_t b) { return SccOnly{a == b}; }>},
    {"S_CMP_LG_U32", scalar<[](uint32_t a, uint32_t b) { return SccOnly{a != b}; }>},
    {"S_CMP_GT_U32", scalar<[](uint32_t a, uint32_t b) { return SccOnly{a > b}; }>},
    {"S_CMP_GE_U32", scalar<[](uint32_t a, uint32_t b) { return SccOnly{a >= b}; }>},
    {"S_CMP_LT_U32", scalar<[](uint32_t a, uint32_t b) { return SccOnly{a < b}; }>},
    {"S_CMP_LE_U32", scalar<[](uint32_t a, uint32_t b) { return SccOnly{a <= b}; }>},
    {"S_CMP_EQ_U64", scalar<[](uint64_t a, uint64_t b) { return SccOnly{a == b}; }>},
    {"S_CMP_LG_U64", scalar<[](uint64_t a, uint64_t b) { return SccOnly{a != b}; }>},
    {"S_BITCMP0_B32",
     scalar<[](uint32_t a, uint32_t b) { return SccOnly{(a >> (b & 31) & 1) == 0}; }>},
    {"S_BITCMP1_B32",
     scalar<[](uint32_t a, uint32_t b) { return SccOnly{(a >> (b & 31) & 1) == 1}; }>},
    {"S_BITCMP0_B64",
     scalar<[](uint64_t a, uint32_t b) { return SccOnly{(a >> (b & 63) & 1) == 0}; }>},
    {"S_BITCMP1_B64",
     scalar<[](uint64_t a, uint32_t b) { return SccOnly{(a >> (b & 63) & 1) == 1}; }>},
    {"S_MOVK_I32", scalar<[](uint32_t k) { return k; }>},
    {"S_CMOVK_I32",
     scalar<[](uint32_t k, Scc scc, Old<uint32_t> old) { return scc.value ? k : old.value; }>},
    {"S_ADDK_I32", scalar<[](uint32_t k, Old<uint32_t> old) { return addSigned(old.value, k); }>},
    {"S_MULK_I32", scalar<[](uint32_t k, Old<uint32_t> old) { return old.value * k; }>},
    {"S_CMPK_EQ_I32", scalar<[](uint32_t a, uint32_t k) { return SccOnly{a == k}; }>},
    {"S_CMPK_LG_I32", scalar<[](uint32_t a, uint32_t k) { return SccOnly{a != k}; }>},
    {"S_CMPK_GT_I32", scalar<[](int32_t a, int32_t k) { return SccOnly{a > k}; }>},
    {"S_CMPK_GE_I32", scalar<[](int32_t a, int32_t k) { return SccOnly{a >= k}; }>},
    {"S_CMPK_LT_I32", scalar<[](int32_t a, int32_t k) { return SccOnly{a < k}; }>},
    {"S_CMPK_LE_I32", scalar<[](int32_t a, int32_t k) { return SccOnly{a <= k}; }>},
    {"S_CMPK_EQ_U32", scalar<[](uint32_t a, uint32_t k) { return SccOnly{a == k}; }>},
    {"S_CMPK_LG_U32", scalar<[](uint32_t a, uint32_t k) { return SccOnly{a != k}; }>},
    {"S_CMPK_GT_U32", scalar<[](uint32_t a, uint32_t k) { return SccOnly{a > k}; }>},
    {"S_CMPK_GE_U32", scalar<[](uint32_t a, uint32_t k) { return SccOnly{a >= k}; }>},
    {"S_CMPK_LT_U32", scalar<[](uint32_t a, uint32_t k) { return SccOnly{a < k}; }>},
    {"S_CMPK_LE_U32", scalar<[](uint32_t a, uint32_t k) { return SccOnly{a <= k}; }>},
};

} // namespace

const ScalarTable kScalarAlu = table(kRows);

} // namespace rubia::emulator
