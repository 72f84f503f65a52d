// SPDX-License-Identifier: Apache-2.0
// PTX with statements taken away, one by one: what is left of a kernel that shows a difference.
#pragma once

#include "diff/Locate.h"
#include "llvm/ADT/BitVector.h"

namespace rubia::capsule {

/// A kernel's statements that can be taken away. What a statement computes becomes 0, so that no
/// register is read that nobody has written. Barriers, calls and what ends a thread stay.
class CutPtx {
public:
  /// Keeps no reference to the text. An error: the PTX cannot be changed.
  /// `takesZeros`: what makes a register 0 can be taken away too, where nobody reads that.
  static llvm::Expected<CutPtx> open(llvm::StringRef text, llvm::StringRef kernel, bool takesZeros);
  /// In the order of the text.
  llvm::ArrayRef<StoreSite> statements() const { return sites; }
  /// Of them, those whose results may be others elsewhere (docs/diff.md, "What must be equal").
  const llvm::BitVector &inexact() const { return isOpen; }
  /// The text without those of the bits that are set.
  llvm::Expected<std::string> without(const llvm::BitVector &cut) const;

private:
  std::string text, kernel;
  bool takesZeros = false;
  std::vector<StoreSite> sites;
  llvm::BitVector isOpen;
};

/// Without what does not change what the kernel does: other kernels and functions that it does not
/// call, results that nobody reads, lines for debuggers, comments, empty lines, labels that are
/// not used. The text as it is where that is not understood.
std::string tidied(llvm::StringRef text, llvm::StringRef kernel);

} // namespace rubia::capsule
