// SPDX-License-Identifier: Apache-2.0
#include "emulator/lib/debug/CallStacks.h"
#include "emulator/lib/decode/Disassembly.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace rubia::emulator {

CallStacks::Kind CallStacks::kindOf(const MicroOp &op) const {
  const auto found = disassembleAt(*code.program, op.pc);
  if (!found)
    return Kind::Other;
  const StringRef name = code.program->target->name(found->inst.getOpcode());
  if (name == "S_SWAPPC_B64" || name == "S_CALL_B64")
    return Kind::Call;
  return name == "S_SETPC_B64" ? Kind::Jump : Kind::Other;
}

void CallStacks::jump(const Wave &wave, const MicroOp &op, bool isCall) {
  std::vector<Call> &calls = waves[&wave];
  if (isCall) {
    calls.push_back({op.pc, (&op)[1].pc});
    return;
  }
  // A jump to a place that some call returns to ends that call, and those made since. Any other is
  // a call in the place of a return.
  const auto found =
      find_if(reverse(calls), [&](const Call &call) { return call.returnPc == wave.next->pc; });
  if (found != calls.rend())
    calls.erase(std::prev(found.base()), calls.end());
}

ArrayRef<CallStacks::Call> CallStacks::of(const Wave &wave) const {
  const auto found = waves.find(&wave);
  return found == waves.end() ? ArrayRef<Call>() : ArrayRef<Call>(found->second);
}

} // namespace rubia::emulator
