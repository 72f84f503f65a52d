// SPDX-License-Identifier: Apache-2.0
// Which hardware registers exist, and the operation that stands where no instruction may be
// executed.
#pragma once

#include "emulator/lib/machine/Wave.h"

namespace rubia::emulator {

/// By the number in hwreg() and the major ISA version.
bool canReadHardwareRegister(unsigned id, unsigned major);
bool canWriteHardwareRegister(unsigned id, unsigned major);

/// The handler behind the last instruction of a function and of padding: raises IllegalInstruction.
void illegalInstruction(Wave &wave, const MicroOp &op);

} // namespace rubia::emulator
