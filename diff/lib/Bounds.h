// SPDX-License-Identifier: Apache-2.0
// By how much the result of an inexact instruction may differ from the true value.
#pragma once

#include "diff/Trace.h"
#include "ptx-frontend/Module.h"
#include "llvm/ADT/SmallVector.h"
#include <string>

namespace rubia::capsule {

/// What the PTX ISA says of an operation, for its smallest format.
struct Bound {
  const ptx::Operation &op;
  int exponent; // of the bound, a power of two: of f32, or of f64 if that is all that it has
  Magnitude magnitude;
};
/// Null: PTX gives none.
const Bound *boundOf(const ptx::Instruction &instruction);
/// Of numbers that are narrower than f32 the last place is what a bound is about.
int exponentOf(const Bound &bound, ptx::Type type, bool isFlushing);
/// The type of the numbers that an instruction's result has: a register may have two of 16 bits.
ptx::Type resultType(const ptx::Spelling &spelling);

/// The names of the registers of an operand; an empty one for what is no register.
llvm::SmallVector<std::string, 8> registersOf(const ptx::Function &function,
                                              const ptx::Operand &operand);
/// Code of the whole warp for %rubia_m<n>: of each result of a product of matrices |C| + sum |A B|.
/// Empty: its factors are not understood.
std::string productMagnitudes(const ptx::Function &function, const ptx::Instruction &instruction);

/// The bound of a result, where PTX gives one that can be looked up for each result.
std::optional<ResultBound> resultBoundOf(const ptx::Function &function,
                                         const ptx::Instruction &instruction);
/// Of what a filter gives; its `texels` are not known yet.
ResultBound filterBoundOf(const ptx::Spelling &spelling);
/// Whether `got` may be the result where the nearest number to the true value is `nearest`.
/// `magnitude`: bits of the operand or of |C| + sum |A B|, where the bound asks for them.
bool isWithin(const ResultBound &bound, uint64_t got, uint64_t nearest, uint64_t magnitude);

} // namespace rubia::capsule
