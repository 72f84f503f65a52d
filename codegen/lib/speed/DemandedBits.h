// SPDX-License-Identifier: Apache-2.0
// While LLVM combines the nodes of a block, it asks of each operand which of its bits matter, and
// follows it six operations up. Where each operation has two operands these are 64 ways, which
// chains of 64-bit arithmetic have. Three operations find the same: of 186 kernels one has longer
// code for gfx1100, and another one for gfx942, by 8 bytes each.
//
// The linker is told to call the function of here in the place of LLVM's (`--wrap`).
#pragma once

namespace rubia::codegen {

/// Whether this process has asked the function of here: not if LLVM has another one.
bool wereNearOperationsAsked();

} // namespace rubia::codegen
