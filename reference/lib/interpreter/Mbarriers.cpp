// SPDX-License-Identifier: Apache-2.0
// PTX ISA: parallel-synchronization-and-communication-instructions-mbarrier, and the arrivals of
// cp.async. A cluster is one CTA, so a remote mbarrier is one of the own CTA.
#include "reference/lib/interpreter/Decode.h"
#include "reference/lib/interpreter/Mbarrier.h"
#include "llvm/Support/MathExtras.h"
#include <cstring>

using namespace llvm;

namespace rubia::ptx::Op {
extern const Operation CpAsyncMbarrierArrive, MbarrierArrive, MbarrierInit, MbarrierInval,
    MbarrierPendingCount, MbarrierTx, MbarrierWait;
} // namespace rubia::ptx::Op
namespace rubia::ptx::Mod {
extern const Modifier ArriveDrop, ExpectTx, Noinc, Parity;
} // namespace rubia::ptx::Mod

namespace rubia::reference::interpreter {

namespace Mod = ptx::Mod;

// pending: bits 0 to 19; expected: 20 to 39; bytes, signed: 40 to 62; parity: 63.
static constexpr uint64_t kCountMask = (1 << 20) - 1;

Mbarrier Mbarrier::decode(uint64_t word) {
  Mbarrier barrier;
  barrier.pending = uint32_t(word & kCountMask);
  barrier.expected = uint32_t(word >> 20 & kCountMask);
  barrier.bytes = int32_t(SignExtend64(word >> 40, 23));
  barrier.parity = word >> 63;
  return barrier;
}

uint64_t Mbarrier::encode() const {
  return pending | uint64_t(expected) << 20 | (uint64_t(uint32_t(bytes)) & maskOf(23)) << 40 |
         uint64_t(parity) << 63;
}

bool changeMbarrier(Warp &warp, ptx::StateSpace space, uint64_t address, unsigned lane,
                    function_ref<void(Mbarrier &)> change) {
  uint8_t *memory = warp.memory(space, address, 8, lane);
  if (!memory)
    return false;
  uint64_t word;
  memcpy(&word, memory, sizeof(word));
  Mbarrier barrier = Mbarrier::decode(word);
  change(barrier);
  if (warp.hasFailed())
    return false;
  if (!barrier.pending && !barrier.bytes) {
    barrier.pending = barrier.expected;
    barrier.parity = !barrier.parity;
  }
  word = barrier.encode();
  memcpy(memory, &word, sizeof(word));
  return true;
}

namespace {

template <typename Body> void forActive(Warp &warp, Body body) {
  for (unsigned lane = 0; lane < kLanes && !warp.hasFailed(); ++lane)
    if (warp.active >> lane & 1)
      body(lane);
}

// detail: the address's space
ptx::StateSpace spaceOf(const Micro &micro) { return ptx::StateSpace(micro.detail & 0xff); }
uint64_t addressOf(Warp &warp, const Micro &micro, unsigned lane) {
  return warp.source(micro, 0)[lane] + uint64_t(int64_t(micro.sources[0].offset));
}

void storeWord(Warp &warp, const Micro &micro, unsigned lane, uint64_t word) {
  if (uint8_t *memory = warp.memory(spaceOf(micro), addressOf(warp, micro, lane), 8, lane))
    memcpy(memory, &word, sizeof(word));
}

void init(Warp &warp, const Micro &micro) {
  const uint64_t *count = warp.source(micro, 1);
  forActive(warp, [&](unsigned lane) {
    if (!count[lane] || count[lane] > kCountMask)
      return warp.fail("an mbarrier for " + Twine(count[lane]) + " arrivals", lane);
    Mbarrier barrier;
    barrier.pending = barrier.expected = uint32_t(count[lane]);
    storeWord(warp, micro, lane, barrier.encode());
  });
}
void invalidate(Warp &warp, const Micro &micro) {
  forActive(warp, [&](unsigned lane) { storeWord(warp, micro, lane, 0); });
}

void changeBytes(Warp &warp, const Micro &micro) {
  const bool isExpected = micro.instruction->spelling->has(Mod::ExpectTx);
  const uint64_t *bytes = warp.source(micro, 1);
  forActive(warp, [&](unsigned lane) {
    changeMbarrier(warp, spaceOf(micro), addressOf(warp, micro, lane), lane,
                   [&](Mbarrier &barrier) {
                     barrier.bytes += isExpected ? int32_t(bytes[lane]) : -int32_t(bytes[lane]);
                   });
  });
}

void arriveBy(Warp &warp, Mbarrier &barrier, uint64_t count, bool drops, unsigned lane) {
  if (count > barrier.pending)
    return warp.fail(
        Twine(count) + " arrivals at an mbarrier that waits for " + Twine(barrier.pending), lane);
  barrier.pending -= uint32_t(count);
  if (drops)
    barrier.expected -= uint32_t(count);
}

// The state is the parity of the phase, and the arrivals that were pending before this one.
void arrive(Warp &warp, const Micro &micro) {
  const ptx::Spelling &spelling = *micro.instruction->spelling;
  const bool drops = spelling.has(Mod::ArriveDrop), expects = spelling.has(Mod::ExpectTx);
  const uint64_t *operand = warp.source(micro, 1);
  forActive(warp, [&](unsigned lane) {
    uint64_t state = 0;
    changeMbarrier(warp, spaceOf(micro), addressOf(warp, micro, lane), lane,
                   [&](Mbarrier &barrier) {
                     state = barrier.pending | uint64_t(barrier.parity) << 63;
                     if (expects)
                       barrier.bytes += int32_t(operand[lane]);
                     arriveBy(warp, barrier, expects ? 1 : operand[lane], drops, lane);
                   });
    warp.write(micro, 0, lane, state);
  });
}

void test(Warp &warp, const Micro &micro) {
  const bool byParity = micro.instruction->spelling->has(Mod::Parity);
  uint64_t state[kLanes];
  std::copy_n(warp.source(micro, 1), kLanes, state);
  forActive(warp, [&](unsigned lane) {
    const uint8_t *memory = warp.memory(spaceOf(micro), addressOf(warp, micro, lane), 8, lane);
    if (!memory)
      return;
    uint64_t word;
    memcpy(&word, memory, sizeof(word));
    const bool phase = byParity ? state[lane] & 1 : state[lane] >> 63;
    warp.write(micro, 0, lane, Mbarrier::decode(word).parity != phase);
  });
}

void countPending(Warp &warp, const Micro &micro) {
  const uint64_t *state = warp.source(micro, 0);
  forActive(warp, [&](unsigned lane) { warp.write(micro, 0, lane, state[lane] & kCountMask); });
}

// The thread's copies are done: it arrives at once. Without .noinc the phase waits for one more.
void arriveAfterCopies(Warp &warp, const Micro &micro) {
  if (!micro.instruction->spelling->has(Mod::Noinc))
    return;
  forActive(warp, [&](unsigned lane) {
    changeMbarrier(warp, spaceOf(micro), addressOf(warp, micro, lane), lane,
                   [&](Mbarrier &barrier) { arriveBy(warp, barrier, 1, false, lane); });
  });
}

void decodeWith(Decoder &decoder, Execute function, bool hasDestination) {
  ArrayRef<ptx::Operand> operands = decoder.inst().operands;
  if (hasDestination) {
    decoder.destination(operands[0]);
    operands = operands.drop_front();
  }
  decoder.source(operands[0], ptx::Type::B64);
  if (operands.size() > 1)
    decoder.source(operands[1], decoder.inst().op() == ptx::Op::MbarrierWait &&
                                        !decoder.spelling().has(Mod::Parity)
                                    ? ptx::Type::B64
                                    : ptx::Type::U32);
  else
    decoder.source(1); // one arrival
  decoder.micro.detail = unsigned(decoder.spelling().space());
  decoder.execute(function);
}
void decodeInit(Decoder &decoder) { decodeWith(decoder, init, false); }
void decodeInval(Decoder &decoder) { decodeWith(decoder, invalidate, false); }
void decodeTx(Decoder &decoder) { decodeWith(decoder, changeBytes, false); }
void decodeArrive(Decoder &decoder) { decodeWith(decoder, arrive, true); }
void decodeWait(Decoder &decoder) { decodeWith(decoder, test, true); }
void decodeCopies(Decoder &decoder) { decodeWith(decoder, arriveAfterCopies, false); }
void decodePending(Decoder &decoder) {
  decoder.destination(decoder.inst().operands[0]);
  decoder.source(decoder.inst().operands[1], ptx::Type::B64);
  decoder.execute(countPending);
}

constexpr Family kFamilies[] = {
    {ptx::Op::MbarrierInit, decodeInit},
    {ptx::Op::MbarrierInval, decodeInval},
    {ptx::Op::MbarrierTx, decodeTx},
    {ptx::Op::MbarrierArrive, decodeArrive},
    {ptx::Op::MbarrierWait, decodeWait},
    {ptx::Op::MbarrierPendingCount, decodePending},
    {ptx::Op::CpAsyncMbarrierArrive, decodeCopies},
};

} // namespace

ArrayRef<Family> mbarriers() { return kFamilies; }

} // namespace rubia::reference::interpreter
