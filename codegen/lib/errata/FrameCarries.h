// SPDX-License-Identifier: Apache-2.0
// Places in a function's frame that are operands of additions with a carry.
#pragma once

namespace llvm {
class Pass;
} // namespace llvm

namespace rubia::codegen {

/// A pass to be run right before JoinedMasks, when nothing is folded into operands any more
/// (docs/errata.md).
llvm::Pass *makeFrameCarries();

} // namespace rubia::codegen
