// SPDX-License-Identifier: Apache-2.0
#include "reference/lib/interpreter/Cta.h"
#include "llvm/ADT/STLExtras.h"
#include <bit>

using namespace llvm;

namespace rubia::ptx::Mod {
extern const Modifier And, Popc;
} // namespace rubia::ptx::Mod

namespace rubia::reference::interpreter {

// Instructions of a warp before the next one has its turn: long enough that switching costs
// nothing, short enough that a warp that waits in a loop does not cost much.
static constexpr uint64_t kTurn = 4096;

Cta::Cta(Grid &grid, std::array<uint32_t, 3> index) : grid(grid), index(index) {
  shared.resize(grid.code.staticSharedBytes + size_t(grid.launch.dynamicSharedBytes));
  const auto &[bx, by, bz] = grid.launch.block;
  const uint64_t threads = uint64_t(bx) * by * bz;
  for (uint64_t first = 0; first < threads; first += kLanes)
    warps.push_back(std::make_unique<Warp>(
        *this, unsigned(first / kLanes),
        Lanes(maskOf(unsigned(std::min<uint64_t>(threads - first, kLanes))))));
}

bool Cta::hasEnded() const {
  return all_of(warps, [](const auto &warp) { return warp->hasEnded(); });
}

unsigned Cta::liveWarps() const {
  return unsigned(count_if(warps, [](const auto &warp) { return !warp->hasEnded(); }));
}

bool Cta::turn() {
  bool ran = false;
  for (const auto &warp : warps) {
    if (warp->hasEnded() || !warp->canRun())
      continue;
    uint64_t budget = kTurn;
    warp->run(budget);
    ran = true;
    if (!grid.error.empty())
      return true;
  }
  return ran;
}

void Cta::reportDeadlock() {
  for (const auto &warp : warps)
    if (const Path *path = warp->waiting()) {
      warp->fail("threads wait for others that never come: " + warp->describe(*path));
      return;
    }
}

// A warp is counted. True: all that the barrier waits for have arrived.
bool Cta::count(Warp &warp, uint32_t number, uint32_t threads) {
  Barrier &barrier = barriers[number];
  const uint32_t expected = (threads + kLanes - 1) / kLanes;
  if (barrier.arrivals && barrier.expected != expected) {
    warp.fail("barrier " + Twine(number) + " is for " + Twine(expected * kLanes) +
              " threads here and for " + Twine(barrier.expected * kLanes) +
              " elsewhere (0: for all)");
    return false;
  }
  barrier.expected = expected;
  ++barrier.arrivals;
  return barrier.arrivals >= (expected ? expected : liveWarps());
}

void Cta::check(Warp &warp, uint32_t number) {
  if (number == kClusterBarrier)
    return clusterWait(warp);
  SmallVector<const Path *, 4> paths = warp.pathsAt(number);
  Barrier &barrier = barriers[number];
  if (is_contained(barrier.waiting, &warp))
    return;
  for (const Path *path : paths) {
    if (path->threads != paths[0]->threads)
      return warp.fail("threads of a warp name different numbers of threads at a barrier: " +
                       warp.describe(*path));
    StringRef text = path->where->instruction->spelling->text;
    const bool isAligned = text.starts_with("bar.") || text.contains(".aligned");
    if (isAligned && path->where != paths[0]->where)
      return warp.fail("divergent barrier: threads of a warp are at " + warp.describe(*paths[0]) +
                       " and at " + warp.describe(*path));
    barrier.count += unsigned(std::popcount(path->condition));
    barrier.all &= path->condition == path->lanes;
    barrier.any |= path->condition != 0;
  }
  barrier.waiting.push_back(&warp);
  if (count(warp, number, paths[0]->threads))
    complete(number);
}

void Cta::arrive(Warp &warp, uint32_t number, uint32_t threads) {
  if (number == kClusterBarrier)
    return clusterArrive(warp);
  if (count(warp, number, threads))
    complete(number);
}

void Cta::complete(uint32_t number) {
  const Barrier done = barriers[number];
  barriers[number] = Barrier();
  for (Warp *warp : done.waiting)
    warp->release(number, [&](const Micro &micro) -> uint64_t {
      const ptx::Spelling &spelling = *micro.instruction->spelling;
      if (spelling.has(ptx::Mod::Popc))
        return done.count;
      return spelling.has(ptx::Mod::And) ? done.all : done.any;
    });
}

void Cta::warpEnded(Warp &warp) {
  for (uint32_t number = 0; number < kBarriers; ++number) {
    const Barrier &barrier = barriers[number];
    if (barrier.arrivals && !barrier.expected && barrier.arrivals >= liveWarps())
      complete(number);
  }
  Barrier &cluster = barriers[kClusterBarrier];
  cluster.arrivals -= warp.clusterPhase > clusterPhase; // it is no more among those that count
  if (cluster.arrivals && cluster.arrivals >= liveWarps()) {
    ++clusterPhase;
    complete(kClusterBarrier);
  }
}

// A cluster is one CTA: its barrier is another one of the CTA, in two parts.
void Cta::clusterArrive(Warp &warp) {
  warp.clusterPhase = clusterPhase + 1;
  Barrier &cluster = barriers[kClusterBarrier];
  if (++cluster.arrivals < liveWarps())
    return;
  ++clusterPhase;
  complete(kClusterBarrier);
}

void Cta::clusterWait(Warp &warp) {
  if (warp.clusterPhase <= clusterPhase)
    warp.release(kClusterBarrier, [](const Micro &) { return 0; });
  else if (!is_contained(barriers[kClusterBarrier].waiting, &warp))
    barriers[kClusterBarrier].waiting.push_back(&warp);
}

} // namespace rubia::reference::interpreter
