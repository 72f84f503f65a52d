// SPDX-License-Identifier: Apache-2.0
// The compute capability is answered per caller. Programs see 8.9: high enough for current
// frameworks, low enough that nobody asks for features of sm_90a. NVIDIA's closed libraries choose
// kernels by it, and for each capability that they know many of these exist as machine code only; a
// major version that they do not know makes them fall back to kernels that they carry as PTX.
// Some of them ask through the runtime library that the whole program shares: then the answer is
// for the one that called it. What that library asks of itself, for its table of the device's
// properties, is the program's: all who share it read that table.
#include "runtime/cuda/Driver.h"
#include "runtime/device/ClosedLibraries.h"
#include "settings/Settings.h"
#include "llvm/ADT/StringRef.h"
#include <dlfcn.h>
#include <unwind.h>

using namespace llvm;

namespace rubia::settings::Id {
extern const Setting computeCapability;
} // namespace rubia::settings::Id

namespace rubia::runtime::cuda {

static unsigned forPrograms() {
  static const unsigned capability = settings::Settings().number(settings::Id::computeCapability);
  return capability;
}

unsigned capabilityForFile(StringRef path) {
  const std::optional<unsigned> told = capabilityForLibrary(path);
  return told ? *told : forPrograms();
}

static StringRef fileOf(const void *address) {
  Dl_info info;
  return dladdr(address, &info) && info.dli_fname ? info.dli_fname : ""; // none: generated code
}

namespace {

// Its entry points reach the driver through one function of its own; its start lies deeper.
constexpr size_t kFramesOfAnEntryPoint = 2;

struct Walk {
  StringRef runtime; // the file of the runtime library
  size_t frames = 0; // of it, so far
  StringRef caller;  // the file that called it
};

} // namespace

static _Unwind_Reason_Code visit(_Unwind_Context *context, void *data) {
  Walk &walk = *static_cast<Walk *>(data);
  const StringRef file = fileOf(reinterpret_cast<const void *>(_Unwind_GetIP(context) - 1));
  if (file == walk.runtime)
    return ++walk.frames > kFramesOfAnEntryPoint ? _URC_END_OF_STACK : _URC_NO_REASON;
  if (!walk.frames) // the driver's own
    return _URC_NO_REASON;
  walk.caller = file;
  return _URC_END_OF_STACK;
}

unsigned capabilityFor(const void *returnAddress) {
  const StringRef file = fileOf(returnAddress);
  if (!file.substr(file.rfind('/') + 1).starts_with("libcudart.so"))
    return capabilityForFile(file);
  Walk walk;
  walk.runtime = file;
  _Unwind_Backtrace(visit, &walk);
  return capabilityForFile(walk.caller);
}

} // namespace rubia::runtime::cuda
