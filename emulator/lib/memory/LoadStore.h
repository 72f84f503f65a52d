// SPDX-License-Identifier: Apache-2.0
// Loads and stores as types (how many bytes, which registers, how a narrow value lies in a
// register), and the access itself in each kind of memory.
#pragma once

#include "emulator/lib/machine/Addressing.h"
#include "emulator/lib/memory/HostAccess.h"

namespace rubia::emulator {

enum class Half16 : uint8_t {
  Whole,
  Low,
  High
}; // the register, or only a half of it (_D16, _D16_HI)

/// N whole dwords.
template <unsigned N> struct Dwords {
  static constexpr unsigned kBytes = 4 * N;
  static constexpr unsigned kRegisters = N;
  static constexpr Half16 kPart = Half16::Whole;
  static void load(uint32_t *registers, unsigned lane, const uint32_t *words) {
    for (unsigned i = 0; i < N; ++i)
      registers[i * kBlockLanes + lane] = words[i];
  }
  static void store(const uint32_t *registers, unsigned lane, uint32_t *words) {
    for (unsigned i = 0; i < N; ++i)
      words[i] = registers[i * kBlockLanes + lane];
  }
};

/// An 8- or 16-bit value, extended according to T's sign.
template <class T, Half16 Part = Half16::Whole> struct Narrow {
  static constexpr unsigned kBytes = sizeof(T);
  static constexpr unsigned kRegisters = 1;
  static constexpr Half16 kPart = Part;
  static void load(uint32_t *registers, unsigned lane, const uint32_t *words) {
    uint32_t value = uint32_t(int32_t(T(words[0])));
    uint32_t old = registers[lane];
    registers[lane] = Part == Half16::Whole ? value
                      : Part == Half16::Low ? (old & 0xffff0000) | (value & 0xffff)
                                            : (old & 0xffff) | value << 16;
  }
  static void store(const uint32_t *registers, unsigned lane, uint32_t *words) {
    words[0] = Part == Half16::High ? registers[lane] >> 16 : registers[lane];
  }
};

/// The other half of a D16 load's register: kept, except on processors whose registers are under
/// ECC (CDNA4 ISA "16-bit Memory Operations").
template <class Kind> void prepareHalves(const Wave &w, uint32_t *registers, uint32_t mask) {
  if constexpr (Kind::kPart != Half16::Whole)
    if (w.group->target->loadsOf16BitsClear)
      for (uint32_t rest = mask; rest; rest &= rest - 1)
        registers[std::countr_zero(rest)] = 0;
}

/// Whether an access of `bytes` bytes in memory that several host threads see is one access of
/// theirs if it is aligned: relaxed atomic loads and stores are plain ones in the kernel's code.
/// Those of 16 bytes are too (docs/hardware-assumptions.md); HostAccess.h has them.
constexpr bool isSingleAccess(unsigned bytes) { return bytes <= 8 && std::has_single_bit(bytes); }

template <unsigned kBytes>
using Unit = std::conditional_t<
    kBytes == 8, uint64_t,
    std::conditional_t<kBytes == 4, uint32_t, std::conditional_t<kBytes == 2, uint16_t, uint8_t>>>;

/// The bytes at `address` to the start of `words`, and back.
template <unsigned kBytes, bool kShared> void fetch(uint32_t *words, uint64_t address) {
  if constexpr (kShared && kBytes == kHostAccessBytes)
    if (address % kBytes == 0) [[likely]] {
      const FourDwords value = readAtOnce(reinterpret_cast<const void *>(address));
      std::memcpy(words, &value, kBytes);
      return;
    }
  if constexpr (kShared && isSingleAccess(kBytes))
    if (address % kBytes == 0) [[likely]] {
      const Unit<kBytes> value =
          __atomic_load_n(reinterpret_cast<const Unit<kBytes> *>(address), __ATOMIC_RELAXED);
      std::memcpy(words, &value, kBytes);
      return;
    }
  std::memcpy(words, reinterpret_cast<const void *>(address), kBytes);
}
template <unsigned kBytes, bool kShared> void put(const uint32_t *words, uint64_t address) {
  if constexpr (kShared && kBytes == kHostAccessBytes)
    if (address % kBytes == 0) [[likely]] {
      FourDwords value;
      std::memcpy(&value, words, kBytes);
      writeAtOnce(reinterpret_cast<void *>(address), value);
      return;
    }
  if constexpr (kShared && isSingleAccess(kBytes))
    if (address % kBytes == 0) [[likely]] {
      Unit<kBytes> value;
      std::memcpy(&value, words, kBytes);
      __atomic_store_n(reinterpret_cast<Unit<kBytes> *>(address), value, __ATOMIC_RELAXED);
      return;
    }
  std::memcpy(reinterpret_cast<void *>(address), words, kBytes);
}

template <class Kind, bool kShared>
void loadAt(uint32_t *registers, uint32_t mask, uint64_t base, const LaneAddresses &addresses) {
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    unsigned lane = unsigned(std::countr_zero(rest));
    uint32_t words[4] = {};
    fetch<Kind::kBytes, kShared>(words, base + addresses.at[lane]);
    Kind::load(registers, lane, words);
  }
}

template <class Kind, bool kShared>
void storeAt(const uint32_t *registers, uint32_t mask, uint64_t base,
             const LaneAddresses &addresses) {
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    unsigned lane = unsigned(std::countr_zero(rest));
    uint32_t words[4];
    Kind::store(registers, lane, words);
    put<Kind::kBytes, kShared>(words, base + addresses.at[lane]);
  }
}

/// Whether the lanes access consecutive memory, in order.
inline bool isContiguous(const LaneAddresses &addresses, unsigned size) {
  uint64_t different = 0;
  for (unsigned lane = 0; lane < kBlockLanes; ++lane)
    different |= addresses.at[lane] ^ (addresses.at[0] + uint64_t(lane) * size);
  return different == 0;
}

/// An access of the lanes of `mask` whose addresses are known to be good: host addresses...
/// (Consecutive dwords are copied as vectors, whose aligned dwords the host does not tear either.)
template <class Kind>
void loadHost(const Wave &w, uint32_t *registers, uint32_t mask, const LaneAddresses &addresses) {
  if constexpr (Kind::kBytes == 4)
    if (mask == ~0u && isContiguous(addresses, 4)) {
      std::memcpy(registers, reinterpret_cast<const void *>(addresses.at[0]), 4 * kBlockLanes);
      return;
    }
  prepareHalves<Kind>(w, registers, mask);
  loadAt<Kind, true>(registers, mask, 0, addresses);
}

template <class Kind>
void storeHost(const uint32_t *registers, uint32_t mask, const LaneAddresses &addresses) {
  if constexpr (Kind::kBytes == 4)
    if (mask == ~0u && isContiguous(addresses, 4)) {
      std::memcpy(reinterpret_cast<void *>(addresses.at[0]), registers, 4 * kBlockLanes);
      return;
    }
  storeAt<Kind, true>(registers, mask, 0, addresses);
}

/// ...or offsets in the lane's private memory. Where all lanes have the same offset, as spilled
/// registers do, a dword of all lanes is contiguous.
template <class Kind, bool IsStore>
void accessScratch(const Wave &w, uint32_t *registers, unsigned block, uint32_t mask,
                   const LaneAddresses &addresses, bool uniform) {
  const unsigned firstLane = block * kBlockLanes;
  if constexpr (Kind::kBytes % 4 == 0)
    if (uniform && mask == ~0u && addresses.at[0] % 4 == 0) {
      for (unsigned i = 0; i < Kind::kRegisters; ++i) {
        uint8_t *row = scratchByte(w, firstLane, addresses.at[0] + 4 * i);
        uint32_t *reg = registers + i * kBlockLanes;
        std::memcpy(IsStore ? row : reinterpret_cast<uint8_t *>(reg),
                    IsStore ? reinterpret_cast<uint8_t *>(reg) : row, 4 * kBlockLanes);
      }
      return;
    }
  if constexpr (!IsStore)
    prepareHalves<Kind>(w, registers, mask);
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    const unsigned lane = unsigned(std::countr_zero(rest));
    const uint64_t offset = addresses.at[lane];
    uint32_t words[4] = {};
    auto *bytes = reinterpret_cast<uint8_t *>(words);
    const unsigned step = Kind::kBytes % 4 == 0 && offset % 4 == 0 ? 4 : 1;
    if constexpr (IsStore)
      Kind::store(registers, lane, words);
    for (unsigned i = 0; i < Kind::kBytes; i += step) {
      uint8_t *place = scratchByte(w, firstLane + lane, offset + i);
      std::memcpy(IsStore ? place : bytes + i, IsStore ? bytes + i : place, step);
    }
    if constexpr (!IsStore)
      Kind::load(registers, lane, words);
  }
}

/// An access in global memory, LDS or private memory, checked: false if it raised a fault.
template <class Kind, bool IsStore>
bool access(Space space, Wave &w, const MicroOp &op, uint32_t *registers, unsigned block,
            uint32_t mask, LaneAddresses &addresses) {
  switch (space) {
  case Space::Global:
    if (!checkGlobal(w, op, block, mask, addresses, Kind::kBytes, IsStore))
      return false;
    if constexpr (IsStore)
      storeHost<Kind>(registers, mask, addresses);
    else
      loadHost<Kind>(w, registers, mask, addresses);
    return true;
  case Space::Local:
    if (!checkLds(w, op, block, mask, addresses, Kind::kBytes, IsStore))
      return false;
    if constexpr (IsStore) {
      storeAt<Kind, false>(registers, mask, uint64_t(w.lds), addresses);
    } else {
      prepareHalves<Kind>(w, registers, mask);
      loadAt<Kind, false>(registers, mask, uint64_t(w.lds), addresses);
    }
    return true;
  case Space::Scratch:
    if (!checkScratch(w, op, block, mask, addresses, Kind::kBytes, IsStore))
      return false;
    accessScratch<Kind, IsStore>(w, registers, block, mask, addresses,
                                 op.kind[0] == OperandKind::None);
    return true;
  case Space::Flat:
  case Space::Buffer:
    break;
  }
  return false;
}

/// The rows of a space, whose handlers are Handlers::handler<Kind, IsStore>.
template <class Handlers> struct LoadStoreRows {
  template <class Kind> static constexpr Handler load = Handlers::template handler<Kind, false>;
  template <class Kind> static constexpr Handler store = Handlers::template handler<Kind, true>;

  static constexpr MemorySemantics kRows[] = {
      {"LOAD_DWORD", load<Dwords<1>>},
      {"LOAD_DWORDX2", load<Dwords<2>>},
      {"LOAD_DWORDX3", load<Dwords<3>>},
      {"LOAD_DWORDX4", load<Dwords<4>>},
      {"LOAD_UBYTE", load<Narrow<uint8_t>>},
      {"LOAD_SBYTE", load<Narrow<int8_t>>},
      {"LOAD_USHORT", load<Narrow<uint16_t>>},
      {"LOAD_SSHORT", load<Narrow<int16_t>>},
      {"LOAD_UBYTE_D16", load<Narrow<uint8_t, Half16::Low>>},
      {"LOAD_UBYTE_D16_HI", load<Narrow<uint8_t, Half16::High>>},
      {"LOAD_SBYTE_D16", load<Narrow<int8_t, Half16::Low>>},
      {"LOAD_SBYTE_D16_HI", load<Narrow<int8_t, Half16::High>>},
      {"LOAD_SHORT_D16", load<Narrow<uint16_t, Half16::Low>>},
      {"LOAD_SHORT_D16_HI", load<Narrow<uint16_t, Half16::High>>},
      {"STORE_BYTE", store<Narrow<uint8_t>>},
      {"STORE_SHORT", store<Narrow<uint16_t>>},
      {"STORE_BYTE_D16_HI", store<Narrow<uint8_t, Half16::High>>},
      {"STORE_SHORT_D16_HI", store<Narrow<uint16_t, Half16::High>>},
      {"STORE_DWORD", store<Dwords<1>>},
      {"STORE_DWORDX2", store<Dwords<2>>},
      {"STORE_DWORDX3", store<Dwords<3>>},
      {"STORE_DWORDX4", store<Dwords<4>>},
  };
};

/// The second half of a load into LDS: lane l's dwords go to M0 + offset + l * 4, or l * 16 where
/// there are several (CDNA4 ISA "Flat Memory Instructions", "Addressing").
template <class Kind>
bool storeToLds(Wave &w, const MicroOp &op, uint32_t *loaded, unsigned block, uint32_t mask) {
  constexpr unsigned kStride = Kind::kRegisters > 1 ? 16 : 4;
  const uint32_t base = (w.scalars[kM0] & 0x3fffc) + uint32_t(op.immediate);
  LaneAddresses addresses;
  for (unsigned lane = 0; lane < kBlockLanes; ++lane)
    addresses.at[lane] = uint32_t(base + (block * kBlockLanes + lane) * kStride);
  return access<Dwords<Kind::kRegisters>, true>(Space::Local, w, op, loaded, block, mask,
                                                addresses);
}

/// The rows of loads into LDS, with Handlers::toLds<Kind>. BUFFER instructions have the suffix
/// instead of the infix.
template <class Handlers> struct ToLdsRows {
  template <class Kind> static constexpr Handler load = Handlers::template toLds<Kind>;

  static constexpr MemorySemantics kRows[] = {
      {"LOAD_LDS_UBYTE", load<Narrow<uint8_t>>},   {"LOAD_LDS_SBYTE", load<Narrow<int8_t>>},
      {"LOAD_LDS_USHORT", load<Narrow<uint16_t>>}, {"LOAD_LDS_SSHORT", load<Narrow<int16_t>>},
      {"LOAD_LDS_DWORD", load<Dwords<1>>},         {"LOAD_LDS_DWORDX3", load<Dwords<3>>},
      {"LOAD_LDS_DWORDX4", load<Dwords<4>>},
  };
};

} // namespace rubia::emulator
