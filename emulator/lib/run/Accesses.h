// SPDX-License-Identifier: Apache-2.0
// What the lanes of an instruction touch in memory, found out before it is executed: the addresses
// that its handler will compute, from the same registers.
#pragma once

#include "emulator/lib/decode/InstructionStep.h"

namespace rubia::emulator {

/// Bytes that one lane touches.
struct LaneAccess {
  uint64_t address = 0; // Global: of the host; Local: in LDS; Scratch: in the lane's own memory
  uint16_t bytes = 0;
  uint8_t lane = 0;            // of the first active thread for scalar accesses
  Space space = Space::Global; // Global, Local or Scratch
  bool reads = false, writes = false;
  uint8_t operand = 0; // DS_WRITE2 and its kin: 1 for the second address; TouchedTexel::component
};

struct Accesses {
  llvm::SmallVector<LaneAccess, 64> lanes; // in the order of lanes; several of one lane possible
  bool atomic = false;                     // each is read and written at once
  void clear() {
    lanes.clear();
    atomic = false;
  }
};

/// The lanes of a block of a vector instruction by where their addresses lead. Addresses in scratch
/// and in LDS are offsets, those of buffers in private memory host addresses.
struct BlockAccess {
  LaneAddresses addresses;
  uint32_t global = 0, lds = 0, scratch = 0;
};
void locateBlock(const Wave &wave, const MicroOp &op, const InstructionStep &step, unsigned block,
                 BlockAccess &found);

/// The address of a scalar load of memory (ScalarMemory.cpp), buffers aside. Of dwords the two
/// lowest bits are ignored; `whole` keeps them.
uint64_t locateScalar(const Wave &wave, const MicroOp &op, const InstructionStep &step,
                      bool whole = false);

/// All that `op` touches. Nothing is checked: an address may lead nowhere.
void locate(const Wave &wave, const MicroOp &op, const InstructionStep &step, Accesses &accesses);

} // namespace rubia::emulator
