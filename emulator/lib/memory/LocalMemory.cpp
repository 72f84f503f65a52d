// SPDX-License-Identifier: Apache-2.0
// DS loads and stores (RDNA4 ISA "LDS Instructions").
//
// Operands: source 0 the address, source 2 and 3 the data; `immediate` the offset in bytes. The
// two-address forms have two offsets of 16 bits there, in units of 1 << `registers` bytes.
#include "emulator/lib/memory/LoadStore.h"

namespace rubia::emulator {
namespace {

/// The offset of address 0 or 1 of a two-address form.
uint32_t offsetOf(const MicroOp &op, unsigned which) {
  return (uint32_t(op.immediate) >> (16 * which) & 0xffff) << op.registers;
}

template <class Kind, bool IsStore>
constexpr Handler one = [](Wave &w, const MicroOp &op) {
  LaneAddresses addresses;
  for (unsigned block = 0; block < w.blocks; ++block) {
    const uint32_t mask = w.scalars[kExec + block];
    localAddresses(w, op, block, uint32_t(op.immediate), addresses);
    uint32_t *registers = w.block(block) + (IsStore ? op.source[2] : op.result);
    if (!access<Kind, IsStore>(Space::Local, w, op, registers, block, mask, addresses))
      return;
  }
};

/// Both addresses are computed before the first result may overwrite them.
template <class Kind, bool IsStore>
constexpr Handler two = [](Wave &w, const MicroOp &op) {
  LaneAddresses first, second;
  for (unsigned block = 0; block < w.blocks; ++block) {
    const uint32_t mask = w.scalars[kExec + block];
    localAddresses(w, op, block, offsetOf(op, 0), first);
    localAddresses(w, op, block, offsetOf(op, 1), second);
    uint32_t *file = w.block(block);
    uint32_t *one = file + (IsStore ? op.source[2] : op.result);
    uint32_t *other = IsStore ? file + op.source[3] : one + Kind::kRegisters * kBlockLanes;
    if (!access<Kind, IsStore>(Space::Local, w, op, one, block, mask, first) ||
        !access<Kind, IsStore>(Space::Local, w, op, other, block, mask, second))
      return;
  }
};

/// DS_READ_ADDTID_B32, DS_WRITE_ADDTID_B32: M0[15:0] + offset + lane * 4.
template <bool IsStore> void byThread(Wave &w, const MicroOp &op) {
  LaneAddresses addresses;
  for (unsigned block = 0; block < w.blocks; ++block) {
    for (unsigned lane = 0; lane < kBlockLanes; ++lane)
      addresses.at[lane] =
          uint32_t(op.immediate) + (w.scalars[kM0] & 0xffff) + 4 * (block * kBlockLanes + lane);
    uint32_t *registers = w.block(block) + (IsStore ? op.source[2] : op.result);
    if (!access<Dwords<1>, IsStore>(Space::Local, w, op, registers, block, w.scalars[kExec + block],
                                    addresses))
      return;
  }
}

uint32_t bitsAt(const uint32_t *words, unsigned first, unsigned count) {
  uint32_t bits = 0;
  for (unsigned i = 0; i < count; ++i)
    bits |= (words[(first + i) / 32] >> ((first + i) % 32) & 1) << i;
  return bits;
}

/// DS_READ_B64_TR_B16 and its kin (CDNA4 ISA "MFMA Transpose Load from LDS"): the lanes of a group
/// of 16 load a matrix whose rows are 16 elements long, so 16 / n lanes make a row, n being the
/// elements of a lane; lane i gets column i. EXEC must be all ones.
template <unsigned Registers, unsigned Bits> void transposed(Wave &w, const MicroOp &op) {
  constexpr unsigned kElements = 32 * Registers / Bits, kLanesOfRow = 16 / kElements;
  LaneAddresses addresses;
  for (unsigned block = 0; block < w.blocks; ++block) {
    if (w.scalars[kExec + block] != ~0u)
      return raise(w, op, FaultKind::IllegalInstruction);
    localAddresses(w, op, block, uint32_t(op.immediate), addresses);
    uint32_t loaded[Registers * kBlockLanes];
    if (!access<Dwords<Registers>, false>(Space::Local, w, op, loaded, block, ~0u, addresses))
      return;
    uint32_t *result = w.block(block) + op.result;
    for (unsigned lane = 0; lane < kBlockLanes; ++lane) {
      uint32_t words[Registers] = {};
      for (unsigned row = 0; row < kElements; ++row) {
        const unsigned column = lane % 16;
        uint32_t from[Registers];
        for (unsigned i = 0; i < Registers; ++i)
          from[i] =
              loaded[i * kBlockLanes + lane / 16 * 16 + row * kLanesOfRow + column / kElements];
        const uint32_t element = bitsAt(from, column % kElements * Bits, Bits);
        for (unsigned i = 0; i < Bits; ++i)
          words[(row * Bits + i) / 32] |= (element >> i & 1) << ((row * Bits + i) % 32);
      }
      Dwords<Registers>::load(result, lane, words);
    }
  }
}

template <class Kind> constexpr Handler load = one<Kind, false>;
template <class Kind> constexpr Handler store = one<Kind, true>;

// The ST64 forms share a row with the plain ones.
constexpr MemorySemantics kRows[] = {
    {"DS_READ_B32", load<Dwords<1>>},
    {"DS_READ_B64", load<Dwords<2>>},
    {"DS_READ_B96", load<Dwords<3>>},
    {"DS_READ_B128", load<Dwords<4>>},
    {"DS_READ_U8", load<Narrow<uint8_t>>},
    {"DS_READ_I8", load<Narrow<int8_t>>},
    {"DS_READ_U16", load<Narrow<uint16_t>>},
    {"DS_READ_I16", load<Narrow<int16_t>>},
    {"DS_READ_U8_D16", load<Narrow<uint8_t, Half16::Low>>},
    {"DS_READ_U8_D16_HI", load<Narrow<uint8_t, Half16::High>>},
    {"DS_READ_I8_D16", load<Narrow<int8_t, Half16::Low>>},
    {"DS_READ_I8_D16_HI", load<Narrow<int8_t, Half16::High>>},
    {"DS_READ_U16_D16", load<Narrow<uint16_t, Half16::Low>>},
    {"DS_READ_U16_D16_HI", load<Narrow<uint16_t, Half16::High>>},
    {"DS_READ2_B32", two<Dwords<1>, false>},
    {"DS_READ2_B64", two<Dwords<2>, false>},
    {"DS_READ_ADDTID_B32", byThread<false>},
    {"DS_READ_B64_TR_B16", transposed<2, 16>},
    {"DS_READ_B64_TR_B8", transposed<2, 8>},
    {"DS_READ_B64_TR_B4", transposed<2, 4>},
    {"DS_READ_B96_TR_B6", transposed<3, 6>},
    {"DS_WRITE_B8", store<Narrow<uint8_t>>},
    {"DS_WRITE_B16", store<Narrow<uint16_t>>},
    {"DS_WRITE_B8_D16_HI", store<Narrow<uint8_t, Half16::High>>},
    {"DS_WRITE_B16_D16_HI", store<Narrow<uint16_t, Half16::High>>},
    {"DS_WRITE_B32", store<Dwords<1>>},
    {"DS_WRITE_B64", store<Dwords<2>>},
    {"DS_WRITE_B96", store<Dwords<3>>},
    {"DS_WRITE_B128", store<Dwords<4>>},
    {"DS_WRITE2_B32", two<Dwords<1>, true>},
    {"DS_WRITE2_B64", two<Dwords<2>, true>},
    {"DS_WRITE_ADDTID_B32", byThread<true>},
};

} // namespace

const MemoryTable kLocalMemory = table(kRows);

} // namespace rubia::emulator
