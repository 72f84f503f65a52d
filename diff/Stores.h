// SPDX-License-Identifier: Apache-2.0
// What a kernel stores through each of its parameters: the type of the elements, and whether their
// bits follow from the inputs alone. They do as long as only exact operations lead to them:
// integer, bitwise and IEEE arithmetic, moves. They do not behind approximate instructions,
// floating-point atomics, products of matrices, results of atomics (whose order is open) and
// clocks.
#pragma once

#include "ptx-frontend/Types.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace rubia::capsule {

struct Stores {
  ptx::Type type = ptx::Type::None; // None: none, several, or bits that nothing is known of
  bool any = false;
  bool isInexact = false;
  bool isComputed = false; // by floating-point arithmetic, which is free in the bits of a NaN
};

struct KernelStores {
  std::vector<Stores> byParameter;
  Stores elsewhere;            // through pointers that were loaded, and to variables
  std::string cause;           // of inexactness: "line 12: ex2.approx.ftz.f32"
  std::string tensorMap;       // the first instruction with a tensor map, if there is one
  std::string tensorMapChange; // and that changes one
  std::string texture;         // the first with a texture or surface
  Stores surfaces;             // what is stored to any of them
  /// Parameters that handles of textures and surfaces may come from; and whether any may come out
  /// of memory, or out of a structure that is a parameter.
  uint64_t handleParameters = 0; // by bit
  bool areHandlesInMemory = false;

  /// Through the parameter, and those that may be through any.
  Stores through(size_t parameter) const;
};

/// `isFiltered`: textures are read between texels, with weights of which the precision is open.
llvm::Expected<KernelStores> storesOf(llvm::StringRef ptx, llvm::StringRef kernel,
                                      bool isFiltered = false);

} // namespace rubia::capsule
