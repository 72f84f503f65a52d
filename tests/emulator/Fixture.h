// SPDX-License-Identifier: Apache-2.0
// Kernels for the emulator's tests: from OpenCL C through the clang that LLVM installs, or from
// assembly text.
#pragma once

#include "emulator/Emulator.h"
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <vector>

namespace rubia::emulator::test {

/// Compiles OpenCL C (or assembly) to a code object for `target`. Fails the test and returns
/// nothing if that does not work. It is linked, unless the options have `-c`, as for assembly.
std::vector<uint8_t> compile(const std::string &source, const std::string &target = "gfx1100",
                             const std::string &options = "-O3");
std::vector<uint8_t> assemble(const std::string &source, const std::string &target = "gfx1100",
                              const std::string &options = "-c");

/// Kernel arguments in C order with C alignment.
class Arguments {
public:
  template <class T> Arguments &add(T value) {
    bytes.resize((bytes.size() + alignof(T) - 1) / alignof(T) * alignof(T));
    const uint8_t *raw = reinterpret_cast<const uint8_t *>(&value);
    bytes.insert(bytes.end(), raw, raw + sizeof(T));
    return *this;
  }
  std::vector<uint8_t> bytes;
};

class EmulatorTest : public ::testing::Test {
protected:
  void load(const std::vector<uint8_t> &object) {
    auto loaded = CodeObject::load(object, memory);
    ASSERT_TRUE(bool(loaded)) << toString(loaded.takeError());
    code = std::move(*loaded);
  }
  template <class T> T *allocate(size_t count, MemoryKind kind = MemoryKind::Device) {
    auto pointer = memory.allocate(count * sizeof(T), kind);
    EXPECT_TRUE(bool(pointer));
    T *data = pointer ? static_cast<T *>(*pointer) : nullptr;
    if (!pointer)
      llvm::consumeError(pointer.takeError());
    return data;
  }
  llvm::Expected<Statistics> launch(const std::string &kernel, Dim3 grid, Dim3 block,
                                    const Arguments &arguments, uint32_t dynamicLds = 0) {
    Launch request;
    request.kernel = code ? code->kernel(kernel) : nullptr;
    request.grid = grid;
    request.block = block;
    request.kernarg = arguments.bytes;
    request.dynamicLdsBytes = dynamicLds;
    request.instructionLimit = 200'000'000;
    return rubia::emulator::run(request, memory);
  }
  void expectRun(const std::string &kernel, Dim3 grid, Dim3 block, const Arguments &arguments,
                 uint32_t dynamicLds = 0) {
    auto result = launch(kernel, grid, block, arguments, dynamicLds);
    if (!result)
      FAIL() << llvm::toString(result.takeError());
    statistics = *result;
  }
  /// The fault of a launch that must fail with one.
  Fault expectFault(const std::string &kernel, Dim3 grid, Dim3 block, const Arguments &arguments) {
    Fault fault;
    auto result = launch(kernel, grid, block, arguments);
    if (result) {
      ADD_FAILURE() << "the launch of " << kernel << " succeeded";
      return fault;
    }
    llvm::handleAllErrors(
        result.takeError(), [&](const Fault &found) { fault = found; },
        [](const llvm::ErrorInfoBase &other) { ADD_FAILURE() << other.message(); });
    return fault;
  }

  Memory memory;
  std::unique_ptr<CodeObject> code;
  Statistics statistics;
};

} // namespace rubia::emulator::test
