// Loads and stores as types: how many bytes, which registers, and how a narrow value lies in a
// register.
#pragma once

#include "emulator/lib/Addressing.h"

namespace rubia::emulator {

/// N whole dwords.
template <unsigned N> struct Dwords {
  static constexpr unsigned kBytes = 4 * N;
  static constexpr unsigned kRegisters = N;
  static void load(uint32_t *registers, unsigned lane, const uint32_t *words) {
    for (unsigned i = 0; i < N; ++i)
      registers[i * kBlockLanes + lane] = words[i];
  }
  static void store(const uint32_t *registers, unsigned lane, uint32_t *words) {
    for (unsigned i = 0; i < N; ++i)
      words[i] = registers[i * kBlockLanes + lane];
  }
};

enum class Half16 : uint8_t {
  Whole,
  Low,
  High
}; // the register, or only a half of it (_D16, _D16_HI)

/// An 8- or 16-bit value, extended according to T's sign.
template <class T, Half16 Part = Half16::Whole> struct Narrow {
  static constexpr unsigned kBytes = sizeof(T);
  static constexpr unsigned kRegisters = 1;
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

} // namespace rubia::emulator
