// SPDX-License-Identifier: Apache-2.0
// One set of facts for each register and each kind of memory, joined over all instructions until
// nothing changes. Order and control flow are left out, which can only add facts. Of the functions
// that a kernel calls all of the module's are taken, for the same reason.
#include "diff/Stores.h"
#include "diff/lib/Inexact.h"
#include "diff/lib/TextureSites.h"
#include "ptx-frontend/Effects.h"
#include "ptx-frontend/Parser.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;
namespace Mod = rubia::ptx::Mod;
using rubia::ptx::Operand;
using rubia::ptx::Operation;
using rubia::ptx::StateSpace;
using rubia::ptx::Type;

namespace rubia::ptx::Op {
extern const Operation Atom, CpAsyncBulkPrefetchTensor, CpAsyncBulkTensor, CpReduceAsyncBulkTensor,
    Cvta, Ld, Ldmatrix, Ldu, Mov, Movmatrix, Prmt, Selp, Shfl, Slct, Sured, Sust, TensormapReplace;
} // namespace rubia::ptx::Op
namespace Op = rubia::ptx::Op;

namespace rubia::capsule {
namespace {

constexpr unsigned kElsewhere = 63; // the bit of pointers that were loaded, and of variables
constexpr unsigned kOwn = 62;       // of shared and local memory, of which a launch leaves nothing

enum TypeBits : uint8_t { kF16 = 1, kBF16 = 2, kF32 = 4, kF64 = 8, kInteger = 16 };

struct Fact {
  uint64_t origins = 0; // parameters that an address may come from, by bit
  uint8_t types = 0;    // TypeBits of what computed the value
  bool isInexact = false;
  bool isComputed = false; // by floating-point arithmetic

  bool join(const Fact &other) {
    const Fact old = *this;
    origins |= other.origins;
    types |= other.types;
    isInexact |= other.isInexact;
    isComputed |= other.isComputed;
    return origins != old.origins || types != old.types || isInexact != old.isInexact ||
           isComputed != old.isComputed;
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

/// A generic access to shared or local memory, which are one here.
bool isOwnMemory(StateSpace space, const Fact &address) {
  return space == StateSpace::None && address.origins == uint64_t(1) << kOwn;
}

uint64_t originOf(const ptx::Variable &variable) {
  return uint64_t(1) << (variable.space == StateSpace::Shared || variable.space == StateSpace::Local
                             ? kOwn
                             : kElsewhere);
}

/// It names a tensor map.
bool namesTensorMap(Operation op) {
  return op == Op::CpAsyncBulkTensor || op == Op::CpReduceAsyncBulkTensor ||
         op == Op::CpAsyncBulkPrefetchTensor;
}

/// Whether its result is made by arithmetic on floating-point numbers, and not moved.
bool computesFloat(const ptx::Spelling &spelling) {
  const Operation kMoves[] = {Op::Mov,  Op::Ld,   Op::Ldu,      Op::Selp,      Op::Slct,
                              Op::Shfl, Op::Prmt, Op::Ldmatrix, Op::Movmatrix, Op::Cvta};
  return hasFloat(spelling) && !is_contained(kMoves, spelling.op);
}

class Analysis {
public:
  Analysis(const ptx::Module &module, const ptx::Function &kernel, bool isFiltered)
      : module(module), kernel(kernel), isFiltered(isFiltered) {}
  KernelStores run();

private:
  bool visit(const ptx::Function &function, const ptx::Instruction &instruction);
  Fact factOf(const ptx::Function &function, const Operand &operand);
  bool write(const ptx::Function &function, const Operand &operand, const Fact &fact);
  Fact &memory(StateSpace space) {
    return memories[unsigned(space == StateSpace::Local ? StateSpace::Shared : space)];
  }
  Fact loaded(const ptx::Function &function, const ptx::Instruction &instruction, unsigned address);
  bool stored(const ptx::Function &function, const ptx::Instruction &instruction,
              const Operand &address, Fact value);
  Fact &registerFact(const ptx::Function &function, ptx::RegisterId id) {
    return registers[{&function, id}];
  }
  Fact copied(const ptx::Instruction &instruction);
  std::string textOf(const ptx::Instruction &instruction) const;
  void findImages(KernelStores &out);
  void findHandles(const ptx::Function &function, const ptx::Instruction &instruction,
                   KernelStores &out);
  void note(const ptx::Instruction &instruction);

  const ptx::Module &module;
  const ptx::Function &kernel;
  const bool isFiltered;
  DenseMap<std::pair<const ptx::Function *, unsigned>, Fact> registers;
  Fact memories[16];
  Fact stores[64]; // by origin: what is stored through it
  Fact surfaces;   // what is stored to them
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
    fact.origins = originOf(*operand.variable());
    return fact;
  case Operand::Kind::SpecialRegister:
    fact.isInexact = isOwn(operand.special);
    return fact;
  case Operand::Kind::Address:
    if (operand.reg != ptx::kNone)
      return registerFact(function, operand.reg);
    if (const ptx::Variable *variable = operand.variable())
      fact.origins = originOf(*variable);
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

std::string Analysis::textOf(const ptx::Instruction &instruction) const {
  const StringRef before = StringRef(*module.text).take_front(instruction.place);
  return "line " + std::to_string(before.count('\n') + 1) + ": " + instruction.spelling->text.str();
}

void Analysis::note(const ptx::Instruction &instruction) {
  if (cause.empty())
    cause = textOf(instruction);
}

/// Where the handles of textures come from.
void Analysis::findHandles(const ptx::Function &function, const ptx::Instruction &instruction,
                           KernelStores &out) {
  for (const ptx::RegisterId reg : handleRegisters(instruction)) {
    const uint64_t origins = registerFact(function, reg).origins;
    out.areHandlesInMemory |= !origins || origins >> kOwn;
    for (unsigned i = 0; i < kernel.parameters.size() && i < kOwn; ++i)
      if (origins >> i & 1) {
        out.handleParameters |= uint64_t(1) << i;
        out.areHandlesInMemory |= kernel.parameters[i]->sizeInBytes != sizeof(uint64_t);
      }
  }
}

/// In the kernel or what it calls; of calls through pointers in any function of the module.
void Analysis::findImages(KernelStores &out) {
  SmallVector<const ptx::Function *> functions = {&kernel};
  const auto add = [&](const ptx::Function *function) {
    if (function && function->hasBody && !is_contained(functions, function))
      functions.push_back(function);
  };
  for (size_t i = 0; i < functions.size(); ++i) // grows
    for (const ptx::Instruction &instruction : functions[i]->body) {
      if (namesTensorMap(instruction.op()) && out.tensorMap.empty())
        out.tensorMap = textOf(instruction);
      if (instruction.op() == Op::TensormapReplace && out.tensorMapChange.empty())
        out.tensorMapChange = textOf(instruction);
      if (namesTexture(instruction.op())) {
        if (out.texture.empty())
          out.texture = textOf(instruction);
        findHandles(*functions[i], instruction, out);
      }
      for (const Operand &operand : instruction.operands) {
        if (operand.kind == Operand::Kind::Function)
          add(operand.function());
        if (operand.kind == Operand::Kind::Prototype)
          for (const ptx::Function *function : module.functions)
            if (!function->isKernel)
              add(function);
      }
    }
}

/// What an operation moves from memory to memory: of two addresses, or of a descriptor.
Fact Analysis::copied(const ptx::Instruction &instruction) {
  const auto isAddress = [](const Operand &operand) {
    return operand.kind == Operand::Kind::Address;
  };
  Fact fact;
  const auto addresses = count_if(instruction.operands, isAddress);
  if (!ptx::effectsOf(instruction.op()).has(ptx::effects::Reads) || addresses == 1)
    return fact;
  for (StateSpace one : {StateSpace::None, StateSpace::Global, StateSpace::Shared})
    fact.join(memory(one));
  return fact;
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
        fact.origins = uint64_t(1) << (i < kOwn ? i : kElsewhere);
  } else {
    fact = memory(space);
    if (isOwnMemory(space, where))
      fact.join(memory(StateSpace::Shared));
    else if (space == StateSpace::None)
      for (StateSpace one : {StateSpace::Global, StateSpace::Shared})
        fact.join(memory(one));
    else if (space == StateSpace::Global || space == StateSpace::Shared ||
             space == StateSpace::Local)
      fact.join(memory(StateSpace::None));
    // A pointer out of memory that is shared with others may point anywhere.
    if (space == StateSpace::Global || (space == StateSpace::None && !isOwnMemory(space, where)))
      fact.origins |= uint64_t(1) << kElsewhere;
    // What others made of this memory has the type as which it is read, if that says one. What is
    // the launch's own has those of what was stored there.
    const uint8_t ownTypes =
        isOwnMemory(space, where) ? memory(StateSpace::Shared).types : fact.types;
    fact.types = typeBits(instruction.spelling->type());
    if (!fact.types && space != StateSpace::Global)
      fact.types = ownTypes;
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
  if (isOwnMemory(space, where))
    return memory(StateSpace::Shared).join(value);
  bool changed = memory(space).join(value);
  if (space != StateSpace::Global && space != StateSpace::None)
    return changed;
  const uint64_t origins = where.origins ? where.origins : uint64_t(1) << kElsewhere;
  for (unsigned i = 0; i < 64; ++i)
    if (i != kOwn && origins >> i & 1) {
      any[i] = true;
      changed |= stores[i].join(value);
    }
  return changed;
}

bool Analysis::visit(const ptx::Function &function, const ptx::Instruction &instruction) {
  const ptx::Effects effects = ptx::effectsOf(instruction.op());
  const bool inexact = isInexact(instruction) || (isFiltered && mayFilter(*instruction.spelling)),
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
  bool changed = false;
  if (effects.hasAny(ptx::effects::Jumps | ptx::effects::Returns | ptx::effects::Exits |
                     ptx::effects::Traps)) {
    const bool old = isControlInexact;
    isControlInexact |= sources.isInexact;
    return isControlInexact != old;
  }
  // What is called happens or not.
  if (effects.has(ptx::effects::Calls) && instruction.guard.reg != ptx::kNone &&
      registerFact(function, instruction.guard.reg).isInexact && !isControlInexact)
    changed = isControlInexact = true;
  sources.join(copied(instruction));
  if (effects.has(ptx::effects::Writes)) {
    Fact value = sources;
    value.isInexact |= memoryInexact || (inexact && instruction.op() != Op::Atom);
    value.isComputed |= memoryInexact && hasFloat(*instruction.spelling);
    // The address is the first operand that is one.
    for (const Operand &operand : operands)
      if (operand.kind == Operand::Kind::Address) {
        changed |= stored(function, instruction, operand, value);
        break;
      }
  }
  if (instruction.op() == Op::Sust || instruction.op() == Op::Sured) {
    Fact value = sources;
    value.isInexact |= memoryInexact || isControlInexact;
    changed |= surfaces.join(value);
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
  // Registers of bits may have pairs of the numbers that the instruction computes.
  uint8_t types = typeBits(instruction.spelling->operandType(0));
  if (!types && computesFloat(*instruction.spelling))
    types = typeBits(instruction.spelling->type(0));
  if (types)
    result.types = types;
  result.isComputed |= computesFloat(*instruction.spelling);
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
    return Stores{typeFor(stores[i].types), any[i], stores[i].isInexact || isControlInexact,
                  stores[i].isComputed};
  };
  KernelStores out;
  for (unsigned i = 0; i < kernel.parameters.size() && i < kOwn; ++i)
    out.byParameter.push_back(of(i));
  out.elsewhere = of(kElsewhere);
  out.cause = cause;
  out.surfaces = {Type::None, true, surfaces.isInexact || isControlInexact, surfaces.isComputed};
  findImages(out);
  return out;
}

Stores KernelStores::through(size_t parameter) const {
  Stores all = parameter < byParameter.size() ? byParameter[parameter] : Stores();
  if (!elsewhere.any)
    return all;
  if (!all.any)
    return elsewhere;
  all.isInexact |= elsewhere.isInexact;
  all.isComputed |= elsewhere.isComputed;
  if (all.type != elsewhere.type)
    all.type = Type::None;
  return all;
}

Expected<KernelStores> storesOf(StringRef text, StringRef kernel, bool isFiltered) {
  ptx::ParseResult parsed = ptx::parse("capsule", text.str());
  const ptx::Function *function = parsed.usable ? parsed.module.function(kernel) : nullptr;
  if (!function || !function->hasBody || !function->valid)
    return createStringError("the PTX of kernel '" + kernel + "' cannot be read");
  return Analysis(parsed.module, *function, isFiltered).run();
}

} // namespace rubia::capsule
