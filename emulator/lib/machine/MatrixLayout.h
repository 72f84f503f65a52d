// SPDX-License-Identifier: Apache-2.0
// Where the elements of the matrix instructions' operands are: which lane and which element of a
// lane's registers hold row i, column j and depth k of a block.
//
// All inputs follow one rule. The lanes are groups that each hold all rows (of B: columns) of all
// blocks for a part of the depth; a lane holds `perLane` elements, and of these `chunk` neighbours
// are neighbours along the depth too, after which the depth goes on in the next group. Where a
// wave64 of RDNA4 has half the registers of a wave32, its upper half is the upper half of these
// registers.
//
// Sources: CDNA4 ISA 7.1.4 "General input and output layout", 7.1.5.1 "Dense Matrix Layouts", 7.5.1
// "Details of Sparsity Structure"; RDNA3 ISA 7.9 "WMMA"; RDNA4 ISA "WMMA"; for both RDNAs also
// AMD's matrix instruction calculator (github.com/ROCm/amd_matrix_instruction_calculator).
#pragma once

#include "emulator/lib/machine/LaneTypes.h"

namespace rubia::emulator {
namespace RUBIA_ISA {

struct InputLayout {
  unsigned lines;      // rows of A, columns of B
  unsigned blocks;     // lane = line + lines * (block + blocks * group)
  unsigned groups;     // groups of lanes along the depth
  unsigned perLane;    // elements, zeros of a sparse matrix included
  unsigned chunk;      // neighbours along the depth
  bool upperRegisters; // the upper half of the groups stands for further elements of the lower

  constexpr unsigned lane(unsigned block, unsigned line, unsigned group) const {
    return line + lines * (block + blocks * group);
  }
  constexpr unsigned depth(unsigned group, unsigned element) const {
    unsigned spread = groups;
    if (upperRegisters) {
      spread = groups / 2;
      element += perLane * (group / spread);
      group %= spread;
    }
    return (element / chunk * spread + group) * chunk + element % chunk;
  }
};

/// An element of C or D.
struct OutputPlace {
  unsigned block, row, column;
};

constexpr unsigned atMost(unsigned value, unsigned limit) { return value < limit ? value : limit; }

/// MFMA and SMFMAC. Chunks fill at most four registers, except those of 6 bits.
constexpr InputLayout mfmaInput(unsigned lines, unsigned depth, unsigned blocks, unsigned bits) {
  const unsigned groups = 64 / (lines * blocks), perLane = depth / groups;
  return {lines, blocks, groups, perLane, bits == 6 ? perLane : atMost(perLane, 128 / bits), false};
}

/// `item` counts elements of a lane, registers or pairs of them. CDNA4 ISA 7.1.4.2, except that
/// V_MFMA_F64_4X4X4_4B_F64 has its blocks in neighbouring lanes and its rows 16 lanes apart, as the
/// matrix instruction calculator and programs that use it have it.
constexpr OutputPlace mfmaOutput(unsigned rows, unsigned columns, bool wide, unsigned lane,
                                 unsigned item) {
  const unsigned height = wide ? 1 : 4; // rows in neighbouring items
  const unsigned perItem = rows * columns / height;
  const unsigned blocksPerItem = perItem < 64 ? 64 / perItem : 1;
  const unsigned heightsPerItem = 64 / blocksPerItem / columns;
  const unsigned itemsPerBlock = rows / heightsPerItem; // those of height included
  const unsigned line = lane / columns;
  const unsigned group = item % itemsPerBlock / height;
  return {line % blocksPerItem + blocksPerItem * (item / itemsPerBlock),
          item % height + height * (line / blocksPerItem + heightsPerItem * group), lane % columns};
}

constexpr unsigned kWmmaSize = 16;

/// RDNA3's WMMA: every 16 lanes hold all of A and B. The copies are taken as blocks, so that each
/// result comes from the copy in its own 16 lanes and a missing repetition shows (assumed).
constexpr InputLayout repeatedInput(unsigned lanes, unsigned depth) {
  return {kWmmaSize, lanes / kWmmaSize, 1, depth, depth, false};
}
constexpr OutputPlace repeatedOutput(unsigned lanes, unsigned lane, unsigned item) {
  return {lane / kWmmaSize, item * (lanes / kWmmaSize) + lane / kWmmaSize, lane % kWmmaSize};
}

/// RDNA4's WMMA and SWMMAC. `dense` is the size of a chunk in bits, that of the dense matrix where
/// there is a sparse one. A matrix that does not fill a register in all lanes of a wave64 lies in
/// the lower 32.
constexpr InputLayout packedInput(unsigned lanes, unsigned depth, unsigned bits, unsigned chunkBits,
                                  bool sparse) {
  const unsigned inHalfWave = depth / 2, stored = sparse ? inHalfWave / 2 : inHalfWave;
  const bool upper = lanes == 64 && stored * bits > 32;
  const unsigned perLane = upper ? inHalfWave / 2 : inHalfWave;
  return {kWmmaSize, 1, upper ? 4u : 2u, perLane, atMost(inHalfWave, chunkBits / bits), upper};
}
constexpr OutputPlace packedOutput(unsigned lanes, unsigned lane, unsigned item) {
  const unsigned items = lanes == 64 ? 4 : 8;
  return {0, item + items * (lane / 32) + 8 * (lane / 16 % 2), lane % kWmmaSize};
}

} // namespace RUBIA_ISA
} // namespace rubia::emulator
