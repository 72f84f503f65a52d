// SPDX-License-Identifier: Apache-2.0
#include "lowering/lib/matrices/MatrixDescriptor.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"

using namespace llvm;

namespace rubia::lowering {

// PTX ISA: wgmma-mma-async: the descriptor is the same in all threads of the warpgroup. Two warps
// in a wave are of one warpgroup.
static Value *sameInWave(IRBuilder<> &b, Value *word) {
  if (isa<Constant>(word))
    return word;
  return b.CreateIntrinsic(Intrinsic::amdgcn_readfirstlane, {word->getType()}, {word});
}

DescribedMatrix::DescribedMatrix(FunctionLowering &fn, Value *descriptor, bool alongLines)
    : fn(fn), b(fn.builder()), alongLines(alongLines) {
  Value *low = sameInWave(b, b.CreateTrunc(descriptor, b.getInt32Ty()));
  Value *high = sameInWave(b, b.CreateTrunc(b.CreateLShr(descriptor, 32), b.getInt32Ty()));
  auto bytes = [&](Value *word, unsigned first) {
    return b.CreateShl(b.CreateAnd(b.CreateLShr(word, first), 0x3fff), 4);
  };
  leading = bytes(low, 16);
  stride = bytes(high, 0);
  base = b.CreateAnd(b.CreateLShr(high, 17), 7);
  // Rows of 16 bytes without a swizzle, else of 128, 64 or 32.
  Value *mode = b.CreateLShr(high, 30);
  isPlain = b.CreateICmpEQ(mode, b.getInt32(0));
  Value *halvings = b.CreateSelect(isPlain, b.getInt32(4), mode);
  rowBytes = b.CreateLShr(b.getInt32(256), halvings);
  pieceMask = b.CreateSub(b.CreateLShr(b.getInt32(16), halvings), b.getInt32(1));
  groupShift = b.CreateSub(b.getInt32(4), halvings);

  Value *lane = fn.launch().laneIndex();
  Value *line = b.CreateLShr(lane, 2), *inDepth = b.CreateAnd(lane, 3);
  Value *row = alongLines ? b.CreateShl(inDepth, 1) : line;
  Value *inRow = alongLines ? b.CreateShl(line, 1) : b.CreateShl(inDepth, 2);
  start = bytes(low, 0);
  own = b.CreateAdd(start, b.CreateAdd(b.CreateMul(row, rowBytes), inRow));
}

// Of a core matrix, as far from the first one. Those side by side are of neighbouring lines or of
// more depth.
Value *DescribedMatrix::placeOf(Value *group, Value *chunk) {
  Value *along = alongLines ? group : chunk;
  Value *across = alongLines ? chunk : group;
  Value *besides = b.CreateShl(b.CreateAnd(along, pieceMask), 4);
  Value *farther = b.CreateLShr(along, groupShift);
  // Without a swizzle the two strides change places.
  Value *fartherStride = alongLines ? b.CreateSelect(isPlain, stride, leading) : leading;
  Value *acrossStride = alongLines ? b.CreateSelect(isPlain, leading, stride) : stride;
  return b.CreateAdd(
      besides, b.CreateAdd(b.CreateMul(farther, fartherStride), b.CreateMul(across, acrossStride)));
}

Value *DescribedMatrix::swizzled(Value *place) {
  Value *piece = b.CreateAnd(b.CreateSub(b.CreateLShr(place, 7), base), pieceMask);
  return b.CreateXor(place, b.CreateShl(piece, 4));
}

Value *DescribedMatrix::load(unsigned bits, Value *place) {
  Value *pointer = fn.toPointer(swizzled(place), ptx::StateSpace::Shared);
  Value *value = b.CreateAlignedLoad(b.getIntNTy(bits), pointer, Align(bits / 8));
  // Memory that was never written is any value.
  return b.CreateZExt(b.CreateFreeze(value), b.getInt32Ty());
}

Value *DescribedMatrix::read(Value *group, unsigned chunk) {
  Value *place = b.CreateAdd(own, placeOf(group, b.getInt32(chunk)));
  if (!alongLines)
    return load(32, place);
  Value *next = load(16, b.CreateAdd(place, rowBytes));
  return b.CreateOr(load(16, place), b.CreateShl(next, 16));
}

Value *DescribedMatrix::rowAddress(Value *group, Value *chunk) {
  Value *row = b.CreateMul(b.CreateAnd(fn.launch().laneIndex(), 7), rowBytes);
  return swizzled(b.CreateAdd(b.CreateAdd(start, row), placeOf(group, chunk)));
}

} // namespace rubia::lowering
