// The tables of instructions that are not vector ALU.
#pragma once

#include "emulator/lib/ScalarSemantics.h"

namespace rubia::emulator {

extern const ScalarTable kScalarAlu;   // SOP1, SOP2, SOPC, SOPK
extern const ScalarTable kControlFlow; // branches, barriers, hardware registers, messages

} // namespace rubia::emulator
