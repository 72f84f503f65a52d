// SPDX-License-Identifier: Apache-2.0
// DS atomics (RDNA4 ISA "LDS Instructions"). A workgroup runs on one host thread, so they are plain
// reads and writes.
//
// Operands as in LocalMemory.cpp.
#include "emulator/lib/memory/AtomicSemantics.h"

namespace rubia::emulator {
namespace {

template <auto Function>
constexpr Handler atomic = [](Wave &w, const MicroOp &op) {
  using T = AtomicParts<Function>::Value;
  LaneAddresses addresses;
  const FloatRules rules = floatRules(w, AtomicParts<Function>::kFloat, true, false);
  for (unsigned block = 0; block < w.blocks; ++block) {
    uint32_t mask = w.scalars[kExec + block];
    localAddresses(w, op, block, uint32_t(op.immediate), addresses);
    if (!checkLds(w, op, block, mask, addresses, sizeof(T), true) ||
        !checkAligned(w, op, block, mask, addresses, sizeof(T)))
      return;
    const uint32_t *first = w.block(block) + op.source[2], *second = w.block(block) + op.source[3];
    uint32_t *result = w.block(block) + op.result;
    T old[kBlockLanes];
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
      unsigned lane = unsigned(std::countr_zero(rest));
      old[lane] = updateOwn<T>(w.lds + addresses.at[lane], [&](T value) {
        if constexpr (AtomicParts<Function>::kOperands == 1)
          return callAtomic<Function>(rules, value, readRegisters<T>(first, lane));
        else
          return callAtomic<Function>(rules, value, readRegisters<T>(first, lane),
                                      readRegisters<T>(second, lane));
      });
    }
    if (op.data & kAtomicReturns)
      for (uint32_t rest = mask; rest; rest &= rest - 1) {
        unsigned lane = unsigned(std::countr_zero(rest));
        writeRegisters<T>(result, lane, old[lane]);
      }
  }
};

/// DS_WRXCHG2: two exchanges, both old values returned.
template <class T>
constexpr Handler exchange2 = [](Wave &w, const MicroOp &op) {
  LaneAddresses first, second;
  const uint32_t offsets = uint32_t(op.immediate);
  for (unsigned block = 0; block < w.blocks; ++block) {
    uint32_t mask = w.scalars[kExec + block];
    localAddresses(w, op, block, (offsets & 0xffff) << op.registers, first);
    localAddresses(w, op, block, offsets >> 16 << op.registers, second);
    if (!checkLds(w, op, block, mask, first, sizeof(T), true) ||
        !checkAligned(w, op, block, mask, first, sizeof(T)) ||
        !checkLds(w, op, block, mask, second, sizeof(T), true, 1))
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

/// DS_CONDXCHG32_RTN_B64: two dwords, each replaced by the low 31 bits of its data if that has its
/// highest bit set. The address is rounded down to 8 bytes.
void conditionalExchange(Wave &w, const MicroOp &op) {
  LaneAddresses addresses;
  for (unsigned block = 0; block < w.blocks; ++block) {
    const uint32_t mask = w.scalars[kExec + block];
    localAddresses(w, op, block, uint32_t(op.immediate), addresses);
    for (uint64_t &address : addresses.at)
      address &= 0xfff8;
    if (!checkLds(w, op, block, mask, addresses, 8, true))
      return;
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
      const unsigned lane = unsigned(std::countr_zero(rest));
      const uint64_t data = readRegisters<uint64_t>(w.block(block) + op.source[2], lane);
      uint64_t old = 0;
      for (unsigned i = 0; i < 2; ++i) {
        const uint32_t word = uint32_t(data >> (32 * i));
        old |= uint64_t(updateOwn<uint32_t>(
                   w.lds + addresses.at[lane] + 4 * i,
                   [&](uint32_t value) { return word >> 31 ? word & 0x7fffffff : value; }))
               << (32 * i);
      }
      writeRegisters<uint64_t>(w.block(block) + op.result, lane, old);
    }
  }
}

/// DS_APPEND, DS_CONSUME: the counter at M0[15:0] + offset changes by the number of active lanes;
/// all of them get its old value. The manuals have no M0 here; LLVM puts the pointer there.
template <int Sign> void count(Wave &w, const MicroOp &op) {
  const uint64_t exec = w.exec();
  if (exec == 0)
    return;
  const unsigned first = unsigned(std::countr_zero(exec));
  LaneAddresses addresses;
  for (uint64_t &address : addresses.at)
    address = (w.scalars[kM0] & 0xffff) + uint32_t(op.immediate);
  const uint32_t one = 1u << first % kBlockLanes;
  if (!checkLds(w, op, first / kBlockLanes, one, addresses, 4, true) ||
      !checkAligned(w, op, first / kBlockLanes, one, addresses, 4))
    return;
  uint8_t *place = w.lds + addresses.at[first % kBlockLanes];
  const uint32_t old = updateOwn<uint32_t>(
      place, [&](uint32_t value) { return value + uint32_t(Sign * std::popcount(exec)); });
  for (uint64_t rest = exec; rest; rest &= rest - 1)
    w.vgpr(op.result, unsigned(std::countr_zero(rest))) = old;
}

// Names without _RTN and _gfx9. The ST64 forms share a row with the plain ones.
constexpr MemorySemantics kRows[] = {
    {"DS_WRXCHG_B32", atomic<kSwap<uint32_t>>},
    {"DS_WRXCHG_B64", atomic<kSwap<uint64_t>>},
    {"DS_WRXCHG2_B32", exchange2<uint32_t>},
    {"DS_WRXCHG2_B64", exchange2<uint64_t>},
    {"DS_CONDXCHG32_B64", conditionalExchange},
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
    {"DS_CMPST_B32", atomic<kCompareStore<uint32_t>>},
    {"DS_CMPST_B64", atomic<kCompareStore<uint64_t>>},
    {"DS_CMPSTORE_B32", atomic<kCompareSwap<uint32_t>>},
    {"DS_CMPSTORE_B64", atomic<kCompareSwap<uint64_t>>},
    {"DS_CMPST_F32", atomic<kCompareStoreFloat<float>>},
    {"DS_CMPST_F64", atomic<kCompareStoreFloat<double>>},
    {"DS_CMPSTORE_F32", atomic<kCompareSwapFloat<float>>},
    {"DS_CMPSTORE_F64", atomic<kCompareSwapFloat<double>>},
    {"DS_ADD_F32", atomic<kAddFloat<float>>},
    {"DS_ADD_F64", atomic<kAddFloat<double>>},
    {"DS_MIN_F32", atomic<kMinFloat<float>>},
    {"DS_MIN_F64", atomic<kMinFloat<double>>},
    {"DS_MAX_F32", atomic<kMaxFloat<float>>},
    {"DS_MAX_F64", atomic<kMaxFloat<double>>},
    {"DS_WRAP_B32", atomic<kWrap>},
    {"DS_SUB_CLAMP_U32", atomic<kClampedSub<uint32_t>>},
    {"DS_COND_SUB_U32", atomic<kConditionalSub<uint32_t>>},
    {"DS_PK_ADD_F16", atomic<kAddHalves>},
    {"DS_PK_ADD_BF16", atomic<kAddBfloats>},
    {"DS_APPEND", count<1>},
    {"DS_CONSUME", count<-1>},
};

} // namespace

const MemoryTable kLocalAtomics = table(kRows);

} // namespace rubia::emulator
