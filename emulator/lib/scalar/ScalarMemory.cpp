// SPDX-License-Identifier: Apache-2.0
// Scalar memory operations (RDNA3 ISA "Scalar Memory Operations"; stores, atomics and scratch:
// CDNA2 ISA): uniform accesses of 1 to 64 bytes from and to SGPRs.
//
// Operands: source 0 the base (an SGPR pair, or the four of a buffer resource), source 1 the offset
// register if there is one, `immediate` the offset, `result` the data, also of stores.
#include "emulator/lib/machine/Bounds.h"
#include "emulator/lib/memory/AtomicSemantics.h"
#include "emulator/lib/scalar/ScalarAlu.h"

namespace rubia::emulator {
namespace {

/// Whether `bytes` bytes at `address` may be accessed; raises a fault if not.
bool check(Wave &w, const MicroOp &op, uint64_t address, uint32_t bytes, bool isWrite) {
  uint64_t generation = w.group->generation->load(std::memory_order_relaxed);
  if (inWindow(w, generation, address, address, bytes) || findWindow(w, address, bytes) ||
      (!isWrite && readsThreeOfAllocation(w, address, bytes)))
    return true;
  unsigned lane = w.exec() ? unsigned(std::countr_zero(w.exec())) : 0;
  raise(w, op, FaultKind::OutOfBounds, lane, address, bytes, isWrite);
  return false;
}

bool readUniform(Wave &w, const MicroOp &op, uint64_t address, void *to, uint32_t bytes) {
  if (!check(w, op, address, bytes, false))
    return false;
  std::memcpy(to, reinterpret_cast<const void *>(address), bytes);
  return true;
}

uint64_t offsetOf(const Wave &w, const MicroOp &op) {
  uint64_t offset = uint64_t(int64_t(op.immediate));
  if (op.kind[1] != OperandKind::None)
    offset += readScalar32(w, op, 1);
  return offset;
}

template <unsigned N> void load(Wave &w, const MicroOp &op) {
  // The hardware ignores the two lowest address bits.
  uint64_t address =
      (w.pair(unsigned(op.source[0])) & ~uint64_t(3)) + (offsetOf(w, op) & ~uint64_t(3));
  if (!readUniform(w, op, address, &w.scalars[op.result], 4 * N))
    return;
  RUBIA_NEXT(w, op);
}

template <class T>
constexpr Handler loadNarrow = [](Wave &w, const MicroOp &op) {
  T value;
  if (readUniform(w, op, w.pair(unsigned(op.source[0])) + offsetOf(w, op), &value, sizeof(value)))
    w.scalars[op.result] = uint32_t(int32_t(value));
};

/// The words of a buffer resource that scalar operations look at.
struct Resource {
  uint64_t base, size;
  explicit Resource(const Wave &w, const MicroOp &op) {
    const uint32_t *words = &w.scalars[op.source[0]];
    const uint64_t stride = words[1] >> 16 & 0x3fff;
    base = uint64_t(words[1] & 0xffff) << 32 | words[0];
    size = uint64_t(words[2]) * (stride ? stride : 1);
  }
};

/// Buffer loads clamp: what lies beyond num_records reads 0.
template <unsigned N>
constexpr Handler bufferLoad = [](Wave &w, const MicroOp &op) {
  const Resource resource(w, op);
  const uint64_t base = resource.base & ~uint64_t(3), offset = offsetOf(w, op) & ~uint64_t(3);
  uint32_t words[N] = {};
  for (unsigned i = 0; i < N; ++i)
    if (fits(offset, 4 * i + 4, resource.size) &&
        !readUniform(w, op, base + offset + 4 * i, &words[i], 4))
      return;
  std::memcpy(&w.scalars[op.result], words, sizeof(words));
};

template <class T>
constexpr Handler bufferLoadNarrow = [](Wave &w, const MicroOp &op) {
  const Resource resource(w, op);
  const uint64_t offset = offsetOf(w, op);
  T value = 0;
  if (fits(offset, sizeof(T), resource.size) &&
      !readUniform(w, op, resource.base + offset, &value, sizeof(value)))
    return;
  w.scalars[op.result] = uint32_t(int32_t(value));
};

enum class Form : uint8_t { Plain, Buffer, Scratch };

/// The address of a store, an atomic or a scratch access; 0 if it is to be dropped.
template <Form F> uint64_t addressOf(const Wave &w, const MicroOp &op, uint32_t bytes) {
  if (F == Form::Buffer) {
    const Resource resource(w, op);
    const uint64_t offset = offsetOf(w, op) & ~uint64_t(3);
    return fits(offset, bytes, resource.size) ? (resource.base & ~uint64_t(3)) + offset : 0;
  }
  uint64_t offset = uint64_t(int64_t(op.immediate));
  if (op.kind[1] != OperandKind::None) // scratch: in units of 64 bytes
    offset += uint64_t(readScalar32(w, op, 1)) * (F == Form::Scratch ? 64 : 1);
  return (w.pair(unsigned(op.source[0])) & ~uint64_t(3)) + (offset & ~uint64_t(3));
}

template <unsigned N>
constexpr Handler scratchLoad = [](Wave &w, const MicroOp &op) {
  uint32_t words[N];
  if (readUniform(w, op, addressOf<Form::Scratch>(w, op, sizeof(words)), words, sizeof(words)))
    std::memcpy(&w.scalars[op.result], words, sizeof(words));
};

template <Form F, unsigned N>
constexpr Handler store = [](Wave &w, const MicroOp &op) {
  const uint64_t address = addressOf<F>(w, op, N * 4);
  if (address != 0 && check(w, op, address, N * 4, true))
    std::memcpy(reinterpret_cast<void *>(address), &w.scalars[op.result], N * 4);
};

/// A third parameter of `Function` is the comparand, which follows the value.
template <Form F, class T, auto Function>
constexpr Handler atomic = [](Wave &w, const MicroOp &op) {
  auto operand = [&](unsigned i) {
    T value;
    std::memcpy(&value, &w.scalars[op.result + i * sizeof(T) / 4], sizeof(T));
    return value;
  };
  const uint64_t address = addressOf<F>(w, op, sizeof(T));
  if (address == 0)
    return;
  if (address % sizeof(T) != 0)
    return raise(w, op, FaultKind::Misaligned, 0, address, sizeof(T), true);
  if (!check(w, op, address, sizeof(T), true))
    return;
  const T value = operand(0);
  T old;
  if constexpr (std::is_invocable_v<decltype(Function), T, T, T>) {
    const T comparand = operand(1);
    old = updateShared<T>(reinterpret_cast<void *>(address),
                          [&](T now) { return Function(now, value, comparand); });
  } else {
    old = updateShared<T>(reinterpret_cast<void *>(address),
                          [&](T now) { return Function(now, value); });
  }
  if (op.data & kScalarAtomicReturns)
    std::memcpy(&w.scalars[op.result], &old, sizeof(T));
};

template <auto Function, class T32, class T64> constexpr ScalarAtomic row(const char *name) {
  return {name,
          {{atomic<Form::Plain, T32, Function>, atomic<Form::Plain, T64, Function>},
           {atomic<Form::Buffer, T32, Function>, atomic<Form::Buffer, T64, Function>}}};
}
template <auto Function> constexpr ScalarAtomic unsignedRow(const char *name) {
  return row<Function, uint32_t, uint64_t>(name);
}
template <auto Function> constexpr ScalarAtomic signedRow(const char *name) {
  return row<Function, int32_t, int64_t>(name);
}

constexpr auto kSmaller = [](auto old, auto value) { return value < old ? value : old; };
constexpr auto kLarger = [](auto old, auto value) { return value > old ? value : old; };

constexpr ScalarAtomic kAtomics[] = {
    unsignedRow<[](auto, auto value) { return value; }>("SWAP"),
    unsignedRow<[](auto old, auto value, auto comparand) {
      return old == comparand ? value : old;
    }>("CMPSWAP"),
    unsignedRow<[](auto old, auto value) { return old + value; }>("ADD"),
    unsignedRow<[](auto old, auto value) { return old - value; }>("SUB"),
    signedRow<kSmaller>("SMIN"),
    unsignedRow<kSmaller>("UMIN"),
    signedRow<kLarger>("SMAX"),
    unsignedRow<kLarger>("UMAX"),
    unsignedRow<[](auto old, auto value) { return old & value; }>("AND"),
    unsignedRow<[](auto old, auto value) { return old | value; }>("OR"),
    unsignedRow<[](auto old, auto value) { return old ^ value; }>("XOR"),
    unsignedRow<[](auto old, auto value) { return old >= value ? 0 : old + 1; }>("INC"),
    unsignedRow<[](auto old, auto value) { return old == 0 || old > value ? value : old - 1; }>(
        "DEC"),
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
    {"S_BUFFER_LOAD_U8", bufferLoadNarrow<uint8_t>},
    {"S_BUFFER_LOAD_I8", bufferLoadNarrow<int8_t>},
    {"S_BUFFER_LOAD_U16", bufferLoadNarrow<uint16_t>},
    {"S_BUFFER_LOAD_I16", bufferLoadNarrow<int16_t>},
    {"S_BUFFER_LOAD_DWORD", bufferLoad<1>},
    {"S_BUFFER_LOAD_DWORDX2", bufferLoad<2>},
    {"S_BUFFER_LOAD_DWORDX3", bufferLoad<3>},
    {"S_BUFFER_LOAD_DWORDX4", bufferLoad<4>},
    {"S_BUFFER_LOAD_DWORDX8", bufferLoad<8>},
    {"S_BUFFER_LOAD_DWORDX16", bufferLoad<16>},
    {"S_STORE_DWORD", store<Form::Plain, 1>},
    {"S_STORE_DWORDX2", store<Form::Plain, 2>},
    {"S_STORE_DWORDX4", store<Form::Plain, 4>},
    {"S_BUFFER_STORE_DWORD", store<Form::Buffer, 1>},
    {"S_BUFFER_STORE_DWORDX2", store<Form::Buffer, 2>},
    {"S_BUFFER_STORE_DWORDX4", store<Form::Buffer, 4>},
    {"S_SCRATCH_LOAD_DWORD", scratchLoad<1>},
    {"S_SCRATCH_LOAD_DWORDX2", scratchLoad<2>},
    {"S_SCRATCH_LOAD_DWORDX4", scratchLoad<4>},
    {"S_SCRATCH_STORE_DWORD", store<Form::Scratch, 1>},
    {"S_SCRATCH_STORE_DWORDX2", store<Form::Scratch, 2>},
    {"S_SCRATCH_STORE_DWORDX4", store<Form::Scratch, 4>},
};

} // namespace

const MemoryTable kScalarMemory = table(kRows);
const ScalarAtomicTable kScalarAtomics = {kAtomics, std::size(kAtomics)};

} // namespace rubia::emulator
