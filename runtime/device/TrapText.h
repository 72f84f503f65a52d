// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lowering/Abi.h"
#include "llvm/ADT/ArrayRef.h"
#include <string>

namespace rubia::runtime {

/// What is said of the first thread that trapped: which it was, and what it did. `places`: what the
/// module's units call the place that the record names. The record does not say which unit it is
/// of.
std::string textOf(const abi::TrapRecord &record, llvm::ArrayRef<std::string> places);

} // namespace rubia::runtime
