// SPDX-License-Identifier: Apache-2.0
// 16 bytes in memory that other host threads access at the same time: the host's own 16-byte
// instructions, which are single accesses where the address is aligned.
//
// x86-64: MOVAPS, MOVDQA and their VEX.128 forms are, on every processor with AVX (Intel SDM,
// volume 3A, "Guaranteed Atomic Operations"; AMD APM, volume 2, "Access Atomicity"); a volatile
// access of an aligned vector is one of them. AArch64: LDP and STP of two X registers are, with
// FEAT_LSE2.
#pragma once

#include <cstdint>
#include <cstring>

namespace rubia::emulator {

typedef uint32_t FourDwords __attribute__((vector_size(16)));

constexpr uint64_t kHostAccessBytes = 16;

[[gnu::always_inline]] inline FourDwords readAtOnce(const void *aligned) {
#ifdef __aarch64__
  uint64_t halves[2];
  asm volatile("ldp %0, %1, %2"
               : "=r"(halves[0]), "=r"(halves[1])
               : "Q"(*static_cast<const FourDwords *>(aligned)));
  FourDwords value;
  std::memcpy(&value, halves, sizeof(value));
  return value;
#else
  return *static_cast<const volatile FourDwords *>(aligned);
#endif
}

[[gnu::always_inline]] inline void writeAtOnce(void *aligned, FourDwords value) {
#ifdef __aarch64__
  uint64_t halves[2];
  std::memcpy(halves, &value, sizeof(value));
  asm volatile("stp %1, %2, %0"
               : "=Q"(*static_cast<FourDwords *>(aligned))
               : "r"(halves[0]), "r"(halves[1]));
#else
  *static_cast<volatile FourDwords *>(aligned) = value;
#endif
}

} // namespace rubia::emulator
