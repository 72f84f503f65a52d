// SPDX-License-Identifier: Apache-2.0
// IMAGE_LOAD, IMAGE_STORE, IMAGE_SAMPLE, IMAGE_GATHER4, IMAGE_GET_RESINFO and their kin of RDNA
// (RDNA3 ISA "Vector Memory Image Instructions").
#include "emulator/lib/memory/ImageSquares.h"

namespace rubia::emulator {
namespace {

#ifdef __x86_64__
/// The handlers of vector instructions leave the upper halves of vector registers in use, and then
/// each instruction of SSE costs some 70 cycles. These handlers have hundreds.
[[gnu::target("avx")]] void cleanUpperHalves() { __builtin_ia32_vzeroupper(); }
void prepareHost() {
  static const bool hasAvx = __builtin_cpu_supports("avx");
  if (hasAvx)
    cleanUpperHalves();
}
#else
void prepareHost() {}
#endif

template <class Visit> bool forActiveLanes(const Wave &w, const Visit &visit) {
  for (uint64_t rest = w.exec(); rest; rest &= rest - 1)
    if (!visit(unsigned(std::countr_zero(rest))))
      return false;
  return true;
}

/// The data registers of a lane: the components of `mask`, side by side.
void writeComponents(Wave &w, const ImageOperation &op, const ImageFormat &format, unsigned lane,
                     unsigned mask, const Texel &texel) {
  unsigned count = 0;
  for (unsigned i = 0; i < 4; ++i) {
    if (!(mask >> i & 1))
      continue;
    if (op.has(kImageHalfData)) {
      uint32_t &word = w.vgpr(op.op.result + count / 2 * kBlockLanes, lane);
      const uint32_t half = halfOf(format, texel.at[i]);
      word = count % 2 ? (word & 0xffff) | half << 16 : half;
    } else {
      w.vgpr(op.op.result + count * kBlockLanes, lane) = texel.at[i];
    }
    ++count;
  }
}

/// The other way round. Components that are not given are 0, since gfx12 as the first one.
Texel readComponents(const Wave &w, const ImageOperation &op, const ImageFormat &format,
                     unsigned lane) {
  Texel texel = {};
  uint32_t given[4] = {};
  unsigned count = 0;
  for (unsigned i = 0; i < 4; ++i) {
    if (!(op.mask() >> i & 1))
      continue;
    if (op.has(kImageHalfData)) {
      const uint32_t word = w.vgpr(op.op.result + count / 2 * kBlockLanes, lane);
      given[count] = wordOf(format, uint16_t(count % 2 ? word >> 16 : word));
    } else {
      given[count] = w.vgpr(op.op.result + count * kBlockLanes, lane);
    }
    texel.at[i] = given[count++];
  }
  if (w.group->target->isa >= 12)
    for (unsigned i = 0; i < 4; ++i)
      if (!(op.mask() >> i & 1))
        texel.at[i] = given[0];
  return texel;
}

Texel texelIn(const ImageResource &image, uint64_t address) {
  uint32_t words[4];
  loadTexelWords(image.format.bytes(), address, words);
  return decodeTexel(image.format, words);
}

bool loadTexel(Wave &w, const MicroOp &op, const ImageResource &image, unsigned lane,
               uint64_t address, Texel &texel) {
  if (!checkTexel(w, op, lane, address, image.format.bytes(), false))
    return false;
  texel = texelIn(image, address);
  return true;
}

void loadImage(Wave &w, const MicroOp &op) {
  if (!w.exec()) // whatever the descriptors are
    return;
  prepareHost();
  const ImageOperation view{op};
  const ImageResource image = ImageResource::read(w, view);
  if (!checkImage(w, op, image.problem))
    return;
  forActiveLanes(w, [&](unsigned lane) {
    const uint64_t address = texelAt(image, view, ImageAddress::read(w, view, lane));
    Texel texel = {};
    if (address) {
      if (!loadTexel(w, op, image, lane, address, texel))
        return false;
      texel = selectComponents(image.format, image.select, texel);
    }
    writeComponents(w, view, image.format, lane, view.mask(), texel);
    return true;
  });
}

void storeImage(Wave &w, const MicroOp &op) {
  if (!w.exec()) // whatever the descriptors are
    return;
  prepareHost();
  const ImageOperation view{op};
  ImageResource image = ImageResource::read(w, view);
  if (image.format.kind == ChannelKind::Srgb && image.problem == ImageProblem::None)
    image.problem = ImageProblem::Format;
  if (!checkImage(w, op, image.problem))
    return;
  const unsigned bytes = image.format.bytes();
  forActiveLanes(w, [&](unsigned lane) {
    const uint64_t address = texelAt(image, view, ImageAddress::read(w, view, lane));
    if (!address)
      return true;
    if (!checkTexel(w, op, lane, address, bytes, true))
      return false;
    uint32_t words[4];
    encodeTexel(image.format, readComponents(w, view, image.format, lane), words);
    storeTexelWords(bytes, address, words);
    return true;
  });
}

/// Width, height, depth or layers, levels. Of a level that there is not, only the last.
void queryImage(Wave &w, const MicroOp &op) {
  if (!w.exec()) // whatever the descriptors are
    return;
  prepareHost();
  const ImageOperation view{op};
  const ImageResource image = ImageResource::read(w, view);
  if (!checkImage(w, op, image.problem))
    return;
  forActiveLanes(w, [&](unsigned lane) {
    const uint32_t word = view.address(w, 0, lane);
    const uint32_t level = view.has(kImageHalfAddress) ? word & 0xffff : word;
    Texel sizes = {{0, 0, 0, image.levels()}};
    if (level < image.levels())
      for (unsigned i = 0; i < 3; ++i)
        sizes.at[i] = i == 2 && view.hasLayers() ? image.layers : image.extent(i, level);
    writeComponents(w, view, ImageFormat(), lane, view.mask(), sizes);
    return true;
  });
}

/// Differences within squares of four lanes, as pixels lie.
void differences(const ImageAddress *all, unsigned lane, unsigned extents, ImageAddress &address) {
  const ImageAddress *square = all + lane / 4 * 4;
  for (unsigned i = 0; i < extents; ++i) {
    address.gradient[0][i] = square[1].at[i] - square[0].at[i];
    address.gradient[1][i] = square[2].at[i] - square[0].at[i];
  }
}

/// Calls `visit` with each lane's address and levels of detail.
template <class Visit>
void sampleLanes(const Wave &w, const ImageOperation &view, const Sampling &sampling,
                 const Visit &visit) {
  const bool isImplicit = !view.has(kImageLevelZero) && !view.has(kImageLevel) &&
                          !view.has(kImageGradients) && !sampling.ignoresDetail();
  if (!isImplicit) {
    forActiveLanes(w, [&](unsigned lane) {
      const ImageAddress address = ImageAddress::read(w, view, lane);
      const double detail = view.has(kImageLevelZero) || sampling.ignoresDetail() ? 0
                            : view.has(kImageLevel) ? double(address.level)
                                                    : sampling.detailOf(address);
      return visit(lane, address, sampling.levels(address, detail));
    });
    return;
  }
  ImageAddress addresses[2 * kBlockLanes];
  for (unsigned lane = 0; lane < w.lanes(); ++lane)
    addresses[lane] = ImageAddress::read(w, view, lane);
  forActiveLanes(w, [&](unsigned lane) {
    ImageAddress address = addresses[lane];
    differences(addresses, lane, view.extents(), address);
    return visit(lane, address, sampling.levels(address, sampling.detailOf(address)));
  });
}

/// Of all taps, whether they lie where the last accesses were.
bool areInWindow(const Wave &w, const ImageResource &image, const ImageTaps &taps) {
  uint64_t low = ~uint64_t(0), high = 0;
  for (unsigned i = 0; i < taps.count; ++i)
    if (const uint64_t address = taps.at[i].address) {
      low = std::min(low, address);
      high = std::max(high, address);
    }
  return high && inWindow(w, w.group->generation->load(std::memory_order_relaxed), low, high,
                          image.format.bytes());
}

/// The sampler of IMAGE_SAMPLE or IMAGE_GATHER4, which blends nothing.
ImageSampler samplerOf(const Wave &w, const MicroOp &op, const ImageResource &image) {
  ImageSampler sampler = ImageSampler::read(w, ImageOperation{op}, image);
  if (op.handler == gatherImage && sampler.problem == ImageProblem::IntegerFilter)
    sampler.problem = ImageProblem::None;
  return sampler;
}

bool blend(Wave &w, const MicroOp &op, const ImageResource &image, const Sampling &sampling,
           unsigned lane, const ImageTaps &taps, Texel &result) {
  double sums[4] = {};
  const bool isChecked = areInWindow(w, image, taps);
  for (unsigned i = 0; i < taps.count; ++i) {
    Texel texel;
    if (const uint64_t address = taps.at[i].address; !address)
      texel = sampling.border();
    else if (isChecked)
      texel = texelIn(image, address);
    else if (!loadTexel(w, op, image, lane, address, texel))
      return false;
    result = texel;
    for (unsigned c = 0; c < 4; ++c)
      sums[c] += taps.at[i].weight * double(std::bit_cast<float>(texel.at[c]));
  }
  if (taps.count > 1) // else it is that texel, bit for bit
    for (unsigned c = 0; c < 4; ++c)
      result.at[c] = std::bit_cast<uint32_t>(float(sums[c]));
  return true;
}

} // namespace

void sampleImage(Wave &w, const MicroOp &op) {
  if (!w.exec()) // whatever the descriptors are
    return;
  prepareHost();
  const ImageOperation view{op};
  const ImageResource image = ImageResource::read(w, view);
  if (!checkImage(w, op, image.problem))
    return;
  const ImageSampler sampler = samplerOf(w, op, image);
  if (!checkImage(w, op, sampler.problem))
    return;
  if (sampleSquares(w, op, image, sampler))
    return;
  const Sampling sampling(image, sampler, view);
  sampleLanes(w, view, sampling,
              [&](unsigned lane, const ImageAddress &address, const ImageLevels &levels) {
                Texel texel = {};
                if (!blend(w, op, image, sampling, lane, sampling.taps(address, levels), texel))
                  return false;
                texel = selectComponents(image.format, image.select, texel);
                writeComponents(w, view, image.format, lane, view.mask(), texel);
                return true;
              });
}

static constexpr unsigned kGatherOrder[4] = {2, 3, 1, 0}; // from the lower left one round

void gatherImage(Wave &w, const MicroOp &op) {
  if (!w.exec()) // whatever the descriptors are
    return;
  prepareHost();
  const ImageOperation view{op};
  const ImageResource image = ImageResource::read(w, view);
  if (!checkImage(w, op, image.problem))
    return;
  const ImageSampler sampler = samplerOf(w, op, image);
  if (!checkImage(w, op, sampler.problem))
    return;
  const Sampling sampling(image, sampler, view);
  const auto component = unsigned(std::countr_zero(view.mask()));
  sampleLanes(w, view, sampling,
              [&](unsigned lane, const ImageAddress &address, const ImageLevels &levels) {
                uint64_t square[4];
                sampling.square(address, levels.first, square);
                Texel result;
                for (unsigned i = 0; i < 4; ++i) {
                  Texel texel = sampling.border();
                  const uint64_t place = square[kGatherOrder[i]];
                  if (place && !loadTexel(w, op, image, lane, place, texel))
                    return false;
                  result.at[i] = selectComponents(image.format, image.select, texel).at[component];
                }
                writeComponents(w, view, image.format, lane, 15, result);
                return true;
              });
}

bool encodeStored(const Wave &w, const MicroOp &op, unsigned lane, uint32_t (&words)[4]) {
  const ImageOperation view{op};
  const ImageResource image = ImageResource::read(w, view);
  if (image.problem != ImageProblem::None)
    return false;
  encodeTexel(image.format, readComponents(w, view, image.format, lane), words);
  return true;
}

void visitTexels(const Wave &w, const MicroOp &op,
                 llvm::function_ref<void(const TouchedTexel &)> visit) {
  const ImageOperation view{op};
  const bool isSampled = op.handler == sampleImage || op.handler == gatherImage;
  if (!w.exec() || op.handler == queryImage)
    return;
  const ImageResource image = ImageResource::read(w, view);
  if (image.problem != ImageProblem::None)
    return;
  auto visitOne = [&](unsigned lane, uint64_t address, unsigned component = 0) {
    if (address)
      visit({lane, address, image.format.bytes(), component});
  };
  if (!isSampled) {
    forActiveLanes(w, [&](unsigned lane) {
      visitOne(lane, texelAt(image, view, ImageAddress::read(w, view, lane)));
      return true;
    });
    return;
  }
  const ImageSampler sampler = samplerOf(w, op, image);
  if (sampler.problem != ImageProblem::None)
    return;
  const Sampling sampling(image, sampler, view);
  sampleLanes(w, view, sampling,
              [&](unsigned lane, const ImageAddress &address, const ImageLevels &levels) {
                if (op.handler == gatherImage) {
                  uint64_t square[4];
                  sampling.square(address, levels.first, square);
                  for (unsigned i = 0; i < 4; ++i)
                    visitOne(lane, square[kGatherOrder[i]], i);
                  return true;
                }
                const ImageTaps taps = sampling.taps(address, levels);
                for (unsigned i = 0; i < taps.count; ++i)
                  visitOne(lane, taps.at[i].address);
                return true;
              });
}

static constexpr MemorySemantics kRows[] = {
    {"LOAD", loadImage},       {"LOAD_MIP", loadImage},     {"STORE", storeImage},
    {"STORE_MIP", storeImage}, {"GET_RESINFO", queryImage},
};
const MemoryTable kImageMemory = table(kRows);

} // namespace rubia::emulator
