// SPDX-License-Identifier: Apache-2.0
#include "emulator/lib/observe/CostObserver.h"
#include "emulator/lib/decode/Disassembly.h"
#include "emulator/lib/decode/InstructionClass.h"
#include "emulator/lib/machine/SourceText.h"
#include "emulator/lib/observe/MemoryCost.h"
#include "llvm/ADT/STLExtras.h"
#include <map>

using namespace llvm;

namespace rubia::targets::Fact {
extern const GenerationFact cacheLineBytes, wideLdsReads;
} // namespace rubia::targets::Fact

namespace rubia::emulator {

void Cost::add(const Cost &other) {
  waves += other.waves;
  vectors += other.vectors;
  activeLanes += other.activeLanes;
  laneSlots += other.laneSlots;
  memory.add(other.memory);
  ldsAccesses += other.ldsAccesses;
  ldsCycles += other.ldsCycles;
  conflictCycles += other.conflictCycles;
  maskings += other.maskings;
  splits += other.splits;
}

const CostObserver::Known &CostObserver::look(size_t index) {
  Known &is = known[index];
  if (is.known)
    return is;
  is.known = true;
  is.continues = continuesInstruction(*code.program, index);
  if (const auto found = disassembleAt(*code.program, code.program->operations[index].pc)) {
    is.kind = classify(*code.program->target, found->inst);
    is.vector = isVector(is.kind);
    is.masks = masksLanes(*code.program->target, found->inst);
  }
  return is;
}

void CostObserver::countMemory(Cost &cost, const Known &is, const Accesses &accesses) {
  const targets::Target &target = code.program->target->row();
  const MemoryCost memory = memoryCost(targets::Fact::cacheLineBytes(target), accesses.lanes);
  cost.memory.add(memory);
  (accesses.atomic                            ? totals.atomics
   : is.kind == InstructionClass::GlobalStore ? totals.stores
                                              : totals.loads)
      .add(memory);
  const LdsCycles lds = ldsCycles(target, accesses.lanes, accesses.atomic);
  cost.ldsAccesses += lds.cycles != 0;
  cost.ldsCycles += lds.cycles;
  cost.conflictCycles += lds.conflicts;
}

void CostObserver::before(RunningGroup &, Wave &wave, const MicroOp &op, const InstructionStep &,
                          const Accesses &accesses) {
  const size_t index = indexOf(op);
  const Known &is = look(index);
  execBefore = wave.exec();
  if (is.continues)
    return;
  Cost &cost = costs[index];
  ++cost.waves;
  ++totals.classes[unsigned(is.kind)];
  if (!is.vector)
    return; // scalar loads go through a cache of their own
  const unsigned active = unsigned(std::popcount(execBefore));
  ++cost.vectors;
  cost.activeLanes += active;
  cost.laneSlots += wave.lanes();
  ++totals.activeLanes[active];
  if (!accesses.lanes.empty())
    countMemory(cost, is, accesses);
}

void CostObserver::after(RunningGroup &, Wave &wave, const MicroOp &op, const InstructionStep &) {
  const size_t index = indexOf(op);
  if (!known[index].masks)
    return;
  const uint64_t exec = wave.exec();
  ++costs[index].maskings;
  costs[index].splits += exec != 0 && exec != execBefore;
}

std::vector<uint64_t> CostObserver::waves() const {
  std::vector<uint64_t> counts;
  counts.reserve(costs.size());
  for (size_t i = 0; i < costs.size(); ++i)
    counts.push_back(known[i].kind == InstructionClass::Wait ? 0 : costs[i].waves);
  return counts;
}

Profile CostObserver::profile() const {
  const Program &program = *code.program;
  Profile all = totals;
  all.lineBytes = targets::Fact::cacheLineBytes(program.target->row());
  all.ldsBanks = targets::Fact::wideLdsReads(program.target->row()) ? 64 : 32;
  std::map<std::pair<std::string, unsigned>, LineCost> byLine;
  for (size_t i = 0; i < costs.size(); ++i) {
    if (costs[i].waves == 0)
      continue;
    InstructionCost &instruction = all.instructions.emplace_back();
    instruction.pc = program.operations[i].pc;
    instruction.kind = known[i].kind;
    instruction.cost = costs[i];
    if (const auto found = disassembleAt(program, instruction.pc))
      instruction.text = found->text;
    all.total.add(costs[i]);
    if (lines)
      instruction.frames = lines->frames(instruction.pc);
    const std::vector<SourceFrame> &frames = instruction.frames;
    for (const SourceFrame &frame : frames) {
      LineCost &line = byLine[{frame.file, frame.line}];
      line.function = frame.function;
      if (&frame == &frames.front())
        line.cost.add(costs[i]);
      const auto same = [&](const SourceFrame &other) {
        return other.file == frame.file && other.line == frame.line;
      };
      if (&frame == &*llvm::find_if(frames, same)) // else recursion
        line.inlined.add(costs[i]);
    }
  }
  SourceText text;
  for (auto &[place, line] : byLine) {
    std::tie(line.file, line.line) = place;
    line.text = text.line(line.file, line.line);
    all.lines.push_back(std::move(line));
  }
  llvm::sort(all.instructions, [](const auto &a, const auto &b) { return a.pc < b.pc; });
  llvm::sort(all.lines, [](const LineCost &a, const LineCost &b) {
    return std::tie(b.cost.waves, b.inlined.waves, a.file, a.line) <
           std::tie(a.cost.waves, a.inlined.waves, b.file, b.line);
  });
  return all;
}

} // namespace rubia::emulator
