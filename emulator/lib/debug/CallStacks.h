// SPDX-License-Identifier: Apache-2.0
// Who called whom. Code for AMD GPUs keeps no frame pointers, and return addresses lie in whatever
// registers the compiler chose; so calls and returns of each wave are followed from its start.
#pragma once

#include "emulator/lib/decode/InstructionStep.h"
#include <map>
#include <vector>

namespace rubia::emulator {

class CallStacks {
public:
  explicit CallStacks(const SteppedProgram &code)
      : code(code), kinds(code.program->operations.size()) {}

  struct Call {
    uint32_t pc = 0;       // of the instruction that calls
    uint32_t returnPc = 0; // of the one behind it
  };
  /// After each operation that a wave has executed.
  void follow(const Wave &wave, const MicroOp &op) {
    Kind &kind = kinds[size_t(&op - code.program->operations.data())];
    if (kind == Kind::Unknown)
      kind = kindOf(op);
    if (kind != Kind::Other)
      jump(wave, op, kind == Kind::Call);
  }
  /// The calls that a wave is in, the first one first.
  llvm::ArrayRef<Call> of(const Wave &wave) const;
  void forget(const Wave &wave) { waves.erase(&wave); }

private:
  enum class Kind : uint8_t { Unknown, Other, Call, Jump };
  Kind kindOf(const MicroOp &op) const;
  void jump(const Wave &wave, const MicroOp &op, bool isCall);

  const SteppedProgram &code;
  std::vector<Kind> kinds; // by operation
  std::map<const Wave *, std::vector<Call>> waves;
};

} // namespace rubia::emulator
