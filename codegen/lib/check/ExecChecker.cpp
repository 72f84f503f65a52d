// SPDX-License-Identifier: Apache-2.0
// A forward analysis of each function: what is known of every scalar register before every block,
// until nothing changes any more, and then one more walk that looks at the writes of EXEC. Half
// registers are followed, so that wave32 and wave64 are alike.
#include "codegen/ExecChecker.h"
#include "codegen/lib/check/Branches.h"
#include "codegen/lib/check/ExecRules.h"
#include "codegen/lib/check/LaneMasks.h"
#include "codegen/lib/check/ScratchAddress.h"
#include "codegen/lib/check/Violations.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/MC/MCInst.h"
#include <map>
#include <set>
#include <string>

using namespace llvm;

namespace rubia::codegen {

namespace {

constexpr uint32_t kCodeSymbol = ~0u; ///< of an address in the code, whose low half `number` is

using ExecValue = std::array<MaskValue, 2>; ///< its halves

struct Step {
  uint64_t address;
  Rule rule;
  Flow flow;
  bool writesExec;
  const MCInst &inst;
};

/// What functions write, by address, with all that they call. Where it is not known who is called
/// it may be any function: all that have an address are in the code object.
struct Callees {
  DenseMap<uint64_t, Clobbers> byAddress;
  Clobbers any;

  const Clobbers &of(uint64_t address) const {
    auto found = byAddress.find(address);
    return found == byAddress.end() ? any : found->second;
  }
};

struct Block {
  BasicBlock basic;
  size_t first = 0, end = 0;         ///< steps
  std::unique_ptr<MaskState> before; ///< none while no way to it is known
};

class FunctionCheck {
public:
  FunctionCheck(const Disassembler &disassembler, const FunctionCode &function,
                DenseMap<unsigned, Rule> &rules, const Callees &callees)
      : disassembler(disassembler), function(function), rules(rules), callees(callees) {}

  /// Keeps what matters of the instructions, and finds the basic blocks.
  void read(ArrayRef<DecodedInstruction> instructions);
  std::vector<Violation> check();

  Clobbers clobbers;           ///< of the function by itself
  std::vector<uint64_t> calls; ///< addresses, 0 if not known
  bool isKnown = false;        ///< there is nothing to read

private:
  void analyse();
  void execute(const Step &step);
  void executeScalar(const Step &step);
  void executeVector(const Step &step);
  void checkExecAfter(const Step &step, const ExecValue &previous);
  void checkWholeWave(const Step &step);

  RegisterRange rangeOf(const MCInst &inst, unsigned index) const;
  MaskValue valueOf(const MCInst &inst, unsigned index, unsigned half) const;
  std::optional<LanePlace> placeOf(RegisterRange range) const;
  std::optional<LanePlace> scratchOf(const MCInst &inst) const;
  std::optional<unsigned> laneOf(const MCInst &inst, unsigned index) const;
  uint64_t calleeOf(const Step &step) const;
  void overwrite(const MCInst &inst);
  void report(const Step &step, const Twine &expected);
  bool setsAll(const Step &step) const;
  bool isWhole() const {
    return !state.scalars[kExec].isMask() || !state.scalars[kExec + 1].isMask();
  }

  const Disassembler &disassembler;
  const FunctionCode &function;
  DenseMap<unsigned, Rule> &rules; ///< of opcodes that have been seen
  const Callees &callees;
  std::vector<Step> steps;
  std::vector<Block> blocks;
  MaskState state;
  bool isReporting = false;
  bool isOwn = false; ///< in a region that assembly has entered within another one
  std::vector<Violation> violations;
};

void FunctionCheck::read(ArrayRef<DecodedInstruction> instructions) {
  const uint64_t begin = function.address, end = begin + function.bytes.size();
  Branches branches(disassembler, begin, end);
  std::vector<BlockEnd> edges;
  bool hasLanes = false;
  for (const auto &[address, size, inst] : instructions) {
    if (size == 0) // checkMode() reports it
      continue;
    Flow flow = branches.flowOf(inst, address, size, function.bytes.drop_front(address - begin));
    auto [rule, isNew] = rules.try_emplace(inst.getOpcode());
    if (isNew)
      rule->second = ruleOf(disassembler, inst.getOpcode());
    hasLanes |= rule->second == Rule::WriteLane;
    bool writesScalar = false, writesExec = false;
    disassembler.forEachWritten(inst, [&](RegisterRange range) {
      clobbers.add(range);
      writesScalar |= range.file == RegisterRange::Scalar;
      writesExec |= range.overlaps(RegisterRange::Scalar, kExec, 2);
    });
    const bool isAccess = rule->second == Rule::Store || rule->second == Rule::Load;
    if (writesScalar || hasLanes || isAccess || flow.endsBlock())
      steps.push_back({address, rule->second, flow, writesExec, inst});
    if (flow.kind == Flow::Kind::Call)
      calls.push_back(flow.target);
    if (flow.endsBlock())
      edges.push_back({address + size, flow});
  }
  size_t step = 0;
  for (BasicBlock &found : basicBlocks(begin, end, edges)) {
    Block &block = blocks.emplace_back(Block{std::move(found), step, 0, nullptr});
    while (step < steps.size() && steps[step].address < block.basic.end)
      ++step;
    block.end = step;
  }
}

void FunctionCheck::analyse() {
  if (blocks.empty())
    return;
  blocks[0].before = std::make_unique<MaskState>(MaskState::atEntry());
  std::set<size_t> pending = {0};
  while (!pending.empty()) {
    Block &block = blocks[*pending.begin()];
    pending.erase(pending.begin());
    state = *block.before;
    isOwn = false;
    for (size_t i = block.first; i < block.end; ++i)
      execute(steps[i]);
    for (size_t successor : block.basic.successors) {
      std::unique_ptr<MaskState> &before = blocks[successor].before;
      if (!before)
        before = std::make_unique<MaskState>(state);
      else if (!before->join(state))
        continue;
      pending.insert(successor);
    }
  }
}

std::vector<Violation> FunctionCheck::check() {
  analyse();
  isReporting = true;
  for (const Block &block : blocks) {
    if (!block.before)
      continue;
    state = *block.before;
    isOwn = false;
    for (size_t i = block.first; i < block.end; ++i)
      execute(steps[i]);
  }
  return std::move(violations);
}

// ---------- Operands

RegisterRange FunctionCheck::rangeOf(const MCInst &inst, unsigned index) const {
  if (index >= inst.getNumOperands() || !inst.getOperand(index).isReg())
    return {};
  return disassembler.range(inst.getOperand(index).getReg());
}

MaskValue FunctionCheck::valueOf(const MCInst &inst, unsigned index, unsigned half) const {
  RegisterRange range = rangeOf(inst, index);
  if (range.file == RegisterRange::Scalar && half < range.count)
    return state.scalars[range.first + half];
  if (index >= inst.getNumOperands() || !inst.getOperand(index).isImm())
    return {};
  int64_t number = inst.getOperand(index).getImm();
  if (half == 0)
    return MaskValue::constant(number);
  // Bit operations take 32 bits as the lower half, and extend the sign of small numbers alone.
  return isUInt<32>(number) ? MaskValue::constant(0)
         : number == -1     ? MaskValue::constant(-1)
                            : MaskValue{};
}

std::optional<LanePlace> FunctionCheck::placeOf(RegisterRange range) const {
  if (range.count != 1)
    return std::nullopt;
  if (range.file == RegisterRange::Vector)
    return LanePlace{LanePlace::Vector, 0, range.first};
  if (range.file == RegisterRange::Accumulation)
    return LanePlace{LanePlace::Accumulation, 0, range.first};
  return std::nullopt;
}

/// Where a spill lies, if what its base has is known.
std::optional<LanePlace> FunctionCheck::scratchOf(const MCInst &inst) const {
  const std::optional<ScratchAddress> address = scratchAddressOf(disassembler, inst);
  if (!address)
    return std::nullopt;
  LanePlace place{LanePlace::Scratch, 0, address->offset};
  if (address->base) {
    const MaskValue &base = state.scalars[*address->base];
    if (base.kind != MaskValue::Symbol && base.kind != MaskValue::Constant)
      return std::nullopt;
    place.base = base.kind == MaskValue::Symbol ? base.id + 1 : 0;
    place.number += base.number;
  }
  return place;
}

std::optional<unsigned> FunctionCheck::laneOf(const MCInst &inst, unsigned index) const {
  MaskValue lane = valueOf(inst, index, 0);
  if (lane.kind != MaskValue::Constant)
    return std::nullopt;
  return unsigned(lane.number) & 63;
}

// ---------- What instructions do

/// Nothing is known of the results any more.
void FunctionCheck::overwrite(const MCInst &inst) {
  disassembler.forEachWritten(inst, [&](RegisterRange range) {
    for (unsigned i = range.first; i < unsigned(range.first) + range.count; ++i)
      if (range.file == RegisterRange::Scalar)
        state.scalars[i] = {};
      else if (range.file == RegisterRange::Vector)
        state.forgetLanes({LanePlace::Vector, 0, i});
      else if (range.file == RegisterRange::Accumulation)
        state.forgetLanes({LanePlace::Accumulation, 0, i});
  });
}

void FunctionCheck::executeScalar(const Step &step) {
  const MCInst &inst = step.inst;
  RegisterRange result = rangeOf(inst, 0);
  if (result.file != RegisterRange::Scalar)
    return;
  MaskValue values[2], masks[2];
  const unsigned halves = std::min<unsigned>(result.count, 2);
  for (unsigned half = 0; half < halves; ++half) {
    MaskValue exec = state.scalars[kExec + half];
    MaskValue a = valueOf(inst, 1, half), b = valueOf(inst, 2, half);
    MaskValue &value = values[half], &mask = masks[half];
    value = mask = exec;
    switch (step.rule) {
    case Rule::Copy:
      value = a;
      break;
    case Rule::MaybeCopy:
      value = joined(state.scalars[result.first + half], a);
      break;
    case Rule::Select:
      value = joined(a, b);
      break;
    case Rule::And:
      value = andOf(a, b);
      // The frame's beginning, rounded to its alignment.
      if (value.kind == MaskValue::Data && a.kind == MaskValue::Symbol &&
          b.kind == MaskValue::Constant)
        value = {MaskValue::Symbol, uint32_t(step.address), 0};
      break;
    case Rule::AndNot:
      value = andNotOf(a, b);
      break;
    case Rule::Or:
    case Rule::Xor:
      value = orOf(a, b);
      break;
    case Rule::OrNot:
    case Rule::Widen:
      value = widened(a, b);
      break;
    case Rule::Not:
    case Rule::WidenOne:
      value = widened(a, a);
      break;
    case Rule::AndSave:
      mask = andOf(a, exec);
      break;
    case Rule::AndNotSave:
      mask = andNotOf(a, exec);
      break;
    case Rule::NotAndSave:
      mask = andNotOf(exec, a);
      break;
    case Rule::OrSave:
    case Rule::XorSave:
      mask = orOf(a, exec);
      break;
    case Rule::WidenSave:
      mask = widened(a, exec);
      break;
    case Rule::NotAndWrite:
      value = mask = andNotOf(exec, a);
      break;
    case Rule::AndNotWrite:
      value = mask = andNotOf(a, exec);
      break;
    case Rule::Add:
    case Rule::Subtract: {
      if (a.kind == MaskValue::Constant && step.rule == Rule::Add)
        std::swap(a, b);
      bool isKnown = (a.kind == MaskValue::Symbol || a.kind == MaskValue::Constant) &&
                     b.kind == MaskValue::Constant;
      value = isKnown ? a : MaskValue{};
      if (isKnown)
        value.number += step.rule == Rule::Add ? b.number : -b.number;
      break;
    }
    case Rule::AddToItself: {
      // Operands: the result, itself again, the constant; or without the second.
      MaskValue own = state.scalars[result.first];
      MaskValue constant = b.kind == MaskValue::Constant ? b : a;
      bool isKnown = own.kind == MaskValue::Symbol || own.kind == MaskValue::Constant;
      value = isKnown && constant.kind == MaskValue::Constant ? own : MaskValue{};
      if (value.kind != MaskValue::Data)
        value.number += constant.number;
      break;
    }
    case Rule::GetPc:
      value = half == 0 ? MaskValue{MaskValue::Symbol, kCodeSymbol, int64_t(step.address) + 4}
                        : MaskValue{};
      break;
    case Rule::Nothing:
    case Rule::Lanes:
    case Rule::Overwrite:
    case Rule::WriteLane:
    case Rule::ReadLane:
    case Rule::CopyVector:
    case Rule::StoreScratch:
    case Rule::LoadScratch:
    case Rule::Store:
    case Rule::Load:
      return;
    }
  }
  for (unsigned half = 0; half < halves; ++half) {
    state.scalars[kExec + half] = masks[half];
    state.scalars[result.first + half] = values[half];
  }
}

void FunctionCheck::executeVector(const Step &step) {
  const MCInst &inst = step.inst;
  std::optional<LanePlace> vector = placeOf(rangeOf(inst, 0));
  switch (step.rule) {
  case Rule::WriteLane: {
    std::optional<unsigned> lane = laneOf(inst, 2);
    if (!vector || !lane)
      return overwrite(inst);
    MaskValue value = valueOf(inst, 1, 0);
    if (value.kind == MaskValue::Data) {
      if (state.lanes().contains(*vector))
        state.writableLanes()[*vector].erase(*lane);
    } else {
      state.writableLanes()[*vector][*lane] = value;
    }
    return;
  }
  case Rule::ReadLane: {
    std::optional<LanePlace> source = placeOf(rangeOf(inst, 1));
    std::optional<unsigned> lane = laneOf(inst, 2);
    overwrite(inst);
    if (auto known = source ? state.lanes().find(*source) : state.lanes().end();
        lane && known != state.lanes().end())
      if (auto value = known->second.find(*lane); value != known->second.end())
        state.scalars[rangeOf(inst, 0).first] = value->second;
    return;
  }
  case Rule::CopyVector: {
    std::optional<LanePlace> source = placeOf(rangeOf(inst, 1));
    if (vector && source && isWhole())
      return state.copyLanes(*source, *vector);
    return overwrite(inst);
  }
  case Rule::StoreScratch:
    if (std::optional<LanePlace> place = scratchOf(inst); vector && place) {
      if (isWhole())
        state.copyLanes(*vector, *place);
      else
        state.forgetLanes(*place);
    }
    return;
  case Rule::LoadScratch:
    if (std::optional<LanePlace> place = scratchOf(inst); vector && place && isWhole())
      return state.copyLanes(*place, *vector);
    return overwrite(inst);
  default:
    return overwrite(inst);
  }
}

/// The address of the function that is called, 0 if it is not known.
uint64_t FunctionCheck::calleeOf(const Step &step) const {
  const MaskValue target = valueOf(step.inst, 1, 0);
  bool isKnown = target.kind == MaskValue::Symbol && target.id == kCodeSymbol;
  return isKnown ? uint64_t(target.number) : step.flow.target;
}

void FunctionCheck::execute(const Step &step) {
  if (isReporting)
    checkWholeWave(step);
  const ExecValue previous = {state.scalars[kExec], state.scalars[kExec + 1]};
  const uint64_t callee = step.flow.kind == Flow::Kind::Call ? calleeOf(step) : 0;
  switch (step.rule) {
  case Rule::Nothing:
    break;
  case Rule::Lanes: {
    MaskValue exec[] = {state.scalars[kExec], state.scalars[kExec + 1]};
    overwrite(step.inst);
    disassembler.forEachWritten(step.inst, [&](RegisterRange range) {
      if (range.file == RegisterRange::Scalar && range.count <= 2)
        for (unsigned i = 0; i < range.count; ++i)
          state.scalars[range.first + i] = {exec[i].isMask() ? MaskValue::Mask : MaskValue::Whole};
    });
    break;
  }
  case Rule::Overwrite:
  case Rule::Store:
  case Rule::Load:
    overwrite(step.inst);
    break;
  case Rule::WriteLane:
  case Rule::ReadLane:
  case Rule::CopyVector:
  case Rule::StoreScratch:
  case Rule::LoadScratch:
    executeVector(step);
    break;
  default:
    executeScalar(step);
  }
  if (step.flow.kind == Flow::Kind::Call)
    state.call(callees.of(callee));
  if (step.writesExec)
    checkExecAfter(step, previous);
}

// ---------- The rules

void FunctionCheck::report(const Step &step, const Twine &expected) {
  std::string text = disassembler.print(step.inst, step.address);
  violations.push_back({step.address, ("'" + text + "': " + expected).str()});
}

bool FunctionCheck::setsAll(const Step &step) const {
  for (unsigned i = 1; i < step.inst.getNumOperands(); ++i)
    if (step.inst.getOperand(i).isImm() && step.inst.getOperand(i).getImm() == -1)
      return true;
  return false;
}

/// EXEC is a mask again behind what is wrong, so that one mistake is reported once.
void FunctionCheck::checkExecAfter(const Step &step, const ExecValue &previous) {
  const bool opens = setsAll(step);
  // LLVM enters no region within another one. Where assembly does, it knows its lanes.
  if (opens && !previous[0].isMask()) {
    isOwn = true;
  } else if (isOwn) {
    isOwn = step.rule != Rule::Copy;
    for (unsigned half = 0; half < 2; ++half)
      if (MaskValue &exec = state.scalars[kExec + half]; !exec.isLanes())
        exec = {MaskValue::Whole};
    return;
  }
  for (unsigned half = 0; half < 2; ++half) {
    MaskValue &exec = state.scalars[kExec + half];
    bool wasWhole = !previous[half].isMask();
    if (exec.isMask() || (exec.isLanes() && (opens || wasWhole)))
      continue;
    if (isReporting)
      report(step, exec.isLanes() ? "EXEC gets lanes that did not execute, expected a mask that "
                                    "came from EXEC, or a constant -1"
                                  : "EXEC gets other data, expected a mask that came from EXEC");
    state.scalars[kExec] = state.scalars[kExec + 1] = {MaskValue::Mask};
    return;
  }
}

void FunctionCheck::checkWholeWave(const Step &step) {
  if (!isWhole() || isOwn)
    return;
  StringRef name = disassembler.name(step.inst.getOpcode());
  const char *what = nullptr;
  if (step.rule == Rule::Store)
    what = "memory is written";
  else if (step.rule == Rule::Load)
    what = "memory is read";
  else if (step.flow.kind == Flow::Kind::Call)
    what = "a function is called";
  else if (step.flow.kind == Flow::Kind::Leave && !name.starts_with("S_ENDPGM"))
    what = "the function is left";
  if (what)
    report(step, Twine(what) + " in a whole-wave region, expected that a saved EXEC has ended it");
}

/// Adds to each function what its callees write, until nothing changes.
void closeOverCalls(ArrayRef<FunctionCheck> checks, ArrayRef<FunctionCode> functions,
                    Callees &callees) {
  for (size_t i = 0; i < checks.size(); ++i) {
    callees.byAddress[functions[i].address] = checks[i].clobbers;
    if (!functions[i].computePgmRsrc1)
      callees.any.add(checks[i].clobbers);
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t i = 0; i < checks.size(); ++i) {
      Clobbers &own = callees.byAddress[functions[i].address];
      const Clobbers before = own;
      for (uint64_t callee : checks[i].calls)
        own.add(Clobbers(callees.of(callee)));
      changed |= !(own == before);
    }
  }
}

/// Functions without calls that were found right, by their code, and what they write. What is found
/// of them depends on nothing else. The sampler is in each unit with textures.
class KnownFunctions {
public:
  const Clobbers *find(const FunctionCode &function) const {
    const auto found = known.find(toStringRef(function.bytes));
    return found == known.end() ? nullptr : &found->second;
  }
  void add(const FunctionCode &function, const Clobbers &clobbers) {
    constexpr size_t kMost = 64; // of some 20 KB each
    if (known.size() == kMost)
      known.clear();
    known.try_emplace(toStringRef(function.bytes), clobbers);
  }

private:
  StringMap<Clobbers> known;
};

/// Those of the same processor.
KnownFunctions &knownFunctions(const ProgramCode &code) {
  thread_local std::map<std::pair<std::string, bool>, KnownFunctions> known;
  return known[{code.processor, code.isWave64}];
}

} // namespace

Error checkExec(ArrayRef<uint8_t> codeObject) {
  return checkDecoded(codeObject, [](const DecodedProgram &program) { return checkExec(program); });
}

Error checkExec(const DecodedProgram &program) {
  const std::vector<FunctionCode> &functions = program.code.functions;
  DenseMap<unsigned, Rule> rules;
  Callees callees;
  std::vector<FunctionCheck> checks;
  KnownFunctions &known = knownFunctions(program.code);
  for (const auto &[function, instructions] : zip_equal(functions, program.instructions)) {
    checks.emplace_back(*program.disassembler, function, rules, callees);
    if (const Clobbers *clobbers = known.find(function)) {
      checks.back().clobbers = *clobbers;
      checks.back().isKnown = true;
    } else {
      checks.back().read(instructions);
    }
  }
  closeOverCalls(checks, functions, callees);
  Violations violations("EXEC");
  // What is known of a function's blocks goes with its check: that of a library takes gigabytes.
  for (auto &&[function, check] : zip_equal(functions, checks)) {
    if (check.isKnown)
      continue;
    const bool mayBecomeKnown = !function.computePgmRsrc1 && check.calls.empty();
    const Clobbers clobbers = check.clobbers;
    const std::vector<Violation> found = FunctionCheck(std::move(check)).check();
    violations.add(function, found);
    if (mayBecomeKnown && found.empty())
      known.add(function, clobbers);
  }
  return violations.take();
}

} // namespace rubia::codegen
