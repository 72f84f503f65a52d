// SPDX-License-Identifier: Apache-2.0
// A hash of machine instructions for MachineCSE, which looks each one up several times. LLVM's
// hashes each operand by a function made for strings, 2 % of the back end's instructions. No order
// depends on the hash.
//
// The linker is told to call the function of here in the place of LLVM's (`--wrap`).
#pragma once

namespace rubia::codegen {

/// Whether this process has asked the function of here: not if LLVM has another one.
bool wereInstructionsHashedByWords();

} // namespace rubia::codegen
