// Writes docs/coverage.md: what becomes of every row of the instruction table. "Lowered": a random
// legal instance of it goes through lowering without an error.
//   ptx_coverage            to standard output
//   ptx_coverage --check FILE   status 1 if FILE is out of date

#include "lowering/Lowering.h"
#include "ptx-frontend/Parser.h"
#include "tests/ptx-generator/InstructionGenerator.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

using namespace rubia;
using namespace rubia::test;

namespace {

bool isLowered(const ptx::Form &form) {
  Random random(1);
  for (unsigned attempt = 0; attempt < 4; ++attempt) {
    Instance instance = generate(form, random);
    ptx::ParseResult result = ptx::parse("row", moduleWith(instance.dialect, instance.text()));
    if (result.hasErrors())
      continue;
    bool right = true;
    for (const lowering::Unit &unit : lowering::partition(result.module)) {
      llvm::LLVMContext context;
      llvm::Expected<std::unique_ptr<llvm::Module>> module =
          lowering::lower(result.module, unit, {}, context);
      if (!module) {
        llvm::consumeError(module.takeError());
        right = false;
      }
    }
    if (right)
      return true;
  }
  return false;
}

std::string coverage() {
  std::string rows;
  unsigned count = 0, lowered = 0;
  for (const ptx::Form &form : ptx::instructionForms()) {
    bool is = isLowered(form);
    ++count;
    lowered += is;
    std::string syntax;
    for (char c : form.syntax)
      syntax += c == '|' ? std::string("\\|") : std::string(1, c);
    rows += "| `" + syntax + "` | " + (is ? "yes" : "no") + " |\n";
  }
  return "# Coverage\n\nWritten by `ptx_coverage` from the instruction table. Every form is parsed "
         "and verified. "
         "\"Lowered\" means that a\nrandom legal instance of it becomes LLVM IR without an error. "
         "None is compared with "
         "recorded results of NVIDIA\nhardware yet.\n\n" +
         std::to_string(count) + " forms, " + std::to_string(lowered) +
         " lowered.\n\n| form | lowered |\n| --- | --- |\n" + rows;
}

} // namespace

int main(int argc, char **argv) {
  std::string text = coverage();
  if (argc < 3) {
    llvm::outs() << text;
    return 0;
  }
  auto file = llvm::MemoryBuffer::getFile(argv[2]);
  if (file && (*file)->getBuffer() == text)
    return 0;
  llvm::errs() << argv[2] << " is out of date: write it with ptx_coverage > " << argv[2] << '\n';
  return 1;
}
