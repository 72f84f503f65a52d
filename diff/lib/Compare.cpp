// SPDX-License-Identifier: Apache-2.0
#include "diff/Compare.h"
#include "diff/Images.h"
#include "diff/TensorMaps.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>
#include <cstdlib>
#include <cstring>

using namespace llvm;
using rubia::ptx::Type;

namespace rubia::capsule {

StringRef nameOf(Verdict verdict) {
  switch (verdict) {
  case Verdict::Equal:
    return "equal";
  case Verdict::Within:
    return "within the bound";
  case Verdict::Recordings:
    return "within the recordings";
  case Verdict::Undecided:
    return "undecided";
  case Verdict::OtherImage:
    return "other image";
  case Verdict::Unsupported:
    return "unsupported";
  case Verdict::Different:
    return "different";
  case Verdict::Race:
    return "race";
  case Verdict::Unwritten:
    return "unwritten value";
  case Verdict::Failed:
    return "failed";
  }
  return "";
}

static Expected<std::pair<StringRef, StringRef>> splitView(StringRef text) {
  const auto [of, what] = text.split('=');
  if (of.empty() || what.empty())
    return createStringError(
        "'" + text + "': expected a parameter's number or a variable, '=' and what is known of it");
  return std::pair(of, what);
}

Expected<View> parseElementType(StringRef text) {
  Expected<std::pair<StringRef, StringRef>> parts = splitView(text);
  if (!parts)
    return parts.takeError();
  const auto [of, name] = *parts;
  constexpr std::tuple<StringLiteral, Type, unsigned> kTypes[] = {
      {"f16", Type::F16, 2}, {"bf16", Type::BF16, 2}, {"f32", Type::F32, 4},
      {"f64", Type::F64, 8}, {"e4m3", Type::E4M3, 1}, {"e5m2", Type::E5M2, 1},
      {"b8", Type::None, 1}, {"b16", Type::None, 2},  {"b32", Type::None, 4},
      {"b64", Type::None, 8}};
  for (const auto &[known, type, bytes] : kTypes)
    if (name == known)
      return View{of.str(), type, bytes, 0, 0};
  return createStringError("'" + text +
                           "': expected f16, bf16, f32, f64, e4m3, e5m2, b8, b16, b32 or b64");
}

Expected<View> parseShape(StringRef text) {
  Expected<std::pair<StringRef, StringRef>> parts = splitView(text);
  if (!parts)
    return parts.takeError();
  View view{parts->first.str(), Type::None, 0, 0, 0};
  const auto [columns, rows] = parts->second.split('x');
  constexpr uint64_t kMost = uint64_t(1) << 40;
  if (columns.getAsInteger(10, view.columns) || rows.getAsInteger(10, view.rows) || !view.columns ||
      !view.rows || view.columns > kMost || view.rows > kMost)
    return createStringError("'" + text + "': expected COLUMNSxROWS");
  return view;
}

namespace {

const fltSemantics *semanticsOf(Type type) {
  if (type == Type::F16)
    return &APFloat::IEEEhalf();
  if (type == Type::BF16)
    return &APFloat::BFloat();
  if (type == Type::F32)
    return &APFloat::IEEEsingle();
  if (type == Type::F64)
    return &APFloat::IEEEdouble();
  if (type == Type::E4M3)
    return &APFloat::Float8E4M3FN();
  if (type == Type::E5M2)
    return &APFloat::Float8E5M2();
  return nullptr;
}

APFloat numberOf(const fltSemantics &semantics, uint64_t bits) {
  const unsigned width = APFloat::getSizeInBits(semantics);
  return APFloat(semantics, APInt(width, bits & maskTrailingOnes<uint64_t>(width)));
}

double doubleOf(APFloat number) {
  bool ignored = false;
  number.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &ignored);
  return number.convertToDouble();
}

size_t binOf(std::optional<uint64_t> ulps) {
  if (!ulps)
    return BufferResult::kBins - 1;
  return std::min<size_t>(Log2_64_Ceil(std::max<uint64_t>(*ulps, 1)), BufferResult::kBins - 1);
}

/// One element that differs in its bits. True: it is within the bounds.
bool judge(BufferResult &result, uint64_t expected, uint64_t got, const Bounds &bounds) {
  const fltSemantics *semantics = semanticsOf(result.type);
  if (!semantics) {
    ++result.histogram[BufferResult::kBins - 1];
    return false;
  }
  const std::optional<uint64_t> ulps = ulpsBetween(result.type, expected, got);
  ++result.histogram[binOf(ulps)];
  result.maxUlps = std::max(result.maxUlps, ulps.value_or(UINT64_MAX));
  if (!ulps) {
    result.maxRelative = INFINITY;
    return false;
  }
  const double a = doubleOf(numberOf(*semantics, expected)),
               b = doubleOf(numberOf(*semantics, got));
  const double relative = a == b ? 0 : std::abs(a - b) / std::max(std::abs(a), std::abs(b));
  result.maxRelative = std::max(result.maxRelative, relative);
  return (bounds.ulps && *ulps <= *bounds.ulps) ||
         (bounds.relative && relative <= *bounds.relative);
}

bool areNans(Type type, uint64_t a, uint64_t b) {
  const fltSemantics *semantics = semanticsOf(type);
  return semantics && numberOf(*semantics, a).isNaN() && numberOf(*semantics, b).isNaN();
}

} // namespace

uint64_t elementAt(ArrayRef<uint8_t> bytes, uint64_t index, unsigned size) {
  uint64_t bits = 0;
  const uint64_t at = index * size;
  memcpy(&bits, bytes.data() + at, std::min<uint64_t>(size, bytes.size() - at));
  return bits;
}

std::optional<uint64_t> ulpsBetween(Type type, uint64_t a, uint64_t b) {
  const fltSemantics *semantics = semanticsOf(type);
  if (!semantics)
    return std::nullopt;
  const APFloat x = numberOf(*semantics, a), y = numberOf(*semantics, b);
  if (x.isNaN() || y.isNaN() || (x.isInfinity() != y.isInfinity()))
    return std::nullopt;
  // Magnitudes are in the order of their numbers.
  const auto place = [&](const APFloat &number) -> int64_t {
    APInt bits = number.bitcastToAPInt();
    bits.clearSignBit();
    const auto magnitude = int64_t(bits.getZExtValue());
    return number.isNegative() ? -magnitude : magnitude;
  };
  const int64_t p = place(x), q = place(y);
  return p > q ? uint64_t(p) - uint64_t(q) : uint64_t(q) - uint64_t(p);
}

std::string nameOf(Party party) {
  switch (party) {
  case Party::Unknown:
    return "unknown";
  case Party::Target:
    return "target";
  case Party::Recorded:
    return "recorded";
  case Party::Reference:
    return "reference";
  case Party::Program:
    return "program";
  }
  return "";
}

double valueOf(Type type, uint64_t bits) {
  const fltSemantics *semantics = semanticsOf(type);
  return semantics ? doubleOf(numberOf(*semantics, bits)) : NAN;
}

double distanceBetween(Type type, uint64_t a, uint64_t b) {
  if (a == b || areNans(type, a, b))
    return 0;
  const fltSemantics *semantics = semanticsOf(type);
  if (!semantics)
    return INFINITY;
  const double distance =
      std::abs(doubleOf(numberOf(*semantics, a)) - doubleOf(numberOf(*semantics, b)));
  return std::isnan(distance) ? INFINITY : distance;
}

std::string textOf(Type type, unsigned bytes, uint64_t bits) {
  std::string hex =
      formatv("{0}", format_hex(bits & maskTrailingOnes<uint64_t>(bytes * 8), bytes * 2 + 2));
  const fltSemantics *semantics = semanticsOf(type);
  if (!semantics)
    return hex;
  SmallString<32> text;
  numberOf(*semantics, bits).toString(text);
  return (text + " (" + hex + ")").str();
}

size_t BufferResult::stretchOf(uint64_t element) const {
  const auto [whole, rest] = std::div(int64_t(elements), int64_t(stretches.size()));
  // The first `rest` parts have one element more.
  const uint64_t larger = uint64_t(rest) * uint64_t(whole + 1);
  return element < larger ? element / uint64_t(whole + 1)
                          : uint64_t(rest) + (element - larger) / uint64_t(whole);
}

// Rectangles of the allocation; what is left behind its last row is none of them.
static void layOutCells(BufferResult &result, const View &view) {
  result.columns = view.columns;
  result.rows = view.rows;
  result.cellColumns = std::min<uint64_t>(view.columns, BufferResult::kCells);
  result.cellRows = std::min<uint64_t>(view.rows, BufferResult::kCells);
  result.cells.resize(result.cellColumns * result.cellRows);
  result.cellParts.resize(result.cells.size());
}

static void countInCell(BufferResult &result, uint64_t element) {
  if (result.cells.empty() || element / result.columns >= result.rows)
    return;
  const uint64_t column = element % result.columns * result.cellColumns / result.columns,
                 row = element / result.columns * result.cellRows / result.rows;
  const size_t cell = row * result.cellColumns + column;
  if (!result.cells[cell]++)
    result.cellParts[cell].element = element;
}

BufferResult compareBuffers(ArrayRef<uint8_t> expected, ArrayRef<uint8_t> got, const Stores &stores,
                            const Bounds &bounds, const View &view) {
  BufferResult result;
  result.type = view.elementBytes ? view.type : stores.type;
  if (const fltSemantics *semantics = semanticsOf(result.type))
    result.elementBytes = APFloat::getSizeInBits(*semantics) / 8;
  else if (view.elementBytes)
    result.elementBytes = view.elementBytes;
  const unsigned size = result.elementBytes;
  result.elements = (expected.size() + size - 1) / size;
  result.histogram.resize(BufferResult::kBins);
  if (expected == got)
    return result;
  bool isWithin = true;
  result.stretches.resize(std::min<uint64_t>(result.elements, BufferResult::kStretches));
  result.stretchParts.resize(result.stretches.size());
  layOutCells(result, view);
  for (uint64_t i = 0; i < result.elements; ++i) {
    const uint64_t a = elementAt(expected, i, size), b = elementAt(got, i, size);
    if (a == b)
      continue;
    if (stores.isComputed && areNans(result.type, a, b)) {
      ++result.nans;
      continue;
    }
    const bool isWithinHere = judge(result, a, b, bounds);
    if (!isWithinHere && isWithin)
      result.first = {i, a, b}; // rather than one that is within
    if (!result.first)
      result.first = {i, a, b};
    isWithin &= isWithinHere;
    if (const size_t stretch = result.stretchOf(i); !result.stretches[stretch]++)
      result.stretchParts[stretch].element = i;
    countInCell(result, i);
    ++result.differing;
  }
  if (!result.differing)
    return result;
  // A bound is for what may be inexact, and for numbers.
  const bool hasBound = semanticsOf(result.type) && (bounds.ulps || bounds.relative);
  if (isWithin && stores.isInexact)
    result.verdict = Verdict::Within;
  else if (stores.isInexact && !hasBound)
    result.verdict = Verdict::Undecided;
  else
    result.verdict = Verdict::Different;
  return result;
}

static bool pointsInto(const Launch &launch, size_t parameter, const Region &region) {
  const Launch::Parameter &words = launch.layout[parameter];
  for (uint32_t at = 0; at + 8 <= words.bytes; at += 8)
    if (support::endian::read64le(launch.parameters.data() + words.offset + at) - region.address <
        region.bytes)
      return true;
  return false;
}

static int parameterOf(const Launch &launch, const Region &region) {
  for (size_t i = 0; i < launch.layout.size(); ++i)
    if (pointsInto(launch, i, region))
      return int(i);
  return -1;
}

bool isViewOf(const View &view, const Launch &launch, const Region &region) {
  size_t parameter = 0;
  return view.of == region.name ||
         (!StringRef(view.of).getAsInteger(10, parameter) && parameter < launch.layout.size() &&
          pointsInto(launch, parameter, region));
}

// What all views say of an allocation together.
static View viewOf(const Launch &launch, const Region &region, ArrayRef<View> views) {
  View all;
  for (const View &view : views) {
    if (!isViewOf(view, launch, region))
      continue;
    if (view.elementBytes)
      std::tie(all.type, all.elementBytes) = std::pair(view.type, view.elementBytes);
    if (view.columns)
      std::tie(all.columns, all.rows) = std::pair(view.columns, view.rows);
  }
  return all;
}

static View viewOf(const ArrayRegion &array) {
  constexpr int kHalf = 0x10, kFloat = 0x20;
  View view;
  view.type = array.format == kFloat ? Type::F32 : array.format == kHalf ? Type::F16 : Type::None;
  view.elementBytes = array.channelBytes();
  if (!array.levels) {
    const auto [width, height, depth] = array.sizeOf(0);
    view.columns = width * array.texelBytes() / view.elementBytes;
    view.rows = height * depth;
  }
  return view;
}

/// Where what was recorded is digests: equal, or not by what can be told. Differences in the bits
/// of NaNs cannot be told from others.
static Expected<Verdict> compareDigests(const Run &expected, const Region &region,
                                        ArrayRef<uint8_t> got, const Stores &stores,
                                        std::string &reason) {
  Expected<std::vector<Digest>> pages = expected.capsule.pageDigests(region, *region.after);
  if (!pages)
    return pages.takeError();
  const uint64_t size = expected.capsule.bytesOfPages();
  uint64_t differing = 0, first = 0;
  for (uint64_t i = 0; i < pages->size(); ++i) {
    const ArrayRef<uint8_t> page = got.slice(i * size, std::min(size, got.size() - i * size));
    const bool isLeftOut = (*pages)[i] == Digest{};
    if (isLeftOut ? all_of(page, [](uint8_t byte) { return !byte; })
                  : runtime::digestOf(page) == (*pages)[i])
      continue;
    first = differing ? first : i * size;
    ++differing;
  }
  if (!differing)
    return Verdict::Equal;
  reason = (Twine(differing) + " of " + Twine(pages->size()) + " pieces of " + Twine(size) +
            " bytes differ, the first at byte " + Twine(first) +
            " of its allocation; digests are all that is left of what was recorded")
               .str();
  return stores.isInexact || stores.isComputed ? Verdict::Undecided : Verdict::Different;
}

// Several parameters may point into one allocation.
static Stores storesInto(const KernelStores &stores, const Launch &launch, const Region &region) {
  Stores all = stores.elsewhere;
  for (size_t i = 0; i < launch.layout.size(); ++i) {
    Launch one;
    one.layout.push_back(launch.layout[i]);
    one.parameters = launch.parameters;
    if (parameterOf(one, region) < 0)
      continue;
    const Stores through = stores.through(i);
    if (!through.any)
      continue;
    if (all.any && all.type != through.type)
      all.type = Type::None;
    else
      all.type = through.type;
    all.any = true;
    all.isInexact |= through.isInexact;
    all.isComputed |= through.isComputed;
  }
  return all;
}

void addOpenMaps(LaunchResult &result) {
  if (result.openMaps.empty() || result.verdict > Verdict::Undecided)
    return;
  if (result.verdict < Verdict::Undecided)
    result.reason = result.openMaps;
  else if (!StringRef(result.reason).contains(result.openMaps))
    result.reason += "; " + result.openMaps;
  result.verdict = Verdict::Undecided;
}

Expected<LaunchResult> compareLaunches(const Run &recorded, const Run &expectedRun,
                                       const Run &gotRun, const Bounds &bounds) {
  const auto &[capsule, expected] = expectedRun;
  const auto &[other, got] = gotRun;
  LaunchResult result;
  result.launch = &recorded.launch;
  const auto ends = [&](Verdict verdict, std::string why) {
    result.verdict = verdict;
    result.reason = std::move(why);
    return std::move(result);
  };
  if (const std::string why = recorded.launch.whyNotReplayable(); !why.empty())
    return ends(Verdict::Unsupported, why);
  Expected<ReplayImage> image = replayImage(recorded.capsule, recorded.launch);
  if (!image)
    return ends(Verdict::Unsupported, toString(image.takeError()));
  Expected<KernelStores> stores =
      storesOf(image->ptx, recorded.launch.kernel, recorded.launch.isFiltered());
  if (!stores)
    return ends(Verdict::Unsupported, toString(stores.takeError()));
  if (!stores->tensorMap.empty() && recorded.launch.tensorMaps.empty())
    return ends(Verdict::Unsupported, stores->tensorMap + ": no tensor map was recorded");
  if (!stores->tensorMapChange.empty() && capsule.environment.hasNoResults)
    return ends(Verdict::Unsupported, stores->tensorMapChange +
                                          ": each driver has its own form of tensor maps, and "
                                          "digests are all that is left of what was recorded");
  if (!stores->texture.empty() && recorded.launch.textures.empty())
    return ends(Verdict::Unsupported, stores->texture + ": no texture or surface was recorded");
  for (const Launch *one : {&expected, &got})
    if (const std::string why = one->whyNotReplayable(); !why.empty())
      return ends(one->status ? Verdict::Unsupported : Verdict::Failed, why);
  const std::vector<const Region *> regions = expected.regions(), gotRegions = got.regions();
  if (regions.empty())
    return ends(Verdict::Unsupported, "nothing to compare: it reaches no memory that is recorded");
  if (regions.size() != gotRegions.size())
    return createStringError("launch " + Twine(expected.ordinal) +
                             " reaches other allocations in the other capsule");
  result.moved = got.moved;
  result.fusion = got.fusion;
  result.isOtherImage =
      image->isOtherImage && !capsule.environment.isJitForced && other.environment.isJitForced;
  for (size_t i = 0; i < regions.size(); ++i) {
    const Region &region = *regions[i];
    const bool isArray = i >= expected.memory.size();
    Expected<std::vector<uint8_t>> now = other.contents(*gotRegions[i], *gotRegions[i]->after);
    if (!now)
      return now.takeError();
    if (region.bytes != now->size())
      return createStringError("launch " + Twine(expected.ordinal) +
                               " reaches other allocations in the other capsule");
    const Stores here = isArray ? stores->surfaces : storesInto(*stores, expected, region);
    if (capsule.environment.hasNoResults) {
      Expected<Verdict> verdict = compareDigests(expectedRun, region, *now, here, result.reason);
      if (!verdict)
        return verdict.takeError();
      if (*verdict == Verdict::Different && result.isOtherImage)
        *verdict = Verdict::OtherImage;
      result.verdict = std::max(result.verdict, *verdict);
      continue;
    }
    Expected<std::vector<uint8_t>> before = capsule.contents(region, *region.after);
    if (!before)
      return before.takeError();
    const TensorMapComparison maps =
        compareTensorMaps(recorded.launch.tensorMaps, region.address, *before, *now);
    if (maps.undecided && result.openMaps.empty())
      result.openMaps = maps.first + ": each driver has its own form of tensor maps";
    const int parameter = isArray ? -1 : parameterOf(expected, region);
    const View view = isArray ? viewOf(expected.arrays[i - expected.memory.size()])
                              : viewOf(expected, region, bounds.views);
    BufferResult &buffer =
        result.buffers.emplace_back(compareBuffers(*before, *now, here, bounds, view));
    buffer.region = i;
    buffer.parameter = parameter;
    if (buffer.verdict == Verdict::Different && result.isOtherImage)
      buffer.verdict = Verdict::OtherImage;
    if (buffer.verdict == Verdict::Undecided)
      result.reason = stores->cause;
    result.verdict = std::max(result.verdict, buffer.verdict);
  }
  addOpenMaps(result);
  return result;
}

} // namespace rubia::capsule
