// SPDX-License-Identifier: Apache-2.0
#include "lowering/lib/analysis/Target.h"
#include "targets/Generation.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/TargetParser/TargetParser.h"
#include "llvm/TargetParser/Triple.h"

using namespace llvm;

namespace rubia::lowering {

Expected<Target> targetOf(StringRef arch) {
  Target target;
  target.row = targets::find(arch);
  if (!target.row)
    return createStringError(targets::messageForUnknown(arch));
  // "sramecc+:xnack-" of a target ID is "+sramecc,-xnack" of LLVM.
  for (StringRef rest = arch.split(':').second; !rest.empty();) {
    StringRef feature;
    std::tie(feature, rest) = rest.split(':');
    if (feature.size() < 2 || (feature.back() != '+' && feature.back() != '-'))
      return createStringError("'%s' is not a target ID", arch.str().c_str());
    if (!target.features.empty())
      target.features += ',';
    target.features += feature.back();
    target.features += feature.drop_back();
  }
  target.waveSize = target.row->waveSize();

  StringMap<bool> map;
  AMDGPU::fillAMDGPUFeatureMap(target.row->name, Triple("amdgcn-amd-amdhsa"), map);
  target.hasSignedDot4 = map.lookup("dot1-insts");
  target.hasUnsignedDot4 = map.lookup("dot7-insts");
  target.hasMixedSignDot4 = map.lookup("dot8-insts");
  target.hasXf32 = map.lookup("xf32-insts");
  target.hasBitop3 = map.lookup("bitop3-insts");
  const targets::Generation generation = target.row->generation;
  const bool isCdna =
      generation >= targets::Generation::Cdna1 && generation <= targets::Generation::Cdna4;
  target.hasMfmaOfCdna2 = isCdna && generation >= targets::Generation::Cdna2;
  target.hasMfmaOfCdna3 = isCdna && generation >= targets::Generation::Cdna3;
  return target;
}

} // namespace rubia::lowering
