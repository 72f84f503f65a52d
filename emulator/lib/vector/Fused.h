// SPDX-License-Identifier: Apache-2.0
// `hot`: like `lanewise`, and with handlers of its own for the cases that most executed
// instructions are, so that fetching, computing and masking are one function, in which the lanes
// are a handful of the host's vector instructions. For rows whose sources and result are halves of
// registers, registers, pairs of them or masks; others stay as they are.
//
// A handler exists for each set of sources that are the same in all lanes (scalar registers and
// constants); one for all modifiers of sources, halves and conditions; and one for what SDWA mostly
// is, parts of registers that are not sign-extended.
#pragma once

#include "emulator/lib/machine/Lanewise.h"
#include "emulator/lib/vector/VectorPath.h"
#include <tuple>

namespace rubia::emulator {
namespace RUBIA_ISA {

/// Everything that a fused handler does not do.
void general(Wave &w, const MicroOp &op);

namespace detail {

/// Whether the handler for all modifiers stands for those of sources without any.
#ifdef RUBIA_FEW_HANDLERS
constexpr bool kHasFewHandlers = true;
#else
constexpr bool kHasFewHandlers = false;
#endif

/// How a source is found.
enum class From : uint8_t {
  Vector,  // a vector register
  Uniform, // a scalar register or a constant
  Part,    // a part of a vector register, not sign-extended, or a constant
  Any,     // anywhere, with neg and abs; integers with SDWA's selection
};

template <class T> constexpr bool kIsHotResult = sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8;
template <> inline constexpr bool kIsHotResult<bool> = true;
template <class T> constexpr bool kIsHotResult<Carry<T>> = kIsHotResult<T>;

template <class T> constexpr bool kIsHotSource = sizeof(T) <= 8;
template <> inline constexpr bool kIsHotSource<Signs> = false;
template <> inline constexpr bool kIsHotSource<Immediate> = false;
template <> inline constexpr bool kIsHotSource<FloatMode> = true;

template <class F> struct HotSignature : std::false_type {};
template <class F, class R, class... P> struct HotSignature<R (F::*)(P...) const> {
  static constexpr bool value = kIsHotResult<R> && (kIsHotSource<std::remove_cvref_t<P>> && ...);
};

/// A source whose lanes are `T`s in registers.
template <class T> struct LaneSource {
  const uint32_t *registers;
  [[gnu::always_inline]] T at(unsigned lane) const { return loadLane<T>(registers, lane); }
};
/// The same with neg and abs of a source of 32 or 64 bits.
template <class T> struct ModifiedSource {
  const uint32_t *registers;
  uint32_t keep, flip;
  [[gnu::always_inline]] T at(unsigned lane) const {
    if constexpr (sizeof(T) == 8)
      return std::bit_cast<T>(uint64_t((registers[lane + kBlockLanes] & keep) ^ flip) << 32 |
                              registers[lane]);
    else
      return std::bit_cast<T>((registers[lane] & keep) ^ flip);
  }
};
/// An integer, of which SDWA may take a byte or a half: the bits are moved to the bottom, and where
/// `sign` is their highest one, it is in `flip` too, so that the bit is repeated. Or with neg and
/// abs.
template <class T> struct SelectedSource {
  const uint32_t *registers;
  uint32_t shift, keep, flip, sign;
  [[gnu::always_inline]] T at(unsigned lane) const {
    return std::bit_cast<T>(((registers[lane] >> shift & keep) ^ flip) - sign);
  }
};
/// The same without a sign, neg and abs; of a half, either of the register's.
template <class T> struct PartSource {
  const uint32_t *registers;
  uint32_t shift, keep;
  [[gnu::always_inline]] T at(unsigned lane) const {
    if constexpr (sizeof(T) == 2)
      return std::bit_cast<T>(uint16_t(registers[lane] >> shift));
    else
      return std::bit_cast<T>(registers[lane] >> shift & keep);
  }
};
/// A half of a register, with neg and abs, or a part of an integer as above.
template <class T> struct HalfSource {
  const uint32_t *registers;
  uint32_t shift, keep, flip, sign;
  [[gnu::always_inline]] T at(unsigned lane) const {
    const uint32_t bits = (registers[lane] >> shift & keep) ^ flip;
    return std::bit_cast<T>(uint16_t(std::is_integral_v<T> ? bits - sign : bits));
  }
};
/// Two halves, each either of the register's.
template <class T> struct HalvesSource {
  const uint32_t *registers;
  uint32_t lowShift, highShift, flip;
  [[gnu::always_inline]] T at(unsigned lane) const {
    const uint32_t word = registers[lane];
    return std::bit_cast<T>(((word >> lowShift & 0xffff) | word >> highShift << 16) ^ flip);
  }
};
/// Two registers, each either of the pair.
template <class T> struct PairSource {
  const uint32_t *low, *high;
  uint32_t flipLow, flipHigh;
  [[gnu::always_inline]] T at(unsigned lane) const {
    return {std::bit_cast<decltype(T::lo)>(low[lane] ^ flipLow),
            std::bit_cast<decltype(T::hi)>(high[lane] ^ flipHigh)};
  }
};

/// The dwords of the pair are `stride` apart.
template <class T>
[[gnu::always_inline]] inline PairSource<T> pairSource(const uint32_t *from, unsigned stride,
                                                       const VectorDetail::Source &fix) {
  return {from + (fix.fix && fix.selectHigh ? stride : 0),
          from + (fix.fix && !fix.selectHighForHigh ? 0 : stride), fix.negate ? 0x80000000u : 0u,
          fix.negateHigh ? 0x80000000u : 0u};
}

template <class T> constexpr bool kIsHalfPair = kIsPair<T> && sizeof(T) == 4;

/// A source with the modifiers that its instruction gives it.
template <class T>
[[gnu::always_inline]] inline auto modifiedSource(const uint32_t *from,
                                                  const VectorDetail::Source &fix) {
  if constexpr (kIsWidePair<T>) {
    return pairSource<T>(from, kBlockLanes, fix);
  } else if constexpr (kIsPair<T>) {
    return HalvesSource<T>{from, fix.fix && fix.selectHigh ? 16u : 0u,
                           fix.fix && !fix.selectHighForHigh ? 0u : 16u,
                           (fix.negate ? 0x8000u : 0u) | (fix.negateHigh ? 0x80000000u : 0u)};
  } else if constexpr (sizeof(T) == 4 && std::is_integral_v<T>) {
    const uint32_t all = ~0u >> (32u - fix.width);
    const uint32_t sign = fix.signExtend ? all ^ all >> 1 : 0u;
    return SelectedSource<T>{from, fix.shift, fix.absolute ? all >> 1 : all,
                             sign ^ (fix.negate ? 0x80000000u : 0u), sign};
  } else if constexpr (sizeof(T) >= 4) {
    return ModifiedSource<T>{from, fix.absolute ? 0x7fffffffu : ~0u, fix.negate ? 0x80000000u : 0u};
  } else if constexpr (sizeof(T) == 2) {
    const bool isByte = fix.width == 8;
    const uint32_t sign = isByte && fix.signExtend ? 0x80u : 0u;
    return HalfSource<T>{from, fix.shift + (fix.selectHigh ? 16u : 0u),
                         isByte         ? 0xffu
                         : fix.absolute ? 0x7fffu
                                        : 0xffffu,
                         sign ^ (fix.negate ? 0x8000u : 0u), sign};
  } else {
    return LaneSource<T>{from};
  }
}

template <class T> struct UniformSource {
  T value;
  [[gnu::always_inline]] T at(unsigned) const { return value; }
};

/// 64-bit lanes from registers that hold halves, and back, by shuffles of whole vectors: half of
/// the work of widening each half. The lanes come in another order, the same for all.
template <class T> struct Together {
  alignas(64) T values[kBlockLanes];
  [[gnu::always_inline]] T at(unsigned index) const { return values[index]; }

  using Words = uint32_t __attribute__((vector_size(kLaneWidth * sizeof(uint32_t))));
  static constexpr unsigned kVectors = kBlockLanes / kLaneWidth;
  using Indices = std::make_index_sequence<kLaneWidth>;

  /// The sign is cleared by `keep` and changed by `flip`.
  [[gnu::always_inline]] void fill(const uint32_t *registers, uint32_t keep, uint32_t flip) {
    fill(registers, keep, flip, Indices{});
  }
  /// Where `kMasked`, the lanes that `exec` names; the others as they are at `was`.
  template <bool kMasked>
  [[gnu::always_inline]] void store(uint32_t *registers, const uint32_t *was, uint32_t exec) const {
    store<kMasked>(registers, was, exec, Indices{});
  }

private:
  template <size_t... I>
  [[gnu::always_inline]] void fill(const uint32_t *registers, uint32_t keep, uint32_t flip,
                                   std::index_sequence<I...>) {
    for (unsigned i = 0; i < kVectors; ++i) {
      Words low, high;
      std::memcpy(&low, registers + i * kLaneWidth, sizeof(low));
      std::memcpy(&high, registers + kBlockLanes + i * kLaneWidth, sizeof(high));
      high = (high & keep) ^ flip;
      const Words first =
          __builtin_shufflevector(low, high, (I / 4 * 4 + I % 4 / 2 + I % 2 * kLaneWidth)...);
      const Words second =
          __builtin_shufflevector(low, high, (I / 4 * 4 + 2 + I % 4 / 2 + I % 2 * kLaneWidth)...);
      std::memcpy(values + i * kLaneWidth, &first, sizeof(first));
      std::memcpy(values + i * kLaneWidth + kLaneWidth / 2, &second, sizeof(second));
    }
  }
  template <bool kMasked, size_t... I>
  [[gnu::always_inline]] void store(uint32_t *registers, const uint32_t *was, uint32_t exec,
                                    std::index_sequence<I...>) const {
    for (unsigned i = 0; i < kVectors; ++i) {
      Words first, second;
      std::memcpy(&first, values + i * kLaneWidth, sizeof(first));
      std::memcpy(&second, values + i * kLaneWidth + kLaneWidth / 2, sizeof(second));
      Words low = __builtin_shufflevector(first, second,
                                          (I / 4 * 4 + I % 2 * 2 + I % 4 / 2 * kLaneWidth)...);
      Words high = __builtin_shufflevector(first, second,
                                           (I / 4 * 4 + I % 2 * 2 + 1 + I % 4 / 2 * kLaneWidth)...);
      const unsigned at = i * kLaneWidth;
      if constexpr (kMasked) {
        const auto chosen = (Words{(1u << I)...} & exec >> at) != 0;
        Words oldLow, oldHigh;
        std::memcpy(&oldLow, was + at, sizeof(low));
        std::memcpy(&oldHigh, was + kBlockLanes + at, sizeof(high));
        low = chosen ? low : oldLow;
        high = chosen ? high : oldHigh;
      }
      std::memcpy(registers + at, &low, sizeof(low));
      std::memcpy(registers + kBlockLanes + at, &high, sizeof(high));
    }
  }
};

struct FusedBuffer {
  alignas(64) uint32_t words[2 * kBlockLanes];
};

/// Fills `buffer` with a scalar source, however it is given.
template <unsigned kRegisters>
[[gnu::noinline]] void broadcastAny(const Wave &w, const MicroOp &op, unsigned i,
                                    FusedBuffer &buffer) {
  const uint64_t value = readScalar64(w, op, i);
  for (unsigned r = 0; r < kRegisters; ++r)
    for (unsigned lane = 0; lane < kBlockLanes; ++lane)
      buffer.words[r * kBlockLanes + lane] = uint32_t(value >> (32 * r));
}

/// What of a source is the same for all blocks.
struct AnySource {
  VectorDetail::Source fix;
  uintptr_t place = 0;     // of its lanes, or from where the block's registers are
  uintptr_t registers = 0; // all ones: it is a vector register
};
template <class T, From kFrom, unsigned kIndex>
[[gnu::always_inline]] inline AnySource anySource(const Wave &w, const MicroOp &op,
                                                  [[maybe_unused]] FusedBuffer *buffers) {
  AnySource any;
  if constexpr (kFrom == From::Part || kFrom == From::Any) {
    any.fix = op.detail->sources[kIndex];
    any.place = op.source[kIndex];
    if (op.kind[kIndex] == OperandKind::Vector) {
      any.place *= sizeof(uint32_t);
      any.registers = ~uintptr_t(0);
    } else if (kFrom == From::Any && op.kind[kIndex] != OperandKind::Constant) {
      broadcastAny<registersOf<T>()>(w, op, kIndex, buffers[kIndex]);
      any.place = reinterpret_cast<uintptr_t>(buffers[kIndex].words);
    }
  }
  return any;
}

template <class T, From kFrom, unsigned kIndex>
[[gnu::always_inline]] inline auto fusedSource(const Wave &w, const MicroOp &op,
                                               const uint32_t *registers,
                                               [[maybe_unused]] const AnySource &any) {
  if constexpr (kFrom == From::Vector && kIsWidePair<T>) {
    return pairSource<T>(registers + op.source[kIndex], kBlockLanes, op.detail->sources[kIndex]);
  } else if constexpr (kFrom == From::Vector) {
    return LaneSource<T>{registers + op.source[kIndex]};
  } else if constexpr (kFrom == From::Uniform) {
    const bool isConstant = op.kind[kIndex] == OperandKind::Constant;
    const uint32_t *at = isConstant ? reinterpret_cast<const uint32_t *>(op.source[kIndex])
                                    : &w.scalars[op.source[kIndex]];
    UniformSource<T> source;
    if constexpr (kIsWidePair<T>)
      source.value =
          pairSource<T>(at, isConstant ? kBlockLanes : 1, op.detail->sources[kIndex]).at(0);
    else if constexpr (sizeof(T) == 8)
      source.value = std::bit_cast<T>(uint64_t(at[isConstant ? kBlockLanes : 1]) << 32 | at[0]);
    else
      source.value = loadLane<T>(at, 0);
    return source;
  } else {
    const uint32_t *at = reinterpret_cast<const uint32_t *>(
        any.place + (reinterpret_cast<uintptr_t>(registers) & any.registers));
    if constexpr (kFrom == From::Part) {
      const unsigned half = sizeof(T) == 2 && any.fix.selectHigh ? 16 : 0;
      return PartSource<T>{at, any.fix.shift + half, ~0u >> (32u - any.fix.width)};
    } else {
      return modifiedSource<T>(at, any.fix);
    }
  }
}

/// One bit of each of 32 flags that are 0 or ~0.
[[gnu::always_inline]] inline uint32_t packFlags(const uint32_t (&flags)[kBlockLanes]) {
#ifdef __clang__
  using Words = uint32_t __attribute__((ext_vector_type(kBlockLanes)));
  using Bits = bool __attribute__((ext_vector_type(kBlockLanes)));
  Words words;
  std::memcpy(&words, flags, sizeof(words));
  return std::bit_cast<uint32_t>(__builtin_convertvector(words != 0, Bits));
#else
  uint32_t mask = 0;
  for (unsigned lane = 0; lane < kBlockLanes; ++lane)
    mask |= (flags[lane] & 1) << lane;
  return mask;
#endif
}

template <auto Function, class F> struct FusedCall;
template <auto Function, class F, class R, class... P>
struct FusedCall<Function, R (F::*)(P...) const> {
  static constexpr size_t kCount = sizeof...(P);
  static constexpr bool kFlag = std::is_same_v<R, bool> || IsCarry<R>::value;
  static constexpr bool kResult = !std::is_same_v<R, bool>;
  static constexpr bool kIsNarrow = kResult && sizeof(R) == 2;
  /// Whether the handler for all modifiers puts results into parts of registers, as SDWA does.
  static constexpr bool kIsPlaced = kIsNarrow || (std::is_integral_v<R> && sizeof(R) == 4);

  template <class T, class Source>
  [[gnu::always_inline]] static T argument(const Source &source, const FloatMode &mode,
                                           uint32_t firstLane, uint32_t carries, unsigned lane) {
    if constexpr (std::is_same_v<T, FloatMode>)
      return mode;
    else if constexpr (std::is_same_v<T, LaneId>)
      return LaneId{firstLane + lane};
    else if constexpr (std::is_same_v<T, Saturate>)
      return Saturate{false};
    else if constexpr (std::is_same_v<T, bool>)
      return (carries & 1u << lane) != 0;
    else
      return source.at(lane);
  }

  /// Where a result goes, what of it goes there, and what it leaves of its register.
  struct Place {
    uint32_t shift = 0, mask = ~0u, keep = 0;
  };
  template <bool kMasked, bool kPlaced, class... Sources>
  [[gnu::always_inline]] static uint32_t lanes(uint32_t *result, uint32_t exec, FloatMode mode,
                                               uint32_t firstLane, uint32_t carries,
                                               const Place place, const Sources... sources) {
    [[maybe_unused]] uint32_t flags[kBlockLanes];
    const uint32_t *was = kMasked ? whatWas(result) : result;
    // Lanes are independent, also where the result overwrites a source.
#pragma clang loop vectorize(assume_safety) vectorize_width(kLaneWidth)                            \
    interleave_count(kLaneInterleave) unroll(disable)
    for (unsigned lane = 0; lane < kBlockLanes; ++lane) {
      const R value =
          Function(argument<std::remove_cvref_t<P>>(sources, mode, firstLane, carries, lane)...);
      if constexpr (kFlag) {
        if constexpr (kResult)
          flags[lane] = value.carry ? ~0u : 0;
        else
          flags[lane] = value ? ~0u : 0;
      }
      if constexpr (kResult) {
        using V = decltype([](const R &r) {
          if constexpr (IsCarry<R>::value)
            return r.value;
          else
            return r;
        }(value));
        V plain;
        if constexpr (IsCarry<R>::value)
          plain = value.value;
        else
          plain = value;
        if constexpr (kPlaced) {
          uint32_t bits;
          if constexpr (sizeof(V) == 2)
            bits = std::bit_cast<uint16_t>(plain);
          else
            bits = uint32_t(plain);
          bits = (bits & place.mask) << place.shift;
          const uint32_t old = was[lane], next = (old & place.keep) | bits;
          result[lane] = !kMasked || exec & 1u << lane ? next : old;
        } else {
          if constexpr (kMasked && sizeof(V) == 8) { // each half by itself
            const uint32_t oldLow = was[lane], oldHigh = was[lane + kBlockLanes];
            uint32_t low, high;
            if constexpr (kIsWidePair<V>) {
              low = std::bit_cast<uint32_t>(plain.lo), high = std::bit_cast<uint32_t>(plain.hi);
            } else {
              const uint64_t bits = std::bit_cast<uint64_t>(plain);
              low = uint32_t(bits), high = uint32_t(bits >> 32);
            }
            result[lane] = exec & 1u << lane ? low : oldLow;
            result[lane + kBlockLanes] = exec & 1u << lane ? high : oldHigh;
            continue;
          } else if constexpr (kMasked) {
            const V old = loadLane<V>(was, lane);
            plain = exec & 1u << lane ? plain : old;
          }
          storeLane(result, lane, plain);
        }
      }
    }
    if constexpr (kFlag)
      return packFlags(flags);
    else
      return 0;
  }

  struct Nothing {};
  template <class T>
  static constexpr bool kIsWideSource = std::is_same_v<T, double> || std::is_same_v<T, FloatMode>;
  /// Whether all sources are doubles, and the result is one or a condition.
  static constexpr bool kIsWide = (std::is_same_v<R, double> || std::is_same_v<R, bool>) &&
                                  (kIsWideSource<std::remove_cvref_t<P>> && ...);

  [[gnu::always_inline]] static Nothing together(Nothing nothing) { return nothing; }
  template <class T>
  [[gnu::always_inline]] static UniformSource<T> together(const UniformSource<T> &source) {
    return source;
  }
  template <class T>
  [[gnu::always_inline]] static Together<T> together(const LaneSource<T> &source) {
    Together<T> lanes;
    lanes.fill(source.registers, ~0u, 0);
    return lanes;
  }
  template <class T>
  [[gnu::always_inline]] static Together<T> together(const ModifiedSource<T> &source) {
    Together<T> lanes;
    lanes.fill(source.registers, source.keep, source.flip);
    return lanes;
  }
  /// lanes() of doubles.
  template <bool kMasked, class... Sources>
  [[gnu::always_inline]] static uint32_t wideLanes(uint32_t *result, uint32_t exec, FloatMode mode,
                                                   const Sources... sources) {
    Together<std::conditional_t<kResult, R, uint64_t>> values;
#pragma clang loop vectorize(assume_safety) vectorize_width(kLaneWidth / 2)                        \
    interleave_count(kLaneInterleave * 2) unroll(disable)
    for (unsigned lane = 0; lane < kBlockLanes; ++lane) {
      const R value = Function(argument<std::remove_cvref_t<P>>(sources, mode, 0, 0, lane)...);
      if constexpr (kResult)
        values.values[lane] = value;
      else
        values.values[lane] = value ? ~uint64_t(0) : 0;
    }
    if constexpr (kResult) {
      const uint32_t *was = kMasked ? whatWas(result) : result;
      values.template store<kMasked>(result, was, exec);
      return 0;
    } else {
      uint32_t flags[2][kBlockLanes];
      values.template store<false>(flags[0], nullptr, 0);
      return packFlags(flags[0]);
    }
  }

  template <size_t I, From... kFrom>
  [[gnu::always_inline]] static AnySource common(const Wave &w, const MicroOp &op,
                                                 FusedBuffer *buffers) {
    using T = std::remove_cvref_t<std::tuple_element_t<I, std::tuple<P...>>>;
    if constexpr (IsContext<T>::value) {
      return {};
    } else {
      constexpr auto kIndex = Signature<R (F::*)(P...) const>::sourceIndices()[I];
      constexpr From kAll[] = {kFrom...};
      return anySource<T, kAll[kIndex], kIndex>(w, op, buffers);
    }
  }
  template <size_t I, From... kFrom>
  [[gnu::always_inline]] static auto source(const Wave &w, const MicroOp &op,
                                            const uint32_t *registers, const AnySource &any) {
    using T = std::remove_cvref_t<std::tuple_element_t<I, std::tuple<P...>>>;
    if constexpr (IsContext<T>::value) {
      return Nothing{};
    } else {
      constexpr auto kIndex = Signature<R (F::*)(P...) const>::sourceIndices()[I];
      constexpr From kAll[] = {kFrom...};
      return fusedSource<T, kAll[kIndex], kIndex>(w, op, registers, any);
    }
  }

  template <From... kFrom, size_t... I>
  [[gnu::always_inline]] static void run(Wave &w, const MicroOp &op, std::index_sequence<I...>) {
    constexpr bool kAny = ((kFrom == From::Any) || ...);
    FusedBuffer buffers[kAny ? 3 : 1];
    const AnySource any[kCount ? kCount : 1] = {common<I, kFrom...>(w, op, buffers)...};
    [[maybe_unused]] uint32_t masks[2];
    const FloatMode mode = w.lane.mode;
    constexpr bool kPlaced = kIsNarrow || (kAny && kIsPlaced);
    Place place;
    if constexpr (kPlaced) {
      const VectorDetail &detail = *op.detail;
      place.shift = detail.resultShift;
      place.mask = ~0u >> (32 - detail.resultWidth);
      place.keep =
          detail.resultUnused == VectorDetail::Unused::Keep ? ~(place.mask << place.shift) : 0;
    }
    uint32_t *registers = w.vgprs;
    // Handlers of their own for wave32 and wave64 were 2 % faster, and took twice the time to
    // compile and 9 MB more of the library.
#pragma clang loop unroll(disable)
    for (unsigned block = 0;;) {
      uint32_t *result = registers + op.result;
      const uint32_t exec = w.scalars[kExec + block];
      const uint32_t carries = w.scalars[op.maskSource + block];
      const uint32_t firstLane = block * kBlockLanes;
      uint32_t flags = 0;
      if constexpr (kIsWide) {
        if (kResult ? exec == ~0u : exec != 0) [[likely]]
          flags = wideLanes<false>(result, exec, mode,
                                   together(source<I, kFrom...>(w, op, registers, any[I]))...);
        else if (kResult && exec != 0)
          wideLanes<true>(result, exec, mode,
                          together(source<I, kFrom...>(w, op, registers, any[I]))...);
      } else if (!kPlaced && (kResult ? exec == ~0u : exec != 0)) [[likely]]
        flags = lanes<false, kPlaced>(result, exec, mode, firstLane, carries, place,
                                      source<I, kFrom...>(w, op, registers, any[I])...);
      else if (kResult && exec != 0)
        flags = lanes<true, kPlaced>(result, exec, mode, firstLane, carries, place,
                                     source<I, kFrom...>(w, op, registers, any[I])...);
      if constexpr (kFlag)
        masks[block] = flags & exec;
      if (w.blocks == 1 || block == 1)
        break;
      block = 1;
      registers += w.blockStride;
    }
    if constexpr (kFlag) {
      w.scalars[op.maskResult] = masks[0];
      if (w.blocks == 2)
        w.scalars[op.maskResult + 1] = masks[1];
    }
  }

  template <From... kFrom> static void handler(Wave &w, const MicroOp &op) {
    if (w.special & op.special) [[unlikely]]
      [[clang::musttail]] return general(w, op);
    run<kFrom...>(w, op, std::make_index_sequence<kCount>{});
    RUBIA_NEXT(w, op);
  }

  /// Whether there is a handler for parts of registers: the instructions of integers that have an
  /// SDWA form, and those whose result is a half.
  static constexpr bool kTakesParts = [] {
    constexpr unsigned kSources = Signature<R (F::*)(P...) const>::shape().sourceCount;
    if constexpr (kIsNarrow)
      return kSources != 0 &&
             ((IsContext<std::remove_cvref_t<P>>::value ||
               (!kIsPair<std::remove_cvref_t<P>> &&
                (sizeof(std::remove_cvref_t<P>) == 2 || sizeof(std::remove_cvref_t<P>) == 4))) &&
              ...);
    else
      return (kSources == 1 || kSources == 2) &&
             ((IsContext<std::remove_cvref_t<P>>::value ||
               (std::is_integral_v<std::remove_cvref_t<P>> && sizeof(P) == 4)) &&
              ...);
  }();
  template <size_t... I> static void partsOrAny(Wave &w, const MicroOp &op) {
    if (op.data & kOnlyParts) [[likely]]
      [[clang::musttail]] return handler<(void(I), From::Part)...>(w, op);
    [[clang::musttail]] return handler<(void(I), From::Any)...>(w, op);
  }

  /// Bit i of `uniform`: source i is not in a vector register.
  template <unsigned kUniform, size_t... I>
  static constexpr Handler handlerFor(std::index_sequence<I...>) {
    return handler<(kUniform >> I & 1 ? From::Uniform : From::Vector)...>;
  }
  template <size_t... I> static constexpr Handler anyHandler(std::index_sequence<I...>) {
    if constexpr (kTakesParts)
      return partsOrAny<I...>;
    else
      return handler<(void(I), From::Any)...>;
  }
  static constexpr FusedHandlers makeHandlers() {
    constexpr unsigned kSources = Signature<R (F::*)(P...) const>::shape().sourceCount;
    using Sources = std::make_index_sequence<kSources>;
    // Instructions of which several sources are scalar and none is a vector are few.
    constexpr unsigned kUniforms = (1u << kSources) - (kSources > 1);
    FusedHandlers all;
    all.any = anyHandler(Sources{});
    constexpr bool kOnlyAny =
        kHasFewHandlers || kIsNarrow || (kIsHalfPair<std::remove_cvref_t<P>> || ...);
    [&]<size_t... U>(std::index_sequence<U...>) {
      if constexpr (kOnlyAny)
        ((all.byUniform[U] = all.any), ...);
      else
        ((all.byUniform[U] = handlerFor<U>(Sources{})), ...);
    }(std::make_index_sequence<kUniforms>{});
    if constexpr (kUniforms < 1u << kSources)
      all.byUniform[kUniforms] = all.any;
    return all;
  }
};

template <auto Function>
constexpr FusedHandlers kFused =
    FusedCall<Function, decltype(&decltype(Function)::operator())>::makeHandlers();

template <auto Function> constexpr Operation makeHot() {
  Operation operation = makeLanewise<Function>();
#if !defined(__x86_64__) || defined(__AVX2__) // plain x86-64 is for hosts of long ago
  if constexpr (HotSignature<decltype(&decltype(Function)::operator())>::value)
    operation.fused = &kFused<Function>;
#endif
  return operation;
}

} // namespace detail

template <auto Function> constexpr Operation hot = detail::makeHot<Function>();

} // namespace RUBIA_ISA
} // namespace rubia::emulator
