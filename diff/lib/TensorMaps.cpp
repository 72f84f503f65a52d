// SPDX-License-Identifier: Apache-2.0
#include "diff/TensorMaps.h"
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

} // namespace rubia::capsule
