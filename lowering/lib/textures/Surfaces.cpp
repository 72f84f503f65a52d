// SPDX-License-Identifier: Apache-2.0
// suld, sust and sured. PTX ISA: surface-instructions. docs/textures.md.
//
// The sampler's library says where an access lies, or that it lies outside; the access itself is
// one of global memory.
#include "lowering/Abi.h"
#include "lowering/lib/frame/RuntimeErrors.h"
#include "lowering/lib/frame/UnitLowering.h"
#include "lowering/lib/instructions/MemoryModel.h"
#include "lowering/lib/textures/Textures.h"

using namespace llvm;

namespace rubia::ptx::Mod {
extern const Modifier Add, And, Clamp, Gpu, Max, Min, Or, P, Trap;
} // namespace rubia::ptx::Mod

namespace rubia::lowering {

namespace {

// What the brackets of an instruction name: a surface and where in it.
struct Brackets {
  const Geometry *geometry;
  const ptx::Operand *surface;
  SmallVector<Value *, 4> at; // a layer if there are layers, then x, y and z

  Value *&x() { return at[geometry->isLayered]; }
};

Expected<Brackets> bracketsOf(FunctionLowering &fn, const ptx::Instruction &inst,
                              const ptx::Operand &brackets) {
  Brackets result;
  result.geometry = geometryOf(*inst.spelling);
  ArrayRef<ptx::Operand> parts = brackets.elements();
  if (!result.geometry || parts.size() != 2)
    return fn.unsupported(inst, "surfaces of this geometry");
  result.surface = parts.data();
  const unsigned count = result.geometry->dimensions + result.geometry->isLayered;
  const auto coordinates = fn.elementsOf(parts[1], count);
  if (coordinates.size() < count)
    return fn.malformed(inst, "too few coordinates");
  for (unsigned i = 0; i < count; ++i)
    result.at.push_back(fn.read(coordinates[i], ptx::Type::S32));
  return result;
}

// Where `bytes` bytes lie, x in bytes: an i64, which is 0 outside. There nothing is accessed.
Value *placeIn(FunctionLowering &fn, const ptx::Instruction &inst, const Brackets &brackets,
               Value *handle, Value *x, Value *bytes) {
  IRBuilder<> &b = fn.builder();
  SmallVector<Value *, 7> arguments = {handle};
  append_range(arguments, brackets.at);
  arguments[1 + brackets.geometry->isLayered] = x;
  arguments.push_back(bytes);
  arguments.push_back(b.getInt32(inst.spelling->has(ptx::Mod::Clamp)));
  return callSampler(fn, Twine("surf_") + brackets.geometry->name, arguments);
}

void trapOutside(FunctionLowering &fn, const ptx::Instruction &inst, Value *place) {
  if (place && inst.spelling->has(ptx::Mod::Trap))
    failIf(fn, inst, fn.builder().CreateICmpEQ(place, fn.builder().getInt64(0)),
           abi::TrapReason::SurfaceAccess, "the access lies outside of the surface");
}

// Where an access of `bytes` bytes lies.
Expected<Value *> placeOf(FunctionLowering &fn, const ptx::Instruction &inst,
                          const ptx::Operand &operand, unsigned bytes) {
  IRBuilder<> &b = fn.builder();
  Expected<Brackets> brackets = bracketsOf(fn, inst, operand);
  if (!brackets)
    return brackets.takeError();
  failIf(fn, inst, b.CreateICmpNE(b.CreateAnd(brackets->x(), b.getInt32(bytes - 1)), b.getInt32(0)),
         abi::TrapReason::MisalignedAddress,
         "the first coordinate is no multiple of " + Twine(bytes));
  Value *place = withHandle(fn, *brackets->surface, [&](Value *handle) {
    return placeIn(fn, inst, *brackets, handle, brackets->x(), b.getInt32(bytes));
  });
  trapOutside(fn, inst, place);
  return place;
}

// A coordinate in units of 1 << shift bytes, in bytes. What lies far outside stays outside.
Value *inBytes(FunctionLowering &fn, Value *x, Value *shift) {
  IRBuilder<> &b = fn.builder();
  constexpr uint32_t kFar = 1 << 20; // beyond all surfaces
  x = b.CreateBinaryIntrinsic(Intrinsic::smin, x, b.getInt32(kFar));
  x = b.CreateBinaryIntrinsic(Intrinsic::smax, x, b.getInt32(-kFar));
  return b.CreateShl(x, shift);
}

Value *formatOf(FunctionLowering &fn, Value *handle) {
  IRBuilder<> &b = fn.builder();
  Value *record = b.CreateIntToPtr(handle, b.getPtrTy(kConstantSpace));
  return b.CreateAlignedLoad(
      b.getInt32Ty(), b.CreateConstGEP1_64(b.getInt8Ty(), record, offsetof(abi::Texture, format)),
      Align(4));
}

// Builds an access where it lies inside; the result is 0 elsewhere. An access that is brought
// inside lies outside only of a surface without texels.
Value *ifInside(FunctionLowering &fn, const ptx::Instruction &inst, Value *place,
                function_ref<Value *(Value *)> build) {
  IRBuilder<> &b = fn.builder();
  auto pointer = [&] { return b.CreateIntToPtr(place, b.getPtrTy(kGlobalSpace)); };
  if (inst.spelling->has(ptx::Mod::Trap))
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

// sust.p.dim{.vec}.b32.mode [a, b], c            x counts texels, words are converted to them.
static Error storeTexels(FunctionLowering &fn, const ptx::Instruction &inst,
                         ArrayRef<ptx::Operand> sources) {
  IRBuilder<> &b = fn.builder();
  Expected<Brackets> brackets = bracketsOf(fn, inst, inst.operands[0]);
  if (!brackets)
    return brackets.takeError();
  SmallVector<Value *, 4> words(4, b.getInt32(0)); // channels without a source are 0
  for (auto [i, source] : enumerate(sources))
    words[i] = fn.read(source, inst.spelling->type(0));
  auto store = [&](Value *handle) -> Value * {
    Value *shift = b.CreateAnd(b.CreateLShr(formatOf(fn, handle), b.getInt32(8)), b.getInt32(7));
    Value *place = placeIn(fn, inst, *brackets, handle, inBytes(fn, brackets->x(), shift),
                           b.CreateShl(b.getInt32(1), shift));
    trapOutside(fn, inst, place);
    callSampler(fn, "surf_store", {handle, place, words[0], words[1], words[2], words[3]});
    return nullptr;
  };
  withHandle(fn, *brackets->surface, store, [&] { trapOutside(fn, inst, b.getInt64(0)); });
  return Error::success();
}

// sust.b.geom{.cop}{.vec}.ctype.mode [a, b], c   x counts bytes.
Expected<Value *> lowerSust(FunctionLowering &fn, const ptx::Instruction &inst) {
  IRBuilder<> &b = fn.builder();
  const ptx::Spelling &spelling = *inst.spelling;
  const Elements elements = elementsOf(spelling);
  const auto sources = fn.elementsOf(inst.operands[1], elements.count);
  if (sources.size() != elements.count)
    return fn.malformed(inst, "as many sources as elements are needed");
  if (spelling.has(ptx::Mod::P)) {
    if (Error error = storeTexels(fn, inst, sources))
      return std::move(error);
    return nullptr;
  }
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

static AtomicRMWInst::BinOp reductionOf(const ptx::Spelling &spelling, bool isSigned) {
  if (spelling.has(ptx::Mod::Add))
    return AtomicRMWInst::Add;
  if (spelling.has(ptx::Mod::And))
    return AtomicRMWInst::And;
  if (spelling.has(ptx::Mod::Or))
    return AtomicRMWInst::Or;
  if (spelling.has(ptx::Mod::Min))
    return isSigned ? AtomicRMWInst::Min : AtomicRMWInst::UMin;
  return isSigned ? AtomicRMWInst::Max : AtomicRMWInst::UMax;
}

// sured.p.op.dim.{b32,b64}.mode [a, b], c
// On an H100, x counts words of the operation whatever the texels are; these say the sign.
static Error reduceTexels(FunctionLowering &fn, const ptx::Instruction &inst) {
  IRBuilder<> &b = fn.builder();
  const ptx::Spelling &spelling = *inst.spelling;
  const ptx::Type type = spelling.type(0);
  const unsigned bytes = ptx::sizeInBits(type) / 8;
  Expected<Brackets> brackets = bracketsOf(fn, inst, inst.operands[0]);
  if (!brackets)
    return brackets.takeError();
  Value *value = fn.read(inst.operands[1], type);
  auto reduce = [&](Value *handle) -> Value * {
    Value *x = inBytes(fn, brackets->x(), b.getInt32(Log2_32(bytes)));
    Value *place = placeIn(fn, inst, *brackets, handle, x, b.getInt32(bytes));
    trapOutside(fn, inst, place);
    ifInside(fn, inst, place, [&](Value *pointer) -> Value * {
      auto reduceAs = [&](bool isSigned) {
        b.CreateAtomicRMW(reductionOf(spelling, isSigned), pointer, value, Align(bytes),
                          AtomicOrdering::Monotonic, syncScopeOf(fn.context(), ptx::Mod::Gpu));
      };
      if (!spelling.has(ptx::Mod::Min) && !spelling.has(ptx::Mod::Max)) {
        reduceAs(false);
        return nullptr;
      }
      Value *sign =
          b.CreateAnd(formatOf(fn, handle), b.getInt32(1 << abi::TexelFormat::kSignShift));
      BasicBlock *asSigned = fn.newBlock("reduce.signed"),
                 *asUnsigned = fn.newBlock("reduce.unsigned"), *done = fn.newBlock("reduce.done");
      b.CreateCondBr(b.CreateICmpNE(sign, b.getInt32(0)), asSigned, asUnsigned);
      for (BasicBlock *block : {asSigned, asUnsigned}) {
        b.SetInsertPoint(block);
        reduceAs(block == asSigned);
        b.CreateBr(done);
      }
      b.SetInsertPoint(done);
      return nullptr;
    });
    return nullptr;
  };
  withHandle(fn, *brackets->surface, reduce, [&] { trapOutside(fn, inst, b.getInt64(0)); });
  return Error::success();
}

// sured.b.op.dim.type.mode [a, b], c   x counts bytes.
Expected<Value *> lowerSured(FunctionLowering &fn, const ptx::Instruction &inst) {
  IRBuilder<> &b = fn.builder();
  const ptx::Spelling &spelling = *inst.spelling;
  if (spelling.has(ptx::Mod::P)) {
    if (Error error = reduceTexels(fn, inst))
      return std::move(error);
    return nullptr;
  }
  const ptx::Type type = spelling.type(0);
  const unsigned bytes = ptx::sizeInBits(type) / 8;
  const bool isSigned = ptx::classOf(type) == ptx::TypeClass::Signed;
  Expected<Value *> place = placeOf(fn, inst, inst.operands[0], bytes);
  if (!place || !*place)
    return place;
  Value *value = fn.read(inst.operands[1], type);
  ifInside(fn, inst, *place, [&](Value *pointer) -> Value * {
    b.CreateAtomicRMW(reductionOf(spelling, isSigned), pointer, value, Align(bytes),
                      AtomicOrdering::Monotonic, syncScopeOf(fn.context(), ptx::Mod::Gpu));
    return nullptr;
  });
  return nullptr;
}

} // namespace rubia::lowering
