// SPDX-License-Identifier: Apache-2.0
// What the generators of kernels that consist of steps have in common: the kernel with its start,
// names of its state, and how the steps inside of another one are drawn.
#pragma once

#include "MatrixKernel.h"
#include "tests/ptx-generator/Random.h"
#include "llvm/Support/FormatVariadic.h"

namespace rubia::random_kernels {

class StepGenerator {
protected:
  /// `stream` sets generators apart that draw from the same seeds.
  StepGenerator(uint64_t seed, unsigned stream);
  ~StepGenerator() = default;

  /// Registers of the state with what they hold at the start, bounds and the input: once
  /// kernel.warps is drawn.
  void start(unsigned registers);

  /// Draws so many steps, to the end of *out.
  virtual void block(unsigned count) = 0;
  /// Those inside of another step.
  std::vector<Step> inside(unsigned count);

  std::string reg() { return "%s" + std::to_string(number(state)); }
  std::string label() { return "L" + std::to_string(++labels); }
  unsigned number(unsigned bound) { return unsigned(random.below(bound)); }
  template <class... Args> void put(const char *format, Args &&...args) {
    text += "  " + llvm::formatv(format, std::forward<Args>(args)...).str() + "\n";
  }

  test::Random random;
  MatrixKernel kernel;
  std::vector<Step> *out = nullptr;
  std::string text; // of the step that is drawn
  unsigned state = 0, depth = 0, labels = 0;
};

} // namespace rubia::random_kernels
