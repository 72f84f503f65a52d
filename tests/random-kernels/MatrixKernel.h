// SPDX-License-Identifier: Apache-2.0
// Random kernels of what a warp does together: products of matrices, exchanges, sums and
// asynchronous copies, in loops and in branches that warps take apart.
//
// Two warps may share a wave of 64 lanes. What one of them does with all lanes on must leave the
// other's registers alone: errors of that kind (E39 and E40 in docs/errata.md) need several such
// operations, and values that live across them. So each kernel has a state of registers, which
// every step reads and writes. All numbers are small integers, so that every sum is exact and every
// processor gives the same bits.
#pragma once

#include "Program.h"

namespace rubia::random_kernels {

inline constexpr const char *kMatrixFamily = "matrices";
inline constexpr unsigned kProgramInput = 1024; // bytes

/// A part of a kernel that can be left out.
struct Step {
  enum class What : uint8_t {
    Text,    // `text` alone
    Divided, // `text` sets %q4 for a whole warp: if it is true `orElse`, else `body`
    Loop,    // `text` sets %limit, the number of rounds of `body`
    Lanes,   // `text` sets %q4 for each thread: `orElse` where it is true, else `body`
    Leaving  // rounds of `body`, and of `orElse` for those for which `test` sets %q4; `text` sets
             // %limit, how many there may be
  };
  What what = What::Text;
  std::string text, test;
  std::vector<Step> body, orElse;
};

struct MatrixKernel {
  uint64_t seed = 0;
  unsigned warps = 1;
  std::string bounds;                         // ".reqntid 64" or nothing
  std::vector<std::string> functions;         // that are called
  std::vector<std::array<uint32_t, 4>> start; // of each register of the state
  std::vector<uint8_t> input;
  std::vector<Step> steps;
};

/// The kernel of a seed: always the same.
MatrixKernel generateMatrices(uint64_t seed);

Program programOf(const MatrixKernel &kernel);

/// How many steps there are, with those inside of others.
unsigned sizeOf(const std::vector<Step> &steps);

} // namespace rubia::random_kernels
