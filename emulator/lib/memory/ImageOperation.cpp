// SPDX-License-Identifier: Apache-2.0
#include "emulator/lib/memory/ImageOperation.h"
#include "emulator/lib/machine/Half.h"

namespace rubia::emulator {
namespace {

/// Takes numbers of 32 or 16 bits from address registers, in order.
class AddressReader {
public:
  AddressReader(const Wave &w, const ImageOperation &op, unsigned lane)
      : w(w), op(op), lane(lane) {}

  uint32_t word() { return op.address(w, next++, lane); }
  /// A number of a group that is packed by two where it is of halves. A group begins in a register
  /// of its own.
  uint32_t bits(bool isHalf) {
    if (!isHalf)
      return word();
    if (!upper)
      pair = word();
    const uint32_t half = upper ? pair >> 16 : pair & 0xffff;
    upper = !upper;
    return half;
  }
  float number(bool isHalf) {
    const uint32_t value = bits(isHalf);
    return isHalf ? float(RUBIA_ISA::Half::fromBits(uint16_t(value))) : std::bit_cast<float>(value);
  }
  void endGroup() { upper = false; }

private:
  const Wave &w;
  const ImageOperation &op;
  unsigned lane, next = 0;
  uint32_t pair = 0;
  bool upper = false;
};

int signedBits(uint32_t word, unsigned shift) { return int32_t(word << (26 - shift)) >> 26; }

} // namespace

unsigned ImageOperation::addressRegisters() const {
  auto packed = [](unsigned count, bool isHalf) { return isHalf ? (count + 1) / 2 : count; };
  unsigned count = has(kImageOffsets) + has(kImageBias);
  if (has(kImageGradients))
    count += 2 * packed(extents(), has(kImageHalfGradients));
  const unsigned last = has(kImageLevel) + has(kImageLevelClamp);
  return count + packed(coordinates() + last, has(kImageHalfAddress));
}

ImageAddress ImageAddress::read(const Wave &w, const ImageOperation &op, unsigned lane) {
  ImageAddress address;
  AddressReader reader(w, op, lane);
  const bool isHalf = op.has(kImageHalfAddress);
  const unsigned extents = op.extents();
  if (op.has(kImageOffsets)) {
    const uint32_t word = reader.word();
    for (unsigned i = 0; i < extents; ++i)
      address.offset[i] = signedBits(word, 8 * i);
  }
  if (op.has(kImageBias)) {
    address.bias = reader.number(isHalf);
    reader.endGroup();
  }
  if (op.has(kImageGradients))
    for (auto &gradient : address.gradient) {
      for (unsigned i = 0; i < extents; ++i)
        gradient[i] = reader.number(op.has(kImageHalfGradients));
      reader.endGroup();
    }
  auto coordinate = [&](uint32_t &index, float &number) {
    index = reader.bits(isHalf);
    number =
        isHalf ? float(RUBIA_ISA::Half::fromBits(uint16_t(index))) : std::bit_cast<float>(index);
  };
  for (unsigned i = 0; i < extents; ++i)
    coordinate(address.index[i], address.at[i]);
  if (op.hasLayers())
    coordinate(address.layerIndex, address.layer);
  if (op.has(kImageLevel))
    coordinate(address.integerLevel, address.level);
  if (op.has(kImageLevelClamp))
    address.levelClamp = reader.number(isHalf);
  return address;
}

} // namespace rubia::emulator
