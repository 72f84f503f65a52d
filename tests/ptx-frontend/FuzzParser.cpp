// Any bytes: no crash, no undefined behaviour, and what parses without errors prints to text that
// parses to the same text.

#include "ptx-frontend/Parser.h"
#include "ptx-frontend/Printer.h"
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  using namespace rubia::ptx;
  ParseResult result = parse("fuzz.ptx", std::string(reinterpret_cast<const char *>(data), size));
  for (const Diagnostic &diagnostic : result.diagnostics)
    (void)format(diagnostic, "fuzz.ptx", *result.module.text);
  if (!result.usable)
    return 0;
  std::string printed = print(result.module);
  ParseResult again = parse("printed.ptx", printed);
  if (!result.hasErrors() && (again.hasErrors() || print(again.module) != printed))
    abort();
  return 0;
}
