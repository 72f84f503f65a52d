#include "lowering/lib/Stretches.h"
#include "lowering/lib/ControlFlowGraph.h"
#include "lowering/lib/Definitions.h"
#include "lowering/lib/InstructionEffects.h"
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

Stretches::Stretches(const ptx::Function &function,
                     function_ref<bool(const ptx::Instruction &)> ends)
    : needed(unsigned(function.body.size())) {
  connect(function, ends);
  findShared(function);
  findLive(function);
}

// Pieces of blocks, then chains of pieces: the next one belongs to the same stretch if control
// comes to it from nowhere else.
void Stretches::connect(const ptx::Function &function,
                        function_ref<bool(const ptx::Instruction &)> ends) {
  struct Piece {
    uint32_t first, end;
    SmallVector<uint32_t, 2> successors;
    bool endsStretch = false;
    unsigned predecessors = 0;
    uint32_t stretch = ptx::kNone;
  };
  ControlFlowGraph graph(function);
  std::vector<Piece> pieces;
  std::vector<uint32_t> firstPiece(graph.blocks.size()), lastPiece(graph.blocks.size());
  for (auto [number, block] : enumerate(graph.blocks)) {
    firstPiece[number] = uint32_t(pieces.size());
    uint32_t first = block.first;
    for (uint32_t index = block.first; index < block.end; ++index)
      if (index + 1 < block.end && ends(function.body[index])) {
        pieces.push_back({first, index + 1, {uint32_t(pieces.size() + 1)}, true});
        first = index + 1;
      }
    bool endsStretch = block.first < block.end && ends(function.body[block.end - 1]);
    lastPiece[number] = uint32_t(pieces.size());
    pieces.push_back({first, block.end, {}, endsStretch});
  }
  for (auto [number, block] : enumerate(graph.blocks))
    for (uint32_t successor : block.successors)
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
      for (uint32_t index : reverse(stretch.instructions)) {
        const ptx::Instruction &instruction = function.body[index];
        bool isNeeded = !isPure(instruction); // it may go if nobody reads its result
        SmallVector<ptx::RegisterId, 4> writes, reads;
        forEachAccess(
            instruction, [&](ptx::RegisterId reg) { writes.push_back(reg); },
            [&](ptx::RegisterId reg) { reads.push_back(reg); });
        isNeeded |= any_of(writes, isLive);
        if (!isNeeded)
          continue;
        needed.set(index);
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
