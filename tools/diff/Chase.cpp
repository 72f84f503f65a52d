// SPDX-License-Identifier: Apache-2.0
#include "tools/diff/Chase.h"
#include "diff/Compare.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace llvm;

namespace rubia::settings::Id {
extern const Setting contract, emulatorCheck, emulatorMaxReports, nan;
} // namespace rubia::settings::Id

namespace rubia::tools {

using capsule::Given;
using capsule::TraceDifference;
using capsule::TraceSite;

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

std::string threadOf(const capsule::Writer &writer) {
  return formatv("thread ({0},{1},{2}) of CTA ({3},{4},{5})", writer.thread[0], writer.thread[1],
                 writer.thread[2], writer.cta[0], writer.cta[1], writer.cta[2])
      .str();
}

/// Of all arrays of the launch; 0: textures of linear memory are filtered, too.
static Expected<double> largestTexel(const capsule::Capsule &capsule,
                                     const capsule::Launch &launch) {
  double largest = 1; // of integers, which are filtered as numbers up to 1
  for (const capsule::Texture &texture : launch.textures)
    if (texture.isFiltered() && !texture.array)
      return 0;
  for (const capsule::ArrayRegion &array : launch.arrays) {
    const unsigned bytes = array.channelBytes();
    if (!array.isFloat() || !bytes)
      continue;
    Expected<std::vector<uint8_t>> contents = capsule.contents(array, array.before);
    if (!contents)
      return contents.takeError();
    for (uint64_t i = 0; i < contents->size() / bytes; ++i) {
      const double value = std::abs(capsule::valueOf(bytes == 2 ? ptx::Type::F16 : ptx::Type::F32,
                                                     capsule::elementAt(*contents, i, bytes)));
      if (std::isfinite(value))
        largest = std::max(largest, value);
    }
  }
  return largest;
}

Chase::Chase(const capsule::Capsule &capsule, const Chased &chased, const ReplayWork &work,
             const ReplayTarget &target, const ReplayTarget &reference)
    : capsule(capsule), launch(chased.launch), work(work), target(target), reference(reference),
      isFailing(chased.isFailing), isEndless(chased.isEndless), isOfNans(chased.isOfNans) {
  for (auto [i, region] : enumerate(launch.memory))
    if (region.name.empty() && !is_contained(chased.moved.regions, i))
      fixed.emplace_back(region.address, region.bytes);
  this->target.settings.set(settings::Id::contract, "never");
  if (!isOfNans)
    this->target.settings.set(settings::Id::nan, "canonical");
  constexpr unsigned kSeconds = 60; // a launch that never ends is known by then
  if (isFailing)
    this->work.timeout = work.timeout ? std::min(work.timeout, kSeconds) : kSeconds;
  if (isEndless)
    this->target = impatient(this->target, this->work.timeout);
}

uint32_t Chase::ctaOf(const capsule::Writer &writer) const {
  return linear(writer.cta, launch.grid);
}
uint32_t Chase::threadNumber(const capsule::Writer &writer) const {
  return linear(writer.thread, launch.block);
}

Expected<Chase> Chase::open(const capsule::Capsule &capsule, const Chased &chased,
                            const ReplayWork &work, const ReplayTarget &target,
                            const ReplayTarget &reference) {
  Chase chase(capsule, chased, work, target, reference);
  if (Error error = chase.readSites())
    return std::move(error);
  return chase;
}

Error Chase::readSites() {
  Expected<std::string> ptx = work.textOf(capsule, launch);
  if (!ptx)
    return ptx.takeError();
  Expected<capsule::TracedPtx> traced =
      capsule::instrumentTrace(*ptx, launch.kernel, Given::Nothing);
  if (!traced)
    return traced.takeError();
  sites = std::move(traced->sites);
  accesses = std::move(traced->accesses);
  return boundFilters();
}

/// Textures that are not read between texels are exact.
Error Chase::boundFilters() {
  Expected<double> texels = launch.isFiltered() ? largestTexel(capsule, launch) : 0;
  if (!texels)
    return texels.takeError();
  for (TraceSite &site : sites) {
    if (!site.bound || site.bound->magnitude != capsule::Magnitude::Filter)
      continue;
    site.bound->texels = *texels;
    site.isOpen = launch.isFiltered();
    if (!*texels)
      site.bound.reset();
  }
  return Error::success();
}

std::optional<capsule::StoreSite> Chase::surfaceStore() const {
  std::optional<capsule::StoreSite> found;
  for (const capsule::StoreSite &access : accesses)
    if (StringRef(access.text).contains("sust.") || StringRef(access.text).contains("sured.")) {
      if (found)
        return std::nullopt;
      found = access;
    }
  return found;
}

bool Chase::isAtomic(uint32_t line) const {
  return any_of(sites,
                [&](const TraceSite &site) { return site.place.line == line && site.isAtomic; });
}

Expected<TraceDifference> Chase::compare(const capsule::Writer &writer, Given given,
                                         const std::optional<capsule::StoreAt> &until,
                                         bool isStored) {
  capsule::TraceOf of{index(), ctaOf(writer), threadNumber(writer), given};
  of.isFailing = isFailing;
  std::vector<uint8_t> &here = traces[{of.cta, of.thread}];
  if (here.empty())
    if (Error error = traceOn(work, target, of).moveInto(here))
      return std::move(error);
  std::vector<uint8_t> &there = this->given[{of.cta, of.thread, given}];
  if (there.empty())
    if (Error error = traceOn(work, reference, of, here).moveInto(there))
      return std::move(error);
  return capsule::compareTraces(here, there, sites, {given, isStored, fixed, until});
}

// Threads that are not watched come further, and one of those may fail first. Here the launch goes
// on behind what fails.
Expected<TraceDifference> Chase::compareBehindFailures(const capsule::Writer &writer) {
  capsule::TraceOf of{index(), ctaOf(writer), threadNumber(writer), Given::Open};
  of.isFailing = true;
  ReplayTarget onwards = target;
  onwards.settings.set(settings::Id::emulatorCheck, "memory");
  onwards.settings.set(settings::Id::emulatorMaxReports, "1000000000");
  Expected<std::vector<uint8_t>> here = traceOn(work, onwards, of);
  if (!here)
    return here.takeError();
  Expected<std::vector<uint8_t>> there = traceOn(work, reference, of, *here);
  if (!there)
    return there.takeError();
  return capsule::compareTraces(*here, *there, sites, {Given::Open, true, fixed, std::nullopt});
}

// A place that several threads store to may have what any of them stored.
Expected<TraceDifference> Chase::compareOrdered(const capsule::Writer &writer, Given given,
                                                const std::optional<capsule::StoreAt> &until) {
  Expected<TraceDifference> found = compare(writer, given, until);
  if (!found || found->kind != TraceDifference::Kind::Value ||
      sites[found->site].kind != TraceSite::Kind::Memory)
    return found;
  const std::optional<capsule::LocateRequest> place = placeOf(*found, writer);
  if (!place)
    return found;
  Expected<std::vector<capsule::Writer>> writers = writersAt(*place);
  if (!writers)
    return writers.takeError();
  std::set<std::pair<uint32_t, uint32_t>> threads;
  for (const capsule::Writer &one : *writers)
    threads.insert({ctaOf(one), threadNumber(one)});
  return threads.size() > 1 ? compare(writer, given, until, false) : std::move(found);
}

std::optional<capsule::LocateRequest> Chase::placeOf(const TraceDifference &found,
                                                     const capsule::Writer &writer) const {
  const TraceSite &site = sites[found.site];
  if (site.isOfTile)
    return std::nullopt;
  const unsigned byte = unsigned(countr_zero(found.first ^ found.second)) / 8;
  if (site.space == ptx::StateSpace::Shared)
    return capsule::LocateRequest{
        index(), 0, (isFailing ? found.place.second : found.place.first) + byte, ctaOf(writer)};
  if (site.space != ptx::StateSpace::Global && site.space != ptx::StateSpace::None)
    return std::nullopt;
  const uint64_t address = found.place.second + byte; // on the reference nothing is moved
  for (size_t i = 0; i < launch.memory.size(); ++i)
    if (address - launch.memory[i].address < launch.memory[i].bytes)
      return capsule::LocateRequest{index(), i, address - launch.memory[i].address};
  return std::nullopt;
}

Expected<std::vector<capsule::Writer>> Chase::writersAt(const capsule::LocateRequest &place) {
  return writersOn(work, isFailing ? reference : target, place);
}

std::string Chase::textOfRegister(const TraceSite &reader, StringRef name, uint64_t bits) const {
  const auto found = find_if(sites, [&](const TraceSite &site) {
    return site.function == reader.function && site.result == name;
  });
  return textOf(found == sites.end() ? ptx::Type::B64 : found->type, bits);
}

void Chase::tellValue(const TraceDifference &difference, StringRef whose, Found &out) const {
  const TraceSite &site = sites[difference.site];
  const bool isBeyond = difference.kind == TraceDifference::Kind::Beyond;
  out.lines.push_back((StringRef(isBeyond ? "the first result that is beyond its own bound, in "
                                          : "the first result that differs, in ") +
                       whose + ": " + placeText(site.place))
                          .str());
  out.lines.push_back(formatv("  {0}: {1} {2}, reference {3}", site.result, target.name,
                              textOf(site.type, difference.first),
                              textOf(site.type, difference.second)));
  for (const TraceDifference::Operand &operand : difference.operands)
    out.lines.push_back("  with " + operand.name + " = " +
                        textOfRegister(site, operand.name, operand.first) +
                        (operand.first == operand.second
                             ? ""
                             : ", reference " + textOfRegister(site, operand.name, operand.second) +
                                   ": it lies elsewhere"));
  for (const TraceDifference::Step &step : difference.slice)
    out.lines.push_back(formatv("  from {0} = {1}: {2}", sites[step.site].result,
                                textOf(sites[step.site].type, step.bits),
                                placeText(sites[step.site].place)));
}

void Chase::tell(const TraceDifference &difference, StringRef whose, Found &out) const {
  using Kind = TraceDifference::Kind;
  switch (difference.kind) {
  case Kind::None:
    out.lines.push_back(
        formatv("of {0}, {1} results are equal, {2} are open: none differs while it is watched, "
                "without fused operations{3}",
                whose, difference.compared, difference.open,
                isOfNans ? "" : ", and with NVIDIA's bits of NaNs"));
    tellOpen(difference, out);
    return;
  case Kind::Cut:
    out.lines.push_back(
        formatv("none of the first {0} results of {1} differs", capsule::kTraceMost, whose));
    return;
  case Kind::Path:
    out.lines.push_back((whose + " takes another way on " + target.name +
                         " than on the reference, from " + placeText(sites[difference.site].place))
                            .str());
    break;
  case Kind::Stopped:
    out.lines.push_back((whose + " ends in " + placeText(sites[difference.site].place)).str());
    out.lines.push_back(formatv("  it accesses 0x{0} there, as the reference does",
                                utohexstr(difference.place.first, true)));
    break;
  case Kind::Beyond:
  case Kind::Value:
    tellValue(difference, whose, out);
    break;
  }
  const TraceSite &site = sites[difference.site];
  out.site = site.place;
  out.isComputed = difference.kind != Kind::Value || !site.isLoad;
  out.lines.push_back(formatv("  {0} results of it are equal before that, {1} are open",
                              difference.compared, difference.open));
}

void Chase::tellOpen(const TraceDifference &difference, Found &out) const {
  if (!difference.other)
    return;
  const TraceSite &site = sites[difference.other->site];
  out.lines.push_back("  the first open result that is another, as it may be: " +
                      placeText(site.place));
  out.lines.push_back(formatv("    {0}: {1} {2}, reference {3}", site.result, target.name,
                              textOf(site.type, difference.other->first),
                              textOf(site.type, difference.other->second)));
}

static bool isEnd(const TraceDifference &difference) {
  using Kind = TraceDifference::Kind;
  return difference.kind == Kind::Value || difference.kind == Kind::Path ||
         difference.kind == Kind::Beyond || difference.kind == Kind::Stopped;
}

capsule::StoreAt Chase::storeAt(uint32_t line, const TraceDifference &loaded) const {
  const TraceSite &site = sites[loaded.site];
  const bool isShared = site.space == ptx::StateSpace::Shared;
  return {line, isShared && !isFailing ? loaded.place.first : loaded.place.second, loaded.first,
          std::max(1u, ptx::sizeInBits(site.type) / 8), isShared};
}

Expected<bool> Chase::hop(Followed &at, Found &out) {
  constexpr size_t kMostWriters = 8;
  const std::optional<capsule::LocateRequest> place = placeOf(at.found, at.thread);
  if (!place) {
    out.lines.push_back("  who wrote what it loads there is not known");
    return false;
  }
  Expected<std::vector<capsule::Writer>> writers = writersAt(*place);
  if (!writers)
    return writers.takeError();
  if (writers->empty()) {
    out.lines.push_back("  no store of the launch that can be watched wrote there");
    return false;
  }
  size_t looked = 0, traced = 0;
  std::optional<TraceDifference> open; // of one that stored another open result
  for (const capsule::Writer &one : *writers) {
    const capsule::StoreAt until = storeAt(one.site.line, at.found);
    if (!stores.insert({ctaOf(one), threadNumber(one), until.line, until.address, until.bits})
             .second)
      continue;
    traced += !hasFollowed(one);
    if (traced > kMostWriters)
      break;
    Expected<TraceDifference> other = compareOrdered(one, Given::Open, until);
    if (!other)
      return other.takeError();
    if (other->isOfOtherStore)
      continue;
    ++looked;
    if (!isEnd(*other)) {
      if (other->other && !open)
        open = std::move(*other);
      continue;
    }
    out.lines.push_back("  " + threadOf(one) + " wrote there: " + placeText(one.site));
    tell(*other, threadOf(one), out);
    at = {one, until, std::move(*other)};
    return true;
  }
  out.lines.push_back("  the last that wrote there was " + threadOf(writers->front()) + ": " +
                      placeText(writers->front().site));
  out.lines.push_back(formatv("  of {0} threads that wrote these bits no result differs, but for "
                              "open ones: their order, a store, or this load",
                              looked));
  if (open)
    tellOpen(*open, out);
  return hopInside(at, open.has_value(), out);
}

// It loads another value by results that are open, by the order of stores, or the instruction that
// loads is wrong.
Expected<bool> Chase::hopInside(Followed &at, bool isOpen, Found &out) {
  Expected<TraceDifference> own = compareOrdered(at.thread, Given::Loads, at.until);
  if (!own)
    return own.takeError();
  if (isEnd(*own)) {
    tell(*own, threadOf(at.thread) + ", given what it loads", out);
    return false;
  }
  if (at.loads.empty())
    out.lines.push_back(formatv("  given what it loads, {0} results are equal, {1} are open: none "
                                "differs",
                                own->compared, own->open));
  if (!isOpen) // the load itself is wrong, or what it is before
    return false;
  constexpr size_t kMostLoads = 4;
  for (const TraceDifference::Load &load : own->loads) {
    if (at.loads.size() == kMostLoads || !at.loads.insert(load.index).second)
      continue;
    at.found = {};
    at.found.kind = TraceDifference::Kind::Value;
    at.found.site = load.site;
    at.found.first = load.first;
    at.found.second = load.second;
    at.found.place = {"", load.place.first, load.place.second};
    out.lines.push_back("  of its loads that differ it is one of the furthest: " +
                        placeText(sites[load.site].place));
    out.lines.push_back(formatv("    {0}: {1} {2}, reference {3}", sites[load.site].result,
                                target.name, textOf(sites[load.site].type, load.first),
                                textOf(sites[load.site].type, load.second)));
    return true;
  }
  return false;
}

void Chase::tellFailure(uint32_t line, StringRef whose, Found &out) const {
  for (const capsule::StoreSite &site : accesses)
    if (site.line == line)
      out.site = site;
  for (const TraceSite &site : sites) // an endless launch may be in any
    if (isEndless && site.place.line == line)
      out.site = site.place;
  if (!out.site)
    return;
  out.isComputed = true;
  out.lines.push_back((whose + (isEndless ? " does not come out of " : " fails in ") +
                       placeText(*out.site) + ", though all that leads there is equal")
                          .str());
}

Expected<Chase::Found> Chase::follow(const capsule::Writer &thread, const std::string &whose,
                                     uint32_t failingLine) {
  constexpr size_t kMostHops = 32;
  Followed at{thread, std::nullopt, {}};
  Found out;
  if (Error error = compareOrdered(thread, Given::Open).moveInto(at.found))
    return std::move(error);
  const TraceDifference &found = at.found;
  using Kind = TraceDifference::Kind;
  if (failingLine && found.kind == Kind::None && !isEndless && hasOrders(target)) {
    Expected<TraceDifference> whole = compareBehindFailures(thread);
    if (!whole)
      return whole.takeError();
    if (isEnd(*whole) && !sites[whole->site].isLoad) // what fails loads nothing
      at.found = std::move(*whole);
  }
  tell(found, whose, out);
  const bool isEqual = found.kind == Kind::None || found.kind == Kind::Stopped;
  if (failingLine && isEqual) // code is not in the order of the PTX
    tellFailure(failingLine, whose, out);
  else if (found.kind == Kind::None && found.next) {
    out.site = sites[*found.next].place;
    out.lines.push_back(whose + " goes no further than " + placeText(*out.site));
  }
  for (size_t hops = 0; found.kind == Kind::Value && sites[found.site].isLoad; ++hops) {
    if (hops == kMostHops) {
      out.lines.push_back(formatv("  it is not followed over more than {0} threads", kMostHops));
      break;
    }
    Expected<bool> isFurther = hop(at, out);
    if (!isFurther) // what is known by now is told all the same
      out.lines.push_back("  it is not followed further: " + toString(isFurther.takeError()));
    else if (*isFurther)
      continue;
    break;
  }
  return out;
}

} // namespace rubia::tools
