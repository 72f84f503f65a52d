// SPDX-License-Identifier: Apache-2.0
// A kernel compiled by Rubia and executed on the emulator, in this process.
#pragma once

#include "Program.h"
#include "lowering/Lowering.h"
#include "targets/Target.h"
#include "llvm/Support/Error.h"

namespace rubia::random_kernels {

struct Way {
  std::string arch = targets::byDefault().name.str();
  settings::WarpFormChoice form = settings::WarpFormChoice::Auto;
  settings::NanMode nan = settings::NanMode::Any;
  settings::ContractMode contract = settings::ContractMode::Nvidia;
  settings::FlushMode flush = settings::FlushMode::Native;
  settings::MmaMode mma = settings::MmaMode::Ieee;
  unsigned optLevel = 3;
  /// A statement of the text and another one, which is compiled in its place: a planted mistake.
  std::pair<std::string, std::string> mistake = {};
};
/// How Rubia computes what the evaluator and the interpreter, which fuse nothing, do too.
inline Way unfused(Way way) {
  way.contract = settings::ContractMode::Never;
  return way;
}

struct EmulatorResult {
  std::vector<uint8_t> results; // the buffer of results afterwards
  abi::WarpForm form = abi::WarpForm::Wave32;
};
llvm::Expected<EmulatorResult> emulate(const Program &program, const Way &way);
inline llvm::Expected<EmulatorResult> emulate(const Kernel &kernel, const Way &way) {
  return emulate(programOf(kernel), way);
}

} // namespace rubia::random_kernels
