// `hot`: like `lanewise`, and with handlers of its own for the cases that most executed
// instructions are, so that fetching, computing and masking are one function. Only for rows whose
// sources and result are single 32-bit registers or masks; others stay as they are.
#pragma once

#include "emulator/lib/VectorPath.h"

namespace rubia::emulator {
namespace RUBIA_ISA {

/// Everything that a fused handler does not do.
void general(Wave &w, const MicroOp &op);

namespace detail {

[[gnu::always_inline]] inline const uint32_t *fusedSource(const Wave &w, const MicroOp &op,
                                                          unsigned i, const uint32_t *registers,
                                                          bool scalars, uint32_t *buffer) {
  if (scalars && op.kind[i] != OperandKind::Vector && op.kind[i] != OperandKind::Constant) {
    const uint32_t value = op.kind[i] == OperandKind::Scalar ? w.scalars[op.source[i]]
                                                             : uint32_t(readScalar64(w, op, i));
    for (unsigned lane = 0; lane < kBlockLanes; ++lane)
      buffer[lane] = value;
    return buffer;
  }
  const bool isVector = op.kind[i] == OperandKind::Vector; // without a branch
  return reinterpret_cast<const uint32_t *>((isVector ? uint64_t(registers) : 0) +
                                            (op.source[i] << (isVector ? 2 : 0)));
}

template <class T> constexpr bool kIsHotType = sizeof(T) == 4 || std::is_same_v<T, bool>;

template <class F> struct HotSignature : std::false_type {};
template <class F, class R, class... P> struct HotSignature<R (F::*)(P...) const> {
  static constexpr bool value =
      kIsHotType<R> && ((IsContext<std::remove_cvref_t<P>>::value || kIsHotType<P>) && ...) &&
      (!std::is_same_v<std::remove_cvref_t<P>, Signs> && ...) &&
      (!std::is_same_v<std::remove_cvref_t<P>, Immediate> && ...);
  static constexpr bool kMaskResult = std::is_same_v<R, bool>;
  static constexpr bool kMaskSource = (std::is_same_v<std::remove_cvref_t<P>, bool> || ...);
};

template <auto Function, bool Scalars, unsigned Blocks> void fused(Wave &w, const MicroOp &op) {
  using Call = decltype(&decltype(Function)::operator());
  using Parts = Signature<Call>;
  constexpr unsigned kSources = Parts::shape().sourceCount;
  constexpr bool kMaskResult = HotSignature<Call>::kMaskResult;
  if (w.special & op.special) [[unlikely]]
    return general(w, op);
  alignas(64) uint32_t buffers[Scalars ? 3 : 1][Scalars ? kBlockLanes : 1];
  uint32_t masks[Blocks];
  for (unsigned block = 0; block < Blocks; ++block) {
    uint32_t *registers = w.block(block);
    const uint32_t exec = w.scalars[kExec + block];
    const uint32_t *sources[3] = {};
    for (unsigned i = 0; i < kSources; ++i)
      sources[i] = fusedSource(w, op, i, registers, Scalars, buffers[Scalars ? i : 0]);
    LaneState state;
    state.mode = w.lane.mode;
    state.firstLane = block * kBlockLanes;
    if constexpr (HotSignature<Call>::kMaskSource)
      state.carryIn = w.scalars[op.maskSource + block];
    uint32_t *result = registers + op.result;
    if constexpr (kMaskResult) {
      Parts::template compute<Function>(nullptr, sources, state);
      masks[block] = state.carryOut & exec;
    } else if (exec == ~0u) [[likely]] {
      Parts::template compute<Function>(result, sources, state);
    } else if (exec != 0) {
      alignas(64) uint32_t temporary[kBlockLanes];
      Parts::template compute<Function>(temporary, sources, state);
#pragma clang loop vectorize(assume_safety) interleave_count(4) unroll(disable)
      for (unsigned lane = 0; lane < kBlockLanes; ++lane)
        result[lane] = exec >> lane & 1 ? temporary[lane] : result[lane];
    }
  }
  if constexpr (kMaskResult)
    for (unsigned block = 0; block < Blocks; ++block)
      w.scalars[op.maskResult + block] = masks[block];
  RUBIA_NEXT(w, op);
}

/// By [sources may be scalars][wave64].
template <auto Function>
constexpr Handler kFused[2][2] = {{fused<Function, false, 1>, fused<Function, false, 2>},
                                  {fused<Function, true, 1>, fused<Function, true, 2>}};

template <auto Function> constexpr Operation makeHot() {
  Operation operation = makeLanewise<Function>();
  if constexpr (HotSignature<decltype(&decltype(Function)::operator())>::value)
    operation.fused = &kFused<Function>;
  return operation;
}

} // namespace detail

template <auto Function> constexpr Operation hot = detail::makeHot<Function>();

} // namespace RUBIA_ISA
} // namespace rubia::emulator
