// SPDX-License-Identifier: Apache-2.0
// Wrong (or perhaps still right) variants of an instruction: the mistakes that people and broken
// tools make, one a variant. Whether a variant is legal is for a judge to say, ptxas or the front
// end.
#pragma once

#include "Instance.h"
#include "Random.h"

namespace rubia::test {

enum class Mutation : uint8_t {
  SwapModifiers,
  DropModifier,
  DoubleModifier,
  SiblingModifier, // one that another form of the opcode has, added or put in place of one
  ForeignModifier, // any of PTX
  OtherType,
  DropOperand,
  AddOperand,
  SwapOperands,
  OperandKind,
  OperandType,
  VectorWidth,
  Constant,
  Undeclared,
  OldVersion, // before the row's first
  OldTarget,
  NewTarget, // another generation's, with the newest version
  Guard,
  Token, // a character lost, doubled or exchanged
  Opcode,
};
inline constexpr unsigned kMutations = unsigned(Mutation::Opcode) + 1;
llvm::StringRef nameOf(Mutation mutation);

/// What a mistake is about.
enum class Mistake : uint8_t { Modifiers, Types, OperandCount, Availability, Other };
inline constexpr unsigned kMistakes = unsigned(Mistake::Other) + 1;
llvm::StringRef nameOf(Mistake mistake);
Mistake mistakeOf(Mutation mutation);

/// A variant of `instance`; equal to it where the mutation does not apply.
Instance mutate(const Instance &instance, Mutation mutation, Random &random);

} // namespace rubia::test
