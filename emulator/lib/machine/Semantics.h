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
// A new file VectorAlu<Family>.cpp ends with `const SemanticsTable kVectorAlu<Family> =
// table(kRows);` in namespace rubia::emulator::RUBIA_ISA, and gets one line in VectorAluTables.def.
// CMake finds the file by its name.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#ifndef RUBIA_ISA
#define RUBIA_ISA baseline
#endif

namespace rubia::emulator {

/// Lanes that a kernel function handles at once: a wave32 is one block, a wave64 two.
constexpr unsigned kBlockLanes = 32;

/// The MODE register's fields (RDNA3 ISA "MODE register").
struct FloatMode {
  uint8_t round32 = 0; // 0 nearest even, 1 +inf, 2 -inf, 3 zero
  uint8_t round16And64 = 0;
  bool flushSource32 = false, flushResult32 = false;
  bool flushSource16And64 = false, flushResult16And64 = false;
  bool ieee = false;
  bool dx10Clamp = false;
  bool fp16Overflow = false; // clamp f16 overflow to 65504 instead of infinity
};

struct LaneId {
  uint32_t value;
};
struct Saturate {
  bool on;
};
struct Immediate {
  uint32_t value;
};
struct Signs {
  uint32_t bits; // bit i: source i is signed
  bool operator[](unsigned source) const { return bits >> source & 1; }
};

template <class T> struct Carry {
  T value;
  bool carry;
};

template <class T> struct Pair {
  T lo, hi;
};

/// What an operand holds, as the machinery around a kernel must know it.
enum class Element : uint8_t {
  None,
  B8,
  B16,
  F16,
  Bf16,
  B32,
  F32,
  B64,
  F64,
  PackedB16,
  PackedF16,
  PackedBf16,
  PackedB32,
  PackedF32,
  Registers,
  Mask
};

constexpr bool isHalf(Element e) {
  return e == Element::B16 || e == Element::F16 || e == Element::Bf16;
}
constexpr bool isPackedHalf(Element e) {
  return e == Element::PackedB16 || e == Element::PackedF16 || e == Element::PackedBf16;
}
constexpr bool isPackedSingle(Element e) {
  return e == Element::PackedB32 || e == Element::PackedF32;
}
constexpr bool isFloat(Element e) {
  return e == Element::F16 || e == Element::Bf16 || e == Element::F32 || e == Element::F64 ||
         e == Element::PackedF16 || e == Element::PackedBf16 || e == Element::PackedF32;
}

struct Shape {
  Element result = Element::None;
  Element sources[4] = {};
  uint8_t sourceCount = 0; // without the mask operand
  uint8_t resultRegisters = 0;
  uint8_t sourceRegisters[4] = {};
  bool carryIn = false;  // has a mask operand
  bool carryOut = false; // writes a mask
  bool takesSaturate = false;
  bool takesSigns = false;
};

/// What a kernel function gets besides the registers.
struct LaneState {
  FloatMode mode;
  uint32_t carryIn = 0;  // bits of the mask operand
  uint32_t carryOut = 0; // written by the kernel, for all 32 lanes whether active or not
  uint32_t active = ~0u; // the lanes whose results will be used
  uint32_t firstLane = 0;
  uint32_t signs = 0;
  uint32_t immediate = 0;
  bool saturate = false;
};

/// Computes all 32 lanes of a block. A register is 32 consecutive dwords; the next one of a wider
/// operand follows it. `result` may be the same registers as a source.
using LaneKernel = void (*)(uint32_t *result, const uint32_t *a, const uint32_t *b,
                            const uint32_t *c, LaneState &state);

/// What a matrix instruction has besides its sources and their modifiers.
struct MatrixControl {
  uint8_t cbsz = 0, abid = 0, blgp = 0; // gfx9
  uint8_t indexKey = 0;                 // V_SWMMAC_*: which set of indices
  bool packedHalves = false;            // gfx12's layouts: nothing repeated, 16-bit results packed
  bool fnuz = false;                    // gfx942's FP8 and BF8
  bool flush16 = false;                 // gfx90a's denormals of F16 and BF16
};

/// The operands of an instruction that is not lanewise. Lanes are numbered within the wave.
class WaveOperands {
public:
  unsigned laneCount() const; // the wave size
  uint64_t exec() const;
  bool active(unsigned lane) const { return exec() >> lane & 1; }
  /// The lowest active lane, or 0 if EXEC is 0, as V_READFIRSTLANE_B32 does.
  unsigned firstActiveLane() const;
  unsigned sourceCount() const;
  /// Whether source `i` is a vector register; else all lanes and all dwords of an operand see one
  /// scalar or constant.
  bool sourceIsVector(unsigned i) const;
  /// Register `dword` of source `i` in a lane; the same in all lanes if the source is scalar. Lane
  /// numbers wrap.
  uint32_t source(unsigned i, unsigned lane, unsigned dword = 0) const;
  /// The modifier immediate of source `i` (neg 1, abs or neg_hi 2, op_sel 4, op_sel_hi 8); nothing
  /// is applied to sources.
  uint32_t modifiers(unsigned i) const;
  /// An immediate operand after the sources by LLVM's name for it: clamp, ...; 0 if absent.
  bool clamp() const;
  const MatrixControl &matrix() const;
  /// Whether sums of unspecified order are to be taken in the other order
  /// (RUBIA_EMULATOR_TRANS=worst).
  bool reversesSums() const;
  /// The operands bound_ctrl and fi (V_PERMLANE32_SWAP_B32).
  bool boundControl() const;
  bool fetchInactive() const;
  const FloatMode &mode() const;
  uint32_t m0() const;
  uint64_t vcc() const;
  /// Writes a lane of the destination whether it is active or not; callers check active().
  void setResult(unsigned lane, uint32_t value, unsigned dword = 0);
  uint32_t result(unsigned lane, unsigned dword = 0) const; // the destination's present contents
  /// Writes the scalar destination (one SGPR).
  void setScalarResult(uint32_t value);
  /// Writes a lane of a vector source (V_SWAP_B32).
  void setSource(unsigned i, unsigned lane, uint32_t value, unsigned dword = 0);
  /// Relative addressing (V_MOVRELS_B32): the vector source or destination `offset` registers
  /// further on. Out of the allocated range is a fault of the wave, and reads 0.
  uint32_t sourceRelative(unsigned i, unsigned lane, uint32_t offset) const;
  uint32_t resultRelative(unsigned lane, uint32_t offset) const;
  void setSourceRelative(unsigned i, unsigned lane, uint32_t offset, uint32_t value);
  void setResultRelative(unsigned lane, uint32_t offset, uint32_t value);

private:
  uint32_t *relative(uint64_t registerOffset, unsigned lane, uint32_t offset) const;
  friend struct WaveOperandsAccess;
  WaveOperands() = default;
  struct Wave *wave = nullptr;
  const struct MicroOp *op = nullptr;
};
using WaveFunction = void (*)(WaveOperands &);

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

/// How far the hardware's result may be from the emulator's, which is correctly rounded.
enum class Exactness : uint8_t { Exact, WithinUlp, Approximation, UnorderedSum };
constexpr Exactness exactnessOf(uint32_t semanticsFlags) {
  return semanticsFlags & kApproximation  ? Exactness::Approximation
         : semanticsFlags & kWithinUlp    ? Exactness::WithinUlp
         : semanticsFlags & kUnorderedSum ? Exactness::UnorderedSum
                                          : Exactness::Exact;
}

struct Wave;
struct MicroOp;
/// The handlers of a row that is `hot`, by where its sources are (Fused.h).
struct FusedHandlers {
  struct Pair {
    void (*byBlocks[2])(Wave &, const MicroOp &) = {}; // wave32, wave64
  };
  Pair byUniform[8]; // bit i of the index: source i is a scalar register or a constant
  Pair any;          // any way, with neg and abs
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

#include "emulator/lib/machine/Lanewise.h"
