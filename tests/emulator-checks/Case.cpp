#include "tests/emulator-checks/Case.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"

using namespace llvm;

namespace rubia::emulator::test {

/// The text behind `name=` up to a space.
static StringRef field(StringRef line, const char *name) {
  const auto [before, after] = line.split((" " + Twine(name) + "=").str());
  return after.take_until([](char c) { return c == ' ' || c == '\n'; });
}

static void setNumber(StringRef line, const char *name, unsigned &to) {
  if (const StringRef text = field(line, name); !text.empty())
    text.getAsInteger(10, to);
}

std::vector<Case> readCases(const std::string &source) {
  std::vector<Case> cases;
  std::vector<Mark> outside; // of functions before the kernel that calls them
  StringRef rest = source;
  for (unsigned number = 1; !rest.empty(); ++number) {
    StringRef line;
    std::tie(line, rest) = rest.split('\n');
    if (line.starts_with("// CASE ")) {
      Case one;
      one.fault = field(line, "fault").str();
      setNumber(line, "block", one.block);
      setNumber(line, "grid", one.grid);
      setNumber(line, "words", one.words);
      setNumber(line, "shared", one.sharedBytes);
      one.marks = std::move(outside);
      outside.clear();
      cases.push_back(std::move(one));
    } else if (line.starts_with("KERNEL ")) {
      cases.back().kernel = line.drop_front(7).split('(').first.str();
    } else if (const StringRef mark = line.split("// BUG").second; line.contains("// BUG")) {
      const Mark here = {number, field(mark, "thread").str()};
      // A function outside of kernels belongs to the next one.
      const bool inKernel = !cases.empty() && cases.back().marks.empty();
      std::vector<Mark> &marks = inKernel || (!cases.empty() && cases.back().fault == "DataRace")
                                     ? cases.back().marks
                                     : outside;
      marks.push_back(here);
      if (mark.contains("twice"))
        marks.push_back(here);
    }
  }
  return cases;
}

} // namespace rubia::emulator::test
