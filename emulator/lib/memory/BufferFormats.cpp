// SPDX-License-Identifier: Apache-2.0
// BUFFER_LOAD_FORMAT_*, BUFFER_STORE_FORMAT_*: texels of linear memory, whose format is the
// resource's (RDNA3 ISA "Buffer Data"). A texel out of range reads 0 and is not written.
#include "emulator/lib/memory/BufferResource.h"
#include "emulator/lib/memory/ImageResource.h"

namespace rubia::emulator {
namespace {

struct TexelBuffer {
  BufferResource resource;
  std::optional<ImageFormat> format;
  uint32_t select[4];

  static TexelBuffer read(const Wave &w, const MicroOp &op) {
    const uint32_t word = w.scalars[op.source[3] + 3];
    const unsigned isa = w.group->target->isa;
    TexelBuffer buffer{
        BufferResource::read(w, op), imageFormat(isa, word >> 12 & (isa >= 11 ? 0x3f : 0x7f)), {}};
    for (unsigned i = 0; i < 4; ++i)
      buffer.select[i] = word >> 3 * i & 7;
    return buffer;
  }
};

/// `kHalves`: registers hold two components of 16 bits each.
template <unsigned kCount, bool kHalves>
void giveRegisters(const ImageFormat &format, const Texel &texel, uint32_t *registers) {
  for (unsigned i = 0; i < kCount; ++i) {
    if constexpr (kHalves) {
      uint32_t &word = registers[i / 2 * kBlockLanes];
      const uint32_t half = halfOf(format, texel.at[i]);
      word = i % 2 ? (word & 0xffff) | half << 16 : half;
    } else {
      registers[i * kBlockLanes] = texel.at[i];
    }
  }
}
template <unsigned kCount, bool kHalves>
Texel takeRegisters(const ImageFormat &format, const uint32_t *registers, unsigned isa) {
  Texel texel = {};
  for (unsigned i = 0; i < 4; ++i) {
    if (i >= kCount) {
      texel.at[i] = isa >= 12 ? texel.at[0] : 0;
      continue;
    }
    const uint32_t word = registers[(kHalves ? i / 2 : i) * kBlockLanes];
    texel.at[i] = kHalves ? wordOf(format, uint16_t(i % 2 ? word >> 16 : word)) : word;
  }
  return texel;
}

template <unsigned kCount, bool kStore, bool kHalves> void access(Wave &w, const MicroOp &op) {
  if (!w.exec())
    return;
  const TexelBuffer buffer = TexelBuffer::read(w, op);
  if (!checkImage(w, op, buffer.format ? ImageProblem::None : ImageProblem::Format))
    return;
  const ImageFormat &format = *buffer.format;
  for (unsigned block = 0; block < w.blocks; ++block) {
    const uint32_t mask = w.scalars[kExec + block];
    BufferLanes lanes;
    bufferLanes(w, op, buffer.resource, block, lanes);
    LaneAddresses addresses;
    const uint32_t inside =
        bufferAddresses(buffer.resource, lanes, mask, 0, format.bytes(), addresses);
    if (inside &&
        !checkBuffer(w, op, buffer.resource, block, inside, addresses, format.bytes(), kStore))
      return;
    for (uint32_t rest = kStore ? inside : mask; rest; rest &= rest - 1) {
      const auto lane = unsigned(std::countr_zero(rest));
      uint32_t *registers = w.block(block) + op.result + lane;
      uint32_t words[4] = {};
      if constexpr (kStore) {
        encodeTexel(format, takeRegisters<kCount, kHalves>(format, registers, w.group->target->isa),
                    words);
        storeTexelWords(format.bytes(), addresses.at[lane], words);
      } else {
        Texel texel = {};
        if (inside >> lane & 1) {
          loadTexelWords(format.bytes(), addresses.at[lane], words);
          texel = selectComponents(format, buffer.select, decodeTexel(format, words));
        }
        giveRegisters<kCount, kHalves>(format, texel, registers);
      }
    }
  }
}

constexpr MemorySemantics kRows[] = {
    {"LOAD_FORMAT_X", access<1, false, false>},
    {"LOAD_FORMAT_XY", access<2, false, false>},
    {"LOAD_FORMAT_XYZ", access<3, false, false>},
    {"LOAD_FORMAT_XYZW", access<4, false, false>},
    {"STORE_FORMAT_X", access<1, true, false>},
    {"STORE_FORMAT_XY", access<2, true, false>},
    {"STORE_FORMAT_XYZ", access<3, true, false>},
    {"STORE_FORMAT_XYZW", access<4, true, false>},
    {"LOAD_FORMAT_D16_X", access<1, false, true>},
    {"LOAD_FORMAT_D16_XY", access<2, false, true>},
    {"LOAD_FORMAT_D16_XYZ", access<3, false, true>},
    {"LOAD_FORMAT_D16_XYZW", access<4, false, true>},
    {"STORE_FORMAT_D16_X", access<1, true, true>},
    {"STORE_FORMAT_D16_XY", access<2, true, true>},
    {"STORE_FORMAT_D16_XYZ", access<3, true, true>},
    {"STORE_FORMAT_D16_XYZW", access<4, true, true>},
};

} // namespace

const MemoryTable kBufferFormats = table(kRows);

} // namespace rubia::emulator
