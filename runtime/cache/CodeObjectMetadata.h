// SPDX-License-Identifier: Apache-2.0
// The section .rubia.metadata of a code object. docs/architecture.md, "Metadata".
#pragma once

#include "lowering/Abi.h"
#include "runtime/cache/Manifest.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <string>
#include <vector>

namespace rubia::runtime {

struct CodeObjectMetadata {
  struct Kernel {
    std::string name;
    abi::WarpForm warpForm = abi::WarpForm::Wave32;
    std::string warpFormReason;
    uint32_t maxThreads = abi::kMostThreads; // of a CTA in this form
    uint32_t exactThreads = 0; // the code is only for CTAs of so many, in whole warps; 0: for all
    bool mayBeChecked = false; // CTAs that are too large for this code take the checked form
    std::vector<Manifest::Parameter> parameters; // PTX's, all within parameterBytes
    uint32_t parameterBytes = 0;
    uint64_t staticSharedBytes = 0;
    uint32_t requiredThreads[3] = {0, 0, 0}; // .reqntid
    uint32_t requiredCluster[3] = {0, 0, 0}; // .reqnctapercluster
  };
  std::string arch;
  bool fastAtomics = false;       // has atomics that are wrong on memory of the host
  bool dynamicShared = false;     // names dynamic shared memory
  bool functionAddresses = false; // functions of the unit have addresses
  bool namesClusters = false;     // its code depends on how many CTAs a cluster has
  bool expectsClusters = false;   // it is written for several
  uint64_t sharedStart = 0;       // of dynamic shared memory, where it lies in device memory
  std::vector<Kernel> kernels;
  std::vector<uint32_t> slots; // of the module table that the code reads
  std::vector<std::string> traps;
  std::vector<std::string> partialWarps; // notes for people

  /// Whether the code is for clusters of several CTAs, and needs abi::ClusterPool.
  bool isForClusters() const;
  const Kernel *kernel(llvm::StringRef name) const;
  static llvm::Expected<CodeObjectMetadata> read(llvm::ArrayRef<uint8_t> codeObject);

  /// Of a module that has these kernels, in one unit, and no variables.
  Manifest manifest() const;
};

} // namespace rubia::runtime
