// SPDX-License-Identifier: Apache-2.0
// ldmatrix as functions of the module, so that codegen can read a matrix unit's fragments instead
// of PTX's (codegen/lib/fragments/NativeFragments.h). An address is 32 bits, in shared memory.
//
//   __rubia_ldmatrix.xN{.trans}        the row that a lane names -> N registers
//   __rubia_ldmatrix_rows_a, _b        the row that a lane names -> what it has to read of a
//                                      fragment of A, or of B for two mma, for each warp
//   __rubia_ldmatrix_read              these addresses and an offset -> the unit's fragment
//   ..._a.trans, _b.trans, _read.trans the same for .trans, one address for each element
//
// `order` says which matrix is which register of the fragment: two bits for each, from the lowest.
#pragma once

#include "lowering/lib/frame/FunctionLowering.h"

namespace rubia::lowering {

/// Reads 1, 2 or 4 matrices; the registers.
llvm::SmallVector<llvm::Value *, 4> loadMatrices(FunctionLowering &fn, llvm::Value *address,
                                                 unsigned count, bool transposed);

} // namespace rubia::lowering
