// SPDX-License-Identifier: Apache-2.0
// Bounds of shared memory that lies in device memory (SharedSlots.h): as LDS's are checked always.
#pragma once

#include "emulator/lib/memory/SharedSlots.h"
#include "emulator/lib/observe/Observer.h"

namespace rubia::emulator {

std::unique_ptr<Observer> makeSlotCheck(std::vector<SharedSlots> slots);

} // namespace rubia::emulator
