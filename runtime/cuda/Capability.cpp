// SPDX-License-Identifier: Apache-2.0
// The compute capability is answered per caller. Programs see 8.9: high enough for current
// frameworks, low enough that nobody asks for features of sm_90a. NVIDIA's closed libraries choose
// kernels by it, and for each capability that they know many of these exist as machine code only; a
// major version that they do not know makes them fall back to kernels that they carry as PTX.
#include "runtime/cuda/Driver.h"
#include "runtime/device/ClosedLibraries.h"
#include "settings/Settings.h"
#include "llvm/ADT/StringRef.h"
#include <dlfcn.h>

using namespace llvm;

namespace rubia::runtime::cuda {

static unsigned forPrograms() {
  static const unsigned capability = settings::Settings().computeCapability();
  return capability;
}

unsigned capabilityForFile(StringRef path) {
  const std::optional<unsigned> told = capabilityForLibrary(path);
  return told ? *told : forPrograms();
}

unsigned capabilityFor(const void *returnAddress) {
  Dl_info info;
  if (!dladdr(returnAddress, &info) || !info.dli_fname)
    return forPrograms(); // generated code
  return capabilityForFile(info.dli_fname);
}

} // namespace rubia::runtime::cuda
