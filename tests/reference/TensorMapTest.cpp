// SPDX-License-Identifier: Apache-2.0
// The interpreter reads tensor maps that Rubia's driver has written: both have one layout.
#include "reference/TensorMap.h"
#include "lowering/TensorMap.h"
#include "gtest/gtest.h"
#include <cstddef>

using namespace rubia;

#define EXPECT_SAME_PLACE(FIELD)                                                                   \
  EXPECT_EQ(offsetof(reference::TensorMap, FIELD), offsetof(rubia::abi::TensorMap, FIELD));        \
  EXPECT_EQ(sizeof(reference::TensorMap::FIELD), sizeof(rubia::abi::TensorMap::FIELD))

TEST(TensorMap, IsThatOfTheDriver) {
  EXPECT_EQ(reference::TensorMap::kMagic, rubia::abi::kTensorMapMagic);
  EXPECT_SAME_PLACE(base);
  EXPECT_SAME_PLACE(strides);
  EXPECT_SAME_PLACE(sizes);
  EXPECT_SAME_PLACE(magic);
  EXPECT_SAME_PLACE(box);
  EXPECT_SAME_PLACE(elementStrides);
  EXPECT_SAME_PLACE(rank);
  EXPECT_SAME_PLACE(type);
  EXPECT_SAME_PLACE(interleave);
  EXPECT_SAME_PLACE(swizzle);
  EXPECT_SAME_PLACE(fill);
  EXPECT_EQ(offsetof(reference::TensorMap, isIm2col), offsetof(rubia::abi::TensorMap, access));
  EXPECT_EQ(uint8_t(rubia::abi::TensorAccess::Im2col), 1);
  EXPECT_SAME_PLACE(lowerCorner);
  EXPECT_SAME_PLACE(upperCorner);
  EXPECT_SAME_PLACE(channels);
  EXPECT_SAME_PLACE(pixels);
}
