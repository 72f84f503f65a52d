// SPDX-License-Identifier: Apache-2.0
#include "lowering/lib/analysis/Uniformity.h"
#include "lowering/lib/analysis/Definitions.h"
#include "lowering/lib/analysis/InstructionEffects.h"
#include "ptx-frontend/SpecialRegisters.h"

using namespace llvm;

namespace rubia::ptx::Op {
extern const Operation And, Cvt, IAdd, IDiv, IMad, Mov, Setp, Shfl, Shr;
} // namespace rubia::ptx::Op
namespace rubia::ptx::Mod {
extern const Modifier Cc, Ge, Gt, Idx, Le, Lt;
} // namespace rubia::ptx::Mod

namespace rubia::lowering {

using Kind = ptx::Operand::Kind;

struct Uniformity::Body {
  explicit Body(const ptx::Function &function)
      : function(function), definitions(function), graph(function),
        postDominators(graph.immediatePostDominators()),
        registers(unsigned(function.registers.size())), causes(graph.blocks.size(), ptx::kNone),
        decided(unsigned(graph.blocks.size())) {}

  const ptx::Function &function;
  Definitions definitions;
  ControlFlowGraph graph; // without the edges of threads that leave for good
  std::vector<uint32_t> postDominators;
  BitVector registers;          // those that differ
  bool conditionCode = false;   // CC differs
  std::vector<uint32_t> causes; // for each block the branch that divides the threads; kNone: none
  BitVector decided;            // blocks whose branch differs
  bool isCalledByAddress = false;
  std::pair<const Body *, uint32_t> dividedCaller{nullptr, 0}; // and its call
};

// ---------- Facts of instructions

// shfl.idx: the value of a lane that an operand names.
static bool takesOneLane(const ptx::Instruction &instruction) {
  return instruction.op() == ptx::Op::Shfl && instruction.spelling->has(ptx::Mod::Idx);
}

// Whether the result follows from the operands alone, or from memory that is the same for all.
bool Uniformity::followsFromOperands(const ptx::Instruction &instruction) const {
  switch (ptx::effectsOf(instruction.op()).result()) {
  case ptx::Result::Pure:
  case ptx::Result::CtaWide:
  case ptx::Result::NoResult:
    return true;
  case ptx::Result::Loads:
    // A warp's threads load at once.
    return (group != Group::Cta || !hasSemantics(instruction)) &&
           instruction.spelling->space() != ptx::StateSpace::Local;
  case ptx::Result::WarpWide:
    return group != Group::Cta;
  case ptx::Result::Lane:
    return group != Group::Cta && takesOneLane(instruction);
  }
  return false;
}

// Whether nobody notices that a thread executes it before it ends.
bool Uniformity::isQuiet(const ptx::Instruction &instruction) const {
  if (group != Group::Cta) // whatever it does, it keeps nobody waiting
    return endsThread(instruction) ||
           !(isMeeting(instruction) || does(instruction, effects::ArrivesCta));
  if (does(instruction, effects::Loads))
    return !hasSemantics(instruction);
  if (does(instruction, effects::Writes)) // an argument or a result
    return instruction.spelling->space() == ptx::StateSpace::Param;
  return does(instruction, effects::Pure | effects::Jumps | effects::Returns) ||
         endsThread(instruction);
}

// ---------- Values

bool Uniformity::differs(const Body &body, const ptx::Operand &operand) const {
  if (operand.reg != ptx::kNone && body.registers.test(operand.reg))
    return true;
  switch (operand.kind) {
  case Kind::SpecialRegister:
    if (group == Group::RowWarp && operand.special == ptx::SpecialRegister::Tid)
      return operand.component != 1 && operand.component != 2;
    return !isSameFor(group, operand.special);
  case Kind::Variable: // an address of local memory is another one for each thread
    return operand.variable()->space == ptx::StateSpace::Local ||
           variables.contains(operand.variable());
  case Kind::Address:
    return operand.variable() && variables.contains(operand.variable());
  default:
    return any_of(operand.elements(),
                  [&](const ptx::Operand &element) { return differs(body, element); });
  }
}

bool Uniformity::markResult(Body &body, const ptx::Operand &operand) {
  bool changed = false;
  forEachRegister(operand, [&](ptx::RegisterId reg) {
    changed |= !body.registers.test(reg);
    body.registers.set(reg);
  });
  auto mark = [&](const ptx::Operand &place) {
    if (place.kind == Kind::Variable)
      changed |= variables.insert(place.variable()).second;
  };
  mark(operand);
  for (const ptx::Operand &element : operand.elements())
    mark(element);
  return changed;
}

// Other memory is the same for all that load from one address.
bool Uniformity::markOwnMemory(const ptx::Variable *variable) {
  return variable &&
         (variable->space == ptx::StateSpace::Local || variable->space == ptx::StateSpace::Param) &&
         variables.insert(variable).second;
}

// Whether a value grows by one from lane to lane: %tid.x, and what is added to it.
bool Uniformity::countsAlongWarp(const Body &body, const ptx::Operand &operand,
                                 SmallDenseSet<ptx::RegisterId> visited) const {
  if (operand.kind == Kind::SpecialRegister)
    return operand.special == ptx::SpecialRegister::Tid && operand.component == 0;
  if (operand.kind != Kind::Register || operand.negated)
    return false;
  if (!visited.insert(operand.reg).second)
    return true;                                 // added to itself
  auto isStep = [&](const ptx::Operand &other) { // to the same lane of another warp
    std::optional<uint64_t> constant = body.definitions.constant(other);
    return constant ? *constant % 32 == 0 : !differs(body, other);
  };
  auto gives = [&](uint32_t index) {
    if (index >= body.function.body.size())
      return false;
    const ptx::Instruction &writer = body.function.body[index];
    ArrayRef<ptx::Operand> from = writer.operands.drop_front();
    const ptx::Operation op = writer.op();
    if (op == ptx::Op::Mov || op == ptx::Op::Cvt)
      return countsAlongWarp(body, from[0], visited);
    if (op == ptx::Op::IAdd)
      return (countsAlongWarp(body, from[0], visited) && isStep(from[1])) ||
             (countsAlongWarp(body, from[1], visited) && isStep(from[0]));
    return op == ptx::Op::IMad && countsAlongWarp(body, from[2], visited) &&
           !differs(body, from[0]) && !differs(body, from[1]);
  };
  return visited.size() <= 8 && all_of(body.definitions.of(operand.reg), gives);
}

// Whether the result is the number of a warp, or the answer to a question about that number, though
// an operand differs between its lanes.
bool Uniformity::isPlaceOfWarp(const Body &body, const ptx::Instruction &instruction) const {
  if (group != Group::RowWarp || instruction.operands.size() != 3 ||
      !countsAlongWarp(body, instruction.operands[1]))
    return false;
  std::optional<uint64_t> constant = body.definitions.constant(instruction.operands[2]);
  if (!constant)
    return false;
  const ptx::Operation op = instruction.op();
  if (op == ptx::Op::Shr)
    return *constant >= 5;
  if (op == ptx::Op::IDiv)
    return *constant % 32 == 0 && *constant;
  if (op == ptx::Op::And)
    return *constant % 32 == 0;
  if (op != ptx::Op::Setp)
    return false;
  const ptx::Spelling &spelling = *instruction.spelling;
  if (spelling.has(ptx::Mod::Lt) || spelling.has(ptx::Mod::Ge))
    return *constant % 32 == 0;
  return (spelling.has(ptx::Mod::Le) || spelling.has(ptx::Mod::Gt)) && *constant % 32 == 31;
}

// Whether a register is written nothing but %tid.
static bool isThreadNumber(const ptx::Function &function, const Definitions &definitions,
                           const ptx::Operand &operand) {
  if (operand.kind == Kind::SpecialRegister)
    return operand.special == ptx::SpecialRegister::Tid;
  return operand.kind == Kind::Register && !operand.negated &&
         !definitions.of(operand.reg).empty() &&
         all_of(definitions.of(operand.reg), [&](uint32_t index) {
           return index < function.body.size() && function.body[index].op() == ptx::Op::Mov &&
                  function.body[index].operands[1].kind == Kind::SpecialRegister &&
                  function.body[index].operands[1].special == ptx::SpecialRegister::Tid;
         });
}

// Whether it asks for a thread's number beyond those of all CTAs: one answer for all.
bool Uniformity::isBeyondThreads(const Body &body, const ptx::Instruction &instruction) const {
  if (instruction.op() != ptx::Op::Setp || instruction.operands.size() != 3)
    return false;
  const ptx::Spelling &spelling = *instruction.spelling;
  const bool isOrder = spelling.has(ptx::Mod::Lt) || spelling.has(ptx::Mod::Le) ||
                       spelling.has(ptx::Mod::Gt) || spelling.has(ptx::Mod::Ge);
  using ptx::Type;
  if (!isOrder || !is_contained({Type::U32, Type::S32, Type::U64, Type::S64}, spelling.type()))
    return false;
  std::optional<uint64_t> constant = body.definitions.constant(instruction.operands[2]);
  return constant && *constant >= abi::kMostThreads && *constant <= INT32_MAX &&
         isThreadNumber(body.function, body.definitions, instruction.operands[1]);
}

// Whether it gives all threads of the warp one result, wherever they execute it: vote, redux.
bool Uniformity::meetsWholeWarp(const Body &body, const ptx::Instruction &instruction) const {
  return group != Group::Cta && does(instruction, effects::WarpWide) &&
         namesWholeWarp(instruction, body.definitions);
}

bool Uniformity::resultDiffers(Body &body, const ptx::Instruction &instruction) const {
  if (!followsFromOperands(instruction))
    return true;
  if (isPlaceOfWarp(body, instruction) || isBeyondThreads(body, instruction))
    return false;
  if (does(instruction, effects::CtaWide))
    return false;
  if (does(instruction, effects::WarpWide)) { // of those that name the same members
    const ptx::Operand *members = membersOf(instruction);
    return members && differs(body, *members);
  }
  if (takesOneLane(instruction))
    return differs(body, instruction.operands[2]) ||
           body.definitions.constant(instruction.operands[3]) != 31;
  if (does(instruction, effects::ReadsCarry) && body.conditionCode)
    return true;
  // Of a function's own .param memory, only variables by name are followed.
  if (does(instruction, effects::Loads) && !body.function.isKernel &&
      instruction.spelling->space() == ptx::StateSpace::Param &&
      !instruction.operands[1].variable())
    return true;
  return any_of(drop_begin(instruction.operands, writesFirstOperand(instruction)),
                [&](const ptx::Operand &operand) { return differs(body, operand); });
}

// Whether the threads that execute a block at once have the same in a register where they come to
// an instruction of it, though it differs from that of others: all of it is computed in the block.
bool Uniformity::agreesInBlock(const Body &body, const ControlFlowGraph::Block &block,
                               uint32_t place, ptx::RegisterId reg, unsigned depth) const {
  if (!body.registers.test(reg))
    return true;
  if (group == Group::Cta || depth == 0)
    return false;
  const ArrayRef<uint32_t> writers = body.definitions.of(reg);
  const uint32_t *behind = llvm::lower_bound(writers, place);
  if (behind == writers.begin() || behind[-1] < block.first)
    return false;
  const uint32_t index = behind[-1];
  const ptx::Instruction &writer = body.function.body[index];
  if (writer.guard.reg != ptx::kNone)
    return false;
  return meetsWholeWarp(body, writer) || isPlaceOfWarp(body, writer) ||
         isBeyondThreads(body, writer) ||
         (isPure(writer) && all_of(writer.operands.drop_front(), [&](const ptx::Operand &operand) {
            return operand.kind == Kind::Register
                       ? agreesInBlock(body, block, index, operand.reg, depth - 1)
                       : !differs(body, operand);
          }));
}

// ---------- Calls

// Passes what is known of the arguments on to the callee, and of its results to the caller.
// `alone`: not all threads of the CTA make the call.
bool Uniformity::passArguments(Body &body, const ptx::Instruction &call, bool alone) {
  ArrayRef<ptx::Operand> results, arguments;
  const ptx::Function *callee = nullptr;
  bool hasCallee = false;
  for (const ptx::Operand &operand : call.operands) {
    if (operand.kind == Kind::List)
      (hasCallee ? arguments : results) = operand.elements();
    else
      hasCallee = true;
    if (operand.function())
      callee = &definitionOf(*operand.function());
  }
  Body *target = callee ? bodyOf.lookup(callee) : nullptr;
  bool changed = false;
  if (!target) {
    for (const ptx::Operand &result : results)
      changed |= markResult(body, result);
    return changed;
  }
  if (alone && !target->dividedCaller.first) {
    target->dividedCaller = {&body, uint32_t(&call - body.function.body.data())};
    changed = true;
  }
  auto markVariable = [&](const ptx::Variable &variable) {
    if (variable.reg != ptx::kNone && !target->registers.test(variable.reg)) {
      target->registers.set(variable.reg);
      changed = true;
    }
    changed |= variables.insert(&variable).second;
  };
  for (auto [parameter, argument] : zip(target->function.parameters, arguments))
    if (alone || differs(body, argument))
      markVariable(*parameter);
  for (auto [declared, result] : zip(target->function.results, results)) {
    bool other = alone || variables.contains(declared) ||
                 (declared->reg != ptx::kNone && target->registers.test(declared->reg));
    if (other)
      changed |= markResult(body, result);
  }
  return changed;
}

// ---------- Control

// Takes away the edges to where a thread does nothing any more but end, from branches that differ.
void Uniformity::closeOffThreadEnds(Body &body) {
  std::vector<ControlFlowGraph::Block> &blocks = body.graph.blocks;
  BitVector quiet(unsigned(blocks.size()));
  quiet.set(body.graph.ended());
  if (body.function.isKernel)
    quiet.set(body.graph.returned());
  for (bool changed = true; changed;) {
    changed = false;
    for (uint32_t block = body.graph.codeBlocks(); block-- > 0;) {
      if (quiet.test(block) || !all_of(blocks[block].successors,
                                       [&](uint32_t successor) { return quiet.test(successor); }))
        continue;
      bool all = true;
      for (uint32_t index = blocks[block].first; index < blocks[block].end; ++index)
        all &= isQuiet(body.function.body[index]);
      if (all) {
        quiet.set(block);
        changed = true;
      }
    }
  }
  for (uint32_t block : body.decided.set_bits()) {
    SmallVector<uint32_t, 2> left;
    copy_if(blocks[block].successors, std::back_inserter(left),
            [&](uint32_t successor) { return !quiet.test(successor); });
    if (!left.empty())
      blocks[block].successors = std::move(left);
  }
  body.postDominators = body.graph.immediatePostDominators();
}

// The branch at the end of a block divides the threads.
bool Uniformity::decide(Body &body, uint32_t block) {
  bool changed = false;
  body.graph.forEachDecided(block, body.postDominators, [&](uint32_t decided) {
    if (body.causes[decided] == ptx::kNone) {
      body.causes[decided] = body.graph.blocks[block].branch();
      changed = true;
    }
  });
  return changed;
}

bool Uniformity::visit(Body &body) {
  bool changed = false, newBranches = false;
  for (uint32_t number = 0; number < body.graph.codeBlocks(); ++number) {
    const ControlFlowGraph::Block &block = body.graph.blocks[number];
    for (uint32_t index = block.first; index < block.end; ++index) {
      const ptx::Instruction &instruction = body.function.body[index];
      bool guarded =
          instruction.guard.reg != ptx::kNone && body.registers.test(instruction.guard.reg);
      bool alone = guarded || body.causes[number] != ptx::kNone || body.dividedCaller.first ||
                   body.isCalledByAddress;
      if (does(instruction, effects::Calls)) {
        changed |= passArguments(body, instruction, alone);
        continue;
      }
      // What is stored in memory of a thread's own is not followed: it may differ.
      if (const ptx::Operand *address = addressOf(instruction);
          address && does(instruction, effects::Writes))
        changed |= markOwnMemory(address->variable());
      bool other = guarded ||
                   (body.causes[number] != ptx::kNone && !meetsWholeWarp(body, instruction)) ||
                   resultDiffers(body, instruction);
      if (!other)
        continue;
      if (writesFirstOperand(instruction))
        changed |= markResult(body, instruction.operands[0]);
      if (instruction.spelling->has(ptx::Mod::Cc) && !body.conditionCode)
        body.conditionCode = changed = true;
    }
    const ptx::Instruction &last = body.function.body[block.branch()];
    if (!block.decides() || body.decided.test(number))
      continue;
    constexpr unsigned kSteps = 4; // from a vote to the branch
    if ((last.guard.reg != ptx::kNone &&
         !agreesInBlock(body, block, block.branch(), last.guard.reg, kSteps)) ||
        (choiceOf(last) && differs(body, *choiceOf(last)))) {
      body.decided.set(number);
      newBranches = true;
    }
  }
  if (newBranches) {
    closeOffThreadEnds(body);
    for (uint32_t block : body.decided.set_bits())
      decide(body, block);
  }
  return changed || newBranches;
}

Uniformity::Uniformity(const Unit &unit, const DenseSet<const ptx::Function *> &addressTaken,
                       Group group)
    : group(group) {
  auto add = [&](const ptx::Function *function) {
    Body &body = *bodies.emplace_back(std::make_unique<Body>(*function));
    bodyOf[function] = &body;
    body.isCalledByAddress = addressTaken.contains(function);
    if (body.isCalledByAddress)
      for (const ptx::Variable *parameter : function->parameters) {
        variables.insert(parameter);
        if (parameter->reg != ptx::kNone)
          body.registers.set(parameter->reg);
      }
  };
  for (const ptx::Function *kernel : unit.kernels)
    add(kernel);
  for (const ptx::Function *function : unit.functions)
    add(function);
  for (bool changed = true; changed;) {
    changed = false;
    for (std::unique_ptr<Body> &body : bodies)
      while (visit(*body))
        changed = true;
  }
}

Uniformity::~Uniformity() = default;

Uniformity::Answer Uniformity::executesTogether(const ptx::Function &function,
                                                uint32_t instruction) const {
  const Body *body = bodyOf.lookup(&function);
  for (unsigned depth = 0; depth <= bodies.size(); ++depth) {
    const ptx::Instruction &inst = body->function.body[instruction];
    if (inst.guard.reg != ptx::kNone && body->registers.test(inst.guard.reg))
      return {false, &body->function, &inst};
    if (const uint32_t cause = body->causes[body->graph.blockOf(instruction)]; cause != ptx::kNone)
      return {false, &body->function, &body->function.body[cause]};
    if (body->isCalledByAddress)
      return {false, &body->function, nullptr, true};
    if (!body->dividedCaller.first)
      return {};
    std::tie(body, instruction) = body->dividedCaller;
  }
  return {false, &body->function, &body->function.body[instruction]}; // recursion
}

bool Uniformity::divides(const ptx::Function &function, uint32_t branch) const {
  const Body &body = *bodyOf.lookup(&function);
  return body.decided.test(body.graph.blockOf(branch));
}

const Uniformity &RowWarps::get() {
  if (!found)
    found = std::make_unique<Uniformity>(unit, functionsWithAddress(unit), Group::RowWarp);
  return *found;
}

} // namespace rubia::lowering
