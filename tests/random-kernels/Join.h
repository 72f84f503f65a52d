// SPDX-License-Identifier: Apache-2.0
// All that can run a kernel, compared: the interpreter of reference/, the emulator at two levels of
// LLVM's optimiser and in each warp form, and what an NVIDIA GPU gave.
#pragma once

#include <cstdint>
#include <string>

namespace rubia::random_kernels {

struct JoinOptions {
  std::string recording, known;  // files
  uint64_t first = 0, count = 0; // seeds; 0: all that are recorded
  uint64_t every = 1, offset = 0;
  std::string mistake; // "OLD/NEW", for the first processor
};

/// Prints what differs, who is outvoted, and the smallest kernel that still differs. The exit
/// status: 0 if nothing does.
int join(const JoinOptions &options);

} // namespace rubia::random_kernels
