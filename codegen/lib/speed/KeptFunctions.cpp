// SPDX-License-Identifier: Apache-2.0
#include "codegen/lib/speed/KeptFunctions.h"
#include "codegen/lib/Translate.h"
#include "codegen/lib/speed/KeptCode.h"
#include "codegen/lib/speed/SpecialFunctions.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include <atomic>
#include <memory>

using namespace llvm;

namespace rubia::codegen {
namespace {

std::atomic<unsigned> keptCount;

// Of this thread's machines, by their whole names: what a function becomes depends on nothing else.
StringMap<KeptCode> &knownFunctions() {
  thread_local StringMap<KeptCode> known;
  return known;
}

bool isKernel(const Function &function) {
  return function.getCallingConv() == CallingConv::AMDGPU_KERNEL;
}

bool isOnlyCalled(const Function &function) {
  return function.hasFnAttribute(kIsKept) && !function.isDeclaration() &&
         function.hasLocalLinkage() && !function.use_empty() &&
         all_of(function.uses(), [](const Use &use) {
           const auto *call = dyn_cast<CallInst>(use.getUser());
           // Behind a tail call, LLVM would have it save registers.
           return call && call->isCallee(&use) && !call->isTailCall();
         });
}

bool namesNoSymbol(const Function &function) {
  return all_of(instructions(function), [](const Instruction &inst) {
    const auto *call = dyn_cast<CallBase>(&inst);
    return (!call || isa<IntrinsicInst>(call) || call->isInlineAsm()) &&
           none_of(inst.operands(), [&](const Use &use) {
             return isa<ConstantExpr>(use) ||
                    (isa<GlobalValue>(use) && !(call && call->isCallee(&use)));
           });
  });
}

/// A kernel that stands for the module's, whose attributes LLVM passes on to the functions that it
/// calls. Null: the kernels differ.
const Function *kernelOf(const Module &module) {
  const Function *found = nullptr;
  for (const Function &function : module)
    if (isKernel(function)) {
      if (found && found->getAttributes().getFnAttrs() != function.getAttributes().getFnAttrs())
        return nullptr;
      found = &function;
    }
  return found;
}

/// What the code of a module's functions depends on, beside the functions.
std::string describe(const Module &module, const Function &kernel, const TargetMachine &machine,
                     unsigned optLevel) {
  std::string text;
  raw_string_ostream os(text);
  os << machine.getTargetCPU() << ' ' << machine.getTargetFeatureString() << ' ' << optLevel << ' ';
  SmallVector<Module::ModuleFlagEntry> flags;
  module.getModuleFlagsMetadata(flags);
  for (const Module::ModuleFlagEntry &flag : flags) {
    os << flag.Key->getString() << ' ' << unsigned(flag.Behavior) << ' ';
    flag.Val->printAsOperand(os);
    os << ' ';
  }
  os << kernel.getAttributes().getFnAttrs().getAsString() << '\n';
  return text;
}

/// The attributes have the body's name.
std::string describe(const Function &function, const Specialty &specialty) {
  std::string text;
  raw_string_ostream os(text);
  os << function.getName() << ' ' << *function.getFunctionType() << ' ';
  const AttributeList attributes =
      function.getAttributes().removeFnAttribute(function.getContext(), kBodyLater);
  for (unsigned index : attributes.indexes())
    os << attributes.getAsString(index) << '\n';
  os << specialty;
  return text;
}

Error giveBody(Function &function, const Options &options) {
  if (!function.hasFnAttribute(kBodyLater))
    return Error::success();
  if (!options.giveBody)
    return make_error<CodegenError>(Fault::Malformed, "there is nobody who has the body",
                                    function.getName().str());
  return options.giveBody(function);
}

void giveCode(Function &function, const KeptCode &code) {
  LLVMContext &context = function.getContext();
  function.removeFnAttr(kBodyLater);
  function.addFnAttr(Attribute::Naked);
  function.addFnAttr(Attribute::NoInline);
  function.addFnAttr(kept::kCode, code.code);
  function.addFnAttr(kept::kStack, std::to_string(code.stackBytes));
  function.addFnAttr(kept::kAlignment, std::to_string(code.alignment));
  function.addFnAttr(kept::kWritten, code.written);
  IRBuilder<> b(BasicBlock::Create(context, "", &function));
  auto *none = FunctionType::get(b.getVoidTy(), false);
  b.CreateCall(InlineAsm::get(none, "; rubia.accesses " + toHex(code.accesses, /*LowerCase=*/true),
                              /*Constraints=*/"", /*hasSideEffects=*/true));
  if (function.getReturnType()->isVoidTy())
    b.CreateRetVoid(); // which is not reached, like the others
  else
    b.CreateRet(PoisonValue::get(function.getReturnType()));
}

} // namespace

unsigned keptFunctionCount() { return keptCount; }

void forEachKept(function_ref<void(StringRef name, const KeptCode &)> visit) {
  for (const auto &function : knownFunctions())
    if (!function.second.code.empty())
      visit(function.first(), function.second);
}

Error giveBodies(Module &module, const Options &options) {
  for (Function &function : module)
    if (Error error = giveBody(function, options))
      return error;
  return Error::success();
}

Error takeKeptFunctions(Module &module, TargetMachine &machine, const Options &options) {
  constexpr size_t kMost = 256; // of some 20 KB each
  StringMap<KeptCode> &known = knownFunctions();
  SmallVector<Function *> functions;
  for (Function &function : module)
    if (isOnlyCalled(function))
      functions.push_back(&function);
  const Function *kernel = functions.empty() ? nullptr : kernelOf(module);
  // A debugger shows registers of our functions too, then.
  if (!kernel || options.optLevel < 2 || hasDebugVariables(module))
    return giveBodies(module, options);
  if (known.size() >= kMost)
    known.clear();
  const std::string forModule = describe(module, *kernel, machine, options.optLevel);
  struct Wanted {
    Function &function;
    std::unique_ptr<Module> own;
    std::string name;
  };
  std::vector<Wanted> all;
  for (Function *function : functions) {
    const Specialty specialty(*function);
    std::string name = forModule + describe(*function, specialty);
    auto found = known.find(name);
    if (found == known.end()) {
      Expected<std::optional<KeptCode>> ready = readyFunction(name);
      if (!ready)
        return ready.takeError();
      if (*ready)
        found = known.try_emplace(name, std::move(**ready)).first;
    }
    if (found == known.end() || found->second.code.empty()) {
      if (Error error = giveBody(*function, options))
        return error;
      if (!namesNoSymbol(*function))
        continue;
    }
    Function &special = specialised(*function, specialty);
    all.push_back({special, takeApart(special, *kernel), std::move(name)});
  }
  for (Wanted &one : all) {
    auto found = known.find(one.name);
    if (found == known.end()) {
      Expected<KeptCode> code =
          compileApart(*one.own, one.function.getName(), machine, options.optLevel);
      if (!code)
        return code.takeError();
      keptCount += !code->code.empty();
      found = known.try_emplace(one.name, std::move(*code)).first;
    }
    if (found->second.code.empty())
      giveBack(*one.own, one.function);
    else
      giveCode(one.function, found->second);
  }
  return giveBodies(module, options); // of the rest
}

} // namespace rubia::codegen
