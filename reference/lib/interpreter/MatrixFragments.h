// SPDX-License-Identifier: Apache-2.0
// Where the elements of matrices are in registers: what the products of warps and of warpgroups
// share. The fragments of mma and wgmma are those of the manual, which does not fix those of wmma.
// docs/reference.md has the fragments of wmma that all of Rubia agrees on.
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
  enum class Kind : uint8_t { A, B, Sum, QuadA, QuadB, QuadSum } kind = Kind::A;
  unsigned registers = 0, bits = 0, elements = 0; // elements: of a register
  unsigned height = 0, width = 0;                 // of the matrix
  bool isColumn = false;                          // Quad: .col

  // wmma: tiles of 16 rows or 8 columns, one after the other.
  unsigned tileRegisters = 0, tileHeight = 0;
  unsigned copies = 1;       // of all registers
  bool isBelow = false;      // the second tile is below the first, else beside it
  bool isTransposed = false; // the tiles are those of the transposed matrix

  std::vector<uint64_t> matrix() const { return std::vector<uint64_t>(height * width); }
  Place place(unsigned lane, unsigned reg, unsigned element) const;
  Place placeInTile(unsigned lane, unsigned reg, unsigned element) const;
  size_t index(unsigned lane, unsigned reg, unsigned element) const {
    const Place at = place(lane, reg, element);
    return at.row * width + at.column;
  }
};

Fragment fragmentOf(Fragment::Kind kind, size_t registers, ptx::Type type, unsigned height,
                    unsigned width);
/// `kind`: A, B or Sum.
Fragment wmmaFragmentOf(Fragment::Kind kind, size_t registers, ptx::Type type, const Shape &shape);
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
