// SPDX-License-Identifier: Apache-2.0
#include "EmulatorRun.h"
#include "codegen/Codegen.h"
#include "emulator/Emulator.h"
#include "ptx-frontend/Parser.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/JSON.h"
#include <cstring>

using namespace llvm;

namespace rubia::settings::WarpFormChoice {
extern const Word Checked, HalfFilled, Packed;
} // namespace rubia::settings::WarpFormChoice

namespace rubia::random_kernels {
namespace {

// A kernel's parameters (input, output, values), and what follows them.
struct Arguments {
  uint64_t input = 0, output = 0;
  uint8_t values[kParamBytes] = {};
  abi::LaunchArguments launch = {};
};

class Device {
public:
  Expected<void *> allocate(ArrayRef<uint8_t> bytes) {
    auto address = memory.allocate(std::max<size_t>(bytes.size(), 1), emulator::MemoryKind::Device);
    if (address)
      memcpy(*address, bytes.data(), bytes.size());
    return address;
  }
  Error load(ArrayRef<uint8_t> code, const ptx::Module &module);
  Expected<std::vector<uint8_t>> run(const Program &program, abi::WarpForm form,
                                     uint64_t staticSharedBytes);

private:
  emulator::Memory memory;
  std::unique_ptr<emulator::CodeObject> object;
};

// What the loader does: the module's variables, and the table of their addresses.
Error Device::load(ArrayRef<uint8_t> code, const ptx::Module &module) {
  auto loaded = emulator::CodeObject::load(code, memory);
  if (!loaded)
    return loaded.takeError();
  object = std::move(*loaded);
  std::optional<emulator::Symbol> symbol = object->symbol(abi::kModuleTable);
  if (!symbol)
    return Error::success();
  const std::vector<lowering::Unit> units = lowering::partition(module);
  const std::optional<emulator::Symbol> functions = object->symbol(abi::kFunctionTable);
  const auto addressOf = [&](const ptx::Function &function) {
    const auto at = find(units.front().inInitializers, &function);
    return reinterpret_cast<const uint64_t *>(functions->address) +
           (at - units.front().inInitializers.begin());
  };
  std::vector<uint64_t> table(abi::kFirstVariableSlot);
  auto trap = allocate(std::vector<uint8_t>(sizeof(abi::TrapRecord)));
  if (!trap)
    return trap.takeError();
  table[abi::kTrapRecordSlot] = reinterpret_cast<uint64_t>(*trap);
  for (const ptx::Variable *variable : lowering::moduleVariables(module)) {
    std::vector<uint8_t> bytes(variable->initializer.begin(), variable->initializer.end());
    bytes.resize(std::max<uint64_t>(variable->sizeInBytes, 1));
    for (const ptx::Relocation &relocation : variable->relocations) // of functions alone
      memcpy(&bytes[relocation.offset], addressOf(*relocation.function), 8);
    auto address = allocate(bytes);
    if (!address)
      return address.takeError();
    table.push_back(reinterpret_cast<uint64_t>(*address));
  }
  memcpy(reinterpret_cast<void *>(symbol->address), table.data(),
         std::min<size_t>(symbol->size, table.size() * 8));
  return Error::success();
}

Expected<std::vector<uint8_t>> Device::run(const Program &program, abi::WarpForm form,
                                           uint64_t staticSharedBytes) {
  auto input = allocate(program.input);
  if (!input)
    return input.takeError();
  auto output = allocate(program.results);
  if (!output)
    return output.takeError();
  Arguments arguments;
  arguments.input = reinterpret_cast<uint64_t>(*input);
  arguments.output = reinterpret_cast<uint64_t>(*output);
  memcpy(arguments.values, program.param.data(), kParamBytes);
  arguments.launch.ntid[0] = program.block;
  arguments.launch.nctaid[0] = program.grid;
  for (unsigned i : {1, 2})
    arguments.launch.ntid[i] = arguments.launch.nctaid[i] = 1;
  arguments.launch.totalSharedBytes = abi::totalSharedBytes(staticSharedBytes, 0);
  emulator::Launch launch;
  launch.kernel = object->kernel(program.name);
  if (!launch.kernel)
    return createStringError("the code object lacks the kernel");
  launch.grid = {program.grid, 1, 1};
  if (form == abi::WarpForm::HalfFilled && program.block > abi::kMostHalfFilledThreads)
    return createStringError("the half-filled form allows %u threads",
                             unsigned(abi::kMostHalfFilledThreads));
  launch.block = {form == abi::WarpForm::HalfFilled ? abi::halfFilledWorkgroupSize(program.block)
                                                    : program.block,
                  1, 1};
  launch.kernarg = ArrayRef(reinterpret_cast<const uint8_t *>(&arguments), sizeof(arguments));
  launch.hostThreads = 1;
  launch.instructionLimit = 10'000'000;
  if (auto statistics = emulator::run(launch, memory); !statistics)
    return statistics.takeError();
  auto *bytes = static_cast<const uint8_t *>(*output);
  return std::vector<uint8_t>(bytes, bytes + program.results.size());
}

struct CodeForm {
  abi::WarpForm form;
  bool mayBeChecked; // larger blocks than this form allows take the checked form
};

Expected<CodeForm> formOf(ArrayRef<uint8_t> code) {
  auto text = codegen::readMetadata(code);
  if (!text)
    return text.takeError();
  auto value = json::parse(*text);
  if (!value)
    return value.takeError();
  const json::Array *kernels = value->getAsObject()->getArray("kernels");
  const json::Object &kernel = *(*kernels)[0].getAsObject();
  StringRef form = *kernel.getString("warpForm");
  return CodeForm{form == "packed"        ? abi::WarpForm::Packed
                  : form == "half-filled" ? abi::WarpForm::HalfFilled
                                          : abi::WarpForm::Wave32,
                  *kernel.getBoolean("mayBeChecked")};
}

} // namespace

bool isNotLegal(const Way &way, StringRef problem) {
  return (way.form == settings::WarpFormChoice::Packed &&
          problem.contains("the packed form is not legal")) ||
         (way.form == settings::WarpFormChoice::Checked &&
          problem.contains("the checked form is not legal")) ||
         (way.form == settings::WarpFormChoice::HalfFilled &&
          problem.contains("the half-filled form allows"));
}

Expected<EmulatorResult> emulate(const Program &program, const Way &way) {
  std::string text = program.text;
  if (const size_t at = text.find(way.mistake.first);
      !way.mistake.first.empty() && at != std::string::npos)
    text.replace(at, way.mistake.first.size(), way.mistake.second);
  ptx::ParseResult parsed = ptx::parse("random.ptx", text);
  if (!parsed.diagnostics.empty())
    return createStringError(ptx::format(parsed.diagnostics.front(), "random.ptx", text));
  std::vector<lowering::Unit> units = lowering::partition(parsed.module);
  lowering::Options options;
  options.arch = way.arch;
  options.code.set(way.nan);
  options.code.set(way.contract);
  options.code.set(way.flush);
  options.code.set(way.form);
  options.code.set(way.mma);
  LLVMContext context;
  auto lowered = lowering::lower(parsed.module, units.front(), options, context);
  if (!lowered)
    return lowered.takeError();
  codegen::Options codegenOptions;
  codegenOptions.arch = way.arch;
  codegenOptions.optLevel = way.optLevel;
  codegenOptions.checkWholeWaves =
      way.form == settings::WarpFormChoice::Packed || way.form == settings::WarpFormChoice::Checked;
  auto code = codegen::compile(std::move(*lowered), codegenOptions);
  if (!code)
    return code.takeError();
  auto form = formOf(code->bytes);
  if (!form)
    return form.takeError();
  // As the runtime does.
  if (form->mayBeChecked && program.block > abi::kMostHalfFilledThreads) {
    Way larger = way;
    larger.form = settings::WarpFormChoice::Checked;
    return emulate(program, larger);
  }
  Device device;
  if (Error error = device.load(code->bytes, parsed.module))
    return std::move(error);
  auto results =
      device.run(program, form->form, lowering::staticSharedBytes(units[0], *units[0].kernels[0]));
  if (!results)
    return results.takeError();
  return EmulatorResult{std::move(*results), form->form};
}

} // namespace rubia::random_kernels
