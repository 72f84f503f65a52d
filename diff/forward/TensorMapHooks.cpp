// SPDX-License-Identifier: Apache-2.0
#include "diff/forward/Recorder.h"
#include "diff/forward/TensorMaps.h"

using namespace rubia::forward;

namespace rubia::forward {

void TensorMaps::encoded(const void *map, const TensorMapArguments &arguments) {
  if (find(map))
    return; // the same arguments give the same bytes
  EncodedTensorMap one;
  memcpy(one.bytes, map, sizeof(one.bytes));
  one.arguments = arguments;
  all.push(one);
  const size_t slot = slotOf(map);
  slots[slot / 8] = uint8_t(slots[slot / 8] | 1u << slot % 8);
}

const EncodedTensorMap *TensorMaps::find(const void *map) const {
  for (const EncodedTensorMap &one : all)
    if (!memcmp(one.bytes, map, sizeof(one.bytes)))
      return &one;
  return nullptr;
}

// What they are made of is reached, and may be elsewhere at the replay.
void Recorder::findTensorMaps(const uint8_t *bytes, size_t size) {
  tensorMaps.findIn(bytes, size, [&](const EncodedTensorMap &map) {
    for (const EncodedTensorMap *used : usedTensorMaps)
      if (used == &map)
        return;
    usedTensorMaps.push(&map);
    reach(map.arguments.address);
  });
}

void Recorder::writeTensorMaps(Text &text) const {
  if (usedTensorMaps.empty())
    return;
  text.add(",\"tensor_maps\":[");
  for (size_t i = 0; i < usedTensorMaps.size(); ++i) {
    text.add(i ? ",{\"bytes\":" : "{\"bytes\":")
        .hex(usedTensorMaps[i]->bytes, capsule::kTensorMapBytes);
    text.add(",\"arguments\":")
        .hex(&usedTensorMaps[i]->arguments, sizeof(TensorMapArguments))
        .add("}");
  }
  text.add("]");
}

} // namespace rubia::forward

namespace {

template <class From, class To, size_t Size>
void copy(To (&to)[Size], const From *from, size_t count) {
  for (size_t i = 0; from && i < count && i < Size; ++i)
    to[i] = To(from[i]);
}

TensorMapArguments common(int type, uint32_t rank, const void *address, const uint64_t *sizes,
                          const uint64_t *strides, const uint32_t *elementStrides, int interleave,
                          int swizzle, int promotion, int fill) {
  TensorMapArguments arguments;
  memset(&arguments, 0, sizeof(arguments));
  arguments.address = reinterpret_cast<uint64_t>(address);
  arguments.type = type;
  arguments.rank = rank;
  arguments.interleave = interleave;
  arguments.swizzle = swizzle;
  arguments.promotion = promotion;
  arguments.fill = fill;
  copy(arguments.sizes, sizes, rank);
  copy(arguments.strides, strides, rank - 1);
  copy(arguments.elementStrides, elementStrides, rank);
  return arguments;
}

} // namespace

extern "C" {

int hook_cuTensorMapEncodeTiled(void *map, int type, uint32_t rank, void *address,
                                const uint64_t *sizes, const uint64_t *strides, const uint32_t *box,
                                const uint32_t *elementStrides, int interleave, int swizzle,
                                int promotion, int fill) {
  const int result = DRIVER(cuTensorMapEncodeTiled, void *, int, uint32_t, void *, const uint64_t *,
                            const uint64_t *, const uint32_t *, const uint32_t *, int, int, int,
                            int)(map, type, rank, address, sizes, strides, box, elementStrides,
                                 interleave, swizzle, promotion, fill);
  if (!result) {
    TensorMapArguments arguments = common(type, rank, address, sizes, strides, elementStrides,
                                          interleave, swizzle, promotion, fill);
    copy(arguments.box, box, rank);
    Locked()->tensorMaps.encoded(map, arguments);
  }
  return result;
}

int hook_cuTensorMapEncodeIm2col(void *map, int type, uint32_t rank, void *address,
                                 const uint64_t *sizes, const uint64_t *strides, const int *lower,
                                 const int *upper, uint32_t channels, uint32_t pixels,
                                 const uint32_t *elementStrides, int interleave, int swizzle,
                                 int promotion, int fill) {
  const int result =
      DRIVER(cuTensorMapEncodeIm2col, void *, int, uint32_t, void *, const uint64_t *,
             const uint64_t *, const int *, const int *, uint32_t, uint32_t, const uint32_t *, int,
             int, int, int)(map, type, rank, address, sizes, strides, lower, upper, channels,
                            pixels, elementStrides, interleave, swizzle, promotion, fill);
  if (!result) {
    TensorMapArguments arguments = common(type, rank, address, sizes, strides, elementStrides,
                                          interleave, swizzle, promotion, fill);
    arguments.isIm2col = 1;
    arguments.channels = channels;
    arguments.pixels = pixels;
    copy(arguments.lower, lower, rank - 2);
    copy(arguments.upper, upper, rank - 2);
    Locked()->tensorMaps.encoded(map, arguments);
  }
  return result;
}

int hook_cuTensorMapReplaceAddress(void *map, void *address) {
  uint8_t before[rubia::capsule::kTensorMapBytes] = {};
  if (map)
    memcpy(before, map, sizeof(before));
  const int result = DRIVER(cuTensorMapReplaceAddress, void *, void *)(map, address);
  if (result)
    return result;
  Locked recorder;
  if (const EncodedTensorMap *known = recorder->tensorMaps.find(before)) {
    TensorMapArguments arguments = known->arguments;
    arguments.address = reinterpret_cast<uint64_t>(address);
    recorder->tensorMaps.encoded(map, arguments);
  }
  return result;
}

} // extern "C"
