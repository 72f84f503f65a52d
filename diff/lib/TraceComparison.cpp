// SPDX-License-Identifier: Apache-2.0
#include "diff/Compare.h"
#include "diff/Trace.h"
#include "diff/lib/Bounds.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Endian.h"
#include <set>

using namespace llvm;
using rubia::ptx::Type;

namespace rubia::capsule {
namespace {

struct Entry {
  uint32_t site;
  bool isExecuted;
  uint64_t bits;
};
Entry entryAt(ArrayRef<uint8_t> trace, size_t index) {
  const uint8_t *at = trace.data() + kTraceEntries + index * kTraceEntryBytes;
  return {support::endian::read32le(at), support::endian::read32le(at + 4) != 0,
          support::endian::read64le(at + 8)};
}

bool isNan(Type type, uint64_t bits) {
  const unsigned width = ptx::sizeInBits(type);
  if (width == 64)
    return (bits & ~(uint64_t(1) << 63)) > 0x7ff0000000000000;
  return width == 32 && (bits & 0x7fffffff) > 0x7f800000;
}

/// What an entry of the site has of the 64 bits.
uint64_t writtenMask(const TraceSite &site) {
  const unsigned bits = site.kind == TraceSite::Kind::Memory ? 64
                        : site.type == Type::Pred            ? 32
                                                             : ptx::sizeInBits(site.type);
  return bits >= 64 ? ~uint64_t(0) : (uint64_t(1) << bits) - 1;
}

/// What led to entry `index`, backwards.
std::vector<TraceDifference::Step> sliceOf(ArrayRef<uint8_t> trace, size_t index,
                                           ArrayRef<TraceSite> sites) {
  std::vector<TraceDifference::Step> slice;
  StringSet<> needed;
  const auto need = [&](const TraceSite &site) {
    for (const std::string &source : site.sources)
      needed.insert(site.function + source);
  };
  need(sites[entryAt(trace, index).site]);
  while (index-- > 0 && !needed.empty() && slice.size() < TraceDifference::kSliceMost) {
    const Entry entry = entryAt(trace, index);
    if (entry.site >= sites.size() || !entry.isExecuted ||
        sites[entry.site].kind != TraceSite::Kind::Result ||
        !needed.erase(sites[entry.site].function + sites[entry.site].result))
      continue;
    slice.push_back({entry.site, entry.bits & writtenMask(sites[entry.site])});
    need(sites[entry.site]);
  }
  return slice;
}

class Comparison {
public:
  Comparison(ArrayRef<uint8_t> first, ArrayRef<uint8_t> second, ArrayRef<TraceSite> sites,
             const TraceRules &rules)
      : first(first), second(second), sites(sites), rules(rules) {}
  TraceDifference run();

private:
  using Pair = std::pair<uint64_t, uint64_t>;
  /// True: the entries are where the two differ.
  bool look(size_t index, const Entry &a, const Entry &b);
  bool isEqual(const TraceSite &site, uint64_t a, uint64_t b);
  bool isBeyond(const TraceSite &site, uint64_t a, uint64_t b);
  bool found(TraceDifference::Kind kind, size_t index, const Entry &a, const Entry &b);
  static bool hasFailed(ArrayRef<uint8_t> trace) {
    return support::endian::read32le(trace.data() + kTraceFailed) != 0;
  }
  void end(size_t most, size_t ours, size_t theirs);
  /// Behind the last store that the rules name. None: the thread has made none.
  std::optional<size_t> behindStore(size_t most) const;
  /// Whether the entry is of what the store leaves, with the bits that the rules name.
  bool isStored(size_t index, const Entry &at, const Entry &entry) const;
  void keepLoad(size_t index, const Entry &a, const Entry &b);

  ArrayRef<uint8_t> first, second;
  ArrayRef<TraceSite> sites;
  const TraceRules &rules;
  TraceDifference result;
  StringMap<Pair> values;                        // of registers
  std::set<std::pair<unsigned, uint64_t>> moved; // by how much things lie elsewhere, with bits
  Pair place;
  std::vector<uint64_t> magnitudes; // of the results that follow
  std::optional<size_t> branch;     // the site of the last one
};

bool Comparison::isEqual(const TraceSite &site, uint64_t a, uint64_t b) {
  const unsigned bits = site.type == Type::Pred ? 32 : ptx::sizeInBits(site.type);
  const std::pair<unsigned, uint64_t> apart = {
      bits, (a - b) & (bits >= 64 ? ~0ull : (uint64_t(1) << bits) - 1)};
  const bool isFloat = ptx::classOf(site.type) == ptx::TypeClass::Float;
  // A loaded pointer into constant memory is an offset in NVIDIA's bank.
  constexpr uint64_t kBank = 1 << 16;
  const bool isFixed = any_of(rules.fixed, [&](const auto &memory) {
    return a - memory.first < memory.second || b - memory.first < memory.second;
  });
  if (site.isAddress && isFixed)
    return a == b;
  if (site.isAddress || (site.isLoad && bits == 64 && !isFloat && b < kBank && a >= kBank))
    moved.insert(apart);
  return !apart.second || (!isFloat && moved.contains(apart)) ||
         (isFloat && isNan(site.type, a) && isNan(site.type, b));
}

bool Comparison::isBeyond(const TraceSite &site, uint64_t a, uint64_t b) {
  if (!site.bound)
    return false;
  uint64_t magnitude = 0;
  if (site.bound->magnitude == Magnitude::Products) {
    if (magnitudes.empty())
      return false;
    magnitude = magnitudes.front();
    magnitudes.erase(magnitudes.begin());
  } else if (!site.bound->operand.empty()) {
    const auto found = values.find(site.function + site.bound->operand);
    if (found == values.end())
      return false;
    magnitude = found->second.second;
  }
  return !isWithin(*site.bound, a, b, magnitude);
}

bool Comparison::found(TraceDifference::Kind kind, size_t index, const Entry &a, const Entry &b) {
  const TraceSite &site = sites[a.site];
  result.kind = kind;
  result.site = a.site;
  result.first = a.bits;
  result.second = b.bits;
  result.slice = sliceOf(first, index, sites);
  for (const std::string &source : site.sources)
    if (auto operand = values.find(site.function + source); operand != values.end())
      result.operands.push_back({source, operand->second.first, operand->second.second});
  if (site.isLoad || site.kind == TraceSite::Kind::Memory)
    result.place = {"", place.first + site.offset, place.second + site.offset};
  return true;
}

bool Comparison::look(size_t index, const Entry &a, const Entry &b) {
  using Kind = TraceSite::Kind;
  const TraceSite &site = sites[a.site];
  if (a.isExecuted != b.isExecuted)
    return found(TraceDifference::Kind::Path, index, a, b);
  const std::string name = site.function + site.result;
  if (!a.isExecuted) { // nothing may have changed; what changed on both sides is not watched
    const auto known = values.find(name);
    if (site.kind == Kind::Result && known != values.end() &&
        (known->second.first != a.bits) != (known->second.second != b.bits))
      return found(TraceDifference::Kind::Value, index, a, b);
    return false;
  }
  switch (site.kind) {
  case Kind::Place:
    place = {a.bits, b.bits};
    magnitudes.clear();
    return false;
  case Kind::Magnitude:
    if (index == 0 || sites[entryAt(second, index - 1).site].kind != Kind::Magnitude)
      magnitudes.clear();
    magnitudes.push_back(b.bits);
    return false;
  case Kind::Branch:
    branch = a.site;
    break;
  case Kind::Memory:
    if (!rules.isStored)
      return false;
    break;
  case Kind::Result:
    break;
  }
  const bool isTaken = (site.isOpen && rules.given != Given::Nothing) ||
                       (site.isLoad && site.kind == Kind::Result && rules.given == Given::Loads);
  if (isTaken && isBeyond(site, a.bits, b.bits))
    return found(TraceDifference::Kind::Beyond, index, a, b);
  if (!isTaken && !isEqual(site, a.bits, b.bits))
    return found(TraceDifference::Kind::Value, index, a, b);
  if (isTaken && site.isOpen && !result.other && !isEqual(site, a.bits, b.bits))
    result.other = {a.site, a.bits, b.bits};
  if (isTaken && site.isLoad && !isEqual(site, a.bits, b.bits))
    keepLoad(index, a, b);
  ++(isTaken ? result.open : result.compared);
  // The second one has gone on with what it has taken of the first.
  if (site.kind == Kind::Result)
    values[name] = {a.bits, isTaken ? a.bits : b.bits};
  return false;
}

/// All that both have is equal.
void Comparison::end(size_t most, size_t ours, size_t theirs) {
  const TraceSite *last = most ? &sites[entryAt(first, most - 1).site] : nullptr;
  const bool isInside = last && last->kind == TraceSite::Kind::Place,
             isFirst = hasFailed(first) && most == ours,
             isSecond = hasFailed(second) && most == theirs;
  if (isFirst || isSecond) {
    if (std::max(ours, theirs) > most && most < kTraceMost)
      result.next = entryAt(isFirst ? second : first, most).site;
    result.kind = isInside ? TraceDifference::Kind::Stopped : TraceDifference::Kind::None;
    result.site = most ? entryAt(first, most - 1).site : 0;
    if (isInside)
      result.place = {"", place.first, place.second};
    return;
  }
  if (std::max(ours, theirs) > kTraceMost && most == kTraceMost)
    result.kind = TraceDifference::Kind::Cut;
  else if (ours != theirs) {
    result.kind = TraceDifference::Kind::Path;
    result.site = branch.value_or(most ? entryAt(first, most - 1).site : 0);
  }
}

void Comparison::keepLoad(size_t index, const Entry &a, const Entry &b) {
  const TraceSite &site = sites[a.site];
  const std::pair<uint64_t, uint64_t> at = {place.first + site.offset, place.second + site.offset};
  const double distance = distanceBetween(site.type, a.bits, b.bits);
  result.loads.push_back({{a.site, a.bits, b.bits}, index, at, distance});
}

bool Comparison::isStored(size_t index, const Entry &at, const Entry &entry) const {
  constexpr unsigned kByte = 8;
  const TraceSite &site = sites[entry.site];
  const StoreAt &store = *rules.until;
  const unsigned bytes = std::max(1u, ptx::sizeInBits(site.type) / kByte);
  if (store.isShared && site.space == ptx::StateSpace::None)
    return bytes == store.bytes && entry.bits == store.bits;
  for (const uint64_t base : {at.bits, entryAt(second, index).bits}) {
    const uint64_t from = std::max(base + site.offset, store.address),
                   to = std::min(base + site.offset + bytes, store.address + store.bytes);
    if (from >= to)
      continue;
    const uint64_t mask = to - from == 8 ? ~uint64_t(0) : (uint64_t(1) << (to - from) * kByte) - 1;
    const uint64_t left = entry.bits >> (from - base - site.offset) * kByte,
                   loaded = store.bits >> (from - store.address) * kByte;
    if (!((left ^ loaded) & mask))
      return true;
  }
  return false;
}

std::optional<size_t> Comparison::behindStore(size_t most) const {
  std::optional<size_t> at, last; // the address, and the entry behind the store
  bool isWatched = false;
  for (size_t i = 0; i < most; ++i) {
    const Entry entry = entryAt(first, i);
    if (entry.site >= sites.size() || sites[entry.site].place.line != rules.until->line)
      continue;
    const TraceSite::Kind kind = sites[entry.site].kind;
    if (kind == TraceSite::Kind::Place)
      at = i;
    isWatched |= kind == TraceSite::Kind::Memory;
    if (kind == TraceSite::Kind::Memory && entry.isExecuted && at &&
        isStored(*at, entryAt(first, *at), entry))
      last = i + 1;
  }
  // Atomics, and stores that others see at once, do not tell what they leave.
  return isWatched || !at ? last : *at + 1;
}

TraceDifference Comparison::run() {
  const size_t ours = support::endian::read32le(first.data() + 8),
               theirs = support::endian::read32le(second.data() + 8);
  size_t most = std::min(kTraceMost, std::min(ours, theirs));
  const std::optional<size_t> last = rules.until ? behindStore(most) : std::nullopt;
  result.isOfOtherStore = rules.until && !last;
  most = result.isOfOtherStore ? 0 : last.value_or(most);
  for (size_t i = 0; i < most; ++i) {
    Entry a = entryAt(first, i);
    const Entry b = entryAt(second, i);
    if (a.site >= sites.size() || b.site >= sites.size()) { // not written down
      end(i, i, theirs);
      return result;
    }
    const uint64_t mask = writtenMask(sites[a.site]);
    constexpr uint64_t kEach = 0x0101010101010101;
    a.bits &= mask;
    // Code is not in the order of the PTX, so later entries may be whole.
    if (hasFailed(first) && a.bits == (kEach * kUnwritten & mask)) {
      end(i, i, theirs);
      return result;
    }
    if (a.site != b.site) {
      result.kind = TraceDifference::Kind::Path;
      result.site = branch.value_or(a.site);
      return result;
    }
    if (look(i, a, b))
      return result;
  }
  if (!rules.until)
    end(most, ours, theirs);
  llvm::sort(result.loads, [](const TraceDifference::Load &x, const TraceDifference::Load &y) {
    return std::pair(-x.distance, x.index) < std::pair(-y.distance, y.index);
  });
  return result;
}

} // namespace

TraceDifference compareTraces(ArrayRef<uint8_t> first, ArrayRef<uint8_t> second,
                              ArrayRef<TraceSite> sites, const TraceRules &rules) {
  return Comparison(first, second, sites, rules).run();
}

} // namespace rubia::capsule
