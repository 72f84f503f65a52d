// SPDX-License-Identifier: Apache-2.0
// PTX -> LLVM IR for amdgcn-amd-amdhsa, one unit at a time.
#pragma once

#include "lowering/Abi.h"
#include "ptx-frontend/Diagnostics.h"
#include "ptx-frontend/Module.h"
#include "settings/Code.h"
#include "targets/Target.h"
#include "llvm/Support/Error.h"
#include <memory>
#include <string>
#include <vector>

namespace llvm {
class LLVMContext;
class Module;
} // namespace llvm

namespace rubia::lowering {

/// What is compiled together: a connected component of kernels and functions, joined by functions
/// whose address escapes and by indirect calls with unknown targets. In the common case one kernel
/// with its callees.
struct Unit {
  std::vector<const ptx::Function *> kernels;   // in order of the module
  std::vector<const ptx::Function *> functions; // callees with bodies, in order of the module
  std::vector<uint32_t> variables; // module variables in use: indexes into moduleVariables()
  /// Those of the functions whose addresses stand in initialisers of module variables. At most one
  /// unit has any: it has them all, and everybody who calls through an unknown address.
  std::vector<const ptx::Function *> inInitializers;
};

/// Every kernel of the module is in exactly one unit; order: first kernel of each. Deterministic.
std::vector<Unit> partition(const ptx::Module &module);

/// The variables that live in module state (.global, .const, managed), in the order of their slots
/// in the module table (slot = abi::kFirstVariableSlot + index).
std::vector<const ptx::Variable *> moduleVariables(const ptx::Module &module);

/// Where each parameter of a kernel lies in the kernarg segment. PTX ISA:
/// kernel-function-parameters.
struct ParameterLayout {
  struct Parameter {
    uint32_t offset, size, alignment;
  };
  std::vector<Parameter> parameters;
  uint32_t sizeInBytes = 0; // without the launch arguments
};
ParameterLayout layoutOf(const ptx::Function &kernel);

/// Static shared memory of a kernel of the unit and the functions it can reach, in bytes: what PTX
/// declares, and what barriers need.
uint64_t staticSharedBytes(const Unit &unit, const ptx::Function &kernel);

/// What a unit gives up so that its code fits in the registers (codegen::Fault::Registers).
enum class Fit {
  Fast,             ///< nothing
  FewThreads,       ///< CTAs of kernels without a bound have half the threads: registers are shared
  WithoutMatrixUnit ///< products of matrices are computed in software
};

struct Options {
  std::string arch = targets::byDefault().name.str(); // a processor or target ID of the table
  /// What the user chooses (settings/Settings.def):
  /// - contract: what becomes of a product without rounding modifier that is added to something
  ///   (lib/Contraction.h).
  /// - atomics: Safe ones are also right on memory of the host or of another device (managed,
  ///   mapped): slower, since float atomics and some integer ones become compare-and-swap loops.
  ///   `.sys` atomics always take this form.
  /// - warpForm: Auto is wave32 where the target has it, else packed where that is sound, else
  ///   half-filled. The others are also made on targets that have wave32, with waves of 64 lanes
  ///   there. Packed is an error where it is not sound.
  /// - warpWaits: how many rounds threads may wait in a loop that others of their warp have left,
  ///   with none leaving, until the kernel ends with TrapReason::NeedsIndependentScheduling. A
  ///   round takes about a microsecond.
  settings::Code code;
  uint32_t spinLimit = 0;      // if it is not 0: so many rounds, whatever `code` says
  uint32_t mostRounds() const; // by both
  Fit fit = Fit::Fast;
};

/// A unit that cannot be lowered: one diagnostic for each place. Only malformed or unsupported
/// input gives this.
class LoweringError : public llvm::ErrorInfo<LoweringError> {
public:
  static char ID;
  std::vector<ptx::Diagnostic> diagnostics;
  explicit LoweringError(std::vector<ptx::Diagnostic> d) : diagnostics(std::move(d)) {}
  void log(llvm::raw_ostream &os) const override;
  std::error_code convertToErrorCode() const override;
};

/// The module carries everything codegen needs: triple, data layout, kernel attributes, debug
/// information from .loc, and
/// `!rubia.metadata` (JSON, see docs/architecture.md) that ends up in the section .rubia.metadata
/// of the code object.
llvm::Expected<std::unique_ptr<llvm::Module>> lower(const ptx::Module &module, const Unit &unit,
                                                    const Options &options,
                                                    llvm::LLVMContext &context);

} // namespace rubia::lowering
