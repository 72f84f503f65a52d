// SPDX-License-Identifier: Apache-2.0
#include "emulator/lib/run/Accesses.h"
#include "emulator/lib/memory/BufferResource.h"
#include "emulator/lib/memory/ImageOperation.h"

using namespace llvm;

namespace rubia::emulator {

/// BUFFER_*: lanes out of range touch nothing.
static void locateBuffer(const Wave &w, const MicroOp &op, const InstructionStep &step,
                         unsigned block, BlockAccess &found) {
  const uint32_t mask = w.scalars[kExec + block];
  const BufferResource resource = BufferResource::read(w, op);
  BufferLanes lanes;
  bufferLanes(w, op, resource, block, lanes);
  const uint32_t inside = bufferAddresses(resource, lanes, mask, 0, step.bytes, found.addresses);
  (resource.swizzled() ? found.scratch : found.global) = inside;
}

void locateBlock(const Wave &w, const MicroOp &op, const InstructionStep &step, unsigned block,
                 BlockAccess &found) {
  const uint32_t mask = w.scalars[kExec + block];
  found.global = found.lds = found.scratch = 0;
  switch (step.space) {
  case Space::Buffer:
    return locateBuffer(w, op, step, block, found);
  case Space::Scratch:
    scratchAddresses(w, op, block, found.addresses);
    found.scratch = mask;
    return;
  case Space::Local:
    localAddresses(w, op, block, uint32_t(op.immediate), found.addresses);
    found.lds = mask;
    return;
  case Space::Global:
  case Space::Flat:
    break;
  }
  found.global = mask;
  if (step.byThread) {
    const uint64_t base = (op.kind[1] == OperandKind::Scalar ? w.pair(unsigned(op.source[1])) : 0) +
                          uint64_t(int64_t(op.immediate));
    for (unsigned lane = 0; lane < kBlockLanes; ++lane)
      found.addresses.at[lane] = base + 4 * (block * kBlockLanes + lane);
  } else {
    globalAddresses(w, op, block, found.addresses);
  }
  if (step.space != Space::Flat)
    return;
  const FlatLanes lanes = splitFlat(op, mask, found.addresses);
  found.global = lanes.global;
  found.lds = lanes.lds;
  found.scratch = lanes.scratch;
}

uint64_t locateScalar(const Wave &w, const MicroOp &op, const InstructionStep &step, bool whole) {
  const uint64_t ignored = step.bytes >= 4 && !whole ? 3 : 0;
  uint64_t offset = uint64_t(int64_t(op.immediate));
  if (op.kind[1] != OperandKind::None)
    offset += readScalar32(w, op, 1);
  return (w.pair(unsigned(op.source[0])) & ~ignored) + (offset & ~ignored);
}

namespace {

/// Appends what one block's lanes touch.
class Appender {
public:
  Appender(const Wave &wave, const MicroOp &op, const InstructionStep &step, unsigned block,
           Accesses &accesses)
      : wave(wave), op(op), step(step), block(block), accesses(accesses) {}

  void appendVector();
  void appendLds();

private:
  void append(Space space, uint32_t mask, const LaneAddresses &addresses, unsigned bytes,
              bool reads, bool writes, unsigned operand = 0);
  void appendToLds(uint32_t mask);
  /// From a host address in the wave's private memory to the lane's offset (ScratchLayout.h).
  uint64_t scratchOffset(uint64_t address) const {
    const uint64_t byte = address - uint64_t(wave.scratch);
    return byte / kScratchElement / wave.lanes() * kScratchElement + byte % kScratchElement;
  }

  const Wave &wave;
  const MicroOp &op;
  const InstructionStep &step;
  const unsigned block;
  Accesses &accesses;
};

void Appender::append(Space space, uint32_t mask, const LaneAddresses &addresses, unsigned bytes,
                      bool reads, bool writes, unsigned operand) {
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    const unsigned lane = unsigned(std::countr_zero(rest));
    uint64_t address = addresses.at[lane];
    if (space == Space::Scratch && step.space == Space::Buffer)
      address = scratchOffset(address);
    accesses.lanes.push_back({address, uint16_t(bytes), uint8_t(block * kBlockLanes + lane), space,
                              reads, writes, uint8_t(operand)});
  }
}

/// The other side of a load into LDS (LoadStore.h).
void Appender::appendToLds(uint32_t mask) {
  const unsigned stride = step.bytes > 4 ? 16 : 4;
  const uint32_t base = (wave.scalars[kM0] & 0x3fffc) + uint32_t(op.immediate);
  LaneAddresses addresses;
  for (unsigned lane = 0; lane < kBlockLanes; ++lane)
    addresses.at[lane] = uint32_t(base + (block * kBlockLanes + lane) * stride);
  append(Space::Local, mask, addresses, std::max<unsigned>(4, step.bytes), false, true);
}

void Appender::appendVector() {
  BlockAccess found;
  locateBlock(wave, op, step, block, found);
  auto appendAll = [&] {
    append(Space::Global, found.global, found.addresses, step.bytes, step.reads, step.writes);
    append(Space::Local, found.lds, found.addresses, step.bytes, step.reads, step.writes);
    append(Space::Scratch, found.scratch, found.addresses, step.bytes, step.reads, step.writes);
  };
  if (!step.direct)
    appendAll();
  for (uint32_t rest = step.direct ? wave.scalars[kM0] : 0; rest; rest &= rest - 1) { // *_BLOCK
    const unsigned by = 4 * unsigned(std::countr_zero(rest));
    for (uint64_t &address : found.addresses.at)
      address += by;
    appendAll();
    for (uint64_t &address : found.addresses.at)
      address -= by;
  }
  if (step.toLds)
    appendToLds(wave.scalars[kExec + block]);
}

void Appender::appendLds() {
  const uint32_t mask = wave.scalars[kExec + block];
  LaneAddresses addresses;
  if (step.lds == LdsForm::Counter || step.lds == LdsForm::ByThread) {
    const bool counter = step.lds == LdsForm::Counter;
    for (unsigned lane = 0; lane < kBlockLanes; ++lane)
      addresses.at[lane] = (wave.scalars[kM0] & 0xffff) + uint32_t(op.immediate) +
                           (counter ? 0 : 4 * (block * kBlockLanes + lane));
    return append(Space::Local, counter ? mask & -mask : mask, addresses, step.bytes, step.reads,
                  step.writes);
  }
  for (unsigned i = 0; i < (step.lds == LdsForm::Two ? 2 : 1); ++i) {
    const uint32_t offset = step.lds == LdsForm::Two
                                ? (uint32_t(op.immediate) >> (16 * i) & 0xffff) << op.registers
                                : uint32_t(op.immediate);
    localAddresses(wave, op, block, offset, addresses);
    append(Space::Local, mask, addresses, step.bytes, step.reads, step.writes, i);
  }
}

} // namespace

static uint8_t firstActive(const Wave &wave) {
  return wave.exec() ? uint8_t(std::countr_zero(wave.exec())) : 0;
}

void locate(const Wave &wave, const MicroOp &op, const InstructionStep &step, Accesses &accesses) {
  accesses.clear();
  if (!step.reads && !step.writes)
    return;
  accesses.atomic = step.reads && step.writes;
  if (step.kind == StepKind::Scalar) {
    if (!step.direct)
      accesses.lanes.push_back({locateScalar(wave, op, step), step.bytes, firstActive(wave),
                                Space::Global, step.reads, step.writes});
    return;
  }
  if (step.image) {
    visitTexels(wave, op, [&](const TouchedTexel &texel) {
      accesses.lanes.push_back({texel.address, uint16_t(texel.bytes), uint8_t(texel.lane),
                                Space::Global, step.reads, step.writes, uint8_t(texel.component)});
    });
    return;
  }
  for (unsigned block = 0; block < wave.blocks; ++block) {
    if (wave.scalars[kExec + block] == 0)
      continue;
    Appender appender(wave, op, step, block, accesses);
    if (step.kind == StepKind::Vector)
      appender.appendVector();
    else if (step.kind == StepKind::Lds && step.lds != LdsForm::None)
      appender.appendLds();
    if (step.lds == LdsForm::Counter && !accesses.lanes.empty())
      return; // one access for the whole wave
  }
}

} // namespace rubia::emulator
