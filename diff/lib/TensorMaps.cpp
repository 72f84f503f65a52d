// SPDX-License-Identifier: Apache-2.0
#include "diff/TensorMaps.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <cstring>

using namespace llvm;

namespace rubia::capsule {

// They stand at multiples of eight bytes.
void ReplacedTensorMaps::findIn(ArrayRef<uint8_t> recorded,
                                function_ref<void(size_t at, const Pair &map)> take) const {
  for (size_t i = 0; !maps.empty() && i + kTensorMapBytes <= recorded.size(); i += 8)
    for (const Pair &map : maps)
      if (!std::memcmp(recorded.data() + i, map.recorded.data(), kTensorMapBytes))
        take(i, map);
}

void ReplacedTensorMaps::change(MutableArrayRef<uint8_t> bytes, ArrayRef<uint8_t> recorded) const {
  findIn(recorded, [&](size_t at, const Pair &map) {
    std::memcpy(bytes.data() + at, map.ours.data(), kTensorMapBytes);
  });
}

void ReplacedTensorMaps::changeBack(MutableArrayRef<uint8_t> bytes,
                                    ArrayRef<uint8_t> recorded) const {
  findIn(recorded, [&](size_t at, const Pair &map) {
    if (!std::memcmp(bytes.data() + at, map.ours.data(), kTensorMapBytes))
      std::memcpy(bytes.data() + at, map.recorded.data(), kTensorMapBytes);
  });
}

// At least half of the map's bytes are as they were, and half of those that are not zero.
static bool isChanged(ArrayRef<uint8_t> map, ArrayRef<uint8_t> bytes) {
  size_t equal = 0, set = 0, equalAndSet = 0;
  for (size_t i = 0; i < kTensorMapBytes; ++i) {
    equal += map[i] == bytes[i];
    set += map[i] != 0;
    equalAndSet += map[i] == bytes[i] && map[i] != 0;
  }
  return equal < kTensorMapBytes && 2 * equal >= kTensorMapBytes && 2 * equalAndSet >= set;
}

Expected<reference::TensorMap> tensorMapOf(const TensorMapArguments &with) {
  // CUtensorMapDataType, as PTX numbers the types.
  constexpr uint8_t kTypes[] = {0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 8, 11, 12};
  if (uint32_t(with.type) >= std::size(kTypes) || !with.rank ||
      with.rank > reference::TensorMap::kMaxRank)
    return createStringError("a tensor map of an unknown type or rank");
  reference::TensorMap map;
  map.base = with.address;
  map.rank = uint8_t(with.rank);
  for (uint32_t i = 0; i < map.kMaxRank; ++i) {
    const bool isThere = i < with.rank;
    map.sizes[i] = isThere ? uint32_t(with.sizes[i]) : 1;
    map.box[i] = isThere ? uint16_t(with.box[i]) : 1;
    map.elementStrides[i] = isThere ? uint8_t(with.elementStrides[i]) : 1;
    if (i + 1 < with.rank)
      map.strides[i] = with.strides[i];
  }
  map.type = kTypes[with.type];
  map.interleave = uint8_t(with.interleave);
  map.swizzle = uint8_t(with.swizzle);
  map.fill = uint8_t(with.fill);
  map.isIm2col = uint8_t(with.isIm2col);
  if (!with.isIm2col)
    return map;
  std::fill_n(map.box, with.rank, 0);
  for (uint32_t i = 0; i + 2 < with.rank; ++i) {
    map.lowerCorner[i] = int16_t(with.lower[i]);
    map.upperCorner[i] = int16_t(with.upper[i]);
  }
  map.channels = uint16_t(with.channels);
  map.pixels = uint16_t(with.pixels);
  return map;
}

// "global_dim, box_dim": the fields in which two maps differ, as tensormap.replace names them.
static std::string changedFields(const reference::TensorMap &a, const reference::TensorMap &b) {
  std::string fields;
  const auto add = [&](StringRef name, const auto &ofA, const auto &ofB) {
    if (std::memcmp(&ofA, &ofB, sizeof(ofA)))
      fields += (fields.empty() ? "" : ", ") + name.str();
  };
  add("global_address", a.base, b.base);
  add("rank", a.rank, b.rank);
  add("box_dim", a.box, b.box);
  add("global_dim", a.sizes, b.sizes);
  add("global_stride", a.strides, b.strides);
  add("element_stride", a.elementStrides, b.elementStrides);
  add("elemtype", a.type, b.type);
  add("interleave_layout", a.interleave, b.interleave);
  add("swizzle_mode", a.swizzle, b.swizzle);
  add("fill_mode", a.fill, b.fill);
  return fields;
}

namespace {
enum class Pair { Equal, Undecided, Different };
}

// `theirs` and `ours`: a map in another driver's form, and one in Rubia's.
static Pair compareMaps(ArrayRef<TensorMap> recorded, ArrayRef<uint8_t> theirs,
                        const reference::TensorMap &ours, std::string &fields) {
  Pair result = Pair::Different;
  for (const TensorMap &map : recorded) {
    Expected<reference::TensorMap> known = tensorMapOf(map.arguments);
    if (!known) {
      consumeError(known.takeError()); // no map of Rubia's can be of these arguments
      continue;
    }
    const bool isOurs = !std::memcmp(&*known, &ours, sizeof(ours));
    if (ArrayRef(map.bytes) == theirs) {
      if (isOurs)
        return Pair::Equal;
    } else if (isChanged(map.bytes, theirs) && !isOurs && result != Pair::Undecided) {
      result = Pair::Undecided;
      fields = changedFields(*known, ours);
    }
  }
  // One that is a recorded one in full is known; ours is another.
  return any_of(recorded, [&](const TensorMap &map) { return ArrayRef(map.bytes) == theirs; })
             ? Pair::Different
             : result;
}

// CUDA aligns them to 64 bytes.
TensorMapComparison compareTensorMaps(ArrayRef<TensorMap> recorded, uint64_t address,
                                      ArrayRef<uint8_t> expected, MutableArrayRef<uint8_t> got) {
  constexpr size_t kAlignment = 64;
  TensorMapComparison result;
  const auto mapAt = [](ArrayRef<uint8_t> bytes, size_t at) {
    reference::TensorMap map;
    std::memcpy(&map, bytes.data() + at, sizeof(map));
    return map;
  };
  for (size_t i = (kAlignment - address % kAlignment) % kAlignment;
       !recorded.empty() && i + kTensorMapBytes <= expected.size(); i += kAlignment) {
    const reference::TensorMap ours = mapAt(got, i);
    if (ours.magic != ours.kMagic || mapAt(expected, i).magic == ours.kMagic)
      continue;
    const ArrayRef<uint8_t> here = expected.slice(i, kTensorMapBytes);
    std::string fields;
    const Pair pair = compareMaps(recorded, here, ours, fields);
    if (pair == Pair::Different)
      continue;
    copy(here, got.begin() + i);
    if (pair == Pair::Undecided && !result.undecided++)
      result.first = "the tensor map at 0x" + utohexstr(address + i, true) +
                     ", in which the replay changed " + fields;
  }
  return result;
}

} // namespace rubia::capsule
