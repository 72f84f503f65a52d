// SPDX-License-Identifier: Apache-2.0
// The table of contents of a compilation.
#include "codegen/Codegen.h"
#include "codegen/lib/CodeObject.h"
#include "codegen/lib/ExistingPhis.h"
#include "codegen/lib/Link.h"
#include "codegen/lib/Parts.h"
#include "codegen/lib/PassGate.h"
#include "codegen/lib/Translate.h"
#include "codegen/lib/check/FunctionCode.h"
#include "codegen/lib/errata/Differences.h"
#include "codegen/lib/errata/Negations.h"
#include "codegen/lib/errata/RoundedProducts.h"
#include "codegen/lib/errata/lanes/Ballots.h"
#include "codegen/lib/errata/signs/Clamps.h"
#include "codegen/lib/errata/signs/Zeros.h"
#include "codegen/lib/speed/Dominance.h"
#include "codegen/lib/speed/KeptFunctions.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"

using namespace llvm;

namespace rubia::codegen {

Expected<std::string> emitPrepared(Module &module, TargetMachine &machine, unsigned optLevel,
                                   EmitKind kind, RegisterUse *use) {
  searchForPhisByUses();
  askDominatorsDirectly();
  if (Error error = optimise(module, machine, optLevel))
    return error;
  protectRoundedProducts(module);
  protectNegations(module);
  protectZeros(module);
  protectClamps(module);
  protectDifferences(module);
  protectBallots(module);
  SmallString<0> output;
  if (kind == EmitKind::Llvm) {
    raw_svector_ostream os(output);
    module.print(os, nullptr);
  } else if (Error error = translate(module, machine, kind, output, use)) {
    return error;
  }
  return output.str().str();
}

Expected<std::string> emit(std::unique_ptr<Module> module, const Options &options, EmitKind kind) {
  if (options.optLevel > 3)
    return make_error<CodegenError>(Fault::Unsupported, "optimisation level " +
                                                            std::to_string(options.optLevel) +
                                                            ", expected 0 to 3");
  Expected<TargetId> target = parseTargetId(options.arch);
  if (!target)
    return target.takeError();
  Expected<TargetMachine *> machine = targetMachine(*target, options.optLevel);
  if (!machine)
    return machine.takeError();

  if (Error error = prepare(*module, **machine, *target, options.codeObjectVersion))
    return error;
  const bool keeps = kind == EmitKind::Object && !PassGate::isWanted(options);
  if (Error error =
          keeps ? takeKeptFunctions(*module, **machine, options) : giveBodies(*module, options))
    return error;
  const PassGate gate(module->getContext(), options);
  return emitPrepared(*module, **machine, options.optLevel, kind);
}

Expected<CodeObject> compile(std::unique_ptr<Module> module, const Options &options) {
  Expected<TargetId> target = parseTargetId(options.arch);
  if (!target)
    return target.takeError();
  ExportedSymbols symbols = exportedSymbols(*module);
  Expected<std::vector<std::string>> objects = emitObjects(std::move(module), *target, options);
  if (!objects)
    return objects.takeError();

  Expected<std::vector<uint8_t>> bytes =
      options.backend == Backend::Lld ? linkWithLld(*objects)
                                      : linkWithComgr(*objects, *target, options.comgrLibrary);
  if (!bytes)
    return bytes.takeError();
  CodeObject result{std::move(*bytes), {}};

  Expected<std::vector<KernelResources>> kernels = readResources(result.bytes);
  if (!kernels)
    return kernels.takeError();
  result.kernels = std::move(*kernels);
  if (Error error = checkExports(result, symbols))
    return error;
  if (!options.checkMode && !options.checkExec && !options.checkWholeWaves)
    return result;
  Expected<DecodedProgram> program = decodeProgram(result.bytes);
  if (!program)
    return program.takeError();
  if (options.checkMode)
    if (Error error = checkMode(*program))
      return error;
  if (options.checkExec)
    if (Error error = checkExec(*program))
      return error;
  // Without optimisation no value stays in a register from block to block, nor across a call.
  if (options.checkWholeWaves && options.optLevel > 0)
    if (Error error = checkWholeWaves(*program))
      return error;
  return result;
}

} // namespace rubia::codegen
