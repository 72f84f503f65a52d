// SPDX-License-Identifier: Apache-2.0
// Before the allocator takes a value's register away, it asks whether another one is free where
// that value lives. LLVM looks into the values of all registers for each such question: 40 % of
// what it executes for a kernel with more values than registers. Here a value that can go nowhere
// is remembered until a register is given up, and where a register is in use until a value leaves
// it. The answers are the same.
//
// The linker is told to call the functions of here in the place of LLVM's (`--wrap`).
#pragma once

namespace rubia::codegen {

/// To be called where the allocation of a function begins.
void forgetRegistersInUse();

/// Of this thread's allocations: how often one asked whether a value may go elsewhere, how often a
/// unit of registers was looked up for that, and how many values have left their registers.
struct Reassignments {
  unsigned asked = 0, lookedUp = 0, departures = 0;
};
Reassignments reassignments();

/// While there is one, LLVM answers. For tests.
struct RegistersLookedUp {
  RegistersLookedUp();
  ~RegistersLookedUp();
};

} // namespace rubia::codegen
