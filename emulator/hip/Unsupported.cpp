// What is not there says so. The functions are defined without HIP's declarations: they take
// nothing of what they are called with.
#include "llvm/Support/raw_ostream.h"

namespace {

constexpr int kErrorNotSupported = 801; // hipErrorNotSupported

int refuse(const char *name, const char *what) {
  llvm::errs() << "rubia emulator: " << name << ": " << what << " are not supported\n";
  return kErrorNotSupported;
}

} // namespace

#define UNSUPPORTED(NAME, WHAT)                                                                    \
  extern "C" __attribute__((visibility("default"))) int unsupported_##NAME() __asm__(#NAME);       \
  extern "C" int unsupported_##NAME() { return refuse(#NAME, WHAT); }
#include "emulator/hip/Unsupported.def"
