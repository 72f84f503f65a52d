// SPDX-License-Identifier: Apache-2.0
// Any bytes through lexer, parser and printer: no crash, no undefined behaviour, and what parses
// without errors prints to text that parses to the same module.

#include "Dump.h"
#include "ptx-frontend/Printer.h"
#include <cstdio>
#include <cstdlib>

using namespace rubia::ptx;

static void require(bool holds, const char *what, const std::string &a, const std::string &b) {
  if (holds)
    return;
  fprintf(stderr, "%s\n---------- first\n%s\n---------- second\n%s\n", what, a.c_str(), b.c_str());
  abort();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  ParseResult result = parse("fuzz.ptx", std::string(reinterpret_cast<const char *>(data), size));
  for (const Diagnostic &diagnostic : result.diagnostics)
    (void)format(diagnostic, "fuzz.ptx", *result.module.text);
  if (!result.usable)
    return 0;
  std::string printed = print(result.module);
  ParseResult again = parse("printed.ptx", printed);
  if (result.hasErrors()) // what is left is printed
    return 0;
  require(!again.hasErrors(), "the printed module has errors", messages(again), printed);
  std::string before = dump(result.module), after = dump(again.module);
  require(before == after, "the printed module is another one", before, after);
  return 0;
}
