// SPDX-License-Identifier: Apache-2.0
// PTX ISA: warp-level-matrix-instructions: mma, mma.sp, wmma, ldmatrix, stmatrix, movmatrix.
#include "reference/MatrixReference.h"
#include "reference/lib/interpreter/MatrixFragments.h"
#include <cstring>

using namespace llvm;

namespace rubia::ptx::Op {
extern const Operation Ldmatrix, Mma, MmaSp, Movmatrix, Stmatrix, WmmaLoad, WmmaMma, WmmaStore;
} // namespace rubia::ptx::Op
namespace rubia::ptx::Mod {
extern const Modifier And, Col, KindF8f6f4, Row, Satfinite, Trans;
} // namespace rubia::ptx::Mod

namespace rubia::reference::interpreter {
namespace {

namespace Mod = ptx::Mod;
using ptx::Modifier;
using ptx::StateSpace;

struct Product {
  Shape shape;
  Fragment a, b, c, d;
  std::string aType, bType, cType, dType, rounding = "rn";
  MatrixProduct product;
  unsigned quads = 1;    // matrices that are multiplied side by side
  bool isSparse = false; // source: the metadata, and detail: the selector
  unsigned selector = 0;
};

void multiply(Warp &warp, const Micro &micro) {
  const auto &product = *static_cast<const Product *>(micro.data);
  const Fragment &a = product.a, &b = product.b, &c = product.c;
  const std::vector<uint64_t> aMatrix = gather(warp, micro, 0, a),
                              bMatrix = gather(warp, micro, a.registers, b),
                              cMatrix = gather(warp, micro, a.registers + b.registers, c);
  std::vector<uint64_t> dMatrix = product.d.matrix();
  const uint64_t *metadata =
      product.isSparse ? warp.source(micro, a.registers + b.registers + c.registers) : nullptr;
  MatrixProduct rule = product.product;
  rule.a = product.aType;
  rule.b = product.bType;
  rule.c = product.cType;
  rule.d = product.dType;
  rule.rounding = product.rounding;
  std::vector<uint64_t> left(a.width), right(a.width);
  for (unsigned row = 0; row < c.height; ++row) {
    for (unsigned k = 0; k < a.width; ++k)
      left[k] = aMatrix[row * a.width + k];
    std::vector<unsigned> kept;
    if (metadata)
      kept = keptOf(a.bits, product.shape.k, product.selector, metadata, row);
    // Of quads, the rows of B that are this one's.
    const unsigned first = product.quads > 1 ? row / product.shape.m * product.shape.k : 0;
    for (unsigned column = 0; column < c.width; ++column) {
      for (unsigned k = 0; k < a.width; ++k)
        right[k] = bMatrix[(first + (metadata ? kept[k] : k)) * b.width + column];
      Expected<uint64_t> element =
          matrixElement(rule, left, right, cMatrix[row * c.width + column]);
      if (!element)
        return warp.fail(toString(element.takeError()));
      dMatrix[row * c.width + column] = *element;
    }
  }
  scatter(warp, micro, product.d, dMatrix);
}

void decodeProduct(Decoder &decoder) {
  using Kind = Fragment::Kind;
  const ptx::Spelling &spelling = decoder.spelling();
  ArrayRef<ptx::Operand> operands = decoder.inst().operands;
  const bool isWmma = decoder.inst().op() == ptx::Op::WmmaMma;
  auto &product = decoder.code.keep<Product>();
  std::vector<ptx::Type> types = typesOf(spelling);
  if (types.size() == 2) // d, c
    types = {types[0], ptx::Type::F16, ptx::Type::F16, types[1]};
  if (!shapeOf(spelling, product.shape) || types.size() != 4)
    return decoder.unsupported("a product of matrices of this form");
  if (spelling.has(Mod::KindF8f6f4)) // how sums are rounded is not known
    return decoder.unsupported("a product of matrices with factors of 4 or 6 bits");
  const auto [m, n, k] = product.shape;
  product.isSparse = decoder.inst().op() == ptx::Op::MmaSp;
  const bool isQuad = !isWmma && m == 8 && n == 8 && k == 4 && types[1] == ptx::Type::F16;
  product.quads = isQuad ? 4 : 1;
  size_t counts[3];
  for (unsigned i = 0; i < 3; ++i) {
    const size_t before = decoder.sources.size();
    decoder.source(operands[i + 1], ptx::Type::B32);
    counts[i] = decoder.sources.size() - before;
  }
  decoder.destination(operands[0]);
  const unsigned aWidth = product.isSparse ? k / 2 : k;
  const Kind sum = isQuad ? Kind::QuadSum : Kind::Sum;
  const unsigned height = m * product.quads;
  const auto fragment = [&](Kind kind, size_t registers, ptx::Type type, unsigned rows,
                            unsigned columns) {
    return isWmma ? wmmaFragmentOf(kind, registers, type, product.shape)
                  : fragmentOf(kind, registers, type, rows, columns);
  };
  product.a = fragment(isQuad ? Kind::QuadA : Kind::A, counts[0], types[1], height, aWidth);
  product.b = fragment(isQuad ? Kind::QuadB : Kind::B, counts[1], types[2], k * product.quads, n);
  product.c = fragment(sum, counts[2], types[3], height, n);
  product.d = fragment(sum, decoder.destinations.size(), types[0], height, n);
  if (isQuad) { // the layouts of A and B, in this order
    std::vector<bool> isColumn;
    for (Modifier mod : spelling.modifiers)
      if (mod == Mod::Row || mod == Mod::Col)
        isColumn.push_back(mod == Mod::Col);
    product.a.isColumn = isColumn[0];
    product.b.isColumn = isColumn[1];
  }
  product.dType = nameOf(spelling, types[0]);
  product.aType = nameOf(spelling, types[1]);
  product.bType = nameOf(spelling, types[2]);
  product.cType = nameOf(spelling, types[3]);
  product.product.unit = isWmma   ? MatrixProduct::Unit::Wmma
                         : isQuad ? MatrixProduct::Unit::Quads
                                  : MatrixProduct::Unit::Mma;
  product.product.satfinite = spelling.has(Mod::Satfinite);
  product.product.isAnd = spelling.has(Mod::And);
  if (Modifier rounding = spelling.first(ptx::ModCategory::Rounding); rounding != Mod::None)
    product.rounding = ptx::textOf(rounding).drop_front().str();
  if (product.isSparse) {
    decoder.source(operands[4], ptx::Type::B32);
    product.selector = unsigned(operands[5].bits);
  }
  decoder.micro.data = &product;
  meetAll(decoder, multiply);
}

// ---------- wmma.load, wmma.store

struct Tile {
  Fragment fragment;
  StateSpace space;
  bool isColumn = false, hasStride = false;
};

// In bits from the address. Sources: the address, then the stride in elements.
uint64_t offsetOf(const Tile &tile, Place at, uint64_t stride) {
  const uint64_t lines = tile.isColumn ? at.column : at.row,
                 within = tile.isColumn ? at.row : at.column;
  return (lines * stride + within) * tile.fragment.bits;
}

void moveTile(Warp &warp, const Micro &micro, bool isLoad) {
  const auto &tile = *static_cast<const Tile *>(micro.data);
  const Fragment &fragment = tile.fragment;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if (!(warp.active >> lane & 1))
      continue;
    const uint64_t base = warp.source(micro, 0)[lane] + uint64_t(int64_t(micro.sources[0].offset));
    const uint64_t stride = tile.hasStride  ? warp.source(micro, 1)[lane]
                            : tile.isColumn ? fragment.height
                                            : fragment.width;
    for (unsigned reg = 0; reg < fragment.registers; ++reg) {
      uint64_t value = isLoad ? 0 : warp.source(micro, 2 + reg)[lane];
      for (unsigned i = 0; i < fragment.elements; ++i) {
        const uint64_t bit = offsetOf(tile, fragment.place(lane, reg, i), stride);
        const unsigned bytes = std::max(1u, fragment.bits / 8), shift = bit % 8;
        uint8_t *memory = warp.memory(tile.space, base + bit / 8, bytes, lane);
        if (!memory)
          return;
        uint64_t word = 0;
        memcpy(&word, memory, bytes);
        if (isLoad) {
          value |= (word >> shift & maskOf(fragment.bits)) << (i * fragment.bits);
          continue;
        }
        const uint64_t mask = maskOf(fragment.bits) << shift;
        word = (word & ~mask) | ((value >> (i * fragment.bits) << shift) & mask);
        memcpy(memory, &word, bytes);
      }
      if (isLoad)
        warp.write(micro, reg, lane, value);
    }
  }
}
void loadTile(Warp &warp, const Micro &micro) { moveTile(warp, micro, true); }
void storeTile(Warp &warp, const Micro &micro) { moveTile(warp, micro, false); }

void decodeTile(Decoder &decoder, bool isLoad) {
  const ptx::Spelling &spelling = decoder.spelling();
  ArrayRef<ptx::Operand> operands = decoder.inst().operands;
  auto &tile = decoder.code.keep<Tile>();
  Shape shape;
  if (!shapeOf(spelling, shape))
    return decoder.unsupported("a matrix of this shape");
  const bool isA = spelling.text.starts_with("wmma.load.a"),
             isB = spelling.text.starts_with("wmma.load.b");
  tile.space = spelling.space();
  tile.isColumn = spelling.has(Mod::Col);
  tile.hasStride = operands.size() > 2;
  decoder.source(operands[isLoad ? 1 : 0], ptx::Type::B64);
  if (tile.hasStride)
    decoder.source(operands[2], ptx::Type::U32);
  else
    decoder.source(0);
  size_t registers = 0;
  if (isLoad) {
    decoder.destination(operands[0]);
    registers = decoder.destinations.size();
  } else {
    decoder.source(operands[1], ptx::Type::B32);
    registers = decoder.sources.size() - 2;
  }
  using Kind = Fragment::Kind;
  tile.fragment = wmmaFragmentOf(isA   ? Kind::A
                                 : isB ? Kind::B
                                       : Kind::Sum,
                                 registers, spelling.type(), shape);
  decoder.micro.data = &tile;
  meetAll(decoder, isLoad ? loadTile : storeTile);
}
void decodeTileLoad(Decoder &decoder) { decodeTile(decoder, true); }
void decodeTileStore(Decoder &decoder) { decodeTile(decoder, false); }

// ---------- Matrices of 8 by 8 elements of 16 bits

using Small = std::array<std::array<uint16_t, 8>, 8>;

// A lane's two elements: of row lane / 4, or transposed of the column.
uint16_t &element(Small &matrix, unsigned lane, unsigned i, bool isTransposed) {
  const unsigned line = lane / 4, within = 2 * (lane % 4) + i;
  return isTransposed ? matrix[within][line] : matrix[line][within];
}

// The rows of matrix m are at the addresses of lanes 8m to 8m + 7.
template <typename Body> bool forRows(Warp &warp, const Micro &micro, unsigned m, Body body) {
  for (unsigned row = 0; row < 8; ++row) {
    const unsigned lane = 8 * m + row;
    const uint64_t address =
        warp.source(micro, 0)[lane] + uint64_t(int64_t(micro.sources[0].offset));
    uint8_t *memory = warp.memory(StateSpace(micro.detail), address, 16, lane);
    if (!memory)
      return false;
    body(row, memory);
  }
  return true;
}

void loadMatrices(Warp &warp, const Micro &micro) {
  const bool isTransposed = micro.instruction->spelling->has(Mod::Trans);
  std::vector<Small> matrices(micro.destinations.size());
  for (unsigned m = 0; m < matrices.size(); ++m)
    if (!forRows(warp, micro, m, [&](unsigned row, uint8_t *memory) {
          memcpy(matrices[m][row].data(), memory, 16);
        }))
      return;
  for (unsigned m = 0; m < matrices.size(); ++m)
    for (unsigned lane = 0; lane < kLanes; ++lane)
      if (warp.active >> lane & 1)
        warp.write(micro, m, lane,
                   element(matrices[m], lane, 0, isTransposed) |
                       uint64_t(element(matrices[m], lane, 1, isTransposed)) << 16);
}

Small smallOf(const uint64_t *row, bool isTransposed) {
  Small matrix;
  for (unsigned lane = 0; lane < kLanes; ++lane)
    for (unsigned i = 0; i < 2; ++i)
      element(matrix, lane, i, isTransposed) = uint16_t(row[lane] >> 16 * i);
  return matrix;
}

// Sources: the address, values, the mask.
void storeMatrices(Warp &warp, const Micro &micro) {
  const bool isTransposed = micro.instruction->spelling->has(Mod::Trans);
  for (unsigned m = 0; m + 2 < micro.sources.size(); ++m) {
    const Small matrix = smallOf(warp.source(micro, m + 1), isTransposed);
    if (!forRows(warp, micro, m,
                 [&](unsigned row, uint8_t *memory) { memcpy(memory, matrix[row].data(), 16); }))
      return;
  }
}

void transpose(Warp &warp, const Micro &micro) {
  Small matrix = smallOf(warp.source(micro, 0), false);
  for (unsigned lane = 0; lane < kLanes; ++lane)
    if (warp.active >> lane & 1)
      warp.write(micro, 0, lane,
                 element(matrix, lane, 0, true) | uint64_t(element(matrix, lane, 1, true)) << 16);
}

void decodeSmall(Decoder &decoder, const ptx::Operand *to, ArrayRef<ptx::Operand> from,
                 Execute function) {
  Shape shape;
  if (!shapeOf(decoder.spelling(), shape) || shape.m != 8 || shape.n != 8)
    return decoder.unsupported("matrices of this shape");
  if (to)
    decoder.destination(*to);
  for (const ptx::Operand &operand : from)
    decoder.source(operand, ptx::Type::B32);
  decoder.micro.detail = unsigned(decoder.spelling().space());
  meetAll(decoder, function);
}
void decodeLdmatrix(Decoder &decoder) {
  ArrayRef<ptx::Operand> operands = decoder.inst().operands;
  decodeSmall(decoder, &operands[0], operands.drop_front(), loadMatrices);
}
void decodeStmatrix(Decoder &decoder) {
  decodeSmall(decoder, nullptr, decoder.inst().operands, storeMatrices);
}
void decodeMovmatrix(Decoder &decoder) {
  ArrayRef<ptx::Operand> operands = decoder.inst().operands;
  decodeSmall(decoder, &operands[0], operands.drop_front(), transpose);
}

constexpr Family kFamilies[] = {
    {ptx::Op::Mma, decodeProduct},         {ptx::Op::MmaSp, decodeProduct},
    {ptx::Op::WmmaMma, decodeProduct},     {ptx::Op::WmmaLoad, decodeTileLoad},
    {ptx::Op::WmmaStore, decodeTileStore}, {ptx::Op::Ldmatrix, decodeLdmatrix},
    {ptx::Op::Stmatrix, decodeStmatrix},   {ptx::Op::Movmatrix, decodeMovmatrix},
};

} // namespace

ArrayRef<Family> matrices() { return kFamilies; }

} // namespace rubia::reference::interpreter
