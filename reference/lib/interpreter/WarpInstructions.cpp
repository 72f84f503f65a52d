// SPDX-License-Identifier: Apache-2.0
// Instructions of a warp's lanes together: vote, shfl, match, redux, elect, activemask,
// bar.warp.sync. With .sync they are executed by the members of a mask, all at the same time.
#include "reference/lib/interpreter/Decode.h"
#include "reference/lib/interpreter/Warp.h"
#include "llvm/Support/Error.h"
#include <bit>

using namespace llvm;

namespace rubia::ptx::Op {
extern const Operation Activemask, BarWarpSync, Elect, Match, Redux, Shfl, Vote;
} // namespace rubia::ptx::Op
namespace rubia::ptx::Mod {
extern const Modifier All, Any, Ballot, Bfly, Down, Sync, Up;
} // namespace rubia::ptx::Mod

namespace rubia::reference::interpreter {
namespace {

namespace Mod = ptx::Mod;

bool has(Lanes lanes, unsigned lane) { return lanes >> lane & 1; }

// The lanes that a lane's instruction is for: those of its mask that are here. Without .sync, all
// that are here.
Lanes membersOf(Warp &warp, const Micro &micro, unsigned lane) {
  return micro.flow == Flow::Meets ? warp.active & Lanes(warp.source(micro, micro.target)[lane])
                                   : warp.active;
}

Lanes lanesWhere(const uint64_t *row, Lanes lanes) {
  Lanes result = 0;
  for (unsigned lane = 0; lane < kLanes; ++lane)
    result |= Lanes(row[lane] & 1) << lane;
  return result & lanes;
}

void vote(Warp &warp, const Micro &micro) {
  const ptx::Spelling &spelling = *micro.instruction->spelling;
  const Lanes holds = lanesWhere(warp.source(micro, 0), warp.active), active = warp.active;
  uint64_t results[kLanes] = {};
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if (!has(active, lane))
      continue;
    const Lanes members = membersOf(warp, micro, lane), ballot = holds & members;
    results[lane] = spelling.has(Mod::Ballot) ? ballot
                    : spelling.has(Mod::All)  ? ballot == members
                    : spelling.has(Mod::Any)  ? ballot != 0
                                              : ballot == 0 || ballot == members;
  }
  for (unsigned lane = 0; lane < kLanes; ++lane)
    if (has(active, lane))
      warp.write(micro, 0, lane, results[lane]);
}

// PTX ISA: data-movement-and-conversion-instructions-shfl-sync
void shuffle(Warp &warp, const Micro &micro) {
  const ptx::Spelling &spelling = *micro.instruction->spelling;
  const Lanes active = warp.active;
  uint64_t values[kLanes], found[kLanes];
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if (!has(active, lane))
      continue;
    const uint32_t b = uint32_t(warp.source(micro, 1)[lane]) & 31;
    const uint32_t control = uint32_t(warp.source(micro, 2)[lane]);
    const uint32_t clamp = control & 31, segments = control >> 8 & 31;
    const uint32_t last = (lane & segments) | (clamp & ~segments), first = lane & segments;
    uint32_t from;
    bool isThere;
    if (spelling.has(Mod::Up)) {
      from = lane - b;
      isThere = int32_t(from) >= int32_t(last);
    } else if (spelling.has(Mod::Down)) {
      from = lane + b;
      isThere = from <= last;
    } else if (spelling.has(Mod::Bfly)) {
      from = lane ^ b;
      isThere = from <= last;
    } else {
      from = first | (b & ~segments);
      isThere = from <= last;
    }
    if (!isThere)
      from = lane;
    values[lane] = warp.source(micro, 0)[from & 31];
    found[lane] = isThere;
  }
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if (!has(active, lane))
      continue;
    warp.write(micro, 0, lane, values[lane]);
    if (micro.destinations.size() > 1)
      warp.write(micro, 1, lane, found[lane]);
  }
}

void match(Warp &warp, const Micro &micro) {
  const bool isAll = micro.instruction->spelling->has(Mod::All);
  uint64_t values[kLanes];
  std::copy_n(warp.source(micro, 0), kLanes, values);
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if (!has(warp.active, lane))
      continue;
    const Lanes members = membersOf(warp, micro, lane);
    Lanes same = 0;
    for (unsigned other = 0; other < kLanes; ++other)
      if (has(members, other) && values[other] == values[lane])
        same |= 1u << other;
    const bool agrees = same == members;
    warp.write(micro, 0, lane, isAll && !agrees ? 0 : same);
    if (micro.destinations.size() > 1)
      warp.write(micro, 1, lane, agrees);
  }
}

void reduce(Warp &warp, const Micro &micro) {
  const auto &reference = *static_cast<const Reference *>(micro.data);
  uint64_t values[kLanes], results[kLanes];
  std::copy_n(warp.source(micro, 0), kLanes, values);
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if (!has(warp.active, lane))
      continue;
    Lanes members = membersOf(warp, micro, lane);
    uint64_t result = values[std::countr_zero(members)];
    for (members &= members - 1; members; members &= members - 1) {
      ReferenceInputs inputs;
      inputs.source[0] = result;
      inputs.source[1] = values[std::countr_zero(members)];
      result = reference(inputs).bits & 0xffffffff;
    }
    results[lane] = result;
  }
  for (unsigned lane = 0; lane < kLanes; ++lane)
    if (has(warp.active, lane))
      warp.write(micro, 0, lane, results[lane]);
}

void elect(Warp &warp, const Micro &micro) {
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if (!has(warp.active, lane))
      continue;
    const unsigned leader = unsigned(std::countr_zero(membersOf(warp, micro, lane)));
    warp.write(micro, 0, lane, leader);
    warp.write(micro, 1, lane, leader == lane);
  }
}

void activeMask(Warp &warp, const Micro &micro) {
  for (unsigned lane = 0; lane < kLanes; ++lane)
    if (has(warp.active, lane))
      warp.write(micro, 0, lane, warp.active);
}

void nothing(Warp &, const Micro &) {}

// The last operand is the mask, if there is a .sync.
void decodeTogether(Decoder &decoder, Execute function, bool hasDestination = true) {
  ArrayRef<ptx::Operand> operands = decoder.inst().operands;
  if (hasDestination) {
    decoder.destination(operands[0]);
    operands = operands.drop_front();
  }
  for (const ptx::Operand &operand : operands)
    decoder.source(operand, decoder.inst().op() == ptx::Op::Match && &operand == operands.begin()
                                ? decoder.spelling().type()
                                : ptx::Type::B32);
  const bool isSync = decoder.spelling().has(Mod::Sync);
  decoder.execute(function, isSync ? Flow::Meets : Flow::Straight);
  decoder.micro.target = uint32_t(decoder.sources.size()) - 1;
}
void decodeVote(Decoder &decoder) { decodeTogether(decoder, vote); }
void decodeShfl(Decoder &decoder) { decodeTogether(decoder, shuffle); }
void decodeMatch(Decoder &decoder) { decodeTogether(decoder, match); }
void decodeElect(Decoder &decoder) { decodeTogether(decoder, elect); }
void decodeBarWarpSync(Decoder &decoder) { decodeTogether(decoder, nothing, false); }
void decodeActivemask(Decoder &decoder) {
  decoder.destination(decoder.inst().operands[0]);
  decoder.execute(activeMask);
}
void decodeRedux(Decoder &decoder) {
  const ptx::Spelling &spelling = decoder.spelling();
  std::string word = spelling.text.str();
  word.erase(0, StringRef("redux.sync.").size());
  auto reference = referenceFor(word);
  if (!reference)
    return decoder.unsupported(toString(reference.takeError()));
  decodeTogether(decoder, reduce);
  decoder.micro.data = &decoder.code.references.emplace_back(std::move(*reference));
}

constexpr Family kFamilies[] = {
    {ptx::Op::Vote, decodeVote},
    {ptx::Op::Shfl, decodeShfl},
    {ptx::Op::Match, decodeMatch},
    {ptx::Op::Redux, decodeRedux},
    {ptx::Op::Elect, decodeElect},
    {ptx::Op::Activemask, decodeActivemask},
    {ptx::Op::BarWarpSync, decodeBarWarpSync},
};

} // namespace

ArrayRef<Family> warps() { return kFamilies; }

} // namespace rubia::reference::interpreter
