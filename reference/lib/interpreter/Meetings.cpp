// SPDX-License-Identifier: Apache-2.0
// Instructions that wait for the members of a mask: shfl, vote, match, redux, elect, bar.warp.sync.
//
// Members meet wherever the instruction stands, if it has the same operation, qualifiers and mask;
// other operands may differ, constants too. Seen on an H200 (driver 580.159.04, 2026-11-29) for
// each of them, on two and three ways of a branch and in two loops. Another mode of shfl or vote,
// or another operation, hangs there: those do not meet.
#include "reference/lib/interpreter/Warp.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <bit>

using namespace llvm;

namespace rubia::ptx::Mod {
extern const Modifier Aligned;
} // namespace rubia::ptx::Mod

namespace rubia::reference::interpreter {

// Of the lanes at an instruction, those whose masks' members are all there.
Lanes Warp::ready(const Micro &micro, Lanes lanes) {
  const uint64_t *masks = source(micro, micro.target);
  Lanes result = 0;
  for (Lanes left = lanes; left;) {
    const unsigned first = unsigned(std::countr_zero(left));
    const Lanes mask = Lanes(masks[first]);
    Lanes group = 0;
    for (unsigned lane = first; lane < kLanes; ++lane)
      if (left >> lane & 1 && Lanes(masks[lane]) == mask)
        group |= 1u << lane;
    left &= ~group;
    if (group & ~mask) {
      fail(formatv("the thread is not in its own mask of members, {0:x8}", mask),
           unsigned(std::countr_zero(group & ~mask)));
      return 0;
    }
    if ((mask & live & ~group) == 0)
      result |= group;
  }
  return result;
}

void Warp::meet(const Micro &micro, Lanes lanes) {
  const Lanes together = ready(micro, lanes);
  if (failed)
    return;
  if (together == paths[at].lanes) {
    micro.execute(*this, micro);
    return;
  }
  const Lanes waits = lanes & ~together;
  if (together) {
    setActive(together);
    micro.execute(*this, micro);
  }
  if (!waits)
    return;
  Path &waiter = waits == paths[at].lanes ? paths[at] : split(waits);
  --waiter.pc;
  waiter.state = Path::State::WaitsForMembers;
  waiter.where = &micro;
  rechoose = true;
  meetElsewhere(size_t(&waiter - paths.data()));
}

// Whether threads at one of two instructions wait for those at the other.
static bool areSame(const Micro &one, const Micro &other) {
  const ptx::Spelling &spelling = *one.instruction->spelling;
  return spelling.text == other.instruction->spelling->text && !spelling.has(ptx::Mod::Aligned);
}

// Executes an instruction for lanes of paths that wait at it, in rows of its own: the paths'
// registers and frames are others.
void Warp::executeTogether(ArrayRef<Part> parts) {
  const Micro *most = paths[parts[0].path].where; // `d|p` and `d` are one instruction
  for (const Part &part : parts)
    if (paths[part.path].where->destinations.size() > most->destinations.size())
      most = paths[part.path].where;
  const size_t numSources = most->sources.size(), numRows = numSources + most->destinations.size();
  std::vector<uint64_t> own(numRows * kLanes);
  auto forEachLane = [&](const Part &part, size_t row, uint64_t *other, auto copy) {
    for (unsigned lane = 0; lane < kLanes; ++lane)
      if (part.lanes >> lane & 1)
        copy(own[row * kLanes + lane], other[lane]);
  };
  Lanes all = 0;
  for (const Part &part : parts) {
    all |= part.lanes;
    enter(paths[part.path].frame);
    for (unsigned n = 0; n < numSources; ++n)
      forEachLane(part, n, const_cast<uint64_t *>(source(*paths[part.path].where, n)),
                  [](uint64_t &mine, uint64_t theirs) { mine = theirs; });
  }

  std::vector<Source> sources(numSources);
  std::vector<Destination> destinations(most->destinations.size());
  for (auto [n, one] : enumerate(sources)) {
    one.base = Source::Base::Frame;
    one.row = uint32_t(n);
  }
  for (auto [n, one] : enumerate(destinations))
    one.row = uint32_t(numSources + n);
  Micro together = *most;
  together.sources = sources;
  together.destinations = destinations;
  entered = nullptr;
  bases[unsigned(Source::Base::Frame)] = frameRows = own.data();
  setActive(all);
  together.execute(*this, together);

  for (const Part &part : parts) {
    Path &path = paths[part.path];
    enter(path.frame);
    for (unsigned n = 0; n < path.where->destinations.size(); ++n)
      forEachLane(part, numSources + n, destination(*path.where, n),
                  [&](uint64_t &mine, uint64_t &theirs) {
                    theirs = mine & path.where->destinations[n].mask;
                  });
    ++path.pc;
    path.state = Path::State::Runs;
  }
}

// For the lanes of a path that has begun to wait, if all of their members wait, some elsewhere.
void Warp::meetElsewhere(size_t waiter) {
  const Micro &micro = *paths[waiter].where;
  for (Lanes left = paths[waiter].lanes; left;) {
    auto maskOf = [&](const Path &path, unsigned lane) {
      enter(path.frame);
      return Lanes(source(*path.where, path.where->target)[lane]);
    };
    const Lanes mask = maskOf(paths[waiter], unsigned(std::countr_zero(left)));
    std::vector<Part> parts;
    Lanes all = 0;
    for (auto [number, path] : enumerate(paths)) {
      if (path.state != Path::State::WaitsForMembers || !areSame(micro, *path.where))
        continue;
      Lanes lanes = 0;
      for (unsigned lane = 0; lane < kLanes; ++lane)
        if (path.lanes >> lane & 1 && maskOf(path, lane) == mask)
          lanes |= 1u << lane;
      if (lanes)
        parts.push_back({number, lanes});
      all |= lanes;
    }
    left &= ~all;
    if (mask & live & ~all)
      continue;
    for (Part &part : parts)
      if (Path &path = paths[part.path]; path.lanes != part.lanes) { // those of the mask go on
        Path rest = path;
        rest.lanes &= ~part.lanes;
        path.lanes = part.lanes;
        paths.push_back(rest);
      }
    executeTogether(parts);
    // Those of other masks are on another path now.
    waiter = size_t(find_if(paths, [&](const Path &path) { return (path.lanes & left) != 0; }) -
                    paths.begin());
  }
}

} // namespace rubia::reference::interpreter
