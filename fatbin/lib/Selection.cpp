// SPDX-License-Identifier: Apache-2.0
// Which image to take, and how to say what there is.

#include "fatbin/Container.h"
#include "llvm/ADT/StringExtras.h"
#include <map>
#include <set>

using namespace llvm;

namespace rubia::fatbin {

// True if `a` is to be taken rather than `b`. Newer is better up to the capability, older is better
// above it.
static bool isBetter(const Image &a, const Image &b, unsigned capability) {
  if (!a.variant != !b.variant)
    return !a.variant;
  bool aIsWithin = a.sm <= capability, bIsWithin = b.sm <= capability;
  if (aIsWithin != bIsWithin)
    return aIsWithin;
  return aIsWithin ? a.sm > b.sm : a.sm < b.sm;
}

const Image *selectPtx(ArrayRef<Image> images, unsigned capability) {
  const Image *best = nullptr;
  for (const Image &image : images)
    if (image.kind == ImageKind::Ptx && (!best || isBetter(image, *best, capability)))
      best = &image;
  return best;
}

ModuleChoice chooseModule(ArrayRef<RawImage> images) {
  ModuleChoice result;
  ArrayRef<uint8_t> first;
  size_t withPtx = 0;
  for (const RawImage &image : images) {
    Expected<std::vector<Image>> parts = readImages(image.bytes);
    if (!parts) {
      result.kind = ModuleChoice::Kind::Malformed;
      result.text = toString(parts.takeError());
      continue;
    }
    if (!selectPtx(*parts, 0)) {
      if (result.kind == ModuleChoice::Kind::NoPtx)
        result.text = describe(*parts);
      continue;
    }
    if (!image.relocatable && !withPtx)
      return {ModuleChoice::Kind::Chosen, image.bytes, ""}; // linked already
    if (!withPtx++)
      first = image.bytes;
  }
  if (withPtx == 1)
    return {ModuleChoice::Kind::Chosen, first, ""};
  if (withPtx > 1)
    return {ModuleChoice::Kind::NeedsLinking,
            {},
            "relocatable device code of " + std::to_string(withPtx) +
                " translation units: linking PTX is not supported"};
  return result;
}

static StringRef nameOf(ImageKind kind) {
  switch (kind) {
  case ImageKind::Ptx:
    return "PTX";
  case ImageKind::Cubin:
    return "SASS";
  case ImageKind::LtoIr:
    return "LTO-IR";
  case ImageKind::Other:
    return "images of unknown kind";
  }
  llvm_unreachable("ImageKind");
}

std::string describe(ArrayRef<Image> images) {
  std::map<ImageKind, std::set<std::pair<unsigned, char>>> targets;
  for (const Image &image : images)
    targets[image.kind].insert({image.sm, image.variant});
  std::vector<std::string> parts;
  for (const auto &[kind, ofKind] : targets) {
    std::vector<std::string> names;
    for (auto [sm, variant] : ofKind) {
      Image image;
      image.sm = sm;
      image.variant = variant;
      names.push_back(image.target());
    }
    parts.push_back((nameOf(kind) + " for " + join(names, ", ")).str());
  }
  if (parts.empty())
    return "no images";
  return (targets.contains(ImageKind::Ptx) ? "" : "no PTX: only ") + join(parts, "; ");
}

} // namespace rubia::fatbin
