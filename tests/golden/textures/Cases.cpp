// SPDX-License-Identifier: Apache-2.0
#include "tests/golden/textures/CaseList.h"

namespace rubia::golden {

const char *nameOf(Shape shape) {
  constexpr const char *kNames[] = {"linear", "pitched", "1d",   "2d",   "3d",
                                    "a1d",    "a2d",     "cube", "acube"};
  return kNames[int(shape)];
}

namespace {

// ---------- The list

constexpr unsigned kExactLevels = 0x20; // CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION

struct List : CaseList {
  void fetches() {
    for (const Format &format : kFormats)
      for (unsigned channels : {1u, 2u, 4u})
        for (unsigned flags : {0u, 1u}) {
          if (flags && (format.isFloat || format.bytes == 4))
            continue;
          TextureCase c = base(Shape::Linear);
          c.ask = Ask::Integer;
          c.format = format.code;
          c.channels = channels;
          c.flags = flags;
          add(c);
        }
    for (Shape shape :
         {Shape::D1, Shape::D2, Shape::D3, Shape::Layered1, Shape::Layered2, Shape::Pitched})
      for (int mode : {0, 1, 2, 3})
        for (int format : {3, 0x20}) {
          TextureCase c = base(shape);
          c.ask = Ask::Integer;
          c.format = format;
          c.flags = format == 3;
          c.addressX = c.addressY = c.addressZ = mode;
          add(c);
        }
  }

  // Every format by one mode, and every mode by one format.
  void filters() {
    for (Shape shape :
         {Shape::D1, Shape::D2, Shape::D3, Shape::Layered1, Shape::Layered2, Shape::Pitched})
      for (int filter : {0, 1})
        for (int mode : {0, 1, 2, 3})
          for (unsigned normalized : {0u, 2u}) {
            TextureCase c = base(shape);
            c.filter = filter;
            c.addressX = c.addressY = c.addressZ = mode;
            c.flags = normalized;
            add(c);
          }
    for (const Format &format : kFormats)
      for (unsigned channels : {1u, 2u, 4u})
        for (int filter : {0, 1})
          for (int mode : {1, 3}) {
            TextureCase c = base(Shape::D2);
            c.format = format.code;
            c.channels = channels;
            c.filter = filter;
            c.addressX = c.addressY = mode;
            if (filter == 0 && mode == 3 && !format.isFloat && format.bytes < 4)
              c.flags = 1;
            if ((filter == 1 && !format.isFloat && format.bytes == 4) ||
                (format.code == 0x20 && channels == 1)) // has been above
              continue;
            add(c);
          }
    for (const Format &format : kFormats)
      for (Shape shape : {Shape::D1, Shape::D3})
        for (int filter : {0, 1}) {
          TextureCase c = base(shape);
          c.format = format.code;
          c.filter = filter;
          c.flags = 2;
          if (filter == 1 && !format.isFloat && format.bytes == 4)
            continue;
          c.addressX = 0;
          add(c, ".mixed");
        }
    // Integers with a linear filter, which cannot be.
    for (int format : {1, 3, 10}) {
      TextureCase c = base(Shape::D2);
      c.format = format;
      c.filter = 1;
      c.flags = 1;
      add(c, ".refused");
    }
    for (unsigned channels : {1u, 4u})
      for (int filter : {0, 1}) {
        TextureCase c = base(Shape::D2);
        c.format = 1;
        c.channels = channels;
        c.filter = filter;
        c.flags = 16;
        add(c);
      }
    // Modes that differ by dimension.
    for (int filter : {0, 1}) {
      TextureCase c = base(Shape::D3);
      c.flags = 2;
      c.filter = filter;
      c.addressX = 3;
      c.addressY = 0;
      c.addressZ = 2;
      add(c, ".by.dimension");
    }
    // Sizes of other kinds: powers of two, one texel, large ones.
    const unsigned kSizes[][3] = {{1, 0, 0},     {4096, 0, 0}, {1, 1, 0},    {64, 64, 0},
                                  {300, 200, 0}, {2, 2, 2},    {16, 16, 16}, {37, 41, 23}};
    for (const auto &size : kSizes)
      for (unsigned normalized : {0u, 2u}) {
        TextureCase c = base(size[2] ? Shape::D3 : size[1] ? Shape::D2 : Shape::D1);
        c.width = size[0];
        c.height = size[1];
        c.depth = size[2];
        c.filter = 1;
        c.flags = normalized;
        c.addressX = normalized ? 0 : 1;
        add(c, "." + std::to_string(size[0]) + "x" + std::to_string(size[1]) + "x" +
                   std::to_string(size[2]));
      }
  }

  void gathers() {
    for (unsigned component = 0; component < 4; ++component)
      for (int format : {1, 3, 9, 0x10, 0x20}) {
        TextureCase c = base(Shape::D2);
        c.ask = Ask::Gather;
        c.format = format;
        c.channels = component == 0 ? 1 : 4;
        c.component = component;
        c.filter = component & 1 && format != 3;
        c.flags = component & 2 ? 2 : 0;
        c.addressX = component == 3 ? 3 : 1;
        add(c, "." + std::to_string(component));
      }
  }

  void levels() {
    for (Shape shape : {Shape::D1, Shape::D2, Shape::D3, Shape::Layered2, Shape::Cube})
      for (int filter : {0, 1})
        for (int mipmapFilter : {0, 1}) {
          TextureCase c = base(shape);
          c.ask = Ask::Level;
          c.filter = filter;
          c.mipmapFilter = mipmapFilter;
          c.flags = 2;
          c.levels = 3;
          c.maxLevel = 2;
          add(c, mipmapFilter ? ".mip.linear" : ".mip.point");
        }
    const struct {
      float bias, least, most;
    } kBounds[] = {{0.75f, 0, 3}, {-0.5f, 0.25f, 1.5f}, {0, 1, 9}, {0, 2, 1}, {20, 0, 3}};
    for (const auto &bounds : kBounds)
      for (Ask ask : {Ask::Level, Ask::Float}) {
        TextureCase c = base(Shape::D2);
        c.width = c.height = 16;
        c.ask = ask;
        c.filter = c.mipmapFilter = 1;
        c.flags = 2;
        c.levels = 4;
        c.levelBias = bounds.bias;
        c.minLevel = bounds.least;
        c.maxLevel = bounds.most;
        add(c, ".bounds" + std::to_string(&bounds - kBounds));
      }
    for (int format : {1, 2, 8, 9, 0x10}) {
      TextureCase c = base(Shape::D2);
      c.ask = Ask::Level;
      c.format = format;
      c.filter = c.mipmapFilter = 1;
      c.flags = 2;
      c.levels = 3;
      c.maxLevel = 2;
      add(c, ".mip.linear");
    }
  }

  void gradients() {
    for (unsigned anisotropy : {0u, 1u, 2u, 4u, 8u, 16u})
      for (unsigned scale : {1u, 4u}) {
        TextureCase c = base(Shape::D2);
        c.width = c.height = 64;
        c.ask = Ask::Gradient;
        c.filter = c.mipmapFilter = 1;
        c.flags = 2 | 0x20;
        c.levels = 7;
        c.maxLevel = 6;
        c.maxAnisotropy = anisotropy;
        c.scale = scale;
        add(c, ".aniso" + std::to_string(anisotropy) + "." + std::to_string(scale));
      }
    for (Shape shape : {Shape::D1, Shape::D3, Shape::Layered2}) {
      TextureCase c = base(shape);
      c.ask = Ask::Gradient;
      c.filter = c.mipmapFilter = 1;
      c.flags = 2;
      c.levels = 3;
      c.maxLevel = 2;
      c.scale = 2;
      add(c, ".mip");
    }
  }

  void cubes() {
    for (Shape shape : {Shape::Cube, Shape::LayeredCube})
      for (int filter : {0, 1})
        for (unsigned flags : {0u, 2u, 0x42u})
          for (int format : {1, 0x20}) {
            TextureCase c = base(shape);
            c.filter = filter;
            c.flags = flags;
            c.format = format;
            add(c, flags & 0x40 ? ".seamless" : "");
          }
  }

  // Offsets of texels, by turns those of kOffsets.
  void offsets() {
    auto next = [this](TextureCase c) {
      c.offsets = 1 + all.size() % 2;
      add(c);
    };
    for (Shape shape :
         {Shape::D1, Shape::D2, Shape::D3, Shape::Layered1, Shape::Layered2, Shape::Pitched}) {
      for (int filter : {0, 1})
        for (int mode : {0, 1, 2, 3})
          for (unsigned normalized : {0u, 2u}) {
            if (!normalized && mode != 1 && mode != 3)
              continue;
            TextureCase c = base(shape);
            c.filter = filter;
            c.addressX = c.addressY = c.addressZ = mode;
            c.flags = normalized;
            next(c);
          }
      TextureCase c = base(shape);
      c.ask = Ask::Integer;
      next(c);
      c = base(shape);
      c.ask = Ask::Level;
      c.filter = c.mipmapFilter = 1;
      c.flags = 2;
      c.levels = 3;
      c.maxLevel = 2;
      if (shape != Shape::Pitched)
        next(c);
    }
    TextureCase linear = base(Shape::Linear);
    linear.ask = Ask::Integer;
    next(linear);
    for (int mode : {0, 1, 2, 3}) {
      TextureCase c = base(Shape::D2);
      c.ask = Ask::Gather;
      c.flags = 2;
      c.addressX = c.addressY = mode;
      next(c);
    }
    TextureCase grad = base(Shape::D2);
    grad.ask = Ask::Gradient;
    grad.filter = grad.mipmapFilter = 1;
    grad.flags = 2;
    grad.levels = 3;
    grad.maxLevel = 2;
    next(grad);
  }

  void moreGradients() {
    for (Shape shape : {Shape::Layered1, Shape::Cube, Shape::LayeredCube, Shape::D2, Shape::D3})
      for (int mipmapFilter : {0, 1}) {
        TextureCase c = base(shape);
        c.ask = Ask::Gradient;
        c.filter = 1;
        c.mipmapFilter = mipmapFilter;
        c.flags = 2;
        c.levels = 3;
        c.maxLevel = 2;
        c.scale = 2;
        add(c, mipmapFilter ? ".again" : ".nearest");
      }
    for (unsigned anisotropy : {3u, 4u, 16u}) {
      TextureCase c = base(Shape::D2);
      c.width = 128;
      c.height = 32;
      c.ask = Ask::Gradient;
      c.format = 1;
      c.filter = c.mipmapFilter = 1;
      c.flags = 2;
      c.levels = 6;
      c.maxLevel = 5;
      c.maxAnisotropy = anisotropy;
      c.scale = 8;
      c.addressX = c.addressY = 0;
      add(c, ".oblong" + std::to_string(anisotropy));
    }
    // Anisotropy where the instruction has no gradients.
    for (Ask ask : {Ask::Float, Ask::Level}) {
      TextureCase c = base(Shape::D2);
      c.ask = ask;
      c.filter = c.mipmapFilter = 1;
      c.flags = 2;
      c.levels = 3;
      c.maxLevel = 2;
      c.maxAnisotropy = 16;
      add(c, ".aniso16");
    }
  }

  void seams() {
    for (int mipmapFilter : {0, 1}) {
      TextureCase c = base(Shape::Cube);
      c.ask = Ask::Level;
      c.filter = 1;
      c.mipmapFilter = mipmapFilter;
      c.flags = 0x42;
      c.levels = 3;
      c.maxLevel = 2;
      add(c, mipmapFilter ? ".seamless.mip" : ".seamless.nearest");
    }
    for (int format : {2, 8, 0x10})
      for (unsigned channels : {1u, 4u}) {
        TextureCase c = base(Shape::Cube);
        c.format = format;
        c.channels = channels;
        c.filter = 1;
        c.flags = 0x42;
        add(c, ".seamless");
      }
    TextureCase one = base(Shape::Cube);
    one.width = one.height = 1;
    one.filter = 1;
    one.flags = 0x42;
    add(one, ".seamless.1x1");
  }

  void standardRgb() {
    for (int mode : {1, 3})
      for (Shape shape : {Shape::D1, Shape::D2, Shape::D3}) {
        TextureCase c = base(shape);
        c.format = 1;
        c.channels = shape == Shape::D3 ? 1 : 4;
        c.filter = c.mipmapFilter = 1;
        c.flags = 0x12;
        c.addressX = c.addressY = c.addressZ = mode;
        if (shape == Shape::D2) {
          c.ask = Ask::Level;
          c.levels = 3;
          c.maxLevel = 2;
        }
        add(c);
      }
  }

  // 32-bit integers, which a linear filter cannot blend.
  void wideIntegers() {
    for (Shape shape : {Shape::D1, Shape::D2, Shape::D3})
      for (int format : {3, 10})
        for (unsigned flags : {0u, 3u}) {
          TextureCase c = base(shape);
          c.format = format;
          c.filter = 1;
          c.flags = flags;
          add(c, ".wide");
        }
  }

  // Samples of ellipses on the faces of cube maps.
  void anisotropicCubes() {
    auto next = [this](Shape shape, unsigned anisotropy, auto change) {
      TextureCase c = base(shape);
      c.width = c.height = 64;
      c.ask = Ask::Gradient;
      c.filter = c.mipmapFilter = 1;
      c.flags = 2 | kExactLevels;
      c.levels = 7;
      c.maxLevel = 6;
      c.maxAnisotropy = anisotropy;
      c.scale = 4;
      change(c);
      add(c, std::string(c.mipmapFilter ? ".mip" : ".nearest") +
                 (c.flags & kExactLevels ? "" : ".rising") + (c.flags & 0x40 ? ".seamless" : "") +
                 ".aniso" + std::to_string(anisotropy));
    };
    for (Shape shape : {Shape::Cube, Shape::LayeredCube})
      for (unsigned anisotropy : {2u, 4u, 16u})
        for (int filter : {0, 1})
          next(shape, anisotropy, [&](TextureCase &c) { c.filter = filter; });
    for (unsigned anisotropy : {4u, 16u}) {
      next(Shape::Cube, anisotropy, [](TextureCase &c) { c.flags = 2; });
      next(Shape::Cube, anisotropy, [](TextureCase &c) { c.mipmapFilter = 0; });
      next(Shape::Cube, anisotropy, [](TextureCase &c) { c.flags |= 0x40; });
      next(Shape::Cube, anisotropy, [](TextureCase &c) { c.format = 1; });
    }
  }

  // A bias of the level of detail, with gradients.
  void biases() {
    for (float bias : {0.75f, -1.3f, 20.0f})
      for (unsigned anisotropy : {0u, 2u, 16u})
        for (int mipmapFilter : {0, 1}) {
          TextureCase c = base(Shape::D2);
          c.width = c.height = 64;
          c.ask = Ask::Gradient;
          c.filter = 1;
          c.mipmapFilter = mipmapFilter;
          c.flags = 2;
          c.levels = 7;
          c.minLevel = 0.25f;
          c.maxLevel = 5.5f;
          c.levelBias = bias;
          c.maxAnisotropy = anisotropy;
          c.scale = 4;
          add(c, (mipmapFilter ? ".mip.bias" : ".nearest.bias") + std::to_string(int(bias * 10)) +
                     ".aniso" + std::to_string(anisotropy));
        }
    for (Shape shape : {Shape::D1, Shape::D3, Shape::Cube})
      for (Ask ask : {Ask::Level, Ask::Gradient}) {
        TextureCase c = base(shape);
        c.ask = ask;
        c.filter = c.mipmapFilter = 1;
        c.flags = 2;
        c.levels = 3;
        c.maxLevel = 2;
        c.levelBias = 0.3f;
        add(c, ".bias3");
      }
  }

  // How weights between levels rise with each ratio of axes, and bounds that are no 256ths.
  void rises() {
    for (unsigned anisotropy : {2u, 3u, 4u, 5u, 6u, 7u, 8u, 9u, 10u, 12u, 14u, 16u}) {
      TextureCase c = base(Shape::D2);
      c.width = c.height = 64;
      c.ask = Ask::Gradient;
      c.filter = c.mipmapFilter = 1;
      c.flags = 2;
      c.levels = 7;
      c.maxLevel = 6;
      c.maxAnisotropy = anisotropy;
      c.scale = 4;
      add(c, ".rising" + std::to_string(anisotropy));
    }
    const struct {
      float bias, least, most;
    } kBounds[] = {{20, 0, 10}, {-20, 0, 10}, {0, 1.303f, 3.699f}, {0.303f, -1, 20}};
    for (const auto &bounds : kBounds) {
      TextureCase c = base(Shape::D1);
      c.width = 1024;
      c.ask = Ask::Level;
      c.filter = c.mipmapFilter = 1;
      c.flags = 2;
      c.levels = 11;
      c.levelBias = bounds.bias;
      c.minLevel = bounds.least;
      c.maxLevel = bounds.most;
      add(c, ".bounds" + std::to_string(&bounds - kBounds));
    }
  }

  // What a texture tells of its levels, those that there are not too.
  void queries() {
    for (Shape shape : {Shape::D1, Shape::D2, Shape::D3, Shape::Layered1, Shape::Layered2,
                        Shape::Cube, Shape::LayeredCube})
      for (unsigned levels : {0u, 1u, 3u}) {
        TextureCase c = base(shape);
        c.ask = Ask::Query;
        c.flags = 2;
        c.levels = levels;
        c.maxLevel = 9;
        add(c, ".levels" + std::to_string(levels));
      }
  }

  void addView(TextureCase c) {
    const View &view = c.view;
    c.view.isThere = true;
    std::string what = ".view";
    if (view.format)
      what += std::string(".") + formatOf(view.format).name + "x" + std::to_string(view.channels);
    if (c.levels)
      what += ".levels" + std::to_string(view.firstLevel) + "-" + std::to_string(view.lastLevel) +
              (view.hasSizesOfLevel ? ".its.sizes" : "");
    if (c.depth && c.shape != Shape::D3)
      what += ".layers" + std::to_string(view.firstLayer) + "-" + std::to_string(view.lastLayer);
    add(c, what);
  }

  void viewsOfLayers() {
    struct Layers {
      unsigned first, last;
    };
    for (Shape shape : {Shape::Layered1, Shape::Layered2}) {
      for (auto [first, last] :
           {Layers{0, 2}, {0, 0}, {1, 1}, {2, 2}, {1, 2}, {0, 1}, {2, 3}, {2, 1}})
        for (Ask ask : {Ask::Float, Ask::Query}) {
          TextureCase c = base(shape);
          c.ask = ask;
          c.view.firstLayer = first;
          c.view.lastLayer = last;
          addView(c);
        }
      for (Ask ask : {Ask::Integer, Ask::Level, Ask::Gradient}) {
        TextureCase c = base(shape);
        c.ask = ask;
        c.filter = ask != Ask::Integer;
        c.flags = c.filter ? 2 : 0;
        c.view.firstLayer = 1;
        c.view.lastLayer = 2;
        addView(c);
      }
    }
    for (auto [first, last] : {Layers{0, 0}, {0, 5}, {1, 1}, {3, 5}, {5, 5}, {0, 2}})
      for (Ask ask : {Ask::Float, Ask::Query}) {
        TextureCase c = base(Shape::Cube);
        c.ask = ask;
        c.view.firstLayer = first;
        c.view.lastLayer = last;
        addView(c);
      }
    for (auto [first, last] :
         {Layers{0, 0}, {0, 1}, {1, 1}, {0, 11}, {6, 11}, {0, 5}, {6, 6}, {3, 8}, {11, 11}})
      for (Ask ask : {Ask::Float, Ask::Query}) {
        TextureCase c = base(Shape::LayeredCube);
        c.ask = ask;
        c.view.firstLayer = first;
        c.view.lastLayer = last;
        c.statusHere = c.depth - first < 6 ? 801 : 0; // not one cube map is left
        addView(c);
      }
  }

  void viewsOfLevels() {
    const struct {
      unsigned first, last;
      bool hasSizesOfLevel;
    } kLevels[] = {{0, 2, false}, {1, 2, false}, {1, 2, true}, {1, 1, false},
                   {0, 1, false}, {2, 2, true},  {1, 3, false}};
    for (Shape shape : {Shape::D2, Shape::D3, Shape::Layered2, Shape::Cube, Shape::LayeredCube})
      for (const auto &levels : kLevels)
        for (Ask ask : {Ask::Level, Ask::Query}) {
          TextureCase c = base(shape);
          c.ask = ask;
          c.filter = c.mipmapFilter = 1;
          c.flags = 2;
          c.levels = 3;
          c.maxLevel = 2;
          c.view.firstLevel = levels.first;
          c.view.lastLevel = levels.last;
          c.view.hasSizesOfLevel = levels.hasSizesOfLevel;
          c.view.lastLayer = shape == Shape::D2 || shape == Shape::D3 ? 0 : c.depth - 1;
          addView(c);
          if (shape == Shape::Layered2 && !levels.hasSizesOfLevel) {
            c.view.firstLayer = 1;
            addView(c);
          }
        }
    const struct {
      int format;
      unsigned channels;
      int asFormat;
      unsigned asChannels;
    } kFormats[] = {{0x20, 1, 3, 1}, {0x20, 1, 1, 4}, {3, 1, 0x10, 2},    {1, 4, 9, 2},
                    {0x10, 4, 3, 2}, {9, 2, 8, 4},    {0x20, 4, 0x10, 4}, {1, 4, 1, 1}};
    for (const auto &formats : kFormats) {
      TextureCase c = base(Shape::D2);
      c.format = formats.format;
      c.channels = formats.channels;
      c.view.format = formats.asFormat;
      c.view.channels = formats.asChannels;
      addView(c);
    }
  }

  // What is rarely asked together.
  void corners() {
    for (unsigned anisotropy : {4u, 16u})
      for (int mipmapFilter : {0, 1})
        for (Shape shape :
             {Shape::D1, Shape::D2, Shape::D3, Shape::Layered1, Shape::Layered2, Shape::Cube}) {
          TextureCase c = base(shape);
          c.width = 64;
          c.height = c.height ? 64 : 0;
          c.depth = shape == Shape::D3 ? 64 : c.depth;
          c.ask = Ask::Gradient;
          c.filter = 1;
          c.mipmapFilter = mipmapFilter;
          c.flags = shape == Shape::Cube ? 0x42 : 2;
          c.levels = 7;
          c.maxLevel = 6;
          c.maxAnisotropy = anisotropy;
          c.scale = 4;
          add(c, (mipmapFilter ? ".mip.aniso" : ".nearest.aniso") + std::to_string(anisotropy));
          if (shape == Shape::Cube || !mipmapFilter)
            continue;
          c.addressX = 3;
          c.addressY = 2;
          c.addressZ = 0;
          c.offsets = 2;
          add(c, ".mip.aniso" + std::to_string(anisotropy) + ".mixed");
        }
    // Formats with anisotropy.
    for (int format : {1, 2, 8, 9, 0x10})
      for (unsigned flags : {0u, 1u, 0x10u}) {
        if (flags == 1 ? format == 0x10 : flags && format != 1)
          continue;
        TextureCase c = base(Shape::D2);
        c.width = c.height = 64;
        c.ask = Ask::Gradient;
        c.format = format;
        c.channels = 4;
        c.filter = !(flags & 1);
        c.mipmapFilter = 1;
        c.flags = 2 | flags;
        c.levels = 7;
        c.maxLevel = 6;
        c.maxAnisotropy = 16;
        c.scale = 4;
        add(c, ".aniso16");
      }
    // Gradients of textures without levels, and of coordinates that are no fractions.
    for (Shape shape : {Shape::D2, Shape::Pitched, Shape::Layered2, Shape::D3})
      for (unsigned anisotropy : {0u, 8u})
        for (unsigned flags : {0u, 2u}) {
          TextureCase c = base(shape);
          c.ask = Ask::Gradient;
          c.filter = 1;
          c.flags = flags;
          c.maxAnisotropy = anisotropy;
          c.scale = flags ? 2 : 2 * c.width;
          add(c, ".aniso" + std::to_string(anisotropy));
        }
    // Levels without fractions as coordinates, of layers and of integers.
    for (Shape shape :
         {Shape::D1, Shape::D2, Shape::D3, Shape::Layered1, Shape::Layered2, Shape::LayeredCube})
      for (unsigned flags : {0u, 2u})
        for (float bias : {0.0f, 0.6f}) {
          TextureCase c = base(shape);
          c.ask = Ask::Level;
          c.filter = c.mipmapFilter = 1;
          c.flags = flags;
          c.levels = 3;
          c.maxLevel = 2;
          c.levelBias = bias;
          add(c, ".corner" + std::to_string(int(bias * 10)));
        }
    for (int format : {1, 3, 10})
      for (int filter : {0, 1}) {
        TextureCase c = base(Shape::D2);
        c.ask = Ask::Level;
        c.format = format;
        c.filter = filter;
        c.mipmapFilter = 1;
        c.flags = format == 1 ? 3 : 2;
        c.levels = 3;
        c.maxLevel = 2;
        add(c, ".mip");
      }
    // Their address modes.
    for (Shape shape : {Shape::D1, Shape::D2, Shape::D3})
      for (int mode : {0, 2, 3}) {
        TextureCase c = base(shape);
        c.ask = Ask::Level;
        c.filter = c.mipmapFilter = 1;
        c.levels = 3;
        c.maxLevel = 2;
        c.addressX = c.addressY = c.addressZ = mode;
        add(c, ".corner");
      }
    for (unsigned first : {0u, 1u}) {
      TextureCase c = base(Shape::Cube);
      c.ask = Ask::Level;
      c.filter = c.mipmapFilter = 1;
      c.levels = 3;
      c.maxLevel = 2;
      c.view.firstLevel = first;
      c.view.lastLevel = 2;
      addView(c);
    }
    // The level of detail of three dimensions and of cube maps, finely.
    for (Shape shape : {Shape::D3, Shape::Cube})
      for (unsigned scale : {1u, 8u}) {
        TextureCase c = base(shape);
        c.width = c.height = 64;
        c.depth = shape == Shape::D3 ? 64 : 6;
        c.ask = Ask::Gradient;
        c.mipmapFilter = 1;
        c.flags = 2;
        c.levels = 7;
        c.maxLevel = 6;
        c.scale = scale;
        add(c, ".fine" + std::to_string(scale));
      }
  }
};

} // namespace

const std::vector<TextureCase> &textureCases(unsigned recording) {
  static const std::vector<TextureCase> first = [] {
    List list;
    list.fetches();
    list.filters();
    list.gathers();
    list.levels();
    list.gradients();
    list.cubes();
    return list.all;
  }();
  static const std::vector<TextureCase> second = [] {
    List list;
    list.offsets();
    list.moreGradients();
    list.seams();
    list.standardRgb();
    list.wideIntegers();
    return list.all;
  }();
  static const std::vector<TextureCase> third = [] {
    List list;
    list.anisotropicCubes();
    list.biases();
    list.rises();
    list.queries();
    return list.all;
  }();
  static const std::vector<TextureCase> fourth = [] {
    List list;
    list.viewsOfLayers();
    list.viewsOfLevels();
    list.corners();
    return list.all;
  }();
  static const std::vector<TextureCase> fifth = sumCases(), sixth = edgeCases();
  const std::vector<TextureCase> *lists[] = {&first, &second, &third, &fourth, &fifth, &sixth};
  return *lists[recording];
}

} // namespace rubia::golden
