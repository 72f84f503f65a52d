// SPDX-License-Identifier: Apache-2.0
// What one lane of a vector instruction is computed from and with: types without any code of an
// instruction, which a wave and a decoded instruction hold. Semantics.h tells how rows use them.
#pragma once

#include <cstdint>

#ifndef RUBIA_ISA
#define RUBIA_ISA baseline
#endif

namespace rubia::emulator {

struct Wave;
struct MicroOp;
class WaveOperands;

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

/// How far the hardware's result may be from the emulator's, which is correctly rounded.
enum class Exactness : uint8_t { Exact, WithinUlp, Approximation, UnorderedSum };

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

/// Executes an instruction that looks across lanes (WaveOperands.h).
using WaveFunction = void (*)(WaveOperands &);

/// What a matrix instruction has besides its sources and their modifiers.
struct MatrixControl {
  uint8_t cbsz = 0, abid = 0, blgp = 0; // gfx9
  uint8_t indexKey = 0;                 // V_SWMMAC_*: which set of indices
  bool packedHalves = false;            // gfx12's layouts: nothing repeated, 16-bit results packed
  bool fnuz = false;                    // gfx942's FP8 and BF8
  bool flush16 = false;                 // gfx90a's denormals of F16 and BF16
};

} // namespace rubia::emulator
