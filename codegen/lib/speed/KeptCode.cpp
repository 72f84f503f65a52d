// SPDX-License-Identifier: Apache-2.0
#include "codegen/lib/speed/KeptCode.h"
#include "codegen/lib/RegisterUse.h"
#include "codegen/lib/Translate.h"
#include "codegen/lib/speed/KeptRegisters.h"
#include "llvm/IR/DebugInfo.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Module.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/Endian.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include <optional>

using namespace llvm;
using object::ELF64LE;
using object::ELF64LEFile;

namespace rubia::codegen {
namespace {

/// What a function may be told by the hardware's start state, beside its arguments. LLVM says of a
/// function that it needs none of these.
constexpr StringLiteral kNeedsNothing[] = {
    "amdgpu-no-cluster-id-x",       "amdgpu-no-cluster-id-y",      "amdgpu-no-cluster-id-z",
    "amdgpu-no-completion-action",  "amdgpu-no-default-queue",     "amdgpu-no-dispatch-id",
    "amdgpu-no-dispatch-ptr",       "amdgpu-no-flat-scratch-init", "amdgpu-no-heap-ptr",
    "amdgpu-no-hostcall-ptr",       "amdgpu-no-implicitarg-ptr",   "amdgpu-no-lds-kernel-id",
    "amdgpu-no-multigrid-sync-arg", "amdgpu-no-queue-ptr",         "amdgpu-no-workgroup-id-x",
    "amdgpu-no-workgroup-id-y",     "amdgpu-no-workgroup-id-z",    "amdgpu-no-workitem-id-x",
    "amdgpu-no-workitem-id-y",      "amdgpu-no-workitem-id-z"};

/// A call with arguments that nobody knows anything about.
void addCaller(Function &function, const Function &like) {
  LLVMContext &context = function.getContext();
  Module &module = *function.getParent();
  auto *none = FunctionType::get(Type::getVoidTy(context), false);
  Function *kernel = Function::Create(none, GlobalValue::ExternalLinkage, "__rubia_caller", module);
  kernel->setCallingConv(CallingConv::AMDGPU_KERNEL);
  kernel->addFnAttrs(AttrBuilder(context, like.getAttributes().getFnAttrs()));
  IRBuilder<> b(BasicBlock::Create(context, "", kernel));
  auto assembly = [&](Type *result, ArrayRef<Value *> arguments, StringRef constraints) {
    SmallVector<Type *> types;
    for (Value *argument : arguments)
      types.push_back(argument->getType());
    return b.CreateCall(InlineAsm::get(FunctionType::get(result, types, false), "", constraints,
                                       /*hasSideEffects=*/true),
                        arguments);
  };
  SmallVector<Value *> arguments;
  for (const Argument &argument : function.args())
    arguments.push_back(assembly(argument.getType(), {}, "=v"));
  CallInst *call = b.CreateCall(&function, arguments);
  SmallVector<Value *> results = {call};
  if (auto *array = dyn_cast<ArrayType>(call->getType())) {
    results.clear();
    for (unsigned i = 0; i < array->getNumElements(); ++i)
      results.push_back(b.CreateExtractValue(call, i));
  }
  if (!call->getType()->isVoidTy())
    for (Value *result : results)
      assembly(b.getVoidTy(), {result}, "v");
  b.CreateRetVoid();
}

/// Between modules of one context.
void moveBody(Function &from, Function &to) {
  to.splice(to.begin(), &from);
  for (Argument &argument : from.args())
    argument.replaceAllUsesWith(to.getArg(argument.getArgNo()));
  for (Instruction &inst : instructions(to))
    if (auto *call = dyn_cast<CallBase>(&inst))
      if (const Function *callee = call->getCalledFunction())
        call->setCalledFunction(to.getParent()->getOrInsertFunction(
            callee->getName(), callee->getFunctionType(), callee->getAttributes()));
}

/// Where a function's code lies in an object, if nothing in it waits for the linker.
Expected<std::optional<StringRef>> codeIn(const ELF64LEFile &file, StringRef name) {
  auto sections = file.sections();
  if (!sections)
    return sections.takeError();
  for (const ELF64LE::Shdr &table : *sections) {
    if (table.sh_type != ELF::SHT_SYMTAB)
      continue;
    auto symbols = file.symbols(&table);
    auto names = file.getStringTableForSymtab(table);
    if (!symbols || !names)
      return joinErrors(symbols.takeError(), names.takeError());
    for (const ELF64LE::Sym &symbol : *symbols) {
      auto own = symbol.getName(*names);
      if (!own)
        return own.takeError();
      if (*own != name)
        continue;
      for (const ELF64LE::Shdr &section : *sections) {
        if (section.sh_type != ELF::SHT_RELA || section.sh_info != symbol.st_shndx)
          continue;
        auto relocations = file.relas(section);
        if (!relocations)
          return relocations.takeError();
        for (const ELF64LE::Rela &relocation : *relocations)
          if (relocation.r_offset - symbol.st_value < symbol.st_size)
            return std::nullopt;
      }
      auto section = file.getSection(symbol.st_shndx);
      if (!section)
        return section.takeError();
      auto bytes = file.getSectionContents(**section);
      if (!bytes)
        return bytes.takeError();
      return toStringRef(*bytes).substr(symbol.st_value, symbol.st_size);
    }
  }
  return std::nullopt;
}

/// What .rubia.accesses has of the only function that accesses memory. None: there are more, or
/// something else of the unit refers to the code.
Expected<std::optional<StringRef>> accessesIn(const ELF64LEFile &file) {
  auto sections = file.sections();
  if (!sections)
    return sections.takeError();
  StringRef accesses;
  for (const ELF64LE::Shdr &section : *sections) {
    auto name = file.getSectionName(section);
    if (!name)
      return name.takeError();
    if (!name->starts_with(".rubia."))
      continue;
    auto bytes = file.getSectionContents(section);
    if (!bytes)
      return bytes.takeError();
    constexpr size_t kAddress = 8, kHead = kAddress + 4; // then how many instructions
    if (bytes->empty())
      continue;
    if (*name != ".rubia.accesses" || bytes->size() < kHead ||
        bytes->size() - kHead != support::endian::read32le(bytes->data() + kAddress))
      return std::nullopt;
    accesses = toStringRef(*bytes).drop_front(kHead);
  }
  return accesses;
}

} // namespace

std::unique_ptr<Module> takeApart(Function &function, const Function &kernel) {
  const Module &unit = *function.getParent();
  auto module = std::make_unique<Module>("kept", function.getContext());
  module->setTargetTriple(unit.getTargetTriple());
  module->setDataLayout(unit.getDataLayout());
  SmallVector<Module::ModuleFlagEntry> flags;
  unit.getModuleFlagsMetadata(flags);
  for (const Module::ModuleFlagEntry &flag : flags)
    module->addModuleFlag(flag.Behavior, flag.Key->getString(), flag.Val);
  Function *copy = Function::Create(function.getFunctionType(), function.getLinkage(),
                                    function.getAddressSpace(), function.getName(), module.get());
  copy->copyAttributesFrom(&function);
  moveBody(function, *copy);
  StripDebugInfo(*module);
  addCaller(*copy, kernel);
  return module;
}

void giveBack(Module &module, Function &function) {
  moveBody(*module.getFunction(function.getName()), function);
}

Expected<KeptCode> compileApart(const Module &original, StringRef name, TargetMachine &machine,
                                unsigned optLevel) {
  const std::unique_ptr<Module> copy = CloneModule(original);
  Module &module = *copy;
  FunctionType *const type = module.getFunction(name)->getFunctionType();
  RegisterUse use;
  use.wantsFunction = true;
  Expected<std::string> object = emitPrepared(module, machine, optLevel, EmitKind::Object, &use);
  if (!object)
    return object.takeError();
  KeptCode kept;
  const Function *function = module.getFunction(name);
  // LLVM may have found arguments that the function does not read, or constants among its results.
  if (!function || function->getFunctionType() != type || !use.hasPlainStack || !use.knowsWritten ||
      !all_of(kNeedsNothing, [&](StringRef need) { return function->hasFnAttribute(need); }))
    return kept;
  Expected<ELF64LEFile> file = ELF64LEFile::create(*object);
  if (!file)
    return file.takeError();
  Expected<std::optional<StringRef>> code = codeIn(*file, name);
  if (!code)
    return code.takeError();
  Expected<std::optional<StringRef>> accesses = accessesIn(*file);
  if (!accesses)
    return accesses.takeError();
  if (!*code || (*code)->empty() || (*code)->size() % 4 || !*accesses)
    return kept;
  if (Error error = checkWritten(*function, **code, use.written, machine))
    return error;
  kept.code = code->value().str();
  kept.accesses = accesses->value().str();
  for (unsigned one : use.written)
    kept.written += (kept.written.empty() ? "" : ",") + std::to_string(one);
  kept.stackBytes = use.stackBytes;
  kept.alignment = use.alignment;
  return kept;
}

} // namespace rubia::codegen
