// SPDX-License-Identifier: Apache-2.0
// Where the elements of matrices are in registers: what the products of warps and of warpgroups
// share. The fragments of mma and wgmma are those of the manual. Those of wmma are not fixed by it:
// here an element's place is its number in the matrix, and lanes go on where the lane before ends.
#pragma once

#include "reference/lib/interpreter/Decode.h"
#include "reference/lib/interpreter/Warp.h"

namespace rubia::reference::interpreter {

struct Shape {
  unsigned m = 0, n = 0, k = 0;
};

struct Place {
  unsigned row, column;
};

// One operand: `rows` registers of each lane, and several elements in each.
struct Fragment {
  enum class Kind : uint8_t { A, B, Sum, QuadA, QuadB, QuadSum, Linear } kind = Kind::Linear;
  unsigned registers = 0, bits = 0, elements = 0; // elements: of a register
  unsigned height = 0, width = 0;                 // of the matrix
  bool isColumn = false;                          // Quad: .col

  std::vector<uint64_t> matrix() const { return std::vector<uint64_t>(height * width); }
  Place place(unsigned lane, unsigned reg, unsigned element) const;
  size_t index(unsigned lane, unsigned reg, unsigned element) const {
    const Place at = place(lane, reg, element);
    return at.row * width + at.column;
  }
};

Fragment fragmentOf(Fragment::Kind kind, size_t registers, ptx::Type type, unsigned height,
                    unsigned width);
/// The matrix that lies in sources, from the first one on.
std::vector<uint64_t> gather(Warp &warp, const Micro &micro, unsigned first,
                             const Fragment &fragment);
/// Writes a matrix to the destinations.
void scatter(Warp &warp, const Micro &micro, const Fragment &fragment,
             const std::vector<uint64_t> &matrix);
/// Which of B's rows the compressed elements of a row of A belong to. Measured on an H100.
/// `bits`: of an element of A; `depth`: k.
std::vector<unsigned> keptOf(unsigned bits, unsigned depth, unsigned selector,
                             const uint64_t *metadata, unsigned row);

bool shapeOf(const ptx::Spelling &spelling, Shape &shape);
std::vector<ptx::Type> typesOf(const ptx::Spelling &spelling);
std::string nameOf(const ptx::Spelling &spelling, ptx::Type type);
/// All lanes of the warp meet.
void meetAll(Decoder &decoder, Execute function);

} // namespace rubia::reference::interpreter
