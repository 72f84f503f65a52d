// SPDX-License-Identifier: Apache-2.0
// The names of the module variables in an image: of its PTX, out of a container where it lies in
// one.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rubia::forward {

using TakeName = void (*)(void *context, const char *name);
void readVariableNames(const uint8_t *image, size_t size, TakeName take, void *context);

template <class Take> void forEachVariable(const uint8_t *image, size_t size, Take take) {
  readVariableNames(
      image, size, [](void *context, const char *name) { (*static_cast<Take *>(context))(name); },
      &take);
}

} // namespace rubia::forward
