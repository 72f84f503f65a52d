// SPDX-License-Identifier: Apache-2.0
// The table of all entry points.
#pragma once

#include "runtime/cuda/Types.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace rubia::runtime::cuda {

struct EntryPoint {
  void *function;
  int introduced; // driver version
  bool perThread; // its default stream is the calling thread's
};

/// The variants of a name as cuGetProcAddress knows it: the normal ones by version, then the
/// per-thread ones by version. Empty: there is no such name.
llvm::ArrayRef<EntryPoint> entryPoints(llvm::StringRef name);

} // namespace rubia::runtime::cuda
