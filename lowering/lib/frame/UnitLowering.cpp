// SPDX-License-Identifier: Apache-2.0
// The module of one unit: declarations, attributes, shared memory and the module table. Passes.cpp
// has the order in which it all is made.
#include "lowering/lib/frame/UnitLowering.h"
#include "lowering/Abi.h"
#include "lowering/lib/analysis/InstructionEffects.h"
#include "lowering/lib/analysis/PartialWarps.h"
#include "lowering/lib/frame/ClusterSlots.h"
#include "lowering/lib/frame/DeviceFunctions.h"
#include "lowering/lib/frame/FunctionLowering.h"
#include "lowering/lib/frame/LaunchState.h"
#include "lowering/lib/frame/RegisterLimit.h"
#include "lowering/lib/frame/SharedMemory.h"
#include "lowering/lib/frame/SharedSlot.h"
#include "ptx-frontend/Lines.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/JSON.h"

using namespace llvm;

namespace rubia::ptx::Op {
extern const Operation Call;
} // namespace rubia::ptx::Op
namespace rubia::settings::Id {
extern const Setting debugInfo;
} // namespace rubia::settings::Id
namespace rubia::settings::LocalArrays {
extern const Word Memory;
} // namespace rubia::settings::LocalArrays
namespace rubia::settings::SharedMemory {
extern const Word Cluster;
} // namespace rubia::settings::SharedMemory
namespace rubia::targets::Fact {
extern const GenerationFact hasDx10ClampAndIeee, maxLdsBytes;
} // namespace rubia::targets::Fact
namespace rubia::ptx::Mod {
extern const Modifier Ftz;
} // namespace rubia::ptx::Mod

namespace rubia::lowering {

// The product of the dimensions of .maxntid, .reqntid or .reqnctapercluster; what is not given
// is 1. 0 if nothing is given.
static uint64_t productOf(const uint32_t (&dimensions)[3]) {
  if (!dimensions[0])
    return 0;
  return uint64_t(dimensions[0]) * std::max(dimensions[1], 1u) * std::max(dimensions[2], 1u);
}

// .maxclusterrank is a bound, .explicitcluster asks for no size.
static bool requiresClusters(const ptx::Function *kernel) {
  return productOf(kernel->attributes.requiredCluster) > 1;
}

/// Of a program's unit it has to be found.
template <typename Fact, typename Find>
static Fact known(const Unit &unit, Fact LibraryFacts::*fact, const Find &find) {
  const LibraryFacts *facts = libraryFacts(unit);
  return facts ? facts->*fact : find(unit);
}

UnitLowering::UnitLowering(const ptx::Module &ptxModule, const Unit &unit, const Options &options,
                           Target target, WarpFormDecision warpForm, Module &module)
    : ptxModule(ptxModule), unit(unit), options(options), target(std::move(target)),
      warpForm(std::move(warpForm)), module(module),
      barriers(known(unit, &LibraryFacts::barriers,
                     [&](const Unit &) { return planBarriers(unit, this->warpForm.isChecked); })),
      sharedLayout(known(unit, &LibraryFacts::sharedLayout, layOutShared)),
      namesClusters(known(unit, &LibraryFacts::namesClusters, lowering::namesClusters)),
      calledMeeting(known(unit, &LibraryFacts::calledMeeting, meetingInFunctions)),
      debugInfo(ptxModule, module, options.code.wordOf(settings::Id::debugInfo)),
      forClusters(namesClusters && (options.code.is(settings::SharedMemory::Cluster) ||
                                    any_of(unit.kernels, requiresClusters))) {
  for (auto [index, variable] : enumerate(moduleVariables(ptxModule)))
    slots[variable] = abi::kFirstVariableSlot + unsigned(index);
}

void UnitLowering::lowerBody(const ptx::Function &function) {
  Function &llvmFunction = *functionFor(function);
  DISubprogram *subprogram = llvmFunction.getSubprogram();
  if (!subprogram) // it has one if the body was left for later
    subprogram = debugInfo.addFunction(function, llvmFunction);
  std::vector<ptx::Diagnostic> problems;
  if (!function.valid) {
    problems.push_back(diagnosticAt(function.place, function,
                                    "'" + function.name + "' has errors and cannot be compiled",
                                    /*unsupported=*/false));
  } else {
    FunctionLowering lowering(*this, function, llvmFunction, subprogram);
    lowering.lowerBody();
    problems = lowering.takeDiagnostics();
  }
  if (problems.empty())
    return;

  // Nobody may ever call a function that is only reached through a pointer: it reports itself when
  // that happens.
  if (!function.isKernel && !directlyCalled.contains(&function)) {
    const ptx::Diagnostic &first = problems.front();
    unsigned place =
        addTrap((function.name + ":" + Twine(first.line) + ": " + first.message).str());
    llvmFunction.deleteBody();
    llvmFunction.setLinkage(GlobalValue::InternalLinkage);
    llvmFunction.setSubprogram(subprogram);
    IRBuilder<> builder(BasicBlock::Create(module.getContext(), "entry", &llvmFunction));
    builder.SetCurrentDebugLocation(
        DILocation::get(module.getContext(), debugInfo.lineOf(function.place), 0, subprogram));
    emitTrap(builder, *this, abi::TrapReason::Unsupported, place);
    builder.CreateUnreachable();
    return;
  }
  diagnostics.insert(diagnostics.end(), problems.begin(), problems.end());
}

// ---------- Facts about the unit

static ArrayRef<const ptx::Function *> concat(const Unit &unit,
                                              SmallVectorImpl<const ptx::Function *> &all) {
  all.append(unit.kernels.begin(), unit.kernels.end());
  all.append(unit.functions.begin(), unit.functions.end());
  return all;
}

void UnitLowering::findAddressesAndCalls() {
  SmallVector<const ptx::Function *> storage;
  for (const ptx::Function *function : concat(unit, storage))
    for (const ptx::Instruction &instruction : function->body)
      for (const ptx::Operand &operand : instruction.operands)
        if (operand.kind == ptx::Operand::Kind::Function)
          (instruction.op() == ptx::Op::Call ? directlyCalled : addressTaken)
              .insert(&definitionOf(*operand.function()));
  for (const auto &[variable, slot] : slots)
    for (const ptx::Relocation &relocation : variable->relocations)
      if (relocation.function)
        addressTaken.insert(&definitionOf(*relocation.function));
  hasFunctionAddresses = any_of(unit.functions, [&](const ptx::Function *function) {
    return addressTaken.contains(function);
  });
}

static bool namesModuleLocal(const ptx::Operand &operand) {
  const ptx::Variable *variable = operand.variable();
  return (variable && variable->space == ptx::StateSpace::Local && !variable->function) ||
         any_of(operand.elements(), namesModuleLocal);
}

void UnitLowering::findModuleLocals() {
  passesModuleLocals = any_of(unit.functions, [](const ptx::Function *function) {
    return any_of(function->body, [](const ptx::Instruction &instruction) {
      return any_of(instruction.operands, namesModuleLocal);
    });
  });
  for (const ptx::Variable *variable : ptxModule.variables) {
    if (variable->space != ptx::StateSpace::Local)
      continue;
    uint32_t alignment = std::max<uint32_t>(variable->alignment, 4);
    moduleLocalAlignment = std::max(moduleLocalAlignment, alignment);
    uint64_t offset = alignTo(moduleLocalBytes, alignment);
    moduleLocalOffsets[variable] = offset;
    moduleLocalBytes = offset + variable->sizeInBytes;
  }
}

void UnitLowering::findExitingFunctions() {
  auto exits = [&](const ptx::Instruction &instruction) {
    if (does(instruction, effects::Exits))
      return true;
    if (!does(instruction, effects::Calls))
      return false;
    const ptx::Operand *callee =
        find_if(instruction.operands, [](const ptx::Operand &o) { return o.function(); });
    return callee == instruction.operands.end() ? indirectMayExit : mayExit(*callee->function());
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (const ptx::Function *function : unit.functions) {
      if (exiting.contains(function) || none_of(function->body, exits))
        continue;
      changed = true;
      exiting.insert(function);
      if (addressTaken.contains(function) && !indirectMayExit) {
        indirectMayExit = true;
        exiting.insert(addressTaken.begin(), addressTaken.end());
      }
    }
  }
}

// A unit flushes only if every instruction that can tell does: single .ftz instructions can be
// brought about in the mode that keeps denormals, not the other way round.
bool UnitLowering::chooseDenormalMode() const {
  bool flushes = false;
  SmallVector<const ptx::Function *> storage;
  for (const ptx::Function *function : concat(unit, storage)) {
    for (const ptx::Instruction &instruction : function->body) {
      if (needsF32Denormals(instruction))
        return false;
      flushes |= instruction.spelling->has(ptx::Mod::Ftz);
    }
  }
  return flushes;
}

// ---------- Functions

Type *UnitLowering::passedType(const ptx::Variable &parameter) const {
  LLVMContext &context = module.getContext();
  if (parameter.incomplete) // .param .b8 list[]: where the arguments lie
    return PointerType::get(context, kPrivateSpace);
  if (parameter.type == ptx::Type::Pred)
    return Type::getInt1Ty(context);
  if (parameter.elementCount == 1 && parameter.vectorWidth <= 1)
    return Type::getIntNTy(context, unsigned(parameter.sizeInBytes * 8));
  return ArrayType::get(Type::getInt32Ty(context), (parameter.sizeInBytes + 3) / 4);
}

FunctionType *UnitLowering::functionType(ArrayRef<const ptx::Variable *> results,
                                         ArrayRef<const ptx::Variable *> parameters, bool mayExit) {
  SmallVector<Type *> parameterTypes, resultTypes;
  for (const ptx::Variable *parameter : parameters)
    parameterTypes.push_back(passedType(*parameter));
  for (const ptx::Variable *result : results)
    resultTypes.push_back(passedType(*result));
  LLVMContext &context = module.getContext();
  if (mayExit)
    resultTypes.push_back(Type::getInt1Ty(context));
  Type *resultType = resultTypes.empty()       ? Type::getVoidTy(context)
                     : resultTypes.size() == 1 ? resultTypes[0]
                                               : StructType::get(context, resultTypes);
  return FunctionType::get(resultType, parameterTypes, false);
}

FunctionType *UnitLowering::calleeType(ArrayRef<const ptx::Variable *> results,
                                       ArrayRef<const ptx::Variable *> parameters, bool mayExit) {
  FunctionType *type = functionType(results, parameters, mayExit);
  if (!passesModuleLocals)
    return type;
  SmallVector<Type *> types(type->params());
  types.push_back(PointerType::get(module.getContext(), kPrivateSpace));
  return FunctionType::get(type->getReturnType(), types, false);
}

Function *UnitLowering::functionFor(const ptx::Function &function) {
  return functions.lookup(&definitionOf(function));
}

// Symbols that are ours or the linker's. Nothing of LLVM's can be meant: PTX names have no dots.
static bool isReserved(StringRef name) {
  return name.starts_with("__rubia_") || name == "_GLOBAL_OFFSET_TABLE_";
}

// What LLVM is to call a function or variable that nobody looks up by its name.
static std::string localName(StringRef name) {
  return ((isReserved(name) ? "ptx." : "") + name).str();
}

void UnitLowering::declareFunction(const ptx::Function &function) {
  LLVMContext &context = module.getContext();
  FunctionType *type = function.isKernel
                           ? FunctionType::get(Type::getVoidTy(context),
                                               {PointerType::get(context, kConstantSpace)}, false)
                           : calleeType(function.results, function.parameters, mayExit(function));
  Function *made = Function::Create(
      type, function.isKernel ? GlobalValue::ExternalLinkage : GlobalValue::InternalLinkage,
      function.isKernel ? function.name.str() : localName(function.name), module);
  setAttributes(function, *made);
  functions[&function] = made;
}

uint32_t UnitLowering::maxThreads(const ptx::Function &kernel) const {
  uint64_t limit = target.halfFilled() ? abi::kMostHalfFilledThreads : abi::kMostThreads;
  if (uint64_t required = productOf(kernel.attributes.requiredThreads))
    return uint32_t(std::min(required, limit));
  if (uint64_t most = productOf(kernel.attributes.maxThreads))
    return uint32_t(std::min(most, limit));
  return uint32_t(options.fit == Fit::FewThreads ? limit / 2 : limit);
}

void UnitLowering::setCommonAttributes(Function &llvmFunction) const {
  // PTX has no undefined behaviour and no guarantee of progress, so neither mustprogress nor
  // willreturn.
  llvmFunction.addFnAttr(Attribute::NoUnwind);
  llvmFunction.addFnAttr(Attribute::Convergent);
  llvmFunction.addFnAttr(Attribute::NullPointerIsValid);
  llvmFunction.addFnAttr("target-cpu", target.name());
  if (!target.features.empty())
    llvmFunction.addFnAttr("target-features", target.features);
  llvmFunction.addFnAttr("denormal-fp-math", "ieee,ieee");
  llvmFunction.addFnAttr("denormal-fp-math-f32",
                         flushesF32Denormals ? "preserve-sign,preserve-sign" : "ieee,ieee");
  // Minimum and maximum take the number, also against a signalling NaN: without this mode bit that
  // needs two instructions more.
  if (targets::Fact::hasDx10ClampAndIeee(*target.row))
    llvmFunction.addFnAttr("amdgpu-ieee", "false");
  llvmFunction.addFnAttr("uniform-work-group-size", "true");
  if (options.code.is(settings::LocalArrays::Memory))
    llvmFunction.addFnAttr("rubia-local-arrays", "memory");
}

Function *UnitLowering::ownFunction(StringRef name, FunctionType *type) {
  if (Function *known = module.getFunction(name))
    return known;
  Function *made = Function::Create(type, GlobalValue::InternalLinkage, name, module);
  setCommonAttributes(*made);
  return made;
}

void UnitLowering::setAttributes(const ptx::Function &function, Function &llvmFunction) {
  LLVMContext &context = module.getContext();
  setCommonAttributes(llvmFunction);
  if (!function.isKernel)
    return;

  llvmFunction.setCallingConv(CallingConv::AMDGPU_KERNEL);
  llvmFunction.setVisibility(GlobalValue::ProtectedVisibility);
  llvmFunction.setDSOLocal(true);
  uint32_t most = maxThreads(function);
  bool exact = productOf(function.attributes.requiredThreads) != 0;
  if (target.halfFilled())
    most = abi::halfFilledWorkgroupSize(most);
  llvmFunction.addFnAttr("amdgpu-flat-work-group-size",
                         (Twine(exact ? most : 1) + "," + Twine(most)).str());
  limitRegisters(function, unit, target, llvmFunction);

  uint64_t size =
      abi::launchArgumentsOffset(layoutOf(function).sizeInBytes) + sizeof(abi::LaunchArguments);
  llvmFunction.addParamAttr(
      0, Attribute::getWithByRefType(context, ArrayType::get(Type::getInt8Ty(context), size)));
  llvmFunction.addParamAttr(0, Attribute::getWithAlignment(context, Align(16)));
  llvmFunction.getArg(0)->setName("arguments");
}

void UnitLowering::checkKernel(const ptx::Function &kernel) {
  if (isReserved(kernel.name))
    report(diagnosticAt(kernel.place, kernel,
                        "'" + kernel.name +
                            "' is a name that Rubia or the linker uses in every code object",
                        /*unsupported=*/true));
  uint64_t shared = staticSharedBytes(kernel, barriers.words);
  if (shared > targets::Fact::maxLdsBytes(*target.row))
    report(diagnosticAt(kernel.place, kernel,
                        "'" + kernel.name + "' declares " + Twine(shared) +
                            " bytes of shared memory, " + target.name() + " has " +
                            Twine(targets::Fact::maxLdsBytes(*target.row)),
                        /*unsupported=*/true));
  if (sharedInMemory() && sharedLayout.dynamic > abi::kSharedSlotBytes)
    report(diagnosticAt(kernel.place, kernel,
                        "'" + kernel.name + "' and the functions it is compiled with have " +
                            Twine(sharedLayout.dynamic) +
                            " bytes of static shared memory, a CTA at most " +
                            Twine(abi::kSharedSlotBytes),
                        /*unsupported=*/true));
  if (uint64_t ctas = productOf(kernel.attributes.requiredCluster); ctas > abi::kMaxClusterCtas)
    report(diagnosticAt(kernel.place, kernel,
                        "'" + kernel.name + "' requires clusters of " + Twine(ctas) +
                            " CTAs (.reqnctapercluster), at most " + Twine(abi::kMaxClusterCtas) +
                            " are possible",
                        /*unsupported=*/true));
  // Then a launch gives the grid in clusters, which the driver takes for CTAs.
  if (kernel.attributes.blocksAreClusters && productOf(kernel.attributes.requiredCluster) != 1)
    report(diagnosticAt(kernel.place, kernel,
                        "'" + kernel.name +
                            "' has .blocksareclusters, and its clusters may have several CTAs",
                        /*unsupported=*/true));
  if (uint64_t required = productOf(kernel.attributes.requiredThreads);
      target.halfFilled() && required > abi::kMostHalfFilledThreads)
    report(diagnosticAt(kernel.place, kernel,
                        "'" + kernel.name + "' requires " + Twine(required) +
                            " threads, and the half-filled form allows " +
                            Twine(abi::kMostHalfFilledThreads) + "; " + warpForm.reason,
                        /*unsupported=*/true));
}

// ---------- Variables

GlobalVariable *UnitLowering::sharedVariable(const ptx::Variable &variable) {
  LLVMContext &context = module.getContext();
  if (variable.incomplete) {
    // All dynamic shared memory starts at the same address. PTX ISA: state-spaces, shared.
    if (!dynamicShared) {
      dynamicShared = new GlobalVariable(
          module, ArrayType::get(Type::getInt8Ty(context), 0), false, GlobalValue::ExternalLinkage,
          nullptr, "__rubia_dynamic_shared", nullptr, GlobalValue::NotThreadLocal, kSharedSpace);
      dynamicShared->setAlignment(Align(sharedLayout.dynamicAlignment));
    }
    if (variable.alignment > 16)
      dynamicShared->setAlignment(std::max(dynamicShared->getAlign().valueOrOne(),
                                           Align(PowerOf2Ceil(variable.alignment))));
    return dynamicShared;
  }
  GlobalVariable *&result = sharedVariables[&variable];
  if (!result) {
    Type *type = ArrayType::get(Type::getInt8Ty(context), variable.sizeInBytes);
    result = new GlobalVariable(module, type, false, GlobalValue::InternalLinkage,
                                PoisonValue::get(type), localName(variable.name), nullptr,
                                GlobalValue::NotThreadLocal, kSharedSpace);
    // AMDGPULowerModuleLDS aligns variables like this. Said here, loads that follow each other
    // become wide ones (ds_read_b128).
    const uint64_t aligned = std::min<uint64_t>(PowerOf2Ceil(variable.sizeInBytes), 16);
    result->setAlignment(Align(PowerOf2Ceil(std::max<uint64_t>({variable.alignment, aligned, 1}))));
  }
  return result;
}

GlobalVariable *UnitLowering::barrierWords() {
  if (!barrierVariable) {
    Type *type = ArrayType::get(Type::getInt8Ty(module.getContext()), barriers.words.sizeInBytes());
    barrierVariable = new GlobalVariable(module, type, false, GlobalValue::InternalLinkage,
                                         PoisonValue::get(type), "__rubia_barriers", nullptr,
                                         GlobalValue::NotThreadLocal, kSharedSpace);
    barrierVariable->setAlignment(Align(8));
  }
  return barrierVariable;
}

GlobalVariable *UnitLowering::reservedShared() {
  if (!reserved) {
    Type *type = ArrayType::get(Type::getInt8Ty(module.getContext()), kReservedSharedBytes);
    reserved = new GlobalVariable(module, type, false, GlobalValue::InternalLinkage,
                                  PoisonValue::get(type), "__rubia_reserved_shared", nullptr,
                                  GlobalValue::NotThreadLocal, kSharedSpace);
    reserved->setAlignment(Align(16));
  }
  return reserved;
}

GlobalVariable *UnitLowering::slotWords() {
  if (parent)
    return parent->slotWords();
  if (!slotVariable) {
    Type *type =
        ArrayType::get(Type::getInt8Ty(module.getContext()), SlotWords::bytes(isForClusters()));
    slotVariable = new GlobalVariable(module, type, false, GlobalValue::InternalLinkage,
                                      PoisonValue::get(type), "__rubia_shared_slot", nullptr,
                                      GlobalValue::NotThreadLocal, kSharedSpace);
    slotVariable->setAlignment(Align(8));
  }
  return slotVariable;
}

unsigned UnitLowering::slotOf(const ptx::Variable &variable) const {
  return slots.lookup(&variable);
}

Value *UnitLowering::loadModuleTable(IRBuilder<> &builder, unsigned slot) {
  if (parent)
    return parent->loadModuleTable(builder, slot);
  assert(!isDeviceLibrary && "the sampler knows nothing of the unit that calls it");
  LLVMContext &context = module.getContext();
  if (!moduleTable) {
    Type *type = ArrayType::get(Type::getInt64Ty(context), abi::kFirstVariableSlot + slots.size());
    moduleTable = new GlobalVariable(module, type, false, GlobalValue::ExternalLinkage,
                                     Constant::getNullValue(type), abi::kModuleTable, nullptr,
                                     GlobalValue::NotThreadLocal, kGlobalSpace,
                                     /*isExternallyInitialized=*/true);
    moduleTable->setVisibility(GlobalValue::ProtectedVisibility);
    moduleTable->setDSOLocal(true);
    moduleTable->setAlignment(Align(8));
  }
  slotsRead.insert(slot);
  Value *place = builder.CreateConstGEP1_64(builder.getInt64Ty(), moduleTable, slot);
  LoadInst *load = builder.CreateAlignedLoad(builder.getInt64Ty(), place, Align(8));
  load->setMetadata(LLVMContext::MD_invariant_load, MDNode::get(context, {}));
  return load;
}

void UnitLowering::makeFunctionTable() {
  if (unit.inInitializers.empty())
    return;
  LLVMContext &context = module.getContext();
  SmallVector<Constant *> entries;
  for (const ptx::Function *function : unit.inInitializers)
    entries.push_back(functionFor(*function));
  auto *type = ArrayType::get(PointerType::get(context, kFlatSpace), entries.size());
  auto *table = new GlobalVariable(module, type, true, GlobalValue::ExternalLinkage,
                                   ConstantArray::get(type, entries), abi::kFunctionTable, nullptr,
                                   GlobalValue::NotThreadLocal, kGlobalSpace);
  table->setVisibility(GlobalValue::ProtectedVisibility);
  table->setDSOLocal(true);
  table->setAlignment(Align(8));
}

unsigned UnitLowering::addTrap(std::string what) {
  traps.push_back(std::move(what));
  return unsigned(traps.size() - 1);
}

// ---------- Diagnostics and metadata

ptx::Diagnostic UnitLowering::diagnosticAt(uint32_t place, const ptx::Function &function,
                                           const Twine &message, bool unsupported) const {
  ptx::Diagnostic diagnostic;
  diagnostic.message = message.str();
  diagnostic.place = place;
  std::tie(diagnostic.line, diagnostic.column) = ptx::lineAndColumn(ptxModule, place);
  diagnostic.function = function.name.str();
  diagnostic.unsupported = unsupported;
  return diagnostic;
}

std::string UnitLowering::describe(const ptx::Function &function,
                                   const ptx::Instruction &instruction,
                                   const ptx::Instruction *source) const {
  std::string text =
      (function.name + ":" + Twine(diagnosticAt(instruction.place, function, "", false).line))
          .str();
  uint32_t sourceLine = (source ? source : &instruction)->sourceLine;
  if (sourceLine != ptx::kNone) {
    const ptx::SourceLine &line = ptxModule.sourceLines[sourceLine];
    for (const ptx::SourceFile &file : ptxModule.files)
      if (file.number == line.file)
        text += (" (" + file.path + ":" + Twine(line.line) + ")").str();
  }
  return text;
}

std::vector<std::string> UnitLowering::describePartialWarps() {
  // One note for all that the same branch divides.
  MapVector<std::pair<const ptx::Function *, const ptx::Instruction *>, SmallVector<PartialWarp, 1>>
      groups;
  for (const PartialWarp &partial : findPartialWarps(unit, warpMeetings, rowWarps))
    groups[{partial.function, partial.divides}].push_back(partial);
  std::vector<std::string> notes;
  for (const auto &[key, partials] : groups) {
    const PartialWarp &first = partials.front();
    std::string more =
        partials.size() > 1 ? " (and " + std::to_string(partials.size() - 1) + " more)" : "";
    notes.push_back(describe(*first.function, *first.instruction) + ": '" +
                    first.instruction->spelling->text.str() + "'" + more +
                    " is for all threads of the warp, which " +
                    describe(*first.dividingFunction, *first.divides) + " ('" +
                    first.divides->spelling->text.str() + "') may divide");
  }
  return notes;
}

std::string UnitLowering::metadata() {
  json::Array kernels;
  for (const ptx::Function *kernel : unit.kernels) {
    ParameterLayout layout = layoutOf(*kernel);
    json::Array parameters;
    for (const ParameterLayout::Parameter &parameter : layout.parameters)
      parameters.push_back(json::Object{{"offset", parameter.offset},
                                        {"size", parameter.size},
                                        {"alignment", parameter.alignment}});
    const uint32_t (&required)[3] = kernel->attributes.requiredThreads;
    const uint32_t (&cluster)[3] = kernel->attributes.requiredCluster;
    kernels.push_back(
        json::Object{{"name", kernel->name},
                     {"warpForm", nameOf(warpForm.form)},
                     {"warpFormReason", warpForm.reason},
                     {"exactThreads", warpForm.exactThreads},
                     {"mayBeChecked", warpForm.mayBeChecked},
                     {"parameters", std::move(parameters)},
                     {"parameterBytes", layout.sizeInBytes},
                     {"staticSharedBytes", staticSharedBytes(*kernel, barriers.words)},
                     {"maxThreads", maxThreads(*kernel)},
                     {"requiredThreads", json::Array{required[0], required[1], required[2]}},
                     {"requiredCluster", json::Array{cluster[0], cluster[1], cluster[2]}}});
  }
  json::Array slotList;
  for (unsigned slot : slotsRead)
    slotList.push_back(slot);
  json::Array trapList;
  for (const std::string &trap : traps)
    trapList.push_back(trap);
  json::Array spinLoopList;
  for (const std::string &loop : spinLoops)
    spinLoopList.push_back(loop);
  json::Array matrixRouteList;
  for (const std::string &route : matrixRoutes)
    matrixRouteList.push_back(route);
  json::Array refusedList;
  for (const std::string &place : refused)
    refusedList.push_back(place);
  json::Array partialWarps;
  for (std::string &note : describePartialWarps())
    partialWarps.push_back(std::move(note));
  json::Value all = json::Object{{"abi", abi::kVersion},
                                 {"arch", options.arch},
                                 {"dynamicShared", usesDynamicShared(unit)},
                                 {"expectsClusters", expectsClusters(unit)},
                                 {"fastAtomics", hasFastAtomics},
                                 {"functionAddresses", hasFunctionAddresses},
                                 {"kernels", std::move(kernels)},
                                 {"namesClusters", namesClusters},
                                 {"matrixRoutes", std::move(matrixRouteList)},
                                 {"partialWarps", std::move(partialWarps)},
                                 {"refused", std::move(refusedList)},
                                 {"sharedStart", int64_t(sharedLayout.dynamic)},
                                 {"slots", std::move(slotList)},
                                 {"spinLoops", std::move(spinLoopList)},
                                 {"traps", std::move(trapList)}};
  std::string text;
  raw_string_ostream(text) << all;
  return text;
}

} // namespace rubia::lowering
