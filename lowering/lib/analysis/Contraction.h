// SPDX-License-Identifier: Apache-2.0
// Products and sums without rounding modifiers, which PTX allows to become one fused operation (PTX
// ISA: floating-point-instructions-add, -mul): here they do exactly where NVIDIA's compiler fuses
// them, since the bits of every CUDA program rest on that.
//
// The rule was inferred from what the driver's compiler of an H100 (driver 13.0, 2026-11-22) made
// of thousands of kernels, and predicts their results; docs/numerics.md has it with what it leaves
// unexplained, tests/golden the kernels. In short: a product of `mul` is fused into all of its uses
// or into none. All must be sums of its format and .ftz, reached by copies and negations only, in
// the same stretch of code (Stretches.h) unless a factor is constant. Where two products meet in a
// sum, one is chosen.
#pragma once

#include "lowering/lib/analysis/Stretches.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace rubia::lowering {

class Contraction {
public:
  Contraction() = default; // nothing is fused
  explicit Contraction(const ptx::Function &function);

  struct Fused {
    uint32_t product; // index of the `mul` in the body
    uint8_t operand;  // of the sum that it is: 0 or 1
    bool negated;     // it comes there with its sign changed
    bool operator==(const Fused &) const = default;
  };
  /// What the sum with this index is fused with; null: nothing.
  const Fused *ofSum(uint32_t index) const {
    auto found = sums.find(index);
    return found == sums.end() ? nullptr : &found->second;
  }
  /// Whether the product with this index is fused into any sum.
  bool isFused(uint32_t index) const { return products.contains(index); }

private:
  llvm::DenseMap<uint32_t, Fused> sums;
  llvm::DenseSet<uint32_t> products;
};

} // namespace rubia::lowering
