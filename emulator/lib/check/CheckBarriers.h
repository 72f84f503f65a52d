// SPDX-License-Identifier: Apache-2.0
// The check `barriers`: barriers that not all threads of a workgroup come to.
#pragma once

#include "emulator/lib/observe/Observer.h"

namespace rubia::emulator {

std::unique_ptr<Observer> makeBarrierCheck(const Launch &launch);

} // namespace rubia::emulator
