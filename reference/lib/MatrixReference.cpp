// SPDX-License-Identifier: Apache-2.0
#include "reference/MatrixReference.h"
#include "reference/lib/ReferenceParts.h"
#include "llvm/ADT/SmallVector.h"

using namespace llvm;

namespace rubia::reference {
namespace {

const FloatFormat *formatOf(StringRef type) {
  return type == "e4m3" ? &kE4m3 : type == "e5m2" ? &kE5m2 : floatFormat(type);
}

// The low 13 bits of a tf32 do not count.
Float factor(const FloatFormat &format, uint64_t bits) {
  return decode(format, bits & ~((uint64_t(1) << format.unusedBits) - 1));
}

// Of the leading place of the significand as it is stored: denormals have that of the smallest
// normal number.
int storedExponent(const FloatFormat &format, const Float &number) {
  return std::max(exponentOf(number.value), format.minExponent);
}

/// Of two finite numbers, whose denominators are powers of two.
mpq_class product(const Float &a, const Float &b) {
  const mp_bitcnt_t places =
      mpz_scan1(a.value.get_den_mpz_t(), 0) + mpz_scan1(b.value.get_den_mpz_t(), 0);
  return scaled(mpq_class(mpz_class(a.value.get_num() * b.value.get_num())), -int(places));
}

uint64_t nanOf(const FloatFormat &format) {
  return format.bits == 64 ? generatedNan(format) : format.signBit() - 1;
}

// The result of a sum that has infinities or NaNs among its terms; nothing if there are none.
class Specials {
public:
  void add(const Float &term) {
    nan |= term.isNan();
    (term.negative ? negative : positive) |= term.isInfinity();
  }
  void add(const Float &a, const Float &b) {
    nan |=
        a.isNan() || b.isNan() || (a.isInfinity() && b.isZero()) || (b.isInfinity() && a.isZero());
    (a.negative != b.negative ? negative : positive) |= a.isInfinity() || b.isInfinity();
  }
  std::optional<uint64_t> result(const FloatFormat &format) const {
    if (nan || (positive && negative))
      return nanOf(format);
    if (positive || negative)
      return format.infinity() | (negative ? format.signBit() : 0);
    return std::nullopt;
  }

private:
  bool nan = false, positive = false, negative = false;
};

// A sum of c and products: every term is cut to so many places below the leading one of the largest
// exponent, the cut terms are added exactly, and the sum is cut to f32 or rounded to f16.
constexpr int kPlaces = 25, kFewPlaces = 13;

uint64_t fusedSum(const FloatFormat &aFormat, const FloatFormat &bFormat,
                  const FloatFormat &cFormat, const FloatFormat &dFormat, ArrayRef<uint64_t> a,
                  ArrayRef<uint64_t> b, uint64_t cBits, int places = kPlaces) {
  const Float c = decode(cFormat, cBits);
  Specials specials;
  specials.add(c);
  std::vector<mpq_class> terms;
  std::optional<int> largest;
  auto take = [&](const mpq_class &value, int exponent) {
    terms.push_back(value);
    largest = std::max(largest.value_or(exponent), exponent);
  };
  if (c.isFinite() && !c.isZero())
    take(c.value, storedExponent(cFormat, c));
  for (size_t k = 0; k < a.size(); ++k) {
    const Float x = factor(aFormat, a[k]), y = factor(bFormat, b[k]);
    specials.add(x, y);
    if (x.isFinite() && y.isFinite() && !x.isZero() && !y.isZero())
      take(product(x, y), storedExponent(aFormat, x) + storedExponent(bFormat, y));
  }
  if (auto special = specials.result(dFormat))
    return *special;
  mpz_class units;
  for (const mpq_class &term : terms)
    units += roundToInteger(scaled(term, places - *largest), Rounding::Zero);
  const mpq_class sum = scaled(mpq_class(units), largest.value_or(0) - places);
  if (dFormat.bits == 32) {
    if (units != 0 && exponentOf(sum) > dFormat.maxExponent)
      return dFormat.infinity() | (sgn(sum) < 0 ? dFormat.signBit() : 0);
    const uint64_t bits = encode(dFormat, sum, {Rounding::Zero}, false);
    return places == kFewPlaces ? bits & ~uint64_t(0x3ff) : bits;
  }
  const uint64_t rounded = encode(dFormat, sum, {}, false);
  return rounded == dFormat.signBit() ? 0 : rounded;
}

// To nearest, with the NaN of these units.
uint64_t add(const FloatFormat &format, uint64_t a, uint64_t b) {
  const Float x = decode(format, a), y = decode(format, b);
  Specials specials;
  specials.add(x);
  specials.add(y);
  if (auto special = specials.result(format))
    return *special;
  return encode(format, x.value + y.value, {}, x.negative && y.negative);
}

uint64_t multiplyAdd(const FloatFormat &format, const Float &a, const Float &b, uint64_t c,
                     Rounding rounding) {
  const Float addend = decode(format, c);
  Specials specials;
  specials.add(addend);
  specials.add(a, b);
  if (auto special = specials.result(format))
    return *special;
  const bool negativeProduct = a.negative != b.negative;
  // A zero of terms that differ in sign is +0, rounded down -0.
  const bool negativeZero = addend.negative == negativeProduct && addend.isZero()
                                ? negativeProduct
                                : rounding == Rounding::Down;
  return encode(format, a.value * b.value + addend.value, {rounding}, negativeZero);
}

uint64_t convert(const FloatFormat &from, const FloatFormat &to, uint64_t bits) {
  const Float number = decode(from, bits);
  Specials specials;
  specials.add(number);
  if (auto special = specials.result(to))
    return *special;
  return encode(to, number.value, {}, number.negative);
}

// m8n8k4 of f16. With D of f16 two products are added at a time; with D of f32 it is a chain of
// multiply-adds from zero. Then c is added.
uint64_t quads(const FloatFormat &cFormat, const FloatFormat &dFormat, ArrayRef<uint64_t> a,
               ArrayRef<uint64_t> b, uint64_t c) {
  auto plus = [&](uint64_t sum, size_t k) {
    return multiplyAdd(kF32, decode(kF16, a[k]), decode(kF16, b[k]), sum, Rounding::NearestEven);
  };
  const uint64_t summand = cFormat.bits == 16 ? convert(kF16, kF32, c) : c;
  if (dFormat.bits == 16) {
    const uint64_t pairs = add(kF32, plus(plus(0, 0), 1), plus(plus(0, 2), 3));
    const uint64_t rounded = convert(kF32, dFormat, add(kF32, pairs, summand));
    return rounded == dFormat.signBit() ? 0 : rounded;
  }
  uint64_t sum = 0;
  for (size_t k = 0; k < a.size(); ++k)
    sum = plus(sum, k);
  return add(kF32, sum, summand);
}

// fp8: two sums from zero, of the products with k % 4 in {0, 1} and those in {2, 3}; then c.
uint64_t narrow(const FloatFormat &aFormat, const FloatFormat &bFormat, const FloatFormat &format,
                ArrayRef<uint64_t> a, ArrayRef<uint64_t> b, uint64_t c) {
  uint64_t sum = 0;
  for (size_t half : {0, 2}) {
    SmallVector<uint64_t, 32> x, y;
    for (size_t k = 0; k < a.size(); ++k) {
      if ((k & 2) != half)
        continue;
      x.push_back(a[k]);
      y.push_back(b[k]);
    }
    sum = fusedSum(aFormat, bFormat, format, format, x, y, sum);
  }
  return add(format, sum, c);
}

uint64_t integers(const MatrixProduct &product, IntegerType aType, IntegerType bType,
                  ArrayRef<uint64_t> a, ArrayRef<uint64_t> b, uint64_t c) {
  constexpr IntegerType kResult{32, true};
  mpz_class sum = toInteger(c, kResult);
  for (size_t k = 0; k < a.size(); ++k)
    sum += toInteger(a[k], aType) * toInteger(b[k], bType);
  return uint32_t(product.satfinite ? saturate(sum, kResult) : wrap(sum, kResult));
}

uint64_t bits(const MatrixProduct &product, ArrayRef<uint64_t> a, ArrayRef<uint64_t> b,
              uint64_t c) {
  uint32_t count = uint32_t(c);
  for (size_t k = 0; k < a.size(); ++k)
    count += uint32_t((product.isAnd ? a[k] & b[k] : a[k] ^ b[k]) & 1);
  return count;
}

std::optional<IntegerType> factorType(StringRef type) {
  if (type != "s8" && type != "u8" && type != "s4" && type != "u4")
    return std::nullopt;
  return IntegerType{unsigned(type.back() - '0'), type.front() == 's'};
}

Rounding roundingNamed(StringRef name) {
  return name == "rz"   ? Rounding::Zero
         : name == "rm" ? Rounding::Down
         : name == "rp" ? Rounding::Up
                        : Rounding::NearestEven;
}

} // namespace

Expected<uint64_t> matrixElement(const MatrixProduct &product, ArrayRef<uint64_t> a,
                                 ArrayRef<uint64_t> b, uint64_t c) {
  if (a.size() != b.size())
    return createStringError("a row and a column of different lengths");
  if (product.a == "b1" && product.b == "b1")
    return bits(product, a, b, c);
  auto aInteger = factorType(product.a), bInteger = factorType(product.b);
  if (aInteger && bInteger)
    return integers(product, *aInteger, *bInteger, a, b, c);
  const FloatFormat *aFormat = formatOf(product.a), *bFormat = formatOf(product.b);
  const FloatFormat *cFormat = formatOf(product.c), *dFormat = formatOf(product.d);
  if (!aFormat || !bFormat || !cFormat || !dFormat)
    return createStringError("no product of " + product.a + " and " + product.b);
  if (product.a == "f64") {
    for (size_t k = 0; k < a.size(); ++k)
      c = multiplyAdd(kF64, decode(kF64, a[k]), decode(kF64, b[k]), c,
                      roundingNamed(product.rounding));
    return c;
  }
  if (product.unit == MatrixProduct::Unit::Quads)
    return quads(*cFormat, *dFormat, a, b, c);
  if (aFormat->bits == 8 && product.unit == MatrixProduct::Unit::Wgmma)
    return fusedSum(*aFormat, *bFormat, *cFormat, *dFormat, a, b, c, kFewPlaces);
  if (aFormat->bits == 8)
    return narrow(*aFormat, *bFormat, *dFormat, a, b, c);
  if (product.unit == MatrixProduct::Unit::Wmma && product.a == "tf32") {
    for (size_t first = 0; first < a.size(); first += 4)
      c = fusedSum(*aFormat, *bFormat, *cFormat, *dFormat, a.slice(first, 4), b.slice(first, 4), c);
    return c;
  }
  if (cFormat->bits == 32 && dFormat->bits == 16)
    return convert(kF32, kF16, fusedSum(*aFormat, *bFormat, kF32, kF32, a, b, c));
  return fusedSum(*aFormat, *bFormat, *cFormat, *dFormat, a, b, c);
}

} // namespace rubia::reference
