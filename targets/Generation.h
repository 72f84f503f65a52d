// SPDX-License-Identifier: Apache-2.0
// The generations by name, for what cannot be a fact of Facts.def. Few files include this, so that
// a new generation compiles few again.
#pragma once

#include "targets/Target.h"

namespace rubia::targets {

enum class Generation : uint8_t {
#define GENERATION(Name, Text) Name,
#include "targets/Generations.def"
#undef GENERATION
};

} // namespace rubia::targets
