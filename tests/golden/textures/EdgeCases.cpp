// SPDX-License-Identifier: Apache-2.0
#include "tests/golden/textures/CaseList.h"

namespace rubia::golden {
namespace {

struct Edges : CaseList {
  static TextureCase edge(Shape shape, int filter, unsigned flags) {
    TextureCase c = base(shape);
    c.hasEdges = true;
    c.filter = filter;
    c.flags = flags;
    return c;
  }
  static void addLevels(TextureCase &c, unsigned levels) {
    c.levels = levels;
    c.maxLevel = float(levels - 1);
    c.mipmapFilter = 1;
  }

  void places() {
    for (Shape shape : {Shape::D1, Shape::D2, Shape::D3, Shape::Layered2, Shape::Pitched})
      for (int filter : {0, 1})
        for (int mode : {0, 1, 2, 3})
          for (unsigned flags : {0u, 2u}) {
            if (!flags && mode != 1 && mode != 3)
              continue;
            TextureCase c = edge(shape, filter, flags);
            c.addressX = c.addressY = c.addressZ = mode;
            add(c, ".edges");
          }
  }

  void placesOnFaces() {
    for (Shape shape : {Shape::Cube, Shape::LayeredCube})
      for (int filter : {0, 1})
        for (unsigned size : {5u, 7u, 11u, 24u})
          for (unsigned flags : {2u, 0x42u}) {
            TextureCase c = edge(shape, filter, flags);
            c.width = c.height = size;
            add(c, (flags & 0x40 ? ".seamless.edges" : ".edges") + std::to_string(size));
          }
  }

  void infinities() {
    for (Shape shape : {Shape::D1, Shape::D2, Shape::D3, Shape::Layered2, Shape::Cube})
      for (int format : {0x10, 0x20})
        for (unsigned flags : {2u, 0x42u})
          for (bool hasLevels : {false, true}) {
            if (flags & 0x40 && shape != Shape::Cube)
              continue;
            TextureCase c = base(shape);
            c.format = format;
            c.filter = 1;
            c.flags = flags;
            c.hasInfinities = true;
            if (hasLevels) {
              c.ask = Ask::Level;
              addLevels(c, 3);
            }
            add(c, flags & 0x40 ? ".seamless.infinite" : ".infinite");
          }
  }

  // The curve of sRGB: not of the last of two channels, and of gathers and borders too.
  void curves() {
    for (unsigned channels : {1u, 2u, 4u})
      for (int mode : {1, 3}) {
        for (unsigned component = 0; component < 4; ++component) {
          TextureCase c = edge(Shape::D2, 1, 0x12);
          c.ask = Ask::Gather;
          c.format = 1;
          c.channels = channels;
          c.component = component;
          c.addressX = c.addressY = mode;
          add(c, "." + std::to_string(component));
        }
        for (Shape shape : {Shape::D1, Shape::D2, Shape::Pitched}) {
          TextureCase c = edge(shape, 0, 0x12);
          c.format = 1;
          c.channels = channels;
          c.addressX = c.addressY = mode;
          add(c, ".curve");
        }
      }
  }

  void gradients() {
    for (Shape shape : {Shape::D1, Shape::D2, Shape::D3, Shape::Layered2, Shape::Cube})
      for (unsigned anisotropy : {0u, 4u, 16u})
        for (int filter : {0, 1})
          for (int mipmapFilter : {0, 1}) {
            TextureCase c = edge(shape, filter, 2);
            c.ask = Ask::Gradient;
            c.maxAnisotropy = anisotropy;
            c.scale = 2;
            if (shape == Shape::Cube)
              c.width = c.height = 21;
            addLevels(c, 3);
            c.mipmapFilter = mipmapFilter;
            add(c, (mipmapFilter ? ".mip.edges.aniso" : ".nearest.edges.aniso") +
                       std::to_string(anisotropy));
          }
    for (Shape shape : {Shape::D1, Shape::D2, Shape::D3}) // without levels
      for (unsigned anisotropy : {4u, 16u})
        for (unsigned flags : {0u, 2u}) {
          TextureCase c = edge(shape, 0, flags);
          c.ask = Ask::Gradient;
          c.maxAnisotropy = anisotropy;
          c.scale = flags ? 2 : 2 * c.width;
          add(c, ".edges.aniso" + std::to_string(anisotropy));
        }
  }

  // Gradients of views, and views behind the last level.
  void views() {
    const struct {
      unsigned first, last;
    } kLevels[] = {{1, 3}, {2, 3}, {2, 5}, {4, 4}, {9, 12}};
    for (Shape shape : {Shape::D1, Shape::D2, Shape::D3, Shape::Cube})
      for (const auto &levels : kLevels)
        for (Ask ask : {Ask::Gradient, Ask::Query}) {
          TextureCase c = edge(shape, 1, 2);
          c.ask = ask;
          c.width = 59;
          c.height = c.height ? 59 : 0;
          c.scale = 4;
          addLevels(c, 4);
          c.view.isThere = true;
          c.view.firstLevel = levels.first;
          c.view.lastLevel = levels.last;
          add(c, ".view.levels" + std::to_string(levels.first) + "-" + std::to_string(levels.last));
        }
  }
};

} // namespace

std::vector<TextureCase> edgeCases() {
  Edges list;
  list.places();
  list.placesOnFaces();
  list.infinities();
  list.curves();
  list.gradients();
  list.views();
  return list.all;
}

} // namespace rubia::golden
