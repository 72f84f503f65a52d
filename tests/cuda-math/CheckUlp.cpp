// SPDX-License-Identifier: Apache-2.0
// CheckUlp FILE: compares what CudaMath or CudaBf16 wrote with MPFR's values. Prints the largest
// error of each function and fails where one is beyond its bound. Functions that MPFR lacks are
// named and left to the comparison with recorded results.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <map>
#include <mpfr.h>
#include <string>

namespace {

class Number {
public:
  Number() { mpfr_init2(value, 256); }
  ~Number() { mpfr_clear(value); }
  Number(const Number &) = delete;
  mpfr_t value;
};

using Operand = const Number &;
using Function = std::function<void(mpfr_t, Operand, Operand, Operand)>;

void reciprocal(mpfr_t out) { mpfr_ui_div(out, 1, out, MPFR_RNDN); }

// As IEEE 754's: an infinity outweighs a NaN.
void norm(mpfr_t out, Operand x, Operand y, Operand z) {
  if (mpfr_inf_p(x.value) || mpfr_inf_p(y.value) || mpfr_inf_p(z.value)) {
    mpfr_set_inf(out, 1);
    return;
  }
  Number square;
  mpfr_sqr(out, x.value, MPFR_RNDN);
  mpfr_sqr(square.value, y.value, MPFR_RNDN);
  mpfr_add(out, out, square.value, MPFR_RNDN);
  mpfr_sqr(square.value, z.value, MPFR_RNDN);
  mpfr_add(out, out, square.value, MPFR_RNDN);
  mpfr_sqrt(out, out, MPFR_RNDN);
}

// By the name without its prefix d_, f_, h_ or b_.
const std::map<std::string, Function> &functions() {
  static const std::map<std::string, Function> all = [] {
    std::map<std::string, Function> f;
#define UNARY(NAME, MPFR)                                                                          \
  f[NAME] = [](mpfr_t out, Operand x, Operand, Operand) { MPFR(out, x.value, MPFR_RNDN); }
#define BINARY(NAME, MPFR)                                                                         \
  f[NAME] = [](mpfr_t out, Operand x, Operand y, Operand) {                                        \
    MPFR(out, x.value, y.value, MPFR_RNDN);                                                        \
  }
    UNARY("sin", mpfr_sin), UNARY("cos", mpfr_cos), UNARY("tan", mpfr_tan);
    UNARY("sinpi", mpfr_sinpi), UNARY("cospi", mpfr_cospi);
    UNARY("asin", mpfr_asin), UNARY("acos", mpfr_acos), UNARY("atan", mpfr_atan);
    UNARY("sinh", mpfr_sinh), UNARY("cosh", mpfr_cosh), UNARY("tanh", mpfr_tanh);
    UNARY("asinh", mpfr_asinh), UNARY("acosh", mpfr_acosh), UNARY("atanh", mpfr_atanh);
    UNARY("exp", mpfr_exp), UNARY("exp2", mpfr_exp2), UNARY("exp10", mpfr_exp10);
    UNARY("expm1", mpfr_expm1), UNARY("log", mpfr_log), UNARY("log2", mpfr_log2);
    UNARY("log10", mpfr_log10), UNARY("log1p", mpfr_log1p), UNARY("cbrt", mpfr_cbrt);
    UNARY("erf", mpfr_erf), UNARY("erfc", mpfr_erfc), UNARY("tgamma", mpfr_gamma);
    UNARY("sqrt", mpfr_sqrt), UNARY("tanh_approx", mpfr_tanh);
    f["rsqrt"] = [](mpfr_t out, Operand x, Operand, Operand) {
      mpfr_rec_sqrt(out, x.value, MPFR_RNDN);
      if (mpfr_zero_p(x.value)) // IEEE 754's rSqrt keeps the sign, MPFR does not
        mpfr_setsign(out, out, mpfr_signbit(x.value), MPFR_RNDN);
    };
    BINARY("pow", mpfr_pow), BINARY("atan2", mpfr_atan2), BINARY("hypot", mpfr_hypot);
    f["cabs"] = f["hypot"];
    f["rcp"] = [](mpfr_t out, Operand x, Operand, Operand) {
      mpfr_ui_div(out, 1, x.value, MPFR_RNDN);
    };
    f["rcbrt"] = [](mpfr_t out, Operand x, Operand, Operand) {
      mpfr_cbrt(out, x.value, MPFR_RNDN);
      reciprocal(out);
    };
    f["rhypot"] = [](mpfr_t out, Operand x, Operand y, Operand) {
      mpfr_hypot(out, x.value, y.value, MPFR_RNDN);
      reciprocal(out);
    };
    f["norm3d"] = norm;
    f["rnorm3d"] = [](mpfr_t out, Operand x, Operand y, Operand z) {
      norm(out, x, y, z);
      reciprocal(out);
    };
    return f;
  }();
  return all;
}

struct Format {
  int precision;
  int minExponent; // of the last place of the least number
  int maxExponent; // of the largest number, as frexp gives it
};

double fromBits(char kind, uint64_t bits) {
  if (kind == 'd') {
    double value;
    memcpy(&value, &bits, 8);
    return value;
  }
  if (kind == 'f' || kind == 'b') {
    const uint32_t word = kind == 'b' ? uint32_t(bits) << 16 : uint32_t(bits);
    float value;
    memcpy(&value, &word, 4);
    return value;
  }
  const int exponent = bits >> 10 & 31, fraction = bits & 1023;
  double value = exponent == 31 ? (fraction ? NAN : INFINITY)
                 : exponent     ? ldexp(1024 + fraction, exponent - 25)
                                : ldexp(fraction, -24);
  return bits & 0x8000 ? -value : value;
}

// The error of `got` in units of the last place of the exact value.
double errorOf(const Format &format, double got, mpfr_srcptr exact) {
  if (mpfr_nan_p(exact))
    return std::isnan(got) ? 0 : INFINITY;
  if (std::isnan(got))
    return INFINITY;
  Number difference;
  const bool overflows =
      !mpfr_inf_p(exact) && !mpfr_zero_p(exact) && mpfr_get_exp(exact) > format.maxExponent;
  if (mpfr_inf_p(exact) || overflows || std::isinf(got)) {
    if (std::isinf(got) && (mpfr_inf_p(exact) || overflows))
      return mpfr_signbit(exact) == std::signbit(got) ? 0 : INFINITY;
    if (mpfr_inf_p(exact))
      return INFINITY;
  }
  // An infinity is the number behind the largest one.
  if (std::isinf(got))
    mpfr_set_ui_2exp(difference.value, 1, format.maxExponent, MPFR_RNDN);
  else
    mpfr_set_d(difference.value, std::fabs(got), MPFR_RNDN);
  if (std::signbit(got))
    mpfr_neg(difference.value, difference.value, MPFR_RNDN);
  mpfr_sub(difference.value, difference.value, exact, MPFR_RNDN);
  const long exponent = mpfr_zero_p(exact) ? format.minExponent
                                           : std::max<long>(mpfr_get_exp(exact) - format.precision,
                                                            format.minExponent);
  mpfr_mul_2si(difference.value, difference.value, -exponent, MPFR_RNDN);
  return std::fabs(mpfr_get_d(difference.value, MPFR_RNDN));
}

} // namespace

int main(int, char **arguments) {
  FILE *file = fopen(arguments[1], "rb");
  if (!file) {
    perror(arguments[1]);
    return 1;
  }
  char name[64], kind;
  int bound, failures = 0, compared = 0;
  unsigned count;
  std::string without;
  while (fscanf(file, "%63s %c %d %u", name, &kind, &bound, &count) == 4) {
    fgetc(file); // the end of the line
    const auto found = functions().find(name + 2);
    if (found == functions().end())
      without += std::string(" ") + name;
    const Format format = kind == 'd'   ? Format{53, -1074, 1024}
                          : kind == 'f' ? Format{24, -149, 128}
                          : kind == 'b' ? Format{8, -133, 128}
                                        : Format{11, -24, 16};
    double worst = 0;
    uint64_t at[4] = {};
    for (unsigned i = 0; i < count; ++i) {
      uint64_t words[4];
      if (fread(words, 8, 4, file) != 4) {
        fprintf(stderr, "%s ends in %s\n", arguments[1], name);
        return 1;
      }
      if (found == functions().end())
        continue;
      Number operands[3], exact;
      for (int k = 0; k < 3; ++k)
        mpfr_set_d(operands[k].value, fromBits(kind, words[k]), MPFR_RNDN);
      found->second(exact.value, operands[0], operands[1], operands[2]);
      const double error = errorOf(format, fromBits(kind, words[3]), exact.value);
      if (!(error <= worst)) {
        worst = error;
        memcpy(at, words, sizeof(at));
      }
    }
    if (found == functions().end())
      continue;
    ++compared;
    // The bound counts from the correctly rounded result.
    const bool isWrong = !(worst <= bound + 0.5);
    failures += isWrong;
    printf("%-12s %2d ulp documented, %.3f found at %llx %llx %llx: %llx%s\n", name, bound, worst,
           (unsigned long long)at[0], (unsigned long long)at[1], (unsigned long long)at[2],
           (unsigned long long)at[3], isWrong ? " WRONG" : "");
  }
  printf("%d functions compared, %d beyond their bounds; not in MPFR:%s\n", compared, failures,
         without.c_str());
  return failures || !compared;
}
