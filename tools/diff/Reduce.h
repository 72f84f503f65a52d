// SPDX-License-Identifier: Apache-2.0
// A launch that differs -> a folder that shows it with `rubia launch` alone.
#pragma once

#include "tools/diff/ReplayTargets.h"

namespace rubia::tools {

struct Reduced {
  size_t lines = 0;             // of PTX
  uint64_t ctas = 0, bytes = 0; // of buffers
  size_t attempts = 0;
};

/// Cuts grid, PTX and memory for as long as the target leaves other bytes than the reference, and
/// the emulator finds nothing undefined (where it is one). `folder` gets kernel.ptx, what buffers
/// hold before (N.in, by the parameter's number from 1) and are to hold (N.expected), and run.sh.
/// Products and sums are not fused, and NaNs have NVIDIA's bits. An error: `rubia launch` cannot
/// run it so, or the difference goes away.
llvm::Expected<Reduced> reduce(const capsule::Capsule &capsule, const capsule::Launch &launch,
                               const ReplayWork &work, const ReplayTarget &target,
                               const std::string &folder);

} // namespace rubia::tools
