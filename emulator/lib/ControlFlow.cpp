// Branches, program end, barriers, traps, messages, clocks and hardware registers (RDNA3 ISA
// "Program Flow Control"; waits and scheduling hints are dropped when code is decoded).
#include "emulator/lib/ControlFlow.h"
#include "emulator/lib/ScalarAlu.h"
#include "emulator/lib/Workgroup.h"
#include <chrono>

namespace rubia::emulator {

void Wave::setMode(uint32_t value) {
  modeRegister = value;
  FloatMode &mode = lane.mode;
  mode.round32 = value & 3;
  mode.round16And64 = value >> 2 & 3;
  mode.flushSource32 = !(value >> 4 & 1);
  mode.flushResult32 = !(value >> 5 & 1);
  mode.flushSource16And64 = !(value >> 6 & 1);
  mode.flushResult16And64 = !(value >> 7 & 1);
  mode.dx10Clamp = value >> 8 & 1;
  mode.ieee = value >> 9 & 1;
  mode.fp16Overflow = value >> 23 & 1;
  special = uint8_t((mode.flushSource32 || mode.flushResult32 ? kFlush32 : 0) |
                    (mode.flushSource16And64 || mode.flushResult16And64 ? kFlush16And64 : 0) |
                    (mode.round32 ? kRound32 : 0) | (mode.round16And64 ? kRound16And64 : 0));
}

namespace {

enum HardwareRegister : unsigned {
  kMode = 1,
  kStatus = 2,
  kTrapStatus = 3,
  kHwId = 4, // gfx9
  kGprAlloc = 5,
  kLdsAlloc = 6,
  kIbStatus = 7,
  kMemBases = 15,
  kFlatScratchLow = 20,  // gfx10
  kFlatScratchHigh = 21, // gfx10
  kHwId1 = 23,           // gfx10 and later
  kHwId2 = 24,
  kShaderCycles = 29,
  kShaderCyclesHigh = 30,
};

/// Nanoseconds of a steady clock.
uint64_t nanoseconds() {
  return uint64_t(std::chrono::steady_clock::now().time_since_epoch() /
                  std::chrono::nanoseconds(1));
}
/// The shader clock, taken to be 2 GHz, and the constant 100 MHz clock.
uint64_t shaderCycles() { return nanoseconds() * 2; }
uint64_t realTime() { return nanoseconds() / 10; }

uint32_t readHardwareRegister(const Wave &w, unsigned id) {
  switch (id) {
  case kMode:
    return w.modeRegister;
  case kStatus:
    return uint32_t(w.scc) | uint32_t(w.exec() == 0) << 9 | uint32_t(w.mask(kVcc) == 0) << 10;
  case kTrapStatus:
    return w.trapStatus;
  case kHwId:
    return (w.indexInGroup & 15) | (w.indexInGroup & 3) << 4 | (w.group->worker & 15) << 8;
  case kHwId1:
    return (w.indexInGroup & 31) | (w.indexInGroup & 3) << 8 | (w.group->worker & 15) << 10;
  case kHwId2:
  case kIbStatus:
    return 0;
  case kGprAlloc:
    return (w.vgprCount / 8) << 8;
  case kLdsAlloc:
    return ((w.ldsSize + 511) / 512) << 12;
  case kMemBases:
    return (kPrivateAperture >> 16) | (kSharedAperture >> 16) << 16;
  case kFlatScratchLow:
    return w.scalars[kFlatScratch];
  case kFlatScratchHigh:
    return w.scalars[kFlatScratch + 1];
  case kShaderCycles:
    return w.group->generationOfTarget >= 12 ? uint32_t(shaderCycles())
                                             : uint32_t(shaderCycles()) & 0xfffff;
  case kShaderCyclesHigh:
    return uint32_t(shaderCycles() >> 32);
  }
  return 0;
}

void writeHardwareRegister(Wave &w, unsigned id, uint32_t mask, uint32_t value) {
  switch (id) {
  case kMode:
    w.setMode((w.modeRegister & ~mask) | (value & mask));
    return;
  case kTrapStatus:
    w.trapStatus = (w.trapStatus & ~mask) | (value & mask);
    return;
  case kFlatScratchLow:
  case kFlatScratchHigh: {
    uint32_t &half = w.scalars[kFlatScratch + (id - kFlatScratchLow)];
    half = (half & ~mask) | (value & mask);
    return;
  }
  default:
    return; // read-only, or without effect here; decoding refuses the others
  }
}

struct Field {
  unsigned id, offset, width;
  explicit Field(int32_t operand)
      : id(operand & 63), offset(operand >> 6 & 31), width((operand >> 11 & 31) + 1) {}
  uint32_t mask() const { return width == 32 ? ~0u : (1u << width) - 1; }
};

void setRegister(Wave &w, const MicroOp &op, uint32_t value) {
  Field field(op.immediate);
  writeHardwareRegister(w, field.id, field.mask() << field.offset, value << field.offset);
}

void jump(Wave &w, const MicroOp &op) { w.next = &op + op.immediate; }

template <auto Condition>
constexpr Handler branchIf = [](Wave &w, const MicroOp &op) {
  if (Condition(w))
    w.next = &op + op.immediate;
};

void jumpTo(Wave &w, const MicroOp &op, uint64_t address) {
  if (const MicroOp *target = w.group->code->find(address))
    w.next = target;
  else
    raise(w, op, FaultKind::IllegalInstruction, 0, address);
}

/// GET_REALTIME is the only message with an answer that is not 0.
uint64_t messageReply(const MicroOp &op) { return op.source[0] == 131 ? realTime() : 0; }

constexpr ScalarSemantics kRows[] = {
    {"S_BRANCH", jump},
    {"S_CBRANCH_SCC0", branchIf<[](const Wave &w) { return !w.scc; }>},
    {"S_CBRANCH_SCC1", branchIf<[](const Wave &w) { return w.scc; }>},
    {"S_CBRANCH_VCCZ", branchIf<[](const Wave &w) { return w.mask(kVcc) == 0; }>},
    {"S_CBRANCH_VCCNZ", branchIf<[](const Wave &w) { return w.mask(kVcc) != 0; }>},
    {"S_CBRANCH_EXECZ", branchIf<[](const Wave &w) { return w.exec() == 0; }>},
    {"S_CBRANCH_EXECNZ", branchIf<[](const Wave &w) { return w.exec() != 0; }>},
    {"S_SETPC_B64",
     scalar<[](Wave &w, const MicroOp &op, uint64_t target) { jumpTo(w, op, target); }>},
    {"S_SWAPPC_B64", scalar<[](Wave &w, const MicroOp &op, uint64_t target) {
       w.setPair(op.result, op.source[3]);
       jumpTo(w, op, target);
     }>},
    {"S_CALL_B64", scalar<[](Wave &w, const MicroOp &op) {
       w.setPair(op.result, op.source[3]);
       jump(w, op);
     }>},
    {"S_GETPC_B64", scalar<[](Wave &w, const MicroOp &op) { w.setPair(op.result, op.source[3]); }>},
    {"S_ENDPGM", scalar<[](Wave &w) { w.halt(WaveStatus::Ended); }>},
    {"S_BARRIER", scalar<[](Wave &w, const MicroOp &op) {
       // Lanes that were off at an earlier barrier may have ended, but must not come back.
       if (w.exec() & ~w.barrierLanes)
         return raise(w, op, FaultKind::BarrierDivergence);
       w.barrierLanes = w.exec();
       w.halt(WaveStatus::AtBarrier);
     }>},
    {"S_SLEEP", scalar<[](Wave &w) { w.halt(WaveStatus::Yielded); }>},
    {"S_TRAP", scalar<[](Wave &w, const MicroOp &op) {
       if (op.immediate != 3) // 3 is llvm.debugtrap, which goes on without a debugger
         raise(w, op, FaultKind::Trap);
     }>},
    {"S_SETHALT", scalar<[](Wave &w, const MicroOp &op) {
       if (op.immediate & 1)
         raise(w, op, FaultKind::Trap);
     }>},
    {"S_SENDMSG_RTN_B32", scalar<[](const MicroOp &op) { return uint32_t(messageReply(op)); }>},
    {"S_SENDMSG_RTN_B64", scalar<[](const MicroOp &op) { return messageReply(op); }>},
    {"S_MEMTIME", scalar<[]() { return shaderCycles(); }>},
    {"S_MEMREALTIME", scalar<[]() { return realTime(); }>},
    {"S_GETREG_B32", scalar<[](Wave &w, const MicroOp &op) {
       Field field(op.immediate);
       w.scalars[op.result] = readHardwareRegister(w, field.id) >> field.offset & field.mask();
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
    {"S_DCACHE_INV", scalar<[]() { std::atomic_thread_fence(std::memory_order_seq_cst); }>},
};

} // namespace

const ScalarTable kControlFlow = table(kRows);

bool canReadHardwareRegister(unsigned id) {
  switch (id) {
  case kMode:
  case kStatus:
  case kTrapStatus:
  case kHwId:
  case kGprAlloc:
  case kLdsAlloc:
  case kIbStatus:
  case kMemBases:
  case kFlatScratchLow:
  case kFlatScratchHigh:
  case kHwId1:
  case kHwId2:
  case kShaderCycles:
  case kShaderCyclesHigh:
    return true;
  default:
    return false;
  }
}

bool canWriteHardwareRegister(unsigned id) {
  return id == kMode || id == kTrapStatus || id == kFlatScratchLow || id == kFlatScratchHigh;
}

void illegalInstruction(Wave &wave, const MicroOp &op) {
  raise(wave, op, FaultKind::IllegalInstruction);
}

} // namespace rubia::emulator
