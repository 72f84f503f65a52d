// SPDX-License-Identifier: Apache-2.0
// wgmma: products of a warpgroup. PTX ISA: asynchronous-warpgroup-level-matrix-instructions.
//
// Each of its four warps has 16 of the 64 rows of D, and all of its columns: tiles of m16n8, whose
// fragments are those of mma. A lane reads its part of A and B from shared memory itself.
//
// The product is complete where the instruction stands. That is sound: until wgmma.wait_group a
// program may neither change A and B nor touch D, and what was stored before wgmma.fence or
// fence.proxy.async is there. Behind the wait one thread may say for its warpgroup that A and B can
// be overwritten, so the four warps meet there (Barriers.cpp).
#include "lowering/lib/matrices/MatrixDescriptor.h"
#include "lowering/lib/matrices/MatrixLoads.h"
#include "lowering/lib/matrices/Mma.h"

using namespace llvm;

namespace rubia::lowering {
namespace {

// What stands behind a, b and, of a sparse form, e and f.
struct Controls {
  const ptx::Operand *scaleD;
  bool negates = false; // the products
  bool alongLinesA = false, alongLinesB = false;

  Controls(const ptx::Instruction &inst, const MmaForm &form) {
    ArrayRef<ptx::Operand> operands(inst.operands);
    operands = operands.drop_front(form.isSparse ? 5 : 3);
    scaleD = &operands[0];
    if (operands.size() >= 3) // signs of A and B
      negates = (int64_t(operands[1].bits) < 0) != (int64_t(operands[2].bits) < 0);
    if (operands.size() >= 4)
      alongLinesB = operands.back().bits != 0;
    if (operands.size() >= 5)
      alongLinesA = operands[3].bits != 0;
  }
};

// The sign of each element of a register.
uint32_t signBits(const MmaForm &form) {
  switch (form.elementBits(MmaMatrix::A)) {
  case 8:
    return 0x80808080;
  case 16:
    return 0x80008000;
  default:
    return 0x80000000;
  }
}

// A and B of a warp, in registers.
class Factors {
public:
  Factors(FunctionLowering &fn, const ptx::Instruction &inst, const MmaForm &form,
          const Controls &controls)
      : fn(fn), b(fn.builder()), inst(inst), form(form), controls(controls),
        // Codegen knows ldmatrix, and reads what it reads in the unit's layout (NativeFragments.h).
        byMatrices(takesUnit(fn, form) && !form.isSparse) {}

  MmaFragment ofA() {
    const ptx::Operand &operand = inst.operands[1];
    MmaFragment registers;
    if (operand.kind == ptx::Operand::Kind::Register) {
      DescribedMatrix matrix(fn, fn.read(operand, ptx::Type::B64), controls.alongLinesA);
      Value *warp = b.CreateAnd(b.CreateLShr(fn.launch().linearThreadIndex(), 5), 3);
      // Register r has rows 0 to 7 or 8 to 15 of the warp's, as r is even or odd.
      registers = groups(matrix, controls.alongLinesA, b.CreateShl(warp, 1), 2, false);
    } else {
      registers = readFragment(fn, form, MmaMatrix::A, operand);
    }
    if (controls.negates)
      for (Value *&reg : registers)
        reg = b.CreateXor(reg, signBits(form));
    return registers;
  }

  // B of all tiles, one after the other.
  MmaFragment ofAllTiles() {
    DescribedMatrix matrix(fn, fn.read(inst.operands[2], ptx::Type::B64), controls.alongLinesB);
    MmaFragment registers;
    const unsigned tiles = form.n / 8;
    for (unsigned first = 0; first < tiles; first += 2)
      registers.append(groups(matrix, controls.alongLinesB, b.getInt32(first),
                              std::min(2u, tiles - first), true));
    return registers;
  }

private:
  // Core matrices of some groups of lines. `chunksFirst`: those of a group follow each other.
  MmaFragment groups(DescribedMatrix &matrix, bool alongLines, Value *first, unsigned count,
                     bool chunksFirst) {
    const unsigned chunks = chunksFirst && form.isSparse ? 4 : 2;
    MmaFragment registers;
    if (!byMatrices) {
      for (unsigned i = 0; i < count * chunks; ++i) {
        const unsigned group = chunksFirst ? i / chunks : i % count;
        registers.push_back(matrix.read(b.CreateAdd(first, b.getInt32(group)),
                                        chunksFirst ? i % chunks : i / count));
      }
      return registers;
    }
    // Lane 8 i + r names row r of matrix i.
    Value *lane = fn.launch().laneIndex();
    Value *low = b.CreateAnd(b.CreateLShr(lane, 3), 1), *high = b.CreateLShr(lane, 4);
    Value *group = b.CreateAdd(first, chunksFirst ? high : low);
    Value *row = matrix.rowAddress(group, chunksFirst ? low : high);
    // A descriptor's address is one of the CTA, also in a cluster.
    Value *address = fn.sharedAddress(fn.toPointer(row, ptx::StateSpace::Shared));
    return MmaFragment(loadMatrices(fn, address, count * chunks, alongLines));
  }

  FunctionLowering &fn;
  IRBuilder<> &b;
  const ptx::Instruction &inst;
  const MmaForm &form;
  const Controls &controls;
  const bool byMatrices;
};

Expected<Value *> multiply(FunctionLowering &fn, const ptx::Instruction &inst) {
  IRBuilder<> &b = fn.builder();
  std::optional<MmaForm> form = MmaForm::of(inst);
  if (!form)
    return fn.malformed(inst, "a shape is needed");
  const Controls controls(inst, *form);
  const MmaForm tile = form->tile();
  Factors factors(fn, inst, *form, controls);
  MmaOperands operands;
  operands.a = factors.ofA();
  if (form->isSparse)
    operands.metadata = fn.read(inst.operands[3], ptx::Type::B32);
  const MmaFragment ofB = factors.ofAllTiles();
  Value *takesD = fn.read(*controls.scaleD, ptx::Type::Pred);
  const MmaFragment before = readFragment(fn, *form, MmaMatrix::D, inst.operands[0]);
  MmaFragment after;
  auto partOf = [](const MmaFragment &all, unsigned index, unsigned count) {
    return MmaFragment(ArrayRef(all).slice(index * count, count));
  };
  for (unsigned index = 0; index < form->n / 8; ++index) {
    operands.b = partOf(ofB, index, tile.registers(MmaMatrix::B));
    operands.c = partOf(before, index, tile.registers(MmaMatrix::D));
    for (Value *&value : operands.c)
      value = b.CreateSelect(takesD, value, Constant::getNullValue(value->getType()));
    after.append(multiplySomehow(fn, *form, operands));
  }
  writeFragment(fn, *form, MmaMatrix::D, inst.operands[0], after);
  return nullptr;
}

} // namespace

// wgmma.mma_async.sync.aligned.shape.dtype.atype.btype d, a, b, scale-d, imm-scale-a, ...
Expected<Value *> lowerWgmma(FunctionLowering &fn, const ptx::Instruction &inst) {
  return multiply(fn, inst);
}

// wgmma.mma_async.sp.sync.aligned.shape.dtype.atype.btype d, a, b, e, f, scale-d, ...
Expected<Value *> lowerWgmmaSp(FunctionLowering &fn, const ptx::Instruction &inst) {
  return multiply(fn, inst);
}

// wgmma.fence, wgmma.commit_group: nothing is on its way.
Expected<Value *> lowerWgmmaSync(FunctionLowering &, const ptx::Instruction &) { return nullptr; }

} // namespace rubia::lowering
