// SPDX-License-Identifier: Apache-2.0
#include "emulator/lib/memory/WrittenBytes.h"
#include <algorithm>

namespace rubia::emulator {

void WrittenBytes::follow(uint64_t begin, uint64_t size) {
  std::lock_guard lock(mutex);
  Range range{begin, size, {}, {}};
  range.pages.resize((size + kPageBytes - 1) / kPageBytes);
  range.whole.resize(range.pages.size());
  ranges[begin] = std::move(range);
}

void WrittenBytes::forget(uint64_t begin) {
  std::lock_guard lock(mutex);
  ranges.erase(begin);
}

WrittenBytes::Range *WrittenBytes::find(uint64_t address) {
  auto next = ranges.upper_bound(address);
  if (next == ranges.begin())
    return nullptr;
  Range &range = std::prev(next)->second;
  return address - range.begin < range.size ? &range : nullptr;
}

bool WrittenBytes::isWritten(const Range &range, uint64_t offset) {
  const uint64_t page = offset / kPageBytes, byte = offset % kPageBytes;
  return range.whole[page] ||
         (range.pages[page] && range.pages[page]->written[byte / 64] >> (byte % 64) & 1);
}

void WrittenBytes::markIn(Range &range, uint64_t offset, uint64_t bytes) {
  for (const uint64_t end = offset + bytes; offset < end;) {
    const uint64_t page = offset / kPageBytes, first = offset % kPageBytes;
    const uint64_t last = std::min(kPageBytes, first + (end - offset));
    offset += last - first;
    if (range.whole[page])
      continue;
    if (last - first == kPageBytes) {
      range.pages[page].reset();
      range.whole[page] = true;
      continue;
    }
    if (!range.pages[page])
      range.pages[page] = std::make_unique<Page>();
    for (uint64_t byte = first; byte < last;) {
      const uint64_t count = std::min(last - byte, 64 - byte % 64);
      const uint64_t mask = (count == 64 ? ~uint64_t(0) : (uint64_t(1) << count) - 1) << byte % 64;
      range.pages[page]->written[byte / 64] |= mask;
      byte += count;
    }
  }
}

void WrittenBytes::clear(Range &range, uint64_t offset) {
  const uint64_t page = offset / kPageBytes, byte = offset % kPageBytes;
  if (range.whole[page]) {
    range.whole[page] = false;
    range.pages[page] = std::make_unique<Page>();
    std::fill(std::begin(range.pages[page]->written), std::end(range.pages[page]->written),
              ~uint64_t(0));
  }
  if (range.pages[page])
    range.pages[page]->written[byte / 64] &= ~(uint64_t(1) << byte % 64);
}

void WrittenBytes::markLocked(uint64_t address, uint64_t bytes) {
  if (Range *range = find(address)) {
    const uint64_t offset = address - range->begin;
    markIn(*range, offset, std::min(bytes, range->size - offset));
  }
}

void WrittenBytes::mark(uint64_t address, uint64_t bytes) {
  std::lock_guard lock(mutex);
  markLocked(address, bytes);
}

void WrittenBytes::copy(uint64_t to, uint64_t from, uint64_t bytes) {
  std::lock_guard lock(mutex);
  const Range *source = find(from);
  Range *target = find(to);
  if (!target)
    return;
  if (!source)
    return markLocked(to, bytes);
  // Read as a whole first: the two may overlap.
  std::vector<bool> written(bytes);
  for (uint64_t i = 0; i < bytes && from + i - source->begin < source->size; ++i)
    written[i] = isWritten(*source, from + i - source->begin);
  for (uint64_t i = 0; i < bytes && to + i - target->begin < target->size;) {
    const uint64_t offset = to + i - target->begin;
    if (!written[i]) {
      clear(*target, offset);
      ++i;
      continue;
    }
    const uint64_t first = i;
    while (i < bytes && to + i - target->begin < target->size && written[i])
      ++i;
    markIn(*target, offset, i - first);
  }
}

uint64_t WrittenBytes::unwritten(uint64_t address, unsigned bytes) const {
  std::lock_guard lock(mutex);
  const Range *range = find(address);
  if (!range)
    return 0;
  uint64_t mask = 0;
  for (unsigned i = 0; i < bytes && address + i - range->begin < range->size; ++i)
    mask |= uint64_t(!isWritten(*range, address + i - range->begin)) << i;
  return mask;
}

} // namespace rubia::emulator
