// SPDX-License-Identifier: Apache-2.0
// Cases on the emulator: lowered, compiled and launched in this process.
#include "Runner.h"
#include "codegen/Codegen.h"
#include "emulator/Emulator.h"
#include "lowering/Abi.h"
#include "ptx-frontend/Parser.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include <cstring>

using namespace llvm;

namespace rubia::settings::NanMode {
extern const Word Any;
} // namespace rubia::settings::NanMode

namespace rubia::golden {

namespace {

class EmulatorRunner : public Runner {
public:
  EmulatorRunner(const std::string &arch, settings::Word nan) {
    description =
        arch + ", emulated, --nan=" + (nan == settings::NanMode::Any ? "any" : "canonical");
    options.arch = arch;
    options.code.set(nan);
  }
  std::vector<Result> run(ArrayRef<Case> cases,
                          ArrayRef<const std::vector<uint64_t> *> inputs) override;
  Error sweep(const std::string &mnemonic, uint32_t stride, Take take) override;

private:
  Expected<codegen::CodeObject> compile(const ptx::Module &module, const lowering::Unit &unit);
  void runTogether(const ptx::Module &module, const lowering::Unit &unit, ArrayRef<size_t> members,
                   ArrayRef<Case> cases, ArrayRef<const std::vector<uint64_t> *> inputs,
                   std::vector<Result> &results);
  lowering::Options options;
};

} // namespace

Expected<codegen::CodeObject> EmulatorRunner::compile(const ptx::Module &module,
                                                      const lowering::Unit &unit) {
  LLVMContext context;
  auto lowered = lowering::lower(module, unit, options, context);
  if (!lowered)
    return lowered.takeError();
  codegen::Options codegenOptions;
  codegenOptions.arch = options.arch;
  return codegen::compile(std::move(*lowered), codegenOptions);
}

static Error launch(const emulator::CodeObject &object, emulator::Memory &memory, StringRef name,
                    unsigned blocks, ArrayRef<uint64_t> parameters, unsigned hostThreads) {
  std::vector<uint64_t> arguments(parameters);
  abi::LaunchArguments last = {};
  last.ntid[0] = kThreads;
  last.nctaid[0] = blocks;
  for (unsigned i : {1, 2})
    last.ntid[i] = last.nctaid[i] = 1;
  arguments.resize(parameters.size() + sizeof(last) / 8);
  memcpy(&arguments[parameters.size()], &last, sizeof(last));

  emulator::Launch launch;
  launch.kernel = object.kernel(name);
  if (!launch.kernel)
    return createStringError("the code object lacks " + name);
  launch.grid = {blocks, 1, 1};
  launch.block = {kThreads, 1, 1}; // waves of 64 lanes are packed: there are no barriers
  launch.kernarg =
      ArrayRef(reinterpret_cast<const uint8_t *>(arguments.data()), arguments.size() * 8);
  launch.hostThreads = hostThreads;
  return emulator::run(launch, memory).takeError();
}

static Expected<std::vector<uint64_t>> runCase(const emulator::CodeObject &object,
                                               emulator::Memory &memory, StringRef kernel,
                                               const Case &test,
                                               const std::vector<uint64_t> &inputs) {
  size_t words = kTupleCount * test.destinations.size();
  auto in = memory.allocate(inputs.size() * 8 + 8, emulator::MemoryKind::Device);
  if (!in)
    return in.takeError();
  auto out = memory.allocate(words * 8, emulator::MemoryKind::Device);
  if (!out)
    return out.takeError();
  memcpy(*in, inputs.data(), inputs.size() * 8);
  memset(*out, 0xa5, words * 8);
  if (Error error = launch(object, memory, kernel, kTupleCount / kThreads,
                           {reinterpret_cast<uint64_t>(*in), reinterpret_cast<uint64_t>(*out)}, 1))
    return std::move(error);
  const auto *results = static_cast<const uint64_t *>(*out);
  std::vector<uint64_t> outputs(results, results + words);
  for (void *buffer : {*in, *out})
    if (Error error = memory.free(buffer))
      return std::move(error);
  return outputs;
}

// One code object; `members` are the indices of its cases. If it does not compile, each case gets
// its own.
void EmulatorRunner::runTogether(const ptx::Module &module, const lowering::Unit &unit,
                                 ArrayRef<size_t> members, ArrayRef<Case> cases,
                                 ArrayRef<const std::vector<uint64_t> *> inputs,
                                 std::vector<Result> &results) {
  auto failAll = [&](Error error) {
    std::string message = toString(std::move(error));
    for (size_t index : members)
      results[index].error = message;
  };
  auto code = compile(module, unit);
  if (!code) {
    if (cases.size() == 1)
      return failAll(code.takeError());
    consumeError(code.takeError());
    for (size_t i : members)
      results[i] = std::move(run(cases.slice(i, 1), inputs.slice(i, 1)).front());
    return;
  }
  emulator::Memory memory;
  auto object = emulator::CodeObject::load(code->bytes, memory);
  if (!object)
    return failAll(object.takeError());
  for (size_t i : members) {
    auto outputs = runCase(**object, memory, "case" + std::to_string(i), cases[i], *inputs[i]);
    if (outputs)
      results[i] = {std::move(*outputs), ""};
    else
      results[i].error = toString(outputs.takeError());
  }
}

std::vector<Runner::Result> EmulatorRunner::run(ArrayRef<Case> cases,
                                                ArrayRef<const std::vector<uint64_t> *> inputs) {
  std::vector<Result> results(cases.size());
  for (Result &result : results)
    result.error = "not in the module as it was parsed";
  ptx::ParseResult parsed = ptx::parse("golden.ptx", moduleFor(cases));
  // Those that lower share a unit, and so a code object: that saves most of the linking. But each
  // runs in the denormal mode that it has in a unit of its own.
  struct Group {
    lowering::Unit unit;
    std::vector<size_t> members;
  };
  Group keeping, flushing;
  for (const lowering::Unit &unit : lowering::partition(parsed.module)) {
    size_t index = 0;
    StringRef(unit.kernels[0]->name).drop_front(strlen("case")).getAsInteger(10, index);
    LLVMContext context;
    if (auto lowered = lowering::lower(parsed.module, unit, options, context)) {
      Function *kernel = (*lowered)->getFunction(unit.kernels[0]->name);
      bool flushes = kernel->getFnAttribute("denormal-fp-math-f32")
                         .getValueAsString()
                         .starts_with("preserve-sign");
      Group &group = flushes ? flushing : keeping;
      group.unit.kernels.push_back(unit.kernels[0]);
      group.members.push_back(index);
    } else
      results[index].error = toString(lowered.takeError());
  }
  if (keeping.members.size() + flushing.members.size() < cases.size())
    for (const ptx::Diagnostic &diagnostic : parsed.diagnostics) {
      size_t index = 0;
      if (!diagnostic.function.empty() &&
          !StringRef(diagnostic.function).drop_front(strlen("case")).getAsInteger(10, index))
        results[index].error = diagnostic.message;
    }
  for (const Group *group : {&keeping, &flushing})
    if (!group->members.empty())
      runTogether(parsed.module, group->unit, group->members, cases, inputs, results);
  return results;
}

Error EmulatorRunner::sweep(const std::string &mnemonic, uint32_t stride, Take take) {
  ptx::ParseResult parsed = ptx::parse("sweep.ptx", sweepModule(mnemonic));
  if (parsed.hasErrors())
    return createStringError(mnemonic + ": " + parsed.diagnostics.front().message);
  auto code = compile(parsed.module, lowering::partition(parsed.module).front());
  if (!code)
    return code.takeError();
  emulator::Memory memory;
  auto object = emulator::CodeObject::load(code->bytes, memory);
  if (!object)
    return object.takeError();
  auto out = memory.allocate(kSweepPiece * 4, emulator::MemoryKind::Device);
  if (!out)
    return out.takeError();
  for (uint64_t first = 0; first * stride >> 32 == 0; first += kSweepPiece) {
    unsigned count = sweptOperands(first, stride);
    uint64_t bits = uint32_t(first * stride) | uint64_t(stride) << 32;
    if (Error error = launch(**object, memory, "sweep", (count + kThreads - 1) / kThreads,
                             {reinterpret_cast<uint64_t>(*out), bits}, 0))
      return error;
    take(first, ArrayRef(static_cast<const uint32_t *>(*out), count));
  }
  return Error::success();
}

Expected<std::unique_ptr<Runner>> Runner::onEmulator(const std::string &arch, settings::Word nan) {
  if (Error error = codegen::validateArch(arch))
    return std::move(error);
  return std::make_unique<EmulatorRunner>(arch, nan);
}

} // namespace rubia::golden
