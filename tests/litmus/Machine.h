// SPDX-License-Identifier: Apache-2.0
// All that a litmus test may show on the machine that docs/emulator-order.md describes, found by
// trying everything.
//
// The emulator's `order` mode executes code on that machine with random delays: what it shows can
// happen, what it does not show may still. `explore` walks through every interleaving of the
// operations of a test instead: who issues next, which operation is performed next, which version
// of a line a cache still holds, which lines an L2 fetches or evicts, on which compute units the
// waves run. It is independent of the emulator's code for order but for `InstructionStep`. A
// private cache is kept as the oldest version that each of its lines may be of, since it may fetch
// at any time.
//
// The program of each thread is what the emulator executes when it runs the kernel in program order
// (Trace.h).
#pragma once

#include "emulator/lib/decode/InstructionStep.h"
#include "tests/litmus/Model.h"

namespace rubia::litmus {

/// A location, of a word or of 16 bytes, that an instruction reads or writes for the first instance
/// of the test, at once.
struct Access {
  int location = -1; // index into Test::locations
  uint32_t value = 0;
  std::vector<unsigned> slots; // of the outcome, that the loaded value goes to
};

struct MachineOp {
  /// Loop: back to `head` unless the value that was loaded last is `awaited`.
  enum Kind : uint8_t { Other, Memory, Wait, Cache, Signal, AwaitSignals, Loop } kind = Other;
  enum Effect : uint8_t { Load, Store, Swap, Add } effect = Load;
  uint32_t pc = 0; // 0 for Loop
  emulator::InstructionStep step;
  std::vector<Access> accesses;
  unsigned head = 0;
  uint32_t awaited = 0;
};

struct MachineProgram {
  std::string arch;
  bool spread = false; // the waves of a workgroup run on two compute units
  std::vector<std::vector<MachineOp>> threads;
  std::vector<std::pair<unsigned, uint32_t>> constants; // slots of the outcome that are known

  /// Replaces the instruction at `pc`; without a step, by nothing. Returns whether any thread
  /// executes it.
  bool replace(uint32_t pc, const emulator::InstructionStep *step);
};

struct Exploration {
  std::set<Outcome> outcomes;
  bool usesPending = false; // a register before a wait for the operation that fills it
  bool hangs = false;       // a thread may wait for ever
  bool isTooLarge = false;  // given up
  size_t states = 0;

  /// Whether the test can fail: it must show nothing but `allowed`.
  bool fails(const std::set<Outcome> &allowed) const;
};

/// Ends early once something outside of `allowed` (if given) has been found.
Exploration explore(const Test &test, const MachineProgram &program,
                    const std::set<Outcome> *allowed = nullptr);

/// Whether some path through the program touches a register that a memory operation may still have
/// to fill.
bool usesPendingRegister(const std::vector<MachineOp> &thread);

} // namespace rubia::litmus
