// SPDX-License-Identifier: Apache-2.0
// Memory that kernels may read and not write: mappings of other processes' or devices' memory. Few
// programs have any, so the fast checks know nothing of them: no window is kept of such memory, and
// each access of it takes the slow way.
#pragma once

#include "emulator/Emulator.h"

namespace rubia::emulator {

/// Says of a range, which is one allocation or none, which devices' kernels may only read it.
void setReadOnly(Memory &memory, uint64_t address, uint64_t bytes, DeviceSet devices);
/// Whether kernels of one of the devices may only read what lies there.
bool isReadOnly(const Memory &memory, uint64_t address, DeviceSet devices);

} // namespace rubia::emulator
