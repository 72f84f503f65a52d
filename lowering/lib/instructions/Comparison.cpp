// SPDX-License-Identifier: Apache-2.0
// PTX ISA: comparison-and-selection-instructions, half-precision-comparison-instructions.
#include "lowering/lib/frame/FloatingPoint.h"
#include "lowering/lib/instructions/IntegerArithmetic.h"
#include "llvm/IR/Intrinsics.h"

using namespace llvm;

namespace rubia::ptx::Mod {
extern const Modifier And, Eq, Equ, Ge, Geu, Gt, Gtu, Hi, Hs, Le, Leu, Lo, Ls, Lt, Ltu, Nan, Ne,
    Neu, Num, Or, Xor;
} // namespace rubia::ptx::Mod

namespace rubia::lowering {

namespace {
// A comparison as LLVM has it for signed, unsigned and floating-point operands; BAD where PTX has
// none. lo, ls, hi, hs are unsigned whatever the type says.
struct Comparison {
  const ptx::Modifier &mod;
  CmpInst::Predicate signedInteger, unsignedInteger, floating;
};

constexpr auto kNoInteger = CmpInst::BAD_ICMP_PREDICATE;
constexpr auto kNoFloat = CmpInst::BAD_FCMP_PREDICATE;

constexpr Comparison kComparisons[] = {
    {ptx::Mod::Eq, CmpInst::ICMP_EQ, CmpInst::ICMP_EQ, CmpInst::FCMP_OEQ},
    {ptx::Mod::Ne, CmpInst::ICMP_NE, CmpInst::ICMP_NE, CmpInst::FCMP_ONE},
    {ptx::Mod::Lt, CmpInst::ICMP_SLT, CmpInst::ICMP_ULT, CmpInst::FCMP_OLT},
    {ptx::Mod::Le, CmpInst::ICMP_SLE, CmpInst::ICMP_ULE, CmpInst::FCMP_OLE},
    {ptx::Mod::Gt, CmpInst::ICMP_SGT, CmpInst::ICMP_UGT, CmpInst::FCMP_OGT},
    {ptx::Mod::Ge, CmpInst::ICMP_SGE, CmpInst::ICMP_UGE, CmpInst::FCMP_OGE},
    {ptx::Mod::Lo, CmpInst::ICMP_ULT, CmpInst::ICMP_ULT, kNoFloat},
    {ptx::Mod::Ls, CmpInst::ICMP_ULE, CmpInst::ICMP_ULE, kNoFloat},
    {ptx::Mod::Hi, CmpInst::ICMP_UGT, CmpInst::ICMP_UGT, kNoFloat},
    {ptx::Mod::Hs, CmpInst::ICMP_UGE, CmpInst::ICMP_UGE, kNoFloat},
    {ptx::Mod::Equ, kNoInteger, kNoInteger, CmpInst::FCMP_UEQ},
    {ptx::Mod::Neu, kNoInteger, kNoInteger, CmpInst::FCMP_UNE},
    {ptx::Mod::Ltu, kNoInteger, kNoInteger, CmpInst::FCMP_ULT},
    {ptx::Mod::Leu, kNoInteger, kNoInteger, CmpInst::FCMP_ULE},
    {ptx::Mod::Gtu, kNoInteger, kNoInteger, CmpInst::FCMP_UGT},
    {ptx::Mod::Geu, kNoInteger, kNoInteger, CmpInst::FCMP_UGE},
    {ptx::Mod::Num, kNoInteger, kNoInteger, CmpInst::FCMP_ORD},
    {ptx::Mod::Nan, kNoInteger, kNoInteger, CmpInst::FCMP_UNO},
};
} // namespace

// a op b as an i1, or a vector of two for packed types. `type` is that of the sources. bf16 is
// compared as f32.
static Expected<Value *> compare(FunctionLowering &fn, const ptx::Instruction &inst,
                                 ptx::Type type) {
  IRBuilder<> &b = fn.builder();
  Value *x = widenBf16(b, flushedSource(fn, inst, 0));
  Value *y = widenBf16(b, flushedSource(fn, inst, 1));
  bool isFloat = x->getType()->isFPOrFPVectorTy();
  for (const Comparison &row : kComparisons) {
    if (!inst.spelling->has(row.mod))
      continue;
    CmpInst::Predicate predicate = isFloat          ? row.floating
                                   : isSigned(type) ? row.signedInteger
                                                    : row.unsignedInteger;
    if (predicate == kNoInteger || predicate == kNoFloat)
      break;
    return isFloat ? b.CreateFCmp(predicate, x, y) : b.CreateICmp(predicate, x, y);
  }
  return fn.malformed(inst, "no such comparison of this type: " + inst.spelling->text);
}

// `value`, each element of it, combined with the predicate operand by .and, .or or .xor.
static Value *combine(FunctionLowering &fn, const ptx::Instruction &inst, Value *value,
                      Value *predicate) {
  IRBuilder<> &b = fn.builder();
  if (predicate && value->getType()->isVectorTy())
    predicate = b.CreateVectorSplat(2, predicate);
  if (inst.spelling->has(ptx::Mod::And))
    return b.CreateAnd(value, predicate);
  if (inst.spelling->has(ptx::Mod::Or))
    return b.CreateOr(value, predicate);
  if (inst.spelling->has(ptx::Mod::Xor))
    return b.CreateXor(value, predicate);
  return value;
}

static Value *predicateOperand(FunctionLowering &fn) {
  return fn.hasSource(2) ? fn.source(2, ptx::Type::Pred) : nullptr;
}

// setp.cmp{.bool}{.ftz}.type p{|q}, a, b{, c}   PTX ISA: comparison-and-selection-instructions-setp
// p = (a cmp b) bool c, q = !(a cmp b) bool c. Of packed types p is for the low halves and q for
// the high ones. PTX ISA: half-precision-comparison-instructions-setp
Expected<Value *> lowerSetp(FunctionLowering &fn, const ptx::Instruction &inst) {
  Expected<Value *> result = compare(fn, inst, inst.spelling->type());
  if (!result)
    return result;
  Value *predicate = predicateOperand(fn);
  if ((*result)->getType()->isVectorTy()) {
    Value *halves = combine(fn, inst, *result, predicate);
    fn.setDestination(1, fn.builder().CreateExtractElement(halves, uint64_t(1)));
    return fn.builder().CreateExtractElement(halves, uint64_t(0));
  }
  if (fn.hasDestination(1))
    fn.setDestination(1, combine(fn, inst, fn.builder().CreateNot(*result), predicate));
  return combine(fn, inst, *result, predicate);
}

// set.cmp{.bool}{.ftz}.dtype.stype d, a, b{, c}
// PTX ISA: comparison-and-selection-instructions-set, half-precision-comparison-instructions-set
// All ones, or 1.0 for a floating-point result; for packed sources in each half.
Expected<Value *> lowerSet(FunctionLowering &fn, const ptx::Instruction &inst) {
  IRBuilder<> &b = fn.builder();
  Expected<Value *> result = compare(fn, inst, inst.spelling->type(1));
  if (!result)
    return result;
  Value *holds = combine(fn, inst, *result, predicateOperand(fn));
  Type *type = fn.typeOf(fn.destinationType());
  if (type->isIntegerTy())
    return b.CreateSExt(
        holds, holds->getType()->isVectorTy() ? FixedVectorType::get(b.getInt16Ty(), 2) : type);
  return b.CreateSelect(holds, ConstantFP::get(type, 1.0), ConstantFP::get(type, 0.0));
}

// selp.type d, a, b, c   PTX ISA: comparison-and-selection-instructions-selp
Expected<Value *> lowerSelp(FunctionLowering &fn, const ptx::Instruction &) {
  return fn.builder().CreateSelect(fn.source(2, ptx::Type::Pred), fn.source(0), fn.source(1));
}

// slct{.ftz}.type.(s32|f32) d, a, b, c   PTX ISA: comparison-and-selection-instructions-slct
// a if c >= 0, which -0 is and NaN is not. With .ftz a negative denormal is -0.
Expected<Value *> lowerSlct(FunctionLowering &fn, const ptx::Instruction &inst) {
  IRBuilder<> &b = fn.builder();
  Value *selector = flushedSource(fn, inst, 2);
  Value *zero = Constant::getNullValue(selector->getType());
  Value *first = selector->getType()->isFloatTy() ? b.CreateFCmpOGE(selector, zero)
                                                  : b.CreateICmpSGE(selector, zero);
  return b.CreateSelect(first, fn.source(0), fn.source(1));
}

} // namespace rubia::lowering
