// SPDX-License-Identifier: Apache-2.0
// The middle end: our own short pipeline in the place of LLVM's default<O3>, which was made for
// source text. nvcc has already inlined, unrolled, vectorised and simplified what PTX says. What is
// left is to find values in registers and memory, address spaces, and what both compilers see only
// together. docs/passes.md says of every pass of the default pipeline why it is here, or is not.
//
// The passes are named as opt names them (`opt -passes=`), because those of the AMDGPU target have
// no public headers.
#include "codegen/lib/BlockPieces.h"
#include "codegen/lib/Diagnostics.h"
#include "codegen/lib/Divisions.h"
#include "codegen/lib/LocalArrays.h"
#include "codegen/lib/ShortLoops.h"
#include "codegen/lib/TargetForms.h"
#include "codegen/lib/Translate.h"
#include "codegen/lib/fragments/NativeFragments.h"
#include "codegen/lib/speed/KeptFunctions.h"
#include "codegen/lib/speed/LimitedLoops.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Passes/StandardInstrumentations.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/InstCombine/InstCombine.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/LoopPassManager.h"
#include "llvm/Transforms/Scalar/SROA.h"
#include "llvm/Transforms/Utils/Mem2Reg.h"

using namespace llvm;

namespace rubia::codegen {

namespace {

struct Step {
  unsigned level; // the least -O that has it
  StringLiteral passes;
};

constexpr StringLiteral kNumbering = "gvn";
/// For units with whole-wave regions. Elsewhere GVN also computes a value in one branch that the
/// other one has, and joins the two by a phi. Where all lanes compute it, each branch would write
/// the register of the other's lanes: the same value, but checkWholeWaves() cannot know that.
constexpr StringLiteral kNumberingWithoutPhis = "gvn<no-pre>";
constexpr StringLiteral kLoops = "loop(indvars,loop-deletion,short-loops,loop-unroll-full)";
constexpr StringLiteral kCombine = "instcombine<no-verify-fixpoint>";

/// Of units with functions beside kernels. Callees are simplified first: the inliner counts their
/// instructions.
constexpr Step kCallSteps[] = {
    {1, "function(mem2reg,local-arrays,sroa<modify-cfg>,early-cse,simplifycfg)"},
    {2, "ipsccp"},
    {1, "always-inline"},
    {2,
     "cgscc(inline,function-attrs<skip-non-recursive-function-attrs>,argpromotion,"
     "function(sroa<modify-cfg>,early-cse<memssa>,simplifycfg,instcombine<no-verify-fixpoint>))"},
    {2, "deadargelim"},
    {1, "globaldce"},
};

/// Of every function.
constexpr Step kFunctionSteps[] = {
    {1, "mem2reg"},              // registers become values, in a quarter of the time of sroa
    {1, "local-arrays"},         // local arrays are reached from their object
    {1, "sroa<modify-cfg>"},     // and become values
    {1, "infer-address-spaces"}, // generic accesses: global, shared or local ones where known
    {1, "early-cse<memssa>"},
    // Behind an address space that is known, what branches tell of values: without it loops with
    // signed counters keep their exits, and are not unrolled (1.09 of the instructions of a
    // product of matrices in registers).
    {2, "speculative-execution<only-if-divergent-target>"},
    {2, "correlated-propagation"},
    {1, "simplifycfg"},
    {1, kCombine},
    {2, "reassociate"},
    {2, "loop-mssa(licm,loop-rotate)"},
    {2, "limited-loops"}, // LDS and private arrays
    {2, kNumbering},
    // v_pk_fma_f32 and the like: 1.7 without on gfx90a. The vectorizer numbers a block again for
    // each vector that it makes.
    {2, "divide-blocks,slp-vectorizer,vector-combine,join-blocks"},
    {2, "bdce"},
    {2, kCombine},
    {1, "adce"},
    // Not no-keep-loops: threads of a warp would take different ways past a loop's header (E50).
    {1, "simplifycfg<bonus-inst-threshold=1;switch-to-arithmetic;switch-to-lookup;"
        "hoist-common-insts;sink-common-insts;speculate-blocks;simplify-cond-branch>"},
    {1, "divisions"},
    {2, "target-forms"},
    {2, "infer-alignment"}, // of LDS: wide loads; 1.47 LDS cycles without in a product of matrices
};

/// What kernels need of what the hardware starts them with. Last: every pass before may remove such
/// a need. Without it a kernel without calls has 8 user SGPRs in the place of 2.
constexpr StringLiteral kLastStep = "amdgpu-attributor";

std::string listOf(ArrayRef<Step> steps, unsigned level) {
  std::string text;
  for (const Step &step : steps)
    if (step.level <= level)
      text += (text.empty() ? "" : ",") + step.passes.str();
  return text;
}

bool hasFunctions(const Module &module) {
  return any_of(module, [](const Function &function) {
    return !function.isDeclaration() && function.getCallingConv() != CallingConv::AMDGPU_KERNEL;
  });
}

bool hasWholeWaves(const Module &module) {
  return any_of(module, [](const Function &function) {
    return function.getIntrinsicID() == Intrinsic::amdgcn_strict_wwm && !function.use_empty();
  });
}

/// A lane's number may be computed anywhere. LLVM does not know, and so leaves what depends on it
/// in loops, and uses it behind them: a round of one warp then writes what another one needs there.
/// Both are the same, but checkWholeWaves() cannot know that.
void letLaneNumbersMove(Module &module) {
  for (Intrinsic::ID number : {Intrinsic::amdgcn_mbcnt_lo, Intrinsic::amdgcn_mbcnt_hi})
    if (Function *function = Intrinsic::getDeclarationIfExists(&module, number))
      function->addFnAttr(Attribute::Speculatable);
}

std::string pipelineOf(const Module &module, unsigned level) {
  std::string text = hasFunctions(module) ? listOf(kCallSteps, level) + "," : "";
  std::string steps = listOf(kFunctionSteps, level);
  if (const size_t at = steps.find("," + kNumbering.str() + ",");
      at != std::string::npos && hasWholeWaves(module))
    steps.replace(at + 1, kNumbering.size(), kNumberingWithoutPhis);
  return text + "function(" + steps + ")";
}

/// Nothing needs AGPRs. LLVM cannot tell where nothing is optimised, nor of a function that calls
/// another one by its address. It would keep the sums of products there, beside other values
/// (docs/errata.md, E40).
void needNoAccumulationRegisters(Module &module) {
  for (Function &function : module)
    if (!function.isDeclaration())
      function.addFnAttr("amdgpu-agpr-alloc", "0");
}

/// LLVM looks into no function that is naked. It would take it that the function needs all that the
/// hardware starts a kernel with, for which kernels then have registers. The code that stands for a
/// body (speed/KeptFunctions.h) needs nothing of that.
Error runLastStep(Module &module, PassBuilder &builder, ModuleAnalysisManager &analyses) {
  SmallVector<Function *> naked;
  for (Function &function : module)
    if (function.hasFnAttribute(kIsKept) && function.hasFnAttribute(Attribute::Naked)) {
      function.removeFnAttr(Attribute::Naked);
      naked.push_back(&function);
    }
  ModulePassManager last;
  if (Error error = builder.parsePassPipeline(last, kLastStep))
    return error;
  last.run(module, analyses);
  for (Function *function : naked)
    function->addFnAttr(Attribute::Naked);
  return Error::success();
}

/// Before the functions are inlined that it knows by their names, and as early as registers are
/// values.
FunctionPassManager fragmentPasses() {
  FunctionPassManager passes;
  passes.addPass(PromotePass());
  passes.addPass(SROAPass(SROAOptions::ModifyCFG));
  passes.addPass(EarlyCSEPass(/*UseMemorySSA=*/true));
  passes.addPass(InstCombinePass());
  passes.addPass(NativeFragmentsPass());
  return passes;
}

} // namespace

Error optimise(Module &module, TargetMachine &machine, unsigned optLevel) {
  DiagnosticCollector diagnostics(module.getContext());
  PassInstrumentationCallbacks callbacks;
  OptPassGateInstrumentation gate(module.getContext());
  gate.registerCallbacks(callbacks);
  PassBuilder builder(&machine, PipelineTuningOptions(), std::nullopt, &callbacks);

  LoopAnalysisManager loops;
  FunctionAnalysisManager functions;
  CGSCCAnalysisManager components;
  ModuleAnalysisManager modules;
  TargetLibraryInfoImpl library(module.getTargetTriple());
  functions.registerPass([&] { return TargetLibraryAnalysis(library); });
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);

  builder.registerPipelineParsingCallback(
      [&](StringRef name, FunctionPassManager &passes, ArrayRef<PassBuilder::PipelineElement>) {
        if (name == "divide-blocks") {
          passes.addPass(DivideBlocksPass());
        } else if (name == "join-blocks") {
          passes.addPass(JoinBlocksPass());
        } else if (name == "limited-loops") {
          FunctionPassManager limited;
          cantFail(builder.parsePassPipeline(limited, kLoops));
          passes.addPass(LimitedLoopsPass(std::move(limited)));
        } else if (name == "local-arrays") {
          passes.addPass(LocalArraysPass());
        } else if (name == "divisions") {
          passes.addPass(DivisionsPass());
        } else if (name == "target-forms") {
          passes.addPass(TargetFormsPass());
        } else {
          return false;
        }
        return true;
      });
  builder.registerPipelineParsingCallback(
      [](StringRef name, LoopPassManager &passes, ArrayRef<PassBuilder::PipelineElement>) {
        if (name == "short-loops")
          passes.addPass(ShortLoopsPass());
        return name == "short-loops";
      });
  if (optLevel > 0 && hasNativeFragments(module))
    createModuleToFunctionPassAdaptor(fragmentPasses()).run(module, modules);
  if (optLevel > 0 && hasWholeWaves(module))
    letLaneNumbersMove(module);
  ModulePassManager pipeline;
  if (optLevel == 0) {
    pipeline = builder.buildO0DefaultPipeline(OptimizationLevel::O0);
    pipeline.addPass(createModuleToFunctionPassAdaptor(DivisionsPass()));
  } else if (Error error = builder.parsePassPipeline(pipeline, pipelineOf(module, optLevel)))
    return make_error<CodegenError>(Fault::System, toString(std::move(error)));
  pipeline.run(module, modules);
  if (hasWholeWaves(module))
    needNoAccumulationRegisters(module);
  if (optLevel > 0)
    if (Error error = runLastStep(module, builder, modules))
      return make_error<CodegenError>(Fault::System, toString(std::move(error)));
  if (Error error = diagnostics.take())
    return error;
  return verify(module, "after optimisation");
}

} // namespace rubia::codegen
