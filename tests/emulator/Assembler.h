// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "llvm/Support/Error.h"
#include <cstdint>
#include <string>
#include <vector>

namespace rubia::emulator::test {

/// The relocatable object that `clang -c` makes of assembly. The error has what the assembler said.
llvm::Expected<std::vector<uint8_t>> assembleObject(const std::string &source,
                                                    const std::string &cpu);

} // namespace rubia::emulator::test
