// DS instructions: LDS loads, stores and atomics, and the cross-lane permutes that use its crossbar
// (RDNA3 ISA "Data Share operations"). A workgroup runs on one host thread, so LDS atomics are
// plain.
//
// Operands: source 0 the address, source 2 and 3 the data; `immediate` the offset in bytes, or for
// the two-address forms both offsets in bytes, 16 bits each.
#include "emulator/lib/AtomicSemantics.h"
#include "emulator/lib/LoadStore.h"

namespace rubia::emulator {
namespace {

void localAddresses(const Wave &w, const MicroOp &op, unsigned block, uint32_t offset,
                    LaneAddresses &addresses) {
  const uint32_t *vector = w.block(block) + op.source[0];
  for (unsigned lane = 0; lane < kBlockLanes; ++lane)
    addresses.at[lane] = uint64_t(vector[lane]) + offset;
}

template <class Kind>
constexpr Handler load = [](Wave &w, const MicroOp &op) {
  LaneAddresses addresses;
  for (unsigned block = 0; block < w.blocks; ++block) {
    uint32_t mask = w.scalars[kExec + block];
    localAddresses(w, op, block, uint32_t(op.immediate), addresses);
    if (!checkLds(w, op, block, mask, addresses, Kind::kBytes, false))
      return;
    uint32_t *result = w.block(block) + op.result;
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
      unsigned lane = unsigned(std::countr_zero(rest));
      uint32_t words[4] = {};
      std::memcpy(words, w.lds + addresses.at[lane], Kind::kBytes);
      Kind::load(result, lane, words);
    }
  }
};

template <class Kind>
constexpr Handler store = [](Wave &w, const MicroOp &op) {
  LaneAddresses addresses;
  for (unsigned block = 0; block < w.blocks; ++block) {
    uint32_t mask = w.scalars[kExec + block];
    localAddresses(w, op, block, uint32_t(op.immediate), addresses);
    if (!checkLds(w, op, block, mask, addresses, Kind::kBytes, true))
      return;
    const uint32_t *data = w.block(block) + op.source[2];
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
      unsigned lane = unsigned(std::countr_zero(rest));
      uint32_t words[4];
      Kind::store(data, lane, words);
      std::memcpy(w.lds + addresses.at[lane], words, Kind::kBytes);
    }
  }
};

/// READ2 and its ST64 form: the decoder has scaled the offsets.
template <class Kind>
constexpr Handler load2 = [](Wave &w, const MicroOp &op) {
  LaneAddresses first, second;
  for (unsigned block = 0; block < w.blocks; ++block) {
    uint32_t mask = w.scalars[kExec + block];
    localAddresses(w, op, block, uint32_t(op.immediate) & 0xffff, first);
    localAddresses(w, op, block, uint32_t(op.immediate) >> 16, second);
    if (!checkLds(w, op, block, mask, first, Kind::kBytes, false) ||
        !checkLds(w, op, block, mask, second, Kind::kBytes, false))
      return;
    uint32_t *result = w.block(block) + op.result;
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
      unsigned lane = unsigned(std::countr_zero(rest));
      uint32_t words[4] = {};
      std::memcpy(words, w.lds + first.at[lane], Kind::kBytes);
      Kind::load(result, lane, words);
      std::memcpy(words, w.lds + second.at[lane], Kind::kBytes);
      Kind::load(result + Kind::kRegisters * kBlockLanes, lane, words);
    }
  }
};

template <class Kind>
constexpr Handler store2 = [](Wave &w, const MicroOp &op) {
  LaneAddresses first, second;
  for (unsigned block = 0; block < w.blocks; ++block) {
    uint32_t mask = w.scalars[kExec + block];
    localAddresses(w, op, block, uint32_t(op.immediate) & 0xffff, first);
    localAddresses(w, op, block, uint32_t(op.immediate) >> 16, second);
    if (!checkLds(w, op, block, mask, first, Kind::kBytes, true) ||
        !checkLds(w, op, block, mask, second, Kind::kBytes, true))
      return;
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
      unsigned lane = unsigned(std::countr_zero(rest));
      uint32_t words[4];
      Kind::store(w.block(block) + op.source[2], lane, words);
      std::memcpy(w.lds + first.at[lane], words, Kind::kBytes);
      Kind::store(w.block(block) + op.source[3], lane, words);
      std::memcpy(w.lds + second.at[lane], words, Kind::kBytes);
    }
  }
};

template <auto Function>
constexpr Handler atomic = [](Wave &w, const MicroOp &op) {
  using T = typename AtomicParts<Function>::Value;
  LaneAddresses addresses;
  for (unsigned block = 0; block < w.blocks; ++block) {
    uint32_t mask = w.scalars[kExec + block];
    localAddresses(w, op, block, uint32_t(op.immediate), addresses);
    if (!checkLds(w, op, block, mask, addresses, sizeof(T), true) ||
        !checkAligned(w, op, block, mask, addresses, sizeof(T)))
      return;
    const uint32_t *first = w.block(block) + op.source[2], *second = w.block(block) + op.source[3];
    uint32_t *result = w.block(block) + op.result;
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
      unsigned lane = unsigned(std::countr_zero(rest));
      T old = updateOwn<T>(w.lds + addresses.at[lane], [&](T value) {
        if constexpr (AtomicParts<Function>::kOperands == 1)
          return Function(value, readRegisters<T>(first, lane));
        else
          return Function(value, readRegisters<T>(first, lane), readRegisters<T>(second, lane));
      });
      if (op.data & kAtomicReturns)
        writeRegisters<T>(result, lane, old);
    }
  }
};

/// DS_WRXCHG2: two exchanges, both old values returned.
template <class T>
constexpr Handler exchange2 = [](Wave &w, const MicroOp &op) {
  LaneAddresses first, second;
  for (unsigned block = 0; block < w.blocks; ++block) {
    uint32_t mask = w.scalars[kExec + block];
    localAddresses(w, op, block, uint32_t(op.immediate) & 0xffff, first);
    localAddresses(w, op, block, uint32_t(op.immediate) >> 16, second);
    if (!checkLds(w, op, block, mask, first, sizeof(T), true) ||
        !checkLds(w, op, block, mask, second, sizeof(T), true))
      return;
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
      unsigned lane = unsigned(std::countr_zero(rest));
      T one = readRegisters<T>(w.block(block) + op.source[2], lane);
      T two = readRegisters<T>(w.block(block) + op.source[3], lane);
      T oldOne = updateOwn<T>(w.lds + first.at[lane], [&](T) { return one; });
      T oldTwo = updateOwn<T>(w.lds + second.at[lane], [&](T) { return two; });
      uint32_t *result = w.block(block) + op.result;
      writeRegisters<T>(result, lane, oldOne);
      writeRegisters<T>(result + sizeof(T) / 4 * kBlockLanes, lane, oldTwo);
    }
  }
};

/// On RDNA3 and before, a wave64 permutes within its halves; RDNA4 and CDNA over the whole wave.
unsigned permuteLanes(const Wave &w) {
  unsigned major = w.group->generationOfTarget;
  return major == 10 || major == 11 ? kBlockLanes : w.lanes();
}

/// Pull: each lane names the lane that it reads. An inactive source lane gives 0.
void backwardPermute(Wave &w, const MicroOp &op) {
  uint32_t values[64], selected[64];
  uint64_t exec = w.exec();
  unsigned lanes = w.lanes(), span = permuteLanes(w);
  for (unsigned lane = 0; lane < lanes; ++lane) {
    values[lane] = exec >> lane & 1 ? w.vgpr(uint32_t(op.source[2]), lane) : 0;
    uint32_t address = w.vgpr(uint32_t(op.source[0]), lane) + uint32_t(op.immediate);
    selected[lane] = (lane / span * span) + (address / 4) % span;
  }
  for (unsigned lane = 0; lane < lanes; ++lane)
    if (exec >> lane & 1)
      w.vgpr(op.result, lane) = values[selected[lane]];
}

/// Push: each lane names the lane that it writes; the highest writer wins. Lanes that nobody names
/// get 0.
void forwardPermute(Wave &w, const MicroOp &op) {
  uint32_t values[64] = {};
  uint64_t exec = w.exec();
  unsigned lanes = w.lanes(), span = permuteLanes(w);
  for (unsigned lane = 0; lane < lanes; ++lane)
    if (exec >> lane & 1) {
      uint32_t address = w.vgpr(uint32_t(op.source[0]), lane) + uint32_t(op.immediate);
      values[(lane / span * span) + (address / 4) % span] = w.vgpr(uint32_t(op.source[2]), lane);
    }
  for (unsigned lane = 0; lane < lanes; ++lane)
    if (exec >> lane & 1)
      w.vgpr(op.result, lane) = values[lane];
}

/// DS_SWIZZLE_B32: bit 15 of the offset chooses quad permutation (and, with bits 14, FFT and
/// rotate) or the bit mask mode.
void swizzle(Wave &w, const MicroOp &op) {
  uint32_t offset = uint32_t(op.immediate);
  uint32_t values[64], result[64];
  uint64_t exec = w.exec();
  unsigned lanes = w.lanes();
  for (unsigned lane = 0; lane < lanes; ++lane)
    values[lane] = exec >> lane & 1 ? w.vgpr(uint32_t(op.source[0]), lane) : 0;
  for (unsigned lane = 0; lane < lanes; ++lane) {
    unsigned group = lane & ~31u, within = lane & 31, source;
    if (offset >=
        0xe000) { // FFT mode: reversed bits, which no compiler emits; the decoder refuses it
      source = within;
    } else if (offset >= 0xc000) { // rotate
      unsigned mask = offset & 31, amount = offset >> 5 & 31;
      unsigned rotated = offset >> 10 & 1 ? within - amount : within + amount;
      source = (within & mask) | (rotated & ~mask & 31);
    } else if (offset & 0x8000) {
      source = (within & ~3u) | (offset >> (2 * (within & 3)) & 3);
    } else {
      source = ((within & (offset & 31)) | (offset >> 5 & 31)) ^ (offset >> 10 & 31);
    }
    result[lane] = values[group + source];
  }
  for (unsigned lane = 0; lane < lanes; ++lane)
    if (exec >> lane & 1)
      w.vgpr(op.result, lane) = result[lane];
}

template <class T> constexpr auto kSwap = [](T, T value) { return value; };
template <class T>
constexpr auto kCompareThenValue =
    [](T old, T expected, T value) { return old == expected ? value : old; };
template <class T>
constexpr auto kValueThenCompare =
    [](T old, T value, T expected) { return old == expected ? value : old; };
template <class T> constexpr auto kAdd = [](T old, T value) { return T(old + value); };
template <class T> constexpr auto kSub = [](T old, T value) { return T(old - value); };
template <class T> constexpr auto kReverseSub = [](T old, T value) { return T(value - old); };
template <class T> constexpr auto kMin = [](T old, T value) { return old < value ? old : value; };
template <class T> constexpr auto kMax = [](T old, T value) { return old > value ? old : value; };
template <class T> constexpr auto kMinNumber = [](T old, T value) { return std::fmin(old, value); };
template <class T> constexpr auto kMaxNumber = [](T old, T value) { return std::fmax(old, value); };
template <class T> constexpr auto kAnd = [](T old, T value) { return T(old & value); };
template <class T> constexpr auto kOr = [](T old, T value) { return T(old | value); };
template <class T> constexpr auto kXor = [](T old, T value) { return T(old ^ value); };
template <class T>
constexpr auto kMaskedOr = [](T old, T mask, T value) { return T((old & ~mask) | value); };
template <class T>
constexpr auto kInc = [](T old, T limit) { return old >= limit ? T(0) : T(old + 1); };
template <class T>
constexpr auto kDec = [](T old, T limit) { return old == 0 || old > limit ? limit : T(old - 1); };
constexpr auto kWrap = [](uint32_t old, uint32_t a, uint32_t b) {
  return old >= a ? old - a : old + b;
};
constexpr auto kClampedSub = [](uint32_t old, uint32_t value) {
  return old >= value ? old - value : 0u;
};
constexpr auto kConditionalSub = [](uint32_t old, uint32_t value) {
  return old >= value ? old - value : old;
};

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

// Names without _RTN and _gfx9. The ST64 forms share a row with the plain ones.
constexpr MemorySemantics kRows[] = {
    {"DS_READ_B32", load<Dwords<1>>},
    {"DS_READ_B64", load<Dwords<2>>},
    {"DS_READ_B96", load<Dwords<3>>},
    {"DS_READ_B128", load<Dwords<4>>},
    {"DS_READ_U8", load<Narrow<uint8_t>>},
    {"DS_READ_I8", load<Narrow<int8_t>>},
    {"DS_READ_U16", load<Narrow<uint16_t>>},
    {"DS_READ_I16", load<Narrow<int16_t>>},
    {"DS_READ_U8_D16", load<Narrow<uint8_t, Half16::Low>>},
    {"DS_READ_U8_D16_HI", load<Narrow<uint8_t, Half16::High>>},
    {"DS_READ_I8_D16", load<Narrow<int8_t, Half16::Low>>},
    {"DS_READ_I8_D16_HI", load<Narrow<int8_t, Half16::High>>},
    {"DS_READ_U16_D16", load<Narrow<uint16_t, Half16::Low>>},
    {"DS_READ_U16_D16_HI", load<Narrow<uint16_t, Half16::High>>},
    {"DS_READ2_B32", load2<Dwords<1>>},
    {"DS_READ2_B64", load2<Dwords<2>>},
    {"DS_WRITE_B8", store<Narrow<uint8_t>>},
    {"DS_WRITE_B16", store<Narrow<uint16_t>>},
    {"DS_WRITE_B8_D16_HI", store<Narrow<uint8_t, Half16::High>>},
    {"DS_WRITE_B16_D16_HI", store<Narrow<uint16_t, Half16::High>>},
    {"DS_WRITE_B32", store<Dwords<1>>},
    {"DS_WRITE_B64", store<Dwords<2>>},
    {"DS_WRITE_B96", store<Dwords<3>>},
    {"DS_WRITE_B128", store<Dwords<4>>},
    {"DS_WRITE2_B32", store2<Dwords<1>>},
    {"DS_WRITE2_B64", store2<Dwords<2>>},
    {"DS_WRXCHG_B32", atomic<kSwap<uint32_t>>},
    {"DS_WRXCHG_B64", atomic<kSwap<uint64_t>>},
    {"DS_WRXCHG2_B32", exchange2<uint32_t>},
    {"DS_WRXCHG2_B64", exchange2<uint64_t>},
    {"DS_ADD_U32", atomic<kAdd<uint32_t>>},
    {"DS_ADD_U64", atomic<kAdd<uint64_t>>},
    {"DS_SUB_U32", atomic<kSub<uint32_t>>},
    {"DS_SUB_U64", atomic<kSub<uint64_t>>},
    {"DS_RSUB_U32", atomic<kReverseSub<uint32_t>>},
    {"DS_RSUB_U64", atomic<kReverseSub<uint64_t>>},
    {"DS_INC_U32", atomic<kInc<uint32_t>>},
    {"DS_INC_U64", atomic<kInc<uint64_t>>},
    {"DS_DEC_U32", atomic<kDec<uint32_t>>},
    {"DS_DEC_U64", atomic<kDec<uint64_t>>},
    {"DS_MIN_I32", atomic<kMin<int32_t>>},
    {"DS_MIN_I64", atomic<kMin<int64_t>>},
    {"DS_MIN_U32", atomic<kMin<uint32_t>>},
    {"DS_MIN_U64", atomic<kMin<uint64_t>>},
    {"DS_MAX_I32", atomic<kMax<int32_t>>},
    {"DS_MAX_I64", atomic<kMax<int64_t>>},
    {"DS_MAX_U32", atomic<kMax<uint32_t>>},
    {"DS_MAX_U64", atomic<kMax<uint64_t>>},
    {"DS_AND_B32", atomic<kAnd<uint32_t>>},
    {"DS_AND_B64", atomic<kAnd<uint64_t>>},
    {"DS_OR_B32", atomic<kOr<uint32_t>>},
    {"DS_OR_B64", atomic<kOr<uint64_t>>},
    {"DS_XOR_B32", atomic<kXor<uint32_t>>},
    {"DS_XOR_B64", atomic<kXor<uint64_t>>},
    {"DS_MSKOR_B32", atomic<kMaskedOr<uint32_t>>},
    {"DS_MSKOR_B64", atomic<kMaskedOr<uint64_t>>},
    {"DS_CMPST_B32", atomic<kCompareThenValue<uint32_t>>},
    {"DS_CMPST_B64", atomic<kCompareThenValue<uint64_t>>},
    {"DS_CMPST_F32", atomic<kCompareThenValue<float>>},
    {"DS_CMPST_F64", atomic<kCompareThenValue<double>>},
    {"DS_CMPSTORE_B32", atomic<kValueThenCompare<uint32_t>>},
    {"DS_CMPSTORE_B64", atomic<kValueThenCompare<uint64_t>>},
    {"DS_CMPSTORE_F32", atomic<kValueThenCompare<float>>},
    {"DS_CMPSTORE_F64", atomic<kValueThenCompare<double>>},
    {"DS_ADD_F32", atomic<kAdd<float>>},
    {"DS_ADD_F64", atomic<kAdd<double>>},
    {"DS_MIN_F32", atomic<kMinNumber<float>>},
    {"DS_MIN_F64", atomic<kMinNumber<double>>},
    {"DS_MAX_F32", atomic<kMaxNumber<float>>},
    {"DS_MAX_F64", atomic<kMaxNumber<double>>},
    {"DS_WRAP_B32", atomic<kWrap>},
    {"DS_SUB_CLAMP_U32", atomic<kClampedSub>},
    {"DS_COND_SUB_U32", atomic<kConditionalSub>},
    {"DS_PK_ADD_F16", atomic<kAddHalves>},
    {"DS_PK_ADD_BF16", atomic<kAddBfloats>},
    {"DS_BPERMUTE_B32", backwardPermute},
    {"DS_PERMUTE_B32", forwardPermute},
    {"DS_SWIZZLE_B32", swizzle},
};

} // namespace

const MemoryTable kLocalMemory = table(kRows);

} // namespace rubia::emulator
