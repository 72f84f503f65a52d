// `hot`: like `lanewise`, and with handlers of its own for the cases that most executed
// instructions are, so that fetching, computing and masking are one function, in which the lanes
// are a handful of the host's vector instructions. For rows whose sources and result are halves of
// registers, registers, pairs of them or masks; others stay as they are.
//
// A handler exists for each set of sources that are the same in all lanes (scalar registers and
// constants); and one for all modifiers of sources, halves and conditions.
#pragma once

#include "emulator/lib/VectorPath.h"
#include <tuple>

namespace rubia::emulator {
namespace RUBIA_ISA {

/// Everything that a fused handler does not do.
void general(Wave &w, const MicroOp &op);

namespace detail {

/// How a source is found.
enum class From : uint8_t {
  Vector,  // a vector register
  Uniform, // a scalar register or a constant
  Any,     // anywhere, with neg and abs
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
/// A half of a register, with neg and abs.
template <class T> struct HalfSource {
  const uint32_t *registers;
  uint32_t shift, keep, flip;
  [[gnu::always_inline]] T at(unsigned lane) const {
    return std::bit_cast<T>(uint16_t((registers[lane] >> shift & keep) ^ flip));
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
    return std::bit_cast<T>(uint64_t(high[lane] ^ flipHigh) << 32 | (low[lane] ^ flipLow));
  }
};
template <class T> constexpr bool kIsPair = false;
template <class T> constexpr bool kIsPair<Pair<T>> = true;

/// A source with the modifiers that its instruction gives it.
template <class T>
[[gnu::always_inline]] inline auto modifiedSource(const uint32_t *from,
                                                  const VectorDetail::Source &fix) {
  if constexpr (kIsPair<T> && sizeof(T) == 8) {
    return PairSource<T>{from + (fix.fix && fix.selectHigh ? kBlockLanes : 0),
                         from + (fix.fix && !fix.selectHighForHigh ? 0 : kBlockLanes),
                         fix.negate ? 0x80000000u : 0u, fix.negateHigh ? 0x80000000u : 0u};
  } else if constexpr (kIsPair<T>) {
    return HalvesSource<T>{from, fix.fix && fix.selectHigh ? 16u : 0u,
                           fix.fix && !fix.selectHighForHigh ? 0u : 16u,
                           (fix.negate ? 0x8000u : 0u) | (fix.negateHigh ? 0x80000000u : 0u)};
  } else if constexpr (sizeof(T) >= 4) {
    return ModifiedSource<T>{from, fix.absolute ? 0x7fffffffu : ~0u, fix.negate ? 0x80000000u : 0u};
  } else if constexpr (sizeof(T) == 2) {
    return HalfSource<T>{from, fix.selectHigh ? 16u : 0u, fix.absolute ? 0x7fffu : 0xffffu,
                         fix.negate ? 0x8000u : 0u};
  } else {
    return LaneSource<T>{from};
  }
}

template <class T> struct UniformSource {
  T value;
  [[gnu::always_inline]] T at(unsigned) const { return value; }
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

template <class T, From kFrom, unsigned kIndex>
[[gnu::always_inline]] inline auto fusedSource(const Wave &w, const MicroOp &op,
                                               const uint32_t *registers,
                                               [[maybe_unused]] FusedBuffer *buffers) {
  if constexpr (kFrom == From::Vector) {
    return LaneSource<T>{registers + op.source[kIndex]};
  } else if constexpr (kFrom == From::Uniform) {
    const bool isConstant = op.kind[kIndex] == OperandKind::Constant;
    const uint32_t *at = isConstant ? reinterpret_cast<const uint32_t *>(op.source[kIndex])
                                    : &w.scalars[op.source[kIndex]];
    UniformSource<T> source;
    if constexpr (sizeof(T) == 8)
      source.value = std::bit_cast<T>(uint64_t(at[isConstant ? kBlockLanes : 1]) << 32 | at[0]);
    else
      source.value = loadLane<T>(at, 0);
    return source;
  } else {
    const uint32_t *from;
    if (op.kind[kIndex] == OperandKind::Vector) {
      from = registers + op.source[kIndex];
    } else if (op.kind[kIndex] == OperandKind::Constant) {
      from = reinterpret_cast<const uint32_t *>(op.source[kIndex]);
    } else {
      broadcastAny<registersOf<T>()>(w, op, kIndex, buffers[kIndex]);
      from = buffers[kIndex].words;
    }
    return modifiedSource<T>(from, op.detail->sources[kIndex]);
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

/// All 32 lanes at once, without a loop.
#if defined(__AVX512F__)
constexpr unsigned kInterleave = 2;
#else
constexpr unsigned kInterleave = 4;
#endif

template <auto Function, class F> struct FusedCall;
template <auto Function, class F, class R, class... P>
struct FusedCall<Function, R (F::*)(P...) const> {
  static constexpr size_t kCount = sizeof...(P);
  static constexpr bool kFlag = std::is_same_v<R, bool> || IsCarry<R>::value;
  static constexpr bool kResult = !std::is_same_v<R, bool>;
  static constexpr bool kIsNarrow = kResult && sizeof(R) == 2;

  template <class T, class Source>
  [[gnu::always_inline]] static inline T argument(const Source &source, const FloatMode &mode,
                                                  uint32_t firstLane, uint32_t carries,
                                                  unsigned lane) {
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

  /// Where a result of 16 bits goes, and what it leaves of its register.
  struct Place {
    uint32_t shift = 0, keep = 0;
  };
  template <bool kMasked, class... Sources>
  [[gnu::always_inline]] static inline uint32_t
  lanes(uint32_t *result, uint32_t exec, FloatMode mode, uint32_t firstLane, uint32_t carries,
        const Place place, const Sources... sources) {
    [[maybe_unused]] uint32_t flags[kBlockLanes];
    // A load, a choice and a store, which the compiler must not see to be of one place: it would
    // make a masked store of them, after which a load of the register has to wait, as it does all
    // the time in divergent code.
    const uint32_t *was = result;
    if constexpr (kMasked)
      asm("" : "+r"(was));
    // Lanes are independent, also where the result overwrites a source.
#pragma clang loop vectorize(assume_safety) interleave_count(kInterleave) unroll(disable)
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
        if constexpr (sizeof(V) == 2) {
          const uint32_t bits = uint32_t(std::bit_cast<uint16_t>(plain)) << place.shift;
          const uint32_t old = was[lane], next = (old & place.keep) | bits;
          result[lane] = !kMasked || exec & 1u << lane ? next : old;
        } else {
          if constexpr (kMasked) {
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
  template <size_t I, From... kFrom>
  [[gnu::always_inline]] static inline auto
  source(const Wave &w, const MicroOp &op, const uint32_t *registers, FusedBuffer *buffers) {
    using T = std::remove_cvref_t<std::tuple_element_t<I, std::tuple<P...>>>;
    if constexpr (IsContext<T>::value) {
      return Nothing{};
    } else {
      constexpr auto kIndex = Signature<R (F::*)(P...) const>::sourceIndices()[I];
      constexpr From kAll[] = {kFrom...};
      return fusedSource<T, kAll[kIndex], kIndex>(w, op, registers, buffers);
    }
  }

  template <unsigned kBlocks, From... kFrom, size_t... I>
  [[gnu::always_inline]] static inline void run(Wave &w, const MicroOp &op,
                                                std::index_sequence<I...>) {
    constexpr bool kAny = ((kFrom == From::Any) || ...);
    FusedBuffer buffers[kAny ? 3 : 1];
    [[maybe_unused]] uint32_t masks[kBlocks];
    const FloatMode mode = w.lane.mode;
    Place place;
    if constexpr (kIsNarrow) {
      place.shift = op.detail->resultShift;
      place.keep =
          op.detail->resultUnused == VectorDetail::Unused::Keep ? ~(0xffffu << place.shift) : 0;
    }
    for (unsigned block = 0; block < kBlocks; ++block) {
      uint32_t *registers = w.block(block);
      uint32_t *result = registers + op.result;
      const uint32_t exec = w.scalars[kExec + block];
      const uint32_t carries = w.scalars[op.maskSource + block];
      const uint32_t firstLane = block * kBlockLanes;
      uint32_t flags = 0;
      if (!kResult || exec == ~0u) [[likely]]
        flags = lanes<false>(result, exec, mode, firstLane, carries, place,
                             source<I, kFrom...>(w, op, registers, buffers)...);
      else if (exec != 0)
        flags = lanes<true>(result, exec, mode, firstLane, carries, place,
                            source<I, kFrom...>(w, op, registers, buffers)...);
      if constexpr (kFlag)
        masks[block] = flags & exec;
    }
    if constexpr (kFlag)
      for (unsigned block = 0; block < kBlocks; ++block)
        w.scalars[op.maskResult + block] = masks[block];
  }

  template <unsigned kBlocks, From... kFrom> static void handler(Wave &w, const MicroOp &op) {
    if (w.special & op.special) [[unlikely]]
      [[clang::musttail]] return general(w, op);
    run<kBlocks, kFrom...>(w, op, std::make_index_sequence<kCount>{});
    RUBIA_NEXT(w, op);
  }

  template <From... kFrom>
  static constexpr FusedHandlers::Pair kPair = {handler<1, kFrom...>, handler<2, kFrom...>};

  /// Bit i of `uniform`: source i is not in a vector register.
  template <unsigned kUniform, size_t... I>
  static constexpr FusedHandlers::Pair pairFor(std::index_sequence<I...>) {
    return kPair<(kUniform >> I & 1 ? From::Uniform : From::Vector)...>;
  }
  template <size_t... I> static constexpr FusedHandlers::Pair anyPair(std::index_sequence<I...>) {
    return kPair<(void(I), From::Any)...>;
  }
  static constexpr FusedHandlers makeHandlers() {
    constexpr unsigned kSources = Signature<R (F::*)(P...) const>::shape().sourceCount;
    using Sources = std::make_index_sequence<kSources>;
    FusedHandlers all;
    all.any = anyPair(Sources{});
    constexpr bool kOnlyAny = kIsNarrow || (kIsPair<std::remove_cvref_t<P>> || ...);
    [&]<size_t... U>(std::index_sequence<U...>) {
      if constexpr (kOnlyAny)
        ((all.byUniform[U] = all.any), ...);
      else
        ((all.byUniform[U] = pairFor<U>(Sources{})), ...);
    }(std::make_index_sequence<(1u << kSources)>{});
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
