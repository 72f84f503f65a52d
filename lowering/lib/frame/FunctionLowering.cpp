// SPDX-License-Identifier: Apache-2.0
// The frame of a function: entry, registers, the loop over its instructions, and what dispatch does
// for every instruction.
#include "lowering/lib/frame/FunctionLowering.h"
#include "lowering/Judgement.h"
#include "lowering/lib/analysis/InstructionEffects.h"
#include "lowering/lib/frame/AcceptedInstructions.h"
#include "lowering/lib/frame/DeviceFunctions.h"
#include "lowering/lib/frame/DividedWarps.h"
#include "lowering/lib/frame/LoweringFunctions.h"
#include "lowering/lib/frame/MeetingPlaces.h"
#include "lowering/lib/frame/MissedBarriers.h"
#include "lowering/lib/frame/SharedSlot.h"
#include "lowering/lib/frame/UnitLowering.h"
#include "ptx-frontend/InstructionTable.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace rubia::ptx::Op {
extern const Operation CpAsync;
} // namespace rubia::ptx::Op
namespace rubia::settings::ContractMode {
extern const Word Nvidia;
} // namespace rubia::settings::ContractMode
namespace rubia::ptx::Mod {
extern const Modifier Local, Param;
} // namespace rubia::ptx::Mod

namespace rubia::lowering {

FunctionLowering::FunctionLowering(UnitLowering &unit, const ptx::Function &ptxFunction,
                                   Function &llvmFunction, DISubprogram *subprogram)
    : unitLowering(unit), source_(ptxFunction), definitions(ptxFunction),
      contraction(unit.options.code.is(settings::ContractMode::Nvidia) && !unit.experience
                      ? Contraction(ptxFunction)
                      : Contraction()),
      copies(ptxFunction), function(llvmFunction), subprogram(subprogram),
      entryBuilder(unit.module.getContext()), prologueBuilder(unit.module.getContext()),
      irBuilder(unit.module.getContext()), launchState(unit, &ptxFunction, prologueBuilder) {}

Module &FunctionLowering::module() { return unitLowering.module; }
const Options &FunctionLowering::options() const { return unitLowering.options; }
const Target &FunctionLowering::target() const { return unitLowering.target; }
bool FunctionLowering::flushesF32Denormals() const { return unitLowering.flushesF32Denormals; }

BasicBlock *FunctionLowering::newBlock(const Twine &name) {
  return BasicBlock::Create(context(), name, &function);
}

// ---------- The body

FunctionLowering::Places FunctionLowering::lowerInstructions(const DenseSet<uint32_t> &marked) {
  // A block begins at every label and after every instruction that ends one.
  labels.resize(source_.labels.size());
  DenseMap<uint32_t, BasicBlock *> blockAt;
  for (auto [id, label] : enumerate(source_.labels)) {
    BasicBlock *&block = blockAt[label.instruction];
    if (!block)
      block = newBlock(label.name);
    labels[id] = block;
  }
  irBuilder.SetInsertPoint(newBlock("body"));
  Places places;
  places.body = irBuilder.GetInsertBlock();
  for (auto [index, parameter] : enumerate(source_.parameters))
    if (parameter->reg != ptx::kNone && parameter->vectorWidth > 1)
      takeVector(parameter->reg, function.getArg(unsigned(index)));

  auto enter = [&](uint32_t index) {
    BasicBlock *labelled = blockAt.lookup(index);
    bool ended = irBuilder.GetInsertBlock()->getTerminator() != nullptr;
    if (!labelled && ended)
      labelled = newBlock("unreachable");
    if (!labelled)
      return;
    if (!ended)
      irBuilder.CreateBr(labelled);
    labelled->moveAfter(&function.back()); // blocks in the order of the text
    irBuilder.SetInsertPoint(labelled);
  };
  AcceptedInstructions *accepted = acceptedInstructions();
  MeetingPlaces meetingPlaces(*this, unitLowering.warpMeetings);
  DividedWarps dividedWarps(*this, unitLowering.warpMeetings);
  for (auto [index, instruction] : enumerate(source_.body)) {
    enter(uint32_t(index));
    places.starts.push_back(irBuilder.GetInsertBlock());
    if (accepted) {
      judgeInstruction(instruction, *accepted);
    } else {
      dividedWarps.lowerBefore(uint32_t(index));
      if (!meetingPlaces.lower(uint32_t(index)))
        lowerInstruction(instruction);
    }
    if (marked.contains(index) && !irBuilder.GetInsertBlock()->getTerminator()) {
      // A block with one successor, whatever follows.
      BasicBlock *behind = places.behind[index] = newBlock("released"), *next = newBlock("next");
      irBuilder.CreateBr(behind);
      irBuilder.SetInsertPoint(behind);
      irBuilder.CreateBr(next);
      irBuilder.SetInsertPoint(next);
    }
  }
  // Running past the last instruction returns.
  enter(uint32_t(source_.body.size()));
  if (!irBuilder.GetInsertBlock()->getTerminator())
    leave(/*exits=*/false);
  places.meetings = meetingPlaces.blocks();
  return places;
}

void FunctionLowering::prepareEntry() {
  DebugLoc loc = DILocation::get(context(), subprogram->getLine(), 0, subprogram);
  entryBuilder.SetInsertPoint(BasicBlock::Create(context(), "entry", &function));
  prologue = BasicBlock::Create(context(), "prologue", &function);
  prologueBuilder.SetInsertPoint(prologue);
  entryBuilder.SetCurrentDebugLocation(loc);
  prologueBuilder.SetCurrentDebugLocation(loc);
  irBuilder.SetCurrentDebugLocation(loc);
  registers.resize(source_.registers.size());

  if (source_.isKernel) {
    findParameterAddresses();
    ParameterLayout layout = layoutOf(source_);
    for (auto [index, parameter] : enumerate(source_.parameters))
      kernelParameters[parameter] = layout.parameters[index].offset;
    if (unitLowering.sharedInMemory())
      slot = takeSharedSlot(unitLowering, source_, prologueBuilder);
    return;
  }
  for (auto [index, parameter] : enumerate(source_.parameters)) {
    Argument *argument = function.getArg(unsigned(index));
    argument->setName(parameter->name);
    if (parameter->incomplete) {
      variables[parameter] = argument;
      continue;
    }
    if (parameter->reg != ptx::kNone && parameter->vectorWidth > 1)
      continue; // by lowerInstructions, element by element
    Value *slot = parameter->reg != ptx::kNone ? registerSlot(parameter->reg, 0xff)
                                               : parameterSlot(*parameter);
    entryBuilder.CreateStore(argument, slot);
  }
}

void FunctionLowering::finishEntry(BasicBlock *body) {
  prologueBuilder.CreateBr(body);
  if (!source_.isKernel || !target().halfFilled()) {
    entryBuilder.CreateBr(prologue);
    return;
  }
  // Lanes that are none of the CTA's threads leave at once. AMDGPUUsage: a barrier waits only for
  // waves that have not ended, and every wave has at least one thread.
  BasicBlock *idle = newBlock("idle");
  LaunchState inEntry(unitLowering, &source_, entryBuilder);
  entryBuilder.CreateCondBr(inEntry.isThread(), prologue, idle);
  entryBuilder.SetInsertPoint(idle);
  entryBuilder.CreateRetVoid();
}

// ---------- Judging

// In the words: whatever an instruction's lowering asks of its module, its unit and its function.
AcceptedInstructions *FunctionLowering::acceptedInstructions() const {
  if (!unitLowering.experience)
    return nullptr;
  const ptx::Module &m = unitLowering.ptxModule;
  SmallString<64> context;
  raw_svector_ostream(context) << m.versionMajor << '.' << m.versionMinor << ' ' << m.sm
                               << int(m.smVariant) << ' ' << m.addressSize << m.texmodeIndependent
                               << m.debug << m.mapF64ToF32 << ' ' << int(unitLowering.warpForm.form)
                               << unitLowering.warpForm.isChecked << int(options().fit)
                               << flushesF32Denormals() << unitLowering.sharedInMemory()
                               << unitLowering.isForClusters() << unitLowering.passesModuleLocals
                               << unitLowering.isDeviceLibrary << ' ' << source_.isKernel
                               << takesParameterAddress << takesArgumentAddress;
  return &unitLowering.experience->in(context);
}

void FunctionLowering::judgeInstruction(const ptx::Instruction &inst,
                                        AcceptedInstructions &accepted) {
  const std::optional<InstructionKey> key = keyOf(inst, source_);
  if (!key)
    return lowerInstruction(inst);
  if (const AcceptedInstructions::Routes *routes = accepted.find(*key)) {
    unitLowering.matrixRoutes.insert(routes->begin(), routes->end());
    return;
  }
  std::set<std::string> earlier;
  earlier.swap(unitLowering.matrixRoutes);
  lowerInstruction(inst);
  // Some problems are reported at the first of several instructions only.
  if (diagnostics.empty())
    accepted.add(*key, unitLowering.matrixRoutes);
  unitLowering.matrixRoutes.merge(earlier);
}

// ---------- Dispatch

void FunctionLowering::begin(const ptx::Instruction &inst) {
  current = &inst;
  irBuilder.SetCurrentDebugLocation(unitLowering.debugInfo.locationOf(inst, subprogram));
}

void FunctionLowering::lowerInstruction(const ptx::Instruction &inst) {
  begin(inst);
  if (inst.op() == ptx::Op::CpAsync) // also where the guard does not hold
    finishEarlierCopies(*this);
  if (inst.guard.reg != ptx::kNone && does(inst, effects::Speculate))
    return lowerOperation(inst, guardOf(inst));
  lowerGuarded(inst, [&] { lowerOperation(inst, nullptr); });
}

Value *FunctionLowering::guardOf(const ptx::Instruction &inst) {
  Value *holds = readRegister(inst.guard.reg);
  return inst.guard.negated ? irBuilder.CreateNot(holds) : holds;
}

void FunctionLowering::lowerGuarded(const ptx::Instruction &inst, function_ref<void()> lower) {
  if (inst.guard.reg == ptx::kNone)
    return lower();
  BasicBlock *guarded = newBlock("guarded"), *next = newBlock("next");
  irBuilder.CreateCondBr(guardOf(inst), guarded, next);
  irBuilder.SetInsertPoint(guarded);
  lower();
  if (!irBuilder.GetInsertBlock()->getTerminator())
    irBuilder.CreateBr(next);
  irBuilder.SetInsertPoint(next);
}

// What valid programs execute only if the driver has given them something that Rubia's refuses
// them.
static StringRef whyNeverExecuted(StringRef spelling) {
  if (spelling.starts_with("multimem."))
    return "it acts on a multicast object, the memory of several GPUs at once, which AMD's have "
           "not";
  return "";
}

// Once in each block: no barrier is passed within one but with a check of its own.
void FunctionLowering::checkWrite(const ptx::Instruction &inst) {
  const ptx::Operand *address = lowering::addressOf(inst);
  if (inst.spelling->has(ptx::Mod::Local) || inst.spelling->has(ptx::Mod::Param) || !address ||
      checkedBlock == irBuilder.GetInsertBlock())
    return;
  refuseLateWrite(*this, inst);
  checkedBlock = irBuilder.GetInsertBlock();
}

void FunctionLowering::lowerOperation(const ptx::Instruction &inst, Value *selectIf) {
  if (!ptx::instructionForms()[inst.spelling->form].lowered) {
    StringRef why = whyNeverExecuted(inst.spelling->text);
    return why.empty() ? collect(unsupported(inst, "unsupported instruction")) : refuse(inst, why);
  }
  if (unitLowering.warpForm.isChecked && does(inst, effects::Writes))
    checkWrite(inst);
  selectCondition = selectIf;
  Expected<Value *> result = loweringFunctionOf(inst.op())(*this, inst);
  if (!result)
    collect(result.takeError());
  else if (*result)
    write(inst.operands[0], *result, destinationType());
  selectCondition = nullptr;
}

void FunctionLowering::lowerWithSlots(const ptx::Instruction &inst,
                                      const DenseMap<const ptx::Operand *, AllocaInst *> &slots) {
  operandSlots = &slots;
  lowerOperation(inst, nullptr);
  operandSlots = nullptr;
}

void FunctionLowering::collect(Error error) {
  handleAllErrors(
      std::move(error),
      [&](const LoweringError &lowering) {
        diagnostics.insert(diagnostics.end(), lowering.diagnostics.begin(),
                           lowering.diagnostics.end());
      },
      [&](const ErrorInfoBase &other) {
        diagnostics.push_back(
            unitLowering.diagnosticAt(current->place, source_, other.message(), false));
      });
}

// Like registers, factors are allocas until the optimiser makes them values.
void FunctionLowering::keepFactors(Value *first, Value *second) {
  if (!contraction.isFused(currentIndex()))
    return;
  auto &slots = factors[currentIndex()];
  for (auto [slot, value] : zip_equal(slots, std::array{first, second})) {
    slot = entryBuilder.CreateAlloca(value->getType(), kPrivateSpace);
    irBuilder.CreateStore(value, slot);
  }
}

std::array<Value *, 2> FunctionLowering::factorsOf(uint32_t product) {
  auto load = [&](AllocaInst *slot) {
    return irBuilder.CreateLoad(slot->getAllocatedType(), slot);
  };
  const auto &[first, second] = factors.find(product)->second;
  return {load(first), load(second)};
}

// ---------- Control flow

BasicBlock *FunctionLowering::blockOf(ptx::LabelId label) { return labels[label]; }

Value *FunctionLowering::ballot(Value *condition) {
  Value *mask = irBuilder.CreateIntrinsic(Intrinsic::amdgcn_ballot, {intType(target().waveSize)},
                                          {condition});
  Value *low = irBuilder.CreateTrunc(mask, irBuilder.getInt32Ty());
  if (!target().isPacked)
    return low;
  Value *high = irBuilder.CreateTrunc(irBuilder.CreateLShr(mask, 32), irBuilder.getInt32Ty());
  return irBuilder.CreateSelect(launch().isUpperWarp(), high, low);
}

AllocaInst *FunctionLowering::newSlot(Type *type) {
  BasicBlock &entry = function.getEntryBlock();
  return IRBuilder<>(&entry, entry.begin()).CreateAlloca(type, kPrivateSpace);
}

const FunctionLowering::HeldCopy &FunctionLowering::heldCopy(uint32_t copy, Type *value) {
  HeldCopy &part = heldParts[copy];
  if (part.isOn)
    return part;
  auto slot = [&](Type *type) { return entryBuilder.CreateAlloca(type, kPrivateSpace); };
  part = {slot(entryBuilder.getInt1Ty()), slot(value), slot(entryBuilder.getPtrTy(kSharedSpace))};
  entryBuilder.CreateStore(entryBuilder.getFalse(), part.isOn);
  return part;
}

void FunctionLowering::leave(bool exits) {
  if (source_.isKernel) {
    const bool hasSlot = unitLowering.sharedInMemory();
    if (!hasSlot && !waits_) {
      irBuilder.CreateRetVoid();
      return;
    }
    if (!leaveBlock) {
      leaveBlock = newBlock("leave");
      IRBuilder<> builder(leaveBlock);
      builder.SetCurrentDebugLocation(prologueBuilder.getCurrentDebugLocation());
      if (hasSlot)
        leaveSharedSlot(unitLowering, builder, launchState.waveIndex());
      builder.CreateRetVoid();
    }
    irBuilder.CreateBr(leaveBlock);
    return;
  }
  SmallVector<Value *> values;
  for (const ptx::Variable *result : source_.results) {
    Type *type = unitLowering.passedType(*result);
    if (result->reg != ptx::kNone && result->vectorWidth > 1) {
      values.push_back(irBuilder.CreateFreeze(passVector(result->reg, type)));
      continue;
    }
    Value *slot =
        result->reg != ptx::kNone ? registerSlot(result->reg, 0xff) : parameterSlot(*result);
    values.push_back(irBuilder.CreateFreeze(irBuilder.CreateLoad(type, slot)));
  }
  if (unitLowering.mayExit(source_))
    values.push_back(irBuilder.getInt1(exits));
  if (values.empty()) {
    irBuilder.CreateRetVoid();
  } else if (values.size() == 1) {
    irBuilder.CreateRet(values[0]);
  } else {
    irBuilder.CreateAggregateRet(values.data(), unsigned(values.size()));
  }
}

void FunctionLowering::trap() {
  if (waits_) {
    emitTrapInPlace(irBuilder, unitLowering,
                    irBuilder.getInt32(uint32_t(abi::TrapReason::TrapInstruction)),
                    irBuilder.getInt32(0));
    // What follows is another block of the graph.
    BasicBlock *next = newBlock("next");
    irBuilder.CreateBr(next);
    irBuilder.SetInsertPoint(next);
    return;
  }
  if (!trapBlock) {
    trapBlock = newBlock("trap");
    IRBuilder<> builder(trapBlock);
    builder.SetCurrentDebugLocation(irBuilder.getCurrentDebugLocation());
    emitTrap(builder, unitLowering, abi::TrapReason::TrapInstruction, 0);
    builder.CreateUnreachable();
  }
  irBuilder.CreateBr(trapBlock);
}

// The way on is kept, for passes that know the loops of the PTX.
void FunctionLowering::refuse(const ptx::Instruction &inst, StringRef why) {
  std::string text =
      unitLowering.describe(source_, inst) + ": '" + inst.spelling->text.str() + "': " + why.str();
  if (!refusedPlace) {
    unitLowering.refused.push_back(text + "; the kernel ends if it comes there");
    IRBuilder<> builder(newBlock("refused"));
    builder.SetCurrentDebugLocation(irBuilder.getCurrentDebugLocation());
    refusedPlace = builder.CreatePHI(builder.getInt32Ty(), 2);
    emitTrapOf(builder, unitLowering, abi::TrapReason::Unsupported, refusedPlace);
    builder.CreateUnreachable();
  }
  refusedPlace->addIncoming(irBuilder.getInt32(unitLowering.addTrap(std::move(text))),
                            irBuilder.GetInsertBlock());
  BasicBlock *next = newBlock("next");
  irBuilder.CreateCondBr(irBuilder.getTrue(), refusedPlace->getParent(), next);
  irBuilder.SetInsertPoint(next);
}

// ---------- Errors

static Error errorAt(const UnitLowering &unit, const ptx::Function &function,
                     const ptx::Instruction &inst, const Twine &message, bool unsupported) {
  std::vector<ptx::Diagnostic> diagnostics;
  diagnostics.push_back(unit.diagnosticAt(
      inst.place, function, message + " ('" + inst.spelling->text + "')", unsupported));
  return make_error<LoweringError>(std::move(diagnostics));
}

Error FunctionLowering::unsupported(const ptx::Instruction &inst, const Twine &message) const {
  return errorAt(unitLowering, source_, inst, message, true);
}

Error FunctionLowering::malformed(const ptx::Instruction &inst, const Twine &message) const {
  return errorAt(unitLowering, source_, inst, message, false);
}

void FunctionLowering::problem(const ptx::Operand &operand, const Twine &message,
                               bool unsupported) {
  diagnostics.push_back(
      unitLowering.diagnosticAt(operand.place ? operand.place : current->place, source_,
                                message + " ('" + current->spelling->text + "')", unsupported));
}

} // namespace rubia::lowering
