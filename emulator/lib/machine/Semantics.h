// SPDX-License-Identifier: Apache-2.0
// What a vector instruction means, written once per instruction as one row of a table.
//
//   constexpr Semantics kRows[] = {
//       {"V_ADD_F32", lanewise<[](float a, float b) { return a + b; }>},
//   };
//
// The key is LLVM's pseudo name of the instruction without its encoding (no _e32, _e64, _dpp,
// _sdwa, _t16, _gfx11): V_ADD_U32 is the instruction that gfx11 prints as v_add_nc_u32. V_CMPX_*
// needs no row: it is V_CMP_* with EXEC as the destination. The halves of a VOPD pair are the rows
// of the single instructions.
//
// How to add a row. The lambda sees one lane. Its parameters are the source operands in the order
// of LLVM's MCInst (V_FMAMK_F32: a, k, b; V_FMAC_F32: a, b, d), its result is the destination, and
// the types say what they hold:
//   float, uint32_t, int32_t           one register
//   double, uint64_t, int64_t          two registers
//   Half, Bfloat, uint16_t, int16_t    16 bits; op_sel and .l/.h choose the half, the other half of
//   the result is kept
//   uint8_t                            8 bits; op_sel, byte_sel or SDWA choose the byte, the others
//   of the result are kept
//   Pair<T> of a 16-bit T              one register; op_sel, op_sel_hi, neg_lo, neg_hi are already
//   applied
//   Pair<T> of a 32-bit T              two registers (V_PK_FMA_F32)
//   std::array<uint32_t, N>            N registers
//   bool (source)                      this lane's bit of a mask: the last mask operand, or VCC
//   where it is implicit
//   bool (result)                      this lane's bit of the mask result (compares)
//   Carry<T> (result)                  a value and a bit of the mask result (V_ADD_CO_U32,
//   V_DIV_SCALE_F32)
// Parameters that are not operands, in any position:
//   const FloatMode &                  rounding and denormal mode, IEEE, DX10_CLAMP
//   LaneId                             the lane's number in the wave
//   Saturate                           whether the integer clamp bit is set. An integer instruction
//   without this parameter
//                                      is refused when its clamp bit is set; clamp of a float
//                                      result needs nothing
//   Signs                              the neg bits where they mean "source i is signed"
//   (V_DOT4_I32_IU8): they are then not
//                                      applied to the sources
//   Immediate                          an immediate operand beside the sources (V_BITOP3_B32)
// Done around the lambda, once for all rows: EXEC, neg and abs (the sign bit of the source's type,
// also for uint32_t as in V_CNDMASK_B32), op_sel, SDWA, DPP, DPP8, clamp and omod of float results,
// flushing of denormal sources and results of the types float, double, Half according to MODE, and
// the rounding mode (MXCSR holds it while the lambda runs: + - * / std::sqrt, std::fma, std::rint
// and the conversion double -> float obey it; Half(float) too). Flags of a row change that.
//
// Rules for lambdas: pure, no branches that the vectoriser cannot turn into selects where speed
// matters, no undefined behaviour for any bits in any lane (inactive lanes are computed too and
// then dropped), no float -> int cast without a range check. These files are compiled with
// -ffp-contract=off -fno-math-errno, once for plain x86-64 and once for AVX2.
//
// An instruction that looks across lanes is a function on the wave's operands:
//   void readFirstLane(WaveOperands &w) { w.setScalarResult(w.source(0, w.firstActiveLane())); }
//   {"V_READFIRSTLANE_B32", wavewise<readFirstLane>},
//
// A row whose name ends in _FNUZ takes the place of the one without on processors whose FP8 and BF8
// have neither infinities nor a negative zero (gfx942), one in _MI200 on gfx90a, one in _RDNA3 on
// gfx11.
//
// A file of rows includes Lanewise.h or Fused.h. Few others need this header: what a wave and a
// decoded instruction hold is in LaneTypes.h.
//
// A new file VectorAlu<Family>.cpp ends with `const SemanticsTable kVectorAlu<Family> =
// table(kRows);` in namespace rubia::emulator::RUBIA_ISA, and gets one line in VectorAluTables.def.
// CMake finds the file by its name.
#pragma once

#include "emulator/lib/machine/LaneTypes.h"
#include <cstddef>

namespace rubia::emulator {

enum SemanticsFlags : uint32_t {
  kKeepSourceDenormals = 1, // sources are not flushed (moves, V_CMP_CLASS, V_FREXP_*)
  kKeepResultDenormals = 2,
  kKeepDenormals = 3,
  kMixedSources =
      4, // V_FMA_MIX*: op_sel_hi says that a float source is f16, op_sel which half, neg_hi is abs
  kResultHigh = 8,      // V_FMA_MIXHI_F16: a 16-bit result goes to the high half
  kKeepsHigh = 16,      // a 16-bit result leaves the other half alone on gfx9 too
  kRoundNearest = 32,   // to nearest even, whatever MODE says
  kWithinUlp = 64,      // the manuals bound the error by one unit in the last place
  kApproximation = 128, // the manuals bound it by 2^29 units (f64)
  kUnorderedSum = 256,  // no manual fixes the order and the roundings of its sum
  kExactInfinity = 512, // an infinite f16 result is no overflow (1 / 0), so FP16_OVFL keeps it
};

/// See Exactness.
constexpr Exactness exactnessOf(uint32_t semanticsFlags) {
  return semanticsFlags & kApproximation  ? Exactness::Approximation
         : semanticsFlags & kWithinUlp    ? Exactness::WithinUlp
         : semanticsFlags & kUnorderedSum ? Exactness::UnorderedSum
                                          : Exactness::Exact;
}

/// The handlers of a row that is `hot`, by where its sources are (Fused.h).
struct FusedHandlers {
  using Handler = void (*)(Wave &, const MicroOp &);
  Handler byUniform[8] = {}; // bit i of the index: source i is a scalar register or a constant
  Handler any = nullptr;     // any way, with neg and abs
};

struct Operation {
  LaneKernel kernel = nullptr; // lanewise
  WaveFunction function = nullptr;
  Shape shape;
  uint8_t blocks = 1;                   // V_MFMA_*: that CBSZ may broadcast to
  const FusedHandlers *fused = nullptr; // of rows that are `hot`
};

struct Semantics {
  const char *name;
  Operation operation;
  uint32_t flags = 0;
};

struct SemanticsTable {
  const Semantics *rows = nullptr;
  size_t count = 0;
};
template <size_t N> constexpr SemanticsTable table(const Semantics (&rows)[N]) { return {rows, N}; }

} // namespace rubia::emulator
