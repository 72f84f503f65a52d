// SPDX-License-Identifier: Apache-2.0
// Texts through the linker: alone, twice, and with themselves as a library. No crash, no undefined
// behaviour; and what is linked of texts without errors has none.

#include "ptx-frontend/Linker.h"
#include "ptx-frontend/Parser.h"
#include "llvm/ADT/STLExtras.h"
#include <cstdio>
#include <cstdlib>

using namespace rubia::ptx;

static bool isRight(const ParseResult &parsed) {
  return parsed.usable && llvm::none_of(parsed.diagnostics, [](const Diagnostic &d) {
           return d.severity == Severity::Error && !d.unsupported;
         });
}

static void check(const std::vector<LinkInput> &inputs, bool areRight) {
  llvm::Expected<std::string> linked = link(inputs);
  if (!linked) {
    llvm::consumeError(linked.takeError());
    return;
  }
  const ParseResult parsed = parse("linked", *linked);
  (void)unresolved(parsed.module);
  if (areRight ? isRight(parsed) : parsed.usable)
    return;
  for (const Diagnostic &d : parsed.diagnostics)
    fputs((format(d, "linked", *linked) + "\n").c_str(), stderr);
  fprintf(stderr, "linked from %zu units:\n%s", inputs.size(), linked->c_str());
  abort();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const std::string text(reinterpret_cast<const char *>(data), size);
  const ParseResult parsed = parse("unit", text);
  if (!parsed.usable)
    return 0;
  const bool isTextRight = isRight(parsed);
  const LinkInput unit{"unit", text}, library{"library", text, /*isLibrary=*/true};
  check({unit}, isTextRight);
  check({unit, unit}, isTextRight);
  check({unit, library}, isTextRight);
  return 0;
}
