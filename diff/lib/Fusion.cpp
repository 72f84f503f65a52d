// SPDX-License-Identifier: Apache-2.0
// Which product a register holds is known when the kernel runs: each register that may hold one has
// three others, for the factors and whether it does. Of
//
//   mul.f32 %f3, %f1, %f2;  mov.f32 %f4, %f3;  add.f32 %f5, %f4, %f6;
//
// the sum becomes, behind itself, `@%rubia_k4 fma.rn.f32 %f5, %rubia_x4, %rubia_y4, %f6;`. That
// needs no knowledge of how NVIDIA's compiler chooses: PTX ISA, floating-point-instructions-mul,
// permits each.
#include "diff/Fusion.h"
#include "diff/lib/TextOfPtx.h"
#include "ptx-frontend/InstructionTable.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace rubia::ptx::Mod {
extern const Modifier Ftz, Sat;
} // namespace rubia::ptx::Mod

namespace Mod = rubia::ptx::Mod;
using rubia::ptx::Operand;
using rubia::ptx::Operation;
using rubia::ptx::Type;

namespace rubia::ptx::Op {
extern const Operation Call, FAdd, FMul, FNeg, FSub, Mov;
} // namespace rubia::ptx::Op
namespace Op = rubia::ptx::Op;

namespace rubia::capsule {
namespace {

struct ProductKind {
  Type type = Type::None; // None: of several
  bool isFlushing = false;
  bool operator==(const ProductKind &) const = default;
};

bool isWhole(const Operand &operand) {
  return operand.kind == Operand::Kind::Register && operand.component == 0xff && !operand.negated;
}

/// Of one format, and without a rounding.
bool isFree(const ptx::Spelling &spelling) {
  constexpr Type kTypes[] = {Type::F32,   Type::F64,  Type::F16,
                             Type::F16x2, Type::BF16, Type::BF16x2};
  return is_contained(kTypes, spelling.type()) && spelling.type(1) == Type::None &&
         spelling.first(ptx::ModCategory::Rounding) == Mod::None;
}

bool isTaken(const Operand &operand, Type type) {
  return isWhole(operand) ||
         (operand.kind == Operand::Kind::Float && (type == Type::F32 || type == Type::F64));
}

ProductKind kindOf(const ptx::Spelling &spelling) {
  return {spelling.type(), spelling.has(Mod::Ftz)};
}

bool isProduct(const ptx::Instruction &instruction) {
  const ptx::Spelling &spelling = *instruction.spelling;
  return instruction.op() == Op::FMul && isFree(spelling) && !spelling.has(Mod::Sat) &&
         isWhole(instruction.operands[0]) &&
         all_of(drop_begin(instruction.operands),
                [&](const Operand &operand) { return isTaken(operand, spelling.type()); });
}

bool isSum(const ptx::Instruction &instruction) {
  return is_contained({Op::FAdd, Op::FSub}, instruction.op()) && isFree(*instruction.spelling) &&
         isWhole(instruction.operands[0]);
}

/// A copy or a negation of a register.
struct Passed {
  const Operand *from;
  bool isNegated;
};

bool isNumber(const Operand &operand, double value) {
  return operand.kind == Operand::Kind::Float &&
         (operand.isSingle ? bit_cast<float>(uint32_t(operand.bits)) == float(value)
                           : bit_cast<double>(operand.bits) == value);
}

/// Multiplications by 1 and -1 are exact, whatever their rounding is.
std::optional<Passed> passedOn(const ptx::Instruction &instruction) {
  const ArrayRef<Operand> operands = instruction.operands;
  const Operation op = instruction.op();
  if (operands.size() == 2 && isWhole(operands[0]) && isWhole(operands[1])) {
    if (op == Op::Mov || op == Op::FNeg)
      return Passed{&operands[1], op == Op::FNeg};
  } else if (op == Op::FMul && instruction.guard.reg == ptx::kNone && isWhole(operands[0]) &&
             !instruction.spelling->has(Mod::Sat)) {
    for (double unit : {1.0, -1.0})
      for (unsigned i : {1, 2})
        if (isNumber(operands[i], unit) && isWhole(operands[3 - i]) &&
            operands[3 - i].reg != operands[0].reg)
          return Passed{&operands[3 - i], unit < 0};
  }
  return std::nullopt;
}

/// The registers that may hold a product.
class Holders {
public:
  explicit Holders(const ptx::Function &function);
  /// None: it holds none, or one of several kinds.
  std::optional<ProductKind> of(const Operand &operand) const {
    const auto found = isWhole(operand) ? kinds.find(operand.reg) : kinds.end();
    return found != kinds.end() && found->second.type != Type::None ? std::optional(found->second)
                                                                    : std::nullopt;
  }
  std::vector<std::pair<ptx::RegisterId, ProductKind>> all() const;
  /// Bit 0: of the first operand of a sum, bit 1: of the second.
  uint8_t productsOf(const ptx::Instruction &sum) const;

private:
  bool add(ptx::RegisterId reg, ProductKind kind);
  DenseMap<ptx::RegisterId, ProductKind> kinds;
};

bool Holders::add(ptx::RegisterId reg, ProductKind kind) {
  const auto [known, isNew] = kinds.try_emplace(reg, kind);
  if (isNew || known->second == kind || known->second.type == Type::None)
    return isNew;
  known->second = {};
  return true;
}

Holders::Holders(const ptx::Function &function) {
  for (bool isChanged = true; isChanged;) {
    isChanged = false;
    for (const ptx::Instruction &instruction : function.body)
      if (isProduct(instruction))
        isChanged |= add(instruction.operands[0].reg, kindOf(*instruction.spelling));
      else if (const std::optional<Passed> passed = passedOn(instruction))
        if (const auto kind = of(*passed->from);
            kind && (instruction.op() == Op::Mov || kind->type == instruction.spelling->type()))
          isChanged |= add(instruction.operands[0].reg, *kind);
  }
}

std::vector<std::pair<ptx::RegisterId, ProductKind>> Holders::all() const {
  std::vector<std::pair<ptx::RegisterId, ProductKind>> found;
  for (const auto &[reg, kind] : kinds)
    if (kind.type != Type::None)
      found.emplace_back(reg, kind);
  llvm::sort(found, [](const auto &a, const auto &b) { return a.first < b.first; });
  return found;
}

uint8_t Holders::productsOf(const ptx::Instruction &sum) const {
  const Type type = sum.spelling->type();
  if (!isSum(sum) || !isTaken(sum.operands[1], type) || !isTaken(sum.operands[2], type))
    return 0;
  uint8_t bits = 0;
  for (unsigned i = 0; i < 2; ++i)
    bits |= uint8_t((of(sum.operands[i + 1]) == kindOf(*sum.spelling)) << i);
  return bits;
}

std::string signOf(Type type) {
  if (type == Type::F16x2 || type == Type::BF16x2)
    return "0x80008000";
  return formatv("{0:x}", uint64_t(1) << (ptx::sizeInBits(type) - 1)).str();
}

/// The changes of one function. Instructions come in the order of the text.
class Rewriter {
public:
  Rewriter(PtxEditor &editor, const ptx::Function &function, const Holders &holders)
      : editor(editor), function(function), holders(holders) {
    std::string code = " ";
    raw_string_ostream os(code);
    for (const auto &[reg, kind] : holders.all())
      os << formatv(".reg .b{0} %rubia_x{1}, %rubia_y{1}; .reg .pred %rubia_k{1}; "
                    "setp.ne.u32 %rubia_k{1}, 0, 0; ",
                    ptx::sizeInBits(kind.type), reg);
    editor.atEntry(function, code);
  }
  void change(const ptx::Instruction &instruction, uint8_t choice);

private:
  void holdProduct(const ptx::Instruction &instruction);
  bool passOn(const ptx::Instruction &instruction);
  void fuse(const ptx::Instruction &sum, unsigned choice);
  std::string forget(const ptx::Instruction &instruction) const;
  std::string guard(const ptx::Instruction &instruction) const {
    const std::string name = guardOf(function, instruction);
    return name.empty() ? "" : "@" + name + " ";
  }
  void take(raw_ostream &os, const Twine &into, const Operand &operand, Type type) const;

  PtxEditor &editor;
  const ptx::Function &function;
  const Holders &holders;
};

/// Into a register of bits.
void Rewriter::take(raw_ostream &os, const Twine &into, const Operand &operand, Type type) const {
  const unsigned bits = ptx::sizeInBits(type);
  os << "mov.b" << bits << " " << into << ", ";
  if (operand.kind == Operand::Kind::Register)
    os << function.registerName(operand.reg);
  else if (type == Type::F32)
    os << formatv("{0:x}", operand.isSingle
                               ? uint32_t(operand.bits)
                               : bit_cast<uint32_t>(float(bit_cast<double>(operand.bits))));
  else
    os << formatv("{0:x}", operand.isSingle
                               ? bit_cast<uint64_t>(double(bit_cast<float>(uint32_t(operand.bits))))
                               : operand.bits);
  os << "; ";
}

void Rewriter::holdProduct(const ptx::Instruction &instruction) {
  const ptx::RegisterId reg = instruction.operands[0].reg;
  const std::string guarded = guard(instruction);
  std::string code = " ";
  raw_string_ostream os(code);
  for (unsigned i = 0; i < 2; ++i) {
    os << guarded;
    take(os, (i ? "%rubia_y" : "%rubia_x") + Twine(reg), instruction.operands[i + 1],
         instruction.spelling->type());
  }
  os << guarded << "setp.eq.u32 %rubia_k" << reg << ", 0, 0; ";
  editor.before(instruction, code);
}

bool Rewriter::passOn(const ptx::Instruction &instruction) {
  const std::optional<Passed> passed = passedOn(instruction);
  if (!passed)
    return false;
  const auto from = holders.of(*passed->from), to = holders.of(instruction.operands[0]);
  if (!from || from != to)
    return false;
  const ptx::RegisterId a = passed->from->reg, b = instruction.operands[0].reg;
  std::string code = " ", guarded = guard(instruction);
  raw_string_ostream os(code);
  if (isProduct(instruction)) { // of a number that is no product, or of one
    holdProduct(instruction);
    guarded = formatv("@%rubia_k{0} ", a);
  }
  const unsigned bits = ptx::sizeInBits(from->type);
  os << formatv("{0}mov.b{1} %rubia_x{2}, %rubia_x{3}; {0}mov.b{1} %rubia_y{2}, %rubia_y{3}; ",
                guarded, bits, b, a);
  if (passed->isNegated)
    os << formatv("{0}xor.b{1} %rubia_x{2}, %rubia_x{2}, {3}; ", guarded, bits, b,
                  signOf(from->type));
  os << formatv("{0}mov.pred %rubia_k{1}, %rubia_k{2}; ", guarded, b, a);
  editor.before(instruction, code);
  return true;
}

/// Of what an instruction writes: it is no product any more.
std::string Rewriter::forget(const ptx::Instruction &instruction) const {
  const ptx::Form &form = ptx::instructionForms()[instruction.spelling->form];
  const bool isCall = instruction.op() == Op::Call;
  if (instruction.operands.empty() ||
      (!isCall && (!form.operandCount || !form.operandSlots[0].destination)))
    return "";
  std::string code;
  const auto visit = [&](const Operand &operand) {
    if (operand.kind == Operand::Kind::Register && holders.of(operand))
      code +=
          guard(instruction) + "setp.ne.u32 %rubia_k" + std::to_string(operand.reg) + ", 0, 0; ";
  };
  visit(instruction.operands[0]);
  for (const Operand &element : instruction.operands[0].elements())
    visit(element);
  return code;
}

void Rewriter::fuse(const ptx::Instruction &sum, unsigned choice) {
  const Operand &product = sum.operands[choice], &other = sum.operands[3 - choice];
  const Type type = sum.spelling->type();
  const unsigned bits = ptx::sizeInBits(type);
  const std::string held = "%rubia_k" + std::to_string(product.reg), name = guardOf(function, sum);
  std::string code = formatv(" {{ .reg .pred %rubia_q; .reg .b{0} %rubia_t<3>; ", bits);
  raw_string_ostream os(code);
  if (name.empty())
    os << "mov.pred %rubia_q, " << held << "; ";
  else
    os << "setp.eq.and.u32 %rubia_q, 0, 0, " << name << "; and.pred %rubia_q, %rubia_q, " << held
       << "; ";
  os << formatv("mov.b{0} %rubia_t0, %rubia_x{1}; mov.b{0} %rubia_t1, %rubia_y{1}; ", bits,
                product.reg);
  take(os, "%rubia_t2", other, type);
  if (sum.op() == Op::FSub)
    os << formatv("xor.b{0} %rubia_t{1}, %rubia_t{1}, {2}; ", bits, choice == 1 ? 2 : 0,
                  signOf(type));
  editor.before(sum, code);
  const StringRef rest = sum.spelling->text.drop_front(sum.spelling->text.find('.'));
  editor.behind(sum,
                (" @%rubia_q fma.rn" + rest + " " + function.registerName(sum.operands[0].reg) +
                 ", %rubia_t0, %rubia_t1, %rubia_t2; } " + forget(sum))
                    .str());
}

void Rewriter::change(const ptx::Instruction &instruction, uint8_t choice) {
  if (choice)
    return fuse(instruction, choice);
  if (passOn(instruction))
    return;
  if (isProduct(instruction) && holders.of(instruction.operands[0]))
    return holdProduct(instruction);
  if (const std::string code = forget(instruction); !code.empty()) {
    editor.before(instruction, "");
    editor.behind(instruction, " " + code);
  }
}

} // namespace

Expected<FusiblePtx> FusiblePtx::open(StringRef text, StringRef kernel) {
  Expected<PtxEditor> editor = PtxEditor::open(text, kernel);
  if (!editor)
    return editor.takeError();
  FusiblePtx ptx;
  ptx.text = text;
  ptx.kernel = kernel;
  for (const ptx::Function *function : editor->functions()) {
    const Holders holders(*function);
    for (const ptx::Instruction &instruction : function->body)
      if (const uint8_t bits = holders.productsOf(instruction))
        ptx.products.push_back(bits);
  }
  return ptx;
}

Expected<std::string> FusiblePtx::fused(ArrayRef<uint8_t> choices) const {
  assert(choices.size() == products.size());
  if (all_of(choices, [](uint8_t choice) { return !choice; }))
    return text;
  Expected<PtxEditor> editor = PtxEditor::open(text, kernel);
  if (!editor)
    return editor.takeError();
  for (const ptx::Function *function : editor->functions()) {
    const Holders holders(*function);
    Rewriter rewriter(*editor, *function, holders);
    for (const ptx::Instruction &instruction : function->body) {
      uint8_t choice = 0;
      if (holders.productsOf(instruction)) {
        choice = choices.front();
        choices = choices.drop_front();
      }
      rewriter.change(instruction, choice);
    }
  }
  return editor->finish();
}

unsigned NearestFusion::fused() const {
  return unsigned(count_if(choices, [](uint8_t choice) { return choice; }));
}

Expected<NearestFusion> nearestFusion(const FusiblePtx &ptx, uint64_t plain, unsigned mostRuns,
                                      function_ref<Expected<uint64_t>(StringRef)> apart) {
  const ArrayRef<uint8_t> sums = ptx.sums();
  NearestFusion best;
  best.choices.assign(sums.size(), 0);
  best.apart = plain;
  const auto isDone = [&] { return !best.apart || best.runs >= mostRuns; };
  const auto attempt = [&](std::vector<uint8_t> choices) -> Expected<bool> {
    if (isDone() || choices == best.choices)
      return false;
    Expected<std::string> text = ptx.fused(choices);
    if (!text)
      return text.takeError();
    ++best.runs;
    Expected<uint64_t> its = apart(*text);
    if (!its)
      return its.takeError();
    if (*its >= best.apart)
      return false;
    best.choices = std::move(choices);
    best.apart = *its;
    return true;
  };
  // All that can be, of the first or the second product where there are two.
  for (unsigned preferred : {1, 2}) {
    std::vector<uint8_t> choices;
    for (uint8_t bits : sums)
      choices.push_back(uint8_t(bits == 3 ? preferred : bits));
    if (Error error = attempt(std::move(choices)).takeError())
      return std::move(error);
  }
  for (bool isBetter = true; isBetter && !isDone();) {
    isBetter = false;
    for (size_t i = 0; i < sums.size(); ++i)
      for (uint8_t choice : {0, 1, 2}) {
        if (choice && !(sums[i] & choice))
          continue;
        std::vector<uint8_t> choices = best.choices;
        choices[i] = choice;
        Expected<bool> isNearer = attempt(std::move(choices));
        if (!isNearer)
          return isNearer.takeError();
        isBetter |= *isNearer;
      }
  }
  return best;
}

} // namespace rubia::capsule
