// SPDX-License-Identifier: Apache-2.0
// Branches, program end, traps, messages and clocks (RDNA3 ISA "Program Flow Control"; waits and
// scheduling hints are dropped when code is decoded).
#include "emulator/lib/scalar/ControlFlow.h"
#include "emulator/lib/machine/Clocks.h"
#include "emulator/lib/machine/Workgroup.h"
#include "emulator/lib/scalar/ScalarAlu.h"

namespace rubia::emulator {

namespace {

void jump(Wave &w, const MicroOp &op) { RUBIA_GO(w, op, &op + op.immediate); }

template <auto Condition> void branchIf(Wave &w, const MicroOp &op) {
  if (Condition(w)) {
    RUBIA_GO(w, op, &op + op.immediate);
    return;
  }
  RUBIA_NEXT(w, op);
}

void jumpTo(Wave &w, const MicroOp &op, uint64_t address) {
  const MicroOp *target = w.group->code->find(address);
  if (!target)
    return raise(w, op, FaultKind::IllegalInstruction, 0, address);
  w.branch(op, target);
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
       w.branch(op, &op + op.immediate);
     }>},
    {"S_GETPC_B64", scalar<[](Wave &w, const MicroOp &op) { w.setPair(op.result, op.source[3]); }>},
    {"S_ENDPGM", scalar<[](Wave &w) { w.halt(WaveStatus::Ended); }>},
    {"S_ENDPGM_SAVED", scalar<[](Wave &w) { w.halt(WaveStatus::Ended); }>},
    // Nobody debugs: the conditions are never met.
    {"S_CBRANCH_CDBGSYS", scalar<[]() {}>},
    {"S_CBRANCH_CDBGUSER", scalar<[]() {}>},
    {"S_CBRANCH_CDBGSYS_OR_USER", scalar<[]() {}>},
    {"S_CBRANCH_CDBGSYS_AND_USER", scalar<[]() {}>},
    {"S_SUBVECTOR_LOOP_BEGIN", scalar<[](Wave &w, const MicroOp &op) {
       if (w.exec() == 0)
         return w.branch(op, &op + op.immediate);
       if (w.scalars[kExec] == 0) { // the high half only
         w.scalars[op.result] = 0;
       } else {
         w.scalars[op.result] = w.scalars[kExec + 1];
         w.scalars[kExec + 1] = 0;
       }
     }>},
    {"S_SUBVECTOR_LOOP_END", scalar<[](Wave &w, const MicroOp &op) {
       uint32_t &other = w.scalars[op.result];
       if (w.scalars[kExec + 1] != 0) { // the high half is done
         w.scalars[kExec] = other;
       } else if (other != 0) { // the low half is done
         w.scalars[kExec + 1] = other;
         other = w.scalars[kExec];
         w.scalars[kExec] = 0;
         w.branch(op, &op + op.immediate);
       }
     }>},
    {"S_SLEEP", scalar<[](Wave &w) { w.halt(WaveStatus::Yielded); }>},
    {"S_SLEEP_VAR", scalar<[](Wave &w) { w.halt(WaveStatus::Yielded); }>},
    {"S_TRAP", scalar<[](Wave &w, const MicroOp &op) {
       if (op.immediate != 3) // 3 is llvm.debugtrap, which goes on without a debugger
         raise(w, op, op.immediate == kMaskTrap ? FaultKind::InvalidMask : FaultKind::Trap);
     }>},
    {"S_SETHALT", scalar<[](Wave &w, const MicroOp &op) {
       if (op.immediate & 1)
         raise(w, op, FaultKind::Trap);
     }>},
    {"S_SENDMSGHALT", scalar<[](Wave &w, const MicroOp &op) { raise(w, op, FaultKind::Trap); }>},
    {"S_SENDMSG_RTN_B32", scalar<[](const MicroOp &op) { return uint32_t(messageReply(op)); }>},
    {"S_SENDMSG_RTN_B64", scalar<[](const MicroOp &op) { return messageReply(op); }>},
    {"S_MEMTIME", scalar<[]() { return shaderCycles(); }>},
    {"S_MEMREALTIME", scalar<[]() { return realTime(); }>},
    {"S_FENCE", scalar<[]() { std::atomic_thread_fence(std::memory_order_seq_cst); }>},
};

} // namespace

const ScalarTable kControlFlow = table(kRows);

void illegalInstruction(Wave &wave, const MicroOp &op) {
  raise(wave, op, FaultKind::IllegalInstruction);
}

} // namespace rubia::emulator
