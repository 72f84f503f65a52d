// SPDX-License-Identifier: Apache-2.0
// PTX ISA: logic-and-shift-instructions, and prmt. Shift amounts beyond the width are defined: they
// are clamped, or wrapped where the instruction says so.
#include "lowering/lib/instructions/IntegerArithmetic.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"

using namespace llvm;

namespace rubia::ptx::Mod {
extern const Modifier B4e, Ecl, Ecr, F4e, L, Or, Rc16, Rc8, Wrap;
} // namespace rubia::ptx::Mod

namespace rubia::lowering {

// and.type d, a, b   PTX ISA: logic-and-shift-instructions-and
Expected<Value *> lowerAnd(FunctionLowering &fn, const ptx::Instruction &) {
  return fn.builder().CreateAnd(fn.source(0), fn.source(1));
}

// or.type d, a, b   PTX ISA: logic-and-shift-instructions-or
Expected<Value *> lowerOr(FunctionLowering &fn, const ptx::Instruction &) {
  return fn.builder().CreateOr(fn.source(0), fn.source(1));
}

// xor.type d, a, b   PTX ISA: logic-and-shift-instructions-xor
Expected<Value *> lowerXor(FunctionLowering &fn, const ptx::Instruction &) {
  return fn.builder().CreateXor(fn.source(0), fn.source(1));
}

// not.type d, a   PTX ISA: logic-and-shift-instructions-not
Expected<Value *> lowerNot(FunctionLowering &fn, const ptx::Instruction &) {
  return fn.builder().CreateNot(fn.source(0));
}

// cnot.type d, a   PTX ISA: logic-and-shift-instructions-cnot
// 1 if a is 0, else 0.
Expected<Value *> lowerCnot(FunctionLowering &fn, const ptx::Instruction &) {
  IRBuilder<> &b = fn.builder();
  return b.CreateZExt(b.CreateIsNull(fn.source(0)), fn.source(0)->getType());
}

// The function of two inputs whose truth table is `table`: bit 2*x + y of it for inputs x and y.
static Value *function2(IRBuilder<> &b, unsigned table, Value *x, Value *y) {
  Type *type = x->getType();
  if (table & 8) // half of the functions are the complements of the others
    return b.CreateNot(function2(b, table ^ 15, x, y));
  switch (table) {
  case 0:
    return Constant::getNullValue(type);
  case 1:
    return b.CreateNot(b.CreateOr(x, y));
  case 2:
    return b.CreateAnd(b.CreateNot(x), y);
  case 3:
    return b.CreateNot(x);
  case 4:
    return b.CreateAnd(x, b.CreateNot(y));
  case 5:
    return b.CreateNot(y);
  case 6:
    return b.CreateXor(x, y);
  default:
    return b.CreateNot(b.CreateAnd(x, y));
  }
}

// The function of three inputs: bit 4*x + 2*y + z of `table`. Decomposed by x; LLVM finds v_bfi,
// v_and_or, v_xor3 or v_bitop3.
static Value *function3(IRBuilder<> &b, unsigned table, Value *x, Value *y, Value *z) {
  unsigned whenClear = table & 15, whenSet = table >> 4;
  if (whenClear == whenSet)
    return function2(b, whenSet, y, z);
  if (whenClear == (whenSet ^ 15))
    return b.CreateXor(x, function2(b, whenClear, y, z));
  if (whenClear == 0)
    return b.CreateAnd(x, function2(b, whenSet, y, z));
  if (whenClear == 15)
    return b.CreateOr(b.CreateNot(x), function2(b, whenSet, y, z));
  if (whenSet == 0)
    return b.CreateAnd(b.CreateNot(x), function2(b, whenClear, y, z));
  if (whenSet == 15)
    return b.CreateOr(x, function2(b, whenClear, y, z));
  if ((whenClear & ~whenSet) == 0) // as the majority
    return b.CreateOr(function2(b, whenClear, y, z), b.CreateAnd(x, function2(b, whenSet, y, z)));
  return b.CreateOr(b.CreateAnd(x, function2(b, whenSet, y, z)),
                    b.CreateAnd(b.CreateNot(x), function2(b, whenClear, y, z)));
}

// Whether the function is more than an operation on one input and a function of the two others.
static bool needsAllThree(unsigned table) {
  unsigned whenClear = table & 15, whenSet = table >> 4;
  return whenClear != whenSet && whenClear != (whenSet ^ 15) && whenClear != 0 && whenClear != 15 &&
         whenSet != 0 && whenSet != 15;
}

// lop3.b32 d, a, b, c, immLut; lop3.(or|and).b32 d|p, a, b, c, immLut, q
// PTX ISA: logic-and-shift-instructions-lop3
// p = (d != 0) op q.
Expected<Value *> lowerLop3(FunctionLowering &fn, const ptx::Instruction &inst) {
  IRBuilder<> &b = fn.builder();
  std::optional<uint64_t> table = fn.sourceConstant(3);
  if (!table || *table > 255)
    return fn.malformed(inst, "immLut must be a constant from 0 to 255");
  Value *x = fn.source(0), *y = fn.source(1), *z = fn.source(2);
  // v_bitop3_b32 has the same tables; LLVM does not find it for all of these.
  Value *result = fn.target().hasBitop3 && needsAllThree(unsigned(*table))
                      ? b.CreateIntrinsic(Intrinsic::amdgcn_bitop3, {b.getInt32Ty()},
                                          {x, y, z, b.getInt32(uint32_t(*table))})
                      : function3(b, unsigned(*table), x, y, z);
  if (fn.hasDestination(1)) {
    Value *isSet = b.CreateIsNotNull(result), *predicate = fn.source(4, ptx::Type::Pred);
    fn.setDestination(1, inst.spelling->has(ptx::Mod::Or) ? b.CreateOr(isSet, predicate)
                                                          : b.CreateAnd(isSet, predicate));
  }
  return result;
}

// shf.(l|r).(clamp|wrap).b32 d, a, b, c   PTX ISA: logic-and-shift-instructions-shf
// The high (.l) or low (.r) word of the shifted pair {b, a}; .clamp stops at 32, .wrap takes 5
// bits.
Expected<Value *> lowerShf(FunctionLowering &fn, const ptx::Instruction &inst) {
  IRBuilder<> &b = fn.builder();
  Value *low = fn.source(0), *high = fn.source(1), *amount = fn.source(2, ptx::Type::U32);
  bool left = inst.spelling->has(ptx::Mod::L);
  Value *shifted = b.CreateIntrinsic(left ? Intrinsic::fshl : Intrinsic::fshr, {b.getInt32Ty()},
                                     {high, low, amount});
  if (inst.spelling->has(ptx::Mod::Wrap))
    return shifted;
  return b.CreateSelect(b.CreateICmpULT(amount, b.getInt32(32)), shifted, left ? low : high);
}

// shl.type d, a, b   PTX ISA: logic-and-shift-instructions-shl
Expected<Value *> lowerShl(FunctionLowering &fn, const ptx::Instruction &) {
  return shiftLeft(fn.builder(), fn.source(0), fn.source(1, ptx::Type::U32));
}

// shr.type d, a, b   PTX ISA: logic-and-shift-instructions-shr
Expected<Value *> lowerShr(FunctionLowering &fn, const ptx::Instruction &inst) {
  return shiftRight(fn.builder(), fn.source(0), fn.source(1, ptx::Type::U32),
                    isSigned(inst.spelling->type()));
}

namespace {
// The bytes of the pair {b, a} that a mode of prmt selects, as nibbles, for c & 3 of 0 to 3.
struct PermuteMode {
  const ptx::Modifier &mod;
  uint16_t selectors[4];
};

constexpr PermuteMode kPermuteModes[] = {
    {ptx::Mod::F4e, {0x3210, 0x4321, 0x5432, 0x6543}},
    {ptx::Mod::B4e, {0x5670, 0x6701, 0x7012, 0x0123}},
    {ptx::Mod::Rc8, {0x0000, 0x1111, 0x2222, 0x3333}},
    {ptx::Mod::Ecl, {0x3210, 0x3211, 0x3222, 0x3333}},
    {ptx::Mod::Ecr, {0x0000, 0x1110, 0x2210, 0x3210}},
    {ptx::Mod::Rc16, {0x1010, 0x3232, 0x1010, 0x3232}},
};
} // namespace

// 0xff in each byte of `word` whose top bit is set. v_perm_b32 gives the signs of bytes 1, 3, 5 and
// 7 of a pair (selectors 8 to 11): those of bytes 0 and 2 are there a byte higher.
static Value *signsOfBytes(IRBuilder<> &b, Value *word) {
  return b.CreateIntrinsic(Intrinsic::amdgcn_perm, {},
                           {word, b.CreateShl(word, 8), b.getInt32(0x0b090a08)});
}

// The four nibbles of bits 15:0 as bytes.
static Value *spreadNibbles(IRBuilder<> &b, Value *selector) {
  Value *low = b.CreateAnd(selector, 0xffff);
  Value *pairs = b.CreateAnd(b.CreateOr(low, b.CreateShl(low, 8)), 0x00ff00ff);
  return b.CreateAnd(b.CreateOr(pairs, b.CreateShl(pairs, 4)), 0x0f0f0f0f);
}

// prmt.b32{.mode} d, a, b, c   PTX ISA: data-movement-and-conversion-instructions-prmt
// Without a mode each nibble of c[15:0] names a byte of {b, a}; its top bit replicates the byte's
// sign instead. v_perm_b32 selects bytes in the same way, with a selector of bytes.
Expected<Value *> lowerPrmt(FunctionLowering &fn, const ptx::Instruction &inst) {
  IRBuilder<> &b = fn.builder();
  Value *low = fn.source(0), *high = fn.source(1), *selector = fn.source(2);
  auto permute = [&](Value *bytes) {
    return b.CreateIntrinsic(Intrinsic::amdgcn_perm, {}, {high, low, bytes});
  };
  for (const PermuteMode &mode : kPermuteModes) {
    if (!inst.spelling->has(mode.mod))
      continue;
    Value *nibbles = b.getInt32(mode.selectors[0]);
    Value *index = b.CreateAnd(selector, 3);
    for (unsigned n = 1; n < 4; ++n)
      nibbles = b.CreateSelect(b.CreateICmpEQ(index, b.getInt32(n)), b.getInt32(mode.selectors[n]),
                               nibbles);
    return permute(spreadNibbles(b, nibbles));
  }
  Value *bytes = spreadNibbles(b, selector);
  Value *selected = permute(b.CreateAnd(bytes, 0x07070707));
  if (auto *constant = dyn_cast<ConstantInt>(bytes);
      constant && !(constant->getZExtValue() & 0x08080808))
    return selected;
  Value *wanted = signsOfBytes(b, b.CreateShl(bytes, 4)); // the nibbles that ask for the sign
  return b.CreateOr(b.CreateAnd(selected, b.CreateNot(wanted)),
                    b.CreateAnd(signsOfBytes(b, selected), wanted));
}

} // namespace rubia::lowering
