// SPDX-License-Identifier: Apache-2.0
#include "ReferenceRunner.h"
#include "Runner.h"
#include "diff/Fusion.h"
#include "ptx-frontend/Parser.h"
#include "reference/Interpreter.h"
#include "reference/TensorMap.h"
#include "llvm/ADT/STLExtras.h"
#include <cstring>

using namespace llvm;

namespace rubia::golden {
namespace {

// A kernel that takes longer does not end.
constexpr uint64_t kInstructionLimit = 50'000'000;

// CUtensorMapDataType, as PTX numbers the types.
constexpr uint8_t kTensorTypes[] = {0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 8, 11, 12};

// Of buffers, aligned as tensors must be.
struct alignas(64) Line {
  uint8_t bytes[64];
};
template <class T> MutableArrayRef<uint8_t> bytesOf(std::vector<T> &lines, size_t size) {
  return {reinterpret_cast<uint8_t *>(lines.data()), size};
}

reference::TensorMap encoded(const TensorMapRequest &request, uint64_t address) {
  reference::TensorMap map;
  const auto first = [](const std::vector<int64_t> &values) {
    return values.empty() ? 0 : values[0];
  };
  map.base = address;
  map.rank = uint8_t(request.dims.size());
  std::copy(request.dims.begin(), request.dims.end(), map.sizes);
  std::copy(request.strides.begin(), request.strides.end(), map.strides);
  std::copy(request.box.begin(), request.box.end(), map.box);
  std::copy(request.elements.begin(), request.elements.end(), map.elementStrides);
  std::copy(request.lower.begin(), request.lower.end(), map.lowerCorner);
  std::copy(request.upper.begin(), request.upper.end(), map.upperCorner);
  map.type = kTensorTypes[first(request.type)];
  map.interleave = uint8_t(first(request.interleave));
  map.swizzle = uint8_t(first(request.swizzle));
  map.fill = uint8_t(first(request.fill));
  map.isIm2col = !request.channels.empty();
  map.channels = uint16_t(first(request.channels));
  map.pixels = uint16_t(first(request.pixels));
  return map;
}

Expected<KernelResult> runKernel(const KernelCase &kernel, StringRef text) {
  ptx::ParseResult parsed = ptx::parse(kernel.entry + ".ptx", text.str());
  if (parsed.hasErrors())
    return createStringError(
        ptx::format(parsed.diagnostics.front(), parsed.module.name, *parsed.module.text));
  auto interpreter = reference::Interpreter::create(parsed.module);
  if (!interpreter)
    return interpreter.takeError();
  const ptx::Function *function = parsed.module.function(kernel.entry);
  if (!function)
    return createStringError("there is no kernel " + kernel.entry);
  std::vector<uint32_t> offsets = reference::parameterLayout(*function);
  std::vector<uint8_t> parameters(offsets.back());
  std::vector<std::vector<Line>> buffers;
  for (auto [n, parameter] : enumerate(kernel.parameters)) {
    std::vector<Line> &buffer = buffers.emplace_back(parameter.bytes.size() / sizeof(Line) + 1);
    if (parameter.tensorMap)
      continue;
    if (!parameter.isBuffer) {
      memcpy(&parameters[offsets[n]], parameter.bytes.data(), parameter.bytes.size());
      continue;
    }
    memcpy(buffer.data(), parameter.bytes.data(), parameter.bytes.size());
    const uint64_t address = reinterpret_cast<uint64_t>(buffer.data());
    memcpy(&parameters[offsets[n]], &address, sizeof(address));
    (*interpreter)->addMemory({address, bytesOf(buffer, parameter.bytes.size())});
  }
  for (auto [n, parameter] : enumerate(kernel.parameters))
    if (parameter.tensorMap) {
      const auto of = find_if(kernel.parameters, [&](const KernelParameter &other) {
        return other.isBuffer && other.name == parameter.tensorMap->buffer;
      });
      if (of == kernel.parameters.end())
        return createStringError("there is no buffer '" + parameter.tensorMap->buffer + "'");
      const std::vector<Line> &buffer = buffers[size_t(of - kernel.parameters.begin())];
      const reference::TensorMap map =
          encoded(*parameter.tensorMap, reinterpret_cast<uint64_t>(buffer.data()));
      memcpy(&parameters[offsets[n]], &map, sizeof(map));
    }
  reference::Launch launch;
  launch.kernel = kernel.entry;
  launch.grid = kernel.grid;
  launch.block = kernel.block;
  launch.dynamicSharedBytes = kernel.sharedBytes;
  launch.cooperative = kernel.cooperative;
  launch.parameters = parameters;
  launch.instructionLimit = kInstructionLimit;
  if (auto statistics = (*interpreter)->launch(launch); !statistics)
    return statistics.takeError();
  KernelResult result;
  for (auto [parameter, buffer] : zip_equal(kernel.parameters, buffers))
    if (parameter.isResult) {
      auto bytes = bytesOf(buffer, parameter.bytes.size());
      result.outputs.emplace_back(bytes.begin(), bytes.end());
    }
  return result;
}

class ReferenceRunner : public Runner {
public:
  ReferenceRunner() { description = "reference/"; }
  std::vector<Result> run(ArrayRef<Case> cases,
                          ArrayRef<const std::vector<uint64_t> *> inputs) override;
  Error sweep(const std::string &, uint32_t, Take) override {
    return createStringError("reference/ has no sweep");
  }
};

Error runCase(reference::Interpreter &interpreter, const std::string &kernel, const Case &test,
              const std::vector<uint64_t> &inputs, std::vector<uint64_t> &outputs) {
  outputs.assign(kTupleCount * test.destinations.size(), 0xa5a5a5a5a5a5a5a5);
  std::vector<uint64_t> given(inputs);
  given.resize(std::max<size_t>(given.size(), 1));
  interpreter.clearMemory();
  uint64_t parameters[2];
  for (auto [n, buffer] : enumerate(std::array<std::vector<uint64_t> *, 2>{&given, &outputs})) {
    parameters[n] = reinterpret_cast<uint64_t>(buffer->data());
    interpreter.addMemory({parameters[n], bytesOf(*buffer, buffer->size() * 8)});
  }
  reference::Launch launch;
  launch.kernel = kernel;
  launch.grid = {kTupleCount / kThreads, 1, 1};
  launch.block = {kThreads, 1, 1};
  launch.parameters = ArrayRef(reinterpret_cast<const uint8_t *>(parameters), sizeof(parameters));
  return interpreter.launch(launch).takeError();
}

std::vector<Runner::Result> ReferenceRunner::run(ArrayRef<Case> cases,
                                                 ArrayRef<const std::vector<uint64_t> *> inputs) {
  std::vector<Result> results(cases.size());
  ptx::ParseResult parsed = ptx::parse("golden.ptx", moduleFor(cases));
  auto interpreter = reference::Interpreter::create(parsed.module);
  std::string error = interpreter ? "" : toString(interpreter.takeError());
  for (auto [i, test] : enumerate(cases)) {
    if (error.empty())
      if (Error failure = runCase(**interpreter, "case" + std::to_string(i), test, *inputs[i],
                                  results[i].outputs)) {
        results[i].error = toString(std::move(failure));
        results[i].outputs.clear();
      }
    if (!error.empty())
      results[i].error = error;
  }
  return results;
}

} // namespace

std::unique_ptr<Runner> Runner::onReference() { return std::make_unique<ReferenceRunner>(); }

using Outputs = std::vector<std::vector<uint8_t>>;

static uint64_t bytesApart(const Outputs &ours, const Outputs &theirs) {
  uint64_t count = 0;
  for (const auto &[a, b] : zip_equal(ours, theirs))
    for (const auto &[x, y] : zip(a, b))
      count += x != y;
  return count;
}

static Expected<KernelResult> runAsRecorded(const KernelCase &kernel, const Outputs &recorded) {
  constexpr unsigned kMostRuns = 3000;
  Expected<KernelResult> plain = runKernel(kernel, kernel.text);
  if (!plain || !bytesApart(plain->outputs, recorded))
    return plain;
  Expected<capsule::FusiblePtx> ptx = capsule::FusiblePtx::open(kernel.text, kernel.entry);
  if (!ptx)
    return ptx.takeError();
  const auto apart = [&](StringRef text) -> Expected<uint64_t> {
    Expected<KernelResult> result = runKernel(kernel, text);
    return result ? Expected<uint64_t>(bytesApart(result->outputs, recorded)) : result.takeError();
  };
  Expected<capsule::NearestFusion> nearest =
      capsule::nearestFusion(*ptx, bytesApart(plain->outputs, recorded), kMostRuns, apart);
  if (!nearest)
    return nearest.takeError();
  Expected<std::string> text = ptx->fused(nearest->choices);
  return text ? runKernel(kernel, *text) : text.takeError();
}

Expected<std::string> runKernelsOnReference(ArrayRef<KernelCase> kernels,
                                            function_ref<void(size_t, KernelResult &)> done,
                                            RecordedOutputs recorded) {
  for (auto [n, kernel] : enumerate(kernels)) {
    KernelResult result;
    if (auto ran = recorded ? runAsRecorded(kernel, recorded(n)) : runKernel(kernel, kernel.text))
      result = std::move(*ran);
    else
      result.error = toString(ran.takeError());
    done(n, result);
  }
  return "reference/";
}

} // namespace rubia::golden
