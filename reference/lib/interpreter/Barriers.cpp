// SPDX-License-Identifier: Apache-2.0
// PTX ISA: parallel-synchronization-and-communication-instructions-bar, -barrier-cluster. Threads
// are counted in whole warps; the lanes of a warp that come in different branches are one arrival.
#include "reference/lib/interpreter/Cta.h"
#include "reference/lib/interpreter/Decode.h"
#include <bit>

using namespace llvm;

namespace rubia::ptx::Op {
extern const Operation BarArrive, BarRed, BarSync, BarrierCluster;
} // namespace rubia::ptx::Op
namespace rubia::ptx::Mod {
extern const Modifier Arrive;
} // namespace rubia::ptx::Mod

namespace rubia::reference::interpreter {
namespace {

namespace Mod = ptx::Mod;

// The one value of all active lanes.
bool uniform(Warp &warp, const uint64_t *row, const char *what, uint32_t &value) {
  value = uint32_t(row[std::countr_zero(warp.active)]);
  for (unsigned lane = 0; lane < kLanes; ++lane)
    if (warp.active >> lane & 1 && row[lane] != value) {
      warp.fail(Twine("threads of a warp name different ") + what + " of a barrier", lane);
      return false;
    }
  return true;
}

// Sources: number, threads (0: all), condition of a reduction.
bool numbers(Warp &warp, const Micro &micro, uint32_t &barrier, uint32_t &threads) {
  if (!uniform(warp, warp.source(micro, 0), "numbers", barrier) ||
      !uniform(warp, warp.source(micro, 1), "numbers of threads", threads))
    return false;
  barrier %= Cta::kBarriers; // as an H100 does: docs/synchronization.md
  return true;
}

void sync(Warp &warp, const Micro &micro) {
  uint32_t barrier, threads;
  if (!numbers(warp, micro, barrier, threads))
    return;
  Lanes condition = 0;
  if (micro.sources.size() > 2) {
    const uint64_t *row = warp.source(micro, 2);
    for (unsigned lane = 0; lane < kLanes; ++lane)
      condition |= Lanes(row[lane] & 1) << lane;
  }
  warp.waitAt(micro, barrier, threads, condition, warp.active);
}

void arrive(Warp &warp, const Micro &micro) {
  uint32_t barrier, threads;
  if (!numbers(warp, micro, barrier, threads))
    return;
  if (!threads)
    return warp.fail("an arrival at a barrier for 0 threads");
  if (warp.arriveAt(barrier, threads, warp.active))
    warp.cta.arrive(warp, barrier, threads);
}

void decodeBarrier(Decoder &decoder, bool isReduction, Execute function) {
  ArrayRef<ptx::Operand> operands = decoder.inst().operands;
  if (isReduction) {
    decoder.destination(operands[0]);
    operands = operands.drop_front();
  }
  decoder.source(operands[0], ptx::Type::U32);
  operands = operands.drop_front();
  const bool hasThreads = operands.size() > size_t(isReduction);
  if (hasThreads) {
    decoder.source(operands[0], ptx::Type::U32);
    operands = operands.drop_front();
  } else
    decoder.source(0);
  if (isReduction)
    decoder.source(operands[0], ptx::Type::Pred);
  decoder.execute(function, Flow::Control);
}
void decodeSync(Decoder &decoder) { decodeBarrier(decoder, false, sync); }
void decodeArrive(Decoder &decoder) { decodeBarrier(decoder, false, arrive); }
void decodeRed(Decoder &decoder) { decodeBarrier(decoder, true, sync); }

void clusterArrive(Warp &warp, const Micro &) {
  if (warp.arriveAt(Cta::kClusterBarrier, 0, warp.active))
    warp.cta.clusterArrive(warp);
}
void clusterWait(Warp &warp, const Micro &micro) {
  warp.waitAt(micro, Cta::kClusterBarrier, 0, 0, warp.active);
}
void decodeCluster(Decoder &decoder) {
  decoder.execute(decoder.spelling().has(Mod::Arrive) ? clusterArrive : clusterWait, Flow::Control);
}

constexpr Family kFamilies[] = {
    {ptx::Op::BarSync, decodeSync},
    {ptx::Op::BarArrive, decodeArrive},
    {ptx::Op::BarRed, decodeRed},
    {ptx::Op::BarrierCluster, decodeCluster},
};

} // namespace

ArrayRef<Family> barriers() { return kFamilies; }

} // namespace rubia::reference::interpreter
