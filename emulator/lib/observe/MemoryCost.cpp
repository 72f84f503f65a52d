// SPDX-License-Identifier: Apache-2.0
#include "emulator/lib/observe/MemoryCost.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace rubia::targets::Fact {
extern const GenerationFact crossedLdsReads, wideLdsReads;
} // namespace rubia::targets::Fact

namespace rubia::emulator {

void MemoryCost::add(const MemoryCost &other) {
  accesses += other.accesses;
  bytes += other.bytes;
  distinctBytes += other.distinctBytes;
  lines += other.lines;
}

namespace {

/// How LDS groups the lanes of an access.
struct Grouping {
  unsigned lanes = 32; // of a group
  unsigned banks = 32;
  bool crossed = false; // CDNA's order for wide reads

  Grouping(const targets::Target &target, const LaneAccess &access) {
    const bool read = access.reads && !access.writes;
    const bool wide = targets::Fact::wideLdsReads(target) && read;
    if (access.bytes > 8) {
      lanes = wide && access.bytes == 16 ? 16 : 8;
      crossed = targets::Fact::crossedLdsReads(target) && read;
    } else if (access.bytes > 4) {
      lanes = wide ? 32 : 16;
    }
    banks = wide && (access.bytes == 8 || access.bytes == 16) ? 64 : 32;
  }

  unsigned of(unsigned lane) const {
    if (!crossed)
      return lane / lanes;
    // By fours: 0 goes with 5, 1 with 4, 2 with 7, 3 with 6, of each 32 lanes; with 64 banks the
    // groups of the first and of the fourth, and of the other two, are one.
    const unsigned four = lane / 4 % 8;
    const unsigned eight = four < 4 ? four : four ^ 5;
    const unsigned group = lanes == 16 ? (eight == 0 || eight == 3 ? 0 : 1) : eight;
    return lane / 32 * (32 / lanes) + group;
  }
};

struct Word {
  unsigned group;
  uint32_t bank, dword;
  auto operator<=>(const Word &) const = default;
};

} // namespace

LdsCycles ldsCycles(const targets::Target &target, ArrayRef<LaneAccess> lanes, bool atomic) {
  SmallVector<Word, 128> words;
  uint8_t turns[64] = {}; // the second address of a lane is an access of its own
  for (const LaneAccess &access : lanes) {
    if (access.space != Space::Local || access.bytes == 0)
      continue;
    const Grouping grouping(target, access);
    const unsigned group = turns[access.lane]++ * 64 + grouping.of(access.lane);
    for (uint64_t dword = access.address / 4; dword <= (access.address + access.bytes - 1) / 4;
         ++dword)
      words.push_back({group, uint32_t(dword % grouping.banks), uint32_t(dword)});
  }
  llvm::sort(words);
  if (!atomic)
    words.erase(llvm::unique(words), words.end());
  LdsCycles result;
  unsigned most = 0, inBank = 0;
  for (size_t i = 0; i < words.size(); ++i) {
    const bool sameGroup = i && words[i].group == words[i - 1].group;
    inBank = sameGroup && words[i].bank == words[i - 1].bank ? inBank + 1 : 1;
    most = sameGroup ? std::max(most, inBank) : 1;
    if (i + 1 == words.size() || words[i + 1].group != words[i].group) {
      result.cycles += most;
      result.conflicts += most - 1;
    }
  }
  return result;
}

MemoryCost memoryCost(unsigned lineBytes, ArrayRef<LaneAccess> lanes) {
  MemoryCost cost;
  SmallVector<std::pair<uint64_t, uint64_t>, 64> ranges; // first byte, byte behind the last
  for (const LaneAccess &access : lanes)
    if (access.space == Space::Global && access.bytes) {
      ranges.push_back({access.address, access.address + access.bytes});
      cost.bytes += access.bytes;
    }
  if (ranges.empty())
    return cost;
  cost.accesses = 1;
  if (!llvm::is_sorted(ranges))
    llvm::sort(ranges);
  uint64_t reached = 0;             // all bytes before it have been looked at
  uint64_t lastLine = ~uint64_t(0); // that has been counted
  for (auto [begin, end] : ranges) {
    begin = std::max(begin, reached);
    if (begin >= end)
      continue;
    reached = end;
    cost.distinctBytes += end - begin;
    const uint64_t first = begin / lineBytes, last = (end - 1) / lineBytes;
    cost.lines += last - first + (first != lastLine);
    lastLine = last;
  }
  return cost;
}

} // namespace rubia::emulator
