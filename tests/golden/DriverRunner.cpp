#include "Runner.h"
#include <dlfcn.h>

using namespace llvm;

namespace rubia::golden {

namespace {

// The driver API's functions that are used, under the names that libcuda exports. All return 0 for
// success.
struct Driver {
  int (*cuInit)(unsigned);
  int (*cuDriverGetVersion)(int *);
  int (*cuDeviceGet)(int *, int);
  int (*cuDeviceGetName)(char *, int, int);
  int (*cuDeviceGetAttribute)(int *, int, int);
  int (*cuDevicePrimaryCtxRetain)(void **, int);
  int (*cuCtxSetCurrent)(void *);
  int (*cuModuleLoadDataEx)(void **, const void *, unsigned, int *, void **);
  int (*cuModuleGetFunction)(void **, void *, const char *);
  int (*cuModuleUnload)(void *);
  int (*cuMemAlloc_v2)(uint64_t *, size_t);
  int (*cuMemcpyHtoD_v2)(uint64_t, const void *, size_t);
  int (*cuMemcpyDtoH_v2)(void *, uint64_t, size_t);
  int (*cuMemsetD8_v2)(uint64_t, unsigned char, size_t);
  int (*cuLaunchKernel)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                        unsigned, void *, void **, void **);
  int (*cuCtxSynchronize)();
  int (*cuGetErrorName)(int, const char **);

  uint64_t inputs = 0, outputs = 0; // device buffers

  std::string nameOf(int status) const {
    const char *name = nullptr;
    cuGetErrorName(status, &name);
    return name ? name : std::to_string(status);
  }
};

constexpr size_t kBufferBytes = kTupleCount * 8 * 64; // enough columns for Variants.h

class DriverRunner : public Runner {
public:
  DriverRunner(const Driver &driver, std::string name, unsigned computeCapability) : d(driver) {
    description = std::move(name);
    capability = computeCapability;
  }
  std::vector<Result> run(ArrayRef<Case> cases,
                          ArrayRef<const std::vector<uint64_t> *> inputs) override;
  Error sweep(const std::string &mnemonic, uint32_t stride, Take take) override;

private:
  Driver d; // what the context holds is freed by the process's end
};

} // namespace

Expected<std::unique_ptr<Runner>> Runner::onDriver() {
  void *library = dlopen("libcuda.so.1", RTLD_NOW);
  if (!library)
    return createStringError(Twine("no CUDA driver: ") + dlerror());
  Driver d;
  const char *missing = nullptr;
  auto load = [&](auto &function, const char *name) {
    function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(library, name));
    if (!function)
      missing = name;
  };
#define LOAD(name) load(d.name, #name)
  LOAD(cuInit);
  LOAD(cuDriverGetVersion);
  LOAD(cuDeviceGet);
  LOAD(cuDeviceGetName);
  LOAD(cuDeviceGetAttribute);
  LOAD(cuDevicePrimaryCtxRetain);
  LOAD(cuCtxSetCurrent);
  LOAD(cuModuleLoadDataEx);
  LOAD(cuModuleGetFunction);
  LOAD(cuModuleUnload);
  LOAD(cuMemAlloc_v2);
  LOAD(cuMemcpyHtoD_v2);
  LOAD(cuMemcpyDtoH_v2);
  LOAD(cuMemsetD8_v2);
  LOAD(cuLaunchKernel);
  LOAD(cuCtxSynchronize);
  LOAD(cuGetErrorName);
#undef LOAD
  if (missing)
    return createStringError(Twine("the CUDA driver has no ") + missing);
  int device = 0, version = 0, major = 0, minor = 0;
  void *context = nullptr;
  char name[256] = "";
  for (int status :
       {d.cuInit(0), d.cuDriverGetVersion(&version), d.cuDeviceGet(&device, 0),
        d.cuDeviceGetName(name, sizeof(name), device), d.cuDeviceGetAttribute(&major, 75, device),
        d.cuDeviceGetAttribute(&minor, 76, device), d.cuDevicePrimaryCtxRetain(&context, device),
        d.cuCtxSetCurrent(context), d.cuMemAlloc_v2(&d.inputs, kBufferBytes),
        d.cuMemAlloc_v2(&d.outputs, kBufferBytes)})
    if (status)
      return createStringError("the CUDA driver cannot be started: " + d.nameOf(status));
  return std::make_unique<DriverRunner>(
      d, std::string(name) + ", driver " + std::to_string(version), unsigned(major * 10 + minor));
}

std::vector<Runner::Result> DriverRunner::run(ArrayRef<Case> cases,
                                              ArrayRef<const std::vector<uint64_t> *> inputs) {
  std::vector<Result> results(cases.size());
  std::string text = moduleFor(cases);
  char log[4096] = "";
  int options[] = {5, 6}; // CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES
  void *values[] = {log, reinterpret_cast<void *>(sizeof(log))};
  void *module = nullptr;
  if (int status = d.cuModuleLoadDataEx(&module, text.c_str(), 2, options, values)) {
    if (cases.size() == 1) {
      results[0].error = d.nameOf(status) + " " + log;
      return results;
    }
    for (size_t i = 0; i < cases.size(); ++i)
      results[i] = std::move(run(cases.slice(i, 1), inputs.slice(i, 1)).front());
    return results;
  }
  for (size_t i = 0; i < cases.size(); ++i) {
    Result &result = results[i];
    std::vector<uint64_t> outputs(kTupleCount * cases[i].destinations.size());
    void *function = nullptr;
    void *arguments[] = {&d.inputs, &d.outputs};
    size_t inputBytes = inputs[i]->size() * 8, outputBytes = outputs.size() * 8;
    int status = d.cuModuleGetFunction(&function, module, ("case" + std::to_string(i)).c_str());
    if (!status)
      status = d.cuMemcpyHtoD_v2(d.inputs, inputs[i]->data(), inputBytes);
    if (!status)
      status = d.cuMemsetD8_v2(d.outputs, 0xa5, kBufferBytes);
    if (!status)
      status = d.cuLaunchKernel(function, kTupleCount / kThreads, 1, 1, kThreads, 1, 1, 0, nullptr,
                                arguments, nullptr);
    if (!status)
      status = d.cuCtxSynchronize();
    if (!status)
      status = d.cuMemcpyDtoH_v2(outputs.data(), d.outputs, outputBytes);
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
