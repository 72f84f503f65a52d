// SPDX-License-Identifier: Apache-2.0
// What is not there says so. The functions are defined without HIP's declarations: they take
// nothing of what they are called with.
#include "emulator/hip/Api.h"

hipError_t rubia::emulator::hip::refuse(const char *function, const char *what) {
  complain(llvm::Twine(function) + ": " + what + " are not supported");
  return result(hipErrorNotSupported);
}

#define UNSUPPORTED(NAME, WHAT)                                                                    \
  extern "C" __attribute__((visibility("default"))) int unsupported_##NAME() __asm__(#NAME);       \
  extern "C" int unsupported_##NAME() { return int(rubia::emulator::hip::refuse(#NAME, WHAT)); }
#include "emulator/hip/api/Unsupported.def"

// hiprtc's results are numbers of its own: what is not supported has this one, a result that
// headers do not name.
HIP_EXPORT const char *hiprtcGetErrorString(int result) {
  return result ? "rubia emulator: hiprtc is not supported" : "HIPRTC_SUCCESS";
}
