// PTX ISA: extended-precision-arithmetic-instructions: additions, subtractions and products whose
// carry goes through CC.CF. Subtraction's borrow is kept there as it is, not inverted.
#include "lowering/lib/IntegerArithmetic.h"
#include "llvm/IR/Intrinsics.h"

using namespace llvm;

namespace rubia::lowering {

// x + y + carry, or x - y - carry; `carry` may be null. Writes CC.CF if `setsCarry`.
static Value *chain(FunctionLowering &fn, Intrinsic::ID withOverflow, Value *x, Value *y,
                    Value *carry, bool setsCarry) {
  IRBuilder<> &b = fn.builder();
  Value *first = b.CreateBinaryIntrinsic(withOverflow, x, y);
  Value *result = b.CreateExtractValue(first, 0), *carryOut = b.CreateExtractValue(first, 1);
  if (carry) {
    Value *second =
        b.CreateBinaryIntrinsic(withOverflow, result, b.CreateZExt(carry, x->getType()));
    result = b.CreateExtractValue(second, 0);
    carryOut = b.CreateOr(carryOut, b.CreateExtractValue(second, 1));
  }
  if (setsCarry)
    fn.setConditionCode(carryOut);
  return result;
}

// add.cc.type d, a, b   PTX ISA: extended-precision-arithmetic-instructions-add-cc
Expected<Value *> lowerAddCc(FunctionLowering &fn, const ptx::Instruction &) {
  return chain(fn, Intrinsic::uadd_with_overflow, fn.source(0), fn.source(1), nullptr, true);
}

// addc{.cc}.type d, a, b   PTX ISA: extended-precision-arithmetic-instructions-addc
Expected<Value *> lowerAddc(FunctionLowering &fn, const ptx::Instruction &inst) {
  return chain(fn, Intrinsic::uadd_with_overflow, fn.source(0), fn.source(1), fn.conditionCode(),
               inst.spelling->has(ptx::Mod::Cc));
}

// sub.cc.type d, a, b   PTX ISA: extended-precision-arithmetic-instructions-sub-cc
Expected<Value *> lowerSubCc(FunctionLowering &fn, const ptx::Instruction &) {
  return chain(fn, Intrinsic::usub_with_overflow, fn.source(0), fn.source(1), nullptr, true);
}

// subc{.cc}.type d, a, b   PTX ISA: extended-precision-arithmetic-instructions-subc
Expected<Value *> lowerSubc(FunctionLowering &fn, const ptx::Instruction &inst) {
  return chain(fn, Intrinsic::usub_with_overflow, fn.source(0), fn.source(1), fn.conditionCode(),
               inst.spelling->has(ptx::Mod::Cc));
}

static Value *multiplyAdd(FunctionLowering &fn, const ptx::Instruction &inst, Value *carry,
                          bool setsCarry) {
  IRBuilder<> &b = fn.builder();
  Value *x = fn.source(0), *y = fn.source(1);
  Value *product = inst.spelling->has(ptx::Mod::Hi)
                       ? highProduct(b, x, y, isSigned(inst.spelling->type()))
                       : b.CreateMul(x, y);
  return chain(fn, Intrinsic::uadd_with_overflow, product, fn.source(2), carry, setsCarry);
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
