// SPDX-License-Identifier: Apache-2.0
// Results that move within their bounds (Launch::movement).
#pragma once

#include "reference/Interpreter.h"
#include "reference/lib/FloatFormat.h"

namespace rubia::reference::interpreter {

/// By what share of its bound a result with these bits moves, from -1 to 1.
double shareOf(const Movement &movement, uint64_t bits);
/// A number, moved by `by`. Where that is infinite sums may overflow to either side on the way.
uint64_t moved(const FloatFormat &format, uint64_t bits, double by);

} // namespace rubia::reference::interpreter
