// SPDX-License-Identifier: Apache-2.0
// Two questions are asked of each vector register that some region writes: may a lane that is idle
// now read it later, before it is written again? And may that lane have left a value there? Where
// both is so, the region overwrites it.
//
// The first is liveness, backwards through the blocks, for a lane that is active (A) and for one
// that is idle. An idle lane reads nothing until some instruction widens EXEC. Where that is, one
// set for each such instruction says what the lane then reads (`idle`). Lanes that come back there
// were active in the block that dominates the branch or loop which it ends. So before that block's
// last write of EXEC the set means nothing, and few sets exist at any place: as many as branches
// and loops that enclose it. The work is the number of instructions times those, times few passes.
//
// What all lanes store to scratch and load again is no value of the region: around calls, say. Such
// a place in the frame is a register too (a slot). While it holds its register's values in all
// lanes, a load with all lanes on gives idle lanes what they had.
#include "codegen/WholeWaveChecker.h"
#include "codegen/lib/check/Dominators.h"
#include "codegen/lib/check/ExecRules.h"
#include "codegen/lib/check/KnownFlags.h"
#include "codegen/lib/check/LaneMasks.h"
#include "codegen/lib/check/ScratchAddress.h"
#include "codegen/lib/check/Violations.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <map>

using namespace llvm;

namespace rubia::codegen {

namespace {

constexpr unsigned kCaller = 1u << 31; ///< what lanes that a function's caller left idle read

/// Of EXEC, where no region begins or ends.
enum class Change : uint8_t { None, Narrows, Widens, Flips };

struct Step {
  const DecodedInstruction *decoded = nullptr;
  Change change = Change::None;
  bool isWhole = false, isInverted = false; ///< all lanes are on, or those that were idle
  bool restores = false;                    ///< what a function has saved of its caller's
  bool leaves = false;
  std::optional<size_t> undone;           ///< where the block makes the same lanes active again
  bool undoes = false;                    ///< such a place
  SmallVector<unsigned, 4> reads, writes; ///< registers, by their numbers among those that count
  /// Of a store to a slot or a load from it.
  struct Spill {
    unsigned slot, number; ///< of the slot and its register
    bool isLoad;
  };
  std::optional<Spill> spill;
  SmallVector<unsigned, 2> lostSlots; ///< whose base it writes
};

/// What lanes read before it is written again.
struct Liveness {
  BitVector active;
  DenseMap<unsigned, BitVector> idle; ///< by the step that makes them active again

  bool join(const Liveness &other);
};

/// What lanes may have left in registers.
struct Values {
  BitVector active, idle;
};

struct Block {
  BasicBlock basic;
  std::vector<Step> steps;
  unsigned firstStep = 0;        ///< its number in the function
  SmallVector<unsigned> cleared; ///< sets that mean nothing before its last lanes become idle
  Liveness before;
  Values values;  ///< before it
  BitVector held; ///< slots that hold their registers' values before it
  bool isHeldKnown = false;
};

bool joinBits(BitVector &into, const BitVector &from) {
  if (!from.test(into)) // nothing that `into` has not
    return false;
  into |= from;
  return true;
}

bool Liveness::join(const Liveness &other) {
  bool changed = joinBits(active, other.active);
  for (const auto &[step, bits] : other.idle)
    if (auto [at, isNew] = idle.try_emplace(step, bits); isNew)
      changed = true;
    else
      changed |= joinBits(at->second, bits);
  return changed;
}

/// Where vector registers are among all.
std::optional<unsigned> baseOf(RegisterRange range) {
  if (range.file == RegisterRange::Vector)
    return 0;
  if (range.file == RegisterRange::Accumulation)
    return Clobbers::kVectors;
  return std::nullopt;
}

class WholeWaves {
public:
  WholeWaves(const Disassembler &disassembler, const FunctionCode &function,
             ArrayRef<DecodedInstruction> instructions, DenseMap<unsigned, Rule> &rules)
      : disassembler(disassembler), function(function), instructions(instructions), rules(rules) {}

  std::vector<Violation> check();

private:
  size_t valueCount() const { return registers.size() + slots.size(); }
  bool isKernel() const { return function.computePgmRsrc1.has_value(); }
  Rule ruleOf(const MCInst &inst);
  bool writesExec(const MCInst &inst) const;
  bool readsExec(const MCInst &inst) const;
  bool hasMinusOne(const MCInst &inst) const;
  bool isOfLanes(const MCInst &inst);
  void forEachRead(const MCInst &inst, function_ref<void(unsigned)> action);
  void forEachWritten(const MCInst &inst, function_ref<void(unsigned)> action);

  bool findBlocks();
  void findRegions();
  using SavedLanes = SmallVector<std::pair<RegisterRange, size_t>, 2>; ///< and the step
  void matchChanges(Block &block, Step &step, SavedLanes &saved);
  void readBlock(Block &block, bool &isWhole, bool &isInverted, bool collects);
  Change changeOf(const MCInst &inst);
  void findSlots();
  void readSpill(Step &step);
  void findHeld();
  void passHeld(Step &step, BitVector &held);
  void findScopes();
  void findLiveness();
  Liveness liveBehind(const Block &block) const;
  void findValues();
  static void passCopy(unsigned from, unsigned to, Liveness &live);
  Liveness passBack(const Block &block, Liveness live, bool reports);
  static void pass(const Step &step, Values &values);
  /// `back`: the step that makes idle lanes active again, or kCaller.
  void report(const Step &step, unsigned number, unsigned back);
  std::string placeOf(unsigned step) const;

  const Disassembler &disassembler;
  const FunctionCode &function;
  ArrayRef<DecodedInstruction> instructions;
  DenseMap<unsigned, Rule> &rules; ///< of opcodes that have been seen
  std::vector<BasicBlock> original;
  std::vector<Block> blocks;
  std::vector<size_t> origins;          ///< which original one each block is
  SmallVector<unsigned> registers;      ///< that count: written with all lanes on
  DenseMap<unsigned, unsigned> numbers; ///< of those
  /// Of a slot: its number, which follows those of the registers, and its register's.
  std::map<ScratchAddress, std::pair<unsigned, unsigned>> slots;
  std::vector<Violation> violations;
};

// ---------- Instructions

Rule WholeWaves::ruleOf(const MCInst &inst) {
  auto [rule, isNew] = rules.try_emplace(inst.getOpcode());
  if (isNew)
    rule->second = codegen::ruleOf(disassembler, inst.getOpcode());
  return rule->second;
}

bool WholeWaves::writesExec(const MCInst &inst) const {
  bool writes = false;
  disassembler.forEachWritten(inst, [&](RegisterRange range) {
    writes |= range.overlaps(RegisterRange::Scalar, kExec, 2);
  });
  return writes;
}

bool WholeWaves::readsExec(const MCInst &inst) const {
  bool reads = false;
  disassembler.forEachRead(inst, [&](RegisterRange range, bool) {
    reads |= range.overlaps(RegisterRange::Scalar, kExec, 2);
  });
  return reads;
}

bool WholeWaves::hasMinusOne(const MCInst &inst) const {
  for (unsigned i = 1; i < inst.getNumOperands(); ++i)
    if (inst.getOperand(i).isImm() && inst.getOperand(i).getImm() == -1)
      return true;
  return false;
}

/// Accesses of single lanes are no reads and writes of the others.
bool WholeWaves::isOfLanes(const MCInst &inst) {
  const Rule rule = ruleOf(inst);
  return rule == Rule::WriteLane || rule == Rule::ReadLane;
}

void WholeWaves::forEachWritten(const MCInst &inst, function_ref<void(unsigned)> action) {
  disassembler.forEachWritten(inst, [&](RegisterRange range) {
    if (auto base = baseOf(range); base && !isOfLanes(inst))
      for (unsigned i = 0; i < range.count; ++i)
        action(*base + range.first + i);
  });
}

void WholeWaves::forEachRead(const MCInst &inst, function_ref<void(unsigned)> action) {
  // Of others, a tied operand is what lanes or halves keep that the instruction does not write.
  const StringRef name = disassembler.name(inst.getOpcode());
  const bool readsTied = name.contains("MAC") || name.contains("DOT") || name.contains("SWAP");
  disassembler.forEachRead(inst, [&](RegisterRange range, bool isTied) {
    if (auto base = baseOf(range); base && (!isTied || readsTied) && !isOfLanes(inst))
      for (unsigned i = 0; i < range.count; ++i)
        action(*base + range.first + i);
  });
}

Change WholeWaves::changeOf(const MCInst &inst) {
  switch (ruleOf(inst)) {
  case Rule::And:
  case Rule::AndNot:
  case Rule::AndSave:
  case Rule::NotAndSave:
  case Rule::NotAndWrite:
  case Rule::Lanes:
    return Change::Narrows;
  case Rule::Or:
  case Rule::OrSave:
  case Rule::Copy:
    return Change::Widens;
  default:
    return Change::Flips;
  }
}

// ---------- Blocks

/// Whether there may be a region.
bool WholeWaves::findBlocks() {
  if (none_of(instructions, [&](const DecodedInstruction &decoded) {
        return decoded.size && hasMinusOne(decoded.inst) && writesExec(decoded.inst);
      }))
    return false;
  const uint64_t begin = function.address, end = begin + function.bytes.size();
  Branches branches(disassembler, begin, end);
  std::vector<BlockEnd> ends;
  for (const auto &[address, size, inst] : instructions) {
    if (size == 0) // checkMode() reports it
      continue;
    const Flow flow =
        branches.flowOf(inst, address, size, function.bytes.drop_front(address - begin));
    if (flow.endsBlock())
      ends.push_back({address + size, flow});
  }
  original = basicBlocks(begin, end, ends);
  auto [found, foundOrigins] = separateByFlags(disassembler, instructions, original);
  for (BasicBlock &block : found)
    blocks.emplace_back().basic = std::move(block);
  origins = std::move(foundOrigins);
  return true;
}

/// A branch within a block keeps the lanes that become idle in scalar registers until it ends:
///   s_and_saveexec_b64 s[2:3], vcc        what was active
///   s_xor_b64 s[4:5], exec, s[2:3]        what is idle now
///   s_andn2_saveexec_b64 s[4:5], s[4:5]   those come back, the others are idle
///   s_or_b64 exec, exec, s[4:5]
void WholeWaves::matchChanges(Block &block, Step &step, SavedLanes &saved) {
  const MCInst &inst = step.decoded->inst;
  const Rule rule = ruleOf(inst);
  const auto eachScalar = [&](auto action) {
    return [action](RegisterRange range, bool = false) {
      if (range.file == RegisterRange::Scalar && range.first < kVcc)
        action(range);
    };
  };
  std::optional<size_t> narrowing; // whose lanes it reads
  disassembler.forEachRead(inst, eachScalar([&](RegisterRange range) {
                             for (const auto &[lanes, index] : saved)
                               if (lanes == range)
                                 narrowing = index;
                           }));
  const bool comesBack = (step.change == Change::Widens && rule != Rule::Copy) ||
                         (step.change == Change::Flips && rule == Rule::AndNotSave);
  if (narrowing && comesBack) {
    block.steps[*narrowing].undone = block.steps.size();
    step.undoes = true;
  }
  disassembler.forEachWritten(inst, [&](RegisterRange written) {
    erase_if(saved, [&](const auto &entry) {
      return written.overlaps(RegisterRange::Scalar, entry.first.first, entry.first.count);
    });
  });
  const auto save = [&](size_t index) {
    return eachScalar([&, index](RegisterRange range) { saved.emplace_back(range, index); });
  };
  if (rule == Rule::Xor && step.change == Change::Narrows) // those of the first branch
    disassembler.forEachRead(inst, save(block.steps.size()));
  else if ((rule == Rule::AndSave && step.change == Change::Narrows) ||
           (rule == Rule::AndNotSave && step.change == Change::Flips))
    disassembler.forEachWritten(inst, save(block.steps.size()));
  else if (rule == Rule::Xor && step.change == Change::None && narrowing && readsExec(inst))
    disassembler.forEachWritten(inst, save(*narrowing));
}

/// Reads a block's instructions: collects the registers that count, or the steps.
void WholeWaves::readBlock(Block &block, bool &isWhole, bool &isInverted, bool collects) {
  bool hasWidened = false, isOwn = false;
  SavedLanes saved;
  for (const DecodedInstruction &decoded : instructionsOf(block.basic, instructions)) {
    const MCInst &inst = decoded.inst;
    if (decoded.size == 0)
      continue;
    Step step;
    step.decoded = &decoded;
    step.isWhole = isWhole;
    step.isInverted = isInverted;
    if (writesExec(inst)) {
      if (ruleOf(inst) == Rule::Not) {
        isInverted = !isInverted;
      } else if (hasMinusOne(inst)) {
        isOwn = isWhole; // of assembly, in a region
        isWhole = true;
      } else if (isOwn) {
        isOwn = ruleOf(inst) != Rule::Copy;
      } else if (isWhole) {
        isWhole = isInverted = false;
      } else {
        step.change = changeOf(inst);
        // The second half of an `else`, behind s_or_saveexec: those of the first branch go.
        if (hasWidened && ruleOf(inst) == Rule::Xor)
          step.change = Change::Narrows;
        hasWidened = step.change == Change::Widens;
      }
    }
    if (collects) {
      if (isWhole || isInverted)
        forEachWritten(inst, [&](unsigned reg) {
          if (numbers.try_emplace(reg, registers.size()).second)
            registers.push_back(reg);
        });
      continue;
    }
    const auto add = [&](SmallVector<unsigned, 4> &list) {
      return [&](unsigned reg) {
        if (auto number = numbers.find(reg); number != numbers.end())
          list.push_back(number->second);
      };
    };
    forEachWritten(inst, add(step.writes));
    forEachRead(inst, add(step.reads));
    matchChanges(block, step, saved);
    readSpill(step);
    const StringRef name = disassembler.name(inst.getOpcode());
    step.restores =
        !isKernel() && (name.starts_with("SCRATCH_LOAD_") || name.starts_with("BUFFER_LOAD_"));
    step.leaves = decoded.address + decoded.size == block.basic.end &&
                  block.basic.flow.kind == Flow::Kind::Leave;
    if (step.change != Change::None || step.leaves || step.spill || !step.lostSlots.empty() ||
        !step.reads.empty() || !step.writes.empty())
      block.steps.push_back(std::move(step));
  }
}

/// Finds the registers that count, and then the steps. A block that may begin in a region does.
void WholeWaves::findRegions() {
  std::vector<std::optional<bool>> begins(blocks.size());
  begins[0] = false;
  std::vector<size_t> pending = {0};
  while (!pending.empty()) {
    const size_t index = pending.back();
    pending.pop_back();
    bool isWhole = *begins[index], isInverted = false;
    readBlock(blocks[index], isWhole, isInverted, /*collects=*/true);
    for (size_t successor : blocks[index].basic.successors)
      if (!begins[successor] || (isWhole && !*begins[successor])) {
        begins[successor] = isWhole;
        pending.push_back(successor);
      }
  }
  if (!registers.empty())
    findSlots();
  unsigned count = 0;
  for (auto [block, begin] : zip_equal(blocks, begins)) {
    bool isWhole = begin.value_or(false), isInverted = false;
    if (!registers.empty())
      readBlock(block, isWhole, isInverted, /*collects=*/false);
    block.firstStep = count;
    count += block.steps.size();
  }
}

// ---------- Slots

/// Those that only one register is stored to.
void WholeWaves::findSlots() {
  std::map<ScratchAddress, std::optional<unsigned>> found; // none: of several
  for (const DecodedInstruction &decoded : instructions) {
    if (decoded.size == 0 || ruleOf(decoded.inst) != Rule::StoreScratch)
      continue;
    const std::optional<ScratchAddress> address = scratchAddressOf(disassembler, decoded.inst);
    if (!address)
      continue;
    std::optional<unsigned> number;
    const RegisterRange data = disassembler.range(decoded.inst.getOperand(0).getReg());
    if (auto base = baseOf(data); base && data.count == 1)
      if (auto known = numbers.find(*base + data.first); known != numbers.end())
        number = known->second;
    auto [at, isNew] = found.try_emplace(*address, number);
    if (!isNew && at->second != number)
      at->second = std::nullopt;
  }
  for (const auto &[address, number] : found)
    if (number) {
      const unsigned slot = unsigned(registers.size() + slots.size());
      slots[address] = {slot, *number};
    }
}

void WholeWaves::readSpill(Step &step) {
  if (slots.empty())
    return;
  const MCInst &inst = step.decoded->inst;
  const Rule rule = ruleOf(inst);
  if (rule == Rule::StoreScratch || rule == Rule::LoadScratch)
    if (const auto address = scratchAddressOf(disassembler, inst))
      if (auto slot = slots.find(*address); slot != slots.end()) {
        const auto [number, ofRegister] = slot->second;
        const auto &registersOf = rule == Rule::LoadScratch ? step.writes : step.reads;
        if (registersOf == ArrayRef(ofRegister))
          step.spill = {number, ofRegister, rule == Rule::LoadScratch};
      }
  disassembler.forEachWritten(inst, [&](RegisterRange range) {
    for (const auto &[address, slot] : slots)
      if (address.base && range.overlaps(RegisterRange::Scalar, *address.base, 1))
        step.lostSlots.push_back(slot.first);
  });
}

/// Also finds which loads restore.
void WholeWaves::passHeld(Step &step, BitVector &held) {
  if (step.spill && step.spill->isLoad)
    step.restores |= isKernel() && step.isWhole && held.test(step.spill->slot);
  else
    for (unsigned number : step.writes)
      for (const auto &[address, slot] : slots)
        if (slot.second == number)
          held.reset(slot.first);
  if (step.spill && step.isWhole)
    held.set(step.spill->slot);
  for (unsigned slot : step.lostSlots)
    held.reset(slot);
}

/// On all ways to a block.
void WholeWaves::findHeld() {
  if (slots.empty())
    return;
  for (Block &block : blocks)
    block.held.resize(valueCount());
  blocks[0].isHeldKnown = true;
  std::vector<size_t> pending = {0};
  while (!pending.empty()) {
    Block &block = blocks[pending.back()];
    pending.pop_back();
    BitVector held = block.held;
    for (Step &step : block.steps) {
      step.restores &= !isKernel(); // until all ways are known
      passHeld(step, held);
    }
    for (size_t successor : block.basic.successors) {
      Block &next = blocks[successor];
      const BitVector before = next.held;
      if (!std::exchange(next.isHeldKnown, true))
        next.held = held;
      else if (next.held &= held; next.held == before)
        continue;
      pending.push_back(successor);
    }
  }
}

/// Where the sets of idle lanes begin to mean something. A way that is never taken makes a branch
/// none, but its lanes are those that come back all the same.
void WholeWaves::findScopes() {
  std::vector<SmallVector<size_t, 2>> successors;
  for (const BasicBlock &block : original)
    successors.push_back(block.successors);
  const Dominators dominators(successors);
  std::vector<SmallVector<size_t, 2>> copies(original.size());
  for (const auto &[index, origin] : enumerate(origins))
    copies[origin].push_back(index);
  for (const auto &[index, block] : enumerate(blocks))
    for (const auto &[i, step] : enumerate(block.steps))
      if (!step.undoes && (step.change == Change::Widens || step.change == Change::Flips))
        if (std::optional<size_t> head = dominators.beforeBranchOrLoop(origins[index]))
          for (size_t copy : copies[*head])
            blocks[copy].cleared.push_back(block.firstStep + i);
}

// ---------- The two questions

/// Through a block, from its end to its beginning.
Liveness WholeWaves::passBack(const Block &block, Liveness live, bool reports) {
  const auto clear = [&] {
    for (unsigned step : block.cleared)
      live.idle.erase(step);
  };
  const auto last =
      find_if(reverse(block.steps), [](const Step &step) { return step.change != Change::None; });
  // Where it makes lanes active, those that come back are active at the end.
  bool isCleared = last == block.steps.rend() || last->change == Change::Widens;
  if (isCleared)
    clear();
  Values values = block.values;
  std::vector<BitVector> left; // by idle lanes, before each step
  if (reports)
    for (const Step &step : block.steps) {
      left.push_back(values.idle);
      pass(step, values);
    }
  for (size_t i = block.steps.size(); i > 0; --i) {
    const Step &step = block.steps[i - 1];
    if (step.leaves && !isKernel())
      live.idle[kCaller] = BitVector(valueCount(), true);
    if (step.change != Change::None) {
      const BitVector after = live.active;
      if (step.change != Change::Widens) // a lane may come to be idle
        for (const auto &[other, bits] : live.idle)
          live.active |= bits;
      if (!std::exchange(isCleared, true))
        clear();
      if (step.undone)
        live.idle.erase(block.firstStep + *step.undone);
      if (step.change != Change::Narrows)
        live.idle[block.firstStep + i - 1] = after;
    }
    if (step.restores && step.spill) {
      passCopy(step.spill->number, step.spill->slot, live);
      continue;
    }
    if (step.isWhole && step.spill && !step.spill->isLoad)
      passCopy(step.spill->slot, step.spill->number, live);
    if (step.isWhole || step.isInverted)
      for (unsigned number : step.writes)
        for (auto &[other, bits] : live.idle) {
          if (reports && !step.restores && bits[number] && left[i - 1][number])
            report(step, number, other);
          bits.reset(number);
        }
    for (unsigned number : step.writes)
      if (!step.isInverted)
        live.active.reset(number);
    for (unsigned number : step.reads)
      live.active.set(number);
  }
  return live;
}

/// Back through a copy for all lanes: who reads `from` behind it reads `to` before it.
void WholeWaves::passCopy(unsigned from, unsigned to, Liveness &live) {
  const auto move = [&](BitVector &bits) {
    if (bits.test(from))
      bits.set(to);
    bits.reset(from);
  };
  move(live.active);
  for (auto &[other, bits] : live.idle)
    move(bits);
}

void WholeWaves::findLiveness() {
  std::vector<SmallVector<size_t, 2>> predecessors(blocks.size());
  std::vector<bool> isPending(blocks.size(), true);
  std::vector<size_t> pending;
  for (const auto &[index, block] : enumerate(blocks)) {
    block.before.active.resize(valueCount());
    for (size_t successor : block.basic.successors)
      predecessors[successor].push_back(index);
    pending.push_back(index);
  }
  while (!pending.empty()) {
    const size_t index = pending.back();
    pending.pop_back();
    isPending[index] = false;
    if (!blocks[index].before.join(passBack(blocks[index], liveBehind(blocks[index]), false)))
      continue;
    for (size_t predecessor : predecessors[index])
      if (!isPending[predecessor]) {
        isPending[predecessor] = true;
        pending.push_back(predecessor);
      }
  }
}

Liveness WholeWaves::liveBehind(const Block &block) const {
  Liveness live;
  live.active.resize(valueCount());
  for (size_t successor : block.basic.successors)
    live.join(blocks[successor].before);
  return live;
}

void WholeWaves::pass(const Step &step, Values &values) {
  if (step.change == Change::Narrows || step.change == Change::Flips)
    values.idle |= values.active;
  if (step.change == Change::Widens || step.change == Change::Flips)
    values.active |= values.idle;
  if (!step.isInverted && !(step.restores && step.spill))
    for (unsigned number : step.writes)
      values.active.set(number);
}

/// Of a function that is called, all registers may have values.
void WholeWaves::findValues() {
  for (Block &block : blocks)
    block.values = {BitVector(valueCount()), BitVector(valueCount())};
  if (!isKernel())
    blocks[0].values = {BitVector(valueCount(), true), BitVector(valueCount(), true)};
  std::vector<bool> isDone(blocks.size());
  std::vector<size_t> pending = {0};
  while (!pending.empty()) {
    const size_t index = pending.back();
    pending.pop_back();
    isDone[index] = true;
    Values values = blocks[index].values;
    for (const Step &step : blocks[index].steps)
      pass(step, values);
    for (size_t successor : blocks[index].basic.successors) {
      Values &into = blocks[successor].values;
      const bool hasActive = joinBits(into.active, values.active);
      const bool isNew = joinBits(into.idle, values.idle) || hasActive;
      if (isNew || !isDone[successor])
        pending.push_back(successor);
    }
  }
}

std::vector<Violation> WholeWaves::check() {
  if (!findBlocks())
    return {};
  findRegions();
  if (registers.empty())
    return {};
  findHeld();
  findScopes();
  findLiveness();
  findValues();
  for (const Block &block : blocks)
    passBack(block, liveBehind(block), /*reports=*/true);
  return std::move(violations);
}

std::string WholeWaves::placeOf(unsigned step) const {
  if (step == kCaller)
    return "in the caller";
  const auto behind =
      partition_point(blocks, [&](const Block &block) { return block.firstStep <= step; });
  const Block &block = *std::prev(behind);
  return "from 0x" +
         utohexstr(block.steps[step - block.firstStep].decoded->address, /*LowerCase=*/true) +
         " on";
}

void WholeWaves::report(const Step &step, unsigned number, unsigned back) {
  const unsigned reg = registers[number];
  const bool isAccumulation = reg >= Clobbers::kVectors;
  const std::string name = (isAccumulation ? "a" : "v") +
                           std::to_string(isAccumulation ? reg - Clobbers::kVectors : reg);
  const uint64_t address = step.decoded->address;
  const std::string text = "'" + disassembler.print(step.decoded->inst, address) + "': " + name +
                           " is written with all lanes on, but lanes that are idle read it " +
                           placeOf(back) + ", expected a register of its own";
  if (none_of(violations, [&](const Violation &known) { return known.text == text; }))
    violations.push_back({address, text});
}

} // namespace

Error checkWholeWaves(ArrayRef<uint8_t> codeObject) {
  return checkDecoded(codeObject,
                      [](const DecodedProgram &program) { return checkWholeWaves(program); });
}

Error checkWholeWaves(const DecodedProgram &program) {
  DenseMap<unsigned, Rule> rules;
  Violations violations("idle lanes");
  for (const auto &[function, instructions] :
       zip_equal(program.code.functions, program.instructions))
    violations.add(function,
                   WholeWaves(*program.disassembler, function, instructions, rules).check());
  return violations.take();
}

} // namespace rubia::codegen
