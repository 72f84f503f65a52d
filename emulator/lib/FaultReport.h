// From the wave's note of a fault to the error that users see.
#pragma once

#include "emulator/Emulator.h"
#include "emulator/lib/Program.h"

namespace rubia::emulator {

std::unique_ptr<Fault> describeFault(const FaultRecord &record, const Launch &launch,
                                     const Program &program, const Memory &memory, Dim3 workgroup);

} // namespace rubia::emulator
