// SPDX-License-Identifier: Apache-2.0
// Lines of a module's text. Where they begin is found once for a module, when somebody asks: each
// unit of it has thousands of places, and the text may have many megabytes.
#pragma once

#include "ptx-frontend/Module.h"
#include <cstdint>
#include <utility>

namespace rubia::ptx {

/// Line and column (1-based) of a byte offset; 0 and 0 if the module has no text. May be called by
/// several threads.
std::pair<uint32_t, uint32_t> lineAndColumn(const Module &module, uint32_t place);

} // namespace rubia::ptx
