// SPDX-License-Identifier: Apache-2.0
// Textures of given texels, and kernels that read them at one place.
#pragma once

#include "runtime/cuda/texture/Descriptors.h"
#include "tests/driver-sequences/Sequence.h"
#include <bit>
#include <limits>
#include <vector>

namespace sequences {

using rubia::runtime::cuda::Array3DDescriptor, rubia::runtime::cuda::ObjectHandle,
    rubia::runtime::cuda::ResourceDescriptor, rubia::runtime::cuda::TextureDescriptor,
    rubia::runtime::cuda::ViewDescriptor;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN(),
                kInfinity = std::numeric_limits<float>::infinity();
constexpr int kWrap = 0, kClamp = 1, kMirror = 2, kBorder = 3;
constexpr int kPoint = 0, kLinear = 1;

inline uint32_t bitsOf(float value) { return std::bit_cast<uint32_t>(value); }

/// Gradients of a cube map's direction, or of a place.
struct Gradients {
  float byX[3] = {0, 0, 0}, byY[3] = {0, 0, 0};
};

/// Kernels that execute one instruction each, and memory for what it gives.
struct TextureLab : Setup {
  Pointer kernels = nullptr, out = nullptr;
  TextureLab();
  /// Writes down what a kernel (TextureLab.cpp) reads there, as words.
  void sample(const char *what, const char *kernel, ObjectHandle object, float x, float y = 0,
              float z = 0, const Gradients &gradients = {});
};

/// An array whose texels are words that repeat; those of a further level are larger by 2^20 times
/// its number. So texels of f32 that are 1 tell their level by eighths.
struct Filled {
  ResourceDescriptor resource = {};
  Filled(const Array3DDescriptor &shape, const std::vector<uint32_t> &words, unsigned texelBytes,
         unsigned levels = 0);
  Filled(const Filled &) = delete;
  ~Filled();
};

/// How a texture is read.
struct Asked : TextureDescriptor {
  explicit Asked(int x, int y, int z, int filter = kPoint, unsigned flags = 0);
  Asked &withBorder(float first, float second, float third, float fourth);
  /// Levels up to `last`, with a filter between them.
  Asked &withLevels(int filter, float last, unsigned anisotropy = 0);
};

/// The caller destroys it.
ObjectHandle texture(const Filled &filled, const Asked &asked,
                     const ViewDescriptor *view = nullptr);

} // namespace sequences
