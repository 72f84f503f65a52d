// SPDX-License-Identifier: Apache-2.0
#include "InterpreterRun.h"
#include "ptx-frontend/Parser.h"
#include "reference/Interpreter.h"
#include <cstring>

using namespace llvm;

namespace rubia::random_kernels {

Expected<std::vector<uint8_t>> interpret(const Program &program) {
  const std::string &text = program.text;
  ptx::ParseResult parsed = ptx::parse("random.ptx", text);
  if (!parsed.diagnostics.empty())
    return createStringError(ptx::format(parsed.diagnostics.front(), "random.ptx", text));
  auto interpreter = reference::Interpreter::create(parsed.module);
  if (!interpreter)
    return interpreter.takeError();
  // Words, so that the buffers are aligned as a device's.
  std::vector<uint64_t> input(program.input.size() / 8 + 1), output(program.results.size() / 8 + 1);
  memcpy(input.data(), program.input.data(), program.input.size());
  memcpy(output.data(), program.results.data(), program.results.size());
  auto *inputBytes = reinterpret_cast<uint8_t *>(input.data());
  auto *outputBytes = reinterpret_cast<uint8_t *>(output.data());
  (*interpreter)
      ->addMemory({reinterpret_cast<uint64_t>(inputBytes), {inputBytes, program.input.size()}});
  (*interpreter)
      ->addMemory({reinterpret_cast<uint64_t>(outputBytes), {outputBytes, program.results.size()}});
  struct {
    const uint8_t *input;
    uint8_t *output;
    uint8_t values[kParamBytes];
  } parameters = {inputBytes, outputBytes, {}};
  memcpy(parameters.values, program.param.data(), kParamBytes);
  reference::Launch launch;
  launch.kernel = program.name;
  launch.grid = {program.grid, 1, 1};
  launch.block = {program.block, 1, 1};
  launch.parameters = ArrayRef(reinterpret_cast<const uint8_t *>(&parameters), sizeof(parameters));
  launch.instructionLimit = 10'000'000;
  if (auto statistics = (*interpreter)->launch(launch); !statistics)
    return statistics.takeError();
  return std::vector<uint8_t>(outputBytes, outputBytes + program.results.size());
}

} // namespace rubia::random_kernels
