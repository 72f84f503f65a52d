// How far into the past of each thread something has seen: a vector clock, sparse and sorted.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace rubia::emulator {

class VectorClock {
public:
  /// 0: nothing of this thread.
  uint32_t of(uint32_t thread) const {
    auto at = std::lower_bound(entries.begin(), entries.end(), std::pair(thread, uint32_t(0)));
    return at != entries.end() && at->first == thread ? at->second : 0;
  }
  void raise(uint32_t thread, uint32_t clock) {
    auto at = std::lower_bound(entries.begin(), entries.end(), std::pair(thread, uint32_t(0)));
    if (at != entries.end() && at->first == thread)
      at->second = std::max(at->second, clock);
    else
      entries.insert(at, {thread, clock});
  }
  /// Whether this has seen all that `other` has.
  bool includes(const VectorClock &other) const {
    auto at = entries.begin();
    for (const auto &[thread, clock] : other.entries) {
      while (at != entries.end() && at->first < thread)
        ++at;
      if (at == entries.end() || at->first != thread || at->second < clock)
        return false;
    }
    return true;
  }
  void join(const VectorClock &other) {
    if (includes(other))
      return;
    std::vector<std::pair<uint32_t, uint32_t>> all;
    all.reserve(entries.size() + other.entries.size());
    auto a = entries.begin();
    auto b = other.entries.begin();
    while (a != entries.end() || b != other.entries.end()) {
      if (b == other.entries.end() || (a != entries.end() && a->first < b->first))
        all.push_back(*a++);
      else if (a == entries.end() || b->first < a->first)
        all.push_back(*b++);
      else
        all.emplace_back(a->first, std::max((a++)->second, (b++)->second));
    }
    entries = std::move(all);
  }
  bool empty() const { return entries.empty(); }
  void clear() { entries.clear(); }

private:
  std::vector<std::pair<uint32_t, uint32_t>> entries; // thread, clock
};

} // namespace rubia::emulator
