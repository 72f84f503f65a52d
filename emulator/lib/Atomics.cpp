// GLOBAL_ATOMIC_* and FLAT_ATOMIC_* (RDNA3 ISA "Atomic memory operations"). They act on host memory
// with host atomics, so that workgroups on several host threads, and the host program itself, see
// them as one operation.
#include "emulator/lib/AtomicSemantics.h"

namespace rubia::emulator {
namespace {

template <auto Function, bool Shared, class T>
T applyAt(void *pointer, const uint32_t *data, unsigned lane) {
  constexpr unsigned kRegisters = sizeof(T) / 4;
  auto operation = [&](T old) {
    if constexpr (AtomicParts<Function>::kOperands == 1)
      return Function(old, readRegisters<T>(data, lane));
    else
      return Function(old, readRegisters<T>(data, lane),
                      readRegisters<T>(data + kRegisters * kBlockLanes, lane));
  };
  if constexpr (Shared)
    return updateShared<T>(pointer, operation);
  else
    return updateOwn<T>(pointer, operation);
}

template <auto Function, Space S> void handler(Wave &w, const MicroOp &op) {
  using T = typename AtomicParts<Function>::Value;
  LaneAddresses addresses;
  for (unsigned block = 0; block < w.blocks; ++block) {
    uint32_t mask = w.scalars[kExec + block];
    if (mask == 0)
      continue;
    globalAddresses(w, op, block, addresses);
    if (!checkAligned(w, op, block, mask, addresses, sizeof(T)))
      return;
    FlatLanes lanes{mask};
    if constexpr (S == Space::Flat)
      lanes = splitFlat(mask, addresses);
    const uint32_t *data = w.block(block) + op.source[2];
    T old[kBlockLanes];
    if (lanes.global) {
      if (!checkGlobal(w, op, block, lanes.global, addresses, sizeof(T), true))
        return;
      for (uint32_t rest = lanes.global; rest; rest &= rest - 1) {
        unsigned lane = unsigned(std::countr_zero(rest));
        old[lane] =
            applyAt<Function, true, T>(reinterpret_cast<void *>(addresses.at[lane]), data, lane);
      }
    }
    if (lanes.lds) {
      if (!checkLds(w, op, block, lanes.lds, addresses, sizeof(T), true))
        return;
      for (uint32_t rest = lanes.lds; rest; rest &= rest - 1) {
        unsigned lane = unsigned(std::countr_zero(rest));
        old[lane] = applyAt<Function, false, T>(w.lds + addresses.at[lane], data, lane);
      }
    }
    if (lanes.scratch) {
      if (!checkScratch(w, op, block, lanes.scratch, addresses, sizeof(T), true))
        return;
      for (uint32_t rest = lanes.scratch; rest; rest &= rest - 1) {
        unsigned lane = unsigned(std::countr_zero(rest));
        unsigned waveLane = block * kBlockLanes + lane;
        uint32_t words[2] = {};
        for (unsigned i = 0; i < sizeof(T) / 4; ++i)
          std::memcpy(&words[i], scratchByte(w, waveLane, addresses.at[lane] + 4 * i), 4);
        old[lane] = applyAt<Function, false, T>(words, data, lane);
        for (unsigned i = 0; i < sizeof(T) / 4; ++i)
          std::memcpy(scratchByte(w, waveLane, addresses.at[lane] + 4 * i), &words[i], 4);
      }
    }
    if (op.data & kAtomicReturns) {
      uint32_t *result = w.block(block) + op.result;
      for (uint32_t rest = mask; rest; rest &= rest - 1) {
        unsigned lane = unsigned(std::countr_zero(rest));
        writeRegisters<T>(result, lane, old[lane]);
      }
    }
  }
}

template <class T> constexpr auto kSwap = [](T, T value) { return value; };
template <class T>
constexpr auto kCompareSwap =
    [](T old, T value, T expected) { return old == expected ? value : old; };
template <class T> constexpr auto kAdd = [](T old, T value) { return T(old + value); };
template <class T> constexpr auto kSub = [](T old, T value) { return T(old - value); };
template <class T>
constexpr auto kClampedSub = [](T old, T value) { return old >= value ? T(old - value) : T(0); };
template <class T>
constexpr auto kConditionalSub = [](T old, T value) { return old >= value ? T(old - value) : old; };
template <class T> constexpr auto kMin = [](T old, T value) { return old < value ? old : value; };
template <class T> constexpr auto kMax = [](T old, T value) { return old > value ? old : value; };
template <class T> constexpr auto kMinNumber = [](T old, T value) { return std::fmin(old, value); };
template <class T> constexpr auto kMaxNumber = [](T old, T value) { return std::fmax(old, value); };
template <class T> constexpr auto kAnd = [](T old, T value) { return T(old & value); };
template <class T> constexpr auto kOr = [](T old, T value) { return T(old | value); };
template <class T> constexpr auto kXor = [](T old, T value) { return T(old ^ value); };
template <class T>
constexpr auto kInc = [](T old, T limit) { return old >= limit ? T(0) : T(old + 1); };
template <class T>
constexpr auto kDec = [](T old, T limit) { return old == 0 || old > limit ? limit : T(old - 1); };

/// Two 16-bit floats in a word.
template <class F> uint32_t addPacked(uint32_t old, uint32_t value) {
  auto add = [](uint32_t a, uint32_t b) {
    return uint32_t(F(F::fromBits(uint16_t(a)) + F::fromBits(uint16_t(b))).bits);
  };
  return add(old, value) | add(old >> 16, value >> 16) << 16;
}
constexpr auto kAddHalves = [](uint32_t old, uint32_t value) {
  return addPacked<RUBIA_ISA::Half>(old, value);
};
constexpr auto kAddBfloats = [](uint32_t old, uint32_t value) {
  return addPacked<RUBIA_ISA::Bfloat>(old, value);
};

template <Space S> struct Rows {
  template <auto Function> static constexpr Handler atomic = handler<Function, S>;

  static constexpr MemorySemantics kRows[] = {
      {"ATOMIC_SWAP", atomic<kSwap<uint32_t>>},
      {"ATOMIC_SWAP_X2", atomic<kSwap<uint64_t>>},
      {"ATOMIC_CMPSWAP", atomic<kCompareSwap<uint32_t>>},
      {"ATOMIC_CMPSWAP_X2", atomic<kCompareSwap<uint64_t>>},
      {"ATOMIC_FCMPSWAP", atomic<kCompareSwap<float>>},
      {"ATOMIC_ADD", atomic<kAdd<uint32_t>>},
      {"ATOMIC_ADD_X2", atomic<kAdd<uint64_t>>},
      {"ATOMIC_SUB", atomic<kSub<uint32_t>>},
      {"ATOMIC_SUB_X2", atomic<kSub<uint64_t>>},
      {"ATOMIC_CSUB", atomic<kClampedSub<uint32_t>>},
      {"ATOMIC_SUB_CLAMP_U32", atomic<kClampedSub<uint32_t>>},
      {"ATOMIC_COND_SUB_U32", atomic<kConditionalSub<uint32_t>>},
      {"ATOMIC_SMIN", atomic<kMin<int32_t>>},
      {"ATOMIC_SMIN_X2", atomic<kMin<int64_t>>},
      {"ATOMIC_UMIN", atomic<kMin<uint32_t>>},
      {"ATOMIC_UMIN_X2", atomic<kMin<uint64_t>>},
      {"ATOMIC_SMAX", atomic<kMax<int32_t>>},
      {"ATOMIC_SMAX_X2", atomic<kMax<int64_t>>},
      {"ATOMIC_UMAX", atomic<kMax<uint32_t>>},
      {"ATOMIC_UMAX_X2", atomic<kMax<uint64_t>>},
      {"ATOMIC_AND", atomic<kAnd<uint32_t>>},
      {"ATOMIC_AND_X2", atomic<kAnd<uint64_t>>},
      {"ATOMIC_OR", atomic<kOr<uint32_t>>},
      {"ATOMIC_OR_X2", atomic<kOr<uint64_t>>},
      {"ATOMIC_XOR", atomic<kXor<uint32_t>>},
      {"ATOMIC_XOR_X2", atomic<kXor<uint64_t>>},
      {"ATOMIC_INC", atomic<kInc<uint32_t>>},
      {"ATOMIC_INC_X2", atomic<kInc<uint64_t>>},
      {"ATOMIC_DEC", atomic<kDec<uint32_t>>},
      {"ATOMIC_DEC_X2", atomic<kDec<uint64_t>>},
      {"ATOMIC_ADD_F32", atomic<kAdd<float>>},
      {"ATOMIC_ADD_F64", atomic<kAdd<double>>},
      {"ATOMIC_FMIN", atomic<kMinNumber<float>>},
      {"ATOMIC_FMAX", atomic<kMaxNumber<float>>},
      {"ATOMIC_FMIN_X2", atomic<kMinNumber<double>>},
      {"ATOMIC_FMAX_X2", atomic<kMaxNumber<double>>},
      {"ATOMIC_MIN_F64", atomic<kMinNumber<double>>},
      {"ATOMIC_MAX_F64", atomic<kMaxNumber<double>>},
      {"ATOMIC_PK_ADD_F16", atomic<kAddHalves>},
      {"ATOMIC_PK_ADD_BF16", atomic<kAddBfloats>},
  };
};

} // namespace

const MemoryTable kGlobalAtomics = table(Rows<Space::Global>::kRows);
const MemoryTable kFlatAtomics = table(Rows<Space::Flat>::kRows);

} // namespace rubia::emulator
