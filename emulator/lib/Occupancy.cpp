// How many workgroups are resident at once: waves, vector registers, LDS and barriers of a compute
// unit, or of a workgroup processor, are handed out until one of them is used up. RDNA3 ISA, CDNA3
// ISA "Wave"; the numbers are those that LLVM's occupancy estimates use.
#include "emulator/Emulator.h"
#include "emulator/lib/InitialState.h"
#include "emulator/lib/Program.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;

namespace rubia::emulator {

unsigned residentWorkgroups(const Kernel &kernel, uint32_t threads, uint32_t dynamicLdsBytes) {
  constexpr unsigned kSimds = 4;
  const Generation &generation = kernel.program->target->generation();
  if (threads == 0 || threads > kernel.maxWorkgroupSize)
    return 0;
  const unsigned half = kernel.waveSize == 64 && !generation.waveSizeFixed64 ? 2 : 1;
  const unsigned vgprs =
      unsigned(alignTo(allocatedVgprs(kernel, generation), generation.vgprAllocation32 / half));
  const unsigned wavesPerSimd =
      std::min(generation.wavesPerSimd, generation.vgprsPerSimd32 / half / vgprs);
  const unsigned waves = unsigned(divideCeil(threads, kernel.waveSize));
  unsigned groups = wavesPerSimd * kSimds / waves;
  if (waves > 1)
    groups = std::min(groups, generation.groupsPerUnit);
  if (const uint64_t lds = uint64_t(kernel.ldsBytes) + dynamicLdsBytes)
    groups = unsigned(std::min<uint64_t>(groups, generation.ldsPerUnit / lds));
  return groups;
}

} // namespace rubia::emulator
