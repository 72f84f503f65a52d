// SPDX-License-Identifier: Apache-2.0
// Questions to the dominator tree, beside answers from the definitions, on graphs made at random.
#include "codegen/lib/speed/Dominance.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Analysis/IteratedDominanceFrontier.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include <gtest/gtest.h>
#include <random>
#include <set>

using namespace llvm;
using namespace rubia::codegen;

namespace {

class Graph {
public:
  explicit Graph(unsigned seed) : draw(seed), module("graph", context) {
    askDominatorsDirectly();
    Type *none = Type::getVoidTy(context);
    function = Function::Create(FunctionType::get(none, {Type::getInt1Ty(context)}, false),
                                Function::ExternalLinkage, "f", module);
    const unsigned count = 2 + pick(40);
    for (unsigned i = 0; i < count; ++i)
      blocks.push_back(BasicBlock::Create(context, "", function));
    for (unsigned i = 0; i < count; ++i) {
      IRBuilder<> builder(blocks[i]);
      // Mostly near ones, as in programs. The first block has no predecessor.
      auto target = [&] {
        return blocks[pick(4) ? 1 + (i + pick(5)) % (count - 1) : 1 + pick(count - 1)];
      };
      if (const unsigned kind = pick(8); kind == 0 && i)
        builder.CreateRetVoid();
      else if (kind < 4)
        builder.CreateBr(target());
      else
        builder.CreateCondBr(function->getArg(0), target(), target());
    }
    tree.recalculate(*function);
    for (BasicBlock *block : blocks)
      if (tree.isReachableFromEntry(block))
        reachable.push_back(block);
  }

  unsigned pick(unsigned below) { return draw() % below; }
  BasicBlock *any() { return reachable[pick(reachable.size())]; }

  /// Whether each way from the entry to `below` leads through `above`.
  bool dominates(const BasicBlock *above, const BasicBlock *below) const {
    std::set<const BasicBlock *> seen = {above};
    std::vector<const BasicBlock *> ahead = {blocks.front()};
    while (!ahead.empty()) {
      const BasicBlock *block = ahead.back();
      ahead.pop_back();
      if (!seen.insert(block).second)
        continue;
      if (block == below)
        return false;
      append_range(ahead, successors(block));
    }
    return true;
  }

  /// Where phis belong by definition.
  std::set<BasicBlock *> frontier(ArrayRef<BasicBlock *> definitions,
                                  const SmallPtrSetImpl<BasicBlock *> &liveIn) const {
    std::set<BasicBlock *> found;
    std::vector<BasicBlock *> ahead = definitions.vec();
    for (size_t i = 0; i < ahead.size(); ++i)
      for (BasicBlock *join : reachable)
        if (liveIn.contains(join) && !found.contains(join) && endsAt(ahead[i], join)) {
          found.insert(join);
          ahead.push_back(join);
        }
    return found;
  }

  std::mt19937 draw;
  LLVMContext context;
  Module module;
  Function *function = nullptr;
  std::vector<BasicBlock *> blocks, reachable;
  DominatorTree tree;

private:
  /// Whether `join` is where the dominance of `above` ends.
  bool endsAt(const BasicBlock *above, BasicBlock *join) const {
    return (above == join || !dominates(above, join)) && any_of(predecessors(join), [&](auto *p) {
             return is_contained(reachable, p) && dominates(above, p);
           });
  }
};

std::vector<BasicBlock *> calculated(Graph &graph, const SmallPtrSetImpl<BasicBlock *> &definitions,
                                     const SmallPtrSetImpl<BasicBlock *> *liveIn) {
  ForwardIDFCalculator calculator(graph.tree);
  calculator.setDefiningBlocks(definitions);
  if (liveIn)
    calculator.setLiveInBlocks(*liveIn);
  SmallVector<BasicBlock *> found;
  calculator.calculate(found);
  return {found.begin(), found.end()};
}

constexpr unsigned kGraphs = 300;

TEST(Dominance, IsThatOfTheDefinition) {
  for (unsigned seed = 0; seed < kGraphs; ++seed) {
    Graph graph(seed);
    // So many questions that the tree is numbered among them.
    for (unsigned i = 0; i < 100; ++i) {
      BasicBlock *above = graph.any(), *below = graph.any();
      ASSERT_EQ(graph.tree.dominates(above, below), graph.dominates(above, below)) << seed;
    }
  }
  EXPECT_TRUE(wasAskedForDominance()) << "LLVM has a function of its own";
}

TEST(Dominance, UnreachableBlocksAreDominatedByAll) {
  Graph graph(1);
  BasicBlock *lost = BasicBlock::Create(graph.context, "", graph.function);
  IRBuilder<>(lost).CreateRetVoid();
  graph.tree.recalculate(*graph.function);
  EXPECT_TRUE(graph.tree.dominates(graph.any(), lost));
  EXPECT_FALSE(graph.tree.dominates(lost, graph.any()));
  EXPECT_TRUE(graph.tree.dominates(lost, lost));
}

TEST(Dominance, PhisBelongWhereTheDefinitionSays) {
  for (unsigned seed = 0; seed < kGraphs; ++seed) {
    Graph graph(seed);
    SmallPtrSet<BasicBlock *, 8> definitions, liveIn;
    for (unsigned i = 0, count = 1 + graph.pick(4); i < count; ++i)
      definitions.insert(graph.any());
    for (BasicBlock *block : graph.reachable)
      if (graph.pick(3))
        liveIn.insert(block);
    std::vector<BasicBlock *> found = calculated(graph, definitions, &liveIn);
    const std::vector<BasicBlock *> given(definitions.begin(), definitions.end());
    ASSERT_EQ(std::set<BasicBlock *>(found.begin(), found.end()), graph.frontier(given, liveIn))
        << seed;
  }
  EXPECT_TRUE(wasAskedForFrontiers()) << "LLVM has a function of its own";
}

// The order is that of LLVM, which goes through all that a definition dominates and numbers the
// tree before.
TEST(Dominance, ThePhisOrderDependsOnTheGraphAlone) {
  for (unsigned seed = 0; seed < kGraphs; ++seed) {
    Graph graph(seed);
    SmallPtrSet<BasicBlock *, 8> definitions, all(from_range, graph.reachable);
    for (unsigned i = 0, count = 2 + graph.pick(4); i < count; ++i)
      definitions.insert(graph.any());
    const std::vector<BasicBlock *> found = calculated(graph, definitions, &all);
    graph.tree.updateDFSNumbers();
    ASSERT_EQ(found, calculated(graph, definitions, nullptr)) << seed;
  }
}

} // namespace
