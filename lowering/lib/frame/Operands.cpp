// SPDX-License-Identifier: Apache-2.0
// Operands as LLVM values, and values into destinations.
//
// A register holds bits: reading gives them the type that the instruction has for the operand, and
// writing takes it off again. So the only rules about widths are here.
#include "lowering/lib/frame/FunctionLowering.h"
#include "lowering/lib/frame/UnitLowering.h"
#include "ptx-frontend/InstructionTable.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace rubia::lowering {

using Kind = ptx::Operand::Kind;

// ---------- Types

IntegerType *FunctionLowering::intType(unsigned bits) { return IntegerType::get(context(), bits); }

ConstantInt *FunctionLowering::constant(unsigned bits, uint64_t value) {
  return ConstantInt::get(context(), APInt(bits, value, false, /*implicitTrunc=*/true));
}

static unsigned bitsOf(ptx::Type type) {
  return type == ptx::Type::Pred ? 1 : ptx::sizeInBits(type);
}

Type *FunctionLowering::typeOf(ptx::Type type) {
  auto pair = [&](Type *element) { return FixedVectorType::get(element, 2); };
  switch (type) {
  case ptx::Type::TF32:
  case ptx::Type::F32:
    return Type::getFloatTy(context());
  case ptx::Type::F64:
    return Type::getDoubleTy(context());
  case ptx::Type::F16:
    return Type::getHalfTy(context());
  case ptx::Type::BF16:
    return Type::getBFloatTy(context());
  case ptx::Type::F16x2:
    return pair(Type::getHalfTy(context()));
  case ptx::Type::BF16x2:
    return pair(Type::getBFloatTy(context()));
  case ptx::Type::F32x2:
    return pair(Type::getFloatTy(context()));
  case ptx::Type::U16x2:
  case ptx::Type::S16x2:
    return pair(intType(16));
  case ptx::Type::None:
  case ptx::Type::Pred:
  case ptx::Type::B8:
  case ptx::Type::B16:
  case ptx::Type::B32:
  case ptx::Type::B64:
  case ptx::Type::B128:
  case ptx::Type::U8:
  case ptx::Type::U16:
  case ptx::Type::U32:
  case ptx::Type::U64:
  case ptx::Type::S8:
  case ptx::Type::S16:
  case ptx::Type::S32:
  case ptx::Type::S64:
  case ptx::Type::E4M3:
  case ptx::Type::E5M2:
  case ptx::Type::E4M3x2:
  case ptx::Type::E5M2x2:
  case ptx::Type::E4M3x4:
  case ptx::Type::E5M2x4:
  case ptx::Type::E2M1:
  case ptx::Type::E2M3:
  case ptx::Type::E3M2:
  case ptx::Type::E2M1x2:
  case ptx::Type::E2M3x2:
  case ptx::Type::E3M2x2:
  case ptx::Type::E2M1x4:
  case ptx::Type::E2M3x4:
  case ptx::Type::E3M2x4:
  case ptx::Type::UE8M0:
  case ptx::Type::UE8M0x2:
  case ptx::Type::UE4M3:
  case ptx::Type::B1:
  case ptx::Type::U2:
  case ptx::Type::S2:
  case ptx::Type::U4:
  case ptx::Type::S4:
  case ptx::Type::S2F6x2:
  case ptx::Type::TexRef:
  case ptx::Type::SamplerRef:
  case ptx::Type::SurfRef:
    break;
  }
  return intType(std::max(bitsOf(type), 1u));
}

// ---------- Registers

// PTX ISA leaves a register that was never written undefined, which must not become undefined
// behaviour: any one value will do.
Value *FunctionLowering::undefinedBits(Type *type) {
  Value *&value = undefined[type];
  if (!value)
    value = entryBuilder.CreateFreeze(PoisonValue::get(type));
  return value;
}

AllocaInst *FunctionLowering::registerSlot(ptx::RegisterId reg, uint8_t component) {
  AllocaInst *&slot = component == 0xff || component == 0
                          ? registers[reg]
                          : components[std::make_pair(reg, component)];
  if (!slot) {
    const ptx::Register &declared = source_.registers[reg];
    Type *type = intType(std::max(bitsOf(declared.type), 1u));
    // The last first. Phis come in the order of allocas, which decides what LLVM's register
    // coalescer joins. In the other order a binary search executes 1.07 times as much.
    BasicBlock *entry = entryBuilder.GetInsertBlock();
    slot = IRBuilder<>(entry, entry->begin())
               .CreateAlloca(type, kPrivateSpace, nullptr, source_.registerName(reg));
    entryBuilder.CreateStore(undefinedBits(type), slot);
    unitLowering.debugInfo.addRegister(source_, reg, component, slot, subprogram);
  }
  return slot;
}

Value *FunctionLowering::readRegister(ptx::RegisterId reg, uint8_t component) {
  AllocaInst *slot = registerSlot(reg, component);
  return irBuilder.CreateLoad(slot->getAllocatedType(), slot);
}

// ---------- Reading

Value *FunctionLowering::fromBits(const ptx::Operand &operand, Value *bits, ptx::Type type) {
  unsigned have = bits->getType()->getIntegerBitWidth(), want = bitsOf(type);
  if (have < want || (want == 1 && have != 1)) {
    problem(operand, "operand of " + Twine(have) + " bits where " + Twine(want) +
                         (want == 1 ? " (a predicate)" : "") + " are needed");
    return PoisonValue::get(typeOf(type));
  }
  if (have > want)
    bits = irBuilder.CreateTrunc(bits, intType(want));
  return irBuilder.CreateBitCast(bits, typeOf(type));
}

// PTX ISA: constants; an f32 literal where an f64 is needed is taken as it is, a double one where
// an f32 is needed is rounded.
Value *FunctionLowering::immediate(const ptx::Operand &operand, ptx::Type type) {
  unsigned want = bitsOf(type);
  uint64_t bits = operand.bits;
  if (operand.kind == Kind::Float) {
    if (want != 32 && want != 64) {
      problem(operand, "a floating-point constant has no value of " + Twine(want) + " bits");
      return PoisonValue::get(typeOf(type));
    }
    if (want == 32 && !operand.isSingle) {
      APFloat value(APFloat::IEEEdouble(), APInt(64, bits));
      bool losesInfo;
      value.convert(APFloat::IEEEsingle(), APFloat::rmNearestTiesToEven, &losesInfo);
      bits = value.bitcastToAPInt().getZExtValue();
    }
  } else if (want == 1) {
    return irBuilder.getInt1(bits != 0);
  }
  Constant *value = want == 128 ? ConstantInt::get(context(), APInt(128, bits, !operand.isUnsigned))
                                : constant(want, bits);
  return irBuilder.CreateBitCast(value, typeOf(type));
}

// Where an operand lies that is read from or written to a slot; null: it is what it says.
AllocaInst *FunctionLowering::slotFor(const ptx::Operand &operand) const {
  return operandSlots ? operandSlots->lookup(&operand) : nullptr;
}

Value *FunctionLowering::read(const ptx::Operand &operand, ptx::Type type) {
  if (AllocaInst *slot = slotFor(operand))
    return fromBits(operand, irBuilder.CreateLoad(slot->getAllocatedType(), slot), type);
  if (operandSlots) // the register may have its constant elsewhere alone
    if (std::optional<uint64_t> known = definitions.constant(operand))
      return irBuilder.CreateBitCast(constant(bitsOf(type), *known), typeOf(type));
  switch (operand.kind) {
  case Kind::Register: {
    if (isWholeVector(operand))
      return pack(elementsOf(operand, source_.registers[operand.reg].vectorWidth), type);
    Value *value = fromBits(operand, readRegister(operand.reg, operand.component), type);
    // `!p`; the `-a` of vmad is for its lowering function
    return operand.negated && type == ptx::Type::Pred ? irBuilder.CreateNot(value) : value;
  }
  case Kind::Integer:
  case Kind::Float:
    return immediate(operand, type);
  case Kind::SpecialRegister: {
    Value *value = specialRegister(operand.special, operand.component);
    if (!value)
      return PoisonValue::get(typeOf(type));
    unsigned want = bitsOf(type);
    if (value->getType()->getIntegerBitWidth() < want && want > 1)
      value = irBuilder.CreateZExt(value, intType(want));
    return fromBits(operand, value, type);
  }
  case Kind::Variable: {
    Value *address = addressOf(*operand.variable());
    if (!address)
      return PoisonValue::get(typeOf(type));
    if (operand.offset)
      address = irBuilder.CreateAdd(address, irBuilder.getInt64(uint64_t(operand.offset)));
    return fromBits(operand, address, type);
  }
  case Kind::Function: {
    Function *target = unitLowering.functionFor(*operand.function());
    if (!target || operand.function()->isKernel) {
      problem(operand,
              "the address of '" + operand.function()->name + "' is not known in this module",
              true);
      return PoisonValue::get(typeOf(type));
    }
    return fromBits(operand, irBuilder.CreatePtrToInt(target, irBuilder.getInt64Ty()), type);
  }
  case Kind::Vector:
    return pack(operand.elements(), type);
  case Kind::Address:
  case Kind::AddressList:
  case Kind::Label:
  case Kind::LabelList:
  case Kind::Sink:
  case Kind::Pair:
  case Kind::List:
  case Kind::Prototype:
    break;
  }
  problem(operand, "this operand has no value");
  return PoisonValue::get(typeOf(type));
}

// {a, b}: a in the low bits.
Value *FunctionLowering::pack(ArrayRef<ptx::Operand> elements, ptx::Type type) {
  unsigned width = bitsOf(type) / unsigned(std::max<size_t>(elements.size(), 1));
  Value *packed = constant(bitsOf(type), 0);
  for (auto [index, element] : enumerate(elements)) {
    Value *part = nullptr;
    switch (element.kind) {
    case Kind::Register:
      part = readRegister(element.reg, element.component);
      break;
    case Kind::Integer:
      part = constant(width, element.bits);
      break;
    case Kind::Float:
      part = width == 32   ? immediate(element, ptx::Type::B32)
             : width == 64 ? immediate(element, ptx::Type::B64)
                           : nullptr;
      break;
    case Kind::SpecialRegister:
      part = specialRegister(element.special, element.component);
      break;
    default:
      break;
    }
    if (!part || part->getType()->getIntegerBitWidth() != width ||
        width * elements.size() != bitsOf(type)) {
      problem(element, "an element of " + Twine(width) + " bits is needed");
      return PoisonValue::get(typeOf(type));
    }
    part = irBuilder.CreateShl(irBuilder.CreateZExt(part, packed->getType()), index * width);
    packed = index ? irBuilder.CreateOr(packed, part) : part;
  }
  return irBuilder.CreateBitCast(packed, typeOf(type));
}

bool FunctionLowering::isWholeVector(const ptx::Operand &operand) const {
  return operand.kind == Kind::Register && operand.component == 0xff &&
         source_.registers[operand.reg].vectorWidth > 1;
}

Value *FunctionLowering::passVector(ptx::RegisterId reg, Type *passed) {
  AllocaInst *memory = entryBuilder.CreateAlloca(passed, kPrivateSpace);
  const ptx::Register &declared = source_.registers[reg];
  for (unsigned i = 0; i < declared.vectorWidth; ++i) {
    Value *place = irBuilder.CreateConstGEP1_64(irBuilder.getInt8Ty(), memory,
                                                i * ptx::sizeInBits(declared.type) / 8);
    irBuilder.CreateStore(readRegister(reg, uint8_t(i)), place);
  }
  return irBuilder.CreateLoad(passed, memory);
}

void FunctionLowering::takeVector(ptx::RegisterId reg, Value *passed) {
  AllocaInst *memory = entryBuilder.CreateAlloca(passed->getType(), kPrivateSpace);
  irBuilder.CreateStore(passed, memory);
  const ptx::Register &declared = source_.registers[reg];
  ptx::Operand element{};
  element.reg = reg;
  for (unsigned i = 0; i < declared.vectorWidth; ++i) {
    unsigned bits = ptx::sizeInBits(declared.type);
    element.component = uint8_t(i);
    Value *place = irBuilder.CreateConstGEP1_64(irBuilder.getInt8Ty(), memory, i * bits / 8);
    writeBits(element, irBuilder.CreateLoad(intType(bits), place), /*isSigned=*/false);
  }
}

SmallVector<ptx::Operand, 8> FunctionLowering::elementsOf(const ptx::Operand &operand,
                                                          unsigned count) const {
  if (operand.kind == Kind::Vector)
    return SmallVector<ptx::Operand, 8>(operand.elements());
  bool isVector = count > 1 && (isWholeVector(operand) || (operand.kind == Kind::SpecialRegister &&
                                                           operand.component == 0xff));
  SmallVector<ptx::Operand, 8> elements(isVector ? count : 1, operand);
  for (unsigned i = 0; isVector && i < count; ++i)
    elements[i].component = uint8_t(i);
  return elements;
}

// ---------- The operands of the current instruction

static unsigned destinations(const ptx::Instruction &inst) {
  const ptx::Form &form = ptx::instructionForms()[inst.spelling->form];
  return form.operandCount > 0 && form.operandSlots[0].destination;
}

const ptx::Operand &FunctionLowering::sourceOperand(unsigned n) const {
  return current->operands[n + destinations(*current)];
}

bool FunctionLowering::hasSource(unsigned n) const {
  return n + destinations(*current) < current->operands.size();
}

ptx::Type FunctionLowering::sourceType(unsigned n) const {
  return current->spelling->operandType(n + destinations(*current));
}

Value *FunctionLowering::source(unsigned n) { return source(n, sourceType(n)); }

Value *FunctionLowering::source(unsigned n, ptx::Type type) {
  if (!hasSource(n)) {
    ptx::Operand none{};
    none.place = current->place;
    problem(none, "an operand is missing");
    return PoisonValue::get(typeOf(type));
  }
  return read(sourceOperand(n), type);
}

std::optional<uint64_t> FunctionLowering::sourceConstant(unsigned n) const {
  if (!hasSource(n) || sourceOperand(n).kind != Kind::Integer || slotFor(sourceOperand(n)))
    return std::nullopt;
  return sourceOperand(n).bits;
}

std::optional<uint64_t> FunctionLowering::knownConstant(unsigned n) const {
  return hasSource(n) && !slotFor(sourceOperand(n)) ? definitions.constant(sourceOperand(n))
                                                    : std::nullopt;
}

// ---------- Writing

ptx::Type FunctionLowering::destinationType() const { return current->spelling->operandType(0); }

bool FunctionLowering::hasDestination(unsigned n) const { return n < destinationOperands().size(); }

ArrayRef<ptx::Operand> FunctionLowering::destinationOperands() const {
  if (destinations(*current) == 0 || current->operands.empty())
    return {};
  const ptx::Operand &first = current->operands[0];
  return first.kind == Kind::Pair ? first.elements() : ArrayRef(first);
}

void FunctionLowering::setDestination(unsigned n, Value *value) {
  if (hasDestination(n))
    write(destinationOperands()[n], value, n == 0 ? destinationType() : ptx::Type::Pred);
}

void FunctionLowering::writeBits(const ptx::Operand &operand, Value *bits, bool isSigned) {
  AllocaInst *slot = slotFor(operand);
  if (!slot)
    slot = registerSlot(operand.reg, operand.component);
  Type *type = slot->getAllocatedType();
  unsigned have = bits->getType()->getIntegerBitWidth(), want = type->getIntegerBitWidth();
  if (have > want || (have == 1) != (want == 1)) {
    problem(operand,
            "a result of " + Twine(have) + " bits does not fit a register of " + Twine(want));
    return;
  }
  if (have < want)
    bits = isSigned ? irBuilder.CreateSExt(bits, type) : irBuilder.CreateZExt(bits, type);
  if (selectCondition)
    bits = irBuilder.CreateSelect(selectCondition, bits, irBuilder.CreateLoad(type, slot));
  irBuilder.CreateStore(bits, slot);
}

void FunctionLowering::unpack(ArrayRef<ptx::Operand> elements, Value *bits) {
  unsigned width =
      bits->getType()->getIntegerBitWidth() / unsigned(std::max<size_t>(elements.size(), 1));
  for (auto [index, element] : enumerate(elements)) {
    if (element.kind == Kind::Sink)
      continue;
    Value *part = irBuilder.CreateTrunc(irBuilder.CreateLShr(bits, index * width), intType(width));
    if (element.kind == Kind::Register && bitsOf(source_.registers[element.reg].type) == width)
      writeBits(element, part, false);
    else
      problem(element, "a register of " + Twine(width) + " bits is needed");
  }
}

void FunctionLowering::write(const ptx::Operand &operand, Value *value, ptx::Type type) {
  const bool hasSlot = slotFor(operand);
  if (operand.kind == Kind::Sink && !hasSlot)
    return;
  if (operand.kind == Kind::Pair)
    return write(operand.elements()[0], value, type);
  Value *bits = irBuilder.CreateBitCast(
      value, intType(unsigned(value->getType()->getPrimitiveSizeInBits().getFixedValue())));
  if (hasSlot)
    return writeBits(operand, bits, ptx::classOf(type) == ptx::TypeClass::Signed);
  switch (operand.kind) {
  case Kind::Register:
    if (isWholeVector(operand))
      return unpack(elementsOf(operand, source_.registers[operand.reg].vectorWidth), bits);
    return writeBits(operand, bits, ptx::classOf(type) == ptx::TypeClass::Signed);
  case Kind::Vector:
    return unpack(operand.elements(), bits);
  default:
    problem(operand, "this operand cannot be written");
  }
}

// ---------- Condition code

Value *FunctionLowering::conditionCode() {
  if (!carry) {
    carry = entryBuilder.CreateAlloca(irBuilder.getInt1Ty(), kPrivateSpace, nullptr, "CC.CF");
    entryBuilder.CreateStore(undefinedBits(irBuilder.getInt1Ty()), carry);
  }
  return irBuilder.CreateLoad(irBuilder.getInt1Ty(), carry);
}

void FunctionLowering::setConditionCode(Value *value) {
  if (!carry)
    conditionCode();
  irBuilder.CreateStore(value, carry);
}

} // namespace rubia::lowering
