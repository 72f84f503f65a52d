// SPDX-License-Identifier: Apache-2.0
#include "lowering/lib/analysis/Stretches.h"
#include "lowering/lib/analysis/InstructionEffects.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace rubia::lowering {

void forEachAccess(const ptx::Instruction &instruction, function_ref<void(ptx::RegisterId)> written,
                   function_ref<void(ptx::RegisterId)> read) {
  if (instruction.guard.reg != ptx::kNone)
    read(instruction.guard.reg);
  bool isCall = does(instruction, effects::Calls);
  bool writesFirst = !isCall && writesFirstOperand(instruction);
  for (const ptx::Operand &operand : drop_begin(instruction.operands, writesFirst))
    forEachRegister(operand, read); // results of a call too: it may leave them as they are
  if (!writesFirst)
    return;
  auto write = [&](const ptx::Operand &operand) {
    if (operand.reg == ptx::kNone)
      return;
    if (instruction.guard.reg != ptx::kNone || operand.component != 0xff)
      read(operand.reg);
    written(operand.reg);
  };
  write(instruction.operands[0]);
  for (const ptx::Operand &element : instruction.operands[0].elements())
    write(element);
}

static bool isRemovableLoad(const ptx::Instruction &instruction) {
  return does(instruction, effects::Loads) &&
         !does(instruction, effects::Writes | effects::MeetsWarp) && !hasSemantics(instruction);
}

Stretches::Stretches(const ptx::Function &function, const Definitions &definitions,
                     function_ref<bool(const ptx::Instruction &)> ends)
    : branches(unsigned(function.body.size())), endings(unsigned(function.body.size())) {
  for (auto [index, instruction] : enumerate(function.body))
    endings[unsigned(index)] = ends(instruction);
  ControlFlowGraph graph(function);
  std::vector<uint32_t> postDominators = graph.immediatePostDominators();
  findNeededBranches(function, graph, postDominators);
  std::vector<FlowNode> nodes;
  for (auto [number, block] : enumerate(graph.blocks)) {
    bool decides = !block.decides() || branches.test(block.branch()) ||
                   !does(function.body[block.branch()], effects::Jumps);
    FlowNode &node = nodes.emplace_back();
    node.block = uint32_t(number);
    node.successors = block.successors;
    if (!decides)
      node.successors = {postDominators[number]};
  }
  unrollCountedLoops(function, definitions, endings, graph, nodes);
  connect(graph, nodes);
  findShared(function);
  findLive(function);
}

// Finds the branches and the ends of stretches that stay when what nobody needs is gone.
// A branch is needed if something between it and where its ways meet again is. At first none is,
// and what they read is not needed either; each one that is may show that others are.
void Stretches::findNeededBranches(const ptx::Function &function, const ControlFlowGraph &graph,
                                   ArrayRef<uint32_t> postDominators) {
  for (const ControlFlowGraph::Block &block : graph.blocks) {
    Stretch &stretch = stretches.emplace_back();
    for (uint32_t index = block.first; index < block.end; ++index)
      stretch.instructions.push_back(index);
    stretch.successors = block.successors;
  }
  findShared(function);
  // What is between takes time in proportion to the square of the blocks.
  constexpr uint32_t kMaxBlocks = 2000;
  if (graph.codeBlocks() > kMaxBlocks)
    branches.set();
  for (bool changed = true; changed;) {
    changed = false;
    findLive(function);
    for (uint32_t number = 0; number < graph.codeBlocks(); ++number) {
      const ControlFlowGraph::Block &block = graph.blocks[number];
      if (!block.decides() || branches.test(block.branch()))
        continue;
      bool isNeeded = false;
      graph.forEachDecided(number, postDominators,
                           [&](uint32_t decided) { isNeeded |= stretches[decided].needed.any(); });
      if (!isNeeded)
        continue;
      branches.set(block.branch());
      changed = true;
    }
  }
  BitVector needed(endings.size());
  for (const Stretch &block : stretches)
    for (unsigned position : block.needed.set_bits())
      needed.set(block.instructions[position]);
  endings &= needed;
  stretches.clear();
}

// Pieces of blocks, then chains of pieces: the next one belongs to the same stretch if control
// comes to it from nowhere else.
void Stretches::connect(const ControlFlowGraph &graph, ArrayRef<FlowNode> nodes) {
  struct Piece {
    uint32_t first, end;
    SmallVector<uint32_t, 2> successors;
    bool endsStretch = false;
    unsigned predecessors = 0;
    uint32_t stretch = ptx::kNone;
  };
  std::vector<Piece> pieces;
  std::vector<uint32_t> firstPiece(nodes.size()), lastPiece(nodes.size());
  for (auto [number, node] : enumerate(nodes)) {
    const ControlFlowGraph::Block &block = graph.blocks[node.block];
    firstPiece[number] = uint32_t(pieces.size());
    uint32_t first = block.first;
    for (uint32_t index = block.first; index < block.end; ++index)
      if (index + 1 < block.end && endings.test(index)) {
        pieces.push_back({first, index + 1, {uint32_t(pieces.size() + 1)}, true});
        first = index + 1;
      }
    bool endsStretch = block.first < block.end && endings.test(block.end - 1);
    lastPiece[number] = uint32_t(pieces.size());
    pieces.push_back({first, block.end, {}, endsStretch});
  }
  for (auto [number, node] : enumerate(nodes))
    for (uint32_t successor : node.successors)
      pieces[lastPiece[number]].successors.push_back(firstPiece[successor]);
  // Code that is never reached counts for nothing.
  pieces[0].predecessors = 1; // the caller
  SmallVector<uint32_t> open{0};
  while (!open.empty())
    for (uint32_t successor : pieces[open.pop_back_val()].successors)
      if (pieces[successor].predecessors++ == 0)
        open.push_back(successor);

  auto joinsNext = [&](const Piece &piece) {
    return !piece.endsStretch && piece.successors.size() == 1 &&
           pieces[piece.successors[0]].predecessors == 1;
  };
  std::vector<uint32_t> heads; // pieces that no other one joins
  BitVector isJoined(unsigned(pieces.size()));
  for (const Piece &piece : pieces)
    if (piece.predecessors && joinsNext(piece))
      isJoined.set(piece.successors[0]);
  for (uint32_t number = 0; number < pieces.size(); ++number)
    if (pieces[number].predecessors && !isJoined.test(number))
      heads.push_back(number);
  std::vector<uint32_t> tails;
  for (uint32_t head : heads) {
    Stretch &stretch = stretches.emplace_back();
    uint32_t number = head;
    while (true) {
      Piece &piece = pieces[number];
      piece.stretch = uint32_t(stretches.size() - 1);
      for (uint32_t index = piece.first; index < piece.end; ++index)
        stretch.instructions.push_back(index);
      if (!joinsNext(piece))
        break;
      number = piece.successors[0];
    }
    tails.push_back(number);
  }
  for (auto [stretch, tail] : zip_equal(stretches, tails))
    for (uint32_t successor : pieces[tail].successors)
      stretch.successors.push_back(pieces[successor].stretch);
}

void Stretches::findShared(const ptx::Function &function) {
  constexpr uint32_t kSeveral = ptx::kNone - 1;
  sharedCount = 0;
  shared.assign(function.registers.size(), ptx::kNone);
  for (auto [number, stretch] : enumerate(stretches)) {
    auto note = [&, n = uint32_t(number)](ptx::RegisterId reg) {
      shared[reg] = shared[reg] == ptx::kNone || shared[reg] == n ? n : kSeveral;
    };
    for (uint32_t index : stretch.instructions)
      forEachAccess(function.body[index], note, note);
  }
  // Results that are registers are read by whoever called.
  for (const ptx::Variable *result : function.results)
    if (result->reg != ptx::kNone)
      shared[result->reg] = kSeveral;
  for (uint32_t &number : shared)
    number = number == kSeveral ? sharedCount++ : ptx::kNone;
}

void Stretches::findLive(const ptx::Function &function) {
  std::vector<BitVector> liveAtStart(stretches.size(), BitVector(sharedCount));
  BitVector results(sharedCount);
  for (const ptx::Variable *result : function.results)
    if (result->reg != ptx::kNone)
      results.set(shared[result->reg]);
  // A function's results are live wherever it may return, which is where nothing follows.
  for (Stretch &stretch : stretches)
    stretch.liveAtEnd = stretch.successors.empty() ? results : BitVector(sharedCount);
  BitVector own(unsigned(function.registers.size())); // live registers that are not shared
  bool changed = true;
  while (changed) {
    changed = false;
    for (auto [stretch, start] : zip_equal(reverse(stretches), reverse(liveAtStart))) {
      for (uint32_t successor : stretch.successors)
        stretch.liveAtEnd |= liveAtStart[successor];
      BitVector live = stretch.liveAtEnd;
      own.reset();
      auto isLive = [&](ptx::RegisterId reg) {
        return shared[reg] == ptx::kNone ? own.test(reg) : live.test(shared[reg]);
      };
      auto set = [&](ptx::RegisterId reg, bool value) {
        if (shared[reg] == ptx::kNone)
          own[reg] = value;
        else
          live[shared[reg]] = value;
      };
      stretch.needed.resize(unsigned(stretch.instructions.size()));
      for (size_t position = stretch.instructions.size(); position-- > 0;) {
        const uint32_t index = stretch.instructions[position];
        const ptx::Instruction &instruction = function.body[index];
        // What is pure and ends a stretch has blocks of its own, which stay.
        bool isNeeded = does(instruction, effects::Jumps) ? branches.test(index)
                        : isPure(instruction)             ? endings.test(index)
                                                          : !isRemovableLoad(instruction);
        SmallVector<ptx::RegisterId, 4> writes, reads;
        forEachAccess(
            instruction, [&](ptx::RegisterId reg) { writes.push_back(reg); },
            [&](ptx::RegisterId reg) { reads.push_back(reg); });
        isNeeded |= any_of(writes, isLive);
        if (!isNeeded)
          continue;
        stretch.needed.set(unsigned(position));
        for (ptx::RegisterId reg : writes)
          set(reg, false);
        for (ptx::RegisterId reg : reads)
          set(reg, true);
      }
      if (live != start) {
        start = std::move(live);
        changed = true;
      }
    }
  }
}

} // namespace rubia::lowering
