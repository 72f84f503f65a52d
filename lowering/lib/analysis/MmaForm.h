// SPDX-License-Identifier: Apache-2.0
// What an instruction on matrices says: mma, mma.sp, wmma and wgmma, read from the parsed PTX. And
// where the elements of each matrix lie in the registers of a warp's lanes.
// PTX ISA: warp-level-matrix-instructions, asynchronous-warpgroup-level-matrix-instructions.
//
// A place in a matrix is a row and a column: of A row and k, of B k and column. A place in a
// fragment is a lane, a register and an element of it. The two are functions of each other.
#pragma once

#include "ptx-frontend/Module.h"
#include <optional>

namespace rubia::lowering {

enum class MmaKind : uint8_t { Mma, WmmaMma, WmmaLoad, WmmaStore, Wgmma };
enum class MmaMatrix : uint8_t { A, B, C, D };
enum class MmaLayout : uint8_t { Row, Col };
enum class MmaBitOperation : uint8_t { None, Xor, And };

struct MatrixPlace {
  unsigned row = 0, column = 0;
  unsigned product = 0; // m8n8k4 of f16: which of its four independent products
  bool operator==(const MatrixPlace &) const = default;
};

struct FragmentPlace {
  unsigned lane = 0;    // of the warp; wgmma: of the warpgroup, 0 to 127
  unsigned reg = 0;     // a register of the operand; f64: of 64 bits
  unsigned element = 0; // of the register, from its low bits
  bool operator==(const FragmentPlace &) const = default;
};

/// Where the metadata says in which column of A a stored element stands: column = base + scale *
/// (word >> shift & (1 << width) - 1), the word being operand e of that lane.
struct MetadataPlace {
  unsigned lane = 0, shift = 0, width = 2;
  unsigned base = 0, scale = 1;
};

struct MmaForm {
  MmaKind kind{};
  unsigned m = 0, n = 0, k = 0;
  ptx::Type a{}, b{}, c{}, d{}; // of the elements; None: the instruction has no such matrix
  /// mma and wmma: as written. wmma.load, wmma.store: both are the layout of the one matrix in
  /// memory.
  MmaLayout aLayout = MmaLayout::Row, bLayout = MmaLayout::Col;
  MmaMatrix loaded{}; // wmma.load, wmma.store: which matrix
  bool satfinite = false;
  MmaBitOperation bitOperation{};
  ptx::Modifier rounding = ptx::Mod::None; // f64; None: to nearest
  bool isSparse = false, hasOrderedMetadata = false;
  unsigned selector = 0; // sparse: which lanes of each four hold the metadata
  /// kind::f8f6f4 and its kin; None for all others. `scale`: the type of the blocks' scales.
  ptx::Modifier dataKind = ptx::Mod::None;
  ptx::Type scale{};
  unsigned scalesPerRow = 0; // of a block-scaled form: 1, 2, 4

  /// Nothing for instructions that are not on matrices.
  static std::optional<MmaForm> of(const ptx::Instruction &inst);

  /// f16 with m8n8k4: four products, each of two groups of four lanes.
  bool isQuadPairs() const;
  /// wmma: the fragments of A, B, C, D are those of `mma` for tiles of a smaller shape, one after
  /// the other. See tile().
  bool isWmma() const { return kind != MmaKind::Mma && kind != MmaKind::Wgmma; }

  ptx::Type typeOf(MmaMatrix matrix) const;
  /// Bits of an element in its register. Types of 4 and 6 bits take 8 with kind::f8f6f4 and
  /// kind::mxf8f6f4, tf32 takes 32.
  unsigned elementBits(MmaMatrix matrix) const;
  unsigned registerBits(MmaMatrix matrix) const { return elementBits(matrix) == 64 ? 64 : 32; }
  unsigned elementsPerRegister(MmaMatrix matrix) const;
  /// Of the matrix as it is stored: A of a sparse form has half of k.
  unsigned rows(MmaMatrix matrix) const;
  unsigned columns(MmaMatrix matrix) const;
  unsigned lanes() const { return kind == MmaKind::Wgmma ? 128 : 32; }
  /// Of the operand, as PTX has it.
  unsigned registers(MmaMatrix matrix) const;
  /// wmma of f16: A or B may be held more than once; register r + registers / copies is a copy.
  unsigned copies(MmaMatrix matrix) const;

  MatrixPlace placeOf(MmaMatrix matrix, FragmentPlace place) const;
  /// The inverse; of copies the first.
  FragmentPlace fragmentOf(MmaMatrix matrix, MatrixPlace place) const;

  // ---------- wmma

  /// m8n32k16 is held as the transposed product: A's fragment as B's of m32n8k16, and so on.
  bool isTransposed() const { return isWmma() && m == 8 && n == 32; }
  /// The mma of which a wmma consists: tileRows() * tileColumns() of them, in that order. Of a
  /// transposed one, of the transposed product, of which A is B and B is A. Of wgmma those of one
  /// warp, n / 8, whose registers of D follow each other.
  MmaForm tile() const;
  unsigned tileRows() const;
  unsigned tileColumns() const;

  // ---------- Sparse forms

  /// Of the element in this row and column of the stored A.
  MetadataPlace metadataOf(unsigned row, unsigned storedColumn) const;
  unsigned nibblesPerRow() const; // of metadata
};

} // namespace rubia::lowering
