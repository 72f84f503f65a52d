// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/cache/CacheKey.h"
#include "llvm/ADT/ArrayRef.h"

#include <memory>
#include <vector>

namespace rubia::runtime {

/// A module's image as the program hands it over, a container or PTX text, with what identifies it
/// and what decides which of its PTX is taken. From the call that loads a module to the compile
/// worker it is this object: the bytes are copied and hashed once. Copies share the bytes.
struct ModuleImage {
  llvm::ArrayRef<uint8_t> bytes;
  Digest digest = {};             // of bytes
  unsigned computeCapability = 0; // 10 * major + minor, as the caller is told

  ModuleImage() = default;
  /// Keeps the bytes.
  ModuleImage(std::vector<uint8_t> owned, unsigned computeCapability)
      : ModuleImage(std::make_shared<const std::vector<uint8_t>>(std::move(owned)),
                    computeCapability) {}
  /// `bytes` must stay alive as long as the image and its copies.
  static ModuleImage view(llvm::ArrayRef<uint8_t> bytes, unsigned computeCapability) {
    ModuleImage image;
    image.bytes = bytes;
    image.digest = digestOf(bytes);
    image.computeCapability = computeCapability;
    return image;
  }

  /// An image that keeps its bytes: this one, or one with a copy.
  ModuleImage kept() const {
    if (owned)
      return *this;
    ModuleImage image = *this;
    image.owned = std::make_shared<const std::vector<uint8_t>>(bytes.vec());
    image.bytes = *image.owned;
    return image;
  }

private:
  ModuleImage(std::shared_ptr<const std::vector<uint8_t>> owned, unsigned computeCapability)
      : bytes(*owned), digest(digestOf(*owned)), computeCapability(computeCapability),
        owned(std::move(owned)) {}
  std::shared_ptr<const std::vector<uint8_t>> owned; // null: somebody else keeps them
};

} // namespace rubia::runtime
