// SPDX-License-Identifier: Apache-2.0
// Random instructions that the table calls legal: any choice of a row's modifiers, and operands of
// every kind that its operand places take (registers of other fitting types, wider ones, constants,
// special registers, addresses of names, vectors, sinks, negated predicates). Used against ptxas,
// for golden data and by fuzzers.
#pragma once

#include "Instance.h"
#include "Random.h"
#include <optional>

namespace rubia::test {

/// An instance of `form` in the oldest dialect that its row allows.
Instance generate(const ptx::Form &form, Random &random);
/// The same with these modifiers (".ftz"); none if they are no spelling of the row.
std::optional<Instance> generate(const ptx::Form &form, std::vector<std::string> modifiers,
                                 Random &random);

} // namespace rubia::test
