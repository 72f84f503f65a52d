// SPDX-License-Identifier: Apache-2.0
// The targets that a test runs on, from targets/Targets.def: by default those on which all tests
// run, with RUBIA_TEST_TARGETS=all every one, which is what tests with the label `long` ask for.
#pragma once

#include "targets/Target.h"
#include <cstdlib>
#include <string>
#include <vector>

namespace rubia::test {

inline bool wantsAllTargets() {
  const char *wanted = std::getenv("RUBIA_TEST_TARGETS");
  return wanted && std::string(wanted) == "all";
}

/// Names of rows for which `wanted` is true.
template <class Predicate> std::vector<const char *> targetsWhere(Predicate wanted) {
  std::vector<const char *> names;
  for (const targets::Target &target : targets::all())
    if (wanted(target))
      names.push_back(target.name.data());
  return names;
}

inline std::vector<const char *> testTargets() {
  return targetsWhere([](const targets::Target &target) {
    return wantsAllTargets() || target.tests != targets::Tests::Sampled;
  });
}
inline std::vector<const char *> sampledTargets() {
  return targetsWhere([](const targets::Target &t) { return t.tests == targets::Tests::Sampled; });
}
inline std::vector<const char *> allTargets() {
  return targetsWhere([](const targets::Target &) { return true; });
}

/// Of the table: a test that names anything else is wrong.
inline const targets::Target &rowOf(llvm::StringRef name) { return *targets::find(name); }

/// A name as GoogleTest wants it.
inline std::string identifier(llvm::StringRef name) {
  std::string text = name.str();
  for (char &c : text)
    if (!std::isalnum(static_cast<unsigned char>(c)))
      c = '_';
  return text;
}

} // namespace rubia::test
