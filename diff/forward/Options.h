// SPDX-License-Identifier: Apache-2.0
// What is to be recorded: lines of `key=value` in the environment variable RUBIA_CAPTURE, which
// `rubia capture` sets (docs/capsule.md).
#pragma once

#include <cstdint>
#include <regex.h>

namespace rubia::forward {

struct Options {
  char *output = nullptr; // the capsule; null: nothing is recorded
  char *driver = nullptr; // the driver's library; null: it is looked for
  bool hasKernels = false;
  regex_t kernels;    // names of kernels
  bool calls = false; // all of them are logged
  /// The driver compiles PTX, whatever machine code there is; that for newer devices too.
  bool jitPtx = false;
  bool libraryCapability = false; // NVIDIA's libraries are told what Rubia tells them
  bool commandLine = false;       // is recorded
  uint64_t first = UINT64_MAX, every = 1;
  uint64_t maxBytes = uint64_t(1) << 30; // that a launch may reach
  uint64_t timeoutSeconds = 30;
};

/// Takes the variable out of the environment, so that programs that this one starts do not record.
/// Null, or what is wrong.
const char *readOptions(Options &options);

} // namespace rubia::forward
