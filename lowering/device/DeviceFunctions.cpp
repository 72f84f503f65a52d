// SPDX-License-Identifier: Apache-2.0
// The functions that CUDA's driver gives to device code: vprintf, malloc, free, __assertfail,
// cudaGraphSetConditional.
//
// They are written in C++, compiled to PTX while Rubia is built, and from then on are PTX like a
// program's own: whatever the target, warp form or options, they are lowered together with the
// kernels that call them. Lowering passes the addresses of the state behind the function's own
// parameters (lowering/lib/frame/DeviceFunctions.cpp).
#include "lowering/DeviceState.h"

using namespace rubia::abi;

#define DEVICE_FUNCTION extern "C" __attribute__((used))
#define GLOBAL __attribute__((address_space(1)))

namespace {

template <class T> T smaller(T a, T b) { return a < b ? a : b; }

uint64_t textBytes(const char *text) {
  uint64_t bytes = 0;
  while (text[bytes++])
    ;
  return bytes;
}

// ---------- Records of the ring

// Writes a record whose size is known, 8 bytes at a time; never beyond its end, whatever another
// thread does to a text meanwhile.
class RecordWriter {
public:
  RecordWriter(GLOBAL PrintfRing *ring, uint32_t bytes)
      : data((GLOBAL uint64_t *)(ring + 1)), mask(ring->capacity - 1) {
    asm volatile("atom.relaxed.sys.global.add.u64 %0, [%1], %2;"
                 : "=l"(start)
                 : "l"(&ring->reserved), "l"(uint64_t(bytes))
                 : "memory");
    position = start + 8; // the stamp comes last
    end = start + bytes;
  }

  void put(uint64_t value, unsigned bytes) {
    word |= value << 8 * filled;
    filled += bytes;
    if (filled < 8)
      return;
    if (position < end)
      *at(position) = word;
    position += 8;
    word = filled = 0;
  }
  void put32(uint32_t value) { put(value, 4); }
  void putText(const char *text) {
    do
      put(uint8_t(*text), 1);
    while (*text++ && position < end);
  }
  void align() {
    while (filled)
      put(0, 1);
  }
  void finish() {
    align();
    while (position < end)
      put(0, 4);
    asm volatile("st.release.sys.global.u64 [%0], %1;"
                 :
                 : "l"(at(start)), "l"(stampOf(start))
                 : "memory");
  }

private:
  GLOBAL uint64_t *at(uint64_t place) { return data + (place & mask) / 8; }

  GLOBAL uint64_t *data;
  uint64_t mask, start, position, end, word = 0;
  unsigned filled = 0;
};

// Calls body(offset, isString) for every argument that a format takes; returns the size of all.
template <class Body> uint32_t forEachArgument(const char *format, Body body) {
  uint32_t offset = 0;
  auto take = [&](uint32_t bytes, bool isString) {
    offset = argumentOffset(offset, bytes);
    body(offset, isString);
    offset += bytes;
  };
  while (*format) {
    if (*format++ != '%')
      continue;
    FormatConversion conversion = parseConversion(format);
    format = conversion.end;
    if (!conversion.argumentBytes)
      continue;
    if (conversion.starWidth)
      take(4, false);
    if (conversion.starPrecision)
      take(4, false);
    take(conversion.argumentBytes, conversion.isString());
  }
  return offset;
}

} // namespace

// The number of arguments; -1 without a format, -2 if the ring cannot hold it.
DEVICE_FUNCTION int vprintf(const char *format, const void *arguments, GLOBAL PrintfRing *ring) {
  if (!format)
    return -1;
  auto text = [&](uint32_t offset) {
    return *(const char *const *)((const char *)arguments + offset);
  };
  int count = 0;
  uint64_t texts = 0;
  uint32_t argumentBytes = forEachArgument(format, [&](uint32_t offset, bool isString) {
    ++count;
    if (isString && text(offset))
      texts += textBytes(text(offset));
  });
  uint64_t formatBytes = textBytes(format);
  uint32_t filled = argumentOffset(argumentBytes, 8);
  uint64_t bytes = (sizeof(PrintfRecord) + filled + formatBytes + texts + 7) & ~uint64_t(7);
  if (bytes > ring->capacity)
    return -2;

  RecordWriter writer(ring, uint32_t(bytes));
  writer.put32(uint32_t(bytes));
  writer.put32(kPrintfRecord);
  writer.put32(filled);
  writer.put32(uint32_t(formatBytes));
  for (uint32_t offset = 0; offset < argumentBytes; offset += 4)
    writer.put32(*(const uint32_t *)((const char *)arguments + offset));
  writer.align();
  writer.putText(format);
  forEachArgument(format, [&](uint32_t offset, bool isString) {
    if (isString && text(offset))
      writer.putText(text(offset));
  });
  writer.finish();
  return count;
}

// Lowering ends the warp after it. `charSize` is 1 for every caller that there is.
DEVICE_FUNCTION void __assertfail(const char *message, const char *file, uint32_t line,
                                  const char *function, uint64_t, GLOBAL PrintfRing *ring) {
  const char *const texts[] = {message, file, function};
  uint64_t bytes = sizeof(PrintfRecord) + sizeof(AssertionRecord);
  uint32_t hasText = 0;
  for (int i = 0; i < 3; ++i)
    if (texts[i]) {
      hasText |= 1u << i;
      bytes += textBytes(texts[i]);
    }
  bytes = (bytes + 7) & ~uint64_t(7);
  if (bytes > ring->capacity)
    return;
  RecordWriter writer(ring, uint32_t(bytes));
  writer.put32(uint32_t(bytes));
  writer.put32(kAssertionRecord);
  writer.put32(0);
  writer.put32(0);
  writer.put32(line);
  writer.put32(hasText);
  writer.put32(__nvvm_read_ptx_sreg_ctaid_x());
  writer.put32(__nvvm_read_ptx_sreg_ctaid_y());
  writer.put32(__nvvm_read_ptx_sreg_ctaid_z());
  writer.put32(__nvvm_read_ptx_sreg_tid_x());
  writer.put32(__nvvm_read_ptx_sreg_tid_y());
  writer.put32(__nvvm_read_ptx_sreg_tid_z());
  for (const char *text : texts)
    if (text)
      writer.putText(text);
  writer.finish();
}

// ---------- The heap

namespace {

// In assembly, since clang has no device scope for this target.
uint32_t load(GLOBAL uint32_t *word) {
  uint32_t value;
  asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(word) : "memory");
  return value;
}
void store(GLOBAL uint32_t *word, uint32_t value) {
  asm volatile("st.release.gpu.global.u32 [%0], %1;" : : "l"(word), "r"(value) : "memory");
}
#define ATOMIC(name, operation)                                                                    \
  uint32_t name(GLOBAL uint32_t *word, uint32_t value) {                                           \
    uint32_t before;                                                                               \
    asm volatile("atom.acq_rel.gpu.global." operation ".b32 %0, [%1], %2;"                         \
                 : "=r"(before)                                                                    \
                 : "l"(word), "r"(value)                                                           \
                 : "memory");                                                                      \
    return before;                                                                                 \
  }
ATOMIC(setBits, "or")
ATOMIC(keepBits, "and")

// Replaces `expected`; returns whether it stood there.
bool exchange(GLOBAL uint32_t *word, uint32_t expected, uint32_t desired) {
  uint32_t before;
  asm volatile("atom.acq_rel.gpu.global.cas.b32 %0, [%1], %2, %3;"
               : "=r"(before)
               : "l"(word), "r"(expected), "r"(desired)
               : "memory");
  return before == expected;
}

struct Heap {
  GLOBAL DeviceHeap *heap;
  GLOBAL HeapPage *entries;
  uint32_t count;

  explicit Heap(GLOBAL DeviceHeap *heap)
      : heap(heap), entries((GLOBAL HeapPage *)(heap + 1)), count(heap->pageCount) {}

  void *address(uint32_t page, uint32_t offset) const {
    return (void *)(heap->pages + uint64_t(page) * kHeapPageBytes + offset);
  }

  // A block of a page in which one has been counted for the caller: there is a clear bit.
  void *takeBlock(uint32_t page, uint32_t bytes, uint32_t start) const {
    const uint32_t blocks = kHeapPageBytes / bytes, words = (blocks + 31) / 32;
    for (uint32_t i = start % words;; i = (i + 1) % words) {
      GLOBAL uint32_t *word = &entries[page].used[i];
      const uint32_t all = smaller(blocks - 32 * i, 32u);
      uint32_t clear = ~load(word) & (all == 32 ? ~0u : (1u << all) - 1);
      while (clear) {
        uint32_t bit = clear & -clear;
        uint32_t before = setBits(word, bit);
        if (!(before & bit))
          return address(page, (32 * i + uint32_t(__builtin_ctz(bit))) * bytes);
        clear &= ~before;
      }
    }
  }

  // The entry at which a search for pages of blocks begins stands at the end: runs begin at the
  // start, so that few pages lie between them.
  void *allocateBlock(uint32_t kind, uint32_t start) const {
    const uint32_t bytes = heapBlockBytes(kind), most = kHeapPageBytes / bytes;
    const uint32_t hint = load(&heap->hint[kind]);
    for (uint32_t i = 0; i < count;) {
      const uint32_t page = count - 1 - (hint + i) % count;
      GLOBAL uint32_t *state = &entries[page].state;
      const uint32_t seen = load(state);
      const uint32_t mine = heapPageState(kHeapBlocks, kind << 16);
      const bool isFree = seen == 0;
      if (!isFree && ((seen & ~0xffffu) != mine || (seen & 0xffff) >= most)) {
        ++i;
        continue;
      }
      if (!exchange(state, seen, isFree ? mine | 1 : seen + 1))
        continue; // somebody else changed it: look again
      if (i)
        store(&heap->hint[kind], (hint + i) % count);
      return takeBlock(page, bytes, start);
    }
    return nullptr;
  }

  void *allocateRun(uint32_t pages) const {
    bool collided = true;
    for (int attempt = 0; attempt < 16 && collided; ++attempt) {
      collided = false;
      for (uint32_t first = 0; first + pages <= count;) {
        const uint32_t seen = load(&entries[first].state);
        if (seen != 0) {
          first += seen >> 28 == kHeapRun ? seen & 0xfffffff : 1;
          continue;
        }
        uint32_t free = 1;
        while (free < pages && load(&entries[first + free].state) == 0)
          ++free;
        if (free < pages) {
          first += free;
          continue;
        }
        if (!exchange(&entries[first].state, 0, heapPageState(kHeapRun, pages))) {
          collided = true;
          continue; // it tells now how far to go
        }
        uint32_t taken = 1;
        while (taken < pages &&
               exchange(&entries[first + taken].state, 0, heapPageState(kHeapTail, 0)))
          ++taken;
        if (taken == pages)
          return address(first, 0);
        collided = true;
        releaseRun(first, taken);
        first += taken;
      }
    }
    return nullptr;
  }

  // The first page last: until then nobody goes through the others.
  void releaseRun(uint32_t first, uint32_t pages) const {
    while (pages--)
      store(&entries[first + pages].state, 0);
  }
};

} // namespace

namespace {
void *allocate(const Heap &heap, uint64_t bytes) {
  if (bytes > uint64_t(heap.count) * kHeapPageBytes)
    return nullptr;
  for (uint32_t kind = 0; kind < kHeapClasses; ++kind)
    if (bytes <= heapBlockBytes(kind))
      return heap.allocateBlock(kind, __nvvm_read_ptx_sreg_tid_x());
  return heap.allocateRun(uint32_t((bytes + kHeapPageBytes - 1) / kHeapPageBytes));
}

// Of a block of the heap, in the table of blocks.
GLOBAL uint32_t *tableEntry(GLOBAL DeviceHeap *heap, void *block) {
  return (GLOBAL uint32_t *)heap->blocks + (uint64_t(block) - heap->pages) / kHeapSmallest;
}
} // namespace

DEVICE_FUNCTION void *malloc(uint64_t bytes, GLOBAL DeviceHeap *state) {
  Heap heap(state);
  if (!state->blocks)
    return allocate(heap, bytes);
  void *block = bytes < kHeapFreed ? allocate(heap, bytes + kHeapRedZone) : nullptr;
  if (!block)
    return nullptr;
  GLOBAL uint32_t *entry = tableEntry(state, block);
  for (uint64_t i = 1; i < (bytes + kHeapRedZone) / kHeapSmallest; ++i)
    store(entry + i, 0); // of blocks that were freed
  store(entry, uint32_t(bytes));
  return block;
}

// What is not of the heap is left alone, as the H100 does; a block that is not in use is a fault.
DEVICE_FUNCTION void free(void *block, GLOBAL DeviceHeap *state) {
  Heap heap(state);
  const uint64_t place = uint64_t(block) - state->pages;
  if (place >= uint64_t(heap.count) * kHeapPageBytes)
    return;
  if (state->blocks && place % kHeapSmallest == 0)
    setBits(tableEntry(state, block), kHeapFreed);
  const uint32_t page = uint32_t(place / kHeapPageBytes), offset = place % kHeapPageBytes;
  GLOBAL HeapPage &entry = heap.entries[page];
  uint32_t seen = load(&entry.state);
  if (seen >> 28 == kHeapRun && offset == 0 &&
      exchange(&entry.state, seen, heapPageState(kHeapTail, 0)))
    return heap.releaseRun(page, seen & 0xfffffff);
  const uint32_t kind = seen >> 16 & 0xfff;
  if (seen >> 28 != kHeapBlocks || offset % heapBlockBytes(kind) != 0)
    __builtin_trap();
  const uint32_t index = offset / heapBlockBytes(kind), bit = 1u << index % 32;
  if (!(keepBits(&entry.used[index / 32], ~bit) & bit))
    __builtin_trap();
  // Counted last: a block is free for others only once its bit is clear.
  for (;;) {
    seen = load(&entry.state);
    if (exchange(&entry.state, seen, (seen & 0xffff) == 1 ? 0 : seen - 1))
      return;
  }
}

// The handle is the address of the word (runtime/cuda/graph/Conditional.h).
DEVICE_FUNCTION void cudaGraphSetConditional(uint64_t handle, uint32_t value) {
  *(GLOBAL uint32_t *)handle = value;
}

#include "lowering/device/TensorCopies.h"
