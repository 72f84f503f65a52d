// SPDX-License-Identifier: Apache-2.0
// The check `uninitialised`: values that nobody has written, where they make a difference.
#pragma once

#include "emulator/lib/memory/SharedSlots.h"
#include "emulator/lib/observe/Observer.h"

namespace rubia::emulator {

std::unique_ptr<Observer> makeUninitialisedCheck(const Launch &launch,
                                                 std::vector<SharedSlots> slots);

} // namespace rubia::emulator
