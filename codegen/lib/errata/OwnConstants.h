// SPDX-License-Identifier: Apache-2.0
// Constants in wide registers, which join what all lanes compute with what only active ones do.
#pragma once

#include "codegen/lib/errata/JoinedMasks.h"

namespace rubia::codegen {

/// A pass to be run right before kLiveVariables, where LLVM optimises (docs/errata.md).
llvm::Pass *makeOwnConstants();

} // namespace rubia::codegen
