// SPDX-License-Identifier: Apache-2.0
// From the bytes of functions to a Program: disassembles each function from start to end, drops
// hints, resolves branches.
#include "emulator/lib/decode/Decoder.h"
#include "emulator/lib/decode/AccessNotes.h"
#include "emulator/lib/decode/InstructionStep.h"
#include "emulator/lib/decode/OutOfScope.h"
#include "emulator/lib/scalar/ControlFlow.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/MC/MCExpr.h"

using namespace llvm;

namespace rubia::emulator {

const uint32_t *ConstantPool::get(uint64_t value, unsigned registers) {
  const uint32_t *&lanes = known[{value, registers}];
  if (!lanes) {
    Lanes &fresh = storage.emplace_back();
    for (unsigned i = 0; i < 4 * kBlockLanes; ++i)
      fresh.at[i] = i / kBlockLanes == 0   ? uint32_t(value)
                    : i / kBlockLanes == 1 ? uint32_t(value >> 32)
                                           : 0;
    lanes = fresh.at;
  }
  return lanes;
}

Diagnostic Decoder::decode(const MCInst &instruction, uint64_t pcOffset, uint64_t at,
                           uint64_t bytes) {
  plain = instruction;
  // Literals that would also fit an inline constant arrive as expressions, "lit(0xffffffff)".
  for (MCOperand &operand : plain)
    if (int64_t value; operand.isExpr() && operand.getExpr()->evaluateAsAbsolute(value))
      operand = MCOperand::createImm(value);
  inst = &plain;
  pc = pcOffset;
  address = at;
  size = bytes;
  name = target.name(inst->getOpcode());
  const size_t first = program.operations.size();
  Diagnostic diagnostic = decodeByEncoding();
  if (target.row().isa < 10 && !(flags() & (kFlagSalu | kFlagSmrd)))
    for (MicroOp &op : MutableArrayRef(program.operations).drop_front(first))
      op.special |= kSkipVector;
  return diagnostic;
}

Diagnostic Decoder::decodeByEncoding() {
  const uint64_t bits = flags();
  const StringRef fullName = target.fullName(inst->getOpcode());
  if (const OutOfScope *row =
          findOutOfScope(inst->getOpcode(), name.empty() ? fullName : name, fullName))
    return row->reason.str();
  if (fullName.starts_with("V_DUAL_"))
    return decodeDual();
  if (name.empty())
    return "unknown instruction " + fullName.str();
  if (bits & kFlagSmrd)
    return decodeScalarMemory();
  if (bits & kFlagSalu)
    return decodeScalar();
  if (bits & kFlagFlat)
    return decodeFlat(name.starts_with("GLOBAL_")    ? "GLOBAL_"
                      : name.starts_with("SCRATCH_") ? "SCRATCH_"
                                                     : "FLAT_");
  if (bits & kFlagDs)
    return decodeLocal();
  if (bits & kFlagMubuf)
    return decodeBuffer();
  if (bits & kFlagImage)
    return decodeImage();
  if (isMatrixInstruction())
    return decodeMatrix();
  if (bits & kFlagValu)
    return decodeVector();
  return "no semantics for " + name.str();
}

/// Completes `steps` for the operations that `inst` has just become. A wait becomes one, and so
/// does a mark.
static void noteStep(const MCInst &inst, uint64_t pc, Program &program,
                     std::optional<uint32_t> memoryIndex, AsyncMark mark,
                     std::vector<InstructionStep> &steps) {
  InstructionStep step = describeStep(*program.target, inst);
  step.memoryIndex = memoryIndex;
  step.mark = mark;
  if (mark.kind != AsyncMark::Kind::None && steps.size() == program.operations.size())
    step.kind = StepKind::Wait; // without limits
  if (step.kind == StepKind::Wait) {
    MicroOp op;
    op.pc = uint32_t(pc);
    program.operations.push_back(op); // never called
  }
  steps.resize(program.operations.size(), step);
}

const SteppedProgram &Program::stepped() const {
  std::call_once(onceStepped, [&] {
    auto fresh = std::make_shared<SteppedProgram>();
    std::vector<Unsupported> unsupported; // none: the code has been decoded before
    fresh->program = decodeProgram(*target, image, textBegin, ranges, waveSize, unsupported,
                                   perturb, &fresh->steps, accessNotes.get(), asyncNotes.get());
    steppedProgram = std::move(fresh);
  });
  return *steppedProgram;
}

std::unique_ptr<Program> decodeProgram(const Target &target, ArrayRef<uint8_t> image, uint64_t base,
                                       ArrayRef<CodeRange> ranges, unsigned waveSize,
                                       std::vector<Unsupported> &unsupported, bool perturb,
                                       std::vector<InstructionStep> *steps,
                                       const AccessNotes *notes, const AsyncNotes *marks) {
  auto program = std::make_unique<Program>();
  program->perturb = perturb;
  program->target = &target;
  program->image = image;
  program->textBegin = base;
  program->ranges.assign(ranges.begin(), ranges.end());
  program->waveSize = waveSize;
  if (ranges.empty())
    return program;
  uint64_t begin = ~uint64_t(0), end = 0;
  for (const CodeRange &range : ranges) {
    begin = std::min(begin, range.begin);
    end = std::max(end, range.end);
  }
  begin &= ~uint64_t(3);
  program->indices.assign((end - begin + 3) / 4, ~0u);
  Decoder decoder(target, *program, waveSize);
  // What cannot be executed is an error, or in an open range a fault when control comes to it.
  auto refuse = [&](const CodeRange &range, uint64_t pc, std::string text, std::string reason) {
    if (!range.isOpen)
      return unsupported.push_back({pc, std::move(text), std::move(reason)});
    MicroOp op;
    op.handler = illegalInstruction;
    op.pc = uint32_t(pc);
    program->operations.push_back(op);
    program->refused[op.pc] = std::move(reason);
    if (steps)
      steps->resize(program->operations.size());
  };
  for (const CodeRange &range : ranges) {
    uint32_t memoryInstructions = 0;
    bool isBehindSync = false;
    const size_t first = program->operations.size();
    for (uint64_t at = range.begin; at < range.end;) {
      const uint64_t pc = at - base;
      MCInst inst;
      uint64_t size = target.disassemble(inst, image.slice(pc, range.end - at), pc);
      program->indices[(at - begin) / 4] = uint32_t(program->operations.size());
      if (size == 0) {
        refuse(range, pc, "", "not an instruction");
        at += 4;
        continue;
      }
      const size_t before = program->operations.size();
      Diagnostic diagnostic = decoder.decode(inst, pc, at, size);
      if (!diagnostic.empty()) {
        program->operations.resize(before);
        refuse(range, pc, target.print(inst, pc), diagnostic);
        at += size;
        continue;
      }
      if (steps) {
        std::optional<uint32_t> memoryIndex;
        if (isMemoryEncoding(target, inst))
          memoryIndex = memoryInstructions++;
        const size_t firstStep = steps->size();
        noteStep(inst, pc, *program, memoryIndex, marks ? marks->at(pc) : AsyncMark(), *steps);
        isBehindSync |= notes && notes->isWarpSync(pc);
        if (firstStep < steps->size()) // else a hint
          (*steps)[firstStep].warpSync = std::exchange(isBehindSync, false);
      }
      at += size;
    }
    MicroOp end; // a function that runs off its end
    end.handler = illegalInstruction;
    end.pc = uint32_t(range.end - base);
    program->operations.push_back(end);
    if (steps)
      steps->resize(program->operations.size());
    if (steps && notes)
      notes->apply(range.begin - base, memoryInstructions,
                   MutableArrayRef(*steps).drop_front(first));
  }
  for (auto [index, targetPc] : decoder.branches) {
    MicroOp &op = program->operations[index];
    const uint64_t offset = base + targetPc - begin;
    if (offset / 4 >= program->indices.size() || program->indices[offset / 4] == ~0u) {
      const std::string reason = "branch to " + utohexstr(targetPc) + ", which is not code";
      const uint64_t place = base + op.pc;
      const bool isOpen = any_of(ranges, [&](const CodeRange &range) {
        return range.isOpen && place >= range.begin && place < range.end;
      });
      if (isOpen)
        op.handler = illegalInstruction, program->refused[op.pc] = reason;
      else
        unsupported.push_back({op.pc, "", reason});
      continue;
    }
    op.immediate = int32_t(program->indices[offset / 4]) - int32_t(index);
  }
  program->map = {begin, uint32_t(end - begin), program->indices.data(), program->operations.data(),
                  base};
  return program;
}

} // namespace rubia::emulator
