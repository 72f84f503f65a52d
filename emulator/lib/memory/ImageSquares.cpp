// SPDX-License-Identifier: Apache-2.0
#include "emulator/lib/memory/ImageSquares.h"
#include "emulator/lib/machine/Half.h"
#include <array>

namespace rubia::emulator {
namespace {

/// The four texels of each lane of a block, and the weights of the right and lower ones, of 256.
struct Squares {
  uint64_t address[4][kBlockLanes];
  uint16_t right[kBlockLanes], lower[kBlockLanes];
};

/// Texels in a dimension: the first and the next one, inside, and the weight of the next.
struct TexelPair {
  uint32_t first, next;
  uint16_t weight;
};
/// How coordinates of a dimension become texels.
struct Dimension {
  float scale;
  int64_t count;
  ImageClamp clamp;
  bool isLinear, truncates;

  Dimension(const ImageResource &image, const ImageSampler &sampler, unsigned i)
      : scale(sampler.isUnnormalized ? 1 : float(image.extent(i, 0))), count(image.extent(i, 0)),
        clamp(ImageClamp(sampler.fields.clamp[i])),
        isLinear(ImageFilter(sampler.fields.magFilter) == ImageFilter::Linear),
        truncates(sampler.fields.truncates) {}

  TexelPair pairOf(uint32_t bits) const {
    float at = std::bit_cast<float>(bits);
    if (at != at)
      at = 0;
    const double texels = double(at * scale);
    if (!isLinear) {
      const uint32_t only = inside(pointOf(texels, truncates));
      return {only, only, 0};
    }
    const int64_t place = inFractions(texels - 0.5), first = place >> 8;
    return {inside(first), inside(first + 1), uint16_t(place & 255)};
  }

private:
  uint32_t inside(int64_t index) const {
    if (uint64_t(index) >= uint64_t(count))
      clampIndex(clamp, index, count);
    return uint32_t(index);
  }
};

/// Channels as numbers. No other host thread tears them.
template <class T> T channelIn(uint64_t address, unsigned channel) {
  return __atomic_load_n(reinterpret_cast<const T *>(address) + channel, __ATOMIC_RELAXED);
}
float floatChannel(uint64_t address, unsigned channel) {
  return std::bit_cast<float>(channelIn<uint32_t>(address, channel));
}
float byteChannel(uint64_t address, unsigned channel) {
  static constexpr auto kNumbers = [] {
    std::array<float, 256> numbers{};
    for (unsigned i = 0; i < 256; ++i)
      numbers[i] = float(i / 255.0);
    return numbers;
  }();
  return kNumbers[channelIn<uint8_t>(address, channel)];
}
float signedByteChannel(uint64_t address, unsigned channel) {
  const auto value = int8_t(channelIn<uint8_t>(address, channel));
  return float(std::max(value / 127.0, -1.0));
}
float signedShortChannel(uint64_t address, unsigned channel) {
  const auto value = int16_t(channelIn<uint16_t>(address, channel));
  return float(std::max(value / 32767.0, -1.0));
}
float shortChannel(uint64_t address, unsigned channel) {
  return float(channelIn<uint16_t>(address, channel) / 65535.0);
}
float halfChannel(uint64_t address, unsigned channel) {
  return float(RUBIA_ISA::Half::fromBits(channelIn<uint16_t>(address, channel)));
}

/// As the general way sums: in doubles, which hold each product, texels without a weight left out.
template <auto Channel>
void blend(const Squares &squares, uint32_t lanes, unsigned channel, uint32_t *result) {
  for (uint32_t rest = lanes; rest; rest &= rest - 1) {
    const auto lane = unsigned(std::countr_zero(rest));
    const double right = squares.right[lane] / 256.0, lower = squares.lower[lane] / 256.0;
    auto texel = [&](unsigned i) { return Channel(squares.address[i][lane], channel); };
    const float first = texel(0);
    if (right == 0 && lower == 0) { // it is that texel, bit for bit
      result[lane] = std::bit_cast<uint32_t>(first);
      continue;
    }
    double sum = (1 - right) * (1 - lower) * double(first);
    if (right != 0)
      sum += right * (1 - lower) * double(texel(1));
    if (lower != 0)
      sum += (1 - right) * lower * double(texel(2));
    if (right != 0 && lower != 0)
      sum += right * lower * double(texel(3));
    result[lane] = std::bit_cast<uint32_t>(float(sum));
  }
}

using Blend = void (*)(const Squares &, uint32_t, unsigned, uint32_t *);
Blend blendOf(const ImageFormat &format) {
  if (format.kind == ChannelKind::Float)
    return format.channelBits == 32 ? blend<floatChannel> : blend<halfChannel>;
  if (format.kind == ChannelKind::Unorm)
    return format.channelBits == 8 ? blend<byteChannel> : blend<shortChannel>;
  if (format.kind == ChannelKind::Snorm)
    return format.channelBits == 8 ? blend<signedByteChannel> : blend<signedShortChannel>;
  return nullptr;
}

bool isCommon(const ImageOperation &view, const ImageResource &image, const ImageSampler &sampler) {
  for (ImageFlag flag : {kImageOffsets, kImageBias, kImageGradients, kImageHalfAddress,
                         kImageHalfGradients, kImageHalfData})
    if (view.has(flag))
      return false;
  for (unsigned i = 0; i < 2; ++i) {
    const auto clamp = ImageClamp(sampler.fields.clamp[i]);
    if (clamp != ImageClamp::Edge && clamp != ImageClamp::Wrap && clamp != ImageClamp::Mirror)
      return false;
  }
  return view.dimensions() == ImageDimensions::Two &&
         Sampling(image, sampler, view).ignoresDetail();
}

} // namespace

bool sampleSquares(Wave &w, const MicroOp &op, const ImageResource &image,
                   const ImageSampler &sampler) {
  const ImageOperation view{op};
  const Blend blend = blendOf(image.format);
  if (!blend || !isCommon(view, image, sampler))
    return false;
  const Dimension ofX(image, sampler, 0), ofY(image, sampler, 1);
  const uint64_t base = image.address(0, 0, 0, 0), rowBytes = image.address(0, 0, 1, 0) - base,
                 generation = w.group->generation->load(std::memory_order_relaxed);
  Squares squares[2];
  for (unsigned block = 0; block < w.blocks; ++block) {
    const uint32_t *x = w.block(block) + view.addressOffset(0),
                   *y = w.block(block) + view.addressOffset(1);
    Squares &square = squares[block];
    uint64_t low = ~uint64_t(0), high = 0;
    for (uint32_t rest = w.scalars[kExec + block]; rest; rest &= rest - 1) {
      const auto lane = unsigned(std::countr_zero(rest));
      const TexelPair column = ofX.pairOf(x[lane]), row = ofY.pairOf(y[lane]);
      const uint64_t upper = base + row.first * rowBytes, lower = base + row.next * rowBytes,
                     left = uint64_t(column.first) * image.layout.texelBytes,
                     right = uint64_t(column.next) * image.layout.texelBytes;
      square.address[0][lane] = upper + left;
      square.address[1][lane] = upper + right;
      square.address[2][lane] = lower + left;
      square.address[3][lane] = lower + right;
      square.right[lane] = column.weight;
      square.lower[lane] = row.weight;
      low = std::min(low, std::min(upper, lower) + std::min(left, right));
      high = std::max(high, std::max(upper, lower) + std::max(left, right));
    }
    if (high && !inWindow(w, generation, low, high, image.format.bytes()))
      return false;
  }
  const uint32_t one = std::bit_cast<uint32_t>(1.0f);
  for (unsigned block = 0; block < w.blocks; ++block) {
    const uint32_t lanes = w.scalars[kExec + block];
    uint32_t *result = w.block(block) + op.result;
    for (unsigned i = 0; i < 4; ++i) {
      if (!(view.mask() >> i & 1))
        continue;
      const uint32_t select = image.select[i];
      if (select >= 4 && select - 4 < image.format.channels)
        blend(squares[block], lanes, select - 4, result);
      else // 1, or what the format lacks
        for (uint32_t rest = lanes; rest; rest &= rest - 1)
          result[std::countr_zero(rest)] = select == 1 || select == 7 ? one : 0;
      result += kBlockLanes;
    }
  }
  return true;
}

} // namespace rubia::emulator
