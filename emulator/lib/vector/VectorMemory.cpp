// SPDX-License-Identifier: Apache-2.0
// The memory instructions that most kernels spend their time in, for the case that all is well: all
// lanes of an instruction lie within one allocation that the wave knows, or within LDS. Then lanes
// are loaded and stored with the host's vector instructions. Anything else is left to the handlers
// in GlobalMemory.cpp and LocalMemory.cpp (MicroOp::slowPath), which check each lane and report
// faults; nothing has been changed by then. Compiled once per instruction set.
#include "emulator/lib/vector/VectorMemory.h"
#include "emulator/lib/machine/LaneLoops.h"
#include "emulator/lib/machine/ScratchLayout.h"
#include "emulator/lib/memory/HostAccess.h"
#ifdef __AVX512F__
#include <immintrin.h>
#endif

namespace rubia::emulator::RUBIA_ISA {
namespace {

/// 16 lanes, half a block.
constexpr unsigned kHalfLanes = 16;
typedef uint32_t HalfBlock __attribute__((vector_size(4 * kHalfLanes)));
constexpr HalfBlock kNumbers = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

template <class T> [[gnu::always_inline]] inline T read(const void *at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}

/// How the addresses of a half's active lanes follow each other.
enum class Pattern : uint8_t {
  None, // there are no active lanes
  Row,  // without gaps
  Same, // all are one
  Any
};

/// Where the active lanes of a block find their memory: at `base` plus 32 bits of their own.
struct Places {
  uint32_t mask = 0;
  bool isRow = false; // all lanes are active and follow each other without gaps
  Pattern patterns[2];
  const uint32_t *offsets = nullptr;
  uint64_t base = 0;
  uint32_t least = ~0u, most = 0; // of the offsets of active lanes

  uint32_t active(unsigned half) const { return mask >> (kHalfLanes * half) & 0xffff; }

  /// Completes the rest for accesses of `size` bytes.
  [[gnu::always_inline]] void measure(unsigned size) {
    for (unsigned half = 0; half < 2; ++half)
      measureHalf(half, size);
    isRow = mask == ~0u && patterns[0] == Pattern::Row && patterns[1] == Pattern::Row &&
            offsets[0] < offsets[kHalfLanes] && // else the halves have changed places
            most - least == (kBlockLanes - 1) * size;
  }
  [[gnu::always_inline]] void measureHalf(unsigned half, unsigned size) {
    const uint32_t lanes = active(half);
    if (!lanes) {
      patterns[half] = Pattern::None;
      return;
    }
    const uint32_t *const at = offsets + kHalfLanes * half;
    const unsigned firstLane = unsigned(std::countr_zero(lanes));
    const uint32_t first = at[firstLane], last = at[31 - unsigned(std::countl_zero(lanes))];
    const HalfBlock all = read<HalfBlock>(at);
    HalfBlock off =
        lanes == 0xffff ? ~HalfBlock{} : HalfBlock{} - (((HalfBlock{} + lanes) >> kNumbers) & 1);
    uint32_t low = first, high = last;
    if (__builtin_reduce_or((all ^ (first + (kNumbers - firstLane) * size)) & off) == 0 &&
        first <= last) { // else they wrap
      patterns[half] = Pattern::Row;
    } else if (__builtin_reduce_or((all ^ first) & off) == 0) {
      patterns[half] = Pattern::Same;
    } else {
      patterns[half] = Pattern::Any;
      low = __builtin_reduce_min(all | ~off);
      high = __builtin_reduce_max(all & off);
    }
    least = low < least ? low : least;
    most = high > most ? high : most;
  }
  /// Where a row begins whose active lanes access `size` bytes each.
  uint8_t *row(unsigned half, unsigned size) const {
    const unsigned lane = unsigned(std::countr_zero(active(half)));
    return at(kHalfLanes * half + lane) - size * lane;
  }
  uint8_t *at(unsigned lane) const { return reinterpret_cast<uint8_t *>(base + offsets[lane]); }
};

template <class Move> [[gnu::always_inline]] inline void forActive(uint32_t mask, Move move) {
  if (mask == ~0u)
    for (unsigned lane = 0; lane < kBlockLanes; ++lane)
      move(lane);
  else
    for (uint32_t rest = mask; rest; rest &= rest - 1)
      move(unsigned(std::countr_zero(rest)));
}

// A half's dwords, only those of `lanes`. The others' memory may be nobody's.
[[gnu::always_inline]] inline void copyHalf(void *to, const void *from, uint32_t lanes) {
  if (lanes == 0xffff) [[likely]] {
    std::memcpy(to, from, sizeof(HalfBlock));
    return;
  }
#ifdef __AVX512F__
  _mm512_mask_storeu_epi32(to, __mmask16(lanes), _mm512_maskz_loadu_epi32(__mmask16(lanes), from));
#else
  for (uint32_t rest = lanes; rest; rest &= rest - 1) {
    const unsigned at = 4 * unsigned(std::countr_zero(rest));
    std::memcpy(static_cast<uint8_t *>(to) + at, static_cast<const uint8_t *>(from) + at, 4);
  }
#endif
}
[[gnu::always_inline]] inline void fillHalf(uint32_t *to, uint32_t value, uint32_t lanes) {
  const HalfBlock all = HalfBlock{} + value;
  copyHalf(to, &all, lanes);
}
[[gnu::always_inline]] inline void gatherHalf(uint32_t *to, uint64_t base, const uint32_t *offsets,
                                              uint32_t lanes) {
#ifdef __AVX512F__
  // Indices have a sign.
  const __m512i at = _mm512_xor_si512(_mm512_loadu_si512(offsets), _mm512_set1_epi32(INT32_MIN));
  const auto *middle = reinterpret_cast<const void *>(base + (uint64_t(1) << 31));
  _mm512_storeu_si512(
      to, _mm512_mask_i32gather_epi32(_mm512_loadu_si512(to), __mmask16(lanes), at, middle, 1));
#else
  for (uint32_t rest = lanes; rest; rest &= rest - 1) {
    const unsigned lane = unsigned(std::countr_zero(rest));
    to[lane] = read<uint32_t>(reinterpret_cast<const void *>(base + offsets[lane]));
  }
#endif
}

#ifdef __AVX512F__
/// Half a block's lanes as two vectors of 64 bits each, from and to registers and memory.
struct Pairs {
  __m512i low, high; // lanes 0 to 7, 8 to 15

  [[gnu::always_inline]] static Pairs ofRegisters(const uint32_t *registers) {
    const __m512i a = _mm512_loadu_si512(registers);
    const __m512i b = _mm512_loadu_si512(registers + kBlockLanes);
    const __m512i first = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    return {_mm512_permutex2var_epi32(a, first, b),
            _mm512_permutex2var_epi32(a, _mm512_add_epi32(first, _mm512_set1_epi32(8)), b)};
  }
  [[gnu::always_inline]] void toRegisters(uint32_t *registers, uint32_t lanes) const {
    const __m512i even =
        _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    const __m512i odd = _mm512_add_epi32(even, _mm512_set1_epi32(1));
    const auto mask = __mmask16(lanes);
    _mm512_mask_storeu_epi32(registers, mask, _mm512_permutex2var_epi32(low, even, high));
    _mm512_mask_storeu_epi32(registers + kBlockLanes, mask,
                             _mm512_permutex2var_epi32(low, odd, high));
  }
  [[gnu::always_inline]] static __m256i indices(const uint32_t *offsets) { // they have a sign
    return _mm256_xor_si256(_mm256_loadu_si256(reinterpret_cast<const __m256i *>(offsets)),
                            _mm256_set1_epi32(INT32_MIN));
  }
  [[gnu::always_inline]] static Pairs ofRow(const uint8_t *row, uint32_t lanes) {
    return {_mm512_maskz_loadu_epi64(__mmask8(lanes), row),
            _mm512_maskz_loadu_epi64(__mmask8(lanes >> 8), row + 64)};
  }
  [[gnu::always_inline]] void toRow(uint8_t *row, uint32_t lanes) const {
    _mm512_mask_storeu_epi64(row, __mmask8(lanes), low);
    _mm512_mask_storeu_epi64(row + 64, __mmask8(lanes >> 8), high);
  }
  [[gnu::always_inline]] static Pairs gathered(uint64_t base, const uint32_t *offsets,
                                               uint32_t lanes) {
    const auto *middle = reinterpret_cast<const void *>(base + (uint64_t(1) << 31));
    const __m512i none = _mm512_setzero_si512();
    return {
        _mm512_mask_i32gather_epi64(none, __mmask8(lanes), indices(offsets), middle, 1),
        _mm512_mask_i32gather_epi64(none, __mmask8(lanes >> 8), indices(offsets + 8), middle, 1)};
  }
  /// In order: the last one wins (Intel SDM "VPSCATTERDQ").
  [[gnu::always_inline]] void scatter(uint64_t base, const uint32_t *offsets,
                                      uint32_t lanes) const {
    auto *middle = reinterpret_cast<void *>(base + (uint64_t(1) << 31));
    _mm512_mask_i32scatter_epi64(middle, __mmask8(lanes), indices(offsets), low, 1);
    _mm512_mask_i32scatter_epi64(middle, __mmask8(lanes >> 8), indices(offsets + 8), high, 1);
  }
};

[[gnu::always_inline]] inline void loadPairs(uint32_t *registers, const Places &places) {
  for (unsigned half = 0; half < 2; ++half) {
    const unsigned first = kHalfLanes * half;
    const uint32_t lanes = places.active(half);
    if (!lanes)
      continue;
    const bool isRow = places.patterns[half] == Pattern::Row;
    const Pairs pairs = isRow ? Pairs::ofRow(places.row(half, 8), lanes)
                              : Pairs::gathered(places.base, places.offsets + first, lanes);
    pairs.toRegisters(registers + first, lanes);
  }
}
[[gnu::always_inline]] inline void storePairs(const uint32_t *registers, const Places &places) {
  for (unsigned half = 0; half < 2; ++half) {
    const unsigned first = kHalfLanes * half;
    const uint32_t lanes = places.active(half);
    if (!lanes)
      continue;
    const Pairs pairs = Pairs::ofRegisters(registers + first);
    if (places.patterns[half] == Pattern::Row)
      pairs.toRow(places.row(half, 8), lanes);
    else
      pairs.scatter(places.base, places.offsets + first, lanes);
  }
}
#endif

/// Rows of four dwords and rows of four lanes, one from the other.
[[gnu::always_inline]] inline void transpose(FourDwords (&rows)[4]) {
  const FourDwords a = __builtin_shufflevector(rows[0], rows[1], 0, 4, 1, 5);
  const FourDwords b = __builtin_shufflevector(rows[0], rows[1], 2, 6, 3, 7);
  const FourDwords c = __builtin_shufflevector(rows[2], rows[3], 0, 4, 1, 5);
  const FourDwords d = __builtin_shufflevector(rows[2], rows[3], 2, 6, 3, 7);
  rows[0] = __builtin_shufflevector(a, c, 0, 1, 4, 5);
  rows[1] = __builtin_shufflevector(a, c, 2, 3, 6, 7);
  rows[2] = __builtin_shufflevector(b, d, 0, 1, 4, 5);
  rows[3] = __builtin_shufflevector(b, d, 2, 3, 6, 7);
}

/// The four dwords of each lane of a whole row. Each lane's are one access of the host.
[[gnu::always_inline]] inline void loadQuads(uint32_t *registers, const uint8_t *row) {
  for (unsigned lane = 0; lane < kBlockLanes; lane += 4) {
    FourDwords rows[4];
    for (unsigned i = 0; i < 4; ++i)
      rows[i] = readAtOnce(row + sizeof(FourDwords) * (lane + i));
    transpose(rows);
    for (unsigned i = 0; i < 4; ++i)
      std::memcpy(registers + i * kBlockLanes + lane, &rows[i], sizeof(FourDwords));
  }
}
[[gnu::always_inline]] inline void storeQuads(const uint32_t *registers, uint8_t *row) {
  for (unsigned lane = 0; lane < kBlockLanes; lane += 4) {
    FourDwords rows[4];
    for (unsigned i = 0; i < 4; ++i)
      rows[i] = read<FourDwords>(registers + i * kBlockLanes + lane);
    transpose(rows);
    for (unsigned i = 0; i < 4; ++i)
      writeAtOnce(row + sizeof(FourDwords) * (lane + i), rows[i]);
  }
}

/// N dwords of each lane. Two and four are one access of the host if they are aligned, since other
/// host threads may access them at the same time.
template <unsigned N> struct Words {
  static constexpr unsigned kBytes = 4 * N;
  struct Dwords { // of a lane
    uint32_t at[N];
  };
  [[gnu::always_inline]] static bool isAtOnce(const void *place) {
    return N == 4 && uint64_t(place) % kHostAccessBytes == 0;
  }
  [[gnu::always_inline]] static Dwords dwordsAt(const void *from) {
    if constexpr (N == 2)
      return std::bit_cast<Dwords>(read<uint64_t>(from));
    if constexpr (N == 4)
      if (isAtOnce(from)) [[likely]]
        return std::bit_cast<Dwords>(readAtOnce(from));
    return read<Dwords>(from);
  }

  static void load(uint32_t *registers, const Places &places) {
#ifdef __AVX512F__
    if constexpr (N == 2)
      return loadPairs(registers, places);
#endif
    if (places.isRow) {
      const uint8_t *row = places.at(0);
      if constexpr (N == 2) {
        RUBIA_EACH_LANE {
          const auto pair = read<uint64_t>(row + kBytes * lane);
          registers[lane] = uint32_t(pair);
          registers[kBlockLanes + lane] = uint32_t(pair >> 32);
        }
        return;
      }
      if (isAtOnce(row))
        return loadQuads(registers, row);
      RUBIA_EACH_LANE
      for (unsigned i = 0; i < N; ++i)
        registers[i * kBlockLanes + lane] = read<uint32_t>(row + kBytes * lane + 4 * i);
      return;
    }
    if constexpr (N == 1) {
      for (unsigned half = 0; half < 2; ++half) {
        const unsigned first = kHalfLanes * half;
        const uint32_t lanes = places.active(half);
        uint32_t *to = registers + first;
        switch (places.patterns[half]) {
        case Pattern::None:
          break;
        case Pattern::Row:
          copyHalf(to, places.row(half, kBytes), lanes);
          break;
        case Pattern::Same:
          fillHalf(to, read<uint32_t>(places.at(first + unsigned(std::countr_zero(lanes)))), lanes);
          break;
        case Pattern::Any:
          gatherHalf(to, places.base, places.offsets + first, lanes);
        }
      }
    } else {
      for (unsigned half = 0; half < 2; ++half) {
        const unsigned first = kHalfLanes * half;
        const uint32_t lanes = places.active(half);
        if (places.patterns[half] == Pattern::Same) {
          const auto words = dwordsAt(places.at(first + unsigned(std::countr_zero(lanes))));
          for (unsigned i = 0; i < N; ++i)
            fillHalf(registers + i * kBlockLanes + first, words.at[i], lanes);
          continue;
        }
        for (uint32_t rest = lanes; rest; rest &= rest - 1) {
          const unsigned lane = first + unsigned(std::countr_zero(rest));
          const auto words = dwordsAt(places.at(lane));
          for (unsigned i = 0; i < N; ++i)
            registers[i * kBlockLanes + lane] = words.at[i];
        }
      }
    }
  }

  static void store(const uint32_t *registers, const Places &places) {
#ifdef __AVX512F__
    if constexpr (N == 2)
      return storePairs(registers, places);
#endif
    if (places.isRow) {
      uint8_t *row = places.at(0);
      if constexpr (N == 2) {
        RUBIA_EACH_LANE {
          const uint64_t pair = uint64_t(registers[kBlockLanes + lane]) << 32 | registers[lane];
          std::memcpy(row + kBytes * lane, &pair, kBytes);
        }
        return;
      }
      if (isAtOnce(row))
        return storeQuads(registers, row);
      RUBIA_EACH_LANE
      for (unsigned i = 0; i < N; ++i)
        std::memcpy(row + kBytes * lane + 4 * i, registers + i * kBlockLanes + lane, 4);
      return;
    }
    if constexpr (N == 1) {
      for (unsigned half = 0; half < 2; ++half) {
        const unsigned first = kHalfLanes * half;
        const uint32_t lanes = places.active(half);
        if (places.patterns[half] == Pattern::Row) {
          copyHalf(places.row(half, kBytes), registers + first, lanes);
        } else { // in order: the last one wins
          for (uint32_t rest = lanes; rest; rest &= rest - 1) {
            const unsigned lane = first + unsigned(std::countr_zero(rest));
            std::memcpy(places.at(lane), registers + lane, kBytes);
          }
        }
      }
      return;
    }
    forActive(places.mask, [&](unsigned lane) { // in order: the last one wins
      if constexpr (N == 2) {
        const uint64_t value = uint64_t(registers[kBlockLanes + lane]) << 32 | registers[lane];
        std::memcpy(places.at(lane), &value, sizeof(value));
      } else {
        Dwords words;
        for (unsigned i = 0; i < N; ++i)
          words.at[i] = registers[i * kBlockLanes + lane];
        if constexpr (N == 4)
          if (isAtOnce(places.at(lane))) [[likely]]
            return writeAtOnce(places.at(lane), std::bit_cast<FourDwords>(words));
        std::memcpy(places.at(lane), &words, sizeof(words));
      }
    });
  }
};

/// A byte or a short, extended by T's sign.
template <class T> struct Part {
  static constexpr unsigned kBytes = sizeof(T);

  static void load(uint32_t *registers, const Places &places) {
    if (places.isRow) {
      const uint8_t *row = places.at(0);
      RUBIA_EACH_LANE registers[lane] = uint32_t(int32_t(read<T>(row + kBytes * lane)));
      return;
    }
    forActive(places.mask, [&](unsigned lane) {
      registers[lane] = uint32_t(int32_t(read<T>(places.at(lane))));
    });
  }
  static void store(const uint32_t *registers, const Places &places) {
    if (places.isRow) {
      uint8_t *row = places.at(0);
      RUBIA_EACH_LANE {
        const T value = T(registers[lane]);
        std::memcpy(row + kBytes * lane, &value, kBytes);
      }
      return;
    }
    forActive(places.mask, [&](unsigned lane) {
      const T value = T(registers[lane]);
      std::memcpy(places.at(lane), &value, kBytes);
    });
  }
};

/// Finds the places of a global access. False: not all within one known allocation.
template <class Kind>
[[gnu::always_inline]] inline bool findGlobal(const Wave &w, const MicroOp &op, unsigned block,
                                              Places &places) {
  const uint32_t *low = w.block(block) + op.source[0];
  places.base = uint64_t(int64_t(op.immediate));
  if (op.kind[1] == OperandKind::Scalar) {
    if (op.kind[0] == OperandKind::None)
      return false;
    places.base += w.pair(unsigned(op.source[1]));
  } else {
    const uint32_t *high = low + kBlockLanes;
    const uint32_t first = high[std::countr_zero(places.mask)], active = places.mask;
    uint32_t different = 0;
    RUBIA_EACH_LANE different |= active & 1u << lane ? high[lane] ^ first : 0;
    if (different)
      return false;
    places.base += uint64_t(first) << 32;
  }
  places.offsets = low;
  places.measure(Kind::kBytes);
  const uint64_t generation = w.group->generation->load(std::memory_order_relaxed);
  const uint64_t first = places.base + places.least, last = places.base + places.most;
  return first <= last && // else they wrap
         inWindow(w, generation, first, last, Kind::kBytes);
}

/// GLOBAL_* and FLAT_*: no allocation lies in the apertures of LDS and scratch.
template <class Kind, bool IsStore, unsigned kBlocks> void globalOf(Wave &w, const MicroOp &op) {
  Places places[kBlocks];
  for (unsigned block = 0; block < kBlocks; ++block) {
    places[block].mask = w.scalars[kExec + block];
    if (places[block].mask && !findGlobal<Kind>(w, op, block, places[block])) [[unlikely]]
      [[clang::musttail]] return op.slowPath(w, op);
  }
  for (unsigned block = 0; block < kBlocks; ++block) {
    if (!places[block].mask)
      continue;
    if constexpr (IsStore)
      Kind::store(w.block(block) + op.source[2], places[block]);
    else
      Kind::load(w.block(block) + op.result, places[block]);
  }
  RUBIA_NEXT(w, op);
}

template <class Kind, bool IsStore> void global(Wave &w, const MicroOp &op) {
  if (w.blocks == 1) [[clang::musttail]]
    return globalOf<Kind, IsStore, 1>(w, op);
  [[clang::musttail]] return globalOf<Kind, IsStore, 2>(w, op);
}

/// DS_READ_*, DS_WRITE_*, and with two addresses DS_READ2_*, DS_WRITE2_*, which are a fixed
/// distance apart.
template <class Kind, bool IsStore, unsigned kAddresses, unsigned kBlocks>
void localOf(Wave &w, const MicroOp &op) {
  Places places[kBlocks];
  alignas(64) uint32_t offsets[kBlocks][kBlockLanes];
  const uint32_t packed = uint32_t(op.immediate);
  const uint32_t offset = kAddresses == 1 ? packed : (packed & 0xffff) << op.registers;
  const int64_t distance =
      kAddresses == 1 ? 0 : int64_t((packed >> 16) << op.registers) - int64_t(offset);
  for (unsigned block = 0; block < kBlocks; ++block) {
    Places &place = places[block];
    place.mask = w.scalars[kExec + block];
    if (!place.mask)
      continue;
    const uint32_t *from = w.block(block) + op.source[0];
    RUBIA_EACH_LANE offsets[block][lane] = from[lane] + offset;
    place.offsets = offsets[block];
    place.base = uint64_t(w.lds);
    place.measure(Kind::kBytes);
    const int64_t least = int64_t(place.least) + (distance < 0 ? distance : 0);
    const int64_t most = int64_t(place.most) + (distance > 0 ? distance : 0);
    if (least < 0 || most + Kind::kBytes > int64_t(w.ldsSize)) [[unlikely]]
      [[clang::musttail]] return op.slowPath(w, op);
  }
  for (unsigned block = 0; block < kBlocks; ++block) {
    Places &place = places[block];
    if (!place.mask)
      continue;
    for (unsigned i = 0; i < kAddresses; ++i) {
      if constexpr (IsStore)
        Kind::store(w.block(block) + op.source[2 + i], place);
      else
        Kind::load(w.block(block) + op.result + i * (Kind::kBytes / 4) * kBlockLanes, place);
      place.base += uint64_t(distance);
    }
  }
  RUBIA_NEXT(w, op);
}

template <class Kind, bool IsStore, unsigned kAddresses> void local(Wave &w, const MicroOp &op) {
  if (w.blocks == 1) [[clang::musttail]]
    return localOf<Kind, IsStore, kAddresses, 1>(w, op);
  [[clang::musttail]] return localOf<Kind, IsStore, kAddresses, 2>(w, op);
}

/// SCRATCH_* without an address register, as spilled registers are accessed: a dword of all lanes
/// is a row.
template <unsigned N, bool IsStore> void scratch(Wave &w, const MicroOp &op) {
  uint32_t offset = uint32_t(op.immediate);
  if (op.kind[1] != OperandKind::None)
    offset += readScalar32(w, op, 1);
  const bool isOwn = w.pair(kFlatScratch) == uint64_t(w.scratch);
  if (op.kind[0] != OperandKind::None || !isOwn || offset % kScratchElement != 0 ||
      uint64_t(offset) + 4 * N > w.scratchPerLane) [[unlikely]]
    [[clang::musttail]] return op.slowPath(w, op);
  for (unsigned block = 0; block < w.blocks; ++block) {
    uint32_t *registers = w.block(block) + (IsStore ? op.source[2] : op.result);
    uint8_t *row = scratchByte(w, block * kBlockLanes, offset);
    const uint32_t mask = w.scalars[kExec + block];
    for (unsigned i = 0; i < N; ++i, registers += kBlockLanes, row += 4 * w.lanes())
      for (unsigned half = 0; half < 2; ++half) {
        uint32_t *at = registers + kHalfLanes * half;
        uint8_t *place = row + sizeof(HalfBlock) * half;
        const uint32_t lanes = mask >> (kHalfLanes * half) & 0xffff;
        if constexpr (IsStore)
          copyHalf(place, at, lanes);
        else
          copyHalf(at, place, lanes);
      }
  }
  RUBIA_NEXT(w, op);
}

/// DS atomics on unsigned dwords: lane by lane, once all are known to be good.
template <auto Function> void localAtomic(Wave &w, const MicroOp &op) {
  alignas(64) uint32_t offsets[2][kBlockLanes];
  for (unsigned block = 0; block < w.blocks; ++block) {
    const uint32_t mask = w.scalars[kExec + block], offset = uint32_t(op.immediate);
    const uint32_t *from = w.block(block) + op.source[0];
    uint32_t *const at = offsets[block];
    uint32_t most = 0, bits = 0;
    RUBIA_EACH_LANE {
      const uint32_t place = mask & 1u << lane ? from[lane] + offset : 0;
      at[lane] = place;
      most = place > most ? place : most;
      bits |= place;
    }
    if (uint64_t(most) + 4 > w.ldsSize || bits % 4 != 0) [[unlikely]]
      [[clang::musttail]] return op.slowPath(w, op);
  }
  const bool returns = op.data & kAtomicReturns;
  for (unsigned block = 0; block < w.blocks; ++block) {
    const uint32_t *data = w.block(block) + op.source[2];
    uint32_t *result = w.block(block) + op.result;
    alignas(64) uint32_t old[kBlockLanes];
    const uint32_t mask = w.scalars[kExec + block];
    forActive(mask, [&](unsigned lane) {
      uint8_t *place = w.lds + offsets[block][lane];
      old[lane] = read<uint32_t>(place);
      const uint32_t value = Function(old[lane], data[lane]);
      std::memcpy(place, &value, sizeof(value));
    });
    if (returns)
      forActive(mask, [&](unsigned lane) { result[lane] = old[lane]; });
  }
  RUBIA_NEXT(w, op);
}
constexpr auto kAdd = [](uint32_t old, uint32_t value) { return old + value; };
constexpr auto kSub = [](uint32_t old, uint32_t value) { return old - value; };
constexpr auto kAnd = [](uint32_t old, uint32_t value) { return old & value; };
constexpr auto kOr = [](uint32_t old, uint32_t value) { return old | value; };
constexpr auto kXor = [](uint32_t old, uint32_t value) { return old ^ value; };
constexpr auto kMin = [](uint32_t old, uint32_t value) { return old < value ? old : value; };
constexpr auto kMax = [](uint32_t old, uint32_t value) { return old > value ? old : value; };

/// GLOBAL and FLAT atomics on dwords that hosts have too, lane by lane. `kOfBus`: PCIe has them, so
/// they work in the host's memory on every GPU.
template <auto Function, bool kOfBus> void globalAtomic(Wave &w, const MicroOp &op) {
  if (!kOfBus && !w.group->target->atomicsReachHost) [[clang::musttail]]
    return op.slowPath(w, op);
  Places places[2];
  for (unsigned block = 0; block < w.blocks; ++block) {
    Places &place = places[block];
    place.mask = w.scalars[kExec + block];
    if (!place.mask)
      continue;
    if (!findGlobal<Words<1>>(w, op, block, place)) [[unlikely]]
      [[clang::musttail]] return op.slowPath(w, op);
    const uint32_t low = uint32_t(place.base), mask = place.mask;
    const uint32_t *const offsets = place.offsets;
    uint32_t bits = 0;
    RUBIA_EACH_LANE bits |= mask & 1u << lane ? offsets[lane] + low : 0;
    if (bits % 4 != 0) [[unlikely]]
      [[clang::musttail]] return op.slowPath(w, op);
  }
  const bool returns = op.data & kAtomicReturns;
  for (unsigned block = 0; block < w.blocks; ++block) {
    const Places &place = places[block];
    const uint32_t *data = w.block(block) + op.source[2];
    uint32_t *result = w.block(block) + op.result;
    auto at = [&](unsigned lane) { return reinterpret_cast<uint32_t *>(place.at(lane)); };
    if (returns) {
      alignas(64) uint32_t old[kBlockLanes]; // the result may be where the addresses are
      forActive(place.mask, [&](unsigned lane) { old[lane] = Function(at(lane), data[lane]); });
      forActive(place.mask, [&](unsigned lane) { result[lane] = old[lane]; });
    } else {
      forActive(place.mask, [&](unsigned lane) { (void)Function(at(lane), data[lane]); });
    }
  }
  RUBIA_NEXT(w, op);
}
#define RUBIA_SHARED(operation)                                                                    \
  [](uint32_t *place, uint32_t value) { return operation(place, value, __ATOMIC_SEQ_CST); }
constexpr auto kSharedAdd = RUBIA_SHARED(__atomic_fetch_add);
constexpr auto kSharedSub = RUBIA_SHARED(__atomic_fetch_sub);
constexpr auto kSharedSwap = RUBIA_SHARED(__atomic_exchange_n);
constexpr auto kSharedAnd = RUBIA_SHARED(__atomic_fetch_and);
constexpr auto kSharedOr = RUBIA_SHARED(__atomic_fetch_or);
constexpr auto kSharedXor = RUBIA_SHARED(__atomic_fetch_xor);

#define RUBIA_GLOBAL_ROWS(prefix)                                                                  \
  {prefix "LOAD_DWORD", global<Words<1>, false>},                                                  \
      {prefix "LOAD_DWORDX2", global<Words<2>, false>},                                            \
      {prefix "LOAD_DWORDX3", global<Words<3>, false>},                                            \
      {prefix "LOAD_DWORDX4", global<Words<4>, false>},                                            \
      {prefix "LOAD_UBYTE", global<Part<uint8_t>, false>},                                         \
      {prefix "LOAD_SBYTE", global<Part<int8_t>, false>},                                          \
      {prefix "LOAD_USHORT", global<Part<uint16_t>, false>},                                       \
      {prefix "LOAD_SSHORT", global<Part<int16_t>, false>},                                        \
      {prefix "STORE_BYTE", global<Part<uint8_t>, true>},                                          \
      {prefix "STORE_SHORT", global<Part<uint16_t>, true>},                                        \
      {prefix "STORE_DWORD", global<Words<1>, true>},                                              \
      {prefix "STORE_DWORDX2", global<Words<2>, true>},                                            \
      {prefix "ATOMIC_ADD", globalAtomic<kSharedAdd, true>},                                       \
      {prefix "ATOMIC_SWAP", globalAtomic<kSharedSwap, true>},                                     \
      {prefix "ATOMIC_SUB", globalAtomic<kSharedSub, false>},                                      \
      {prefix "ATOMIC_AND", globalAtomic<kSharedAnd, false>},                                      \
      {prefix "ATOMIC_OR", globalAtomic<kSharedOr, false>},                                        \
      {prefix "ATOMIC_XOR", globalAtomic<kSharedXor, false>},                                      \
      {prefix "STORE_DWORDX3", global<Words<3>, true>}, {                                          \
    prefix "STORE_DWORDX4", global<Words<4>, true>                                                 \
  }

constexpr MemorySemantics kRows[] = {
    RUBIA_GLOBAL_ROWS("GLOBAL_"),
    RUBIA_GLOBAL_ROWS("FLAT_"),
    {"DS_READ_B32", local<Words<1>, false, 1>},
    {"DS_READ_B64", local<Words<2>, false, 1>},
    {"DS_READ_B96", local<Words<3>, false, 1>},
    {"DS_READ_B128", local<Words<4>, false, 1>},
    {"DS_READ_U8", local<Part<uint8_t>, false, 1>},
    {"DS_READ_I8", local<Part<int8_t>, false, 1>},
    {"DS_READ_U16", local<Part<uint16_t>, false, 1>},
    {"DS_READ_I16", local<Part<int16_t>, false, 1>},
    {"DS_READ2_B32", local<Words<1>, false, 2>},
    {"DS_READ2_B64", local<Words<2>, false, 2>},
    {"DS_WRITE_B8", local<Part<uint8_t>, true, 1>},
    {"DS_WRITE_B16", local<Part<uint16_t>, true, 1>},
    {"DS_WRITE_B32", local<Words<1>, true, 1>},
    {"DS_WRITE_B64", local<Words<2>, true, 1>},
    {"DS_WRITE_B96", local<Words<3>, true, 1>},
    {"DS_WRITE_B128", local<Words<4>, true, 1>},
    {"DS_WRITE2_B32", local<Words<1>, true, 2>},
    {"DS_WRITE2_B64", local<Words<2>, true, 2>},
    {"DS_ADD_U32", localAtomic<kAdd>},
    {"DS_SUB_U32", localAtomic<kSub>},
    {"DS_AND_B32", localAtomic<kAnd>},
    {"DS_OR_B32", localAtomic<kOr>},
    {"DS_XOR_B32", localAtomic<kXor>},
    {"DS_MIN_U32", localAtomic<kMin>},
    {"DS_MAX_U32", localAtomic<kMax>},
    {"SCRATCH_LOAD_DWORD", scratch<1, false>},
    {"SCRATCH_LOAD_DWORDX2", scratch<2, false>},
    {"SCRATCH_LOAD_DWORDX3", scratch<3, false>},
    {"SCRATCH_LOAD_DWORDX4", scratch<4, false>},
    {"SCRATCH_STORE_DWORD", scratch<1, true>},
    {"SCRATCH_STORE_DWORDX2", scratch<2, true>},
    {"SCRATCH_STORE_DWORDX3", scratch<3, true>},
    {"SCRATCH_STORE_DWORDX4", scratch<4, true>},
};

} // namespace

const MemoryTable kVectorMemory = table(kRows);

} // namespace rubia::emulator::RUBIA_ISA
