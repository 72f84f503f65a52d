// SPDX-License-Identifier: Apache-2.0
#include "Cost.h"
#include "codegen/Codegen.h"
#include "ptx-frontend/Parser.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace rubia::golden {

Expected<unsigned> instructionCount(const Case &test, const std::string &arch, settings::Word nan) {
  ptx::ParseResult parsed = ptx::parse("cost.ptx", moduleFor(test));
  if (parsed.hasErrors())
    return createStringError(test.mnemonic + ": " + parsed.diagnostics.front().message);
  lowering::Options options;
  options.arch = arch;
  options.code.set(nan);
  LLVMContext context;
  auto module =
      lowering::lower(parsed.module, lowering::partition(parsed.module).front(), options, context);
  if (!module)
    return module.takeError();
  codegen::Options codegenOptions;
  codegenOptions.arch = arch;
  auto text = codegen::emit(std::move(*module), codegenOptions, codegen::EmitKind::Assembly);
  if (!text)
    return text.takeError();
  // Between the kernel's label and its end, a line that starts with a letter after a tab. What
  // follows s_endpgm is padding.
  unsigned count = 0;
  StringRef kernel = StringRef(*text).split("\ncase0:").second;
  for (StringRef line : split(kernel, '\n')) {
    if (!line.consume_front("\t") || line.empty() || !isAlpha(line[0]))
      continue;
    ++count;
    if (line.starts_with("s_endpgm"))
      break;
  }
  return count;
}

} // namespace rubia::golden
