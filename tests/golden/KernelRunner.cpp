// SPDX-License-Identifier: Apache-2.0
// The child writes a message for each kernel into a pipe: a number, the error's text, the outputs.
// Its stderr goes to a file, whose new contents explain an error (Rubia's libcuda logs there). What
// does not answer in time is killed, and another child takes the kernels that are left.
#include "KernelRunner.h"
#include "Driver.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace llvm;

namespace rubia::golden {
namespace {

constexpr int kMaxDynamicSharedSize = 8; // CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
constexpr uint32_t kSharedWithoutOptIn = 48 << 10;

// Frames of 32-bit length and bytes.
bool writeAll(int fd, const void *data, size_t size) {
  for (const auto *at = static_cast<const char *>(data); size;) {
    ssize_t n = ::write(fd, at, size);
    if (n <= 0)
      return false;
    at += n, size -= size_t(n);
  }
  return true;
}
bool put(int fd, ArrayRef<uint8_t> bytes) {
  uint32_t size = uint32_t(bytes.size());
  return writeAll(fd, &size, sizeof(size)) && writeAll(fd, bytes.data(), size);
}
bool put(int fd, StringRef text) { return put(fd, arrayRefFromStringRef(text)); }

class Child {
public:
  Child(const KernelRunOptions &options, int pipe, int log)
      : options(options), pipe(pipe), log(log) {}
  void run(ArrayRef<KernelCase> kernels);

private:
  Error encode(const TensorMapRequest &request, uint64_t buffer, void *map);
  Expected<KernelResult> runOnce(const KernelCase &kernel, void *function);
  Expected<KernelResult> run(const KernelCase &kernel);
  Error check(int status, const char *what) {
    return status ? createStringError(Twine(what) + ": " + driver.nameOf(status))
                  : Error::success();
  }
  std::string takeLog();

  const KernelRunOptions &options;
  int pipe, log;
  off_t logEnd = 0;
  Driver driver;
};

std::string Child::takeLog() {
  std::string text(size_t(lseek(log, 0, SEEK_END) - logEnd), '\0');
  ssize_t n = pread(log, text.data(), text.size(), logEnd);
  text.resize(n < 0 ? 0 : size_t(n));
  logEnd += off_t(text.size());
  return text;
}

Error Child::encode(const TensorMapRequest &request, uint64_t buffer, void *map) {
  auto words = [](const std::vector<int64_t> &values, size_t least, int64_t otherwise) {
    std::vector<uint32_t> result(values.begin(), values.end());
    result.resize(std::max(least, values.size()), uint32_t(otherwise));
    return result;
  };
  auto one = [](const std::vector<int64_t> &values) { return values.empty() ? 0 : int(values[0]); };
  const size_t rank = request.dims.size();
  std::vector<uint64_t> dims(request.dims.begin(), request.dims.end());
  std::vector<uint64_t> strides(request.strides.begin(), request.strides.end());
  strides.resize(std::max(strides.size(), rank));
  std::vector<uint32_t> box = words(request.box, rank, 1),
                        elements = words(request.elements, rank, 1);
  std::vector<int> lower(request.lower.begin(), request.lower.end()),
      upper(request.upper.begin(), request.upper.end());
  lower.resize(3), upper.resize(3);
  void *address = reinterpret_cast<void *>(buffer);
  if (!driver.cuTensorMapEncodeTiled || !driver.cuTensorMapEncodeIm2col)
    return createStringError("the CUDA driver encodes no tensor maps");
  if (request.channels.empty())
    return check(driver.cuTensorMapEncodeTiled(map, one(request.type), uint32_t(rank), address,
                                               dims.data(), strides.data(), box.data(),
                                               elements.data(), one(request.interleave),
                                               one(request.swizzle), 0, one(request.fill)),
                 "cuTensorMapEncodeTiled");
  return check(driver.cuTensorMapEncodeIm2col(
                   map, one(request.type), uint32_t(rank), address, dims.data(), strides.data(),
                   lower.data(), upper.data(), uint32_t(one(request.channels)),
                   uint32_t(one(request.pixels)), elements.data(), one(request.interleave),
                   one(request.swizzle), 0, one(request.fill)),
               "cuTensorMapEncodeIm2col");
}

Expected<KernelResult> Child::runOnce(const KernelCase &kernel, void *function) {
  std::vector<uint64_t> buffers(kernel.parameters.size());
  scope_exit freeAll([&] {
    for (uint64_t buffer : buffers)
      if (buffer)
        driver.cuMemFree_v2(buffer); // after a fault this fails, and the process ends
  });
  std::vector<void *> arguments;
  struct alignas(64) Map {
    uint8_t bytes[128];
  };
  std::vector<Map> maps(kernel.parameters.size());
  for (auto [parameter, buffer, map] : zip_equal(kernel.parameters, buffers, maps)) {
    if (parameter.tensorMap) { // behind the buffer that it is of
      arguments.push_back(&map);
      auto of = find_if(kernel.parameters, [&](const KernelParameter &other) {
        return other.isBuffer && other.name == parameter.tensorMap->buffer;
      });
      if (of == kernel.parameters.end())
        return createStringError("there is no buffer '" + parameter.tensorMap->buffer + "'");
      if (Error error =
              encode(*parameter.tensorMap, buffers[size_t(of - kernel.parameters.begin())], &map))
        return std::move(error);
      continue;
    }
    if (!parameter.isBuffer) {
      arguments.push_back(const_cast<uint8_t *>(parameter.bytes.data()));
      continue;
    }
    if (Error error = check(driver.cuMemAlloc_v2(&buffer, parameter.bytes.size()), "cuMemAlloc"))
      return std::move(error);
    if (Error error =
            check(driver.cuMemcpyHtoD_v2(buffer, parameter.bytes.data(), parameter.bytes.size()),
                  "cuMemcpyHtoD"))
      return std::move(error);
    arguments.push_back(&buffer);
  }
  const auto &[gx, gy, gz] = kernel.grid;
  const auto &[bx, by, bz] = kernel.block;
  int status = kernel.cooperative
                   ? driver.cuLaunchCooperativeKernel(function, gx, gy, gz, bx, by, bz,
                                                      kernel.sharedBytes, nullptr, arguments.data())
                   : driver.cuLaunchKernel(function, gx, gy, gz, bx, by, bz, kernel.sharedBytes,
                                           nullptr, arguments.data(), nullptr);
  if (Error error = check(status, "launch"))
    return std::move(error);
  if (Error error = check(driver.cuCtxSynchronize(), "execution"))
    return std::move(error);
  KernelResult result;
  for (auto [parameter, buffer] : zip_equal(kernel.parameters, buffers)) {
    if (!parameter.isResult)
      continue;
    std::vector<uint8_t> &bytes = result.outputs.emplace_back(parameter.bytes.size());
    if (Error error =
            check(driver.cuMemcpyDtoH_v2(bytes.data(), buffer, bytes.size()), "cuMemcpyDtoH"))
      return std::move(error);
  }
  return result;
}

Expected<KernelResult> Child::run(const KernelCase &kernel) {
  auto module = driver.loadModule(kernel.text);
  if (!module)
    return module.takeError();
  void *function = nullptr;
  if (Error error = check(driver.cuModuleGetFunction(&function, *module, kernel.entry.c_str()),
                          "cuModuleGetFunction"))
    return std::move(error);
  if (kernel.sharedBytes > kSharedWithoutOptIn)
    if (Error error = check(
            driver.cuFuncSetAttribute(function, kMaxDynamicSharedSize, int(kernel.sharedBytes)),
            "cuFuncSetAttribute"))
      return std::move(error);
  Expected<KernelResult> result = runOnce(kernel, function);
  for (unsigned i = 1; result && i < options.repetitions; ++i) {
    Expected<KernelResult> again = runOnce(kernel, function);
    if (!again)
      return again.takeError();
    if (again->outputs != result->outputs)
      return createStringError("not the same results each time");
  }
  if (result)
    if (Error error = check(driver.cuModuleUnload(*module), "cuModuleUnload"))
      return std::move(error);
  return result;
}

void Child::run(ArrayRef<KernelCase> kernels) {
  dup2(log, 2);
  auto opened = Driver::open(options.library);
  if (!opened) {
    put(pipe, toString(opened.takeError()) + "\n" + takeLog());
    return;
  }
  driver = *opened;
  if (!put(pipe, "") || !put(pipe, driver.device))
    return;
  for (const KernelCase &kernel : kernels) {
    Expected<KernelResult> result = run(kernel);
    std::string text = takeLog();
    if (result) {
      put(pipe, "");
      for (const std::vector<uint8_t> &output : result->outputs)
        put(pipe, output);
      continue;
    }
    put(pipe, toString(result.takeError()) + (text.empty() ? "" : "\n") + text);
    bool lost = driver.cuCtxSynchronize() != 0;
    put(pipe, lost ? "the context is lost" : "");
    if (lost)
      return;
  }
}

// What comes out of the pipe, until a deadline for each frame.
class Reader {
public:
  Reader(int fd, unsigned timeoutMs) : fd(fd), timeoutMs(timeoutMs) {}
  bool timedOut = false;

  std::optional<std::vector<uint8_t>> take() {
    uint32_t size = 0;
    if (!read(&size, sizeof(size)))
      return std::nullopt;
    std::vector<uint8_t> bytes(size);
    if (!read(bytes.data(), size))
      return std::nullopt;
    return bytes;
  }

private:
  bool read(void *data, size_t size) {
    for (auto *at = static_cast<char *>(data); size;) {
      pollfd waiting{fd, POLLIN, 0};
      if (poll(&waiting, 1, int(timeoutMs)) == 0) {
        timedOut = true;
        return false;
      }
      ssize_t n = ::read(fd, at, size);
      if (n <= 0)
        return false;
      at += n, size -= size_t(n);
    }
    return true;
  }
  int fd;
  unsigned timeoutMs;
};

std::string textOf(ArrayRef<uint8_t> bytes) { return toStringRef(bytes).rtrim('\n').str(); }

} // namespace

Expected<std::string> runKernels(ArrayRef<KernelCase> kernels, const KernelRunOptions &options,
                                 function_ref<void(size_t, KernelResult &)> done) {
  std::string device;
  for (size_t next = 0; next < kernels.size();) {
    int ends[2], log = memfd_create("log", MFD_CLOEXEC);
    if (log < 0 || pipe2(ends, O_CLOEXEC))
      return createStringError(std::error_code(errno, std::generic_category()), "no pipe");
    pid_t pid = fork();
    if (pid < 0)
      return createStringError(std::error_code(errno, std::generic_category()), "fork");
    if (pid == 0) {
      close(ends[0]);
      Child(options, ends[1], log).run(kernels.drop_front(next));
      _exit(0);
    }
    close(ends[1]);
    scope_exit reap([&] {
      kill(pid, SIGKILL);
      waitpid(pid, nullptr, 0);
      close(ends[0]);
      close(log);
    });
    Reader reader(ends[0], options.timeoutMs);
    auto failure = reader.take();
    if (!failure || !failure->empty())
      return createStringError(failure ? textOf(*failure) : "the driver's process ended");
    if (auto name = reader.take())
      device = textOf(*name);
    for (bool more = true; more && next < kernels.size(); ++next) {
      KernelResult result;
      auto error = reader.take();
      if (!error)
        result.error = reader.timedOut ? "it hangs" : "the process crashed";
      else
        result.error = textOf(*error);
      more = error.has_value();
      if (more && !result.error.empty()) {
        auto lost = reader.take();
        more = lost && lost->empty();
      }
      for (const KernelParameter &parameter : kernels[next].parameters)
        if (parameter.isResult && result.error.empty()) {
          auto output = reader.take();
          if (output)
            result.outputs.push_back(std::move(*output));
          else
            result.error = "the process crashed", more = false;
        }
      done(next, result);
    }
  }
  return device;
}

} // namespace rubia::golden
