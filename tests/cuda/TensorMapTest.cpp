// SPDX-License-Identifier: Apache-2.0
// Which tensor maps with interleaved layouts the driver takes: each case changes one that is right.
#include "tests/cuda/Client.h"
#include <cstdint>
#include <functional>
#include <gtest/gtest.h>

namespace rubia::runtime::cuda {
namespace {

struct alignas(64) Map {
  uint64_t words[16];
};

// 16-bit integers, eight of them in a slice of 16 bytes: 8 channels, 32 columns, 4 slices.
struct Tiled {
  void *address = reinterpret_cast<void *>(uint64_t(1) << 20);
  int type = 1, interleave = 1, swizzle = 0, fill = 0;
  uint32_t rank = 3;
  uint64_t sizes[3] = {8, 32, 4}, strides[2] = {16, 512};
  uint32_t box[3] = {8, 16, 2}, steps[3] = {1, 1, 1};

  int encode(Map &map) const {
    return cu("cuTensorMapEncodeTiled", static_cast<void *>(&map), type, rank, address, &sizes[0],
              &strides[0], &box[0], &steps[0], interleave, swizzle, 0, fill);
  }
};

struct TiledCase {
  const char *name;
  std::function<void(Tiled &)> change;
  int status;
};

const TiledCase kTiled[] = {
    {"slices of 16 bytes", [](Tiled &) {}, kSuccess},
    {"two dimensions", [](Tiled &map) { map.rank = 2; }, kInvalidValue},
    {"two dimensions, not interleaved", [](Tiled &map) { map.rank = 2, map.interleave = 0; },
     kSuccess},
    {"an unknown layout", [](Tiled &map) { map.interleave = 3; }, kInvalidValue},
    {"a negative layout", [](Tiled &map) { map.interleave = -1; }, kInvalidValue},
    {"a stride of half a slice", [](Tiled &map) { map.strides[0] = 24; }, kInvalidValue},
    {"a stride of 48 bytes", [](Tiled &map) { map.strides[0] = 48; }, kSuccess},
    {"the same for slices of 32", [](Tiled &map) { map.strides[0] = 48, map.interleave = 2; },
     kInvalidValue},
    {"strides of whole slices of 32", [](Tiled &map) { map.strides[0] = 64, map.interleave = 2; },
     kSuccess},
    {"an address of 16 bytes",
     [](Tiled &map) { map.address = static_cast<char *>(map.address) + 16; }, kSuccess},
    {"the same for slices of 32",
     [](Tiled &map) {
       map.address = static_cast<char *>(map.address) + 16;
       map.strides[0] = 64, map.interleave = 2;
     },
     kInvalidValue},
    {"rows of 12 bytes in the box", [](Tiled &map) { map.box[0] = 6; }, kInvalidValue},
    {"rows wider than the swizzle", [](Tiled &map) { map.swizzle = 1, map.box[0] = 32; }, kSuccess},
    {"the same, not interleaved",
     [](Tiled &map) { map.swizzle = 1, map.box[0] = 32, map.interleave = 0; }, kInvalidValue},
    {"an unknown swizzle", [](Tiled &map) { map.swizzle = 4; }, kInvalidValue},
    {"NaN for integers", [](Tiled &map) { map.fill = 1; }, kInvalidValue},
    {"NaN for halves", [](Tiled &map) { map.fill = 1, map.type = 6; }, kSuccess},
    {"a box larger than shared memory",
     [](Tiled &map) { map.box[0] = map.box[1] = map.box[2] = 256; }, kInvalidValue},
};

} // namespace

class TensorMaps : public ::testing::Test {
protected:
  void SetUp() override { ASSERT_EQ(cu("cuInit", 0u), kSuccess); }
};

TEST_F(TensorMaps, InterleavedLayouts) {
  for (const TiledCase &test : kTiled) {
    Tiled tiled;
    test.change(tiled);
    Map map{}, none{};
    EXPECT_EQ(tiled.encode(map), test.status) << test.name;
    // Where it is refused nothing is written.
    EXPECT_EQ(memcmp(&map, &none, sizeof(map)) == 0, test.status != kSuccess) << test.name;
  }
}

// The tensor's columns and rows come before its slices, and in another layout behind its channels.
TEST_F(TensorMaps, InterleavedImages) {
  auto encode = [](int interleave, int upper) {
    Map map{};
    const uint64_t sizes[] = {8, 100, 4}, strides[] = {64, 6400};
    const uint32_t steps[] = {1, 1, 1};
    const int corner = 0;
    return cu("cuTensorMapEncodeIm2col", static_cast<void *>(&map), 1, 3u,
              reinterpret_cast<void *>(uint64_t(1) << 20), &sizes[0], &strides[0], &corner, &upper,
              8u, 16u, &steps[0], interleave, 0, 0, 0);
  };
  EXPECT_EQ(encode(0, -8), kSuccess);
  EXPECT_EQ(encode(0, -100), kInvalidValue);
  EXPECT_EQ(encode(1, -7), kSuccess);
  EXPECT_EQ(encode(1, -8), kInvalidValue);
  EXPECT_EQ(encode(2, -8), kInvalidValue);
}

TEST_F(TensorMaps, InterleavedOnesTakeAlignedAddresses) {
  for (int interleave : {1, 2}) {
    Tiled tiled;
    tiled.interleave = interleave;
    tiled.strides[0] = 64;
    Map map{};
    ASSERT_EQ(tiled.encode(map), kSuccess);
    for (unsigned offset : {8u, 16u, 32u})
      EXPECT_EQ(cu("cuTensorMapReplaceAddress", static_cast<void *>(&map),
                   static_cast<void *>(static_cast<char *>(tiled.address) + offset)),
                offset % (16 * interleave) ? kInvalidValue : kSuccess)
          << interleave << " " << offset;
  }
}

} // namespace rubia::runtime::cuda
