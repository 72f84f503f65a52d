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

static std::string nameOfUnit(size_t number, ArrayRef<Image> images) {
  for (const Image &image : images)
    if (!image.identifier.empty())
      return image.identifier.str();
  return "unit " + std::to_string(number);
}

ModuleChoice chooseModule(ArrayRef<RawImage> images) {
  ModuleChoice result;
  std::vector<std::string> names;
  std::vector<ArrayRef<uint8_t>> units;
  size_t number = 0; // of a translation unit, from 1
  for (const RawImage &image : images) {
    number += image.relocatable;
    Expected<std::vector<Image>> parts = readImages(image.bytes);
    if (!parts) {
      result.kind = ModuleChoice::Kind::Malformed;
      result.text = toString(parts.takeError());
      if (image.relocatable)
        result.leftOut.push_back(nameOfUnit(number, {}) + ": " + result.text);
      continue;
    }
    const Image *ptx = selectPtx(*parts, 0);
    if (!ptx) {
      if (result.kind == ModuleChoice::Kind::NoPtx)
        result.text = describe(*parts);
      if (image.relocatable && !parts->empty())
        result.leftOut.push_back(nameOfUnit(number, *parts) + ": " + describe(*parts));
      continue;
    }
    if (!image.relocatable && units.empty())
      return {ModuleChoice::Kind::Chosen, image.bytes, {}, "", {}}; // linked already
    names.push_back(nameOfUnit(number, *ptx));
    units.push_back(image.bytes);
  }
  if (units.empty())
    return result;
  // A unit that lacks others is a bundle too: what it names of theirs is then an error.
  if (units.size() == 1 && result.leftOut.empty())
    return {ModuleChoice::Kind::Chosen, units.front(), {}, "", {}};
  std::vector<BundlePart> parts;
  parts.reserve(units.size());
  for (size_t i = 0; i < units.size(); ++i)
    parts.push_back({names[i], units[i]});
  return {ModuleChoice::Kind::Linked, {}, makeBundle(parts), "", std::move(result.leftOut)};
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
