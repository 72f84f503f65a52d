// SPDX-License-Identifier: Apache-2.0
#include "emulator/lib/debug/NamedValues.h"
#include "emulator/lib/machine/Workgroup.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/DebugInfo/DWARF/DWARFCompileUnit.h"
#include "llvm/DebugInfo/DWARF/DWARFContext.h"
#include "llvm/DebugInfo/DWARF/LowLevel/DWARFExpression.h"
#include <cstring>
#include <set>

using namespace llvm;

namespace rubia::targets::Fact {
extern const GenerationFact architectedFlatScratch;
} // namespace rubia::targets::Fact

namespace rubia::emulator {
namespace {

/// A register of 32 bits.
struct Register {
  bool isVector = false;
  unsigned number = 0; // ScalarIndex, or as in Wave.h
};

/// AMDGPUUsage "Register Identifier": the numbers of waves of 32 and of 64 lanes.
std::optional<Register> registerOf(uint64_t dwarf) {
  const struct {
    uint64_t first, count;
    bool isVector;
    unsigned number;
  } ranges[] = {{32, 64, false, 0},    {1088, 42, false, 64},
                {1536, 256, true, 0},  {2048, 256, true, kFirstAccumulator},
                {2560, 256, true, 0},  {3072, 256, true, kFirstAccumulator},
                {512, 1, false, kVcc}, {768, 1, false, kVcc}};
  for (const auto &range : ranges)
    if (dwarf >= range.first && dwarf - range.first < range.count)
      return Register{range.isVector, range.number + unsigned(dwarf - range.first)};
  return std::nullopt;
}

/// Evaluates a location of one lane.
class Evaluation {
public:
  Evaluation(const Wave &wave, unsigned lane, unsigned bits, std::optional<uint64_t> frame)
      : wave(wave), lane(lane), bits(bits), frame(frame) {}

  /// False: the value is not known, or not by the operations that compilers write for registers.
  bool run(const DWARFExpression &expression);

  uint64_t low = 0, high = 0;
  std::string where;
  std::vector<ValuePart> parts; // empty: some of the value was computed

private:
  bool step(const DWARFExpression::Operation &operation);
  bool compute(uint8_t code);
  std::optional<uint32_t> read(uint64_t dwarf, unsigned offset) const;
  bool take(unsigned bytes);
  void name(uint64_t dwarf);

  const Wave &wave;
  unsigned lane, bits;
  std::optional<uint64_t> frame;     // where the function's memory begins; none: not known
  std::optional<uint64_t> inScratch; // the value's place in the lane's scratch
  std::vector<uint64_t> stack;
  std::optional<uint64_t> inRegister; // by DWARF's number
  unsigned done = 0;                  // bytes of the value
  bool isComputed = false;            // at least some bytes
};

/// The dword `offset` registers behind a register.
std::optional<uint32_t> Evaluation::read(uint64_t dwarf, unsigned offset) const {
  const std::optional<Register> found = registerOf(dwarf);
  if (!found)
    return std::nullopt;
  const unsigned number = found->number + offset;
  if (!found->isVector)
    return number < kScalarCount ? std::optional(wave.scalars[number]) : std::nullopt;
  if (vectorOffset(number) >= wave.blockStride)
    return std::nullopt;
  return wave.vgpr(vectorOffset(number), lane);
}

void Evaluation::name(uint64_t dwarf) {
  const std::optional<Register> found = registerOf(dwarf);
  if (!found)
    return;
  where += where.empty() ? "" : " ";
  if (!found->isVector)
    where += found->number == kVcc ? "vcc" : "s" + std::to_string(found->number);
  else if (found->number < kFirstAccumulator)
    where += "v" + std::to_string(found->number);
  else
    where += "a" + std::to_string(found->number - kFirstAccumulator);
}

/// The next bytes of the value are those that were found.
bool Evaluation::take(unsigned bytes) {
  constexpr unsigned kMost = 16; // of a register of PTX
  if (bytes > kMost || done + bytes > kMost)
    return false;
  for (unsigned at = 0; at < bytes; at += 4) {
    uint64_t word = 0;
    if (inRegister) {
      const std::optional<uint32_t> read = this->read(*inRegister, at / 4);
      if (!read)
        return false;
      word = *read;
    } else if (inScratch) {
      const uint64_t place = *inScratch + at;
      if (place % 4 != 0 || place + 4 > wave.scratchPerLane)
        return false;
      std::memcpy(&word, wave.scratch + (place / 4 * wave.lanes() + lane) * 4, 4);
    } else if (!stack.empty()) {
      word = at < 8 ? uint32_t(stack.back() >> (8 * at)) : 0;
    } else {
      return false;
    }
    const unsigned left = std::min(bytes - at, 4u);
    if (left < 4)
      word &= (uint64_t(1) << (8 * left)) - 1;
    if (done < 8)
      low |= word << (8 * done);
    else if (done < 16)
      high |= word << (8 * (done - 8));
    done += left;
  }
  if (inRegister) {
    name(*inRegister);
    const Register at = *registerOf(*inRegister);
    parts.push_back(
        {at.isVector ? ValuePart::Kind::Vector : ValuePart::Kind::Scalar, at.number, bytes});
  } else if (inScratch) {
    where = "memory";
    parts.push_back({ValuePart::Kind::Scratch, unsigned(*inScratch), bytes});
  } else {
    isComputed = true;
  }
  inRegister.reset();
  inScratch.reset();
  stack.clear();
  return true;
}

bool Evaluation::compute(uint8_t code) {
  if (stack.size() < 2)
    return false;
  const uint64_t b = stack.back();
  stack.pop_back();
  uint64_t &a = stack.back();
  switch (code) {
  case dwarf::DW_OP_plus:
    a += b;
    return true;
  case dwarf::DW_OP_minus:
    a -= b;
    return true;
  case dwarf::DW_OP_mul:
    a *= b;
    return true;
  case dwarf::DW_OP_and:
    a &= b;
    return true;
  case dwarf::DW_OP_or:
    a |= b;
    return true;
  case dwarf::DW_OP_xor:
    a ^= b;
    return true;
  case dwarf::DW_OP_shl:
    a = b < 64 ? a << b : 0;
    return true;
  case dwarf::DW_OP_shr:
    a = b < 64 ? a >> b : 0;
    return true;
  case dwarf::DW_OP_shra:
    a = uint64_t(int64_t(a) >> std::min<uint64_t>(b, 63));
    return true;
  default:
    return false;
  }
}

bool Evaluation::step(const DWARFExpression::Operation &operation) {
  const uint8_t code = operation.getCode();
  if (code >= dwarf::DW_OP_lit0 && code <= dwarf::DW_OP_lit31) {
    stack.push_back(code - dwarf::DW_OP_lit0);
    return true;
  }
  switch (code) {
  case dwarf::DW_OP_fbreg:
    if (!frame)
      return false;
    inScratch = *frame + operation.getRawOperand(0);
    return true;
  case dwarf::DW_OP_regx:
    inRegister = operation.getRawOperand(0);
    return true;
  case dwarf::DW_OP_bregx: { // the register as a value
    const std::optional<uint32_t> lowWord = read(operation.getRawOperand(0), 0);
    const std::optional<uint32_t> highWord = read(operation.getRawOperand(0), 1);
    if (!lowWord || !highWord)
      return false;
    const uint64_t value = bits > 32 ? uint64_t(*highWord) << 32 | *lowWord : *lowWord;
    stack.push_back(value + operation.getRawOperand(1));
    return true;
  }
  case dwarf::DW_OP_const1u:
  case dwarf::DW_OP_const1s:
  case dwarf::DW_OP_const2u:
  case dwarf::DW_OP_const2s:
  case dwarf::DW_OP_const4u:
  case dwarf::DW_OP_const4s:
  case dwarf::DW_OP_const8u:
  case dwarf::DW_OP_const8s:
  case dwarf::DW_OP_constu:
  case dwarf::DW_OP_consts:
    stack.push_back(operation.getRawOperand(0));
    return true;
  case dwarf::DW_OP_plus_uconst:
    if (stack.empty())
      return false;
    stack.back() += operation.getRawOperand(0);
    return true;
  case dwarf::DW_OP_stack_value:
    return !stack.empty();
  case dwarf::DW_OP_piece:
    return take(unsigned(operation.getRawOperand(0)));
  default:
    return compute(code);
  }
}

bool Evaluation::run(const DWARFExpression &expression) {
  for (const DWARFExpression::Operation &operation : expression)
    if (operation.isError() || !step(operation))
      return false;
  const unsigned bytes = (bits + 7) / 8;
  if (done < bytes && (done != 0 || !take(bytes)))
    return false;
  if (isComputed)
    parts.clear();
  return true;
}

/// Whether what was found is the value, which is then this thread's alone.
///
/// - A predicate in a scalar register is a mask of lanes, or one bit for all of them. Which of the
///   two, the debug information does not say: where they differ, nothing is known.
/// - Half a vector register has the number of the whole one. Rubia's code has 16-bit values in low
///   halves alone (codegen/lib/Translate.cpp); that of other compilers may have them in both.
bool settle(NamedValue &value, const Wave &wave, unsigned lane, bool isOfRubia) {
  const bool isScalar = StringRef(value.where).starts_with("s") || value.where == "vcc";
  if (value.type == "pred") {
    const bool isMask =
        value.where == "vcc" || wave.lanes() == 32 || StringRef(value.where).contains(' ');
    if (isScalar && (!isMask || (value.low == 1 && lane != 0)))
      return false;
    value.low = isScalar ? value.low >> lane & 1 : value.low & 1;
  }
  const bool isInVector =
      !value.parts.empty() && value.parts.front().kind == ValuePart::Kind::Vector;
  return value.bits != 16 || !isInVector || isOfRubia;
}

/// As lowering/lib/frame/DebugInfo.cpp writes it.
bool isOfRubia(DWARFUnit &unit) {
  const DWARFDie die = unit.getUnitDIE();
  return StringRef(dwarf::toString(die.find(dwarf::DW_AT_producer), "")) == "Rubia";
}

/// Where the memory of a function's variables begins in scratch: at the start for kernels, else
/// where a register points to. Where that counts all lanes' bytes, nothing is known.
std::optional<uint64_t> frameOf(const DWARFDie &function, const Wave &wave) {
  DWARFDie outer = function;
  while (outer && outer.getTag() != dwarf::DW_TAG_subprogram)
    outer = outer.getParent();
  if (!outer)
    return std::nullopt;
  const std::optional<DWARFFormValue> base = outer.find(dwarf::DW_AT_frame_base);
  if (!base)
    return 0;
  const std::optional<ArrayRef<uint8_t>> block = base->getAsBlock();
  if (!block || !targets::Fact::architectedFlatScratch(*wave.group->target))
    return std::nullopt;
  const DWARFUnit &unit = *outer.getDwarfUnit();
  const DataExtractor data(toStringRef(*block), true, unit.getAddressByteSize());
  Evaluation evaluation(wave, 0, 32, std::nullopt);
  if (!evaluation.run(
          DWARFExpression(data, unit.getAddressByteSize(), unit.getFormParams().Format)))
    return std::nullopt;
  return evaluation.low;
}

/// A variable that is the same number everywhere.
bool isConstant(const DWARFDie &die, NamedValue &value) {
  const std::optional<DWARFFormValue> constant = die.find(dwarf::DW_AT_const_value);
  if (!constant)
    return false;
  if (const std::optional<uint64_t> bits = constant->getAsUnsignedConstant())
    value.low = *bits;
  else if (const std::optional<int64_t> number = constant->getAsSignedConstant())
    value.low = uint64_t(*number);
  else
    return false;
  if (value.bits < 64)
    value.low &= (uint64_t(1) << value.bits) - 1;
  return value.bits <= 64;
}

/// A variable's value at a pc; none: it is not known there.
std::optional<NamedValue> valueOf(const DWARFDie &die, StringRef name, const Wave &wave,
                                  unsigned lane, uint64_t pc) {
  DWARFDie type = die.getAttributeValueAsReferencedDie(dwarf::DW_AT_type);
  if (const DWARFDie origin = die.getAttributeValueAsReferencedDie(dwarf::DW_AT_abstract_origin);
      origin && !type)
    type = origin.getAttributeValueAsReferencedDie(dwarf::DW_AT_type);
  if (!type)
    return std::nullopt;
  NamedValue value;
  value.name = name.str();
  value.type = type.getShortName() ? type.getShortName() : "";
  const uint64_t size = dwarf::toUnsigned(type.find(dwarf::DW_AT_byte_size), 4);
  if (size == 0 || size > 16)
    return std::nullopt;
  value.bits = unsigned(8 * size);
  if (isConstant(die, value))
    return value;
  Expected<DWARFLocationExpressionsVector> places = die.getLocations(dwarf::DW_AT_location);
  if (!places) {
    consumeError(places.takeError()); // it has none: the compiler has removed it
    return std::nullopt;
  }
  for (const DWARFLocationExpression &place : *places) {
    if (place.Range && (pc < place.Range->LowPC || pc >= place.Range->HighPC))
      continue;
    DWARFUnit &unit = *die.getDwarfUnit();
    const DataExtractor data(toStringRef(place.Expr), true, unit.getAddressByteSize());
    const bool isPredicate = value.type == "pred"; // in one register, or in pieces
    Evaluation evaluation(wave, lane, isPredicate ? 32 : value.bits, frameOf(die, wave));
    if (!evaluation.run(
            DWARFExpression(data, unit.getAddressByteSize(), unit.getFormParams().Format)))
      continue;
    value.low = evaluation.low;
    value.high = evaluation.high;
    value.where = std::move(evaluation.where);
    value.parts = std::move(evaluation.parts);
    if (settle(value, wave, lane, isOfRubia(unit)))
      return value;
  }
  return std::nullopt;
}

/// The variables below a function or a block of it.
void addVariables(const DWARFDie &scope, const Wave &wave, unsigned lane, uint64_t pc,
                  std::set<std::string> &known, std::vector<NamedValue> &found,
                  unsigned depth = 0) {
  constexpr unsigned kDeepest = 64; // blocks in blocks
  if (depth > kDeepest)
    return;
  for (const DWARFDie &die : scope.children()) {
    if (die.getTag() == dwarf::DW_TAG_lexical_block)
      addVariables(die, wave, lane, pc, known, found, depth + 1);
    if (die.getTag() != dwarf::DW_TAG_variable && die.getTag() != dwarf::DW_TAG_formal_parameter)
      continue;
    const char *name = die.getShortName();
    if (!name || known.count(name))
      continue;
    const std::optional<NamedValue> value = valueOf(die, name, wave, lane, pc);
    if (!value)
      continue;
    known.insert(name);
    found.push_back(*value);
  }
}

} // namespace

std::vector<NamedValue> namedValues(const SourceLines &lines, const Wave &wave, unsigned lane,
                                    uint64_t pc) {
  std::vector<NamedValue> found;
  std::set<std::string> known;
  lines.inspect([&](DWARFContext &context) {
    DWARFCompileUnit *unit = context.getCompileUnitForCodeAddress(pc);
    if (!unit)
      return;
    SmallVector<DWARFDie, 4> chain;
    unit->getInlinedChainForAddress(pc, chain);
    for (const DWARFDie &function : chain)
      addVariables(function, wave, lane, pc, known, found);
  });
  return found;
}

} // namespace rubia::emulator
