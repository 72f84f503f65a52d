// SPDX-License-Identifier: Apache-2.0
#include "emulator/lib/machine/InitialState.h"
#include "emulator/lib/machine/Program.h"
#include <algorithm>
#include <cwchar>

namespace rubia::targets::Fact {
extern const GenerationFact architectedFlatScratch, hasDx10ClampAndIeee, packedWorkItemIds,
    vgprGranule32, vgprGranule64, workgroupIdsInTtmp;
} // namespace rubia::targets::Fact

namespace rubia::emulator {

unsigned allocatedVgprs(const Kernel &kernel, const targets::Target &target) {
  unsigned granule = kernel.waveSize == 32 ? targets::Fact::vgprGranule32(target)
                                           : targets::Fact::vgprGranule64(target);
  return ((kernel.resource1 & 63) + 1) * granule;
}

KernargPreload kernargPreload(const Kernel &kernel) {
  return {unsigned(kernel.kernargPreload >> 7), kernel.kernargPreload & 0x7fu};
}

/// MODE as COMPUTE_PGM_RSRC1 sets it.
static uint32_t initialMode(const Kernel &kernel, const targets::Target &target) {
  uint32_t mode = kernel.resource1 >> 12 & 0xff; // rounding and denormals
  if (targets::Fact::hasDx10ClampAndIeee(target))
    mode |= (kernel.resource1 >> 21 & 1) << 8 | (kernel.resource1 >> 23 & 1) << 9;
  mode |= (kernel.resource1 >> 26 & 1) << 23; // FP16_OVFL
  return mode;
}

/// The buffer resource for scratch: swizzled by lane in elements of four bytes, so that an offset
/// of a lane is dword offset / 4 of every lane's (AMDGPUUsage "Private Segment Buffer").
static void writeScratchResource(Wave &wave, unsigned first, const targets::Target &target,
                                 const ScratchArea &scratch) {
  constexpr uint32_t kSwizzle = 1u << 31, kAddThreadId = 1u << 23, kElementOf4 = 1u << 19,
                     kGfx10Level = 1u << 24, kGfx10Unchecked = 2u << 28;
  const uint32_t indexStride = (wave.lanes() == 64 ? 3u : 2u) << 21;
  wave.scalars[first] = uint32_t(scratch.base);
  wave.scalars[first + 1] = uint32_t(scratch.base >> 32 & 0xffff) | kSwizzle;
  wave.scalars[first + 2] = uint32_t(std::min<uint64_t>(scratch.size, ~0u));
  wave.scalars[first + 3] =
      indexStride | kAddThreadId |
      (target.isa == 9 ? kElementOf4 : uint32_t(kGfx10Level | kGfx10Unchecked));
}

/// User SGPRs, packed in this order if enabled.
static void writeUserScalars(Wave &wave, const Kernel &kernel, const WaveInputs &inputs) {
  const targets::Target &target = kernel.program->target->row();
  unsigned next = 0;
  auto pair = [&](uint64_t value) {
    wave.setPair(next, value);
    next += 2;
  };
  const uint16_t properties = kernel.properties;
  if (properties & 1) {
    writeScratchResource(wave, next, target, inputs.scratch);
    next += 4;
  }
  if (properties & 2)
    pair(inputs.packet);
  if (properties & 4) // queue
    pair(0);
  if (properties & 8)
    pair(inputs.kernarg);
  if (properties & 16) // dispatch id
    pair(0);
  if (properties & 32) // the prologue adds the wave's offset and writes FLAT_SCRATCH
    pair(inputs.scratch.base);
  const KernargPreload preload = kernargPreload(kernel);
  for (unsigned i = 0; i < preload.count && next < 16; ++i, ++next)
    std::memcpy(&wave.scalars[next],
                reinterpret_cast<const uint8_t *>(inputs.kernarg) + 4 * (preload.offset + i), 4);
  if (properties & 64)
    wave.scalars[next++] = kernel.scratchBytes;

  if (targets::Fact::architectedFlatScratch(target))
    wave.setPair(kFlatScratch, uint64_t(wave.scratch));
}

/// System SGPRs, from USER_SGPR_COUNT on.
static void writeSystemScalars(Wave &wave, const Launch &launch, Dim3 workgroup) {
  const Kernel &kernel = *launch.kernel;
  const targets::Target &target = kernel.program->target->row();
  unsigned next = kernel.resource2 >> 1 & 31;
  if (targets::Fact::workgroupIdsInTtmp(target)) {
    wave.scalars[kTtmp + 9] = workgroup.x;
    // Without z LLVM's kernels read all of it as y.
    const bool hasZ = kernel.resource2 >> 9 & 1;
    wave.scalars[kTtmp + 7] = workgroup.y | (hasZ ? workgroup.z << 16 : 0);
    wave.scalars[kTtmp + 8] = (wave.indexInGroup & 31) << 25;
    return;
  }
  if (kernel.resource2 >> 7 & 1)
    wave.scalars[next++] = workgroup.x;
  if (kernel.resource2 >> 8 & 1)
    wave.scalars[next++] = workgroup.y;
  if (kernel.resource2 >> 9 & 1)
    wave.scalars[next++] = workgroup.z;
  if (kernel.resource2 >> 10 & 1) { // workgroup info: first wave, ordered append, number of waves
    const uint32_t waves = uint32_t((launch.block.count() + kernel.waveSize - 1) / kernel.waveSize);
    wave.scalars[next++] = (wave.indexInGroup == 0 ? 1u << 31 : 0) | (waves & 63);
  }
  if (!targets::Fact::architectedFlatScratch(target) &&
      kernel.resource2 & 1) // the waves' parts are in order
    wave.scalars[next++] = wave.indexInGroup * wave.scratchPerLane * wave.lanes();
}

/// How many registers the ids of work-items take.
static unsigned workItemRegisters(const Kernel &kernel) {
  const unsigned enabled = kernel.resource2 >> 11 & 3; // 0: x, 1: x y, 2: x y z
  return targets::Fact::packedWorkItemIds(kernel.program->target->row())
             ? 1
             : std::min(enabled, 2u) + 1;
}

/// Ids that the descriptor does not ask for are not there: packed ones are zero, the registers of
/// unpacked ones keep what they held.
static void writeWorkItems(Wave &wave, const Launch &launch) {
  const Dim3 block = launch.block;
  const Kernel &kernel = *launch.kernel;
  const unsigned enabled = kernel.resource2 >> 11 & 3;
  const uint32_t first = wave.indexInGroup * wave.lanes();
  uint32_t x = first % block.x, y = first / block.x % block.y, z = first / block.x / block.y;
  auto step = [&] {
    if (++x == block.x) {
      x = 0;
      if (++y == block.y)
        y = 0, ++z;
    }
  };
  for (unsigned lane = 0; lane < wave.lanes(); ++lane, step()) {
    if (targets::Fact::packedWorkItemIds(kernel.program->target->row())) {
      wave.vgpr(vectorOffset(0), lane) = (x & 1023) | (enabled >= 1 ? (y & 1023) << 10 : 0) |
                                         (enabled >= 2 ? (z & 1023) << 20 : 0);
    } else {
      wave.vgpr(vectorOffset(0), lane) = x;
      if (enabled >= 1)
        wave.vgpr(vectorOffset(1), lane) = y;
      if (enabled >= 2)
        wave.vgpr(vectorOffset(2), lane) = z;
    }
  }
}

/// Vector registers from `first` up to `end`, and accumulation registers up to `end`. With the host
/// library's vectors: a load that follows waits for stores that are narrower than itself.
static void poisonVectors(Wave &wave, unsigned first, unsigned end) {
  static_assert(sizeof(wchar_t) == sizeof(uint32_t));
  auto fill = [&](uint32_t *registers, unsigned count) {
    std::wmemset(reinterpret_cast<wchar_t *>(registers), wchar_t(kPoison), count * kBlockLanes);
  };
  const unsigned plain = std::min(end, kFirstAccumulator);
  for (unsigned block = 0; block < wave.blocks; ++block) {
    fill(wave.block(block) + vectorOffset(first), plain - first);
    if (end > kFirstAccumulator)
      fill(wave.block(block) + vectorOffset(kFirstAccumulator), end - kFirstAccumulator);
  }
}

uint64_t entryOf(const Kernel &kernel) {
  // Firmware that preloads arguments starts behind the 256 bytes that load them for firmware that
  // does not (AMDGPUUsage "Preloaded Kernel Arguments").
  return kernel.entryAddress + (kernargPreload(kernel).count ? 256 : 0);
}

WaveStart::WaveStart(Wave &wave, const Launch &launch, const WaveInputs &inputs, unsigned named)
    : named(std::min(named, wave.vgprCount - 1)) {
  const Kernel &kernel = *launch.kernel;
  // What nothing initialises holds what some other program left: not zeros, and always the same.
  std::fill(std::begin(wave.scalars), std::end(wave.scalars), kPoison);
  poisonVectors(wave, 0, wave.vgprCount - 1);
  wave.setMode(initialMode(kernel, kernel.program->target->row()));
  writeUserScalars(wave, kernel, inputs);
  writeWorkItems(wave, launch);
  const unsigned ids = workItemRegisters(kernel) * kBlockLanes;
  for (unsigned block = 0; block < wave.blocks; ++block) {
    const uint32_t *from = wave.block(block) + vectorOffset(0);
    workItems.insert(workItems.end(), from, from + ids);
  }
  const uint64_t first = uint64_t(wave.indexInGroup) * wave.lanes();
  const uint64_t active = std::min<uint64_t>(launch.block.count() - first, wave.lanes());
  const uint64_t exec = active >= 64 ? ~uint64_t(0) : (uint64_t(1) << active) - 1;
  wave.scalars[kExec] = uint32_t(exec);
  wave.scalars[kExec + 1] = uint32_t(exec >> 32);
  wave.barrierLanes = exec;
  initial = wave;
}

void WaveStart::apply(Wave &wave, const Launch &launch, Dim3 workgroup, bool all) const {
  const unsigned ids = unsigned(workItems.size()) / wave.blocks;
  const unsigned count = all ? wave.vgprCount - 1 : named;
  const unsigned idRegisters = ids / kBlockLanes;
  if (count > idRegisters)
    poisonVectors(wave, idRegisters, count);
  for (unsigned block = 0; block < wave.blocks; ++block)
    std::memcpy(wave.block(block) + vectorOffset(0), workItems.data() + block * ids, ids * 4);
  wave = initial;
  writeSystemScalars(wave, launch, workgroup);
}

} // namespace rubia::emulator
