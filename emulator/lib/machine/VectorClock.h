// SPDX-License-Identifier: Apache-2.0
// How far into the past of each thread something has seen: a vector clock.
//
// A launch has many of them that differ little: a persistent radix tree over the threads' numbers.
// A copy costs nothing, a change copies one path, and a join keeps what is the same in both.
#pragma once

#include "llvm/ADT/IntrusiveRefCntPtr.h"
#include <algorithm>
#include <array>
#include <cstdint>

namespace rubia::emulator {

class VectorClock {
public:
  /// 0: nothing of this thread.
  uint32_t of(uint32_t thread) const {
    if (!root || !holds(root->height, thread))
      return 0;
    const Node *node = root.get();
    while (node && node->height != 0)
      node = inner(*node).children[digit(thread, node->height)].get();
    return node ? leaf(*node).clocks[thread % kWidth] : 0;
  }
  void raise(uint32_t thread, uint32_t clock) {
    unsigned height = root ? root->height : 0;
    while (!holds(height, thread))
      ++height;
    root = raised(grown(root, height), height, thread, clock);
  }
  void join(const VectorClock &other) {
    if (!other.root || !root) {
      root = root ? root : other.root;
      return;
    }
    const unsigned height = std::max(root->height, other.root->height);
    root = joined(grown(root, height), grown(other.root, height));
  }
  bool empty() const { return !root; }
  void clear() { root.reset(); }
  /// Whether both are one tree: what they take, they take once.
  bool isSharedWith(const VectorClock &other) const { return root == other.root; }

private:
  static constexpr unsigned kBits = 4, kWidth = 1 << kBits;

  struct Node : llvm::RefCountedBase<Node> {
    explicit Node(unsigned height) : height(height) {}
    virtual ~Node() = default;
    const unsigned height; // 0: a leaf
  };
  using Link = llvm::IntrusiveRefCntPtr<const Node>;
  struct Leaf : Node {
    Leaf() : Node(0) {}
    std::array<uint32_t, kWidth> clocks = {};
  };
  struct Inner : Node {
    using Node::Node;
    std::array<Link, kWidth> children;
  };
  static const Leaf &leaf(const Node &node) { return static_cast<const Leaf &>(node); }
  static const Inner &inner(const Node &node) { return static_cast<const Inner &>(node); }

  /// Whether a tree of this height has a place for the thread.
  static bool holds(unsigned height, uint32_t thread) {
    return uint64_t(thread) >> (kBits * (height + 1)) == 0;
  }
  static unsigned digit(uint32_t thread, unsigned height) {
    return thread >> (kBits * height) & (kWidth - 1);
  }

  static Link grown(Link link, unsigned height) {
    while (link && link->height < height) {
      auto above = llvm::makeIntrusiveRefCnt<Inner>(link->height + 1);
      above->children[0] = std::move(link);
      link = std::move(above);
    }
    return link;
  }

  static Link raised(const Link &link, unsigned height, uint32_t thread, uint32_t clock) {
    const unsigned at = digit(thread, height);
    if (height == 0) {
      if (link && leaf(*link).clocks[at] >= clock)
        return link;
      auto copy = llvm::makeIntrusiveRefCnt<Leaf>();
      if (link)
        copy->clocks = leaf(*link).clocks;
      copy->clocks[at] = clock;
      return copy;
    }
    const Link old = link ? inner(*link).children[at] : Link();
    Link child = raised(old, height - 1, thread, clock);
    if (link && child == old)
      return link;
    auto copy = llvm::makeIntrusiveRefCnt<Inner>(height);
    if (link)
      copy->children = inner(*link).children;
    copy->children[at] = std::move(child);
    return copy;
  }

  /// Either of the two, if it has all that the other has.
  static Link joined(const Link &a, const Link &b) {
    if (!b || a == b)
      return a;
    if (!a)
      return b;
    bool isA = true, isB = true;
    if (a->height == 0) {
      std::array<uint32_t, kWidth> clocks;
      for (unsigned i = 0; i < kWidth; ++i) {
        const uint32_t ofA = leaf(*a).clocks[i], ofB = leaf(*b).clocks[i];
        clocks[i] = std::max(ofA, ofB);
        isA &= ofA >= ofB;
        isB &= ofB >= ofA;
      }
      if (isA || isB)
        return isB ? b : a;
      auto both = llvm::makeIntrusiveRefCnt<Leaf>();
      both->clocks = clocks;
      return both;
    }
    std::array<Link, kWidth> children;
    for (unsigned i = 0; i < kWidth; ++i) {
      const Link &ofA = inner(*a).children[i], &ofB = inner(*b).children[i];
      children[i] = joined(ofA, ofB);
      isA &= children[i] == ofA;
      isB &= children[i] == ofB;
    }
    if (isA || isB)
      return isB ? b : a;
    auto both = llvm::makeIntrusiveRefCnt<Inner>(a->height);
    both->children = std::move(children);
    return both;
  }

  Link root; // null: nothing of anybody
};

} // namespace rubia::emulator
