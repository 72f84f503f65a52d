// SPDX-License-Identifier: Apache-2.0
#include "codegen/lib/Parts.h"
#include "codegen/lib/Diagnostics.h"
#include "codegen/lib/PassGate.h"
#include "codegen/lib/Translate.h"
#include "codegen/lib/speed/KeptFunctions.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/ThreadPool.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/Utils/ModuleUtils.h"
#include <mutex>
#include <tuple>

using namespace llvm;

namespace rubia::codegen {
namespace {

constexpr unsigned kLdsSpace = 3;
constexpr size_t kMaxParts = 32;     // each is an open file of the 64 that the sandbox permits
constexpr unsigned kMaxThreads = 16; // each takes some 200 MB for parts of 50,000 PTX instructions

using FunctionSet = SmallSetVector<const Function *, 16>;

bool isKernel(const Function &function) {
  return function.getCallingConv() == CallingConv::AMDGPU_KERNEL;
}

/// What can be compiled apart: it is called through its address, and keeps that.
FunctionSet rootsOf(const Module &module) {
  FunctionSet roots;
  for (const Function &function : module)
    if (!function.isDeclaration() && !isKernel(function) && function.hasAddressTaken())
      roots.insert(&function);
  return roots;
}

/// The functions of a part, and what it weighs.
struct Part {
  StringSet<> functions;
  size_t instructions = 0;

  /// A function with those that it calls directly, down to roots. They are compiled into every part
  /// that calls them, as into every unit.
  void add(const Function &function, const FunctionSet &roots) {
    if (function.isDeclaration() || !functions.insert(function.getName()).second)
      return;
    for (const Instruction &inst : llvm::instructions(function))
      for (const Use &use : inst.operands())
        if (const auto *callee = dyn_cast<Function>(use); callee && !roots.contains(callee))
          add(*callee, roots);
  }
};

/// The largest functions first, each into the smallest part. None: it is not worth it.
std::vector<Part> divide(const FunctionSet &roots, size_t perPart) {
  struct Sized {
    size_t instructions, index; // among the roots
  };
  std::vector<Sized> bySize;
  size_t all = 0;
  for (const auto &[index, root] : enumerate(roots)) {
    bySize.push_back({root->getInstructionCount(), index});
    all += bySize.back().instructions;
  }
  std::vector<Part> parts(std::min({all / perPart, bySize.size(), kMaxParts}));
  if (parts.size() < 2)
    return {};
  sort(bySize, [](const Sized &a, const Sized &b) {
    return std::tuple(b.instructions, a.index) < std::tuple(a.instructions, b.index);
  });
  for (const Sized &one : bySize) {
    Part &part = *min_element(
        parts, [](const Part &a, const Part &b) { return a.instructions < b.instructions; });
    part.instructions += one.instructions;
    part.add(*roots[one.index], roots);
  }
  return parts;
}

/// Shared memory has its addresses before the module is divided. LLVM does the same before it
/// divides a module (AMDGPUTargetMachine.cpp, "full link time optimization").
Error placeSharedMemory(Module &module, TargetMachine &machine) {
  DiagnosticCollector diagnostics(module.getContext());
  PassBuilder builder(&machine);
  LoopAnalysisManager loops;
  FunctionAnalysisManager functions;
  CGSCCAnalysisManager components;
  ModuleAnalysisManager modules;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  ModulePassManager passes;
  if (Error error = builder.parsePassPipeline(passes, "amdgpu-lower-module-lds"))
    return error;
  passes.run(module, modules);
  return diagnostics.take();
}

/// What parts share has a name for the linker. Shared memory is addresses, which each part knows.
void makeVisible(Module &module, const FunctionSet &roots) {
  auto makeHidden = [](GlobalValue &value) {
    if (!value.hasLocalLinkage())
      return;
    value.setLinkage(GlobalValue::ExternalLinkage);
    value.setVisibility(GlobalValue::HiddenVisibility);
    value.setDSOLocal(true);
  };
  for (Function &function : module)
    if (roots.contains(&function))
      makeHidden(function);
  for (GlobalVariable &variable : module.globals())
    if (variable.getAddressSpace() != kLdsSpace && !variable.isDeclaration())
      makeHidden(variable);
}

/// The module in a context of its own, which another thread may have, with the bodies of these
/// functions only.
Expected<std::unique_ptr<Module>> read(ArrayRef<char> bitcode, const StringSet<> &functions,
                                       LLVMContext &context) {
  MemoryBufferRef buffer(StringRef(bitcode.data(), bitcode.size()), "part");
  Expected<std::unique_ptr<Module>> module = getLazyBitcodeModule(buffer, context);
  if (!module)
    return module;
  for (Function &function : **module)
    if (function.isMaterializable() && !functions.contains(function.getName())) {
      function.setIsMaterializable(false);
      function.deleteBody(); // a declaration is left
    }
  if (Error error = (*module)->materializeAll())
    return std::move(error);
  return module;
}

/// What only one of the objects may have, that of the kernels has.
void keepFunctionsOnly(Module &module) {
  module.setModuleInlineAsm(""); // the metadata's section
  for (GlobalVariable &variable : module.globals())
    if (!variable.isDeclaration() && variable.getAddressSpace() != kLdsSpace)
      variable.setInitializer(nullptr);
}

/// LLVM gives a kernel that calls through addresses as many registers as the functions of its
/// module use. This function uses as many as those of all parts; nobody calls it.
void reserveRegisters(Module &module, const RegisterUse &use) {
  const auto kernel = find_if(module, isKernel);
  if (kernel == module.end())
    return;
  LLVMContext &context = module.getContext();
  FunctionType *type = FunctionType::get(Type::getVoidTy(context), false);
  Function *function =
      Function::Create(type, GlobalValue::InternalLinkage, "__rubia_registers", module);
  for (StringRef name : {"target-cpu", "target-features"})
    if (Attribute attribute = kernel->getFnAttribute(name); attribute.isValid())
      function->addFnAttr(attribute);
  function->addFnAttr(Attribute::NoInline);
  IRBuilder<> builder(BasicBlock::Create(context, "entry", function));
  std::string names;
  for (auto [kind, count] : {std::pair('v', use.vgprs), {'a', use.agprs}, {'s', use.sgprs}})
    if (count > 0)
      names += (names.empty() ? "" : ",") + ("~{" + std::string(1, kind)) +
               std::to_string(count - 1) + "}";
  builder.CreateCall(InlineAsm::get(type, "", names, /*hasSideEffects=*/true));
  builder.CreateRetVoid();
  appendToUsed(module, {function});
}

/// The objects of a module that was divided.
class Parts {
public:
  Parts(std::vector<Part> functions, StringSet<> kernels, SmallVector<char, 0> bitcode,
        const TargetId &target, const Options &options)
      : functions(std::move(functions)), kernels(std::move(kernels)), bitcode(std::move(bitcode)),
        target(target), options(options) {}

  Expected<std::vector<std::string>> emit() {
    if (Error error = emitFunctions())
      return std::move(error);
    LLVMContext context;
    Expected<std::unique_ptr<Module>> module = read(bitcode, kernels, context);
    if (!module)
      return module.takeError();
    reserveRegisters(**module, use);
    if (Error error = emit(**module, objects.emplace_back(), nullptr))
      return std::move(error);
    return std::move(objects);
  }

private:
  Error emitFunctions() {
    objects.resize(functions.size());
    if (options.onPart)
      options.onPart(0, unsigned(functions.size() + 1));
    Error failed = Error::success();
    std::mutex turn;
    unsigned done = 0;
    ThreadPoolStrategy threads = hardware_concurrency();
    threads.ThreadsRequested = std::min(threads.compute_thread_count(), kMaxThreads);
    DefaultThreadPool pool(threads);
    for (size_t i = 0; i < functions.size(); ++i)
      pool.async([&, i] {
        RegisterUse own;
        Error error = emitFunctions(functions[i].functions, objects[i], own);
        std::lock_guard lock(turn);
        failed = joinErrors(std::move(failed), std::move(error));
        use.join(own);
        if (options.onPart)
          options.onPart(++done, unsigned(functions.size() + 1));
      });
    pool.wait();
    return failed;
  }

  Error emitFunctions(const StringSet<> &names, std::string &object, RegisterUse &own) const {
    LLVMContext context;
    Expected<std::unique_ptr<Module>> module = read(bitcode, names, context);
    if (!module)
      return module.takeError();
    keepFunctionsOnly(**module);
    return emit(**module, object, &own);
  }

  Error emit(Module &module, std::string &object, RegisterUse *own) const {
    Expected<TargetMachine *> machine = targetMachine(target, options.optLevel);
    if (!machine)
      return machine.takeError();
    Expected<std::string> made =
        emitPrepared(module, **machine, options.optLevel, EmitKind::Object, own);
    if (!made)
      return made.takeError();
    object = std::move(*made);
    return Error::success();
  }

  const std::vector<Part> functions;
  const StringSet<> kernels;
  const SmallVector<char, 0> bitcode;
  const TargetId &target;
  const Options &options;
  RegisterUse use; // of all functions
  std::vector<std::string> objects;
};

} // namespace

Expected<std::vector<std::string>> emitObjects(std::unique_ptr<Module> module,
                                               const TargetId &target, const Options &options) {
  FunctionSet roots = rootsOf(*module);
  if (PassGate::isWanted(options) || divide(roots, options.instructionsPerPart).empty()) {
    Expected<std::string> object = emit(std::move(module), options, EmitKind::Object);
    if (!object)
      return object.takeError();
    return std::vector<std::string>{std::move(*object)};
  }

  Expected<TargetMachine *> machine = targetMachine(target, options.optLevel);
  if (!machine)
    return machine.takeError();
  if (Error error = prepare(*module, **machine, target, options.codeObjectVersion))
    return error;
  if (Error error = giveBodies(*module, options))
    return error;
  if (Error error = placeSharedMemory(*module, **machine))
    return error;
  makeVisible(*module, roots);
  Part kernels;
  for (const Function &function : *module)
    if (isKernel(function))
      kernels.add(function, roots);
  SmallVector<char, 0> bitcode;
  raw_svector_ostream os(bitcode);
  WriteBitcodeToFile(*module, os);
  std::vector<Part> functions = divide(roots, options.instructionsPerPart);
  module.reset();
  return Parts(std::move(functions), std::move(kernels.functions), std::move(bitcode), target,
               options)
      .emit();
}

} // namespace rubia::codegen
