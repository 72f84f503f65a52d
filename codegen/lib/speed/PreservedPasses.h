// SPDX-License-Identifier: Apache-2.0
// A pass that leaves the control flow alone preserves all analyses of it alone. LLVM goes through
// all passes that there are to find these, for each such pass of a pipeline. Here they are known as
// soon as they are registered.
//
// The linker is told to call the function of here in the place of LLVM's (`--wrap`).
#pragma once

namespace rubia::codegen {

/// How many passes this process has told what they preserve: none if LLVM has another function.
unsigned passesTold();

/// While there is one, LLVM goes through all passes. For tests.
struct PassesEnumerated {
  PassesEnumerated();
  ~PassesEnumerated();
};

} // namespace rubia::codegen
