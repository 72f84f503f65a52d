// SPDX-License-Identifier: Apache-2.0
#include "lowering/lib/waits/Inliner.h"
#include "lowering/lib/analysis/Definitions.h"
#include "lowering/lib/analysis/InstructionEffects.h"
#include "ptx-frontend/Parser.h"
#include "ptx-frontend/Types.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include <map>
#include <optional>

using namespace llvm;

namespace rubia::ptx::Op {
extern const Operation Ld, St;
} // namespace rubia::ptx::Op

namespace rubia::lowering {

using Kind = ptx::Operand::Kind;

namespace {

// What is put in, as the parser spells it.
constexpr char kText[] = R"(.version 7.0
.target sm_70
.address_size 64
.func f() {
  .reg .b16 %h<2>; .reg .b32 %r<2>; .reg .b64 %d<2>;
  mov.b16 %h0, %h1; mov.b32 %r0, %r1; mov.b64 %d0, %d1; bra END;
END:
  ret;
}
)";

const ptx::Spelling &spelling(unsigned instruction) {
  static const ptx::Module module = std::move(ptx::parse("rubia-inliner.ptx", kText).module);
  return *module.functions.front()->body[instruction].spelling;
}
const ptx::Spelling &jump() { return spelling(3); }
const ptx::Spelling &moveOf(unsigned bits) { return spelling(bits == 16 ? 0 : bits == 32 ? 1 : 2); }
bool canMove(unsigned bits) { return bits == 16 || bits == 32 || bits == 64; }

ptx::Type typeOf(unsigned bits) {
  return bits == 16 ? ptx::Type::B16 : bits == 32 ? ptx::Type::B32 : ptx::Type::B64;
}

ptx::Operand ofRegister(ptx::RegisterId reg) {
  ptx::Operand operand;
  operand.kind = Kind::Register;
  operand.reg = reg;
  return operand;
}

bool mentions(const ptx::Operand &operand, const ptx::Variable &variable) {
  return operand.variable() == &variable ||
         any_of(operand.elements(),
                [&](const ptx::Operand &element) { return mentions(element, variable); });
}
bool mentions(const ptx::Instruction &instruction, const ptx::Variable &variable) {
  return any_of(instruction.operands,
                [&](const ptx::Operand &operand) { return mentions(operand, variable); });
}

// Bits of a whole register; 0: it has several values, or is a predicate.
unsigned bitsOf(const ptx::Function &function, ptx::RegisterId reg) {
  const ptx::Register &known = function.registers[reg];
  return known.vectorWidth == 1 ? ptx::sizeInBits(known.type) : 0;
}

// Bits that an access of a whole .param variable takes from a register, or brings there; 0: it does
// something else too.
unsigned wholeBits(const ptx::Function &function, const ptx::Instruction &access) {
  const bool isStore = access.op() == ptx::Op::St;
  if ((!isStore && access.op() != ptx::Op::Ld) || access.guard.reg != ptx::kNone ||
      access.spelling->space() != ptx::StateSpace::Param || access.spelling->vectorWidth() != 1)
    return 0;
  const ptx::Operand &address = access.operands[isStore ? 0 : 1],
                     &value = access.operands[isStore ? 1 : 0];
  const unsigned bits = ptx::sizeInBits(access.spelling->type());
  const bool isWhole = address.offset == 0 && address.reg == ptx::kNone && canMove(bits) &&
                       ((value.kind == Kind::Register && !value.negated &&
                         value.component == 0xff && bitsOf(function, value.reg) == bits) ||
                        (isStore && value.kind == Kind::Integer));
  return isWhole ? bits : 0;
}

struct CallOperands {
  ArrayRef<ptx::Operand> results, arguments;
};
CallOperands operandsOf(const ptx::Instruction &call) {
  CallOperands operands;
  bool hasName = false;
  for (const ptx::Operand &operand : call.operands)
    if (operand.kind == Kind::List)
      (hasName ? operands.arguments : operands.results) = operand.elements();
    else
      hasName |= operand.kind == Kind::Function;
  return operands;
}

// How a callee's parameters and results become the caller's.
struct Passing {
  DenseMap<const ptx::Variable *, const ptx::Variable *> variables; // in the callee's place
  struct Move {
    ptx::Operand from;  // of the caller
    ptx::RegisterId to; // of the callee
    unsigned bits;
  };
  std::vector<Move> before; // at the call
  struct Result {
    ptx::Operand to;      // of the caller
    ptx::RegisterId from; // of the callee
    unsigned bits;
  };
  std::vector<Result> behind;
  /// Parameters that the callee loads whole: the caller's only store, and what it stores.
  struct Forward {
    uint32_t store;
    unsigned bits;
  };
  MapVector<const ptx::Variable *, Forward> forwards;
  /// Results that the callee stores whole, and that the caller does nothing with but load them
  /// whole: the bits of either.
  MapVector<const ptx::Variable *, unsigned> returns;
};

class Inliner {
public:
  Inliner(ptx::Function &function, BumpPtrAllocator &arena) : function(function), arena(arena) {}

  bool run(function_ref<bool(const ptx::Function &)> isWanted);

private:
  std::optional<Passing> passingOf(uint32_t index, const ptx::Function &callee) const;
  std::optional<Passing::Forward> forwardOf(uint32_t call, const ptx::Variable &argument) const;
  unsigned returnOf(uint32_t call, const ptx::Function &callee, const ptx::Variable &declared,
                    const ptx::Variable &result) const;
  void put(uint32_t index, const ptx::Function &callee, const Passing &passing);
  void putMove(ptx::Operand to, ptx::Operand from, unsigned bits, const ptx::Instruction &where);
  void putJump(ptx::LabelId label, ptx::Guard guard, const ptx::Instruction &where);
  void copyOwnLocals();

  struct Mapping {
    ptx::RegisterId firstRegister = 0;
    ptx::LabelId firstLabel = 0;
    uint32_t firstPrototype = 0;
    DenseMap<const ptx::Variable *, const ptx::Variable *> variables;
  };
  ptx::Operand map(const ptx::Operand &operand, const Mapping &mapping);
  ptx::Instruction map(const ptx::Instruction &instruction, const Mapping &mapping);
  const ptx::Variable *ownCopyOf(const ptx::Variable &variable);
  template <typename T> ArrayRef<T> keep(ArrayRef<T> values) { return values.copy(arena); }
  ptx::RegisterId newRegister(unsigned bits);

  ptx::Function &function;
  BumpPtrAllocator &arena;
  std::vector<ptx::Instruction> body;
  std::vector<ptx::Label> labels;
  std::vector<ptx::Register> registers;
  std::vector<ptx::RegisterRange> ranges;
  std::vector<ptx::Prototype> prototypes;
  std::vector<ptx::Pragma> pragmas;
  DenseMap<uint32_t, std::pair<ptx::RegisterId, unsigned>> forwarded; // stores: to where, bits
  DenseMap<const ptx::Variable *, ptx::RegisterId> returned;          // results that are loaded
};

// ---------- What is passed

// A store right before the call, which nothing else of the function looks at.
std::optional<Passing::Forward> Inliner::forwardOf(uint32_t call,
                                                   const ptx::Variable &argument) const {
  std::optional<uint32_t> store;
  for (auto [index, instruction] : enumerate(function.body)) {
    if (index == call || !mentions(instruction, argument))
      continue;
    if (store || index > call || instruction.op() != ptx::Op::St)
      return std::nullopt;
    store = uint32_t(index);
  }
  if (!store || any_of(function.labels, [&](const ptx::Label &label) {
        return label.instruction > *store && label.instruction <= call;
      }))
    return std::nullopt;
  for (uint32_t index = *store; index < call; ++index)
    if (endsBlock(function.body[index]))
      return std::nullopt;
  const unsigned bits = wholeBits(function, function.body[*store]);
  return bits ? std::optional(Passing::Forward{*store, bits}) : std::nullopt;
}

// 0: it is passed in memory.
unsigned Inliner::returnOf(uint32_t call, const ptx::Function &callee,
                           const ptx::Variable &declared, const ptx::Variable &result) const {
  unsigned bits = 0;
  auto isWhole = [&](const ptx::Function &in, const ptx::Instruction &instruction,
                     ptx::Operation op) {
    const unsigned own = instruction.op() == op ? wholeBits(in, instruction) : 0;
    return own && (!bits || bits == own) && (bits = own);
  };
  for (const ptx::Instruction &instruction : callee.body)
    if (mentions(instruction, declared) && !isWhole(callee, instruction, ptx::Op::St))
      return 0;
  for (auto [index, instruction] : enumerate(function.body))
    if (index != call && mentions(instruction, result) &&
        !isWhole(function, instruction, ptx::Op::Ld))
      return 0;
  return bits;
}

std::optional<Passing> Inliner::passingOf(uint32_t index, const ptx::Function &callee) const {
  const CallOperands operands = operandsOf(function.body[index]);
  if (operands.arguments.size() != callee.parameters.size() ||
      operands.results.size() > callee.results.size())
    return std::nullopt;
  // Whether a variable is accessed by its name alone.
  auto isOnlyAccessed = [&](const ptx::Variable &variable, ptx::Operation by, unsigned address) {
    return all_of(callee.body, [&](const ptx::Instruction &instruction) {
      return !mentions(instruction, variable) ||
             (instruction.op() == by && instruction.operands[address].variable() == &variable &&
              instruction.operands[address].kind == Kind::Address);
    });
  };
  Passing passing;
  for (auto [parameter, argument] : zip_equal(callee.parameters, operands.arguments)) {
    if (parameter->reg != ptx::kNone) {
      const unsigned bits = bitsOf(callee, parameter->reg);
      const bool isValue =
          argument.kind == Kind::Integer || (argument.kind == Kind::Register && !argument.negated &&
                                             bitsOf(function, argument.reg) == bits);
      if (!canMove(bits) || !isValue)
        return std::nullopt;
      passing.before.push_back({argument, parameter->reg, bits});
      continue;
    }
    const ptx::Variable *variable = argument.variable();
    if (!variable || variable->space != ptx::StateSpace::Param || argument.offset != 0 ||
        parameter->incomplete || variable->sizeInBytes < parameter->sizeInBytes ||
        !isOnlyAccessed(*parameter, ptx::Op::Ld, 1))
      return std::nullopt;
    passing.variables[parameter] = variable;
    if (std::optional<Passing::Forward> forward = forwardOf(index, *variable))
      passing.forwards[parameter] = *forward;
  }
  for (auto [declared, result] : zip(callee.results, operands.results)) {
    if (result.kind == Kind::Sink)
      continue;
    if (declared->reg != ptx::kNone) {
      const unsigned bits = bitsOf(callee, declared->reg);
      if (!canMove(bits) || result.kind != Kind::Register || bitsOf(function, result.reg) != bits)
        return std::nullopt;
      passing.behind.push_back({result, declared->reg, bits});
      continue;
    }
    const ptx::Variable *variable = result.variable();
    if (!variable || variable->space != ptx::StateSpace::Param || result.offset != 0 ||
        variable->sizeInBytes < declared->sizeInBytes || !isOnlyAccessed(*declared, ptx::Op::St, 0))
      return std::nullopt;
    // The callee may write its result before it has read what was passed there.
    if (any_of(operands.arguments,
               [&](const ptx::Operand &argument) { return argument.variable() == variable; }))
      return std::nullopt;
    passing.variables[declared] = variable;
    if (const unsigned bits = returnOf(index, callee, *declared, *variable))
      passing.returns[declared] = bits;
  }
  return passing;
}

// ---------- What is copied

ptx::RegisterId Inliner::newRegister(unsigned bits) {
  ptx::RegisterRange range;
  range.name = "%passed";
  range.first = ptx::RegisterId(registers.size());
  ranges.push_back(range);
  registers.push_back({typeOf(bits)});
  return range.first;
}

const ptx::Variable *Inliner::ownCopyOf(const ptx::Variable &variable) {
  auto *copy = new (arena.Allocate<ptx::Variable>()) ptx::Variable(variable);
  copy->function = &function;
  return copy;
}

ptx::Operand Inliner::map(const ptx::Operand &operand, const Mapping &mapping) {
  ptx::Operand result = operand;
  if (result.reg != ptx::kNone)
    result.reg += mapping.firstRegister;
  if (const ptx::Variable *variable = operand.variable()) {
    auto found = mapping.variables.find(variable);
    if (found != mapping.variables.end())
      result.target = found->second;
  } else if (operand.kind == Kind::Label) {
    result.label += mapping.firstLabel;
  } else if (operand.kind == Kind::Prototype) {
    result.prototype += mapping.firstPrototype;
  } else if (operand.kind == Kind::LabelList) {
    SmallVector<ptx::LabelId> list(operand.labels());
    for (ptx::LabelId &label : list)
      label += mapping.firstLabel;
    result.target = keep(ArrayRef(list)).data();
  } else if (!operand.elements().empty()) {
    SmallVector<ptx::Operand> elements;
    for (const ptx::Operand &element : operand.elements())
      elements.push_back(map(element, mapping));
    result.target = keep(ArrayRef(elements)).data();
  }
  return result;
}

ptx::Instruction Inliner::map(const ptx::Instruction &instruction, const Mapping &mapping) {
  ptx::Instruction result = instruction;
  if (result.guard.reg != ptx::kNone)
    result.guard.reg += mapping.firstRegister;
  SmallVector<ptx::Operand> operands;
  for (const ptx::Operand &operand : instruction.operands)
    operands.push_back(map(operand, mapping));
  result.operands = keep(ArrayRef(operands));
  return result;
}

// ---------- What is put in

void Inliner::putMove(ptx::Operand to, ptx::Operand from, unsigned bits,
                      const ptx::Instruction &where) {
  const ptx::Operand operands[] = {to, from};
  body.push_back({&moveOf(bits), {}, keep(ArrayRef(operands)), where.place, where.sourceLine});
}

void Inliner::putJump(ptx::LabelId label, ptx::Guard guard, const ptx::Instruction &where) {
  ptx::Operand operand;
  operand.kind = Kind::Label;
  operand.label = label;
  body.push_back({&jump(), guard, keep(ArrayRef(operand)), where.place, where.sourceLine});
}

void Inliner::put(uint32_t index, const ptx::Function &callee, const Passing &passing) {
  const ptx::Instruction &call = function.body[index];
  Mapping mapping;
  mapping.firstRegister = ptx::RegisterId(registers.size());
  mapping.firstPrototype = uint32_t(prototypes.size());
  mapping.variables = passing.variables;
  append_range(registers, callee.registers);
  for (ptx::RegisterRange range : callee.registerRanges) {
    range.first += mapping.firstRegister;
    ranges.push_back(range);
  }
  append_range(prototypes, callee.prototypes);
  for (const ptx::Variable *local : callee.locals)
    if (local->space == ptx::StateSpace::Local || local->space == ptx::StateSpace::Param)
      mapping.variables[local] = ownCopyOf(*local);

  const auto end = ptx::LabelId(labels.size()), behind = end + 1; // of the callee, of the call
  labels.resize(labels.size() + 2);
  mapping.firstLabel = end + 2;
  if (call.guard.reg != ptx::kNone)
    putJump(behind, {call.guard.reg, !call.guard.negated}, call);
  for (const Passing::Move &move : passing.before)
    putMove(ofRegister(move.to + mapping.firstRegister), move.from, move.bits, call);
  std::vector<uint32_t> starts;
  for (const ptx::Instruction &instruction : callee.body) {
    starts.push_back(uint32_t(body.size()));
    const ptx::Variable *loaded = instruction.op() == ptx::Op::Ld
                                      ? instruction.operands[1].variable()
                                      : nullptr,
                        *stored = instruction.op() == ptx::Op::St
                                      ? instruction.operands[0].variable()
                                      : nullptr;
    const auto forward = passing.forwards.find(loaded);
    if (does(instruction, effects::Returns)) {
      ptx::Guard guard = instruction.guard;
      if (guard.reg != ptx::kNone)
        guard.reg += mapping.firstRegister;
      putJump(end, guard, instruction);
    } else if (forward != passing.forwards.end() &&
               wholeBits(callee, instruction) == forward->second.bits) {
      putMove(map(instruction.operands[0], mapping),
              ofRegister(forwarded.lookup(forward->second.store).first), forward->second.bits,
              instruction);
    } else if (const unsigned bits = passing.returns.lookup(stored)) {
      putMove(ofRegister(returned.lookup(passing.variables.lookup(stored))),
              map(instruction.operands[1], mapping), bits, instruction);
    } else {
      body.push_back(map(instruction, mapping));
    }
  }
  starts.push_back(uint32_t(body.size()));
  labels[end].instruction = starts.back();
  for (ptx::Label label : callee.labels) {
    label.instruction = starts[label.instruction];
    labels.push_back(label);
  }
  for (ptx::Pragma pragma : callee.pragmas)
    if (pragma.instruction != ptx::kNone) {
      pragma.instruction = starts[pragma.instruction];
      pragmas.push_back(pragma);
    }
  for (const Passing::Result &result : passing.behind)
    putMove(result.to, ofRegister(result.from + mapping.firstRegister), result.bits, call);
  labels[behind].instruction = uint32_t(body.size());
}

// The variables in .local memory are those of the function that is made.
void Inliner::copyOwnLocals() {
  Mapping mapping;
  for (const ptx::Variable *local : function.locals)
    if (local->space == ptx::StateSpace::Local && local->function != &function)
      mapping.variables[local] = ownCopyOf(*local);
  if (mapping.variables.empty())
    return;
  SmallVector<ptx::Instruction> copies;
  for (const ptx::Instruction &instruction : function.body)
    copies.push_back(map(instruction, mapping));
  function.body = keep(ArrayRef(copies));
  SmallVector<const ptx::Variable *> locals(function.locals);
  for (const ptx::Variable *&local : locals)
    if (const ptx::Variable *copy = mapping.variables.lookup(local))
      local = copy;
  function.locals = keep(ArrayRef(locals));
}

bool Inliner::run(function_ref<bool(const ptx::Function &)> isWanted) {
  std::map<uint32_t, std::pair<const ptx::Function *, Passing>> calls;
  for (auto [index, instruction] : enumerate(function.body)) {
    const ptx::Function *callee =
        does(instruction, effects::Calls) ? calleeOf(instruction) : nullptr;
    if (callee && isWanted(*callee))
      if (std::optional<Passing> passing = passingOf(uint32_t(index), *callee))
        calls[uint32_t(index)] = {callee, std::move(*passing)};
  }
  if (calls.empty())
    return false;
  copyOwnLocals();
  labels = function.labels;
  registers = function.registers;
  ranges = function.registerRanges;
  prototypes = function.prototypes;
  for (const auto &[index, call] : calls) {
    for (const auto &[variable, forward] : call.second.forwards)
      forwarded[forward.store] = {newRegister(forward.bits), forward.bits};
    for (const auto &[variable, bits] : call.second.returns)
      returned[call.second.variables.lookup(variable)] = newRegister(bits);
  }

  std::vector<uint32_t> starts;
  for (auto [index, instruction] : enumerate(function.body)) {
    starts.push_back(uint32_t(body.size()));
    if (auto call = calls.find(uint32_t(index)); call != calls.end()) {
      put(uint32_t(index), *call->second.first, call->second.second);
      continue;
    }
    if (instruction.op() == ptx::Op::Ld)
      if (auto result = returned.find(instruction.operands[1].variable());
          result != returned.end()) {
        putMove(instruction.operands[0], ofRegister(result->second),
                wholeBits(function, instruction), instruction);
        continue;
      }
    body.push_back(instruction);
    if (auto store = forwarded.find(uint32_t(index)); store != forwarded.end())
      putMove(ofRegister(store->second.first), instruction.operands[1], store->second.second,
              instruction);
  }
  starts.push_back(uint32_t(body.size()));
  for (ptx::Label &label : MutableArrayRef(labels).take_front(function.labels.size()))
    label.instruction = starts[label.instruction];
  for (ptx::Pragma pragma : function.pragmas) {
    if (pragma.instruction != ptx::kNone)
      pragma.instruction = starts[pragma.instruction];
    pragmas.push_back(pragma);
  }
  function.body = keep(ArrayRef(body));
  function.labels = keep(ArrayRef(labels));
  function.registers = keep(ArrayRef(registers));
  function.registerRanges = keep(ArrayRef(ranges));
  function.prototypes = keep(ArrayRef(prototypes));
  function.pragmas = keep(ArrayRef(pragmas));
  return true;
}

} // namespace

bool inlineCalls(ptx::Function &function, function_ref<bool(const ptx::Function &)> isWanted,
                 BumpPtrAllocator &arena) {
  return Inliner(function, arena).run(isWanted);
}

} // namespace rubia::lowering
