// The registers of a wave when its kernel starts (AMDGPUUsage "Initial Kernel Execution State").
#pragma once

#include "emulator/Emulator.h"
#include "emulator/lib/Target.h"
#include "emulator/lib/Workgroup.h"

namespace rubia::emulator {

struct LaunchPointers {
  uint64_t kernarg = 0;
  uint64_t packet = 0;
};

/// Vector registers that the kernel's descriptor asks for.
unsigned allocatedVgprs(const Kernel &kernel, const Generation &generation);

/// Puts a wave, whose memory and place in the group are set, at the start of the launch's kernel.
void initialiseWave(Wave &wave, const Launch &launch, const Target &target, LaunchPointers pointers,
                    Dim3 workgroup);

} // namespace rubia::emulator
