// SPDX-License-Identifier: Apache-2.0
// What changes random kernels behind the generator: new registers and statements.
#pragma once

#include "Kernel.h"
#include "tests/ptx-generator/Random.h"

namespace rubia::random_kernels {

class Rewriter {
protected:
  explicit Rewriter(test::Random &random) : random(random) {}

  /// Registers of these statements are taken.
  void countRegisters(const std::vector<Statement> &statements);
  void see(Register reg);
  Register fresh(Kind kind) { return {kind, next[unsigned(kind)]++}; }
  /// A statement in `out` with a new register, which is returned.
  Operand put(std::string word, Kind kind, std::vector<Operand> sources);
  void xorInto(Register changed, Operand other);
  /// What stores a register of 32 bits as one more result.
  static Statement resultOf(Kernel &kernel, Register reg);

  test::Random &random;
  std::vector<Statement> out;

private:
  std::array<unsigned, kKindCount> next = {}; // free register of each kind
};

inline bool isInteger(Kind kind) {
  return kind == Kind::B16 || kind == Kind::B32 || kind == Kind::B64;
}

} // namespace rubia::random_kernels
