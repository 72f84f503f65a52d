// SPDX-License-Identifier: Apache-2.0
// Tensor maps that the program has encoded: 128 bytes, which are the driver's own business, and the
// arguments that they were made of.
#pragma once

#include "diff/CapsuleFormat.h"
#include "diff/forward/Containers.h"

namespace rubia::forward {

using capsule::TensorMapArguments;

struct EncodedTensorMap {
  uint8_t bytes[capsule::kTensorMapBytes];
  TensorMapArguments arguments;
};

class TensorMaps {
public:
  void encoded(const void *map, const TensorMapArguments &arguments);
  /// By its bytes; null: it was not encoded where anybody saw it.
  const EncodedTensorMap *find(const void *map) const;
  size_t count() const { return all.size(); }

  /// Calls `take` for each that stands in memory, at multiples of eight bytes.
  template <class Take> void findIn(const uint8_t *bytes, size_t size, Take take) const {
    for (size_t i = 0; !all.empty() && i + capsule::kTensorMapBytes <= size; i += 8)
      if (mayBeginAt(bytes + i))
        if (const EncodedTensorMap *map = find(bytes + i))
          take(*map);
  }

private:
  static size_t slotOf(const void *map) {
    uint64_t words[2];
    memcpy(words, map, sizeof(words));
    return ((words[0] ^ words[1]) * 0x9e3779b97f4a7c15u) >> 48;
  }
  bool mayBeginAt(const void *map) const {
    const size_t slot = slotOf(map);
    return slots[slot / 8] & (1u << slot % 8);
  }

  Array<EncodedTensorMap> all;
  uint8_t slots[(1 << 16) / 8] = {}; // a bit for each value of slotOf() that there is
};

} // namespace rubia::forward
