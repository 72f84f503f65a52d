// SPDX-License-Identifier: Apache-2.0
#include "fatbin/Container.h"
#include "gtest/gtest.h"

using namespace rubia::fatbin;

namespace {

Image image(ImageKind kind, unsigned sm, char variant = 0) {
  Image image;
  image.kind = kind;
  image.sm = sm;
  image.variant = variant;
  return image;
}

Image ptx(unsigned sm, char variant = 0) { return image(ImageKind::Ptx, sm, variant); }
Image sass(unsigned sm, char variant = 0) { return image(ImageKind::Cubin, sm, variant); }

std::string selected(const std::vector<Image> &images, unsigned capability) {
  const Image *best = selectPtx(images, capability);
  return best ? best->target() + "#" + std::to_string(best - images.data()) : "none";
}

TEST(SelectPtx, TakesTheNewestThatIsNotAboveTheCapability) {
  std::vector<Image> images = {ptx(75), ptx(80), ptx(89), ptx(90), ptx(120)};
  EXPECT_EQ(selected(images, 89), "sm_89#2");
  EXPECT_EQ(selected(images, 88), "sm_80#1");
  EXPECT_EQ(selected(images, 90), "sm_90#3");
  EXPECT_EQ(selected(images, 130), "sm_120#4");
}

TEST(SelectPtx, ElseTheOldestAboveIt) {
  EXPECT_EQ(selected({ptx(121), ptx(100), ptx(103)}, 89), "sm_100#1");
  EXPECT_EQ(selected({ptx(121)}, 89), "sm_121#0");
}

TEST(SelectPtx, VariantsOnlyWhereThereIsNothingElse) {
  EXPECT_EQ(selected({ptx(90, 'a'), ptx(75)}, 90), "sm_75#1");
  EXPECT_EQ(selected({ptx(90, 'a'), ptx(120)}, 90), "sm_120#1");
  EXPECT_EQ(selected({ptx(100, 'f'), ptx(90, 'a')}, 90), "sm_90a#1");
  EXPECT_EQ(selected({sass(90), ptx(90, 'a')}, 80), "sm_90a#1");
}

TEST(SelectPtx, OfEqualsTheFirst) {
  EXPECT_EQ(selected({sass(80), ptx(80), ptx(80)}, 89), "sm_80#1");
}

TEST(SelectPtx, NothingButPtxCounts) {
  EXPECT_EQ(selected({}, 89), "none");
  EXPECT_EQ(selected({sass(80), image(ImageKind::LtoIr, 80)}, 89), "none");
}

TEST(Describe, NamesWhatThereIs) {
  EXPECT_EQ(describe({}), "no images");
  EXPECT_EQ(describe({sass(90), sass(80), sass(80)}), "no PTX: only SASS for sm_80, sm_90");
  EXPECT_EQ(describe({sass(90), sass(90, 'a'), ptx(90)}), "PTX for sm_90; SASS for sm_90, sm_90a");
  EXPECT_EQ(describe({image(ImageKind::LtoIr, 75)}), "no PTX: only LTO-IR for sm_75");
  EXPECT_EQ(describe({ptx(0)}), "PTX for sm_?");
  EXPECT_EQ(describe({image(ImageKind::Other, 80), sass(80)}),
            "no PTX: only SASS for sm_80; images of unknown kind for sm_80");
}

} // namespace
