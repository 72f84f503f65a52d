// SPDX-License-Identifier: Apache-2.0
#include "lowering/lib/waits/CalledWaits.h"
#include "lowering/Complexity.h"
#include "lowering/lib/analysis/InstructionEffects.h"
#include "lowering/lib/analysis/LoopValues.h"
#include "lowering/lib/waits/Inliner.h"
#include "lowering/lib/waits/Locks.h"
#include "lowering/lib/waits/WaitFacts.h"
#include "llvm/ADT/SetVector.h"
#include <map>

using namespace llvm;

namespace rubia::ptx::Op {
extern const Operation Red;
} // namespace rubia::ptx::Op
namespace rubia::ptx::Mod {
extern const Modifier Release;
} // namespace rubia::ptx::Mod

namespace rubia::lowering {
namespace {

using Functions = SmallSetVector<const ptx::Function *, 8>;

/// What a kernel may grow by. Beyond it the calls of large functions stay.
constexpr size_t kMostAdded = 4000;                                          // instructions
constexpr size_t kSizes[] = {kMostAdded, kMostAdded / 10, kMostAdded / 100}; // of a function

// Whether a function expects that others access memory at the same time.
bool meetsOthers(const ptx::Function &function) {
  return any_of(function.body, [](const ptx::Instruction &instruction) {
    return readsAnewAfter(instruction) || instruction.op() == ptx::Op::Red ||
           (does(instruction, effects::Writes) &&
            (hasSemantics(instruction) || instruction.spelling->has(ptx::Mod::Release)));
  });
}

// Whether a function may wait: it looks at what others write.
bool mayWait(const ptx::Function &function) { return any_of(function.body, mayPoll); }

// Whether a function has a loop that waits, other than for a lock that it releases itself.
bool hasWait(const ptx::Function &function) {
  auto mayExit = [](const ptx::Instruction &) { return true; };
  auto mayDivide = [](uint32_t) { return true; };
  const CallFacts calls{true, mayExit, mayDivide};
  const WaitFacts facts(function, calls);
  const ControlFlowGraph graph(function, possibleReleases(function));
  return any_of(graph.naturalLoops(), [&](const ControlFlowGraph::Loop &loop) {
    const LoopValues values(function, facts.definitions, graph, loop);
    return any_of(facts.polls, [&](uint32_t poll) {
      if (!values.isIn(poll))
        return false;
      const std::optional<Waiting> waiting = waitingWith(facts, values, poll);
      return waiting && waiting->isAtOneAddress && !waiting->wait.releasesInside &&
             !waiting->wait.release;
    });
  });
}

void addMentioned(const ptx::Operand &operand, Functions &functions) {
  if (operand.function())
    functions.insert(&definitionOf(*operand.function()));
  for (const ptx::Operand &element : operand.elements())
    addMentioned(element, functions);
}

// Who mentions whom. Units may have thousands of functions: each is looked at once.
class Mentions {
public:
  // The functions that some mention, and so on; themselves only if they are mentioned.
  Functions by(ArrayRef<const ptx::Function *> some) {
    Functions result;
    for (const ptx::Function *function : some)
      result.insert_range(in(*function).functions);
    for (size_t i = 0; i < result.size(); ++i)
      result.insert_range(in(*result[i]).functions);
    return result;
  }
  bool meetOthers(const ptx::Function &function) { return in(function).meetOthers; }

private:
  struct Known {
    Functions functions;
    bool meetOthers;
  };
  const Known &in(const ptx::Function &function) {
    auto [known, isNew] = all.try_emplace(&function);
    if (!isNew)
      return known->second;
    Known &result = known->second;
    result.meetOthers = meetsOthers(function);
    for (const ptx::Instruction &instruction : function.body)
      for (const ptx::Operand &operand : instruction.operands)
        addMentioned(operand, result.functions);
    for (const ptx::Prototype &prototype : function.prototypes)
      for (const ptx::Function *target : prototype.targets)
        result.functions.insert(&definitionOf(*target));
    return result;
  }

  std::map<const ptx::Function *, Known> all;
};

// The functions of a kernel that may take the place of their calls: those that meet others, and
// those that call them.
DenseSet<const ptx::Function *> inlinedIn(const Functions &called, Mentions &mentions) {
  DenseSet<const ptx::Function *> result;
  for (const ptx::Function *function : called) {
    if (!function->hasBody || !function->valid || function->isKernel)
      continue;
    const Functions below = mentions.by(function);
    if (!below.contains(function) &&
        (mentions.meetOthers(*function) ||
         any_of(below, [&](const auto *other) { return mentions.meetOthers(*other); })))
      result.insert(function);
  }
  return result;
}

// The kernel with functions of up to a size in the place of their calls. Null if it would grow by
// too much, and where there is no such call.
ptx::Function *withInlined(const ptx::Function &kernel,
                           const DenseSet<const ptx::Function *> &inlined, size_t size,
                           BumpPtrAllocator &arena) {
  auto isWanted = [&](const ptx::Function &function) {
    return function.body.size() <= size && inlined.contains(&function);
  };
  auto *copy = new (arena.Allocate<ptx::Function>()) ptx::Function(kernel);
  auto fits = [&] { // after the next calls
    size_t next = copy->body.size();
    for (const ptx::Instruction &instruction : copy->body)
      if (const ptx::Function *callee =
              does(instruction, effects::Calls) ? calleeOf(instruction) : nullptr)
        next += isWanted(*callee) ? callee->body.size() : 0;
    return next <= kernel.body.size() + kMostAdded;
  };
  bool isAny = false;
  while (fits()) {
    if (!inlineCalls(*copy, isWanted, arena))
      return isAny ? copy : nullptr;
    isAny = true;
  }
  return nullptr;
}

} // namespace

struct CalledWaits::Storage {
  BumpPtrAllocator arena;
};

CalledWaits::~CalledWaits() = default;

CalledWaits::CalledWaits(const Unit &unit) : given(unit) {
  if (none_of(unit.functions, [](const auto *function) { return meetsOthers(*function); }))
    return;
  Mentions mentions;
  const Functions mentioned = mentions.by(unit.kernels);
  for (size_t number = 0; number < unit.kernels.size(); ++number) {
    const ptx::Function &kernel = *unit.kernels[number];
    const Functions called = mentions.by(&kernel);
    // First what is quick: units may have thousands of functions, and few wait.
    if (mentioned.contains(&kernel) ||
        (!mayWait(kernel) && none_of(called, [](const auto *f) { return mayWait(*f); })))
      continue;
    const DenseSet<const ptx::Function *> inlined = inlinedIn(called, mentions);
    if (inlined.empty())
      continue;
    if (!storage)
      storage = std::make_unique<Storage>();
    ptx::Function *copy = nullptr;
    for (size_t size : kSizes)
      if ((copy = withInlined(kernel, inlined, size, storage->arena)))
        break;
    if (!copy || !excessOf(complexityOf(*copy)).empty())
      continue;
    // A lock that one function takes and another one releases is the kernel's own by now.
    if (!hasWait(*copy) && none_of(inlined, [](const auto *f) { return hasWait(*f); }))
      continue;
    if (!changed)
      changed = unit;
    changed->kernels[number] = copy;
  }
  if (!changed)
    return;
  // What nobody calls any more is not lowered.
  std::vector<const ptx::Function *> roots = changed->kernels;
  append_range(roots, unit.inInitializers);
  Functions needed = mentions.by(roots);
  needed.insert(unit.inInitializers.begin(), unit.inInitializers.end());
  erase_if(changed->functions, [&](const ptx::Function *function) {
    return !needed.contains(&definitionOf(*function));
  });
}

} // namespace rubia::lowering
