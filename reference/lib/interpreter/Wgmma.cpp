// SPDX-License-Identifier: Apache-2.0
// PTX ISA: asynchronous-warpgroup-level-matrix-instructions. Each of the four warps has 16 of the
// 64 rows of D. A product is done where it stands: until the wait a program may not change A and B.
// Behind the wait it may, so the four warps meet there.
#include "reference/MatrixReference.h"
#include "reference/lib/interpreter/Cta.h"
#include "reference/lib/interpreter/MatrixFragments.h"
#include "reference/lib/interpreter/Movement.h"
#include <cmath>
#include <cstring>

using namespace llvm;

namespace rubia::ptx::Op {
extern const Operation Wgmma, WgmmaSp, WgmmaSync, WgmmaWait;
} // namespace rubia::ptx::Op
namespace rubia::ptx::Mod {
extern const Modifier And, Satfinite;
} // namespace rubia::ptx::Mod

namespace rubia::reference::interpreter {
namespace {

namespace Mod = ptx::Mod;
using ptx::StateSpace;

constexpr unsigned kRows = 16, kWarps = 4; // rows of a warp, warps of a warpgroup

struct GroupProduct {
  Shape shape;
  Fragment a, d;
  std::string type, aType, bType;
  MatrixProduct rule;
  unsigned bits = 0; // of an element of A and B
  bool aInMemory = false, aAlongLines = false, bAlongLines = false;
  bool isSparse = false, negates = false;
  unsigned selector = 0;
};

// PTX ISA: asynchronous-warpgroup-level-matrix-shared-memory-layout. Core matrices are 8 rows of 16
// bytes. A swizzle puts 2, 4 or 8 of them side by side.
class Described {
public:
  Described(uint64_t descriptor, unsigned bits, bool alongLines)
      : bits(bits), alongLines(alongLines) {
    start = (descriptor & 0x3fff) * 16;
    leading = (descriptor >> 16 & 0x3fff) * 16;
    stride = (descriptor >> 32 & 0x3fff) * 16;
    base = descriptor >> 49 & 7;
    constexpr unsigned kPieces[] = {1, 8, 4, 2}; // of 16 bytes in a row
    pieces = kPieces[descriptor >> 62];
  }

  // The byte of shared memory where an element begins. Of b1, that of its eight.
  uint64_t byteOf(unsigned line, unsigned depth) const {
    const uint64_t inRow = uint64_t(alongLines ? line : depth) * bits / 8;
    const uint64_t row = alongLines ? depth : line;
    const uint64_t piece = inRow / 16;
    uint64_t farther = leading, below = stride;
    if (alongLines && pieces == 1) // without a swizzle the two change places
      std::swap(farther, below);
    const uint64_t place = start + row % 8 * pieces * 16 + row / 8 * below + piece % pieces * 16 +
                           piece / pieces * farther + inRow % 16;
    // 16-byte pieces are exchanged by the address itself. Measured on an H100.
    return place ^ (((place >> 7) - base) % pieces * 16);
  }

private:
  unsigned bits;
  bool alongLines;
  uint64_t start, leading, stride, base, pieces;
};

// Lines by depth; empty after a failure.
std::vector<uint64_t> fetch(Warp &warp, const Described &matrix, unsigned bits, unsigned firstLine,
                            unsigned lines, unsigned depth) {
  std::vector<uint64_t> elements(size_t(lines) * depth);
  const unsigned bytes = std::max(1u, bits / 8);
  for (unsigned line = 0; line < lines; ++line)
    for (unsigned k = 0; k < depth; ++k) {
      const uint8_t *memory =
          warp.memory(StateSpace::Shared, matrix.byteOf(firstLine + line, k), bytes, kLanes);
      if (!memory)
        return {};
      uint64_t word = 0;
      memcpy(&word, memory, bytes);
      if (bits < 8)
        word >>= k * bits % 8;
      elements[size_t(line) * depth + k] = word & maskOf(bits);
    }
  return elements;
}

// The descriptor and whether D is added are the same in all lanes.
bool uniform(Warp &warp, const uint64_t *row, const char *what) {
  for (unsigned lane = 1; lane < kLanes; ++lane)
    if (row[lane] != row[0]) {
      warp.fail(Twine("wgmma: lanes of a warp have different ") + what, lane);
      return false;
    }
  return true;
}

/// An element of D within its bound: a multiple of |C| + sum |A B|, as sums are cut in any order.
Expected<uint64_t> movedElement(const Movement &movement, const MatrixProduct &rule, bool isSparse,
                                std::vector<uint64_t> a, std::vector<uint64_t> b, uint64_t c,
                                unsigned bits, uint64_t result) {
  const bool isHalf = rule.d == "f16";
  if ((!isHalf && rule.d != "f32") || (movement.scale == 0 && movement.bias == 0))
    return result;
  const FloatFormat &format = isHalf ? kF16 : kF32;
  const auto clearSign = [&](std::vector<uint64_t> &elements) {
    for (uint64_t &element : elements)
      element &= ~(uint64_t(1) << (bits - 1));
  };
  clearSign(a);
  clearSign(b);
  Expected<uint64_t> magnitude = matrixElement(rule, a, b, c & ~(uint64_t(1) << (format.bits - 1)));
  if (!magnitude)
    return magnitude;
  const Float most = decode(format, *magnitude);
  const double relative = std::ldexp(1.0, isHalf ? -10 : isSparse ? -17 : -18);
  return moved(format, result,
               shareOf(movement, result) * relative *
                   (most.isFinite() ? most.value.get_d() : INFINITY));
}

// Sources: descriptor or registers of A, descriptor of B, scale-d, D, metadata.
void multiply(Warp &warp, const Micro &micro) {
  const auto &product = *static_cast<const GroupProduct *>(micro.data);
  const auto [m, n, k] = product.shape;
  const unsigned width = product.isSparse ? k / 2 : k;
  const unsigned ofB = product.aInMemory ? 1 : product.a.registers;
  const uint64_t *bRow = warp.source(micro, ofB), *scale = warp.source(micro, ofB + 1);
  if ((product.aInMemory && !uniform(warp, warp.source(micro, 0), "descriptors of A")) ||
      !uniform(warp, bRow, "descriptors of B") || !uniform(warp, scale, "values of scale-d"))
    return;
  std::vector<uint64_t> a =
      product.aInMemory
          ? fetch(warp, Described(warp.source(micro, 0)[0], product.bits, product.aAlongLines),
                  product.bits, warp.index % kWarps * kRows, kRows, width)
          : gather(warp, micro, 0, product.a);
  // By columns.
  const std::vector<uint64_t> b =
      fetch(warp, Described(bRow[0], product.bits, product.bAlongLines), product.bits, 0, n, k);
  if (warp.hasFailed())
    return;
  if (product.negates)
    for (uint64_t &element : a)
      element ^= uint64_t(1) << (product.bits - 1);
  std::vector<uint64_t> d =
      scale[0] & 1 ? gather(warp, micro, ofB + 2, product.d) : product.d.matrix();
  const uint64_t *metadata =
      product.isSparse ? warp.source(micro, ofB + 2 + product.d.registers) : nullptr;
  MatrixProduct rule = product.rule;
  rule.a = product.aType;
  rule.b = product.bType;
  rule.c = rule.d = product.type;
  std::vector<uint64_t> right(width);
  for (unsigned row = 0; row < kRows; ++row) {
    const ArrayRef<uint64_t> left = ArrayRef(a).slice(size_t(row) * width, width);
    std::vector<unsigned> kept;
    if (metadata)
      kept = keptOf(product.bits, k, product.selector, metadata, row);
    for (unsigned column = 0; column < n; ++column) {
      for (unsigned i = 0; i < width; ++i)
        right[i] = b[size_t(column) * k + (metadata ? kept[i] : i)];
      uint64_t &element = d[size_t(row) * n + column];
      Expected<uint64_t> result = matrixElement(rule, left, right, element);
      if (!result)
        return warp.fail(toString(result.takeError()));
      result = movedElement(warp.cta.grid.launch.movement, rule, product.isSparse, left.vec(),
                            right, element, product.bits, *result);
      if (!result)
        return warp.fail(toString(result.takeError()));
      element = *result;
    }
  }
  scatter(warp, micro, product.d, d);
}

void decodeGroupProduct(Decoder &decoder) {
  const ptx::Spelling &spelling = decoder.spelling();
  ArrayRef<ptx::Operand> operands = decoder.inst().operands;
  auto &product = decoder.code.keep<GroupProduct>();
  const std::vector<ptx::Type> types = typesOf(spelling);
  if (!shapeOf(spelling, product.shape) || types.size() != 3)
    return decoder.unsupported("a product of matrices of this form");
  product.isSparse = decoder.inst().op() == ptx::Op::WgmmaSp;
  product.aInMemory = operands[1].kind == ptx::Operand::Kind::Register;
  product.rule.unit = MatrixProduct::Unit::Wgmma;
  product.rule.satfinite = spelling.has(Mod::Satfinite);
  product.rule.isAnd = spelling.has(Mod::And);
  product.type = nameOf(spelling, types[0]);
  product.aType = nameOf(spelling, types[1]);
  product.bType = nameOf(spelling, types[2]);
  const unsigned width = product.isSparse ? product.shape.k / 2 : product.shape.k;

  decoder.source(operands[1], product.aInMemory ? ptx::Type::B64 : ptx::Type::B32);
  product.a = fragmentOf(Fragment::Kind::A, decoder.sources.size(), types[1], kRows, width);
  product.bits = product.a.bits;
  decoder.source(operands[2], ptx::Type::B64);
  ArrayRef<ptx::Operand> controls = operands.drop_front(product.isSparse ? 5 : 3);
  decoder.source(controls[0], ptx::Type::Pred);
  const size_t before = decoder.sources.size();
  decoder.source(operands[0], ptx::Type::B32);
  decoder.destination(operands[0]);
  product.d = fragmentOf(Fragment::Kind::Sum, decoder.sources.size() - before, types[0], kRows,
                         product.shape.n);
  if (product.isSparse) {
    decoder.source(operands[3], ptx::Type::B32);
    product.selector = unsigned(operands[4].bits);
  }
  if (controls.size() >= 3) // factors of A and B: 1 or -1
    product.negates = (int32_t(controls[1].bits) < 0) != (int32_t(controls[2].bits) < 0);
  // Whether lines, not depth, are side by side in memory: of A if it is there, of B.
  if (controls.size() >= 4)
    product.bAlongLines = controls.back().bits != 0;
  if (controls.size() >= 5)
    product.aAlongLines = controls[3].bits != 0;
  decoder.micro.data = &product;
  meetAll(decoder, multiply);
}

void wait(Warp &warp, const Micro &micro) {
  warp.waitAt(micro, Cta::kWarpgroupBarriers + warp.index / kWarps, kWarps * kLanes, 0,
              warp.active);
}
void decodeWait(Decoder &decoder) { decoder.execute(wait, Flow::Control); }

void nothing(Warp &, const Micro &) {}
void decodeOrder(Decoder &decoder) { decoder.execute(nothing); }

constexpr Family kFamilies[] = {
    {ptx::Op::Wgmma, decodeGroupProduct},
    {ptx::Op::WgmmaSp, decodeGroupProduct},
    {ptx::Op::WgmmaSync, decodeOrder}, // fence, commit_group
    {ptx::Op::WgmmaWait, decodeWait},
};

} // namespace

ArrayRef<Family> warpgroups() { return kFamilies; }

} // namespace rubia::reference::interpreter
