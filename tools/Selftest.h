// SPDX-License-Identifier: Apache-2.0
// `rubia doctor --selftest`: does this device behave as docs/hardware-assumptions.md says? Each row
// there has one check here under the same id: a small kernel, inputs, and the bits that the
// emulator gives.
#pragma once

#include "settings/Settings.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <string>
#include <vector>

namespace rubia::tools {

struct SelftestCase {
  uint64_t a = 0, b = 0, c = 0, expected = 0;
};

constexpr unsigned kSelftestSlots = 1 << 21, kSelftestCounters = 512;

struct SelftestCheck {
  const char *id;
  enum Targets {
    All,
    Dot2,
    Dot2Flushes,
    Dot2Keeps,
    MfmaInOrder,
    MfmaPairwise,
    MfmaAligned,
    MfmaFlushes,
    MfmaKeeps,
    Wmma
  } targets = All;
  enum Denormals { Keep, Flush } denormals = Keep; // of f32
  unsigned bits = 32;                              // of a, b, c and the result
  /// LLVM IR that computes %r from %a, %b, %c, all of them integers of `bits` bits, and %lane. Its
  /// last block is where it ends. Threads of several workgroups have %group too, and memory that
  /// they share, zero at first: @slots (kSelftestSlots bytes) and @counters (i32).
  std::string body;
  std::vector<SelftestCase> cases;
  unsigned workgroups = 1;

  bool appliesTo(llvm::StringRef arch) const;
};

llvm::ArrayRef<SelftestCheck> selftestChecks();

/// Runs all checks that apply to the device and prints one line for each. Returns the exit status.
int runSelftest(const settings::Settings &settings);

} // namespace rubia::tools
