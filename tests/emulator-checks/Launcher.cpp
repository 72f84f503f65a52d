// SPDX-License-Identifier: Apache-2.0
#include "tests/emulator-checks/Launcher.h"
#include "codegen/Codegen.h"
#include "emulator/lib/decode/InstructionStep.h"
#include "lowering/Abi.h"
#include "lowering/DeviceState.h"
#include "lowering/Lowering.h"
#include "ptx-frontend/Parser.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/MemoryBuffer.h"
#include <cstring>
#include <gtest/gtest.h>

using namespace llvm;

namespace rubia::settings::LocalArrays {
extern const Word Memory;
} // namespace rubia::settings::LocalArrays
namespace rubia::settings::MaskMode {
extern const Word Checked;
} // namespace rubia::settings::MaskMode

namespace rubia::emulator::test {
namespace {

constexpr unsigned kFreedWords = 64;

struct Compiled {
  codegen::CodeObject code;
  bool halfFilled = false, notes = true;
  uint64_t staticSharedBytes = 0;
};

Expected<Compiled> compile(const ptx::Module &module, const lowering::Unit &unit,
                           const std::string &arch) {
  lowering::Options options;
  options.arch = arch;
  options.code.set(settings::MaskMode::Checked);
  options.code.set(settings::LocalArrays::Memory);
  LLVMContext context;
  auto lowered = lowering::lower(module, unit, options, context);
  if (!lowered)
    return lowered.takeError();
  const StringRef metadata =
      cast<MDString>((*lowered)->getNamedMetadata("rubia.metadata")->getOperand(0)->getOperand(0))
          ->getString();
  Compiled result;
  result.halfFilled = metadata.contains("\"warpForm\":\"half-filled\"");
  result.staticSharedBytes = lowering::staticSharedBytes(unit, *unit.kernels[0]);
  codegen::Options codegenOptions;
  codegenOptions.arch = arch;
  auto code = codegen::compile(std::move(*lowered), codegenOptions);
  if (!code)
    return code.takeError();
  result.code = std::move(*code);
  return result;
}

/// Renames the section.
void removeNotes(std::vector<uint8_t> &codeObject) {
  constexpr StringRef kName = ".rubia.accesses";
  const size_t at = toStringRef(codeObject).find(kName);
  EXPECT_NE(at, StringRef::npos);
  if (at != StringRef::npos)
    codeObject[at + 1] = 'x';
}

struct Arguments {
  uint64_t data;
  uint32_t words, padding;
  uint64_t freed;
  abi::LaunchArguments launch;
};

Expected<uint64_t> allocateWords(Memory &memory, unsigned words) {
  Expected<void *> pointer = memory.allocate(words * 4, MemoryKind::Device);
  if (!pointer)
    return pointer.takeError();
  for (uint32_t i = 0; i < words; ++i)
    std::memcpy(static_cast<uint8_t *>(*pointer) + 4 * i, &i, 4);
  return reinterpret_cast<uint64_t>(*pointer);
}

/// What the runtime makes for malloc(), with the table that the check `memory` reads
/// (runtime/device/DeviceServices.cpp).
Expected<uint64_t> allocateHeap(Memory &memory) {
  constexpr uint32_t kPages = 64;
  constexpr uint64_t kFirst =
      (sizeof(abi::DeviceHeap) + kPages * sizeof(abi::HeapPage) + abi::kHeapPageBytes - 1) /
      abi::kHeapPageBytes * abi::kHeapPageBytes;
  constexpr uint64_t kBytes = kPages * uint64_t(abi::kHeapPageBytes);
  Expected<void *> pointer =
      memory.allocate(kFirst + kBytes + kBytes / 4, MemoryKind::Device, abi::kHeapPageBytes);
  if (!pointer)
    return pointer.takeError();
  auto *bytes = static_cast<uint8_t *>(*pointer);
  std::memset(bytes, 0, kFirst);
  std::memset(bytes + kFirst + kBytes, 0, kBytes / 4);
  abi::DeviceHeap header{};
  header.pages = uint64_t(bytes + kFirst);
  header.pageCount = kPages;
  header.blocks = uint64_t(bytes + kFirst + kBytes);
  std::memcpy(bytes, &header, sizeof(header));
  memory.followWrites(bytes);
  memory.markWritten(uint64_t(bytes), kFirst);
  memory.markWritten(header.blocks, kBytes / 4);
  memory.setDeviceHeap(
      {header.pages, header.pages + kBytes, reinterpret_cast<const uint32_t *>(header.blocks)});
  return uint64_t(bytes);
}

/// Of everything that touches memory it is known what it was.
void expectNotes(const Program &program) {
  for (const InstructionStep &step : program.stepped().steps)
    if (step.reads || step.writes)
      EXPECT_TRUE(step.strength != Strength::Unknown && step.alignment != 0);
}

Expected<Statistics> launchCase(const Case &test, const Compiled &compiled, const Checks &checks,
                                std::string &warnings) {
  Memory memory;
  auto object = CodeObject::load(compiled.code.bytes, memory);
  if (!object)
    return object.takeError();
  Expected<uint64_t> data = allocateWords(memory, test.words);
  Expected<uint64_t> freed = allocateWords(memory, kFreedWords);
  if (!data || !freed)
    return joinErrors(data.takeError(), freed.takeError());
  if (Error error = memory.free(reinterpret_cast<void *>(*freed)))
    return std::move(error);
  if (test.written) {
    memory.followWrites(reinterpret_cast<void *>(*data));
    memory.markWritten(*data, 4 * *test.written);
  }
  // The record of traps, and the heap: no kernel here has variables.
  if (std::optional<Symbol> table = (*object)->symbol(abi::kModuleTable)) {
    Expected<void *> slots = memory.allocateZeroed(4096, MemoryKind::Device);
    if (!slots)
      return slots.takeError();
    for (uint64_t at = 0; at < table->size; at += 8)
      std::memcpy(reinterpret_cast<void *>(table->address + at), &*slots, 8);
    if (test.heap && table->size > 8 * abi::kDeviceHeapSlot) {
      Expected<uint64_t> heap = allocateHeap(memory);
      if (!heap)
        return heap.takeError();
      std::memcpy(reinterpret_cast<void *>(table->address + 8 * abi::kDeviceHeapSlot), &*heap, 8);
    }
  }
  Arguments arguments = {*data, test.words, 0, *freed, {}};
  abi::LaunchArguments &last = arguments.launch;
  last.ntid[0] = test.block;
  last.nctaid[0] = test.grid;
  last.ntid[1] = test.rows;
  last.ntid[2] = last.nctaid[1] = last.nctaid[2] = 1;
  last.dynamicSharedBytes = test.sharedBytes;
  last.totalSharedBytes = abi::totalSharedBytes(compiled.staticSharedBytes, test.sharedBytes);
  Launch launch;
  launch.kernel = (*object)->kernel(test.kernel);
  if (!launch.kernel)
    return createStringError("the code object lacks " + test.kernel);
  if (compiled.notes)
    expectNotes(*launch.kernel->program);
  launch.grid = {test.grid, 1, 1};
  launch.block = {test.block, test.rows, 1};
  if (compiled.halfFilled)
    launch.block = {abi::halfFilledWorkgroupSize(test.block * test.rows), 1, 1};
  launch.dynamicLdsBytes = test.sharedBytes;
  launch.kernarg = ArrayRef(reinterpret_cast<const uint8_t *>(&arguments), sizeof(arguments));
  launch.hostThreads = 1;
  launch.stallSeconds = 0.5;
  launch.checks = checks;
  launch.warn = [&](const std::string &text) { warnings += text; };
  return run(launch, memory);
}

Outcome outcomeOf(const Case &test, const Compiled &compiled, const Checks &checks) {
  Outcome outcome;
  handleAllErrors(
      launchCase(test, compiled, checks, outcome.warnings).takeError(),
      [&](std::unique_ptr<Fault> fault) -> Error {
        outcome.fault = std::move(fault);
        return Error::success();
      },
      [&](const ErrorInfoBase &error) { outcome.error = error.message(); });
  return outcome;
}

} // namespace

std::map<std::string, Outcome> runAll(const std::string &path, const std::vector<Case> &cases,
                                      const std::string &arch, const Checks &checks, bool notes) {
  std::map<std::string, Outcome> outcomes;
  auto text = MemoryBuffer::getFile(path);
  if (!text) {
    outcomes[path].error = text.getError().message();
    return outcomes;
  }
  const std::string ptx = (*text)->getBuffer().str();
  ptx::ParseResult parsed = ptx::parse(path, ptx);
  for (const ptx::Diagnostic &diagnostic : parsed.diagnostics)
    outcomes[path].error += ptx::format(diagnostic, path, ptx);
  for (const lowering::Unit &unit : lowering::partition(parsed.module)) {
    auto isWanted = [&](const auto *kernel) {
      return any_of(cases, [&](const Case &test) { return test.kernel == kernel->name; });
    };
    if (none_of(unit.kernels, isWanted))
      continue;
    Expected<Compiled> compiled = compile(parsed.module, unit, arch);
    if (!compiled) {
      outcomes[path].error += toString(compiled.takeError());
      continue;
    }
    compiled->notes = notes;
    if (!notes)
      removeNotes(compiled->code.bytes);
    for (const Case &test : cases)
      for (const auto *kernel : unit.kernels)
        if (kernel->name == test.kernel)
          outcomes[test.kernel] = outcomeOf(test, *compiled, checks);
  }
  return outcomes;
}

} // namespace rubia::emulator::test
