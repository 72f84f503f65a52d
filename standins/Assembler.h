// SPDX-License-Identifier: Apache-2.0
// What ptxas does, as far as there is a use for it here: a text is checked, and what is wrong with
// it is told in ptxas' words; what comes out has the text in it (Cubin.h).
#pragma once

#include "standins/Cubin.h"
#include <string>

namespace rubia::standins {

struct AssemblerOptions {
  std::string tool = "ptxas"; // whose messages these are
  Target target;
  /// PTX for architectures up to this one is taken, too: what it is of has machine code for the
  /// target beside it.
  unsigned takenSm = 0;
  bool isRelocatable = false; // for a linker
  bool isVerbose = false;
  bool hasWarnings = true;
  bool areWarningsErrors = false;
  /// False: products and sums that have no rounding modifier get one, so that nothing fuses them.
  bool mayFuse = true;
  unsigned registerLimit = 0; // -maxrregcount; 0: none
  /// Kernels that there must be. All others are kept too.
  std::vector<std::string> entries;
};

struct Assembled {
  std::string log;            // lines
  std::vector<uint8_t> cubin; // empty of a virtual target, and of what failed
  bool hasFailed = false;
};

/// `name` stands for the text in messages.
Assembled assemble(llvm::StringRef name, llvm::StringRef text, const AssemblerOptions &options);

/// "ptxas fatal   : ...", a line.
std::string fatal(llvm::StringRef tool, const llvm::Twine &message);

} // namespace rubia::standins
