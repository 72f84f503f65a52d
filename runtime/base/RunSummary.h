// SPDX-License-Identifier: Apache-2.0
// What a process did with kernels, in one line at its end, where RUBIA_LOG is info or debug.
// Otherwise nothing is counted. A forked child counts its own.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace rubia::runtime::summary {

void kernelLaunched(llvm::StringRef kernel);
/// A unit's code object was in the cache, the remote one included.
void cacheHit();
/// A unit was compiled, or could not be.
void unitCompiled(double seconds);
/// A call that returned CUDA_ERROR_NOT_SUPPORTED.
void callUnsupported(llvm::StringRef function);

} // namespace rubia::runtime::summary
