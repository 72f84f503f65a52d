// SPDX-License-Identifier: Apache-2.0
// One set of facts for each register and each kind of memory, joined over all instructions until
// nothing changes. Order and control flow are left out, which can only add facts. Of the functions
// that a kernel calls all of the module's are taken, for the same reason.
#include "diff/Stores.h"
#include "ptx-frontend/Effects.h"
#include "ptx-frontend/Parser.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using rubia::ptx::Mod;
using rubia::ptx::Op;
using rubia::ptx::Operand;
using rubia::ptx::StateSpace;
using rubia::ptx::Type;

namespace rubia::capsule {
namespace {

constexpr unsigned kElsewhere = 63; // the bit of pointers that were loaded, and of variables

enum TypeBits : uint8_t { kF16 = 1, kBF16 = 2, kF32 = 4, kF64 = 8, kInteger = 16 };

struct Fact {
  uint64_t origins = 0; // parameters that an address may come from, by bit
  uint8_t types = 0;    // TypeBits of what computed the value
  bool isInexact = false;

  bool join(const Fact &other) {
    const Fact old = *this;
    origins |= other.origins;
    types |= other.types;
    isInexact |= other.isInexact;
    return origins != old.origins || types != old.types || isInexact != old.isInexact;
  }
};

uint8_t typeBits(Type type) {
  switch (type) {
  case Type::F16:
  case Type::F16x2:
    return kF16;
  case Type::BF16:
  case Type::BF16x2:
    return kBF16;
  case Type::F32:
  case Type::F32x2:
  case Type::TF32:
    return kF32;
  case Type::F64:
    return kF64;
  default:
    break;
  }
  const ptx::TypeClass kind = ptx::classOf(type);
  return kind == ptx::TypeClass::Unsigned || kind == ptx::TypeClass::Signed ? kInteger : 0;
}

Type typeFor(uint8_t bits) {
  switch (bits) {
  case kF16:
    return Type::F16;
  case kBF16:
    return Type::BF16;
  case kF32:
    return Type::F32;
  case kF64:
    return Type::F64;
  default:
    return Type::None;
  }
}

bool isFloat(Type type) { return ptx::classOf(type) == ptx::TypeClass::Float; }

bool hasFloat(const ptx::Spelling &spelling) {
  for (unsigned i = 0; spelling.type(i) != Type::None; ++i)
    if (isFloat(spelling.type(i)))
      return true;
  return false;
}

/// Whether sums of floating-point numbers, or exchanges, in an order that is open make what it
/// writes to memory.
bool isMemoryInexact(const ptx::Spelling &spelling) {
  const bool isAtomic = spelling.op == Op::Atom || spelling.op == Op::Red;
  return isAtomic && (hasFloat(spelling) || spelling.has(Mod::Exch) || spelling.has(Mod::Cas));
}

/// Whether the result of the instruction may be another on another processor, for the same inputs.
bool isInexact(const ptx::Instruction &instruction) {
  const ptx::Spelling &spelling = *instruction.spelling;
  if (spelling.has(Mod::Approx) || spelling.has(Mod::Full))
    return true;
  // Those that have no word for it; and atomics, whose results depend on the order of threads.
  constexpr Op kAlways[] = {Op::FSin,   Op::FCos, Op::FLg2,       Op::FEx2,  Op::FTanh,
                            Op::FRsqrt, Op::Atom, Op::Activemask, Op::Elect, Op::Tex};
  // Sums in an order that is open.
  constexpr Op kOfFloats[] = {Op::Mma,           Op::MmaSp,           Op::WmmaMma,
                              Op::MmaBlockScale, Op::MmaSpBlockScale, Op::Wgmma,
                              Op::WgmmaSp,       Op::TcMma,           Op::TcMmaWs};
  return is_contained(kAlways, spelling.op) ||
         (is_contained(kOfFloats, spelling.op) && hasFloat(spelling));
}

/// The processor's own: no two have the same.
bool isOwn(ptx::SpecialRegister special) {
  switch (special) {
  case ptx::SpecialRegister::WarpId:
  case ptx::SpecialRegister::SmId:
  case ptx::SpecialRegister::NSmId:
  case ptx::SpecialRegister::GridId:
  case ptx::SpecialRegister::Clock:
  case ptx::SpecialRegister::ClockHi:
  case ptx::SpecialRegister::Clock64:
  case ptx::SpecialRegister::GlobalTimer:
  case ptx::SpecialRegister::GlobalTimerLo:
  case ptx::SpecialRegister::GlobalTimerHi:
    return true;
  default:
    return false;
  }
}

class Analysis {
public:
  Analysis(const ptx::Module &module, const ptx::Function &kernel)
      : module(module), kernel(kernel) {}
  KernelStores run();

private:
  bool visit(const ptx::Function &function, const ptx::Instruction &instruction);
  Fact factOf(const ptx::Function &function, const Operand &operand);
  bool write(const ptx::Function &function, const Operand &operand, const Fact &fact);
  Fact &memory(StateSpace space) { return memories[unsigned(space)]; }
  Fact loaded(const ptx::Function &function, const ptx::Instruction &instruction, unsigned address);
  bool stored(const ptx::Function &function, const ptx::Instruction &instruction,
              const Operand &address, Fact value);
  Fact &registerFact(const ptx::Function &function, ptx::RegisterId id) {
    return registers[{&function, id}];
  }
  void note(const ptx::Instruction &instruction);

  const ptx::Module &module;
  const ptx::Function &kernel;
  DenseMap<std::pair<const ptx::Function *, unsigned>, Fact> registers;
  Fact memories[16];
  Fact stores[64]; // by origin: what is stored through it
  bool any[64] = {};
  bool isControlInexact = false;
  std::string cause;
};

} // namespace

Fact Analysis::factOf(const ptx::Function &function, const Operand &operand) {
  Fact fact;
  switch (operand.kind) {
  case Operand::Kind::Register:
    return registerFact(function, operand.reg);
  case Operand::Kind::Float:
    return fact; // a constant of any type
  case Operand::Kind::Variable:
    fact.origins = uint64_t(1) << kElsewhere;
    return fact;
  case Operand::Kind::SpecialRegister:
    fact.isInexact = isOwn(operand.special);
    return fact;
  case Operand::Kind::Address:
    if (operand.reg != ptx::kNone)
      return registerFact(function, operand.reg);
    if (operand.variable())
      fact.origins = uint64_t(1) << kElsewhere;
    return fact;
  case Operand::Kind::Vector:
  case Operand::Kind::Pair:
  case Operand::Kind::List:
  case Operand::Kind::AddressList:
    for (const Operand &element : operand.elements())
      fact.join(factOf(function, element));
    return fact;
  case Operand::Kind::Integer:
  case Operand::Kind::Function:
  case Operand::Kind::Label:
  case Operand::Kind::LabelList:
  case Operand::Kind::Sink:
  case Operand::Kind::Prototype:
    return fact;
  }
  return fact;
}

bool Analysis::write(const ptx::Function &function, const Operand &operand, const Fact &fact) {
  if (operand.kind == Operand::Kind::Register)
    return registerFact(function, operand.reg).join(fact);
  bool changed = false;
  for (const Operand &element : operand.elements())
    changed |= write(function, element, fact);
  return changed;
}

void Analysis::note(const ptx::Instruction &instruction) {
  if (!cause.empty())
    return;
  const StringRef before = StringRef(*module.text).take_front(instruction.place);
  cause =
      "line " + std::to_string(before.count('\n') + 1) + ": " + instruction.spelling->text.str();
}

/// What memory of the space may hold, and what the address adds.
Fact Analysis::loaded(const ptx::Function &function, const ptx::Instruction &instruction,
                      unsigned address) {
  const Operand &from = instruction.operands[address];
  const Fact where = factOf(function, from);
  const StateSpace space = instruction.spelling->space();
  Fact fact;
  const ptx::Variable *variable = from.variable();
  if (variable && variable->isKernelParameter) {
    for (size_t i = 0; i < kernel.parameters.size(); ++i)
      if (kernel.parameters[i] == variable)
        fact.origins = uint64_t(1) << std::min<size_t>(i, kElsewhere);
  } else {
    fact = memory(space);
    if (space == StateSpace::None)
      for (StateSpace one : {StateSpace::Global, StateSpace::Shared, StateSpace::Local})
        fact.join(memory(one));
    else if (space == StateSpace::Global || space == StateSpace::Shared ||
             space == StateSpace::Local)
      fact.join(memory(StateSpace::None));
    // A pointer out of memory that is shared with others may point anywhere.
    if (space == StateSpace::Global || space == StateSpace::None)
      fact.origins |= uint64_t(1) << kElsewhere;
    // What others made of this memory has the type as which it is read, if that says one.
    fact.types = typeBits(instruction.spelling->type());
    if (!fact.types && space != StateSpace::Global)
      fact.types = memory(space).types;
  }
  fact.isInexact |= where.isInexact;
  return fact;
}

bool Analysis::stored(const ptx::Function &function, const ptx::Instruction &instruction,
                      const Operand &address, Fact value) {
  const Fact where = factOf(function, address);
  const StateSpace space = instruction.spelling->space();
  value.isInexact |= where.isInexact || isControlInexact;
  if (const uint8_t types = typeBits(instruction.spelling->type()))
    value.types = types;
  bool changed = memory(space).join(value);
  if (space != StateSpace::Global && space != StateSpace::None)
    return changed;
  const uint64_t origins = where.origins ? where.origins : uint64_t(1) << kElsewhere;
  for (unsigned i = 0; i < 64; ++i)
    if (origins >> i & 1) {
      any[i] = true;
      changed |= stores[i].join(value);
    }
  return changed;
}

bool Analysis::visit(const ptx::Function &function, const ptx::Instruction &instruction) {
  const ptx::Effects effects = ptx::effectsOf(instruction.op());
  const bool inexact = isInexact(instruction),
             memoryInexact = isMemoryInexact(*instruction.spelling);
  if (inexact || memoryInexact)
    note(instruction);
  Fact sources;
  if (instruction.guard.reg != ptx::kNone)
    sources.isInexact = registerFact(function, instruction.guard.reg).isInexact;
  const bool hasResult = effects.result() != ptx::Result::NoResult;
  const ArrayRef<Operand> operands = instruction.operands;
  for (size_t i = hasResult ? 1 : 0; i < operands.size(); ++i)
    if (operands[i].kind == Operand::Kind::Address) // says where, not what
      sources.isInexact |= factOf(function, operands[i]).isInexact;
    else
      sources.join(factOf(function, operands[i]));
  if (effects.hasAny(ptx::effects::Jumps | ptx::effects::Returns | ptx::effects::Exits |
                     ptx::effects::Traps)) {
    const bool old = isControlInexact;
    isControlInexact |= sources.isInexact;
    return isControlInexact != old;
  }
  bool changed = false;
  if (effects.has(ptx::effects::Writes)) {
    Fact value = sources;
    value.isInexact |= memoryInexact || (inexact && instruction.op() != Op::Atom);
    // The address is the first operand that is one.
    for (const Operand &operand : operands)
      if (operand.kind == Operand::Kind::Address) {
        changed |= stored(function, instruction, operand, value);
        break;
      }
  }
  sources.isInexact |= inexact;
  if (effects.has(ptx::effects::Calls)) {
    // Arguments and results go through parameters, which are one memory here.
    changed |= memory(StateSpace::Param).join(sources);
    for (const Operand &operand : operands)
      changed |= write(function, operand, memory(StateSpace::Param));
    return changed;
  }
  if (!hasResult || operands.empty())
    return changed;
  Fact result = sources;
  for (unsigned i = 1; i < operands.size(); ++i)
    if (operands[i].kind == Operand::Kind::Address &&
        effects.hasAny(ptx::effects::Reads | ptx::effects::NamesAddress)) {
      result = loaded(function, instruction, i);
      result.isInexact |= sources.isInexact;
      break;
    }
  if (const uint8_t types = typeBits(instruction.spelling->operandType(0)))
    result.types = types;
  changed |= write(function, operands.front(), result);
  return changed;
}

KernelStores Analysis::run() {
  SmallVector<const ptx::Function *> functions = {&kernel};
  for (const ptx::Function *function : module.functions)
    if (!function->isKernel && function->hasBody)
      functions.push_back(function);
  for (bool changed = true; changed;) {
    changed = false;
    for (const ptx::Function *function : functions)
      for (const ptx::Instruction &instruction : function->body)
        changed |= visit(*function, instruction);
  }
  const auto of = [&](unsigned i) {
    return Stores{typeFor(stores[i].types), any[i], stores[i].isInexact || isControlInexact};
  };
  KernelStores out;
  for (unsigned i = 0; i < kernel.parameters.size() && i < kElsewhere; ++i)
    out.byParameter.push_back(of(i));
  out.elsewhere = of(kElsewhere);
  out.cause = cause;
  return out;
}

Stores KernelStores::through(size_t parameter) const {
  Stores all = parameter < byParameter.size() ? byParameter[parameter] : Stores();
  if (!elsewhere.any)
    return all;
  if (!all.any)
    return elsewhere;
  all.isInexact |= elsewhere.isInexact;
  if (all.type != elsewhere.type)
    all.type = Type::None;
  return all;
}

Expected<KernelStores> storesOf(StringRef text, StringRef kernel) {
  ptx::ParseResult parsed = ptx::parse("capsule", text.str());
  const ptx::Function *function = parsed.usable ? parsed.module.function(kernel) : nullptr;
  if (!function || !function->hasBody || !function->valid)
    return createStringError("the PTX of kernel '" + kernel + "' cannot be read");
  return Analysis(parsed.module, *function).run();
}

} // namespace rubia::capsule
