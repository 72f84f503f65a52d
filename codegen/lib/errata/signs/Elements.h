// SPDX-License-Identifier: Apache-2.0
// Single elements of vectors, and where they come from.
#pragma once

namespace llvm {
class ConstantFP;
class Value;
} // namespace llvm

namespace rubia::codegen {

/// An element of a vector. A scalar has element 0 alone.
struct Element {
  llvm::Value *value;
  unsigned index;
  bool operator==(const Element &other) const = default;
};

/// 1 for a scalar.
unsigned elementsOf(const llvm::Value *value);

/// The scalar or vector that an element comes from unchanged: behind insertions, extractions and
/// shuffles.
Element sourceOf(Element element);

/// The number that an element is once selection takes vectors apart; null if that isn't one
/// constant.
const llvm::ConstantFP *numberOf(Element element);

} // namespace rubia::codegen
