// SPDX-License-Identifier: Apache-2.0
// Tensor maps of a replay. Those that were recorded are the recording driver's own bytes. Who
// replays makes others of the same arguments, which take their place.
#pragma once

#include "diff/Capsule.h"
#include "reference/TensorMap.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace rubia::capsule {

class ReplacedTensorMaps {
public:
  void clear() { maps.clear(); }
  /// `ours`: kTensorMapBytes.
  void add(const TensorMap &recorded, llvm::ArrayRef<uint8_t> ours) {
    maps.push_back({recorded.bytes, ours.vec()});
  }
  /// Ours in the place of the recorded ones: in parameters or memory, `bytes`, which had
  /// `recorded` when it was recorded.
  void change(llvm::MutableArrayRef<uint8_t> bytes, llvm::ArrayRef<uint8_t> recorded) const;
  /// The recorded ones again, where ours still are.
  void changeBack(llvm::MutableArrayRef<uint8_t> bytes, llvm::ArrayRef<uint8_t> recorded) const;

private:
  struct Pair {
    std::vector<uint8_t> recorded, ours;
  };
  void findIn(llvm::ArrayRef<uint8_t> recorded,
              llvm::function_ref<void(size_t at, const Pair &map)> take) const;

  std::vector<Pair> maps;
};

/// As Rubia's driver and the interpreter write it, bit for bit.
llvm::Expected<reference::TensorMap> tensorMapOf(const TensorMapArguments &with);

struct TensorMapComparison {
  size_t undecided = 0; // maps
  std::string first;    // of these: where it is, and which fields Rubia has changed
};

/// Of memory after a kernel, from `address` on. Where `expected` has a tensor map in another
/// driver's form and `got` has one in Rubia's, makes `got` as `expected` if both are the same map,
/// or if both are changed: whether alike cannot be told. A map that Rubia did not change, or that
/// has become something else, stays and differs.
TensorMapComparison compareTensorMaps(llvm::ArrayRef<TensorMap> recorded, uint64_t address,
                                      llvm::ArrayRef<uint8_t> expected,
                                      llvm::MutableArrayRef<uint8_t> got);

} // namespace rubia::capsule
