// SPDX-License-Identifier: Apache-2.0
// PTX ISA: data-movement-and-conversion-instructions: ld, ldu, st, and hints to caches.
#include "reference/lib/interpreter/Cta.h"
#include "reference/lib/interpreter/Decode.h"
#include <cstring>

using namespace llvm;

namespace rubia::ptx::Op {
extern const Operation Applypriority, Discard, Fence, FenceProxy, Griddepcontrol, Ld, Ldu, Membar,
    Prefetch, Prefetchu, St;
} // namespace rubia::ptx::Op

namespace rubia::reference::interpreter {
namespace {

// Of Micro::detail.
struct Access {
  uint8_t space, bytes; // of an element
  bool isSigned;
  static Access of(const Micro &micro) {
    return {uint8_t(micro.detail), uint8_t(micro.detail >> 8), bool(micro.detail >> 16)};
  }
  ptx::StateSpace stateSpace() const { return ptx::StateSpace(space); }
};

// The memory of one thread after the other: of threads that write one place the last one is seen.
void load(Warp &warp, const Micro &micro) {
  const Access access = Access::of(micro);
  const uint64_t *addresses = warp.source(micro, 0);
  const int64_t offset = micro.sources[0].offset;
  const unsigned count = unsigned(micro.destinations.size());
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if (!(warp.active >> lane & 1))
      continue;
    const uint8_t *bytes = warp.memory(access.stateSpace(), addresses[lane] + uint64_t(offset),
                                       access.bytes * count, lane);
    if (!bytes)
      return;
    uint64_t values[8] = {};
    for (unsigned i = 0; i < count; ++i) {
      memcpy(&values[i], bytes + i * access.bytes, access.bytes);
      if (access.isSigned && access.bytes < 8)
        values[i] =
            uint64_t(int64_t(values[i] << (64 - 8 * access.bytes)) >> (64 - 8 * access.bytes));
    }
    for (unsigned i = 0; i < count; ++i)
      warp.write(micro, i, lane, values[i]);
  }
}

void store(Warp &warp, const Micro &micro) {
  const Access access = Access::of(micro);
  const uint64_t *addresses = warp.source(micro, 0);
  const int64_t offset = micro.sources[0].offset;
  const unsigned count = unsigned(micro.sources.size()) - 1;
  const uint64_t *values[8];
  for (unsigned i = 0; i < count; ++i)
    values[i] = warp.source(micro, i + 1);
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if (!(warp.active >> lane & 1))
      continue;
    uint8_t *bytes = warp.memory(access.stateSpace(), addresses[lane] + uint64_t(offset),
                                 access.bytes * count, lane);
    if (!bytes)
      return;
    for (unsigned i = 0; i < count; ++i)
      memcpy(bytes + i * access.bytes, &values[i][lane], access.bytes);
  }
}

void describe(Decoder &decoder) {
  const ptx::Type type = decoder.spelling().type();
  const unsigned bits = std::min(64u, ptx::sizeInBits(type));
  decoder.micro.detail = unsigned(decoder.spelling().space()) | (bits / 8) << 8 |
                         uint64_t(ptx::classOf(type) == ptx::TypeClass::Signed) << 16;
}

void decodeLoad(Decoder &decoder) {
  ArrayRef<ptx::Operand> operands = decoder.inst().operands;
  const ptx::Type type = decoder.spelling().type();
  decoder.destination(operands[0], type == ptx::Type::B128 ? 2 : 1);
  decoder.source(operands[1], ptx::Type::B64);
  describe(decoder);
  if (decoder.destinations.size() > 8)
    return decoder.unsupported("more than eight elements");
  decoder.execute(load);
}

void decodeStore(Decoder &decoder) {
  ArrayRef<ptx::Operand> operands = decoder.inst().operands;
  decoder.source(operands[0], ptx::Type::B64);
  decoder.source(operands[1], decoder.spelling().type());
  describe(decoder);
  if (decoder.sources.size() > 9)
    return decoder.unsupported("more than eight elements");
  decoder.execute(store);
}

void nothing(Warp &, const Micro &) {}
// Hints to caches, which do not exist here.
void decodeHint(Decoder &decoder) { decoder.execute(nothing); }

constexpr Family kFamilies[] = {
    {ptx::Op::Ld, decodeLoad},
    {ptx::Op::Ldu, decodeLoad},
    {ptx::Op::St, decodeStore},
    {ptx::Op::Prefetch, decodeHint},
    {ptx::Op::Prefetchu, decodeHint},
    {ptx::Op::Applypriority, decodeHint},
    {ptx::Op::Discard, decodeHint},
    {ptx::Op::Membar, decodeHint},
    {ptx::Op::Fence, decodeHint},
    {ptx::Op::FenceProxy, decodeHint},
    {ptx::Op::Griddepcontrol, decodeHint},
};

} // namespace

ArrayRef<Family> memoryAccess() { return kFamilies; }

} // namespace rubia::reference::interpreter
