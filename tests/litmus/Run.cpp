// SPDX-License-Identifier: Apache-2.0
#include "tests/litmus/Run.h"
#include "codegen/Codegen.h"
#include "lowering/Abi.h"
#include "lowering/Lowering.h"
#include "ptx-frontend/Parser.h"
#include "targets/Target.h"
#include "tests/litmus/Kernel.h"
#include "tests/litmus/Placement.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include <cstring>

using namespace llvm;

namespace rubia::settings::WarpFormChoice {
extern const Word HalfFilled;
} // namespace rubia::settings::WarpFormChoice

namespace rubia::litmus {

Expected<std::vector<uint8_t>> compile(ArrayRef<Test> tests, const std::string &arch,
                                       function_ref<void(llvm::Module &)> change) {
  std::string ptx = kModuleHead;
  for (size_t i = 0; i < tests.size(); ++i)
    ptx += kernelOf(tests[i], "test" + std::to_string(i));
  ptx::ParseResult parsed = ptx::parse("litmus.ptx", ptx);
  for (const ptx::Diagnostic &diagnostic : parsed.diagnostics)
    return createStringError(ptx::format(diagnostic, "litmus.ptx", ptx));
  lowering::Unit all; // one compilation for all kernels
  for (const lowering::Unit &unit : lowering::partition(parsed.module))
    all.kernels.insert(all.kernels.end(), unit.kernels.begin(), unit.kernels.end());
  lowering::Options options;
  options.arch = arch;
  if (!targets::find(arch)->hasWave32) // warps that could share a wave would take turns
    options.code.set(settings::WarpFormChoice::HalfFilled);
  LLVMContext context;
  auto module = lowering::lower(parsed.module, all, options, context);
  if (!module)
    return module.takeError();
  change(**module);
  codegen::Options codegenOptions;
  codegenOptions.arch = arch;
  auto object = codegen::compile(std::move(*module), codegenOptions);
  if (!object)
    return object.takeError();
  return std::vector<uint8_t>(object->bytes.begin(), object->bytes.end());
}

constexpr size_t kResultBytes = kInstances * 64;

Expected<std::unique_ptr<Runner>> Runner::load(ArrayRef<uint8_t> code) {
  std::unique_ptr<Runner> runner(new Runner());
  auto object = emulator::CodeObject::load(code, runner->memory);
  if (!object)
    return object.takeError();
  runner->object = std::move(*object);
  runner->halfFilled = StringRef(reinterpret_cast<const char *>(code.data()), code.size())
                           .contains("\"half-filled\"");
  auto results = runner->memory.allocate(kResultBytes, emulator::MemoryKind::Device);
  if (!results)
    return results.takeError();
  runner->results = *results;
  return runner;
}

Expected<void *> Runner::location(char name, emulator::MemoryKind kind) {
  void *&address = locations[{name, kind}];
  if (!address) {
    auto fresh = memory.allocate(kInstances * kStride, kind);
    if (!fresh)
      return fresh.takeError();
    address = *fresh;
  }
  memset(address, 0, kInstances * kStride);
  return address;
}

Error Runner::prepare(const Test &test, size_t index, bool isFine, Prepared &prepared) {
  std::vector<uint64_t> &arguments = prepared.arguments;
  arguments = {uint64_t(results)};
  prepared.results = static_cast<const uint8_t *>(results);
  const bool controlsL2 = rubia::litmus::controlsL2(*targets::find(object->target()));
  for (char name : test.locations) {
    prepared.locations.push_back(nullptr);
    if (test.isShared(name))
      continue;
    const bool fine = isFine && (test.isStrong(name) || !controlsL2);
    auto address =
        location(name, fine ? emulator::MemoryKind::HostPinned : emulator::MemoryKind::Device);
    if (!address)
      return address.takeError();
    arguments.push_back(uint64_t(*address));
    prepared.locations.back() = static_cast<const uint8_t *>(*address);
  }
  memset(results, 0, kResultBytes);
  std::vector<uint32_t> threadsOf(*std::max_element(test.cta.begin(), test.cta.end()) + 1);
  for (unsigned cta : test.cta)
    threadsOf[cta] += kThreadSize;
  if (test.isOneWarp)
    threadsOf = {kInstances};
  const uint32_t threads = *std::max_element(threadsOf.begin(), threadsOf.end());
  abi::LaunchArguments last = {};
  last.ntid[0] = threads;
  last.nctaid[0] = uint32_t(threadsOf.size());
  for (unsigned i : {1, 2})
    last.ntid[i] = last.nctaid[i] = 1;
  const size_t parameters = arguments.size();
  arguments.resize(parameters + sizeof(last) / 8);
  memcpy(&arguments[parameters], &last, sizeof(last));

  emulator::Launch &launch = prepared.launch;
  launch.kernel = object->kernel("test" + std::to_string(index));
  if (!launch.kernel)
    return createStringError("no kernel for " + test.name);
  launch.grid = {uint32_t(threadsOf.size()), 1, 1};
  launch.block = {halfFilled ? abi::halfFilledWorkgroupSize(threads) : threads, 1, 1};
  launch.kernarg =
      ArrayRef(reinterpret_cast<const uint8_t *>(arguments.data()), arguments.size() * 8);
  launch.instructionLimit = 200'000;
  return Error::success();
}

Error Runner::run(const Test &test, size_t index, uint64_t seed, Histogram &histogram) {
  // What devices synchronise through is fine-grained memory; what they hand over may be either
  // where kernels control the L2. On CDNA 2 and before it must be fine-grained: no bit says that an
  // access is of system scope.
  const bool glc = targets::find(object->target())->cachePolicy == targets::CachePolicy::Glc;
  const bool isFine = test.severalDevices && (seed % 2 == 0 || glc);
  Prepared prepared;
  if (Error error = prepare(test, index, isFine, prepared))
    return error;
  prepared.launch.checks =
      emulator::Checks{emulator::OrderCheck{seed, test.severalDevices ? 2u : 1u}};
  if (Error error = emulator::run(prepared.launch, memory).takeError())
    return error;
  const size_t values = test.results + test.locations.size();
  for (unsigned instance = 0; instance < instancesOf(test); ++instance) {
    Outcome outcome(values);
    memcpy(outcome.data(), static_cast<const uint32_t *>(results) + instance * values, 4 * values);
    for (size_t i = 0; i < test.locations.size(); ++i)
      if (prepared.locations[i])
        memcpy(&outcome[test.results + i], prepared.locations[i] + instance * kStride, 4);
    ++histogram[outcome];
  }
  return Error::success();
}

} // namespace rubia::litmus
