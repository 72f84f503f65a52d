// SPDX-License-Identifier: Apache-2.0
// PTX ISA: texture-instructions: tex, tld4, txq, istypep.
#include "reference/lib/interpreter/Cta.h"
#include "reference/lib/interpreter/TextureMap.h"

using namespace llvm;

namespace rubia::ptx::Op {
extern const Operation Istypep, Suq, Tex, Tld4, Txq;
} // namespace rubia::ptx::Op
namespace rubia::ptx::Mod {
extern const Modifier A1d, A2d, Acube, B, Cube, Depth, G, Geometry1d, Geometry2d, Geometry3d, Grad,
    Height, Level, R, Width;
} // namespace rubia::ptx::Mod

namespace rubia::reference::interpreter {

namespace Mod = ptx::Mod;
using ptx::Modifier;
using ptx::StateSpace;

Brackets Brackets::decode(Decoder &decoder, const ptx::Operand &operand, ptx::Type type) {
  struct Geometry {
    const Modifier &mod;
    unsigned dimensions;
    bool isLayered, isCube;
  };
  constexpr Geometry kGeometries[] = {
      {Mod::Geometry1d, 1, false, false}, {Mod::Geometry2d, 2, false, false},
      {Mod::Geometry3d, 3, false, false}, {Mod::A1d, 1, true, false},
      {Mod::A2d, 2, true, false},         {Mod::Cube, 3, false, true},
      {Mod::Acube, 3, true, true}};
  Brackets result;
  const Modifier mod = decoder.spelling().first(ptx::ModCategory::Geometry);
  const auto *geometry =
      find_if(kGeometries, [&](const Geometry &other) { return other.mod == mod; });
  ArrayRef<ptx::Operand> parts = operand.elements();
  if (geometry == std::end(kGeometries) || parts.size() != 2) {
    decoder.unsupported(parts.size() == 3 ? "samplers apart from textures"
                                          : "textures of this geometry");
    return result;
  }
  result.dimensions = geometry->dimensions;
  result.isLayered = geometry->isLayered;
  result.isCube = geometry->isCube;
  const ptx::Variable *variable = parts[0].variable();
  result.isHandleInParameter = variable && variable->space == StateSpace::Param;
  decoder.source(parts[0], ptx::Type::B64);
  result.coordinates = unsigned(decoder.sources.size());
  ArrayRef<ptx::Operand> coordinates = parts[1];
  if (parts[1].kind == ptx::Operand::Kind::Vector)
    coordinates = parts[1].elements();
  const unsigned count = result.dimensions + result.isLayered;
  if (coordinates.size() < count && parts[1].kind == ptx::Operand::Kind::Vector) {
    decoder.unsupported("too few coordinates");
    return result;
  }
  for (auto [i, coordinate] : enumerate(coordinates)) // a vector may be filled up
    if (i < count)
      decoder.source(coordinate, result.isLayered && i == 0 ? ptx::Type::U32 : type);
  result.behind = unsigned(decoder.sources.size());
  if (result.behind < result.coordinates + count)
    decoder.unsupported("too few coordinates");
  return result;
}

bool Brackets::handle(Warp &warp, const Micro &micro, unsigned lane, uint64_t &result) const {
  result = warp.source(micro, 0)[lane];
  if (!isHandleInParameter)
    return true;
  const uint8_t *place = warp.memory(StateSpace::Param, result, sizeof(result), lane);
  if (place)
    memcpy(&result, place, sizeof(result));
  return place;
}

uint32_t Brackets::layer(Warp &warp, const Micro &micro, unsigned lane) const {
  return isLayered ? uint32_t(warp.source(micro, coordinates)[lane]) : 0;
}

uint32_t Brackets::at(Warp &warp, const Micro &micro, unsigned dimension, unsigned lane) const {
  return uint32_t(warp.source(micro, coordinates + isLayered + dimension)[lane]);
}

namespace {

struct Sampling {
  Brackets brackets;
  bool isInteger = false;
  unsigned level = 0, gradients = 0, offsets = 0; // the first source of each; 0: none
  bool isGather = false;
  unsigned channel = 0; // of a gather
};

int offsetAt(Warp &warp, const Micro &micro, unsigned n, unsigned lane) { // of 4 bits
  return int32_t(uint32_t(warp.source(micro, n)[lane]) << 28) >> 28;
}

Texel texelOf(Warp &warp, const Micro &micro, const Sampling &sampling, const Sampler &sampler,
              unsigned lane) {
  const Brackets &brackets = sampling.brackets;
  const auto number = [&](unsigned n) {
    return llvm::bit_cast<float>(uint32_t(warp.source(micro, n)[lane]));
  };
  if (sampling.isInteger) {
    std::array<int64_t, 3> at = {};
    const bool isRow = brackets.dimensions == 1 && !brackets.isLayered;
    for (unsigned i = 0; i < brackets.dimensions; ++i) {
      at[i] = int32_t(brackets.at(warp, micro, i, lane));
      if (sampling.offsets && !isRow) // those of memory are ignored
        at[i] += offsetAt(warp, micro, sampling.offsets + i, lane);
    }
    return sampler.fetch(brackets.layer(warp, micro, lane), at, isRow);
  }
  SamplePlace place;
  place.dimensions = brackets.dimensions;
  place.isCube = brackets.isCube;
  place.layer = brackets.layer(warp, micro, lane);
  for (unsigned i = 0; i < brackets.dimensions; ++i) {
    place.at[i] = llvm::bit_cast<float>(brackets.at(warp, micro, i, lane));
    if (sampling.offsets)
      place.offsets[i] = offsetAt(warp, micro, sampling.offsets + i, lane);
  }
  if (sampling.level)
    place.level = number(sampling.level);
  if (sampling.gradients) {
    place.gradients.emplace();
    for (unsigned i = 0; i < brackets.dimensions; ++i)
      for (unsigned j = 0; j < 2; ++j)
        (*place.gradients)[3 * j + i] = number(sampling.gradients + j * brackets.dimensions + i);
  }
  return sampling.isGather ? sampler.gather(place, sampling.channel) : sampler.sample(place);
}

void sample(Warp &warp, const Micro &micro) {
  const auto &sampling = *static_cast<const Sampling *>(micro.data);
  const TextureObject *last = nullptr;
  std::optional<Sampler> sampler;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if (!(warp.active >> lane & 1))
      continue;
    uint64_t handle = 0;
    if (!sampling.brackets.handle(warp, micro, lane, handle))
      return;
    Texel texel = {}; // of no object
    if (handle) {
      const auto &textures = warp.cta.grid.textures->textures;
      const auto found = textures.find(handle);
      if (found == textures.end())
        return warp.fail("there is no texture with the handle 0x" + Twine::utohexstr(handle), lane);
      if (last != &found->second) {
        last = &found->second;
        sampler.emplace(found->second, warp.cta.grid.launch.movement);
        if (const std::string why = sampler->whyNot(sampling.brackets.isCube); !why.empty())
          return warp.fail("unsupported: " + why, lane);
      }
      texel = texelOf(warp, micro, sampling, *sampler, lane);
    }
    for (unsigned i = 0; i < micro.destinations.size(); ++i) // behind four, whether all is there
      warp.write(micro, i, lane, i < 4 ? texel[i] : 1);
  }
}

// Elements of a vector, or of a scalar, that stand for dimensions.
unsigned appendDimensions(Decoder &decoder, const ptx::Operand &operand, unsigned dimensions,
                          ptx::Type type) {
  const auto first = unsigned(decoder.sources.size());
  if (operand.kind != ptx::Operand::Kind::Vector)
    decoder.source(operand, type);
  else
    for (auto [i, element] : enumerate(operand.elements()))
      if (i < dimensions)
        decoder.source(element, type);
  if (decoder.sources.size() < first + dimensions)
    decoder.unsupported("too few elements");
  return first;
}

void decodeSampling(Decoder &decoder) {
  const ptx::Spelling &spelling = decoder.spelling();
  ArrayRef<ptx::Operand> operands = decoder.inst().operands;
  const bool isGather = decoder.inst().op() == ptx::Op::Tld4;
  const ptx::Type type = spelling.type(1);
  if (is_contained({ptx::Type::F16, ptx::Type::F16x2}, spelling.type(0)))
    return decoder.unsupported("texels of 16 bits");
  decoder.destination(operands[0], 1);
  auto &sampling = decoder.code.keep<Sampling>();
  sampling.brackets = Brackets::decode(decoder, operands[1], type);
  const unsigned dimensions = sampling.brackets.dimensions;
  sampling.isInteger = type == ptx::Type::S32;
  sampling.isGather = isGather;
  if (isGather)
    sampling.channel = spelling.has(Mod::R)   ? 0
                       : spelling.has(Mod::G) ? 1
                       : spelling.has(Mod::B) ? 2
                                              : 3;
  size_t next = 2;
  if (spelling.has(Mod::Level)) {
    sampling.level = unsigned(decoder.sources.size());
    decoder.source(operands[next++], ptx::Type::F32);
  }
  if (spelling.has(Mod::Grad)) {
    sampling.gradients = appendDimensions(decoder, operands[next++], dimensions, ptx::Type::F32);
    appendDimensions(decoder, operands[next++], dimensions, ptx::Type::F32);
  }
  if (sampling.isInteger && (sampling.level || sampling.gradients))
    return decoder.unsupported("levels of detail with integer coordinates");
  if (isGather && (dimensions != 2 || sampling.brackets.isLayered))
    return decoder.unsupported("gathering from layers and cube maps");
  if (next < operands.size()) {
    const bool isOffset = operands[next].kind == ptx::Operand::Kind::Vector || dimensions == 1;
    if (operands.size() - next > 1 || sampling.brackets.isCube || !isOffset)
      return decoder.unsupported("comparisons of texels");
    sampling.offsets = appendDimensions(decoder, operands[next], dimensions, ptx::Type::S32);
  }
  decoder.micro.data = &sampling;
  decoder.execute(sample);
}

// ---------- Queries

// detail: 0 width, 1 height, 2 depth, and 4 for a surface, 8 for a level of detail.
void query(Warp &warp, const Micro &micro) {
  const bool isSurface = micro.detail & 4;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if (!(warp.active >> lane & 1))
      continue;
    const uint64_t handle = warp.source(micro, 0)[lane];
    uint32_t answer = 0;
    if (handle) {
      const TextureMap &map = *warp.cta.grid.textures;
      const auto &objects = isSurface ? map.surfaces : map.textures;
      const auto found = objects.find(handle);
      if (found == objects.end())
        return warp.fail("there is no such object with the handle 0x" + Twine::utohexstr(handle),
                         lane);
      const Sampler sampler(found->second);
      const auto sizes = micro.detail & 8
                             ? sampler.sizesAtLevel(uint32_t(warp.source(micro, 1)[lane]))
                             : sampler.sizes(isSurface);
      answer = sizes[micro.detail & 3];
    }
    warp.write(micro, 0, lane, answer);
  }
}

void decodeQuery(Decoder &decoder) {
  const ptx::Spelling &spelling = decoder.spelling();
  ArrayRef<ptx::Operand> operands = decoder.inst().operands;
  const bool isWidth = spelling.has(Mod::Width), isHeight = spelling.has(Mod::Height);
  const bool hasLevel = spelling.has(Mod::Level);
  if (!isWidth && !isHeight && !spelling.has(Mod::Depth))
    return decoder.unsupported("this query, which NVIDIA's driver refuses too");
  ArrayRef<ptx::Operand> inside = operands[1].elements();
  const ptx::Operand &object = inside.empty() ? operands[1] : inside[0];
  if (object.variable() && object.variable()->space == StateSpace::Param)
    return decoder.unsupported("a query of a parameter");
  decoder.destination(operands[0]);
  decoder.source(object, ptx::Type::B64);
  if (hasLevel)
    decoder.source(operands[2], ptx::Type::B32);
  decoder.micro.detail = (isWidth    ? 0
                          : isHeight ? 1
                                     : 2) |
                         (decoder.inst().op() == ptx::Op::Suq ? 4 : 0) | (hasLevel ? 8 : 0);
  decoder.execute(query);
}

// An H100 says no of all objects.
void no(Warp &warp, const Micro &micro) {
  for (unsigned lane = 0; lane < kLanes; ++lane)
    if (warp.active >> lane & 1)
      warp.write(micro, 0, lane, 0);
}

void decodeIstypep(Decoder &decoder) {
  decoder.destination(decoder.inst().operands[0]);
  decoder.execute(no);
}

constexpr Family kFamilies[] = {{ptx::Op::Tex, decodeSampling},
                                {ptx::Op::Tld4, decodeSampling},
                                {ptx::Op::Txq, decodeQuery},
                                {ptx::Op::Suq, decodeQuery},
                                {ptx::Op::Istypep, decodeIstypep}};

} // namespace

ArrayRef<Family> textures() { return kFamilies; }

} // namespace rubia::reference::interpreter
