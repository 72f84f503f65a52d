// SPDX-License-Identifier: Apache-2.0
#include "diff/Images.h"
#include "fatbin/Container.h"
#include "fatbin/File.h"
#include "llvm/ADT/StringExtras.h"
#include <set>

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

Expected<size_t> Capsule::addImages(const std::string &file) {
  Expected<fatbin::ImageFile> images = fatbin::readFile(file);
  if (!images)
    return images.takeError();
  std::set<Digest> wanted;
  for (const Launch &launch : launches)
    wanted.insert(launch.images.begin(), launch.images.end());
  size_t found = 0;
  const auto offer = [&](ArrayRef<uint8_t> bytes) {
    const Digest digest = runtime::digestOf(bytes);
    if (wanted.contains(digest) && added.try_emplace(digest, bytes.begin(), bytes.end()).second)
      ++found;
  };
  const ArrayRef<uint8_t> all = images->bytes();
  offer(all);
  // A text is recorded without the zero at its end.
  offer(arrayRefFromStringRef(toStringRef(all).rtrim('\0')));
  std::set<uint64_t> containers;
  for (const fatbin::FileImage &image : images->images) {
    if (!containers.insert(image.container).second || image.container >= all.size())
      continue;
    const ArrayRef<uint8_t> rest = all.drop_front(image.container);
    if (!fatbin::startsWithContainer(rest)) {
      offer(image.image.stored);
      continue;
    }
    Expected<uint64_t> size = fatbin::containerSize(rest);
    if (!size)
      return size.takeError();
    offer(rest.take_front(*size));
  }
  return found;
}

} // namespace rubia::capsule
