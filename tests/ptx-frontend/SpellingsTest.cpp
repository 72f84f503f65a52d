// SPDX-License-Identifier: Apache-2.0
// The instruction words of real PTX, and one example of every instruction of the manual, against
// the table. Words without a form stand in data/unmapped-spellings.txt with what ptxas says of
// them; that list is kept exactly.

#include "ptx-frontend/lib/Spellings.h"
#include "Dump.h"
#include "tests/ptx-generator/Instance.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/MemoryBuffer.h"
#include <gtest/gtest.h>
#include <set>

using llvm::StringRef;
using namespace rubia::ptx;

namespace {

// Lines of a data file without its comments.
std::vector<std::string> linesOf(StringRef name) {
  auto buffer = llvm::MemoryBuffer::getFile(RUBIA_PTX_DATA "/" + name.str());
  if (!buffer) {
    ADD_FAILURE() << "cannot read " << name.str();
    return {};
  }
  std::vector<std::string> lines;
  for (StringRef rest = (*buffer)->getBuffer(), line; !rest.empty();) {
    std::tie(line, rest) = rest.split('\n');
    if (!line.empty() && line[0] != '#')
      lines.push_back(line.str());
  }
  return lines;
}

TEST(PtxSpellings, OfRealFilesHaveAForm) {
  std::set<std::string> unmapped;
  size_t count = 0;
  for (const std::string &spelling : linesOf("spellings.txt")) {
    llvm::BumpPtrAllocator arena;
    if (!matchSpelling(spelling, arena))
      unmapped.insert(spelling);
    ++count;
  }
  EXPECT_GT(count, 3000u);
  std::set<std::string> known;
  for (StringRef line : linesOf("unmapped-spellings.txt"))
    known.insert(line.split('\t').first.str());
  for (const std::string &spelling : unmapped)
    EXPECT_TRUE(known.count(spelling)) << spelling << " has no form";
  for (const std::string &spelling : known)
    EXPECT_TRUE(unmapped.count(spelling)) << spelling << " has a form: remove it from the list";
}

// `8.0 sm_90a,texmode_independent add.s32 %r0,%r1,%r2;`
TEST(PtxSpellings, ExamplesOfAllInstructionsAreLegal) {
  unsigned wrong = 0;
  std::vector<std::string> examples = linesOf("examples.txt");
  EXPECT_GT(examples.size(), 700u);
  for (StringRef example : examples) {
    auto [version, rest] = example.split(' ');
    auto [target, text] = rest.split(' ');
    std::string module = (".version " + version + "\n.target " + target + "\n").str();
    if (text.contains("gm"))
      module += ".global .align 16 .b8 gm[64];\n";
    if (text.contains("sm") && !text.contains("smem"))
      module += ".shared .align 16 .b8 sm[64];\n";
    if (text.contains("df"))
      module +=
          ".func df() { ret; }\n.func (.reg .b32 r) dfr(.reg .b32 a) { mov.b32 r, a; ret; }\n";
    if (text.contains("[tx,"))
      module += ".global .texref tx;\n";
    module += ".entry k(" + std::string(text.contains("[kp") ? ".param .u32 kp" : "") +
              ") {\n.reg .b16 %h<32>; .reg .b32 %r<128>; .reg .b64 %d<64>; .reg .pred %p<8>;\n";
    if (text.contains("%q"))
      module += ".reg .b128 %q<4>;\n";
    ParseResult result = parse("example.ptx", module + text.str() + "\n}\n");
    std::string found = messages(result);
    wrong += !found.empty();
    EXPECT_EQ(found, "") << example.str();
  }
  EXPECT_EQ(wrong, 0u) << "of " << examples.size();
}

// What ptxas 13.0 said of a fixed sample, for machines without it, and exactly the differences that
// are known. Both are written by ptxas_differential --legal 1 --illegal 2 --seed 5
// --verdicts ptxas-verdicts.txt --exceptions ptxas-exceptions.txt.
void expectVerdicts(StringRef verdicts, StringRef exceptions) {
  std::set<std::string> expected, found;
  for (StringRef line : linesOf(exceptions))
    expected.insert(line.str());
  unsigned count = 0;
  for (StringRef line : linesOf(verdicts)) {
    StringRef judged = line;
    std::optional<rubia::test::Dialect> dialect = rubia::test::takeDialect(judged);
    ASSERT_TRUE(dialect) << line.str();
    bool accepted = judged.consume_front("+ ");
    judged.consume_front("- ");
    bool ours = !parse("t", moduleWith(*dialect, judged.str())).hasErrors();
    ++count;
    if (ours != accepted)
      found.insert(line.str());
  }
  EXPECT_GT(count, 2000u);
  EXPECT_EQ(found, expected);
}

TEST(PtxVerdicts, AgreeWithThoseOfPtxas) {
  expectVerdicts("ptxas-verdicts.txt", "ptxas-exceptions.txt");
}

// Each row in its first version and the one before, written by ptxas_differential --versions
// --verdicts ptxas-versions.txt --exceptions ptxas-versions-exceptions.txt.
TEST(PtxVerdicts, AgreeOnFirstVersions) {
  expectVerdicts("ptxas-versions.txt", "ptxas-versions-exceptions.txt");
}

} // namespace
