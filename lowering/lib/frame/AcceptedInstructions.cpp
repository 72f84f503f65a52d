// SPDX-License-Identifier: Apache-2.0
#include "lowering/lib/frame/AcceptedInstructions.h"
#include "lowering/Judgement.h"
#include "lowering/lib/analysis/InstructionEffects.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/xxhash.h"
#include <mutex>

using namespace llvm;

namespace rubia::ptx::Op {
extern const Operation Atom, Ld, Ldmatrix, Ldu, Mma, MmaBlockScale, MmaSp, MmaSpBlockScale,
    Movmatrix, Red, Redux, Shfl, St, Stmatrix, Vote, WmmaLoad, WmmaMma, WmmaStore;
} // namespace rubia::ptx::Op

namespace rubia::lowering {

namespace {
bool dependsOnItselfAlone(ptx::Operation op) {
  static const ptx::Operation kBesides[] = {ptx::Op::Ld,
                                            ptx::Op::Ldu,
                                            ptx::Op::St,
                                            ptx::Op::Atom,
                                            ptx::Op::Red,
                                            ptx::Op::Shfl,
                                            ptx::Op::Vote,
                                            ptx::Op::Redux,
                                            ptx::Op::WmmaLoad,
                                            ptx::Op::WmmaMma,
                                            ptx::Op::WmmaStore,
                                            ptx::Op::Mma,
                                            ptx::Op::MmaSp,
                                            ptx::Op::MmaSpBlockScale,
                                            ptx::Op::MmaBlockScale,
                                            ptx::Op::Ldmatrix,
                                            ptx::Op::Stmatrix,
                                            ptx::Op::Movmatrix};
  return ptx::effectsOf(op).hasAny(effects::Pure) || is_contained(kBesides, op);
}

class KeyWriter {
public:
  KeyWriter(InstructionKey &key, const ptx::Function &function) : key(key), function(function) {}

  template <typename T> void add(T value) {
    static_assert(std::is_integral_v<T> || std::is_enum_v<T>);
    key.append(StringRef(reinterpret_cast<const char *>(&value), sizeof value));
  }

  void add(const ptx::Guard &guard) {
    add(guard.reg != ptx::kNone);
    if (guard.reg != ptx::kNone)
      addRegister(guard.reg);
  }

  // False: it decides nothing alone.
  bool add(const ptx::Operand &operand) {
    using Kind = ptx::Operand::Kind;
    add(operand.kind);
    add(uint8_t(operand.negated | operand.isUnsigned << 1 | operand.isSingle << 2 |
                operand.unified << 3 | operand.braced << 4));
    add(operand.component);
    add(operand.selector);
    switch (operand.kind) {
    case Kind::Register:
      addRegister(operand.reg);
      add(operand.offset); // digits of the selector
      return true;
    case Kind::Integer:
      add(operand.bits);
      return true;
    case Kind::Float:
    case Kind::Sink:
      return true;
    case Kind::SpecialRegister:
      add(operand.special);
      return true;
    case Kind::Variable:
      addVariable(*operand.variable());
      return true;
    case Kind::Address:
      add(operand.reg != ptx::kNone);
      if (operand.reg != ptx::kNone)
        addRegister(operand.reg);
      add(operand.variable() != nullptr);
      if (operand.variable())
        addVariable(*operand.variable());
      return true;
    case Kind::Vector:
    case Kind::Pair:
    case Kind::List:
    case Kind::AddressList:
      add(operand.count);
      return all_of(operand.elements(), [&](const ptx::Operand &element) { return add(element); });
    case Kind::Function:
    case Kind::Label:
    case Kind::LabelList:
    case Kind::Prototype:
      break;
    }
    return false;
  }

private:
  void addRegister(ptx::RegisterId reg) {
    add(function.registers[reg].type);
    add(function.registers[reg].vectorWidth);
  }

  void addVariable(const ptx::Variable &variable) {
    add(variable.space);
    add(variable.type);
    add(variable.vectorWidth);
    add(variable.linkage);
    add(uint8_t(variable.managed | variable.incomplete << 1 | variable.isKernelParameter << 2 |
                (variable.function == &function) << 3 | (variable.function != nullptr) << 4 |
                (variable.reg != ptx::kNone) << 5));
    add(variable.space == ptx::StateSpace::Param && is_contained(function.parameters, &variable));
    add(variable.sizeInBytes);
  }

  InstructionKey &key;
  const ptx::Function &function;
};
} // namespace

std::optional<InstructionKey> keyOf(const ptx::Instruction &instruction,
                                    const ptx::Function &function) {
  if (!dependsOnItselfAlone(instruction.op()))
    return std::nullopt;
  InstructionKey key(instruction.spelling->text);
  KeyWriter writer(key, function);
  writer.add(instruction.spelling->form);
  for (ptx::Modifier mod : instruction.spelling->modifiers) // implied ones are not in the text
    writer.add(mod);
  writer.add(instruction.guard);
  for (const ptx::Operand &operand : instruction.operands)
    if (!writer.add(operand))
      return std::nullopt;
  return key;
}

static size_t shardOf(uint32_t hash) { return hash >> 28; }

const AcceptedInstructions::Routes *AcceptedInstructions::find(StringRef key) const {
  const uint32_t hash = StringMapImpl::hash(key);
  const Shard &shard = shards[shardOf(hash)];
  std::shared_lock lock(shard.mutex);
  auto found = shard.routes.find(key, hash);
  return found == shard.routes.end() ? nullptr : &found->second;
}

void AcceptedInstructions::add(StringRef key, Routes routes) {
  const uint32_t hash = StringMapImpl::hash(key);
  Shard &shard = shards[shardOf(hash)];
  std::unique_lock lock(shard.mutex);
  shard.routes.try_emplace_with_hash(key, hash, std::move(routes));
}

struct Experience::Contexts {
  std::mutex mutex;
  StringMap<AcceptedInstructions> accepted; // entries keep their place
};

Experience::Experience() : contexts(std::make_unique<Contexts>()) {}
Experience::~Experience() = default;

AcceptedInstructions &Experience::in(StringRef context) {
  std::lock_guard lock(contexts->mutex);
  return contexts->accepted[context];
}

} // namespace rubia::lowering
