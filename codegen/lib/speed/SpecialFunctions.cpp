// SPDX-License-Identifier: Apache-2.0
#include "codegen/lib/speed/SpecialFunctions.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Instructions.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace rubia::codegen {
namespace {

/// The number that all calls pass, as LLVM's ipsccp finds it. An address is the unit's own.
Constant *constantOf(const Argument &argument) {
  Constant *found = nullptr;
  for (const User *user : argument.getParent()->users()) {
    auto *value = dyn_cast<ConstantInt>(cast<CallInst>(user)->getArgOperand(argument.getArgNo()));
    if (!value || (found && value != found))
      return nullptr;
    found = value;
  }
  return found;
}

/// Whether a value is used otherwise than to be written into variables that nobody reads. Values of
/// PTX's registers are still in variables then.
bool isRead(const Value &value) {
  return any_of(value.users(), [&](const User *user) {
    if (isa<CastInst>(user) || isa<InsertElementInst>(user))
      return isRead(*user);
    const auto *store = dyn_cast<StoreInst>(user);
    const auto *variable = store ? dyn_cast<AllocaInst>(store->getPointerOperand()) : nullptr;
    return !variable || any_of(variable->users(), [&](const User *other) {
      const auto *write = dyn_cast<StoreInst>(other);
      return !write || write->getPointerOperand() != variable;
    });
  });
}

/// The elements of an array that are read.
void addRead(const Value &array, SmallPtrSetImpl<const Value *> &seen, SmallBitVector &read) {
  for (const User *user : array.users())
    if (isa<PHINode>(user)) {
      if (seen.insert(user).second)
        addRead(*user, seen, read);
    } else if (const auto *element = dyn_cast<ExtractValueInst>(user)) {
      if (isRead(*element))
        read.set(element->getIndices().front());
    } else {
      read.set();
    }
}

/// The results of a function that its callers read, as LLVM's deadargelim finds them.
SmallBitVector resultsOf(const Function &function) {
  const auto *array = dyn_cast<ArrayType>(function.getReturnType());
  SmallBitVector read(array ? unsigned(array->getNumElements()) : 0);
  SmallPtrSet<const Value *, 8> seen;
  for (const User *call : function.users())
    addRead(*call, seen, read);
  return read.none() ? read.set() : read;
}

/// The wanted elements of an array: one alone, or an array of their own. LLVM would make that of
/// others, too.
Value *elementsOf(IRBuilder<> &b, Value *all, Type *type, const SmallBitVector &wanted) {
  if (wanted.count() == 1)
    return b.CreateExtractValue(all, unsigned(wanted.find_first()));
  Value *result = PoisonValue::get(type);
  for (auto [place, element] : enumerate(wanted.set_bits()))
    result =
        b.CreateInsertValue(result, b.CreateExtractValue(all, unsigned(element)), unsigned(place));
  return result;
}

/// The array with them in their places.
Value *arrayOf(IRBuilder<> &b, Value *elements, Type *type, const SmallBitVector &wanted) {
  Value *result = PoisonValue::get(type);
  for (auto [place, element] : enumerate(wanted.set_bits()))
    result = b.CreateInsertValue(
        result, wanted.count() == 1 ? elements : b.CreateExtractValue(elements, unsigned(place)),
        unsigned(element));
  return result;
}

} // namespace

Specialty::Specialty(const Function &function) : results(resultsOf(function)) {
  for (const Argument &argument : function.args())
    constants.push_back(constantOf(argument));
}

raw_ostream &operator<<(raw_ostream &os, const Specialty &specialty) {
  for (const Constant *constant : specialty.constants)
    if (constant)
      os << cast<ConstantInt>(constant)->getValue() << ' ';
    else
      os << "- ";
  os << "->";
  for (unsigned element : specialty.results.set_bits())
    os << ' ' << element;
  return os;
}

Function &specialised(Function &function, const Specialty &specialty) {
  ArrayRef<Constant *> constants = specialty.constants;
  const SmallBitVector &results = specialty.results;
  SmallVector<unsigned> wanted;
  SmallVector<Type *> types;
  for (const Argument &argument : function.args())
    if (!constants[argument.getArgNo()]) {
      wanted.push_back(argument.getArgNo());
      types.push_back(argument.getType());
    }
  if (wanted.size() == constants.size() && results.all())
    return function;
  Type *all = function.getReturnType();
  Type *returned = all;
  if (!results.all())
    returned = results.count() == 1 ? all->getArrayElementType()
                                    : ArrayType::get(all->getArrayElementType(), results.count());
  auto *type = FunctionType::get(returned, types, false);
  auto attributesOf = [&](const AttributeList &all) {
    return AttributeList::get(function.getContext(), AttributeList::FunctionIndex,
                              AttrBuilder(function.getContext(), all.getFnAttrs()));
  };
  Function *made = Function::Create(type, function.getLinkage(), function.getAddressSpace(), "",
                                    function.getParent());
  made->takeName(&function);
  made->setCallingConv(function.getCallingConv());
  made->setAttributes(attributesOf(function.getAttributes()));
  made->setSubprogram(function.getSubprogram());
  function.setSubprogram(nullptr);
  made->splice(made->begin(), &function);
  for (Argument &argument : function.args())
    if (Constant *constant = constants[argument.getArgNo()])
      argument.replaceAllUsesWith(constant);
  for (auto [i, from] : enumerate(wanted))
    function.getArg(from)->replaceAllUsesWith(made->getArg(i));
  if (returned != all)
    for (BasicBlock &block : *made)
      if (auto *end = dyn_cast<ReturnInst>(block.getTerminator())) {
        IRBuilder<> b(end);
        end->setOperand(0, elementsOf(b, end->getReturnValue(), returned, results));
      }
  for (User *user : make_early_inc_range(function.users())) {
    auto &call = cast<CallInst>(*user);
    SmallVector<Value *> arguments;
    for (unsigned from : wanted)
      arguments.push_back(call.getArgOperand(from));
    CallInst *other = CallInst::Create(made, arguments, "", call.getIterator());
    other->setCallingConv(call.getCallingConv());
    other->setAttributes(attributesOf(call.getAttributes()));
    other->setDebugLoc(call.getDebugLoc());
    IRBuilder<> b(&call);
    call.replaceAllUsesWith(returned == all ? other : arrayOf(b, other, all, results));
    call.eraseFromParent();
  }
  function.eraseFromParent();
  return *made;
}

} // namespace rubia::codegen
