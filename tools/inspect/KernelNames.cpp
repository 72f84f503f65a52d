// SPDX-License-Identifier: Apache-2.0
#include "tools/inspect/KernelNames.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Demangle/Demangle.h"
#include <functional>
#include <set>

using namespace llvm;

namespace rubia::tools {

std::string demangled(StringRef name) { return llvm::demangle(std::string_view(name)); }

// "void ns::scale<float>(float*, float)" -> "ns::scale<float>": the result stands in front of
// templates' names. Parentheses and blanks within < > belong to the name.
static StringRef withoutParameters(StringRef text) {
  int depth = 0;
  size_t begin = 0, end = text.size();
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '<' || c == '(') {
      if (c == '(' && depth == 0 && !text.substr(i).starts_with("(anonymous namespace)")) {
        end = i;
        break;
      }
      ++depth;
    } else if ((c == '>' || c == ')') && depth > 0) {
      --depth;
    } else if (c == ' ' && depth == 0) {
      begin = i + 1;
    }
  }
  return text.slice(begin, end);
}

Expected<std::string> findKernel(StringRef wanted, ArrayRef<std::string> names) {
  if (llvm::is_contained(names, wanted))
    return wanted.str();
  if (wanted.empty())
    return std::string();
  using Test = std::function<bool(StringRef name, StringRef meaning)>;
  // The first that any name passes decides.
  const Test tests[] = {
      [&](StringRef, StringRef meaning) { return meaning == wanted; },
      [&](StringRef, StringRef meaning) { return withoutParameters(meaning) == wanted; },
      [&](StringRef, StringRef meaning) {
        return withoutParameters(meaning).split('<').first == wanted;
      },
      [&](StringRef name, StringRef meaning) {
        return name.starts_with(wanted) || meaning.starts_with(wanted) ||
               withoutParameters(meaning).starts_with(wanted);
      }};
  for (const Test &test : tests) {
    std::set<std::string> found;
    for (const std::string &name : names)
      if (test(name, demangled(name)))
        found.insert(name);
    if (found.size() == 1)
      return *found.begin();
    if (!found.empty())
      return createStringError("'" + wanted + "' may be any of:" +
                               listOfKernels(std::vector(found.begin(), found.end())));
  }
  return std::string();
}

std::string listOfKernels(ArrayRef<std::string> names) {
  std::string text;
  for (const std::string &name : names) {
    const std::string meaning = demangled(name);
    text += "\n  " + name + (meaning == name ? "" : "  " + meaning);
  }
  return text;
}

} // namespace rubia::tools
