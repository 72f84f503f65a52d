// SPDX-License-Identifier: Apache-2.0
// Lowers PTX text for tests, and looks at the IR that comes out.
#pragma once

#include "lowering/Lowering.h"
#include "ptx-frontend/Parser.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "gtest/gtest.h"
#include <initializer_list>
#include <memory>
#include <string>

namespace rubia::settings::WarpFormChoice {
extern const Word HalfFilled;
} // namespace rubia::settings::WarpFormChoice

namespace rubia::lowering::test {

/// A parsed module; every diagnostic of the parser fails the test.
ptx::Module parsed(const std::string &text);

/// The text of a module: version, target, and then `rest`.
std::string withHeader(const std::string &rest);

/// A kernel `k` with some registers of every kind (%p, %rs, %r, %rd, %f, %fd: 0 to 9), parameters
/// `p` (.u64) and `n` (.u32), and a body. `before` stands in front of it.
std::string kernel(const std::string &body, const std::string &before = "",
                   const std::string &attributes = "");

/// One unit after lowering.
struct Lowered {
  std::unique_ptr<llvm::LLVMContext> context = std::make_unique<llvm::LLVMContext>();
  std::unique_ptr<llvm::Module> module; // null if there were errors
  std::vector<ptx::Diagnostic> diagnostics;
  std::string text() const;     // of the whole LLVM module
  std::string metadata() const; // of `!rubia.metadata`
};

/// Lowers the unit with this number. The IR is verified, has none of the forbidden forms, and is
/// printed and parsed again.
Lowered lowered(const std::string &text, const Options &options = {}, size_t unit = 0);
Lowered lowered(const ptx::Module &module, const Options &options = {}, size_t unit = 0);

/// The IR of kernel(body), which must lower.
std::string irOf(const std::string &body, const Options &options = {},
                 const std::string &before = "", const std::string &attributes = "");

/// Whether the parts occur in this order; each may have `*` for anything within a line.
testing::AssertionResult hasInOrder(const std::string &text,
                                    std::initializer_list<std::string> parts);

inline Options forArch(const std::string &arch) {
  Options options;
  options.arch = arch;
  return options;
}
inline Options halfFilled(const std::string &arch) {
  Options options = forArch(arch);
  options.code.set(settings::WarpFormChoice::HalfFilled);
  return options;
}

} // namespace rubia::lowering::test
