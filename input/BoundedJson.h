// SPDX-License-Identifier: Apache-2.0
// JSON that others may have written. LLVM's parser recurses once for each level of nesting, so that
// 60,000 brackets end the program for want of stack.
#pragma once

#include "llvm/Support/JSON.h"

namespace rubia::input {

/// The value, or an error also for text that is nested deeper than anything we write, and for
/// numbers beyond those of a double.
llvm::Expected<llvm::json::Value> parseBoundedJson(llvm::StringRef text);

} // namespace rubia::input
