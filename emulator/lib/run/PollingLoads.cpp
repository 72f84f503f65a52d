// SPDX-License-Identifier: Apache-2.0
// A loop is taken to be what lies between a branch back and its target.
#include "emulator/lib/run/PollingLoads.h"

using namespace llvm;

namespace rubia::emulator {
namespace {

constexpr size_t kLongestLoop = 96; // operations: waiting loops are short

/// Which registers keep their values from round to round.
class LoopRegisters {
public:
  explicit LoopRegisters(ArrayRef<InstructionStep> body) {
    for (const InstructionStep &step : body)
      forEach(step, true, [&](unsigned reg) { written.set(reg); });
  }
  bool isInvariant(const InstructionStep &step) const {
    bool all = true;
    forEach(step, false, [&](unsigned reg) { all &= !written[reg] || recomputed[reg]; });
    return all;
  }
  /// Goes on to behind `step`.
  void pass(const InstructionStep &step) {
    const bool same = isInvariant(step) && !step.reads && !step.readsScc;
    forEach(step, true, [&](unsigned reg) { recomputed[reg] = same; });
  }

private:
  static constexpr unsigned kVectors = 512 + 64, kAll = kVectors + kScalarCount + 64;
  template <class F> static void forEach(const InstructionStep &step, bool isWritten, F visit) {
    for (const RegisterRange &range : step.registers) {
      // EXEC limits who computes, not what.
      if (range.written != isWritten || (!range.vector && range.first >= kExec && !isWritten))
        continue;
      for (unsigned i = 0; i < range.count; ++i)
        if (const unsigned reg = (range.vector ? 0 : kVectors) + range.first + i; reg < kAll)
          visit(reg);
    }
  }
  BitVector written = BitVector(kAll), recomputed = BitVector(kAll);
};

void findIn(ArrayRef<InstructionStep> body, size_t first, BitVector &found) {
  for (const InstructionStep &step : body)
    if (step.barrier || (step.writes && !step.reads && step.space != Space::Scratch))
      return;
  LoopRegisters registers(body);
  for (size_t i = 0; i < body.size(); ++i) {
    const InstructionStep &step = body[i];
    const bool isLoad =
        (step.kind == StepKind::Vector || step.kind == StepKind::Lds) && step.reads && !step.writes;
    if (isLoad && registers.isInvariant(step))
      found.set(unsigned(first + i));
    registers.pass(step);
  }
}

constexpr size_t kMaxBetween = 64; // operations

/// Loads from the address of the compare-and-swap at `index`.
void findExpecting(const SteppedProgram &code, size_t index, BitVector &found) {
  const MicroOp &swap = code.program->operations[index];
  for (size_t i = index - std::min(index, kMaxBetween); i < index; ++i) {
    const InstructionStep &step = code.steps[i];
    const MicroOp &op = code.program->operations[i];
    if (!step.reads || step.writes)
      continue;
    const bool isSame = step.kind == code.steps[index].kind && op.kind[0] == swap.kind[0] &&
                        op.source[0] == swap.source[0] && op.kind[1] == swap.kind[1] &&
                        op.source[1] == swap.source[1] && op.immediate == swap.immediate;
    const bool isScalar = step.kind == StepKind::Scalar && swap.kind[1] == OperandKind::Scalar &&
                          op.source[0] == swap.source[1];
    if (isSame || isScalar)
      found.set(unsigned(i));
  }
}

} // namespace

BitVector findPollingLoads(const SteppedProgram &code) {
  BitVector found(unsigned(code.steps.size()));
  const ArrayRef<InstructionStep> steps = code.steps;
  for (size_t i = 0; i < steps.size(); ++i) {
    const int64_t target = int64_t(i) + code.program->operations[i].immediate;
    if (!steps[i].branch || target > int64_t(i) || target < 0 || i - size_t(target) > kLongestLoop)
      continue;
    findIn(steps.slice(size_t(target), i - size_t(target) + 1), size_t(target), found);
  }
  return found;
}

BitVector findExpectingLoads(const SteppedProgram &code) {
  BitVector found(unsigned(code.steps.size()));
  for (size_t i = 0; i < code.steps.size(); ++i)
    if (code.steps[i].compares)
      findExpecting(code, i, found);
  return found;
}

} // namespace rubia::emulator
