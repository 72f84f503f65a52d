// SPDX-License-Identifier: Apache-2.0
#include "Rewriter.h"
#include <algorithm>

namespace rubia::random_kernels {

void Rewriter::see(Register reg) {
  next[unsigned(reg.kind)] = std::max(next[unsigned(reg.kind)], reg.index + 1);
}

void Rewriter::countRegisters(const std::vector<Statement> &statements) {
  for (const Statement &statement : statements) {
    for (Register reg : statement.destinations)
      see(reg);
    for (const Operand &source : statement.sources)
      if (source.reg)
        see(*source.reg);
    countRegisters(statement.body);
    countRegisters(statement.orElse);
    for (const auto &body : statement.cases)
      countRegisters(body);
  }
}

Operand Rewriter::put(std::string word, Kind kind, std::vector<Operand> sources) {
  Statement statement;
  statement.word = std::move(word);
  statement.sources = std::move(sources);
  statement.destinations = {fresh(kind)};
  out.push_back(std::move(statement));
  return Operand::of(out.back().destinations[0]);
}

void Rewriter::xorInto(Register changed, Operand other) {
  Statement join;
  join.word = "xor.b" + std::to_string(bitsOf(changed.kind));
  join.sources = {Operand::of(changed), other};
  join.destinations = {changed};
  out.push_back(std::move(join));
}

Statement Rewriter::resultOf(Kernel &kernel, Register reg) {
  Statement result;
  result.what = Statement::What::Store;
  result.word = "b32";
  result.selectors = {""};
  result.address.space = Space::Output;
  result.address.offset = 8 * kernel.outputWords++;
  result.sources = {Operand::of(reg)};
  return result;
}

} // namespace rubia::random_kernels
