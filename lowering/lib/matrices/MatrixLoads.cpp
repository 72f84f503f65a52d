// SPDX-License-Identifier: Apache-2.0
#include "lowering/lib/matrices/MatrixLoads.h"
#include "lowering/lib/frame/SharedSlot.h"
#include "lowering/lib/frame/UnitLowering.h"
#include "lowering/lib/matrices/MatrixUnit.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"

using namespace llvm;

namespace rubia::lowering {
namespace {

class LoadFunctions {
public:
  explicit LoadFunctions(UnitLowering &unit) : unit(unit), matrix(unit.target) {}

  // Lane 4 g + t has row g, columns 2 t and 2 t + 1; transposed, rows 2 t and 2 t + 1, column g.
  Function *registers(unsigned count, bool transposed) {
    auto [function, b] = begin(named("__rubia_ldmatrix.x" + Twine(count), transposed),
                               structOf(word(), count), {word()}, /*reads=*/true);
    if (!b)
      return function;
    Value *lane = waveLane(*b, unit.target), *address = function->getArg(0);
    Value *group = b->CreateAnd(b->CreateLShr(lane, 2), 7), *inGroup = b->CreateAnd(lane, 3);
    Value *row = transposed ? b->CreateShl(inGroup, 1) : group;
    Value *column = transposed ? group : b->CreateShl(inGroup, 1);
    if (unit.target.isPacked)
      row = b->CreateOr(row, b->CreateAnd(lane, 32));
    Value *result = PoisonValue::get(function->getReturnType());
    for (unsigned i = 0; i < count; ++i) {
      auto place = [&](unsigned further) {
        Value *from = b->CreateOr(row, b->getInt32(8 * i + further));
        return b->CreateAdd(pullFromWaveLane(*b, address, from), b->CreateShl(column, 1));
      };
      Value *value = transposed ? readPair(*b, place(0), place(1)) : read(*b, word(), place(0), 4);
      result = b->CreateInsertValue(result, value, i);
    }
    b->CreateRet(result);
    return function;
  }

  // What codegen needs to read fragments in the unit's layout.
  void nativeReads(bool transposed) {
    rows("a", ptxA(), matrix.a(), TileBit::M0, transposed);
    rows("b", ptxB(), matrix.b(), TileBit::N0, transposed);
    fragment(transposed);
  }

private:
  Type *word() const { return Type::getInt32Ty(unit.module.getContext()); }
  StructType *structOf(Type *type, unsigned count) const {
    return StructType::get(unit.module.getContext(), SmallVector<Type *, 4>(count, type));
  }
  static std::string named(const Twine &name, bool transposed) {
    return (name + (transposed ? ".trans" : "")).str();
  }
  // A row has four words along the depth, and a matrix of its own for each half of the depth.
  // Addresses of a lane: of rows, or transposed of elements.
  unsigned addresses(bool transposed) const {
    FragmentLayout layout = matrix.a();
    if (transposed)
      return 2 * layout.registers();
    return indexOf(layout.reg, TileBit::K2) ? 2 : 1;
  }
  Type *addressType(bool transposed) const {
    const unsigned count = addresses(transposed);
    return count == 1 ? word() : FixedVectorType::get(word(), count);
  }

  std::pair<Function *, std::unique_ptr<IRBuilder<>>>
  begin(StringRef name, Type *result, ArrayRef<Type *> arguments, bool reads) {
    Function *function = unit.ownFunction(name, FunctionType::get(result, arguments, false));
    if (!function->empty())
      return {function, nullptr};
    function->addFnAttr(Attribute::AlwaysInline);
    if (reads)
      function->setOnlyReadsMemory();
    else
      function->setDoesNotAccessMemory();
    return {function, std::make_unique<IRBuilder<>>(
                          BasicBlock::Create(unit.module.getContext(), "entry", function))};
  }

  Value *read(IRBuilder<> &b, Type *type, Value *address, unsigned alignment) {
    return b.CreateAlignedLoad(type, sharedPointer(unit, b, address), Align(alignment));
  }
  Value *readPair(IRBuilder<> &b, Value *low, Value *high) {
    Value *first = b.CreateZExt(read(b, b.getInt16Ty(), low, 2), word());
    Value *second = b.CreateZExt(read(b, b.getInt16Ty(), high, 2), word());
    return b.CreateOr(first, b.CreateShl(second, 16));
  }

  // `line` is the lowest bit of the row or column.
  void rows(StringRef which, const FragmentLayout &ptx, const FragmentLayout &native, TileBit line,
            bool transposed) {
    const unsigned warps = unit.target.isPacked ? 2 : 1;
    auto [function, b] =
        begin(named("__rubia_ldmatrix_rows_" + which, transposed),
              structOf(addressType(transposed), warps), {word(), word()}, /*reads=*/false);
    if (!b)
      return;
    Value *lane = waveLane(*b, unit.target);
    Value *address = function->getArg(0), *order = function->getArg(1);
    auto lineBit = [&](unsigned i) { return TileBit(unsigned(line) + i); };
    // A bit of the tile, in the lane's number or in that of a register.
    auto bitAt = [&](TileBit bit, unsigned reg, unsigned to) -> Value * {
      if (auto at = indexOf(native.reg, bit))
        return b->getInt32((reg >> *at & 1) << to);
      SmallVector<std::optional<unsigned>, 8> sources(to + 1);
      sources[to] = indexOf(native.lane, bit);
      return gatherBits(*b, lane, sources);
    };
    Value *inMatrix = b->getInt32(0); // the place of the line in its matrix
    for (unsigned i = 0; i < 3; ++i)
      inMatrix = b->CreateOr(inMatrix, bitAt(lineBit(i), 0, i));
    Value *result = PoisonValue::get(function->getReturnType());
    for (unsigned warp = 0; warp < warps; ++warp) {
      Value *all = PoisonValue::get(addressType(transposed));
      for (unsigned i = 0; i < addresses(transposed); ++i) {
        // Which word along the depth: transposed, all that a lane has, twice, else the first ones.
        const unsigned reg = transposed ? i / 2 : i * native.registers() / 2;
        Value *index = b->CreateOr(bitAt(lineBit(3), reg, *indexOf(ptx.reg, lineBit(3))),
                                   bitAt(TileBit::K2, reg, *indexOf(ptx.reg, TileBit::K2)));
        Value *which =
            b->CreateAnd(b->CreateLShr(order, b->CreateAnd(b->CreateShl(index, 1), 6)), 3);
        Value *inDepth = b->CreateOr(bitAt(TileBit::K0, reg, 1), bitAt(TileBit::K1, reg, 2));
        Value *row = transposed ? b->CreateOr(inDepth, i % 2) : inMatrix;
        Value *from = b->CreateOr(b->CreateShl(which, 3), row);
        if (warp)
          from = b->CreateOr(from, 32);
        // Two bytes an element: in the row's depth, or transposed along the lines.
        Value *bytes = b->CreateShl(transposed ? inMatrix : inDepth, 1);
        Value *place = b->CreateAdd(pullFromWaveLane(*b, address, from), bytes);
        all = addresses(transposed) == 1 ? place : b->CreateInsertElement(all, place, i);
      }
      result = b->CreateInsertValue(result, all, warp);
    }
    b->CreateRet(result);
  }

  void fragment(bool transposed) {
    const unsigned words = matrix.a().registers(), count = addresses(transposed);
    auto [function, b] =
        begin(named("__rubia_ldmatrix_read", transposed), FixedVectorType::get(word(), words),
              {addressType(transposed), word()}, /*reads=*/true);
    if (!b)
      return;
    auto address = [&](unsigned i) {
      Value *all = function->getArg(0);
      Value *one = count == 1 ? all : b->CreateExtractElement(all, i);
      return b->CreateAdd(one, function->getArg(1));
    };
    Value *result = PoisonValue::get(function->getReturnType());
    for (unsigned i = 0; i < (transposed ? words : count); ++i) {
      if (transposed) {
        result =
            b->CreateInsertElement(result, readPair(*b, address(2 * i), address(2 * i + 1)), i);
        continue;
      }
      // Rows are aligned to 16 bytes.
      const unsigned part = words / count;
      Value *vector = read(*b, FixedVectorType::get(word(), part), address(i), 4 * part);
      for (unsigned j = 0; j < part; ++j)
        result = b->CreateInsertElement(result, b->CreateExtractElement(vector, j), i * part + j);
    }
    b->CreateRet(result);
  }

  UnitLowering &unit;
  MatrixUnit matrix;
};

} // namespace

SmallVector<Value *, 4> loadMatrices(FunctionLowering &fn, Value *address, unsigned count,
                                     bool transposed) {
  IRBuilder<> &b = fn.builder();
  LoadFunctions functions(fn.unit());
  if (MatrixUnit(fn.target()).exists())
    functions.nativeReads(transposed);
  Value *all = b.CreateCall(functions.registers(count, transposed), {address});
  SmallVector<Value *, 4> values;
  for (unsigned i = 0; i < count; ++i)
    values.push_back(b.CreateExtractValue(all, i));
  return values;
}

} // namespace rubia::lowering
