// SPDX-License-Identifier: Apache-2.0
#include "tests/emulator-checks/Case.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"

using namespace llvm;

namespace rubia::emulator::test {

static Error refuse(unsigned line, StringRef word) {
  return createStringError("line " + Twine(line) + ": unknown word '" + word + "'");
}

static bool isThread(StringRef text) {
  SmallVector<StringRef, 3> numbers;
  if (!text.consume_front("(") || !text.consume_back(")"))
    return false;
  text.split(numbers, ',');
  unsigned number;
  return numbers.size() == 3 &&
         none_of(numbers, [&](StringRef one) { return one.getAsInteger(10, number); });
}

static Expected<Case> readCase(StringRef words, unsigned line) {
  Case result;
  for (StringRef word : split(words.trim(), ' ')) {
    const auto [name, value] = word.split('=');
    unsigned *number = name == "block"     ? &result.block
                       : name == "grid"    ? &result.grid
                       : name == "words"   ? &result.words
                       : name == "shared"  ? &result.sharedBytes
                       : name == "heap"    ? &result.heap
                       : name == "written" ? &result.written.emplace()
                                           : nullptr;
    uint64_t address;
    if (name == "fault" && !value.empty())
      result.fault = value.str();
    else if (name == "address" && !value.getAsInteger(0, address))
      result.address = address;
    else if (!number || value.getAsInteger(10, *number))
      return refuse(line, word);
  }
  if (result.fault.empty())
    return createStringError("line " + Twine(line) + ": no fault");
  return result;
}

/// One mark, or two that are alike.
static Expected<std::vector<Mark>> readMarks(StringRef words, unsigned line) {
  Mark mark = {line, ""};
  bool waits = false, twice = false;
  for (StringRef word : split(words.trim(), ' ')) {
    StringRef thread = word;
    if (word == "waits")
      waits = true;
    else if (word == "twice")
      twice = true;
    else if (thread.consume_front("thread=") && isThread(thread))
      mark.thread = thread.str();
    else
      return refuse(line, word);
  }
  if (waits != mark.thread.empty())
    return createStringError("line " + Twine(line) + ": either a thread or 'waits'");
  return std::vector<Mark>(twice ? 2 : 1, mark);
}

bool hasTwoPlaces(const Case &test) {
  return test.fault == "DataRace" || test.fault == "WarpHazard";
}

Expected<std::vector<Case>> readCases(const std::string &source) {
  std::vector<Case> cases;
  std::vector<Mark> outside; // of functions before the kernel that calls them
  StringRef rest = source;
  for (unsigned number = 1; !rest.empty(); ++number) {
    StringRef line;
    std::tie(line, rest) = rest.split('\n');
    if (StringRef words = line; words.consume_front("// CASE ")) {
      Expected<Case> one = readCase(words, number);
      if (!one)
        return one.takeError();
      one->marks = std::move(outside);
      outside.clear();
      cases.push_back(std::move(*one));
    } else if (line.starts_with("KERNEL ")) {
      if (cases.empty() || !cases.back().kernel.empty())
        return createStringError("line " + Twine(number) + ": a kernel without a case");
      cases.back().kernel = line.drop_front(7).split('(').first.str();
    } else if (line.contains("// BUG")) {
      Expected<std::vector<Mark>> here = readMarks(line.split("// BUG").second, number);
      if (!here)
        return here.takeError();
      // A function outside of kernels belongs to the next one.
      const bool inKernel = !cases.empty() && cases.back().marks.empty();
      std::vector<Mark> &marks =
          inKernel || (!cases.empty() && hasTwoPlaces(cases.back())) ? cases.back().marks : outside;
      marks.insert(marks.end(), here->begin(), here->end());
    }
  }
  for (const Case &one : cases)
    if (one.kernel.empty() || one.marks.empty())
      return createStringError("a case without a kernel or a mark: '" + one.kernel + "'");
  return cases;
}

} // namespace rubia::emulator::test
