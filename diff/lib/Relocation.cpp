// SPDX-License-Identifier: Apache-2.0
#include "diff/Replay.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Endian.h"

using namespace llvm;

namespace rubia::capsule {

Relocation::Relocation(std::vector<Move> all) : moves(std::move(all)) {
  sort(moves, [](const Move &a, const Move &b) { return a.from < b.from; });
}

Relocation Relocation::reversed() const {
  std::vector<Move> back;
  for (const Move &move : moves)
    back.push_back({move.to, move.from, move.bytes});
  return Relocation(std::move(back));
}

size_t Relocation::apply(MutableArrayRef<uint8_t> bytes, function_ref<void(size_t)> noted) const {
  if (moves.empty())
    return 0;
  const uint64_t lowest = moves.front().from,
                 span = moves.back().from + moves.back().bytes - lowest;
  size_t changed = 0;
  for (size_t i = 0; i + 8 <= bytes.size(); i += 8) {
    const uint64_t word = support::endian::read64le(bytes.data() + i);
    if (word - lowest > span)
      continue;
    // The last that starts at or before the word; an end belongs to what starts there, if anything
    // does.
    auto next = partition_point(moves, [&](const Move &move) { return move.from <= word; });
    if (next == moves.begin())
      continue;
    const Move &move = *std::prev(next);
    if (word - move.from > move.bytes)
      continue;
    support::endian::write64le(bytes.data() + i, word - move.from + move.to);
    ++changed;
    if (noted)
      noted(i);
  }
  return changed;
}

} // namespace rubia::capsule
