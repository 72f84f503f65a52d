// SPDX-License-Identifier: Apache-2.0
// What `rubia check` found, and how it is written.
#pragma once

#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
#include <string>
#include <vector>

namespace rubia::tools {

struct CheckReport {
  std::vector<std::string> command;
  int status = 0; // of the program; 128 and a signal's number
  std::vector<llvm::json::Object> reports;

  /// Reads lines of RUBIA_EMULATOR_REPORTS. An error: a line that is no report.
  llvm::Error read(llvm::StringRef lines);
  size_t errors() const { return count("error"); }
  size_t warnings() const { return count("warning"); }

  void writeText(llvm::raw_ostream &os) const; // a line each
  void writeJson(llvm::raw_ostream &os) const;
  /// As JUnit has it, which CI tools show: a test case for each report and one for the program.
  void writeXml(llvm::raw_ostream &os) const;

private:
  size_t count(llvm::StringRef severity) const;
};

} // namespace rubia::tools
