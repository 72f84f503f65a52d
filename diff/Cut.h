// SPDX-License-Identifier: Apache-2.0
// PTX with statements taken away, one by one: what is left of a kernel that shows a difference.
#pragma once

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace rubia::capsule {

/// What can be taken away of a kernel: statements, and the guards of others. Registers that such
/// statements write begin as 0 then, so that none is read that nobody has written. Statements whose
/// results nobody reads any more go too. Barriers, calls and what ends a thread stay.
class CutPtx {
public:
  /// Keeps no reference to the text. An error: the PTX cannot be changed.
  static llvm::Expected<CutPtx> open(llvm::StringRef text, llvm::StringRef kernel);
  /// How many there are: first statements, then guards, both in the order of the text.
  size_t size() const { return count; }
  /// Of the statements, those whose results may be others elsewhere (docs/diff.md, "What must be
  /// equal").
  const llvm::BitVector &inexact() const { return isOpen; }
  /// And those that go with them.
  llvm::BitVector closed(llvm::BitVector cut) const;
  /// The text without those of the bits that are set.
  llvm::Expected<std::string> without(const llvm::BitVector &cut) const;

private:
  struct Statement {
    int site = -1, guardSite = -1;     // the numbers of it and its guard; -1: they stay
    int guard = -1;                    // the register
    bool isFree = false;               // nothing is missed where nobody reads its results
    bool isZeroAtEntry = false;        // it and all before it make registers 0
    llvm::SmallVector<unsigned> reads; // registers; those of all functions are numbered in turn
  };
  struct Needed {
    llvm::BitVector statements, registers;
  };
  Needed neededWithout(const llvm::BitVector &cut) const;
  /// Whether it is to begin as 0.
  bool isZeroed(unsigned reg, const Needed &needed) const;

  std::string text, kernel;
  size_t count = 0;
  std::vector<Statement> statements;                 // all of them
  std::vector<llvm::SmallVector<unsigned>> definers; // by register
  llvm::BitVector isOpen;
};

/// Without what does not change what the kernel does: other kernels and functions that it does not
/// call, results that nobody reads, all but one of the registers that stay 0, lines for debuggers,
/// comments, empty lines, labels that are not used. The text as it is where that is not understood.
std::string tidied(llvm::StringRef text, llvm::StringRef kernel);

} // namespace rubia::capsule
