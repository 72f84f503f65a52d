// SPDX-License-Identifier: Apache-2.0
// Image instructions of RDNA: formats, places of texels, filters, levels, cubes, and what is
// refused.
#include "emulator/lib/machine/Half.h"
#include "emulator/lib/memory/ImageDescriptor.h"
#include "emulator/lib/memory/ImageFormat.h"
#include "emulator/lib/memory/ImageProblem.h"
#include "tests/emulator/MemoryWave.h"
#include <cmath>
#include <functional>

namespace rubia::emulator::test {
namespace {

constexpr unsigned kImage = 16, kSampler = 24; // SGPRs
constexpr ImageFormat kFloat1{ChannelKind::Float, 32, 1}, kUint1{ChannelKind::Uint, 32, 1},
    kUnorm4{ChannelKind::Unorm, 8, 4};

class Images : public MemoryTest {
protected:
  /// v[first:first + count - 1] as each generation's assembler has addresses.
  std::string address(unsigned first, unsigned count) const {
    if (count == 1)
      return "v" + std::to_string(first);
    if (major() < 12)
      return "v[" + std::to_string(first) + ":" + std::to_string(first + count - 1) + "]";
    std::string text = "[";
    for (unsigned i = 0; i < count; ++i)
      text += (i ? ", v" : "v") + std::to_string(first + i);
    return text + "]";
  }
  std::string unorm() const { return major() < 12 ? " unorm" : ""; }
  std::string returns() const { return major() < 12 ? " glc" : " th:TH_ATOMIC_RETURN"; }
  std::string image() const { return ", s[16:23]"; }
  std::string both() const { return ", s[16:23], s[24:27]"; }

  /// A description of the wave's memory, whose start is a multiple of 256.
  ImageDescriptor describe(MemoryWave &w, const ImageFormat &format, uint32_t width,
                           uint32_t height) const {
    EXPECT_EQ(uint64_t(w.global) % 256, 0u);
    ImageDescriptor image;
    image.address = uint64_t(w.global) >> 8;
    image.format = numberOf(format, major());
    image.width = width - 1;
    image.height = height - 1;
    return image;
  }
  void give(MemoryWave &w, const ImageDescriptor &image) const {
    image.write(&w.s(kImage), major());
  }
  void give(MemoryWave &w, const SamplerDescriptor &sampler) const {
    sampler.write(&w.s(kSampler), major());
  }
  static uint32_t bits(float value) { return std::bit_cast<uint32_t>(value); }
  static float number(uint32_t word) { return std::bit_cast<float>(word); }
  /// Texel (x, y) of an image of floats is x + 10 y; rows begin at multiples of 256 bytes.
  static void fill(MemoryWave &w, uint32_t offset, unsigned width, unsigned height, float first) {
    for (unsigned y = 0; y < height; ++y)
      for (unsigned x = 0; x < width; ++x)
        w.at<float>(offset + 256 * y + 4 * x) = first + float(x) + 10 * float(y);
  }
  static SamplerDescriptor linear(ImageClamp clamp = ImageClamp::Edge) {
    SamplerDescriptor sampler;
    sampler.isUnnormalized = 1;
    sampler.magFilter = sampler.minFilter = uint32_t(ImageFilter::Linear);
    std::fill(std::begin(sampler.clamp), std::end(sampler.clamp), uint32_t(clamp));
    return sampler;
  }
  /// Puts a float of each lane into a register.
  static void set(MemoryWave &w, unsigned r, const std::function<float(unsigned)> &value) {
    for (unsigned lane = 0; lane < w.lanes(); ++lane)
      w.v(r, lane) = bits(value(lane));
  }
};

// The fields where the manuals have them.
TEST_P(Images, DescriptorFields) {
  ImageDescriptor image;
  image.address = 0x12'3456789a;
  image.format = 22;
  image.width = 1000;
  image.height = 700;
  image.lastLevel = image.maxLevel = 3;
  image.baseLevel = 1;
  image.depth = 5;
  image.firstLayer = 2;
  image.type = uint32_t(ImageType::TwoDimensionLayers);
  uint32_t words[8];
  image.write(words, major());
  EXPECT_EQ(words[0], 0x3456789au);
  EXPECT_EQ(words[1] & 0xff, 0x12u);
  EXPECT_EQ(words[1] >> 30, 1000u & 3);
  EXPECT_EQ(words[2] & 0xfff, 1000u >> 2);
  EXPECT_EQ(words[2] >> 14 & 0x3fff, 700u);
  EXPECT_EQ(words[3] & 0xfff, 0xfacu); // X, Y, Z, W
  EXPECT_EQ(words[3] >> 28, 13u);
  EXPECT_EQ(words[4], 5u | 2u << 16);
  if (major() == 12) {
    EXPECT_EQ(words[1] >> 17 & 0xff, 22u);
    EXPECT_EQ(words[1] >> 12 & 31, 3u);
    EXPECT_EQ(words[1] >> 25 & 31, 1u);
    EXPECT_EQ(words[3] >> 15 & 31, 3u);
  } else {
    EXPECT_EQ(words[1] >> 20 & 0xff, 22u);
    EXPECT_EQ(words[3] >> 12 & 15, 1u);
    EXPECT_EQ(words[3] >> 16 & 15, 3u);
    EXPECT_EQ(major() == 10 ? words[5] >> 4 & 15 : words[1] >> 16 & 15, 3u);
  }
  const ImageDescriptor again = ImageDescriptor::read(words, major());
  EXPECT_EQ(again.width, 1000u);
  EXPECT_EQ(again.address, image.address);
}

TEST_P(Images, LoadsAndStores) {
  MemoryWave w(GetParam());
  fill(w, 0, 8, 4, 1);
  give(w, describe(w, kFloat1, 8, 4));
  for (unsigned lane = 0; lane < w.lanes(); ++lane) {
    w.v(4, lane) = lane % 16; // half of them outside
    w.v(5, lane) = lane / 16;
    w.v(30, lane) = bits(100 + float(lane));
  }
  w.run("image_load v[20:23], " + address(4, 2) + image() + " dmask:0xf dim:SQ_RSRC_IMG_2D" +
        unorm() + "\nimage_store v30, " + address(4, 2) + image() +
        " dmask:0x1 dim:SQ_RSRC_IMG_2D" + unorm());
  EXPECT_FALSE(w.fault().set);
  for (unsigned lane = 0; lane < w.lanes(); ++lane) {
    const bool inside = lane % 16 < 8 && lane / 16 < 4;
    EXPECT_EQ(number(w.v(20, lane)), inside ? 1 + float(lane % 16) + 10 * float(lane / 16) : 0);
    EXPECT_EQ(w.v(21, lane), 0u);
    EXPECT_EQ(number(w.v(23, lane)), inside ? 1 : 0); // the channel that the format lacks
    if (inside)
      EXPECT_EQ(w.at<float>(256 * (lane / 16) + 4 * (lane % 16)), 100 + float(lane));
  }
  EXPECT_EQ(w.at<uint32_t>(32), MemoryWave(GetParam()).at<uint32_t>(32)); // behind the row
}

// Behind a first sample, which finds out what memory may be read, whole waves are sampled at once.
TEST_P(Images, WholeWavesBlendAsSingleLanes) {
  const ImageFormat kFormats[] = {kFloat1,
                                  {ChannelKind::Float, 32, 4},
                                  {ChannelKind::Float, 16, 2},
                                  kUnorm4,
                                  {ChannelKind::Unorm, 16, 1},
                                  {ChannelKind::Snorm, 8, 2},
                                  {ChannelKind::Snorm, 16, 4}};
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = HUGE_VALF;
  for (const ImageFormat &format : kFormats)
    for (bool isUnnormalized : {false, true}) {
      MemoryWave w(GetParam());
      uint32_t state = 1;
      auto next = [&] { return state = state * 1664525 + 1013904223; };
      for (unsigned i = 0; i < 4 * 256 / 4; ++i) // rows of finite numbers, and some zeros
        w.at<uint32_t>(4 * i) = format.kind == ChannelKind::Float
                                    ? (next() & 0xbfffbfff) >> (next() >> 29 == 0 ? 8 : 0)
                                    : next();
      give(w, describe(w, format, 9, 4));
      SamplerDescriptor sampler = linear(isUnnormalized ? ImageClamp::Edge : ImageClamp::Mirror);
      if (!isUnnormalized)
        sampler.clamp[1] = uint32_t(ImageClamp::Wrap);
      sampler.isUnnormalized = isUnnormalized;
      if (format.channels == 2)
        sampler.magFilter = sampler.minFilter = uint32_t(ImageFilter::Point);
      give(w, sampler);
      const float special[] = {nan, inf, -inf, -3, 12, 0, -0.0f, 1};
      for (unsigned r : {4u, 5u})
        set(w, r, [&](unsigned lane) {
          const float scale = isUnnormalized ? r == 4 ? 9 : 4 : 1;
          const float at = float(next() >> 8) * 0x1p-24f * 1.5f - 0.25f;
          return lane < 8 ? special[(lane + r) % 8] : at * scale;
        });
      const std::string rest = ", " + address(4, 2) + both() + " dmask:0xf dim:SQ_RSRC_IMG_2D";
      w.run("image_sample_lz v[20:23]" + rest + "\nimage_sample_lz v[24:27]" + rest);
      EXPECT_FALSE(w.fault().set);
      for (unsigned lane = 0; lane < w.lanes(); ++lane)
        for (unsigned c = 0; c < 4; ++c)
          EXPECT_EQ(w.v(20 + c, lane), w.v(24 + c, lane)) << lane << " " << c;
    }
}

TEST_P(Images, Formats) {
  struct Case {
    ImageFormat format;
    uint32_t word, first, second; // a texel's bits, and what registers get
  };
  const Case cases[] = {
      {{ChannelKind::Unorm, 8, 2}, 0xff33, bits(0.2f), bits(1)},
      {{ChannelKind::Snorm, 8, 2}, 0x807f, bits(1), bits(-1)},
      {{ChannelKind::Uscaled, 8, 2}, 0xff33, bits(51), bits(255)},
      {{ChannelKind::Sscaled, 8, 2}, 0xff33, bits(51), bits(-1)},
      {{ChannelKind::Uint, 8, 2}, 0xff33, 51, 255},
      {{ChannelKind::Sint, 8, 2}, 0xff33, 51, ~0u},
      {{ChannelKind::Unorm, 16, 2}, 0xffff0000, 0, bits(1)},
      {{ChannelKind::Snorm, 16, 2}, 0x80007fff, bits(1), bits(-1)},
      {{ChannelKind::Uint, 16, 2}, 0x8001ffff, 0xffff, 0x8001},
      {{ChannelKind::Sint, 16, 2}, 0x8001ffff, ~0u, 0xffff8001},
      {{ChannelKind::Float, 16, 2}, 0xc0003c00, bits(1), bits(-2)},
      {kUint1, 0xfedcba98, 0xfedcba98, 0},
      {{ChannelKind::Srgb, 8, 4}, 0xff00ff00, 0, bits(1)},
  };
  for (const Case &one : cases) {
    MemoryWave w(GetParam());
    w.at<uint32_t>(0) = one.word;
    give(w, describe(w, one.format, 1, 1));
    w.exec(1).set(4, 0).set(5, 0);
    w.run("image_load v[20:21], " + address(4, 2) + image() + " dmask:0x3 dim:SQ_RSRC_IMG_2D" +
          unorm());
    EXPECT_EQ(w.v(20, 0), one.first) << std::hex << one.word;
    EXPECT_EQ(w.v(21, 0), one.second) << std::hex << one.word;
    if (one.format.kind == ChannelKind::Srgb)
      continue; // cannot be stored
    w.at<uint32_t>(0) = 0;
    w.run("image_store v[20:21], " + address(4, 2) + image() + " dmask:0x3 dim:SQ_RSRC_IMG_2D" +
          unorm());
    // The least Snorm has two forms.
    const uint32_t stored = one.format.kind == ChannelKind::Snorm
                                ? one.word + (one.format.channelBits == 8 ? 0x100 : 0x10000)
                                : one.word;
    EXPECT_EQ(w.at<uint32_t>(0), stored) << std::hex << one.word;
  }
}

// What does not fit is clamped. Components that are not given are 0, since gfx12 as the first.
TEST_P(Images, StoresWhatFits) {
  MemoryWave w(GetParam());
  give(w, describe(w, kUnorm4, 1, 1));
  w.exec(1).set(4, 0).set(5, 0).set(30, bits(0.5f)).set(31, bits(7));
  w.run("image_store v[30:31], " + address(4, 2) + image() + " dmask:0x3 dim:SQ_RSRC_IMG_2D" +
        unorm());
  EXPECT_EQ(w.at<uint32_t>(0), major() == 12 ? 0x8080ff80u : 0xff80u);
}

TEST_P(Images, HalfDataAndAddresses) {
  MemoryWave w(GetParam());
  fill(w, 0, 8, 4, 1);
  ImageDescriptor described = describe(w, kFloat1, 8, 4);
  described.select[1] = 4; // the second component is the first channel too
  give(w, described);
  for (unsigned lane = 0; lane < w.lanes(); ++lane)
    w.v(4, lane) = lane % 8 | 2 << 16;
  w.run("image_load v20, v4" + image() + " dmask:0x3 dim:SQ_RSRC_IMG_2D" + unorm() + " a16 d16");
  for (unsigned lane = 0; lane < w.lanes(); ++lane) {
    const auto half = RUBIA_ISA::Half(21 + float(lane % 8)).bits;
    EXPECT_EQ(w.v(20, lane), uint32_t(half) << 16 | half);
  }
}

TEST_P(Images, PointsAndAddressModes) {
  for (ImageClamp clamp : {ImageClamp::Edge, ImageClamp::Wrap, ImageClamp::Mirror,
                           ImageClamp::MirrorOnceEdge, ImageClamp::Border}) {
    MemoryWave w(GetParam());
    fill(w, 0, 5, 3, 1);
    give(w, describe(w, kFloat1, 5, 3));
    SamplerDescriptor sampler;
    sampler.isUnnormalized = 1;
    std::fill(std::begin(sampler.clamp), std::end(sampler.clamp), uint32_t(clamp));
    sampler.border = uint32_t(ImageBorder::OpaqueWhite);
    give(w, sampler);
    set(w, 4, [](unsigned lane) { return float(int(lane) - 12) + 0.25f; });
    set(w, 5, [](unsigned) { return 1.5f; });
    w.run("image_sample_lz v20, " + address(4, 2) + both() + " dmask:0x1 dim:SQ_RSRC_IMG_2D");
    for (unsigned lane = 0; lane < w.lanes(); ++lane) {
      int x = int(lane) - 12;
      bool isBorder = false;
      switch (clamp) {
      case ImageClamp::Wrap:
        x = (x % 5 + 5) % 5;
        break;
      case ImageClamp::Mirror:
        x = (x % 10 + 10) % 10;
        x = x < 5 ? x : 9 - x;
        break;
      case ImageClamp::MirrorOnceEdge:
        x = std::min(x < 0 ? -1 - x : x, 4);
        break;
      case ImageClamp::Border:
        isBorder = x < 0 || x > 4;
        break;
      default:
        x = std::clamp(x, 0, 4);
        break;
      }
      EXPECT_EQ(number(w.v(20, lane)), isBorder ? 1 : 11 + float(x)) << lane << int(clamp);
    }
  }
}

// Linear filters: weights have 8 bits. Normalised coordinates are multiplied by the size.
TEST_P(Images, BlendsFourTexels) {
  MemoryWave w(GetParam());
  fill(w, 0, 8, 4, 0);
  give(w, describe(w, kFloat1, 8, 4));
  give(w, linear());
  auto x = [](unsigned lane) { return 0.5f + float(lane) / 8; };
  set(w, 4, x);
  set(w, 5, [](unsigned) { return 1.75f; });
  set(w, 6, [&](unsigned lane) { return x(lane) / 8; });
  set(w, 7, [](unsigned) { return 1.75f / 4; });
  w.run("image_sample_lz v20, " + address(4, 2) + both() + " dmask:0x1 dim:SQ_RSRC_IMG_2D");
  SamplerDescriptor normalized = linear();
  normalized.isUnnormalized = 0;
  give(w, normalized);
  w.run("image_sample_lz v21, " + address(6, 2) + both() + " dmask:0x1 dim:SQ_RSRC_IMG_2D");
  for (unsigned lane = 0; lane < w.lanes(); ++lane) {
    const float wanted = std::min(x(lane) - 0.5f, 7.0f) + 12.5f;
    EXPECT_EQ(number(w.v(20, lane)), wanted) << lane;
    EXPECT_EQ(number(w.v(21, lane)), wanted) << lane;
  }
  // 1/1024 of a texel is no weight, 3/1024 is one of 256.
  give(w, linear());
  set(w, 4, [](unsigned lane) { return 0.5f + (lane % 2 ? 3 : 1) / 1024.0f; });
  set(w, 5, [](unsigned) { return 0.5f; });
  w.run("image_sample_lz v20, " + address(4, 2) + both() + " dmask:0x1 dim:SQ_RSRC_IMG_2D");
  EXPECT_EQ(number(w.v(20, 0)), 0.0f);
  EXPECT_EQ(number(w.v(20, 1)), 1 / 256.0f);
}

// Offsets are of texels. The four are given from the lower left one round.
TEST_P(Images, Gathers) {
  MemoryWave w(GetParam());
  fill(w, 0, 8, 4, 0);
  give(w, describe(w, kFloat1, 8, 4));
  give(w, linear());
  w.set(3, 1 | 0x3f << 8); // +1, -1
  set(w, 4, [](unsigned) { return 3.0f; });
  set(w, 5, [](unsigned) { return 2.0f; });
  w.run("image_gather4_lz v[20:23], " + address(4, 2) + both() +
        " dmask:0x1 dim:SQ_RSRC_IMG_2D\n"
        "image_gather4_lz_o v[24:27], " +
        address(3, 3) + both() + " dmask:0x1 dim:SQ_RSRC_IMG_2D");
  const float wanted[4] = {22, 23, 13, 12};
  for (unsigned i = 0; i < 4; ++i) {
    EXPECT_EQ(number(w.v(20 + i, 0)), wanted[i]) << i;
    EXPECT_EQ(number(w.v(24 + i, 0)), wanted[i] + 1 - 10) << i;
  }
}

// Two levels: the smaller one comes first in memory.
TEST_P(Images, LevelsOfDetail) {
  MemoryWave w(GetParam());
  fill(w, 0, 4, 2, 1000);
  fill(w, 512, 8, 4, 0);
  ImageDescriptor described = describe(w, kFloat1, 8, 4);
  described.lastLevel = described.maxLevel = 1;
  give(w, described);
  SamplerDescriptor sampler = linear();
  sampler.isUnnormalized = 0;
  sampler.magFilter = sampler.minFilter = uint32_t(ImageFilter::Point);
  sampler.levelFilter = uint32_t(LevelFilter::Linear);
  sampler.maxLod = 15 * 256;
  give(w, sampler);
  // Coordinates, and behind them the level.
  set(w, 4, [](unsigned) { return 0.7f; });
  set(w, 5, [](unsigned) { return 0.3f; });
  set(w, 6, [](unsigned lane) { return float(lane) / 16 - 0.5f; });
  const std::string sample =
      "image_sample_l v20, " + address(4, 3) + both() + " dmask:0x1 dim:SQ_RSRC_IMG_2D";
  w.run(sample);
  const float fine = 5 + 10, coarse = 1002;
  for (unsigned lane = 0; lane < w.lanes(); ++lane) {
    const float fraction = std::clamp(float(lane) / 16 - 0.5f, 0.0f, 1.0f);
    EXPECT_EQ(number(w.v(20, lane)), fine + (coarse - fine) * fraction) << lane;
  }
  sampler.levelFilter = uint32_t(LevelFilter::Point);
  sampler.lodBias = 128; // a half
  give(w, sampler);
  w.run(sample);
  for (unsigned lane = 0; lane < w.lanes(); ++lane)
    EXPECT_EQ(number(w.v(20, lane)), float(lane) / 16 >= 0.5f ? coarse : fine) << lane;
  // By gradients: two texels of level 0 are one of level 1.
  sampler.lodBias = 0;
  give(w, sampler);
  set(w, 6, [](unsigned lane) { return lane % 2 ? 0.25f : 0.125f; }); // du/dx, dv/dx, du/dy, dv/dy
  for (unsigned r : {7, 8, 9})
    w.set(r, 0);
  w.set(10, bits(0.7f)).set(11, bits(0.3f));
  const std::string gradients = major() == 10   ? "v[6:13]"
                                : major() == 11 ? "v[6:11]"
                                                : "[v6, v7, v8, v[9:11]]";
  w.run("image_sample_d v20, " + gradients + both() + " dmask:0x1 dim:SQ_RSRC_IMG_2D");
  EXPECT_EQ(number(w.v(20, 0)), fine);
  EXPECT_EQ(number(w.v(20, 1)), coarse);
  // Without any: by the differences between neighbours.
  set(w, 4, [](unsigned lane) { return lane % 2 ? 0.25f : 0.0f; });
  w.run("image_sample v20, " + address(4, 2) + both() + " dmask:0x1 dim:SQ_RSRC_IMG_2D");
  EXPECT_EQ(number(w.v(20, 0)), 1000.0f);
}

TEST_P(Images, SizesOfLevels) {
  MemoryWave w(GetParam());
  ImageDescriptor described = describe(w, kFloat1, 9, 4);
  described.type = uint32_t(ImageType::TwoDimensionLayers);
  described.lastLevel = described.maxLevel = 1;
  described.depth = 6;
  described.firstLayer = 2;
  give(w, described);
  for (unsigned lane = 0; lane < w.lanes(); ++lane)
    w.v(4, lane) = lane;
  w.run("image_get_resinfo v[20:23], v4" + image() + " dmask:0xf dim:SQ_RSRC_IMG_2D_ARRAY");
  const uint32_t wanted[3][4] = {{9, 4, 5, 2}, {4, 2, 5, 2}, {0, 0, 0, 2}};
  for (unsigned level = 0; level < 3; ++level)
    for (unsigned i = 0; i < 4; ++i)
      EXPECT_EQ(w.v(20 + i, level), wanted[level][i]) << level << " " << i;
}

TEST_P(Images, LayersAndDepths) {
  MemoryWave w(GetParam());
  for (unsigned slice = 0; slice < 4; ++slice)
    fill(w, 512 * slice, 4, 2, 100 * float(slice));
  ImageDescriptor described = describe(w, kFloat1, 4, 2);
  described.type = uint32_t(ImageType::TwoDimensionLayers);
  described.firstLayer = 1;
  described.depth = 3;
  give(w, described);
  SamplerDescriptor sampler = linear();
  sampler.depthFilter = 2;
  give(w, sampler);
  set(w, 4, [](unsigned) { return 1.5f; });
  set(w, 5, [](unsigned) { return 1.5f; });
  set(w, 6, [](unsigned lane) { return float(lane % 8) / 2; });
  const std::string sample =
      "image_sample_lz v20, " + address(4, 3) + both() + " dmask:0x1 dim:SQ_RSRC_IMG_";
  w.run(sample + "2D_ARRAY");
  for (unsigned lane = 0; lane < 8; ++lane) // the nearest layer, the even one of two
    EXPECT_EQ(number(w.v(20, lane)), 111 + 100 * std::min(std::nearbyint(float(lane) / 2), 2.0f));
  described.type = uint32_t(ImageType::ThreeDimensions);
  give(w, described);
  w.run(sample + "3D");
  for (unsigned lane = 0; lane < 8; ++lane)
    EXPECT_EQ(number(w.v(20, lane)), 11 + 100 * std::clamp(float(lane) / 2 - 0.5f, 0.0f, 3.0f));
}

// Face f has texels of 100 f + x + 10 y. The right neighbour of face 4 (+z) is face 0 (+x), whose
// rows run alike.
TEST_P(Images, FacesOfCubes) {
  MemoryWave w(GetParam());
  for (unsigned face = 0; face < 6; ++face)
    fill(w, 1024 * face, 4, 4, 100 * float(face));
  ImageDescriptor described = describe(w, kFloat1, 4, 4);
  described.type = uint32_t(ImageType::Cube);
  described.depth = 5;
  give(w, described);
  SamplerDescriptor sampler = linear();
  sampler.isUnnormalized = 0;
  give(w, sampler);
  set(w, 4, [](unsigned lane) { return lane == 6 ? 1.0f : 0.375f; });
  set(w, 5, [](unsigned) { return 0.625f; });
  set(w, 6, [](unsigned lane) { return lane < 6 ? float(lane) : 4.0f; });
  w.run("image_sample_lz v20, " + address(4, 3) + both() + " dmask:0x1 dim:SQ_RSRC_IMG_CUBE");
  for (unsigned face = 0; face < 6; ++face)
    EXPECT_EQ(number(w.v(20, face)), 100 * float(face) + 21);
  EXPECT_EQ(number(w.v(20, 6)), (423 + 20) / 2.0f); // half of either face
  sampler.separatesFaces = 1;
  give(w, sampler);
  w.run("image_sample_lz v20, " + address(4, 3) + both() + " dmask:0x1 dim:SQ_RSRC_IMG_CUBE");
  EXPECT_EQ(number(w.v(20, 6)), 423.0f);
}

TEST_P(Images, Atomics) {
  MemoryWave w(GetParam());
  for (unsigned i = 0; i < 4; ++i)
    w.at<uint32_t>(4 * i) = 100 * i;
  give(w, describe(w, kUint1, 4, 1));
  for (unsigned lane = 0; lane < w.lanes(); ++lane) {
    w.v(4, lane) = lane % 8; // half of them outside
    w.v(5, lane) = 0;
    w.v(20, lane) = w.v(22, lane) = 1;
  }
  const std::string add = major() == 12 ? "image_atomic_add_uint" : "image_atomic_add";
  const std::string where = address(4, 2) + image() + " dmask:0x1 dim:SQ_RSRC_IMG_2D" + unorm();
  w.run(add + " v20, " + where + returns() + "\n" + add + " v22, " + where);
  const unsigned each = w.lanes() / 8;
  for (unsigned i = 0; i < 4; ++i)
    EXPECT_EQ(w.at<uint32_t>(4 * i), 100 * i + 2 * each);
  for (unsigned lane = 0; lane < w.lanes(); ++lane) {
    const unsigned x = lane % 8;
    EXPECT_EQ(w.v(20, lane), x < 4 ? 100 * x + lane / 8 : 0) << lane;
    EXPECT_EQ(w.v(22, lane), 1u); // returns nothing
  }
}

TEST_P(Images, RefusesWithReasons) {
  const std::string load =
      "image_load v20, " + address(4, 2) + image() + " dmask:0x1 dim:SQ_RSRC_IMG_2D" + unorm();
  const std::string sample =
      "image_sample_lz v20, " + address(4, 2) + both() + " dmask:0x1 dim:SQ_RSRC_IMG_2D";
  auto problem = [&](const std::string &text, const std::function<void(ImageDescriptor &)> &bend,
                     const SamplerDescriptor &sampler) {
    MemoryWave w(GetParam());
    ImageDescriptor described = describe(w, kUint1, 4, 4);
    bend(described);
    give(w, described);
    give(w, sampler);
    w.set(4, 0).set(5, 0);
    w.run(text);
    EXPECT_TRUE(w.fault().set);
    EXPECT_EQ(w.fault().kind, FaultKind::ImageResource);
    return ImageProblem(w.fault().address);
  };
  SamplerDescriptor plain;
  plain.isUnnormalized = 1;
  EXPECT_EQ(problem(load, [](ImageDescriptor &d) { d.format = 0; }, plain), ImageProblem::Format);
  EXPECT_EQ(problem(load, [](ImageDescriptor &d) { d.tiling = 9; }, plain), ImageProblem::Tiling);
  EXPECT_EQ(
      problem(load, [](ImageDescriptor &d) { d.type = 10; }, plain), ImageProblem::Dimensions);
  EXPECT_EQ(
      problem(load, [](ImageDescriptor &d) { d.lastLevel = 2; }, plain), ImageProblem::Levels);
  EXPECT_EQ(problem(load, [](ImageDescriptor &d) { d.address = 0; }, plain), ImageProblem::Address);
  EXPECT_EQ(problem(
                load,
                [](ImageDescriptor &d) {
                  d.type = uint32_t(ImageType::TwoDimensionLayers);
                  d.firstLayer = 3;
                },
                plain),
            ImageProblem::Layers);
  EXPECT_EQ(problem(
                load,
                [](ImageDescriptor &d) {
                  d.type = uint32_t(ImageType::Cube);
                  d.depth = 4;
                },
                plain),
            ImageProblem::Layers);
  auto none = [](ImageDescriptor &) {};
  const std::string add = major() == 12 ? "image_atomic_add_uint" : "image_atomic_add";
  EXPECT_EQ(problem(add + " v[20:21], " + address(4, 2) + image() +
                        " dmask:0x3 dim:SQ_RSRC_IMG_2D" + unorm(),
                    none, plain),
            ImageProblem::Mask);
  EXPECT_EQ(problem(sample, none, linear()), ImageProblem::IntegerFilter);
  EXPECT_EQ(problem(sample, none, linear(ImageClamp::HalfBorder)), ImageProblem::HalfBorder);
  plain.magFilter = uint32_t(ImageFilter::AnisotropicPoint);
  EXPECT_EQ(problem(sample, none, plain), ImageProblem::Anisotropy);
  plain = {};
  plain.filterMode = 1;
  EXPECT_EQ(problem(sample, none, plain), ImageProblem::FilterMode);
  plain = {};
  plain.clamp[0] = uint32_t(ImageClamp::Border);
  plain.border = uint32_t(ImageBorder::FromTable);
  EXPECT_EQ(problem(sample, none, plain), ImageProblem::BorderTable);
  // Memory that is not there is a fault as of any other access.
  MemoryWave w(GetParam());
  ImageDescriptor described = describe(w, kUint1, 4, 16384);
  give(w, described);
  w.set(4, 0).set(5, 16000);
  w.run(load);
  EXPECT_EQ(w.fault().kind, FaultKind::OutOfBounds);
}

// Descriptors may be anything where no lane is on.
TEST_P(Images, NothingWithoutLanes) {
  MemoryWave w(GetParam());
  for (unsigned i = 8; i < 28; ++i)
    w.s(i) = 0;
  w.exec(0);
  const std::string add = major() == 12 ? "image_atomic_add_uint" : "image_atomic_add";
  const std::string where = address(4, 2) + image() + " dmask:0x1 dim:SQ_RSRC_IMG_2D";
  w.run("image_load v20, " + where + unorm() + "\nimage_store v20, " + where + unorm() + "\n" +
        add + " v20, " + where + "\nimage_sample_lz v20, " + address(4, 2) + both() +
        " dmask:0x1 dim:SQ_RSRC_IMG_2D\nimage_gather4_lz v[20:23], " + address(4, 2) + both() +
        " dmask:0x1 dim:SQ_RSRC_IMG_2D\nimage_get_resinfo v20, v4" + image() +
        " dmask:0x1 dim:SQ_RSRC_IMG_2D\nbuffer_load_format_x v20, v4, s[8:11], " +
        (major() == 12 ? "null" : "0") + " idxen");
  EXPECT_FALSE(w.fault().set);
  for (unsigned lane = 0; lane < w.lanes(); ++lane)
    EXPECT_EQ(w.v(20, lane), w.start(20, lane));
}

// What the device library does for tex1Dfetch.
TEST_P(Images, TexelBuffers) {
  MemoryWave w(GetParam());
  const uint32_t format = numberOf(kUnorm4, major());
  // Stride 4, five records, in range by the index; the third component is the first channel.
  const uint32_t word3 = 4 | 5 << 3 | 4 << 6 | 1 << 9 | format << 12 | 1u << 28;
  w.resource(8, uint64_t(w.global), 4, 5, word3);
  for (unsigned i = 0; i < 8; ++i)
    w.at<uint32_t>(4 * i) = i | 255 << 8;
  for (unsigned lane = 0; lane < w.lanes(); ++lane)
    w.v(4, lane) = lane;
  const std::string zero = major() == 12 ? "null" : "0";
  w.run("buffer_load_format_xyzw v[20:23], v4, s[8:11], " + zero + " idxen\n" +
        "buffer_load_format_x v24, v4, s[8:11], " + zero + " idxen");
  for (unsigned lane = 0; lane < 8; ++lane) {
    const bool inside = lane < 5;
    const float first = inside ? float(lane) / 255 : 0;
    EXPECT_EQ(number(w.v(20, lane)), first);
    EXPECT_EQ(number(w.v(21, lane)), inside ? 1 : 0);
    EXPECT_EQ(number(w.v(22, lane)), first);
    EXPECT_EQ(number(w.v(23, lane)), inside ? 1 : 0);
    EXPECT_EQ(number(w.v(24, lane)), first);
  }
  w.set(30, bits(1)).set(31, bits(0));
  w.run("buffer_store_format_xy v[30:31], v4, s[8:11], " + zero + " idxen");
  EXPECT_EQ(w.at<uint32_t>(16), major() == 12 ? 0xffff00ffu : 0xffu);
  EXPECT_EQ(w.at<uint32_t>(20), 5u | 255 << 8); // out of range
}

INSTANTIATE_TEST_SUITE_P(Rdna, Images, targetsFrom(10, 12), nameOf);

} // namespace
} // namespace rubia::emulator::test
