// SPDX-License-Identifier: Apache-2.0
// What launches leave behind in files, as the environment asks for it:
//
//   RUBIA_EMULATOR_STATS=FILE    what each launch executed, by instruction
//   RUBIA_EMULATOR_PROFILE=FILE  that and what it cost, also by source line
//   RUBIA_EMULATOR_TRACE=FILE    the instructions themselves; _SELECT says which
//
// The first two get one line of JSON for each launch (docs/debugging.md); all are appended to.
#pragma once

#include "emulator/Emulator.h"
#include "input/Writing.h"

namespace rubia::emulator::hip {

class LaunchRecords {
public:
  /// What is wanted of a launch. An error: a file that cannot be written, a selection that makes no
  /// sense.
  static llvm::Expected<LaunchRecords> of(const settings::Settings &settings);
  void request(Launch &launch) const;
  void write(const Launch &launch, const Statistics &statistics) const;

private:
  /// From any thread: each record is written at one go.
  std::shared_ptr<input::KeptFile> stats, profile, trace;
  TraceRequest traceRequest;
};

/// One launch as an object of JSON.
void writeJson(llvm::raw_ostream &os, const Launch &launch, const Statistics &statistics);

} // namespace rubia::emulator::hip
