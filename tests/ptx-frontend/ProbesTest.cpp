// SPDX-License-Identifier: Apache-2.0
// Corner cases of syntax against what ptxas 13.0 said of them, for machines without it.
#include "tests/ptx-generator/Probes.h"
#include "ptx-frontend/Parser.h"
#include "ptx-frontend/Printer.h"
#include "llvm/Support/MemoryBuffer.h"
#include <gtest/gtest.h>
#include <map>
#include <set>

using llvm::StringRef;
using namespace rubia::ptx;
using namespace rubia::test;

namespace {

std::string contentsOf(StringRef name) {
  auto buffer = llvm::MemoryBuffer::getFile((RUBIA_PTX_DATA "/" + name).str());
  return buffer ? (*buffer)->getBuffer().str() : "";
}

// `name reason` a line: what ptxas takes and we refuse.
std::set<std::string> refusedProbes() {
  std::set<std::string> names;
  std::string text = contentsOf("probes-refused.txt");
  for (StringRef rest = text; !rest.empty();) {
    StringRef line;
    std::tie(line, rest) = rest.split('\n');
    if (!line.empty() && line[0] != '#')
      names.insert(line.split(' ').first.str());
  }
  return names;
}

} // namespace

// Written by ptxas_differential --probes probes.txt.
TEST(PtxProbes, TakeWhatPtxasTakes) {
  std::vector<Probe> probes = readProbes(contentsOf("probes.txt"));
  ASSERT_GT(probes.size(), 800u);
  std::set<std::string> expected = refusedProbes(), found;
  for (const Probe &probe : probes)
    for (auto [index, dialect] : llvm::enumerate(probe.dialects())) {
      ASSERT_NE(probe.verdicts[index], '?') << probe.name;
      if (probe.verdicts[index] != '+')
        continue;
      ParseResult result = parse("t", probe.module(dialect));
      if (!result.hasErrors() || !found.insert(probe.name).second || expected.contains(probe.name))
        continue;
      ADD_FAILURE() << probe.name << ' ' << dialect.name() << ": "
                    << result.diagnostics.front().message;
    }
  EXPECT_EQ(found, expected);
}

// Names are unique, so that the list of those that we refuse is exact.
TEST(PtxProbes, HaveNamesOfTheirOwn) {
  std::set<std::string> names;
  for (const Probe &probe : readProbes(contentsOf("probes.txt")))
    EXPECT_TRUE(names.insert(probe.name).second) << probe.name;
}

// What we take is printed as something that we take, and that prints the same.
TEST(PtxProbes, PrintAsWhatIsTaken) {
  for (const Probe &probe : readProbes(contentsOf("probes.txt")))
    for (auto [index, dialect] : llvm::enumerate(probe.dialects())) {
      ParseResult first = parse("t", probe.module(dialect));
      if (probe.verdicts[index] != '+' || first.hasErrors())
        continue;
      std::string printed = print(first.module);
      ParseResult second = parse("t", printed);
      ASSERT_FALSE(second.hasErrors())
          << probe.name << ": " << second.diagnostics.front().message << "\n"
          << printed;
      EXPECT_EQ(print(second.module), printed) << probe.name;
    }
}
