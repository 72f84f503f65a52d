// SPDX-License-Identifier: Apache-2.0
// GLOBAL, FLAT and SCRATCH loads and stores, and loads into LDS (RDNA3 ISA "Flat, Scratch and
// Global Address Space Instructions").
#include "emulator/lib/memory/LoadStore.h"

namespace rubia::emulator {
namespace {

/// The data registers of a load or store in a block.
uint32_t *dataRegisters(const Wave &w, const MicroOp &op, unsigned block, bool isStore) {
  return w.block(block) + (isStore ? op.source[2] : op.result);
}

/// The access of a block's lanes, wherever their addresses lead.
template <class Kind, bool IsStore, Space S>
bool accessBlock(Wave &w, const MicroOp &op, uint32_t *registers, unsigned block, uint32_t mask) {
  LaneAddresses addresses;
  auto reach = [&](Space space, uint32_t lanes) {
    return lanes == 0 || access<Kind, IsStore>(space, w, op, registers, block, lanes, addresses);
  };
  if constexpr (S == Space::Scratch) {
    scratchAddresses(w, op, block, addresses);
    return reach(Space::Scratch, mask);
  }
  globalAddresses(w, op, block, addresses);
  if constexpr (S == Space::Global)
    return reach(Space::Global, mask);
  const FlatLanes lanes = splitFlat(op, mask, addresses);
  return reach(Space::Global, lanes.global) && reach(Space::Local, lanes.lds) &&
         reach(Space::Scratch, lanes.scratch);
}

template <Space S> struct Handlers {
  template <class Kind, bool IsStore> static void handler(Wave &w, const MicroOp &op) {
    for (unsigned block = 0; block < w.blocks; ++block)
      if (const uint32_t mask = w.scalars[kExec + block])
        if (!accessBlock<Kind, IsStore, S>(w, op, dataRegisters(w, op, block, IsStore), block,
                                           mask))
          return;
  }
  template <class Kind> static void toLds(Wave &w, const MicroOp &op) {
    uint32_t loaded[4 * kBlockLanes];
    for (unsigned block = 0; block < w.blocks; ++block)
      if (const uint32_t mask = w.scalars[kExec + block])
        if (!accessBlock<Kind, false, S>(w, op, loaded, block, mask) ||
            !storeToLds<Kind>(w, op, loaded, block, mask))
          return;
  }
};

/// GLOBAL_LOAD_DWORD_ADDTID, GLOBAL_STORE_DWORD_ADDTID: saddr + offset + lane * 4.
template <bool IsStore> void byThread(Wave &w, const MicroOp &op) {
  const uint64_t base = (op.kind[1] == OperandKind::Scalar ? w.pair(unsigned(op.source[1])) : 0) +
                        uint64_t(int64_t(op.immediate));
  LaneAddresses addresses;
  for (unsigned block = 0; block < w.blocks; ++block) {
    const uint32_t mask = w.scalars[kExec + block];
    for (unsigned lane = 0; lane < kBlockLanes; ++lane)
      addresses.at[lane] = base + 4 * (block * kBlockLanes + lane);
    if (mask != 0 &&
        !access<Dwords<1>, IsStore>(Space::Global, w, op, dataRegisters(w, op, block, IsStore),
                                    block, mask, addresses))
      return;
  }
}

/// *_LOAD_BLOCK, *_STORE_BLOCK: up to 32 registers and dwords, those whose bit in M0 is set
/// (RDNA4 ISA "Block VGPR Load & Store").
template <bool IsStore, Space S> void transferBlock(Wave &w, const MicroOp &op) {
  for (unsigned block = 0; block < w.blocks; ++block) {
    const uint32_t mask = w.scalars[kExec + block];
    uint32_t *registers = dataRegisters(w, op, block, IsStore);
    for (uint32_t rest = mask ? w.scalars[kM0] : 0; rest; rest &= rest - 1) {
      const int i = std::countr_zero(rest);
      MicroOp one = op;
      one.immediate += 4 * i;
      if (!accessBlock<Dwords<1>, IsStore, S>(w, one, registers + i * int(kBlockLanes), block,
                                              mask))
        return;
    }
  }
}

template <Space S>
constexpr MemorySemantics kBlocks[] = {
    {"LOAD_BLOCK", transferBlock<false, S>},
    {"STORE_BLOCK", transferBlock<true, S>},
};
constexpr MemorySemantics kByThread[] = {
    {"LOAD_DWORD_ADDTID", byThread<false>},
    {"STORE_DWORD_ADDTID", byThread<true>},
};

} // namespace

const MemoryTable kGlobalMemory = table(LoadStoreRows<Handlers<Space::Global>>::kRows);
const MemoryTable kFlatMemory = table(LoadStoreRows<Handlers<Space::Flat>>::kRows);
const MemoryTable kScratchMemory = table(LoadStoreRows<Handlers<Space::Scratch>>::kRows);
const MemoryTable kGlobalToLds = table(ToLdsRows<Handlers<Space::Global>>::kRows);
const MemoryTable kScratchToLds = table(ToLdsRows<Handlers<Space::Scratch>>::kRows);
const MemoryTable kGlobalByThread = table(kByThread);
const MemoryTable kGlobalBlocks = table(kBlocks<Space::Global>);
const MemoryTable kScratchBlocks = table(kBlocks<Space::Scratch>);

} // namespace rubia::emulator
