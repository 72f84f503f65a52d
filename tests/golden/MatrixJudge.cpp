// SPDX-License-Identifier: Apache-2.0
// Where elements lie is MmaForm's to say: with --mma=h100 every form has the bits of an H100 by the
// same places. Sums are of long double, whose error is far below the bounds.
#include "MatrixJudge.h"
#include "KernelText.h"
#include "lowering/lib/analysis/MmaForm.h"
#include "ptx-frontend/Parser.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>
#include <cstring>
#include <limits>

using namespace llvm;
using rubia::lowering::MmaForm;
using rubia::lowering::MmaKind;
using rubia::lowering::MmaLayout;
using rubia::lowering::MmaMatrix;

namespace rubia::golden {
namespace {

using Real = long double;
using Bytes = std::vector<uint8_t>;

constexpr unsigned kWarps = 4, kThreads = 32 * kWarps;

// ---------- Numbers

struct FloatType {
  unsigned bits, exponentBits, mantissaBits,
      lowBits; // lowBits: below the mantissa, they do not count
  bool hasInfinity;
  int minExponent() const { return 2 - (1 << (exponentBits - 1)); }
};

std::optional<FloatType> floatType(ptx::Type type) {
  switch (type) {
  case ptx::Type::F16:
    return FloatType{16, 5, 10, 0, true};
  case ptx::Type::BF16:
    return FloatType{16, 8, 7, 0, true};
  case ptx::Type::TF32:
    return FloatType{32, 8, 10, 13, true};
  case ptx::Type::F32:
    return FloatType{32, 8, 23, 0, true};
  case ptx::Type::E4M3:
    return FloatType{8, 4, 3, 0, false};
  case ptx::Type::E5M2:
    return FloatType{8, 5, 2, 0, true};
  default:
    return std::nullopt;
  }
}

Real numberOf(const FloatType &type, uint64_t bits) {
  const uint64_t mantissa = (bits >> type.lowBits) & ((uint64_t(1) << type.mantissaBits) - 1);
  const unsigned highest = (1u << type.exponentBits) - 1;
  const unsigned field = unsigned(bits >> (type.lowBits + type.mantissaBits)) & highest;
  const Real sign = bits >> (type.bits - 1) & 1 ? -1 : 1;
  if (field == highest && type.hasInfinity)
    return mantissa ? std::numeric_limits<Real>::quiet_NaN()
                    : sign * std::numeric_limits<Real>::infinity();
  if (field == highest && mantissa == (uint64_t(1) << type.mantissaBits) - 1)
    return std::numeric_limits<Real>::quiet_NaN();
  const uint64_t significand = field ? mantissa | uint64_t(1) << type.mantissaBits : mantissa;
  const int exponent = type.minExponent() + int(std::max(field, 1u)) - 1;
  return sign * std::ldexp(Real(significand), exponent - int(type.mantissaBits));
}

// Of a factor in the bound: a unit that flushes denormals is as good as one that does not.
Real sizeOf(const FloatType &type, Real number) {
  if (number == 0)
    return 0;
  return std::max(std::abs(number), std::ldexp(Real(1), type.minExponent()));
}

Real ulpOfHalf(Real size) {
  const int exponent = size == 0 ? -14 : std::max(-14, std::ilogb(size));
  return std::ldexp(Real(1), exponent - 10);
}

// ---------- Where elements lie

// A matrix in shared memory, by wgmma's descriptor less the address of what the kernel's buffers
// are copied to, which is a multiple of 1024. PTX ISA: asynchronous-warpgroup-level-matrix-shared-
// memory-layout. A swizzle's atom has 8 rows; without one, it is a core matrix, 16 bytes wide.
struct Described {
  uint64_t descriptor;
  bool alongLines; // rows are of lines, else of k

  size_t byteOf(unsigned line, unsigned k, unsigned bits) const {
    static constexpr unsigned kWidths[] = {16, 128, 64, 32};
    const unsigned width = kWidths[descriptor >> 62];
    const bool isSwizzled = descriptor >> 62;
    const size_t leading = field(16), stride = field(32);
    const unsigned row = alongLines ? k : line, bytes = (alongLines ? line : k) * bits / 8;
    const unsigned atom = bytes / width;
    size_t at = field(0) + row % 8 * width + bytes % width;
    if (isSwizzled || !alongLines)
      at += row / 8 * stride + atom * leading;
    else
      at += row / 8 * leading + atom * stride;
    const size_t counted = at / 128 - (descriptor >> 49 & 7);
    return at ^ (counted % (width / 16) * 16);
  }

private:
  size_t field(unsigned first) const { return (descriptor >> first & 0x3fff) * 16; }
};

struct Place {
  unsigned warp, product, row, column;
};

// A product of the kernel, with what wmma's loads and its store say of memory.
struct Product {
  MmaForm form;
  MmaLayout cLayout = MmaLayout::Row, dLayout = MmaLayout::Row;
  bool isPadded = false;
  const KernelCase *kernel;
  // wgmma
  std::optional<Described> describedA = {}, describedB = {};
  bool negates = false, takesC = true;

  const Bytes *buffer(StringRef name) const {
    for (const KernelParameter &parameter : kernel->parameters)
      if (parameter.name == name)
        return &parameter.bytes;
    return nullptr;
  }
  MmaLayout layout(MmaMatrix matrix) const {
    switch (matrix) {
    case MmaMatrix::A:
      return form.aLayout;
    case MmaMatrix::B:
      return form.bLayout;
    case MmaMatrix::C:
      return cLayout;
    case MmaMatrix::D:
      return dLayout;
    }
    return dLayout;
  }

  // Bits of an element: of wmma in memory, of mma in the registers that the kernel keeps there.
  uint64_t bits(MmaMatrix matrix, const Bytes &bytes, Place at) const {
    if (matrix == MmaMatrix::A && describedA)
      return element(bytes, describedA->byteOf(at.row, at.column, width(matrix)) * 8,
                     width(matrix));
    if (matrix == MmaMatrix::B && describedB) {
      const size_t before = describedA ? buffer("a")->size() : 0;
      const size_t place = describedB->byteOf(at.column, at.row, width(matrix)) - before;
      return element(bytes, place * 8, width(matrix));
    }
    return form.isWmma() ? inMemory(matrix, bytes, at) : inFragment(matrix, bytes, at);
  }
  unsigned width(MmaMatrix matrix) const { return form.elementBits(matrix); }
  uint64_t inMemory(MmaMatrix matrix, const Bytes &bytes, Place at) const {
    const unsigned width = form.elementBits(matrix);
    const bool isRow = layout(matrix) == MmaLayout::Row;
    const unsigned stride =
        (isRow ? form.columns(matrix) : form.rows(matrix)) + (isPadded ? 128 / width : 0);
    const size_t index = isRow ? at.row * stride + at.column : at.column * stride + at.row;
    return element(bytes, bytes.size() / kWarps * at.warp * 8 + index * width, width);
  }
  uint64_t inFragment(MmaMatrix matrix, const Bytes &bytes, Place at) const {
    const lowering::FragmentPlace place = form.fragmentOf(matrix, {at.row, at.column, at.product});
    const unsigned width = form.elementBits(matrix), word = form.registerBits(matrix);
    const size_t thread = at.warp * 32 + place.lane;
    const size_t first = matrix == MmaMatrix::D
                             ? thread * (bytes.size() / kThreads) * 8 + place.reg * word
                             : (place.reg * kThreads + thread) * word;
    return element(bytes, first + place.element * width, width);
  }
  static uint64_t element(const Bytes &bytes, size_t firstBit, unsigned width) {
    uint64_t value = 0;
    memcpy(&value, &bytes[firstBit / 8], std::min<size_t>(8, bytes.size() - firstBit / 8));
    value >>= firstBit % 8;
    return width == 64 ? value : value & ((uint64_t(1) << width) - 1);
  }
  // In which row of B the factor of a stored element of A lies.
  unsigned rowOfB(Place at, unsigned stored) const {
    if (!form.isSparse)
      return stored;
    const lowering::MetadataPlace place = form.metadataOf(at.row, stored);
    const uint64_t word = element(*buffer("e"), (at.warp * 32 + place.lane) * 32, 32);
    return place.base + place.scale * unsigned(word >> place.shift & ((1u << place.width) - 1));
  }
};

// The constant that the kernel adds to an address.
std::optional<uint64_t> constantOf(StringRef text, StringRef reg) {
  const std::string before = ("add.s64 " + reg + ", d41, ").str();
  uint64_t value;
  if (!text.contains(before))
    return std::nullopt;
  StringRef rest = text.split(before).second;
  return rest.consumeInteger(0, value) ? std::nullopt : std::optional(value);
}

// What wgmma's operands say: d, a, b{, e, f}, scale-d{, signs of A and B{, transpositions}}.
void takeDescriptors(const ptx::Instruction &inst, Product &product) {
  ArrayRef<ptx::Operand> controls(inst.operands);
  controls = controls.drop_front(product.form.isSparse ? 5 : 3);
  product.takesC = controls[0].kind == ptx::Operand::Kind::Register || controls[0].bits;
  if (controls.size() > 2)
    product.negates = (int64_t(controls[1].bits) < 0) != (int64_t(controls[2].bits) < 0);
  const bool isInMemory = inst.operands[1].kind == ptx::Operand::Kind::Register;
  if (auto descriptor = constantOf(product.kernel->text, "d50"); descriptor && isInMemory)
    product.describedA = {*descriptor, controls.size() > 4 && controls[3].bits};
  if (auto descriptor = constantOf(product.kernel->text, "d51"))
    product.describedB = {*descriptor, controls.size() > 3 && controls.back().bits};
}

std::optional<Product> productOf(const KernelCase &kernel) {
  for (StringRef part : {".fold.", ".chain", ".steps"})
    if (StringRef(kernel.name).contains(part))
      return std::nullopt;
  ptx::ParseResult parsed = ptx::parse(kernel.name, kernel.text);
  std::optional<Product> product;
  std::optional<MmaLayout> cLayout, dLayout;
  for (const auto &function : parsed.module.functions)
    for (const ptx::Instruction &inst : function->body) {
      const std::optional<MmaForm> form = MmaForm::of(inst);
      if (!form)
        continue;
      if (form->kind == MmaKind::WmmaStore)
        dLayout = form->aLayout;
      else if (form->kind == MmaKind::WmmaLoad && form->loaded == MmaMatrix::C)
        cLayout = form->aLayout;
      else if (form->kind != MmaKind::WmmaLoad)
        product = Product{.form = *form, .kernel = &kernel};
      if (form->kind == MmaKind::Wgmma)
        takeDescriptors(inst, *product);
    }
  if (product) {
    product->cLayout = cLayout.value_or(MmaLayout::Row);
    product->dLayout = dLayout.value_or(MmaLayout::Row);
    product->isPadded = StringRef(kernel.name).contains(".padded");
  }
  return product;
}

// ---------- Elements

// The terms of an element's sum.
struct Sum {
  Real exact = 0, size = 0; // size: |c| + sum |ab|, as the bound has it
  unsigned products = 0;
};

class Judge final : public KernelJudge {
public:
  std::string judge(const KernelCase &kernel, ArrayRef<Bytes> got,
                    ArrayRef<Bytes> expected) override {
    const std::optional<Product> product = productOf(kernel);
    if (!product || got.size() != 1 || expected.size() != 1)
      return "no product of matrices";
    const MmaForm &form = product->form;
    const bool hasOneAnswer = StringRef(kernel.name).ends_with(".exact") || !floatType(form.a);
    std::string problem;
    for (unsigned warp = 0; warp < (form.kind == MmaKind::Wgmma ? 1 : kWarps); ++warp)
      for (unsigned n = 0; n < (form.isQuadPairs() ? 4u : 1u); ++n)
        for (unsigned row = 0; row < form.m; ++row)
          for (unsigned column = 0; column < form.n; ++column) {
            const Place at{warp, n, row, column};
            const uint64_t mine = product->bits(MmaMatrix::D, got[0], at),
                           recorded = product->bits(MmaMatrix::D, expected[0], at);
            if (mine == recorded) {
              ++equal;
              continue;
            }
            std::string why =
                hasOneAnswer ? "has one right answer" : judgeElement(*product, at, mine);
            if (!why.empty() && problem.empty())
              problem = formatv(
                  "  warp {0}, product {1}, row {2}, column {3}: {4:x}, recorded {5:x}: {6}\n",
                  warp, n, row, column, mine, recorded, why);
          }
    return problem;
  }

  std::string summary() const override {
    return formatv(
        "{0} elements as recorded, {1} within the bounds (at most {2:f3} of one), {3} out of "
        "range on the way\n",
        equal, within, double(worst), overflowed);
  }

private:
  static Sum sumOf(const Product &product, Place at) {
    const MmaForm &form = product.form;
    const FloatType a = *floatType(form.a), b = *floatType(form.b), c = *floatType(form.c);
    Sum sum;
    if (product.takesC)
      sum.exact = numberOf(c, product.bits(MmaMatrix::C, *product.buffer("c"), at));
    sum.size = sizeOf(c, sum.exact);
    sum.products = form.columns(MmaMatrix::A);
    for (unsigned k = 0; k < sum.products; ++k) {
      const Real x = numberOf(
          a, product.bits(MmaMatrix::A, *product.buffer("a"), {at.warp, at.product, at.row, k}));
      const Real y =
          numberOf(b, product.bits(MmaMatrix::B, *product.buffer("b"),
                                   {at.warp, at.product, product.rowOfB(at, k), at.column}));
      sum.exact += product.negates ? -x * y : x * y;
      sum.size += sizeOf(a, x) * sizeOf(b, y);
    }
    return sum;
  }

  // Empty: right.
  std::string judgeElement(const Product &product, Place at, uint64_t bits) {
    const MmaForm &form = product.form;
    const Sum sum = sumOf(product, at);
    const FloatType d = *floatType(form.d);
    const Real got = numberOf(d, bits);
    if (!std::isfinite(sum.exact)) {
      const bool same = std::isnan(sum.exact) ? std::isnan(got) : got == sum.exact;
      equal += same;
      return same ? "" : formatv("the exact sum is {0}", double(sum.exact)).str();
    }
    const bool isHalf = d.bits == 16;
    const bool hasBytes = floatType(form.a)->bits == 8;
    const int places = form.kind == MmaKind::Wgmma && hasBytes ? 13 : 23;
    Real bound = Real(sum.products + 2) * std::ldexp(sum.size, -places);
    if (isHalf)
      bound += ulpOfHalf(hasBytes ? sum.size : std::max(std::abs(sum.exact), std::abs(got)));
    if (!std::isfinite(got)) {
      // f32 may be left on the way, and infinities may meet there. f16 is rounded to at the end.
      const bool leavesOnTheWay = sum.size >= std::ldexp(Real(1), 128);
      const bool endsBeyond = isHalf && std::isinf(got) &&
                              std::signbit(got) == std::signbit(sum.exact) &&
                              std::abs(sum.exact) + bound >= Real(65504);
      if (!leavesOnTheWay && !endsBeyond)
        return formatv("the exact sum is {0:e}", double(sum.exact));
      ++overflowed;
      return "";
    }
    const Real distance = std::abs(got - sum.exact);
    if (distance > bound)
      return formatv("the exact sum is {0:e}, the distance {1:e}, at most {2:e}", double(sum.exact),
                     double(distance), double(bound));
    worst = std::max(worst, distance / bound);
    ++within;
    return "";
  }

  uint64_t equal = 0, within = 0, overflowed = 0;
  Real worst = 0;
};

} // namespace

std::unique_ptr<KernelJudge> makeMatrixJudge() { return std::make_unique<Judge>(); }

} // namespace rubia::golden
