// SPDX-License-Identifier: Apache-2.0
// Values of a thread by the names that the program has for them, such as PTX's registers, where the
// debug information of the code object says where these are (DWARF 5, 2.6; AMDGPUUsage "Register
// Identifier").
#pragma once

#include "emulator/lib/machine/SourceLines.h"
#include "emulator/lib/machine/Wave.h"
#include <optional>
#include <string>
#include <vector>

namespace rubia::emulator {

struct NamedValue {
  std::string name;
  std::string type;  // "f32"; empty: unknown
  unsigned bits = 0; // of the value
  uint64_t low = 0, high = 0;
  std::string where; // "v5", "s[4:5]"; empty: it was computed
};

/// Those that are known at a pc, the innermost function's first.
std::vector<NamedValue> namedValues(const SourceLines &lines, const Wave &wave, unsigned lane,
                                    uint64_t pc);

} // namespace rubia::emulator
