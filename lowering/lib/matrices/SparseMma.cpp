// SPDX-License-Identifier: Apache-2.0
#include "lowering/lib/matrices/SparseMma.h"
#include "lowering/lib/instructions/LaneExchange.h"
#include "lowering/lib/matrices/NativeMma.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"

using namespace llvm;

namespace rubia::lowering {
namespace {

using Pair = std::array<Value *, 2>;

// The dense A of a sparse one. A stored word s, of lane s % 4 of four, becomes the dense words 2s
// and 2s + 1. PTX has dense word w in lane w % 4.
class DenseA {
public:
  DenseA(FunctionLowering &fn, const MmaForm &form, const MmaOperands &operands)
      : fn(fn), b(fn.builder()), form(form), operands(operands),
        thread(b.CreateAnd(fn.launch().laneIndex(), 3)) {}

  // The four registers of a tile. The registers of a chunk are for rows 0 to 7 and 8 to 15.
  MmaFragment tile(unsigned chunk) {
    MmaFragment registers(4, nullptr);
    for (unsigned half = 0; half < 2; ++half) {
      const Pair words = spread(operands.a[2 * chunk + half], nibbles(chunk, half));
      for (unsigned part = 0; part < 2; ++part) {
        const std::array sources = {2 * part, 2 * part, 2 * part + 1, 2 * part + 1};
        Value *isOdd = b.CreateTrunc(thread, b.getInt1Ty());
        registers[2 * part + half] = b.CreateSelect(isOdd, permuteQuads(fn, words[1], sources),
                                                    permuteQuads(fn, words[0], sources));
      }
    }
    return registers;
  }

private:
  // The metadata of the lane's stored word, from the lowest bit.
  Value *nibbles(unsigned chunk, unsigned half) {
    const unsigned elements = form.elementsPerRegister(MmaMatrix::A), first = 4 * chunk * elements;
    const MetadataPlace place = form.metadataOf(8 * half, first);
    const unsigned step = form.metadataOf(8 * half, first + elements).shift - place.shift;
    // tf32: the upper one of the bits that tell of its element.
    const unsigned below = place.width == 1 ? 1 : 0;
    Value *word =
        permuteQuads(fn, operands.metadata, {place.lane, place.lane, place.lane, place.lane});
    return b.CreateLShr(
        word, b.CreateAdd(b.CreateMul(thread, b.getInt32(step)), b.getInt32(place.shift - below)));
  }

  Value *bitsOf(Value *value, unsigned first, unsigned count) {
    return b.CreateAnd(b.CreateLShr(value, first), (1u << count) - 1);
  }

  Pair spread(Value *word, Value *nibbles) {
    switch (form.elementBits(MmaMatrix::A)) {
    case 32:
      return spreadSingle(word, nibbles);
    case 16:
      return spreadHalves(word, nibbles);
    default: // of 4 bits two stand together
      return {spreadBytes(word, nibbles, 0), spreadBytes(word, nibbles, 1)};
    }
  }

  // One of two.
  Pair spreadSingle(Value *word, Value *nibbles) {
    Value *isSecond = b.CreateICmpNE(b.CreateAnd(nibbles, 2), b.getInt32(0));
    Value *zero = b.getInt32(0);
    return {b.CreateSelect(isSecond, zero, word), b.CreateSelect(isSecond, word, zero)};
  }

  // Two of four.
  Pair spreadHalves(Value *word, Value *nibbles) {
    Type *i64 = b.getInt64Ty();
    auto placed = [&](unsigned index) {
      Value *element = b.CreateZExt(bitsOf(word, 16 * index, 16), i64);
      Value *position = b.CreateZExt(bitsOf(nibbles, 2 * index, 2), i64);
      return b.CreateShl(element, b.CreateShl(position, 4));
    };
    Value *four = b.CreateOr(placed(0), placed(1));
    return {b.CreateTrunc(four, b.getInt32Ty()),
            b.CreateTrunc(b.CreateLShr(four, 32), b.getInt32Ty())};
  }
  Value *spreadBytes(Value *word, Value *nibbles, unsigned pair) {
    auto placed = [&](unsigned index) {
      Value *position = bitsOf(nibbles, 2 * index, 2);
      return b.CreateShl(bitsOf(word, 8 * index, 8), b.CreateShl(position, 3));
    };
    return b.CreateOr(placed(2 * pair), placed(2 * pair + 1));
  }

  FunctionLowering &fn;
  IRBuilder<> &b;
  const MmaForm &form;
  const MmaOperands &operands;
  Value *thread; // of four
};

// What added to a magnitude, as bits, reaches the sign where the number is infinite or NaN.
struct SpecialNumbers {
  uint32_t signs, added;
};
SpecialNumbers specialsOf(ptx::Type type) {
  switch (type) {
  case ptx::Type::F16:
    return {0x80008000, 0x04000400};
  case ptx::Type::BF16:
    return {0x80008000, 0x00800080};
  case ptx::Type::E5M2:
    return {0x80808080, 0x04040404};
  case ptx::Type::E4M3:
    return {0x80808080, 0x01010101};
  default: // tf32
    return {0x80000000, 0x00800000};
  }
}

// Of a lane: whether a factor is infinite or NaN.
Value *hasSpecial(FunctionLowering &fn, ptx::Type type, ArrayRef<Value *> factors) {
  IRBuilder<> &b = fn.builder();
  const auto [signs, added] = specialsOf(type);
  Value *seen = b.getInt32(0);
  for (Value *word : factors)
    seen = b.CreateOr(seen, b.CreateAdd(b.CreateAnd(word, ~signs), b.getInt32(added)));
  return b.CreateICmpNE(b.CreateAnd(seen, signs), b.getInt32(0));
}

MmaFragment multiplyTiles(FunctionLowering &fn, const MmaForm &form, bool mayFlush,
                          const MmaOperands &operands, ArrayRef<MmaFragment> tiles) {
  IRBuilder<> &b = fn.builder();
  // A sum saturates once, behind all products.
  const bool saturates = form.satfinite;
  MmaFragment sums = operands.c;
  if (saturates)
    for (Value *&sum : sums)
      sum = Constant::getNullValue(sum->getType());
  for (auto [i, a] : enumerate(tiles)) {
    MmaForm dense = denseTileOf(form);
    // What lies between two tiles is f32.
    const bool isFloat = form.d != ptx::Type::S32;
    if (i > 0 && isFloat)
      dense.c = ptx::Type::F32;
    if (i + 1 < tiles.size() && isFloat)
      dense.d = ptx::Type::F32;
    sums = multiplyNatively(fn, dense, mayFlush, a, ArrayRef(operands.b).slice(2 * i, 2), sums);
  }
  if (saturates)
    for (auto [sum, c] : zip_equal(sums, operands.c))
      sum = b.CreateBinaryIntrinsic(Intrinsic::sadd_sat, sum, c);
  return sums;
}

} // namespace

MmaForm denseTileOf(const MmaForm &sparse) {
  MmaForm dense = sparse.kind == MmaKind::Wgmma ? sparse.tile() : sparse;
  dense.isSparse = dense.hasOrderedMetadata = dense.satfinite = false;
  dense.k = 8 * sparse.elementsPerRegister(MmaMatrix::A); // eight words
  return dense;
}

MmaFragment multiplySparse(FunctionLowering &fn, const MmaForm &form, bool mayFlush,
                           const MmaOperands &operands) {
  DenseA dense(fn, form, operands);
  SmallVector<MmaFragment, 2> tiles;
  for (unsigned chunk = 0; chunk < operands.a.size() / 2; ++chunk)
    tiles.push_back(dense.tile(chunk));
  const MmaFragment results = multiplyTiles(fn, form, mayFlush, operands, tiles);
  if (form.d == ptx::Type::S32)
    return results;
  // The zeros in place of what is not stored make NaNs of these.
  return redoInSoftware(fn, form, operands, results, hasSpecial(fn, form.b, operands.b));
}

} // namespace rubia::lowering
