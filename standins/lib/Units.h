// SPDX-License-Identifier: Apache-2.0
// The PTX in what a linker is given.
#pragma once

#include "ptx-frontend/Linker.h"
#include "llvm/Support/Error.h"
#include <vector>

namespace rubia::standins {

/// Appends the units in PTX text, a cubin of the stand-ins, a fatbin, an object file of the host or
/// an archive; of the last, isLibrary is set. An error: it has no PTX, or cannot be read.
llvm::Error readUnits(llvm::StringRef bytes, llvm::StringRef name, unsigned capability,
                      std::vector<ptx::LinkInput> &units);

} // namespace rubia::standins
