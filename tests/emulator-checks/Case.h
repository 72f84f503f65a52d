// SPDX-License-Identifier: Apache-2.0
// What a kernel's own source says about it: how it is launched, which fault is planted, in which
// thread and line. So a test cannot pass by accident, nor drift from its kernel.
//
//   // CASE fault=OutOfBounds block=64 words=64
//   KERNEL store_one_past(unsigned *data, unsigned n, unsigned *) {
//     data[threadX() + 1] = 7; // BUG thread=(63,0,0)
//
// `address=0x24`: the report says this one. `written=32`: so many words of `data` have been
// written; `heap=1`: malloc() has a heap. `fault=Warning`: only a warning names the line. A race
// has two such lines, or one that says `twice`; `BUG waits` only has a line. Words that are none of
// these are refused.
#pragma once

#include "llvm/Support/Error.h"
#include <optional>
#include <string>
#include <vector>

namespace rubia::emulator::test {

struct Mark {
  unsigned line = 0;
  std::string thread; // "(63,0,0)"; empty: any
  bool operator==(const Mark &) const = default;
};

struct Case {
  std::string kernel, fault;
  unsigned block = 32, grid = 1, words = 0, sharedBytes = 0, heap = 0;
  std::optional<unsigned> written; // of `words`; none: all, and nobody asks
  std::optional<uint64_t> address;
  unsigned rows = 1; // of the block, which then has two dimensions
  std::vector<Mark> marks;
};

/// Whether what is planted has a second access, which is marked too.
bool hasTwoPlaces(const Case &test);
llvm::Expected<std::vector<Case>> readCases(const std::string &source);

} // namespace rubia::emulator::test
