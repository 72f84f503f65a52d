// SPDX-License-Identifier: Apache-2.0
// Which bytes of device memory somebody has written: copies, fills and kernels. The check
// `uninitialised` asks; without it nothing is followed.
//
// A bit for each byte, in pages that are made when the first byte of them is written; a page that
// has been written as a whole needs none.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace rubia::emulator {

class WrittenBytes {
public:
  /// From now on none of these bytes is written.
  void follow(uint64_t begin, uint64_t size);
  void forget(uint64_t begin);
  void mark(uint64_t address, uint64_t bytes);
  void copy(uint64_t to, uint64_t from, uint64_t bytes);
  /// A bit for each of up to 64 bytes that is followed and not written.
  uint64_t unwritten(uint64_t address, unsigned bytes) const;

private:
  static constexpr uint64_t kPageBytes = 4096;
  struct Page {
    uint64_t written[kPageBytes / 64] = {};
  };
  struct Range {
    uint64_t begin = 0, size = 0;
    std::vector<std::unique_ptr<Page>> pages; // null: nothing of it is written, or all
    std::vector<bool> whole;
  };
  Range *find(uint64_t address);
  const Range *find(uint64_t address) const {
    return const_cast<WrittenBytes *>(this)->find(address);
  }
  static bool isWritten(const Range &range, uint64_t offset);
  static void markIn(Range &range, uint64_t offset, uint64_t bytes);
  static void clear(Range &range, uint64_t offset);
  void markLocked(uint64_t address, uint64_t bytes);

  mutable std::mutex mutex;
  std::map<uint64_t, Range> ranges; // by their first byte
};

} // namespace rubia::emulator
