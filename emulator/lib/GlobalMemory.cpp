// GLOBAL, FLAT, SCRATCH and BUFFER loads and stores (RDNA3 ISA "Flat, Scratch and Global
// instructions", "Vector Memory Buffer Instructions").
#include "emulator/lib/LoadStore.h"

namespace rubia::emulator {
namespace {

template <class Kind>
void loadAt(uint32_t *registers, uint32_t mask, uint64_t base, const LaneAddresses &addresses) {
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    unsigned lane = unsigned(std::countr_zero(rest));
    uint32_t words[4] = {};
    std::memcpy(words, reinterpret_cast<const void *>(base + addresses.at[lane]), Kind::kBytes);
    Kind::load(registers, lane, words);
  }
}

template <class Kind>
void storeAt(const uint32_t *registers, uint32_t mask, uint64_t base,
             const LaneAddresses &addresses) {
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    unsigned lane = unsigned(std::countr_zero(rest));
    uint32_t words[4];
    Kind::store(registers, lane, words);
    std::memcpy(reinterpret_cast<void *>(base + addresses.at[lane]), words, Kind::kBytes);
  }
}

/// Whether the lanes access consecutive memory, in order.
bool isContiguous(const LaneAddresses &addresses, unsigned size) {
  uint64_t different = 0;
  for (unsigned lane = 0; lane < kBlockLanes; ++lane)
    different |= addresses.at[lane] ^ (addresses.at[0] + uint64_t(lane) * size);
  return different == 0;
}

template <class Kind>
bool loadGlobal(Wave &w, const MicroOp &op, unsigned block, uint32_t mask,
                const LaneAddresses &addresses) {
  if (!checkGlobal(w, op, block, mask, addresses, Kind::kBytes, false))
    return false;
  uint32_t *registers = w.block(block) + op.result;
  if constexpr (Kind::kBytes == 4)
    if (mask == ~0u && isContiguous(addresses, 4)) {
      std::memcpy(registers, reinterpret_cast<const void *>(addresses.at[0]), 4 * kBlockLanes);
      return true;
    }
  loadAt<Kind>(registers, mask, 0, addresses);
  return true;
}

template <class Kind>
bool storeGlobal(Wave &w, const MicroOp &op, unsigned block, uint32_t mask,
                 const LaneAddresses &addresses) {
  if (!checkGlobal(w, op, block, mask, addresses, Kind::kBytes, true))
    return false;
  const uint32_t *registers = w.block(block) + op.source[2];
  if constexpr (Kind::kBytes == 4)
    if (mask == ~0u && isContiguous(addresses, 4)) {
      std::memcpy(reinterpret_cast<void *>(addresses.at[0]), registers, 4 * kBlockLanes);
      return true;
    }
  storeAt<Kind>(registers, mask, 0, addresses);
  return true;
}

template <class Kind>
bool loadScratch(Wave &w, const MicroOp &op, unsigned block, uint32_t mask,
                 const LaneAddresses &addresses) {
  if (!checkScratch(w, op, block, mask, addresses, Kind::kBytes, false))
    return false;
  uint32_t *registers = w.block(block) + op.result;
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    unsigned lane = unsigned(std::countr_zero(rest));
    unsigned waveLane = block * kBlockLanes + lane;
    uint64_t offset = addresses.at[lane];
    uint32_t words[4] = {};
    if (Kind::kBytes % 4 == 0 && offset % 4 == 0) {
      for (unsigned i = 0; i < Kind::kRegisters; ++i)
        std::memcpy(&words[i], scratchByte(w, waveLane, offset + 4 * i), 4);
    } else {
      for (unsigned i = 0; i < Kind::kBytes; ++i)
        reinterpret_cast<uint8_t *>(words)[i] = *scratchByte(w, waveLane, offset + i);
    }
    Kind::load(registers, lane, words);
  }
  return true;
}

template <class Kind>
bool storeScratch(Wave &w, const MicroOp &op, unsigned block, uint32_t mask,
                  const LaneAddresses &addresses) {
  if (!checkScratch(w, op, block, mask, addresses, Kind::kBytes, true))
    return false;
  const uint32_t *registers = w.block(block) + op.source[2];
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    unsigned lane = unsigned(std::countr_zero(rest));
    unsigned waveLane = block * kBlockLanes + lane;
    uint64_t offset = addresses.at[lane];
    uint32_t words[4];
    Kind::store(registers, lane, words);
    if (Kind::kBytes % 4 == 0 && offset % 4 == 0) {
      for (unsigned i = 0; i < Kind::kRegisters; ++i)
        std::memcpy(scratchByte(w, waveLane, offset + 4 * i), &words[i], 4);
    } else {
      for (unsigned i = 0; i < Kind::kBytes; ++i)
        *scratchByte(w, waveLane, offset + i) = reinterpret_cast<const uint8_t *>(words)[i];
    }
  }
  return true;
}

/// The access in the space of each lane's address.
template <class Kind, bool IsStore>
bool access(Space space, Wave &w, const MicroOp &op, unsigned block, uint32_t mask,
            const LaneAddresses &addresses) {
  if (space == Space::Global)
    return IsStore ? storeGlobal<Kind>(w, op, block, mask, addresses)
                   : loadGlobal<Kind>(w, op, block, mask, addresses);
  return IsStore ? storeScratch<Kind>(w, op, block, mask, addresses)
                 : loadScratch<Kind>(w, op, block, mask, addresses);
}

template <class Kind, bool IsStore>
bool accessLds(Wave &w, const MicroOp &op, unsigned block, uint32_t mask,
               const LaneAddresses &addresses) {
  if (!checkLds(w, op, block, mask, addresses, Kind::kBytes, IsStore))
    return false;
  if constexpr (IsStore)
    storeAt<Kind>(w.block(block) + op.source[2], mask, uint64_t(w.lds), addresses);
  else
    loadAt<Kind>(w.block(block) + op.result, mask, uint64_t(w.lds), addresses);
  return true;
}

/// The lanes of `mask` that a buffer resource lets through, and their addresses. Raises a fault for
/// swizzled buffers.
uint32_t bufferAddresses(Wave &w, const MicroOp &op, unsigned block, uint32_t mask, uint32_t size,
                         LaneAddresses &addresses) {
  const uint32_t *resource = &w.scalars[op.source[3]];
  const uint64_t base = uint64_t(resource[1] & 0xffff) << 32 | resource[0];
  const uint32_t stride = resource[1] >> 16 & 0x3fff, records = resource[2];
  const unsigned outOfBounds = resource[3] >> 28 & 3; // OOB_SELECT
  const bool swizzled = resource[1] >> 30 != 0, addsThreadId = resource[3] >> 23 & 1;
  if (swizzled || addsThreadId) {
    raise(w, op, FaultKind::IllegalInstruction);
    return 0;
  }
  const bool hasOffset = op.data & kBufferOffset, hasIndex = op.data & kBufferIndex;
  const uint32_t *vector = w.block(block) + op.source[0];
  const uint64_t scalarOffset = readScalar32(w, op, 1);
  uint32_t inside = 0;
  for (unsigned lane = 0; lane < kBlockLanes; ++lane) {
    const uint64_t index = hasIndex ? vector[lane] : 0;
    const uint64_t offset = uint64_t(uint32_t(op.immediate)) +
                            (hasOffset ? vector[lane + (hasIndex ? kBlockLanes : 0)] : 0);
    addresses.at[lane] = base + scalarOffset + index * stride + offset;
    const bool good = outOfBounds == 0 ? index < records && (stride == 0 || offset + size <= stride)
                      : outOfBounds == 1 ? index < records
                      : outOfBounds == 2 ? records != 0
                                         : index * stride + offset + scalarOffset + size <= records;
    inside |= uint32_t(good) << lane;
  }
  return inside & mask;
}

template <class Kind, bool IsStore, Space S> void handler(Wave &w, const MicroOp &op) {
  LaneAddresses addresses;
  for (unsigned block = 0; block < w.blocks; ++block) {
    uint32_t mask = w.scalars[kExec + block];
    if (mask == 0)
      continue;
    if constexpr (S == Space::Scratch) {
      scratchAddresses(w, op, block, addresses);
      if (!access<Kind, IsStore>(Space::Scratch, w, op, block, mask, addresses))
        return;
      continue;
    }
    if constexpr (S == Space::Buffer) {
      const uint32_t inside = bufferAddresses(w, op, block, mask, Kind::kBytes, addresses);
      if (w.stop)
        return;
      if constexpr (!IsStore) // what lies outside reads 0
        for (uint32_t rest = mask & ~inside; rest; rest &= rest - 1) {
          const uint32_t zeros[4] = {};
          Kind::load(w.block(block) + op.result, unsigned(std::countr_zero(rest)), zeros);
        }
      if (inside && !access<Kind, IsStore>(Space::Global, w, op, block, inside, addresses))
        return;
      continue;
    }
    globalAddresses(w, op, block, addresses);
    if constexpr (S == Space::Global) {
      if (!access<Kind, IsStore>(Space::Global, w, op, block, mask, addresses))
        return;
      continue;
    }
    FlatLanes lanes = splitFlat(mask, addresses);
    if (lanes.global &&
        !access<Kind, IsStore>(Space::Global, w, op, block, lanes.global, addresses))
      return;
    if (lanes.lds && !accessLds<Kind, IsStore>(w, op, block, lanes.lds, addresses))
      return;
    if (lanes.scratch &&
        !access<Kind, IsStore>(Space::Scratch, w, op, block, lanes.scratch, addresses))
      return;
  }
}

template <Space S> struct Rows {
  template <class Kind> static constexpr Handler load = handler<Kind, false, S>;
  template <class Kind> static constexpr Handler store = handler<Kind, true, S>;

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

} // namespace

const MemoryTable kGlobalMemory = table(Rows<Space::Global>::kRows);
const MemoryTable kFlatMemory = table(Rows<Space::Flat>::kRows);
const MemoryTable kScratchMemory = table(Rows<Space::Scratch>::kRows);
const MemoryTable kBufferMemory = table(Rows<Space::Buffer>::kRows);

} // namespace rubia::emulator
