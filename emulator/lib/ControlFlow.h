// Which hardware registers exist, and the operation that stands where no instruction may be
// executed.
#pragma once

#include "emulator/lib/Wave.h"

namespace rubia::emulator {

bool canReadHardwareRegister(unsigned id);
bool canWriteHardwareRegister(unsigned id);

/// The handler behind the last instruction of a function and of padding: raises IllegalInstruction.
void illegalInstruction(Wave &wave, const MicroOp &op);

} // namespace rubia::emulator
