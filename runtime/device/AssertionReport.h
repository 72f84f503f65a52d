// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lowering/Abi.h"
#include "llvm/ADT/StringRef.h"

namespace rubia::runtime {

/// Adds a failed assertion to the reports of `rubia check` (RUBIA_EMULATOR_REPORTS), if there are
/// any: the emulator sees only that waves end, and the program may not ask how its launch did.
void reportAssertion(const abi::TrapRecord &record, llvm::StringRef text);

} // namespace rubia::runtime
