// SPDX-License-Identifier: Apache-2.0
#include "tools/diff/Chase.h"
#include "diff/Compare.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>
#include <set>

using namespace llvm;

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

Chase::Chase(const capsule::Capsule &capsule, const capsule::Launch &launch, const ReplayWork &work,
             const ReplayTarget &target, const ReplayTarget &reference, bool isFailing,
             const capsule::Launch::Moved &moved)
    : capsule(capsule), launch(launch), work(work), target(target), reference(reference),
      isFailing(isFailing) {
  for (auto [i, region] : enumerate(launch.memory))
    if (region.name.empty() && !is_contained(moved.regions, i))
      fixed.emplace_back(region.address, region.bytes);
  this->target.settings.set(settings::Id::contract, "never");
  this->target.settings.set(settings::Id::nan, "canonical");
  constexpr unsigned kSeconds = 60; // a launch that never ends is known by then
  if (isFailing)
    this->work.timeout = work.timeout ? std::min(work.timeout, kSeconds) : kSeconds;
}

uint32_t Chase::ctaOf(const capsule::Writer &writer) const {
  return linear(writer.cta, launch.grid);
}
uint32_t Chase::threadNumber(const capsule::Writer &writer) const {
  return linear(writer.thread, launch.block);
}

Expected<Chase> Chase::open(const capsule::Capsule &capsule, const capsule::Launch &launch,
                            const ReplayWork &work, const ReplayTarget &target,
                            const ReplayTarget &reference, bool isFailing,
                            const capsule::Launch::Moved &moved) {
  Chase chase(capsule, launch, work, target, reference, isFailing, moved);
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
                                         bool isStored) {
  capsule::TraceOf of{index(), ctaOf(writer), threadNumber(writer), given};
  of.isFailing = isFailing;
  std::vector<uint8_t> &here = traces[{of.cta, of.thread}];
  if (here.empty())
    if (Error error = traceOn(work, target, of).moveInto(here))
      return std::move(error);
  Expected<std::vector<uint8_t>> there = traceOn(work, reference, of, here);
  if (!there)
    return there.takeError();
  return capsule::compareTraces(here, *there, sites, {given, isStored, fixed});
}

// A place that several threads store to may have what any of them stored.
Expected<TraceDifference> Chase::compareOrdered(const capsule::Writer &writer, Given given) {
  Expected<TraceDifference> found = compare(writer, given);
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
  return threads.size() > 1 ? compare(writer, given, false) : std::move(found);
}

std::optional<capsule::LocateRequest> Chase::placeOf(const TraceDifference &found,
                                                     const capsule::Writer &writer) const {
  const TraceSite &site = sites[found.site];
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
                "without fused operations, and with NVIDIA's bits of NaNs",
                whose, difference.compared, difference.open));
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

static bool isEnd(const TraceDifference &difference) {
  using Kind = TraceDifference::Kind;
  return difference.kind == Kind::Value || difference.kind == Kind::Path ||
         difference.kind == Kind::Beyond || difference.kind == Kind::Stopped;
}

Expected<bool> Chase::hop(capsule::Writer &writer, TraceDifference &found, Found &out) {
  constexpr size_t kMostWriters = 8;
  const std::optional<capsule::LocateRequest> place = placeOf(found, writer);
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
  size_t looked = 0;
  for (const capsule::Writer &one : *writers) {
    if (hasFollowed(one) || looked == kMostWriters)
      continue;
    ++looked;
    Expected<TraceDifference> other = compareOrdered(one, Given::Open);
    if (!other)
      return other.takeError();
    if (!isEnd(*other))
      continue;
    out.lines.push_back("  " + threadOf(one) + " wrote there: " + placeText(one.site));
    tell(*other, threadOf(one), out);
    writer = one;
    found = std::move(*other);
    return true;
  }
  // Nobody who wrote there differs: by results that are open, by the order of stores, or the
  // instruction that loads is wrong. What the thread makes of its loads is left.
  out.lines.push_back("  the last that wrote there was " + threadOf(writers->front()) + ": " +
                      placeText(writers->front().site));
  out.lines.push_back(formatv("  of {0} other threads that wrote there no result differs, but for "
                              "open ones: their order, a store, or this load",
                              looked));
  Expected<TraceDifference> own = compareOrdered(writer, Given::Loads);
  if (!own)
    return own.takeError();
  if (isEnd(*own))
    tell(*own, threadOf(writer) + ", given what it loads", out);
  return false;
}

void Chase::tellFailure(uint32_t line, StringRef whose, Found &out) const {
  const auto site =
      find_if(accesses, [&](const capsule::StoreSite &one) { return one.line == line; });
  if (site == accesses.end())
    return;
  out.site = *site;
  out.isComputed = true;
  out.lines.push_back(
      (whose + " fails in " + placeText(*site) + ", though all that leads there is equal").str());
}

Expected<Chase::Found> Chase::follow(const capsule::Writer &thread, const std::string &whose,
                                     uint32_t failingLine) {
  constexpr size_t kMostHops = 32;
  capsule::Writer writer = thread;
  Found out;
  Expected<TraceDifference> found = compareOrdered(writer, Given::Open);
  if (!found)
    return found.takeError();
  tell(*found, whose, out);
  using Kind = TraceDifference::Kind;
  const bool isEqual = found->kind == Kind::None || found->kind == Kind::Stopped;
  if (failingLine && isEqual) // code is not in the order of the PTX
    tellFailure(failingLine, whose, out);
  else if (found->kind == Kind::None && found->next) {
    out.site = sites[*found->next].place;
    out.lines.push_back(whose + " goes no further than " + placeText(*out.site));
  }
  for (size_t hops = 0; found->kind == TraceDifference::Kind::Value && sites[found->site].isLoad;
       ++hops) {
    if (hops == kMostHops) {
      out.lines.push_back(formatv("  it is not followed over more than {0} threads", kMostHops));
      break;
    }
    Expected<bool> isFurther = hop(writer, *found, out);
    if (!isFurther)
      return isFurther.takeError();
    if (!*isFurther)
      break;
  }
  return out;
}

} // namespace rubia::tools
