// SPDX-License-Identifier: Apache-2.0
// What lies within the noise is told by the perturbed runs themselves: each of them is judged by
// the others, as the recording is by all. So nothing is assumed about how errors are distributed.
#include "diff/Compare.h"
#include "diff/Replay.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include <cmath>

using namespace llvm;
using rubia::ptx::Type;

namespace rubia::capsule {
namespace {

// A difference is doubtful, and it is far off, if it is so many times the largest one of the runs.
constexpr double kDoubtful = 4, kFar = 64;
// A few elements of a run may be beyond the others; so many times as many may of the recording.
constexpr uint64_t kMore = 2;

/// How far the runs are from the unmoved one, by element.
struct Spread {
  struct Element {
    double largest = 0, second = 0;
    unsigned of = 0; // the run that has the largest

    /// Of all runs but one.
    double without(unsigned run) const { return run == of ? second : largest; }
  };
  std::vector<Element> elements;

  void add(unsigned run, uint64_t index, double distance) {
    Element &element = elements[index];
    if (distance > element.largest) {
      element.second = element.largest;
      element.largest = distance;
      element.of = run;
    } else {
      element.second = std::max(element.second, distance);
    }
  }
};

struct Counts {
  uint64_t doubtful = 0, far = 0;
  uint64_t open = 0; // the runs differ there, by more than can be told
  double ratio = 0;

  void add(double distance, double spread) {
    if (distance == 0)
      return;
    if (std::isinf(spread)) {
      ++open;
      return;
    }
    doubtful += distance > kDoubtful * spread;
    far += distance > kFar * spread;
    ratio = std::max(ratio, distance / spread); // infinite where nothing moved
  }
};

bool areNans(const fltSemantics &semantics, uint64_t a, uint64_t b) {
  const unsigned bits = APFloat::getSizeInBits(semantics);
  const auto isNan = [&](uint64_t of) {
    return APFloat(semantics, APInt(bits, of, false, true)).isNaN();
  };
  return isNan(a) && isNan(b);
}

/// Of elements of no known type: as numbers of some type, what differs is the bits of NaNs alone.
bool mayBeNans(ArrayRef<uint8_t> a, ArrayRef<uint8_t> b, uint64_t index) {
  const uint64_t x = elementAt(a, index, 4), y = elementAt(b, index, 4);
  const auto areHalves = [&](const fltSemantics &semantics) {
    return all_of(seq(2u), [&](unsigned half) {
      const uint16_t p = x >> (16 * half), q = y >> (16 * half);
      return p == q || areNans(semantics, p, q);
    });
  };
  return areNans(APFloat::IEEEsingle(), x, y) || areHalves(APFloat::IEEEhalf()) ||
         areHalves(APFloat::BFloat());
}

Expected<std::vector<uint8_t>> after(const Run &run, size_t region) {
  const Region &found = *run.launch.regions()[region];
  return run.capsule.contents(found, *found.after);
}

class Judge {
public:
  Judge(BufferResult &buffer, const Run &expected, const Run &got, const PerturbedSet &runs)
      : buffer(buffer), expected(expected), got(got), unmoved(runs.unmoved), moved(runs.moved) {}
  /// `ifFar`: what a difference is that no run shows.
  Error decide(Verdict ifWithin, Verdict ifFar);

private:
  Error measure();
  double distance(ArrayRef<uint8_t> a, ArrayRef<uint8_t> b, uint64_t index) const {
    return distanceBetween(buffer.type, elementAt(a, index, buffer.elementBytes),
                           elementAt(b, index, buffer.elementBytes));
  }

  BufferResult &buffer;
  const Run &expected, &got, &unmoved;
  ArrayRef<Run> moved;
  Counts most; // of any run, judged by the others
  Counts ofRecording;
  std::optional<uint64_t> farthest; // the first element that is far off
};

Error Judge::measure() {
  Expected<std::vector<uint8_t>> base = after(unmoved, buffer.region);
  if (!base)
    return base.takeError();
  Spread spread;
  spread.elements.resize(buffer.elements);
  for (bool isJudging : {false, true})
    for (unsigned run = 0; run < moved.size(); ++run) {
      Expected<std::vector<uint8_t>> bytes = after(moved[run], buffer.region);
      if (!bytes)
        return bytes.takeError();
      if (bytes->size() != base->size())
        return createStringError("a perturbed run reaches other allocations");
      Counts counts;
      for (uint64_t i = 0; i < buffer.elements; ++i) {
        const double there = distance(*base, *bytes, i);
        if (isJudging)
          counts.add(there, spread.elements[i].without(run));
        else
          spread.add(run, i, there);
      }
      most.doubtful = std::max(most.doubtful, counts.doubtful);
      most.far = std::max(most.far, counts.far);
    }
  Expected<std::vector<uint8_t>> now = after(got, buffer.region);
  if (!now)
    return now.takeError();
  Expected<std::vector<uint8_t>> recorded = after(expected, buffer.region);
  if (!recorded)
    return recorded.takeError();
  for (uint64_t i = 0; i < buffer.elements; ++i) {
    if (buffer.type == Type::None && distance(*now, *recorded, i) != 0 &&
        mayBeNans(*now, *recorded, i)) {
      ++ofRecording.open;
      continue;
    }
    const uint64_t before = ofRecording.far;
    ofRecording.add(distance(*now, *recorded, i), spread.elements[i].largest);
    if (ofRecording.far > before && !farthest)
      farthest = i;
  }
  if (farthest && ofRecording.far > kMore * most.far)
    buffer.first = {*farthest, elementAt(*recorded, *farthest, buffer.elementBytes),
                    elementAt(*now, *farthest, buffer.elementBytes)};
  return Error::success();
}

Error Judge::decide(Verdict ifWithin, Verdict ifFar) {
  if (Error error = measure())
    return error;
  buffer.moved = BufferResult::Moved{unsigned(moved.size()), ofRecording.far, ofRecording.ratio,
                                     ifWithin == Verdict::Recordings};
  if (ofRecording.far > kMore * most.far) {
    buffer.verdict = ifFar;
  } else if (ofRecording.doubtful <= kMore * most.doubtful && !ofRecording.open) {
    buffer.verdict = ifWithin;
  }
  return Error::success();
}

} // namespace

Error decideByNoise(LaunchResult &result, const Run &expected, const Run &got,
                    const PerturbedSet &runs, StringRef still) {
  for (const Run &run : runs.moved)
    if (!run.launch.whyNotReplayable().empty() ||
        run.launch.regions().size() != got.launch.regions().size()) {
      result.reason += "; a perturbed run cannot be had: " + run.launch.whyNotReplayable();
      return Error::success();
    }
  const Verdict ifFar = !still.empty()        ? Verdict::Undecided
                        : result.isOtherImage ? Verdict::OtherImage
                                              : Verdict::Different;
  result.verdict = Verdict::Equal;
  for (BufferResult &buffer : result.buffers) {
    if (buffer.verdict == Verdict::Undecided)
      if (Error error = Judge(buffer, expected, got, runs).decide(Verdict::Within, ifFar))
        return error;
    result.verdict = std::max(result.verdict, buffer.verdict);
  }
  if (result.verdict == Verdict::Different)
    result.reason.clear(); // inexact instructions are none
  if (result.verdict == Verdict::Undecided && !still.empty())
    result.reason = still.str() + ", whose results are not perturbed";
  addOpenMaps(result);
  return Error::success();
}

/// From the same memory, with the same results to compare.
static bool beganAlike(const Launch &a, const Launch &b) {
  const std::vector<const Region *> ofA = a.regions(), ofB = b.regions();
  if (a.kernel != b.kernel || ofA.size() != ofB.size())
    return false;
  // Memory may lie elsewhere in another process.
  std::vector<Relocation::Move> moves;
  for (size_t i = 0; i < ofA.size(); ++i)
    moves.push_back({ofB[i]->address, ofA[i]->address, ofB[i]->bytes});
  std::vector<uint8_t> parameters = b.parameters;
  Relocation(std::move(moves)).apply(parameters);
  return a.parameters == parameters && std::equal(ofA.begin(), ofA.end(), ofB.begin(), ofB.end(),
                                                  [](const Region *p, const Region *q) {
                                                    return p->bytes == q->bytes &&
                                                           p->before == q->before && q->after;
                                                  });
}

// The recordings take the place of the perturbed runs, and ours that of the recording.
Error decideByRecordings(LaunchResult &result, const Run &recorded, const Run &got,
                         ArrayRef<Run> others) {
  for (const Run &other : others)
    if (other.capsule.environment.hasNoResults || !beganAlike(recorded.launch, other.launch)) {
      result.reason += "; another recording of it began with something else, or has no results";
      return Error::success();
    }
  const PerturbedSet runs = {recorded, others.vec()};
  result.verdict = Verdict::Equal;
  for (BufferResult &buffer : result.buffers) {
    if (buffer.verdict == Verdict::Undecided) {
      const std::optional<Element> first = buffer.first;
      if (Error error =
              Judge(buffer, got, recorded, runs).decide(Verdict::Recordings, Verdict::Undecided))
        return error;
      buffer.first = first;
    }
    result.verdict = std::max(result.verdict, buffer.verdict);
  }
  addOpenMaps(result);
  return Error::success();
}

} // namespace rubia::capsule
