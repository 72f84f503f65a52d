// SPDX-License-Identifier: Apache-2.0
// PTX ISA: surface-instructions: suld, sust, sured. docs/textures.md, "Surfaces".
#include "reference/lib/interpreter/Cta.h"
#include "reference/lib/interpreter/TextureMap.h"
#include <cmath>

using namespace llvm;

namespace rubia::ptx::Op {
extern const Operation Suld, Sured, Sust;
} // namespace rubia::ptx::Op
namespace rubia::ptx::Mod {
extern const Modifier Add, And, Clamp, Max, Min, Or, P, Trap;
} // namespace rubia::ptx::Mod

namespace rubia::reference::interpreter {
namespace {

namespace Mod = ptx::Mod;
using ptx::Modifier;

struct Access {
  Brackets brackets;
  enum class Kind : uint8_t { Load, Store, StoreTexel, Reduce, ReduceWords } kind = Kind::Load;
  enum class Outside : uint8_t { Trap, Clamp, Zero } outside = Outside::Trap;
  unsigned elements = 1, elementBytes = 4;
  Modifier operation = Mod::Add; // of a reduction
  bool isSigned = false;
};

// Where so many bytes lie, x in bytes; null outside.
uint8_t *placeOf(const TextureObject &surface, const Access &access, uint32_t layer,
                 std::array<int64_t, 3> at, int64_t bytes) {
  const Sampler::Grid grid = Sampler(surface).gridOf(0);
  const bool isLayered = access.brackets.isLayered;
  std::array<int64_t, 3> ends = {int64_t(surface.texels.width * Sampler(surface).texelBytes()),
                                 grid.sizes[1], grid.sizes[2]};
  const std::array<int64_t, 3> sizes = {bytes, 1, 1};
  if (isLayered)
    at[2] = layer;
  for (unsigned i = 0; i < 3; ++i) {
    const int64_t most = ends[i] - sizes[i];
    if (access.outside == Access::Outside::Clamp)
      at[i] = std::max<int64_t>(std::min(at[i], most), 0);
    if (at[i] < 0 || at[i] > most)
      return nullptr;
  }
  return grid.bytes + uint64_t(at[2]) * grid.sliceBytes + uint64_t(at[1]) * grid.rowBytes + at[0];
}

// An f32 cut to an f16; what is too large becomes the largest one.
uint16_t cutToHalf(uint32_t bits) {
  const uint32_t sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) // its payload is cut, too
    return uint16_t(sign | 0x7c00 | std::max(magnitude >> 13 & 0x3ff, 1u));
  if (magnitude == 0x7f800000)
    return uint16_t(sign | 0x7c00);
  if (magnitude >= 0x47800000)
    return uint16_t(sign | 0x7bff);
  if (magnitude >= 0x38800000)
    return uint16_t(sign | ((magnitude - 0x38000000) >> 13));
  const float value = llvm::bit_cast<float>(magnitude);
  return uint16_t(sign | unsigned(std::ldexp(double(value), 24)));
}

uint64_t channelOf(const TexelFormat &format, uint32_t word) {
  const unsigned bits = 8 * format.bytes;
  const auto most = int64_t((uint64_t(1) << (bits - format.isSigned)) - 1);
  switch (format.meaning) {
  case TexelFormat::Meaning::Float:
    return word;
  case TexelFormat::Meaning::Half:
    return cutToHalf(word);
  case TexelFormat::Meaning::Integer:
    return format.isSigned ? uint64_t(std::clamp<int64_t>(int32_t(word), -most - 1, most))
                           : std::min<uint64_t>(word, uint64_t(most));
  case TexelFormat::Meaning::Normalized:
    break;
  }
  // Cut to four bits more than the format has, then rounded.
  const auto value = double(llvm::bit_cast<float>(word));
  if (std::isnan(value) || (value < 0 && !format.isSigned))
    return 0;
  const unsigned cut = bits - format.isSigned + 4;
  const auto fraction = int64_t(std::ldexp(std::min(std::fabs(value), 1.0), int(cut)));
  const int64_t nearest = (fraction * most + (int64_t(1) << (cut - 1))) >> cut;
  return uint64_t(value < 0 ? -nearest : nearest);
}

void storeTexel(Warp &warp, const Micro &micro, const TextureObject &surface, uint8_t *place,
                unsigned first, unsigned lane) {
  const TexelFormat format = TexelFormat::of(surface.texels.format);
  for (unsigned i = 0; i < surface.texels.channels; ++i) { // without a source: 0
    const bool hasSource = first + i < micro.sources.size();
    const uint64_t channel =
        channelOf(format, hasSource ? uint32_t(warp.source(micro, first + i)[lane]) : 0);
    memcpy(place + size_t(i) * format.bytes, &channel, format.bytes);
  }
}

uint64_t reduced(Modifier operation, bool isSigned, unsigned bits, uint64_t old, uint64_t value) {
  const auto order = [&](uint64_t word) { // unsigned numbers are ordered as these are
    return (word << (64 - bits)) ^ (isSigned ? uint64_t(1) << 63 : 0);
  };
  if (operation == Mod::Min)
    return order(value) < order(old) ? value : old;
  if (operation == Mod::Max)
    return order(value) > order(old) ? value : old;
  return operation == Mod::And ? old & value : operation == Mod::Or ? old | value : old + value;
}

void accessLane(Warp &warp, const Micro &micro, const Access &access, unsigned lane) {
  using Kind = Access::Kind;
  const Brackets &brackets = access.brackets;
  uint64_t handle = 0;
  if (!brackets.handle(warp, micro, lane, handle))
    return;
  const auto &surfaces = warp.cta.grid.textures->surfaces;
  const auto found = surfaces.find(handle);
  if (handle && found == surfaces.end())
    return warp.fail("there is no surface with the handle 0x" + Twine::utohexstr(handle), lane);
  std::array<int64_t, 3> at = {};
  for (unsigned i = 0; i < brackets.dimensions; ++i)
    at[i] = int32_t(brackets.at(warp, micro, i, lane));
  uint8_t *place = nullptr;
  unsigned bytes = access.elements * access.elementBytes;
  if (handle) {
    const TextureObject &surface = found->second;
    const bool isTexel = access.kind == Kind::StoreTexel;
    if (isTexel)
      bytes = Sampler(surface).texelBytes();
    if (isTexel || access.kind == Kind::ReduceWords)
      at[0] *= bytes;
    else if (at[0] % bytes)
      return warp.fail("the first coordinate is no multiple of " + Twine(bytes), lane);
    place = placeOf(surface, access, brackets.layer(warp, micro, lane), at, bytes);
  }
  if (!place && access.outside == Access::Outside::Trap)
    return warp.fail("the access lies outside of the surface", lane);
  const unsigned first = brackets.behind;
  switch (access.kind) {
  case Kind::Load:
    for (unsigned i = 0; i < access.elements; ++i) {
      uint64_t value = 0;
      if (place)
        memcpy(&value, place + size_t(i) * access.elementBytes, access.elementBytes);
      warp.write(micro, i, lane, value);
    }
    return;
  case Kind::Store:
    for (unsigned i = 0; i < access.elements && place; ++i)
      memcpy(place + size_t(i) * access.elementBytes, &warp.source(micro, first + i)[lane],
             access.elementBytes);
    return;
  case Kind::StoreTexel:
    if (place)
      storeTexel(warp, micro, found->second, place, first, lane);
    return;
  case Kind::Reduce:
  case Kind::ReduceWords:
    break;
  }
  if (!place)
    return;
  const bool isSigned = access.kind == Kind::ReduceWords
                            ? TexelFormat::of(found->second.texels.format).isSignedInteger()
                            : access.isSigned;
  uint64_t word = 0;
  memcpy(&word, place, bytes);
  word = reduced(access.operation, isSigned, 8 * bytes, word, warp.source(micro, first)[lane]);
  memcpy(place, &word, bytes);
}

void execute(Warp &warp, const Micro &micro) {
  const auto &access = *static_cast<const Access *>(micro.data);
  for (unsigned lane = 0; lane < kLanes && !warp.hasFailed(); ++lane)
    if (warp.active >> lane & 1)
      accessLane(warp, micro, access, lane);
}

void decodeAccess(Decoder &decoder) {
  using Kind = Access::Kind;
  const ptx::Spelling &spelling = decoder.spelling();
  const ptx::Operation op = decoder.inst().op();
  ArrayRef<ptx::Operand> operands = decoder.inst().operands;
  auto &access = decoder.code.keep<Access>();
  const bool isLoad = op == ptx::Op::Suld, isReduction = op == ptx::Op::Sured;
  const ptx::Type type = spelling.type(0);
  access.outside = spelling.has(Mod::Trap)    ? Access::Outside::Trap
                   : spelling.has(Mod::Clamp) ? Access::Outside::Clamp
                                              : Access::Outside::Zero;
  access.elements = std::max(spelling.vectorWidth(), 1u);
  access.elementBytes = ptx::sizeInBits(type) / 8;
  const bool isFormatted = spelling.has(Mod::P);
  access.kind = isLoad        ? Kind::Load
                : isReduction ? isFormatted ? Kind::ReduceWords : Kind::Reduce
                : isFormatted ? Kind::StoreTexel
                              : Kind::Store;
  access.isSigned = ptx::classOf(type) == ptx::TypeClass::Signed;
  for (Modifier operation : {Mod::Add, Mod::Min, Mod::Max, Mod::And, Mod::Or})
    if (spelling.has(operation))
      access.operation = operation;
  if (isLoad)
    decoder.destination(operands[0]);
  access.brackets = Brackets::decode(decoder, operands[isLoad ? 1 : 0], ptx::Type::S32);
  if (!isLoad)
    decoder.source(operands[1], type);
  decoder.micro.data = &access;
  decoder.execute(execute);
}

constexpr Family kFamilies[] = {
    {ptx::Op::Suld, decodeAccess}, {ptx::Op::Sust, decodeAccess}, {ptx::Op::Sured, decodeAccess}};

} // namespace

ArrayRef<Family> surfaces() { return kFamilies; }

} // namespace rubia::reference::interpreter
