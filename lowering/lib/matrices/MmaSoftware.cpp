// SPDX-License-Identifier: Apache-2.0
// Products by calls of the functions in lowering/device/MatrixFunctions.cpp. They take the largest
// depth of a type; what a smaller shape lacks is zero, which adds nothing to a sum.
#include "lowering/lib/matrices/MmaSoftware.h"
#include "lowering/lib/frame/UnitLowering.h"
#include "lowering/lib/matrices/FragmentLayout.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"

using namespace llvm;

namespace rubia::settings::MmaMode {
extern const Word H100;
} // namespace rubia::settings::MmaMode
namespace rubia::ptx::Mod {
extern const Modifier Rm, Rp, Rz;
} // namespace rubia::ptx::Mod

namespace rubia::lowering {
namespace {

StringRef nameOf(ptx::Type type) {
  switch (type) {
  case ptx::Type::F16:
    return "_f16";
  case ptx::Type::BF16:
    return "_bf16";
  case ptx::Type::TF32:
    return "_tf32";
  case ptx::Type::F32:
    return "_f32";
  case ptx::Type::F64:
    return "_f64";
  case ptx::Type::E4M3:
    return "_e4m3";
  case ptx::Type::E5M2:
    return "_e5m2";
  case ptx::Type::S8:
    return "_s8";
  case ptx::Type::U8:
    return "_u8";
  case ptx::Type::S4:
    return "_s4";
  case ptx::Type::U4:
    return "_u4";
  case ptx::Type::B1:
    return "_b1";
  case ptx::Type::S32:
    return "_s32";
  default:
    return "";
  }
}

StringRef roundingOf(const MmaForm &form) {
  if (form.rounding == ptx::Mod::Rz)
    return "rz";
  if (form.rounding == ptx::Mod::Rm)
    return "rm";
  if (form.rounding == ptx::Mod::Rp)
    return "rp";
  return "rn";
}

bool isWmmaOfTf32(const MmaForm &form) { return form.isWmma() && form.a == ptx::Type::TF32; }
bool isWgmmaOfBytes(const MmaForm &form) {
  return form.kind == MmaKind::Wgmma && (form.a == ptx::Type::E4M3 || form.a == ptx::Type::E5M2);
}

bool isChain(const FunctionLowering &fn, const MmaForm &form) {
  return softwareRoute(fn, form) == "fma" && form.a != ptx::Type::F64 && !form.isQuadPairs();
}

// As MatrixFunctions.cpp has it.
std::string functionFor(const FunctionLowering &fn, const MmaForm &form, const MmaForm &tile) {
  std::string name = isChain(fn, form)      ? "chain"
                     : isWmmaOfTf32(form)   ? "wmma"
                     : isWgmmaOfBytes(form) ? "wgmma"
                                            : "mma";
  if (form.isQuadPairs())
    name += "_quads";
  if (form.a == ptx::Type::F64)
    name += ("_" + roundingOf(form) + "_k" + Twine(form.k)).str();
  if (form.isSparse)
    name += "_sp";
  if (form.satfinite)
    name += "_satfinite";
  if (form.bitOperation != MmaBitOperation::None)
    name += form.bitOperation == MmaBitOperation::And ? "_and" : "_xor";
  for (ptx::Type type : {tile.a, tile.b, tile.c, tile.d})
    name += nameOf(type);
  return name;
}

// Fills a parameter, which is an array of words, with registers of 32 or 64 bits, and zeros behind
// them.
Value *arrayOf(FunctionLowering &fn, Type *type, ArrayRef<Value *> registers) {
  IRBuilder<> &b = fn.builder();
  Value *array = Constant::getNullValue(type);
  unsigned word = 0;
  auto put = [&](Value *value) { array = b.CreateInsertValue(array, value, word++); };
  for (Value *reg : registers) {
    if (reg->getType()->isIntegerTy(32)) {
      put(reg);
      continue;
    }
    put(b.CreateTrunc(reg, b.getInt32Ty()));
    put(b.CreateTrunc(b.CreateLShr(reg, 32), b.getInt32Ty()));
  }
  return array;
}

MmaFragment registersOf(FunctionLowering &fn, Value *array, unsigned count, unsigned bits) {
  IRBuilder<> &b = fn.builder();
  MmaFragment registers;
  for (unsigned i = 0; i < count; ++i) {
    if (bits == 32) {
      registers.push_back(b.CreateExtractValue(array, i));
      continue;
    }
    Value *low = b.CreateZExt(b.CreateExtractValue(array, 2 * i), b.getInt64Ty());
    Value *high = b.CreateZExt(b.CreateExtractValue(array, 2 * i + 1), b.getInt64Ty());
    registers.push_back(b.CreateOr(b.CreateShl(high, 32), low));
  }
  return registers;
}

// A's registers where the function looks for them: it has two for each four columns.
MmaFragment inRowHalves(const MmaForm &form, const MmaFragment &a) {
  if (form.m != 8 || form.isQuadPairs())
    return a;
  MmaFragment spread;
  for (Value *reg : a)
    spread.append({reg, ConstantInt::get(reg->getType(), 0)});
  return spread;
}

// The two last arguments.
SmallVector<Value *, 2> controlsOf(FunctionLowering &fn, const MmaForm &form,
                                   const MmaOperands &operands) {
  IRBuilder<> &b = fn.builder();
  if (form.isQuadPairs())
    return {b.getInt32(form.aLayout == MmaLayout::Row), b.getInt32(form.bLayout == MmaLayout::Col)};
  if (!form.isSparse)
    return {b.getInt32(form.m == 8 ? 2 : 4)};
  // The lane, of each four, that has the first nibbles of row 0.
  return {operands.metadata, b.getInt32(form.metadataOf(0, 0).lane)};
}

MmaFragment multiplyTile(FunctionLowering &fn, StringRef name, const MmaForm &tile,
                         const MmaOperands &operands) {
  IRBuilder<> &b = fn.builder();
  Function *function = fn.unit().matrixFunction(name);
  assert(function && "a form without a function");
  FunctionType *type = function->getFunctionType();
  SmallVector<Value *> arguments = {
      arrayOf(fn, type->getParamType(0), inRowHalves(tile, operands.a)),
      arrayOf(fn, type->getParamType(1), operands.b),
      arrayOf(fn, type->getParamType(2), operands.c)};
  for (Value *control : controlsOf(fn, tile, operands))
    arguments.push_back(control);
  CallInst *call = b.CreateCall(function, arguments);
  call->addFnAttr(Attribute::Convergent);
  return registersOf(fn, call, tile.registers(MmaMatrix::D), tile.registerBits(MmaMatrix::D));
}

MmaFragment slice(const MmaFragment &fragment, unsigned index, unsigned count) {
  ArrayRef<Value *> registers = ArrayRef(fragment).slice(index * count, count);
  return MmaFragment(registers);
}

// In the packed form: whether one of these `lanes` of the wave is of the lane's own warp.
Value *isOfWarp(FunctionLowering &fn, Value *lanes) {
  IRBuilder<> &b = fn.builder();
  Value *first = b.CreateAnd(waveLane(b, fn.target()), 32);
  Value *mine =
      b.CreateTrunc(b.CreateLShr(lanes, b.CreateZExt(first, lanes->getType())), b.getInt32Ty());
  return b.CreateICmpNE(mine, b.getInt32(0));
}

} // namespace

StringRef whyNotInSoftware(const MmaForm &form) {
  if (form.satfinite && form.a == ptx::Type::F16)
    return ": .satfinite of f16 is deprecated, and what it does has not been measured";
  return "";
}

StringRef softwareRoute(const FunctionLowering &fn, const MmaForm &form) {
  switch (form.a) {
  case ptx::Type::S8:
  case ptx::Type::U8:
  case ptx::Type::S4:
  case ptx::Type::U4:
    return "dot";
  case ptx::Type::B1:
    return "software";
  case ptx::Type::F64:
    return "fma";
  default:
    return fn.options().code.is(settings::MmaMode::H100) ? "software" : "fma";
  }
}

MmaFragment multiplyInSoftware(FunctionLowering &fn, const MmaForm &form,
                               const MmaOperands &operands) {
  if (form.kind == MmaKind::Wgmma)
    return multiplyTile(fn, functionFor(fn, form, form), form.tile(), operands);
  if (!form.isWmma())
    return multiplyTile(fn, functionFor(fn, form, form), form, operands);

  const MmaForm tile = form.tile();
  const std::string name = functionFor(fn, form, tile);
  const MmaFragment &ofA = form.isTransposed() ? operands.b : operands.a;
  const MmaFragment &ofB = form.isTransposed() ? operands.a : operands.b;
  MmaFragment d;
  for (unsigned row = 0; row < form.tileRows(); ++row)
    for (unsigned column = 0; column < form.tileColumns(); ++column) {
      const unsigned index = row + column; // one of them is 0
      MmaOperands part;
      part.a = slice(ofA, row, tile.registers(MmaMatrix::A));
      part.b = slice(ofB, column, tile.registers(MmaMatrix::B));
      part.c = slice(operands.c, index, tile.registers(MmaMatrix::C));
      d.append(multiplyTile(fn, name, tile, part));
    }
  return d;
}

MmaFragment redoInSoftware(FunctionLowering &fn, const MmaForm &form, const MmaOperands &operands,
                           const MmaFragment &results, Value *isWrong) {
  IRBuilder<> &b = fn.builder();
  Type *mask = fn.intType(fn.target().waveSize);
  Value *lanes = b.CreateIntrinsic(Intrinsic::amdgcn_ballot, {mask}, {isWrong});
  BasicBlock *before = b.GetInsertBlock(), *again = fn.newBlock("product.again"),
             *next = fn.newBlock("product.next");
  b.CreateCondBr(b.CreateICmpNE(lanes, Constant::getNullValue(mask)), again, next);
  b.SetInsertPoint(again);
  MmaFragment redone = multiplyInSoftware(fn, form, operands);
  if (fn.target().isPacked) { // the other warp may be right
    Value *isMine = isOfWarp(fn, lanes);
    for (auto [value, result] : zip_equal(redone, results))
      value = b.CreateSelect(isMine, value, result);
  }
  again = b.GetInsertBlock();
  b.CreateBr(next);
  b.SetInsertPoint(next);
  MmaFragment chosen;
  for (auto [result, value] : zip_equal(results, redone)) {
    PHINode *phi = b.CreatePHI(result->getType(), 2);
    phi->addIncoming(result, before);
    phi->addIncoming(value, again);
    chosen.push_back(phi);
  }
  return chosen;
}

} // namespace rubia::lowering
