// SPDX-License-Identifier: Apache-2.0
// Read-modify-write operations: a lambda from the old value and the data operands to the new value,
// the same for GLOBAL, FLAT, BUFFER and DS instructions.
//
//   {"ATOMIC_ADD", atomic<kAdd<uint32_t>>}
//
// Floats: hardware rounds to nearest even whatever MODE says; whether denormals are flushed depends
// on the operation, on the memory and on the generation, and comes as a first parameter
// (RDNA3 ISA, RDNA4 ISA, CDNA4 ISA "Float Memory Atomics").
#pragma once

#include "emulator/lib/machine/Addressing.h"
#include "emulator/lib/machine/Half.h"
#include <type_traits>

namespace rubia::emulator {

enum class FloatAtomic : uint8_t {
  None,
  Add32,
  Add64,
  AddPacked,
  Select32,
  Select64,
  Compare32,
  Compare64
};

struct FloatRules {
  bool flushInputs = false, flushResult = false;
  bool number = false; // min and max are IEEE minimumNumber, maximumNumber (gfx12)
};
template <FloatAtomic A> struct Rules : FloatRules {};

/// What a float atomic does in LDS (`inLds`; `byFlat`: through a flat address) or in memory.
FloatRules floatRules(const Wave &w, FloatAtomic atomic, bool inLds, bool byFlat);

/// Parts of an atomic lambda's signature.
template <class F> struct AtomicSignature;
template <class F, class T, class... Data> struct AtomicSignature<T (F::*)(T, Data...) const> {
  using Value = T;
  static constexpr unsigned kOperands = sizeof...(Data);
  static constexpr FloatAtomic kFloat = FloatAtomic::None;
};
template <class F, class T, FloatAtomic A, class... Data>
struct AtomicSignature<T (F::*)(Rules<A>, T, Data...) const> {
  using Value = T;
  static constexpr unsigned kOperands = sizeof...(Data);
  static constexpr FloatAtomic kFloat = A;
};
template <auto Function>
using AtomicParts = AtomicSignature<decltype(&decltype(Function)::operator())>;

template <auto Function, class T, class... Data>
T callAtomic(const FloatRules &rules, T old, Data... data) {
  if constexpr (AtomicParts<Function>::kFloat == FloatAtomic::None)
    return Function(old, data...);
  else
    return Function(Rules<AtomicParts<Function>::kFloat>{rules}, old, data...);
}

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

// Integers.

template <class T> constexpr auto kSwap = [](T, T value) { return value; };
template <class T> constexpr auto kAdd = [](T old, T value) { return T(old + value); };
template <class T> constexpr auto kSub = [](T old, T value) { return T(old - value); };
template <class T> constexpr auto kReverseSub = [](T old, T value) { return T(value - old); };
template <class T>
constexpr auto kClampedSub = [](T old, T value) { return old >= value ? T(old - value) : T(0); };
template <class T>
constexpr auto kConditionalSub = [](T old, T value) { return old >= value ? T(old - value) : old; };
template <class T> constexpr auto kMin = [](T old, T value) { return old < value ? old : value; };
template <class T> constexpr auto kMax = [](T old, T value) { return old > value ? old : value; };
template <class T> constexpr auto kAnd = [](T old, T value) { return T(old & value); };
template <class T> constexpr auto kOr = [](T old, T value) { return T(old | value); };
template <class T> constexpr auto kXor = [](T old, T value) { return T(old ^ value); };
template <class T>
constexpr auto kInc = [](T old, T limit) { return old >= limit ? T(0) : T(old + 1); };
template <class T>
constexpr auto kDec = [](T old, T limit) { return old == 0 || old > limit ? limit : T(old - 1); };
template <class T>
constexpr auto kMaskedOr = [](T old, T mask, T value) { return T((old & ~mask) | value); };
constexpr auto kWrap = [](uint32_t old, uint32_t a, uint32_t b) {
  return old >= a ? old - a : old + b;
};
/// The value before the comparand, as everywhere but in DS_CMPST.
template <class T>
constexpr auto kCompareSwap =
    [](T old, T value, T expected) { return old == expected ? value : old; };
template <class T>
constexpr auto kCompareStore =
    [](T old, T expected, T value) { return old == expected ? value : old; };

// Floats.

template <class T> struct FloatBits {
  using Bits = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
  static constexpr Bits kSign = Bits(1) << (8 * sizeof(T) - 1);
  static constexpr Bits kQuiet = Bits(1) << (sizeof(T) == 8 ? 51 : 22);
  static constexpr Bits kInfinity =
      sizeof(T) == 8 ? Bits(0x7ff) << (sizeof(T) == 8 ? 52 : 0) : Bits(0x7f800000);
  static Bits of(T value) { return std::bit_cast<Bits>(value); }
  static T flush(T value, bool flushes) {
    return flushes && (of(value) & kInfinity) == 0 ? std::bit_cast<T>(Bits(of(value) & kSign))
                                                   : value;
  }
  static bool isSignaling(T value) { return value != value && !(of(value) & kQuiet); }
  static T quieted(T value) { return std::bit_cast<T>(Bits(of(value) | kQuiet)); }
};

template <class T> T addFloats(const FloatRules &rules, T old, T value) {
  using F = FloatBits<T>;
  old = F::flush(old, rules.flushInputs);
  value = F::flush(value, rules.flushInputs);
  if (old != old || value != value)
    return F::quieted(old != old ? old : value);
  const T sum = old + value;
  if (sum != sum) // of opposite infinities
    return std::bit_cast<T>(typename F::Bits(F::kInfinity | F::kQuiet));
  return F::flush(sum, rules.flushResult);
}

/// Before gfx12 the flushed inputs are compared, and one of the unflushed is the result; a quiet
/// NaN loses, a signaling one wins. -0 is less than +0.
template <class T> T selectFloat(const FloatRules &rules, bool maximum, T old, T value) {
  using F = FloatBits<T>;
  const T a = F::flush(old, rules.flushInputs), b = F::flush(value, rules.flushInputs);
  if (rules.number) {
    if (a != a && b != b)
      return F::quieted(value);
  } else {
    if (F::isSignaling(old) || F::isSignaling(value))
      return F::quieted(F::isSignaling(old) ? old : value);
  }
  bool takesOld;
  if (a != a || b != b)
    takesOld = b != b;
  else if (a == b) // the same, or zeros of different sign
    takesOld = F::of(a) == F::of(b) || bool(F::of(a) & F::kSign) != maximum;
  else
    takesOld = (a > b) == maximum;
  if (rules.number)
    return takesOld ? a : b;
  return takesOld ? old : value;
}

template <class T> T compareFloats(const FloatRules &rules, T old, T expected, T value) {
  using F = FloatBits<T>;
  const bool equal = F::flush(old, rules.flushInputs) == F::flush(expected, rules.flushInputs);
  return F::flush(equal ? value : old, rules.flushResult);
}

template <class T>
constexpr FloatAtomic kSelect = sizeof(T) == 8 ? FloatAtomic::Select64 : FloatAtomic::Select32;
template <class T>
constexpr FloatAtomic kCompare = sizeof(T) == 8 ? FloatAtomic::Compare64 : FloatAtomic::Compare32;

template <class T>
constexpr auto kAddFloat = [](Rules<sizeof(T) == 8 ? FloatAtomic::Add64 : FloatAtomic::Add32> rules,
                              T old, T value) { return addFloats(rules, old, value); };
template <class T>
constexpr auto kMinFloat =
    [](Rules<kSelect<T>> rules, T old, T value) { return selectFloat(rules, false, old, value); };
template <class T>
constexpr auto kMaxFloat =
    [](Rules<kSelect<T>> rules, T old, T value) { return selectFloat(rules, true, old, value); };
template <class T>
constexpr auto kCompareSwapFloat = [](Rules<kCompare<T>> rules, T old, T value, T expected) {
  return compareFloats(rules, old, expected, value);
};
template <class T>
constexpr auto kCompareStoreFloat = [](Rules<kCompare<T>> rules, T old, T expected, T value) {
  return compareFloats(rules, old, expected, value);
};

/// Two 16-bit floats in a word, added as floats, which round to 16 bits correctly.
template <class F> uint32_t addPacked(const FloatRules &rules, uint32_t old, uint32_t value) {
  constexpr uint16_t kExponent = std::is_same_v<F, RUBIA_ISA::Half> ? 0x7c00 : 0x7f80;
  auto flush = [](uint32_t half, bool flushes) {
    return F::fromBits(uint16_t(flushes && !(half & kExponent) ? half & 0x8000 : half));
  };
  auto add = [&](uint32_t a, uint32_t b) {
    const float sum = addFloats(FloatRules(), float(flush(a, rules.flushInputs)),
                                float(flush(b, rules.flushInputs)));
    return uint32_t(flush(F(sum).bits, rules.flushResult).bits);
  };
  return add(old, value) | add(old >> 16, value >> 16) << 16;
}
constexpr auto kAddHalves = [](Rules<FloatAtomic::AddPacked> rules, uint32_t old, uint32_t value) {
  return addPacked<RUBIA_ISA::Half>(rules, old, value);
};
constexpr auto kAddBfloats = [](Rules<FloatAtomic::AddPacked> rules, uint32_t old, uint32_t value) {
  return addPacked<RUBIA_ISA::Bfloat>(rules, old, value);
};

/// One lane's operation on `pointer`. Returns the old value.
template <auto Function, bool Shared, class T>
T applyAt(void *pointer, const FloatRules &rules, const uint32_t *data, unsigned lane) {
  constexpr unsigned kRegisters = sizeof(T) / 4;
  auto operation = [&](T old) {
    const T value = readRegisters<T>(data, lane);
    if constexpr (AtomicParts<Function>::kOperands == 1)
      return callAtomic<Function>(rules, old, value);
    else
      return callAtomic<Function>(rules, old, value,
                                  readRegisters<T>(data + kRegisters * kBlockLanes, lane));
  };
  if constexpr (Shared)
    return updateShared<T>(pointer, operation);
  else
    return updateOwn<T>(pointer, operation);
}

/// Whether PCIe has the operation, so that it works in the host's memory on every GPU.
template <auto Function> constexpr bool isOfBus() {
  using T = AtomicParts<Function>::Value;
  auto is = []<class Other>(const Other &) {
    return std::is_same_v<std::remove_cv_t<decltype(Function)>, Other>;
  };
  return is(kSwap<T>) || is(kCompareSwap<T>) || is(kAdd<T>);
}

} // namespace rubia::emulator
