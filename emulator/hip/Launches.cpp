// SPDX-License-Identifier: Apache-2.0
// Launches: their checks, their arguments, and what happens when their turn comes.
#include "emulator/hip/CheckReports.h"
#include "emulator/hip/HiddenArguments.h"
#include "emulator/hip/LaunchRecords.h"
#include "emulator/hip/api/Version.h"
#include "settings/Settings.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>
#include <cstring>
#include <mutex>
#include <set>

using namespace rubia::emulator::hip;
using namespace rubia::emulator;

namespace rubia::settings::Id {
extern const Setting emulatorTimeout;
} // namespace rubia::settings::Id

// The explicit arguments as one buffer, from `extra` or from pointers to each.
static bool packArguments(const Kernel &kernel, void **parameters, void **extra,
                          std::vector<uint8_t> &buffer) {
  buffer.assign(kernel.explicitKernargSize, 0);
  if (extra) {
    const void *data = nullptr;
    size_t size = 0;
    for (void **e = extra; *e != HIP_LAUNCH_PARAM_END; e += 2) {
      if (*e == HIP_LAUNCH_PARAM_BUFFER_POINTER)
        data = e[1];
      else if (*e == HIP_LAUNCH_PARAM_BUFFER_SIZE)
        size = *static_cast<size_t *>(e[1]);
      else
        return false;
    }
    // HIP's own library reads all that the kernel's metadata speak of, whatever the size says: what
    // hand-written kernels are given is often shorter. What is not there is 0 here.
    size = std::min(size, buffer.size());
    if (size && !data)
      return false;
    std::copy_n(static_cast<const uint8_t *>(data), size, buffer.begin());
    return data || buffer.empty();
  }
  size_t i = 0;
  for (const KernelArgument &argument : kernel.arguments) {
    if (argument.isHidden())
      continue;
    if (!parameters || !parameters[i])
      return false;
    memcpy(buffer.data() + argument.offset, parameters[i++], argument.size);
  }
  return true;
}

namespace rubia::emulator::hip {

hipError_t prepareLaunch(KernelLaunch &launch, const Function &function, const Device &device,
                         Dim3 grid, Dim3 block, size_t sharedBytes, void **parameters,
                         void **extra) {
  const Kernel &kernel = *function.kernel;
  if (function.module->device != device.ordinal)
    return hipErrorInvalidHandle;
  auto tooLong = [](uint64_t groups, uint64_t threads) { return groups * threads >> 32 != 0; };
  if (tooLong(grid.x, block.x) || tooLong(grid.y, block.y) || tooLong(grid.z, block.z))
    return hipErrorInvalidConfiguration; // a dispatch packet has 32 bits for each
  const uint64_t most = kernel.maxWorkgroupSize;
  if (std::max({block.x, block.y, block.z}) > most || block.count() > most) // HIP 7 tells why
    return hipMajorVersion() < 7 ? hipErrorInvalidValue : hipErrorInvalidConfiguration;
  if (!grid.count() || !block.count() || sharedBytes > device.model.ldsBytes ||
      kernel.ldsBytes + sharedBytes > device.model.ldsBytes)
    return hipErrorInvalidValue;
  launch.kernel = {function.module->code, &kernel};
  launch.grid = grid;
  launch.block = block;
  launch.sharedBytes = uint32_t(sharedBytes);
  launch.residentLimit = uint64_t(device.model.computeUnits) *
                         residentWorkgroups(kernel, device, int(block.count()), sharedBytes);
  if (!launch.residentLimit) // its registers do not fit
    return hipErrorLaunchOutOfResources;
  if (!packArguments(kernel, parameters, extra, launch.kernarg))
    return hipErrorInvalidValue;
  return hipSuccess;
}

hipError_t makeCooperative(KernelLaunch &launch) {
  launch.cooperative = true;
  return launch.grid.count() <= launch.residentLimit ? hipSuccess
                                                     : hipErrorCooperativeLaunchTooLarge;
}

// Of a kernel that runs for long, once: users take slow for hung.
static void tellProgress(const std::string &kernel, const LaunchProgress &progress) {
  static std::mutex &mutex = *new std::mutex;
  static std::set<std::string> &told = *new std::set<std::string>;
  std::lock_guard<std::mutex> lock(mutex);
  if (!told.insert(kernel).second)
    return;
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "kernel " << kernel << " has run for " << llvm::format("%.0f", progress.seconds)
     << " s: " << progress.ended << " of " << progress.workgroups << " workgroups are done";
  if (progress.ended)
    os << llvm::format(", about %.0f s are left", progress.seconds / double(progress.ended) *
                                                      double(progress.workgroups - progress.ended));
  complain(text + "; RUBIA_EMULATOR_TIMEOUT=SECONDS ends launches in which nothing goes on");
}

void execute(Device &device, const KernelLaunch &request) {
  Launch launch;
  launch.kernel = request.kernel.get();
  launch.grid = request.grid;
  launch.block = request.block;
  launch.dynamicLdsBytes = request.sharedBytes;
  launch.kernarg = request.kernarg;
  launch.cooperative = request.cooperative;
  launch.stackBytes = device.stackBytes;
  launch.residentLimit = request.residentLimit;
  launch.device = device.ordinal;
  launch.stallSeconds = hostSettings().seconds(settings::Id::emulatorTimeout);
  launch.tellProgress = [&request](const LaunchProgress &progress) {
    tellProgress(request.kernel->name, progress);
  };
  if (llvm::Error error = requestReports(launch))
    return (void)reportFailure(device, std::move(error));
  auto hidden = HiddenArguments::make(device, request);
  if (!hidden)
    return (void)reportFailure(device, hidden.takeError());
  launch.hidden = hidden->pointers();
  llvm::Expected<LaunchRecords> records = LaunchRecords::of(hostSettings());
  if (!records)
    return (void)reportFailure(device, records.takeError());
  records->request(launch);
  auto statistics = run(launch, Machine::instance().memory);
  // The next call tells the program of an error.
  if (llvm::Error error = llvm::joinErrors(statistics.takeError(), hidden->finish()))
    (void)reportFailure(device, std::move(error));
  else
    records->write(launch, *statistics);
}

} // namespace rubia::emulator::hip
