// SPDX-License-Identifier: Apache-2.0
// Raw image -> parsed module, manifest, code objects: what a compile process does, and what `rubia
// compile`, `inspect` and `launch` do in their own process.
#pragma once

#include "codegen/Codegen.h"
#include "lowering/Judgement.h"
#include "lowering/LaterBodies.h"
#include "lowering/Lowering.h"
#include "ptx-frontend/Linker.h"
#include "ptx-frontend/Parser.h"
#include "runtime/cache/CacheKey.h"
#include "runtime/cache/Manifest.h"

namespace rubia::runtime {

struct PipelineOptions {
  codegen::Options codegen; // with the arch
  settings::Code code;
};

/// A parsed PTX image. Units are those of lowering::partition.
class PtxImage {
public:
  struct Text {
    std::string name, text;
    bool isLinked = false;   // of a bundle: what it only declares, nobody defines
    ptx::Linked origin = {}; // of several units, without the text
  };
  /// Picks the PTX for `computeCapability` out of a container (fatbin::selectPtx), or takes PTX
  /// text as it is. The error says why there is nothing to compile.
  static llvm::Expected<Text> textOf(llvm::ArrayRef<uint8_t> bytes, unsigned computeCapability);
  /// Errors inside of kernels do not fail this: they are in the manifest.
  static llvm::Expected<PtxImage> fromText(Text text);
  static llvm::Expected<PtxImage> fromText(std::string name, std::string text) {
    return fromText(Text{std::move(name), std::move(text)});
  }

  const ptx::Module &module() const { return parsed.module; }
  llvm::ArrayRef<ptx::Diagnostic> diagnostics() const { return parsed.diagnostics; }
  llvm::ArrayRef<lowering::Unit> units() const { return unitList; }
  /// Of linked units with the name and line of the unit.
  std::string format(const ptx::Diagnostic &diagnostic) const;
  /// All errors of one function, formatted; empty if there are none.
  std::string errorsOf(const ptx::Function &function) const;

  Manifest manifest() const;

  /// What decides who may launch the unit's kernels, or the errors that compile() would give before
  /// code generation.
  llvm::Expected<lowering::Judgement> judge(const lowering::Unit &unit,
                                            const PipelineOptions &options,
                                            lowering::Experience &experience) const;
  llvm::Expected<codegen::CodeObject> compile(const lowering::Unit &unit,
                                              const PipelineOptions &options) const;
  llvm::Expected<std::string> emit(const lowering::Unit &unit, const PipelineOptions &options,
                                   codegen::EmitKind kind) const;

private:
  llvm::Error withPlaces(llvm::Error error) const;
  explicit PtxImage(ptx::ParseResult result) : parsed(std::move(result)) {}
  llvm::Expected<std::unique_ptr<llvm::Module>> lower(const lowering::Unit &unit,
                                                      const PipelineOptions &options,
                                                      lowering::Fit fit, llvm::LLVMContext &context,
                                                      lowering::LaterBodies &later) const;
  /// What `generate` makes of the unit's module, lowered in the first way that fits in the
  /// registers.
  template <typename Made, typename Generate>
  llvm::Expected<Made> fitted(const lowering::Unit &unit, const PipelineOptions &options,
                              const Generate &generate) const;
  void describeDiagnostics(Manifest &manifest) const;
  ptx::ParseResult parsed;
  bool isLinked = false;
  ptx::Linked origin;
  std::vector<lowering::Unit> unitList;
};

} // namespace rubia::runtime
