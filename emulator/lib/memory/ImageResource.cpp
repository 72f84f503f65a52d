// SPDX-License-Identifier: Apache-2.0
#include "emulator/lib/memory/ImageResource.h"

namespace rubia::emulator {
namespace {

bool isLayered(ImageType type) {
  return type == ImageType::Cube || type == ImageType::OneDimensionLayers ||
         type == ImageType::TwoDimensionLayers;
}

/// Whether an instruction of some dimensions may use an image. One without layers takes the first.
bool fits(ImageDimensions dimensions, ImageType type) {
  switch (dimensions) {
  case ImageDimensions::One:
    return type == ImageType::OneDimension || type == ImageType::OneDimensionLayers;
  case ImageDimensions::Two:
    return type == ImageType::TwoDimensions || type == ImageType::TwoDimensionLayers ||
           type == ImageType::Cube;
  case ImageDimensions::Three:
    return type == ImageType::ThreeDimensions;
  case ImageDimensions::Cube:
    return type == ImageType::Cube;
  case ImageDimensions::OneLayers:
    return type == ImageType::OneDimensionLayers;
  case ImageDimensions::TwoLayers:
    return type == ImageType::TwoDimensionLayers || type == ImageType::Cube;
  case ImageDimensions::TwoSamples:
  case ImageDimensions::TwoSamplesLayers:
    return false;
  }
  return false;
}

/// Since RDNA 2 an image of rows has a pitch of its own, where no layers need the field.
bool hasPitch(const targets::Target &target, ImageType type) {
  return (target.isa >= 11 || target.version.minor >= 3) &&
         (type == ImageType::OneDimension || type == ImageType::TwoDimensions);
}

} // namespace

ImageResource ImageResource::read(const Wave &w, const ImageOperation &op) {
  const targets::Target &target = *w.group->target;
  const auto fields = ImageDescriptor::read(&w.scalars[op.resource()], target.isa);
  ImageResource image;
  image.type = ImageType(fields.type);
  const std::optional<ImageFormat> format = imageFormat(target.isa, fields.format);
  if (!format)
    image.problem = ImageProblem::Format;
  else if (fields.tiling != 0 || fields.isCompressed)
    image.problem = ImageProblem::Tiling;
  else if (!fits(op.dimensions(), image.type))
    image.problem = ImageProblem::Dimensions;
  else if (fields.baseLevel > fields.lastLevel || fields.lastLevel > fields.maxLevel)
    image.problem = ImageProblem::Levels;
  else if (fields.address == 0)
    image.problem = ImageProblem::Address;
  else if (isLayered(image.type) &&
           fields.depth < fields.firstLayer + (image.type == ImageType::Cube ? 5 : 0))
    image.problem = ImageProblem::Layers;
  if (image.problem != ImageProblem::None)
    return image;
  image.format = *format;
  image.layout = {image.format.bytes(), fields.width + 1, fields.height + 1, fields.maxLevel + 1};
  image.base = fields.address << 8;
  image.baseLevel = fields.baseLevel;
  image.lastLevel = fields.lastLevel;
  image.minLod = float(fields.minLod) / 256;
  std::copy(std::begin(fields.select), std::end(fields.select), image.select);
  if (image.type == ImageType::ThreeDimensions) {
    image.depth = fields.depth + 1;
  } else if (isLayered(image.type)) {
    image.firstLayer = fields.firstLayer;
    image.layers = fields.depth - fields.firstLayer + 1;
  } else if (hasPitch(target, image.type) && fields.depth > fields.width) {
    image.layout.pitch = uint64_t(fields.depth + 1) * image.layout.texelBytes;
  }
  return image;
}

ImageSampler ImageSampler::read(const Wave &w, const ImageOperation &op,
                                const ImageResource &image) {
  ImageSampler sampler;
  SamplerDescriptor &fields = sampler.fields;
  fields = SamplerDescriptor::read(&w.scalars[op.sampler()], w.group->target->isa);
  sampler.minLod = float(fields.minLod) / 256;
  sampler.maxLod = float(fields.maxLod) / 256;
  sampler.lodBias = float(int32_t(fields.lodBias << 18) >> 18) / 256;
  sampler.isUnnormalized = fields.isUnnormalized || op.has(kImageUnnormalized);
  const auto mag = ImageFilter(fields.magFilter), min = ImageFilter(fields.minFilter);
  const bool isAnisotropic = mag >= ImageFilter::AnisotropicPoint ||
                             min >= ImageFilter::AnisotropicPoint ||
                             LevelFilter(fields.levelFilter) == LevelFilter::AnisotropicPoint;
  bool usesBorder = false, usesHalf = false;
  for (unsigned i = 0; i < op.extents(); ++i) {
    const auto clamp = ImageClamp(fields.clamp[i]);
    usesHalf |= clamp == ImageClamp::HalfBorder || clamp == ImageClamp::MirrorOnceHalfBorder;
    usesBorder |= clamp == ImageClamp::Border || clamp == ImageClamp::MirrorOnceBorder;
  }
  if (usesHalf)
    sampler.problem = ImageProblem::HalfBorder;
  else if (isAnisotropic)
    sampler.problem = ImageProblem::Anisotropy;
  else if (fields.filterMode)
    sampler.problem = ImageProblem::FilterMode;
  else if (fields.forcesLinear || fields.skipsLinear)
    sampler.problem = ImageProblem::StandardRgb;
  else if (usesBorder && ImageBorder(fields.border) == ImageBorder::FromTable)
    sampler.problem = ImageProblem::BorderTable;
  else if (image.format.isInteger() &&
           (mag != ImageFilter::Point || min != ImageFilter::Point ||
            (LevelFilter(fields.levelFilter) == LevelFilter::Linear && image.levels() > 1)))
    sampler.problem = ImageProblem::IntegerFilter;
  return sampler;
}

uint64_t texelAt(const ImageResource &image, const ImageOperation &op,
                 const ImageAddress &address) {
  const uint32_t level = op.has(kImageLevel) ? address.integerLevel : 0;
  if (level >= image.levels() || (op.hasLayers() && address.layerIndex >= image.layers))
    return 0;
  const unsigned extents = op.extents();
  for (unsigned i = 0; i < extents; ++i)
    if (address.index[i] >= image.extent(i, level))
      return 0;
  return image.address(level, address.index[0], extents > 1 ? address.index[1] : 0,
                       extents > 2      ? address.index[2]
                       : op.hasLayers() ? address.layerIndex
                                        : 0);
}

} // namespace rubia::emulator
