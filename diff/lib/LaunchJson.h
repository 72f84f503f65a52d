// SPDX-License-Identifier: Apache-2.0
// The records of capsules that are JSON.
#pragma once

#include "diff/Capsule.h"

namespace rubia::capsule {

llvm::Expected<Environment> environmentOf(const llvm::json::Value &value);
llvm::Expected<Launch> launchOf(const llvm::json::Value &value, uint64_t leastOrdinal);
llvm::Expected<Call> callOf(const llvm::json::Value &value);
llvm::Expected<Counts> countsOf(const llvm::json::Value &value);

} // namespace rubia::capsule
