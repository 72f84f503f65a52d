// SPDX-License-Identifier: Apache-2.0
// Element formats of the matrix instructions, decoded for a run of lanes at once: N neighbouring
// lanes hold the same elements of N neighbouring rows or columns.
#pragma once

#include "emulator/lib/machine/SmallFloat.h"

namespace rubia::emulator {
namespace RUBIA_ISA {

enum class MatrixFormat : uint8_t {
  F64,
  F32,
  Xf32, // F32 whose low 13 bits are ignored (assumed; CDNA3 ISA gives it 10 fraction bits)
  F16,
  Bf16,
  Fp8,
  Bf8,
  Fp6,
  Bf6,
  Fp4,
  I8,
  Iu8, // the neg bit of a source says that it is signed
  Iu4,
  Selected, // CBSZ for A and BLGP for B choose one of Fp8, Bf8, Fp6, Bf6, Fp4
};

constexpr unsigned bitsOf(MatrixFormat format) {
  switch (format) {
  case MatrixFormat::F64:
    return 64;
  case MatrixFormat::F32:
  case MatrixFormat::Xf32:
    return 32;
  case MatrixFormat::F16:
  case MatrixFormat::Bf16:
    return 16;
  case MatrixFormat::Fp8:
  case MatrixFormat::Bf8:
  case MatrixFormat::I8:
  case MatrixFormat::Iu8:
  case MatrixFormat::Selected:
    return 8;
  case MatrixFormat::Fp6:
  case MatrixFormat::Bf6:
    return 6;
  case MatrixFormat::Fp4:
  case MatrixFormat::Iu4:
    return 4;
  }
  return 0;
}

/// One bit of an input's modifiers changes what all its elements are.
struct InputReading {
  MatrixFormat format;
  bool isSigned = false;   // Iu8, Iu4
  bool negateEven = false; // elements of even number in a lane
  bool negateOdd = false;
  bool fnuz = false;
  bool flush =
      false; // denormals of F32 are zeros of their sign, those of F16 and Bf16 +0, as is -0

  /// The exponent of the least normal number, which denormals have too.
  constexpr int leastExponent() const {
    switch (format) {
    case MatrixFormat::F16:
      return -14;
    case MatrixFormat::Fp8:
      return fnuz ? -7 : -6;
    case MatrixFormat::Bf8:
      return fnuz ? -15 : -14;
    case MatrixFormat::F64:
    case MatrixFormat::F32:
    case MatrixFormat::Xf32:
    case MatrixFormat::Bf16:
    case MatrixFormat::Fp6:
    case MatrixFormat::Bf6:
    case MatrixFormat::Fp4:
    case MatrixFormat::I8:
    case MatrixFormat::Iu8:
    case MatrixFormat::Iu4:
    case MatrixFormat::Selected:
      break;
    }
    return -126;
  }
};

/// Vectors of N numbers.
template <unsigned N> struct Run {
  using Float = float __attribute__((vector_size(4 * N)));
  using Int = int32_t __attribute__((vector_size(4 * N)));
  using Word = uint32_t __attribute__((vector_size(4 * N)));
  using Double = double __attribute__((vector_size(8 * N)));
  using HalfWord = uint16_t __attribute__((vector_size(2 * N)));
  using Half16 = _Float16 __attribute__((vector_size(2 * N)));
};

template <class V, class T> [[gnu::always_inline]] inline V loadRun(const T *from) {
  V value;
  std::memcpy(&value, from, sizeof value);
  return value;
}
template <class V, class T> [[gnu::always_inline]] inline void storeRun(T *to, V value) {
  std::memcpy(to, &value, sizeof value);
}

/// A number in all lanes; its difference to 0 is itself, while a sum of it and 0 would be made.
template <class V, class T> [[gnu::always_inline]] inline V splat(T value) { return value - V{}; }

/// All codes of a format up to 8 bits.
template <SmallFormat kFormat> struct SmallValues {
  float at[1u << kFormat.width()];
  constexpr SmallValues() : at() {
    for (unsigned code = 0; code < 1u << kFormat.width(); ++code)
      at[code] = decodeSmall(kFormat, code);
  }
};
template <SmallFormat kFormat> constexpr SmallValues<kFormat> kSmallValues;

/// +0 in place of a number below `smallest`.
template <unsigned N>
[[gnu::always_inline]] inline Run<N>::Float flushedRun(typename Run<N>::Float value,
                                                       float smallest) {
  using R = Run<N>;
  const auto magnitude = std::bit_cast<typename R::Float>(
      std::bit_cast<typename R::Word>(value) & typename R::Word(typename R::Word{} + 0x7fffffffu));
  return magnitude < smallest ? typename R::Float{} : value;
}

/// Zero of the same sign in place of a denormal of F32.
template <unsigned N>
[[gnu::always_inline]] inline Run<N>::Word normalWord(typename Run<N>::Word word) {
  return (word & 0x7f800000u) == 0 ? word & 0x80000000u : word;
}

template <unsigned N>
[[gnu::always_inline]] inline Run<N>::Float lookUp(const float *table,
                                                   typename Run<N>::Word codes) {
  alignas(64) uint32_t at[N];
  alignas(64) float found[N];
  storeRun(at, codes);
  for (unsigned i = 0; i < N; ++i)
    found[i] = table[at[i]];
  return loadRun<typename Run<N>::Float>(found);
}

/// Values of any format but F64; `codes` have no bits above the format's.
template <unsigned N, MatrixFormat kFormat>
[[gnu::always_inline]] inline Run<N>::Float decodeRun(const InputReading &reading,
                                                      typename Run<N>::Word codes) {
  using R = Run<N>;
  using Float = R::Float;
  using enum MatrixFormat;
  if constexpr (kFormat == F32) {
    return std::bit_cast<Float>(reading.flush ? normalWord<N>(codes) : codes);
  } else if constexpr (kFormat == Xf32) {
    return std::bit_cast<Float>(codes & 0xffffe000u);
  } else if constexpr (kFormat == F16) {
    const auto halves = __builtin_convertvector(codes, typename R::HalfWord);
    const Float value = __builtin_convertvector(std::bit_cast<typename R::Half16>(halves), Float);
    return reading.flush ? flushedRun<N>(value, 0x1p-14f) : value;
  } else if constexpr (kFormat == Bf16) {
    const Float value = std::bit_cast<Float>(codes << 16);
    return reading.flush ? flushedRun<N>(value, 0x1p-126f) : value;
  } else if constexpr (kFormat == Fp8) {
    return lookUp<N>(reading.fnuz ? kSmallValues<kE4m3Fnuz>.at : kSmallValues<kE4m3>.at, codes);
  } else if constexpr (kFormat == Bf8) {
    return lookUp<N>(reading.fnuz ? kSmallValues<kE5m2Fnuz>.at : kSmallValues<kE5m2>.at, codes);
  } else if constexpr (kFormat == Fp6) {
    return lookUp<N>(kSmallValues<kE2m3>.at, codes);
  } else if constexpr (kFormat == Bf6) {
    return lookUp<N>(kSmallValues<kE3m2>.at, codes);
  } else if constexpr (kFormat == Fp4) {
    return lookUp<N>(kSmallValues<kE2m1>.at, codes);
  } else {
    static_assert(kFormat == I8 || kFormat == Iu8 || kFormat == Iu4);
    constexpr unsigned kUnused = 32 - bitsOf(kFormat);
    const auto value = std::bit_cast<typename R::Int>(codes);
    const auto extended = std::bit_cast<typename R::Int>(codes << kUnused) >> int(kUnused);
    return __builtin_convertvector(kFormat == I8 || reading.isSigned ? extended : value, Float);
  }
}

} // namespace RUBIA_ISA
} // namespace rubia::emulator
