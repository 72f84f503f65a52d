// SPDX-License-Identifier: Apache-2.0
// From which .version on each target has an instruction, by ptxas and by the table.
#pragma once

#include "Cases.h"
#include "llvm/Support/raw_ostream.h"

namespace rubia::test {

struct SweepOptions {
  unsigned instances = 4; // of each row, all of different spelling
  uint64_t seed = 1;
  std::string form; // only rows with this text
};

/// Judges instances of every row in every version of the targets below; prints those that we refuse
/// and ptxas takes, with the versions. Gives their number.
llvm::Expected<unsigned> sweepVersions(Ptxas &ptxas, const SweepOptions &options,
                                       llvm::raw_ostream &out);

/// An instance of each row in the first version that has it by the table and in the one before, on
/// its first target and on sm_90, with both verdicts.
llvm::Expected<std::vector<Case>> versionSample(Ptxas &ptxas, const SweepOptions &options);

} // namespace rubia::test
