// SPDX-License-Identifier: Apache-2.0
// ptxas' options that keep it from making one operation of a product and a sum.
#pragma once

#include "llvm/ADT/StringRef.h"
#include <string>

namespace rubia::ptx {

/// Whether a line of ptxas' options, as containers record them beside PTX, lets it fuse.
/// -fmad=false does not, nor does -O0 or -g, which is a level of 0 too.
bool mayFuse(llvm::StringRef options);

/// The text with `.rn` in each product, sum and difference of floating-point numbers without a
/// rounding modifier: what has one is never fused. Lines stay where they are. A text that cannot be
/// parsed stays as it is, for who reports its errors.
std::string withoutFusing(std::string text);

} // namespace rubia::ptx
