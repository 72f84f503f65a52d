// SPDX-License-Identifier: Apache-2.0
// LLVM's back end with what is added to it and left out (docs/passes.md). Its passes are kept for
// the next module, which LLVM permits (llc --run-twice does it): a module's code must not depend on
// the modules before it.
#include "codegen/lib/AccessNotes.h"
#include "codegen/lib/Diagnostics.h"
#include "codegen/lib/FreshPass.h"
#include "codegen/lib/KeptByThread.h"
#include "codegen/lib/PassNames.h"
#include "codegen/lib/SharedConstants.h"
#include "codegen/lib/ShortRegions.h"
#include "codegen/lib/Translate.h"
#include "codegen/lib/WideIndexes.h"
#include "codegen/lib/errata/AllOnes.h"
#include "codegen/lib/errata/BranchMasks.h"
#include "codegen/lib/errata/CallResults.h"
#include "codegen/lib/errata/CarryChains.h"
#include "codegen/lib/errata/CarryMasks.h"
#include "codegen/lib/errata/FrameCarries.h"
#include "codegen/lib/errata/FreeValues.h"
#include "codegen/lib/errata/HalfResults.h"
#include "codegen/lib/errata/JoinedMasks.h"
#include "codegen/lib/errata/LoopCarries.h"
#include "codegen/lib/errata/LoopEntries.h"
#include "codegen/lib/errata/NarrowProducts.h"
#include "codegen/lib/errata/Opaque.h"
#include "codegen/lib/errata/OwnConstants.h"
#include "codegen/lib/errata/PackedIntegers.h"
#include "codegen/lib/errata/PassLimits.h"
#include "codegen/lib/errata/Traps.h"
#include "codegen/lib/errata/WholeAccesses.h"
#include "codegen/lib/errata/WholeWaveRegisters.h"
#include "codegen/lib/errata/WholeWaveValues.h"
#include "codegen/lib/errata/lanes/LoopCopies.h"
#include "codegen/lib/errata/lanes/RegionReloads.h"
#include "codegen/lib/errata/lanes/SunkLoads.h"
#include "codegen/lib/errata/lanes/WideExchanges.h"
#include "codegen/lib/speed/AsmMemory.h"
#include "codegen/lib/speed/KeptFunctions.h"
#include "codegen/lib/speed/KillFlags.h"
#include "codegen/lib/speed/LimitedSinking.h"
#include "codegen/lib/speed/MaskValues.h"
#include "codegen/lib/speed/MatrixHazards.h"
#include "codegen/lib/speed/PiecewiseVectorizer.h"
#include "codegen/lib/speed/SparseLiveness.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/CodeGen/AsmPrinter.h"
#include "llvm/CodeGen/AsmPrinterHandler.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include <map>
#include <utility>

using namespace llvm;

namespace rubia::codegen {

bool hasDebugVariables(const Module &module) {
  return any_of(module.debug_compile_units(), [](const DICompileUnit *unit) {
    return unit->getEmissionKind() == DICompileUnit::FullDebug;
  });
}

namespace {

/// The back end's passes. The last of them, which prints the code, tells what memory accesses were.
class BackEnd : public legacy::PassManager {
public:
  BackEnd(bool isOptimising, bool hasVariables)
      : isOptimising(isOptimising), hasVariables(hasVariables) {}

  Error init(TargetMachine &machine, CodeGenFileType type) {
    add(new TargetLibraryInfoWrapperPass(TargetLibraryInfoImpl(machine.getTargetTriple())));
    // The verifier pass would end the process on a broken module; optimise() has already asked it.
    if (machine.addPassesToEmitFile(*this, stream, nullptr, type, /*DisableVerify=*/true))
      return make_error<CodegenError>(Fault::System, "LLVM has no back end for this file type");
    return Error::success();
  }

  /// What the passes print for the module. Registers are counted if `use` is given.
  StringRef print(Module &module, RegisterUse *use) {
    printed.clear();
    count = use;
    run(module);
    count = nullptr;
    return printed;
  }

  void add(Pass *pass) override {
    if (isLeftOut(pass->getPassName())) {
      delete pass;
      return;
    }
    if (pass->getPassName() == kMemoryBounds)
      pass = makeFreshEachModule(pass);
    if (pass->getPassName() == kAtomicExpansion)
      legacy::PassManager::add(makeProgramLoads());
    if (pass->getPassName() == kSinking)
      pass = makeLimitedSinking(pass);
    if (pass->getPassName() == kAccessVectorizer)
      pass = makePiecewiseVectorizer(pass);
    if (pass->getPassName() == kFixIrreducible)
      legacy::PassManager::add(makeLoopEntries());
    if (pass->getPassName() == kStructurizer) {
      legacy::PassManager::add(makeWholePhis());
      legacy::PassManager::add(makeFreeValues());
    }
    if (pass->getPassName() == kSelection) {
      legacy::PassManager::add(makeOpaqueAddresses());
      legacy::PassManager::add(makeNarrowProducts());
      legacy::PassManager::add(makeCarryChains());
      if (isOptimising)
        legacy::PassManager::add(makeSharedConstants());
      legacy::PassManager::add(makeMaskValues());
      legacy::PassManager::add(makeAsmWithoutMemory());
    }
    if (pass->getPassName() == kFinalizeSelection) {
      legacy::PassManager::add(makeKeptConventions());
      legacy::PassManager::add(makeMatrixHazards());
      legacy::PassManager::add(makeAsmWithMemory());
      legacy::PassManager::add(makeMaskValuesForgotten());
      legacy::PassManager::add(makeTraps());
      legacy::PassManager::add(makeOpaqueCopies());
      legacy::PassManager::add(makeCarryMasks());
      legacy::PassManager::add(makePackedIntegers());
      if (!isOptimising)
        legacy::PassManager::add(makeHalfResults());
    }
    // The pass is run a second time behind register allocation.
    if (pass->getPassName() == kShrinkInstructions)
      legacy::PassManager::add(std::exchange(isAllocated, true) ? makeCallResults()
                                                                : makeHalfResults());
    if (pass->getPassName() == kFoldOperands) {
      legacy::PassManager::add(makeAllOnes());
      legacy::PassManager::add(makeLoopCopies());
    }
    if (pass->getPassName() == kExchangeCombine)
      legacy::PassManager::add(makeWideExchanges());
    if (pass->getPassName() == (isOptimising ? kLiveVariables : kPhiElimination)) {
      legacy::PassManager::add(makeFrameCarries());
      legacy::PassManager::add(makeJoinedMasks());
    }
    if (pass->getPassName() == kLiveVariables) {
      legacy::PassManager::add(makeLoopCarries());
      legacy::PassManager::add(makeOwnConstants());
      legacy::PassManager::add(makeWholeWaveValues());
      delete std::exchange(pass, makeSparseLiveness());
    }
    if (pass->getPassName() == kScheduler) {
      legacy::PassManager::add(makeShortRegions(kEarlyRegion));
      legacy::PassManager::add(makeWideIndexes());
    }
    const bool joinsAccesses = pass->getPassName() == kAccessJoiner;
    if (joinsAccesses)
      legacy::PassManager::add(makeShortRegions(kAccessRegion));
    if (pass->getPassName() == kLateScheduler)
      legacy::PassManager::add(makeShortRegions(kLateRegion));
    if (pass->getPassName() == kWholeWaveAllocation) {
      legacy::PassManager::add(makeSpillLanes());
      legacy::PassManager::add(makeWholeWaveRegisters());
    }
    const bool isExecMasking = pass->getPassName() == kExecMasking;
    if (isExecMasking)
      legacy::PassManager::add(makeKillFlagsOnce());
    if (pass->getPassName() == kFrame)
      legacy::PassManager::add(makeRegionReloads());
    if (pass->getPassName() == kPreEmitPeephole)
      legacy::PassManager::add(makeBranchMasks());
    if (pass->getPassName() == kMemoryLegalizer)
      legacy::PassManager::add(makeWholeAccesses());
    if (pass->getPassName() == kRegisterUse)
      legacy::PassManager::add(makeKeptBodies());
    if (pass->getPassName() == kPrinter) {
      auto &printer = static_cast<AsmPrinter &>(*pass);
      printer.addAsmPrinterHandler(makeKeptPrinter(printer));
      printer.addAsmPrinterHandler(makeAccessNotes(printer));
      printer.addAsmPrinterHandler(makeRegisterCount(count));
    }
    const bool sinks = pass->getPassName() == kMachineSinking;
    if (sinks)
      legacy::PassManager::add(makeFencesStore());
    const bool expandsAtomics = pass->getPassName() == kAtomicExpansion;
    legacy::PassManager::add(pass);
    if (sinks)
      legacy::PassManager::add(makeFencesAsTheyWere());
    if (isExecMasking)
      legacy::PassManager::add(makeKillFlagsAgain());
    if (joinsAccesses)
      legacy::PassManager::add(makeJoinedRegions());
    if (expandsAtomics)
      legacy::PassManager::add(makeExpandedLoads());
  }

private:
  bool isLeftOut(StringRef pass) {
    // The first two Early CSE are before and behind Nary reassociation. A later pass removes the
    // copies that the first one for copies would.
    return is_contained(kLeftOut, pass) || (pass == kDebugValues && !hasVariables) ||
           (pass == kEarlyCse && ++earlyCses <= 2) || (pass == kCopies && ++copyPasses == 1);
  }

  bool isOptimising, hasVariables, isAllocated = false;
  unsigned earlyCses = 0, copyPasses = 0;
  RegisterUse *count = nullptr;
  SmallString<0> printed;
  raw_svector_ostream stream{printed};
};

/// This thread's passes that print objects for a machine and what the module needs. To make them
/// costs more than a small kernel does in them: 1.5 of 3 ms.
std::unique_ptr<BackEnd> &keptBackEnd(const TargetMachine &machine, bool hasVariables) {
  // Made behind the machines, whose passes these are, so that they end before them.
  thread_local KeptByThread<
      std::map<std::pair<const TargetMachine *, bool>, std::unique_ptr<BackEnd>>>
      backEnds;
  return (*backEnds)[{&machine, hasVariables}];
}

} // namespace

Error translate(Module &module, TargetMachine &machine, EmitKind kind,
                SmallVectorImpl<char> &output, RegisterUse *use) {
  DiagnosticCollector diagnostics(module.getContext());
  PassLimits limits(module);
  const bool hasVariables = hasDebugVariables(module);
  std::unique_ptr<BackEnd> passes;
  // Assembly lacks its first line if the passes have printed before.
  std::unique_ptr<BackEnd> &kept =
      kind == EmitKind::Object ? keptBackEnd(machine, hasVariables) : passes;
  // What an error has left half done is not used again.
  passes = std::move(kept);
  if (!passes) {
    passes =
        std::make_unique<BackEnd>(machine.getOptLevel() != CodeGenOptLevel::None, hasVariables);
    if (Error error =
            passes->init(machine, kind == EmitKind::Object ? CodeGenFileType::ObjectFile
                                                           : CodeGenFileType::AssemblyFile))
      return error;
  }
  StringRef printed = passes->print(module, use);
  if (Error error = diagnostics.take())
    return error;
  output.append(printed.begin(), printed.end());
  kept = std::move(passes);
  return Error::success();
}

} // namespace rubia::codegen
