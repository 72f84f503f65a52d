// SPDX-License-Identifier: Apache-2.0
#include "diff/Images.h"
#include "fatbin/Container.h"

using namespace llvm;

namespace rubia::capsule {

// A driver takes machine code of the device's major version that is not for a later minor one, and
// PTX only where there is none.
static bool hasMachineCode(ArrayRef<fatbin::Image> images, unsigned capability) {
  for (const fatbin::Image &image : images)
    if (image.kind == fatbin::ImageKind::Cubin && image.sm / 10 == capability / 10 &&
        image.sm <= capability)
      return true;
  return false;
}

Expected<ReplayImage> replayImage(const Capsule &capsule, const Launch &launch) {
  if (launch.images.size() != 1)
    return createStringError("its module is linked of several translation units");
  Expected<std::vector<uint8_t>> bytes = capsule.image(launch.images.front());
  if (!bytes)
    return bytes.takeError();
  Expected<std::vector<fatbin::Image>> images = fatbin::readImages(*bytes);
  if (!images)
    return images.takeError();
  const unsigned capability = capsule.environment.computeCapability;
  const fatbin::Image *chosen = fatbin::selectPtx(*images, capability);
  if (!chosen)
    return createStringError("its module has no PTX: " + fatbin::describe(*images));
  Expected<std::string> text = fatbin::payload(*chosen);
  if (!text)
    return text.takeError();
  ReplayImage out;
  out.ptx = std::move(*text);
  out.isOtherImage = !capsule.environment.isJitForced && hasMachineCode(*images, capability);
  return out;
}

} // namespace rubia::capsule
