// SPDX-License-Identifier: Apache-2.0
// ldmatrix, stmatrix, movmatrix: 8x8 matrices of 16-bit elements between shared memory and the
// registers of a warp. PTX ISA: warp-level-matrix-instructions-ldmatrix, -stmatrix, -movmatrix.
//
// Lane 8 i + r names row r of matrix i, 16 bytes. In a register of lane 4 g + t are the two
// elements at row g, columns 2 t and 2 t + 1; with .trans those at rows 2 t and 2 t + 1, column g.
// So a lane takes the addresses of the rows that it needs from the lanes that have them, and reads
// or writes a word, or two halves, of its own.
#include "lowering/lib/frame/FunctionLowering.h"
#include "lowering/lib/frame/UnitLowering.h"
#include "lowering/lib/instructions/LaneExchange.h"
#include "lowering/lib/matrices/MatrixLoads.h"

using namespace llvm;

namespace rubia::ptx::Mod {
extern const Modifier Trans, X2, X4;
} // namespace rubia::ptx::Mod

namespace rubia::lowering {
namespace {

unsigned matrixCount(const ptx::Spelling &spelling) {
  return spelling.has(ptx::Mod::X4) ? 4 : spelling.has(ptx::Mod::X2) ? 2 : 1;
}

// A pointer that another lane has.
Value *pullPointer(FunctionLowering &fn, Value *pointer, Value *lane) {
  IRBuilder<> &b = fn.builder();
  const unsigned bits = fn.module().getDataLayout().getPointerTypeSizeInBits(pointer->getType());
  Value *address = b.CreatePtrToInt(pointer, b.getIntNTy(bits));
  Value *pulled = b.getIntN(bits, 0);
  for (unsigned first = 0; first < bits; first += 32) {
    Value *word = b.CreateTrunc(b.CreateLShr(address, first), b.getInt32Ty());
    word = b.CreateZExt(pullFromLane(fn, word, lane), b.getIntNTy(bits));
    pulled = first ? b.CreateOr(pulled, b.CreateShl(word, first)) : word;
  }
  return b.CreateIntToPtr(pulled, pointer->getType());
}

// Where this lane's part of a matrix is: one place of 32 bits, or with .trans two of 16.
SmallVector<Value *, 2> placesOf(FunctionLowering &fn, Value *rows, unsigned matrix,
                                 bool transposed) {
  IRBuilder<> &b = fn.builder();
  Value *lane = fn.launch().laneIndex();
  Value *group = b.CreateLShr(lane, 2), *inGroup = b.CreateAnd(lane, 3);
  Value *row = transposed ? b.CreateShl(inGroup, 1) : group;
  Value *column = transposed ? group : b.CreateShl(inGroup, 1);
  SmallVector<Value *, 2> places;
  for (unsigned i = 0; i < (transposed ? 2 : 1); ++i) {
    Value *from = b.CreateOr(row, b.getInt32(8 * matrix + i));
    places.push_back(
        b.CreateGEP(b.getInt8Ty(), pullPointer(fn, rows, from), b.CreateShl(column, 1)));
  }
  return places;
}

// The rows' address that this lane names, in shared memory: a generic address points there too.
Value *rowPointer(FunctionLowering &fn, const ptx::Operand &address, ptx::StateSpace space) {
  Value *pointer = fn.pointer(address, space);
  return pointer ? fn.intoShared(pointer) : nullptr;
}

} // namespace

// ldmatrix.sync.aligned.m8n8.num{.trans}{.shared{::cta}}.b16 r, [p]
Expected<Value *> lowerLdmatrix(FunctionLowering &fn, const ptx::Instruction &inst) {
  const ptx::Spelling &spelling = *inst.spelling;
  const unsigned count = matrixCount(spelling);
  Value *rows = rowPointer(fn, fn.sourceOperand(0), spelling.space());
  if (!rows)
    return nullptr;
  auto destinations = fn.elementsOf(inst.operands[0], count);
  if (destinations.size() != count)
    return fn.malformed(inst, "a register for each matrix is needed");

  SmallVector<Value *, 4> values =
      loadMatrices(fn, fn.sharedAddress(rows), count, spelling.has(ptx::Mod::Trans));
  // All is read before any register changes, since one may hold the address.
  for (auto [destination, value] : zip_equal(destinations, values))
    fn.write(destination, value, ptx::Type::B32);
  return nullptr;
}

// stmatrix.sync.aligned.m8n8.num{.trans}{.shared{::cta}}.b16 [p], r
Expected<Value *> lowerStmatrix(FunctionLowering &fn, const ptx::Instruction &inst) {
  IRBuilder<> &b = fn.builder();
  const ptx::Spelling &spelling = *inst.spelling;
  const unsigned count = matrixCount(spelling);
  Value *rows = rowPointer(fn, fn.sourceOperand(0), spelling.space());
  if (!rows)
    return nullptr;
  auto sources = fn.elementsOf(fn.sourceOperand(1), count);
  if (sources.size() != count)
    return fn.malformed(inst, "a register for each matrix is needed");

  for (unsigned matrix = 0; matrix < count; ++matrix) {
    Value *value = fn.read(sources[matrix], ptx::Type::B32);
    auto places = placesOf(fn, rows, matrix, spelling.has(ptx::Mod::Trans));
    if (places.size() == 1) {
      b.CreateAlignedStore(value, places[0], Align(4));
      continue;
    }
    b.CreateAlignedStore(b.CreateTrunc(value, b.getInt16Ty()), places[0], Align(2));
    b.CreateAlignedStore(b.CreateTrunc(b.CreateLShr(value, 16), b.getInt16Ty()), places[1],
                         Align(2));
  }
  return nullptr;
}

// movmatrix.sync.aligned.m8n8.trans.b16 d, a
// The elements at row g, columns 2 t and 2 t + 1 come from rows 2 t and 2 t + 1, column g: from the
// halves that g's parity names of registers in lanes 8 t + g / 2 and 4 beyond.
Expected<Value *> lowerMovmatrix(FunctionLowering &fn, const ptx::Instruction &) {
  IRBuilder<> &b = fn.builder();
  Value *value = fn.source(0), *lane = fn.launch().laneIndex();
  Value *from = b.CreateOr(b.CreateShl(b.CreateAnd(lane, 3), 3), b.CreateLShr(lane, 3));
  Value *first = pullFromLane(fn, value, from);
  Value *second = pullFromLane(fn, value, b.CreateOr(from, 4));
  Value *isOdd = b.CreateICmpNE(b.CreateAnd(lane, 4), b.getInt32(0));
  Value *low = b.CreateOr(b.CreateAnd(first, 0xffff), b.CreateShl(second, 16));
  Value *high = b.CreateOr(b.CreateLShr(first, 16), b.CreateAnd(second, 0xffff0000));
  return b.CreateSelect(isOdd, high, low);
}

} // namespace rubia::lowering
