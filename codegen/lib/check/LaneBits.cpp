// SPDX-License-Identifier: Apache-2.0
#include "codegen/lib/check/LaneBits.h"
#include "llvm/ADT/DenseMap.h"

using namespace llvm;

namespace rubia::codegen {

LaneBit LaneState::notOf(LaneBit a) {
  if (a.isKnown())
    return LaneBit::of(a.is(false));
  if (a.kind == LaneBit::Free)
    a.isNegated = !a.isNegated;
  return a;
}

/// Of what is unknown, only lanes remain that the other one has: any of them.
LaneBit LaneState::andOf(LaneBit a, LaneBit b) {
  if (a.is(false) || b.is(false))
    return LaneBit::of(false);
  if (a.is(true) || a == b)
    return b;
  if (b.is(true))
    return a;
  if (a.kind == LaneBit::Unknown || b.kind == LaneBit::Unknown)
    return {};
  if (a == notOf(b))
    return LaneBit::of(false);
  LaneBit result = fresh();
  products.push_back({result, a, b});
  return result;
}

LaneBit LaneState::xorOf(LaneBit a, LaneBit b) {
  if (a.isKnown())
    return a.is(true) ? notOf(b) : b;
  if (b.isKnown())
    return b.is(true) ? notOf(a) : a;
  if (a.kind == LaneBit::Unknown || b.kind == LaneBit::Unknown)
    return {};
  if (a.id == b.id)
    return LaneBit::of(a.isNegated != b.isNegated);
  return fresh();
}

void LaneState::forEach(const std::function<void(LaneBit &)> &action) {
  for (LaneBit &bit : bits)
    action(bit);
  action(own);
  for (auto &[place, lanes] : spilled)
    for (auto &[lane, bit] : lanes)
      action(bit);
}

void LaneState::decide(uint32_t id, bool value) {
  const auto replace = [&](LaneBit &bit) {
    if (bit.kind == LaneBit::Free && bit.id == id)
      bit = LaneBit::of(value != bit.isNegated);
  };
  forEach(replace);
  for (Product &product : products)
    for (LaneBit *bit : {&product.result, &product.a, &product.b})
      replace(*bit);
  // At most one consequence at a time: each decides a bit, so this ends.
  for (size_t i = 0; i < products.size(); ++i) {
    const Product product = products[i];
    LaneBit known = product.result, wanted;
    if (known.is(true))
      wanted = product.a.isKnown() ? product.b : product.a;
    else if (product.a.is(false) || product.b.is(false))
      known = LaneBit::of(false), wanted = product.result;
    else if (product.a.is(true))
      wanted = product.result == product.b ? LaneBit::of(true) : product.b;
    else if (product.b.is(true))
      wanted = product.a;
    if (wanted.kind == LaneBit::Free && known.isKnown())
      return decide(wanted.id, known.is(true) != wanted.isNegated);
  }
}

void LaneState::simplify(const std::bitset<kScalarRegisters> &live) {
  for (unsigned i = 0; i < kScalarRegisters; ++i)
    if (!live[i] && i != kExec && i != kExec + 1)
      bits[i] = {};
  DenseMap<uint32_t, uint32_t> numbers;
  nextId = 1;
  forEach([&](LaneBit &bit) {
    if (bit.kind != LaneBit::Free)
      return;
    auto [number, isNew] = numbers.try_emplace(bit.id, nextId);
    nextId += isNew;
    bit.id = number->second;
  });
  std::erase_if(products, [&](Product &product) {
    for (LaneBit *bit : {&product.result, &product.a, &product.b}) {
      auto number = numbers.find(bit->id);
      if (bit->kind != LaneBit::Free || number == numbers.end())
        return true;
      bit->id = number->second;
    }
    return false;
  });
}

bool LaneState::isLike(const LaneState &other) const {
  return isWhole == other.isWhole && own == other.own && bits == other.bits &&
         spilled == other.spilled;
}

} // namespace rubia::codegen
