// SPDX-License-Identifier: Apache-2.0
// What the floating-point chapters share: rounding and denormal modes of single operations, and
// what is done to every result (.sat, NaN bits).
#pragma once

#include "lowering/lib/frame/FunctionLowering.h"

namespace rubia::lowering {

/// The values are those of MODE's rounding fields (AMDGPUUsage "Compute Program Resource Register",
/// FLOAT_ROUND_MODE).
enum class Rounding : uint8_t { NearestEven = 0, Up = 1, Down = 2, Zero = 3 };

/// .rn, .rz, .rm, .rp of an instruction; without any it is .rn (PTX ISA:
/// floating-point-instructions).
Rounding roundingOf(const ptx::Spelling &spelling);

struct FloatMode {
  Rounding rounding = Rounding::NearestEven;
  bool flushesF32 = false; // denormal f32 inputs and results
};

/// True if plain LLVM instructions of this unit compute in `mode`. f64 and f16 never flush.
bool isPlain(const FunctionLowering &fn, FloatMode mode);

/// One VALU instruction, such as "v_add_f32 $0, $1, $2", executed in `mode`: one inline assembly
/// block that switches MODE, computes and switches back. It is a pure function of its operands.
llvm::Value *inMode(FunctionLowering &fn, FloatMode mode, llvm::StringRef instruction,
                    llvm::Type *result, llvm::ArrayRef<llvm::Value *> operands);

/// x * y + z of f32, or of vectors of it, rounded to odd: exact if f32 has the number, otherwise
/// that of its two neighbours whose last bit is 1. Rounded again to a format at least two bits
/// narrower, this gives what rounding once would (Boldo and Melquiond, "Emulation of FMA and
/// correctly rounded sums"). For units that keep f32 denormals.
llvm::Value *fmaRoundedToOdd(FunctionLowering &fn, llvm::Value *x, llvm::Value *y, llvm::Value *z);

enum class Arithmetic : uint8_t { Add, Sub, Mul, Fma };
/// The LLVM operation, rounded to nearest even and never contracted.
llvm::Value *plainArithmetic(llvm::IRBuilder<> &b, Arithmetic op,
                             llvm::ArrayRef<llvm::Value *> sources);

/// The operation on f32, f64, or vectors of them, in `mode`.
llvm::Value *arithmeticInMode(FunctionLowering &fn, FloatMode mode, Arithmetic op,
                              llvm::ArrayRef<llvm::Value *> sources);

/// `function` of the values, or of each element if they are vectors.
llvm::Value *elementwise(llvm::IRBuilder<> &b, llvm::ArrayRef<llvm::Value *> values,
                         llvm::function_ref<llvm::Value *(llvm::ArrayRef<llvm::Value *>)> function);

/// An integer, or a vector of integers, of the size of the value's elements, and the value as such.
llvm::Type *bitsType(llvm::Type *type);
llvm::Value *toBits(llvm::IRBuilder<> &b, llvm::Value *value);
/// `value` with its sign bits taken from `sign`, which has the type of its bits.
llvm::Value *withSign(llvm::IRBuilder<> &b, llvm::Value *value, llvm::Value *sign);

/// The minimum or maximum of f16 or bf16 values, or of pairs of them: one NaN gives the other
/// operand, -0 is less than +0.
llvm::Value *minOrMax(FunctionLowering &fn, bool maximum, llvm::Value *x, llvm::Value *y);

/// HalfPrecision.cpp: the operation on f16, bf16 or pairs of them, with .ftz and .oob.
llvm::Value *halfArithmetic(FunctionLowering &fn, const ptx::Instruction &inst, Arithmetic op,
                            llvm::ArrayRef<llvm::Value *> sources);
/// bf16 values (scalars or vectors) as f32 and back, where the result is a value of bf16 or NaN;
/// all other types stay as they are.
llvm::Value *widenBf16(llvm::IRBuilder<> &b, llvm::Value *value);
llvm::Value *narrowExactBf16(llvm::IRBuilder<> &b, llvm::Value *value, llvm::Type *type);

/// Denormal values of f32 and f16 become zeros of the same sign.
llvm::Value *flushDenormal(FunctionLowering &fn, llvm::Value *value);
/// The n-th source, flushed if the instruction is .ftz.
llvm::Value *flushedSource(FunctionLowering &fn, const ptx::Instruction &inst, unsigned n);

/// An f64 value rounded to f32. With `flushes`, what is below 2^-126 after rounding to 24 bits
/// becomes zero.
llvm::Value *roundToF32(FunctionLowering &fn, llvm::Value *wide, Rounding rounding, bool flushes);

/// [0, 1]; NaN and -0 become +0.
llvm::Value *clampToUnit(FunctionLowering &fn, llvm::Value *value);

/// What every floating-point result goes through: .sat, .relu, and the NaN bits of --nan=canonical.
/// An f64 NaN is that of the first of `nanSources` that is one, made quiet; f64 results without
/// `nanSources` keep their bits.
llvm::Value *finish(FunctionLowering &fn, const ptx::Instruction &inst, llvm::Value *value,
                    llvm::ArrayRef<llvm::Value *> nanSources = {});

/// Approximate.cpp: a / b by v_rcp_f32, 1 / a, square root, with the errors of the PTX manual.
llvm::Value *approximateQuotient(FunctionLowering &fn, llvm::Value *a, llvm::Value *b,
                                 bool flushes);
llvm::Value *approximateReciprocal(FunctionLowering &fn, llvm::Value *a, bool flushes);
llvm::Value *approximateSqrt(FunctionLowering &fn, llvm::Value *a, bool flushes);
/// rcp.approx.ftz.f64: 20 bits, low word zero.
llvm::Value *approximateReciprocalF64(FunctionLowering &fn, llvm::Value *a);

} // namespace rubia::lowering
