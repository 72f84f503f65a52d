// SPDX-License-Identifier: Apache-2.0
#include "tools/diff/Explain.h"
#include "tools/diff/Chase.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;

namespace rubia::tools {

using capsule::BufferResult;
using capsule::LaunchResult;
using capsule::Party;
using capsule::Verdict;

static std::string nameOf(const ReplayTarget &target) {
  return target.isReference ? "the reference" : target.name;
}

Vote voteOf(const LaunchResult &recordedAndThird, const LaunchResult &thirdAndTarget,
            const Voters &voters) {
  const std::string target = nameOf(voters.target), third = nameOf(voters.third);
  const auto isKnown = [](const LaunchResult &result) {
    return result.verdict <= Verdict::Recordings || result.verdict == Verdict::Different;
  };
  const bool asRecorded = recordedAndThird.verdict <= Verdict::Recordings,
             asTarget = thirdAndTarget.verdict <= Verdict::Recordings;
  if (recordedAndThird.verdict == Verdict::Failed && thirdAndTarget.verdict == Verdict::Failed)
    return {Party::Program, "the program is wrong, or what was recorded: " + third +
                                " fails too: " + recordedAndThird.reason};
  if (recordedAndThird.verdict == Verdict::Unsupported ||
      recordedAndThird.verdict == Verdict::Failed)
    return {Party::Unknown, "no third vote: " + recordedAndThird.reason};
  const Party wrong = voters.target.isReference ? Party::Reference : Party::Target;
  if (asRecorded && thirdAndTarget.verdict == Verdict::Failed)
    return {wrong, target + " is wrong: it fails, and " + third + " is as recorded"};
  if (!isKnown(recordedAndThird) || !isKnown(thirdAndTarget))
    return {Party::Unknown, "no third vote: what differs from " + third + " is undecided"};
  if (asRecorded && asTarget)
    return {Party::Unknown, "no third vote: " + third + " is within the bound of both"};
  if (asRecorded)
    return {wrong, target + " is wrong: " + third + " is as recorded"};
  if (asTarget)
    return {Party::Recorded,
            "the recorded side is wrong, or ran another program: " + third + " is as " + target};
  return {Party::Program, "the recording, " + third + " and " + target +
                              " all differ: the program may be undefined, or several are wrong"};
}

namespace {

bool isEndless(const LaunchResult &result) {
  return result.verdict == Verdict::Failed && StringRef(result.reason).contains(kNotEnded);
}

/// A thread to look at, and what it is called.
struct Candidate {
  capsule::Writer thread;
  std::string name;
  uint32_t failingLine = 0;
};

class Search {
public:
  Search(const capsule::Capsule &capsule, const ReplayWork &work, const Voters &voters,
         LaunchResult &result, Chase &chase)
      : capsule(capsule), launch(*result.launch), work(work), voters(voters), result(result),
        chase(chase) {}
  Error run();

private:
  /// True: it is found, or enough was looked at.
  Expected<bool> look(const Candidate &candidate);
  Error lookAtFailure();
  Error lookAtSamples();
  Error lookAtDifferences();
  Expected<bool> lookAtWriters(const capsule::LocateRequest &request, const ReplayTarget &on);
  void conclude();
  Candidate sample(bool isLastCta, bool isLastThread) const;
  bool isFailed() const { return result.verdict == Verdict::Failed; }

  const capsule::Capsule &capsule;
  const capsule::Launch &launch;
  const ReplayWork &work;
  const Voters &voters;
  LaunchResult &result;
  Chase &chase;
  unsigned left = 6; // threads
  std::optional<Chase::Found> found;
  std::vector<std::string> lines; // of the first thread
};

Expected<bool> Search::look(const Candidate &candidate) {
  if (!left || chase.hasFollowed(candidate.thread))
    return !left;
  --left;
  Expected<Chase::Found> one =
      chase.follow(candidate.thread, candidate.name, candidate.failingLine);
  if (!one)
    return one.takeError();
  if (lines.empty())
    lines = one->lines;
  // A load of what nobody could be found to have computed is the last resort.
  if (one->site && (!found || one->isComputed))
    found = std::move(*one);
  return found && found->isComputed;
}

Candidate Search::sample(bool isLastCta, bool isLastThread) const {
  capsule::Writer thread;
  for (unsigned i = 0; i < 3; ++i) {
    thread.cta[i] = isLastCta ? launch.grid[i] - 1 : 0;
    thread.thread[i] = isLastThread ? launch.block[i] - 1 : 0;
  }
  return {thread, threadOf(thread), 0};
}

Error Search::lookAtFailure() {
  std::vector<Candidate> candidates;
  Expected<std::optional<FailingThread>> failing =
      voters.target.isReference
          ? Expected<std::optional<FailingThread>>(failingThreadIn(result.reason))
          : failingThread(capsule, launch, work,
                          isEndless(result) ? impatient(voters.compiled(), work.timeout)
                                            : voters.compiled());
  if (!failing)
    return failing.takeError();
  if (*failing)
    candidates.push_back({(*failing)->thread, threadOf((*failing)->thread), (*failing)->line});
  for (const Candidate &candidate : candidates) {
    Expected<bool> isEnd = look(candidate);
    if (!isEnd)
      return isEnd.takeError();
    if (*isEnd)
      return Error::success();
  }
  return lookAtSamples();
}

Error Search::lookAtSamples() {
  for (bool isLastCta : {false, true})
    for (bool isLastThread : {false, true}) {
      Expected<bool> isEnd = look(sample(isLastCta, isLastThread));
      if (!isEnd)
        return isEnd.takeError();
      if (*isEnd || found) // a launch that never ends takes long each time
        return Error::success();
    }
  return Error::success();
}

Expected<bool> Search::lookAtWriters(const capsule::LocateRequest &request,
                                     const ReplayTarget &on) {
  Expected<std::vector<capsule::Writer>> writers = writersOn(work, on, request);
  if (!writers)
    return writers.takeError();
  for (const capsule::Writer &writer : *writers) {
    const std::string name =
        threadOf(writer) + (on.isReference ? " (which writes there on the reference)" : "");
    Expected<bool> isEnd = look({writer, name, 0});
    if (!isEnd || *isEnd)
      return isEnd;
  }
  return false;
}

Error Search::lookAtDifferences() {
  for (const BufferResult &buffer : result.buffers)
    if (buffer.writer) {
      Expected<bool> isEnd = look({*buffer.writer, "the thread that wrote it", 0});
      if (!isEnd)
        return isEnd.takeError();
      if (*isEnd)
        return Error::success();
    }
  if (result.wrong == Party::Recorded) // both sides that can be watched agree
    return Error::success();
  // An element may be one that nobody writes on the target, or one that only a stray store reaches.
  constexpr size_t kMostElements = 4;
  for (const BufferResult &buffer : result.buffers) {
    if (!buffer.first || buffer.region >= launch.memory.size())
      continue;
    std::vector<uint64_t> elements = {buffer.first->index};
    const size_t step = std::max<size_t>(1, buffer.stretchParts.size() / kMostElements);
    for (size_t i = 0; i < buffer.stretchParts.size(); i += step)
      elements.push_back(buffer.stretchParts[i].element);
    for (uint64_t element : elements)
      for (const ReplayTarget *on : {&voters.interpreted(), &voters.compiled()}) {
        const size_t index = size_t(&launch - capsule.launches.data());
        Expected<bool> isEnd =
            lookAtWriters({index, buffer.region, element * buffer.elementBytes, std::nullopt}, *on);
        if (!isEnd)
          return isEnd.takeError();
        if (*isEnd)
          return Error::success();
      }
  }
  return found ? Error::success() : lookAtSamples(); // who writes to surfaces is not known
}

void Search::conclude() {
  append_range(result.explanation, found ? found->lines : lines);
  if (found) {
    result.instruction = found->site;
    result.isComputed = found->isComputed && result.wrong != Party::Recorded;
    return;
  }
  if (result.wrong == Party::Recorded)
    return;
  const bool isOfSurface = any_of(result.buffers, [&](const BufferResult &buffer) {
    return buffer.differing && buffer.region >= launch.memory.size();
  });
  if (const auto store = chase.surfaceStore(); store && isOfSurface) {
    result.instruction = store;
    result.explanation.push_back(
        formatv("all that leads to line {0} of the PTX is equal, but not what it leaves in the "
                "surface: {1}",
                store->line, store->text));
    return;
  }
  for (const BufferResult &buffer : result.buffers)
    if (buffer.writer && chase.isAtomic(buffer.writer->site.line)) {
      result.instruction = buffer.writer->site;
      result.explanation.push_back(formatv(
          "all that leads to line {0} of the PTX is equal, but not what it leaves in memory: "
          "{1}",
          buffer.writer->site.line, buffer.writer->site.text));
      return;
    }
}

Error Search::run() {
  Error error = isFailed() ? lookAtFailure() : lookAtDifferences();
  conclude(); // what is known by now is told all the same
  return error;
}

} // namespace

Error explain(const capsule::Capsule &capsule, const ReplayWork &work, const Voters &voters,
              const DiffersOn &differs, LaunchResult &result) {
  Expected<Chase> chase =
      Chase::open(capsule,
                  {*result.launch, result.moved,
                   result.verdict == Verdict::Failed && !voters.target.isReference,
                   isEndless(result), result.isOfNans},
                  work, voters.compiled(), voters.interpreted());
  if (!chase)
    return chase.takeError();
  if (Error error = Search(capsule, work, voters, result, *chase).run())
    return error;
  const bool isOfCompiler =
      result.wrong == Party::Target ||
      (result.verdict == Verdict::Undecided && !voters.target.isReference && !result.isComputed);
  if (!isOfCompiler || (result.instruction && result.verdict != Verdict::Undecided))
    return Error::success();
  result.explanation.push_back((result.verdict == Verdict::Undecided
                                    ? Twine("no instruction is known to compute something else")
                                    : Twine("what is watched is compiled otherwise"))
                                   .concat(", so the steps of the compiler are looked at:")
                                   .str());
  Expected<std::vector<std::string>> steps =
      bisectCompiler(capsule, *result.launch, work, voters.target, differs);
  if (!steps)
    return steps.takeError();
  append_range(result.explanation, *steps);
  return Error::success();
}

} // namespace rubia::tools
