// SPDX-License-Identifier: Apache-2.0
// mma on AMD's matrix units.
//
// All mma with types of at most 32 bits are one tile in words (FragmentLayout.h): 16 rows of A and
// two times 8 columns of B, 8 words deep; forms that are half as deep or high have zeros in the
// rest. Their fragments differ by target alone, so a unit's fragments of A, B and of the sums have
// one layout each, and a product of some types is a sequence of instructions on such fragments. A
// unit computes the transposed product, D^T = B^T A^T, since then a lane has columns of one row of
// D, as in PTX. The order of words along the depth is free, as long as A and B agree.
//
// All of this is in functions of the module, which codegen knows by their names, so that it can
// keep values in the unit's layout from one product to the next
// (codegen/lib/fragments/NativeFragments.h). A fragment of the unit is a structure of vectors of
// i32, one for each warp in a wave.
//
//   __rubia_tile_a, _b    four i32 of PTX's fragment (of B: of two mma) -> the unit's fragment
//   __rubia_tile_c, _d    eight i32 of the sums of two mma -> the unit's, and back
//   __rubia_product.TYPES vectors of A, B, C of one warp -> D
//   __rubia_mma.TYPES     one mma: all of these
//
// Matrix instructions ignore EXEC. Where a warp is a wave, mma.sync.aligned finds all lanes on. In
// a wave64 the other half may be elsewhere or have ended, so __rubia_mma turns all lanes on in
// between (llvm.amdgcn.strict.wwm), and in the packed form computes the product of each half.
#pragma once

#include "lowering/lib/analysis/MmaForm.h"
#include "lowering/lib/frame/FunctionLowering.h"

namespace rubia::lowering {

/// Whether the target's matrix unit computes mma.sync or wmma.mma of this form, of a sparse one its
/// dense tiles (SparseMma.h). `mayFlush`: also if denormals of f16 and bf16 then count as zero.
bool hasNativeMma(const Target &target, const MmaForm &form, bool mayFlush);

/// D's registers (i32) from those of A, B and C; only where there is such a route.
llvm::SmallVector<llvm::Value *, 8> multiplyNatively(FunctionLowering &fn, const MmaForm &form,
                                                     bool mayFlush, llvm::ArrayRef<llvm::Value *> a,
                                                     llvm::ArrayRef<llvm::Value *> b,
                                                     llvm::ArrayRef<llvm::Value *> c);

} // namespace rubia::lowering
