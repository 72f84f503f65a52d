// SPDX-License-Identifier: Apache-2.0
// tex. PTX ISA: texture-instructions-tex. docs/textures.md.
//
// The sampler is a device function (lowering/device/Textures.cpp). What libraries use, fetches of
// words from linear memory, is a bounds check and a load, and stands where the instruction does.
#include "lowering/lib/textures/Textures.h"
#include "lowering/Abi.h"
#include "lowering/lib/frame/UnitLowering.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"

using namespace llvm;

namespace rubia::ptx::Op {
extern const Operation Ld, Mov;
} // namespace rubia::ptx::Op
namespace rubia::ptx::Mod {
extern const Modifier A1d, A2d, Acube, B, Cube, Depth, G, Geometry1d, Geometry2d, Geometry3d, Grad,
    Height, Level, R, Width;
} // namespace rubia::ptx::Mod

namespace rubia::lowering {

namespace {

constexpr Geometry kGeometries[] = {
    {ptx::Mod::Geometry1d, "1d", "1d", 1, false, false},
    {ptx::Mod::Geometry2d, "2d", "2d", 2, false, false},
    {ptx::Mod::Geometry3d, "3d", "3d", 3, false, false},
    {ptx::Mod::A1d, "a1d", "1d", 1, true, false},
    {ptx::Mod::A2d, "a2d", "2d", 2, true, false},
    {ptx::Mod::Cube, "cube", "cube", 3, false, true},
    {ptx::Mod::Acube, "acube", "cube", 3, true, true},
};

// Whether all threads certainly have the same value in a register: a parameter of the kernel, or
// the address of a variable.
bool isShared(const FunctionLowering &fn, ptx::RegisterId reg) {
  ArrayRef<uint32_t> definitions = fn.registerDefinitions().of(reg);
  if (definitions.size() != 1)
    return false;
  const ptx::Instruction &inst = fn.ptxFunction().body[definitions[0]];
  if (inst.guard.reg != ptx::kNone)
    return false;
  const ptx::Operand &source = inst.operands[1];
  if (inst.op() == ptx::Op::Mov)
    return source.kind == ptx::Operand::Kind::Variable &&
           (source.variable()->space == ptx::StateSpace::Global ||
            source.variable()->space == ptx::StateSpace::Const);
  return inst.op() == ptx::Op::Ld && fn.ptxFunction().isKernel &&
         source.kind == ptx::Operand::Kind::Address && source.variable() &&
         is_contained(fn.ptxFunction().parameters, source.variable()) && source.reg == ptx::kNone;
}

// A loop in which each round takes the lanes that have one handle. No lane leaves it before the
// last round: what follows a loop is executed by all lanes together.
Value *forEachHandle(FunctionLowering &fn, Value *handle, function_ref<Value *(Value *)> build) {
  IRBuilder<> &b = fn.builder();
  Type *mask = fn.intType(fn.target().waveSize);
  auto ballot = [&](Value *condition) {
    return b.CreateIntrinsic(Intrinsic::amdgcn_ballot, {mask}, {condition});
  };
  BasicBlock *before = b.GetInsertBlock(), *round = fn.newBlock("handle.round"),
             *same = fn.newBlock("handle.same"), *end = fn.newBlock("handle.end"),
             *done = fn.newBlock("handle.done");
  Value *all = ballot(b.getTrue());
  b.CreateBr(round);
  b.SetInsertPoint(round);
  PHINode *rest = b.CreatePHI(mask, 2);
  rest->addIncoming(all, before);
  Value *lane = b.CreateZExtOrTrunc(b.CreateBinaryIntrinsic(Intrinsic::cttz, rest, b.getTrue()),
                                    b.getInt32Ty());
  Value *first = b.CreateIntrinsic(b.getInt64Ty(), Intrinsic::amdgcn_readlane, {handle, lane});
  Value *isSame = b.CreateICmpEQ(handle, first);
  Value *left = b.CreateAnd(rest, b.CreateNot(ballot(isSame)));
  b.CreateCondBr(isSame, same, end);

  b.SetInsertPoint(same);
  // Asked for again: LLVM takes what is equal to the handle for the handle, which may differ.
  Value *result =
      build(b.CreateIntrinsic(b.getInt64Ty(), Intrinsic::amdgcn_readfirstlane, {handle}));
  BasicBlock *last = b.GetInsertBlock();
  b.CreateBr(end);

  b.SetInsertPoint(end);
  PHINode *value = nullptr;
  if (result) {
    value = b.CreatePHI(result->getType(), 2);
    value->addIncoming(result, last);
  }
  rest->addIncoming(left, end);
  b.CreateCondBr(b.CreateICmpEQ(left, ConstantInt::get(mask, 0)), done, round);
  if (result) { // what a lane got in its round stays
    b.SetInsertPoint(round, round->begin());
    PHINode *soFar = b.CreatePHI(result->getType(), 2);
    soFar->addIncoming(Constant::getNullValue(result->getType()), before);
    soFar->addIncoming(value, end);
    value->addIncoming(soFar, round);
  }
  b.SetInsertPoint(done);
  return value;
}

struct Fields {
  FunctionLowering &fn;
  Value *record;

  Value *load(Type *type, size_t offset) {
    IRBuilder<> &b = fn.builder();
    LoadInst *load = b.CreateAlignedLoad(type, b.CreateConstGEP1_64(b.getInt8Ty(), record, offset),
                                         Align(type->isIntegerTy(64) ? 8 : 4));
    load->setMetadata(LLVMContext::MD_invariant_load, MDNode::get(fn.context(), {}));
    return load;
  }
};

// The four words of a texel of linear memory, where it is one word.
Value *fetchWord(FunctionLowering &fn, Value *handle, Value *x) {
  IRBuilder<> &b = fn.builder();
  Fields fields{fn, b.CreateIntToPtr(handle, b.getPtrTy(kConstantSpace))};
  Value *base = fields.load(b.getInt64Ty(), offsetof(abi::Texture, grid.base));
  Value *width = fields.load(b.getInt32Ty(), offsetof(abi::Texture, grid.width));
  Value *isInside = b.CreateICmpULT(x, width);
  Value *index = b.CreateZExt(b.CreateSelect(isInside, x, b.getInt32(0)), b.getInt64Ty());
  Value *place =
      b.CreateGEP(b.getInt32Ty(), b.CreateIntToPtr(base, b.getPtrTy(kGlobalSpace)), index);
  Value *word =
      b.CreateSelect(isInside, b.CreateAlignedLoad(b.getInt32Ty(), place, Align(4)), b.getInt32(0));
  Value *texel = Constant::getNullValue(ArrayType::get(b.getInt32Ty(), 4));
  return b.CreateInsertValue(texel, word, 0);
}

Value *fetchLinear(FunctionLowering &fn, Value *handle, Value *x) {
  IRBuilder<> &b = fn.builder();
  Fields fields{fn, b.CreateIntToPtr(handle, b.getPtrTy(kConstantSpace))};
  Value *fetch = fields.load(b.getInt32Ty(), offsetof(abi::Texture, fetch));
  BasicBlock *word = fn.newBlock("fetch.word"), *other = fn.newBlock("fetch.other"),
             *done = fn.newBlock("fetch.done");
  b.CreateCondBr(b.CreateICmpEQ(fetch, b.getInt32(abi::kFetchWord)), word, other);
  b.SetInsertPoint(word);
  Value *fromWord = fetchWord(fn, handle, x);
  b.CreateBr(done);
  b.SetInsertPoint(other);
  Value *fromOther = callSampler(fn, "tex_1d_s32", {handle, x});
  b.CreateBr(done);
  b.SetInsertPoint(done);
  PHINode *texel = b.CreatePHI(fromWord->getType(), 2);
  texel->addIncoming(fromWord, word);
  texel->addIncoming(fromOther, other);
  return texel;
}

// What tex asks of the sampler beside coordinates.
struct Asked {
  Value *detail = nullptr;  // the bits of a number; null: none
  Value *offsets = nullptr; // a byte for each dimension; null: none
};

// The function that does all. `at`: a layer if there are layers, and coordinates.
Value *sampleAll(FunctionLowering &fn, const Geometry &geometry, Value *handle,
                 ArrayRef<Value *> at, const Asked &asked) {
  IRBuilder<> &b = fn.builder();
  SmallVector<Value *, 8> arguments = {handle};
  if (!geometry.isLayered)
    arguments.push_back(b.getInt32(0));
  append_range(arguments, at);
  arguments.push_back(asked.detail ? asked.detail : b.getInt32(0));
  arguments.push_back(b.getInt32(!asked.detail));
  arguments.push_back(asked.offsets ? asked.offsets : b.getInt32(0));
  return callSampler(fn, Twine("tex_") + geometry.kind, arguments);
}

// The same for a pair of gradients that may ask for several samples: not in layers of one
// dimension, nor in three.
Value *sampleEllipse(FunctionLowering &fn, const Geometry &geometry, Value *handle,
                     ArrayRef<Value *> at, ArrayRef<Value *> gradients, Value *offsets) {
  IRBuilder<> &b = fn.builder();
  SmallVector<Value *, 12> arguments = {handle};
  if (!geometry.isLayered)
    arguments.push_back(b.getInt32(0));
  append_range(arguments, at);
  append_range(arguments, gradients);
  arguments.push_back(offsets ? offsets : b.getInt32(0));
  return callSampler(fn, Twine("tex_") + geometry.kind + "_grad", arguments);
}

// Either of two calls, by a condition that is the same for all lanes.
Value *eitherCall(FunctionLowering &fn, Value *condition, function_ref<Value *()> first,
                  function_ref<Value *()> second) {
  IRBuilder<> &b = fn.builder();
  BasicBlock *isFirst = fn.newBlock("sample.short"), *isSecond = fn.newBlock("sample.other"),
             *done = fn.newBlock("sample.done");
  b.CreateCondBr(condition, isFirst, isSecond);
  b.SetInsertPoint(isFirst);
  Value *fromFirst = first();
  isFirst = b.GetInsertBlock();
  b.CreateBr(done);
  b.SetInsertPoint(isSecond);
  Value *fromSecond = second();
  isSecond = b.GetInsertBlock();
  b.CreateBr(done);
  b.SetInsertPoint(done);
  PHINode *texel = b.CreatePHI(fromFirst->getType(), 2);
  texel->addIncoming(fromFirst, isFirst);
  texel->addIncoming(fromSecond, isSecond);
  return texel;
}

// Samples by a short function where the texture is of words, clamped and without levels, or where
// the filter of two dimensions is plain: it needs few registers, so that nothing is saved around
// it.
Value *sampleNumbers(FunctionLowering &fn, const Geometry &geometry, Value *handle,
                     ArrayRef<Value *> at) {
  IRBuilder<> &b = fn.builder();
  const auto sampleOther = [&] { return sampleAll(fn, geometry, handle, at, Asked()); };
  if (geometry.isCube)
    return sampleOther();
  SmallVector<Value *, 5> arguments = {handle};
  append_range(arguments, at);
  const auto callShort = [&](const char *kind) {
    return callSampler(fn, Twine("tex_") + geometry.name + kind, arguments);
  };
  Fields fields{fn, b.CreateIntToPtr(handle, b.getPtrTy(kConstantSpace))};
  Value *format = fields.load(b.getInt32Ty(), offsetof(abi::Texture, format));
  Value *mode = fields.load(b.getInt32Ty(), offsetof(abi::Texture, mode));
  Value *levels = fields.load(b.getInt64Ty(), offsetof(abi::Texture, levels));
  constexpr uint32_t kKinds = abi::kPlainAddressing | abi::kLinearMemory | abi::kBlendsPoints;
  Value *kind = b.CreateAnd(mode, b.getInt32(kKinds));
  Value *isShort = b.CreateAnd(b.CreateICmpEQ(format, b.getInt32(abi::kFormatOneWord)),
                               b.CreateICmpEQ(kind, b.getInt32(abi::kPlainAddressing)));
  isShort = b.CreateAnd(isShort, b.CreateICmpEQ(levels, b.getInt64(0)));
  return eitherCall(
      fn, isShort, [&] { return callShort("_word"); },
      [&] {
        if (geometry.dimensions != 2)
          return sampleOther();
        Value *isPlain =
            b.CreateICmpNE(b.CreateAnd(mode, b.getInt32(abi::kPlainFilter)), b.getInt32(0));
        return eitherCall(fn, isPlain, [&] { return callShort("_filter"); }, sampleOther);
      });
}

// The four results, of which the destination's type says how they are written.
void writeTexel(FunctionLowering &fn, const ptx::Instruction &inst, Value *texel) {
  IRBuilder<> &b = fn.builder();
  const ptx::Operand &first = inst.operands[0];
  const ptx::Operand &destination =
      first.kind == ptx::Operand::Kind::Pair ? first.elements()[0] : first;
  const ptx::Type type = inst.spelling->type(0);
  auto word = [&](unsigned i) { return b.CreateExtractValue(texel, i); };
  auto half = [&](unsigned i) {
    return b.CreateFPTrunc(b.CreateBitCast(word(i), b.getFloatTy()), b.getHalfTy());
  };
  const unsigned count = type == ptx::Type::F16x2 ? 2 : 4;
  for (auto [i, element] : enumerate(fn.elementsOf(destination, count))) {
    if (type == ptx::Type::F16x2) {
      Value *pair = PoisonValue::get(FixedVectorType::get(b.getHalfTy(), 2));
      pair = b.CreateInsertElement(pair, half(2 * i), uint64_t(0));
      fn.write(element, b.CreateInsertElement(pair, half(2 * i + 1), 1), type);
    } else {
      fn.write(element, type == ptx::Type::F16 ? half(i) : word(i), type);
    }
  }
  fn.setDestination(1, b.getTrue()); // all of it is there: no array is sparse
}

} // namespace

const Geometry *geometryOf(const ptx::Spelling &spelling) {
  const ptx::Modifier mod = spelling.first(ptx::ModCategory::Geometry);
  const Geometry *found =
      find_if(kGeometries, [&](const Geometry &geometry) { return geometry.mod == mod; });
  return found == std::end(kGeometries) ? nullptr : found;
}

Value *callSampler(FunctionLowering &fn, const Twine &name, ArrayRef<Value *> arguments) {
  SmallString<32> buffer;
  Function *function = fn.unit().textureFunction(name.toStringRef(buffer));
  assert(function && "a sampler that does not exist");
  return fn.builder().CreateCall(function, arguments);
}

// A handle of 0 is that of an object without texels, as on an H100: results are 0.
static Value *unlessNone(FunctionLowering &fn, Value *handle, function_ref<Value *(Value *)> build,
                         function_ref<void()> ifNone) {
  IRBuilder<> &b = fn.builder();
  BasicBlock *none = fn.newBlock("handle.none"), *some = fn.newBlock("handle.some"),
             *done = fn.newBlock("handle.known");
  b.CreateCondBr(b.CreateICmpEQ(handle, b.getInt64(0)), none, some);
  b.SetInsertPoint(none);
  if (ifNone)
    ifNone();
  none = b.GetInsertBlock();
  b.CreateBr(done);
  b.SetInsertPoint(some);
  Value *result = build(handle);
  some = b.GetInsertBlock();
  b.CreateBr(done);
  b.SetInsertPoint(done);
  if (!result)
    return nullptr;
  PHINode *value = b.CreatePHI(result->getType(), 2);
  value->addIncoming(Constant::getNullValue(result->getType()), none);
  value->addIncoming(result, some);
  return value;
}

Value *withHandle(FunctionLowering &fn, const ptx::Operand &operand,
                  function_ref<Value *(Value *)> buildOne, function_ref<void()> ifNone) {
  IRBuilder<> &b = fn.builder();
  auto build = [&](Value *handle) { return unlessNone(fn, handle, buildOne, ifNone); };
  if (const ptx::Variable *variable = operand.variable()) {
    if (variable->space != ptx::StateSpace::Param) {
      if (variable->elementCount == 1 && variable->fields.empty())
        return buildOne(fn.addressOf(*variable));
      fn.problem(operand,
                 variable->fields.empty() ? "an array of texture or surface references"
                                          : "a texture or surface reference with an initialiser",
                 true);
      return nullptr;
    }
    Value *place = fn.pointer(operand, ptx::StateSpace::Param);
    if (!place)
      return nullptr;
    Value *handle = b.CreateAlignedLoad(b.getInt64Ty(), place, Align(8));
    return fn.ptxFunction().isKernel ? build(handle) : forEachHandle(fn, handle, build);
  }
  Value *handle =
      b.CreateZExtOrTrunc(fn.readRegister(operand.reg, operand.component), b.getInt64Ty());
  return isShared(fn, operand.reg) ? build(handle) : forEachHandle(fn, handle, build);
}

// The coordinates as the sampler takes them: a layer, then the bits of the others.
static bool readCoordinates(FunctionLowering &fn, const Geometry &geometry,
                            const ptx::Operand &operand, ptx::Type type,
                            SmallVectorImpl<Value *> &values) {
  IRBuilder<> &b = fn.builder();
  const unsigned count = geometry.dimensions + geometry.isLayered;
  const auto coordinates = fn.elementsOf(operand, count);
  if (coordinates.size() < count)
    return false;
  for (unsigned i = 0; i < count; ++i)
    values.push_back(b.CreateBitCast(
        fn.read(coordinates[i], geometry.isLayered && i == 0 ? ptx::Type::U32 : type),
        b.getInt32Ty()));
  return true;
}

// What stands in an instruction's brackets, and what of it there is no sampler for.
struct Brackets {
  const Geometry *geometry;
  const ptx::Operand *handle, *coordinates;
};
static Expected<Brackets> bracketsOf(FunctionLowering &fn, const ptx::Instruction &inst) {
  ArrayRef<ptx::Operand> parts = inst.operands[1].elements();
  const Geometry *geometry = geometryOf(*inst.spelling);
  if (!geometry)
    return fn.unsupported(inst, "textures with several samples");
  if (parts.size() != 2)
    return fn.unsupported(inst, "samplers apart from textures (.target texmode_independent)");
  return Brackets{geometry, parts.data(), &parts[1]};
}

// An offset of texels: a number of 4 bits.
static Value *offsetOf(FunctionLowering &fn, const ptx::Operand &element) {
  IRBuilder<> &b = fn.builder();
  return b.CreateAShr(b.CreateShl(fn.read(element, ptx::Type::S32), b.getInt32(28)),
                      b.getInt32(28));
}

// Offsets as the sampler takes them: a byte for each dimension.
static Value *packedOffsets(FunctionLowering &fn, const ptx::Operand &operand, unsigned dimensions,
                            bool isRow = false) {
  IRBuilder<> &b = fn.builder();
  Value *packed = b.getInt32(0);
  for (auto [i, element] : enumerate(fn.elementsOf(operand, dimensions)))
    if (i < dimensions) {
      Value *offset = offsetOf(fn, element);
      Value *byte = b.CreateAnd(offset, b.getInt32(0xff));
      packed = b.CreateOr(packed, b.CreateShl(byte, b.getInt32(uint32_t(8 * i))));
      // On an H100, one dimension is a row of two, and the sign goes on into the other offset.
      if (isRow)
        packed = b.CreateOr(packed, b.CreateAnd(offset, b.getInt32(0x8000)));
    }
  return packed;
}

// The operand with offsets, which may stand behind the others that there are. Null: there is none.
static Expected<const ptx::Operand *> offsetsOf(FunctionLowering &fn, const ptx::Instruction &inst,
                                                const Geometry &geometry, unsigned before) {
  const size_t more = inst.operands.size() - before;
  if (more == 0)
    return nullptr;
  const bool isVector = inst.operands[before].kind == ptx::Operand::Kind::Vector;
  if (more > 1 || geometry.isCube || (geometry.dimensions > 1 && !isVector))
    return fn.unsupported(inst, "comparisons of texels");
  return &inst.operands[before];
}

// tex{.mip}.geom.v4.dtype.ctype d{|p}, [a, c]{, lod}{, dPdx, dPdy}{, e}{, f}
Expected<Value *> lowerTex(FunctionLowering &fn, const ptx::Instruction &inst) {
  IRBuilder<> &b = fn.builder();
  const ptx::Spelling &spelling = *inst.spelling;
  Expected<Brackets> brackets = bracketsOf(fn, inst);
  if (!brackets)
    return brackets.takeError();
  const Geometry &geometry = *brackets->geometry;
  const ptx::Type coordinate = spelling.type(1);
  const bool isLevel = spelling.has(ptx::Mod::Level), isGrad = spelling.has(ptx::Mod::Grad);
  const bool isInteger = coordinate == ptx::Type::S32;
  Expected<const ptx::Operand *> offsets = offsetsOf(fn, inst, geometry, 2 + isLevel + 2 * isGrad);
  if (!offsets)
    return offsets.takeError();
  if (isInteger && (isLevel || isGrad))
    return fn.unsupported(inst, "levels of detail with integer coordinates");

  SmallVector<Value *, 4> at;
  if (!readCoordinates(fn, geometry, *brackets->coordinates, coordinate, at))
    return fn.malformed(inst, "too few coordinates");
  Asked asked;
  SmallVector<Value *, 6> gradients;
  if (isGrad)
    for (unsigned operand : {2u, 3u})
      for (auto [i, element] :
           enumerate(fn.elementsOf(inst.operands[operand], geometry.dimensions)))
        if (i < geometry.dimensions)
          gradients.push_back(b.CreateBitCast(fn.read(element, ptx::Type::F32), b.getInt32Ty()));
  if (isLevel)
    asked.detail = b.CreateBitCast(fn.read(inst.operands[2], ptx::Type::F32), b.getInt32Ty());
  const bool isLinearFetch = isInteger && geometry.mod == ptx::Mod::Geometry1d;
  if (*offsets && isInteger && !isLinearFetch) { // an H100 ignores those of linear memory
    for (auto [i, offset] : enumerate(fn.elementsOf(**offsets, geometry.dimensions)))
      if (i < geometry.dimensions) {
        Value *&x = at[i + geometry.isLayered];
        x = b.CreateAdd(x, offsetOf(fn, offset));
      }
  } else if (*offsets) {
    asked.offsets =
        packedOffsets(fn, **offsets, geometry.dimensions, geometry.mod == ptx::Mod::Geometry1d);
  }
  Value *texel = withHandle(fn, *brackets->handle, [&](Value *handle) -> Value * {
    if (isLinearFetch)
      return fetchLinear(fn, handle, at[0]);
    SmallVector<Value *, 5> arguments = {handle};
    append_range(arguments, at);
    if (isInteger)
      return callSampler(fn, Twine("tex_") + geometry.name + "_s32", arguments);
    const bool hasEllipse = geometry.dimensions == 2 || geometry.isCube ||
                            (geometry.dimensions == 1 && !geometry.isLayered);
    if (isGrad && hasEllipse)
      return sampleEllipse(fn, geometry, handle, at, gradients, asked.offsets);
    if (isGrad) {
      SmallVector<Value *, 10> between = {handle};
      if (geometry.dimensions == 3)
        append_range(between, ArrayRef(at).take_back(3));
      append_range(between, gradients);
      asked.detail = b.CreateBitCast(callSampler(fn, Twine("detail_") + geometry.kind, between),
                                     b.getInt32Ty());
    }
    if (!asked.detail && !asked.offsets)
      return sampleNumbers(fn, geometry, handle, at);
    return sampleAll(fn, geometry, handle, at, asked);
  });
  if (texel)
    writeTexel(fn, inst, texel);
  return nullptr;
}

// tld4.comp.2d.v4.dtype.f32 d{|p}, [a, c]{, e}{, f}
Expected<Value *> lowerTld4(FunctionLowering &fn, const ptx::Instruction &inst) {
  IRBuilder<> &b = fn.builder();
  const ptx::Spelling &spelling = *inst.spelling;
  Expected<Brackets> brackets = bracketsOf(fn, inst);
  if (!brackets)
    return brackets.takeError();
  if (brackets->geometry->mod != ptx::Mod::Geometry2d)
    return fn.unsupported(inst, "gathering from layers and cube maps");
  Expected<const ptx::Operand *> offsets = offsetsOf(fn, inst, *brackets->geometry, 2);
  if (!offsets)
    return offsets.takeError();
  SmallVector<Value *, 4> values;
  if (!readCoordinates(fn, *brackets->geometry, *brackets->coordinates, ptx::Type::F32, values))
    return fn.malformed(inst, "too few coordinates");
  const unsigned component = spelling.has(ptx::Mod::R)   ? 0
                             : spelling.has(ptx::Mod::G) ? 1
                             : spelling.has(ptx::Mod::B) ? 2
                                                         : 3;
  values.push_back(b.getInt32(component));
  values.push_back(*offsets ? packedOffsets(fn, **offsets, 2) : b.getInt32(0));
  Value *texel = withHandle(fn, *brackets->handle, [&](Value *handle) -> Value * {
    SmallVector<Value *, 5> arguments = {handle};
    append_range(arguments, values);
    return callSampler(fn, "tld4_2d", arguments);
  });
  if (texel)
    writeTexel(fn, inst, texel);
  return nullptr;
}

// istypep.type p, a: an H100 says no of all objects.
Expected<Value *> lowerIstypep(FunctionLowering &fn, const ptx::Instruction &) {
  return fn.builder().getFalse();
}

// What a level of detail has of an extent of the texture; 0 if there is no such level. Layers,
// which are no extent of the grid, are the same at all levels.
static Value *extentAtLevel(FunctionLowering &fn, Fields fields, Value *answer, size_t extentOffset,
                            Value *level) {
  IRBuilder<> &b = fn.builder();
  Type *word = b.getInt32Ty();
  Value *levels = fields.load(word, offsetof(abi::Texture, levelCount));
  Value *isThere = b.CreateOr(b.CreateICmpEQ(level, b.getInt32(0)), b.CreateICmpULT(level, levels));
  Value *isExtent = b.CreateICmpEQ(fields.load(word, extentOffset), answer);
  Value *shift = b.CreateAnd(level, b.getInt32(31));
  Value *halved =
      b.CreateBinaryIntrinsic(Intrinsic::umax, b.CreateLShr(answer, shift),
                              b.CreateBinaryIntrinsic(Intrinsic::umin, answer, b.getInt32(1)));
  return b.CreateSelect(isThere, b.CreateSelect(isExtent, halved, answer), b.getInt32(0));
}

// txq.query.b32 d, [a], txq.level.query.b32 d, [a], lod, suq.query.b32 d, [a]: width, height and
// depth; an H100 refuses the others.
static Expected<Value *> query(FunctionLowering &fn, const ptx::Instruction &inst) {
  IRBuilder<> &b = fn.builder();
  const ptx::Spelling &spelling = *inst.spelling;
  static constexpr struct {
    const ptx::Modifier &mod;
    size_t extent; // of level 0
  } kQueries[] = {{ptx::Mod::Width, offsetof(abi::Texture, grid.width)},
                  {ptx::Mod::Height, offsetof(abi::Texture, grid.height)},
                  {ptx::Mod::Depth, offsetof(abi::Texture, grid.depth)}};
  const auto *asked = find_if(kQueries, [&](const auto &row) { return spelling.has(row.mod); });
  if (asked == std::end(kQueries))
    return fn.unsupported(inst, "this query, which NVIDIA's driver refuses too");
  const size_t slot = size_t(asked - kQueries);
  Value *level = spelling.has(ptx::Mod::Level) ? fn.source(1) : nullptr;
  ArrayRef<ptx::Operand> inside = inst.operands[1].elements();
  return withHandle(
      fn, inside.empty() ? inst.operands[1] : inside[0], [&](Value *handle) -> Value * {
        Fields fields{fn, b.CreateIntToPtr(handle, b.getPtrTy(kConstantSpace))};
        Value *answer = fields.load(b.getInt32Ty(), offsetof(abi::Texture, slots) + 4 * slot);
        return level ? extentAtLevel(fn, fields, answer, asked->extent, level) : answer;
      });
}
Expected<Value *> lowerTxq(FunctionLowering &fn, const ptx::Instruction &inst) {
  return query(fn, inst);
}
Expected<Value *> lowerSuq(FunctionLowering &fn, const ptx::Instruction &inst) {
  return query(fn, inst);
}

} // namespace rubia::lowering
