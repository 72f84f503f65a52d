// SPDX-License-Identifier: Apache-2.0
// IR text -> module, for the tests of codegen.
#pragma once

#include "codegen/Codegen.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/SourceMgr.h"
#include <gtest/gtest.h>
#include <string>

namespace rubia::codegen::test {

/// The modules of a test live in its context.
class ModuleSource {
public:
  std::unique_ptr<llvm::Module> parse(llvm::StringRef text) {
    llvm::SMDiagnostic diagnostic;
    auto module = llvm::parseAssemblyString(text, diagnostic, context);
    if (!module)
      ADD_FAILURE() << "line " << diagnostic.getLineNo() << ": " << diagnostic.getMessage().str();
    return module;
  }

  llvm::Expected<CodeObject> compile(llvm::StringRef text, const Options &options = {}) {
    return codegen::compile(parse(text), options);
  }

  /// Fails the test if there is an error.
  CodeObject mustCompile(llvm::StringRef text, const Options &options = {}) {
    llvm::Expected<CodeObject> object = compile(text, options);
    if (object)
      return std::move(*object);
    ADD_FAILURE() << options.arch << ": " << llvm::toString(object.takeError());
    return {};
  }

private:
  llvm::LLVMContext context;
};

inline Options optionsFor(std::string arch) {
  Options options;
  options.arch = std::move(arch);
  return options;
}

/// What is emitted for gfx1030. The message of an error, which fails the test.
inline std::string emitted(llvm::StringRef text, EmitKind kind) {
  ModuleSource source;
  llvm::Expected<std::string> code = emit(source.parse(text), optionsFor("gfx1030"), kind);
  EXPECT_TRUE(bool(code));
  return code ? *code : llvm::toString(code.takeError());
}

} // namespace rubia::codegen::test
