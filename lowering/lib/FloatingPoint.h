// What the floating-point chapters share: rounding and denormal modes of single operations, and
// what is done to every result (.sat, NaN bits).
#pragma once

#include "lowering/lib/FunctionLowering.h"

namespace rubia::lowering {

// The values are those of MODE's rounding fields (AMDGPUUsage "Compute Program Resource Register",
// FLOAT_ROUND_MODE).
enum class Rounding : uint8_t { NearestEven = 0, Up = 1, Down = 2, Zero = 3 };

// .rn, .rz, .rm, .rp of an instruction; without any it is .rn (PTX ISA:
// floating-point-instructions).
Rounding roundingOf(const ptx::Spelling &spelling);

// Whether an instruction keeps f32 denormals, so that a unit with it cannot run in the mode that
// flushes them. Operations that give the same bits in both modes do not count.
bool needsF32Denormals(const ptx::Instruction &inst);

struct FloatMode {
  Rounding rounding = Rounding::NearestEven;
  bool flushesF32 = false; // denormal f32 inputs and results
};

// True if plain LLVM instructions of this unit compute in `mode`. f64 and f16 never flush.
bool isPlain(const FunctionLowering &fn, FloatMode mode);

// One VALU instruction, such as "v_add_f32 $0, $1, $2", executed in `mode`: one inline assembly
// block that switches MODE, computes and switches back. It is a pure function of its operands.
llvm::Value *inMode(FunctionLowering &fn, FloatMode mode, llvm::StringRef instruction,
                    llvm::Type *result, llvm::ArrayRef<llvm::Value *> operands);

// Denormal f32 values become zeros of the same sign.
llvm::Value *flushDenormal(FunctionLowering &fn, llvm::Value *value);
// The n-th source, flushed if the instruction is .ftz.
llvm::Value *flushedSource(FunctionLowering &fn, const ptx::Instruction &inst, unsigned n);

// An f64 value rounded to f32. With `flushes`, what is below 2^-126 after rounding to 24 bits
// becomes zero.
llvm::Value *roundToF32(FunctionLowering &fn, llvm::Value *wide, Rounding rounding, bool flushes);

// [0, 1]; NaN and -0 become +0.
llvm::Value *clampToUnit(FunctionLowering &fn, llvm::Value *value);

// What every floating-point result goes through: .sat, and the NaN bits of --nan=canonical.
llvm::Value *finish(FunctionLowering &fn, const ptx::Instruction &inst, llvm::Value *value);

// Approximate.cpp: a / b by v_rcp_f32, 1 / a, square root, with the errors of the PTX manual.
llvm::Value *approximateQuotient(FunctionLowering &fn, llvm::Value *a, llvm::Value *b,
                                 bool flushes);
llvm::Value *approximateReciprocal(FunctionLowering &fn, llvm::Value *a, bool flushes);
llvm::Value *approximateSqrt(FunctionLowering &fn, llvm::Value *a, bool flushes);
// rcp.approx.ftz.f64: 20 bits, low word zero.
llvm::Value *approximateReciprocalF64(FunctionLowering &fn, llvm::Value *a);

} // namespace rubia::lowering
