// SPDX-License-Identifier: Apache-2.0
#include "lowering/lib/analysis/WarpMeetings.h"
#include "lowering/lib/analysis/ControlFlowGraph.h"
#include "lowering/lib/analysis/Definitions.h"
#include "lowering/lib/analysis/InstructionEffects.h"
#include "llvm/ADT/EquivalenceClasses.h"

using namespace llvm;

namespace rubia::ptx::Op {
extern const Operation Bra;
} // namespace rubia::ptx::Op

namespace rubia::lowering {

namespace {

bool isCandidate(const ptx::Instruction &instruction) { return membersOf(instruction); }

class MeetingFinder {
public:
  MeetingFinder(const ptx::Function &function, const Uniformity &uniformity)
      : function(function), uniformity(uniformity), definitions(function), graph(function) {
    for (auto [index, instruction] : enumerate(function.body))
      if (isCandidate(instruction)) {
        candidates.push_back(uint32_t(index));
        classes.insert(uint32_t(index));
      }
    leaveOutEnds();
    postDominators = graph.immediatePostDominators();
  }

  Meetings find() {
    for (uint32_t block = 0; block < graph.codeBlocks(); ++block)
      if (graph.blocks[block].decides() &&
          uniformity.divides(function, graph.blocks[block].branch()))
        joinWaysOf(block);
    for (const auto *one : classes)
      if (one->isLeader() && one->getNext()) {
        auto members = classes.members(*one);
        llvm::sort(found.places.emplace_back(members.begin(), members.end()));
      }
    llvm::sort(found.places);
    return std::move(found);
  }

private:
  // A thread that ends meets nobody any more. So a branch out of a loop, to where threads end, does
  // not keep those that leave the loop in other ways from meeting behind it. These edges go, but
  // where a part of the function would then never end.
  void leaveOutEnds() {
    const BitVector endsAlone = findEnds();
    DenseMap<uint32_t, SmallVector<uint32_t, 2>> changed; // with the edges that were there
    for (uint32_t block = 0; block < graph.codeBlocks(); ++block) {
      auto &successors = graph.blocks[block].successors;
      SmallVector<uint32_t, 2> left;
      copy_if(successors, std::back_inserter(left),
              [&](uint32_t successor) { return !endsAlone.test(successor); });
      if (!left.empty() && left.size() < successors.size())
        changed[block] = std::exchange(successors, std::move(left));
    }
    if (changed.empty())
      return;
    std::vector<SmallVector<uint32_t, 2>> predecessors(graph.blocks.size());
    for (auto [number, block] : enumerate(graph.blocks))
      for (uint32_t successor : block.successors)
        predecessors[successor].push_back(uint32_t(number));
    BitVector isEnding(unsigned(graph.blocks.size())); // some way from there leads to the end
    auto noteEnding = [&](uint32_t block) {
      SmallVector<uint32_t> open{block};
      isEnding.set(block);
      while (!open.empty())
        for (uint32_t before : predecessors[open.pop_back_val()])
          if (!isEnding.test(before)) {
            isEnding.set(before);
            open.push_back(before);
          }
    };
    noteEnding(graph.ended());
    for (uint32_t block = graph.codeBlocks(); block-- > 0;) // the last first, which others lead to
      if (auto found = changed.find(block); found != changed.end() && !isEnding.test(block)) {
        graph.blocks[block].successors = std::move(found->second);
        noteEnding(block);
      }
  }

  // The blocks from which all ways lead to the end of the thread, past none of the instructions.
  BitVector findEnds() const {
    BitVector ends(unsigned(graph.blocks.size()));
    ends.set(graph.ended());
    if (function.isKernel)
      ends.set(graph.returned());
    BitVector has(unsigned(graph.blocks.size()));
    for (uint32_t instruction : candidates)
      has.set(graph.blockOf(instruction));
    for (bool isDone = false; !isDone;) {
      isDone = true;
      for (uint32_t block = graph.codeBlocks(); block-- > 0;)
        if (!ends.test(block) && !has.test(block) &&
            all_of(graph.blocks[block].successors,
                   [&](uint32_t successor) { return ends.test(successor); })) {
          ends.set(block);
          isDone = false;
        }
    }
    return ends;
  }

  using Way = SmallVector<uint32_t>; // instructions that are on no other way

  struct Ways {
    SmallVector<Way, 2> candidates;
    uint32_t length = 0; // instructions that are on one of them
  };

  Ways waysOf(uint32_t branch) const {
    constexpr uint32_t kSeveral = ~0u;
    SmallVector<uint32_t> wayOf(graph.blocks.size()); // 0: none
    const auto &successors = graph.blocks[branch].successors;
    for (uint32_t number = 1; number <= successors.size(); ++number) {
      SmallVector<uint32_t> open{successors[number - 1]};
      while (!open.empty()) {
        const uint32_t block = open.pop_back_val();
        if (block == postDominators[branch] || block == branch || block >= graph.codeBlocks() ||
            wayOf[block] == number || wayOf[block] == kSeveral)
          continue;
        wayOf[block] = wayOf[block] ? kSeveral : number;
        open.append(graph.blocks[block].successors);
      }
    }
    Ways ways;
    ways.candidates.resize(successors.size());
    for (uint32_t instruction : candidates)
      if (const uint32_t way = wayOf[graph.blockOf(instruction)]; way && way != kSeveral)
        ways.candidates[way - 1].push_back(instruction);
    for (uint32_t block = 0; block < graph.codeBlocks(); ++block)
      if (wayOf[block] && wayOf[block] != kSeveral)
        ways.length += graph.blocks[block].end - graph.blocks[block].first;
    return ways;
  }

  bool areSame(uint32_t one, uint32_t other) const {
    const ptx::Instruction &first = function.body[one], &second = function.body[other];
    const ptx::Operand &members = *membersOf(first), &others = *membersOf(second);
    if (first.spelling != second.spelling) // there is one for each text
      return false;
    if (const std::optional<uint64_t> mask = definitions.constant(members))
      return definitions.constant(others) == mask;
    return members.reg != ptx::kNone && members.reg == others.reg &&
           definitions.of(members.reg).size() == 1;
  }

  // Whether they have the same constants, too.
  bool areAlike(uint32_t one, uint32_t other) const {
    const ptx::Instruction &first = function.body[one], &second = function.body[other];
    return areSame(one, other) && first.operands.size() == second.operands.size() &&
           all_of(zip(first.operands, second.operands), [&](auto pair) {
             return definitions.constant(std::get<0>(pair)) ==
                    definitions.constant(std::get<1>(pair));
           });
  }

  void joinWaysOf(uint32_t block) {
    auto [ways, length] = waysOf(block);
    const uint32_t branch = graph.blocks[block].branch();
    // Of brx.idx nobody has seen long ways.
    if (length <= kMostOnWays || function.body[branch].op() != ptx::Op::Bra)
      return joinWays(std::move(ways));
    Meetings::LongWays apart{branch, {}};
    keptApart = &apart.instructions;
    joinWays(std::move(ways));
    keptApart = nullptr;
    llvm::sort(apart.instructions);
    apart.instructions.erase(llvm::unique(apart.instructions), apart.instructions.end());
    if (!apart.instructions.empty())
      found.longWays.push_back(std::move(apart));
  }

  void join(uint32_t one, uint32_t other) {
    if (keptApart)
      keptApart->append({one, other});
    else
      classes.unionSets(one, other);
  }

  void joinWays(SmallVector<Way, 2> ways) {
    erase_if(ways, [](const Way &way) { return way.empty(); });
    if (ways.size() < 2 || joinInOrder(ways))
      return;
    // Barriers that are no copies of each other give nothing that could be wrong, and places that
    // are entered from everywhere make slow code.
    for (Way &way : ways)
      erase_if(way, [&](uint32_t instruction) {
        return does(function.body[instruction], effects::Renews);
      });
    erase_if(ways, [](const Way &way) { return way.empty(); });
    if (ways.size() > 1 && !joinInOrder(ways))
      joinByKind(ways);
  }

  // The n-th of each way, if all ways have the same ones: copies of one piece of code.
  bool joinInOrder(ArrayRef<Way> ways) {
    const Way &first = ways.front();
    for (const Way &way : ways.drop_front())
      if (way.size() != first.size() || !all_of(zip(first, way), [&](auto pair) {
            return areSame(std::get<0>(pair), std::get<1>(pair));
          }))
        return false;
    for (const Way &way : ways.drop_front())
      for (auto [one, other] : zip(first, way))
        join(one, other);
    return true;
  }

  // Which meets which only the program knows. Those with the same constants have come from one, so
  // that they meet each other. Any that has no such on another way may meet all of its kind there.
  void joinByKind(ArrayRef<Way> ways) {
    for (auto [way, instructions] : enumerate(ways))
      for (uint32_t instruction : instructions)
        if (!joinWithOthers(ways, way, instruction, &MeetingFinder::areAlike))
          joinWithOthers(ways, way, instruction, &MeetingFinder::areSame);
  }

  // False: there is none on another way.
  bool joinWithOthers(ArrayRef<Way> ways, size_t itsWay, uint32_t instruction,
                      bool (MeetingFinder::*areEqual)(uint32_t, uint32_t) const) {
    bool found = false;
    for (auto [way, others] : enumerate(ways))
      for (uint32_t other : others)
        if (way != itsWay && (this->*areEqual)(instruction, other)) {
          join(instruction, other);
          found = true;
        }
    return found;
  }

  const ptx::Function &function;
  const Uniformity &uniformity;
  const Definitions definitions;
  ControlFlowGraph graph;
  std::vector<uint32_t> postDominators;
  SmallVector<uint32_t> candidates;
  EquivalenceClasses<uint32_t> classes;
  SmallVectorImpl<uint32_t> *keptApart = nullptr; // of a branch with long ways
  Meetings found;
};

} // namespace

WarpMeetings findWarpMeetings(const Unit &unit, RowWarps &warps) {
  WarpMeetings found;
  for (ArrayRef<const ptx::Function *> functions :
       {ArrayRef(unit.kernels), ArrayRef(unit.functions)})
    for (const ptx::Function *function : functions) {
      if (count_if(function->body, isCandidate) < 2)
        continue;
      if (Meetings meetings = MeetingFinder(*function, warps.get()).find(); !meetings.empty())
        found[function] = std::move(meetings);
    }
  return found;
}

} // namespace rubia::lowering
