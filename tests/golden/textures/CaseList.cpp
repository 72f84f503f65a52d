// SPDX-License-Identifier: Apache-2.0
#include "tests/golden/textures/CaseList.h"

namespace rubia::golden {
namespace {

const char *modeName(int mode) {
  constexpr const char *kNames[] = {"wrap", "clamp", "mirror", "border"};
  return kNames[mode];
}

TextureCase wide(Shape shape, int format, unsigned channels) {
  TextureCase c = base(shape);
  c.format = format;
  c.channels = channels;
  c.filter = 1;
  c.isWide = true;
  return c;
}

} // namespace

TextureCase base(Shape shape) {
  TextureCase c;
  c.shape = shape;
  c.width = 13;
  c.height = dimensionsOf(shape) >= 2 ? 8 : 0;
  c.depth = shape == Shape::D3 ? 5 : isLayered(shape) ? 3 : 0;
  if (shape == Shape::Linear)
    c.width = 100;
  if (shape == Shape::Cube || shape == Shape::LayeredCube) {
    c.width = c.height = 8;
    c.depth = shape == Shape::Cube ? 6 : 12;
  }
  return c;
}

void CaseList::add(TextureCase c, const std::string &what) {
  const Format &format = formatOf(c.format);
  constexpr const char *kAsks[] = {"", ".fetch", ".level", ".grad", ".gather", ".query"};
  c.name = std::string(nameOf(c.shape)) + kAsks[int(c.ask)] + "." + format.name + "x" +
           std::to_string(c.channels) + (c.filter ? ".linear" : ".point") + "." +
           modeName(c.addressX);
  if (c.flags & 2)
    c.name += ".normalized";
  if (c.flags & 1)
    c.name += ".integers";
  if (c.flags & 16)
    c.name += ".srgb";
  if (c.offsets)
    c.name += ".offsets" + std::to_string(c.offsets);
  c.name += what;
  all.push_back(std::move(c));
}

// Sums of numbers that are large and small.
std::vector<TextureCase> sumCases() {
  CaseList list;
  for (int format : {0x10, 0x20}) {
    for (Shape shape : {Shape::D1, Shape::D2, Shape::D3, Shape::Layered2, Shape::Cube})
      for (unsigned channels : {1u, 4u})
        for (int mode : {1, 3}) {
          if (mode == 3 && shape != Shape::D2)
            continue;
          TextureCase c = wide(shape, format, channels);
          c.addressX = c.addressY = mode;
          c.flags = shape == Shape::Cube ? 0x42 : 0;
          list.add(c, ".wide");
        }
    for (Shape shape : {Shape::D2, Shape::D3}) {
      TextureCase c = wide(shape, format, 4);
      c.ask = Ask::Level;
      c.mipmapFilter = 1;
      c.flags = 2;
      c.levels = 3;
      c.maxLevel = 2;
      list.add(c, ".wide");
    }
  }
  // What a filter makes of what it does not blend.
  for (int format : {8, 0x20})
    for (Ask ask : {Ask::Integer, Ask::Gather, Ask::Float})
      for (unsigned anisotropy : {0u, 4u}) {
        TextureCase c = wide(Shape::D2, format, 4);
        c.ask = ask;
        c.filter = ask != Ask::Float;
        c.maxAnisotropy = anisotropy;
        list.add(c, ".wide.aniso" + std::to_string(anisotropy));
      }
  for (int mipmapFilter : {0, 1}) {
    TextureCase c = wide(Shape::D2, 8, 4);
    c.filter = 0;
    c.mipmapFilter = mipmapFilter;
    c.levels = 1;
    list.add(c, mipmapFilter ? ".wide.mip" : ".wide.nearest");
  }
  return list.all;
}

} // namespace rubia::golden
