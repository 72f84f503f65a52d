// SPDX-License-Identifier: Apache-2.0
// Elements of matrices for recorded kernels: numbers of a type that put its products to the test.
#pragma once

#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <optional>
#include <random>
#include <vector>

namespace rubia::golden {

/// Bytes from a rule TYPE/KIND. Neighbours in memory are neighbours along k.
/// - kinds: normal; exact: small integers, of which every sum is exact; denormal; cancelling: pairs
///   whose products nearly cancel; huge: near the largest number; infinite; nan. Integers have
///   normal and extreme. Metadata have `ordered`.
std::optional<std::vector<uint8_t>> matrixElements(llvm::StringRef rule, size_t size,
                                                   std::mt19937_64 &random);

} // namespace rubia::golden
