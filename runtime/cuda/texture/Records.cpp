// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/texture/Records.h"
#include "runtime/cuda/Memory.h"
#include "runtime/cuda/texture/Tables.h"
#include <algorithm>
#include <bit>
#include <cmath>
#include <deque>

namespace rubia::runtime::cuda {

namespace {

// Device::attribute says more, but HIP's memory need not begin at multiples of that.
constexpr uint64_t kTextureAlignment = 16;

Result wrong(const llvm::Twine &what) { return fail(kInvalidValue, "texture: " + what); }

// ---------- What is sampled

struct Source {
  abi::TexelGrid grid = {};
  FormatFacts format = {};
  MipmappedArray *mipmapped = nullptr;
  unsigned firstLevel = 0, levels = 1;
  Array3DDescriptor shape = {}; // of an array
  uint32_t firstSlice = 0,
           layers = 0; // of a view: layers that it has, as queries tell them; 0: all
  bool isLinear = false;
};

Result sourceOfArray(Array *array, Source &source) {
  source.grid = array->grid;
  source.shape = array->descriptor;
  source.format = *factsOf(array->descriptor.format, array->descriptor.channels);
  return kSuccess;
}

Result sourceOf(const ResourceDescriptor &resource, Source &source) {
  if (resource.flags)
    return wrong("the resource has flags");
  switch (resource.type) {
  case kResourceArray:
    return isLive(resource.array) ? sourceOfArray(resource.array, source) : wrong("no array");
  case kResourceMipmapped:
    if (!isLive(resource.mipmapped))
      return wrong("no mipmapped array");
    source.mipmapped = resource.mipmapped;
    source.levels = unsigned(resource.mipmapped->levels.size());
    return sourceOfArray(resource.mipmapped->levels[0].get(), source);
  case kResourceLinear: {
    const auto &linear = resource.linear;
    const std::optional<FormatFacts> format = factsOf(linear.format, linear.channels);
    if (!format)
      return wrong("format " + llvm::Twine(linear.format) + " with " +
                   llvm::Twine(linear.channels) + " channels");
    const auto address = reinterpret_cast<uint64_t>(linear.address);
    // What is less than a texel counts as one (an H200).
    const size_t texels = linear.bytes >> format->texelShift();
    if (!address || address % kTextureAlignment)
      return wrong("the address of linear memory is no multiple of 16");
    source.format = *format;
    source.isLinear = true;
    source.grid = {address,
                   0,
                   abi::kColumnBytes,
                   0,
                   uint32_t(std::clamp<size_t>(texels, 1, kMaxLinearTexels)),
                   1,
                   1,
                   1};
    return kSuccess;
  }
  case kResourcePitched: {
    const auto &pitched = resource.pitched;
    const std::optional<FormatFacts> format = factsOf(pitched.format, pitched.channels);
    if (!format)
      return wrong("format " + llvm::Twine(pitched.format) + " with " +
                   llvm::Twine(pitched.channels) + " channels");
    const auto address = reinterpret_cast<uint64_t>(pitched.address);
    if (!address || address % kTextureAlignment)
      return wrong("the address of pitched memory is no multiple of 16");
    if (pitched.width > (1u << 17) || pitched.height > 65000 || pitched.pitch % 32 ||
        pitched.pitch > 2097120)
      return wrong("its sizes or pitch");
    if (pitched.height * pitched.pitch > abi::kMaxSliceBytes)
      return fail(kNotSupported, "texture: pitched memory of more than 4 GiB");
    source.format = *format;
    source.grid = {address,
                   0,
                   abi::kColumnBytes,
                   uint32_t(pitched.pitch),
                   uint32_t(pitched.width),
                   uint32_t(pitched.height),
                   1,
                   1};
    return kSuccess;
  }
  }
  return wrong("unknown type of resource");
}

// ---------- Views

// The formats of CUresourceViewFormat, but those of compressed blocks: eight kinds of 1, 2 and 4
// channels.
std::optional<FormatFacts> factsOfView(int format) {
  constexpr int kFormats[] = {kFormatU8,  kFormatS8,  kFormatU16,  kFormatS16,
                              kFormatU32, kFormatS32, kFormatHalf, kFormatFloat};
  constexpr unsigned kChannels[] = {1, 2, 4};
  const unsigned index = unsigned(format - 1);
  return index < 24 ? factsOf(kFormats[index / 3], kChannels[index % 3]) : std::nullopt;
}

// As an H100 takes them: of a cube map all faces are layer 0. Of an array of cube maps the first
// layer counts faces, the number of layers cubes. Layers behind the last one are told, and are it.
Result applyLayers(const ViewDescriptor &view, Source &source) {
  const bool isCube = source.shape.flags & kArrayCubemap,
             isLayered = source.shape.flags & kArrayLayered;
  const auto depth = uint32_t(source.shape.depth);
  if (view.lastLayer < view.firstLayer || view.firstLayer >= depth ||
      (!isLayered && view.lastLayer))
    return wrong("there are no such layers");
  if (!isLayered)
    return kSuccess;
  const uint32_t slicesOfLayer = isCube ? 6 : 1, most = (depth - view.firstLayer) / slicesOfLayer;
  if (!most)
    return fail(kNotSupported, "texture: a view of layers begins in the last faces of cube maps");
  source.firstSlice = view.firstLayer;
  source.layers = std::min(view.lastLayer, UINT32_MAX - 1) - view.firstLayer + 1;
  source.grid.slices = std::min(source.layers, most) * slicesOfLayer;
  source.grid.base += source.firstSlice * source.grid.slicePitch;
  return kSuccess;
}

Result applyView(const ViewDescriptor &view, Source &source) {
  if (!source.shape.width)
    return kSuccess; // memory that is no array is seen as it is
  for (unsigned reserved : view.reserved)
    if (reserved)
      return wrong("a reserved word of the view is not 0");
  const std::optional<FormatFacts> format = factsOfView(view.format);
  if (!format)
    return wrong("view format " + llvm::Twine(view.format));
  if (format->texelShift() != source.format.texelShift())
    return wrong("the view's texels are of another size");
  source.format = *format;
  const Array3DDescriptor &shape = source.shape;
  if (view.width != shape.width || view.height != shape.height || view.depth != shape.depth)
    return wrong("the view's sizes are not those of the array");
  // Of levels, those behind the last one are left out, but for that one (an H200).
  if (view.lastLevel < view.firstLevel || (view.lastLevel && !source.mipmapped))
    return wrong("there are no such levels");
  source.firstLevel = std::min(view.firstLevel, source.levels - 1);
  source.levels = std::min(view.lastLevel, source.levels - 1) - source.firstLevel + 1;
  if (source.mipmapped)
    source.grid = source.mipmapped->levels[source.firstLevel]->grid;
  const bool isLayered = shape.flags & (kArrayLayered | kArrayCubemap);
  if (!isLayered && (view.firstLayer || view.lastLayer))
    return wrong("there are no such layers");
  return isLayered ? applyLayers(view, source) : kSuccess;
}

// ---------- Records

uint32_t formatOf(const FormatFacts &format, bool readAsInteger) {
  abi::TexelKind kind = abi::TexelKind::Bits;
  if (format.channelShift < 2)
    kind = format.isFloat                          ? abi::TexelKind::Half
           : readAsInteger && !format.isNormalized ? abi::TexelKind::Integer
                                                   : abi::TexelKind::Normalized;
  const bool widens = kind == abi::TexelKind::Integer || kind == abi::TexelKind::Normalized;
  return abi::TexelFormat::make(format.channelShift, format.channels == 4 ? 2 : format.channels - 1,
                                widens && format.isSigned, kind);
}

// The f16 that is nearer to 0, as a number. The largest stays finite.
float cutToHalf(float number) {
  if (std::isinf(number))
    return number;
  if (std::isnan(number)) { // with the upper bits of its payload, or 1
    const uint32_t bits = std::bit_cast<uint32_t>(number) & ~0x1fffu;
    return std::bit_cast<float>(bits & 0x7fffff ? bits : bits | 0x2000);
  }
  const float size = std::min(std::fabs(number), 65504.0f);
  if (size < 0x1p-14f) // denormals are multiples of 2^-24
    return std::copysign(std::floor(size * 0x1p24f) * 0x1p-24f, number);
  return std::copysign(std::bit_cast<float>(std::bit_cast<uint32_t>(size) & ~0x1fffu), number);
}

// A channel of the border's colour as a normalised number. 0.5 lies between two of them, and an
// H200 takes the smaller one: 127 of 255. Of stores, which share the rule, that is not known.
int32_t normalizedBorder(float color, unsigned bits, bool isSigned) {
  const int32_t number = abi::normalizedOf(color, bits, isSigned);
  const float size = std::abs(color);
  const bool isBetween = size >= 0.5f && size < 0.5f + std::ldexp(1.0f, -int(bits) - 4);
  return number && isBetween ? number - (number < 0 ? -1 : 1) : number;
}

// A channel of the border's colour as texels of the format have it.
uint32_t borderWord(abi::TexelFormat format, float color) {
  const uint32_t bits = std::bit_cast<uint32_t>(color);
  const unsigned width = 8u << format.channelShift();
  switch (format.kind()) {
  case abi::TexelKind::Bits:
    return bits;
  case abi::TexelKind::Integer: {
    const unsigned unused = 32 - width;
    return format.isSigned() ? uint32_t(int32_t(bits << unused) >> unused)
                             : bits << unused >> unused;
  }
  case abi::TexelKind::Normalized: {
    const unsigned numberBits = width - format.isSigned();
    const auto number = float(normalizedBorder(color, numberBits, format.isSigned()));
    return std::bit_cast<uint32_t>(number / float((1u << numberBits) - 1));
  }
  case abi::TexelKind::Half:
    return std::bit_cast<uint32_t>(cutToHalf(color));
  }
  return bits;
}

// The value of 255 that sRGB's curve has for a number.
uint32_t standardRgbOf(float color) {
  if (!(color > 0)) // NaN too
    return 0;
  color = std::min(color, 1.0f);
  const float curved =
      color <= 0.0031308f ? color * 12.92f : 1.055f * std::pow(color, 1 / 2.4f) - 0.055f;
  return uint32_t(std::lround(curved * 255));
}

void answerQueries(const Source &source, bool isSurface, abi::Texture &record) {
  const Array3DDescriptor &shape = source.shape;
  record.slots[0] = source.grid.width;
  record.slots[1] = source.isLinear ? 0 : source.grid.height;
  record.slots[2] = 0;
  if (!shape.width)
    return;
  const bool isCube = shape.flags & kArrayCubemap, isLayered = shape.flags & kArrayLayered;
  const auto depth = uint32_t(shape.depth);
  const uint32_t layers = source.layers ? source.layers : isCube ? depth / 6 : depth;
  if (isSurface || (!shape.height && isLayered)) {
    record.slots[1] = !shape.height && isLayered ? layers : uint32_t(shape.height);
    record.slots[2] = isSurface && shape.height ? depth : 0;
    return;
  }
  if (isLayered)
    record.slots[2] = layers;
  else if (depth && !isCube)
    record.slots[2] = source.grid.depth;
}

uint32_t addressModes(const TextureDescriptor &texture, bool isNormalized) {
  uint32_t modes = 0;
  for (unsigned i = 0; i < 3; ++i) {
    auto mode = abi::AddressMode(texture.addressMode[i] & 3);
    if (!isNormalized && (mode == abi::AddressMode::Wrap || mode == abi::AddressMode::Mirror))
      mode = abi::AddressMode::Clamp;
    modes |= uint32_t(mode) << 2 * i;
  }
  return modes;
}

// How many dimensions a texture has. One of a single texel is one.
unsigned dimensionsOf(const Source &source) {
  const Array3DDescriptor &shape = source.shape;
  if (!shape.width) // memory
    return 2;
  const bool isLayered = shape.flags & (kArrayLayered | kArrayCubemap);
  return shape.height == 0 ? 1 : shape.depth == 0 || isLayered ? 2 : 3;
}

Result checkTexture(const TextureDescriptor &texture, const Source &source) {
  // Modes of dimensions that there are not say nothing.
  const unsigned dimensions = dimensionsOf(source);
  for (unsigned i = 0; i < dimensions; ++i)
    if (texture.addressMode[i] < 0 || texture.addressMode[i] > 3)
      return wrong("unknown address mode");
  if (texture.filter < 0 || texture.filter > 1 || texture.mipmapFilter < 0 ||
      texture.mipmapFilter > 1)
    return wrong("unknown filter mode");
  if (texture.flags & ~kKnownTextureFlags)
    return wrong("unknown flags");
  for (int reserved : texture.reserved)
    if (reserved)
      return wrong("a reserved word is not 0");
  return kSuccess;
}

// As an H100 keeps them: the ratios that it has, and a bias of at most 15, cut to 256ths.
static uint32_t anisotropyOf(unsigned asked) {
  constexpr uint32_t kRatios[] = {16, 12, 10, 8, 6, 4, 2};
  const auto *found = std::ranges::find_if(kRatios, [&](uint32_t one) { return one <= asked; });
  return found == std::end(kRatios) ? 1 : *found;
}
static float levelBiasOf(float asked) {
  return std::clamp(std::trunc(asked * 256), -15 * 256.0f, 15 * 256.0f) / 256;
}

// The line would come to a half at a half: it starts at a weight that is no whole number. An H200
// seems to keep the bias less that start, cut, so that the bias decides where it starts.
static abi::TrilinearRise riseOf(const abi::Texture &record, float askedBias) {
  using enum abi::TrilinearRise;
  const auto startsLower = [&](double start) {
    const double bias = std::clamp(askedBias * 256.0, -15 * 256.0, 15 * 256.0);
    return std::trunc(bias) - std::trunc(bias - start) < start;
  };
  if (record.maxAnisotropy < 2)
    return None;
  if (record.maxAnisotropy < 4)
    return startsLower(128 - 512.0 / 6) ? By6From42 : By6From43;
  if (record.maxAnisotropy < 8)
    return startsLower(128 - 512.0 / 7) ? By7From54 : By7From55;
  return startsLower(128 - 512.0 / 8) ? By8From63 : By8From64;
}

// Before levels and sRGB are known.
static bool isPlainFilter(const abi::Texture &record) {
  const auto modeOf = [&](unsigned shift) { return abi::AddressMode(record.mode >> shift & 3); };
  return record.mode & abi::kLinearFilter && !(record.mode & abi::kLinearMemory) &&
         modeOf(abi::kModeOfX) != abi::AddressMode::Border &&
         modeOf(abi::kModeOfY) != abi::AddressMode::Border &&
         !abi::TexelFormat{record.format}.blendsWords();
}

} // namespace

Result makeTextureRecord(Context &context, const ResourceDescriptor &resource,
                         const TextureDescriptor &texture, const ViewDescriptor *view,
                         abi::Texture &record) {
  Source source;
  if (Result result = sourceOf(resource, source))
    return result;
  if (Result result = checkTexture(texture, source))
    return result;
  if (view)
    if (Result result = applyView(*view, source))
      return result;
  // With several levels there are no others, but the flag still decides about address modes.
  const bool isNormalized = texture.flags & kNormalizedCoordinates ||
                            (source.mipmapped && source.mipmapped->levels.size() > 1);
  record = {};
  record.grid = source.grid;
  record.format = formatOf(source.format, texture.flags & kReadAsInteger);
  const abi::TexelFormat format{record.format};
  const bool isInteger = format.kind() == abi::TexelKind::Integer ||
                         (format.kind() == abi::TexelKind::Bits && !source.format.isFloat);
  const bool isCube = source.shape.flags & kArrayCubemap;
  // Of cube maps, whose coordinates are always normalised, modes count at the edges of faces,
  // unless these are seamless.
  const bool isSeamless = isCube && texture.flags & kSeamlessCubemap;
  record.mode = isSeamless
                    ? uint32_t(abi::kAllClamp)
                    : addressModes(texture, isCube || texture.flags & kNormalizedCoordinates);
  // Modes of dimensions that there are not say nothing, but for one dimension without layers.
  const bool isRow = dimensionsOf(source) == 1 && !(source.shape.flags & kArrayLayered);
  const unsigned dimensions = isRow ? 2 : dimensionsOf(source);
  for (unsigned i = dimensions; i < 3; ++i)
    record.mode = (record.mode & ~(3u << 2 * i)) | uint32_t(abi::AddressMode::Clamp) << 2 * i;
  if (source.isLinear) {
    record.mode |= abi::kLinearMemory;
    record.fetch = record.format == abi::kFormatOneWord ? abi::kFetchWord : abi::kFetchOther;
  } else {
    if (texture.filter == 1) {
      record.mode |= abi::kLinearFilter;
      if (isSeamless)
        record.mode |= abi::kSeamless;
    }
    if (isNormalized || isCube)
      record.mode |= abi::kNormalizedCoordinates;
  }
  const bool blends = texture.filter == 1 || (source.mipmapped && texture.mipmapFilter == 1);
  if (blends && !source.isLinear && isInteger && source.format.channelShift == 2)
    record.format |= abi::TexelFormat::kBlendsWords | uint32_t(source.format.isSigned)
                                                          << abi::TexelFormat::kSignShift;
  if (source.format.isFloat && source.format.channelShift == 2)
    record.mode |= abi::kNumbers;
  if ((record.mode & abi::kAddressModes) == abi::kAllClamp)
    record.mode |= abi::kPlainAddressing;
  if (isPlainFilter(record) && !source.mipmapped)
    record.mode |= abi::kPlainFilter;
  const bool scales = record.mode & abi::kNormalizedCoordinates;
  // Of a view of levels, gradients are those of the array's own first level, halved (an H200).
  const abi::TexelGrid &whole = source.mipmapped ? source.mipmapped->levels[0]->grid : record.grid;
  const uint32_t sizes[] = {whole.width, whole.height, whole.depth};
  for (unsigned i = 0; i < 3; ++i)
    record.scale[i] = scales ? std::ldexp(float(sizes[i]), -int(source.firstLevel)) : 1.0f;
  // sRGB is for unsigned bytes; of others the flag says nothing.
  if (texture.flags & kStandardRgb && !source.format.channelShift && !source.format.isSigned &&
      format.kind() == abi::TexelKind::Normalized) {
    record.mode = (record.mode & ~uint32_t(abi::kPlainFilter)) | abi::kStandardRgb;
  }
  if (isCube || record.mode & abi::kStandardRgb)
    if (Result result = textureTables(context, record.tables))
      return result;
  const unsigned curved = !(record.mode & abi::kStandardRgb) ? 0
                          : source.format.channels == 2      ? 1
                                                             : 3;
  for (unsigned i = 0; i < 4; ++i)
    if (i < source.format.channels) // the others are 0, as those of texels
      record.border[i] =
          i < curved ? standardRgbOf(texture.border[i]) : borderWord(format, texture.border[i]);
  record.maxAnisotropy = anisotropyOf(texture.maxAnisotropy);
  const bool hasEllipses = record.maxAnisotropy > 1 && dimensionsOf(source) < 3;
  if (texture.filter == 0 && !source.isLinear && (blends || hasEllipses))
    record.mode |= abi::kBlendsPoints;
  if (record.maxAnisotropy > 1 && isInteger && source.format.channelShift == 2)
    return fail(kNotSupported, "texture: anisotropy of 32-bit integers");
  if (source.mipmapped) {
    auto table = reinterpret_cast<uint64_t>(source.mipmapped->table);
    if (source.layers)
      if (Result result =
              levelsOfSlices(*source.mipmapped, source.firstSlice, record.grid.slices, table))
        return result;
    record.levels = table + source.firstLevel * sizeof(abi::TexelGrid);
    record.levelCount = source.levels;
    record.minLevel = texture.minLevel;
    record.maxLevel = texture.maxLevel;
    record.levelBias = levelBiasOf(texture.levelBias);
    if (texture.mipmapFilter == 1)
      record.mode |= abi::kLinearMipmap;
    if (!(texture.flags & kDisableTrilinearOptimization))
      record.mode |= uint32_t(riseOf(record, texture.levelBias)) << abi::kTrilinearRise;
  }
  answerQueries(source, /*isSurface=*/false, record);
  return kSuccess;
}

Result makeSurfaceRecord(const ResourceDescriptor &resource, abi::Texture &record) {
  if (resource.type != kResourceArray)
    return fail(kInvalidValue, "surface: its resource is no array");
  Source source;
  if (Result result = sourceOf(resource, source))
    return result;
  record = {};
  record.grid = source.grid;
  record.format = formatOf(source.format, /*readAsInteger=*/true) |
                  uint32_t(source.format.isSigned && !source.format.isFloat)
                      << abi::TexelFormat::kSignShift;
  answerQueries(source, /*isSurface=*/true, record);
  return kSuccess;
}

// ---------- Where they lie

namespace {

constexpr size_t kSlabRecords = 256;

// Records that were freed are taken again in the order in which they were freed, and there are
// always some: a kernel that still runs finds what it was launched with, for so many objects more.
constexpr size_t kFreeRecords = 64;
struct Pool {
  void *tables = nullptr; // kTextureTables, once a texture needs them
  std::vector<void *> slabs;
  std::deque<uint64_t> free;
};

std::mutex &poolMutex = *new std::mutex;
std::map<Context *, Pool> &pools = *new std::map<Context *, Pool>;

Result growPool(Context &context, Pool &pool) {
  void *slab = nullptr;
  if (Result result = allocateDevice(context, &slab, kSlabRecords * sizeof(abi::Texture)))
    return result;
  ownedByRuntime(hip(), slab);
  pool.slabs.push_back(slab);
  for (size_t i = 0; i < kSlabRecords; ++i)
    pool.free.push_back(reinterpret_cast<uint64_t>(slab) + i * sizeof(abi::Texture));
  return kSuccess;
}

} // namespace

Result writeDevice(Context &context, void *to, const void *from, size_t bytes) {
  return context.check(
      context.services.stream().copy(hip(), to, from, bytes, kHipMemcpyHostToDevice));
}

Result textureTables(Context &context, uint64_t &address) {
  std::lock_guard<std::mutex> lock(poolMutex);
  Pool &pool = pools[&context];
  if (!pool.tables) {
    void *tables = nullptr;
    if (Result result = allocateDevice(context, &tables, sizeof(kTextureTables)))
      return result;
    if (Result result = writeDevice(context, tables, &kTextureTables, sizeof(kTextureTables))) {
      (void)hip().call<hipFree>(tables);
      return result;
    }
    ownedByRuntime(hip(), tables);
    pool.tables = tables;
  }
  address = reinterpret_cast<uint64_t>(pool.tables);
  return kSuccess;
}

Result allocateRecord(Context &context, const abi::Texture &contents, uint64_t &address) {
  std::lock_guard<std::mutex> lock(poolMutex);
  Pool &pool = pools[&context];
  if (pool.free.size() < kFreeRecords)
    if (Result result = growPool(context, pool))
      return result;
  address = pool.free.front();
  if (Result result =
          writeDevice(context, reinterpret_cast<void *>(address), &contents, sizeof(contents)))
    return result;
  pool.free.pop_front();
  return kSuccess;
}

void freeRecord(Context &context, uint64_t address) {
  std::lock_guard<std::mutex> lock(poolMutex);
  pools[&context].free.push_back(address);
}

void releasePool(Context &context) {
  std::lock_guard<std::mutex> lock(poolMutex);
  auto found = pools.find(&context);
  if (found == pools.end())
    return;
  if (!context.hasLostDevice()) {
    for (void *slab : found->second.slabs)
      (void)hip().call<hipFree>(slab);
    if (found->second.tables)
      (void)hip().call<hipFree>(found->second.tables);
  }
  pools.erase(found);
}

} // namespace rubia::runtime::cuda
