// SPDX-License-Identifier: Apache-2.0
// The names of the special registers, for files that name some: a new row compiles those again.
#pragma once

#include <cstdint>

namespace rubia::ptx {

/// PTX ISA: special-registers.
enum class SpecialRegister : uint8_t {
#define PTX_SPECIAL_REGISTER(Name, ...) Name,
#include "ptx-frontend/SpecialRegisters.def"
};

} // namespace rubia::ptx
