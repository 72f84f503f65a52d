// SPDX-License-Identifier: Apache-2.0
// Assembly in a kernel, for the tests of what checks machine code: one text for every target.
#pragma once

#include "tests/Targets.h"
#include "tests/codegen/ModuleFromText.h"

namespace rubia::codegen::test {

#define EXPECT_CONTAINS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)
#define EXPECT_CLEAN(text) EXPECT_EQ(errorOf(text), "")

class AssemblyTest : public testing::TestWithParam<const char *> {
protected:
  bool isWave64() const { return !rubia::test::rowOf(GetParam()).hasWave32; }

  /// Text in which EXEC, VCC, S2 and _B stand for the registers and the width of the target's wave.
  std::string inWaveSize(llvm::StringRef text) const {
    const std::string low = isWave64() ? "" : "_lo";
    std::string result;
    while (!text.empty()) {
      unsigned number = 0;
      llvm::StringRef rest = text;
      if (text.consume_front("EXEC")) {
        result += "exec" + low;
      } else if (text.consume_front("VCC")) {
        result += "vcc" + low;
      } else if (text.consume_front("_B")) {
        result += isWave64() ? "_b64" : "_b32";
      } else if (rest.consume_front("S") && !rest.consumeInteger(10, number)) {
        std::string first = std::to_string(number), second = std::to_string(number + 1);
        result += isWave64() ? "s[" + first + ":" + second + "]" : "s" + first;
        text = rest;
      } else {
        result += text.front() == '\n' ? "\\0A" : text.take_front().str();
        text = text.drop_front();
      }
    }
    return result;
  }

  /// Compiled without the checks.
  CodeObject codeOf(const std::string &text) {
    ModuleSource source;
    Options options = optionsFor(GetParam());
    options.checkMode = options.checkExec = options.checkWholeWaves = false;
    return source.mustCompile(text, options);
  }
  std::string assembly(llvm::StringRef text) const {
    return "  call void asm sideeffect \"" + inWaveSize(text) +
           "\", "
           "\"~{v0},~{v1},~{v2},~{v3},~{v40},~{v41},~{s0},~{s1},~{s2},~{s3},~{s4},~{s5},~{s6},~{s7}"
           ",~{"
           "s8},~{s9},~{vcc},~{scc},~{memory}\"()\n";
  }
  std::string kernelOf(llvm::StringRef text) const {
    return "define amdgpu_kernel void @k(i32 %n) {\n" + assembly(text) + "  ret void\n}\n";
  }
};

/// A check of machine code: what it says of a module, and of a kernel's assembly.
class CheckerTest : public AssemblyTest {
protected:
  using Check = llvm::Error (*)(llvm::ArrayRef<uint8_t> codeObject);
  explicit CheckerTest(Check check) : check(check) {}

  std::string errorOfModule(const std::string &text) {
    return llvm::toString(check(codeOf(text).bytes));
  }
  std::string errorOf(llvm::StringRef text) { return errorOfModule(kernelOf(text)); }

private:
  Check check;
};

} // namespace rubia::codegen::test
