// SPDX-License-Identifier: Apache-2.0
#include "tools/diff/Explain.h"
#include "diff/Images.h"
#include "diff/Stores.h"
#include "input/File.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/FormatVariadic.h"
#include <map>

using namespace llvm;

namespace rubia::tools {

using capsule::LaunchResult;
using capsule::TraceDifference;
using capsule::TraceSite;
using capsule::Verdict;

std::string textOfVotes(const LaunchResult &recordedAndReference,
                        const LaunchResult &referenceAndTarget, StringRef target) {
  const auto isKnown = [](const LaunchResult &result) {
    return result.verdict <= Verdict::Recordings || result.verdict == Verdict::Different;
  };
  if (recordedAndReference.verdict == Verdict::Unsupported ||
      recordedAndReference.verdict == Verdict::Failed)
    return "no third vote: " + recordedAndReference.reason;
  if (!isKnown(recordedAndReference) || !isKnown(referenceAndTarget))
    return "no third vote: what differs from the reference is undecided";
  const bool asRecorded = recordedAndReference.verdict != Verdict::Different,
             asTarget = referenceAndTarget.verdict != Verdict::Different;
  if (asRecorded && asTarget)
    return "no third vote: the reference is within the bound of both";
  if (asRecorded)
    return (target + " is wrong: the reference is as recorded").str();
  if (asTarget)
    return ("the recorded side is wrong, or ran another program: the reference is as " + target)
        .str();
  return ("the recording, the reference and " + target +
          " all differ: the program may be undefined, or several are wrong")
      .str();
}

static uint32_t linear(const uint32_t (&at)[3], const uint32_t (&in)[3]) {
  return (at[2] * in[1] + at[1]) * in[0] + at[0];
}

static std::string textOf(ptx::Type type, uint64_t bits) {
  const unsigned bytes = type == ptx::Type::Pred ? 1 : ptx::sizeInBits(type) / 8;
  if (ptx::classOf(type) == ptx::TypeClass::Float)
    return capsule::textOf(type, bytes, bits);
  return formatv("{0} (0x{1})", bits, utohexstr(bits, true, 2 * bytes)).str();
}

static std::string placeText(const capsule::StoreSite &site) {
  return formatv("line {0} of the PTX{1}: {2}", site.line,
                 site.source.empty() ? "" : " (" + site.source + ")", site.text)
      .str();
}

namespace {

/// Follows a difference from thread to thread, back to the instruction that made it.
class Chase {
public:
  Chase(const capsule::Capsule &capsule, const capsule::Launch &launch, const ReplayWork &work,
        const ReplayTarget &target, const ReplayTarget &reference)
      : capsule(capsule), launch(launch), work(work), target(target), reference(reference) {
    this->target.settings.set(settings::Id::contract, "never");
    this->target.settings.set(settings::Id::nan, "canonical");
  }

  Error open();
  Error run(capsule::Writer writer);
  std::vector<std::string> lines;
  std::optional<capsule::StoreSite> site; // the last instruction that was named

private:
  Expected<TraceDifference> compare(const capsule::Writer &writer, capsule::Given given);
  /// Where the load reads, to be asked who wrote it. None: in local or constant memory, or unknown.
  std::optional<capsule::LocateRequest> placeOf(const TraceDifference &found,
                                                const capsule::Writer &writer) const;
  void tell(const TraceDifference &found, StringRef whose);
  std::string textOfRegister(const TraceSite &reader, StringRef name, uint64_t bits) const;
  size_t index() const { return size_t(&launch - capsule.launches.data()); }
  uint32_t ctaOf(const capsule::Writer &writer) const { return linear(writer.cta, launch.grid); }

  const capsule::Capsule &capsule;
  const capsule::Launch &launch;
  const ReplayWork &work;
  ReplayTarget target;
  const ReplayTarget &reference;
  std::vector<TraceSite> sites;
  /// Of a thread: what it computed on the target.
  std::map<std::pair<uint32_t, uint32_t>, std::vector<uint8_t>> traces;
};

std::string threadOf(const capsule::Writer &writer) {
  return formatv("thread ({0},{1},{2}) of CTA ({3},{4},{5})", writer.thread[0], writer.thread[1],
                 writer.thread[2], writer.cta[0], writer.cta[1], writer.cta[2])
      .str();
}

Error Chase::open() {
  std::string ptx;
  if (work.ptx.empty()) {
    Expected<capsule::ReplayImage> image = capsule::replayImage(capsule, launch);
    if (!image)
      return image.takeError();
    ptx = std::move(image->ptx);
  } else {
    auto file = input::readFile(work.ptx, UINT64_MAX);
    if (!file)
      return file.takeError();
    ptx = (*file)->getBuffer().str();
  }
  Expected<capsule::KernelStores> stores = capsule::storesOf(ptx, launch.kernel);
  if (!stores)
    return stores.takeError();
  if (stores->areHandlesInMemory) // the replay changes such PTX, so places are others
    return createStringError("its handles of textures lie in memory");
  Expected<capsule::TracedPtx> traced =
      capsule::instrumentTrace(ptx, launch.kernel, capsule::Given::Nothing);
  if (!traced)
    return traced.takeError();
  sites = std::move(traced->sites);
  return Error::success();
}

Expected<TraceDifference> Chase::compare(const capsule::Writer &writer, capsule::Given given) {
  const capsule::TraceOf of{index(), ctaOf(writer), linear(writer.thread, launch.block), given};
  std::vector<uint8_t> &here = traces[{of.cta, of.thread}];
  if (here.empty())
    if (Error error = traceOn(work, target, of).moveInto(here))
      return std::move(error);
  Expected<std::vector<uint8_t>> there = traceOn(work, reference, of, here);
  if (!there)
    return there.takeError();
  return capsule::compareTraces(here, *there, sites, given);
}

std::optional<capsule::LocateRequest> Chase::placeOf(const TraceDifference &found,
                                                     const capsule::Writer &writer) const {
  const TraceSite &site = sites[found.site];
  const unsigned byte = unsigned(countr_zero(found.first ^ found.second)) / 8;
  if (site.space == ptx::StateSpace::Shared)
    return capsule::LocateRequest{index(), 0, found.place.first + byte, ctaOf(writer)};
  if (site.space != ptx::StateSpace::Global && site.space != ptx::StateSpace::None)
    return std::nullopt;
  const uint64_t address = found.place.second + byte; // on the reference nothing is moved
  for (size_t i = 0; i < launch.memory.size(); ++i)
    if (address - launch.memory[i].address < launch.memory[i].bytes)
      return capsule::LocateRequest{index(), i, address - launch.memory[i].address};
  return std::nullopt;
}

std::string Chase::textOfRegister(const TraceSite &reader, StringRef name, uint64_t bits) const {
  const auto found = find_if(sites, [&](const TraceSite &site) {
    return site.function == reader.function && site.result == name;
  });
  return textOf(found == sites.end() ? ptx::Type::B64 : found->type, bits);
}

void Chase::tell(const TraceDifference &found, StringRef whose) {
  const std::string counts =
      formatv("{0} results of it are equal before that, {1} are open", found.compared, found.open);
  const TraceSite *site = found.site < sites.size() ? &sites[found.site] : nullptr;
  switch (found.kind) {
  case TraceDifference::Kind::None:
    lines.push_back(
        formatv("of {0}, {1} results are equal, {2} are open: none differs while it is watched, "
                "without fused operations, and with NVIDIA's bits of NaNs",
                whose, found.compared, found.open));
    return;
  case TraceDifference::Kind::Cut:
    lines.push_back(
        formatv("none of the first {0} results of {1} differs", capsule::kTraceMost, whose));
    return;
  case TraceDifference::Kind::Path:
    this->site = site->place;
    append_range(lines, std::vector<std::string>{(whose + " takes another way on " + target.name +
                                                  " than on the "
                                                  "reference")
                                                     .str(),
                                                 "  the last instruction on one side: " +
                                                     placeText(site->place),
                                                 "  " + counts});
    return;
  case TraceDifference::Kind::Value:
    break;
  }
  this->site = site->place;
  lines.push_back(
      ("the first result that differs, in " + whose + ": " + placeText(site->place)).str());
  lines.push_back(formatv("  {0}: {1} {2}, reference {3}", site->result, target.name,
                          textOf(site->type, found.first), textOf(site->type, found.second)));
  for (const TraceDifference::Operand &operand : found.operands)
    lines.push_back("  with " + operand.name + " = " +
                    textOfRegister(*site, operand.name, operand.first) +
                    (operand.first == operand.second
                         ? ""
                         : ", reference " + textOfRegister(*site, operand.name, operand.second) +
                               ": it lies elsewhere"));
  for (const TraceDifference::Step &step : found.slice)
    lines.push_back(formatv("  from {0} = {1}: {2}", sites[step.site].result,
                            textOf(sites[step.site].type, step.bits),
                            placeText(sites[step.site].place)));
  lines.push_back("  " + counts);
}

Error Chase::run(capsule::Writer writer) {
  constexpr size_t kMostHops = 32, kMostWriters = 8;
  Expected<TraceDifference> found = compare(writer, capsule::Given::Open);
  if (!found)
    return found.takeError();
  tell(*found, "the thread that wrote it");
  for (size_t hop = 0; found->kind == TraceDifference::Kind::Value && sites[found->site].isLoad;
       ++hop) {
    const std::optional<capsule::LocateRequest> place = placeOf(*found, writer);
    if (!place) {
      lines.push_back("  who wrote what it loads there is not known");
      return Error::success();
    }
    if (hop == kMostHops) {
      lines.push_back(formatv("  it is not followed over more than {0} threads", kMostHops));
      return Error::success();
    }
    Expected<std::vector<capsule::Writer>> writers = writersOn(work, target, *place);
    if (!writers)
      return writers.takeError();
    if (writers->empty()) {
      lines.push_back("  no store of the launch that can be watched wrote there");
      return Error::success();
    }
    std::optional<capsule::Writer> next;
    size_t looked = 0;
    for (const capsule::Writer &one : *writers) {
      if (traces.contains({ctaOf(one), linear(one.thread, launch.block)}) || looked == kMostWriters)
        continue;
      ++looked;
      Expected<TraceDifference> other = compare(one, capsule::Given::Open);
      if (!other)
        return other.takeError();
      if (other->kind != TraceDifference::Kind::Value && other->kind != TraceDifference::Kind::Path)
        continue;
      lines.push_back("  " + threadOf(one) + " wrote there: " + placeText(one.site));
      tell(*other, threadOf(one));
      next = one;
      found = std::move(other);
      break;
    }
    if (next) {
      writer = *next;
      continue;
    }
    // Nobody who wrote there differs: by results that are open, by the order of stores, or the
    // instruction that stores or loads is wrong. What the thread makes of its loads is left.
    lines.push_back("  the last that wrote there was " + threadOf(writers->front()) + ": " +
                    placeText(writers->front().site));
    lines.push_back(formatv("  of {0} other threads that wrote there no result differs, but for "
                            "open ones: their order, a store, or this load",
                            looked));
    Expected<TraceDifference> own = compare(writer, capsule::Given::Loads);
    if (!own)
      return own.takeError();
    if (own->kind == TraceDifference::Kind::Value || own->kind == TraceDifference::Kind::Path)
      tell(*own, threadOf(writer) + ", given what it loads");
    return Error::success();
  }
  return Error::success();
}

} // namespace

Expected<FirstDifference> firstDifference(const capsule::Capsule &capsule,
                                          const capsule::Launch &launch,
                                          const capsule::Writer &writer, const ReplayWork &work,
                                          const ReplayTarget &target,
                                          const ReplayTarget &reference) {
  Chase chase(capsule, launch, work, target, reference);
  if (Error error = chase.open())
    return std::move(error);
  if (Error error = chase.run(writer))
    return std::move(error);
  return FirstDifference{std::move(chase.lines), std::move(chase.site)};
}

} // namespace rubia::tools
