// SPDX-License-Identifier: Apache-2.0
// From a module's PTX to the faults of its kernels on the emulator.
#pragma once

#include "emulator/Emulator.h"
#include "tests/emulator-checks/Case.h"
#include <map>

namespace rubia::emulator::test {

struct Outcome {
  std::string error;            // empty: the launch went well, or had a fault
  std::unique_ptr<Fault> fault; // null: none
  std::string warnings;
};

/// Compiles and runs every case's kernel of the module in `path`. Without `notes` as code that does
/// not tell what its memory accesses were.
std::map<std::string, Outcome> runAll(const std::string &path, const std::vector<Case> &cases,
                                      const std::string &arch, const Checks &checks,
                                      bool notes = true);

} // namespace rubia::emulator::test
