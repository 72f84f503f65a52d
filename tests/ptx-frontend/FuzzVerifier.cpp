// SPDX-License-Identifier: Apache-2.0
// Modules made of right, wrong and nearly right instructions through the verifier: no crash, no
// undefined behaviour, and what it remembers about a spelling and its operands (lib/Shape.h) never
// changes what it finds.

#include "Dump.h"
#include "ptx-frontend/lib/Parser.h"
#include "tests/ptx-generator/InstructionGenerator.h"
#include "tests/ptx-generator/InstructionMutator.h"
#include <cstdio>
#include <cstdlib>
#include <cstring>

using namespace rubia;
using namespace rubia::ptx;

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t maxSize);

// ---------- The property

static void verifyAfresh(const Module &module, const Function &fn) {
  for (const Instruction &instruction : fn.body) {
    const auto *spelling = static_cast<const MatchedSpelling *>(instruction.spelling);
    spelling->rightShapes = {};
    spelling->legal = false;
    Function alone = fn;
    alone.body = instruction;
    std::vector<Diagnostic> diagnostics;
    DiagnosticLog log(diagnostics);
    verify(module, alone, log);
    if (alone.valid && diagnostics.empty())
      continue;
    fprintf(stderr, "in '%s', '%s' at %u was remembered as right: %s\n", fn.name.str().c_str(),
            spelling->text.str().c_str(), instruction.place,
            diagnostics.empty() ? "" : diagnostics[0].message.c_str());
    abort();
  }
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  ParseResult result = parse("fuzz.ptx", std::string(reinterpret_cast<const char *>(data), size));
  if (result.usable)
    for (const Function *fn : result.module.functions)
      if (fn->hasBody && fn->valid)
        verifyAfresh(result.module, *fn);
  return 0;
}

// ---------- The mutator

namespace {

std::string randomModule(test::Random &random) {
  size_t count = 1 + random.below(6);
  std::vector<std::string> texts;
  test::Dialect dialect;
  for (size_t i = 0; i < count; ++i) {
    llvm::ArrayRef<Form> forms = instructionForms();
    test::Instance instance = generate(forms[random.below(forms.size())], random);
    dialect = std::max(dialect, instance.dialect);
    for (size_t wrong = random.below(3); wrong > 0; --wrong)
      instance = mutate(instance, test::Mutation(random.below(test::kMutations)), random);
    texts.push_back(instance.text());
  }
  return test::moduleWith(test::withKnownTarget(dialect), texts);
}

// One token for another one of the text, or twice, or not at all.
std::string withOtherToken(llvm::StringRef text, test::Random &random) {
  std::string copy = text.str();
  Lexer lexer{llvm::StringRef(copy)};
  std::vector<Token> tokens;
  for (Token token = lexer.next(); token.kind != Token::Kind::End && tokens.size() < 10000;
       token = lexer.next())
    tokens.push_back(token);
  if (tokens.empty())
    return copy;
  Token at = random.pick(tokens), other = random.pick(tokens);
  std::string spelled = copy.substr(other.offset, other.length);
  switch (random.below(4)) {
  case 0:
    return copy.erase(at.offset, at.length);
  case 1:
    return copy.insert(at.offset, spelled + " ");
  default:
    return copy.replace(at.offset, at.length, spelled);
  }
}

} // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t maxSize,
                                          unsigned seed) {
  test::Random random(seed);
  std::string text;
  switch (random.below(8)) {
  case 0:
    return LLVMFuzzerMutate(data, size, maxSize);
  case 1:
  case 2:
    text = randomModule(random);
    break;
  default:
    text = withOtherToken({reinterpret_cast<const char *>(data), size}, random);
    break;
  }
  size = std::min(text.size(), maxSize);
  memcpy(data, text.data(), size);
  return size;
}
