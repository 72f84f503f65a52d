// SPDX-License-Identifier: Apache-2.0
// PTX -> whether a unit can be lowered, without its code: for those who judge thousands of kernels.
#pragma once

#include "lowering/Lowering.h"
#include <memory>
#include <string>
#include <vector>

namespace rubia::lowering {

class AcceptedInstructions;

/// What was learned by judging units, for those that are judged later. Threads may share it. One is
/// for one target and one set of options.
class Experience {
public:
  Experience();
  ~Experience();
  /// What is known where the same words describe the module, the unit and the function.
  AcceptedInstructions &in(llvm::StringRef context);

private:
  struct Contexts;
  std::unique_ptr<Contexts> contexts;
};

/// What the metadata of the unit's code would have, of that what decides who may launch it.
struct Judgement {
  std::vector<uint32_t> maxThreads; // of each kernel of the unit
  std::string warpFormReason;
  bool mayBeChecked = false; // launches of more threads than maxThreads take another form
  std::vector<std::string> matrixRoutes, refused;
};

/// The error is that of lower(), word for word. Only a defect of lowering itself, which lower()
/// finds when it verifies its code, is not found.
llvm::Expected<Judgement> judge(const ptx::Module &module, const Unit &unit, const Options &options,
                                Experience &experience);

} // namespace rubia::lowering
