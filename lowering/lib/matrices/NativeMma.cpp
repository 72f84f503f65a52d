// SPDX-License-Identifier: Apache-2.0
#include "lowering/lib/matrices/NativeMma.h"
#include "lowering/lib/frame/UnitLowering.h"
#include "lowering/lib/matrices/MatrixUnit.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"

using namespace llvm;

namespace rubia::settings::NanMode {
extern const Word Canonical;
} // namespace rubia::settings::NanMode

namespace rubia::lowering {
namespace {

using Words = SmallVector<Value *, 8>;

ProductTypes typesOf(const MmaForm &form, bool mayFlush, bool canonicalNan) {
  const bool hasFast =
      form.a == ptx::Type::F16 || form.a == ptx::Type::BF16 || form.a == ptx::Type::TF32;
  const bool isInteger = form.d == ptx::Type::S32;
  return {form.a, form.b, form.satfinite && isInteger, mayFlush && hasFast,
          canonicalNan && !isInteger};
}

// The functions of a module.
class TileFunctions {
public:
  explicit TileFunctions(UnitLowering &unit) : unit(unit), matrix(unit.target) {}

  Function *mma(const ProductTypes &types) {
    Type *i32 = word();
    auto [function, b] =
        begin("__rubia_mma." + types.name(), structOf(i32, 4), SmallVector<Type *, 10>(10, i32));
    if (!b)
      return function;
    Words arguments;
    for (Argument &argument : function->args())
      arguments.push_back(enterWholeWave(*b, &argument));
    Value *zero = b->getInt32(0);
    Words factors(arguments.begin() + 4, arguments.begin() + 6);
    Words sums(arguments.begin() + 6, arguments.end());
    factors.append(2, zero); // those of no second mma
    sums.append(4, zero);
    Value *aTile = b->CreateCall(input(ptxA(), matrix.a(), "__rubia_tile_a"),
                                 ArrayRef(arguments).take_front(4));
    Value *bTile = b->CreateCall(input(ptxB(), matrix.b(), "__rubia_tile_b"), factors);
    Value *cTile = b->CreateCall(input(ptxSums(), matrix.sums(), "__rubia_tile_c"), sums);
    Function *multiply = product(types);
    Words results;
    for (unsigned warp = 0; warp < warps(); ++warp)
      results.push_back(b->CreateCall(multiply, {b->CreateExtractValue(aTile, warp),
                                                 b->CreateExtractValue(bTile, warp),
                                                 b->CreateExtractValue(cTile, warp)}));
    Value *registers = b->CreateCall(output(), results);
    Value *result = PoisonValue::get(function->getReturnType());
    for (unsigned i = 0; i < 4; ++i)
      result =
          b->CreateInsertValue(result, leaveWholeWave(*b, b->CreateExtractValue(registers, i)), i);
    b->CreateRet(result);
    return function;
  }

private:
  unsigned warps() const { return unit.target.isPacked ? 2 : 1; }
  Type *word() const { return Type::getInt32Ty(unit.module.getContext()); }
  StructType *structOf(Type *type, unsigned count) const {
    return StructType::get(unit.module.getContext(), SmallVector<Type *, 8>(count, type));
  }
  Type *vectorOf(const FragmentLayout &layout) const {
    return FixedVectorType::get(word(), layout.registers());
  }

  // The function of that name, and a builder if it has yet to get its body.
  std::pair<Function *, std::unique_ptr<IRBuilder<>>> begin(const Twine &name, Type *result,
                                                            ArrayRef<Type *> arguments) {
    SmallString<64> buffer;
    Function *function =
        unit.ownFunction(name.toStringRef(buffer), FunctionType::get(result, arguments, false));
    if (!function->empty())
      return {function, nullptr};
    function->addFnAttr(Attribute::AlwaysInline);
    function->setDoesNotAccessMemory();
    return {function, std::make_unique<IRBuilder<>>(
                          BasicBlock::Create(unit.module.getContext(), "entry", function))};
  }

  Function *input(const FragmentLayout &from, const FragmentLayout &to, StringRef name) {
    auto [function, b] = begin(name, structOf(vectorOf(to), warps()),
                               SmallVector<Type *, 8>(from.registers(), word()));
    if (!b)
      return function;
    Words words;
    for (Argument &argument : function->args())
      words.push_back(&argument);
    Value *lane = waveLane(*b, unit.target);
    Value *result = PoisonValue::get(function->getReturnType());
    for (unsigned warp = 0; warp < warps(); ++warp) {
      Value *vector = PoisonValue::get(vectorOf(to));
      for (auto [i, moved] : enumerate(moveWords(*b, from, words, to, lane, 32 * warp)))
        vector = b->CreateInsertElement(vector, moved, i);
      result = b->CreateInsertValue(result, vector, warp);
    }
    b->CreateRet(result);
    return function;
  }

  Function *output() {
    const FragmentLayout from = matrix.sums(), to = ptxSums();
    auto [function, b] = begin("__rubia_tile_d", structOf(word(), to.registers()),
                               SmallVector<Type *, 2>(warps(), vectorOf(from)));
    if (!b)
      return function;
    Value *lane = waveLane(*b, unit.target);
    Words ofWarp[2];
    for (Argument &argument : function->args()) {
      Words words;
      for (unsigned i = 0; i < from.registers(); ++i)
        words.push_back(b->CreateExtractElement(&argument, i));
      ofWarp[argument.getArgNo()] = moveWords(*b, from, words, to, lane, 0);
    }
    Value *result = PoisonValue::get(function->getReturnType());
    Value *isUpper = b->CreateICmpNE(b->CreateAnd(lane, 32), b->getInt32(0));
    for (unsigned i = 0; i < to.registers(); ++i) {
      Value *own = ofWarp[0][i];
      if (warps() == 2)
        own = b->CreateSelect(isUpper, ofWarp[1][i], own);
      result = b->CreateInsertValue(result, own, i);
    }
    b->CreateRet(result);
    return function;
  }

  Function *product(const ProductTypes &types) {
    Type *sums = vectorOf(matrix.sums());
    auto [function, b] = begin("__rubia_product." + types.name(), sums,
                               {vectorOf(matrix.a()), vectorOf(matrix.b()), sums});
    if (b)
      function->addFnAttr("rubia-lanes", std::to_string(unit.target.waveSize));
    if (b)
      b->CreateRet(matrix.multiply(*b, types, function->getArg(0), function->getArg(1),
                                   function->getArg(2)));
    return function;
  }

  // Lanes that are not active get a value too: they are sources of nothing, but are read.
  Value *enterWholeWave(IRBuilder<> &b, Value *value) const {
    if (unit.target.waveSize == 32)
      return value;
    return b.CreateIntrinsic(Intrinsic::amdgcn_set_inactive, {value->getType()},
                             {value, Constant::getNullValue(value->getType())});
  }
  Value *leaveWholeWave(IRBuilder<> &b, Value *value) const {
    if (unit.target.waveSize == 32)
      return value;
    return b.CreateIntrinsic(Intrinsic::amdgcn_strict_wwm, {value->getType()}, {value});
  }

  UnitLowering &unit;
  MatrixUnit matrix;
};

// f32 for the two halves of each register.
Words widen(IRBuilder<> &b, ArrayRef<Value *> registers) {
  Words words;
  for (Value *value : registers) {
    Value *pair = b.CreateBitCast(value, FixedVectorType::get(b.getHalfTy(), 2));
    for (unsigned i = 0; i < 2; ++i)
      words.push_back(b.CreateBitCast(
          b.CreateFPExt(b.CreateExtractElement(pair, i), b.getFloatTy()), b.getInt32Ty()));
  }
  return words;
}
Words narrow(IRBuilder<> &b, ArrayRef<Value *> words, bool canonicalNan) {
  Words registers;
  Type *pairType = FixedVectorType::get(b.getHalfTy(), 2);
  for (size_t i = 0; i < words.size(); i += 2) {
    Value *pair = PoisonValue::get(pairType);
    for (unsigned j = 0; j < 2; ++j)
      pair = b.CreateInsertElement(
          pair, b.CreateFPTrunc(b.CreateBitCast(words[i + j], b.getFloatTy()), b.getHalfTy()), j);
    if (canonicalNan)
      pair = b.CreateSelect(
          b.CreateFCmpUNO(pair, pair),
          ConstantExpr::getBitCast(
              ConstantInt::get(FixedVectorType::get(b.getInt16Ty(), 2), 0x7fff), pairType),
          pair);
    registers.push_back(b.CreateBitCast(pair, b.getInt32Ty()));
  }
  return registers;
}

} // namespace

bool hasNativeMma(const Target &target, const MmaForm &form, bool mayFlush) {
  // Of floats, .satfinite keeps sums from becoming infinite.
  const bool saturatesFloats = form.satfinite && form.d != ptx::Type::S32;
  if (form.kind == MmaKind::WmmaMma)
    return !saturatesFloats && hasNativeMma(target, form.tile(), mayFlush);
  return form.kind == MmaKind::Mma && !form.isQuadPairs() && !saturatesFloats &&
         form.dataKind == ptx::Mod::None && form.elementBits(MmaMatrix::A) <= 32 &&
         MatrixUnit(target).multiplies(typesOf(form, mayFlush, false));
}

static Words multiplyTile(FunctionLowering &fn, const MmaForm &form, bool mayFlush,
                          ArrayRef<Value *> a, ArrayRef<Value *> b, ArrayRef<Value *> c) {
  IRBuilder<> &builder = fn.builder();
  const bool canonicalNan = fn.options().code.is(settings::NanMode::Canonical);
  Words sums = form.c == ptx::Type::F16 ? widen(builder, c) : Words(c);
  // Of a form that is half as high, registers are for rows 0 to 7 only; of one that is half as
  // deep, for the first four words only.
  const unsigned halves = form.m == 8 ? 1 : 2;
  Words arguments(10, builder.getInt32(0));
  for (auto [i, value] : enumerate(a))
    arguments[i / halves * 2 + i % halves] = value;
  for (auto [i, value] : enumerate(b))
    arguments[4 + i] = value;
  for (auto [i, value] : enumerate(sums))
    arguments[6 + i] = value;

  TileFunctions functions(fn.unit());
  Value *result =
      builder.CreateCall(functions.mma(typesOf(form, mayFlush, canonicalNan)), arguments);
  Words registers;
  for (unsigned i = 0; i < 2 * halves; ++i)
    registers.push_back(builder.CreateExtractValue(result, i));
  return form.d == ptx::Type::F16 ? narrow(builder, registers, canonicalNan) : registers;
}

Words multiplyNatively(FunctionLowering &fn, const MmaForm &form, bool mayFlush,
                       ArrayRef<Value *> a, ArrayRef<Value *> b, ArrayRef<Value *> c) {
  if (form.kind == MmaKind::Mma)
    return multiplyTile(fn, form, mayFlush, a, b, c);
  // wmma: one or two tiles, beside or below each other. Of a transposed one A is B.
  const MmaForm tile = form.tile();
  if (form.isTransposed())
    std::swap(a, b);
  auto part = [&](ArrayRef<Value *> registers, MmaMatrix matrix, unsigned index) {
    const unsigned count = tile.registers(matrix);
    return registers.slice(index * count, count);
  };
  Words sums;
  for (unsigned i = 0; i < form.tileRows() * form.tileColumns(); ++i)
    append_range(sums, multiplyTile(fn, tile, mayFlush,
                                    part(a, MmaMatrix::A, form.tileRows() > 1 ? i : 0),
                                    part(b, MmaMatrix::B, form.tileColumns() > 1 ? i : 0),
                                    part(c, MmaMatrix::C, i)));
  return sums;
}

} // namespace rubia::lowering
