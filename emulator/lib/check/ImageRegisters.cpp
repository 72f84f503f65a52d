// SPDX-License-Identifier: Apache-2.0
#include "emulator/lib/check/ImageRegisters.h"
#include "emulator/lib/memory/ImageResource.h"

namespace rubia::emulator {

ImageRegisters::ImageRegisters(const Wave &wave, const MicroOp &op) {
  const ImageOperation view{op};
  for (unsigned i = 0; i < view.addressRegisters(); ++i)
    addresses.push_back(view.addressOffset(i));
  scalars.push_back({view.resource(), ImageDescriptor::kWords});
  const bool gathers = op.handler == gatherImage;
  if (gathers || op.handler == sampleImage)
    scalars.push_back({view.sampler(), SamplerDescriptor::kWords});
  const ImageResource image = ImageResource::read(wave, view);
  if (image.problem != ImageProblem::None)
    return; // the handler reports it
  channelBytes = image.format.channelBits / 8;
  const bool isAtomic = view.has(kImageAtomic), isStore = view.has(kImageStore);
  const bool ofHalves = view.has(kImageHalfData) && !isAtomic;
  if (isAtomic && view.has(kImageReturns))
    returnedRegisters = image.layout.texelBytes / 4;
  const unsigned gathered = unsigned(std::countr_zero(view.mask()));
  unsigned count = 0;
  for (unsigned i = 0; i < 4; ++i) {
    if (!gathers && !(view.mask() >> i & 1))
      continue;
    Part part;
    part.component = uint8_t(i);
    part.offset = op.result + (ofHalves ? count / 2 : count) * kBlockLanes;
    if (ofHalves) {
      part.shift = uint8_t(16 * (count % 2));
      part.mask = 0xffff;
    }
    ++count;
    if (isStore) {
      part.channel = uint8_t(i);
    } else if (!isAtomic) {
      const uint32_t select = image.select[gathers ? gathered : i];
      part.channel = uint8_t(select >= 4 ? select - 4 : kNoChannel);
    }
    if (part.channel >= image.format.channels)
      part.channel = kNoChannel;
    data.push_back(part);
  }
}

} // namespace rubia::emulator
