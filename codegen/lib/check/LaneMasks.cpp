// SPDX-License-Identifier: Apache-2.0
#include "codegen/lib/check/LaneMasks.h"

namespace rubia::codegen {

namespace {

/// A mask if both are, else something with lanes beyond, if both are at least that.
MaskValue lanesOf(const MaskValue &a, const MaskValue &b) {
  if (!a.isLanes() || !b.isLanes())
    return {};
  return {a.isMask() && b.isMask() ? MaskValue::Mask : MaskValue::Whole};
}

constexpr unsigned kFirstSavedScalar = 30, kSavedScalars = 76; ///< s30 to s105

/// Blocks of eight vector registers, v40 to v47 and every second one from there, are saved.
bool isSavedAcrossCalls(const LanePlace &place) {
  switch (place.kind) {
  case LanePlace::Vector:
    return place.number >= 40 && place.number % 16 >= 8;
  case LanePlace::Accumulation:
    return place.number >= 32;
  case LanePlace::Scratch:
    return true;
  }
  return false;
}

} // namespace

MaskValue joined(const MaskValue &a, const MaskValue &b) { return a == b ? a : lanesOf(a, b); }

MaskValue andOf(const MaskValue &a, const MaskValue &b) {
  return a.isMask() || b.isMask() ? MaskValue{MaskValue::Mask} : lanesOf(a, b);
}

MaskValue andNotOf(const MaskValue &a, const MaskValue &b) {
  return a.isMask() ? MaskValue{MaskValue::Mask} : widened(a, b);
}

MaskValue orOf(const MaskValue &a, const MaskValue &b) { return lanesOf(a, b); }

MaskValue widened(const MaskValue &a, const MaskValue &b) {
  return {a.isLanes() && b.isLanes() ? MaskValue::Whole : MaskValue::Data};
}

MaskState MaskState::atEntry() {
  MaskState state;
  for (unsigned i = 0; i < kScalarRegisters; ++i)
    state.scalars[i] = {MaskValue::Symbol, i, 0};
  state.scalars[kExec] = state.scalars[kExec + 1] = {MaskValue::Mask};
  return state;
}

/// Leaves what both have. Most often that is all, so nothing is made anew.
static bool joinPlace(std::map<unsigned, MaskValue> &ours,
                      const std::map<unsigned, MaskValue> &theirs) {
  bool changed = false;
  auto other = theirs.begin();
  for (auto lane = ours.begin(); lane != ours.end();) {
    while (other != theirs.end() && other->first < lane->first)
      ++other;
    const bool hasBoth = other != theirs.end() && other->first == lane->first;
    const MaskValue both = hasBoth ? joined(lane->second, other->second) : MaskValue{};
    changed |= both != lane->second;
    if (both.kind == MaskValue::Data) {
      changed = true;
      lane = ours.erase(lane);
    } else {
      lane++->second = both;
    }
  }
  return changed;
}

bool MaskState::join(const MaskState &other) {
  bool changed = false;
  for (unsigned i = 0; i < kScalarRegisters; ++i) {
    MaskValue value = joined(scalars[i], other.scalars[i]);
    changed |= value != scalars[i];
    scalars[i] = value;
  }
  if (sharedLanes != other.sharedLanes)
    changed |= joinLanes(other.lanes());
  return changed;
}

bool MaskState::joinLanes(const Lanes &others) {
  Lanes ours = lanes();
  bool changed = false;
  for (auto place = ours.begin(); place != ours.end();) {
    auto theirs = others.find(place->first);
    changed |= theirs == others.end() || joinPlace(place->second, theirs->second);
    const bool isGone = theirs == others.end() || place->second.empty();
    place = isGone ? ours.erase(place) : std::next(place);
  }
  if (changed)
    sharedLanes = std::make_shared<Lanes>(std::move(ours));
  return changed;
}

Lanes &MaskState::writableLanes() {
  if (sharedLanes.use_count() > 1)
    sharedLanes = std::make_shared<Lanes>(*sharedLanes);
  return *sharedLanes;
}

void MaskState::forgetLanes(const LanePlace &place) {
  if (lanes().contains(place))
    writableLanes().erase(place);
}

void MaskState::copyLanes(const LanePlace &from, const LanePlace &to) {
  auto source = lanes().find(from);
  if (source == lanes().end())
    forgetLanes(to);
  else
    writableLanes()[to] = std::map(source->second);
}

void Clobbers::add(RegisterRange range) {
  const unsigned offset = range.file == RegisterRange::Accumulation ? kVectors : 0;
  for (unsigned i = range.first; i < unsigned(range.first) + range.count; ++i)
    if (range.file == RegisterRange::Scalar)
      scalars.set(i);
    else if (range.file != RegisterRange::Other && i < kVectors)
      vectors.set(offset + i);
}

void Clobbers::add(const Clobbers &other) {
  scalars |= other.scalars;
  vectors |= other.vectors;
}

void MaskState::call(const Clobbers &clobbers) {
  for (unsigned i = 0; i < kExec; ++i)
    if (clobbers.scalars[i] && (i < kFirstSavedScalar || i >= kFirstSavedScalar + kSavedScalars))
      scalars[i] = {};
  const auto isLost = [&](const auto &entry) {
    const LanePlace &place = entry.first;
    if (isSavedAcrossCalls(place))
      return false;
    const unsigned offset = place.kind == LanePlace::Accumulation ? Clobbers::kVectors : 0;
    return bool(clobbers.vectors[offset + unsigned(place.number)]);
  };
  if (llvm::any_of(lanes(), isLost))
    std::erase_if(writableLanes(), isLost);
}

} // namespace rubia::codegen
