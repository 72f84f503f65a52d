// SPDX-License-Identifier: Apache-2.0
// Which thread wrote an element, and at which line: the PTX is changed so that each store to device
// memory compares its address with one that is watched, and writes down who it is. The same text
// runs on every target.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <optional>
#include <string>
#include <vector>

namespace rubia::capsule {

/// The variable of an instrumented module: the watched address (8 bytes), how many stores met it (4
/// bytes), of an address in shared memory the number of the CTA plus 1 (4 bytes, else 0), and from
/// kWatchSlots on a ring of what they wrote down.
inline constexpr const char *kWatchVariable = "rubia_watch";
inline constexpr size_t kWatchSlots = 16, kWatchSlotCount = 64, kWatchSlotBytes = 32,
                        kWatchBytes = kWatchSlots + kWatchSlotCount * kWatchSlotBytes;

struct StoreSite {
  uint32_t line = 0;  // of the PTX
  std::string text;   // the instruction
  std::string source; // "file.cu:12", where the PTX says
};

struct InstrumentedPtx {
  std::string text;
  std::vector<StoreSite> sites; // by the number that they write down
};

llvm::Expected<InstrumentedPtx> instrumentStores(llvm::StringRef ptx, llvm::StringRef kernel);

/// The variable of a module that notes who wrote each word of an allocation: its address and bytes,
/// and the address of kWriterBytes for each of its words (8 bytes each).
inline constexpr const char *kWritersVariable = "rubia_writers";
inline constexpr size_t kWritersBytes = 24, kWordBytes = 4, kWriterBytes = 16;
/// Stores that begin in the last word may reach so many words behind it.
inline constexpr size_t kWordsBehind = 16;

llvm::Expected<InstrumentedPtx> instrumentWriters(llvm::StringRef ptx, llvm::StringRef kernel);

/// The variable of a module that notes which pages of its allocations a launch touches: the number
/// of allocations, and of each its address, its bytes and the address of a byte for each page (8
/// bytes each).
inline constexpr const char *kTouchedVariable = "rubia_touched";
inline constexpr size_t kTouchedMost = 64, kTouchedBytes = 8 + kTouchedMost * 24;

/// Pages have 2^`pageShift` bytes. An error also if it has instructions for memory of the device
/// that are not understood: bulk and asynchronous copies, textures.
llvm::Expected<InstrumentedPtx> instrumentTouches(llvm::StringRef ptx, llvm::StringRef kernel,
                                                  unsigned pageShift);

/// Part of a text, with what it is about marked.
struct Excerpt {
  std::string title;
  struct Line {
    uint32_t number = 0; // 0: none
    std::string text;
    bool isMarked = false;
  };
  std::vector<Line> lines;
};

struct Writer {
  StoreSite site;
  uint32_t cta[3] = {0, 0, 0}, thread[3] = {0, 0, 0};
  uint32_t stores = 0; // that wrote there in all; this was the last of them
};

/// Who wrote each word of an allocation last.
struct WriterMap {
  std::vector<StoreSite> sites;
  std::vector<uint8_t> words; // CTA, thread, number of the site plus 1, 0: 4 bytes each
  uint32_t grid[3] = {1, 1, 1}, block[3] = {1, 1, 1};
  /// Of the word with this byte. None: no store wrote there.
  std::optional<Writer> at(uint64_t offset) const;
};

/// From the contents of the variable after the launch. None: no store wrote there.
std::vector<Writer> writersOf(llvm::ArrayRef<uint8_t> watch, const InstrumentedPtx &instrumented);

} // namespace rubia::capsule
