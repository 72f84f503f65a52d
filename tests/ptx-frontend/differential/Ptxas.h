// SPDX-License-Identifier: Apache-2.0
// NVIDIA's assembler as a judge of PTX text. It reports every wrong statement of a file with its
// line, so many instances are judged in one process; only a syntax error ends it, after which the
// rest goes to another.
#pragma once

#include "tests/ptx-generator/Instance.h"
#include "llvm/Support/Error.h"
#include <memory>

namespace rubia::test {

struct Verdict {
  bool accepted = true;
  std::string message;  // the first error
  bool crashed = false; // ptxas itself: there is no verdict
};

class Ptxas {
public:
  /// RUBIA_TEST_PTXAS, or what CMake found; null if there is none.
  static std::unique_ptr<Ptxas> find();
  /// Parses and checks only; nothing is compiled.
  llvm::Expected<std::vector<Verdict>> judge(const Dialect &dialect,
                                             llvm::ArrayRef<std::string> instructions);
  /// A whole file.
  llvm::Expected<Verdict> judgeFile(llvm::StringRef text);
  unsigned runs() const { return processes; }

private:
  std::string program;
  unsigned processes = 0;
  struct Report {
    struct Line {
      unsigned number;
      bool fatal;
      std::string message;
    };
    std::vector<Line> lines;
    int status = 0;   // -2: it crashed
    std::string rest; // what is about no line
  };
  llvm::Error judgeOnce(const Dialect &dialect, llvm::ArrayRef<std::string> instructions,
                        llvm::MutableArrayRef<Verdict> verdicts);
  llvm::Expected<Report> run(llvm::StringRef text, llvm::StringRef arch);
};

} // namespace rubia::test
