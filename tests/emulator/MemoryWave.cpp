// SPDX-License-Identifier: Apache-2.0
#include "tests/emulator/MemoryWave.h"

namespace rubia::emulator::test {

MemoryWave::MemoryWave(const TargetCase &target)
    : AssemblyWave(target.cpu, target.waveSize), target(target), lds(kBytes + 16) {
  wave.group->target = &target.row();
  wave.group->memory = &memory;
  wave.group->generation = &generationOf(memory);
  constexpr unsigned kRegisters = 400;
  file.resize(2 * kRegisters * kBlockLanes);
  wave.vgprs = file.data();
  wave.blockStride = kRegisters * kBlockLanes;
  wave.vgprCount = kRegisters;
  for (unsigned r = 0; r + 1 < kRegisters; ++r)
    for (unsigned lane = 0; lane < lanes(); ++lane)
      v(r, lane) = start(r, lane);
  auto allocated = memory.allocate(kBytes, MemoryKind::Device);
  global = static_cast<uint8_t *>(llvm::cantFail(std::move(allocated)));
  scratch.resize(kScratchPerLane * lanes());
  wave.lds = lds.data();
  wave.ldsSize = kBytes;
  wave.scratch = scratch.data();
  wave.scratchPerLane = kScratchPerLane;
  wave.setPair(kFlatScratch, uint64_t(wave.scratch));
  for (uint32_t i = 0; i < kBytes; ++i) {
    global[i] = uint8_t(i * 0x9e3779b1u >> 24);
    lds[i] = uint8_t(i * 0x85ebca6bu >> 24);
  }
  for (size_t i = 0; i < scratch.size(); ++i)
    scratch[i] = uint8_t(uint32_t(i) * 0xc2b2ae35u >> 24);
  wave.setPair(4, uint64_t(global));
  resource(8, uint64_t(global), 0, kBytes, rawWord3());
  addresses(0, 16);
}

MemoryWave &MemoryWave::addresses(uint32_t first, uint32_t stride) {
  for (unsigned lane = 0; lane < lanes(); ++lane) {
    v(4, lane) = first + lane * stride;
    setPair(2, lane, uint64_t(global) + uint64_t(int64_t(int32_t(v(4, lane)))));
  }
  return *this;
}

MemoryWave &MemoryWave::exec(uint64_t mask) {
  wave.setMask(kExec, lanes() == 64 ? mask : mask & 0xffffffff);
  return *this;
}

MemoryWave &MemoryWave::aperture(uint32_t high) {
  for (unsigned lane = 0; lane < lanes(); ++lane)
    setPair(6, lane, uint64_t(high) << 32 | v(4, lane));
  return *this;
}

MemoryWave &MemoryWave::resource(unsigned first, uint64_t base, uint32_t stride, uint32_t records,
                                 uint32_t word3, bool swizzled) {
  s(first) = uint32_t(base);
  s(first + 1) = uint32_t(base >> 32 & 0xffff) | stride << 16 |
                 (swizzled ? target.major() >= 11 ? 1u << 30 : 1u << 31 : 0);
  s(first + 2) = records;
  s(first + 3) = word3;
  return *this;
}

void MemoryWave::clearFault() {
  wave.group->fault = FaultRecord();
  wave.stop = false;
  wave.status = WaveStatus::Ready;
}

} // namespace rubia::emulator::test
