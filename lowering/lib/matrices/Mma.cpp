// SPDX-License-Identifier: Apache-2.0
// mma, mma.sp and wmma.
// PTX ISA: warp-level-matrix-instructions.
#include "lowering/lib/matrices/Mma.h"
#include "lowering/lib/frame/UnitLowering.h"
#include "lowering/lib/matrices/DoubleMma.h"
#include "lowering/lib/matrices/NativeMma.h"
#include "lowering/lib/matrices/ScaledMma.h"
#include "lowering/lib/matrices/SparseMma.h"

using namespace llvm;

namespace rubia::settings::MmaMode {
extern const Word H100, Native;
} // namespace rubia::settings::MmaMode
namespace rubia::ptx::Mod {
extern const Modifier KindF8f6f4;
} // namespace rubia::ptx::Mod

namespace rubia::lowering {

static ptx::Type bitsType(const MmaForm &form, MmaMatrix matrix) {
  return form.registerBits(matrix) == 64 ? ptx::Type::B64 : ptx::Type::B32;
}

MmaFragment readFragment(FunctionLowering &fn, const MmaForm &form, MmaMatrix matrix,
                         const ptx::Operand &operand) {
  MmaFragment registers;
  for (const ptx::Operand &element : fn.elementsOf(operand, form.registers(matrix)))
    registers.push_back(fn.read(element, bitsType(form, matrix)));
  return registers;
}

void writeFragment(FunctionLowering &fn, const MmaForm &form, MmaMatrix matrix,
                   const ptx::Operand &operand, const MmaFragment &registers) {
  auto elements = fn.elementsOf(operand, form.registers(matrix));
  for (auto [element, value] : zip_equal(elements, registers))
    fn.write(element, value, bitsType(form, matrix));
}

static bool mayFlush(const FunctionLowering &fn) {
  return fn.options().code.is(settings::MmaMode::Native);
}
static MmaForm unitForm(const MmaForm &form) {
  return form.kind == MmaKind::Wgmma ? form.tile() : form;
}

bool takesUnit(FunctionLowering &fn, const MmaForm &form) {
  return !fn.options().code.is(settings::MmaMode::H100) &&
         (hasNativeMma(fn.target(), unitForm(form), mayFlush(fn)) ||
          hasDoubleMma(fn.target(), form));
}

MmaFragment multiplySomehow(FunctionLowering &fn, const MmaForm &form,
                            const MmaOperands &operands) {
  const bool isNative = takesUnit(fn, form);
  const char *unit = fn.target().row->hasMfma() ? "mfma" : "wmma";
  fn.unit().matrixRoutes.insert(isNative ? unit : softwareRoute(fn, form).str());
  if (!isNative)
    return multiplyInSoftware(fn, form, operands);
  if (form.a == ptx::Type::F64)
    return multiplyDoubles(fn, form, operands);
  if (form.isSparse)
    return multiplySparse(fn, form, mayFlush(fn), operands);
  return multiplyNatively(fn, unitForm(form), mayFlush(fn), operands.a, operands.b, operands.c);
}

namespace {

// d, a, b, c{, e, f}
Expected<Value *> multiply(FunctionLowering &fn, const ptx::Instruction &inst) {
  std::optional<MmaForm> form = MmaForm::of(inst);
  if (!form)
    return fn.malformed(inst, "a shape is needed");
  if (StringRef why = whyNotInSoftware(*form); !why.empty())
    return fn.unsupported(inst, "unsupported instruction" + why);
  MmaOperands operands;
  operands.a = readFragment(fn, *form, MmaMatrix::A, inst.operands[1]);
  operands.b = readFragment(fn, *form, MmaMatrix::B, inst.operands[2]);
  operands.c = readFragment(fn, *form, MmaMatrix::C, inst.operands[3]);
  if (form->isSparse)
    operands.metadata = fn.read(inst.operands[4], ptx::Type::B32);
  if (form->dataKind == ptx::Mod::KindF8f6f4)
    widenFactors(fn, *form, operands);
  writeFragment(fn, *form, MmaMatrix::D, inst.operands[0], multiplySomehow(fn, *form, operands));
  return nullptr;
}

} // namespace

// mma.sync.aligned.shape.alayout.blayout{.satfinite}.dtype.atype.btype.ctype d, a, b, c
Expected<Value *> lowerMma(FunctionLowering &fn, const ptx::Instruction &inst) {
  return multiply(fn, inst);
}

// mma.sp{::ordered_metadata}.sync.aligned... d, a, b, c, e, f
Expected<Value *> lowerMmaSp(FunctionLowering &fn, const ptx::Instruction &inst) {
  return multiply(fn, inst);
}

// wmma.mma.sync.aligned.alayout.blayout.shape.dtype.ctype d, a, b, c
// The layouts are those that A and B were loaded with; their fragments are the same.
Expected<Value *> lowerWmmaMma(FunctionLowering &fn, const ptx::Instruction &inst) {
  return multiply(fn, inst);
}

// ---------- wmma.load, wmma.store

namespace {

// Where a lane's elements of a matrix in memory are: a place is that of lane 0, plus so much for
// each group of four lanes and for each lane of a group.
class MatrixInMemory {
public:
  MatrixInMemory(FunctionLowering &fn, const MmaForm &form, Value *pointer, Value *stride)
      : fn(fn), form(form), pointer(pointer), stride(stride) {
    IRBuilder<> &b = fn.builder();
    Value *lane = b.CreateZExt(fn.launch().laneIndex(), b.getInt64Ty());
    Value *group = b.CreateLShr(lane, 2), *thread = b.CreateAnd(lane, 3);
    const MatrixPlace zero = form.placeOf(form.loaded, {0, 0, 0});
    const MatrixPlace next = form.placeOf(form.loaded, {1, 0, 0});
    const MatrixPlace nextGroup = form.placeOf(form.loaded, {4, 0, 0});
    auto along = [&](unsigned MatrixPlace::*axis) {
      return b.CreateAdd(b.CreateMul(thread, b.getInt64(next.*axis - zero.*axis)),
                         b.CreateMul(group, b.getInt64(nextGroup.*axis - zero.*axis)));
    };
    row = along(&MatrixPlace::row);
    column = along(&MatrixPlace::column);
  }

  unsigned bits() const { return form.elementBits(form.loaded); }
  // Whether a register's elements follow each other in memory: they are of one row or column.
  bool isWhole() const {
    if (form.elementsPerRegister(form.loaded) == 1)
      return true;
    const MatrixPlace first = form.placeOf(form.loaded, {0, 0, 0});
    const MatrixPlace second = form.placeOf(form.loaded, {0, 0, 1});
    return isRowMajor() ? first.row == second.row : first.column == second.column;
  }

  Value *placeOf(unsigned reg, unsigned element) {
    IRBuilder<> &b = fn.builder();
    const MatrixPlace at = form.placeOf(form.loaded, {0, reg, element});
    Value *r = b.CreateAdd(row, b.getInt64(at.row));
    Value *c = b.CreateAdd(column, b.getInt64(at.column));
    Value *index = isRowMajor() ? b.CreateAdd(b.CreateMul(r, stride), c)
                                : b.CreateAdd(b.CreateMul(c, stride), r);
    // Types below 8 bits have whole registers here, so that this is a multiple of 8.
    Value *bytes = b.CreateLShr(b.CreateMul(index, b.getInt64(bits())), 3);
    return b.CreateGEP(b.getInt8Ty(), pointer, bytes);
  }

private:
  bool isRowMajor() const { return form.aLayout == MmaLayout::Row; }

  FunctionLowering &fn;
  const MmaForm &form;
  Value *pointer, *stride, *row, *column;
};

// Elements from one row or column to the next: an operand, or as many as there are.
Value *strideOf(FunctionLowering &fn, const ptx::Instruction &inst, const MmaForm &form) {
  IRBuilder<> &b = fn.builder();
  if (inst.operands.size() > 2)
    return b.CreateZExt(fn.read(inst.operands[2], ptx::Type::U32), b.getInt64Ty());
  return b.getInt64(form.aLayout == MmaLayout::Row ? form.columns(form.loaded)
                                                   : form.rows(form.loaded));
}

} // namespace

// wmma.load.(a|b|c).sync.aligned.layout.shape{.space}.type d, [a]{, stride}
Expected<Value *> lowerWmmaLoad(FunctionLowering &fn, const ptx::Instruction &inst) {
  IRBuilder<> &b = fn.builder();
  std::optional<MmaForm> form = MmaForm::of(inst);
  if (!form)
    return fn.malformed(inst, "a shape is needed");
  Value *pointer = fn.pointer(inst.operands[1], inst.spelling->space());
  if (!pointer)
    return nullptr;
  MatrixInMemory matrix(fn, *form, pointer, strideOf(fn, inst, *form));
  const unsigned registers = form->registers(form->loaded);
  const unsigned distinct = registers / form->copies(form->loaded);
  const unsigned bits = form->registerBits(form->loaded);
  // Memory that was never written is any value.
  auto load = [&](unsigned width, Value *place) {
    Type *type = b.getIntNTy(width);
    return b.CreateFreeze(b.CreateAlignedLoad(type, place, Align(width / 8)));
  };
  MmaFragment fragment;
  for (unsigned reg = 0; reg < distinct; ++reg) {
    if (matrix.isWhole()) {
      fragment.push_back(load(bits, matrix.placeOf(reg, 0)));
      continue;
    }
    Value *whole = b.getIntN(bits, 0);
    for (unsigned i = 0; i < form->elementsPerRegister(form->loaded); ++i) {
      Value *element = b.CreateZExt(load(matrix.bits(), matrix.placeOf(reg, i)), whole->getType());
      whole = b.CreateOr(whole, b.CreateShl(element, i * matrix.bits()));
    }
    fragment.push_back(whole);
  }
  for (unsigned reg = distinct; reg < registers; ++reg)
    fragment.push_back(fragment[reg - distinct]);
  writeFragment(fn, *form, form->loaded, inst.operands[0], fragment);
  return nullptr;
}

// wmma.store.d.sync.aligned.layout.shape{.space}.type [a], b{, stride}
Expected<Value *> lowerWmmaStore(FunctionLowering &fn, const ptx::Instruction &inst) {
  IRBuilder<> &b = fn.builder();
  std::optional<MmaForm> form = MmaForm::of(inst);
  if (!form)
    return fn.malformed(inst, "a shape is needed");
  Value *pointer = fn.pointer(inst.operands[0], inst.spelling->space());
  if (!pointer)
    return nullptr;
  MatrixInMemory matrix(fn, *form, pointer, strideOf(fn, inst, *form));
  MmaFragment fragment = readFragment(fn, *form, form->loaded, inst.operands[1]);
  for (auto [reg, value] : enumerate(fragment)) {
    if (matrix.isWhole()) {
      b.CreateAlignedStore(value, matrix.placeOf(unsigned(reg), 0),
                           Align(form->registerBits(form->loaded) / 8));
      continue;
    }
    for (unsigned i = 0; i < form->elementsPerRegister(form->loaded); ++i)
      b.CreateAlignedStore(
          b.CreateTrunc(b.CreateLShr(value, i * matrix.bits()), b.getIntNTy(matrix.bits())),
          matrix.placeOf(unsigned(reg), i), Align(matrix.bits() / 8));
  }
  return nullptr;
}

} // namespace rubia::lowering
