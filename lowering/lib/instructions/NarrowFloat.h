// SPDX-License-Identifier: Apache-2.0
// Floating-point formats of at most 19 bits, of which LLVM has types for two at best: a row of a
// table says what a format is, and one routine each way converts between f32 and the bits of any of
// them, in integer arithmetic that no mode of the hardware changes.
// PTX ISA: alternate-floating-point-data-formats; IEEE 754-2019 section 3.4; OCP "OFP8" and "MX".
#pragma once

#include "lowering/lib/frame/FloatingPoint.h"

namespace rubia::lowering {

struct NarrowFormat {
  unsigned bits;     // of a code, the sign included
  unsigned fraction; // bits of the significand without the hidden one
  int minExponent;   // of the smallest normal number
  uint32_t largest;  // code of the largest finite number
  uint32_t infinity; // code, 0: there is none
  uint32_t nan;      // what NVIDIA's GPUs make of NaN; `largest` where the format has no NaN

  /// The exponents of f32; then a code is the upper part of an f32.
  bool hasF32Range() const { return minExponent == -126; }
};

inline constexpr NarrowFormat kF16{16, 10, -14, 0x7bff, 0x7c00, 0x7fff};
inline constexpr NarrowFormat kBf16{16, 7, -126, 0x7f7f, 0x7f80, 0x7fff};
inline constexpr NarrowFormat kTf32{19, 10, -126, 0x3fbff, 0x3fc00, 0x3ffff};
inline constexpr NarrowFormat kE4m3{8, 3, -6, 0x7e, 0, 0x7f};
inline constexpr NarrowFormat kE5m2{8, 2, -14, 0x7b, 0x7c, 0x7f};
inline constexpr NarrowFormat kE2m3{6, 3, 0, 0x1f, 0, 0x1f};
inline constexpr NarrowFormat kE3m2{6, 2, -2, 0x1f, 0, 0x1f};
inline constexpr NarrowFormat kE2m1{4, 1, 0, 0x7, 0, 0x7};

struct NarrowRule {
  Rounding rounding = Rounding::NearestEven;
  bool relu = false;      // negative numbers and -0 become +0
  bool satfinite = false; // the largest number instead of what is beyond it
  /// .rs: these bits (an i32) are a fraction of the unit in the last place that is added before
  /// truncation; then `rounding` does not count.
  llvm::Value *random = nullptr;
  unsigned randomBits = 0;
};

/// The code of an f32 value, an i32. Beyond the f32 range of exponents only NearestEven and
/// `random` are there, and NearestEven only with satfinite.
llvm::Value *encodeNarrow(FunctionLowering &fn, const NarrowFormat &format, llvm::Value *value,
                          const NarrowRule &rule);

/// The halves that two codes of at most 8 bits stand for. `codes` is a <2 x i16>, the result too.
llvm::Value *decodeToHalves(FunctionLowering &fn, const NarrowFormat &format, llvm::Value *codes,
                            bool relu);

/// An f32 with negative numbers and -0 made +0, whatever the denormal mode; NaN stays.
llvm::Value *reluF32(FunctionLowering &fn, llvm::Value *value);

/// A code of the format with infinity made the largest number, of the same sign.
llvm::Value *infinityToLargest(llvm::IRBuilder<> &b, const NarrowFormat &format, llvm::Value *code);

} // namespace rubia::lowering
