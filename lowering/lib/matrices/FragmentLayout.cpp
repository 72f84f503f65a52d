// SPDX-License-Identifier: Apache-2.0
#include "lowering/lib/matrices/FragmentLayout.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include <optional>

using namespace llvm;

namespace rubia::lowering {
std::optional<unsigned> indexOf(ArrayRef<TileBit> bits, TileBit bit) {
  const TileBit *found = find(bits, bit);
  if (found == bits.end())
    return std::nullopt;
  return unsigned(found - bits.begin());
}

Value *gatherBits(IRBuilder<> &b, Value *value, ArrayRef<std::optional<unsigned>> sources) {
  Value *result = nullptr;
  // Neighbours that move by the same distance move together.
  for (size_t i = 0; i < sources.size();) {
    if (!sources[i]) {
      ++i;
      continue;
    }
    const int distance = int(i) - int(*sources[i]);
    uint32_t mask = 0;
    for (; i < sources.size() && sources[i] && int(i) - int(*sources[i]) == distance; ++i)
      mask |= 1u << *sources[i];
    Value *part = b.CreateAnd(value, mask);
    part = distance >= 0 ? b.CreateShl(part, uint64_t(distance))
                         : b.CreateLShr(part, uint64_t(-distance));
    result = result ? b.CreateOr(result, part) : part;
  }
  return result ? result : b.getInt32(0);
}

namespace {

bool isIdentity(ArrayRef<std::optional<unsigned>> sources) {
  for (auto [i, source] : enumerate(sources))
    if (source != i)
      return false;
  return true;
}

} // namespace

Value *pullFromWaveLane(IRBuilder<> &b, Value *value, Value *lane) {
  if (isa<Constant>(value))
    return value;
  return b.CreateIntrinsic(b.getInt32Ty(), Intrinsic::amdgcn_ds_bpermute,
                           {b.CreateShl(lane, 2), value});
}

Value *waveLane(IRBuilder<> &b, const Target &target) {
  Value *lane = b.CreateIntrinsic(b.getInt32Ty(), Intrinsic::amdgcn_mbcnt_lo,
                                  {b.getInt32(~0u), b.getInt32(0)});
  if (target.waveSize == 64)
    lane = b.CreateIntrinsic(b.getInt32Ty(), Intrinsic::amdgcn_mbcnt_hi, {b.getInt32(~0u), lane});
  return lane;
}

SmallVector<Value *, 8> moveWords(IRBuilder<> &b, const FragmentLayout &from,
                                  ArrayRef<Value *> words, const FragmentLayout &to, Value *lane,
                                  unsigned first) {
  assert(words.size() == from.registers());
  // What of the source's lane and register follows from the lane.
  SmallVector<std::optional<unsigned>, 6> laneSources;
  for (TileBit bit : from.lane)
    laneSources.push_back(indexOf(to.lane, bit));
  SmallVector<unsigned, 3> chosenByLane; // bits of the source's register
  for (auto [i, bit] : enumerate(from.reg))
    if (indexOf(to.lane, bit))
      chosenByLane.push_back(unsigned(i));
  Value *laneBase = gatherBits(b, lane, laneSources);
  if (first)
    laneBase = b.CreateOr(laneBase, first);
  const bool staysInLane = isIdentity(laneSources) && to.lane.size() == from.lane.size() && !first;

  SmallVector<Value *, 8> moved;
  for (unsigned target = 0; target < to.registers(); ++target) {
    // What follows from the register of the destination.
    uint32_t laneBits = 0, regBits = 0;
    for (auto [i, bit] : enumerate(from.lane))
      if (auto at = indexOf(to.reg, bit))
        laneBits |= (target >> *at & 1) << i;
    for (auto [i, bit] : enumerate(from.reg))
      if (auto at = indexOf(to.reg, bit))
        regBits |= (target >> *at & 1) << i;
    Value *source = laneBits ? b.CreateOr(laneBase, laneBits) : laneBase;
    // One candidate for each choice that the lane has, then the choice, bit by bit.
    SmallVector<Value *, 8> candidates;
    for (unsigned choice = 0; choice < 1u << chosenByLane.size(); ++choice) {
      unsigned reg = regBits;
      for (auto [i, bit] : enumerate(chosenByLane))
        reg |= (choice >> i & 1) << bit;
      candidates.push_back(staysInLane ? words[reg] : pullFromWaveLane(b, words[reg], source));
    }
    for (unsigned bit : chosenByLane) {
      Value *isSet =
          b.CreateICmpNE(b.CreateAnd(lane, 1u << *indexOf(to.lane, from.reg[bit])), b.getInt32(0));
      for (unsigned i = 0; i < candidates.size() / 2; ++i)
        candidates[i] = b.CreateSelect(isSet, candidates[2 * i + 1], candidates[2 * i]);
      candidates.resize(candidates.size() / 2);
    }
    moved.push_back(candidates[0]);
  }
  return moved;
}

} // namespace rubia::lowering
