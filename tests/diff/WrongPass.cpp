// SPDX-License-Identifier: Apache-2.0
// An optimiser with a mistake in it, that code of `rubia diff` in the PTX makes go away.
// RUBIA_TEST_WRONG_PASS: behind so many passes of LLVM `x + 1` is `x - 1`.
#include "WrongPass.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/OptBisect.h"
#include "llvm/Support/Error.h"
#include "llvm/Target/TargetMachine.h"
#include <cstdlib>

using namespace llvm;

bool isWatched = false;

namespace {

/// Counts the passes that are run.
class Counter : public OptPassGate {
public:
  explicit Counter(LLVMContext &context) : context(context), previous(context.getOptPassGate()) {
    context.setOptPassGate(*this);
  }
  ~Counter() override { context.setOptPassGate(previous); }
  bool isEnabled() const override { return true; }
  bool shouldRunPass(StringRef pass, StringRef on) const override {
    const bool isRun = !previous.isEnabled() || previous.shouldRunPass(pass, on);
    count += isRun;
    return isRun;
  }
  mutable unsigned count = 0;

private:
  LLVMContext &context;
  OptPassGate &previous;
};

void makeMistake(Module &module) {
  for (Function &function : module)
    for (Instruction &instruction : instructions(function))
      if (instruction.getOpcode() == Instruction::Add)
        if (auto *one = dyn_cast<ConstantInt>(instruction.getOperand(1)); one && one->isOne())
          instruction.setOperand(1, ConstantInt::getSigned(one->getType(), -1));
}

} // namespace

Error optimiseSound(Module &module, TargetMachine &machine,
                    unsigned level) __asm__("__real__ZN5rubia7codegen8optimiseERN4llvm6ModuleERNS1_"
                                            "13TargetMachineEj");
Error optimiseWithMistake(Module &module, TargetMachine &machine, unsigned level) __asm__(
    "__wrap__ZN5rubia7codegen8optimiseERN4llvm6ModuleE"
    "RNS1_13TargetMachineEj");

Error optimiseWithMistake(Module &module, TargetMachine &machine, unsigned level) {
  const char *passes = getenv("RUBIA_TEST_WRONG_PASS");
  unsigned wanted = 0;
  if (!passes || isWatched || StringRef(passes).getAsInteger(10, wanted))
    return optimiseSound(module, machine, level);
  const Counter counter(module.getContext());
  Error error = optimiseSound(module, machine, level);
  if (counter.count >= wanted)
    makeMistake(module);
  return error;
}
