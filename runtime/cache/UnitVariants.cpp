// SPDX-License-Identifier: Apache-2.0
#include "runtime/cache/UnitVariants.h"
#include "runtime/cache/CodeObjectMetadata.h"
#include "targets/Target.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace rubia::runtime {

settings::Code UnitVariant::applyTo(settings::Code code) const {
  if (safeAtomics)
    code.atomics = settings::AtomicsMode::Safe;
  if (halfFilled)
    code.warpForm = settings::WarpFormChoice::HalfFilled;
  if (deviceShared)
    code.shared = settings::SharedMemory::Device;
  if (clusters)
    code.shared = settings::SharedMemory::Cluster;
  return code;
}

Expected<std::vector<UnitVariant>> furtherVariants(ArrayRef<uint8_t> codeObject,
                                                   const settings::Code &code) {
  Expected<CodeObjectMetadata> metadata = CodeObjectMetadata::read(codeObject);
  if (!metadata)
    return metadata.takeError();
  // Who asks for the packed form gets no other.
  const bool mayBeHalfFilled =
      code.warpForm != settings::WarpFormChoice::Packed &&
      any_of(metadata->kernels, [](const auto &kernel) { return kernel.exactThreads != 0; });
  const targets::Target *target = targets::find(metadata->arch);
  // Functions with addresses exist in one form (LoadedModule::compiled).
  const bool mayExceedLds = code.shared == settings::SharedMemory::Lds && metadata->dynamicShared &&
                            !metadata->functionAddresses && target &&
                            target->maxLdsBytes < abi::kMaxSharedBytes;
  const bool mayHaveClusters =
      metadata->namesClusters && !metadata->isForClusters() && !metadata->functionAddresses;
  std::vector<UnitVariant> result;
  auto add = [&](bool deviceShared, bool clusters) {
    for (bool safeAtomics : {false, true})
      for (bool halfFilled : {false, true})
        if ((safeAtomics || halfFilled || deviceShared || clusters) &&
            (!safeAtomics || metadata->fastAtomics) && (!halfFilled || mayBeHalfFilled))
          result.push_back({safeAtomics, halfFilled, deviceShared, clusters});
  };
  add(false, false);
  if (mayExceedLds)
    add(true, false);
  if (mayHaveClusters)
    add(false, true);
  return result;
}

} // namespace rubia::runtime
