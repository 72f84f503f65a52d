// SPDX-License-Identifier: Apache-2.0
// For a value that no register has room for, the allocator tries all registers of its class: how
// much of the value could lie in each? Around calls, most of them are unused but for what the calls
// write, and give one answer. LLVM works it out for each: a third of the time of a kernel with
// textures. Here it does for the first of registers that are alike. The later ones lose to it in
// LLVM too, so that the code is the same.
//
// The linker is told to call the functions of here in the place of LLVM's (`--wrap`).
#pragma once

namespace rubia::codegen {

/// How many registers this thread's allocations had LLVM look at to split values, and how many
/// were like one before.
struct SplitCandidates {
  unsigned tried = 0, alike = 0;
};
SplitCandidates splitCandidates();

/// While there is one, LLVM tries all. For tests.
struct AllRegistersTried {
  AllRegistersTried();
  ~AllRegistersTried();
};

} // namespace rubia::codegen
