// SPDX-License-Identifier: Apache-2.0
// Why an image instruction cannot use its resource or sampler: the detail of
// FaultKind::ImageResource, of which FaultRecord::address is the number.
#pragma once

#include <cstdint>

namespace rubia::emulator {

enum class ImageProblem : uint8_t {
  None,
  Format,
  Tiling,
  Dimensions,
  Levels,
  Layers,
  Address,
  Mask,
  HalfBorder,
  Anisotropy,
  FilterMode,
  StandardRgb,
  BorderTable,
  IntegerFilter,
};

inline const char *textOf(ImageProblem problem) {
  switch (problem) {
  case ImageProblem::None:
    break;
  case ImageProblem::Format:
    return "the format of the resource has no meaning for this instruction, or is not supported";
  case ImageProblem::Tiling:
    return "images of tiles and compressed ones are not supported";
  case ImageProblem::Dimensions:
    return "the resource has other dimensions than the instruction";
  case ImageProblem::Levels:
    return "the resource has levels that its image lacks";
  case ImageProblem::Layers:
    return "the resource has no layers, or not all faces of a cube";
  case ImageProblem::Address:
    return "the resource has no address";
  case ImageProblem::Mask:
    return "the mask of the data does not fit the texels";
  case ImageProblem::HalfBorder:
    return "address modes with half of the border are not supported";
  case ImageProblem::Anisotropy:
    return "anisotropic filters are not supported";
  case ImageProblem::FilterMode:
    return "filters for the least or the greatest texel are not supported";
  case ImageProblem::StandardRgb:
    return "samplers that change sRGB are not supported";
  case ImageProblem::BorderTable:
    return "border colours from a table are not supported";
  case ImageProblem::IntegerFilter:
    return "a linear filter of integers";
  }
  return "";
}

} // namespace rubia::emulator
