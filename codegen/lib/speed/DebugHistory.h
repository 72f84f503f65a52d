// SPDX-License-Identifier: Apache-2.0
// The printer goes through all instructions of a function for what they do to registers that hold
// debug variables. Line tables alone have no variables, and then there is nothing to find.
//
// The linker is told to call the function of here in the place of LLVM's (`--wrap`).
#pragma once

namespace rubia::codegen {

/// Whether this process has skipped one: not if LLVM has another function.
bool wasDebugHistorySkipped();

} // namespace rubia::codegen
