// SPDX-License-Identifier: Apache-2.0
// Where manifests and code objects come from: the cache, else the compile worker (a child process,
// so that a compiler crash never kills the program). Safe to call from several threads; equal
// requests are compiled once.
#pragma once

#include "runtime/cache/KernelCache.h"
#include "runtime/cache/Manifest.h"
#include "runtime/compiler/ModuleImage.h"
#include "llvm/ADT/ArrayRef.h"
#include <cstdint>
#include <memory>
#include <string>

namespace rubia::runtime {

/// The compile worker is missing, crashed or went away: nothing is wrong with the kernel, and a
/// later call may fare better.
class CompilerProblem : public llvm::ErrorInfo<CompilerProblem> {
public:
  static char ID;
  std::string message;
  explicit CompilerProblem(std::string message) : message(std::move(message)) {}
  void log(llvm::raw_ostream &os) const override;
  std::error_code convertToErrorCode() const override;
};

/// What a request took.
struct CompileCost {
  bool compiled = false;  // false: it was in the cache, or had been asked for before
  uint64_t peakBytes = 0; // resident memory of the compile process; 0: not known
};

class Compiler {
public:
  /// One per process, with the cache and the settings of the environment; lives for ever (programs
  /// call us after static destructors have run).
  static Compiler &instance();
  /// Another one, with its own supervisor; never destroyed either.
  static Compiler &create(KernelCache cache, const settings::Settings &settings);
  const settings::Code &code() const; // that requests without any have

  /// The error is what the program's log should say: malformed image, no PTX (only SASS for ...);
  /// or CompilerProblem.
  llvm::Expected<std::shared_ptr<const Manifest>> manifest(const ModuleImage &image);

  /// To be called for each module that is loaded. RUBIA_COMPILE=eager (or
  /// CUDA_MODULE_LOADING=EAGER): begins to compile all units of the image that have no errors, in
  /// the background; what is asked for overtakes them. Else they are counted only.
  void compileAhead(const ModuleImage &image, const Manifest &manifest, llvm::StringRef arch);

  /// The code object of one unit for `arch`. The error names kernel, line and reason.
  /// RUBIA_COMPILE=never: what is not in the cache is an error.
  llvm::Expected<std::shared_ptr<const std::vector<uint8_t>>>
  codeObject(const ModuleImage &image, uint32_t unit, llvm::StringRef arch,
             CompileCost *cost = nullptr);
  llvm::Expected<std::shared_ptr<const std::vector<uint8_t>>>
  codeObject(const ModuleImage &image, uint32_t unit, llvm::StringRef arch,
             const settings::Code &code, CompileCost *cost = nullptr);

private:
  Compiler(KernelCache cache, const settings::Settings &settings);
  struct State;
  State *state;
};

} // namespace rubia::runtime
