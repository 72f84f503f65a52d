// SPDX-License-Identifier: Apache-2.0
// From the wave's note of a fault to the error that users see.
#pragma once

#include "emulator/Emulator.h"
#include "emulator/lib/machine/Program.h"

namespace rubia::emulator {

std::unique_ptr<Fault> describeFault(const FaultRecord &record, const Launch &launch,
                                     const Program &program, const Memory &memory, Dim3 workgroup);

/// The local id of a lane's thread.
Dim3 threadOf(const Launch &launch, const Program &program, unsigned wave, unsigned lane);

/// The other way round.
struct WavePlace {
  unsigned wave, lane;
};
WavePlace placeOf(const Launch &launch, const Program &program, Dim3 thread);

/// The workgroup as the program that was translated has it.
Dim3 blockOfThreads(const Launch &launch, const Program &program);

/// "(1,2,3)".
std::string triple(const Dim3 &id);

/// "pc 0x1c0: s_cbranch_scc1 65532 [kernel.cu:12]".
std::string describePlace(const Program &program, uint32_t pc);

} // namespace rubia::emulator
