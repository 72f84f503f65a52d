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

/// Where some bytes of a value are.
struct ValuePart {
  enum class Kind : uint8_t { Scalar, Vector, Scratch } kind = Kind::Scalar;
  unsigned number = 0; // ScalarIndex, or as in Wave.h, or a place in the lane's scratch
  unsigned bytes = 0;  // more than 4: in the registers behind it too
};

struct NamedValue {
  std::string name;
  std::string type;  // "f32"; empty: unknown
  unsigned bits = 0; // of the value
  uint64_t low = 0, high = 0;
  std::string where;            // "v5", "s[4:5]"; empty: it was computed
  std::vector<ValuePart> parts; // the lowest first; empty: it was computed
};

/// Those that are known at a pc, the innermost function's first.
std::vector<NamedValue> namedValues(const SourceLines &lines, const Wave &wave, unsigned lane,
                                    uint64_t pc);

} // namespace rubia::emulator
