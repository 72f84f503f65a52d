// SPDX-License-Identifier: Apache-2.0
// NVIDIA's closed libraries are told another compute capability than programs are, so that they
// fall back to the kernels that they carry as PTX. Which files these are: for the driver API, which
// looks at its callers, and for offline compilation, which has to come to the same cache keys.
#pragma once

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"

namespace rubia::runtime {

inline constexpr unsigned kCapabilityForClosedLibraries = 130;

/// `path`: of a shared library; its name decides.
inline bool isClosedLibrary(llvm::StringRef path) {
  constexpr llvm::StringLiteral kPrefixes[] = {
      "libcublas", "libcudnn", "libcufft",  "libcurand",   "libcusolver",   "libcusparse",
      "libnccl",   "libnpp",   "libnvjpeg", "libcutensor", "libcusparseLt", "libnvblas"};
  llvm::StringRef name = path.substr(path.rfind('/') + 1);
  return llvm::any_of(kPrefixes, [&](llvm::StringRef prefix) { return name.starts_with(prefix); });
}

} // namespace rubia::runtime
