// The compute capability is answered per caller. Programs see 8.9: high enough for current
// frameworks, low enough that nobody asks for features of sm_90a. NVIDIA's closed libraries choose
// kernels by it, and for each capability that they know many of these exist as machine code only; a
// major version that they do not know makes them fall back to kernels that they carry as PTX.
#include "runtime/ClosedLibraries.h"
#include "runtime/cuda/Driver.h"
#include "llvm/ADT/StringRef.h"
#include <cstdlib>
#include <dlfcn.h>

using namespace llvm;

namespace rubia::runtime::cuda {

// "8.9" or "89"; 0: neither.
static unsigned parse(StringRef text) {
  unsigned major, minor;
  if (text.contains('.')) {
    auto [before, after] = text.split('.');
    if (before.getAsInteger(10, major) || after.getAsInteger(10, minor) || minor > 9)
      return 0;
    return major * 10 + minor;
  }
  return text.getAsInteger(10, major) ? 0 : major;
}

static unsigned forPrograms() {
  static const unsigned capability = [] {
    const char *text = secure_getenv("RUBIA_COMPUTE_CAPABILITY");
    if (!text || !*text)
      return kCapabilityForPrograms;
    unsigned value = parse(text);
    if (value >= 30 && value < 1000)
      return value;
    log(LogLevel::Error, Twine("RUBIA_COMPUTE_CAPABILITY is '") + text +
                             "', expected one like 8.9 or 89; it is ignored");
    return kCapabilityForPrograms;
  }();
  return capability;
}

unsigned capabilityForFile(StringRef path) {
  return isClosedLibrary(path) ? kCapabilityForClosedLibraries : forPrograms();
}

unsigned capabilityFor(const void *returnAddress) {
  Dl_info info;
  if (!dladdr(returnAddress, &info) || !info.dli_fname)
    return forPrograms(); // generated code
  return capabilityForFile(info.dli_fname);
}

} // namespace rubia::runtime::cuda
