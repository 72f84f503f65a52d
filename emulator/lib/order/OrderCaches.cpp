// SPDX-License-Identifier: Apache-2.0
#include "emulator/lib/order/OrderCaches.h"
#include <cstring>

using namespace llvm;

namespace rubia::targets::Fact {
extern const GenerationFact hasDies;
} // namespace rubia::targets::Fact

namespace rubia::emulator {

OrderCaches::OrderCaches(const Target &target, const Memory &memory, unsigned agents,
                         OrderRandom &random)
    : memory(memory), random(random) {
  const unsigned isa = target.row().isa;
  hasPairs = hasL1 = isa >= 10;
  // Three times in four an agent has several L2s, where it may.
  const unsigned l2PerAgent = targets::Fact::hasDies(target.row()) && !random.oneIn(4) ? 2 : 1;
  severalL2 = l2PerAgent > 1;
  evicts = random.oneIn(2);
  // Before gfx12 RDNA reaches what other agents see past the L2.
  modelsL2 = severalL2 || (agents > 1 && (isa == 9 || isa >= 12));
  const unsigned l2Count = agents * l2PerAgent;
  const unsigned arraysPerL2 = hasL1 ? 2 : 1, unitsPerArray = hasL1 ? 4 : 3;
  l2s.resize(l2Count);
  l1s.resize(l2Count * arraysPerL2);
  units.resize(l1s.size() * unitsPerArray);
  for (unsigned i = 0; i < units.size(); ++i) {
    units[i].l1 = i / unitsPerArray;
    units[i].l2 = units[i].l1 / arraysPerL2;
    units[i].scalar = hasPairs ? i / 2 : i / unitsPerArray;
  }
  scalars.resize(units.back().scalar + 1);
}

/// Fine-grained memory is not kept in an L2: MTYPE UC, or CC, whose lines are never dirty
/// (AMDGPUUsage "Memory Model GFX90A").
bool OrderCaches::isUncached(uint64_t line) {
  auto [entry, fresh] = uncached.try_emplace(line, false);
  if (fresh)
    for (uint64_t at = line; at < line + kLineBytes; at += 4)
      if (std::optional<Allocation> found = memory.lookup(at))
        entry->second |=
            found->kind == MemoryKind::HostPinned || found->kind == MemoryKind::Managed;
  return entry->second;
}

bool OrderCaches::usesL2(const InstructionStep &step, uint64_t line) {
  return modelsL2 && !goesBeyondL2(step.reach) && !isUncached(line);
}

void OrderCaches::remember(uint64_t line) { recent[nextRecent++ % kRecent] = line; }

void OrderCaches::writeBackLine(uint64_t line, Line &entry) {
  for (uint64_t rest = entry.dirty; rest; rest &= rest - 1) {
    const int i = std::countr_zero(rest);
    reinterpret_cast<uint8_t *>(line)[i] = entry.bytes[i];
  }
  entry.dirty = 0;
}

void OrderCaches::fetchFromL2(unsigned unit, const InstructionStep &step, uint64_t line,
                              uint8_t *bytes) {
  Cache &l2 = l2s[units[unit].l2];
  if (usesL2(step, line)) {
    Line &entry = l2[line];
    if (entry.valid != ~uint64_t(0)) { // missing bytes come from memory
      const auto *host = reinterpret_cast<const uint8_t *>(line);
      for (unsigned i = 0; i < kLineBytes; ++i)
        if (!(entry.valid >> i & 1))
          entry.bytes[i] = host[i];
      entry.valid = ~uint64_t(0);
    }
    std::memcpy(bytes, entry.bytes, kLineBytes);
    return;
  }
  if (auto found = l2.find(line); found != l2.end()) {
    writeBackLine(line, found->second);
    l2.erase(found);
  }
  std::memcpy(bytes, reinterpret_cast<const void *>(line), kLineBytes);
}

void OrderCaches::fetch(unsigned unit, Cache *first, const InstructionStep &step, uint64_t line,
                        uint8_t *bytes) {
  Cache *l1 = hasL1 ? &l1s[units[unit].l1] : nullptr;
  if (step.passesL0) { // what lies there may stay
    if (random.oneIn(2))
      first->erase(line);
  } else if (auto found = first->find(line); found != first->end()) {
    std::memcpy(bytes, found->second.bytes, kLineBytes);
    return;
  }
  auto keepIn = [&](Cache *cache) {
    Line &entry = (*cache)[line];
    std::memcpy(entry.bytes, bytes, kLineBytes);
    entry.valid = ~uint64_t(0);
  };
  if (l1 && step.passesL1 && random.oneIn(2))
    l1->erase(line);
  auto inL1 = l1 ? l1->find(line) : Cache::iterator();
  if (l1 && !step.passesL1 && inL1 != l1->end()) {
    std::memcpy(bytes, inL1->second.bytes, kLineBytes);
  } else {
    fetchFromL2(unit, step, line, bytes);
    if (l1 && !step.passesL1)
      keepIn(l1);
  }
  if (!step.passesL0)
    keepIn(first);
}

namespace {

/// Puts bytes into host memory for as long as it lives.
class Overlay {
public:
  Overlay(const LinePart &part, const uint8_t *bytes) : part(part) {
    auto *host = reinterpret_cast<uint8_t *>(part.line);
    for (uint64_t rest = part.mask; rest; rest &= rest - 1) {
      const int i = std::countr_zero(rest);
      saved[i] = host[i];
      if (host[i] != bytes[i]) {
        host[i] = bytes[i];
        changed |= uint64_t(1) << i;
      }
    }
  }
  /// Takes what lies there now to `bytes`, and gives all of it back.
  void take(uint8_t *bytes) {
    const auto *host = reinterpret_cast<const uint8_t *>(part.line);
    for (uint64_t rest = part.mask; rest; rest &= rest - 1) {
      const int i = std::countr_zero(rest);
      bytes[i] = host[i];
    }
    changed = part.mask;
  }
  void restore() {
    auto *host = reinterpret_cast<uint8_t *>(part.line);
    for (uint64_t rest = changed; rest; rest &= rest - 1)
      host[std::countr_zero(rest)] = saved[std::countr_zero(rest)];
  }

private:
  LinePart part;
  uint8_t saved[kLineBytes];
  uint64_t changed = 0;
};

} // namespace

void OrderCaches::load(unsigned unit, Cache *first, const InstructionStep &step,
                       ArrayRef<LinePart> parts, function_ref<void()> execute) {
  SmallVector<Overlay, 2> overlays;
  for (const LinePart &part : parts) {
    uint8_t bytes[kLineBytes];
    fetch(unit, first, step, part.line, bytes);
    overlays.emplace_back(part, bytes);
    remember(part.line);
  }
  execute();
  for (Overlay &overlay : overlays)
    overlay.restore();
}

/// Stores and atomics: no private cache keeps the line; the L2 does, unless the access goes beyond.
void OrderCaches::write(unsigned unit, const InstructionStep &step, ArrayRef<LinePart> parts,
                        function_ref<void()> execute) {
  SmallVector<std::pair<Line *, Overlay>, 2> inL2;
  Cache &l2 = l2s[units[unit].l2];
  if (modelsL2)
    for (const LinePart &part : parts)
      if (usesL2(step, part.line))
        l2.try_emplace(part.line); // now: references to others stay valid
  for (const LinePart &part : parts) {
    units[unit].l0.erase(part.line);
    if (hasL1)
      l1s[units[unit].l1].erase(part.line);
    uint8_t bytes[kLineBytes];
    if (usesL2(step, part.line)) {
      if (step.reads)
        fetchFromL2(unit, step, part.line, bytes);
      else
        std::memcpy(bytes, reinterpret_cast<const void *>(part.line), kLineBytes);
      inL2.emplace_back(&l2[part.line], Overlay(part, bytes));
    } else if (modelsL2) {
      fetchFromL2(unit, step, part.line, bytes); // its dirty bytes go first
    }
    remember(part.line);
  }
  execute();
  for (size_t i = 0, next = 0; i < parts.size(); ++i) {
    if (!usesL2(step, parts[i].line))
      continue;
    auto &[entry, overlay] = inL2[next++];
    overlay.take(entry->bytes);
    overlay.restore();
    entry->valid |= parts[i].mask;
    entry->dirty |= parts[i].mask;
  }
}

void OrderCaches::access(unsigned unit, const InstructionStep &step, ArrayRef<LinePart> parts,
                         function_ref<void()> execute) {
  if (step.writes)
    write(unit, step, parts, execute);
  else
    load(unit, &units[unit].l0, step, parts, execute);
}

void OrderCaches::scalarLoad(unsigned unit, ArrayRef<LinePart> parts,
                             function_ref<void()> execute) {
  load(unit, &scalars[units[unit].scalar], InstructionStep(), parts, execute);
}

void OrderCaches::invalidate(unsigned unit, const InstructionStep &step) {
  if (step.invalidatesL1 && hasL1)
    l1s[units[unit].l1].clear();
  if (step.invalidatesL0)
    units[unit].l0.clear();
  if (!modelsL2 || !step.invalidatesL2 || !goesBeyondL2(*step.invalidatesL2))
    return;
  Cache &l2 = l2s[units[unit].l2];
  SmallVector<uint64_t> clean;
  for (auto &[line, entry] : l2) {
    entry.valid = entry.dirty;
    if (entry.dirty == 0)
      clean.push_back(line);
  }
  for (uint64_t line : clean)
    l2.erase(line);
}

void OrderCaches::writeBack(unsigned unit, const InstructionStep &step) {
  if (modelsL2 && step.writesBackL2 && goesBeyondL2(*step.writesBackL2))
    for (auto &[line, entry] : l2s[units[unit].l2])
      writeBackLine(line, entry);
}

void OrderCaches::expect(uint64_t address, uint64_t bytes) {
  constexpr uint64_t kMax = 64; // lines of one allocation
  const uint64_t first = lineOf(address);
  for (uint64_t i = 0; i < kMax && first + i * kLineBytes < address + bytes; ++i)
    expected.push_back(first + i * kLineBytes);
}

void OrderCaches::prefill(unsigned unit) {
  if (random.oneIn(4))
    return;
  for (uint64_t line : expected)
    if (random.oneIn(2)) {
      uint8_t bytes[kLineBytes];
      fetch(unit, &units[unit].l0, InstructionStep(), line, bytes);
    }
}

void OrderCaches::disturb(function_ref<bool(unsigned, uint64_t)> mayFill) {
  const bool anywhere = !expected.empty() && random.oneIn(2);
  const uint64_t line =
      anywhere ? expected[random.below(uint32_t(expected.size()))] : recent[random.below(kRecent)];
  const unsigned unit = random.below(computeUnits());
  const bool fills = !random.oneIn(4);
  const uint32_t which = random.below(4);
  if (line == 0 || (!fills && !evicts))
    return;
  Cache *const l0 = &units[unit].l0, *const scalar = &scalars[units[unit].scalar];
  if (fills) {
    if (!mayFill(unit, line))
      return;
    uint8_t bytes[kLineBytes];
    fetch(unit, which == 0 ? scalar : l0, InstructionStep(), line, bytes);
    return;
  }
  if (which == 0 && hasL1) {
    l1s[units[unit].l1].erase(line);
  } else if (which == 1 && modelsL2) {
    Cache &l2 = l2s[units[unit].l2];
    if (auto found = l2.find(line); found != l2.end()) {
      writeBackLine(line, found->second);
      l2.erase(found);
    }
  } else if (which == 2) {
    l0->erase(line);
  } else {
    scalar->erase(line);
  }
}

void OrderCaches::flush() {
  for (Cache &l2 : l2s)
    for (auto &[line, entry] : l2)
      writeBackLine(line, entry);
}

} // namespace rubia::emulator
