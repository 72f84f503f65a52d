// SPDX-License-Identifier: Apache-2.0
// What an instruction that looks across lanes sees of its wave.
#pragma once

#include "emulator/lib/machine/LaneTypes.h"

namespace rubia::emulator {

/// The operands of an instruction that is not lanewise. Lanes are numbered within the wave.
class WaveOperands {
public:
  unsigned laneCount() const; // the wave size
  uint64_t exec() const;
  bool active(unsigned lane) const { return exec() >> lane & 1; }
  /// The lowest active lane, or 0 if EXEC is 0, as V_READFIRSTLANE_B32 does.
  unsigned firstActiveLane() const;
  unsigned sourceCount() const;
  /// Whether source `i` is a vector register; else all lanes and all dwords of an operand see one
  /// scalar or constant.
  bool sourceIsVector(unsigned i) const;
  /// Register `dword` of source `i` in a lane; the same in all lanes if the source is scalar. Lane
  /// numbers wrap.
  uint32_t source(unsigned i, unsigned lane, unsigned dword = 0) const;
  /// The modifier immediate of source `i` (neg 1, abs or neg_hi 2, op_sel 4, op_sel_hi 8); nothing
  /// is applied to sources.
  uint32_t modifiers(unsigned i) const;
  /// An immediate operand after the sources by LLVM's name for it: clamp, ...; 0 if absent.
  bool clamp() const;
  const MatrixControl &matrix() const;
  /// Whether sums of unspecified order are to be taken in the other order
  /// (RUBIA_EMULATOR_TRANS=worst).
  bool reversesSums() const;
  /// The operands bound_ctrl and fi (V_PERMLANE32_SWAP_B32).
  bool boundControl() const;
  bool fetchInactive() const;
  const FloatMode &mode() const;
  uint32_t m0() const;
  uint64_t vcc() const;
  /// Writes a lane of the destination whether it is active or not; callers check active().
  void setResult(unsigned lane, uint32_t value, unsigned dword = 0);
  uint32_t result(unsigned lane, unsigned dword = 0) const; // the destination's present contents
  /// Writes the scalar destination (one SGPR).
  void setScalarResult(uint32_t value);
  /// Writes a lane of a vector source (V_SWAP_B32).
  void setSource(unsigned i, unsigned lane, uint32_t value, unsigned dword = 0);
  /// Relative addressing (V_MOVRELS_B32): the vector source or destination `offset` registers
  /// further on. Out of the allocated range is a fault of the wave, and reads 0.
  uint32_t sourceRelative(unsigned i, unsigned lane, uint32_t offset) const;
  uint32_t resultRelative(unsigned lane, uint32_t offset) const;
  void setSourceRelative(unsigned i, unsigned lane, uint32_t offset, uint32_t value);
  void setResultRelative(unsigned lane, uint32_t offset, uint32_t value);

private:
  uint32_t *relative(uint64_t registerOffset, unsigned lane, uint32_t offset) const;
  friend struct WaveOperandsAccess;
  WaveOperands() = default;
  Wave *wave = nullptr;
  const MicroOp *op = nullptr;
};

} // namespace rubia::emulator
