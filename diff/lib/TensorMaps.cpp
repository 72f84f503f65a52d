// SPDX-License-Identifier: Apache-2.0
#include "diff/TensorMaps.h"
#include "llvm/ADT/STLExtras.h"
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

// CUDA aligns them to 64 bytes.
size_t adoptChangedTensorMaps(ArrayRef<TensorMap> recorded, uint64_t address,
                              ArrayRef<uint8_t> expected, MutableArrayRef<uint8_t> got) {
  constexpr size_t kAlignment = 64;
  size_t adopted = 0;
  for (size_t i = (kAlignment - address % kAlignment) % kAlignment;
       i + kTensorMapBytes <= expected.size();) {
    const ArrayRef<uint8_t> here = expected.slice(i, kTensorMapBytes);
    if (none_of(recorded, [&](const TensorMap &map) { return isChanged(map.bytes, here); })) {
      i += kAlignment;
      continue;
    }
    copy(here, got.begin() + i);
    adopted += kTensorMapBytes;
    i += kTensorMapBytes;
  }
  return adopted;
}

} // namespace rubia::capsule
