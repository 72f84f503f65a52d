// SPDX-License-Identifier: Apache-2.0
// From a compiled litmus test to the program of each of its threads, as Machine.h takes it.
//
// The kernel is executed in program order, one instruction of a wave after the other. What the
// first instance of each thread did is written down: which location each memory instruction
// touched, and by following registers which of the results a loaded value became. The rounds of a
// loop are folded into one.
#pragma once

#include "tests/litmus/Machine.h"
#include "tests/litmus/Run.h"

namespace rubia::litmus {

/// Of kernel `test<index>`.
llvm::Expected<MachineProgram> trace(Runner &runner, const Test &test, size_t index);

} // namespace rubia::litmus
