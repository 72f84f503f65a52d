// SPDX-License-Identifier: Apache-2.0
// NVIDIA's own library, whose name the stand-in has.
#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <mutex>
#include <string>

namespace rubia::standins {

/// A library of NVIDIA's, opened when it is first needed and never closed.
class RealLibrary {
public:
  /// `name`: "libnvrtc.so.13"; `packages`: where users get it.
  RealLibrary(llvm::StringLiteral name, llvm::StringLiteral packages)
      : name(name), packages(packages) {}

  /// The error says where it was looked for, and names the packages. Each call looks anew: where a
  /// library is found depends on what the program has loaded by then.
  llvm::Error open();
  /// Null if it has no such function; open() has succeeded.
  void *symbol(const char *symbolName) const;
  template <class Function> Function *function(const char *symbolName) const {
    return reinterpret_cast<Function *>(symbol(symbolName));
  }

private:
  llvm::StringLiteral name, packages;
  std::mutex mutex; // of what follows
  void *handle = nullptr;
};

} // namespace rubia::standins
