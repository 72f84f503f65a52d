// SPDX-License-Identifier: Apache-2.0
#include "codegen/lib/check/Violations.h"
#include "codegen/Codegen.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;

namespace rubia::codegen {

static constexpr size_t kMaxReported = 20;

void Violations::add(const FunctionCode &function, ArrayRef<Violation> found) {
  for (const Violation &violation : found) {
    if (count++ >= kMaxReported)
      continue;
    if (firstFunction.empty())
      firstFunction = function.name;
    text += (text.empty() ? "" : "\n") + (subject + " of '" + function.name + "' at 0x").str() +
            utohexstr(violation.address, /*LowerCase=*/true) + ": " + violation.text;
  }
}

Error Violations::take() const {
  if (count == 0)
    return Error::success();
  std::string message = text;
  if (count > kMaxReported)
    message += "\nand " + std::to_string(count - kMaxReported) + " more";
  return make_error<CodegenError>(Fault::Malformed, message, firstFunction);
}

Error checkDecoded(ArrayRef<uint8_t> codeObject,
                   function_ref<Error(const DecodedProgram &program)> check) {
  Expected<DecodedProgram> program = decodeProgram(codeObject);
  if (!program)
    return program.takeError();
  return check(*program);
}

} // namespace rubia::codegen
