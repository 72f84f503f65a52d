// SPDX-License-Identifier: Apache-2.0
// Why a linear scan is a proof: if the mode is the kernel's at the start of every basic block, then
// it is also at every join, and if it is at every call and return, then it is at the start of every
// callee and after every call. So it is enough to follow the mode inside each block, from the
// kernel's mode at its start to its end, and to look at the instructions in between while the mode
// is another one.
#include "codegen/ModeChecker.h"
#include "codegen/lib/Disassembler.h"
#include "codegen/lib/check/Branches.h"
#include "codegen/lib/check/ModeRegister.h"
#include "codegen/lib/check/RegionRules.h"
#include "codegen/lib/check/Violations.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/MC/MCInst.h"
#include <optional>

using namespace llvm;

namespace rubia::codegen {

namespace {

struct Step {
  uint64_t address;
  const MCInst *inst;
  bool endsBlock = false;
  std::optional<ModeWrite> write;
};

/// What the scan of one function under one entry mode found wrong.
class FunctionScan {
public:
  FunctionScan(const Disassembler &disassembler, const FunctionCode &function)
      : disassembler(disassembler), function(function) {}

  /// Finds the basic blocks, and what writes the mode.
  void read(ArrayRef<DecodedInstruction> instructions);
  std::vector<Violation> check(uint32_t entryMode);

private:
  ArrayRef<uint8_t> bytesAt(uint64_t address) const {
    return function.bytes.drop_front(address - function.address);
  }
  void checkWrite(const Step &step);
  void checkInside(const Step &step);
  std::string textOf(const Step &step) const {
    return disassembler.print(*step.inst, step.address);
  }
  void report(const Step &step, const Twine &problem);
  void reportBoundary(const Step &step, StringRef what);

  const Disassembler &disassembler;
  const FunctionCode &function;
  std::vector<Step> steps;
  DenseSet<uint64_t> leaders;
  std::vector<uint64_t> undecodable;

  uint32_t entry = 0;
  uint32_t mode = 0;
  uint32_t regionNeeds = 0; ///< fields that the region has changed
  uint32_t regionFound = 0; ///< those of them that an instruction has depended on
  std::vector<Violation> violations;
};

void FunctionScan::read(ArrayRef<DecodedInstruction> instructions) {
  Branches branches(disassembler, function.address, function.address + function.bytes.size());
  for (const auto &[address, size, inst] : instructions) {
    if (size == 0) {
      undecodable.push_back(address);
      continue;
    }
    Step step{address, &inst, false, std::nullopt};
    Flow flow = branches.flowOf(inst, address, size, bytesAt(address));
    step.endsBlock = flow.endsBlock();
    if (flow.hasTarget())
      leaders.insert(flow.target);
    if (disassembler.name(inst.getOpcode()).starts_with("S_"))
      step.write = modeWriteOf(disassembler, inst);
    steps.push_back(step);
  }
}

void FunctionScan::report(const Step &step, const Twine &problem) {
  violations.push_back({step.address, ("'" + textOf(step) + "': " + problem).str()});
}

void FunctionScan::reportBoundary(const Step &step, StringRef what) {
  report(step, what + " here, expected '" + describeMode(entry) + "', found '" +
                   describeMode(mode) + "'");
}

std::vector<Violation> FunctionScan::check(uint32_t entryMode) {
  violations.clear();
  entry = mode = entryMode;
  for (uint64_t address : undecodable)
    violations.push_back({address, "no valid instruction"});
  for (const Step &step : steps) {
    if (mode != entry && leaders.contains(step.address)) {
      reportBoundary(step, "a block begins");
      mode = entry; // one report for each region
    }
    if (step.write)
      checkWrite(step);
    else if (mode != entry)
      checkInside(step);
  }
  if (mode != entry && !steps.empty())
    reportBoundary(steps.back(), "the function ends");
  return std::move(violations);
}

void FunctionScan::checkWrite(const Step &step) {
  if (step.write->mask & ~kTrackedMode) {
    report(step, "writes bits of MODE that are no rounding or denormal mode");
    return;
  }
  if (!step.write->isConstant) {
    report(step, "expected a constant mode, found one from a register");
    return;
  }
  uint32_t previous = mode;
  mode = (mode & ~step.write->mask) | step.write->value;
  if (previous == entry)
    regionNeeds = regionFound = 0;
  regionNeeds |= mode ^ entry;
  if (previous != entry && mode == entry && !(regionFound & regionNeeds))
    report(step,
           "the mode was changed for no instruction: expected one that depends on it since '" +
               describeMode(previous) + "'");
}

void FunctionScan::checkInside(const Step &step) {
  if (step.endsBlock) {
    reportBoundary(step, "a block ends");
    mode = entry;
    return;
  }
  std::string text = textOf(step);
  RegionInstruction instruction = classify(disassembler, step.inst->getOpcode(), text);
  uint32_t changed = mode ^ entry;
  auto expect = [&](const Twine &expected) {
    violations.push_back(
        {step.address,
         ("'" + text + "': expected " + expected + ", found '" + describeMode(mode) + "'").str()});
  };
  regionFound |= instruction.fields;
  if (instruction.isForeign)
    return expect("'" + describeMode(entry) + "'");
  if (!(changed & kRounding))
    return;
  if (!instruction.fitsRoundingRegion)
    return expect("'" + describeMode(entry) +
                  "' at anything but arithmetic that rounds, moves and waits");
  for (uint32_t field : {uint32_t(kRound32), uint32_t(kRound64)})
    if ((instruction.fields & field) && !(changed & field))
      return expect(Twine("a directed rounding of ") + (field == kRound32 ? "f32" : "f16/f64") +
                    " in this region");
}

/// The modes that functions may be entered in: those of the kernels, or the default of a code
/// object without kernels.
std::vector<uint32_t> entryModes(const ProgramCode &program) {
  std::vector<uint32_t> modes;
  for (const FunctionCode &function : program.functions)
    if (function.computePgmRsrc1)
      if (uint32_t mode = modeOfDescriptor(*function.computePgmRsrc1); !is_contained(modes, mode))
        modes.push_back(mode);
  if (modes.empty())
    modes.push_back(kDenormals);
  return modes;
}

/// A kernel starts in its own mode. A function that kernels of several modes share was compiled for
/// one of them.
std::vector<Violation> checkFunction(const Disassembler &disassembler, const FunctionCode &function,
                                     ArrayRef<DecodedInstruction> instructions,
                                     ArrayRef<uint32_t> modes) {
  FunctionScan scan(disassembler, function);
  scan.read(instructions);
  if (function.computePgmRsrc1) {
    uint32_t mode = modeOfDescriptor(*function.computePgmRsrc1);
    std::vector<Violation> violations = scan.check(mode);
    if (mode & kRounding)
      violations.insert(violations.begin(),
                        {function.address, "the kernel's descriptor says '" + describeMode(mode) +
                                               "', expected round nearest"});
    return violations;
  }
  std::vector<Violation> first = scan.check(modes.front());
  for (uint32_t mode : modes.drop_front())
    if (first.empty() || scan.check(mode).empty())
      return {};
  return first;
}

} // namespace

Error checkMode(ArrayRef<uint8_t> codeObject) {
  return checkDecoded(codeObject, [](const DecodedProgram &program) { return checkMode(program); });
}

Error checkMode(const DecodedProgram &program) {
  const std::vector<uint32_t> modes = entryModes(program.code);
  Violations violations("floating-point mode");
  for (const auto &[function, instructions] :
       zip_equal(program.code.functions, program.instructions))
    violations.add(function, checkFunction(*program.disassembler, function, instructions, modes));
  return violations.take();
}

} // namespace rubia::codegen
