// SPDX-License-Identifier: Apache-2.0
// Makes a kernel smaller while something stays true of it.
#pragma once

#include "Kernel.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <functional>

namespace rubia::random_kernels {

/// Drops statements and guards, and takes branches and loops apart, until nothing more can go.
/// `stays` is called with each candidate. A register that no statement writes any more is 0, in the
/// text and to the evaluator.
Kernel reduce(Kernel kernel, const std::function<bool(const Kernel &)> &stays);

/// Halves of a list, quarters, ... single elements, from its end: what `drop` takes out is gone.
/// Whether anything is. `size` is that of the list as it is now.
bool dropPieces(llvm::function_ref<size_t()> size,
                llvm::function_ref<bool(size_t start, size_t end)> drop);

/// Whether a check holds, in a process of its own: LLVM may crash on a kernel. `ifCrashed`: what
/// that counts as.
bool isTrueElsewhere(llvm::function_ref<bool()> check, bool ifCrashed);

} // namespace rubia::random_kernels
