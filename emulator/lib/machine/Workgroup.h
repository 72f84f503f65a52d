// SPDX-License-Identifier: Apache-2.0
// What the waves of a workgroup share, as the handlers see it.
#pragma once

#include "emulator/lib/machine/Wave.h"
#include "emulator/lib/machine/WaveSync.h"
#include "targets/Target.h"
#include <atomic>

namespace rubia::emulator {

class Memory;

/// The decoded code of a code object: operations in address order, and where the code lies.
struct CodeMap {
  uint64_t base = 0;                   // address of the first byte that `indices` covers
  uint32_t size = 0;                   // in bytes
  const uint32_t *indices = nullptr;   // per dword: index of its operation, or ~0u
  const MicroOp *operations = nullptr; // pc of an operation is relative to `imageBase`
  uint64_t imageBase = 0;

  const MicroOp *find(uint64_t address) const {
    uint64_t offset = address - base;
    if (offset >= size || offset % 4 != 0 || indices[offset / 4] == ~0u)
      return nullptr;
    return operations + indices[offset / 4];
  }
};

struct FaultRecord {
  bool set = false;
  FaultKind kind = FaultKind::OutOfBounds;
  unsigned wave = 0, lane = 0;
  uint32_t pc = 0;
  uint64_t address = 0;
  uint32_t size = 0;
  bool isWrite = false;
  bool isWarning = false;
};

/// Address bits 63:32 of the LDS and scratch apertures. They lie above the host's user space.
constexpr uint32_t kSharedAperture = 0x10000;
constexpr uint32_t kPrivateAperture = 0x20000;

struct Barrier {
  uint32_t members = 0; // waves that must signal
  uint32_t signals = 0; // so far
  uint32_t phase = 0;   // how often it has completed
  void signal();
  void complete(); // if all members have signalled
};

/// The last invalidation of a cache that came around in a short loop; see DecodeMemory.cpp.
struct Poll {
  const Wave *wave = nullptr;
  const MicroOp *at = nullptr, *from = nullptr;
  int64_t left = 0;     // Wave::left there
  bool yielded = false; // the wave gave way there
  bool known = false;   // the scalars below are those there
  uint32_t scalars[kScalarCount] = {};
};

struct Workgroup {
  static constexpr unsigned kNamedBarriers = 16;

  const CodeMap *code = nullptr;
  Memory *memory = nullptr;
  const std::atomic<uint64_t> *generation = nullptr; // of memory
  uint64_t device = ~uint64_t(0);                    // a DeviceSet: the one that it runs on
  WaveSync *sync = nullptr;                          // of a cooperative launch
  FaultRecord fault;
  const targets::Target *target = &targets::byDefault();
  uint32_t worker = 0; // which host thread, as a stand-in for a compute unit
  AccessWindow window[8];
  unsigned nextWindow = 0;
  uint32_t ldsAllocated = 0;
  /// Bounds::lds: lanes beyond the end of LDS access 16 bytes of their own behind it instead, at
  /// `ldsHole`, which are zero before; else 0.
  uint32_t ldsHole = 0;
  bool movesRelative = false; // a wave may have changed registers that its code does not name
  Poll poll;
  Barrier barriers[1 + kNamedBarriers]; // the first is the workgroup's

  void resetBarriers(unsigned waveCount);
  /// A wave that has ended is not waited for.
  void waveEnded();
  /// Whether the barrier that the wave waits for has completed.
  bool mayPass(const Wave &wave) const;
};

} // namespace rubia::emulator
