// SPDX-License-Identifier: Apache-2.0
// One lane is followed through a function. Whether it is active depends on its bit of EXEC, which
// comes from its bits of masks in scalar registers (LaneBits.h). Where EXEC gets a bit that may be
// either, both cases are followed. So each block has several states: the lane is in the branch, or
// it waits for the branch to end. Nested branches add to them, one after the other: only the
// registers that are still read count.
//
// Lanes are alike, but those of one half of a wave may differ from those of the other, as two warps
// do. So with waves of 64 lanes a lane of each half is followed.
#include "codegen/WholeWaveChecker.h"
#include "codegen/Codegen.h"
#include "codegen/lib/check/Branches.h"
#include "codegen/lib/check/ExecRules.h"
#include "codegen/lib/check/FunctionCode.h"
#include "codegen/lib/check/LaneBits.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringExtras.h"
#include <list>
#include <set>

using namespace llvm;

namespace rubia::codegen {

namespace {

constexpr size_t kMaxReported = 20;
constexpr size_t kMaxStates = 64; ///< of a block

using Scalars = std::bitset<kScalarRegisters>;

struct Step {
  uint64_t address;
  const MCInst *inst;
  Rule rule;
  Flow flow;
  bool writesExec = false, isPerLane = false;
  bool loadsScratch = false;              ///< any number of words, other than Rule::LoadScratch
  SmallVector<uint16_t, 8> reads, writes; ///< vector registers, accumulation registers behind
  Scalars scalarReads, scalarWrites;
};

struct Block {
  BasicBlock basic;
  size_t first = 0, end = 0; ///< steps
  Scalars live;              ///< before it
  std::list<LaneState> before;
};

struct Violation {
  uint64_t address;
  std::string text;
};

/// Where registers are in LaneState::foreign.
std::optional<unsigned> baseOf(RegisterRange range) {
  if (range.file == RegisterRange::Vector)
    return 0;
  if (range.file == RegisterRange::Accumulation)
    return Clobbers::kVectors;
  return std::nullopt;
}

class LaneWalk {
public:
  LaneWalk(const Disassembler &disassembler, const FunctionCode &function, bool isWave64)
      : disassembler(disassembler), function(function), isWave64(isWave64) {}

  /// Whether the function has a region in which a vector register is written.
  bool read(ArrayRef<DecodedInstruction> instructions, DenseMap<unsigned, Rule> &rules);
  std::vector<Violation> check();

private:
  Step stepOf(const DecodedInstruction &decoded, Rule rule, const Flow &flow) const;
  bool opensRegion(const Step &step) const;
  void findLive();
  void walk(bool isHigh);
  void add(size_t block, const LaneState &state, std::set<size_t> &pending);
  void walkBlock(size_t block, LaneState state, std::set<size_t> &pending);
  bool takes(const Block &block, size_t successor, const LaneState &state) const;

  LaneBit bitOf(const LaneState &state, const MCInst &inst, unsigned index, unsigned half) const;
  void execute(const Step &step, LaneState &state) const;
  void executeScalar(const Step &step, LaneState &state) const;
  void overwrite(const Step &step, LaneState &state) const;
  void writeExec(const Step &step, const LaneBit &before, LaneState &state) const;
  void checkReads(const Step &step, const LaneState &state);
  void checkLeave(const Step &step, const LaneState &state);
  void writeVectors(const Step &step, LaneState &state) const;
  void report(const Step &step, unsigned reg, StringRef problem);
  RegisterRange rangeOf(const MCInst &inst, unsigned index) const {
    if (index >= inst.getNumOperands() || !inst.getOperand(index).isReg())
      return {};
    return disassembler.range(inst.getOperand(index).getReg());
  }

  const Disassembler &disassembler;
  const FunctionCode &function;
  bool isWave64;
  unsigned exec = kExec; ///< the half that has the lane
  std::vector<Step> steps;
  std::vector<Block> blocks;
  std::set<std::pair<uint64_t, unsigned>> reported; ///< address, register
  std::vector<Violation> violations;
};

// ---------- The function

Step LaneWalk::stepOf(const DecodedInstruction &decoded, Rule rule, const Flow &flow) const {
  const MCInst &inst = decoded.inst;
  const StringRef name = disassembler.name(inst.getOpcode());
  Step step{decoded.address, &inst, rule, flow, false, false, false, {}, {}, {}, {}};
  step.loadsScratch = name.starts_with("SCRATCH_LOAD_") || name.starts_with("BUFFER_LOAD_");
  step.isPerLane = rule == Rule::WriteLane || rule == Rule::ReadLane;
  const auto scalars = [](RegisterRange range, Scalars &all) {
    for (unsigned i = range.first; i < unsigned(range.first) + range.count; ++i)
      all.set(i);
  };
  disassembler.forEachWritten(inst, [&](RegisterRange range) {
    step.writesExec |= range.overlaps(RegisterRange::Scalar, kExec, 2);
    if (range.file == RegisterRange::Scalar)
      scalars(range, step.scalarWrites);
    else if (auto base = baseOf(range); base && !step.isPerLane)
      for (unsigned i = 0; i < range.count; ++i)
        step.writes.push_back(uint16_t(*base + range.first + i));
  });
  // Of others, a tied operand is what lanes or halves keep that the instruction does not write.
  const bool readsTied = name.contains("MAC") || name.contains("DOT") || name.contains("SWAP");
  disassembler.forEachRead(inst, [&](RegisterRange range, bool isTied) {
    if (range.file == RegisterRange::Scalar)
      scalars(range, step.scalarReads);
    else if (auto base = baseOf(range); base && !step.isPerLane && (!isTied || readsTied))
      for (unsigned i = 0; i < range.count; ++i)
        step.reads.push_back(uint16_t(*base + range.first + i));
  });
  return step;
}

/// A constant -1 written to EXEC, or its complement.
bool LaneWalk::opensRegion(const Step &step) const {
  if (!step.writesExec)
    return false;
  for (unsigned i = 1; i < step.inst->getNumOperands(); ++i)
    if (step.inst->getOperand(i).isImm() && step.inst->getOperand(i).getImm() == -1)
      return true;
  return step.rule == Rule::Not;
}

bool LaneWalk::read(ArrayRef<DecodedInstruction> instructions, DenseMap<unsigned, Rule> &rules) {
  const auto isOpening = [](const DecodedInstruction &decoded, const Disassembler &disassembler) {
    const MCInst &inst = decoded.inst;
    if (decoded.size == 0)
      return false;
    bool isMinusOne = false;
    for (unsigned i = 1; i < inst.getNumOperands(); ++i)
      isMinusOne |= inst.getOperand(i).isImm() && inst.getOperand(i).getImm() == -1;
    bool isExec = false;
    if (isMinusOne)
      disassembler.forEachWritten(inst, [&](RegisterRange range) {
        isExec |= range.overlaps(RegisterRange::Scalar, kExec, 2);
      });
    return isExec;
  };
  if (none_of(instructions,
              [&](const DecodedInstruction &decoded) { return isOpening(decoded, disassembler); }))
    return false;

  const uint64_t begin = function.address, end = begin + function.bytes.size();
  Branches branches(disassembler, begin, end);
  std::vector<BlockEnd> ends;
  for (const DecodedInstruction &decoded : instructions) {
    const auto &[address, size, inst] = decoded;
    if (size == 0) // checkMode() reports it
      continue;
    const Flow flow =
        branches.flowOf(inst, address, size, function.bytes.drop_front(address - begin));
    auto [rule, isNew] = rules.try_emplace(inst.getOpcode());
    if (isNew)
      rule->second = ruleOf(disassembler, inst.getOpcode());
    steps.push_back(stepOf(decoded, rule->second, flow));
    if (flow.endsBlock())
      ends.push_back({address + size, flow});
  }
  size_t step = 0;
  for (BasicBlock &found : basicBlocks(begin, end, ends)) {
    Block &block = blocks.emplace_back(Block{std::move(found), step, 0, {}, {}});
    while (step < steps.size() && steps[step].address < block.basic.end)
      ++step;
    block.end = step;
  }
  findLive();
  return true;
}

/// Backwards, until nothing changes. Calls and what leaves the function read everything.
void LaneWalk::findLive() {
  for (bool changed = true; changed;) {
    changed = false;
    for (Block &block : reverse(blocks)) {
      Scalars live;
      for (size_t successor : block.basic.successors)
        live |= blocks[successor].live;
      for (size_t i = block.end; i > block.first; --i) {
        const Step &step = steps[i - 1];
        live &= ~step.scalarWrites;
        live |= step.scalarReads;
        if (step.flow.kind == Flow::Kind::Call)
          live.set();
        if (step.flow.kind == Flow::Kind::Leave && !function.computePgmRsrc1)
          live.set();
      }
      changed |= live != block.live;
      block.live = live;
    }
  }
}

// ---------- The walk

std::vector<Violation> LaneWalk::check() {
  walk(false);
  if (isWave64)
    walk(true);
  return std::move(violations);
}

/// Of a function that is called, an idle lane is followed too.
void LaneWalk::walk(bool isHigh) {
  exec = kExec + isHigh;
  for (Block &block : blocks)
    block.before.clear();
  std::set<size_t> pending;
  for (const bool isActive : {true, false}) {
    if (!isActive && function.computePgmRsrc1)
      continue;
    LaneState state;
    state.bits[kExec] = state.bits[kExec + 1] = LaneBit::of(isActive);
    state.bits[kExec + !isHigh] = state.fresh();
    state.own = LaneBit::of(isActive);
    add(0, state, pending);
  }
  // What is new in a block's states, or has more foreign registers, is walked again.
  while (!pending.empty()) {
    const size_t block = *pending.begin();
    pending.erase(pending.begin());
    for (const LaneState &state : std::list<LaneState>(blocks[block].before))
      walkBlock(block, state, pending);
  }
}

void LaneWalk::add(size_t index, const LaneState &given, std::set<size_t> &pending) {
  Block &block = blocks[index];
  LaneState state = given;
  state.simplify(block.live);
  for (LaneState &known : block.before)
    if (known.isLike(state)) {
      const auto all = known.foreign | state.foreign;
      if (all != known.foreign)
        pending.insert(index);
      known.foreign = all;
      return;
    }
  if (block.before.size() >= kMaxStates)
    return; // too many cases: this one is not followed
  block.before.push_back(std::move(state));
  pending.insert(index);
}

/// A wave that has an active lane does not skip what is for no lane.
bool LaneWalk::takes(const Block &block, size_t successor, const LaneState &state) const {
  if (block.basic.flow.kind != Flow::Kind::Either || !state.bits[exec].is(true))
    return true;
  const StringRef name = disassembler.name(steps[block.end - 1].inst->getOpcode());
  const bool isTarget = blocks[successor].basic.address == block.basic.flow.target;
  if (name.starts_with("S_CBRANCH_EXECZ"))
    return !isTarget;
  return !name.starts_with("S_CBRANCH_EXECNZ") || isTarget;
}

void LaneWalk::walkBlock(size_t index, LaneState start, std::set<size_t> &pending) {
  const Block &block = blocks[index];
  std::vector<std::pair<size_t, LaneState>> open;
  open.emplace_back(block.first, std::move(start));
  while (!open.empty()) {
    auto [at, state] = std::move(open.back());
    open.pop_back();
    for (; at < block.end; ++at) {
      const Step &step = steps[at];
      checkReads(step, state);
      if (step.flow.kind == Flow::Kind::Leave)
        checkLeave(step, state);
      execute(step, state);
      if (const LaneBit bit = state.bits[exec]; step.writesExec && bit.kind == LaneBit::Free) {
        LaneState other = state;
        other.decide(bit.id, bit.isNegated);
        state.decide(bit.id, !bit.isNegated);
        open.emplace_back(at + 1, std::move(other));
      }
    }
    for (size_t successor : block.basic.successors)
      if (takes(block, successor, state))
        add(successor, state, pending);
  }
}

// ---------- Scalar registers

LaneBit LaneWalk::bitOf(const LaneState &state, const MCInst &inst, unsigned index,
                        unsigned half) const {
  const RegisterRange range = rangeOf(inst, index);
  if (range.file == RegisterRange::Scalar && half < range.count)
    return state.bits[range.first + half];
  if (index < inst.getNumOperands() && inst.getOperand(index).isImm())
    if (const int64_t number = inst.getOperand(index).getImm(); number == 0 || number == -1)
      return LaneBit::of(number == -1);
  return {};
}

void LaneWalk::overwrite(const Step &step, LaneState &state) const {
  for (unsigned i = 0; i < kScalarRegisters; ++i)
    if (step.scalarWrites[i])
      state.bits[i] = {};
  if (!state.spilled.empty())
    for (unsigned reg : step.writes)
      state.spilled.erase(reg < Clobbers::kVectors
                              ? LanePlace{LanePlace::Vector, 0, reg}
                              : LanePlace{LanePlace::Accumulation, 0, reg - Clobbers::kVectors});
}

void LaneWalk::executeScalar(const Step &step, LaneState &state) const {
  const MCInst &inst = *step.inst;
  const RegisterRange result = rangeOf(inst, 0);
  if (result.file != RegisterRange::Scalar)
    return overwrite(step, state);
  const unsigned halves = std::min<unsigned>(result.count, 2);
  LaneBit values[2], masks[2];
  bool writesMasks = false;
  for (unsigned half = 0; half < halves; ++half) {
    const LaneBit own = state.bits[kExec + half];
    const LaneBit a = bitOf(state, inst, 1, half), b = bitOf(state, inst, 2, half);
    LaneBit &value = values[half], &mask = masks[half];
    const auto saves = [&](LaneBit bit) {
      value = own;
      mask = bit;
      writesMasks = true;
    };
    switch (step.rule) {
    case Rule::Copy:
      value = a;
      break;
    case Rule::MaybeCopy:
      value = a == state.bits[result.first + half] ? a : state.fresh();
      break;
    case Rule::Select:
      value = a == b ? a : a.kind == LaneBit::Unknown ? a : state.fresh();
      break;
    case Rule::And:
      value = state.andOf(a, b);
      break;
    case Rule::AndNot:
      value = state.andOf(a, LaneState::notOf(b));
      break;
    case Rule::Or:
      value = state.orOf(a, b);
      break;
    case Rule::Xor:
      value = state.xorOf(a, b);
      break;
    case Rule::OrNot:
      value = state.orOf(a, LaneState::notOf(b));
      break;
    case Rule::Not:
      value = LaneState::notOf(a);
      break;
    case Rule::AndSave:
      saves(state.andOf(a, own));
      break;
    case Rule::AndNotSave:
      saves(state.andOf(a, LaneState::notOf(own)));
      break;
    case Rule::NotAndSave:
      saves(state.andOf(own, LaneState::notOf(a)));
      break;
    case Rule::OrSave:
      saves(state.orOf(a, own));
      break;
    case Rule::XorSave:
      saves(state.xorOf(a, own));
      break;
    case Rule::NotAndWrite:
      saves(state.andOf(own, LaneState::notOf(a)));
      value = mask;
      break;
    case Rule::AndNotWrite:
      saves(state.andOf(a, LaneState::notOf(own)));
      value = mask;
      break;
    default: // numbers
      break;
    }
  }
  overwrite(step, state);
  for (unsigned half = 0; half < halves; ++half) {
    if (writesMasks)
      state.bits[kExec + half] = masks[half];
    state.bits[result.first + half] = values[half];
  }
}

void LaneWalk::execute(const Step &step, LaneState &state) const {
  const LaneBit before = state.bits[exec];
  const MCInst &inst = *step.inst;
  switch (step.rule) {
  case Rule::Nothing:
  case Rule::Overwrite:
  case Rule::Store:
  case Rule::Load:
  case Rule::CopyVector:
  case Rule::StoreScratch:
  case Rule::LoadScratch:
    overwrite(step, state);
    break;
  case Rule::Lanes: {
    // A comparison, or a carry: 0 for lanes that are not on.
    LaneBit on[] = {state.bits[kExec], state.bits[kExec + 1]};
    overwrite(step, state);
    disassembler.forEachWritten(inst, [&](RegisterRange range) {
      if (range.file == RegisterRange::Scalar && range.count <= 2)
        for (unsigned i = 0; i < range.count; ++i)
          state.bits[range.first + i] = on[i].is(false) ? on[i] : state.fresh();
    });
    break;
  }
  case Rule::WriteLane:
  case Rule::ReadLane: {
    const bool isWrite = step.rule == Rule::WriteLane;
    const RegisterRange vector = rangeOf(inst, isWrite ? 0 : 1);
    const LanePlace place{vector.file == RegisterRange::Vector ? LanePlace::Vector
                                                               : LanePlace::Accumulation,
                          0, vector.first};
    const bool isConstant = inst.getNumOperands() > 2 && inst.getOperand(2).isImm();
    const unsigned lane = isConstant ? unsigned(inst.getOperand(2).getImm()) & 63 : 0;
    if (isWrite) {
      if (!isConstant)
        state.spilled.erase(place);
      else
        state.spilled[place][lane] = bitOf(state, inst, 1, 0);
      break;
    }
    LaneBit bit;
    if (auto known = state.spilled.find(place); known != state.spilled.end() && isConstant)
      if (auto value = known->second.find(lane); value != known->second.end())
        bit = value->second;
    overwrite(step, state);
    if (const RegisterRange result = rangeOf(inst, 0); result.file == RegisterRange::Scalar)
      state.bits[result.first] = bit;
    break;
  }
  default:
    executeScalar(step, state);
  }
  if (step.flow.kind == Flow::Kind::Call) {
    // What comes back is the callee's; values of idle lanes it has kept.
    for (unsigned i = 0; i < kExec; ++i)
      if (i < 30 || i >= kVcc)
        state.bits[i] = {};
    if (!state.own.is(false))
      state.foreign.reset();
  }
  if (step.writesExec)
    writeExec(step, before, state);
  else
    writeVectors(step, state);
}

void LaneWalk::writeExec(const Step &step, const LaneBit &before, LaneState &state) const {
  const bool opens = opensRegion(step);
  if (opens && !state.isWhole)
    state.own = before;
  state.isWhole = opens;
  if (!opens)
    state.own = state.bits[exec];
}

// ---------- Vector registers

void LaneWalk::writeVectors(const Step &step, LaneState &state) const {
  if (step.writes.empty() || state.bits[exec].is(false))
    return;
  // A function that was called gives back what it has saved.
  const bool isForeign =
      state.isWhole && state.own.is(false) && !(step.loadsScratch && !function.computePgmRsrc1);
  for (unsigned reg : step.writes)
    state.foreign.set(reg, isForeign);
}

void LaneWalk::checkReads(const Step &step, const LaneState &state) {
  if (step.reads.empty() || !state.own.is(true) || !state.bits[exec].is(true))
    return;
  for (unsigned reg : step.reads)
    if (state.foreign[reg])
      report(step, reg, "is read");
}

void LaneWalk::checkLeave(const Step &step, const LaneState &state) {
  if (function.computePgmRsrc1 || !state.own.is(false) || state.foreign.none())
    return;
  for (unsigned reg = 0; reg < state.foreign.size(); ++reg)
    if (state.foreign[reg])
      report(step, reg, "is left to lanes that were idle");
}

void LaneWalk::report(const Step &step, unsigned reg, StringRef problem) {
  if (!reported.insert({step.address, reg}).second)
    return;
  const bool isAccumulation = reg >= Clobbers::kVectors;
  const std::string name = (isAccumulation ? "a" : "v") +
                           std::to_string(isAccumulation ? reg - Clobbers::kVectors : reg);
  violations.push_back({step.address, "'" + disassembler.print(*step.inst, step.address) +
                                          "': " + name + " " + problem.str() +
                                          ", but was written with all lanes on while the lane was "
                                          "idle, expected a register of its own"});
}

} // namespace

Error checkWholeWaves(ArrayRef<uint8_t> codeObject) {
  Expected<DecodedProgram> program = decodeProgram(codeObject);
  if (!program)
    return program.takeError();
  return checkWholeWaves(*program);
}

Error checkWholeWaves(const DecodedProgram &program) {
  std::string text, firstFunction;
  size_t count = 0;
  DenseMap<unsigned, Rule> rules;
  for (const auto &[function, instructions] :
       zip_equal(program.code.functions, program.instructions)) {
    LaneWalk walk(*program.disassembler, function, program.code.isWave64);
    if (!walk.read(instructions, rules))
      continue;
    for (const Violation &violation : walk.check()) {
      if (count++ >= kMaxReported)
        continue;
      if (firstFunction.empty())
        firstFunction = function.name;
      text += (text.empty() ? "" : "\n") + ("idle lanes of '" + function.name + "' at 0x") +
              utohexstr(violation.address, /*LowerCase=*/true) + ": " + violation.text;
    }
  }
  if (count == 0)
    return Error::success();
  if (count > kMaxReported)
    text += "\nand " + std::to_string(count - kMaxReported) + " more";
  return make_error<CodegenError>(Fault::Malformed, text, firstFunction);
}

} // namespace rubia::codegen
