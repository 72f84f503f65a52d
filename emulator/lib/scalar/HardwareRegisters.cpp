// SPDX-License-Identifier: Apache-2.0
// S_GETREG, S_SETREG and the MODE register (RDNA3 ISA "Hardware Registers"; the numbers differ
// between generations, AMDGPUOperandSyntax "hwreg").
#include "emulator/lib/machine/Clocks.h"
#include "emulator/lib/machine/Workgroup.h"
#include "emulator/lib/scalar/ControlFlow.h"
#include "emulator/lib/scalar/ScalarAlu.h"

namespace rubia::targets::Fact {
extern const GenerationFact hasDx10ClampAndIeee;
} // namespace rubia::targets::Fact

namespace rubia::emulator {

static constexpr uint32_t kGprIndexEnable = 1u << 27, kSkipEnable = 1u << 28; // gfx9

void Wave::setMode(uint32_t value) {
  // gfx12 has neither bit: NaNs clamp to zero, and signaling NaNs are nothing special.
  const bool hasIeee = !group || targets::Fact::hasDx10ClampAndIeee(*group->target);
  modeRegister = hasIeee ? value : value & ~0x300u;
  FloatMode &mode = lane.mode;
  mode.round32 = value & 3;
  mode.round16And64 = value >> 2 & 3;
  mode.flushSource32 = !(value >> 4 & 1);
  mode.flushResult32 = !(value >> 5 & 1);
  mode.flushSource16And64 = !(value >> 6 & 1);
  mode.flushResult16And64 = !(value >> 7 & 1);
  mode.dx10Clamp = !hasIeee || (value >> 8 & 1);
  mode.ieee = hasIeee && (value >> 9 & 1);
  mode.fp16Overflow = value >> 23 & 1;
  const bool isGfx9 = group && group->target->isa == 9;
  const bool indexes = isGfx9 && value & kGprIndexEnable;
  const bool skips = isGfx9 && value & kSkipEnable;
  if (skips) // the loop looks at each instruction
    chain = false;
  if (indexes)
    group->movesRelative = true;
  special = uint8_t((mode.flushSource32 || mode.flushResult32 ? kFlush32 : 0) |
                    (mode.flushSource16And64 || mode.flushResult16And64 ? kFlush16And64 : 0) |
                    (mode.fp16Overflow ? kFp16Overflow : 0) | (mode.round32 ? kRound32 : 0) |
                    (mode.round16And64 ? kRound16And64 : 0) | (indexes ? kGprIndex : 0) |
                    (skips ? kSkipVector : 0));
}

namespace {

enum class Register : uint8_t {
  Mode,
  Status,
  TrapStatus,
  HardwareId, // gfx9
  HardwareId1,
  HardwareId2,
  GprAllocation,
  LdsAllocation,
  Zero, // counters of outstanding operations, exception flags: nothing is ever outstanding here
  MemoryBases,
  FlatScratchLow,
  FlatScratchHigh,
  ScratchBaseLow, // read-only
  ScratchBaseHigh,
  XccId,
  ShaderCycles20, // 20 bits
  ShaderCyclesLow,
  ShaderCyclesHigh,
};

struct Row {
  uint8_t id;
  uint8_t firstMajor, lastMajor;
  Register what;
  bool writable = false;
};

constexpr Row kRegisters[] = {
    {1, 9, 12, Register::Mode, true},
    {2, 9, 12, Register::Status},
    {3, 9, 11, Register::TrapStatus, true},
    {4, 9, 9, Register::HardwareId},
    {4, 12, 12, Register::Status}, // STATE_PRIV
    {5, 9, 12, Register::GprAllocation},
    {6, 9, 12, Register::LdsAllocation},
    {7, 9, 12, Register::Zero}, // IB_STS
    {15, 9, 11, Register::MemoryBases},
    {17, 12, 12, Register::Zero}, // EXCP_FLAG_PRIV
    {18, 12, 12, Register::Zero}, // EXCP_FLAG_USER
    {20, 9, 9, Register::XccId},  // gfx942, gfx950
    {20, 10, 11, Register::FlatScratchLow, true},
    {21, 10, 11, Register::FlatScratchHigh, true},
    {20, 12, 12, Register::ScratchBaseLow},
    {21, 12, 12, Register::ScratchBaseHigh},
    {23, 10, 12, Register::HardwareId1},
    {24, 10, 12, Register::HardwareId2},
    {28, 11, 11, Register::Zero}, // IB_STS2
    {29, 10, 11, Register::ShaderCycles20},
    {29, 12, 12, Register::ShaderCyclesLow},
    {30, 12, 12, Register::ShaderCyclesHigh},
};

const Row *findRegister(unsigned id, unsigned major) {
  for (const Row &row : kRegisters)
    if (row.id == id && row.firstMajor <= major && major <= row.lastMajor)
      return &row;
  return nullptr;
}

uint32_t read(const Wave &w, Register what) {
  // A host thread stands for a compute unit; a wave's place in it is made up from its number.
  const uint32_t unit = w.group->worker & 15, slot = w.indexInGroup;
  switch (what) {
  case Register::Mode:
    return w.modeRegister;
  case Register::Status:
    return uint32_t(w.scc) | uint32_t(w.exec() == 0) << 9 | uint32_t(w.mask(kVcc) == 0) << 10;
  case Register::TrapStatus:
    return w.trapStatus;
  case Register::HardwareId: // wave 3:0, SIMD 5:4, compute unit 11:8
    return (slot & 15) | (slot & 3) << 4 | unit << 8;
  case Register::HardwareId1: // wave 4:0, SIMD 9:8, WGP 13:10
    return (slot & 31) | (slot & 3) << 8 | unit << 10;
  case Register::HardwareId2:
  case Register::Zero:
  case Register::XccId:
    return 0;
  case Register::GprAllocation:
    return (w.vgprCount / 8) << 8;
  case Register::LdsAllocation:
    return ((w.ldsSize + 511) / 512) << 12;
  case Register::MemoryBases:
    return (kPrivateAperture >> 16) | (kSharedAperture >> 16) << 16;
  case Register::FlatScratchLow:
  case Register::ScratchBaseLow:
    return w.scalars[kFlatScratch];
  case Register::FlatScratchHigh:
  case Register::ScratchBaseHigh:
    return w.scalars[kFlatScratch + 1];
  case Register::ShaderCycles20:
    return uint32_t(shaderCycles()) & 0xfffff;
  case Register::ShaderCyclesLow:
    return uint32_t(shaderCycles());
  case Register::ShaderCyclesHigh:
    return uint32_t(shaderCycles() >> 32);
  }
  return 0;
}

/// Decoding lets only writable ones through.
void write(Wave &w, Register what, uint32_t mask, uint32_t value) {
  auto merge = [&](uint32_t &target) { target = (target & ~mask) | (value & mask); };
  if (what == Register::Mode)
    w.setMode((w.modeRegister & ~mask) | (value & mask));
  else if (what == Register::TrapStatus)
    merge(w.trapStatus);
  else if (what == Register::FlatScratchLow)
    merge(w.scalars[kFlatScratch]);
  else if (what == Register::FlatScratchHigh)
    merge(w.scalars[kFlatScratch + 1]);
}

/// hwreg(id, offset, width).
struct Field {
  unsigned id, offset, width;
  explicit Field(int32_t operand)
      : id(operand & 63), offset(operand >> 6 & 31), width((operand >> 11 & 31) + 1) {}
  uint32_t mask() const { return width == 32 ? ~0u : (1u << width) - 1; }
};

void setRegister(Wave &w, const MicroOp &op, uint32_t value) {
  const Field field(op.immediate);
  const Row *row = findRegister(field.id, w.group->target->isa);
  write(w, row->what, field.mask() << field.offset, value << field.offset);
}

/// Relative addressing of vector registers on gfx9: the index is in M0 7:0, which operands it is
/// for in M0 15:12.
void setGprIndex(Wave &w, uint32_t index) {
  w.scalars[kM0] = (w.scalars[kM0] & ~0xffu) | (index & 0xff);
}
void setGprIndexMode(Wave &w, uint32_t operands) {
  w.scalars[kM0] = (w.scalars[kM0] & ~0xf000u) | (operands & 15) << 12;
}

constexpr ScalarSemantics kRows[] = {
    {"S_SET_GPR_IDX_ON", scalar<[](Wave &w, uint32_t index, uint32_t operands) {
       setGprIndex(w, index);
       setGprIndexMode(w, operands);
       w.setMode(w.modeRegister | kGprIndexEnable);
     }>},
    {"S_SET_GPR_IDX_OFF", scalar<[](Wave &w) { w.setMode(w.modeRegister & ~kGprIndexEnable); }>},
    {"S_SET_GPR_IDX_MODE",
     scalar<[](Wave &w, const MicroOp &op) { setGprIndexMode(w, uint32_t(op.immediate)); }>},
    {"S_SET_GPR_IDX_IDX", scalar<[](Wave &w, uint32_t index) { setGprIndex(w, index); }>},
    {"S_SETVSKIP", scalar<[](Wave &w, uint32_t bits, uint32_t index) {
       const uint32_t on = bits >> (index & 31) & 1 ? kSkipEnable : 0;
       w.setMode((w.modeRegister & ~kSkipEnable) | on);
     }>},
    {"S_GETREG_B32", scalar<[](Wave &w, const MicroOp &op) {
       const Field field(op.immediate);
       const Row *row = findRegister(field.id, w.group->target->isa);
       w.scalars[op.result] = read(w, row->what) >> field.offset & field.mask();
     }>},
    {"S_SETREG_B32",
     scalar<[](Wave &w, const MicroOp &op, uint32_t value) { setRegister(w, op, value); }>},
    {"S_SETREG_IMM32_B32",
     scalar<[](Wave &w, const MicroOp &op, uint32_t value) { setRegister(w, op, value); }>},
    {"S_ROUND_MODE", scalar<[](Wave &w, const MicroOp &op) {
       w.setMode((w.modeRegister & ~0xfu) | (uint32_t(op.immediate) & 0xf));
     }>},
    {"S_DENORM_MODE", scalar<[](Wave &w, const MicroOp &op) {
       w.setMode((w.modeRegister & ~0xf0u) | (uint32_t(op.immediate) & 0xf) << 4);
     }>},
};

} // namespace

const ScalarTable kHardwareRegisters = table(kRows);

bool canReadHardwareRegister(unsigned id, unsigned major) { return findRegister(id, major); }
bool canWriteHardwareRegister(unsigned id, unsigned major) {
  const Row *row = findRegister(id, major);
  return row && row->writable;
}

} // namespace rubia::emulator
