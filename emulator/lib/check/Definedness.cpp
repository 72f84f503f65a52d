// SPDX-License-Identifier: Apache-2.0
#include "emulator/lib/check/Definedness.h"

namespace rubia::emulator {

void VectorDefinedness::markUnwritten(const Wave &wave, uint32_t pattern) {
  for (unsigned block = 0; block < blocks; ++block) {
    const uint32_t *file = wave.block(block);
    uint32_t *at = &bits[size_t(block) * stride];
    for (uint32_t i = vectorOffset(0); i < stride; i += kBlockLanes) {
      uint32_t found = 0;
      for (unsigned lane = 0; lane < kBlockLanes; ++lane) {
        at[i + lane] = file[i + lane] == pattern ? ~0u : 0;
        found |= at[i + lane];
      }
      if (found)
        suspicious[i / kBlockLanes] = true;
    }
  }
}

void VectorDefinedness::define(uint32_t offset, const Wave &wave) {
  if (!suspicious[offset / kBlockLanes])
    return;
  bool left = false;
  for (unsigned block = 0; block < blocks; ++block) {
    const uint32_t mask = wave.scalars[kExec + block];
    uint32_t *at = &bits[index(offset, block * kBlockLanes)];
    for (unsigned lane = 0; lane < kBlockLanes; ++lane) {
      at[lane] = mask >> lane & 1 ? 0 : at[lane];
      left |= at[lane] != 0;
    }
  }
  suspicious[offset / kBlockLanes] = left;
}

bool VectorDefinedness::any(uint32_t offset, uint64_t lanes) const {
  if (!suspicious[offset / kBlockLanes])
    return false;
  uint32_t found = 0;
  for (unsigned block = 0; block < blocks; ++block) {
    const uint32_t mask = uint32_t(lanes >> (block * kBlockLanes));
    const uint32_t *at = &bits[index(offset, block * kBlockLanes)];
    for (unsigned lane = 0; lane < kBlockLanes; ++lane)
      found |= mask >> lane & 1 ? at[lane] : 0;
  }
  return found != 0;
}

} // namespace rubia::emulator
