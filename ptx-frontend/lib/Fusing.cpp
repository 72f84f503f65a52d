// SPDX-License-Identifier: Apache-2.0
#include "ptx-frontend/Fusing.h"
#include "ptx-frontend/Parser.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/Twine.h"
#include <vector>

using namespace llvm;

namespace rubia::ptx {

namespace Op {
extern const Operation FAdd, FMul, FSub;
} // namespace Op
namespace Mod {
extern const Modifier None;
} // namespace Mod

bool mayFuse(StringRef options) {
  SmallVector<StringRef> words;
  options.split(words, ' ', -1, /*KeepEmpty=*/false);
  bool fuses = true, isOptimised = true;
  for (size_t i = 0; i < words.size(); ++i) {
    StringRef word = words[i].ltrim('-');
    if (word.size() == words[i].size())
      continue;
    auto value = [&] {
      return word.consume_front("=") ? word : i + 1 < words.size() ? words[i + 1] : "";
    };
    if (word.consume_front("fmad"))
      fuses = value() != "false";
    else if (word == "O0" || word == "g" || word == "device-debug")
      isOptimised = false;
    else if ((word == "O" || word.consume_front("opt-level")) && value() == "0")
      isOptimised = false;
  }
  return fuses && isOptimised;
}

// PTX ISA: floating-point-instructions-add, -mul: without a rounding modifier they may be fused.
std::string withoutFusing(std::string text) {
  const ParseResult parsed = parse("", std::move(text));
  const StringRef whole = *parsed.module.text;
  if (!parsed.usable)
    return whole.str();
  std::vector<size_t> places; // behind the opcodes
  for (const Function *function : parsed.module.functions)
    for (const Instruction &instruction : function->body)
      if (is_contained({Op::FAdd, Op::FSub, Op::FMul}, instruction.op()) &&
          instruction.spelling->first(ModCategory::Rounding) == Mod::None)
        places.push_back(instruction.place + instruction.spelling->text.find('.'));
  llvm::sort(places);
  std::string result;
  size_t from = 0;
  for (size_t place : places) {
    result += (whole.slice(from, place) + ".rn").str();
    from = place;
  }
  return result + whole.drop_front(from).str();
}

} // namespace rubia::ptx
