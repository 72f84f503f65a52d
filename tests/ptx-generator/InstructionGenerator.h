// Random instructions that the table calls legal: any choice of a row's modifiers, and operands of
// every kind that its operand places take (registers of other fitting types, wider ones, constants,
// special registers, addresses of names, vectors, sinks, negated predicates). Used against ptxas,
// for golden data and by fuzzers.
#pragma once

#include "Instance.h"
#include "Random.h"

namespace rubia::test {

// An instance of `form` in the oldest dialect that its row allows.
Instance generate(const ptx::Form &form, Random &random);

} // namespace rubia::test
