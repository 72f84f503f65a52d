// SPDX-License-Identifier: Apache-2.0
// Where the threads of a litmus test may run: every way in which they can share caches.
#pragma once

#include "targets/Target.h"
#include "tests/litmus/Machine.h"
#include <array>

namespace rubia::litmus {

constexpr unsigned kMaxThreads = 4;

/// What of a machine matters to a test. Threads, compute units, arrays and L2s have numbers below
/// kMaxThreads: those without a thread are left out.
struct Placement {
  bool hasL1 = false;
  bool modelsL2 = false;  // else memory is the L2
  bool severalL2 = false; // per device
  bool fine = false;      // locations with strong accesses are in fine-grained memory
  bool allFine = false;   // and so are the others
  std::array<uint8_t, kMaxThreads> unit = {}; // of each thread
  std::array<uint8_t, kMaxThreads> l1 = {};   // of each unit
  std::array<uint8_t, kMaxThreads> l2 = {};   // of each L1
  bool operator<(const Placement &other) const;
};

/// Whether instructions write back and invalidate what the L2 has of other agents' memory, or it
/// has none of that. Without them kernels of several agents can hand over fine-grained memory only.
bool controlsL2(const targets::Target &target);

/// Those that are not alike.
std::vector<Placement> placementsOf(const Test &test, const MachineProgram &program);

} // namespace rubia::litmus
