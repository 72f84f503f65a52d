// SPDX-License-Identifier: Apache-2.0
// Which kernels and functions are compiled together.
//
// A function that is only called directly is compiled into every unit that calls it, so that most
// units are one kernel with its callees. Only function addresses that travel through memory join
// units: whoever calls through an unknown address must be in the same code object as whoever may
// have put it there.
#include "lowering/Lowering.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"
#include <algorithm>

using namespace llvm;

namespace rubia::ptx::Op {
extern const Operation Call;
} // namespace rubia::ptx::Op

namespace rubia::lowering {
namespace {

// What the instructions of one function mention.
struct Mentions {
  SmallVector<const ptx::Function *, 4> functions; // called or address taken
  SmallVector<const ptx::Variable *, 4> variables;
  bool takesAddress = false;    // of a function, other than to call it
  bool callsAnyAddress = false; // indirect call without .calltargets
};

void addMentions(Mentions &mentions, const ptx::Operand &operand, bool isCallee) {
  if (operand.function()) {
    mentions.functions.push_back(operand.function());
    mentions.takesAddress |= !isCallee;
  }
  if (operand.variable())
    mentions.variables.push_back(operand.variable());
  for (const ptx::Operand &element : operand.elements())
    addMentions(mentions, element, false);
}

Mentions mentionsOf(const ptx::Function &function) {
  Mentions mentions;
  for (const ptx::Instruction &instruction : function.body) {
    bool isCall = instruction.op() == ptx::Op::Call;
    bool indirect = false, targetsKnown = false;
    for (const ptx::Operand &operand : instruction.operands) {
      addMentions(mentions, operand, isCall && operand.kind == ptx::Operand::Kind::Function);
      indirect |= operand.kind == ptx::Operand::Kind::Register;
      targetsKnown |= operand.kind == ptx::Operand::Kind::Prototype &&
                      operand.prototype < function.prototypes.size() &&
                      function.prototypes[operand.prototype].isTargetList;
    }
    mentions.callsAnyAddress |= isCall && indirect && !targetsKnown;
  }
  for (const ptx::Prototype &prototype : function.prototypes)
    mentions.functions.append(prototype.targets.begin(), prototype.targets.end());
  return mentions;
}

// The union of what a set of roots can reach.
class Reach {
public:
  Reach(const DenseMap<const ptx::Function *, Mentions> &mentions) : mentions(mentions) {}

  void add(const ptx::Function *function) {
    if (function->aliasOf)
      function = function->aliasOf;
    if (!functions.insert(function).second)
      return;
    auto found = mentions.find(function);
    if (found == mentions.end())
      return;
    takesAddress |= found->second.takesAddress;
    callsAnyAddress |= found->second.callsAnyAddress;
    for (const ptx::Function *callee : found->second.functions)
      add(callee);
    for (const ptx::Variable *variable : found->second.variables)
      add(variable);
  }

  // Who reads a variable can hand on what its initialiser holds.
  void add(const ptx::Variable *variable) {
    if (!variables.insert(variable).second)
      return;
    for (const ptx::Relocation &relocation : variable->relocations) {
      takesAddress |= relocation.function != nullptr;
      if (relocation.variable)
        add(relocation.variable);
    }
  }

  DenseSet<const ptx::Function *> functions;
  DenseSet<const ptx::Variable *> variables;
  bool takesAddress = false, callsAnyAddress = false;

private:
  const DenseMap<const ptx::Function *, Mentions> &mentions;
};

} // namespace

std::vector<Unit> partition(const ptx::Module &module) {
  DenseMap<const ptx::Function *, Mentions> mentions;
  for (const ptx::Function *function : module.functions)
    if (function->hasBody)
      mentions[function] = mentionsOf(*function);

  // Functions whose addresses stand in initialisers can be called from wherever a call through
  // memory is.
  SmallSetVector<const ptx::Function *, 8> inInitializers;
  std::vector<const ptx::Variable *> variables = moduleVariables(module);
  for (const ptx::Variable *variable : variables)
    for (const ptx::Relocation &relocation : variable->relocations)
      if (relocation.function && !relocation.function->isKernel) {
        const ptx::Function *function = relocation.function;
        inInitializers.insert(function->aliasOf ? function->aliasOf : function);
      }

  // The kernels that exchange function addresses form one component, all others one each.
  std::vector<std::vector<const ptx::Function *>> components;
  std::vector<size_t> exchanging;
  bool anyIndirectCall = false;
  for (const ptx::Function *kernel : module.functions) {
    if (!kernel->isKernel || !kernel->hasBody)
      continue;
    Reach reach(mentions);
    reach.add(kernel);
    anyIndirectCall |= reach.callsAnyAddress;
    if (reach.callsAnyAddress || reach.takesAddress)
      exchanging.push_back(components.size());
    components.push_back({kernel});
  }
  if (anyIndirectCall) {
    for (size_t component : ArrayRef(exchanging).drop_front()) {
      components[exchanging[0]].push_back(components[component][0]);
      components[component].clear();
    }
  }

  DenseMap<const ptx::Variable *, uint32_t> indexes;
  for (auto [index, variable] : enumerate(variables))
    indexes[variable] = uint32_t(index);

  std::vector<Unit> units;
  bool haveInitializers = inInitializers.empty();
  for (const std::vector<const ptx::Function *> &kernels : components) {
    if (kernels.empty())
      continue;
    Unit unit;
    unit.kernels = kernels;
    Reach reach(mentions);
    for (const ptx::Function *kernel : kernels)
      reach.add(kernel);
    bool readsAddress = any_of(reach.variables, [](const ptx::Variable *variable) {
      return any_of(variable->relocations,
                    [](const ptx::Relocation &relocation) { return relocation.function; });
    });
    if (!haveInitializers && (reach.callsAnyAddress || (readsAddress && !anyIndirectCall))) {
      haveInitializers = true;
      for (const ptx::Function *function : inInitializers) {
        reach.add(function);
        if (function->hasBody)
          unit.inInitializers.push_back(function);
      }
    }
    for (const ptx::Function *function : module.functions)
      if (!function->isKernel && function->hasBody && reach.functions.contains(function))
        unit.functions.push_back(function);
    for (const ptx::Variable *variable : reach.variables)
      if (auto found = indexes.find(variable); found != indexes.end())
        unit.variables.push_back(found->second);
    std::sort(unit.variables.begin(), unit.variables.end());
    units.push_back(std::move(unit));
  }
  return units;
}

} // namespace rubia::lowering
