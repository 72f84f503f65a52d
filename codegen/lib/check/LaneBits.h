// SPDX-License-Identifier: Apache-2.0
// One lane's bits of the masks in scalar registers, and the vector registers in which it no longer
// has what it left there.
#pragma once

#include "codegen/lib/check/LaneMasks.h"
#include <functional>

namespace rubia::codegen {

/// The lane's bit of a word. Free: 0 or 1 as it may be, the same wherever `id` is the same.
/// Unknown: nothing is known of it, nor that it does not depend on others.
struct LaneBit {
  enum Kind : uint8_t { Zero, One, Free, Unknown };
  Kind kind = Unknown;
  bool isNegated = false; ///< of Free
  uint32_t id = 0;

  bool operator==(const LaneBit &) const = default;
  bool is(bool value) const { return kind == (value ? One : Zero); }
  bool isKnown() const { return kind == Zero || kind == One; }
  static LaneBit of(bool value) { return {value ? One : Zero}; }
};

/// The state of one lane, the same in each warp, at a point of the program.
struct LaneState {
  std::array<LaneBit, kScalarRegisters> bits;
  std::map<LanePlace, std::map<unsigned, LaneBit>> spilled; ///< in lanes of vector registers
  /// Written with all lanes on while this one was idle: the value is another lane's.
  std::bitset<2 * Clobbers::kVectors> foreign;
  bool isWhole = false; ///< all lanes are on
  LaneBit own = {};     ///< the lane's bit of EXEC, or what it was before all were on
  uint32_t nextId = 1;

  LaneBit fresh() { return {LaneBit::Free, false, nextId++}; }
  LaneBit andOf(LaneBit a, LaneBit b);
  LaneBit orOf(LaneBit a, LaneBit b) { return notOf(andOf(notOf(a), notOf(b))); }
  LaneBit xorOf(LaneBit a, LaneBit b);
  static LaneBit notOf(LaneBit a);

  /// A free bit becomes this wherever it is.
  void decide(uint32_t id, bool value);
  /// What is free has numbers in the order of registers, so that equal states are alike. Scalar
  /// registers that nothing reads any more have no values.
  void simplify(const std::bitset<kScalarRegisters> &live);
  /// Whether all but `foreign` is the same.
  bool isLike(const LaneState &other) const;

private:
  /// Products of two free bits: once one of them is decided, the factors may be.
  struct Product {
    LaneBit result, a, b;
  };
  std::vector<Product> products;
  void forEach(const std::function<void(LaneBit &)> &action);
};

} // namespace rubia::codegen
