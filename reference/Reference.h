// SPDX-License-Identifier: Apache-2.0
// What a scalar PTX instruction computes, in exact arithmetic: slow, obvious, and written from the
// PTX manual and measurements alone, so that it can judge the lowering, which it shares no code
// with. Integers are unbounded, floating-point values are rationals that are rounded once at the
// end.
//
// Where NVIDIA hardware differs from the manual or goes beyond it (NaN bits, shift clamping, video
// instructions), the hardware's behaviour is what is written here.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace rubia::reference {

/// The source operands of one thread, as written after the destination; a predicate is 0 or 1, an
/// operand of fewer than 64 bits stands in the low bits.
struct ReferenceInputs {
  std::array<uint64_t, 5> source{};
  bool carry = false; // CC.CF before addc, subc, madc; after a subtraction 1 if nothing is borrowed
};

struct FloatFormat;

/// The true value of an approximate instruction, and how far from it a result may be: the largest
/// of the three.
struct ErrorBound {
  const FloatFormat *format;
  double trueValue;    // rounded to 53 bits
  double ulps = 0;     // units in the last place of the true value
  double relative = 0; // of the true value
  double absolute = 0;
  bool flush = false; // a true value below the smallest normal number may become 0
};

struct ReferenceOutput {
  /// The destination. Signed integers of fewer than 64 bits are sign-extended, all else is
  /// zero-extended.
  uint64_t bits = 0;
  uint64_t second = 0; // the q of p|q, or CC.CF afterwards
  /// Given for an approximate result that is not one of the exact special cases (then `bits` does
  /// not count); [1] is the upper half's of a packed one.
  std::array<std::optional<ErrorBound>, 2> bounds = {};
};

using Reference = std::function<ReferenceOutput(const ReferenceInputs &)>;

/// The meaning of an instruction, given as its dotted word ("add.rn.ftz.f32"); the 3-input forms of
/// min and max have ".3" at the end ("min.f32.3"). `selectors` are those of the operands of a video
/// instruction, destination first ("h1", "b0", "" or a mask such as "b3210"). An error names what
/// is not a scalar instruction, or a modifier that is not understood.
llvm::Expected<Reference> referenceFor(llvm::StringRef mnemonic,
                                       llvm::ArrayRef<std::string> selectors = {});

/// The documented bound of an approximate f32 instruction of one operand ("sin.approx.f32") at `a`,
/// without the true value. PTX ISA: floating-point-instructions.
ErrorBound documentedF32Bound(llvm::StringRef opcode, double a);

/// How far from bound.trueValue a result may be: one step of the format at least.
double allowedError(const ErrorBound &bound);

/// The distance of a result from the true value as a fraction of what is allowed: at most 1 is
/// right; infinity for a NaN, or an infinity where none may be.
double errorFraction(const ErrorBound &bound, uint64_t resultBits);

} // namespace rubia::reference
