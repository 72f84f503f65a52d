// SPDX-License-Identifier: Apache-2.0
// Passes of LLVM's back end that are left out or told apart by their names. A test knows whether
// LLVM still has them: without it, a pass with a new name would be run again unseen.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace rubia::codegen {

/// For what lowering never makes, or what others have done: no kernel of benchmarks/quality changes
/// without them (docs/passes.md).
inline constexpr llvm::StringLiteral kLeftOut[] = {
    "AMDGPU Uniform Intrinsic Combine",
    "Canonicalize Freeze Instructions in Loops",
    "Constant Hoisting",
    "Expand memcmp() to load/stores",
    "Merge contiguous icmps into a memcmp",
    "Nary reassociation",
    "Partially inline calls to library functions",
    "Replace intrinsics with calls to vector library",
};
/// Follows debug variables through registers. Where there are none it looks at every instruction to
/// find that out, 6 % of the back end.
inline constexpr llvm::StringLiteral kDebugValues = "Live DEBUG_VALUE analysis";
/// LLVM has several of these, of which the first ones are left out.
inline constexpr llvm::StringLiteral kEarlyCse = "Early CSE";
inline constexpr llvm::StringLiteral kCopies = "Machine Copy Propagation Pass";
/// Adds up numbers of functions by their addresses, and never forgets one.
inline constexpr llvm::StringLiteral kMemoryBounds = "Analysis if a function is memory bound";
inline constexpr llvm::StringLiteral kRegisterUse = "Register Usage Information Collector Pass";
inline constexpr llvm::StringLiteral kPrinter = "AMDGPU Assembly Printer";

} // namespace rubia::codegen
