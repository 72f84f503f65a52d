// The six processors in the wave sizes that they have, as the parameter of tests.
#pragma once

#include <gtest/gtest.h>
#include <string>

namespace rubia::emulator::test {

struct TargetCase {
  const char *cpu;
  unsigned waveSize;

  /// "gfx1100", "gfx1100_wave64".
  std::string name() const {
    const bool optional = waveSize == 64 && std::string(cpu).size() == 7;
    return std::string(cpu) + (optional ? "_wave64" : "");
  }
  /// 9, 10, 11, 12.
  unsigned major() const {
    const std::string text = cpu;
    return unsigned(std::stoul(text.substr(3, text.size() - 5)));
  }
  bool architectedScratch() const { return major() >= 11 || std::string(cpu) > "gfx90a"; }
};

inline constexpr TargetCase kTargetCases[] = {{"gfx90a", 64},  {"gfx942", 64},  {"gfx950", 64},
                                              {"gfx1030", 32}, {"gfx1030", 64}, {"gfx1100", 32},
                                              {"gfx1100", 64}, {"gfx1201", 32}, {"gfx1201", 64}};

inline std::string nameOf(const testing::TestParamInfo<TargetCase> &info) {
  return info.param.name();
}
inline void PrintTo(const TargetCase &target, std::ostream *os) { *os << target.name(); }

} // namespace rubia::emulator::test
