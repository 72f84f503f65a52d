// SPDX-License-Identifier: Apache-2.0
// The arrays, textures and surfaces of a recorded launch, made again on a driver. Objects get other
// handles there.
#pragma once

#include "diff/Capsule.h"
#include "diff/Perturbation.h"
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
  /// Handles in parameters -> those here, where the kernel takes handles from there alone.
  void change(llvm::MutableArrayRef<uint8_t> parameters, const Launch &launch,
              const KernelStores &stores) const;
  /// The entries of kHandlesVariable.
  std::vector<uint8_t> handleTable() const;
  /// Makes textures with the magnitudes of the texels of those that are read between texels. The
  /// entries of kFiltersVariable. The text is as of make().
  llvm::Expected<std::string> makeFilters(const Capsule &capsule, const Launch &launch,
                                          std::vector<FilterEntry> &entries);

  /// The contents of an array, by its index.
  llvm::Expected<std::vector<uint8_t>> read(const Launch &launch, size_t array) const;
  void release();

private:
  struct Array {
    void *handle = nullptr;
    bool isMipmapped = false;
  };
  int makeArray(const ArrayRegion &region);
  llvm::Expected<int> makeMagnitudes(const Capsule &capsule, const ArrayRegion &region);
  int copy(const ArrayRegion &region, const Array &array, uint8_t *bytes, bool isToArray) const;
  struct Object {
    uint64_t was = 0, handle = 0;
    bool isSurface = false;
  };
  int makeObject(const Texture &texture, const std::vector<uint8_t> &resource,
                 std::vector<Object> &made) const;
  uint64_t handleOf(uint64_t was) const;
  int bind(const Texture &texture, const std::vector<uint8_t> &resource, void *module) const;
  int bindLinear(void *reference, const std::vector<uint8_t> &resource, Texture::Kind kind) const;
  int setSampler(void *reference, const Texture &texture) const;

  const DriverApi &api;
  std::vector<Array> arrays; // of the launch, and behind them of magnitudes
  std::vector<Object> objects, magnitudes;
  std::vector<std::vector<uint8_t>> resources; // by texture, of here
};

} // namespace rubia::capsule
