// SPDX-License-Identifier: Apache-2.0
// What every compiled code object agrees on with whoever loads and launches it: the module table,
// the launch arguments that trail the kernel's own, and the names of both. docs/architecture.md
// describes it; changing anything here makes every cached object unusable, so kVersion is part of
// every cache key.
#pragma once

#include "lowering/DeviceState.h"
#include "lowering/TensorMap.h"
#include "lowering/Texture.h"
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace rubia::abi {

inline constexpr unsigned kVersion = 12;

/// Module state lives in memory that the loader owns; each code object that needs any of it has
/// this symbol, an array of 64-bit device addresses. The loader writes it after loading the code
/// object and before the first launch.
inline constexpr const char *kModuleTable = "__rubia_module_table";

/// The device addresses of the manifest's functions, in the code object of the unit that has them:
/// the loader reads them after loading it and writes them where initialisers of variables hold
/// them.
inline constexpr const char *kFunctionTable = "__rubia_function_table";

enum ModuleTableSlot : unsigned {
  kTrapRecordSlot = 0,  // TrapRecord
  kPrintfRingSlot = 1,  // PrintfRing
  kDeviceHeapSlot = 2,  // DeviceHeap
  kAtomicLocksSlot = 3, // kAtomicLocks words, zero at first, one array for all modules of a device
  kSharedPoolSlot = 4,  // SharedPool
  kClusterPoolSlot = 5, // ClusterPool
  kFirstVariableSlot =
      8, // slot kFirstVariableSlot + i: variable i of the manifest; 6..7 are reserved and zero
};

/// Locks of atomics of 128 bits: an address's is (address >> 4 ^ address >> 14) % kAtomicLocks, of
/// the lower half of the address.
inline constexpr unsigned kAtomicLocks = 1024;

/// Where the shared memory of CTAs lies that is not in LDS: slots in device memory, one for each
/// CTA that runs. A CTA takes a slot when it starts and gives it back when its last wave ends.
/// Behind this header: `words` words with a bit for each slot, 1 if it is taken, then for each bit
/// a word with the bytes that the CTA in the slot uses, which nobody needs but who checks accesses.
struct SharedPool {
  uint32_t words;
  uint32_t reserved;
  uint64_t slots; // the address of the first
};
static_assert(sizeof(SharedPool) == 16);

/// A slot: what a CTA may have on any compute capability (kMaxSharedBytes: 9.0 and 10.x), what is
/// reserved for libraries, and what alignment costs.
inline constexpr uint32_t kMaxSharedBytes = 227 << 10;
inline constexpr uint32_t kSharedSlotBytes = 232 << 10;
inline constexpr uint32_t kSharedSlotAlignment = 4 << 10;

/// Such a launch asks for this much dynamic LDS, which nobody uses: so no more CTAs run at once
/// than there are slots.
inline constexpr uint32_t kSharedPoolLdsBytes = 15 << 10;

/// The slots that a multiprocessor with this much LDS needs.
constexpr uint32_t sharedSlotsFor(uint32_t ldsBytes) { return ldsBytes / kSharedPoolLdsBytes; }

constexpr uint32_t sharedPoolWords(uint32_t slots) { return (slots + 31) / 32; }
constexpr size_t sharedPoolHeaderBytes(uint32_t slots) {
  return sizeof(SharedPool) + sharedPoolWords(slots) * size_t(4 + 32 * 4);
}

static_assert(kSharedSlotBytes % kSharedSlotAlignment == 0);

/// Writes sharedPoolHeaderBytes(slots) bytes: all slots are free.
inline void makeSharedPoolHeader(void *header, uint32_t slots, uint64_t firstSlot) {
  const uint32_t words = sharedPoolWords(slots);
  const SharedPool pool{words, 0, firstSlot};
  memset(header, 0, sharedPoolHeaderBytes(slots));
  memcpy(header, &pool, sizeof(pool));
  if (slots % 32) { // the last word has bits that stand for no slot
    const uint32_t taken = ~uint32_t(0) << slots % 32;
    memcpy(static_cast<char *>(header) + sizeof(pool) + (words - 1) * 4, &taken, 4);
  }
}

// ---------- Clusters of several CTAs

/// As many as NVIDIA's largest, the non-portable one, has.
inline constexpr uint32_t kMaxClusterCtas = 16, kMaxPortableClusterCtas = 8;

/// A .shared address in code for clusters: the CTA's rank in the upper bits, where in its slot in
/// the lower ones.
inline constexpr unsigned kClusterRankAt = 24;

/// Where clusters have their shared memory: the slots of a cluster's CTAs follow each other by
/// their rank. Behind this header: for each slot 64 bits, of which a cluster uses those of its
/// first (ClusterBarrier); `words` words with a bit for each slot, 1 if it is taken; for each slot
/// a word with the bytes that its CTA uses and, from kClusterRunAt on, the logarithm of the number
/// of slots that its cluster has, which nobody needs but who checks accesses.
struct ClusterPool {
  uint32_t words;
  uint32_t tickets; // workgroups that have begun, of the launch that runs
  uint64_t slots;   // the address of the first
  uint64_t meeting; // ClusterMeeting
  uint64_t reserved;
};
static_assert(sizeof(ClusterPool) == 32);
inline constexpr unsigned kClusterRunAt = 24;

/// Clusters find their slots one after the other.
enum ClusterMeeting : unsigned {
  kMeetingCluster = 0, // 32 bits: whose turn it is
  kMeetingSlot = 32,   // 16 bits: its first slot plus 1, or 0 while it has none
  kMeetingJoined = 48, // its CTAs that have read the slot
};

/// The waves of a cluster.
enum ClusterBarrier : unsigned {
  kBarrierLive = 0,     // 16 bits: that have not ended
  kBarrierArrived = 16, // 16 bits: of those, which have arrived in this phase
  kBarrierPhase = 32,
};

constexpr uint32_t clusterPoolSlots(uint32_t slots) { // whole words, and one whole cluster
  return (slots + 31) / 32 * 32;
}
constexpr size_t clusterPoolHeaderBytes(uint32_t slots) { // which are whole words
  return sizeof(ClusterPool) + slots * size_t(8 + 4) + slots / 32 * size_t(4);
}
/// Where in the header the words are that tell what of each slot is used.
constexpr size_t clusterPoolUsedAt(uint32_t slots) {
  return sizeof(ClusterPool) + slots * size_t(8) + slots / 32 * size_t(4);
}
static_assert(kSharedSlotBytes < 1 << kClusterRankAt);

/// Writes clusterPoolHeaderBytes(slots) bytes: all slots are free.
inline void makeClusterPoolHeader(void *header, uint32_t slots, uint64_t firstSlot) {
  const ClusterPool pool{slots / 32, 0, firstSlot, 0, 0};
  memset(header, 0, clusterPoolHeaderBytes(slots));
  memcpy(header, &pool, sizeof(pool));
}

/// The first thread that traps claims the record (compare and swap of `claimed` from 0 to 1) and
/// says why and where.
struct TrapRecord {
  uint32_t claimed;
  uint32_t reason; // TrapReason
  uint32_t place;  // Unsupported and what follows Assertion: index into the unit's "traps" list of
                   /// the metadata; else 0
  uint32_t ctaid[3];
  uint32_t tid[3];
  uint32_t reserved[7];
};
static_assert(sizeof(TrapRecord) == 64);

enum class TrapReason : uint32_t {
  None = 0,
  TrapInstruction = 1,
  Unsupported = 2,
  Assertion = 3, // what it says is in the printf ring; the wave ended without a trap
  NeedsIndependentScheduling = 4,
  /// What NVIDIA's hardware refuses; the unit's "traps" say what and where.
  IllegalInstruction = 5,
  MisalignedAddress = 6,
  BarrierMisuse = 7,
  SurfaceAccess = 8,
};

/// Follows the kernel's parameters in the kernarg segment, at the parameters' size rounded up to 8.
/// The hidden arguments of AMDGPUUsage follow it at once, so that code without access to the
/// kernarg segment (a function called by several kernels) finds it at llvm.amdgcn.implicitarg.ptr -
/// sizeof(LaunchArguments).
struct LaunchArguments {
  uint32_t ntid[3];            // %ntid as CUDA means it, whatever the dispatched workgroup is
  uint32_t dynamicSharedBytes; // %dynamic_smem_size
  uint32_t nctaid[3];
  uint32_t totalSharedBytes; // %total_smem_size: static and dynamic, in whole allocation units
  uint64_t gridId;           // %gridid
  uint64_t gridWorkspace;    // %envreg1 (high half), %envreg2 (low half): that of grid.sync()
  uint32_t flags;            // LaunchFlag, sharedRounding() and parameterSize()
  uint32_t cluster;          // CTAs of a cluster in x, y and z, 8 bits each; 0: one CTA
  uint64_t reserved1;
};
static_assert(sizeof(LaunchArguments) == 64);

enum LaunchFlag : uint32_t {
  kExplicitCluster = 1, // %is_explicit_cluster: the launch gave a cluster's size
  /// Workgroups begin cluster by cluster, and all of a cluster run: each is the CTA of the same
  /// indices. Else which CTA one is follows from the order in which they begin.
  kWorkgroupsInOrder = 2,
};

/// The unit in which %total_smem_size counts. PTX ISA: special-registers-total-smem-size, sm_8x.
inline constexpr uint32_t kSharedAllocationUnit = 128;

constexpr uint32_t totalSharedBytes(uint64_t staticBytes, uint32_t dynamicBytes) {
  return uint32_t((staticBytes + dynamicBytes + kSharedAllocationUnit - 1) / kSharedAllocationUnit *
                  kSharedAllocationUnit);
}

/// By how much totalSharedBytes was rounded up, for %aggr_smem_size, in bits 8 to 14 of the flags.
/// With zero there, as from older runtimes, that register is rounded up too.
inline constexpr unsigned kSharedRoundingShift = 8;
constexpr uint32_t sharedRounding(uint64_t staticBytes, uint32_t dynamicBytes) {
  return (totalSharedBytes(staticBytes, dynamicBytes) - uint32_t(staticBytes + dynamicBytes))
         << kSharedRoundingShift;
}

/// The size of the kernel's parameters, for functions that ask whether an address is in them, in
/// bits 16 to 31 of the flags: PTX has no more than 32,764 bytes. With zero there, as from older
/// runtimes, none is.
inline constexpr unsigned kParameterSizeShift = 16;
constexpr uint32_t parameterSize(size_t parameterBytes) {
  return uint32_t(parameterBytes) << kParameterSizeShift;
}

constexpr size_t launchArgumentsOffset(size_t parameterBytes) {
  return (parameterBytes + 7) & ~size_t(7);
}

/// How PTX's 32-thread warp lies in AMD's waves. In the metadata of every kernel, with the reason
/// for the choice.
enum class WarpForm : uint8_t {
  Wave32,     // one warp is one wave32
  HalfFilled, // one warp per wave64, lanes 32..63 idle: the workgroup is {64 * number of warps, 1,
              /// 1}
  Packed,     // two warps share a wave64
};

/// Of a CTA, and the lanes of a workgroup, of which the half-filled form uses every second 32.
inline constexpr uint32_t kMostThreads = 1024, kMostHalfFilledThreads = kMostThreads / 2;

/// The workgroup that is dispatched for a CTA of `threads` threads in the half-filled form.
constexpr uint32_t halfFilledWorkgroupSize(uint32_t threads) { return (threads + 31) / 32 * 64; }

} // namespace rubia::abi
