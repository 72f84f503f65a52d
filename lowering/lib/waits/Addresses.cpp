// SPDX-License-Identifier: Apache-2.0
#include "lowering/lib/waits/Addresses.h"
#include "lowering/lib/analysis/InstructionEffects.h"
#include "lowering/lib/analysis/UniformValues.h"
#include "ptx-frontend/Types.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace rubia::ptx::Op {
extern const Operation And, Atom, Cvt, Cvta, IAdd, IMad, ISub, Ld, Mov, Or, Red, Selp, St;
} // namespace rubia::ptx::Op

namespace rubia::lowering {

using Kind = ptx::Operand::Kind;

namespace {

// A variable or register, and a distance from there.
struct Place {
  const void *base = nullptr;
  ptx::RegisterId reg = ptx::kNone;
  int64_t offset = 0;
};

// The address of an access, back through constant steps.
Place placeOf(const ptx::Function &function, const Definitions &definitions,
              const ptx::Operand &address) {
  Place place{nullptr, address.reg, address.offset};
  if (const ptx::Variable *variable = address.variable()) {
    place.base = variable;
    return place;
  }
  for (unsigned step = 0; place.reg != ptx::kNone && step < kMaxValueSteps; ++step) {
    place.base = &function.registers[place.reg];
    ArrayRef<uint32_t> writers = definitions.of(place.reg);
    if (writers.size() != 1 || writers[0] >= function.body.size())
      break;
    const ptx::Instruction &writer = function.body[writers[0]];
    if (writer.guard.reg != ptx::kNone)
      break;
    if (writer.op() == ptx::Op::IAdd) {
      std::optional<uint64_t> distance = definitions.constant(writer.operands[2]);
      if (!distance)
        break;
      place.offset += int64_t(*distance);
    } else if (writer.op() != ptx::Op::Mov && writer.op() != ptx::Op::Cvta) {
      break;
    }
    const ptx::Operand &source = writer.operands[1];
    if (source.kind == Kind::Variable)
      return {source.variable(), ptx::kNone, place.offset + source.offset};
    if (source.kind != Kind::Register || source.negated)
      break;
    place.reg = source.reg;
  }
  return place;
}

// 0: not known.
uint64_t bytesOf(const ptx::Instruction &access) {
  for (const ptx::Operation op : {ptx::Op::Atom, ptx::Op::Ld, ptx::Op::Red, ptx::Op::St})
    if (access.op() == op)
      return uint64_t(ptx::sizeInBits(access.spelling->type())) / 8 *
             access.spelling->vectorWidth();
  return 0;
}

} // namespace

static bool isAddress(const ptx::Operand &operand) {
  return operand.kind == Kind::Address || operand.kind == Kind::AddressList;
}

bool Addresses::isMadeOfItsSources(uint32_t writer) const {
  return writer < function.body.size() && isRepeatable(function, function.body[writer]);
}

bool Addresses::isMadeOfOthers(ArrayRef<uint32_t> writers, unsigned depth) const {
  return writers.size() == 1 && depth != kMaxValueSteps && isMadeOfItsSources(writers[0]);
}

// The variables and registers that an address is made of. A register that is written at several
// places may be made of what each of them takes.
void Addresses::findRoots(const ptx::Operand &operand, Set &roots, unsigned depth) const {
  if (const ptx::Variable *variable = operand.variable())
    roots.insert(variable);
  forEachRegister(operand, [&](ptx::RegisterId reg) {
    const ArrayRef<uint32_t> writers = definitions.of(reg);
    const void *self = &function.registers[reg];
    if ((!isMadeOfOthers(writers, depth) && !roots.insert(self).second) || depth == kMaxValueSteps)
      return;
    for (uint32_t writer : writers)
      if (isMadeOfItsSources(writer))
        for (const ptx::Operand &source : function.body[writer].operands.drop_front())
          findRoots(source, roots, depth + 1);
  });
}

// The variables and registers that an address points into, but not what is scaled to an index.
void Addresses::findPointers(const ptx::Operand &operand, Set &found, bool onlyVariables,
                             unsigned depth) const {
  if (const ptx::Variable *variable = operand.variable())
    found.insert(variable);
  if (operand.reg == ptx::kNone)
    return;
  const ArrayRef<uint32_t> writers = definitions.of(operand.reg);
  if (!isMadeOfOthers(writers, depth) &&
      (onlyVariables || !found.insert(&function.registers[operand.reg]).second))
    return;
  if (depth == kMaxValueSteps)
    return;
  for (uint32_t writer : writers)
    if (isMadeOfItsSources(writer))
      findPointersOfSources(function.body[writer], found, onlyVariables, depth);
}

void Addresses::findPointersOfSources(const ptx::Instruction &writer, Set &found,
                                      bool onlyVariables, unsigned depth) const {
  const ptx::Operation op = writer.op();
  ArrayRef<ptx::Operand> sources = ArrayRef(writer.operands).drop_front();
  if (op == ptx::Op::IMad)
    sources = sources.take_back(1);
  else if (op == ptx::Op::Selp)
    sources = sources.drop_back(1);
  else if (op == ptx::Op::Cvt)
    onlyVariables = true;
  else if (!is_contained({ptx::Op::Mov, ptx::Op::Cvta, ptx::Op::IAdd, ptx::Op::ISub, ptx::Op::And,
                          ptx::Op::Or, ptx::Op::Ld},
                         op))
    return;
  for (const ptx::Operand &source : sources)
    findPointers(source, found, onlyVariables, depth + 1);
}

// Copies write at several addresses: what they copy to, and the mbarrier that counts them.
void Addresses::findWriters() const {
  hasWriters = true;
  for (auto [index, instruction] : enumerate(function.body)) {
    if (!does(instruction, effects::Writes))
      continue;
    Set roots;
    for (const ptx::Operand &operand : instruction.operands)
      if (isAddress(operand))
        findRoots(operand, roots);
    for (const void *root : roots)
      writers[root].push_back(uint32_t(index));
  }
}

BitVector Addresses::writersTo(uint32_t access) const {
  if (!hasWriters)
    findWriters();
  BitVector result(unsigned(function.body.size()));
  Set roots;
  findRoots(*addressOf(function.body[access]), roots);
  for (const void *root : roots)
    for (uint32_t writer : writers.lookup(root))
      result.set(writer);
  return result;
}

// Null among them: it is not known what one of the addresses points into.
const Addresses::Set &Addresses::pointersOf(uint32_t access) const {
  auto [found, isNew] = pointers.try_emplace(access);
  if (!isNew)
    return found->second;
  for (const ptx::Operand &operand : function.body[access].operands)
    if (isAddress(operand)) {
      Set into;
      for (const ptx::Operand &element : operand.elements())
        findPointers(element, into);
      if (operand.kind == Kind::Address)
        findPointers(operand, into);
      if (into.empty())
        into.insert(nullptr);
      found->second.insert(into.begin(), into.end());
    }
  return found->second;
}

bool Addresses::isSamePointer(uint32_t access, uint32_t other) const {
  const Set &one = pointersOf(access), &another = pointersOf(other);
  return one.contains(nullptr) || another.contains(nullptr) ||
         any_of(one, [&](const void *pointer) { return another.contains(pointer); });
}

bool Addresses::isElsewhere(uint32_t write, uint32_t access) const {
  const ptx::Instruction &one = function.body[write], &other = function.body[access];
  const uint64_t bytes = bytesOf(one), otherBytes = bytesOf(other);
  if (!bytes || !otherBytes)
    return false;
  const Place there = placeOf(function, definitions, *addressOf(one)),
              here = placeOf(function, definitions, *addressOf(other));
  if (!there.base || there.base != here.base ||
      (here.reg != ptx::kNone && !isUniform(function, definitions, here.reg)))
    return false;
  return here.offset + int64_t(otherBytes) <= there.offset ||
         there.offset + int64_t(bytes) <= here.offset;
}

} // namespace rubia::lowering
