// SPDX-License-Identifier: Apache-2.0
// State that device code and the loader share beside the module's variables: the ring that printf
// and assert write to and the heap of malloc and free. Device functions (lowering/device) are
// compiled with this header too, so it needs nothing but <stdint.h>.
#pragma once

#include <stdint.h>

namespace rubia::abi {

// ---------- The ring of printf

/// In host memory that the device reaches. A writer reserves bytes by adding to `reserved`, which
/// only ever grows: position p lies at byte p % capacity behind the header. If nobody reads, the
/// oldest records are overwritten, as CUDA has it. A record is whole when its first word holds
/// stampOf(its position), written last; no record but the one at that position can have this value,
/// so that the reader finds the first whole record after others were overwritten.
struct PrintfRing {
  uint64_t reserved;
  uint64_t capacity; // a power of two
  uint64_t unused[6];
};
static_assert(sizeof(PrintfRing) == 64);

constexpr uint64_t stampOf(uint64_t position) { return (position + 1) * 0x9e3779b97f4a7c15; }

/// Kind Printf: the arguments as the caller laid them out, filled up to 8 bytes; the format; the
/// text of each argument of %s that is not null, in order. Kind Assertion: AssertionRecord, then
/// message, file and function, where not null. All text ends in NUL.
enum PrintfRecordKind : uint32_t { kPrintfRecord = 1, kAssertionRecord = 2 };
struct PrintfRecord {
  uint64_t stamp;
  uint32_t bytes; // with this header; a multiple of 8
  uint32_t kind;
  uint32_t argumentBytes; // with what fills them up
  uint32_t formatBytes;   // with the NUL
};
static_assert(sizeof(PrintfRecord) == 24);

struct AssertionRecord {
  uint32_t line, hasText; // bit 0: message, 1: file, 2: function
  uint32_t ctaid[3], tid[3];
};
static_assert(sizeof(AssertionRecord) == 32);

// ---------- Formats

/// One conversion of a format, from the character behind '%' on. What NVIDIA's H100 prints decides
/// what is a conversion: 'z', 'j' and 't' are none, and what is none takes no argument.
struct FormatConversion {
  char letter = 0; // 0: the format ends within it
  bool starWidth = false, starPrecision = false, hasPrecision = false;
  unsigned longs = 0, shorts = 0; // of the length: h, hh, l, ll, L, q
  unsigned argumentBytes = 0;     // of the argument itself, 0: it takes none
  const char *flagsEnd = nullptr, *widthEnd = nullptr, *precisionEnd = nullptr, *end = nullptr;

  bool isString() const { return letter == 's' && longs == 0; }
};

constexpr bool isDigit(char c) { return c >= '0' && c <= '9'; }

inline FormatConversion parseConversion(const char *at) {
  FormatConversion c;
  while (*at == '-' || *at == '+' || *at == ' ' || *at == '#' || *at == '0' || *at == '\'')
    ++at;
  c.flagsEnd = at;
  if (*at == '*') {
    c.starWidth = true;
    ++at;
  }
  while (!c.starWidth && isDigit(*at))
    ++at;
  c.widthEnd = at;
  if (*at == '.') {
    c.hasPrecision = true;
    ++at;
    if (*at == '*') {
      c.starPrecision = true;
      ++at;
    }
    while (!c.starPrecision && isDigit(*at))
      ++at;
  }
  c.precisionEnd = at;
  if (*at == 'h')
    for (; *at == 'h' && c.shorts < 2; ++at)
      ++c.shorts;
  else if (*at == 'L' || *at == 'q')
    c.longs = 2, ++at;
  else
    for (; *at == 'l' && c.longs < 2; ++at)
      ++c.longs;
  c.letter = *at;
  c.end = *at ? at + 1 : at;
  switch (c.letter) {
  case 'd':
  case 'i':
  case 'u':
  case 'o':
  case 'x':
  case 'X':
  case 'c':
  case 'C':
    c.argumentBytes = c.longs ? 8 : 4;
    break;
  case 'a':
  case 'A':
  case 'e':
  case 'E':
  case 'f':
  case 'F':
  case 'g':
  case 'G':
  case 's':
  case 'S':
  case 'p':
  case 'n':
    c.argumentBytes = 8;
    break;
  default:
    break;
  }
  return c;
}

/// Where an argument lies that follows others up to `offset`.
constexpr uint32_t argumentOffset(uint32_t offset, uint32_t bytes) {
  return (offset + bytes - 1) & ~(bytes - 1);
}

// ---------- The heap of malloc

/// Pages of 4 KiB, each with an entry. A page holds blocks of one size class, or is one of
/// a run of pages that is one block. All changes are made by compare and swap of `state`, and bits
/// of `used` are set only by who has counted a block before, so that no thread ever waits for
/// another one: a wave has no order among its threads.
inline constexpr uint32_t kHeapPageBytes = 4096, kHeapClasses = 14, kHeapSmallest = 16;
/// 16, 32, 48, 64, 96, 128, 192, 256, 384, 512, 672, 1008, 1360, 2048: no table, so that device
/// functions need no memory of their own.
constexpr uint32_t heapBlockBytes(uint32_t kind) {
  return uint32_t((kind < 8 ? 0x100c080604030201 : 0x80553f2a2018) >> 8 * (kind % 8) & 0xff) *
         kHeapSmallest;
}
static_assert(heapBlockBytes(7) == 256 && heapBlockBytes(13) == 2048);

enum HeapPageKind : uint32_t {
  kHeapFree = 0,
  kHeapBlocks = 1, // bits 16 to 27: the class, 0 to 15: number of blocks in use
  kHeapRun = 2,    // the first page of a run; bits 0 to 27: number of pages
  kHeapTail = 3,   // another page of a run
};
constexpr uint32_t heapPageState(HeapPageKind kind, uint32_t rest) {
  return uint32_t(kind) << 28 | rest;
}

struct HeapPage {
  uint32_t state;
  uint32_t unused[7];
  uint32_t used[kHeapPageBytes / kHeapSmallest / 32]; // a bit for each block
};
static_assert(sizeof(HeapPage) == 64);

/// In device memory; zero but for the first two. The entries follow it, then, at `pages`, the
/// pages.
struct DeviceHeap {
  uint64_t pages; // address
  uint32_t pageCount;
  uint32_t hint[kHeapClasses]; // where a page of the class was found last
  uint32_t unused;
  /// Address of a number for every kHeapSmallest bytes of the pages, or 0: where a block begins,
  /// how many bytes the program asked for, with kHeapFreed once it was freed; 0 elsewhere. For the
  /// emulator's checks; blocks are then kHeapRedZone longer.
  uint64_t blocks;
  uint32_t unused2[12];
};
static_assert(sizeof(DeviceHeap) == 128);
inline constexpr uint32_t kHeapFreed = 1u << 31, kHeapRedZone = 16;

} // namespace rubia::abi
