// SPDX-License-Identifier: Apache-2.0
#include "emulator/lib/machine/GprIndexing.h"

namespace rubia::emulator {

bool addGprIndex(Wave &w, MicroOp &op) {
  constexpr unsigned kFirstBit = 12, kResult = 3;
  const uint32_t m0 = w.scalars[kM0], offset = (m0 & 0xff) * kBlockLanes;
  const VectorDetail &detail = *op.detail;
  auto applies = [&](unsigned bit) { return m0 >> (kFirstBit + bit) & 1; };
  auto inside = [&](uint64_t first, unsigned registers) {
    return first + uint64_t(registers) * kBlockLanes <= uint64_t(w.vgprCount) * kBlockLanes;
  };
  bool valid = true;
  for (unsigned i = 0; i < 3; ++i)
    if (detail.registers[i] && applies(detail.tiedSource == i ? kResult : i)) {
      op.source[i] += offset;
      valid &= inside(op.source[i], detail.registers[i]);
    }
  if (const unsigned registers = detail.registers[4]; registers && applies(kResult)) {
    op.result += offset;
    valid &= inside(op.result, registers);
  }
  if (!valid)
    raise(w, op, FaultKind::IllegalInstruction, 0, m0 & 0xff);
  return valid;
}

} // namespace rubia::emulator
