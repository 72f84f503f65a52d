// SPDX-License-Identifier: Apache-2.0
// NVIDIA's libraries are told another compute capability than programs are, so that they fall back
// to the kernels that they carry as PTX. Which files these are, and what they are told: for the
// driver API, which looks at its callers, and for offline compilation, which has to come to the
// same cache keys. docs/driver.md has the reason of each row.
#pragma once

#include "llvm/ADT/StringRef.h"
#include <optional>

namespace rubia::runtime {

struct ClosedLibrary {
  llvm::StringLiteral prefix; // of its file's name
  unsigned capability;
};

/// A major version that nobody knows yet: machine code is there for none such.
inline constexpr unsigned kUnknownCapability = 130;

inline constexpr ClosedLibrary kClosedLibraries[] = {
    {"libcublas", kUnknownCapability},
    {"libcudnn", kUnknownCapability},
    {"libcufft", kUnknownCapability},
    {"libcurand", kUnknownCapability},
    {"libcusolver", kUnknownCapability},
    {"libcusparse", kUnknownCapability},
    {"libcutensor", kUnknownCapability},
    {"libnpp", kUnknownCapability},
    {"libnvblas", kUnknownCapability},
    {"libnvjpeg", kUnknownCapability},
    // It takes the shared memory of its kernels from the capability, and its PTX is for this one.
    {"libnccl", 120},
};

/// `path`: of a shared library; its name decides. Nothing for a program's own.
inline std::optional<unsigned> capabilityForLibrary(llvm::StringRef path) {
  const llvm::StringRef name = path.substr(path.rfind('/') + 1);
  for (const ClosedLibrary &library : kClosedLibraries)
    if (name.starts_with(library.prefix))
      return library.capability;
  return std::nullopt;
}

} // namespace rubia::runtime
