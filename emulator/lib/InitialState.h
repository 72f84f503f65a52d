// The registers of a wave when its kernel starts (AMDGPUUsage "Initial Kernel Execution State").
#pragma once

#include "emulator/Emulator.h"
#include "emulator/lib/Target.h"
#include "emulator/lib/Workgroup.h"

namespace rubia::emulator {

/// The scratch memory of a workgroup: its waves' parts lie one behind the other.
struct ScratchArea {
  uint64_t base = 0;
  uint64_t size = 0;
};

struct WaveInputs {
  uint64_t kernarg = 0;
  uint64_t packet = 0;
  ScratchArea scratch;
  Dim3 workgroup;
};

/// Where a wave starts.
uint64_t entryOf(const Kernel &kernel);

/// Arguments that arrive in SGPRs, in dwords (AMDGPUUsage "Preloaded Kernel Arguments").
/// What registers that nothing initialises hold: a signaling NaN as a float, out of all bounds as
/// an index or a pointer.
constexpr uint32_t kPoison = 0x7fa5a5a5;

struct KernargPreload {
  unsigned offset = 0, count = 0;
};
KernargPreload kernargPreload(const Kernel &kernel);

/// Vector registers that the kernel's descriptor asks for.
unsigned allocatedVgprs(const Kernel &kernel, const Generation &generation);

/// Puts a wave, whose memory and place in the group are set, at the start of the launch's kernel.
void initialiseWave(Wave &wave, const Launch &launch, const Target &target,
                    const WaveInputs &inputs);

} // namespace rubia::emulator
