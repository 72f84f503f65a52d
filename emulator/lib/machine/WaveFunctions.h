// SPDX-License-Identifier: Apache-2.0
// Calling a wavewise row (Semantics.h) from an operation.
#pragma once

#include "emulator/lib/machine/Wave.h"

namespace rubia::emulator {

/// The handler of wavewise operations.
void callWaveFunction(Wave &wave, const MicroOp &op);

/// Whether it is a wavewise operation, also one with a handler of its own.
bool isWavewise(const MicroOp &op);

} // namespace rubia::emulator
