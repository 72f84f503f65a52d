// SPDX-License-Identifier: Apache-2.0
#include "Lowered.h"
#include "lowering/Judgement.h"
#include "lowering/lib/transform/ForbiddenForms.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"
#include <map>

using namespace llvm;

namespace rubia::lowering::test {

std::string withHeader(const std::string &rest) {
  return ".version 8.8\n.target sm_90\n.address_size 64\n" + rest;
}

std::string kernel(const std::string &body, const std::string &before,
                   const std::string &attributes) {
  return withHeader(before + "\n.visible .entry k(.param .u64 p, .param .u32 n) " + attributes +
                    " {\n"
                    ".reg .pred %p<10>;\n.reg .b16 %rs<10>;\n.reg .b32 %r<10>;\n"
                    ".reg .b64 %rd<10>;\n.reg .f32 %f<10>;\n.reg .f64 %fd<10>;\n" +
                    body + "\n}\n");
}

ptx::Module parsed(const std::string &text) {
  ptx::ParseResult result = ptx::parse("test.ptx", text);
  for (const ptx::Diagnostic &diagnostic : result.diagnostics)
    ADD_FAILURE() << ptx::format(diagnostic, "test.ptx", text);
  EXPECT_TRUE(result.usable);
  return std::move(result.module);
}

std::string Lowered::text() const {
  std::string text;
  if (module)
    raw_string_ostream(text) << *module;
  return text;
}

std::string Lowered::metadata() const {
  NamedMDNode *node = module ? module->getNamedMetadata("rubia.metadata") : nullptr;
  return node ? cast<MDString>(node->getOperand(0)->getOperand(0))->getString().str() : "";
}

// All that tests of the process judge for a target, with the same choices of the user.
static Experience &experienceFor(const Options &options) {
  static std::map<std::string, Experience> experiences;
  std::string key = options.arch;
  for (const auto &[name, word] : options.code.keyFields())
    key += (" " + word).str();
  return experiences[key];
}

static std::vector<std::string> textsOf(ArrayRef<ptx::Diagnostic> diagnostics) {
  std::vector<std::string> texts;
  for (const ptx::Diagnostic &d : diagnostics)
    texts.push_back(ptx::format(d, "test.ptx", ""));
  return texts;
}

// Judging gives what lowering gave: alone, and after all that was judged before.
static void expectSameJudgement(const ptx::Module &module, const Unit &unit, const Options &options,
                                const Lowered &lowered) {
  Experience none;
  for (Experience *experience : {&none, &none, &experienceFor(options)}) {
    std::vector<ptx::Diagnostic> diagnostics;
    Expected<Judgement> judgement = judge(module, unit, options, *experience);
    if (!judgement) {
      handleAllErrors(judgement.takeError(),
                      [&](const LoweringError &error) { diagnostics = error.diagnostics; });
      EXPECT_EQ(textsOf(diagnostics), textsOf(lowered.diagnostics));
      continue;
    }
    ASSERT_TRUE(lowered.module) << "judging reports nothing";
    const json::Value all = cantFail(json::parse(lowered.metadata()));
    const json::Object &metadata = *all.getAsObject();
    EXPECT_EQ(json::Value(judgement->matrixRoutes),
              json::Value(json::Array(*metadata.getArray("matrixRoutes"))));
    EXPECT_EQ(json::Value(judgement->refused),
              json::Value(json::Array(*metadata.getArray("refused"))));
    const json::Array &kernels = *metadata.getArray("kernels");
    ASSERT_EQ(judgement->maxThreads.size(), kernels.size());
    for (const auto &[most, kernel] : zip_equal(judgement->maxThreads, kernels)) {
      EXPECT_EQ(int64_t(most), kernel.getAsObject()->getInteger("maxThreads"));
      EXPECT_EQ(judgement->warpFormReason, kernel.getAsObject()->getString("warpFormReason"));
    }
  }
}

static Lowered loweredUnit(const ptx::Module &module, const Options &options, const Unit &unit) {
  Lowered result;
  Expected<std::unique_ptr<Module>> made = lower(module, unit, options, *result.context);
  if (!made) {
    handleAllErrors(
        made.takeError(),
        [&](const LoweringError &error) { result.diagnostics = error.diagnostics; },
        [&](const ErrorInfoBase &error) { ADD_FAILURE() << error.message(); });
    return result;
  }
  result.module = std::move(*made);
  return result;
}

Lowered lowered(const ptx::Module &module, const Options &options, size_t unit) {
  std::vector<Unit> units = partition(module);
  if (unit >= units.size()) {
    ADD_FAILURE() << "there is no unit " << unit;
    return {};
  }
  Lowered result = loweredUnit(module, options, units[unit]);
  expectSameJudgement(module, units[unit], options, result);
  if (!result.module)
    return result;
  for (const std::string &form : forbiddenForms(*result.module))
    ADD_FAILURE() << form;
  LLVMContext again;
  SMDiagnostic problem;
  EXPECT_TRUE(parseAssemblyString(result.text(), problem, again)) << problem.getMessage().str();
  return result;
}

Lowered lowered(const std::string &text, const Options &options, size_t unit) {
  ptx::Module module = parsed(text);
  return lowered(module, options, unit);
}

std::string irOf(const std::string &body, const Options &options, const std::string &before,
                 const std::string &attributes) {
  Lowered result = lowered(kernel(body, before, attributes), options);
  for (const ptx::Diagnostic &diagnostic : result.diagnostics)
    ADD_FAILURE() << diagnostic.line << ": " << diagnostic.message;
  return result.text();
}

// Where `part`, with `*` for anything within a line, begins and ends; npos if it does not occur.
static std::pair<size_t, size_t> find(const std::string &text, const std::string &part,
                                      size_t from) {
  size_t star = part.find('*');
  std::string head = part.substr(0, star);
  for (size_t at = text.find(head, from); at != std::string::npos; at = text.find(head, at + 1)) {
    if (star == std::string::npos)
      return {at, at + head.size()};
    size_t line = std::min(text.find('\n', at), text.size());
    auto [begin, end] = find(text.substr(0, line), part.substr(star + 1), at + head.size());
    if (begin != std::string::npos)
      return {at, end};
  }
  return {std::string::npos, std::string::npos};
}

testing::AssertionResult hasInOrder(const std::string &text,
                                    std::initializer_list<std::string> parts) {
  size_t at = 0;
  for (const std::string &part : parts) {
    auto [begin, end] = find(text, part, at);
    if (begin == std::string::npos)
      return testing::AssertionFailure() << "'" << part << "' does not follow in:\n"
                                         << text.substr(at);
    at = end;
  }
  return testing::AssertionSuccess();
}

} // namespace rubia::lowering::test
