// SPDX-License-Identifier: Apache-2.0
// How many registers a function uses, LLVM finds by asking for each register, from the last to the
// first, whether it or one of those that share a part with it is used. It makes and sorts a list
// of these for each register when it is asked for the first time: a quarter of what a process
// executes to compile one small kernel. Here the used parts are collected once for a count.
//
// The linker is told to call the functions of here in the place of LLVM's (`--wrap`).
#pragma once

namespace rubia::codegen {

/// How many registers this thread was asked for while it counted.
unsigned registersAskedFor();

/// While there is one, LLVM looks through its lists. For tests.
struct SharingRegistersLookedUp {
  SharingRegistersLookedUp();
  ~SharingRegistersLookedUp();
};

} // namespace rubia::codegen
