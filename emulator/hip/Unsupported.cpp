// What is not there says so. The functions are defined without HIP's declarations: they take
// nothing of what they are called with.
#include "emulator/hip/Api.h"
#include "llvm/Support/raw_ostream.h"

namespace {

int refuse(const char *name, const char *what) {
  llvm::errs() << "rubia emulator: " << name << ": " << what << " are not supported\n";
  return int(rubia::emulator::result(hipErrorNotSupported));
}

} // namespace

#define UNSUPPORTED(NAME, WHAT)                                                                    \
  extern "C" __attribute__((visibility("default"))) int unsupported_##NAME() __asm__(#NAME);       \
  extern "C" int unsupported_##NAME() { return refuse(#NAME, WHAT); }
#include "emulator/hip/Unsupported.def"
