// SPDX-License-Identifier: Apache-2.0
#include "reference/lib/interpreter/Movement.h"
#include <cmath>

namespace rubia::reference::interpreter {

double shareOf(const Movement &movement, uint64_t bits) {
  uint64_t hash = (bits ^ movement.seed) * 0x9e3779b97f4a7c15;
  hash = (hash ^ hash >> 32) * 0xd6e8feb86659fd93;
  const double each = std::ldexp(double(int64_t(hash ^ hash >> 32)), -63); // from -1 to 1
  return movement.scale * each + movement.bias;
}

uint64_t moved(const FloatFormat &format, uint64_t bits, double by) {
  const Float number = decode(format, bits);
  if (by == 0 || std::isnan(by) || number.isNan())
    return bits;
  if (std::isinf(by)) // which rounding gives
    return encode(format, powerOfTwo(format.maxExponent + 1) * (by < 0 ? -1 : 1), {}, by < 0);
  if (!number.isFinite())
    return bits;
  return encode(format, number.value + mpq_class(by), {}, number.negative);
}

} // namespace rubia::reference::interpreter
