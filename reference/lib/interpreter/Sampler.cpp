// SPDX-License-Identifier: Apache-2.0
#include "reference/lib/interpreter/Sampler.h"
#include "reference/lib/interpreter/Movement.h"
#include "reference/lib/interpreter/SamplerWeights.h"
#include "reference/lib/interpreter/StandardRgb.h"
#include "llvm/ADT/bit.h"
#include <algorithm>
#include <cmath>
#include <cstring>

using namespace llvm;

namespace rubia::reference::interpreter {
namespace {

using Wide = __int128;
using Meaning = TexelFormat::Meaning;

uint32_t wordOf(float value) { return bit_cast<uint32_t>(value); }

float halfToFloat(uint16_t half) {
  const int exponent = half >> 10 & 31, fraction = half & 0x3ff;
  const double sign = half >> 15 ? -1 : 1;
  if (exponent == 31)
    return bit_cast<float>(uint32_t(half & 0x8000) << 16 | 0x7f800000 | uint32_t(fraction) << 13);
  return float(sign *
               (exponent ? std::ldexp(1024 + fraction, exponent - 25) : std::ldexp(fraction, -24)));
}

// What a floating-point format has: the digits of its numbers, and the exponent of the least normal
// one.
struct FloatLimits {
  int digits, least;
};
constexpr FloatLimits kHalf = {11, -14}, kSingle = {24, -126};

int exponentOf(double value, const FloatLimits &limits) {
  return value == 0 ? limits.least : std::max(std::ilogb(value), limits.least);
}

// The nearest number of a format, ties away from 0.
double rounded(double value, const FloatLimits &limits) {
  if (!std::isfinite(value))
    return value;
  const int last = exponentOf(value, limits) - limits.digits + 1;
  return std::copysign(std::ldexp(std::round(std::ldexp(value, -last)), last), value);
}
float roundedToHalf(double value) {
  const double half = rounded(value, kHalf);
  return float(std::fabs(half) >= 65520 ? std::copysign(INFINITY, value) : half);
}

// The f16 that is nearer to 0. The largest stays finite.
float cutToHalf(double value) {
  if (value == 0 || !std::isfinite(value))
    return float(value);
  const int last = exponentOf(value, kHalf) - kHalf.digits + 1;
  const double cut = std::ldexp(std::trunc(std::ldexp(value, -last)), last);
  return float(std::copysign(std::min(std::fabs(cut), 65504.0), value));
}

// What a filter takes and gives has no denormals, and one NaN.
double flushed(double value) {
  return std::fabs(value) < 0x1p-126 ? std::copysign(0.0, value) : value;
}
uint32_t blended(double sum) {
  return std::isnan(sum) ? 0x7fffffff : wordOf(float(flushed(rounded(sum, kSingle))));
}
uint32_t blendedHalf(double sum) {
  return std::isnan(sum) ? 0x7fffe000 : wordOf(roundedToHalf(sum));
}

// Of signed bytes, which are blended before they are widened: bits repeat to an eighth.
double widened(double sum) {
  const auto eighths = [&](int shift) { return std::floor(std::ldexp(sum * kOne, 3 - shift)); };
  return std::floor((eighths(0) + eighths(7) + eighths(15) + 4) / 8);
}

uint16_t bitsOfHalf(float half) { // of a number that is one
  const uint16_t sign = std::signbit(half) ? 0x8000 : 0;
  const double magnitude = std::fabs(double(half));
  if (std::isnan(half)) {
    const uint32_t payload = wordOf(half) >> 13 & 0x3ff;
    return uint16_t(sign | 0x7c00 | (payload ? payload : 1));
  }
  if (std::isinf(half))
    return sign | 0x7c00;
  if (magnitude < 0x1p-14)
    return uint16_t(sign | unsigned(std::ldexp(magnitude, 24)));
  const int exponent = std::ilogb(magnitude);
  return uint16_t(sign | unsigned(exponent + 15) << 10 |
                  (unsigned(std::ldexp(magnitude, 10 - exponent)) & 0x3ff));
}

double greatestOf(const TexelFormat &format) {
  return double((uint64_t(1) << (8 * format.bytes - format.isSigned)) - 1);
}

} // namespace

TexelFormat TexelFormat::of(int format) {
  switch (format) {
  case 1:
    return {1, false, Meaning::Integer};
  case 2:
    return {2, false, Meaning::Integer};
  case 3:
    return {4, false, Meaning::Integer};
  case 8:
    return {1, true, Meaning::Integer};
  case 9:
    return {2, true, Meaning::Integer};
  case 10:
    return {4, true, Meaning::Integer};
  case 0x10:
    return {2, true, Meaning::Half};
  case 0x20:
    return {4, true, Meaning::Float};
  default:
    break;
  }
  if (format >= 0xc0 && format < 0xcc) // u8, u16, s8, s16 of 1, 2 and 4 channels
    return {(format - 0xc0) / 3 % 2 ? 2u : 1u, format >= 0xc6, Meaning::Normalized};
  return {};
}

Sampler::Sampler(const TextureObject &texture, const Movement &movement)
    : texels(texture.texels), state(texture.sampler), movement(movement),
      format(TexelFormat::of(texels.format)),
      isNormalizedCoordinates(state.flags & kNormalized || texels.levelsOfArray > 1) {
  if (format.meaning == Meaning::Integer && format.bytes < 4 && !texture.isSurface &&
      !(state.flags & kReadAsInteger))
    format.meaning = Meaning::Normalized;
  isStandardRgb = state.flags & kStandardRgb && format.meaning == Meaning::Normalized &&
                  format.bytes == 1 && !format.isSigned;
  setBorder();
}

void Sampler::setBorder() {
  border.resize(texelBytes());
  for (unsigned i = 0; i < texels.channels; ++i) {
    const uint64_t bits = borderBits(i);
    memcpy(border.data() + size_t(i) * format.bytes, &bits, format.bytes);
  }
}

std::string Sampler::whyNot(bool isCube) const {
  if (!format.bytes)
    return "a texture's format " + std::to_string(texels.format);
  if (isCube != texels.isCube)
    return "a cube map that is read as something else, or the other way round";
  return "";
}

// ---------- Formats

uint64_t Sampler::bitsAt(const uint8_t *texel, unsigned channel) const {
  uint64_t bits = 0;
  memcpy(&bits, texel + size_t(channel) * format.bytes, format.bytes);
  return bits;
}

uint64_t Sampler::borderBits(unsigned channel) const {
  const double colour = state.border[channel];
  switch (format.meaning) {
  case Meaning::Float:
    return wordOf(state.border[channel]);
  case Meaning::Half:
    return bitsOfHalf(cutToHalf(colour));
  case Meaning::Normalized:
    if (isCurved(channel))
      return standardRgbOf(state.border[channel]);
    return uint64_t(normalizedBorder(std::isnan(colour) ? 0 : colour));
  case Meaning::Integer:
    break;
  }
  return wordOf(state.border[channel]);
}

// A colour has four bits more than the format, and is then rounded.
int64_t Sampler::normalizedBorder(double colour) const {
  const double sixteenths = std::ldexp(16, int(8 * format.bytes) - format.isSigned),
               cut = std::trunc(std::min(std::fabs(colour), 1.0) * sixteenths) / sixteenths;
  const auto number = int64_t(std::floor(cut * greatestOf(format) + 0.5));
  return colour >= 0 ? number : format.isSigned ? -number : 0;
}

static int64_t signedOf(uint64_t bits, unsigned bytes) {
  return int64_t(bits << (64 - 8 * bytes)) >> (64 - 8 * bytes);
}

// What is blended: channels of 8 and 16 bits that are normalised have 16 bits, but signed bytes.
double Sampler::numberOf(uint64_t bits) const {
  switch (format.meaning) {
  case Meaning::Float:
    return flushed(bit_cast<float>(uint32_t(bits)));
  case Meaning::Half:
    return halfToFloat(uint16_t(bits));
  case Meaning::Normalized:
    if (format.bytes == 1 && !format.isSigned)
      return double(bits * 257);
    [[fallthrough]];
  case Meaning::Integer:
    break;
  }
  return format.isSigned ? double(signedOf(bits, format.bytes)) : double(bits);
}

Texel Sampler::read(const uint8_t *texel) const {
  Texel result = {};
  for (unsigned i = 0; i < texels.channels; ++i) {
    const uint64_t bits = bitsAt(texel, i);
    const int64_t number = format.isSigned ? signedOf(bits, format.bytes) : int64_t(bits);
    switch (format.meaning) {
    case Meaning::Float:
      result[i] = uint32_t(bits);
      break;
    case Meaning::Half:
      result[i] = wordOf(halfToFloat(uint16_t(bits)));
      break;
    case Meaning::Normalized:
      if (isCurved(i)) {
        result[i] = wordOf(float(LinearLight::of(uint8_t(bits)).value()));
        break;
      }
      result[i] = wordOf(float(std::max(double(number) / greatestOf(format), -1.0)));
      break;
    case Meaning::Integer:
      result[i] = uint32_t(number);
      break;
    }
  }
  return result;
}

// The texels of a filter, four by four as in blendNumbers. Numbers of sRGB are cut where the
// largest ends.
float Sampler::blendCurved(ArrayRef<Tap> taps, unsigned channel, unsigned unit) const {
  const size_t four = state.isLinear ? 4 : 1;
  double sum = 0;
  for (; !taps.empty(); taps = taps.drop_front(std::min(four, taps.size()))) {
    const auto lightOf = [&](const Tap &tap) {
      return LinearLight::of(uint8_t(bitsAt(tap.texel ? tap.texel : border.data(), channel)));
    };
    int largest = LinearLight::of(0).power;
    for (const Tap &tap : taps.take_front(four))
      if (tap.weight)
        largest = std::max(largest, lightOf(tap).power);
    for (const Tap &tap : taps.take_front(four))
      if (tap.weight)
        sum += lightOf(tap).cutAt(largest) * tap.weight;
  }
  return roundedToHalf(sum / unit);
}

uint32_t Sampler::movedWord(uint32_t word, double magnitude, bool isCoarse) const {
  const bool isFloat = format.meaning == Meaning::Float || format.meaning == Meaning::Half;
  if ((movement.scale == 0 && movement.bias == 0) || format.meaning == Meaning::Integer)
    return word;
  const double last = format.meaning == Meaning::Half        ? 0x1p-10
                      : isFloat                              ? 0x1p-23
                      : isStandardRgb                        ? 0x1p-12
                      : format.isSigned && format.bytes == 1 ? 1 / 32767.0
                                                             : 1 / 65535.0;
  constexpr double kStep = 0x1p-8;
  const double bound = (last + (isCoarse ? kStep : 0)) * (isFloat ? magnitude : 1);
  return uint32_t(moved(kF32, word, shareOf(movement, word) * bound));
}

// An H100 adds the texels of a filter four by four. Of numbers with an exponent it cuts each four
// at one place: four bits below the last one of the largest. How it adds fours is not known to the
// last bit.
Sampler::Blend Sampler::blendNumbers(ArrayRef<Tap> taps, unsigned channel, unsigned unit) const {
  Blend result;
  const size_t four = state.isLinear ? 4 : 1;
  const FloatLimits &limits = format.meaning == Meaning::Half ? kHalf : kSingle;
  const bool hasExponents = format.meaning == Meaning::Half || format.meaning == Meaning::Float;
  const auto value = [&](const Tap &tap) {
    return numberOf(bitsAt(tap.texel ? tap.texel : border.data(), channel));
  };
  for (; !taps.empty(); taps = taps.drop_front(std::min(four, taps.size()))) {
    int last = limits.least;
    for (const Tap &tap : taps.take_front(four))
      if (tap.weight && std::isfinite(value(tap)))
        last = std::max(last, exponentOf(value(tap), limits));
    last -= limits.digits + 3;
    for (const Tap &tap : taps.take_front(four)) {
      double number = value(tap);
      if (!tap.weight) {
        if (tap.counts && !std::isfinite(number)) // its weight is rounded to 0
          result.sum += number;
        continue;
      }
      if (hasExponents && std::isfinite(number))
        number = std::ldexp(std::trunc(std::ldexp(number, -last)), last);
      number *= double(tap.weight) / unit;
      result.sum += number;
      result.magnitude += std::fabs(number);
    }
  }
  return result;
}

Texel Sampler::blend(ArrayRef<Tap> taps, bool isCoarse, unsigned unit) const {
  Texel result = {};
  for (unsigned i = 0; i < texels.channels; ++i) {
    if (isCurved(i)) {
      result[i] = movedWord(wordOf(blendCurved(taps, i, unit)), 1, isCoarse);
      continue;
    }
    const auto [sum, magnitude] = blendNumbers(taps, i, unit);
    switch (format.meaning) {
    case Meaning::Float:
      result[i] = blended(sum);
      break;
    case Meaning::Half:
      result[i] = blendedHalf(sum);
      break;
    case Meaning::Normalized: {
      const double greatest = format.isSigned ? 32767 : 65535;
      const double number =
          format.isSigned && format.bytes == 1 ? widened(sum) : std::floor(sum + 0.5);
      result[i] = wordOf(float(std::max(number, -greatest) / greatest));
      break;
    }
    case Meaning::Integer:
      result[i] = uint32_t(int64_t(std::floor(format.bytes == 4 ? sum : sum + 0.5)));
      break;
    }
    result[i] = movedWord(result[i], magnitude, isCoarse);
  }
  return result;
}

// ---------- Where texels lie

Sampler::Grid Sampler::gridOf(unsigned level) const {
  Grid grid;
  uint64_t offset = 0;
  for (unsigned i = 0;; ++i) {
    const auto part = [&](uint64_t size) { return std::max<uint64_t>(size >> i, 1); };
    const uint64_t width = part(texels.width), height = part(texels.height),
                   depth = texels.isLayered || texels.isCube ? std::max<uint64_t>(texels.depth, 1)
                                                             : part(texels.depth);
    grid.rowBytes = texels.pitch ? texels.pitch : width * texelBytes();
    grid.sliceBytes = grid.rowBytes * height;
    grid.sizes = {int64_t(width), int64_t(height), int64_t(depth)};
    if (i == level + texels.firstLevel)
      break;
    offset += grid.sliceBytes * depth;
  }
  grid.bytes = texels.bytes.data() + offset;
  return grid;
}

const uint8_t *Sampler::texelAt(const Grid &grid, std::array<int64_t, 3> at) const {
  for (int64_t index : at)
    if (index < 0)
      return nullptr;
  return grid.bytes + uint64_t(at[2]) * grid.sliceBytes + uint64_t(at[1]) * grid.rowBytes +
         uint64_t(at[0]) * texelBytes();
}

int64_t Sampler::addressed(int64_t index, int64_t size, int mode) {
  if (index >= 0 && index < size)
    return index;
  switch (mode) {
  case kWrap:
    return (index % size + size) % size;
  case kMirror: {
    const int64_t period = (index % (2 * size) + 2 * size) % (2 * size);
    return period < size ? period : 2 * size - 1 - period;
  }
  case kBorder:
    return -1;
  default:
    return index < 0 ? 0 : size - 1;
  }
}

int Sampler::modeOf(unsigned dimension) const {
  const int mode = state.addressModes[dimension] & 3;
  return state.flags & kNormalized || mode == kBorder ? mode : int(kClamp);
}

Sampler::Axis Sampler::axisOf(double coordinate, int64_t size, int mode, int offset, int step256,
                              bool isLinear) const {
  Wide steps; // of 2^-bits texels
  constexpr int bits = kFractionBits;
  coordinate = flushed(coordinate);
  if (std::isnan(coordinate))
    steps = 0;
  else if (isNormalizedCoordinates) {
    const double most = 0x1p26; // an even number, as all of that size are
    steps = Wide(std::floor(std::ldexp(std::clamp(coordinate, -most, most), bits))) * size;
  } else {
    const double most = 0x1p31;
    // Rounding of what is below the steps of weights goes down.
    steps = Wide(std::floor(std::ldexp(std::clamp(coordinate, -most, most), bits)));
  }
  steps += Wide(step256) << (bits - 8);
  Axis axis;
  if (!isLinear) {
    axis.index = int64_t(steps >> bits) + offset;
    return axis;
  }
  const Wide half = Wide(1) << (bits - 1), step = Wide(1) << (bits - 8);
  const int64_t quarters = int64_t((steps - half + step / 2) >> (bits - 8));
  axis.index = (quarters >> 8) + offset;
  axis.weight = unsigned(quarters & 255);
  dropWhereClamped(axis, size, mode);
  return axis;
}

// Where a coordinate clamps, both texels are one.
void Sampler::dropWhereClamped(Axis &axis, int64_t size, int mode) {
  if (mode == kClamp && (axis.index < 0 || axis.index >= size - 1))
    axis.weight = 0;
}

int64_t Sampler::toldLayers() const {
  return texels.layers ? texels.layers : int64_t(texels.isCube ? texels.depth / 6 : texels.depth);
}

int64_t Sampler::layers() const {
  const auto slices = int64_t(texels.depth) - texels.firstLayer;
  return std::max<int64_t>(std::min(toldLayers(), texels.isCube ? slices / 6 : slices), 1);
}

int64_t Sampler::sliceOf(uint32_t layer) const {
  const int64_t last = layers() - 1, slices = texels.isCube ? 6 : 1;
  return texels.isLayered ? texels.firstLayer + slices * std::min<int64_t>(layer, last) : 0;
}

void Sampler::addTaps(const SamplePlace &place, unsigned level, unsigned weight, bool isLinear,
                      Taps &taps) const {
  const Grid grid = gridOf(level);
  if (place.isCube)
    return addCubeTaps(place, grid, weight, isLinear, taps);
  Axis axes[3];
  std::array<int64_t, 3> sizes = grid.sizes;
  if (texels.isLayered)
    sizes[2] = 1;
  for (unsigned i = 0; i < place.dimensions; ++i)
    axes[i] = axisOf(place.at[i], sizes[i], modeOf(i), place.offsets[i], i < 2 ? place.steps[i] : 0,
                     isLinear);
  if (place.dimensions == 1 && !texels.isLayered) { // a row of two dimensions
    axes[1].index = (isLinear ? -1 : 0) + (place.offsets[0] < 0 ? -1 : 0);
    axes[1].weight = isLinear ? kOne / 2 : 0;
    dropWhereClamped(axes[1], 1, modeOf(1));
  }
  const int64_t slice = sliceOf(place.layer);
  const auto tap = [&](unsigned x, unsigned y, unsigned z, unsigned part) {
    std::array<int64_t, 3> at = {addressed(axes[0].index + x, sizes[0], modeOf(0)),
                                 addressed(axes[1].index + y, sizes[1], modeOf(1)), slice};
    if (place.dimensions == 3)
      at[2] = addressed(axes[2].index + z, sizes[2], modeOf(2));
    const bool counts = (!x || axes[0].weight) && (!y || axes[1].weight) && (!z || axes[2].weight);
    taps.push_back({texelAt(grid, at), part, counts});
  };
  if (!isLinear)
    return tap(0, 0, 0, weight);
  const unsigned far = weight - share(weight, kOne - axes[2].weight);
  for (unsigned z = 0; z < 2; ++z) {
    const unsigned part = z ? far : weight - far, right = share(part, axes[0].weight),
                   left = part - right;
    const unsigned upperRight = share(right, axes[1].weight),
                   lowerLeft = share(left, kOne - axes[1].weight);
    tap(0, 0, z, lowerLeft);
    tap(1, 0, z, right - upperRight);
    tap(0, 1, z, left - lowerLeft);
    tap(1, 1, z, upperRight);
  }
}

// ---------- Levels of detail

// In 256ths, cut towards 0.
static int64_t stepsOf(float level) {
  if (std::isnan(level))
    return 0;
  return int64_t(std::clamp(double(level), -65536.0, 65536.0) * kOne);
}

unsigned Sampler::anisotropy() const {
  unsigned largest = 1;
  for (const unsigned ratio : {2u, 4u, 6u, 8u, 10u, 12u, 16u})
    if (ratio <= state.maxAnisotropy)
      largest = ratio;
  return largest;
}

double Sampler::sizeForGradients(unsigned dimension) const {
  const uint64_t sizes[] = {texels.width, texels.height, texels.depth};
  return std::ldexp(double(std::max<uint64_t>(sizes[dimension], 1)), -int(texels.firstLevel));
}

// Of three dimensions, gradients are differences of coordinates, where NaN is 0.
static float difference(float from, float way) {
  const auto number = [](float at) { return std::isnan(at) ? 0 : at; };
  return number(from + way) - number(from);
}

Ellipse Sampler::ellipseOf(const SamplePlace &place) const {
  Gradient dx = {}, dy = {};
  for (unsigned i = 0; i < place.dimensions; ++i) {
    const double size = isNormalizedCoordinates ? sizeForGradients(i) : 1;
    const auto texels = [&](float gradient) {
      if (place.dimensions == 3)
        gradient = std::fabs(place.at[i]) >= 0x1p97f ? NAN : difference(place.at[i], gradient);
      else if (std::isnan(gradient))
        gradient = 0;
      return gradientInTexels(gradient, size);
    };
    dx[i] = texels((*place.gradients)[i]);
    dy[i] = texels((*place.gradients)[3 + i]);
  }
  return {dx, dy, true};
}

// With anisotropy, a weight between levels rises faster: a straight line in quarters. It starts
// where it comes to a half at a half, and an H200 has that with the bias in one number, cut.
int64_t Sampler::risen(int64_t steps) const {
  const unsigned ratio = anisotropy();
  if (ratio == 1 || state.flags & kEvenLevels)
    return steps;
  steps = std::max<int64_t>(steps, 0);
  const int64_t weight = steps % kOne, quarters = ratio >= 8 ? 8 : ratio >= 4 ? 7 : 6;
  const double start = kOne / 2 - 2.0 * kOne / double(quarters);
  const double exactBias = std::clamp(double(state.levelBias), -15.0, 15.0) * kOne;
  const int64_t first = bias() - int64_t(exactBias - start);
  return steps - weight + std::clamp<int64_t>(quarters * (weight - first) >> 2, 0, kOne);
}

int64_t Sampler::bias() const {
  constexpr int64_t kMost = 15 * kOne;
  return std::clamp(stepsOf(state.levelBias), -kMost, kMost);
}

Sampler::Detail Sampler::detailAt(int64_t steps, bool isAsked) const {
  if (isAsked)
    steps += bias();
  steps = std::max(std::min(risen(steps), stepsOf(state.maxLevel)), stepsOf(state.minLevel));
  steps = std::clamp<int64_t>(steps, 0, int64_t(texels.levels - 1) * kOne);
  if (!state.hasLinearLevels)
    return {unsigned((steps + kOne / 2) / kOne), 0};
  return {unsigned(steps / kOne), unsigned(steps % kOne)};
}

Sampler::Detail Sampler::detailOf(const SamplePlace &place) const {
  int64_t steps = 0;
  if (place.level)
    steps = stepsOf(*place.level);
  else if (place.gradients) {
    bool isOnFace = false;
    steps = (place.isCube ? cubeEllipseOf(place, isOnFace) : ellipseOf(place)).longer();
  }
  return detailAt(steps, place.level || place.gradients);
}

// ---------- Instructions

// Along the longer axis of an ellipse. Weights are 1024ths.
Texel Sampler::sampleEllipse(const SamplePlace &place, const Ellipse &ellipse) const {
  const Detail detail = detailAt(ellipse.width(anisotropy()), true);
  Taps taps;
  const auto add = [&](unsigned level, unsigned weight, unsigned narrower, unsigned wider) {
    const EllipseSamples along = ellipse.samples(anisotropy(), weight, narrower, wider);
    SamplePlace moved = place;
    for (const EllipseSample &sample : along.samples) {
      const size_t first = taps.size();
      moved.steps = sample.steps;
      addTaps(moved, level, sample.weight, state.isLinear, taps);
      for (Tap &tap : MutableArrayRef<Tap>(taps).drop_front(first))
        tap.weight *= 1024 / along.unit;
    }
  };
  add(detail.level, kOne - detail.fraction, 0, detail.fraction);
  if (detail.fraction)
    add(detail.level + 1, detail.fraction, kOne - detail.fraction, 0);
  return blend(taps, true, 1024);
}

// A point filter's texels are blended too, be it with nothing, with anisotropy or a filter between
// levels. Three dimensions have no anisotropy.
bool Sampler::blends(unsigned dimensions) const {
  return state.isLinear || (isAnisotropic() && dimensions < 3) ||
         (texels.levelsOfArray && state.hasLinearLevels);
}

Texel Sampler::sample(const SamplePlace &place) const {
  if (place.dimensions == 1 && texels.isLinear)
    return {}; // it is for fetches
  if (place.gradients && isAnisotropic() && place.isCube) {
    bool isOnFace = false;
    const Ellipse ellipse = cubeEllipseOf(place, isOnFace);
    if (isOnFace)
      return sampleEllipse(place, ellipse);
  } else if (place.gradients && isAnisotropic() &&
             (place.dimensions == 2 || (place.dimensions == 1 && !texels.isLayered)))
    return sampleEllipse(place, ellipseOf(place));
  const Detail detail = detailOf(place);
  Taps taps;
  addTaps(place, detail.level, kOne - detail.fraction, state.isLinear, taps);
  if (detail.fraction)
    addTaps(place, detail.level + 1, detail.fraction, state.isLinear, taps);
  if (!blends(place.dimensions))
    return read(taps[0].texel ? taps[0].texel : border.data());
  return blend(taps, texels.isCube);
}

Texel Sampler::gather(const SamplePlace &place, unsigned channel) const {
  Taps taps;
  addTaps(place, 0, kOne, true, taps); // whatever the least level is
  Texel result = {};
  constexpr unsigned kOrder[] = {2, 3, 1, 0}; // against the clock, from the lower left
  for (unsigned i = 0; i < 4; ++i) {
    const uint8_t *texel = taps[kOrder[i]].texel;
    const Tap tap = {texel, kOne};
    result[i] = blend(tap, false)[channel]; // each with nothing
  }
  return result;
}

Texel Sampler::fetch(uint32_t layer, std::array<int64_t, 3> at, bool isRow) const {
  if (isRow != texels.isLinear)
    return {};
  const Grid grid = gridOf(0);
  if (texels.isLayered && layer >= layers())
    return {};
  if (texels.isLayered)
    at[2] = sliceOf(layer);
  for (unsigned i = 0; i < 3; ++i)
    if (at[i] < 0 || at[i] >= grid.sizes[i])
      return {};
  return read(texelAt(grid, at));
}

std::array<uint32_t, 3> Sampler::sizes(bool ofSurface) const {
  const Grid grid = gridOf(0);
  const auto width = uint32_t(grid.sizes[0]), height = texels.height ? uint32_t(grid.sizes[1]) : 0,
             depth = uint32_t(texels.depth), layers = uint32_t(toldLayers());
  if (!height && texels.isLayered)
    return {width, layers, 0};
  if (ofSurface)
    return {width, height, height ? depth : 0};
  return {width, texels.isLinear ? 0 : std::max(height, 1u),
          texels.isLayered          ? layers
          : texels.isCube || !depth ? 0
                                    : uint32_t(grid.sizes[2])};
}

std::array<uint32_t, 3> Sampler::sizesAtLevel(uint32_t level) const {
  if (level >= texels.levels)
    return {};
  std::array<uint32_t, 3> answer = sizes(false);
  const Grid grid = gridOf(level);
  answer[0] = uint32_t(grid.sizes[0]);
  if (texels.height)
    answer[1] = uint32_t(grid.sizes[1]);
  if (texels.depth && !texels.isLayered && !texels.isCube)
    answer[2] = uint32_t(grid.sizes[2]);
  return answer;
}

} // namespace rubia::reference::interpreter
