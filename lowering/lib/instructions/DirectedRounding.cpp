// SPDX-License-Identifier: Apache-2.0
// Rounding and denormal modes of single operations. The hardware has them in the MODE register,
// PTX in every instruction, and LLVM does not order plain operations against writes of MODE. So an
// operation whose mode is not the kernel's is one inline assembly block that nothing can be moved
// into. codegen/ModeChecker.h proves the result.
#include "lowering/lib/frame/FloatingPoint.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace llvm;

namespace rubia::settings::NanMode {
extern const Word Canonical;
} // namespace rubia::settings::NanMode
namespace rubia::targets::Fact {
extern const GenerationFact hasModeInstructions, waitsForTranscendentals;
} // namespace rubia::targets::Fact
namespace rubia::ptx::Mod {
extern const Modifier Ftz, Relu, Rm, Rp, Rz, Sat;
} // namespace rubia::ptx::Mod

namespace rubia::lowering {

Rounding roundingOf(const ptx::Spelling &spelling) {
  if (spelling.has(ptx::Mod::Rz))
    return Rounding::Zero;
  if (spelling.has(ptx::Mod::Rm))
    return Rounding::Down;
  if (spelling.has(ptx::Mod::Rp))
    return Rounding::Up;
  return Rounding::NearestEven;
}

bool isPlain(const FunctionLowering &fn, FloatMode mode) {
  return mode.rounding == Rounding::NearestEven && mode.flushesF32 == fn.flushesF32Denormals();
}

// The instruction that sets MODE's rounding and, if `withDenormals`, its denormal fields. Both
// rounding fields (f32; f64 and f16) get the same value, so that conversions between the formats
// need no thought. RDNA3 ISA "MODE register": rounding in bits 3:0, denormals in 7:4.
static std::string modeSwitch(const Target &target, FloatMode mode, bool withRounding,
                              bool withDenormals) {
  unsigned rounding = static_cast<unsigned>(mode.rounding) * 0b0101;
  unsigned denormals = mode.flushesF32 ? 0b1100 : 0b1111;
  auto hex = [](unsigned value) { return "0x" + utohexstr(value, /*LowerCase=*/true); };
  if (targets::Fact::hasModeInstructions(*target.row)) {
    std::string text;
    if (withRounding)
      text += "s_round_mode " + hex(rounding) + "\n\t";
    if (withDenormals)
      text += "s_denorm_mode " + hex(denormals) + "\n\t";
    return text;
  }
  if (withDenormals)
    return "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 8), " + hex(rounding | denormals << 4) +
           "\n\t";
  return "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), " + hex(rounding) + "\n\t";
}

// An inline assembly block that may be moved, merged and removed as a whole: it reads nothing but
// its operands and leaves MODE as it was. LLVM itself switches MODE only for f32 division in units
// that flush denormals, which is why lowering makes none there (FloatingPointDivision.cpp). LLVM's
// hazard recognizer does not look into the block. RDNA 3 needs a wait between a transcendental
// instruction and a VALU instruction that reads its result; the mode switch itself is what other
// generations need.
static Value *block(FunctionLowering &fn, StringRef text, StringRef results, Type *result,
                    ArrayRef<Value *> operands) {
  std::string constraints = results.str();
  SmallVector<Type *, 6> types;
  for (Value *operand : operands) {
    constraints += ",v";
    types.push_back(operand->getType());
  }
  std::string waiting =
      targets::Fact::waitsForTranscendentals(*fn.target().row) ? "s_waitcnt_depctr 0xfff\n\t" : "";
  auto *type = FunctionType::get(result, types, /*isVarArg=*/false);
  auto *assembly = InlineAsm::get(type, waiting + text.rtrim().str(), constraints,
                                  /*hasSideEffects=*/false);
  CallInst *call = fn.builder().CreateCall(assembly, operands);
  call->setDoesNotAccessMemory();
  call->setDoesNotThrow();
  call->addFnAttr(Attribute::WillReturn);
  return call;
}

Value *inMode(FunctionLowering &fn, FloatMode mode, StringRef instruction, Type *result,
              ArrayRef<Value *> operands) {
  const Target &target = fn.target();
  FloatMode ambient{Rounding::NearestEven, fn.flushesF32Denormals()};
  bool switchRounding = mode.rounding != ambient.rounding;
  bool switchDenormals = mode.flushesF32 != ambient.flushesF32;
  std::string text = modeSwitch(target, mode, switchRounding, switchDenormals);
  text += instruction;
  text += "\n\t";
  text += modeSwitch(target, ambient, switchRounding, switchDenormals);
  return block(fn, text, "=v", result, operands);
}

// Rounded down and rounded up, the value is the same or two neighbours, of which one is odd. -0 and
// +0, of an exact zero sum, give +0, as rounding to nearest does.
Value *fmaRoundedToOdd(FunctionLowering &fn, Value *x, Value *y, Value *z) {
  IRBuilder<> &b = fn.builder();
  Type *f32 = b.getFloatTy();
  SmallVector<Value *, 6> operands;
  for (Value *source : {x, y, z})
    elementwise(b, source, [&](ArrayRef<Value *> element) {
      operands.push_back(element[0]);
      return element[0];
    });
  unsigned count = unsigned(operands.size()) / 3;
  bool flushes = fn.flushesF32Denormals();
  std::string text, results;
  unsigned result = 0;
  for (Rounding rounding : {Rounding::Down, Rounding::Up}) {
    text += modeSwitch(fn.target(), {rounding, /*flushesF32=*/false}, /*withRounding=*/true,
                       flushes && rounding == Rounding::Down);
    for (unsigned i = 0; i < count; ++i, ++result) {
      text += formatv("v_fma_f32 ${0}, ${1}, ${2}, ${3}\n\t", result, 2 * count + i, 3 * count + i,
                      4 * count + i);
      results += result ? ",=&v" : "=&v"; // written before the last operand is read
    }
  }
  text += modeSwitch(fn.target(), {Rounding::NearestEven, flushes}, /*withRounding=*/true, flushes);
  SmallVector<Type *, 4> types(2 * count, f32);
  Value *both = block(fn, text, results, StructType::get(fn.context(), types), operands);
  unsigned index = 0;
  return elementwise(b, x, [&](ArrayRef<Value *>) {
    Value *down = b.CreateExtractValue(both, index),
          *up = b.CreateExtractValue(both, count + index);
    ++index;
    Value *isOdd = b.CreateTrunc(b.CreateBitCast(down, b.getInt32Ty()), b.getInt1Ty());
    return b.CreateSelect(isOdd, down, up);
  });
}

Value *flushDenormal(FunctionLowering &fn, Value *value) {
  IRBuilder<> &b = fn.builder();
  Type *type = value->getType();
  if (type->getScalarType()->isHalfTy()) {
    Value *bits = toBits(b, value);
    auto masked = [&](uint64_t mask) {
      return b.CreateAnd(bits, ConstantInt::get(bits->getType(), mask));
    };
    Value *small = b.CreateICmpEQ(masked(0x7c00), Constant::getNullValue(bits->getType()));
    return b.CreateBitCast(b.CreateSelect(small, masked(0x8000), bits), type);
  }
  if (fn.flushesF32Denormals())
    return b.CreateUnaryIntrinsic(Intrinsic::canonicalize, value);
  Value *denormal = b.createIsFPClass(value, fcSubnormal);
  Value *zero = b.CreateBinaryIntrinsic(Intrinsic::copysign, ConstantFP::get(type, 0.0), value);
  return b.CreateSelect(denormal, zero, value);
}

Value *flushedSource(FunctionLowering &fn, const ptx::Instruction &inst, unsigned n) {
  Value *value = fn.source(n);
  Type *scalar = value->getType()->getScalarType();
  if (inst.spelling->has(ptx::Mod::Ftz) && (scalar->isFloatTy() || scalar->isHalfTy()))
    return flushDenormal(fn, value);
  return value;
}

// Measured on NVIDIA's hardware: the decision to flush is made on the value rounded to 24 bits with
// unbounded exponent, so what rounds up to 2^-126 from just below survives. In f64 these values can
// still be told apart.
Value *roundToF32(FunctionLowering &fn, Value *wide, Rounding rounding, bool flushes) {
  IRBuilder<> &b = fn.builder();
  FloatMode mode{rounding, flushes && fn.flushesF32Denormals()};
  Value *narrow = isPlain(fn, mode)
                      ? b.CreateFPTrunc(wide, b.getFloatTy())
                      : inMode(fn, mode, "v_cvt_f32_f64 $0, $1", b.getFloatTy(), wide);
  if (!flushes)
    return narrow;
  const double kNormal = 0x1p-126;
  const double kRoundsUpToNearest = 0x1p-126 - 0x1p-151;
  const double kRoundsUpAway = std::nextafter(0x1p-126 - 0x1p-150, 1.0);
  double above = kNormal, below = -kNormal; // flushed: below < wide < above
  switch (rounding) {
  case Rounding::NearestEven:
    above = kRoundsUpToNearest, below = -kRoundsUpToNearest;
    break;
  case Rounding::Up:
    above = kRoundsUpAway;
    break;
  case Rounding::Down:
    below = -kRoundsUpAway;
    break;
  case Rounding::Zero:
    break;
  }
  Type *type = wide->getType();
  Value *small = b.CreateAnd(b.CreateFCmpOGT(wide, ConstantFP::get(type, below)),
                             b.CreateFCmpOLT(wide, ConstantFP::get(type, above)));
  // By integers: a unit that flushes must not see the denormal.
  Value *bits = b.CreateBitCast(narrow, b.getInt32Ty());
  Value *sign = b.CreateAnd(bits, b.getInt32(0x80000000));
  return b.CreateBitCast(b.CreateSelect(small, sign, bits), b.getFloatTy());
}

Value *clampToUnit(FunctionLowering &fn, Value *value) {
  IRBuilder<> &b = fn.builder();
  Type *type = value->getType();
  Value *positive =
      b.CreateBinaryIntrinsic(Intrinsic::maximumnum, value, ConstantFP::get(type, 0.0));
  return b.CreateBinaryIntrinsic(Intrinsic::minimumnum, positive, ConstantFP::get(type, 1.0));
}

// NVIDIA gives one bit pattern for every f32 and f16 NaN; f64 keeps payloads, and has a pattern for
// a NaN that comes from numbers.
static Value *canonicalNan(FunctionLowering &fn, Value *value, ArrayRef<Value *> nanSources) {
  IRBuilder<> &b = fn.builder();
  Type *type = bitsType(value->getType());
  Value *nan;
  if (value->getType()->isDoubleTy()) {
    if (nanSources.empty())
      return value;
    nan = b.getInt64(0xfff8000000000000);
    for (Value *source : reverse(nanSources))
      nan = b.CreateSelect(b.CreateFCmpUNO(source, source),
                           b.CreateOr(toBits(b, source), b.getInt64(0x0008000000000000)), nan);
  } else {
    nan = ConstantInt::get(type, type->getScalarSizeInBits() == 32 ? 0x7fffffff : 0x7fff);
  }
  Value *result = b.CreateSelect(b.CreateFCmpUNO(value, value), nan, toBits(b, value));
  return b.CreateBitCast(result, value->getType());
}

// Negative numbers and -0 become +0, NaNs of either sign stay. By integers, so that the denormal
// mode has no say: with the sign taken off, these are at most infinity.
static Value *zeroIfNegative(IRBuilder<> &b, Value *value) {
  const fltSemantics &semantics = value->getType()->getScalarType()->getFltSemantics();
  Value *bits = toBits(b, value);
  Type *type = bits->getType();
  Value *magnitude =
      b.CreateXor(bits, ConstantInt::get(type, APInt::getSignMask(type->getScalarSizeInBits())));
  Value *isNegative = b.CreateICmpULE(
      magnitude, ConstantInt::get(type, APFloat::getInf(semantics).bitcastToAPInt()));
  return b.CreateSelect(isNegative, Constant::getNullValue(value->getType()), value);
}

Value *finish(FunctionLowering &fn, const ptx::Instruction &inst, Value *value,
              ArrayRef<Value *> nanSources) {
  if (inst.spelling->has(ptx::Mod::Sat))
    return clampToUnit(fn, value);
  if (inst.spelling->has(ptx::Mod::Relu))
    value = zeroIfNegative(fn.builder(), value);
  return fn.options().code.is(settings::NanMode::Canonical) ? canonicalNan(fn, value, nanSources)
                                                            : value;
}

// ---------- Vectors and bits

Value *elementwise(IRBuilder<> &b, ArrayRef<Value *> values,
                   function_ref<Value *(ArrayRef<Value *>)> function) {
  auto *type = dyn_cast<FixedVectorType>(values[0]->getType());
  if (!type)
    return function(values);
  Value *result = nullptr;
  for (unsigned i = 0; i < type->getNumElements(); ++i) {
    SmallVector<Value *, 3> elements;
    for (Value *value : values)
      elements.push_back(b.CreateExtractElement(value, i));
    Value *element = function(elements);
    if (!result)
      result = PoisonValue::get(VectorType::get(element->getType(), type->getElementCount()));
    result = b.CreateInsertElement(result, element, i);
  }
  return result;
}

Type *bitsType(Type *type) {
  return type->getWithNewType(IntegerType::get(type->getContext(), type->getScalarSizeInBits()));
}

Value *toBits(IRBuilder<> &b, Value *value) {
  return b.CreateBitCast(value, bitsType(value->getType()));
}

Value *withSign(IRBuilder<> &b, Value *value, Value *sign) {
  Type *type = sign->getType();
  APInt mask = APInt::getSignMask(type->getScalarSizeInBits());
  Value *bits = b.CreateOr(b.CreateAnd(toBits(b, value), ConstantInt::get(type, ~mask)),
                           b.CreateAnd(sign, ConstantInt::get(type, mask)));
  return b.CreateBitCast(bits, value->getType());
}

} // namespace rubia::lowering
