// SPDX-License-Identifier: Apache-2.0
// What recording has to know of an image's PTX, which may lie in a container: the names of the
// module variables, and whether it uses textures.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rubia::forward {

using TakeName = void (*)(void *context, const char *name);
void readVariableNames(const uint8_t *image, size_t size, TakeName take, void *context);

/// Whether its PTX has instructions for textures or surfaces. True also if it cannot be read.
bool mayNameTextures(const uint8_t *image, size_t size);

template <class Take> void forEachVariable(const uint8_t *image, size_t size, Take take) {
  readVariableNames(
      image, size, [](void *context, const char *name) { (*static_cast<Take *>(context))(name); },
      &take);
}

} // namespace rubia::forward
