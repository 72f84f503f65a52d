// SPDX-License-Identifier: Apache-2.0
// Module -> PTX text. Parsing the result gives the same module.
#pragma once

#include "ptx-frontend/Module.h"
#include <string>

namespace rubia::ptx {

std::string print(const Module &module);
std::string print(const Module &module, const Function &function, const Instruction &instruction);

} // namespace rubia::ptx
