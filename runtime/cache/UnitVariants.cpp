// SPDX-License-Identifier: Apache-2.0
#include "runtime/cache/UnitVariants.h"
#include "runtime/cache/CodeObjectMetadata.h"
#include "targets/Target.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace rubia::settings::AtomicsMode {
extern const Word Safe;
} // namespace rubia::settings::AtomicsMode
namespace rubia::settings::SharedMemory {
extern const Word Cluster, Device, Lds;
} // namespace rubia::settings::SharedMemory
namespace rubia::settings::WarpFormChoice {
extern const Word Checked, HalfFilled, Packed;
} // namespace rubia::settings::WarpFormChoice
namespace rubia::targets::Fact {
extern const GenerationFact maxLdsBytes;
} // namespace rubia::targets::Fact

namespace rubia::runtime {

settings::Code UnitVariant::applyTo(settings::Code code) const {
  if (safeAtomics)
    code.set(settings::AtomicsMode::Safe);
  if (halfFilled)
    code.set(settings::WarpFormChoice::HalfFilled);
  if (checked)
    code.set(settings::WarpFormChoice::Checked);
  if (deviceShared)
    code.set(settings::SharedMemory::Device);
  if (clusters)
    code.set(settings::SharedMemory::Cluster);
  return code;
}

Expected<std::vector<UnitVariant>> furtherVariants(ArrayRef<uint8_t> codeObject,
                                                   const settings::Code &code) {
  Expected<CodeObjectMetadata> metadata = CodeObjectMetadata::read(codeObject);
  if (!metadata)
    return metadata.takeError();
  // Who asks for the packed form gets no other.
  const bool mayBeHalfFilled =
      !code.is(settings::WarpFormChoice::Packed) &&
      any_of(metadata->kernels, [](const auto &kernel) { return kernel.exactThreads != 0; });
  const bool mayBeChecked =
      any_of(metadata->kernels, [](const auto &kernel) { return kernel.mayBeChecked; });
  const targets::Target *target = targets::find(metadata->arch);
  // Functions with addresses exist in one form (LoadedModule::compiled).
  const bool mayExceedLds = code.is(settings::SharedMemory::Lds) && metadata->dynamicShared &&
                            !metadata->functionAddresses && target &&
                            targets::Fact::maxLdsBytes(*target) < abi::kMaxSharedBytes;
  // Other units that name clusters are compiled again where a launch has them nevertheless.
  const bool mayHaveClusters = metadata->namesClusters && metadata->expectsClusters &&
                               !metadata->isForClusters() && !metadata->functionAddresses;
  std::vector<UnitVariant> result;
  // A unit is half-filled for some sizes, or checked, or neither.
  auto add = [&](bool deviceShared, bool clusters) {
    for (bool safeAtomics : {false, true})
      for (bool isOther : {false, true}) {
        const UnitVariant variant{safeAtomics, isOther && mayBeHalfFilled, deviceShared, clusters,
                                  isOther && mayBeChecked};
        if (variant.index() != 0 && (!safeAtomics || metadata->fastAtomics) &&
            (!isOther || mayBeHalfFilled || mayBeChecked))
          result.push_back(variant);
      }
  };
  add(false, false);
  if (mayExceedLds)
    add(true, false);
  if (mayHaveClusters)
    add(false, true);
  return result;
}

} // namespace rubia::runtime
