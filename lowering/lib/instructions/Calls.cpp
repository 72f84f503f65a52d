// SPDX-License-Identifier: Apache-2.0
// call. PTX ISA: control-flow-instructions-call, abstracting-the-abi.
//
// Values are passed as LLVM arguments of UnitLowering::passedType. PTX moves them through .param
// variables, which are allocas that the optimiser takes apart; by-register arguments and constants
// are passed as they are.
#include "lowering/lib/frame/DeviceFunctions.h"
#include "lowering/lib/frame/FunctionLowering.h"
#include "lowering/lib/frame/LaunchState.h"
#include "lowering/lib/frame/UnitLowering.h"
#include "ptx-frontend/DriverFunctions.h"
#include "llvm/IR/InlineAsm.h"

using namespace llvm;

namespace rubia::lowering {
namespace {

using Kind = ptx::Operand::Kind;

struct CallOperands {
  ArrayRef<ptx::Operand> results, arguments;
  const ptx::Operand *callee = nullptr;
  const ptx::Prototype *prototype = nullptr;
};

// call{.uni} {(results),} callee{, (arguments)}{, prototype}
CallOperands operandsOf(const ptx::Function &caller, const ptx::Instruction &inst) {
  CallOperands call;
  for (const ptx::Operand &operand : inst.operands) {
    if (operand.kind == Kind::List)
      (call.callee ? call.arguments : call.results) = operand.elements();
    else if (operand.kind == Kind::Prototype)
      call.prototype = operand.prototype < caller.prototypes.size()
                           ? &caller.prototypes[operand.prototype]
                           : nullptr;
    else if (!call.callee)
      call.callee = &operand;
  }
  return call;
}

// The value of an argument as the callee's parameter has it.
Value *argumentFor(FunctionLowering &fn, const ptx::Variable &parameter,
                   const ptx::Operand &argument) {
  Type *type = fn.unit().passedType(parameter);
  IRBuilder<> &b = fn.builder();
  if (parameter.incomplete) {
    Value *list =
        argument.variable() ? fn.variablePointer(*argument.variable()) : PoisonValue::get(type);
    if (list->getType() == type && !isa<PoisonValue>(list))
      return list;
    fn.problem(argument, "the list of arguments needs a .param variable of the caller's own");
    return PoisonValue::get(type);
  }
  if (argument.kind == Kind::Variable && argument.variable()->space == ptx::StateSpace::Param) {
    if (argument.variable()->sizeInBytes < parameter.sizeInBytes) {
      fn.problem(argument, "'" + argument.variable()->name + "' is smaller than parameter '" +
                               parameter.name + "'");
      return PoisonValue::get(type);
    }
    return b.CreateLoad(type, fn.variablePointer(*argument.variable()));
  }
  if (fn.isWholeVector(argument))
    return fn.passVector(argument.reg, type);
  if (!type->isIntegerTy()) {
    fn.problem(argument, "parameter '" + parameter.name + "' needs a .param variable");
    return PoisonValue::get(type);
  }
  return b.CreateBitCast(fn.read(argument, parameter.type), type);
}

void storeResult(FunctionLowering &fn, const ptx::Variable &declared, const ptx::Operand &result,
                 Value *value) {
  if (result.kind == Kind::Sink)
    return;
  if (result.kind == Kind::Variable && result.variable()->space == ptx::StateSpace::Param) {
    if (result.variable()->sizeInBytes < declared.sizeInBytes)
      return fn.problem(result, "'" + result.variable()->name + "' is smaller than the result");
    fn.builder().CreateStore(value, fn.variablePointer(*result.variable()));
    return;
  }
  if (fn.isWholeVector(result))
    return fn.takeVector(result.reg, value);
  if (!value->getType()->isIntegerTy())
    return fn.problem(result, "the result needs a .param variable");
  fn.write(result, value, declared.type);
}

/// Ends the wave, and is one that may return for all that LLVM knows. Of thousands of assertions,
/// as kernels of debug builds have, each would else be an end of its kernel of its own. LLVM joins
/// all ends of a kernel, which takes the square of their number.
Function *assertionEnd(UnitLowering &unit) {
  LLVMContext &context = unit.module.getContext();
  FunctionType *type = FunctionType::get(Type::getVoidTy(context), false);
  Function *end = unit.ownFunction("__rubia_assertion_end", type);
  if (!end->empty())
    return end;
  end->addFnAttr(Attribute::NoInline);
  end->addFnAttr(Attribute::Convergent);
  IRBuilder<> b(BasicBlock::Create(context, "entry", end));
  BasicBlock *ends = BasicBlock::Create(context, "ends", end),
             *returns = BasicBlock::Create(context, "returns", end);
  IntegerType *i32 = b.getInt32Ty();
  Value *one = b.CreateCall(InlineAsm::get(FunctionType::get(i32, {i32}, false), "", "=s,0",
                                           /*hasSideEffects=*/true),
                            b.getInt32(1));
  b.CreateCondBr(b.CreateICmpEQ(one, b.getInt32(1)), ends, returns);
  b.SetInsertPoint(ends);
  emitTrap(b, unit, abi::TrapReason::Assertion, 0);
  b.CreateUnreachable();
  b.SetInsertPoint(returns);
  b.CreateRetVoid();
  return end;
}

// A call of vprintf and its kin: the definition takes the addresses of its state too.
Expected<Value *> callDriver(FunctionLowering &fn, const ptx::Instruction &inst,
                             const CallOperands &call, const DeviceFunction &known) {
  IRBuilder<> &b = fn.builder();
  const ptx::Function &declared = *call.callee->function();
  Function *definition = fn.unit().driverFunction(known.name);
  SmallVector<const ptx::Variable *> parameters(declared.parameters);
  FunctionType *type = fn.unit().functionType(declared.results, parameters, false);
  SmallVector<Type *> types(type->params());
  types.append(known.state.size(), b.getInt64Ty());
  // Taichi declares vprintf without the result, which nobody needs.
  Type *returned =
      declared.results.empty() && definition ? definition->getReturnType() : type->getReturnType();
  if (!definition || definition->getFunctionType() != FunctionType::get(returned, types, false))
    return fn.unsupported(inst, "'" + declared.name + "' is declared other than CUDA has it");
  if (call.arguments.size() != parameters.size() || call.results.size() > declared.results.size())
    return fn.malformed(inst, "expected " + Twine(parameters.size()) + " arguments and " +
                                  Twine(declared.results.size()) + " results");
  SmallVector<Value *> arguments;
  for (auto [parameter, argument] : zip_equal(parameters, call.arguments))
    arguments.push_back(argumentFor(fn, *parameter, argument));
  for (abi::ModuleTableSlot slot : known.state)
    arguments.push_back(fn.unit().loadModuleTable(b, slot));
  CallInst *made = b.CreateCall(definition, arguments);
  made->addFnAttr(Attribute::Convergent);
  if (!call.results.empty())
    storeResult(fn, *declared.results[0], call.results[0], made);
  if (known.endsWarp)
    b.CreateCall(assertionEnd(fn.unit()))->addFnAttr(Attribute::Convergent);
  return nullptr;
}

} // namespace

Expected<Value *> lowerCall(FunctionLowering &fn, const ptx::Instruction &inst) {
  IRBuilder<> &b = fn.builder();
  CallOperands call = operandsOf(fn.ptxFunction(), inst);
  if (!call.callee)
    return fn.malformed(inst, "a callee is needed");

  ArrayRef<const ptx::Variable *> results, parameters;
  Value *target;
  FunctionType *type;
  bool mayExit = false;
  if (call.callee->kind == Kind::Function) {
    const ptx::Function &callee = *call.callee->function();
    Function *function = fn.unit().functionFor(callee);
    if (!function)
      if (const DeviceFunction *known = deviceFunction(callee.name))
        return callDriver(fn, inst, call, *known);
    if (!function && ptx::isUnsupportedDriverFunction(callee.name))
      return fn.unsupported(inst, "a call of '" + callee.name +
                                      "': kernels launch no kernels, and have none of what else "
                                      "libcudadevrt takes from CUDA's driver");
    if (!function)
      return fn.unsupported(inst, "a call of '" + callee.name + "', which has no body here");
    if (callee.isKernel)
      return fn.unsupported(inst, "a call of the kernel '" + callee.name + "'");
    results = callee.results;
    parameters = callee.parameters;
    mayExit = fn.unit().mayExit(callee);
    target = function;
    type = function->getFunctionType();
  } else {
    const ptx::Prototype *prototype = call.prototype;
    if (prototype && prototype->isTargetList) {
      // All targets have one signature.
      if (prototype->targets.empty())
        return fn.malformed(inst, "the list of targets is empty");
      results = prototype->targets[0]->results;
      parameters = prototype->targets[0]->parameters;
    } else if (prototype) {
      results = prototype->results;
      parameters = prototype->parameters;
    } else {
      return fn.malformed(inst, "an indirect call needs a prototype");
    }
    mayExit = fn.unit().indirectMayExit;
    type = fn.unit().calleeType(results, parameters, mayExit);
    Value *address = fn.read(*call.callee, ptx::Type::B64);
    target = b.CreateIntToPtr(address, b.getPtrTy(kFlatSpace));
  }
  if (call.arguments.size() != parameters.size() || call.results.size() > results.size())
    return fn.malformed(inst, "expected " + Twine(parameters.size()) + " arguments and " +
                                  Twine(results.size()) + " results");

  SmallVector<Value *> arguments;
  for (auto [parameter, argument] : zip_equal(parameters, call.arguments))
    arguments.push_back(argumentFor(fn, *parameter, argument));
  if (fn.unit().passesModuleLocals)
    arguments.push_back(fn.moduleLocals());
  CallInst *made = b.CreateCall(type, target, arguments);
  made->addFnAttr(Attribute::Convergent);

  bool isStruct = type->getReturnType()->isStructTy();
  for (auto [index, result] : enumerate(call.results))
    storeResult(fn, *results[index], result,
                isStruct ? b.CreateExtractValue(made, unsigned(index)) : made);
  if (mayExit) {
    Value *ends = isStruct ? b.CreateExtractValue(made, unsigned(results.size())) : made;
    BasicBlock *end = fn.newBlock("exits"), *next = fn.newBlock("returned");
    b.CreateCondBr(ends, end, next);
    b.SetInsertPoint(end);
    fn.leave(/*exits=*/true);
    b.SetInsertPoint(next);
  }
  return nullptr;
}

} // namespace rubia::lowering
