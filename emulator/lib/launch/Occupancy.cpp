// SPDX-License-Identifier: Apache-2.0
// How many workgroups are resident at once: waves, vector registers, LDS and barriers of a compute
// unit, or of a workgroup processor, are handed out until one of them is used up. RDNA3 ISA, CDNA3
// ISA "Wave"; the numbers are those that LLVM's occupancy estimates use.
#include "emulator/Emulator.h"
#include "emulator/lib/machine/InitialState.h"
#include "emulator/lib/machine/Program.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;

namespace rubia::targets::Fact {
extern const GenerationFact groupsPerUnit, ldsPerUnit, wavesPerSimd;
} // namespace rubia::targets::Fact

namespace rubia::emulator {

static constexpr unsigned kSimds = 4;

Occupancy occupancy(const Kernel &kernel, uint32_t threads, uint32_t dynamicLdsBytes) {
  const targets::Target &target = kernel.program->target->row();
  Occupancy found;
  found.maxWavesPerSimd = targets::Fact::wavesPerSimd(target);
  if (threads == 0 || threads > kernel.maxWorkgroupSize)
    return found;
  const unsigned half = kernel.waveSize == 64 && target.hasWave32 ? 2 : 1;
  found.vgprs = unsigned(
      alignTo(allocatedVgprs(kernel, target), target.vgprAllocation(unsigned(kernel.waveSize))));
  const unsigned waves = unsigned(divideCeil(threads, kernel.waveSize));
  found.byWaves = targets::Fact::wavesPerSimd(target) * kSimds / waves;
  found.byRegisters = target.vgprsPerSimd / half / found.vgprs * kSimds / waves;
  found.workgroups = std::min(found.byWaves, found.byRegisters);
  if (waves > 1)
    found.byBarriers = targets::Fact::groupsPerUnit(target);
  found.ldsBytes = kernel.ldsBytes + dynamicLdsBytes;
  if (found.ldsBytes)
    found.byLds = targets::Fact::ldsPerUnit(target) / found.ldsBytes;
  for (const std::optional<unsigned> &limit : {found.byBarriers, found.byLds})
    if (limit)
      found.workgroups = std::min(found.workgroups, *limit);
  found.wavesPerSimd = unsigned(divideCeil(found.workgroups * waves, kSimds));
  return found;
}

StringRef Occupancy::limit() const {
  if (workgroups == byWaves)
    return "waves";
  if (workgroups == byRegisters)
    return "registers";
  return byLds && workgroups == *byLds ? "LDS" : "barriers";
}

unsigned residentWorkgroups(const Kernel &kernel, uint32_t threads, uint32_t dynamicLdsBytes) {
  return occupancy(kernel, threads, dynamicLdsBytes).workgroups;
}

} // namespace rubia::emulator
