// SPDX-License-Identifier: Apache-2.0
// A CUtensorMap's 128 bytes, which programs take for opaque, as Rubia's driver writes them.
#pragma once

#include <cstdint>

namespace rubia::reference {

struct TensorMap {
  static constexpr unsigned kMaxRank = 5;
  static constexpr uint32_t kMagic = 0x52544d31;

  uint64_t base = 0;
  uint64_t strides[kMaxRank - 1] = {}; // bytes, of dimensions 1 to 4
  uint32_t sizes[kMaxRank] = {};       // 0: 2^32
  uint32_t magic = kMagic;
  uint16_t box[kMaxRank] = {}; // tiled: what is traversed
  uint8_t elementStrides[kMaxRank] = {1, 1, 1, 1, 1};
  uint8_t rank = 1;
  /// These as PTX numbers them in tensormap.replace.
  uint8_t type = 0, interleave = 0, swizzle = 0, fill = 0;
  uint8_t isIm2col = 0;
  uint8_t reserved0[3] = {};
  int16_t lowerCorner[3] = {}, upperCorner[3] = {}; // im2col: of the dimensions in the middle
  uint16_t channels = 0, pixels = 0;                // im2col
  uint8_t reserved1[24] = {};
};
static_assert(sizeof(TensorMap) == 128);

} // namespace rubia::reference
