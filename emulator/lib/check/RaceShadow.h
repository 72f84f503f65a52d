// SPDX-License-Identifier: Apache-2.0
// Who touched each byte of memory last, for the check `races`: a cell for every dword, or for each
// byte of a dword that is not always accessed as a whole.
#pragma once

#include "emulator/lib/decode/InstructionStep.h"
#include "emulator/lib/machine/VectorClock.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include <array>
#include <cstdint>
#include <memory>

namespace rubia::emulator {

/// An access at a time of its thread.
struct RaceAccess {
  uint32_t thread = 0; // 0: none
  uint32_t clock = 0;
  uint32_t pc = 0;
  uint8_t lane = 0; // of the wave
  Strength strength = Strength::Unknown;
  bool writes = false;
  bool compares = false; // a compare-and-swap
  bool partly = false;   // of the dword only a part
};

struct RaceWrite : RaceAccess {
  bool atomic = false;   // read and written at once
  bool nearWait = false; // perhaps a release or volatile
  bool coherent = false; // by its cache policy
  uint32_t released = 0; // what had been completed of the thread then...
  uint32_t value = 0;
  VectorClock known; // ...and what it knew of others, unless it is atomic
};

struct RaceCell {
  RaceWrite write;
  RaceAccess read;           // since the last write, or the last weak one
  uint32_t moreReads = 0;    // of other threads: a number of RaceShadow::readsOf()
  bool synchronises = false; // somebody polls it or loads it coherently
};

class RaceShadow {
public:
  RaceShadow() : reads(1) {}
  /// Calls `visit` with each cell of [address, address + bytes), its address and size.
  void visit(uint64_t address, unsigned bytes,
             llvm::function_ref<void(RaceCell &, uint64_t, unsigned)> visit);
  /// Reads of other threads than that of cell.read.
  llvm::ArrayRef<RaceAccess> readsOf(const RaceCell &cell) const { return reads[cell.moreReads]; }
  /// Of strong reads, which many threads may poll with, only the last is kept, beside no others.
  void addRead(RaceCell &cell, const RaceAccess &access);
  void clearReads(RaceCell &cell);

private:
  static constexpr uint64_t kPageBytes = 4096;
  using Page = std::array<RaceCell, kPageBytes / 4>;
  using Bytes = std::array<RaceCell, 4>;
  Page &pageOf(uint64_t address);
  RaceCell *bytesOf(uint64_t dword, const RaceCell &whole);

  llvm::DenseMap<uint64_t, std::unique_ptr<Page>> pages;
  llvm::DenseMap<uint64_t, std::unique_ptr<Bytes>> split; // by the dword's address
  std::vector<llvm::SmallVector<RaceAccess, 0>> reads;    // 0: none
  std::vector<uint32_t> freeReads;
  uint64_t lastPage = ~uint64_t(0);
  Page *last = nullptr;
};

} // namespace rubia::emulator
