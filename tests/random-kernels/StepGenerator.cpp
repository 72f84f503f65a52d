// SPDX-License-Identifier: Apache-2.0
#include "StepGenerator.h"
#include <utility>

namespace rubia::random_kernels {

StepGenerator::StepGenerator(uint64_t seed, unsigned stream)
    : random(seed * 0x9e3779b97f4a7c15 + stream) {
  kernel.seed = seed;
}

void StepGenerator::start(unsigned registers) {
  state = registers;
  for (unsigned i = 0; i < state; ++i) {
    std::array<uint32_t, 4> numbers;
    for (uint32_t &number : numbers)
      number = uint32_t(random.next());
    kernel.start.push_back(numbers);
  }
  const std::string threads = std::to_string(kernel.warps * 32);
  const unsigned bounds = number(4);
  kernel.bounds = bounds < 2 ? ".reqntid " + threads : bounds == 2 ? ".maxntid " + threads : "";
  for (unsigned i = 0; i < kProgramInput; ++i)
    kernel.input.push_back(uint8_t(random.next()));
}

std::vector<Step> StepGenerator::inside(unsigned count) {
  std::vector<Step> steps;
  std::vector<Step> *outer = std::exchange(out, &steps);
  ++depth;
  block(count);
  --depth;
  out = outer;
  return steps;
}

} // namespace rubia::random_kernels
