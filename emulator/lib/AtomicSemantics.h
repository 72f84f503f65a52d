// Read-modify-write instructions as rows: a lambda from the old value and the data operands to the
// new value.
//
//   {"ATOMIC_ADD", atomic<Space::Global, [](uint32_t old, uint32_t value) { return old + value; }>}
//
// A third parameter is the comparand of a compare-and-swap: in GLOBAL and FLAT it follows the value
// in the same registers, in DS it is the second data operand.
#pragma once

#include "emulator/lib/Addressing.h"

namespace rubia::emulator {

/// Memory shared by the host's threads: one atomic read-modify-write. Returns the old value.
template <class T, class Function> T updateShared(void *pointer, Function function) {
  using Bits = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
  auto *word = static_cast<Bits *>(pointer);
  Bits expected = __atomic_load_n(word, __ATOMIC_RELAXED);
  for (;;) {
    Bits desired = std::bit_cast<Bits>(T(function(std::bit_cast<T>(expected))));
    if (__atomic_compare_exchange_n(word, &expected, desired, true, __ATOMIC_SEQ_CST,
                                    __ATOMIC_RELAXED))
      return std::bit_cast<T>(expected);
  }
}

/// Memory that only this host thread uses now (LDS, scratch).
template <class T, class Function> T updateOwn(void *pointer, Function function) {
  T old;
  std::memcpy(&old, pointer, sizeof(T));
  T value = function(old);
  std::memcpy(pointer, &value, sizeof(T));
  return old;
}

template <class T> T readRegisters(const uint32_t *registers, unsigned lane) {
  if constexpr (sizeof(T) == 8)
    return std::bit_cast<T>(uint64_t(registers[kBlockLanes + lane]) << 32 | registers[lane]);
  else
    return std::bit_cast<T>(registers[lane]);
}
template <class T> void writeRegisters(uint32_t *registers, unsigned lane, T value) {
  if constexpr (sizeof(T) == 8) {
    uint64_t bits = std::bit_cast<uint64_t>(value);
    registers[lane] = uint32_t(bits);
    registers[kBlockLanes + lane] = uint32_t(bits >> 32);
  } else {
    registers[lane] = std::bit_cast<uint32_t>(value);
  }
}

/// Parts of an atomic lambda's signature.
template <class F> struct AtomicSignature;
template <class F, class T, class... Data> struct AtomicSignature<T (F::*)(T, Data...) const> {
  using Value = T;
  static constexpr unsigned kOperands = sizeof...(Data);
};
template <auto Function>
using AtomicParts = AtomicSignature<decltype(&decltype(Function)::operator())>;

/// Whether an operation returns the old value: the decoder sets this in MicroOp::data.
constexpr uint8_t kAtomicReturns = 1;

/// Raises a fault unless all lanes' addresses are multiples of `size`, which atomics need in every
/// mode.
inline bool checkAligned(Wave &w, const MicroOp &op, unsigned block, uint32_t mask,
                         const LaneAddresses &addresses, uint32_t size) {
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    unsigned lane = unsigned(std::countr_zero(rest));
    if (addresses.at[lane] % size != 0) [[unlikely]] {
      raise(w, op, FaultKind::Misaligned, block * kBlockLanes + lane, addresses.at[lane], size,
            true);
      return false;
    }
  }
  return true;
}

} // namespace rubia::emulator
