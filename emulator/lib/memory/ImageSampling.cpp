// SPDX-License-Identifier: Apache-2.0
#include "emulator/lib/memory/ImageSampling.h"
#include <algorithm>

namespace rubia::emulator {
namespace {

constexpr int kFractionBits = 8;
constexpr double kOne = 1 << kFractionBits;

int64_t modulo(int64_t value, int64_t count) {
  const int64_t rest = value % count;
  return rest < 0 ? rest + count : rest;
}

/// How a face lies in space (RDNA3 ISA, V_CUBEID_F32, V_CUBESC_F32, V_CUBETC_F32): the axes of its
/// two coordinates and of its distance, with their signs.
struct Face {
  struct Direction {
    unsigned axis;
    int sign;
  } s, t, middle;
};
constexpr Face kFaces[6] = {{{2, -1}, {1, -1}, {0, 1}}, {{2, 1}, {1, -1}, {0, -1}},
                            {{0, 1}, {2, 1}, {1, 1}},   {{0, 1}, {2, -1}, {1, -1}},
                            {{0, 1}, {1, -1}, {2, 1}},  {{0, -1}, {1, -1}, {2, -1}}};

/// The texel of another face that lies behind an edge of one: folds the part that is beyond.
void foldOverEdge(unsigned &face, int64_t &x, int64_t &y, uint32_t size) {
  double at[2] = {(2.0 * double(x) + 1) / size - 1, (2.0 * double(y) + 1) / size - 1};
  double middle = 1;
  for (double &one : at)
    if (std::abs(one) > 1) {
      middle = 2 - std::abs(one);
      one = one > 0 ? 1 : -1;
    }
  double place[3] = {};
  const Face &from = kFaces[face];
  place[from.s.axis] = from.s.sign * at[0];
  place[from.t.axis] = from.t.sign * at[1];
  place[from.middle.axis] = from.middle.sign * middle;
  for (unsigned i = 0; i < 6; ++i) {
    const Face &to = kFaces[i];
    if (i == face || place[to.middle.axis] * to.middle.sign != 1)
      continue;
    face = i;
    x = int64_t(std::floor((to.s.sign * place[to.s.axis] + 1) / 2 * size));
    y = int64_t(std::floor((to.t.sign * place[to.t.axis] + 1) / 2 * size));
    return;
  }
}

} // namespace

uint32_t Sampling::sliceOf(const ImageAddress &address) const {
  if (!op.hasLayers())
    return 0;
  const double layer = address.layer != address.layer ? 0 : std::nearbyint(address.layer);
  const auto number = uint32_t(std::clamp(layer, 0.0, 65535.0));
  if (op.dimensions() != ImageDimensions::Cube)
    return std::min(number, image.layers - 1);
  constexpr uint32_t kFacesOfLayer = 8; // so the coordinate counts
  const uint32_t face = std::min(number % kFacesOfLayer, 5u);
  const uint32_t last = image.layers / 6 - 1;
  return std::min(number / kFacesOfLayer, last) * 6 + face;
}

Sampling::Axis Sampling::axisOf(const ImageAddress &address, unsigned i, unsigned level,
                                bool isLinear) const {
  float at = address.at[i];
  if (at != at)
    at = 0;
  if (op.dimensions() == ImageDimensions::Cube && at > 1)
    at -= 1;
  const double texels = sampler.isUnnormalized ? at : at * float(image.extent(i, level));
  if (isLinear) {
    const int64_t place = inFractions(texels - 0.5);
    return {(place >> kFractionBits) + address.offset[i], unsigned(place & 255)};
  }
  return {pointOf(texels, sampler.fields.truncates) + address.offset[i], 0};
}

bool clampIndex(ImageClamp clamp, int64_t &index, int64_t count) {
  auto mirrorOnce = [&] { index = index < 0 ? -1 - index : index; };
  switch (clamp) {
  case ImageClamp::Wrap:
    index = modulo(index, count);
    return true;
  case ImageClamp::Mirror:
    index = modulo(index, 2 * count);
    index = std::min(index, 2 * count - 1 - index);
    return true;
  case ImageClamp::MirrorOnceEdge:
    mirrorOnce();
    index = std::min(index, count - 1);
    return true;
  case ImageClamp::MirrorOnceBorder:
    mirrorOnce();
    return index < count;
  case ImageClamp::Border:
    return index >= 0 && index < count;
  case ImageClamp::Edge:
  case ImageClamp::HalfBorder: // refused
  case ImageClamp::MirrorOnceHalfBorder:
    break;
  }
  index = std::clamp<int64_t>(index, 0, count - 1);
  return true;
}

bool Sampling::wrap(int64_t &index, unsigned i, unsigned level) const {
  const bool isFace = op.dimensions() == ImageDimensions::Cube; // has no address modes
  return clampIndex(isFace ? ImageClamp::Edge : ImageClamp(sampler.fields.clamp[i]), index,
                    image.extent(i, level));
}

/// 0: the border.
uint64_t Sampling::addressOf(unsigned level, const int64_t (&index)[3], uint32_t slice) const {
  int64_t inside[3] = {index[0], index[1], index[2]};
  const unsigned extents = op.extents();
  for (unsigned i = 0; i < extents; ++i)
    if (!wrap(inside[i], i, level))
      return 0;
  return image.address(level, uint32_t(inside[0]), extents > 1 ? uint32_t(inside[1]) : 0,
                       extents > 2 ? uint32_t(inside[2]) : slice);
}

/// A square of a cube map, whose texels may lie on two faces. In a corner there are three: each
/// takes a third of what the fourth would have.
void Sampling::addFace(ImageTaps &taps, unsigned level, const Axis (&axes)[3], uint32_t slice,
                       double share) const {
  const uint32_t size = image.extent(0, level);
  uint64_t addresses[4];
  double weights[4], corner = 0;
  unsigned count = 0;
  for (unsigned i = 0; i < 4; ++i) {
    int64_t x = axes[0].lower + (i & 1), y = axes[1].lower + (i >> 1);
    const double wx = i & 1 ? axes[0].weight : kOne - axes[0].weight;
    const double wy = i & 2 ? axes[1].weight : kOne - axes[1].weight;
    const double weight = wx * wy / (kOne * kOne) * share;
    const bool leavesX = x < 0 || x >= size, leavesY = y < 0 || y >= size;
    if (leavesX && leavesY) {
      corner = weight;
      continue;
    }
    unsigned face = slice % 6;
    if (leavesX || leavesY)
      foldOverEdge(face, x, y, size);
    addresses[count] = image.address(level, uint32_t(x), uint32_t(y), slice / 6 * 6 + face);
    weights[count++] = weight;
  }
  for (unsigned i = 0; i < count; ++i)
    taps.add(addresses[i], weights[i] + corner / 3);
}

void Sampling::addLevel(ImageTaps &taps, const ImageAddress &address, unsigned level, double share,
                        bool isLinear, bool isLinearDepth) const {
  const unsigned extents = op.extents();
  const uint32_t slice = sliceOf(address);
  Axis axes[3];
  for (unsigned i = 0; i < extents; ++i)
    axes[i] = axisOf(address, i, level, i == 2 ? isLinearDepth : isLinear);
  if (op.dimensions() == ImageDimensions::Cube && isLinear && !sampler.fields.separatesFaces) {
    addFace(taps, level, axes, slice, share);
    return;
  }
  for (unsigned i = 0; i < 1u << extents; ++i) {
    double weight = share;
    int64_t index[3] = {};
    for (unsigned axis = 0; axis < extents; ++axis) {
      const bool isUpper = i >> axis & 1;
      weight *= (isUpper ? axes[axis].weight : kOne - axes[axis].weight) / kOne;
      index[axis] = axes[axis].lower + isUpper;
    }
    if (weight != 0)
      taps.add(addressOf(level, index, slice), weight);
  }
}

ImageTaps Sampling::taps(const ImageAddress &address, const ImageLevels &levels) const {
  enum : uint32_t { kAsOthers, kPoint, kLinear };
  const bool isLinear =
      ImageFilter(levels.isMagnified ? sampler.fields.magFilter : sampler.fields.minFilter) ==
      ImageFilter::Linear;
  const uint32_t ofDepth = sampler.fields.depthFilter;
  const bool isLinearDepth = ofDepth == kAsOthers ? isLinear : ofDepth == kLinear;
  ImageTaps taps;
  addLevel(taps, address, levels.first, 1 - levels.fraction, isLinear, isLinearDepth);
  if (levels.fraction != 0)
    addLevel(taps, address, levels.first + 1, levels.fraction, isLinear, isLinearDepth);
  return taps;
}

void Sampling::square(const ImageAddress &address, unsigned level, uint64_t (&addresses)[4]) const {
  const Axis x = axisOf(address, 0, level, true), y = axisOf(address, 1, level, true);
  const uint32_t slice = sliceOf(address);
  for (unsigned i = 0; i < 4; ++i) {
    const int64_t index[3] = {x.lower + (i & 1), y.lower + (i >> 1), 0};
    addresses[i] = addressOf(level, index, slice);
  }
}

double Sampling::detailOf(const ImageAddress &address) const {
  double longest = 0;
  for (const auto &gradient : address.gradient) {
    double square = 0;
    for (unsigned i = 0; i < op.extents(); ++i) {
      const double texels =
          sampler.isUnnormalized ? gradient[i] : double(gradient[i]) * image.extent(i, 0);
      square += texels * texels;
    }
    longest = std::max(longest, square);
  }
  return std::log2(longest) / 2;
}

ImageLevels Sampling::levels(const ImageAddress &address, double detail) const {
  if (ignoresDetail())
    return {};
  if (!op.has(kImageLevelZero))
    detail += double(address.bias) + double(sampler.lodBias);
  double least = std::max(sampler.minLod, image.minLod - float(image.baseLevel));
  if (op.has(kImageLevelClamp))
    least = std::max(least, double(address.levelClamp));
  // The first operand of max is the result for NaN.
  detail = std::min(std::max(least, detail), std::max(double(sampler.maxLod), least));
  detail = std::floor(detail * kOne) / kOne;
  ImageLevels levels;
  levels.isMagnified = detail <= 0;
  const double last = double(image.levels() - 1);
  switch (LevelFilter(sampler.fields.levelFilter)) {
  case LevelFilter::None:
  case LevelFilter::AnisotropicPoint: // refused
    break;
  case LevelFilter::Point:
    levels.first = unsigned(std::clamp(std::floor(detail + 0.5), 0.0, last));
    break;
  case LevelFilter::Linear:
    detail = std::clamp(detail, 0.0, last);
    levels.first = unsigned(detail);
    levels.fraction = detail - levels.first;
    break;
  }
  return levels;
}

Texel Sampling::border() const {
  const uint32_t one = image.format.isInteger() ? 1 : std::bit_cast<uint32_t>(1.0f);
  switch (ImageBorder(sampler.fields.border)) {
  case ImageBorder::OpaqueBlack:
    return {{0, 0, 0, one}};
  case ImageBorder::OpaqueWhite:
    return {{one, one, one, one}};
  case ImageBorder::TransparentBlack:
  case ImageBorder::FromTable: // refused
    break;
  }
  return {};
}

} // namespace rubia::emulator
