// SPDX-License-Identifier: Apache-2.0
#include "InterpreterRun.h"
#include "ptx-frontend/Parser.h"
#include "reference/Interpreter.h"
#include <cstring>

using namespace llvm;

namespace rubia::random_kernels {

Expected<std::vector<uint8_t>> interpret(const Kernel &kernel) {
  std::string text = kModuleHead + textOf(kernel);
  ptx::ParseResult parsed = ptx::parse("random.ptx", text);
  if (!parsed.diagnostics.empty())
    return createStringError(ptx::format(parsed.diagnostics.front(), "random.ptx", text));
  auto interpreter = reference::Interpreter::create(parsed.module);
  if (!interpreter)
    return interpreter.takeError();
  // Words, so that the buffers are aligned as a device's.
  std::vector<uint64_t> input(kernel.input.size() / 8 + 1), output(kernel.resultBytes() / 8 + 1);
  memcpy(input.data(), kernel.input.data(), kernel.input.size());
  const std::vector<uint8_t> initial = initialResults(kernel);
  memcpy(output.data(), initial.data(), initial.size());
  auto *inputBytes = reinterpret_cast<uint8_t *>(input.data());
  auto *outputBytes = reinterpret_cast<uint8_t *>(output.data());
  (*interpreter)
      ->addMemory({reinterpret_cast<uint64_t>(inputBytes), {inputBytes, kernel.input.size()}});
  (*interpreter)
      ->addMemory({reinterpret_cast<uint64_t>(outputBytes), {outputBytes, kernel.resultBytes()}});
  struct {
    const uint8_t *input;
    uint8_t *output;
    uint8_t values[kParamBytes];
  } parameters = {inputBytes, outputBytes, {}};
  memcpy(parameters.values, kernel.param.data(), kParamBytes);
  reference::Launch launch;
  launch.kernel = nameOf(kernel);
  launch.grid = {kernel.grid, 1, 1};
  launch.block = {kernel.block, 1, 1};
  launch.parameters = ArrayRef(reinterpret_cast<const uint8_t *>(&parameters), sizeof(parameters));
  launch.instructionLimit = 10'000'000;
  if (auto statistics = (*interpreter)->launch(launch); !statistics)
    return statistics.takeError();
  return std::vector<uint8_t>(outputBytes, outputBytes + kernel.resultBytes());
}

} // namespace rubia::random_kernels
