// SPDX-License-Identifier: Apache-2.0
// The rows of Modifiers.def as constant expressions, for the tables that are made of them.
#pragma once

#include "ptx-frontend/Modifiers.h"
#include <iterator>
#include <string_view>

namespace rubia::ptx {

enum class ModifierRow : uint16_t {
  None,
#define PTX_MODIFIER(Name, ...) Name,
#include "ptx-frontend/Modifiers.def"
};

/// By row.
inline constexpr std::string_view kModifierTexts[] = {
    "",
#define PTX_MODIFIER(Name, Text, ...) Text,
#include "ptx-frontend/Modifiers.def"
};

static_assert(Modifier(ModifierRow::None) == Mod::None);

} // namespace rubia::ptx
