// SPDX-License-Identifier: Apache-2.0
// suld, sust and sured. PTX ISA: surface-instructions. docs/textures.md.
//
// The sampler's library says where an access lies, or that it lies outside; the access itself is
// one of global memory.
#include "lowering/Abi.h"
#include "lowering/lib/asynchronous/RuntimeErrors.h"
#include "lowering/lib/frame/UnitLowering.h"
#include "lowering/lib/instructions/MemoryModel.h"
#include "lowering/lib/textures/Textures.h"

using namespace llvm;

namespace rubia::lowering {

namespace {

// Where an access of `bytes` bytes lies, an i64; 0: outside, where nothing is accessed.
Expected<Value *> placeOf(FunctionLowering &fn, const ptx::Instruction &inst,
                          const ptx::Operand &brackets, unsigned bytes) {
  IRBuilder<> &b = fn.builder();
  const ptx::Spelling &spelling = *inst.spelling;
  const Geometry *geometry = geometryOf(spelling);
  ArrayRef<ptx::Operand> parts = brackets.elements();
  if (!geometry || parts.size() != 2)
    return fn.unsupported(inst, "surfaces of this geometry");
  SmallVector<Value *, 6> values;
  const unsigned count = geometry->dimensions + geometry->isLayered;
  const auto coordinates = fn.elementsOf(parts[1], count);
  if (coordinates.size() < count)
    return fn.malformed(inst, "too few coordinates");
  for (unsigned i = 0; i < count; ++i)
    values.push_back(fn.read(coordinates[i], ptx::Type::S32));
  Value *x = values[geometry->isLayered];
  failIf(fn, inst, b.CreateICmpNE(b.CreateAnd(x, b.getInt32(bytes - 1)), b.getInt32(0)),
         abi::TrapReason::MisalignedAddress,
         "the first coordinate is no multiple of " + Twine(bytes));
  values.push_back(b.getInt32(bytes));
  values.push_back(b.getInt32(spelling.has(ptx::Mod::Clamp)));
  Value *place = withHandle(fn, parts[0], [&](Value *handle) -> Value * {
    SmallVector<Value *, 7> arguments = {handle};
    append_range(arguments, values);
    return callSampler(fn, Twine("surf_") + geometry->name, arguments);
  });
  if (place && spelling.has(ptx::Mod::Trap))
    failIf(fn, inst, b.CreateICmpEQ(place, b.getInt64(0)), abi::TrapReason::SurfaceAccess,
           "the access lies outside of the surface");
  return place;
}

// Builds an access where it lies inside; the result is 0 elsewhere.
Value *ifInside(FunctionLowering &fn, const ptx::Instruction &inst, Value *place,
                function_ref<Value *(Value *)> build) {
  IRBuilder<> &b = fn.builder();
  auto pointer = [&] { return b.CreateIntToPtr(place, b.getPtrTy(kGlobalSpace)); };
  if (!inst.spelling->has(ptx::Mod::Zero))
    return build(pointer());
  BasicBlock *before = b.GetInsertBlock(), *inside = fn.newBlock("surface.inside"),
             *done = fn.newBlock("surface.done");
  b.CreateCondBr(b.CreateICmpNE(place, b.getInt64(0)), inside, done);
  b.SetInsertPoint(inside);
  Value *result = build(pointer());
  BasicBlock *last = b.GetInsertBlock();
  b.CreateBr(done);
  b.SetInsertPoint(done);
  if (!result)
    return nullptr;
  PHINode *value = b.CreatePHI(result->getType(), 2);
  value->addIncoming(result, last);
  value->addIncoming(Constant::getNullValue(result->getType()), before);
  return value;
}

struct Elements {
  unsigned count, bytes; // of each
  unsigned all() const { return count * bytes; }
};
Elements elementsOf(const ptx::Spelling &spelling) {
  return {std::max(spelling.vectorWidth(), 1u), ptx::sizeInBits(spelling.type(0)) / 8};
}

} // namespace

// suld.b.geom{.cop}{.vec}.dtype.mode d, [a, b]   x counts bytes.
Expected<Value *> lowerSuld(FunctionLowering &fn, const ptx::Instruction &inst) {
  IRBuilder<> &b = fn.builder();
  const Elements elements = elementsOf(*inst.spelling);
  Expected<Value *> place = placeOf(fn, inst, inst.operands[1], elements.all());
  if (!place || !*place)
    return place;
  Type *element = fn.intType(8 * elements.bytes);
  Type *type = elements.count == 1 ? element : FixedVectorType::get(element, elements.count);
  Value *loaded = ifInside(fn, inst, *place, [&](Value *pointer) -> Value * {
    return b.CreateAlignedLoad(type, pointer, Align(elements.all()));
  });
  const auto destinations = fn.elementsOf(inst.operands[0], elements.count);
  if (destinations.size() != elements.count)
    return fn.malformed(inst, "as many destinations as elements are needed");
  for (auto [i, destination] : enumerate(destinations))
    fn.write(destination, elements.count == 1 ? loaded : b.CreateExtractElement(loaded, i),
             inst.spelling->type(0));
  return nullptr;
}

// sust.b.geom{.cop}{.vec}.ctype.mode [a, b], c   x counts bytes.
// sust.p.dim{.vec}.b32.mode [a, b], c            x counts texels, words are converted to them.
Expected<Value *> lowerSust(FunctionLowering &fn, const ptx::Instruction &inst) {
  IRBuilder<> &b = fn.builder();
  const ptx::Spelling &spelling = *inst.spelling;
  const Elements elements = elementsOf(spelling);
  const auto sources = fn.elementsOf(inst.operands[1], elements.count);
  if (sources.size() != elements.count)
    return fn.malformed(inst, "as many sources as elements are needed");
  if (spelling.has(ptx::Mod::P))
    return fn.unsupported(inst, "stores that convert to the format of the surface");
  Expected<Value *> place = placeOf(fn, inst, inst.operands[0], elements.all());
  if (!place || !*place)
    return place;
  Type *element = fn.intType(8 * elements.bytes);
  SmallVector<Value *, 4> values;
  for (const ptx::Operand &source : sources)
    values.push_back(fn.read(source, spelling.type(0)));
  ifInside(fn, inst, *place, [&](Value *pointer) -> Value * {
    Value *stored = values[0];
    if (elements.count > 1) {
      stored = PoisonValue::get(FixedVectorType::get(element, elements.count));
      for (auto [i, value] : enumerate(values))
        stored = b.CreateInsertElement(stored, value, i);
    }
    b.CreateAlignedStore(stored, pointer, Align(elements.all()));
    return nullptr;
  });
  return nullptr;
}

// sured.b.op.dim.type.mode [a, b], c   x counts bytes.
// sured.p.op.dim.b32.mode [a, b], c    x counts texels.
Expected<Value *> lowerSured(FunctionLowering &fn, const ptx::Instruction &inst) {
  IRBuilder<> &b = fn.builder();
  const ptx::Spelling &spelling = *inst.spelling;
  if (spelling.has(ptx::Mod::P))
    return fn.unsupported(inst, "reductions by the format of the surface");
  const ptx::Type type = spelling.type(0);
  const unsigned bytes = ptx::sizeInBits(type) / 8;
  const bool isSigned = ptx::classOf(type) == ptx::TypeClass::Signed;
  const AtomicRMWInst::BinOp operation = spelling.has(ptx::Mod::Add)   ? AtomicRMWInst::Add
                                         : spelling.has(ptx::Mod::And) ? AtomicRMWInst::And
                                         : spelling.has(ptx::Mod::Or)  ? AtomicRMWInst::Or
                                         : spelling.has(ptx::Mod::Min)
                                             ? (isSigned ? AtomicRMWInst::Min : AtomicRMWInst::UMin)
                                         : isSigned ? AtomicRMWInst::Max
                                                    : AtomicRMWInst::UMax;
  Expected<Value *> place = placeOf(fn, inst, inst.operands[0], bytes);
  if (!place || !*place)
    return place;
  Value *value = fn.read(inst.operands[1], type);
  ifInside(fn, inst, *place, [&](Value *pointer) -> Value * {
    b.CreateAtomicRMW(operation, pointer, value, Align(bytes), AtomicOrdering::Monotonic,
                      syncScopeOf(fn.context(), ptx::Mod::Gpu));
    return nullptr;
  });
  return nullptr;
}

} // namespace rubia::lowering
