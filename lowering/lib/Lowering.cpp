// SPDX-License-Identifier: Apache-2.0
// The public entry: one unit in, one verified LLVM module out.
#include "lowering/Lowering.h"
#include "lowering/Complexity.h"
#include "lowering/Judgement.h"
#include "lowering/LaterBodies.h"
#include "lowering/lib/analysis/Target.h"
#include "lowering/lib/analysis/WarpForm.h"
#include "lowering/lib/frame/UnitLowering.h"
#include "lowering/lib/transform/MemoryOrder.h"
#include "lowering/lib/waits/CalledWaits.h"
#include "ptx-frontend/Lines.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/TargetParser/Triple.h"

using namespace llvm;

namespace rubia::settings::WarpFormChoice {
extern const Word Auto, Checked, HalfFilled, Packed;
} // namespace rubia::settings::WarpFormChoice
namespace rubia::settings::WarpWaits {
extern const Word Short;
} // namespace rubia::settings::WarpWaits

namespace rubia::lowering {

uint32_t Options::mostRounds() const {
  if (spinLimit)
    return spinLimit;
  // The more, the 30 bits that frame/MissedBarriers.cpp counts in.
  return code.is(settings::WarpWaits::Short) ? 1 << 22 : (1 << 30) - 1;
}

char LoweringError::ID;

void LoweringError::log(raw_ostream &os) const {
  for (const ptx::Diagnostic &diagnostic : diagnostics) {
    if (&diagnostic != &diagnostics.front())
      os << '\n';
    os << diagnostic.function << ':' << diagnostic.line << ':' << diagnostic.column
       << ": error: " << (diagnostic.unsupported ? "unsupported: " : "") << diagnostic.message;
  }
}

std::error_code LoweringError::convertToErrorCode() const { return inconvertibleErrorCode(); }

static Error checkComplexity(const ptx::Module &ptxModule, const Unit &unit) {
  std::vector<ptx::Diagnostic> diagnostics;
  for (ArrayRef<const ptx::Function *> functions :
       {ArrayRef(unit.kernels), ArrayRef(unit.functions)})
    for (const ptx::Function *function : functions) {
      std::string excess = excessOf(complexityOf(*function));
      if (excess.empty())
        continue;
      ptx::Diagnostic &diagnostic = diagnostics.emplace_back();
      diagnostic.message =
          ("'" + function->name + "' would take too long to compile: " + excess).str();
      diagnostic.place = function->place;
      std::tie(diagnostic.line, diagnostic.column) = ptx::lineAndColumn(ptxModule, function->place);
      diagnostic.function = function->name.str();
      diagnostic.unsupported = true;
    }
  if (diagnostics.empty())
    return Error::success();
  return make_error<LoweringError>(std::move(diagnostics));
}

namespace {
// What is decided before anything is lowered.
struct Plan {
  Target target;
  WarpFormDecision form;
  std::string notSound; // why the form that was asked for cannot be had
};
} // namespace

static Expected<Plan> planFor(const ptx::Module &ptxModule, const Unit &unit,
                              const Options &options) {
  Expected<Target> target = targetOf(options.arch);
  if (!target)
    return target.takeError();

  if (!options.code.is(settings::WarpFormChoice::Auto) && target->waveSize == 32) {
    target->waveSize = 64;
    target->features += target->features.empty() ? "+wavefrontsize64" : ",+wavefrontsize64";
  }
  target->usesMatrixUnit = options.fit != Fit::WithoutMatrixUnit;
  if (Error error = checkComplexity(ptxModule, unit))
    return std::move(error);
  WarpFormDecision form = decideWarpForm(ptxModule, unit, *target);
  const bool asksForChecked = options.code.is(settings::WarpFormChoice::Checked),
             asksForPacked = options.code.is(settings::WarpFormChoice::Packed);
  if ((asksForChecked && form.canBeChecked) ||
      (options.code.is(settings::WarpFormChoice::Auto) && form.mustBeChecked))
    form = checkedForm(std::move(form));
  std::string notSound;
  if ((asksForPacked || asksForChecked) && form.form != abi::WarpForm::Packed)
    notSound =
        (asksForPacked ? "the packed form is not legal: " : "the checked form is not legal: ") +
        form.reason;
  if (options.code.is(settings::WarpFormChoice::HalfFilled)) {
    form.form = abi::WarpForm::HalfFilled;
    form.reason = "it was asked for; " + form.reason;
    form.exactThreads = 0;
    form.mayBeChecked = false;
  }
  target->isPacked = form.form == abi::WarpForm::Packed;
  return Plan{std::move(*target), std::move(form), std::move(notSound)};
}

static std::unique_ptr<Module> emptyModule(const ptx::Module &ptxModule, LLVMContext &context) {
  auto module = std::make_unique<Module>(StringRef(ptxModule.name), context);
  Triple triple("amdgcn-amd-amdhsa");
  module->setTargetTriple(triple);
  module->setDataLayout(triple.computeDataLayout());
  return module;
}

static Error lowerAll(UnitLowering &lowering, const std::string &notSound) {
  if (notSound.empty())
    lowering.lowerAll();
  else
    lowering.diagnostics.push_back(lowering.diagnosticAt(
        lowering.warpForm.place, *lowering.warpForm.function, notSound, /*unsupported=*/true));
  if (!lowering.diagnostics.empty())
    return make_error<LoweringError>(std::move(lowering.diagnostics));
  return Error::success();
}

// A defect of ours, never of the input; LLVM's own passes assume valid IR.
static Error invalid(const std::string &broken) {
  return createStringError("lowering made invalid IR: %s", broken.c_str());
}

// `sampler`: where what lowers the sampler's functions is left for their bodies; null if they get
// them.
static Expected<std::unique_ptr<Module>> lowerUnit(const ptx::Module &ptxModule, const Unit &given,
                                                   const Options &options, LLVMContext &context,
                                                   std::unique_ptr<UnitLowering> *sampler) {
  const CalledWaits waits(given);
  const Unit &unit = waits.unit();
  Expected<Plan> plan = planFor(ptxModule, unit, options);
  if (!plan)
    return plan.takeError();
  std::unique_ptr<Module> module = emptyModule(ptxModule, context);
  UnitLowering lowering(ptxModule, unit, options, plan->target, std::move(plan->form), *module);
  lowering.leavesBodies = sampler != nullptr;
  if (Error error = lowerAll(lowering, plan->notSound))
    return std::move(error);
  if (sampler)
    *sampler = lowering.takeSampler();
  for (Function &function : *module)
    makeOrderExplicit(function, plan->target);

  NamedMDNode *metadata = module->getOrInsertNamedMetadata("rubia.metadata");
  metadata->addOperand(MDNode::get(context, MDString::get(context, lowering.metadata())));

  std::string broken;
  raw_string_ostream os(broken);
  if (verifyModule(*module, &os))
    return invalid(broken);
  module->getOrInsertNamedMetadata("rubia.verified"); // code generation need not ask again
  return module;
}

Expected<std::unique_ptr<Module>> lower(const ptx::Module &ptxModule, const Unit &unit,
                                        const Options &options, LLVMContext &context) {
  return lowerUnit(ptxModule, unit, options, context, nullptr);
}

LaterBodies::LaterBodies() = default;
LaterBodies::~LaterBodies() = default;

Expected<std::unique_ptr<Module>> lower(const ptx::Module &ptxModule, const Unit &unit,
                                        const Options &options, LLVMContext &context,
                                        LaterBodies &later) {
  later.options = options;
  return lowerUnit(ptxModule, unit, later.options, context, &later.library);
}

Error LaterBodies::give(Function &function) {
  library->giveBody(function);
  makeOrderExplicit(function, library->target);
  std::string broken;
  raw_string_ostream os(broken);
  return verifyFunction(function, &os) ? invalid(broken) : Error::success();
}

Expected<Judgement> judge(const ptx::Module &ptxModule, const Unit &given, const Options &options,
                          Experience &experience) {
  const CalledWaits waits(given);
  const Unit &unit = waits.unit();
  Expected<Plan> plan = planFor(ptxModule, unit, options);
  if (!plan)
    return plan.takeError();
  LLVMContext context;
  context.setDiscardValueNames(true);
  std::unique_ptr<Module> module = emptyModule(ptxModule, context);
  UnitLowering lowering(ptxModule, unit, options, plan->target, std::move(plan->form), *module);
  lowering.experience = &experience;
  if (Error error = lowerAll(lowering, plan->notSound))
    return std::move(error);
  Judgement judgement;
  for (const ptx::Function *kernel : unit.kernels)
    judgement.maxThreads.push_back(lowering.maxThreads(*kernel));
  judgement.mayBeChecked = lowering.warpForm.mayBeChecked;
  judgement.warpFormReason = lowering.warpForm.reason;
  llvm::append_range(judgement.matrixRoutes, lowering.matrixRoutes);
  judgement.refused = std::move(lowering.refused);
  return judgement;
}

} // namespace rubia::lowering
