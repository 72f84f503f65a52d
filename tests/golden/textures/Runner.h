// SPDX-License-Identifier: Apache-2.0
// Runs the cases through the CUDA driver API: NVIDIA's on an NVIDIA machine, Rubia's elsewhere.
// Nothing but the C++ library is needed, so that the recorder runs on any machine.
#pragma once

#include "runtime/cuda/texture/Descriptors.h"
#include "tests/golden/textures/Cases.h"
#include "tests/golden/textures/SurfaceCases.h"

namespace rubia::golden {

/// What a case gave: the status of what failed, or four words for each thread. Of a surface: the
/// bytes of its array.
struct TextureOutcome {
  int status = 0;
  std::vector<uint32_t> words;
};

class TextureRunner {
public:
  /// Opens the library, makes a context on its first device and loads the kernels. Throws
  /// std::runtime_error.
  explicit TextureRunner(const std::string &library);
  /// The first `count` threads only.
  TextureOutcome run(const TextureCase &c, unsigned count = kTextureCoordinates);

  TextureOutcome run(const SurfaceCase &c);

  /// A function of the library; nullptr: there is none.
  void *symbol(const char *name) const;
  template <class... Arguments> int call(const char *name, Arguments... arguments) const {
    void *address = symbol(name);
    return address ? reinterpret_cast<int (*)(Arguments...)>(address)(arguments...) : 801;
  }
  uint64_t upload(const void *data, size_t bytes) const;

private:
  int sample(const TextureCase &c, unsigned count, std::vector<uint32_t> &words);
  int store(const SurfaceCase &c, void *array, std::vector<uint32_t> &words);
  int makeResource(const TextureCase &c, runtime::cuda::ResourceDescriptor &resource);
  int fill(const TextureCase &c, void *array, unsigned level);

  void *handle;
  void *module = nullptr;
  std::vector<uint64_t> memory; // of the case
};

} // namespace rubia::golden
