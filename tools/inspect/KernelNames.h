// SPDX-License-Identifier: Apache-2.0
// Kernels as people name them: C++'s mangled names, what these stand for, or the beginning of
// either.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace rubia::tools {

/// "_Z5scalePff" -> "scale(float*, float)"; what is not mangled stays.
std::string demangled(llvm::StringRef name);

/// The one of `names` that `wanted` means: that name itself, else what it stands for with or
/// without parameters ("scale(float*, float)", "scale"), else the only one that begins so. Empty:
/// none. The error lists those that it may mean.
llvm::Expected<std::string> findKernel(llvm::StringRef wanted, llvm::ArrayRef<std::string> names);

/// `names` for people, one a line, each with what it stands for.
std::string listOfKernels(llvm::ArrayRef<std::string> names);

} // namespace rubia::tools
