// SPDX-License-Identifier: Apache-2.0
#include "lowering/lib/analysis/CountedLoops.h"
#include "lowering/lib/analysis/InstructionEffects.h"
#include "llvm/ADT/APInt.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace rubia::ptx::Op {
extern const Operation Bra, IAdd, Mov, Setp;
} // namespace rubia::ptx::Op
namespace rubia::ptx::Mod {
extern const Modifier Eq, Ge, Gt, Le, Lt, Ne;
} // namespace rubia::ptx::Mod

namespace rubia::lowering {

// Measured on an H100: docs/numerics.md, "Contraction".
struct Limit {
  size_t instructions; // of a round
  uint32_t rounds;
};
static constexpr Limit kLimits[] = {{8, 200}, {12, 128}, {20, 48}, {36, 16}, {68, 6}, {132, 2}};
static constexpr uint32_t kMaxRounds = kLimits[0].rounds;
// In all loops of a function, to bound the time that is spent on them.
static constexpr size_t kMaxInFunction = 1 << 16;

static std::optional<CmpInst::Predicate> predicateOf(const ptx::Instruction &setp) {
  const bool isSigned_ = ptx::classOf(setp.spelling->type()) == ptx::TypeClass::Signed;
  const ptx::Modifier comparison = setp.spelling->first(ptx::ModCategory::Comparison);
  if (comparison == ptx::Mod::Eq)
    return CmpInst::ICMP_EQ;
  if (comparison == ptx::Mod::Ne)
    return CmpInst::ICMP_NE;
  if (comparison == ptx::Mod::Lt)
    return isSigned_ ? CmpInst::ICMP_SLT : CmpInst::ICMP_ULT;
  if (comparison == ptx::Mod::Le)
    return isSigned_ ? CmpInst::ICMP_SLE : CmpInst::ICMP_ULE;
  if (comparison == ptx::Mod::Gt)
    return isSigned_ ? CmpInst::ICMP_SGT : CmpInst::ICMP_UGT;
  if (comparison == ptx::Mod::Ge)
    return isSigned_ ? CmpInst::ICMP_SGE : CmpInst::ICMP_UGE;
  return std::nullopt;
}

namespace {

// A loop's counter: `mov r, constant` in front of the loop; in its last block `add r, r, constant`,
// `setp p, r, constant` and a branch back that p guards.
struct Counter {
  const ptx::Instruction *start, *step, *test;
  bool stepsFirst; // before the comparison
  bool goesOnIf;   // the result with which there is another round
};

class LoopUnroller {
public:
  LoopUnroller(const ptx::Function &function, const Definitions &definitions,
               const BitVector &endings, const ControlFlowGraph &graph,
               std::vector<FlowNode> &nodes)
      : function(function), definitions(definitions), endings(endings), graph(graph), nodes(nodes) {
  }
  void unroll(const ControlFlowGraph::Loop &loop);

private:
  bool endsStretch(uint32_t block) const {
    int found = endings.find_first_in(graph.blocks[block].first, graph.blocks[block].end);
    return found >= 0;
  }
  std::optional<uint32_t> latchOf(const ControlFlowGraph::Loop &loop) const;
  std::optional<Counter> counterOf(const ControlFlowGraph::Loop &loop, uint32_t latch) const;
  const ptx::Instruction *writerIn(uint32_t block, ptx::RegisterId reg) const;

  const ptx::Function &function;
  const Definitions &definitions;
  const BitVector &endings;
  const ControlFlowGraph &graph;
  std::vector<FlowNode> &nodes;
  size_t total = 0; // instructions of all loops that are unrolled
};

// The instruction of a block that writes a register, if it is the only one, and without a guard.
const ptx::Instruction *LoopUnroller::writerIn(uint32_t block, ptx::RegisterId reg) const {
  const ControlFlowGraph::Block &of = graph.blocks[block];
  const ptx::Instruction *found = nullptr;
  for (uint32_t writer : definitions.of(reg)) {
    if (writer < of.first || writer >= of.end)
      continue;
    if (found || function.body[writer].guard.reg != ptx::kNone)
      return nullptr;
    found = &function.body[writer];
  }
  return found;
}

// The block that goes back to the header and out of the loop, if there is one such block.
std::optional<uint32_t> LoopUnroller::latchOf(const ControlFlowGraph::Loop &loop) const {
  std::optional<uint32_t> latch;
  for (uint32_t block : loop.blocks)
    if (is_contained(graph.blocks[block].successors, loop.header)) {
      if (latch)
        return std::nullopt;
      latch = block;
    }
  if (!latch || graph.blocks[*latch].successors.size() != 2)
    return std::nullopt;
  for (uint32_t successor : graph.blocks[*latch].successors)
    if (successor != loop.header && is_contained(loop.blocks, successor))
      return std::nullopt;
  return latch;
}

bool isInteger(const ptx::Operand &operand) { return operand.kind == ptx::Operand::Kind::Integer; }

bool isRegister(const ptx::Operand &operand, ptx::RegisterId reg) {
  return operand.kind == ptx::Operand::Kind::Register && operand.reg == reg &&
         operand.component == 0xff && !operand.negated;
}

std::optional<Counter> LoopUnroller::counterOf(const ControlFlowGraph::Loop &loop,
                                               uint32_t latch) const {
  const ptx::Instruction &branch = function.body[graph.blocks[latch].branch()];
  if (branch.op() != ptx::Op::Bra || branch.guard.reg == ptx::kNone ||
      definitions.of(branch.guard.reg).size() != 1)
    return std::nullopt;
  Counter counter;
  counter.test = writerIn(latch, branch.guard.reg);
  if (!counter.test || counter.test->op() != ptx::Op::Setp || counter.test->operands.size() != 3 ||
      !isRegister(counter.test->operands[0], branch.guard.reg) ||
      !isInteger(counter.test->operands[2]) || !predicateOf(*counter.test))
    return std::nullopt;
  const ptx::RegisterId reg = counter.test->operands[1].reg;
  if (!isRegister(counter.test->operands[1], reg) || definitions.of(reg).size() != 2)
    return std::nullopt;
  counter.step = writerIn(latch, reg);
  if (!counter.step || counter.step->op() != ptx::Op::IAdd || counter.step->operands.size() != 3 ||
      counter.step->spelling->modifiers.size() != 1 ||
      ptx::sizeInBits(counter.step->spelling->type()) !=
          ptx::sizeInBits(counter.test->spelling->type()) ||
      !isRegister(counter.step->operands[1], reg) || !isInteger(counter.step->operands[2]))
    return std::nullopt;
  counter.stepsFirst = counter.step < counter.test;
  // The only block in front of the loop.
  std::optional<uint32_t> before;
  for (auto [number, block] : enumerate(graph.blocks))
    if (is_contained(block.successors, loop.header) && number != latch) {
      if (before)
        return std::nullopt;
      before = uint32_t(number);
    }
  counter.start = before ? writerIn(*before, reg) : nullptr;
  if (!counter.start || counter.start->op() != ptx::Op::Mov ||
      counter.start->operands.size() != 2 || !isInteger(counter.start->operands[1]))
    return std::nullopt;
  const ptx::Operand &target = branch.operands.back();
  bool branchesBack = target.kind == ptx::Operand::Kind::Label &&
                      function.labels[target.label].instruction == graph.blocks[loop.header].first;
  counter.goesOnIf = branchesBack != branch.guard.negated;
  return counter;
}

// None: more than kMaxRounds.
std::optional<uint32_t> roundsOf(const Counter &counter) {
  const unsigned bits = ptx::sizeInBits(counter.test->spelling->type());
  auto constant = [&](const ptx::Operand &operand) { return APInt(64, operand.bits).trunc(bits); };
  APInt value = constant(counter.start->operands[1]);
  const APInt step = constant(counter.step->operands[2]), end = constant(counter.test->operands[2]);
  for (uint32_t round = 1; round <= kMaxRounds; ++round) {
    if (counter.stepsFirst)
      value += step;
    if (ICmpInst::compare(value, end, *predicateOf(*counter.test)) != counter.goesOnIf)
      return round;
    if (!counter.stepsFirst)
      value += step;
  }
  return std::nullopt;
}

// The loop's nodes, those of loops within it that are unrolled already too, once more for each
// round but the first. The last block goes to the next round, in the last one out of the loop.
void LoopUnroller::unroll(const ControlFlowGraph::Loop &loop) {
  std::optional<uint32_t> latch = latchOf(loop);
  if (!latch || !loop.hasOneEntry)
    return;
  std::optional<Counter> counter = counterOf(loop, *latch);
  std::optional<uint32_t> rounds = counter ? roundsOf(*counter) : std::nullopt;
  if (!rounds)
    return;
  const bool repeats = *rounds > 1; // else there is no loop
  for (const ptx::Pragma &pragma : function.pragmas)
    if (repeats && pragma.text == "nounroll" && any_of(loop.blocks, [&](uint32_t block) {
          return pragma.instruction >= graph.blocks[block].first &&
                 pragma.instruction < graph.blocks[block].end;
        }))
      return;
  std::vector<uint32_t> inside;
  uint32_t header = ptx::kNone, last = ptx::kNone;
  size_t instructions = 0;
  for (auto [number, node] : enumerate(nodes)) {
    if (!is_contained(loop.blocks, node.block))
      continue;
    for (auto [block, place] : {std::pair{loop.header, &header}, std::pair{*latch, &last}})
      if (node.block == block) {
        if (*place != ptx::kNone)
          return; // unrolled as a part of another loop
        *place = uint32_t(number);
      }
    if (repeats && node.block != *latch && node.successors.size() != 1)
      return; // the loop branches, or has another way out
    if (repeats && endsStretch(node.block))
      return;
    inside.push_back(uint32_t(number));
    instructions += graph.blocks[node.block].end - graph.blocks[node.block].first;
  }
  if (repeats && none_of(kLimits, [&](const Limit &limit) {
        return instructions <= limit.instructions && *rounds <= limit.rounds;
      }))
    return;
  instructions *= *rounds;
  if (total + instructions > kMaxInFunction || !is_contained(nodes[last].successors, header))
    return;
  total += instructions;

  const uint32_t count = uint32_t(inside.size());
  const uint32_t position = uint32_t(find(inside, header) - inside.begin());
  const uint32_t firstCopy = uint32_t(nodes.size());
  for (uint32_t round = 1; round < *rounds; ++round)
    for (uint32_t number : inside) {
      FlowNode copy = nodes[number];
      for (uint32_t &successor : copy.successors)
        if (auto found = find(inside, successor); found != inside.end())
          successor = firstCopy + (round - 1) * count + uint32_t(found - inside.begin());
      nodes.push_back(std::move(copy));
    }
  uint32_t exit = *find_if(nodes[last].successors, [&](uint32_t next) { return next != header; });
  const uint32_t lastPosition = uint32_t(find(inside, last) - inside.begin());
  for (uint32_t round = 0; round < *rounds; ++round) {
    FlowNode &end = nodes[round ? firstCopy + (round - 1) * count + lastPosition : last];
    end.successors = {round + 1 < *rounds ? firstCopy + round * count + position : exit};
  }
}

} // namespace

void unrollCountedLoops(const ptx::Function &function, const Definitions &definitions,
                        const BitVector &endings, const ControlFlowGraph &graph,
                        std::vector<FlowNode> &nodes) {
  LoopUnroller unroller(function, definitions, endings, graph, nodes);
  std::vector<ControlFlowGraph::Loop> loops = graph.loops();
  // Loops within others come first.
  llvm::sort(loops, [](const auto &a, const auto &b) {
    return std::pair(a.blocks.size(), a.header) < std::pair(b.blocks.size(), b.header);
  });
  for (const ControlFlowGraph::Loop &loop : loops)
    unroller.unroll(loop);
}

} // namespace rubia::lowering
