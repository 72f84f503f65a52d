// SPDX-License-Identifier: Apache-2.0
// Compiles PTX to a code object, checks the IR on the way, and executes it on the emulator.
#pragma once

#include "lowering/Lowering.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <functional>
#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace rubia::settings::FlushMode {
extern const Word Native;
} // namespace rubia::settings::FlushMode
namespace rubia::settings::NanMode {
extern const Word Any;
} // namespace rubia::settings::NanMode

namespace rubia::lowering::test {

/// The bit size and the meaning of an operand.
enum class Kind : uint8_t { Pred, I8, I16, I32, I64, F16, BF16, F32, F64, F16x2, BF16x2, F32x2 };
unsigned bitsOf(Kind kind);

/// One instruction on d, a, b, c (and e for a fourth source), and what it must give. Operands and
/// results are bit patterns; a predicate is 0 or 1. Without a reference, what is given to check()
/// with the case decides alone.
struct Case {
  std::string instruction; // "add.rz.f32 d, a, b"
  Kind result;
  std::vector<Kind> sources;
  std::function<uint64_t(uint64_t a, uint64_t b, uint64_t c, uint64_t e)> reference;
};

/// How a result may differ from the reference's; both are bit patterns.
using Accept = std::function<bool(uint64_t got, uint64_t expected, uint64_t a, uint64_t b)>;

struct Compilation {
  std::string arch = "gfx1100";
  unsigned optLevel = 3;
  settings::Word nan = settings::NanMode::Any;
  settings::Word flush = settings::FlushMode::Native;
};

/// PTX text of a kernel `k(in0, in1, in2, in3, out, count)` that executes `body` on registers a, b,
/// c, e of the given kinds and stores d. `body` may have several instructions and declarations.
std::string kernelText(llvm::StringRef body, Kind result, llvm::ArrayRef<Kind> sources);

/// Fails the test if there are diagnostics.
std::string lowerToIr(llvm::StringRef ptx, const Compilation &setup = {});
std::vector<uint8_t> compileToCode(llvm::StringRef ptx, const Compilation &setup = {});
std::string emitAssembly(llvm::StringRef ptx, const Compilation &setup = {});
/// The text of the error that lowering must give.
std::string loweringError(llvm::StringRef ptx, const Compilation &setup = {});

/// Executes kernel `k` on tuples of operands, four to a tuple, one thread each.
struct Operands {
  uint64_t values[4] = {};
};
std::vector<uint64_t> execute(llvm::ArrayRef<uint8_t> code, Kind result,
                              llvm::ArrayRef<Kind> sources, llvm::ArrayRef<Operands> tuples);

/// All combinations of edge values of the kinds, thinned for three and more operands, and random
/// ones.
std::vector<Operands> operandsFor(llvm::ArrayRef<Kind> sources);

/// Compiles, checks that the IR has none of the forms that LLVM leaves undefined, executes,
/// compares with the reference: the latest when the test ends, several cases at once; the reference
/// is called before check() returns, `accept` may be called later. NaNs of the result's kind are
/// all equal unless setup.nan is Canonical.
void check(const Case &test, const Compilation &setup = {});
void check(const Case &test, llvm::ArrayRef<Operands> tuples, const Compilation &setup = {},
           const Accept *accept = nullptr);

/// Fails for nsw, nuw, exact, inbounds, fast-math flags, bare fptosi and fptoui.
void expectDefinedEverywhere(llvm::StringRef ir);

bool isNan(Kind kind, uint64_t bits);

} // namespace rubia::lowering::test
