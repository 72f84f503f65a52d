// Scalar loads (RDNA3 ISA "Scalar Memory Operations"): uniform reads of 4 to 64 bytes into SGPRs.
//
// Operands: source 0 the base (an SGPR pair, or the four of a buffer resource), source 1 the offset
// register if there is one, `immediate` the offset.
#include "emulator/lib/Addressing.h"

namespace rubia::emulator {
namespace {

/// Reads `bytes` bytes at `address` into `to`, or raises a fault.
bool readUniform(Wave &w, const MicroOp &op, uint64_t address, void *to, uint32_t bytes) {
  uint64_t generation = w.group->generation->load(std::memory_order_relaxed);
  if (!inWindow(w, generation, address, address, bytes, false) &&
      !findWindow(w, address, bytes, false)) {
    unsigned lane = w.exec() ? unsigned(std::countr_zero(w.exec())) : 0;
    raise(w, op, FaultKind::OutOfBounds, lane, address, bytes, false);
    return false;
  }
  std::memcpy(to, reinterpret_cast<const void *>(address), bytes);
  return true;
}

uint64_t offsetOf(const Wave &w, const MicroOp &op) {
  uint64_t offset = uint64_t(int64_t(op.immediate));
  if (op.kind[1] != OperandKind::None)
    offset += readScalar32(w, op, 1);
  return offset;
}

template <unsigned N>
constexpr Handler load = [](Wave &w, const MicroOp &op) {
  // The hardware ignores the two lowest address bits.
  uint64_t address =
      (w.pair(unsigned(op.source[0])) & ~uint64_t(3)) + (offsetOf(w, op) & ~uint64_t(3));
  uint32_t words[N];
  if (readUniform(w, op, address, words, sizeof(words)))
    std::memcpy(&w.scalars[op.result], words, sizeof(words));
};

template <class T>
constexpr Handler loadNarrow = [](Wave &w, const MicroOp &op) {
  T value;
  if (readUniform(w, op, w.pair(unsigned(op.source[0])) + offsetOf(w, op), &value, sizeof(value)))
    w.scalars[op.result] = uint32_t(int32_t(value));
};

/// Buffer loads clamp: what lies beyond num_records reads 0.
template <unsigned N>
constexpr Handler bufferLoad = [](Wave &w, const MicroOp &op) {
  const uint32_t *resource = &w.scalars[op.source[0]];
  uint64_t base = (uint64_t(resource[1] & 0xffff) << 32 | resource[0]) & ~uint64_t(3);
  uint64_t stride = resource[1] >> 16 & 0x3fff;
  uint64_t size = uint64_t(resource[2]) * (stride ? stride : 1);
  uint64_t offset = offsetOf(w, op) & ~uint64_t(3);
  uint32_t words[N] = {};
  for (unsigned i = 0; i < N; ++i)
    if (offset + 4 * i + 4 <= size && !readUniform(w, op, base + offset + 4 * i, &words[i], 4))
      return;
  std::memcpy(&w.scalars[op.result], words, sizeof(words));
};

constexpr MemorySemantics kRows[] = {
    {"S_LOAD_DWORD", load<1>},
    {"S_LOAD_DWORDX2", load<2>},
    {"S_LOAD_DWORDX3", load<3>},
    {"S_LOAD_DWORDX4", load<4>},
    {"S_LOAD_DWORDX8", load<8>},
    {"S_LOAD_DWORDX16", load<16>},
    {"S_LOAD_U8", loadNarrow<uint8_t>},
    {"S_LOAD_I8", loadNarrow<int8_t>},
    {"S_LOAD_U16", loadNarrow<uint16_t>},
    {"S_LOAD_I16", loadNarrow<int16_t>},
    {"S_BUFFER_LOAD_DWORD", bufferLoad<1>},
    {"S_BUFFER_LOAD_DWORDX2", bufferLoad<2>},
    {"S_BUFFER_LOAD_DWORDX3", bufferLoad<3>},
    {"S_BUFFER_LOAD_DWORDX4", bufferLoad<4>},
    {"S_BUFFER_LOAD_DWORDX8", bufferLoad<8>},
    {"S_BUFFER_LOAD_DWORDX16", bufferLoad<16>},
};

} // namespace

const MemoryTable kScalarMemory = table(kRows);

} // namespace rubia::emulator
