// Where the threads of a litmus test may run: every way in which they can share caches.
#pragma once

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
  std::array<uint8_t, kMaxThreads> unit = {}; // of each thread
  std::array<uint8_t, kMaxThreads> l1 = {};   // of each unit
  std::array<uint8_t, kMaxThreads> l2 = {};   // of each L1
  bool operator<(const Placement &other) const;
};

/// Those that are not alike.
std::vector<Placement> placementsOf(const Test &test, const MachineProgram &program);

} // namespace rubia::litmus
