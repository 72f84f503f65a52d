// Facts about a processor from LLVM's TargetParser: the same tables that clang's -mcpu reads.
#include "lowering/lib/Target.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/TargetParser/TargetParser.h"
#include "llvm/TargetParser/Triple.h"

using namespace llvm;

namespace rubia::lowering {

Expected<Target> targetOf(StringRef arch) {
  auto [cpu, features] = arch.split(':');
  AMDGPU::GPUKind kind = AMDGPU::parseArchAMDGCN(cpu);
  AMDGPU::IsaVersion version = AMDGPU::getIsaVersion(cpu);
  if (kind == AMDGPU::GK_NONE || version.Major < 9)
    return createStringError("'%s' is not a processor that Rubia compiles for", arch.str().c_str());

  Target target;
  target.cpu = cpu.str();
  target.major = version.Major;
  target.minor = version.Minor;
  target.stepping = version.Stepping;
  // "sramecc+:xnack-" of a target ID is "+sramecc,-xnack" of LLVM.
  for (StringRef rest = features; !rest.empty();) {
    StringRef feature;
    std::tie(feature, rest) = rest.split(':');
    if (feature.size() < 2 || (feature.back() != '+' && feature.back() != '-'))
      return createStringError("'%s' is not a target ID", arch.str().c_str());
    if (!target.features.empty())
      target.features += ',';
    target.features += feature.back();
    target.features += feature.drop_back();
  }

  target.waveSize = AMDGPU::getArchAttrAMDGCN(kind) & AMDGPU::FEATURE_WAVE32 ? 32 : 64;
  if (target.major == 9 && target.minor == 5) // gfx950
    target.ldsBytes = 160 * 1024;

  StringMap<bool> map;
  AMDGPU::fillAMDGPUFeatureMap(cpu, Triple("amdgcn-amd-amdhsa"), map);
  target.hasSignedDot4 = map.lookup("dot1-insts");
  target.hasUnsignedDot4 = map.lookup("dot7-insts");
  target.hasMixedSignDot4 = map.lookup("dot8-insts");
  target.hasBitop3 = map.lookup("bitop3-insts");
  return target;
}

} // namespace rubia::lowering
