// SPDX-License-Identifier: Apache-2.0
// The arrays, textures and surfaces of a recorded launch, made again on a driver. Objects get other
// handles there.
#pragma once

#include "diff/Capsule.h"
#include "diff/Replay.h"
#include "diff/Stores.h"
#include "diff/lib/DriverApi.h"

namespace rubia::capsule {

class ReplayedTextures {
public:
  explicit ReplayedTextures(const DriverApi &api) : api(api) {}
  ReplayedTextures(const ReplayedTextures &) = delete;
  ReplayedTextures &operator=(const ReplayedTextures &) = delete;
  ~ReplayedTextures() { release(); }

  /// With the contents from before the launch. Linear memory is there already, where `relocation`
  /// says. The text of a result says what the driver refuses; empty: nothing.
  llvm::Expected<std::string> make(const Capsule &capsule, const Launch &launch, void *module,
                                   const Relocation &relocation);
  /// Handles in parameters and memory -> those here, as far as the kernel takes them from there.
  void change(llvm::MutableArrayRef<uint8_t> parameters, const Launch &launch,
              const KernelStores &stores) const;
  void changeMemory(llvm::MutableArrayRef<uint8_t> bytes, bool isBack) const;
  /// Why handles cannot be told from numbers in memory; empty: they can.
  std::string whyNotInMemory(const Launch &launch) const;

  /// The contents of an array, by its index.
  llvm::Expected<std::vector<uint8_t>> read(const Launch &launch, size_t array) const;
  void release();

private:
  struct Array {
    void *handle = nullptr;
    bool isMipmapped = false;
  };
  int makeArray(const ArrayRegion &region);
  int copy(const ArrayRegion &region, const Array &array, uint8_t *bytes, bool isToArray) const;
  int makeObject(const Texture &texture, const std::vector<uint8_t> &resource);
  int bind(const Texture &texture, const std::vector<uint8_t> &resource, void *module) const;
  int bindLinear(void *reference, const std::vector<uint8_t> &resource, Texture::Kind kind) const;
  int setSampler(void *reference, const Texture &texture) const;

  const DriverApi &api;
  std::vector<Array> arrays;
  struct Object {
    uint64_t was = 0, handle = 0;
    bool isSurface = false;
  };
  std::vector<Object> objects;
};

} // namespace rubia::capsule
