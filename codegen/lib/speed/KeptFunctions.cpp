// SPDX-License-Identifier: Apache-2.0
#include "codegen/lib/speed/KeptFunctions.h"
#include "codegen/lib/Translate.h"
#include "codegen/lib/speed/KeptCode.h"
#include "codegen/lib/speed/SpecialFunctions.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/BLAKE3.h"
#include "llvm/Target/TargetMachine.h"
#include <atomic>
#include <memory>

using namespace llvm;

namespace rubia::codegen {
namespace {

std::atomic<unsigned> keptCount;

bool isKernel(const Function &function) {
  return function.getCallingConv() == CallingConv::AMDGPU_KERNEL;
}

bool isKeepable(const Function &function) {
  return function.hasFnAttribute(kIsKept) && !function.isDeclaration() &&
         function.hasLocalLinkage() && !function.use_empty() &&
         all_of(function.uses(),
                [](const Use &use) {
                  const auto *call = dyn_cast<CallInst>(use.getUser());
                  // Behind a tail call, LLVM would have it save registers.
                  return call && call->isCallee(&use) && !call->isTailCall();
                }) &&
         all_of(instructions(function), [](const Instruction &inst) {
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

/// Numbers that the context has given to names are part of it. Each unit has a context of its own.
std::string keyOf(const Module &module) {
  SmallString<0> bitcode;
  raw_svector_ostream os(bitcode);
  WriteBitcodeToFile(module, os);
  const auto hash = BLAKE3::hash(arrayRefFromStringRef(bitcode));
  return std::string(toStringRef(hash));
}

void giveCode(Function &function, const KeptCode &code) {
  LLVMContext &context = function.getContext();
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

Error takeKeptFunctions(Module &module, TargetMachine &machine, const Options &options) {
  constexpr size_t kMost = 256; // of some 20 KB each
  // Of this thread's machines. What a function becomes depends on nothing else.
  thread_local StringMap<KeptCode> known;
  SmallVector<Function *> functions;
  for (Function &function : module)
    if (isKeepable(function))
      functions.push_back(&function);
  const Function *kernel = functions.empty() ? nullptr : kernelOf(module);
  // A debugger shows registers of our functions too, then.
  if (!kernel || options.optLevel < 2 || hasDebugVariables(module))
    return Error::success();
  const std::string forMachine = (machine.getTargetCPU() + machine.getTargetFeatureString() + "/" +
                                  Twine(options.optLevel) + "/")
                                     .str();
  struct Wanted {
    Function &function;
    std::unique_ptr<Module> own;
    std::string key;
  };
  std::vector<Wanted> all;
  for (Function *each : functions) {
    Function &function = specialised(*each);
    std::unique_ptr<Module> own = takeApart(function, *kernel);
    std::string key = forMachine + keyOf(*own); // before passes give numbers to names
    all.push_back({function, std::move(own), std::move(key)});
  }
  for (Wanted &one : all) {
    auto found = known.find(one.key);
    if (found == known.end()) {
      Expected<KeptCode> code =
          compileApart(*one.own, one.function.getName(), machine, options.optLevel);
      if (!code)
        return code.takeError();
      keptCount += !code->code.empty();
      if (known.size() >= kMost)
        known.clear();
      found = known.try_emplace(one.key, std::move(*code)).first;
    }
    if (found->second.code.empty())
      giveBack(*one.own, one.function);
    else
      giveCode(one.function, found->second);
  }
  return Error::success();
}

} // namespace rubia::codegen
