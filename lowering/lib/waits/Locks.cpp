// SPDX-License-Identifier: Apache-2.0
#include "lowering/lib/waits/Locks.h"
#include "lowering/lib/analysis/InstructionEffects.h"

using namespace llvm;

namespace rubia::ptx::Op {
extern const Operation Atom, St;
} // namespace rubia::ptx::Op
namespace rubia::ptx::Mod {
extern const Modifier Add, Cas, Exch, Or, Xor;
} // namespace rubia::ptx::Mod

namespace rubia::lowering {
namespace {

// Whether two operands have one value, in whatever round.
bool isSameValue(const Definitions &definitions, const ptx::Operand &a, const ptx::Operand &b) {
  if (a.kind == ptx::Operand::Kind::Register && b.kind == a.kind && a.reg == b.reg)
    return definitions.of(a.reg).size() == 1;
  const std::optional<uint64_t> value = definitions.constant(a);
  return value && value == definitions.constant(b);
}

// Whether an atomic operation only looks: it writes what is there.
bool isAtomicLoad(const Definitions &definitions, const ptx::Instruction &instruction) {
  if (instruction.op() != ptx::Op::Atom)
    return false;
  const auto &spelling = *instruction.spelling;
  if (spelling.has(ptx::Mod::Cas))
    return isSameValue(definitions, instruction.operands[2], instruction.operands[3]);
  return (spelling.has(ptx::Mod::Add) || spelling.has(ptx::Mod::Or) ||
          spelling.has(ptx::Mod::Xor)) &&
         definitions.constant(instruction.operands[2]) == 0;
}

bool isTake(const Definitions &definitions, const ptx::Instruction &instruction) {
  return isExchange(instruction) && !isAtomicLoad(definitions, instruction);
}

// Whether an instruction may release what somebody takes at a place.
bool mayRelease(const Definitions &definitions, const ptx::Instruction &instruction,
                const ptx::Operand &lock) {
  const ptx::Operand *address = addressOf(instruction);
  return address && instruction.guard.reg == ptx::kNone && does(instruction, effects::Writes) &&
         isSamePlace(*address, lock) && !isAtomicLoad(definitions, instruction);
}

// Whether the release of what a compare-and-swap takes brings another value than it expects: then
// it hands something on, to whoever expects that.
bool handsOn(const Definitions &definitions, const ptx::Instruction &take,
             const ptx::Instruction &release) {
  if (!take.spelling->has(ptx::Mod::Cas))
    return false;
  const bool isSwap = release.op() == ptx::Op::Atom && release.spelling->has(ptx::Mod::Exch);
  if (release.op() != ptx::Op::St && !isSwap)
    return false;
  return !isSameValue(definitions, take.operands[2], release.operands[isSwap ? 2 : 1]);
}

// Whether an instruction does what another one does, with the same values: what takes a lock stands
// several times in a loop that was unrolled.
bool isSameAttempt(const Definitions &definitions, const ptx::Instruction &a,
                   const ptx::Instruction &b) {
  auto isSame = [&](const ptx::Operand &one, const ptx::Operand &other) {
    return one.kind == ptx::Operand::Kind::Address ? isSamePlace(one, other)
                                                   : isSameValue(definitions, one, other);
  };
  return a.spelling->text == b.spelling->text && a.operands.size() == b.operands.size() &&
         all_of(drop_begin(zip(a.operands, b.operands)),
                [&](const auto &pair) { return isSame(std::get<0>(pair), std::get<1>(pair)); });
}

// What follows a loop until its lock is released.
class CriticalSection {
public:
  CriticalSection(const LoopValues &loop, const ptx::Operand &lock, const CallFacts &calls)
      : loop(loop), graph(loop.graph), function(loop.function), lock(lock), calls(calls) {}

  std::optional<uint32_t> release() {
    std::optional<uint32_t> exit = onlyExit();
    if (!exit || !walk(*exit) || !released || movesLock() || isForAll())
      return std::nullopt;
    return released;
  }

private:
  ArrayRef<ptx::Instruction> codeOf(uint32_t block) const {
    const ControlFlowGraph::Block &code = graph.blocks[block];
    return ArrayRef(function.body).slice(code.first, code.end - code.first);
  }
  bool mayExit(uint32_t block) const {
    return any_of(codeOf(block), [&](const ptx::Instruction &instruction) {
      return does(instruction, effects::Calls) && calls.mayExit(instruction);
    });
  }

  // Where the loop's one edge out leads to.
  std::optional<uint32_t> onlyExit() const {
    std::optional<uint32_t> exit;
    for (uint32_t block : loop.loop.blocks) {
      if (mayExit(block))
        return std::nullopt;
      for (uint32_t next : graph.blocks[block].successors)
        if (!loop.blocks.test(next)) {
          if (exit)
            return std::nullopt;
          exit = next;
        }
    }
    return exit;
  }

  // Finds the blocks from the exit to the release, which nobody comes to but through the loop;
  // false: others do, or not all come to one release. Whoever traps ends the kernel, and all who
  // wait with it.
  bool walk(uint32_t exit) {
    const BitVector others = graph.reachedFrom(graph.entry, loop.loop.header);
    section.resize(unsigned(graph.blocks.size()));
    SmallVector<uint32_t> open{exit};
    while (!open.empty()) {
      uint32_t block = open.pop_back_val();
      if (section.test(block) || block == graph.ended())
        continue;
      section.set(block);
      if (loop.blocks.test(block) || others.test(block) || leavesFunction(block))
        return false;
      std::optional<uint32_t> end = releaseIn(block);
      if (end && released && released != end)
        return false;
      if (end)
        released = end;
      else
        append_range(open, graph.blocks[block].successors);
    }
    return true;
  }

  bool leavesFunction(uint32_t block) const {
    if (block >= graph.codeBlocks())
      return block == graph.returned();
    return does(function.body[graph.blocks[block].branch()], effects::Returns | effects::Exits) ||
           mayExit(block);
  }

  std::optional<uint32_t> releaseIn(uint32_t block) const {
    if (block >= graph.codeBlocks() ||
        !mayRelease(loop.definitions, function.body[graph.blocks[block].branch()], lock))
      return std::nullopt;
    return graph.blocks[block].branch();
  }

  // The register may not move on to another address before the release.
  bool movesLock() const {
    return lock.reg != ptx::kNone && any_of(loop.definitions.of(lock.reg), [&](uint32_t writer) {
             return any_of(section.set_bits(), [&](unsigned block) {
               return graph.blocks[block].first <= writer && writer < graph.blocks[block].end;
             });
           });
  }

  // Nor may they meet; whoever is called may do so.
  bool isForAll() const {
    return any_of(section.set_bits(), [&](unsigned block) {
      return any_of(codeOf(block), [&](const ptx::Instruction &instruction) {
        return does(instruction, effects::Calls)
                   ? calls.mayMeet
                   : isMeeting(instruction) || does(instruction, effects::ArrivesCta);
      });
    });
  }

  const LoopValues &loop;
  const ControlFlowGraph &graph;
  const ptx::Function &function;
  const ptx::Operand &lock;
  const CallFacts &calls;
  BitVector section; // blocks
  std::optional<uint32_t> released;
};

} // namespace

DenseSet<uint32_t> possibleReleases(const ptx::Function &function) {
  if (none_of(function.body, isExchange))
    return {};
  const Definitions definitions(function);
  SmallVector<const ptx::Operand *> locks;
  for (const ptx::Instruction &instruction : function.body)
    if (isTake(definitions, instruction))
      if (const ptx::Operand *address = addressOf(instruction))
        locks.push_back(address);
  DenseSet<uint32_t> releases;
  for (auto [index, instruction] : enumerate(function.body))
    if (any_of(locks, [&](const ptx::Operand *lock) {
          return mayRelease(definitions, instruction, *lock);
        }))
      releases.insert(uint32_t(index));
  return releases;
}

bool releasesInside(const LoopValues &loop, uint32_t take) {
  const ptx::Function &function = loop.function;
  if (!isTake(loop.definitions, function.body[take]))
    return false;
  const ptx::Operand &lock = *addressOf(function.body[take]);
  return any_of(loop.instructions.set_bits(), [&](unsigned index) {
    const ptx::Operand *address = addressOf(function.body[index]);
    return index != take && address && does(function.body[index], effects::Writes) &&
           isSamePlace(*address, lock) && !isAtomicLoad(loop.definitions, function.body[index]) &&
           !isSameAttempt(loop.definitions, function.body[index], function.body[take]);
  });
}

std::optional<uint32_t> releaseOf(const LoopValues &loop, uint32_t take, const CallFacts &calls) {
  const ptx::Instruction &instruction = loop.function.body[take];
  if (!isTake(loop.definitions, instruction))
    return std::nullopt;
  std::optional<uint32_t> release = CriticalSection(loop, *addressOf(instruction), calls).release();
  if (release && handsOn(loop.definitions, instruction, loop.function.body[*release]))
    return std::nullopt;
  return release;
}

} // namespace rubia::lowering
