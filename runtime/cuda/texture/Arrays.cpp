// SPDX-License-Identifier: Apache-2.0
// Arrays and mipmapped arrays: what may be made, and how they lie in memory. The codes and the
// order of the checks are an H100's.
#include "runtime/cuda/texture/Arrays.h"
#include "runtime/cuda/HandleTable.h"
#include "runtime/cuda/Memory.h"
#include "runtime/cuda/graph/Capture.h"
#include "runtime/cuda/texture/Records.h"
#include <bit>

namespace rubia::runtime::cuda {

// Of levels of mipmapped arrays, which end with these, there is a table of its own: who destroys an
// array need not look into it before it is nobody else's.
static HandleTable<Array> &arrays = HandleTable<Array>::leaked();
static HandleTable<Array> &levelsOfArrays = HandleTable<Array>::leaked();
static HandleTable<MipmappedArray> &mipmappedArrays = HandleTable<MipmappedArray>::leaked();

Context *contextOf(Array *array) { return isLive(array) ? array->context : nullptr; }

bool isLive(Array *array) { return arrays.contains(array) || levelsOfArrays.contains(array); }
bool isLive(MipmappedArray *array) { return mipmappedArrays.contains(array); }

std::optional<FormatFacts> factsOf(int format, unsigned channels) {
  if (channels != 1 && channels != 2 && channels != 4)
    return std::nullopt;
  switch (format) {
  case kFormatU8:
  case kFormatS8:
    return FormatFacts{0, channels, format == kFormatS8, false, false};
  case kFormatU16:
  case kFormatS16:
    return FormatFacts{1, channels, format == kFormatS16, false, false};
  case kFormatU32:
  case kFormatS32:
    return FormatFacts{2, channels, format == kFormatS32, false, false};
  case kFormatHalf:
    return FormatFacts{1, channels, true, true, false};
  case kFormatFloat:
    return FormatFacts{2, channels, true, true, false};
  }
  const unsigned normalized = unsigned(format - kFormatUnorm8x1);
  constexpr unsigned kChannels[] = {1, 2, 4};
  if (normalized >= 12 || kChannels[normalized % 3] != channels)
    return std::nullopt;
  return FormatFacts{normalized / 3 % 2, channels, normalized >= 6, false, true};
}

static std::mutex &tablesMutex = *new std::mutex; // of MipmappedArray::tablesOfLayers

Result levelsOfSlices(MipmappedArray &array, uint32_t first, uint32_t count, uint64_t &address) {
  std::lock_guard<std::mutex> lock(tablesMutex);
  void *&table = array.tablesOfLayers[{first, count}];
  if (!table) {
    std::vector<abi::TexelGrid> grids;
    for (const auto &level : array.levels) {
      abi::TexelGrid &grid = grids.emplace_back(level->grid);
      grid.base += first * grid.slicePitch;
      grid.slices = count;
    }
    const size_t bytes = grids.size() * sizeof(grids[0]);
    void *made = nullptr;
    if (Result result = allocateDevice(*array.context, &made, bytes))
      return result;
    ownedByRuntime(hip(), made);
    if (Result result = writeDevice(*array.context, made, grids.data(), bytes)) {
      (void)hip().call<hipFree>(made);
      return result;
    }
    table = made;
  }
  address = reinterpret_cast<uint64_t>(table);
  return kSuccess;
}

namespace {

// The largest sizes, as Device::attribute gives them. A deep array may be another than a wide one.
constexpr size_t kMaxWidth = 131072, kMaxHeight = 65536, kMax3D = 16384, kMaxDepth = 32768,
                 kMaxOfDeep = 8192, kMaxLayerSize = 32768, kMaxLayers = 2048, kMaxCubeLayers = 2046;

Result wrong(const llvm::Twine &what) { return fail(kInvalidValue, "array: " + what); }

constexpr size_t alignedTo(size_t value, size_t unit) { return (value + unit - 1) / unit * unit; }

Result checkShape(const Array3DDescriptor &d) {
  const bool isLayered = d.flags & kArrayLayered, isCube = d.flags & kArrayCubemap;
  if (!d.width)
    return wrong("its width is 0");
  if (isCube) {
    if (d.width != d.height || d.depth == 0 || d.depth % 6 || (!isLayered && d.depth != 6))
      return wrong("a cube map has square faces, six for each layer");
    return d.width <= kMaxLayerSize && d.depth <= kMaxCubeLayers ? kSuccess
                                                                 : wrong("it is too large");
  }
  if (isLayered) {
    if (!d.depth)
      return wrong("a layered array without layers");
    return d.width <= kMaxLayerSize && d.height <= kMaxLayerSize && d.depth <= kMaxLayers
               ? kSuccess
               : wrong("it is too large");
  }
  if (d.depth) {
    if (!d.height)
      return wrong("its height is 0");
    auto isWithin = [&](size_t size, size_t depth) {
      return d.width <= size && d.height <= size && d.depth <= depth;
    };
    return isWithin(kMax3D, kMax3D) || isWithin(kMaxOfDeep, kMaxDepth) ? kSuccess
                                                                       : wrong("it is too large");
  }
  return d.width <= kMaxWidth && d.height <= kMaxHeight ? kSuccess : wrong("it is too large");
}

// Compressed blocks, planes, and ten bits a channel, which an H100 has.
bool isOtherFormat(int format) {
  return (format >= 0x91 && format <= 0xa9) || (format >= 0xb0 && format <= 0xb5) || format == 0x50;
}

Result check(const Array3DDescriptor &d) {
  if (!factsOf(d.format, d.channels))
    return fail(isOtherFormat(d.format) ? kNotSupported : kInvalidValue,
                "array: format " + llvm::Twine(d.format) + " with " + llvm::Twine(d.channels) +
                    " channels");
  constexpr unsigned kKnown =
      kArrayLayered | kArraySurface | kArrayCubemap | kArrayGather | kArrayVideo;
  if (d.flags & kArraySparse)
    return fail(kNotSupported, "array: sparse arrays");
  if (d.flags & kArrayDeferredMapping)
    return fail(kNotSupported, "array: deferred mapping");
  if (d.flags & ~kKnown) // also those for graphics
    return wrong("unknown flags");
  if ((d.flags & kArrayGather) &&
      (d.flags & (kArrayLayered | kArrayCubemap) || d.depth || !d.height))
    return wrong("texture gather needs a plain two-dimensional array");
  return checkShape(d);
}

// The grid of a level, but for its base, and its bytes.
abi::TexelGrid gridOf(const Array3DDescriptor &d, unsigned texelShift, unsigned level,
                      size_t &bytes) {
  const bool isLayered = d.flags & (kArrayLayered | kArrayCubemap);
  auto shrunk = [&](size_t size) { return uint32_t(std::max<size_t>(size >> level, 1)); };
  abi::TexelGrid grid = {};
  grid.width = shrunk(d.width);
  grid.height = shrunk(d.height);
  grid.depth = isLayered ? 1 : shrunk(d.depth);
  grid.slices = isLayered ? uint32_t(d.depth) : grid.depth;
  grid.rowPitch = abi::kColumnBytes;
  grid.columnPitch = abi::kColumnBytes * grid.height;
  const size_t columns =
      alignedTo(size_t(grid.width) << texelShift, abi::kColumnBytes) / abi::kColumnBytes;
  grid.slicePitch = alignedTo(columns * grid.columnPitch, 256);
  bytes = grid.slicePitch * grid.slices;
  return grid;
}

// Whether what is made may be made now.
Result mayAllocate() { return checkUnsafe(); }

Result checkSlices(const abi::TexelGrid &grid) {
  return grid.slicePitch <= abi::kMaxSliceBytes
             ? kSuccess
             : fail(kNotSupported, "array: layers and depths of more than 4 GiB");
}

Result makeArray(Context &context, Array **out, const Array3DDescriptor &descriptor) {
  if (Result result = check(descriptor))
    return result;
  if (Result result = mayAllocate())
    return result;
  auto array = std::make_shared<Array>();
  array->context = &context;
  array->descriptor = descriptor;
  array->texelShift = factsOf(descriptor.format, descriptor.channels)->texelShift();
  array->grid = gridOf(descriptor, array->texelShift, 0, array->bytes);
  if (Result result = checkSlices(array->grid))
    return result;
  void *memory = nullptr;
  if (Result result = allocateDevice(context, &memory, array->bytes))
    return result;
  ownedByRuntime(hip(), memory);
  array->grid.base = reinterpret_cast<uint64_t>(memory);
  *out = arrays.add(std::move(array));
  return kSuccess;
}

Result makeMipmapped(Context &context, MipmappedArray **out, const Array3DDescriptor &descriptor,
                     unsigned levels) {
  if (Result result = check(descriptor))
    return result;
  if (Result result = mayAllocate())
    return result;
  size_t longest = std::max(descriptor.width, descriptor.height);
  if (!(descriptor.flags & (kArrayLayered | kArrayCubemap)))
    longest = std::max(longest, descriptor.depth);
  levels = std::clamp(levels, 1u, unsigned(std::bit_width(longest)));
  auto made = std::make_shared<MipmappedArray>();
  made->context = &context;
  made->descriptor = descriptor;
  const unsigned texelShift = factsOf(descriptor.format, descriptor.channels)->texelShift();
  std::vector<size_t> offsets;
  size_t bytes = 0;
  for (unsigned level = 0; level < levels; ++level) {
    auto array = std::make_shared<Array>();
    array->context = &context;
    array->texelShift = texelShift;
    array->grid = gridOf(descriptor, texelShift, level, array->bytes);
    if (Result result = checkSlices(array->grid))
      return result;
    array->descriptor = descriptor;
    array->descriptor.width = array->grid.width;
    array->descriptor.height = descriptor.height ? array->grid.height : 0;
    if (!array->isLayered())
      array->descriptor.depth = descriptor.depth ? array->grid.depth : 0;
    offsets.push_back(bytes);
    bytes += array->bytes;
    made->levels.push_back(std::move(array));
  }
  void *memory = nullptr;
  if (Result result = allocateDevice(context, &memory, bytes + levels * sizeof(abi::TexelGrid)))
    return result;
  ownedByRuntime(hip(), memory);
  made->memory = static_cast<char *>(memory);
  made->bytes = bytes;
  made->table = made->memory + bytes;
  std::vector<abi::TexelGrid> table;
  for (unsigned level = 0; level < levels; ++level) {
    made->levels[level]->grid.base = reinterpret_cast<uint64_t>(memory) + offsets[level];
    table.push_back(made->levels[level]->grid);
  }
  if (Result result =
          writeDevice(context, made->table, table.data(), table.size() * sizeof(table[0]))) {
    (void)hip().call<hipFree>(memory);
    return result;
  }
  for (const auto &level : made->levels)
    levelsOfArrays.add(level);
  *out = mipmappedArrays.add(std::move(made));
  return kSuccess;
}

void freeMemory(Context &context, void *memory) {
  if (context.hasLostDevice())
    return;
  if (int error = hip().call<hipFree>(memory))
    log(LogLevel::Info, llvm::Twine("freeing an array: ") + hip().hipGetErrorString(error));
}

void freeMemory(const Array &array) {
  freeMemory(*array.context, reinterpret_cast<void *>(array.grid.base));
}
void freeMemory(MipmappedArray &array) {
  freeMemory(*array.context, array.memory);
  std::lock_guard<std::mutex> lock(tablesMutex);
  for (const auto &[layers, table] : std::exchange(array.tablesOfLayers, {}))
    freeMemory(*array.context, table);
}

// They are told of arrays with deferred mapping only, of which there are none.
Result requirements() { return fail(kInvalidValue, "array: it has memory of its own"); }

} // namespace

void releaseTextures(Context &context) {
  releaseObjects(context);
  auto isOfContext = [&](const auto &array) { return array.context == &context; };
  for (const auto &array : arrays.removeIf(isOfContext))
    freeMemory(*array);
  levelsOfArrays.removeIf(isOfContext);
  for (const auto &array : mipmappedArrays.removeIf(isOfContext))
    freeMemory(*array);
}

} // namespace rubia::runtime::cuda

using namespace rubia::runtime;
using namespace rubia::runtime::cuda;

extern "C" {

Result cuArray3DCreate_v2(Array **out, const Array3DDescriptor *descriptor) {
  return callIn(RUBIA_CALL(out, descriptor), [&](Context &context) {
    return out && descriptor ? makeArray(context, out, *descriptor) : kInvalidValue;
  });
}

Result cuArrayCreate_v2(Array **out, const ArrayDescriptor *descriptor) {
  return callIn(RUBIA_CALL(out, descriptor), [&](Context &context) {
    if (!out || !descriptor)
      return kInvalidValue;
    const ArrayDescriptor &d = *descriptor;
    return makeArray(context, out, {d.width, d.height, 0, d.format, d.channels, 0});
  });
}

Result cuArray3DGetDescriptor_v2(Array3DDescriptor *out, Array *array) {
  return call(RUBIA_CALL(out, array), [&]() {
    if (!isLive(array))
      return kInvalidHandle;
    return out ? (*out = array->descriptor, kSuccess) : kInvalidValue;
  });
}

Result cuArrayGetDescriptor_v2(ArrayDescriptor *out, Array *array) {
  return call(RUBIA_CALL(out, array), [&]() {
    if (!isLive(array))
      return kInvalidHandle;
    if (!out)
      return kInvalidValue;
    const Array3DDescriptor &d = array->descriptor;
    *out = {d.width, d.height, d.format, d.channels};
    return kSuccess;
  });
}

Result cuArrayDestroy(Array *array) {
  return callToRelease(RUBIA_CALL(array), array, [&](Context &context) -> Result {
    if (levelsOfArrays.contains(array))
      return kSuccess; // it ends with its array
    if (!arrays.contains(array))
      return kInvalidHandle;
    if (Result result = checkUnsafe())
      return result;
    const std::shared_ptr<Array> removed = arrays.remove(array);
    if (!removed) // another thread was faster
      return kInvalidHandle;
    const Result result = context.synchronizeDevice(); // kernels may be reading it
    freeMemory(*removed);
    return result;
  });
}

Result cuArrayGetMemoryRequirements(ArrayMemoryRequirements *, Array *array, int ordinal) {
  return callIn(RUBIA_CALL(array, ordinal), [&](Context &) {
    if (!isLive(array))
      return kInvalidHandle;
    return deviceAt(ordinal) ? requirements() : kInvalidDevice;
  });
}

// No format that we have has planes.
Result cuArrayGetPlane(Array **out, Array *array, unsigned) {
  return callIn(RUBIA_CALL(out, array), [&](Context &) {
    if (!isLive(array))
      return kInvalidHandle;
    return out ? fail(kInvalidValue, "array: its format has no planes") : kInvalidValue;
  });
}

// No array is sparse.
Result cuArrayGetSparseProperties(void *out, Array *array) {
  return callIn(RUBIA_CALL(out, array), [&](Context &) {
    if (!isLive(array))
      return kInvalidHandle;
    return out ? fail(kInvalidValue, "array: it is not sparse") : kInvalidValue;
  });
}

Result cuMipmappedArrayCreate(MipmappedArray **out, const Array3DDescriptor *descriptor,
                              unsigned levels) {
  return callIn(RUBIA_CALL(out, descriptor, levels), [&](Context &context) {
    return out && descriptor ? makeMipmapped(context, out, *descriptor, levels) : kInvalidValue;
  });
}

Result cuMipmappedArrayGetLevel(Array **out, MipmappedArray *array, unsigned level) {
  return callIn(RUBIA_CALL(out, array, level), [&](Context &) {
    if (!isLive(array))
      return kInvalidHandle;
    if (!out || level >= array->levels.size())
      return kInvalidValue;
    *out = array->levels[level].get();
    return kSuccess;
  });
}

Result cuMipmappedArrayDestroy(MipmappedArray *array) {
  return callToRelease(RUBIA_CALL(array), [&](Context &context) -> Result {
    if (!isLive(array))
      return kInvalidHandle;
    if (Result result = checkUnsafe())
      return result;
    const std::shared_ptr<MipmappedArray> removed = mipmappedArrays.remove(array);
    if (!removed) // another thread was faster
      return kInvalidHandle;
    for (const auto &level : array->levels)
      levelsOfArrays.remove(level.get());
    const Result result = context.synchronizeDevice();
    freeMemory(*removed);
    return result;
  });
}

Result cuMipmappedArrayGetMemoryRequirements(ArrayMemoryRequirements *, MipmappedArray *array,
                                             int ordinal) {
  return callIn(RUBIA_CALL(array, ordinal), [&](Context &) {
    if (!isLive(array))
      return kInvalidHandle;
    return deviceAt(ordinal) ? requirements() : kInvalidDevice;
  });
}

Result cuMipmappedArrayGetSparseProperties(void *out, MipmappedArray *array) {
  return callIn(RUBIA_CALL(out, array), [&](Context &) {
    if (!isLive(array))
      return kInvalidHandle;
    return out ? fail(kInvalidValue, "array: it is not sparse") : kInvalidValue;
  });
}

// The largest width of a texture on linear memory.
Result cuDeviceGetTexture1DLinearMaxWidth(size_t *out, int format, unsigned channels, int ordinal) {
  return call(RUBIA_CALL(out, format, channels, ordinal), [&]() -> Result {
    if (!out)
      return kInvalidValue;
    if (!deviceAt(ordinal))
      return kInvalidDevice;
    if (!factsOf(format, channels))
      return fail(kInvalidValue, "texture: unknown format");
    *out = kMaxLinearTexels;
    return kSuccess;
  });
}

} // extern "C"
