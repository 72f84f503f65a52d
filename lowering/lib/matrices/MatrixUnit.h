// SPDX-License-Identifier: Apache-2.0
// AMD's matrix units: the layouts of their fragments, and the instructions that multiply them.
#pragma once

#include "lowering/lib/analysis/MmaForm.h"
#include "lowering/lib/matrices/FragmentLayout.h"
#include "llvm/IR/IRBuilder.h"

namespace rubia::lowering {

/// What is multiplied, as instructions tell it apart.
struct ProductTypes {
  ptx::Type a{}, b{};
  bool saturates = false; // integers: the sum with C, once
  bool isFast = false;    // f16, bf16, tf32: the fastest way, where denormals may count as zero
  bool canonicalNan = false;

  std::string name() const; // "f16.f16"
};

class MatrixUnit {
public:
  explicit MatrixUnit(const Target &target) : target(target) {}

  /// Whether there is a unit for this form of the code, and it can multiply these types with the
  /// results that PTX allows.
  bool multiplies(const ProductTypes &types) const;
  /// Whether there is any for this form of the code.
  bool exists() const;

  /// The unit's fragments. Those of B have the columns of two mma.
  FragmentLayout a() const;
  FragmentLayout b() const;
  FragmentLayout sums() const;

  /// D = A * B + C of one warp: vectors of i32.
  llvm::Value *multiply(llvm::IRBuilder<> &b, const ProductTypes &types, llvm::Value *aWords,
                        llvm::Value *bWords, llvm::Value *sums) const;

private:
  const Target &target;
};

/// PTX's fragments, of two mma with one A: registers of the first mma, then of the second.
FragmentLayout ptxA();
FragmentLayout ptxB();
FragmentLayout ptxSums();

} // namespace rubia::lowering
