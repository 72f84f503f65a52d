// SPDX-License-Identifier: Apache-2.0
// What an H100 computes for an element of a product of matrices, in exact arithmetic: mma, mma.sp,
// wmma and wgmma. Written from measurements (docs/numerics.md, "Matrices"); it shares no code with
// the lowering.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>

namespace rubia::reference {

/// Types as PTX writes them, without the dot: "f16", "e4m3", "s32".
struct MatrixProduct {
  llvm::StringRef a, b, c, d;
  /// Quads: mma.m8n8k4 of f16. Wmma: wmma.mma, which differs for tf32. Wgmma differs for fp8.
  enum class Unit : uint8_t { Mma, Quads, Wmma, Wgmma } unit = Unit::Mma;
  bool satfinite = false;
  bool isAnd = false;              // b1: and instead of xor
  llvm::StringRef rounding = "rn"; // f64
};

/// An element of D: c plus the products of a row of A with a column of B, each element in the low
/// bits of a word, k ascending. Of a sparse form: those of B that the metadata name.
llvm::Expected<uint64_t> matrixElement(const MatrixProduct &product, llvm::ArrayRef<uint64_t> a,
                                       llvm::ArrayRef<uint64_t> b, uint64_t c);

} // namespace rubia::reference
