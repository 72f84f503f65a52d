// SPDX-License-Identifier: Apache-2.0
#include "tests/litmus/Table.h"
#include "targets/Target.h"
#include <algorithm>
#include <cstdlib>
#include <sstream>

namespace rubia::litmus {

namespace {
struct Line {
  const char *name, *text, *scopes, *ctaLayout, *layout, *interesting;
  Verdict verdict;
};
constexpr Verdict Forbidden = Verdict::Forbidden, Allowed = Verdict::Allowed, Weak = Verdict::Weak;
constexpr Line kLines[] = {
#define LITMUS(name, text, scopes, ctaLayout, layout, interesting, verdict)                        \
  {name, text, scopes, ctaLayout, layout, interesting, verdict},
#include "tests/litmus/Tests.def"
#undef LITMUS
};
} // namespace

bool Row::isInteresting(const Outcome &outcome) const {
  return outcome.size() >= interesting.size() &&
         std::equal(interesting.begin(), interesting.end(), outcome.begin());
}

std::vector<Row> allRows(std::string &error) {
  std::vector<Row> rows;
  for (const Line &line : kLines)
    for (const char *letter = line.scopes; *letter; ++letter) {
      const Scope scope = *letter == 'C' ? Scope::Cta : *letter == 'G' ? Scope::Gpu : Scope::Sys;
      const char *names[] = {".cta", ".gpu", ".sys"};
      std::optional<Test> test =
          parseTest(std::string(line.name) + names[unsigned(scope)], line.text, scope,
                    scope == Scope::Cta ? line.ctaLayout : line.layout, scope == Scope::Sys);
      if (!test) {
        error = line.name;
        return {};
      }
      Row row;
      row.test = std::move(*test);
      row.scope = scope;
      row.verdict = line.verdict;
      std::istringstream values(line.interesting);
      for (uint32_t value; values >> value;)
        row.interesting.push_back(value);
      rows.push_back(std::move(row));
    }
  return rows;
}

bool takesAll() { return std::getenv("RUBIA_TEST_LITMUS_ALL") != nullptr; }

bool isInSample(size_t i, unsigned n, const std::string &target) {
  const bool isSampled = targets::find(target)->tests == targets::Tests::Sampled;
  size_t number = 0; // among its like
  for (const targets::Target &row : targets::all()) {
    if (row.name == target)
      break;
    number += (row.tests == targets::Tests::Sampled) == isSampled;
  }
  return takesAll() || (i + number) % (isSampled ? 10 * n : n) == 0;
}

unsigned seedCount(unsigned fallback) {
  const char *text = std::getenv("RUBIA_TEST_LITMUS_SEEDS");
  return text ? unsigned(std::strtoul(text, nullptr, 10)) : fallback;
}

} // namespace rubia::litmus
