// SPDX-License-Identifier: Apache-2.0
// Scalar instructions as rows, in the style of Semantics.h.
//
// The lambda's operand parameters are uint32_t, int32_t, uint64_t, int64_t, float and Half, in
// MCInst order without tied operands. Parameters that are not operands: Wave &, Scc (SCC as it
// was), Old<T> (the destination's contents). Results: a value (the destination), WithScc<T> (a
// value and SCC), SccOnly, void.
//
// Where a float or a Half is among them, MODE holds for it: denormal sources and results are
// flushed as it says for their type, the host rounds in the mode of the result's type while the
// lambda runs, and FP16_OVFL holds for Half results.
#pragma once

#include "emulator/lib/machine/Half.h"
#include "emulator/lib/machine/HostFloat.h"
#include "emulator/lib/machine/Wave.h"
#include <array>
#include <type_traits>
#include <utility>

namespace rubia::emulator {

struct Scc {
  bool value;
};
template <class T> struct Old {
  T value;
};
template <class T> struct WithScc {
  T value;
  bool scc;
};
struct SccOnly {
  bool scc;
};

/// The handlers of a row: one for all kinds of sources, and those for registers and constants only.
struct ScalarHandlers {
  Handler any = nullptr;
  Handler registers = nullptr, firstConstant = nullptr, secondConstant = nullptr;
  constexpr ScalarHandlers(Handler any = nullptr) : any(any) {}
  constexpr operator Handler() const { return any; }
  /// The best for an operation whose sources are known.
  Handler chosenFor(const MicroOp &op) const {
    const auto is = [&](unsigned i, OperandKind kind) { return op.kind[i] == kind; };
    const bool one = is(1, OperandKind::None), two = !one && is(2, OperandKind::None);
    Handler best = nullptr;
    if (is(0, OperandKind::Scalar) && (one || (two && is(1, OperandKind::Scalar))))
      best = registers;
    else if (is(0, OperandKind::Constant) && (one || (two && is(1, OperandKind::Scalar))))
      best = firstConstant;
    else if (is(0, OperandKind::Scalar) && two && is(1, OperandKind::Constant))
      best = secondConstant;
    return best ? best : any;
  }
};

struct ScalarSemantics {
  const char *name;
  ScalarHandlers handler;
  uint8_t special = 0; // SpecialMode bits that matter
};

struct ScalarTable {
  const ScalarSemantics *rows;
  size_t count;
};
template <size_t N> constexpr ScalarTable table(const ScalarSemantics (&rows)[N]) {
  return {rows, N};
}

namespace detail {

template <class T> T fromBits(uint64_t bits) {
  if constexpr (std::is_same_v<T, RUBIA_ISA::Half>)
    return RUBIA_ISA::Half::fromBits(uint16_t(bits));
  else if constexpr (sizeof(T) == 4)
    return std::bit_cast<T>(uint32_t(bits));
  else
    return std::bit_cast<T>(bits);
}

template <class T> void writeScalar(Wave &wave, unsigned index, T value) {
  if constexpr (std::is_same_v<T, RUBIA_ISA::Half>)
    wave.scalars[index] = value.bits;
  else if constexpr (sizeof(T) == 4)
    wave.scalars[index] = std::bit_cast<uint32_t>(value);
  else
    wave.setPair(index, std::bit_cast<uint64_t>(value));
}

using RUBIA_ISA::Half;

template <class T> constexpr bool kIsFloat = std::is_same_v<T, float> || std::is_same_v<T, Half>;

/// A source or result as MODE wants its denormals.
template <class T>
T flushedBy(T value, [[maybe_unused]] bool flush32, [[maybe_unused]] bool flush16) {
  if constexpr (std::is_same_v<T, float>) {
    const uint32_t bits = std::bit_cast<uint32_t>(value);
    return flush32 && !(bits & 0x7f800000) ? std::bit_cast<float>(bits & 0x80000000) : value;
  } else if constexpr (std::is_same_v<T, Half>) {
    return flush16 && !(value.bits & 0x7c00) ? Half::fromBits(value.bits & 0x8000) : value;
  } else {
    return value;
  }
}
template <class T> T flushedSource(const Wave &wave, T value) {
  return flushedBy(value, wave.lane.mode.flushSource32, wave.lane.mode.flushSource16And64);
}
template <class T> T flushedResult(const Wave &wave, T value) {
  return flushedBy(value, wave.lane.mode.flushResult32, wave.lane.mode.flushResult16And64);
}

/// MODE's two bits of rounding as the host has them.
inline HostRounding::Direction hostDirection(unsigned mode) {
  constexpr HostRounding::Direction kDirections[4] = {HostRounding::Nearest, HostRounding::Up,
                                                      HostRounding::Down, HostRounding::TowardZero};
  return kDirections[mode];
}

/// Keeps the compiler from moving the arithmetic on a value across a change of the rounding mode.
template <class T> T pinned(T value) {
  asm volatile("" : "+m"(value));
  return value;
}

template <class T> T pinnedArgument(T &&value) { // T is a reference for what is no operand
  if constexpr (std::is_arithmetic_v<T> || kIsFloat<T>)
    return pinned(value);
  else
    return std::forward<T>(value);
}

template <class T> bool hasInfinity(const T &value) {
  if constexpr (std::is_same_v<T, float>)
    return std::isinf(value);
  else if constexpr (std::is_same_v<T, Half>)
    return (value.bits & 0x7fff) == 0x7c00;
  else
    return false;
}
template <class T> bool hasInfinity(const Old<T> &old) { return hasInfinity(old.value); }

template <class T> struct IsScalarContext : std::false_type {};
template <> struct IsScalarContext<Wave> : std::true_type {};
template <> struct IsScalarContext<MicroOp> : std::true_type {};
template <> struct IsScalarContext<Scc> : std::true_type {};
template <class T> struct IsScalarContext<Old<T>> : std::true_type {};

/// What a handler knows of its sources: nothing, or which one is a constant and that the others are
/// registers.
enum class ScalarForm : uint8_t { Any, Registers, FirstConstant, SecondConstant };

template <class P, ScalarForm kForm> struct ScalarParameter {
  static P get(Wave &wave, const MicroOp &op, unsigned i) {
    if (kForm == ScalarForm::Any)
      return flushedSource(wave, fromBits<P>(sizeof(P) == 8 ? readScalar64(wave, op, i)
                                                            : readScalar32(wave, op, i)));
    const bool constant = (kForm == ScalarForm::FirstConstant && i == 0) ||
                          (kForm == ScalarForm::SecondConstant && i == 1);
    return flushedSource(wave, fromBits<P>(constant         ? op.source[i]
                                           : sizeof(P) == 8 ? wave.pair(unsigned(op.source[i]))
                                                            : wave.scalars[op.source[i]]));
  }
};
template <ScalarForm kForm> struct ScalarParameter<Wave, kForm> {
  static Wave &get(Wave &wave, const MicroOp &, unsigned) { return wave; }
};
template <ScalarForm kForm> struct ScalarParameter<MicroOp, kForm> {
  static const MicroOp &get(Wave &, const MicroOp &op, unsigned) { return op; }
};
template <ScalarForm kForm> struct ScalarParameter<Scc, kForm> {
  static Scc get(Wave &wave, const MicroOp &, unsigned) { return {wave.scc}; }
};
template <class T, ScalarForm kForm> struct ScalarParameter<Old<T>, kForm> {
  static Old<T> get(Wave &wave, const MicroOp &op, unsigned) {
    return {flushedSource(
        wave, fromBits<T>(sizeof(T) == 8 ? wave.pair(op.result) : wave.scalars[op.result]))};
  }
};

template <class R> struct StoreResult {
  static void put(Wave &wave, const MicroOp &op, R value) { writeScalar(wave, op.result, value); }
};
template <class T> struct StoreResult<WithScc<T>> {
  static void put(Wave &wave, const MicroOp &op, WithScc<T> value) {
    writeScalar(wave, op.result, value.value);
    wave.scc = value.scc;
  }
};
template <> struct StoreResult<SccOnly> {
  static void put(Wave &wave, const MicroOp &, SccOnly value) { wave.scc = value.scc; }
};

template <class F> struct ScalarSignature;
template <class F, class R, class... P> struct ScalarSignature<R (F::*)(P...) const> {
  static constexpr unsigned kCount = sizeof...(P);
  static constexpr std::array<unsigned, kCount + 1> sourceIndices() {
    std::array<unsigned, kCount + 1> indices{};
    bool context[] = {IsScalarContext<std::remove_cvref_t<P>>::value..., false};
    unsigned next = 0;
    for (unsigned i = 0; i <= kCount; ++i) {
      indices[i] = next;
      next += i < kCount && !context[i];
    }
    return indices;
  }
  static constexpr bool kTakesWave = (std::is_same_v<std::remove_cvref_t<P>, Wave> || ...);
  template <auto Function, ScalarForm kForm> static void handler(Wave &wave, const MicroOp &op) {
    run<Function, kForm>(wave, op, std::make_index_sequence<kCount>{});
    if constexpr (kTakesWave) // which may stop the wave or branch
      if (wave.stop || wave.next != &op + 1)
        return;
    RUBIA_NEXT(wave, op);
  }
  template <auto Function> static constexpr ScalarHandlers makeHandlers() {
    ScalarHandlers handlers = &handler<Function, ScalarForm::Any>;
    if constexpr (sourceIndices()[kCount] == 1 || sourceIndices()[kCount] == 2) {
      handlers.registers = &handler<Function, ScalarForm::Registers>;
      handlers.firstConstant = &handler<Function, ScalarForm::FirstConstant>;
    }
    if constexpr (sourceIndices()[kCount] == 2)
      handlers.secondConstant = &handler<Function, ScalarForm::SecondConstant>;
    return handlers;
  }
  template <auto Function, ScalarForm kForm, size_t... I>
  static void run(Wave &wave, const MicroOp &op, std::index_sequence<I...>) {
    static constexpr auto kIndex = sourceIndices();
    if constexpr (kIsFloat<R>) {
      const FloatMode &mode = wave.lane.mode;
      HostRounding rounding(
          hostDirection(std::is_same_v<R, float> ? mode.round32 : mode.round16And64));
      auto compute = [&](auto &&...arguments) {
        const bool exact = (hasInfinity(arguments) || ...); // an infinite result is no overflow
        R result =
            pinned(Function(pinnedArgument(std::forward<decltype(arguments)>(arguments))...));
        if constexpr (std::is_same_v<R, Half>)
          if (mode.fp16Overflow && !exact && (result.bits & 0x7fff) == 0x7c00)
            result.bits -= 1; // the largest number
        return result;
      };
      R value =
          compute(ScalarParameter<std::remove_cvref_t<P>, kForm>::get(wave, op, kIndex[I])...);
      StoreResult<R>::put(wave, op, flushedResult(wave, value));
    } else if constexpr (std::is_void_v<R>)
      Function(ScalarParameter<std::remove_cvref_t<P>, kForm>::get(wave, op, kIndex[I])...);
    else
      StoreResult<R>::put(
          wave, op,
          Function(ScalarParameter<std::remove_cvref_t<P>, kForm>::get(wave, op, kIndex[I])...));
  }
};

template <auto Function> constexpr ScalarHandlers makeScalar() {
  using Parts = ScalarSignature<decltype(&decltype(Function)::operator())>;
  return Parts::template makeHandlers<Function>();
}

} // namespace detail

template <auto Function> constexpr ScalarHandlers scalar = detail::makeScalar<Function>();

} // namespace rubia::emulator
