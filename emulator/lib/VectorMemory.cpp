// The memory instructions that most kernels spend their time in, for the case that all is well: all
// lanes of an instruction lie within one allocation that the wave knows, or within LDS. Then lanes
// are loaded and stored with the host's vector instructions. Anything else is left to the handlers
// in GlobalMemory.cpp and LocalMemory.cpp (MicroOp::otherwise), which check each lane and report
// faults; nothing has been changed by then. Compiled once per instruction set.
#include "emulator/lib/VectorMemory.h"

namespace rubia::emulator::RUBIA_ISA {
namespace {

/// All 32 lanes at once, without a loop.
#if defined(__AVX512F__)
constexpr unsigned kInterleave = 2;
#else
constexpr unsigned kInterleave = 4;
#endif
#define RUBIA_EACH_LANE                                                                            \
  _Pragma("clang loop vectorize(assume_safety) interleave_count(kInterleave)")                     \
      _Pragma("clang loop unroll(disable)") for (unsigned lane = 0; lane < kBlockLanes; ++lane)

/// Where the active lanes of a block find their memory: at `base` plus 32 bits of their own.
struct Places {
  uint32_t mask = 0;
  bool isRow = false; // all lanes are active and follow each other without gaps
  const uint32_t *offsets = nullptr;
  uint64_t base = 0;
  uint32_t least = ~0u, most = 0; // of the offsets of active lanes

  /// Completes the rest for accesses of `size` bytes.
  [[gnu::always_inline]] void measure(unsigned size) {
    const uint32_t *const at = offsets;
    const uint32_t active = mask, first = at[0], length = (kBlockLanes - 1) * size;
    if (active == ~0u) {
      uint32_t different = 0;
      RUBIA_EACH_LANE different |= at[lane] ^ (first + lane * size);
      isRow = different == 0 && first <= ~0u - length;
      if (isRow) [[likely]] {
        least = first;
        most = first + length;
        return;
      }
    }
    uint32_t low = ~0u, high = 0;
    RUBIA_EACH_LANE {
      const uint32_t offset = at[lane];
      const bool on = active & 1u << lane;
      const uint32_t below = on ? offset : ~0u, above = on ? offset : 0;
      low = below < low ? below : low;
      high = above > high ? above : high;
    }
    least = low;
    most = high;
  }
  uint8_t *at(unsigned lane) const { return reinterpret_cast<uint8_t *>(base + offsets[lane]); }
};

template <class T> [[gnu::always_inline]] inline T read(const void *at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}

template <class Move> [[gnu::always_inline]] inline void forActive(uint32_t mask, Move move) {
  if (mask == ~0u)
    for (unsigned lane = 0; lane < kBlockLanes; ++lane)
      move(lane);
  else
    for (uint32_t rest = mask; rest; rest &= rest - 1)
      move(unsigned(std::countr_zero(rest)));
}

/// N dwords of each lane.
template <unsigned N> struct Words {
  static constexpr unsigned kBytes = 4 * N;

  static void load(uint32_t *registers, const Places &places) {
    if (places.isRow) {
      const uint8_t *row = places.at(0);
      RUBIA_EACH_LANE
      for (unsigned i = 0; i < N; ++i)
        registers[i * kBlockLanes + lane] = read<uint32_t>(row + kBytes * lane + 4 * i);
      return;
    }
    const uint64_t base = places.base;
    const uint32_t *const offsets = places.offsets;
    const uint32_t mask = places.mask;
    if constexpr (N == 1) {
      if (mask == ~0u) {
        RUBIA_EACH_LANE registers[lane] =
            read<uint32_t>(reinterpret_cast<const void *>(base + offsets[lane]));
      } else {
        RUBIA_EACH_LANE if (mask & 1u << lane) registers[lane] =
            read<uint32_t>(reinterpret_cast<const void *>(base + offsets[lane]));
      }
    } else {
      forActive(mask, [&](unsigned lane) {
        const uint8_t *from = places.at(lane);
        if constexpr (N == 2) { // in one piece
          const uint64_t value = read<uint64_t>(from);
          registers[lane] = uint32_t(value);
          registers[kBlockLanes + lane] = uint32_t(value >> 32);
        } else {
          uint32_t words[N];
          std::memcpy(words, from, sizeof(words));
          for (unsigned i = 0; i < N; ++i)
            registers[i * kBlockLanes + lane] = words[i];
        }
      });
    }
  }

  static void store(const uint32_t *registers, const Places &places) {
    if (places.isRow) {
      uint8_t *row = places.at(0);
      RUBIA_EACH_LANE
      for (unsigned i = 0; i < N; ++i)
        std::memcpy(row + kBytes * lane + 4 * i, registers + i * kBlockLanes + lane, 4);
      return;
    }
    forActive(places.mask, [&](unsigned lane) { // in order: the last one wins
      if constexpr (N == 2) {
        const uint64_t value = uint64_t(registers[kBlockLanes + lane]) << 32 | registers[lane];
        std::memcpy(places.at(lane), &value, sizeof(value));
      } else {
        uint32_t words[N];
        for (unsigned i = 0; i < N; ++i)
          words[i] = registers[i * kBlockLanes + lane];
        std::memcpy(places.at(lane), words, sizeof(words));
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
template <class Kind, bool IsStore>
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
  return inWindow(w, generation, places.base + places.least, places.base + places.most,
                  Kind::kBytes, IsStore);
}

/// GLOBAL_* and FLAT_*: no allocation lies in the apertures of LDS and scratch.
template <class Kind, bool IsStore, unsigned kBlocks> void globalOf(Wave &w, const MicroOp &op) {
  Places places[kBlocks];
  for (unsigned block = 0; block < kBlocks; ++block) {
    places[block].mask = w.scalars[kExec + block];
    if (places[block].mask && !findGlobal<Kind, IsStore>(w, op, block, places[block])) [[unlikely]]
      [[clang::musttail]] return op.otherwise(w, op);
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

/// The places of an access to LDS; `offsets` keeps them.
template <class Kind>
[[gnu::always_inline]] inline bool findLocal(const Wave &w, const MicroOp &op, unsigned block,
                                             uint32_t offset, Places &places, uint32_t *offsets) {
  const uint32_t *from = w.block(block) + op.source[0];
  RUBIA_EACH_LANE offsets[lane] = from[lane] + offset;
  places.offsets = offsets;
  places.base = uint64_t(w.lds);
  places.measure(Kind::kBytes);
  return uint64_t(places.most) + Kind::kBytes <= w.ldsSize;
}

/// DS_READ_*, DS_WRITE_*, and with two addresses DS_READ2_*, DS_WRITE2_*.
template <class Kind, bool IsStore, unsigned kAddresses, unsigned kBlocks>
void localOf(Wave &w, const MicroOp &op) {
  Places places[kBlocks][kAddresses];
  alignas(64) uint32_t offsets[kBlocks][kAddresses][kBlockLanes];
  for (unsigned block = 0; block < kBlocks; ++block)
    for (unsigned i = 0; i < kAddresses; ++i) {
      places[block][i].mask = w.scalars[kExec + block];
      const uint32_t offset = kAddresses == 1
                                  ? uint32_t(op.immediate)
                                  : (uint32_t(op.immediate) >> (16 * i) & 0xffff) << op.registers;
      if (places[block][i].mask &&
          !findLocal<Kind>(w, op, block, offset, places[block][i], offsets[block][i])) [[unlikely]]
        [[clang::musttail]] return op.otherwise(w, op);
    }
  for (unsigned block = 0; block < kBlocks; ++block)
    for (unsigned i = 0; i < kAddresses; ++i) {
      if (!places[block][i].mask)
        continue;
      if constexpr (IsStore)
        Kind::store(w.block(block) + op.source[2 + i], places[block][i]);
      else
        Kind::load(w.block(block) + op.result + i * (Kind::kBytes / 4) * kBlockLanes,
                   places[block][i]);
    }
  RUBIA_NEXT(w, op);
}

template <class Kind, bool IsStore, unsigned kAddresses> void local(Wave &w, const MicroOp &op) {
  if (w.blocks == 1) [[clang::musttail]]
    return localOf<Kind, IsStore, kAddresses, 1>(w, op);
  [[clang::musttail]] return localOf<Kind, IsStore, kAddresses, 2>(w, op);
}

/// DS_BPERMUTE_B32 of waves that permute as a whole.
void backwardPermute(Wave &w, const MicroOp &op) {
  const unsigned major = w.group->generationOfTarget;
  if (w.blocks == 2 && (major == 10 || major == 11)) // within halves
      [[clang::musttail]]
    return op.otherwise(w, op);
  alignas(64) uint32_t values[2 * kBlockLanes], chosen[2 * kBlockLanes];
  const uint32_t lanes = w.lanes() - 1;
  for (unsigned block = 0; block < w.blocks; ++block) {
    const uint32_t exec = w.scalars[kExec + block];
    const uint32_t *from = w.block(block) + op.source[2], *at = w.block(block) + op.source[0];
    uint32_t *value = values + block * kBlockLanes, *which = chosen + block * kBlockLanes;
    const uint32_t offset = uint32_t(op.immediate);
    RUBIA_EACH_LANE value[lane] = exec & 1u << lane ? from[lane] : 0;
    RUBIA_EACH_LANE which[lane] = (at[lane] + offset) / 4 & lanes;
  }
  for (unsigned block = 0; block < w.blocks; ++block) {
    const uint32_t exec = w.scalars[kExec + block];
    uint32_t *result = w.block(block) + op.result;
    const uint32_t *which = chosen + block * kBlockLanes;
    RUBIA_EACH_LANE {
      const uint32_t value = values[which[lane]], old = result[lane];
      result[lane] = exec & 1u << lane ? value : old;
    }
  }
  RUBIA_NEXT(w, op);
}

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
    {"DS_BPERMUTE_B32", backwardPermute},
};

} // namespace

extern const MemoryTable kVectorMemory;
const MemoryTable kVectorMemory = table(kRows);

} // namespace rubia::emulator::RUBIA_ISA
