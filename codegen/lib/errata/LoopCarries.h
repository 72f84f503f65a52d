// SPDX-License-Identifier: Apache-2.0
// Carries that a loop's last round leaves behind.
#pragma once

#include "codegen/lib/errata/JoinedMasks.h"

namespace rubia::codegen {

/// A pass that forms carries again behind the loop whose lanes leave one after the other
/// (docs/errata.md). It is to be run right before kLiveVariables, where LLVM optimises.
llvm::Pass *makeLoopCarries();

} // namespace rubia::codegen
