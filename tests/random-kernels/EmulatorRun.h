// SPDX-License-Identifier: Apache-2.0
// A kernel compiled by Rubia and executed on the emulator, in this process.
#pragma once

#include "Program.h"
#include "lowering/Lowering.h"
#include "targets/Target.h"
#include "llvm/Support/Error.h"

namespace rubia::settings::ContractMode {
extern const Word Never, Nvidia;
} // namespace rubia::settings::ContractMode
namespace rubia::settings::FlushMode {
extern const Word Native;
} // namespace rubia::settings::FlushMode
namespace rubia::settings::MmaMode {
extern const Word Ieee;
} // namespace rubia::settings::MmaMode
namespace rubia::settings::NanMode {
extern const Word Any;
} // namespace rubia::settings::NanMode
namespace rubia::settings::WarpFormChoice {
extern const Word Auto;
} // namespace rubia::settings::WarpFormChoice

namespace rubia::random_kernels {

struct Way {
  std::string arch = targets::byDefault().name.str();
  settings::Word form = settings::WarpFormChoice::Auto;
  settings::Word nan = settings::NanMode::Any;
  settings::Word contract = settings::ContractMode::Nvidia;
  settings::Word flush = settings::FlushMode::Native;
  settings::Word mma = settings::MmaMode::Ieee;
  unsigned optLevel = 3;
  /// A statement of the text and another one, which is compiled in its place: a planted mistake.
  std::pair<std::string, std::string> mistake = {};
};
/// Whether a kernel cannot have the form, by what emulate() says: two warps of it must not share a
/// wave, or it is for blocks that are too large.
bool isNotLegal(const Way &way, llvm::StringRef problem);
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
