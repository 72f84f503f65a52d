// SPDX-License-Identifier: Apache-2.0
#include "emulator/lib/order/PendingOperation.h"
#include "emulator/lib/machine/Workgroup.h"
#include "emulator/lib/memory/ImageOperation.h"
#include "emulator/lib/run/Accesses.h"

using namespace llvm;

namespace rubia::emulator {

bool registersAreThere(Wave &wave, const WaveOrder &order, const MicroOp &op,
                       const InstructionStep &step) {
  for (const RegisterRange &range : step.registers)
    for (unsigned i = range.first; i < unsigned(range.first) + range.count; ++i) {
      const bool isPending = range.vector ? i < kVectorRegisters && order.isPending(i, range.halves)
                                          : i < kScalarCount && order.scalars[i] != 0;
      const bool mayFollow =
          range.written && range.vector && step.counters && step.counters == order.writers[i];
      if (!isPending || mayFollow)
        continue;
      raise(wave, op, FaultKind::UnwaitedRegister);
      return false;
    }
  return true;
}

static void saveRegisters(PendingOperation &pending) {
  const Wave &wave = *pending.wave;
  std::copy(std::begin(wave.scalars), std::end(wave.scalars), pending.scalars);
  pending.lane = wave.lane;
  for (const RegisterRange &range : pending.step->registers)
    if (range.vector)
      for (unsigned block = 0; block < wave.blocks; ++block) {
        const uint32_t *from = wave.block(block) + vectorOffset(range.first);
        pending.registers.insert(pending.registers.end(), from, from + range.count * kBlockLanes);
      }
}

/// Adds bytes to the lines of a part.
static void addBytes(PendingPart &part, uint64_t address, uint64_t bytes) {
  for (uint64_t at = address; at < address + bytes; ++at) {
    auto *line =
        llvm::find_if(part.lines, [&](const LinePart &one) { return one.line == lineOf(at); });
    if (line == part.lines.end()) {
      part.lines.push_back({lineOf(at), 0});
      line = std::prev(part.lines.end());
    }
    line->mask |= uint64_t(1) << at % kLineBytes;
  }
}

/// Adds lane `lane`'s bytes to the part of the line where they begin, which is the result.
static PendingPart &addLane(PendingOperation &pending, DenseMap<uint64_t, unsigned> &partOf,
                            unsigned block, unsigned lane, uint64_t address, uint64_t bytes) {
  auto [found, fresh] = partOf.try_emplace(lineOf(address), unsigned(pending.parts.size()));
  if (fresh)
    pending.parts.emplace_back();
  PendingPart &part = pending.parts[found->second];
  part.lanes[block] |= 1u << lane;
  addBytes(part, address, bytes);
  return part;
}

/// A lane of an image instruction touches several texels, all at the same time. Lanes that touch
/// none, or one that may not be accessed, which the handler reports, are in the first part.
static void locateImage(PendingOperation &pending) {
  Wave &w = *pending.wave;
  struct Texels {
    SmallVector<uint64_t, 8> addresses;
    bool isRefused = false;
  };
  SmallVector<Texels, 0> lanes(w.lanes());
  unsigned texelBytes = 0;
  visitTexels(w, *pending.op, [&](const TouchedTexel &texel) {
    lanes[texel.lane].addresses.push_back(texel.address);
    lanes[texel.lane].isRefused |= !findWindow(w, texel.address, texel.bytes);
    texelBytes = texel.bytes;
  });
  DenseMap<uint64_t, unsigned> partOf;
  for (uint64_t rest = w.exec(); rest; rest &= rest - 1) {
    const unsigned lane = unsigned(std::countr_zero(rest)), block = lane / kBlockLanes;
    ArrayRef<uint64_t> addresses = lanes[lane].addresses;
    if (addresses.empty() || lanes[lane].isRefused) {
      pending.parts.front().lanes[block] |= 1u << lane % kBlockLanes;
      continue;
    }
    PendingPart &part =
        addLane(pending, partOf, block, lane % kBlockLanes, addresses.front(), texelBytes);
    for (uint64_t address : addresses.drop_front())
      addBytes(part, address, texelBytes);
  }
}

static bool locateVector(PendingOperation &pending, unsigned block) {
  Wave &w = *pending.wave;
  const MicroOp &op = *pending.op;
  const InstructionStep &step = *pending.step;
  const uint32_t mask = w.scalars[kExec + block];
  BlockAccess found;
  locateBlock(w, op, step, block, found);
  if (found.lds)
    pending.returnsInOrder = false;
  uint32_t global = found.global;
  if (step.direct)
    global = 0;
  if (global && !checkGlobal(w, op, block, global, found.addresses, step.bytes, step.writes))
    return false;
  pending.parts.front().lanes[block] = mask & ~global;
  DenseMap<uint64_t, unsigned> partOf;
  for (unsigned i = 1; i < pending.parts.size(); ++i) // of block 0
    partOf[pending.parts[i].lines.front().line] = i;
  for (uint32_t rest = global; rest; rest &= rest - 1) {
    const unsigned lane = unsigned(std::countr_zero(rest));
    addLane(pending, partOf, block, lane, found.addresses.at[lane], step.bytes);
  }
  return true;
}

/// What may not be read is left to the handler, which reports it.
static void locateScalar(PendingOperation &pending) {
  Wave &w = *pending.wave;
  const uint32_t bytes = pending.step->bytes;
  if (pending.step->direct)
    return;
  const uint64_t address = emulator::locateScalar(w, *pending.op, *pending.step);
  if (!findWindow(w, address, bytes))
    return;
  for (uint64_t at = address; at < address + bytes; ++at) {
    auto &lines = pending.parts.front().lines;
    if (lines.empty() || lines.back().line != lineOf(at))
      lines.push_back({lineOf(at), 0});
    lines.back().mask |= uint64_t(1) << at % kLineBytes;
  }
}

/// Splits an instruction into parts. Returns false if it raised a fault.
static bool locate(PendingOperation &pending) {
  Wave &wave = *pending.wave;
  PendingPart &rest = pending.parts.emplace_back(); // lanes that touch no line
  switch (pending.step->kind) {
  case StepKind::Lds:
    rest.lanes[0] = wave.scalars[kExec];
    rest.lanes[1] = wave.blocks == 2 ? wave.scalars[kExec + 1] : 0;
    return true;
  case StepKind::Vector:
    if (pending.step->image) {
      locateImage(pending);
      return true;
    }
    for (unsigned block = 0; block < wave.blocks; ++block)
      if (!locateVector(pending, block))
        return false;
    return true;
  case StepKind::Scalar:
    pending.returnsInOrder = false;
    locateScalar(pending);
    return true;
  case StepKind::Cache:
  case StepKind::Wait:
  case StepKind::Other:
    break;
  }
  return true;
}

bool prepare(PendingOperation &pending) {
  saveRegisters(pending);
  return locate(pending);
}

/// The results go to the registers.
static void putBack(PendingOperation &pending) {
  Wave &wave = *pending.wave;
  WaveOrder &order = *pending.order;
  uint32_t lanes[2] = {};
  for (const PendingPart &part : pending.parts)
    for (unsigned block = 0; block < 2; ++block)
      lanes[block] |= part.lanes[block];
  const uint32_t *saved = pending.registers.data();
  for (const RegisterRange &range : pending.step->registers) {
    if (range.written)
      order.count(range, -1);
    if (!range.vector) {
      if (range.written)
        std::copy_n(pending.scalars + range.first, range.count, wave.scalars + range.first);
      continue;
    }
    const uint32_t filled = (range.halves & 1 ? 0xffff : 0) | (range.halves & 2 ? 0xffff0000 : 0);
    for (unsigned block = 0; block < wave.blocks; ++block) {
      uint32_t *to = wave.block(block) + vectorOffset(range.first);
      for (unsigned i = 0; range.written && i < range.count * kBlockLanes; ++i)
        if (lanes[block] >> i % kBlockLanes & 1)
          to[i] = (to[i] & ~filled) | (saved[i] & filled);
      saved += range.count * kBlockLanes;
    }
  }
}

void returnDone(WaveOrder &order) {
  uint8_t held = 0; // counters on which something older is still to return in order
  for (auto at = order.pending.begin(); at != order.pending.end();) {
    PendingOperation &pending = **at;
    const bool mayReturn =
        pending.left == 0 && !(pending.returnsInOrder && pending.step->counters & held);
    if (!mayReturn) {
      if (pending.returnsInOrder)
        held |= pending.step->counters;
      ++at;
      continue;
    }
    putBack(pending);
    for (unsigned i = 0; i < kCounters; ++i)
      order.outstanding[i] -= pending.step->counters >> i & 1;
    at = order.pending.erase(at);
  }
}

} // namespace rubia::emulator
