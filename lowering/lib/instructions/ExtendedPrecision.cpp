// SPDX-License-Identifier: Apache-2.0
// PTX ISA: extended-precision-arithmetic-instructions: additions, subtractions and products whose
// carry goes through CC.CF. As on NVIDIA GPUs, and unlike the manual's text, subtractions add the
// complement: CC.CF is the carry of a + ~b + 1, which is 1 if nothing is borrowed. It matters where
// a chain mixes both, as nvcc's 128-bit division does (docs/ptxas-differences.md).
#include "lowering/lib/instructions/IntegerArithmetic.h"
#include "llvm/IR/Intrinsics.h"

using namespace llvm;

namespace rubia::ptx::Mod {
extern const Modifier Cc, Hi;
} // namespace rubia::ptx::Mod

namespace rubia::lowering {

// x + y + carry, or x - y - carry with the borrow for a carry; `carry` may be null.
struct Step {
  Value *result, *carry;
};
static Step step(IRBuilder<> &b, Intrinsic::ID withOverflow, Value *x, Value *y, Value *carry) {
  Value *first = b.CreateBinaryIntrinsic(withOverflow, x, y);
  Value *result = b.CreateExtractValue(first, 0), *carryOut = b.CreateExtractValue(first, 1);
  if (!carry)
    return {result, carryOut};
  Value *second = b.CreateBinaryIntrinsic(withOverflow, result, b.CreateZExt(carry, x->getType()));
  return {b.CreateExtractValue(second, 0), b.CreateOr(carryOut, b.CreateExtractValue(second, 1))};
}

// x + y + carry; `carry` may be null. Writes CC.CF if `setsCarry`.
static Value *add(FunctionLowering &fn, Value *x, Value *y, Value *carry, bool setsCarry) {
  Step sum = step(fn.builder(), Intrinsic::uadd_with_overflow, x, y, carry);
  if (setsCarry)
    fn.setConditionCode(sum.carry);
  return sum.result;
}

// x + ~y + carry; without `carry`, x + ~y + 1. Writes CC.CF if `setsCarry`.
static Value *subtract(FunctionLowering &fn, Value *x, Value *y, Value *carry, bool setsCarry) {
  IRBuilder<> &b = fn.builder();
  Step difference =
      step(b, Intrinsic::usub_with_overflow, x, y, carry ? b.CreateNot(carry) : nullptr);
  if (setsCarry)
    fn.setConditionCode(b.CreateNot(difference.carry));
  return difference.result;
}

// add.cc.type d, a, b   PTX ISA: extended-precision-arithmetic-instructions-add-cc
Expected<Value *> lowerAddCc(FunctionLowering &fn, const ptx::Instruction &) {
  return add(fn, fn.source(0), fn.source(1), nullptr, true);
}

// addc{.cc}.type d, a, b   PTX ISA: extended-precision-arithmetic-instructions-addc
Expected<Value *> lowerAddc(FunctionLowering &fn, const ptx::Instruction &inst) {
  return add(fn, fn.source(0), fn.source(1), fn.conditionCode(), inst.spelling->has(ptx::Mod::Cc));
}

// sub.cc.type d, a, b   PTX ISA: extended-precision-arithmetic-instructions-sub-cc
Expected<Value *> lowerSubCc(FunctionLowering &fn, const ptx::Instruction &) {
  return subtract(fn, fn.source(0), fn.source(1), nullptr, true);
}

// subc{.cc}.type d, a, b   PTX ISA: extended-precision-arithmetic-instructions-subc
Expected<Value *> lowerSubc(FunctionLowering &fn, const ptx::Instruction &inst) {
  return subtract(fn, fn.source(0), fn.source(1), fn.conditionCode(),
                  inst.spelling->has(ptx::Mod::Cc));
}

static Value *multiplyAdd(FunctionLowering &fn, const ptx::Instruction &inst, Value *carry,
                          bool setsCarry) {
  IRBuilder<> &b = fn.builder();
  Value *x = fn.source(0), *y = fn.source(1);
  Value *product = inst.spelling->has(ptx::Mod::Hi)
                       ? highProduct(b, x, y, isSigned(inst.spelling->type()))
                       : b.CreateMul(x, y);
  return add(fn, product, fn.source(2), carry, setsCarry);
}

// mad.(lo|hi).cc.type d, a, b, c   PTX ISA: extended-precision-arithmetic-instructions-mad-cc
// The carry is that of the addition.
Expected<Value *> lowerMadCc(FunctionLowering &fn, const ptx::Instruction &inst) {
  return multiplyAdd(fn, inst, nullptr, true);
}

// madc.(lo|hi){.cc}.type d, a, b, c   PTX ISA: extended-precision-arithmetic-instructions-madc
Expected<Value *> lowerMadc(FunctionLowering &fn, const ptx::Instruction &inst) {
  return multiplyAdd(fn, inst, fn.conditionCode(), inst.spelling->has(ptx::Mod::Cc));
}

} // namespace rubia::lowering
