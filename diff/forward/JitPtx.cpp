// SPDX-License-Identifier: Apache-2.0
// What the recorder does about modules: with jit-ptx, the driver is to compile PTX for its device.
#include "diff/forward/LowerTarget.h"
#include "diff/forward/Recorder.h"
#include <unistd.h>

namespace rubia::forward {

static LoweredPtx lowerForDevice(const void *given) {
  int device = 0, major = 0, minor = 0, version = 0;
  (void)DRIVER(cuCtxGetDevice, int *)(&device); // without a context: the first
  if (DRIVER(cuDeviceGetAttribute, int *, int, int)(&major, 75, device) ||
      DRIVER(cuDeviceGetAttribute, int *, int, int)(&minor, 76, device) ||
      DRIVER(cuDriverGetVersion, int *)(&version))
    return {};
  return lowerTarget(given, unsigned(major * 10 + minor), version);
}

char *Recorder::loweredFor(const void *given) const {
  if (!given || !options.jitPtx || !isActive || owner != getpid())
    return nullptr;
  const LoweredPtx lowered = lowerForDevice(given);
  if (lowered.problem)
    fprintf(stderr, "rubia capture: a module has no PTX for this device, and %s\n",
            lowered.problem);
  return lowered.text;
}

bool Recorder::isFileForNewer(const char *path, Bytes &image) const {
  if (!options.jitPtx || !isActive || owner != getpid())
    return false;
  readFile(path, capsule::kMaxImageBytes, image);
  if (image.size() < 64 || image.size() > capsule::kMaxImageBytes)
    return false;
  image.push(0);
  return lowerForDevice(image.begin()).text;
}

void Recorder::tellRefused(const char *text, int status) const {
  fprintf(stderr,
          "rubia capture: the PTX of these kernels is for a newer device, and cannot be lowered to "
          "this one's (status %d):\n",
          status);
  readKernelNames(
      text,
      [](void *, const char *name, size_t size) {
        fprintf(stderr, "rubia capture:   %.*s\n", int(size), name);
      },
      nullptr);
}

void Recorder::tellMissing(const char *kernel, int status) const {
  if (kernel && options.jitPtx && isActive && owner == getpid())
    fprintf(stderr,
            "rubia capture: kernel %s cannot be had with --jit-ptx (status %d): its module has no "
            "PTX that this device takes\n",
            kernel, status);
}

int Recorder::imageLoaded(Handle module, bool isLibrary, const void *image) {
  Locked()->images.loaded(module, isLibrary, image);
  return kSuccess;
}

} // namespace rubia::forward
