// SPDX-License-Identifier: Apache-2.0
// What the checks find, as programs that watch this process read it: RUBIA_EMULATOR_REPORTS=FILE
// gets one line of JSON for each error and warning (docs/emulator-checks.md, "rubia check").
#pragma once

#include "emulator/Emulator.h"

namespace rubia::emulator::hip {

/// Has the launch tell what its checks find, on stderr and in the file. An error: a file that
/// cannot be written, settings that make no sense.
llvm::Error requestReports(Launch &launch);

/// Where the check `leaks` is asked for. Once, when the machine is made.
void reportLeaksAtExit();

/// Whether device memory is to be followed from its allocation on, for the check `uninitialised`.
bool followsWrites();
/// Whether the runtime's malloc() is to keep a table of its blocks, for the check `memory`.
bool checksDeviceHeap();

} // namespace rubia::emulator::hip
