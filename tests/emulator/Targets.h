// SPDX-License-Identifier: Apache-2.0
// The targets of tests in the wave sizes that they have, as the parameter of tests.
#pragma once

#include "tests/Targets.h"
#include <gtest/gtest.h>
#include <string>

namespace rubia::emulator::test {

struct TargetCase {
  const char *cpu;
  unsigned waveSize;

  const targets::Target &row() const { return rubia::test::rowOf(cpu); }
  /// "gfx1100", "gfx1100_wave64".
  std::string name() const {
    return rubia::test::identifier(cpu) + (waveSize == row().waveSize() ? "" : "_wave64");
  }
  /// 9, 10, 11, 12.
  unsigned major() const { return row().isa; }
};

inline std::vector<TargetCase> casesOf(const std::vector<const char *> &names) {
  std::vector<TargetCase> cases;
  for (const char *name : names) {
    if (rubia::test::rowOf(name).hasWave32)
      cases.push_back({name, 32});
    cases.push_back({name, 64});
  }
  return cases;
}
inline const std::vector<TargetCase> kTargetCases = casesOf(rubia::test::testTargets());

/// Of those of tests.
inline std::vector<const char *> withUnifiedAccumulators() {
  std::vector<const char *> names = rubia::test::testTargets();
  std::erase_if(names, [](const char *name) {
    return rubia::test::rowOf(name).accumulators != targets::Accumulators::Shared;
  });
  return names;
}

inline std::string nameOf(const testing::TestParamInfo<TargetCase> &info) {
  return info.param.name();
}
inline void PrintTo(const TargetCase &target, std::ostream *os) { *os << target.name(); }

} // namespace rubia::emulator::test
