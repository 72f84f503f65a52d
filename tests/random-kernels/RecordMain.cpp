// SPDX-License-Identifier: Apache-2.0
// Runs random kernels on the GPU at hand and records what they give, compiled with and without
// optimisation. NVIDIA's compiler takes most of the time, so several processes share the work: a
// kernel that hangs or faults costs its process, which is replaced.
#include "Recording.h"
#include "Zeros.h"
#include "tests/golden/Driver.h"
#include "llvm/Support/Chrono.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include <CLI/CLI.hpp>
#include <atomic>
#include <cstring>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace llvm;
using namespace rubia;
using namespace rubia::random_kernels;

namespace {

struct Options {
  std::string file, library = "libcuda.so.1", raw;
  uint64_t first = 0, count = 100;
  unsigned workers = 1, batch = 32, seconds = 100000;
  bool zeros = false;
};

constexpr size_t kMaxColumns = 32;
enum class State : uint8_t { Waiting, Taken, Done, Failed };

// What the processes share.
struct Slot {
  std::atomic<State> state;
  uint32_t digest;
  uint8_t columns;
  bool ran[2];
  uint32_t values[2][kMaxColumns];
};
struct Shared {
  std::atomic<uint64_t> next;
  char device[256];
};

class Worker {
public:
  Worker(const Options &options, Shared &shared, Slot *slots)
      : options(options), shared(shared), slots(slots) {}
  void run(unsigned batch);

private:
  using Batch = std::vector<std::pair<uint64_t, Kernel>>; // place and kernel
  bool record(const Batch &batch, unsigned level);
  Expected<void *> load(const Batch &batch, unsigned level);
  bool launch(const Batch &batch, void *module, std::vector<std::vector<uint8_t>> &results);
  bool check(int status, const char *what);

  const Options &options;
  Shared &shared;
  Slot *slots;
  golden::Driver driver;
  uint64_t input = 0, output = 0;
  size_t inputStride = 0, outputStride = 0;
};

bool Worker::check(int status, const char *what) {
  if (status)
    errs() << what << ": " << driver.nameOf(status) << "\n";
  return status == 0;
}

Expected<void *> Worker::load(const Batch &batch, unsigned level) {
  std::string text = kModuleHead;
  for (const auto &[place, kernel] : batch)
    text += textOf(kernel);
  char log[2048] = "";
  // CU_JIT_ERROR_LOG_BUFFER, its size, CU_JIT_OPTIMIZATION_LEVEL
  int names[] = {5, 6, 7};
  void *values[] = {log, reinterpret_cast<void *>(sizeof(log)),
                    reinterpret_cast<void *>(uintptr_t(level))};
  void *module = nullptr;
  if (int status = driver.cuModuleLoadDataEx(&module, text.c_str(), 3, names, values))
    return createStringError(driver.nameOf(status) + " " + log);
  return module;
}

bool Worker::launch(const Batch &batch, void *module, std::vector<std::vector<uint8_t>> &results) {
  std::vector<uint8_t> inputs(inputStride * batch.size()), outputs(outputStride * batch.size());
  for (size_t i = 0; i < batch.size(); ++i) {
    const Kernel &kernel = batch[i].second;
    std::copy(kernel.input.begin(), kernel.input.end(), &inputs[i * inputStride]);
    std::vector<uint8_t> initial = initialResults(kernel);
    std::copy(initial.begin(), initial.end(), &outputs[i * outputStride]);
  }
  if (!check(driver.cuMemcpyHtoD_v2(input, inputs.data(), inputs.size()), "cuMemcpyHtoD") ||
      !check(driver.cuMemcpyHtoD_v2(output, outputs.data(), outputs.size()), "cuMemcpyHtoD"))
    return false;
  for (size_t i = 0; i < batch.size(); ++i) {
    const Kernel &kernel = batch[i].second;
    void *function = nullptr;
    if (!check(driver.cuModuleGetFunction(&function, module, nameOf(kernel).c_str()),
               "cuModuleGetFunction"))
      return false;
    uint64_t in = input + i * inputStride, out = output + i * outputStride;
    std::vector<uint8_t> values = kernel.param;
    void *arguments[] = {&in, &out, values.data()};
    if (!check(driver.cuLaunchKernel(function, kernel.grid, 1, 1, kernel.block, 1, 1, 0, nullptr,
                                     arguments, nullptr),
               "cuLaunchKernel"))
      return false;
  }
  if (!check(driver.cuCtxSynchronize(), "execution") ||
      !check(driver.cuMemcpyDtoH_v2(outputs.data(), output, outputs.size()), "cuMemcpyDtoH"))
    return false;
  for (size_t i = 0; i < batch.size(); ++i) {
    auto *from = &outputs[i * outputStride];
    results.emplace_back(from, from + batch[i].second.resultBytes());
  }
  return true;
}

// False if the context is lost.
bool Worker::record(const Batch &batch, unsigned level) {
  auto module = load(batch, level);
  if (!module) {
    std::string message = toString(module.takeError());
    if (batch.size() > 1) {
      for (const auto &one : batch)
        if (!record({one}, level))
          return false;
      return true;
    }
    errs() << formatv("{0}, level {1}: {2}\n", nameOf(batch[0].second), level, message);
    return true;
  }
  std::vector<std::vector<uint8_t>> results, again;
  if (!launch(batch, *module, results) || !launch(batch, *module, again)) {
    errs() << formatv("in the batch from {0}, level {1}\n", nameOf(batch[0].second), level);
    return false;
  }
  for (size_t i = 0; i < batch.size(); ++i) {
    const auto &[place, kernel] = batch[i];
    if (results[i] != again[i]) {
      errs() << formatv("{0}, level {1}: not the same results each time\n", nameOf(kernel), level);
      continue;
    }
    Columns columns = columnsOf(kernel, results[i]);
    if (columns.size() > kMaxColumns) {
      errs() << formatv("{0} has too many results\n", nameOf(kernel));
      continue;
    }
    if (!options.raw.empty()) {
      std::error_code error;
      raw_fd_ostream file(options.raw + "/" + nameOf(kernel) + "." + std::to_string(level), error);
      file.write(reinterpret_cast<const char *>(results[i].data()), results[i].size());
    }
    Slot &slot = slots[place];
    slot.columns = uint8_t(columns.size());
    std::copy(columns.begin(), columns.end(), slot.values[level == 0]);
    slot.ran[level == 0] = true;
  }
  return check(driver.cuModuleUnload(*module), "cuModuleUnload");
}

void Worker::run(unsigned size) {
  auto opened = golden::Driver::open(options.library);
  if (!opened) {
    errs() << toString(opened.takeError()) << "\n";
    _exit(2);
  }
  driver = *opened;
  snprintf(shared.device, sizeof(shared.device), "%s", driver.device.c_str());
  inputStride = 128 * kInputBytes + kUniformBytes + 256;
  outputStride = 128 * (kGlobalBytes + 8 * kMaxColumns) + 8 * kCells + 256;
  if (!check(driver.cuMemAlloc_v2(&input, inputStride * size), "cuMemAlloc") ||
      !check(driver.cuMemAlloc_v2(&output, outputStride * size), "cuMemAlloc"))
    _exit(2);
  for (;;) {
    uint64_t start = shared.next.fetch_add(size);
    if (start >= options.count)
      return;
    Batch batch;
    for (uint64_t i = start; i < std::min(start + size, options.count); ++i) {
      State waiting = State::Waiting;
      if (!slots[i].state.compare_exchange_strong(waiting, State::Taken))
        continue;
      batch.emplace_back(i, generate(options.first + i));
      if (options.zeros)
        computeWithZeros(batch.back().second);
      slots[i].digest = uint32_t(digestOf(batch.back().second));
    }
    if (batch.empty())
      continue;
    bool alive = record(batch, 4) && record(batch, 0);
    for (const auto &[place, kernel] : batch)
      slots[place].state = alive ? State::Done : State::Failed;
    if (!alive)
      _exit(1);
  }
}

template <class T> T *allocateShared(size_t count) {
  void *memory =
      mmap(nullptr, sizeof(T) * count, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<T *>(memory);
}

// All kernels that wait, in batches of this size, by so many processes.
void runAll(const Options &options, Shared &shared, Slot *slots, unsigned batch,
            std::chrono::steady_clock::time_point end) {
  shared.next = 0;
  std::vector<pid_t> children;
  unsigned replaced = 0;
  auto start = [&] {
    pid_t pid = fork();
    if (pid == 0) {
      Worker(options, shared, slots).run(batch);
      _exit(0);
    }
    children.push_back(pid);
  };
  for (unsigned i = 0; i < options.workers; ++i)
    start();
  while (!children.empty() && std::chrono::steady_clock::now() < end) {
    int status = 0;
    pid_t pid = waitpid(-1, &status, WNOHANG);
    if (pid <= 0) {
      usleep(20000);
      continue;
    }
    std::erase(children, pid);
    bool cannotStart = WIFEXITED(status) && WEXITSTATUS(status) == 2;
    if (status != 0 && !cannotStart && ++replaced < 100)
      start();
  }
  for (pid_t pid : children) {
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
  }
}

int record(const Options &options) {
  auto begin = std::chrono::steady_clock::now(),
       end = begin + std::chrono::seconds(options.seconds);
  auto *shared = allocateShared<Shared>(1);
  auto *slots = allocateShared<Slot>(options.count);
  if (!shared || !slots) {
    errs() << "no memory\n";
    return 1;
  }
  runAll(options, *shared, slots, options.batch, end);
  // Those that shared a module with one that failed.
  bool more = false;
  for (uint64_t i = 0; i < options.count; ++i)
    if (slots[i].state == State::Failed || slots[i].state == State::Taken) {
      slots[i].state = State::Waiting;
      slots[i].ran[0] = slots[i].ran[1] = false;
      more = true;
    }
  if (more)
    runAll(options, *shared, slots, 1, end);
  Recording recording;
  recording.device = shared->device;
  recording.date =
      formatv("{0:%Y-%m-%d}", sys::TimePoint<>(std::chrono::system_clock::now())).str();
  recording.first = options.first;
  unsigned ran = 0, different = 0;
  for (uint64_t i = 0; i < options.count; ++i) {
    const Slot &slot = slots[i];
    Recorded &kernel = recording.kernels.emplace_back();
    kernel.digest = slot.digest;
    for (unsigned level : {0, 1})
      if (slot.ran[level])
        (level ? kernel.unoptimised : kernel.optimised)
            .assign(slot.values[level], slot.values[level] + slot.columns);
    ran += slot.ran[0] && slot.ran[1];
    different += slot.ran[0] && slot.ran[1] && !kernel.isEqual();
  }
  std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  outs() << formatv("{0} of {1} kernels recorded on {2} in {3:f1} s; {4} differ by level\n", ran,
                    options.count, recording.device, took.count(), different);
  if (Error error = write(recording, options.file)) {
    errs() << toString(std::move(error)) << "\n";
    return 1;
  }
  return ran == options.count ? 0 : 1;
}

} // namespace

int main(int argc, char **argv) {
  CLI::App app{"Records what random kernels give on the GPU at hand"};
  Options options;
  app.add_option("FILE", options.file)->required();
  app.add_option("--first", options.first, "seed");
  app.add_option("--count", options.count, "of kernels");
  app.add_option("--workers", options.workers, "processes")->check(CLI::Range(1, 256));
  app.add_option("--batch", options.batch, "kernels of a module")->check(CLI::Range(1, 1024));
  app.add_option("--seconds", options.seconds, "stop then");
  app.add_option("--library", options.library, "the CUDA driver");
  app.add_option("--raw", options.raw,
                 "a folder for all results, a file for each kernel and level");
  app.add_flag("--zeros", options.zeros, "computations of 0, -0, 1 and -1");
  CLI11_PARSE(app, argc, argv);
  setenv("CUDA_CACHE_DISABLE", "1", 1);
  return record(options);
}
