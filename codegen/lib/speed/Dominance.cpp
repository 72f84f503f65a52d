// SPDX-License-Identifier: Apache-2.0
// Not with llvm/IR/Dominators.h, which says that the functions of here are LLVM's.
#include "codegen/lib/speed/Dominance.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Analysis/IteratedDominanceFrontier.h"
#include "llvm/IR/CFG.h"
#include "llvm/Support/GenericDomTree.h"
#include <algorithm>
#include <atomic>
#include <optional>
#include <queue>

using namespace llvm;

namespace rubia::codegen {

namespace {

using Tree = DominatorTreeBase<BasicBlock, false>;
using Node = DomTreeNodeBase<BasicBlock>;
using Blocks = SmallPtrSetImpl<BasicBlock *>;

std::atomic<bool> hasFrontiers, hasDominance;

/// Whether the nodes have numbers in depth-first order. A base's protected member is named through
/// a class derived from it.
struct Numbers : Tree {
  static bool areValid(const Tree &tree) { return tree.*(&Numbers::DFSInfoValid); }
};

/// Depth-first order of two nodes of one level.
bool comesBefore(const Node *a, const Node *b) {
  for (; a->getIDom() != b->getIDom(); a = a->getIDom())
    b = b->getIDom();
  for (const Node *child : *a->getIDom())
    if (child == a || child == b)
      return child == a;
  return false; // of a tree each node is a child of its parent
}

/// The lowest nodes first, and of one level the last in depth-first order: LLVM's order.
class LaterInQueue {
public:
  explicit LaterInQueue(const Tree &tree) : areNumbered(Numbers::areValid(tree)) {}
  bool operator()(const Node *a, const Node *b) const {
    if (a->getLevel() != b->getLevel())
      return a->getLevel() < b->getLevel();
    return areNumbered ? a->getDFSNumIn() < b->getDFSNumIn() : a != b && comesBefore(a, b);
  }

private:
  bool areNumbered;
};

/// The nodes that a way leads through, down the tree from a definition to an edge into a block that
/// a phi would live in. LLVM goes through all nodes below the definition.
class WaysToJoins {
public:
  WaysToJoins(const Tree &tree, const Blocks &liveIn) {
    for (const BasicBlock *block : liveIn)
      if (const Node *join = tree.getNode(block); join && !block->getSinglePredecessor())
        for (const BasicBlock *before : predecessors(block))
          addAbove(tree.getNode(before), join->getLevel());
  }

  bool leadThrough(const Node *node) const { return highest.contains(node); }

private:
  // A definition above the join's level dominates the join: it needs no phi for that.
  void addAbove(const Node *node, unsigned level) {
    for (; node && node->getLevel() >= level; node = node->getIDom()) {
      auto [known, isNew] = highest.try_emplace(node, level);
      if (!isNew && known->second <= level)
        return;
      known->second = level;
    }
  }

  DenseMap<const Node *, unsigned> highest; // the level up to which the nodes above are here too
};

} // namespace

void askDominatorsDirectly() {}

bool wasAskedForFrontiers() { return hasFrontiers; }
bool wasAskedForDominance() { return hasDominance; }

} // namespace rubia::codegen

namespace llvm {

using rubia::codegen::LaterInQueue;
using rubia::codegen::Node;
using rubia::codegen::WaysToJoins;

template <>
void IDFCalculatorBase<BasicBlock, false>::calculate(SmallVectorImpl<BasicBlock *> &found) {
  rubia::codegen::hasFrontiers.store(true, std::memory_order_relaxed);
  std::optional<WaysToJoins> ways;
  if (useLiveIn)
    ways.emplace(DT, *LiveInBlocks);
  std::priority_queue<Node *, SmallVector<Node *, 32>, LaterInQueue> definitions{LaterInQueue(DT)};
  SmallPtrSet<Node *, 16> asked, walked;
  for (BasicBlock *block : *DefBlocks)
    if (Node *node = DT.getNode(block)) {
      definitions.push(node);
      walked.insert(node);
    }

  SmallVector<Node *, 32> ahead;
  while (!definitions.empty()) {
    const unsigned level = definitions.top()->getLevel();
    ahead.push_back(definitions.top());
    definitions.pop();
    while (!ahead.empty()) {
      Node *node = ahead.pop_back_val();
      for (BasicBlock *next : ChildrenGetter.get(node->getBlock())) {
        Node *join = DT.getNode(next);
        // One below the definition is dominated by it.
        if (join->getLevel() > level || !asked.insert(join).second ||
            (useLiveIn && !LiveInBlocks->contains(next)))
          continue;
        found.push_back(next);
        if (!DefBlocks->contains(next))
          definitions.push(join);
      }
      for (Node *child : *node)
        if ((!ways || ways->leadThrough(child)) && walked.insert(child).second)
          ahead.push_back(child);
    }
  }
}

template <>
bool DominatorTreeBase<BasicBlock, false>::dominates(const Node *above, const Node *below) const {
  rubia::codegen::hasDominance.store(true, std::memory_order_relaxed);
  if (above == below || !below) // what cannot be reached is dominated by all
    return true;
  if (!above || above->getLevel() >= below->getLevel())
    return false;
  if (below->getIDom() == above)
    return true;
  if (DFSInfoValid)
    return below->getDFSNumIn() >= above->getDFSNumIn() &&
           below->getDFSNumOut() <= above->getDFSNumOut();
  // The numbers are made when as many steps have been taken as there are nodes. LLVM makes them
  // when it has been asked 32 times.
  SlowQueries += below->getLevel() - above->getLevel();
  if (SlowQueries > DomTreeNodes.size()) {
    updateDFSNumbers();
    return dominates(above, below);
  }
  while (below->getLevel() > above->getLevel())
    below = below->getIDom();
  return below == above;
}

template <>
bool DominatorTreeBase<BasicBlock, false>::dominates(const BasicBlock *above,
                                                     const BasicBlock *below) const {
  return above == below || dominates(getNode(above), getNode(below));
}

} // namespace llvm
