// SPDX-License-Identifier: Apache-2.0
// The textures and surfaces of a recorded launch as the interpreter of reference/ takes them.
#pragma once

#include "diff/Capsule.h"
#include "reference/Textures.h"

namespace rubia::tools {

/// Bytes of regions, in the order of Launch::memory or Launch::arrays.
using RegionContents = std::vector<std::vector<uint8_t>>;

/// Texels lie in the contents, which must outlive the result. An error names what is not supported.
llvm::Expected<reference::TextureObject> textureOf(const capsule::Launch &launch,
                                                   const capsule::Texture &texture,
                                                   RegionContents &memory, RegionContents &arrays);

} // namespace rubia::tools
