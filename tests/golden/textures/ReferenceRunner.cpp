// SPDX-License-Identifier: Apache-2.0
#include "tests/golden/textures/ReferenceRunner.h"
#include "ptx-frontend/Parser.h"
#include <cstring>
#include <stdexcept>

using namespace llvm;

namespace rubia::golden {
namespace {

constexpr uint64_t kHandle = 1;

template <typename T> reference::MemoryRange rangeOf(std::vector<T> &words) {
  const auto address = reinterpret_cast<uint64_t>(words.data());
  return {address, {reinterpret_cast<uint8_t *>(words.data()), words.size() * sizeof(T)}};
}

reference::Texels texelsOf(const TextureCase &c, std::vector<uint8_t> &bytes) {
  for (unsigned level = 0; level < std::max(c.levels, 1u); ++level) {
    const std::vector<uint8_t> more = texelsOf(c, level);
    bytes.insert(bytes.end(), more.begin(), more.end());
  }
  reference::Texels texels;
  texels.bytes = bytes;
  texels.width = c.width;
  texels.height = c.height;
  texels.depth = c.depth;
  texels.format = c.format;
  texels.channels = c.channels;
  texels.levels = std::max(c.levels, 1u);
  texels.levelsOfArray = c.levels;
  texels.isCube = c.shape == Shape::Cube || c.shape == Shape::LayeredCube;
  texels.isLayered =
      c.shape == Shape::Layered1 || c.shape == Shape::Layered2 || c.shape == Shape::LayeredCube;
  texels.isLinear = c.shape == Shape::Linear;
  if (!c.view.isThere)
    return texels;
  if (c.view.format) {
    texels.format = c.view.format;
    texels.channels = c.view.channels;
  }
  const unsigned last = texels.levels - 1;
  texels.firstLevel = std::min(c.view.firstLevel, last);
  texels.levels = std::min(c.view.lastLevel, last) - texels.firstLevel + 1;
  if (texels.isLayered) {
    texels.firstLayer = c.view.firstLayer;
    texels.layers = c.view.lastLayer - c.view.firstLayer + 1;
  }
  return texels;
}

reference::SamplerState samplerOf(const TextureCase &c) {
  reference::SamplerState state;
  state.addressModes[0] = c.addressX;
  state.addressModes[1] = c.addressY;
  state.addressModes[2] = c.addressZ;
  state.isLinear = c.filter;
  state.hasLinearLevels = c.mipmapFilter;
  state.flags = c.flags;
  state.maxAnisotropy = c.maxAnisotropy;
  state.levelBias = c.levelBias;
  state.minLevel = c.minLevel;
  state.maxLevel = c.maxLevel;
  std::copy_n(c.border, 4, state.border);
  return state;
}

std::string launch(reference::Interpreter &interpreter, const std::string &kernel, unsigned blocks,
                   unsigned threads, ArrayRef<uint64_t> parameters) {
  reference::Launch launch;
  launch.kernel = kernel;
  launch.grid = {blocks, 1, 1};
  launch.block = {threads, 1, 1};
  launch.parameters = {reinterpret_cast<const uint8_t *>(parameters.data()),
                       parameters.size() * sizeof(uint64_t)};
  return toString(interpreter.launch(launch).takeError());
}

std::unique_ptr<reference::Interpreter> interpreterOf(const ptx::ParseResult &parsed) {
  auto interpreter = reference::Interpreter::create(parsed.module);
  if (parsed.hasErrors() || !interpreter)
    throw std::runtime_error("the kernels cannot be read: " + toString(interpreter.takeError()));
  return std::move(*interpreter);
}

} // namespace

ReferenceTextureRunner::ReferenceTextureRunner()
    : parsed(ptx::parse("textures.ptx", textureKernels())), interpreter(interpreterOf(parsed)) {}

TextureOutcome ReferenceTextureRunner::run(const TextureCase &c, unsigned count,
                                           std::string &error) {
  TextureOutcome outcome;
  std::vector<uint8_t> bytes;
  interpreter->clearMemory();
  interpreter->clearTextures();
  cantFail(interpreter->addTexture({kHandle, "", false, texelsOf(c, bytes), samplerOf(c)}));
  std::vector<uint32_t> coordinates = coordinatesOf(c), details = detailsOf(c);
  outcome.words.assign(size_t(4) * count, 0xcccccccc);
  for (std::vector<uint32_t> *buffer : {&outcome.words, &coordinates, &details})
    interpreter->addMemory(rangeOf(*buffer));
  error = launch(*interpreter, kernelOf(c), count / 128, 128,
                 {rangeOf(outcome.words).address, kHandle, rangeOf(coordinates).address,
                  rangeOf(details).address});
  return outcome;
}

TextureOutcome ReferenceTextureRunner::run(const SurfaceCase &c, std::string &error) {
  const ptx::ParseResult kernel = ptx::parse("surface.ptx", kernelTextOf(c));
  const auto one = interpreterOf(kernel);
  std::vector<uint8_t> bytes = bytesBefore(c);
  reference::TextureObject surface;
  surface.handle = kHandle;
  surface.isSurface = true;
  surface.texels.bytes = bytes;
  surface.texels.width = c.width();
  surface.texels.height = c.height();
  surface.texels.depth = c.depth();
  surface.texels.format = c.format;
  surface.texels.channels = c.channels;
  cantFail(one->addTexture(std::move(surface)));
  std::vector<int32_t> coordinates = coordinatesOf(c);
  std::vector<uint32_t> operands = operandsOf(c);
  one->addMemory(rangeOf(coordinates));
  one->addMemory(rangeOf(operands));
  error = launch(*one, "k", kSurfaceThreads / 32, 32,
                 {kHandle, rangeOf(coordinates).address, rangeOf(operands).address});
  TextureOutcome outcome;
  outcome.words.resize(bytes.size() / 4);
  memcpy(outcome.words.data(), bytes.data(), outcome.words.size() * 4);
  return outcome;
}

} // namespace rubia::golden
