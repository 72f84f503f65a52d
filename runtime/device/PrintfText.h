// SPDX-License-Identifier: Apache-2.0
// The text of what device code prints.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include <cstdint>
#include <string>

namespace rubia::runtime {

/// A whole record of abi::PrintfRing as text; empty if its sizes contradict each other.
/// `isAssertion`: it is one, with CUDA's words.
std::string textOfRecord(llvm::ArrayRef<uint8_t> record, bool &isAssertion);

} // namespace rubia::runtime
