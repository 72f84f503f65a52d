// SPDX-License-Identifier: Apache-2.0
// A wave with memory of all kinds, for tests of single memory instructions.
#pragma once

#include "emulator/lib/machine/ScratchLayout.h"
#include "emulator/lib/memory/MemoryRegistry.h"
#include "tests/emulator/Targets.h"
#include "tests/emulator/VectorAluAssembly.h"

namespace rubia::emulator::test {

/// A value in memory at any address.
template <class T> struct Unaligned {
  uint8_t *place;
  operator T() const {
    T value;
    std::memcpy(&value, place, sizeof(T));
    return value;
  }
  const Unaligned &operator=(T value) const {
    std::memcpy(place, &value, sizeof(T));
    return *this;
  }
  // NOLINTNEXTLINE(bugprone-unhandled-self-assignment): T(other) is a copy.
  const Unaligned &operator=(const Unaligned &other) const { return *this = T(other); }
  explicit Unaligned(uint8_t *place) : place(place) {}
  Unaligned(const Unaligned &) = default;
};
template <class T> void PrintTo(const Unaligned<T> &value, std::ostream *os) { *os << T(value); }

/// v[2:3] holds each lane's address in `global`, v4 the same as an offset, s[4:5] the address of
/// `global`. s[8:11] is a raw buffer resource of `global`. LDS and private memory are as large.
/// Every byte of the three holds a pattern of its own.
class MemoryWave : public AssemblyWave {
public:
  static constexpr uint32_t kBytes = 32768, kScratchPerLane = 512;

  explicit MemoryWave(const TargetCase &target);

  const TargetCase target;
  Memory memory;
  uint8_t *global = nullptr;
  std::vector<uint8_t> lds, scratch;

  /// Puts `first` + lane * `stride`, an offset into `global`, into v[2:3] and v4.
  MemoryWave &addresses(uint32_t first, uint32_t stride);
  MemoryWave &exec(uint64_t mask);
  MemoryWave &set(unsigned r, uint32_t value) {
    AssemblyWave::set(r, value);
    return *this;
  }
  /// Puts what a flat address of LDS or private memory looks like into v[6:7], from v4.
  MemoryWave &aperture(uint32_t high);
  /// Four SGPRs of a buffer resource.
  MemoryWave &resource(unsigned first, uint64_t base, uint32_t stride, uint32_t records,
                       uint32_t word3, bool swizzled = false);
  /// The word of a raw buffer with range checks.
  uint32_t rawWord3() const { return target.major() == 9 ? 0x27000 : 3u << 28; }

  const FaultRecord &fault() const { return wave.group->fault; }
  void clearFault();
  bool active(unsigned lane) const { return wave.exec() >> lane & 1; }
  uint64_t pair(unsigned r, unsigned lane) { return uint64_t(v(r + 1, lane)) << 32 | v(r, lane); }
  void setPair(unsigned r, unsigned lane, uint64_t value) {
    v(r, lane) = uint32_t(value);
    v(r + 1, lane) = uint32_t(value >> 32);
  }
  template <class T> Unaligned<T> at(uint32_t offset) { return Unaligned<T>(global + offset); }
  template <class T> Unaligned<T> ldsAt(uint32_t offset) {
    return Unaligned<T>(lds.data() + offset);
  }
  uint8_t &privateByte(unsigned lane, uint32_t offset) { return *scratchByte(wave, lane, offset); }

private:
  std::vector<uint32_t> file; // with accumulation registers
};

/// Base of the tests that run for all processors.
class MemoryTest : public testing::TestWithParam<TargetCase> {
protected:
  unsigned major() const { return GetParam().major(); }
};

/// The processors of generations `first` to `last`.
inline auto targetsFrom(unsigned first, unsigned last) {
  std::vector<TargetCase> targets;
  for (const TargetCase &target : kTargetCases)
    if (target.major() >= first && target.major() <= last)
      targets.push_back(target);
  return testing::ValuesIn(targets);
}

} // namespace rubia::emulator::test
