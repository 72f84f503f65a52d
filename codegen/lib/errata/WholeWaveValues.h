// SPDX-License-Identifier: Apache-2.0
// Values that the whole wave computes and active lanes read too.
#pragma once

#include "codegen/lib/errata/JoinedMasks.h"

namespace rubia::codegen {

/// A pass to be run right before kLiveVariables, where LLVM optimises (docs/errata.md).
llvm::Pass *makeWholeWaveValues();

} // namespace rubia::codegen
