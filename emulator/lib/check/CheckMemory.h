// SPDX-License-Identifier: Apache-2.0
// The check `memory`, where it is asked for by name: what CUDA forbids and hardware allows. What
// else is checked of memory always is, by the instructions' own handlers.
#pragma once

#include "emulator/lib/observe/Observer.h"

namespace rubia::emulator {

std::unique_ptr<Observer> makeMemoryCheck(const Program &program);

} // namespace rubia::emulator
