// SPDX-License-Identifier: Apache-2.0
// GLOBAL, FLAT and BUFFER atomics (RDNA3 ISA "Memory Atomics"). They act on host memory with host
// atomics, so that workgroups on several host threads, and the host program itself, see them as one
// operation.
#include "emulator/lib/memory/AtomicSemantics.h"
#include "emulator/lib/memory/BufferResource.h"

namespace rubia::emulator {

FloatRules floatRules(const Wave &w, FloatAtomic atomic, bool inLds, bool byFlat) {
  const unsigned major = w.group->target->isa;
  const FloatMode &mode = w.lane.mode;
  FloatRules rules;
  rules.number = major >= 12;
  // gfx12's tables say "mode" for DS instructions only.
  const bool followsMode = inLds && !(byFlat && major >= 12);
  auto follow = [&](bool input, bool result) {
    rules.flushInputs = input;
    rules.flushResult = result;
  };
  switch (atomic) {
  case FloatAtomic::None:
  case FloatAtomic::Add64:
    break;
  case FloatAtomic::Add32: // memory flushes, except on gfx12
    if (followsMode)
      follow(mode.flushSource32, mode.flushResult32);
    else if (!inLds && major < 12)
      follow(true, true);
    break;
  case FloatAtomic::AddPacked:
    if (followsMode)
      follow(mode.flushSource16And64, mode.flushResult16And64);
    break;
  case FloatAtomic::Select32:
    if (followsMode || (!inLds && major < 12))
      follow(mode.flushSource32, false);
    break;
  case FloatAtomic::Select64:
    if (followsMode || (!inLds && (major == 10 || major == 11)))
      follow(mode.flushSource16And64, false);
    break;
  case FloatAtomic::Compare32:
    if (followsMode || (!inLds && major < 12))
      follow(mode.flushSource32, mode.flushSource32);
    break;
  case FloatAtomic::Compare64:
    if (followsMode || (!inLds && major < 12))
      follow(mode.flushSource16And64, mode.flushSource16And64);
    break;
  }
  return rules;
}

namespace {

template <auto Function, class T>
void applyGlobal(const Wave &w, const uint32_t *data, uint32_t mask, const LaneAddresses &addresses,
                 T *old) {
  const FloatRules rules = floatRules(w, AtomicParts<Function>::kFloat, false, false);
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    unsigned lane = unsigned(std::countr_zero(rest));
    old[lane] =
        applyAt<Function, true, T>(reinterpret_cast<void *>(addresses.at[lane]), rules, data, lane);
  }
}

template <auto Function, class T>
bool applyLds(Wave &w, const MicroOp &op, unsigned block, const uint32_t *data, uint32_t mask,
              LaneAddresses &addresses, T *old) {
  if (!checkLds(w, op, block, mask, addresses, sizeof(T), true))
    return false;
  const FloatRules rules = floatRules(w, AtomicParts<Function>::kFloat, true, true);
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    unsigned lane = unsigned(std::countr_zero(rest));
    old[lane] = applyAt<Function, false, T>(w.lds + addresses.at[lane], rules, data, lane);
  }
  return true;
}

/// Private memory is interleaved dword by dword, so hardware does a wider atomic on the wrong
/// bytes; LLVM never lets one get there.
template <auto Function, class T>
bool applyScratch(Wave &w, const MicroOp &op, unsigned block, const uint32_t *data, uint32_t mask,
                  const LaneAddresses &addresses, T *old) {
  if (sizeof(T) > kScratchElement) {
    const unsigned lane = unsigned(std::countr_zero(mask));
    raise(w, op, FaultKind::Misaligned, block * kBlockLanes + lane, addresses.at[lane], sizeof(T),
          true);
    return false;
  }
  if (!checkScratch(w, op, block, mask, addresses, sizeof(T), true))
    return false;
  const FloatRules rules = floatRules(w, AtomicParts<Function>::kFloat, false, false);
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    unsigned lane = unsigned(std::countr_zero(rest));
    unsigned waveLane = block * kBlockLanes + lane;
    old[lane] = applyAt<Function, false, T>(scratchByte(w, waveLane, addresses.at[lane]), rules,
                                            data, lane);
  }
  return true;
}

template <class T>
void returnOld(Wave &w, const MicroOp &op, unsigned block, uint32_t mask, const T *old) {
  if (op.data & kAtomicReturns)
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
      unsigned lane = unsigned(std::countr_zero(rest));
      writeRegisters<T>(w.block(block) + op.result, lane, old[lane]);
    }
}

template <auto Function, Space S> void handler(Wave &w, const MicroOp &op) {
  using T = AtomicParts<Function>::Value;
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
      lanes = splitFlat(op, mask, addresses);
    const uint32_t *data = w.block(block) + op.source[2];
    T old[kBlockLanes];
    if (lanes.global) {
      if (!checkGlobal(w, op, block, lanes.global, addresses, sizeof(T), true))
        return;
      if constexpr (!isOfBus<Function>())
        if (!checkDeviceMemory(w, op, block, lanes.global, addresses, sizeof(T)))
          return;
      applyGlobal<Function>(w, data, lanes.global, addresses, old);
    }
    if (lanes.lds && !applyLds<Function>(w, op, block, data, lanes.lds, addresses, old))
      return;
    if (lanes.scratch && !applyScratch<Function>(w, op, block, data, lanes.scratch, addresses, old))
      return;
    returnOld(w, op, block, mask, old);
  }
}

/// A lane whose operand is not wholly in range does nothing and returns 0.
template <auto Function> void bufferHandler(Wave &w, const MicroOp &op) {
  using T = AtomicParts<Function>::Value;
  const BufferResource resource = BufferResource::read(w, op);
  if (resource.swizzled() && sizeof(T) > 1u << resource.elementShift)
    return raise(w, op, FaultKind::Misaligned);
  LaneAddresses addresses;
  BufferLanes lanes;
  for (unsigned block = 0; block < w.blocks; ++block) {
    const uint32_t mask = w.scalars[kExec + block];
    if (mask == 0)
      continue;
    bufferLanes(w, op, resource, block, lanes);
    const uint32_t inside = bufferAddresses(resource, lanes, mask, 0, sizeof(T), addresses);
    if (!checkAligned(w, op, block, inside, addresses, sizeof(T)) ||
        !checkBuffer(w, op, resource, block, inside, addresses, sizeof(T), true))
      return;
    if constexpr (!isOfBus<Function>())
      if (!checkDeviceMemory(w, op, block, inside, addresses, sizeof(T)))
        return;
    T old[kBlockLanes] = {};
    applyGlobal<Function>(w, w.block(block) + op.source[2], inside, addresses, old);
    returnOld(w, op, block, mask, old);
  }
}

template <Space S> struct Rows {
  template <auto Function>
  static constexpr Handler atomic =
      S == Space::Buffer ? bufferHandler<Function> : handler<Function, S>;

  static constexpr MemorySemantics kRows[] = {
      {"ATOMIC_SWAP", atomic<kSwap<uint32_t>>},
      {"ATOMIC_SWAP_X2", atomic<kSwap<uint64_t>>},
      {"ATOMIC_CMPSWAP", atomic<kCompareSwap<uint32_t>>},
      {"ATOMIC_CMPSWAP_X2", atomic<kCompareSwap<uint64_t>>},
      {"ATOMIC_FCMPSWAP", atomic<kCompareSwapFloat<float>>},
      {"ATOMIC_FCMPSWAP_X2", atomic<kCompareSwapFloat<double>>},
      {"ATOMIC_ADD", atomic<kAdd<uint32_t>>},
      {"ATOMIC_ADD_X2", atomic<kAdd<uint64_t>>},
      {"ATOMIC_SUB", atomic<kSub<uint32_t>>},
      {"ATOMIC_SUB_X2", atomic<kSub<uint64_t>>},
      {"ATOMIC_CSUB", atomic<kClampedSub<uint32_t>>},
      {"ATOMIC_CSUB_U32", atomic<kClampedSub<uint32_t>>},
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
      {"ATOMIC_ADD_F32", atomic<kAddFloat<float>>},
      {"ATOMIC_ADD_F64", atomic<kAddFloat<double>>},
      {"ATOMIC_FMIN", atomic<kMinFloat<float>>},
      {"ATOMIC_FMAX", atomic<kMaxFloat<float>>},
      {"ATOMIC_MIN_F64", atomic<kMinFloat<double>>},
      {"ATOMIC_MAX_F64", atomic<kMaxFloat<double>>},
      {"ATOMIC_PK_ADD_F16", atomic<kAddHalves>},
      {"ATOMIC_PK_ADD_BF16", atomic<kAddBfloats>},
  };
};

} // namespace

const MemoryTable kGlobalAtomics = table(Rows<Space::Global>::kRows);
const MemoryTable kFlatAtomics = table(Rows<Space::Flat>::kRows);
const MemoryTable kBufferAtomics = table(Rows<Space::Buffer>::kRows);

} // namespace rubia::emulator
