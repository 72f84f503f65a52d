// SPDX-License-Identifier: Apache-2.0
#include "lowering/lib/analysis/Contraction.h"
#include "lowering/lib/analysis/Definitions.h"
#include "lowering/lib/analysis/InstructionEffects.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace rubia::ptx::Op {
extern const Operation Cvt, FAdd, FDiv, FMul, FNeg, FRsqrt, FSub, Ld, Mov;
} // namespace rubia::ptx::Op
namespace rubia::ptx::Mod {
extern const Modifier Approx, Ftz, Full, Rn, Sat, Wait;
} // namespace rubia::ptx::Mod

namespace rubia::lowering {
namespace {

using Kind = ptx::Operand::Kind;

// ---------- Facts of instructions

bool isMeasured(ptx::Type type) {
  switch (type) {
  case ptx::Type::F32:
  case ptx::Type::F64:
  case ptx::Type::F16:
  case ptx::Type::F16x2:
  case ptx::Type::BF16:
  case ptx::Type::BF16x2:
    return true;
  default:
    return false;
  }
}

bool isPacked(ptx::Type type) { return type == ptx::Type::F16x2 || type == ptx::Type::BF16x2; }

// Of one format, and without a rounding modifier.
bool isFree(const ptx::Instruction &instruction) {
  const ptx::Spelling &spelling = *instruction.spelling;
  return isMeasured(spelling.type()) && spelling.type(1) == ptx::Type::None &&
         spelling.first(ptx::ModCategory::Rounding) == ptx::Mod::None;
}

bool isSum(const ptx::Instruction &instruction) {
  return (instruction.op() == ptx::Op::FAdd || instruction.op() == ptx::Op::FSub) &&
         isFree(instruction);
}

bool flushes(const ptx::Instruction &instruction) {
  return instruction.spelling->has(ptx::Mod::Ftz);
}

// Whether an operand is the number `value`.
bool isNumber(const ptx::Operand &operand, double value) {
  if (operand.kind != Kind::Float)
    return false;
  return operand.isSingle ? bit_cast<float>(uint32_t(operand.bits)) == float(value)
                          : bit_cast<double>(operand.bits) == value;
}

bool isWholeRegister(const ptx::Operand &operand) {
  return operand.kind == Kind::Register && operand.component == 0xff && !operand.negated;
}

// An approximate quotient, which NVIDIA's compiler computes as the product of the dividend and the
// divisor's reciprocal. It takes the place of a product in a sum, but is not fused here: its bits
// are others than NVIDIA's anyway.
bool isQuotient(const ptx::Instruction &instruction) {
  const ptx::Spelling &spelling = *instruction.spelling;
  return instruction.op() == ptx::Op::FDiv &&
         (spelling.has(ptx::Mod::Approx) || spelling.has(ptx::Mod::Full)) &&
         !isNumber(instruction.operands[1], 1.0) && !isNumber(instruction.operands[1], -1.0);
}

// Whether NVIDIA's compiler branches around an instruction with a guard, instead of giving the
// guard to the instruction.
bool isBranchedAround(const ptx::Instruction &instruction) {
  return does(instruction, effects::NvidiaBranches) || addressOf(instruction);
}

// Divisions, roots and reciprocals have a slow path unless they are approximate.
bool hasSlowPath(const ptx::Instruction &instruction) {
  const ptx::Spelling &spelling = *instruction.spelling;
  if (instruction.op() == ptx::Op::FRsqrt) // always .approx
    return spelling.type() == ptx::Type::F64 && !spelling.has(ptx::Mod::Ftz);
  return spelling.type() != ptx::Type::U32 && !spelling.has(ptx::Mod::Approx) &&
         !spelling.has(ptx::Mod::Full);
}

// Whether NVIDIA's compiler makes several blocks of an instruction, so that its own code before and
// behind are apart. Measured for each operation that may.
bool endsStretch(const ptx::Instruction &instruction) {
  if (does(instruction, effects::NvidiaSplits | effects::Calls))
    return !instruction.spelling->has(ptx::Mod::Wait); // griddepcontrol.wait
  if (does(instruction, effects::NvidiaSlowPath))
    return hasSlowPath(instruction);
  return instruction.guard.reg != ptx::kNone && isBranchedAround(instruction);
}

// ---------- The products of a function

// A sum at one place in its stretch: in an unrolled loop it has one in each round.
struct Place {
  uint32_t stretch, position;
  bool operator==(const Place &) const = default;
};

struct Use {
  Place sum;
  uint8_t operand;
  bool negated;
};

struct Product {
  uint32_t instruction;
  Place place = {ptx::kNone, ptx::kNone}; // unless its uses may be in any stretch
  SmallVector<Use, 2> uses;               // in sums, in the order of execution
  bool isNeeded = false;                  // by something else, so that it is computed anyway
  // An instruction that negates and flushes is looked through where it is the only one that reads
  // the product, and then whoever else reads its result does not count.
  unsigned directUses = 0, flushingNegations = 0;
  bool isFusedAnyway = false;

  size_t weight() const { return isFusedAnyway ? 1 : uses.size(); }
};

// What a register holds: a product, perhaps with the other sign.
struct Held {
  uint32_t product;
  bool negated = false;
  bool isFlushed = false; // by an instruction of its own
};

class Chooser {
public:
  Chooser(const ptx::Function &function, DenseMap<uint32_t, Contraction::Fused> &fused)
      : function(function), definitions(function), code(function, definitions, endsStretch),
        fused(fused) {}

  void run() {
    findEverywhere();
    for (uint32_t stretch = 0; stretch < code.stretches.size(); ++stretch)
      follow(stretch);
    for (Product &product : products) {
      product.isFusedAnyway =
          product.flushingNegations == 1 && !product.directUses && !product.isNeeded;
      product.isNeeded |= product.flushingNegations > 0;
    }
    // Scalars whose product has one use come first.
    choose([&](const Product &product) {
      return product.weight() == 1 && !isPacked(at(product.instruction).spelling->type());
    });
    choose([](const Product &) { return true; });
    agree();
  }

private:
  struct Passed {
    unsigned operand;
    Held held;
  };
  using Meeting = std::array<uint32_t, 2>; // the products that a sum's operands are, or kNone

  const ptx::Instruction &at(uint32_t index) const { return function.body[index]; }
  uint32_t indexAt(Place place) const {
    return code.stretches[place.stretch].instructions[place.position];
  }
  // Calls visit(place) for the needed instructions of a stretch, in order of execution.
  template <typename Visit> void forEachNeeded(uint32_t stretch, Visit visit) const {
    for (unsigned position : code.stretches[stretch].needed.set_bits())
      visit(Place{stretch, position});
  }
  bool isWrittenOnce(ptx::RegisterId reg) const { return definitions.of(reg).size() == 1; }
  bool isConstant(const ptx::Operand &operand) const;
  bool isProduct(const ptx::Instruction &instruction) const;
  void findEverywhere();
  std::optional<Held> heldBy(const ptx::Operand &operand) const;
  std::optional<Passed> passedOn(const ptx::Instruction &instruction) const;
  void follow(uint32_t stretch);
  void follow(Place place);
  bool addUse(Place sum, uint8_t operand);
  void need(const Held &held);
  bool isLatest(const Product &product, Place sum) const;
  void choose(function_ref<bool(const Product &)> takes);
  void agree();

  const ptx::Function &function;
  const Definitions definitions;
  const Stretches code;
  DenseMap<uint32_t, Contraction::Fused> &fused;
  std::vector<Product> products;
  DenseMap<ptx::RegisterId, Held> holders; // of the stretch that is being followed
  DenseMap<ptx::RegisterId, Held>
      everywhere; // registers that hold a product wherever they are read
  using PlaceKey = std::pair<uint32_t, uint32_t>;
  static PlaceKey keyOf(Place place) { return {place.stretch, place.position}; }
  DenseMap<PlaceKey, Meeting> meetings; // by sum
  DenseMap<PlaceKey, Contraction::Fused> chosen;
};

bool Chooser::isProduct(const ptx::Instruction &instruction) const {
  return (instruction.op() == ptx::Op::FMul || isQuotient(instruction)) && isFree(instruction) &&
         !instruction.spelling->has(ptx::Mod::Sat) && instruction.guard.reg == ptx::kNone &&
         isWholeRegister(instruction.operands[0]);
}

// A number, or a kernel's parameter: what NVIDIA's instructions take without a register.
bool Chooser::isConstant(const ptx::Operand &operand) const {
  if (operand.kind == Kind::Float)
    return true;
  if (!isWholeRegister(operand) || !isWrittenOnce(operand.reg))
    return false;
  uint32_t writer = definitions.of(operand.reg)[0];
  if (writer >= function.body.size())
    return false;
  const ptx::Instruction &instruction = at(writer);
  if (instruction.guard.reg != ptx::kNone || instruction.operands.size() != 2)
    return false;
  const ptx::Operand &source = instruction.operands[1];
  if (instruction.op() == ptx::Op::Mov)
    return source.kind == Kind::Float;
  return instruction.op() == ptx::Op::Ld && source.kind == Kind::Address &&
         source.reg == ptx::kNone && source.variable() && source.variable()->isKernelParameter;
}

// Products with a constant factor are fused across stretches too.
void Chooser::findEverywhere() {
  auto find = [&](Place place) {
    const uint32_t index = indexAt(place);
    const ptx::Instruction &mul = at(index);
    if (!isProduct(mul) || isQuotient(mul))
      return;
    ptx::Type type = mul.spelling->type();
    if ((type != ptx::Type::F32 && type != ptx::Type::F64) || !isWrittenOnce(mul.operands[0].reg))
      return;
    if (isConstant(mul.operands[1]) == isConstant(mul.operands[2]))
      return;
    if (everywhere.try_emplace(mul.operands[0].reg, Held{uint32_t(products.size())}).second)
      products.emplace_back().instruction = index;
  };
  for (uint32_t stretch = 0; stretch < code.stretches.size(); ++stretch)
    forEachNeeded(stretch, find);
}

std::optional<Held> Chooser::heldBy(const ptx::Operand &operand) const {
  if (!isWholeRegister(operand))
    return std::nullopt;
  if (auto found = holders.find(operand.reg); found != holders.end())
    return found->second;
  if (auto found = everywhere.find(operand.reg); found != everywhere.end())
    return found->second;
  return std::nullopt;
}

// The factor 1 or -1 of a multiplication that only copies or negates its other operand.
std::optional<double> unitFactor(const ptx::Instruction &mul, unsigned operand) {
  const ptx::Spelling &spelling = *mul.spelling;
  for (double unit : {1.0, -1.0})
    if (isNumber(mul.operands[operand], unit) && !spelling.has(ptx::Mod::Sat) &&
        (isFree(mul) ||
         (unit > 0 && spelling.type() == ptx::Type::F32 && spelling.has(ptx::Mod::Rn))))
      return unit;
  return std::nullopt;
}

// The product that an instruction gives as its result as it is, or with the other sign: copies,
// negations, and multiplications by 1 and -1.
std::optional<Chooser::Passed> Chooser::passedOn(const ptx::Instruction &instruction) const {
  if (instruction.guard.reg != ptx::kNone || instruction.operands.size() < 2 ||
      !isWholeRegister(instruction.operands[0]))
    return std::nullopt;
  const ptx::Spelling &spelling = *instruction.spelling;
  unsigned operand = 1;
  bool negates = false;
  const ptx::Operation op = instruction.op();
  if (op == ptx::Op::Cvt) {
    if (spelling.type() != spelling.type(1) || spelling.modifiers.size() != 2)
      return std::nullopt;
  } else if (op == ptx::Op::FNeg) {
    negates = true;
  } else if (op == ptx::Op::FMul) {
    std::optional<double> unit = unitFactor(instruction, 2);
    if (!unit) {
      unit = unitFactor(instruction, 1);
      operand = 2;
    }
    if (!unit)
      return std::nullopt;
    negates = *unit < 0;
  } else if (op != ptx::Op::Mov) {
    return std::nullopt;
  }
  std::optional<Held> held = heldBy(instruction.operands[operand]);
  if (!held)
    return std::nullopt;
  Passed passed{operand, *held};
  if (op == ptx::Op::Mov || op == ptx::Op::Cvt)
    return passed;
  // The negations of bf16x2, and of halves with .ftz, are operations of their own.
  const ptx::Instruction &mul = at(products[held->product].instruction);
  if (spelling.type() != mul.spelling->type() || spelling.type() == ptx::Type::BF16x2)
    return std::nullopt;
  if (flushes(instruction)) {
    if (spelling.type() != ptx::Type::F32 || !flushes(mul) || held->isFlushed)
      return std::nullopt;
    passed.held.isFlushed = true;
  }
  passed.held.negated ^= negates;
  return passed;
}

void Chooser::follow(uint32_t stretch) {
  holders.clear();
  forEachNeeded(stretch, [&](Place place) { follow(place); });
  for (const auto &[reg, held] : holders)
    if (code.isLiveAtEnd(code.stretches[stretch], reg))
      need(held);
}

void Chooser::follow(Place place) {
  const uint32_t index = indexAt(place);
  const ptx::Instruction &instruction = at(index);
  SmallVector<ptx::RegisterId, 4> reads, writes;
  forEachAccess(
      instruction, [&](ptx::RegisterId reg) { writes.push_back(reg); },
      [&](ptx::RegisterId reg) { reads.push_back(reg); });
  auto isAllowed = [&](const ptx::Operand &operand) { reads.erase(find(reads, operand.reg)); };

  std::optional<Passed> passed = passedOn(instruction);
  if (passed) {
    const ptx::Operand &operand = instruction.operands[passed->operand];
    if (passed->held.isFlushed && !heldBy(operand)->isFlushed)
      ++products[passed->held.product].flushingNegations;
    isAllowed(operand);
  }
  if (isSum(instruction))
    for (uint8_t operand : {0, 1})
      if (addUse(place, operand))
        isAllowed(instruction.operands[operand + 1]);
  for (ptx::RegisterId reg : reads) {
    if (auto found = holders.find(reg); found != holders.end())
      need(found->second);
    else if (auto found = everywhere.find(reg); found != everywhere.end())
      need(found->second);
  }

  for (ptx::RegisterId reg : writes)
    holders.erase(reg);
  if (!passed && !isProduct(instruction))
    return;
  ptx::RegisterId reg = instruction.operands[0].reg;
  if (passed) {
    const ptx::Operand &source = instruction.operands[passed->operand];
    bool isEverywhere = everywhere.contains(source.reg) && isWrittenOnce(reg);
    (isEverywhere ? everywhere : holders)[reg] = passed->held;
  } else if (!everywhere.contains(reg)) {
    holders[reg] = Held{uint32_t(products.size())};
    Product &product = products.emplace_back();
    product.instruction = index;
    product.place = place;
  }
}

// A product is read in a way that needs it.
void Chooser::need(const Held &held) {
  if (!held.isFlushed)
    products[held.product].isNeeded = true;
}

// Whether a sum's operand is a product that could be fused there; notes it.
bool Chooser::addUse(Place place, uint8_t operand) {
  const ptx::Instruction &sum = at(indexAt(place));
  std::optional<Held> held = heldBy(sum.operands[operand + 1]);
  if (!held)
    return false;
  Product &product = products[held->product];
  const ptx::Instruction &mul = at(product.instruction);
  if (mul.spelling->type() != sum.spelling->type() || flushes(mul) != flushes(sum))
    return false;
  auto [meeting, isNew] = meetings.try_emplace(keyOf(place), Meeting{ptx::kNone, ptx::kNone});
  if (meeting->second[0] == held->product)
    product.isNeeded = true; // p + p
  meeting->second[operand] = held->product;
  product.directUses += !held->isFlushed;
  product.uses.push_back({place, operand, held->negated});
  return true;
}

// Whether the factors that are kept of a product's instruction are this product's when control
// comes to the sum: in an unrolled loop the next round's product may stand in front of it.
bool Chooser::isLatest(const Product &product, Place sum) const {
  if (product.place.stretch == ptx::kNone)
    return true;
  ArrayRef<uint32_t> instructions = code.stretches[sum.stretch].instructions;
  return !is_contained(
      instructions.slice(product.place.position + 1, sum.position - product.place.position - 1),
      product.instruction);
}

// Goes through the sums and fuses each with one of its products. The other one is then needed.
void Chooser::choose(function_ref<bool(const Product &)> takes) {
  auto mayTake = [&](uint32_t number) {
    return number != ptx::kNone && (products[number].isFusedAnyway || !products[number].isNeeded) &&
           takes(products[number]);
  };
  auto visit = [&](Place sum) {
    auto meeting = meetings.find(keyOf(sum));
    if (meeting == meetings.end() || chosen.contains(keyOf(sum)))
      return;
    auto [first, second] = meeting->second;
    if (!mayTake(first) && !mayTake(second))
      return;
    bool takesSecond = !mayTake(first) ||
                       (mayTake(second) && products[second].weight() < products[first].weight());
    const Product &taken = products[takesSecond ? second : first];
    const Use &use = *find_if(taken.uses, [&](const Use &u) { return u.sum == sum; });
    if (isLatest(taken, sum))
      chosen[keyOf(sum)] = {taken.instruction, use.operand, use.negated};
    if (uint32_t other = takesSecond ? first : second; other != ptx::kNone)
      products[other].isNeeded = true;
  };
  for (uint32_t stretch = 0; stretch < code.stretches.size(); ++stretch)
    forEachNeeded(stretch, visit);
}

// A sum has one code for all rounds of a loop, so that it is fused if all of its places are, with
// the same product, whose factors are kept where it stands in the text before the sum.
void Chooser::agree() {
  DenseSet<uint32_t> differ;
  auto visit = [&](Place place) {
    const uint32_t sum = indexAt(place);
    if (!isSum(at(sum)))
      return;
    auto found = chosen.find(keyOf(place));
    if (found == chosen.end() || found->second.product > sum ||
        fused.try_emplace(sum, found->second).first->second != found->second)
      differ.insert(sum);
  };
  for (uint32_t stretch = 0; stretch < code.stretches.size(); ++stretch)
    forEachNeeded(stretch, visit);
  for (uint32_t sum : differ)
    fused.erase(sum);
  SmallVector<uint32_t, 4> quotients;
  for (const auto &[sum, with] : fused)
    if (isQuotient(at(with.product)))
      quotients.push_back(sum);
  for (uint32_t sum : quotients)
    fused.erase(sum);
}

} // namespace

Contraction::Contraction(const ptx::Function &function) {
  if (none_of(function.body, isSum))
    return;
  Chooser(function, sums).run();
  for (const auto &[sum, fused] : sums)
    products.insert(fused.product);
}

} // namespace rubia::lowering
