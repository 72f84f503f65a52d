#include "emulator/lib/InitialState.h"
#include "emulator/lib/Program.h"
#include <algorithm>

namespace rubia::emulator {

unsigned allocatedVgprs(const Kernel &kernel, const Generation &generation) {
  unsigned granule = kernel.waveSize == 32 ? generation.vgprGranule32 : generation.vgprGranule64;
  return ((kernel.resource1 & 63) + 1) * granule;
}

KernargPreload kernargPreload(const Kernel &kernel) {
  return {unsigned(kernel.kernargPreload >> 7), kernel.kernargPreload & 0x7fu};
}

/// MODE as COMPUTE_PGM_RSRC1 sets it.
static uint32_t initialMode(const Kernel &kernel, const Generation &generation) {
  uint32_t mode = kernel.resource1 >> 12 & 0xff; // rounding and denormals
  if (generation.hasDx10ClampAndIeee)
    mode |= (kernel.resource1 >> 21 & 1) << 8 | (kernel.resource1 >> 23 & 1) << 9;
  mode |= (kernel.resource1 >> 26 & 1) << 23; // FP16_OVFL
  return mode;
}

/// The buffer resource for scratch: swizzled by lane in elements of four bytes, so that an offset
/// of a lane is dword offset / 4 of every lane's (AMDGPUUsage "Private Segment Buffer").
static void writeScratchResource(Wave &wave, unsigned first, const Generation &generation,
                                 const ScratchArea &scratch) {
  constexpr uint32_t kSwizzle = 1u << 31, kAddThreadId = 1u << 23, kElementOf4 = 1u << 19,
                     kGfx10Level = 1u << 24, kGfx10Unchecked = 2u << 28;
  const uint32_t indexStride = (wave.lanes() == 64 ? 3u : 2u) << 21;
  wave.scalars[first] = uint32_t(scratch.base);
  wave.scalars[first + 1] = uint32_t(scratch.base >> 32 & 0xffff) | kSwizzle;
  wave.scalars[first + 2] = uint32_t(std::min<uint64_t>(scratch.size, ~0u));
  wave.scalars[first + 3] =
      indexStride | kAddThreadId |
      (generation.major == 9 ? kElementOf4 : uint32_t(kGfx10Level | kGfx10Unchecked));
}

/// User SGPRs, packed in this order if enabled, then system SGPRs from USER_SGPR_COUNT on.
static void initialiseScalars(Wave &wave, const Launch &launch, const Target &target,
                              const WaveInputs &inputs) {
  const Kernel &kernel = *launch.kernel;
  const Generation &generation = target.generation();
  const Dim3 workgroup = inputs.workgroup;
  unsigned next = 0;
  auto pair = [&](uint64_t value) {
    wave.setPair(next, value);
    next += 2;
  };
  const uint16_t properties = kernel.properties;
  if (properties & 1) {
    writeScratchResource(wave, next, generation, inputs.scratch);
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

  if (generation.architectedFlatScratch)
    wave.setPair(kFlatScratch, uint64_t(wave.scratch));
  next = kernel.resource2 >> 1 & 31;
  if (generation.workgroupIdsInTtmp) {
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
  if (!generation.architectedFlatScratch && kernel.resource2 & 1)
    wave.scalars[next++] = uint32_t(uint64_t(wave.scratch) - inputs.scratch.base);
}

/// Ids that the descriptor does not ask for are not there: packed ones are zero, the registers of
/// unpacked ones keep what they held.
static void initialiseWorkItems(Wave &wave, const Launch &launch, const Target &target) {
  const Dim3 block = launch.block;
  const unsigned enabled = launch.kernel->resource2 >> 11 & 3; // 0: x, 1: x y, 2: x y z
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
    if (target.generation().packedWorkItemIds) {
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

/// Vector registers, also those that only a callee uses, and accumulation registers, of which the
/// last one that is named may begin a group of 32.
static void poisonVectors(Wave &wave, unsigned allocated) {
  const unsigned used = wave.vgprCount - 1; // without the decoder's register
  const unsigned plain = std::min(std::max(allocated, used), kFirstAccumulator);
  for (unsigned block = 0; block < wave.blocks; ++block) {
    std::fill_n(wave.block(block) + vectorOffset(0), plain * kBlockLanes, kPoison);
    if (used > kFirstAccumulator)
      std::fill_n(wave.block(block) + vectorOffset(kFirstAccumulator),
                  (used - kFirstAccumulator + 31) * kBlockLanes, kPoison);
  }
}

uint64_t entryOf(const Kernel &kernel) {
  // Firmware that preloads arguments starts behind the 256 bytes that load them for firmware that
  // does not (AMDGPUUsage "Preloaded Kernel Arguments").
  return kernel.entryAddress + (kernargPreload(kernel).count ? 256 : 0);
}

void initialiseWave(Wave &wave, const Launch &launch, const Target &target,
                    const WaveInputs &inputs) {
  // What nothing initialises holds what some other program left: not zeros, and always the same.
  std::fill(std::begin(wave.scalars), std::end(wave.scalars), kPoison);
  poisonVectors(wave, allocatedVgprs(*launch.kernel, target.generation()));
  wave.scc = false;
  wave.stop = false;
  wave.status = WaveStatus::Ready;
  wave.instructions = 0;
  wave.inWaveSync = false;
  wave.trapStatus = 0;
  wave.lane = LaneState();
  wave.setMode(initialMode(*launch.kernel, target.generation()));
  initialiseScalars(wave, launch, target, inputs);
  initialiseWorkItems(wave, launch, target);
  const uint64_t first = uint64_t(wave.indexInGroup) * wave.lanes();
  const uint64_t active = std::min<uint64_t>(launch.block.count() - first, wave.lanes());
  const uint64_t exec = active >= 64 ? ~uint64_t(0) : (uint64_t(1) << active) - 1;
  wave.scalars[kExec] = uint32_t(exec);
  wave.scalars[kExec + 1] = uint32_t(exec >> 32);
  wave.barrierLanes = exec;
  wave.joined = wave.waitsFor = 0;
  wave.barrierPhase[0] = wave.barrierPhase[1] = 0;
  wave.next = launch.kernel->program->map.find(entryOf(*launch.kernel));
}

} // namespace rubia::emulator
