// SPDX-License-Identifier: Apache-2.0
// `@p ex2.approx.f32 %f2, %f1;` becomes a block with registers of its own:
//
//   @p ex2.approx.f32 %f2, %f1;
//   r = scale * hash(%f2, seed) + bias          from -1 to 1
//   if p and %f2 is finite: %f2 += r * bound * |%f2|
//
// Of a bound that is absolute, of a product of matrices or of a filter, another magnitude stands in
// the place of |%f2|. It is read before the instruction, which may write to the register that it is
// in.
#include "diff/Perturbation.h"
#include "diff/lib/Bounds.h"
#include "diff/lib/Inexact.h"
#include "diff/lib/TextOfPtx.h"
#include "diff/lib/TextureSites.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Support/xxhash.h"

using namespace llvm;

namespace rubia::ptx::Mod {
extern const Modifier Ftz, Grad;
} // namespace rubia::ptx::Mod

namespace Mod = rubia::ptx::Mod;
using rubia::ptx::Operand;
using rubia::ptx::Type;

namespace rubia::ptx::Op {
extern const Operation Wgmma, WgmmaSp;
} // namespace rubia::ptx::Op
namespace Op = rubia::ptx::Op;

namespace rubia::capsule {

Noise Noise::ofRun(unsigned index) {
  if (index < 2)
    return {0, 0, index ? -1.f : 1.f};
  return {index * 0x9e3779b9u, 1, 0};
}

namespace {

class SiteWriter {
public:
  /// `statement`: its text.
  SiteWriter(const ptx::Function &function, const ptx::Instruction &instruction, const Bound &bound,
             StringRef statement)
      : function(function), instruction(instruction), bound(bound), statement(statement),
        type(resultType(*instruction.spelling)) {
    if (instruction.guard.reg != ptx::kNone)
      guard = function.registerName(instruction.guard.reg);
  }

  bool isKnown() const {
    const Type known[] = {Type::F32, Type::F64, Type::F16, Type::BF16, Type::F16x2, Type::BF16x2};
    if (bound.magnitude == Magnitude::Filter)
      return isKnownFilter();
    return is_contained(known, type) && (!isProduct() || !magnitudes().empty());
  }
  std::string before() const;
  std::string behind() const;

private:
  using Registers = SmallVector<std::string, 8>;
  Registers registersOf(const Operand &operand) const {
    return capsule::registersOf(function, operand);
  }
  Registers results() const { return registersOf(instruction.operands[0]); }
  bool isProduct() const { return bound.magnitude == Magnitude::Products; }
  std::string magnitudes() const { return productMagnitudes(function, instruction); }
  bool isKnownFilter() const;
  void filterMagnitudes(raw_ostream &os) const;
  void hash(raw_ostream &os, StringRef bits) const;
  void moveSingle(raw_ostream &os, StringRef result, StringRef magnitude) const;
  void moveDouble(raw_ostream &os, StringRef result) const;
  void moveHalf(raw_ostream &os, StringRef half, StringRef magnitude) const;
  void moveElement(raw_ostream &os, StringRef result, StringRef magnitude) const;
  std::string allowed(StringRef predicate) const;
  std::string factor() const {
    const int exponent = exponentOf(bound, type, instruction.spelling->has(Mod::Ftz));
    return formatv("0f{0:X-8}", uint32_t(127 + exponent) << 23);
  }

  const ptx::Function &function;
  const ptx::Instruction &instruction;
  const Bound &bound;
  const StringRef statement;
  const Type type;
  std::string guard;
};

/// Gradients have a bound of the level of detail, which says nothing of the result.
bool SiteWriter::isKnownFilter() const {
  constexpr size_t kChannels = 4;
  return type == Type::F32 && results().size() == kChannels &&
         !instruction.spelling->has(Mod::Grad) && !statement.contains('/') &&
         instruction.operands.size() > 1 &&
         instruction.operands[1].kind == Operand::Kind::AddressList;
}

/// %rubia_m: the bound, of what the same instruction gives of the magnitudes of the texels.
void SiteWriter::filterMagnitudes(raw_ostream &os) const {
  const Operand &texture = instruction.operands[1].elements().front();
  os << ".reg .b32 %rubia_m<4>; .reg .f32 %rubia_e<2>; .reg .b64 %rubia_k<2>; "
     << "mov.b64 %rubia_k0, ";
  if (texture.reg != ptx::kNone)
    os << function.registerName(texture.reg) << "; ";
  else
    os << nameKey(texture.variable()->name) << "; ";
  os << "mov.b64 %rubia_k1, 0; "
     << searchCode(kFiltersVariable, sizeof(FilterEntry), "%rubia_k0",
                   "ld.global.u64 %rubia_k1, [%rubia_entry+8]; "
                   "ld.global.f32 %rubia_e0, [%rubia_entry+16]; "
                   "ld.global.f32 %rubia_e1, [%rubia_entry+20];")
     << "setp.ne.u64 %rubia_p, %rubia_k1, 0; " << allowed("%rubia_p");
  for (unsigned i = 0; i < 4; ++i)
    os << "mov.b32 %rubia_m" << i << ", 0; ";
  const StringRef operands = statement.drop_front(statement.find('['));
  os << "@%rubia_p " << instruction.spelling->text
     << " {%rubia_m0, %rubia_m1, %rubia_m2, %rubia_m3}, [%rubia_k1"
     << operands.drop_front(operands.find(',')) << " ";
  for (unsigned i = 0; i < 4; ++i)
    os << formatv("@%rubia_p abs.f32 %rubia_m{0}, %rubia_m{0}; "
                  "@%rubia_p fma.rn.f32 %rubia_m{0}, %rubia_m{0}, %rubia_e0, %rubia_e1; ",
                  i);
}

std::string SiteWriter::before() const {
  std::string code = "{ .reg .pred %rubia_p, %rubia_q; .reg .b16 %rubia_h<4>; "
                     ".reg .b32 %rubia_b<4>; .reg .f32 %rubia_f<5>; .reg .b64 %rubia_d<2>; "
                     ".reg .f64 %rubia_w<2>; ";
  raw_string_ostream os(code);
  if (isProduct())
    os << magnitudes();
  if (bound.magnitude == Magnitude::Filter)
    filterMagnitudes(os);
  if (bound.magnitude == Magnitude::OneOrOperand) {
    const Registers operand = registersOf(instruction.operands[1]);
    os << ".reg .f32 %rubia_m0; ";
    if (operand.empty())
      os << "mov.f32 %rubia_m0, 0f00000000; "; // a constant
    else
      os << "abs.f32 %rubia_m0, " << operand.front() << "; ";
  }
  return code;
}

/// %rubia_f2: by how much of its bound a result with these bits moves.
void SiteWriter::hash(raw_ostream &os, StringRef bits) const {
  os << "xor.b32 %rubia_b1, " << bits
     << ", %rubia_b0; mul.lo.u32 %rubia_b1, %rubia_b1, 2654435769; "
     << "shr.u32 %rubia_b2, %rubia_b1, 15; xor.b32 %rubia_b1, %rubia_b1, %rubia_b2; "
     << "mul.lo.u32 %rubia_b1, %rubia_b1, 2246822519; "
     << "shr.u32 %rubia_b2, %rubia_b1, 13; xor.b32 %rubia_b1, %rubia_b1, %rubia_b2; "
     << "cvt.rn.f32.s32 %rubia_f2, %rubia_b1; mul.rn.f32 %rubia_f2, %rubia_f2, 0f30000000; "
     << "fma.rn.f32 %rubia_f2, %rubia_f2, %rubia_f0, %rubia_f1; "
     << "mul.rn.f32 %rubia_f2, %rubia_f2, " << factor() << "; ";
}

/// Narrows a predicate to where the instruction is executed.
std::string SiteWriter::allowed(StringRef predicate) const {
  if (guard.empty())
    return "";
  return formatv("{0}.pred %rubia_q, {1}; and.pred {2}, {2}, %rubia_q; ",
                 instruction.guard.negated ? "not" : "mov", guard, predicate);
}

// Where the magnitude of a product is infinite, sums may overflow to either side on the way.
void SiteWriter::moveSingle(raw_ostream &os, StringRef result, StringRef magnitude) const {
  os << "mov.b32 %rubia_b3, " << result << "; ";
  hash(os, "%rubia_b3");
  os << "abs.f32 %rubia_f3, " << result << "; ";
  if (bound.magnitude == Magnitude::OneOrOperand)
    os << "mov.f32 %rubia_f3, 0f3F800000; ";
  if (bound.magnitude == Magnitude::ResultOrOne)
    os << "max.f32 %rubia_f3, %rubia_f3, 0f3F800000; ";
  if (bound.magnitude == Magnitude::Filter)
    os << "mov.b32 %rubia_f3, " << magnitude << "; ";
  else if (!magnitude.empty())
    os << "max.f32 %rubia_f3, %rubia_f3, " << magnitude << "; ";
  os << "testp.finite.f32 %rubia_p, " << result << "; ";
  if (isProduct())
    os << "testp.infinite.f32 %rubia_q, " << magnitude << "; or.pred %rubia_p, %rubia_p, %rubia_q; "
       << "setp.neu.and.f32 %rubia_p, %rubia_f2, 0f00000000, %rubia_p; ";
  os << "fma.rn.f32 %rubia_f4, %rubia_f2, %rubia_f3, " << result << "; ";
  if (isProduct())
    os << "@%rubia_q mul.rn.f32 %rubia_f4, %rubia_f2, %rubia_f3; ";
  os << allowed("%rubia_p") << "@%rubia_p mov.f32 " << result << ", %rubia_f4; ";
}

void SiteWriter::moveDouble(raw_ostream &os, StringRef result) const {
  os << "mov.b64 {%rubia_b3, %rubia_b2}, " << result
     << "; xor.b32 %rubia_b3, %rubia_b3, %rubia_b2; ";
  hash(os, "%rubia_b3");
  os << "cvt.f64.f32 %rubia_w0, %rubia_f2; fma.rn.f64 %rubia_w1, %rubia_w0, " << result << ", "
     << result << "; testp.finite.f64 %rubia_p, " << result << "; " << allowed("%rubia_p")
     << "@%rubia_p mov.f64 " << result << ", %rubia_w1; ";
}

void SiteWriter::moveHalf(raw_ostream &os, StringRef half, StringRef magnitude) const {
  const bool isBrain = type == Type::BF16 || type == Type::BF16x2;
  const auto widen = [&](StringRef to, StringRef from) {
    if (isBrain)
      os << "cvt.u32.u16 %rubia_b3, " << from << "; shl.b32 %rubia_b3, %rubia_b3, 16; mov.b32 "
         << to << ", %rubia_b3; ";
    else
      os << "cvt.f32.f16 " << to << ", " << from << "; ";
  };
  widen("%rubia_f3", half);
  os << "mov.b32 %rubia_b3, %rubia_f3; ";
  hash(os, "%rubia_b3");
  os << "testp.finite.f32 %rubia_p, %rubia_f3; abs.f32 %rubia_f4, %rubia_f3; ";
  if (!magnitude.empty()) {
    widen("%rubia_f4", magnitude);
    os << "testp.infinite.f32 %rubia_q, %rubia_f4; or.pred %rubia_p, %rubia_p, %rubia_q; "
       << "setp.neu.and.f32 %rubia_p, %rubia_f2, 0f00000000, %rubia_p; ";
  }
  os << "fma.rn.f32 %rubia_f3, %rubia_f2, %rubia_f4, %rubia_f3; ";
  if (!magnitude.empty())
    os << "@%rubia_q mul.rn.f32 %rubia_f3, %rubia_f2, %rubia_f4; ";
  os << allowed("%rubia_p") << "@%rubia_p cvt.rn." << (isBrain ? "bf16" : "f16") << ".f32 " << half
     << ", %rubia_f3; ";
}

void SiteWriter::moveElement(raw_ostream &os, StringRef result, StringRef magnitude) const {
  switch (type) {
  case Type::F32:
    return moveSingle(os, result, magnitude);
  case Type::F64:
    return moveDouble(os, result);
  case Type::F16:
  case Type::BF16:
    return moveHalf(os, result, "");
  default:
    os << "mov.b32 {%rubia_h0, %rubia_h1}, " << result << "; ";
    if (!magnitude.empty())
      os << "mov.b32 {%rubia_h2, %rubia_h3}, " << magnitude << "; ";
    moveHalf(os, "%rubia_h0", magnitude.empty() ? "" : "%rubia_h2");
    moveHalf(os, "%rubia_h1", magnitude.empty() ? "" : "%rubia_h3");
    os << "mov.b32 " << result << ", {%rubia_h0, %rubia_h1}; ";
  }
}

std::string SiteWriter::behind() const {
  std::string code = " ";
  raw_string_ostream os(code);
  os << "mov.u64 %rubia_d0, " << kNoiseVariable << "; ld.global.u32 %rubia_b0, [%rubia_d0]; "
     << "ld.global.f32 %rubia_f0, [%rubia_d0+4]; ld.global.f32 %rubia_f1, [%rubia_d0+8]; ";
  const Registers names = results();
  const bool hasMagnitudes = bound.magnitude == Magnitude::Products ||
                             bound.magnitude == Magnitude::OneOrOperand ||
                             bound.magnitude == Magnitude::Filter;
  for (size_t i = 0; i < names.size(); ++i)
    if (!names[i].empty())
      moveElement(os, names[i], hasMagnitudes ? "%rubia_m" + std::to_string(i) : "");
  os << "} ";
  return code;
}

bool readsOwn(const ptx::Instruction &instruction) {
  return any_of(instruction.operands, [](const Operand &operand) {
    return operand.kind == Operand::Kind::SpecialRegister && isOwn(operand.special);
  });
}

} // namespace

static bool isMovedByInterpreter(const ptx::Spelling &spelling) {
  const bool isFilter = mayFilter(spelling) && spelling.type(0) == Type::F32,
             isProduct = spelling.op == Op::Wgmma || spelling.op == Op::WgmmaSp;
  return isFilter || isProduct;
}

uint64_t nameKey(StringRef texture) { return xxh3_64bits(texture); }

Expected<PerturbedPtx> perturb(StringRef text, StringRef kernel, bool isFiltered,
                               FilterMover mover) {
  if (text.contains(kNoiseVariable))
    return createStringError("the PTX of kernel '" + kernel + "' is perturbed already");
  Expected<PtxEditor> editor = PtxEditor::open(text, kernel);
  if (!editor)
    return editor.takeError();
  editor->declare(
      formatv(".visible .global .align 4 .b8 {0}[{1}];", kNoiseVariable, sizeof(Noise)).str());
  if (isFiltered && mover == FilterMover::Text)
    editor->declare(
        formatv(".visible .global .align 8 .b8 {0}[{1}];", kFiltersVariable, kTableBytes).str());
  PerturbedPtx out;
  for (const ptx::Function *function : editor->functions())
    for (const ptx::Instruction &instruction : function->body) {
      const bool inexact =
          isInexact(instruction) || (isFiltered && mayFilter(*instruction.spelling));
      if (!inexact && !isMemoryInexact(*instruction.spelling) && !readsOwn(instruction))
        continue;
      out.isOfOrder |= isOfOrder(*instruction.spelling);
      if (mover == FilterMover::Interpreter && isMovedByInterpreter(*instruction.spelling)) {
        ++out.sites;
        continue;
      }
      const Bound *bound = inexact ? boundOf(instruction) : nullptr;
      if (bound) {
        const SiteWriter site(*function, instruction, *bound, editor->statement(instruction));
        if (site.isKnown()) {
          editor->before(instruction, site.before());
          editor->behind(instruction, site.behind());
          ++out.sites;
          continue;
        }
      }
      if (out.still.empty())
        out.still = "line " + std::to_string(editor->lineOf(instruction)) + ": " +
                    instruction.spelling->text.str();
    }
  out.text = editor->finish();
  return out;
}

} // namespace rubia::capsule
