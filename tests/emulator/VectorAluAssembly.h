// SPDX-License-Identifier: Apache-2.0
// Single instructions from assembly text to their effects on a wave, through the disassembler and
// the decoder: for what depends on an instruction's encoding.
#pragma once

#include "emulator/lib/machine/Program.h"
#include "emulator/lib/machine/Workgroup.h"
#include "tests/Targets.h"
#include <memory>
#include <string>
#include <vector>

namespace rubia::emulator::test {

/// A wave of `cpu` whose register v<r> holds start(r, lane). Its MODE rounds to nearest even and
/// keeps denormals; EXEC is full.
class AssemblyWave {
public:
  explicit AssemblyWave(const std::string &cpu, unsigned waveSize = 0);
  ~AssemblyWave();
  static uint32_t start(unsigned r, unsigned lane) {
    return r << 24 | 0x8300u << 8 | (lane + r * 64);
  }

  /// Assembles and executes one instruction a line. Fails the test if that cannot be done.
  AssemblyWave &run(const std::string &text);
  /// Why the emulator refuses the instruction; empty if it does not.
  std::string refusal(const std::string &text);

  uint32_t &v(unsigned r, unsigned lane) { return wave.vgpr(vectorOffset(r), lane); }
  uint32_t &s(unsigned index) { return wave.scalars[index]; }
  AssemblyWave &set(unsigned r, uint32_t value);
  unsigned lanes() const { return wave.lanes(); }

  Wave wave;
  bool perturb = false; // as RUBIA_EMULATOR_TRANS=worst does

private:
  std::unique_ptr<Program> decode(const std::string &text, std::vector<Unsupported> &unsupported);
  std::string cpu;
  std::unique_ptr<Target> target;
  std::vector<uint32_t> registers;
  std::vector<std::vector<uint8_t>> images;
  Workgroup group;
};

/// The targets of tests, with the smallest wave of each.
inline const std::vector<const char *> kProcessors = rubia::test::testTargets();

} // namespace rubia::emulator::test
