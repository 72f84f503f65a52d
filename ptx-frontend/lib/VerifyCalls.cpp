// SPDX-License-Identifier: Apache-2.0
// Calls: results and arguments against the signature of the callee, or of the prototype of an
// indirect call. PTX ISA: control-flow-instructions-call.

#include "ptx-frontend/lib/Verifier.h"

using llvm::ArrayRef;
using llvm::StringRef;
using llvm::Twine;

namespace rubia::ptx {

void Verifier::checkCall() {
  ArrayRef<Operand> operands = inst->operands;
  const Operand *results = nullptr, *arguments = nullptr, *prototype = nullptr;
  if (!operands.empty() && operands[0].kind == Operand::Kind::List) {
    results = &operands.front();
    operands = operands.drop_front();
  }
  if (operands.empty()) {
    error(inst->place, "call without a function");
    return;
  }
  const Operand &callee = operands[0];
  operands = operands.drop_front();
  if (!operands.empty() && operands[0].kind == Operand::Kind::List) {
    arguments = &operands.front();
    operands = operands.drop_front();
  }
  if (!operands.empty() && operands[0].kind == Operand::Kind::Prototype) {
    prototype = &operands.front();
    operands = operands.drop_front();
  }
  if (!operands.empty()) {
    error(operands[0].place, "unexpected operand of call");
    return;
  }
  ArrayRef<const Variable *> formalResults, formalParameters;
  StringRef name;
  if (callee.kind == Operand::Kind::Function) {
    if (callee.function()->isKernel) {
      error(callee.place, "a kernel cannot be called");
      return;
    }
    formalResults = callee.function()->results;
    formalParameters = callee.function()->parameters;
    name = callee.function()->name;
  } else if (callee.kind == Operand::Kind::Register) {
    const Register &reg = fn.registers[callee.reg];
    if (callee.selector != 0xff || callee.component != 0xff || reg.vectorWidth > 1) {
      error(callee.place, Twine("the function address is no plain register but a part of '") +
                              fn.registerName(callee.reg) + "'");
      return;
    }
    if (!fits(module.addressSize == 64 ? Type::U64 : Type::U32, reg.type, false)) {
      error(callee.place, Twine("the function address '") + fn.registerName(callee.reg) +
                              "' has type " + nameOf(reg.type));
      return;
    }
    if (!prototype) {
      error(inst->place, "an indirect call needs a prototype");
      return;
    }
    const Prototype &p = fn.prototypes[prototype->prototype];
    formalResults = p.results;
    formalParameters = p.parameters;
    name = p.name;
  } else {
    error(callee.place, "expected a function or the address of one");
    return;
  }
  checkArguments(results ? results->elements() : ArrayRef<Operand>(), formalResults, "result", name,
                 results ? results->place : inst->place);
  checkArguments(arguments ? arguments->elements() : ArrayRef<Operand>(), formalParameters,
                 "argument", name, arguments ? arguments->place : inst->place);
}

bool Verifier::checkArguments(ArrayRef<Operand> actual, ArrayRef<const Variable *> formal,
                              StringRef what, StringRef callee, uint32_t place) {
  bool isResult = what == "result";
  if (actual.size() != formal.size())
    return error(place, "call of '" + Twine(callee) + "' has " + Twine(actual.size()) + " " + what +
                            "s, expected " + Twine(formal.size()));
  for (size_t i = 0; i < actual.size(); ++i) {
    const Operand &operand = actual[i];
    const Variable &parameter = *formal[i];
    auto mismatch = [&](const Twine &found) {
      return error(operand.place, what + " " + Twine(i + 1) + " of the call of '" + callee +
                                      "' is " + found + ", expected " + describe(parameter));
    };
    bool isScalar = parameter.elementCount == 1 && !parameter.incomplete;
    switch (operand.kind) {
    case Operand::Kind::Sink:
      if (!isResult)
        return mismatch("'_'");
      break;
    case Operand::Kind::Integer:
    case Operand::Kind::Float:
      if (isResult || !isScalar || parameter.vectorWidth > 1 ||
          (operand.kind == Operand::Kind::Integer
               ? classOf(parameter.type) == TypeClass::Float
               : classOf(parameter.type) != TypeClass::Float &&
                     (classOf(parameter.type) != TypeClass::Bits ||
                      sizeInBits(parameter.type) != (operand.isSingle ? 32u : 64u))))
        return mismatch("a constant");
      break;
    case Operand::Kind::Register: {
      const Register &reg = fn.registers[operand.reg];
      if (operand.negated)
        return mismatch(Twine("the negated '") + fn.registerName(operand.reg) + "'");
      if (operand.selector != 0xff || operand.component != 0xff)
        return mismatch(Twine("a part of '") + fn.registerName(operand.reg) + "'");
      if (!isScalar || !fits(parameter.type, reg.type, false) ||
          reg.vectorWidth != parameter.vectorWidth)
        return mismatch((reg.vectorWidth > 1 ? "the vector '" : "'") +
                        fn.registerName(operand.reg) + "' of type " + nameOf(reg.type));
      break;
    }
    case Operand::Kind::Variable: {
      const Variable &variable = *operand.variable();
      bool matches = variable.space == StateSpace::Param;
      if (parameter.incomplete)
        ; // takes anything. PTX ISA: variadic-functions
      else if (isScalar)
        matches &= variable.elementCount == 1 && variable.vectorWidth == parameter.vectorWidth &&
                   fits(parameter.type, variable.type, false);
      else
        matches &= variable.sizeInBytes == parameter.sizeInBytes &&
                   variable.alignment == parameter.alignment;
      if (!matches || operand.offset)
        return mismatch("'" + variable.name + "', " + describe(variable));
      break;
    }
    default: // nothing else can be passed
      return mismatch("no register, constant or parameter");
    }
  }
  return true;
}

} // namespace rubia::ptx
