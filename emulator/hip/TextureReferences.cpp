// SPDX-License-Identifier: Apache-2.0
#include "emulator/hip/TextureReferences.h"
#include "emulator/hip/Registration.h"
#include <algorithm>
#include <cstring>

namespace rubia::emulator::hip {
namespace {

struct State {
  const void *module = nullptr;                // null: it is registered
  void *place = nullptr;                       // of the module's copy
  std::unique_ptr<textureReference> structure; // of a module
  float border[4] = {};
};

struct Registry {
  std::recursive_mutex mutex;
  std::map<const textureReference *, State> references;
};
Registry &registry() {
  static auto *all = new Registry;
  return *all;
}

/// HIP's functions take references as constants and write what is bound into them.
textureReference *writable(const textureReference *reference) {
  return const_cast<textureReference *>(reference);
}

State *stateOf(const textureReference *reference) {
  auto found = registry().references.find(reference);
  return found == registry().references.end() ? nullptr : &found->second;
}

/// Brings the copy that kernels read up to date.
hipError_t publish(const textureReference *reference, const State &state) {
  void *place = state.place;
  if (!place)
    if (hipError_t error =
            symbolPlace(reference, 0, sizeof(textureReference), currentDevice(), place))
      return error;
  memcpy(place, reference, sizeof(*reference));
  return hipSuccess;
}

hipTextureDesc descriptionOf(const textureReference &reference, const State &state,
                             const hipResourceDesc &resource) {
  hipTextureDesc texture = {};
  std::copy(std::begin(reference.addressMode), std::end(reference.addressMode),
            texture.addressMode);
  texture.filterMode = reference.filterMode;
  texture.readMode =
      mayNormalize(resource) ? reference.readMode : hipReadModeElementType; // else it says nothing
  texture.sRGB = reference.sRGB;
  texture.normalizedCoords = reference.normalized;
  texture.maxAnisotropy = reference.maxAnisotropy;
  texture.mipmapFilterMode = reference.mipmapFilterMode;
  texture.mipmapLevelBias = reference.mipmapLevelBias;
  texture.minMipmapLevelClamp = reference.minMipmapLevelClamp;
  texture.maxMipmapLevelClamp = reference.maxMipmapLevelClamp;
  std::copy(std::begin(state.border), std::end(state.border), texture.borderColor);
  return texture;
}

} // namespace

void registerReference(textureReference *variable) {
  std::lock_guard lock(registry().mutex);
  registry().references[variable];
}

bool isReference(const textureReference *reference) {
  std::lock_guard lock(registry().mutex);
  return stateOf(reference);
}

bool isRegisteredReference(const void *variable) {
  std::lock_guard lock(registry().mutex);
  const State *state = stateOf(static_cast<const textureReference *>(variable));
  return state && !state->place;
}

textureReference *moduleReference(const void *module, void *place) {
  std::lock_guard lock(registry().mutex);
  for (auto &[reference, state] : registry().references)
    if (state.place == place)
      return state.structure.get();
  auto structure = std::make_unique<textureReference>();
  memset(structure.get(), 0, sizeof(textureReference));
  std::fill(std::begin(structure->addressMode), std::end(structure->addressMode),
            hipAddressModeClamp);
  structure->readMode = hipReadModeNormalizedFloat; // until a flag says otherwise
  structure->format = HIP_AD_FORMAT_FLOAT;
  structure->numChannels = 1;
  textureReference *made = structure.get();
  State &state = registry().references[made];
  state.module = module;
  state.place = place;
  state.structure = std::move(structure);
  return made;
}

hipError_t bindReference(const textureReference *reference, const hipResourceDesc &resource) {
  awaitKernels(); // those that were launched read what was bound then
  std::lock_guard lock(registry().mutex);
  State *state = stateOf(reference);
  if (!state)
    return hipErrorInvalidValue;
  const hipTextureDesc texture = descriptionOf(*reference, *state, resource);
  hipTextureObject_t made;
  if (hipError_t error = createTexture(&made, &resource, &texture, nullptr))
    return error;
  const hipTextureObject_t old = std::exchange(writable(reference)->textureObject, made);
  if (hipError_t error = publish(reference, *state)) {
    writable(reference)->textureObject = old;
    (void)destroyTexture(made); // the first error is the one to tell
    return error;
  }
  return destroyTexture(old);
}

void forgetReferences(const void *module) {
  std::lock_guard lock(registry().mutex);
  std::erase_if(registry().references, [&](const auto &entry) {
    if (entry.second.module != module)
      return false;
    (void)destroyTexture(entry.first->textureObject); // one of ours, or null
    return true;
  });
}

hipError_t unbindReference(const textureReference *reference) {
  std::lock_guard lock(registry().mutex);
  State *state = stateOf(reference);
  if (!state)
    return hipErrorInvalidValue;
  const hipTextureObject_t old = std::exchange(writable(reference)->textureObject, nullptr);
  if (!old)
    return hipSuccess;
  if (hipError_t error = destroyTexture(old))
    return error;
  return publish(reference, *state);
}

hipError_t refreshReference(const textureReference *reference) {
  const auto bound = boundTo(reference);
  return bound ? bindReference(reference, bound->resource) : hipSuccess;
}

std::shared_ptr<const TextureObject> boundTo(const textureReference *reference) {
  std::lock_guard lock(registry().mutex);
  return stateOf(reference) ? textureOf(reference->textureObject) : nullptr;
}

hipError_t setBorder(const textureReference *reference, const float (&color)[4]) {
  {
    std::lock_guard lock(registry().mutex);
    State *state = stateOf(reference);
    if (!state)
      return hipErrorInvalidValue;
    std::copy(std::begin(color), std::end(color), state->border);
  }
  return refreshReference(reference);
}

hipError_t getBorder(const textureReference *reference, float (&color)[4]) {
  std::lock_guard lock(registry().mutex);
  const State *state = stateOf(reference);
  if (!state)
    return hipErrorInvalidValue;
  std::copy(std::begin(state->border), std::end(state->border), color);
  return hipSuccess;
}

} // namespace rubia::emulator::hip
