// SPDX-License-Identifier: Apache-2.0
#include "Driver.h"
#include "Runner.h"

using namespace llvm;

namespace rubia::golden {

namespace {

constexpr size_t kBufferBytes = kTupleCount * 8 * 64; // enough columns for Variants.h

class DriverRunner : public Runner {
public:
  explicit DriverRunner(const Driver &driver) : d(driver) {
    description = d.device;
    capability = d.computeCapability;
  }
  Error allocate();
  std::vector<Result> run(ArrayRef<Case> cases,
                          ArrayRef<const std::vector<uint64_t> *> inputs) override;
  Error sweep(const std::string &mnemonic, uint32_t stride, Take take) override;

private:
  Driver d; // what the context holds is freed by the process's end
  uint64_t inputBuffer = 0, outputBuffer = 0;
};

} // namespace

Error DriverRunner::allocate() {
  for (uint64_t *buffer : {&inputBuffer, &outputBuffer})
    if (int status = d.cuMemAlloc_v2(buffer, kBufferBytes))
      return createStringError("no memory for inputs and outputs: " + d.nameOf(status));
  return Error::success();
}

Expected<std::unique_ptr<Runner>> Runner::onDriver() {
  auto driver = Driver::open("libcuda.so.1");
  if (!driver)
    return driver.takeError();
  auto runner = std::make_unique<DriverRunner>(*driver);
  if (Error error = runner->allocate())
    return std::move(error);
  return runner;
}

std::vector<Runner::Result> DriverRunner::run(ArrayRef<Case> cases,
                                              ArrayRef<const std::vector<uint64_t> *> inputs) {
  std::vector<Result> results(cases.size());
  std::string text = moduleFor(cases);
  auto loaded = d.loadModule(text);
  if (!loaded) {
    if (cases.size() == 1) {
      results[0].error = toString(loaded.takeError());
      return results;
    }
    consumeError(loaded.takeError());
    for (size_t i = 0; i < cases.size(); ++i)
      results[i] = std::move(run(cases.slice(i, 1), inputs.slice(i, 1)).front());
    return results;
  }
  void *module = *loaded;
  for (size_t i = 0; i < cases.size(); ++i) {
    Result &result = results[i];
    std::vector<uint64_t> outputs(kTupleCount * cases[i].destinations.size());
    void *function = nullptr;
    void *arguments[] = {&inputBuffer, &outputBuffer};
    size_t inputBytes = inputs[i]->size() * 8, outputBytes = outputs.size() * 8;
    int status = d.cuModuleGetFunction(&function, module, ("case" + std::to_string(i)).c_str());
    if (!status)
      status = d.cuMemcpyHtoD_v2(inputBuffer, inputs[i]->data(), inputBytes);
    if (!status)
      status = d.cuMemsetD8_v2(outputBuffer, 0xa5, kBufferBytes);
    if (!status)
      status = d.cuLaunchKernel(function, kTupleCount / kThreads, 1, 1, kThreads, 1, 1, 0, nullptr,
                                arguments, nullptr);
    if (!status)
      status = d.cuCtxSynchronize();
    if (!status)
      status = d.cuMemcpyDtoH_v2(outputs.data(), outputBuffer, outputBytes);
    if (status)
      result.error = d.nameOf(status);
    else
      result.outputs = std::move(outputs);
  }
  d.cuModuleUnload(module);
  return results;
}

Error DriverRunner::sweep(const std::string &mnemonic, uint32_t stride, Take take) {
  void *module = nullptr, *function = nullptr;
  uint64_t buffer = 0;
  std::vector<uint32_t> results(kSweepPiece);
  std::string text = sweepModule(mnemonic);
  int status = d.cuModuleLoadDataEx(&module, text.c_str(), 0, nullptr, nullptr);
  if (!status)
    status = d.cuModuleGetFunction(&function, module, "sweep");
  if (!status)
    status = d.cuMemAlloc_v2(&buffer, kSweepPiece * 4);
  for (uint64_t first = 0; !status && first * stride >> 32 == 0; first += kSweepPiece) {
    unsigned count = sweptOperands(first, stride);
    uint32_t bits = uint32_t(first * stride);
    void *arguments[] = {&buffer, &bits, &stride};
    status = d.cuLaunchKernel(function, (count + kThreads - 1) / kThreads, 1, 1, kThreads, 1, 1, 0,
                              nullptr, arguments, nullptr);
    if (!status)
      status = d.cuMemcpyDtoH_v2(results.data(), buffer, count * 4); // waits
    if (!status)
      take(first, ArrayRef(results).take_front(count));
  }
  if (status)
    return createStringError(mnemonic + ": " + d.nameOf(status));
  return Error::success(); // what is left is freed by the process's end
}

} // namespace rubia::golden
