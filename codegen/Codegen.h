// SPDX-License-Identifier: Apache-2.0
// From an llvm::Module for amdgcn-amd-amdhsa to a code object that a GPU (or the emulator) loads,
// in this process.
//
// The result of a compilation is checked before it is returned: the resources are read back from
// the ELF that was linked, every kernel must be found in its dynamic symbol table, and the rounding
// mode is verified at every floating-point instruction (ModeChecker.h), and what is written to EXEC
// (ExecChecker.h).
#pragma once

#include "targets/Target.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace llvm {
class Function;
class Module;
} // namespace llvm

namespace rubia::codegen {

/// Who turns the relocatable object into a code object.
enum class Backend {
  Lld,  ///< LLVM's linker, linked into this program
  Comgr ///< ROCm's code object manager, loaded with dlopen: knows only the targets of its own LLVM
};

struct Options {
  /// A processor, or a target ID with the features that are on or off, as in
  /// "gfx90a:sramecc+:xnack-". AMDGPUUsage "Target ID".
  std::string arch = targets::byDefault().name.str();
  unsigned optLevel = 3; ///< 0 to 3
  Backend backend = Backend::Lld;
  /// AMDGPUUsage "Code Object Metadata": 4, 5 or 6. A generic target needs 6 and gets it if this
  /// is 5.
  unsigned codeObjectVersion = 5;
  bool checkMode = true; ///< run checkMode() on the result
  bool checkExec = true; ///< run checkExec() on the result
  /// Run checkWholeWaves() on the result. For tests: it also refuses some code that is right.
  bool checkWholeWaves = false;
  /// Functions with addresses are compiled in parts of about so many LLVM instructions, on all
  /// cores (lib/Parts.h), where there is enough for two.
  size_t instructionsPerPart = 100'000;
  /// Called, by any thread, when so many of so many parts are compiled.
  std::function<void(unsigned done, unsigned of)> onPart;
  /// Gives functions with the attribute "rubia-body-later" their bodies, where these are needed.
  std::function<llvm::Error(llvm::Function &)> giveBody = nullptr;
  /// How many of the passes that LLVM can do without are run; none: all. And who is told of each,
  /// by its number from 1, whether it is run or not. A unit is not divided then.
  std::optional<unsigned> passLimit = std::nullopt;
  std::function<void(unsigned number, llvm::StringRef pass, llvm::StringRef on)> onPass = nullptr;
  /// What Backend::Comgr loads.
  std::string comgrLibrary = "libamd_comgr.so.2";
};

/// What one kernel uses, read from the metadata note of its code object. AMDGPUUsage "Code Object
/// V5 Metadata".
struct KernelResources {
  std::string name;
  uint32_t vgprs = 0;
  uint32_t agprs = 0;
  uint32_t sgprs = 0;
  uint32_t vgprSpills = 0;
  uint32_t sgprSpills = 0;
  uint32_t ldsBytes = 0;     ///< static part, per workgroup
  uint32_t scratchBytes = 0; ///< per lane; a lower bound if usesDynamicStack
  uint32_t kernargBytes = 0;
  uint32_t waveSize = 0;
  uint32_t maxWorkgroupSize = 0;
  bool usesDynamicStack = false;
};

struct CodeObject {
  std::vector<uint8_t> bytes;
  std::vector<KernelResources> kernels; ///< in the order of the metadata note
};

/// What was wrong with a module or a code object.
enum class Fault {
  Malformed,   ///< the module or the code object breaks its rules: a defect of whoever made it
  Unsupported, ///< the target or the back end cannot express it
  Registers,   ///< it does not fit in the registers that its workgroups leave to a lane
  System       ///< a file, a library or memory
};

/// The error of every function here, except where LinkerRetired is named.
class CodegenError : public llvm::ErrorInfo<CodegenError> {
public:
  static char ID;
  CodegenError(Fault fault, std::string message, std::string function = {})
      : fault(fault), function(std::move(function)), message(std::move(message)) {}
  void log(llvm::raw_ostream &os) const override;
  std::error_code convertToErrorCode() const override { return llvm::inconvertibleErrorCode(); }

  const Fault fault;
  const std::string
      function; ///< the function that could not be compiled, empty if it is no particular one
  const std::string message;
};

/// lld left its global state behind: this process cannot link again and should be replaced. See
/// canLink().
class LinkerRetired : public llvm::ErrorInfo<LinkerRetired> {
public:
  static char ID;
  explicit LinkerRetired(std::string message) : message(std::move(message)) {}
  void log(llvm::raw_ostream &os) const override;
  std::error_code convertToErrorCode() const override { return llvm::inconvertibleErrorCode(); }

  const std::string message; ///< what lld said
};

/// False once lld has said that it cannot run again; every compile() with Backend::Lld then fails
/// with LinkerRetired.
bool canLink();

/// Checks a processor name or target ID. The error of a misspelt one names the nearest that exists,
/// that of a processor without a row in targets/Targets.def the generic target of its family.
llvm::Error validateArch(llvm::StringRef arch);

/// Verifies, optimises, translates, links and checks. The module's named metadata `!rubia.metadata
/// = !{!{!"text"}}` is copied into the section .rubia.metadata of the code object. An empty triple
/// or data layout is filled in. The module's context gets a diagnostic handler while this runs.
/// LLVM's fatal errors still end the process. Fails with CodegenError, or with LinkerRetired.
llvm::Expected<CodeObject> compile(std::unique_ptr<llvm::Module> module, const Options &options);

enum class EmitKind {
  Llvm,     ///< LLVM IR as text, after optimisation
  Assembly, ///< AMDGPU assembly
  Object    ///< relocatable ELF
};

/// Like compile(), but stops early.
llvm::Expected<std::string> emit(std::unique_ptr<llvm::Module> module, const Options &options,
                                 EmitKind kind);

/// The text that compile() put into .rubia.metadata, byte for byte; Malformed if there is no such
/// section.
llvm::Expected<std::string> readMetadata(llvm::ArrayRef<uint8_t> codeObject);

/// The resources of every kernel, from the metadata note.
llvm::Expected<std::vector<KernelResources>> readResources(llvm::ArrayRef<uint8_t> codeObject);

} // namespace rubia::codegen
