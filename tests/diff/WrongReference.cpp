// SPDX-License-Identifier: Apache-2.0
// A rubia whose interpreter has a mistake in it. RUBIA_TEST_REFERENCE_MUTANT: `LINE|OLD|NEW`, it
// executes another statement in that line of the PTX.
#include "OtherStatement.h"
#include "ptx-frontend/Parser.h"
#include "reference/Interpreter.h"
#include <cstdlib>
#include <deque>

using namespace llvm;
using namespace rubia;

using Created = Expected<std::unique_ptr<reference::Interpreter>>;

Created createSound(const ptx::Module &module,
                    ArrayRef<reference::PlacedVariable> placed) __asm__("__real__"
                                                                        "ZN5rubia9reference11"
                                                                        "Interpreter6createERKNS_"
                                                                        "3ptx6ModuleEN4llvm8"
                                                                        "ArrayRefINS0_"
                                                                        "14PlacedVariableEEE");
Created createWithMistake(const ptx::Module &module,
                          ArrayRef<reference::PlacedVariable> placed) __asm__("__wrap__"
                                                                              "ZN5rubia9reference"
                                                                              "11Interpreter6create"
                                                                              "ERKNS_3ptx6ModuleEN4"
                                                                              "llvm8ArrayRefINS0_14"
                                                                              "PlacedVariableEEE");

Created createWithMistake(const ptx::Module &module, ArrayRef<reference::PlacedVariable> placed) {
  const char *request = getenv("RUBIA_TEST_REFERENCE_MUTANT");
  static std::deque<ptx::ParseResult> modules; // interpreters refer to theirs
  if (!request)
    return createSound(module, placed);
  modules.push_back(ptx::parse(module.name, withOtherStatement(*module.text, request)));
  if (!modules.back().usable)
    return createStringError("the mistake cannot be parsed");
  return createSound(modules.back().module, placed);
}
