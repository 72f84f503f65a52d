// SPDX-License-Identifier: Apache-2.0
#include "reference/lib/interpreter/MatrixFragments.h"

using namespace llvm;

namespace rubia::reference::interpreter {

namespace Mod = ptx::Mod;
using ptx::Modifier;

// PTX ISA: warp-level-matrix-fragment-mma-16816-float and its kin, which follow one rule: a lane is
// in group lane / 4 and its register's elements stand side by side.
Place Fragment::placeInTile(unsigned lane, unsigned reg, unsigned element) const {
  const unsigned group = lane / 4, within = lane % 4;
  const unsigned upper = lane >= 16 ? 4 : 0, number = reg * elements + element;
  switch (kind) {
  case Kind::A: {
    const unsigned blocks = tileHeight / 8, row = group + 8 * (reg % blocks);
    return {row, (reg / blocks * 4 + within) * elements + element};
  }
  case Kind::B:
    return {(reg * 4 + within) * elements + element, group};
  case Kind::Sum: // wgmma has blocks of 8 columns side by side
    return {group + 8 * (number / 2 % 2), 8 * (number / 4) + 2 * within + number % 2};
  // m8n8k4 of f16: each quad pair has a matrix of its own, one above the other here.
  case Kind::QuadA: {
    const unsigned base = 8 * (lane % 16 / 4);
    return isColumn ? Place{base + number + upper, within} : Place{base + within + upper, number};
  }
  case Kind::QuadB: {
    const unsigned base = 4 * (lane % 16 / 4);
    return isColumn ? Place{base + number, within + upper} : Place{base + within, number + upper};
  }
  case Kind::QuadSum: {
    const unsigned base = 8 * (lane % 16 / 4);
    if (elements == 2) // f16
      return {base + within + upper, number};
    return {base + (lane & 1) + (number & 2) + upper, (number & 4) + (lane & 2) + (number & 1)};
  }
  }
}

constexpr unsigned kTileRows = 16, kTileColumns = 8;

Place Fragment::place(unsigned lane, unsigned reg, unsigned element) const {
  reg %= registers / copies;
  const unsigned tile = reg / tileRegisters;
  Place at = placeInTile(lane, reg % tileRegisters, element);
  at.row += isBelow ? tile * kTileRows : 0;
  at.column += isBelow ? 0 : tile * kTileColumns;
  if (isTransposed)
    std::swap(at.row, at.column);
  return at;
}

std::vector<uint64_t> gather(Warp &warp, const Micro &micro, unsigned first,
                             const Fragment &fragment) {
  std::vector<uint64_t> matrix = fragment.matrix();
  for (unsigned reg = 0; reg < fragment.registers / fragment.copies; ++reg) {
    const uint64_t *row = warp.source(micro, first + reg);
    for (unsigned lane = 0; lane < kLanes; ++lane)
      for (unsigned i = 0; i < fragment.elements; ++i)
        matrix[fragment.index(lane, reg, i)] =
            row[lane] >> (i * fragment.bits) & maskOf(fragment.bits);
  }
  return matrix;
}

void scatter(Warp &warp, const Micro &micro, const Fragment &fragment,
             const std::vector<uint64_t> &matrix) {
  for (unsigned reg = 0; reg < fragment.registers; ++reg)
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      if (!(warp.active >> lane & 1))
        continue;
      uint64_t value = 0;
      for (unsigned i = 0; i < fragment.elements; ++i)
        value |= (matrix[fragment.index(lane, reg, i)] & maskOf(fragment.bits))
                 << (i * fragment.bits);
      warp.write(micro, reg, lane, value);
    }
}

std::vector<unsigned> keptOf(unsigned bits, unsigned depth, unsigned selector,
                             const uint64_t *metadata, unsigned row) {
  const unsigned groupSize = bits >= 32 ? 2 : bits == 4 ? 8 : 4, groups = depth / groupSize;
  std::vector<unsigned> kept;
  for (unsigned group = 0; group < groups; ++group) {
    unsigned lane = 4 * (row % 8), shift;
    if (bits >= 16) {
      lane += groups == 4 ? selector : 2 * selector + group / 4;
      shift = (row >= 8 ? 16 : 0) + 4 * (group % 4);
    } else {
      lane += (groups == 8 ? 2 * selector : 2 * (group / 8)) + (row >= 8);
      shift = 4 * (group % 8);
    }
    const unsigned nibble = metadata[lane] >> shift & 15, base = group * groupSize;
    for (unsigned position : {nibble & 3, nibble >> 2}) {
      if (bits >= 32) { // one of two, named by both its halves
        kept.push_back(base + position / 2);
        break;
      }
      if (bits == 4) {
        kept.push_back(base + 2 * position);
        kept.push_back(base + 2 * position + 1);
      } else
        kept.push_back(base + position);
    }
  }
  return kept;
}

bool shapeOf(const ptx::Spelling &spelling, Shape &shape) {
  StringRef text = ptx::textOf(spelling.first(ptx::ModCategory::Shape));
  return text.consume_front(".m") && !text.consumeInteger(10, shape.m) && text.consume_front("n") &&
         !text.consumeInteger(10, shape.n) &&
         (text.empty() || (text.consume_front("k") && !text.consumeInteger(10, shape.k)));
}

std::vector<ptx::Type> typesOf(const ptx::Spelling &spelling) {
  std::vector<ptx::Type> types;
  for (Modifier mod : spelling.modifiers)
    if (ptx::typeOf(mod) != ptx::Type::None)
      types.push_back(ptx::typeOf(mod));
  return types;
}

std::string nameOf(const ptx::Spelling &spelling, ptx::Type type) {
  for (Modifier mod : spelling.modifiers)
    if (ptx::typeOf(mod) == type)
      return ptx::textOf(mod).drop_front().str();
  return "f16"; // wmma of f16 does not write its factors' type
}

static unsigned bitsOf(ptx::Type type) { return type == ptx::Type::B1 ? 1 : ptx::sizeInBits(type); }

Fragment fragmentOf(Fragment::Kind kind, size_t registers, ptx::Type type, unsigned height,
                    unsigned width) {
  Fragment fragment;
  fragment.kind = kind;
  fragment.registers = unsigned(registers);
  fragment.bits = bitsOf(type);
  fragment.elements = fragment.bits >= 32 ? 1 : 32 / fragment.bits;
  fragment.height = fragment.tileHeight = height;
  fragment.width = width;
  fragment.tileRegisters = fragment.registers;
  return fragment;
}

Fragment wmmaFragmentOf(Fragment::Kind kind, size_t registers, ptx::Type type, const Shape &shape) {
  using Kind = Fragment::Kind;
  unsigned height = kind == Kind::B ? shape.k : shape.m,
           width = kind == Kind::A ? shape.k : shape.n;
  Fragment fragment = fragmentOf(kind, registers, type, height, width);
  fragment.isTransposed = shape.m == 8 && shape.n == 32;
  if (fragment.isTransposed) {
    std::swap(height, width);
    if (kind != Kind::Sum)
      fragment.kind = kind == Kind::A ? Kind::B : Kind::A;
  }
  fragment.copies = fragment.registers * fragment.elements * kLanes / (height * width);
  fragment.isBelow = fragment.kind != Kind::B && height > kTileRows;
  const bool isBeside = fragment.kind != Kind::A && width > kTileColumns;
  fragment.tileHeight = std::min(height, kTileRows);
  fragment.tileRegisters =
      fragment.registers / fragment.copies / (fragment.isBelow || isBeside ? 2 : 1);
  return fragment;
}

void meetAll(Decoder &decoder, Execute function) {
  decoder.micro.target = uint32_t(decoder.sources.size());
  decoder.source(0xffffffff);
  decoder.execute(function, Flow::Meets);
}

} // namespace rubia::reference::interpreter
