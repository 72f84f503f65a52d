// SPDX-License-Identifier: Apache-2.0
// Texture and surface objects, arrays and copies of them, on each generation of RDNA. CDNA has no
// image hardware: there everything is an error.
// The device library of the distribution ends with gfx1036. What differs between these processors
// is in instructions, not in the library, so that theirs serves the later ones.
// RUN: env RUBIA_ARCH=gfx1030 %hiplib %each-version %programs/textures | FileCheck %s
// RUN: env RUBIA_ARCH=gfx1100 %hiplib %programs/textures | FileCheck %s
// RUN: env RUBIA_ARCH=gfx1201 %hiplib %programs/textures | FileCheck %s
// RUN: env RUBIA_ARCH=gfx90a %hiplib %programs/textures 2>&1 | FileCheck --check-prefix=NONE %s
#pragma clang diagnostic ignored "-Wdeprecated-declarations"
#include "Inputs/check.h"
#include <cmath>
#include <cstring>
#include <functional>
#include <vector>

// clang evaluates device functions for the host too, where a processor without images has none.
#if !defined(__HIP_DEVICE_COMPILE__) || !defined(__gfx90a__)
#define IMAGES(...) __VA_ARGS__
#else
#define IMAGES(...)
#endif

constexpr int kWidth = 13, kHeight = 7, kDepth = 5, kPlaces = 512;

struct Places {
  float x[kPlaces], y[kPlaces], z[kPlaces], level[kPlaces];
};

enum Kind { k1D, k2D, k3D, k1DLayered, k2DLayered, kCube, kGather, k2DLod, k2DGrad, kFetch };

__global__ void sample(hipTextureObject_t texture, Kind kind, const Places *places, float4 *out) {
  IMAGES(
      const int i = int(blockIdx.x * blockDim.x + threadIdx.x);
      const float x = places->x[i], y = places->y[i], z = places->z[i]; switch (kind) {
        case k1D:
          out[i] = tex1D<float4>(texture, x);
          break;
        case k2D:
          out[i] = tex2D<float4>(texture, x, y);
          break;
        case k3D:
          out[i] = tex3D<float4>(texture, x, y, z);
          break;
        case k1DLayered:
          out[i] = tex1DLayered<float4>(texture, x, int(z));
          break;
        case k2DLayered:
          out[i] = tex2DLayered<float4>(texture, x, y, int(z));
          break;
        case kCube:
          out[i] = texCubemap<float4>(texture, x, y, z);
          break;
        case kGather:
          out[i] = tex2Dgather<float4>(texture, x, y, 1);
          break;
        case k2DLod:
          out[i] = tex2DLod<float4>(texture, x, y, places->level[i]);
          break;
        case k2DGrad: {
          const float step = places->level[i];
          out[i] = tex2DGrad<float4>(texture, x, y, float2(step, 0), float2(0, step));
          break;
        }
        case kFetch:
          out[i] = tex1Dfetch<float4>(texture, int(x));
          break;
      })
}

__global__ void integers(hipTextureObject_t texture, const Places *places, int *out) {
  IMAGES(const int i = int(blockIdx.x * blockDim.x + threadIdx.x);
         out[i] = tex2D<int>(texture, places->x[i], places->y[i]);)
}

__global__ void addOne(hipSurfaceObject_t from, hipSurfaceObject_t to) {
  IMAGES(const int x = int(threadIdx.x), y = int(blockIdx.x); float4 texel;
         surf2Dread(&texel, from, x * int(sizeof(float4)), y); texel.x += 1; texel.w = float(x);
         surf2Dwrite(texel, to, x * int(sizeof(float4)), y);)
}

static Places *places;
static float4 *onDevice;
static std::vector<float4> results(kPlaces);
static Places host;

static uint32_t random32() {
  static uint32_t state = 1;
  state = state * 1664525 + 1013904223;
  return state >> 8;
}
static float between(float least, float most) {
  return least + (most - least) * float(random32() & 0xffff) / 65536;
}
static float4 texelOf(int x, int y, int z) {
  return float4(float(x), float(y), float(z), float(x * y + z));
}

static void run(hipTextureObject_t texture, Kind kind) {
  (void)hipGetLastError(); // HIP 7 keeps those of calls that were to fail
  CHECK(hipMemcpy(places, &host, sizeof(host), hipMemcpyHostToDevice));
  CHECK(hipMemset(onDevice, 0xff, kPlaces * sizeof(float4)));
  sample<<<kPlaces / 64, 64>>>(texture, kind, places, onDevice);
  CHECK(hipGetLastError());
  CHECK(hipMemcpy(results.data(), onDevice, kPlaces * sizeof(float4), hipMemcpyDeviceToHost));
}
static bool isNear(const float4 &a, const float4 &b, float bound) {
  return std::fabs(a.x - b.x) <= bound && std::fabs(a.y - b.y) <= bound &&
         std::fabs(a.z - b.z) <= bound && std::fabs(a.w - b.w) <= bound * 8;
}
static void expectAll(const std::function<float4(int)> &wanted, float bound, int line) {
  for (int i = 0; i < kPlaces; ++i)
    if (!isNear(results[size_t(i)], wanted(i), bound)) {
      const float4 &got = results[size_t(i)], want = wanted(i);
      printf("line %d, place %d (%g %g %g): %g %g %g %g, not %g %g %g %g\n", line, i, host.x[i],
             host.y[i], host.z[i], got.x, got.y, got.z, got.w, want.x, want.y, want.z, want.w);
      exit(1);
    }
}

static hipTextureDesc descriptor(hipTextureFilterMode filter, hipTextureAddressMode address,
                                 bool normalized) {
  hipTextureDesc texture;
  memset(&texture, 0, sizeof(texture));
  texture.filterMode = filter;
  for (auto &mode : texture.addressMode)
    mode = address;
  texture.normalizedCoords = normalized;
  texture.readMode = hipReadModeElementType;
  return texture;
}
static hipResourceDesc ofArray(hipArray_t array) {
  hipResourceDesc resource;
  memset(&resource, 0, sizeof(resource));
  resource.resType = hipResourceTypeArray;
  resource.res.array.array = array;
  return resource;
}
static hipTextureObject_t create(const hipResourceDesc &resource, const hipTextureDesc &texture) {
  hipTextureObject_t object;
  CHECK(hipCreateTextureObject(&object, &resource, &texture, nullptr));
  return object;
}

// The index that an address mode makes of one; -1: the border.
static int wrapped(int i, int count, hipTextureAddressMode mode) {
  switch (mode) {
  case hipAddressModeWrap:
    return (i % count + count) % count;
  case hipAddressModeMirror:
    i = (i % (2 * count) + 2 * count) % (2 * count);
    return i < count ? i : 2 * count - 1 - i;
  case hipAddressModeBorder:
    return i < 0 || i >= count ? -1 : i;
  default:
    return i < 0 ? 0 : i >= count ? count - 1 : i;
  }
}

// A box of an array that CHECK has made: texels as texelOf has them.
static hipArray_t makeArray(int width, int height, int depth, unsigned flags) {
  const hipChannelFormatDesc format = hipCreateChannelDesc<float4>();
  hipArray_t array;
  CHECK(hipMalloc3DArray(&array, &format,
                         make_hipExtent(size_t(width), size_t(height), size_t(depth)), flags));
  const int rows = height ? height : 1, slices = depth ? depth : 1;
  std::vector<float4> texels;
  for (int z = 0; z < slices; ++z)
    for (int y = 0; y < rows; ++y)
      for (int x = 0; x < width; ++x)
        texels.push_back(texelOf(x, y, z));
  hipMemcpy3DParms copy;
  memset(&copy, 0, sizeof(copy));
  copy.srcPtr = make_hipPitchedPtr(texels.data(), size_t(width) * sizeof(float4), size_t(width),
                                   size_t(rows));
  copy.dstArray = array;
  copy.extent = make_hipExtent(size_t(width), size_t(rows), size_t(slices));
  copy.kind = hipMemcpyHostToDevice;
  CHECK(hipMemcpy3D(&copy));
  // And back: the same bytes.
  std::vector<float4> again(texels.size());
  memset(&copy, 0, sizeof(copy));
  copy.dstPtr =
      make_hipPitchedPtr(again.data(), size_t(width) * sizeof(float4), size_t(width), size_t(rows));
  copy.srcArray = array;
  copy.extent = make_hipExtent(size_t(width), size_t(rows), size_t(slices));
  copy.kind = hipMemcpyDeviceToHost;
  CHECK(hipMemcpy3D(&copy));
  EXPECT(!memcmp(again.data(), texels.data(), texels.size() * sizeof(float4)));
  return array;
}

static void drawPlaces(float scaleX, float scaleY, float scaleZ) {
  for (int i = 0; i < kPlaces; ++i) {
    host.x[i] = between(-1.4f, 2.4f) * scaleX;
    host.y[i] = between(-1.4f, 2.4f) * scaleY;
    host.z[i] = between(-1.4f, 2.4f) * scaleZ;
  }
}

// A blend of two texels of each dimension, in double.
static float4 blended(const float (&at)[3], const int (&sizes)[3], int dimensions, bool isLinear,
                      hipTextureAddressMode mode, const std::function<float4(int, int, int)> &of) {
  double sums[4] = {};
  for (int corner = 0; corner < 1 << dimensions; ++corner) {
    double weight = 1;
    int index[3] = {};
    bool isBorder = false;
    for (int d = 0; d < dimensions; ++d) {
      const double place = isLinear ? double(at[d]) - 0.5 : double(at[d]);
      const double fraction = isLinear ? place - std::floor(place) : 0;
      const bool isUpper = corner >> d & 1;
      weight *= isUpper ? fraction : 1 - fraction;
      index[d] = wrapped(int(std::floor(place)) + isUpper, sizes[d], mode);
      isBorder |= index[d] < 0;
    }
    if (weight == 0 || isBorder)
      continue;
    const float4 texel = of(index[0], index[1], index[2]);
    sums[0] += weight * texel.x;
    sums[1] += weight * texel.y;
    sums[2] += weight * texel.z;
    sums[3] += weight * texel.w;
  }
  return float4(float(sums[0]), float(sums[1]), float(sums[2]), float(sums[3]));
}

static void filtersAndModes() {
  const int sizes[3] = {kWidth, kHeight, kDepth};
  hipArray_t arrays[3] = {makeArray(kWidth, 0, 0, 0), makeArray(kWidth, kHeight, 0, 0),
                          makeArray(kWidth, kHeight, kDepth, 0)};
  const Kind kinds[3] = {k1D, k2D, k3D};
  for (int dimensions = 1; dimensions <= 3; ++dimensions)
    for (bool normalized : {false, true})
      for (bool isLinear : {false, true})
        for (auto mode : {hipAddressModeClamp, hipAddressModeBorder, hipAddressModeWrap,
                          hipAddressModeMirror}) {
          if (!normalized && (mode == hipAddressModeWrap || mode == hipAddressModeMirror))
            continue;
          const hipTextureObject_t texture = create(
              ofArray(arrays[dimensions - 1]),
              descriptor(isLinear ? hipFilterModeLinear : hipFilterModePoint, mode, normalized));
          drawPlaces(normalized ? 1 : kWidth, normalized ? 1 : kHeight, normalized ? 1 : kDepth);
          // Beside the places where a point changes: rounding is not the matter here.
          if (!isLinear)
            for (int i = 0; i < kPlaces; ++i)
              for (auto [place, size] : {std::pair(host.x, kWidth), std::pair(host.y, kHeight),
                                         std::pair(host.z, kDepth)}) {
                const float texels = std::floor(normalized ? place[i] * float(size) : place[i]);
                place[i] = (texels + 0.5f) / (normalized ? float(size) : 1.0f);
              }
          run(texture, kinds[dimensions - 1]);
          // One weight of 256, in each dimension.
          expectAll(
              [&](int i) {
                const float scale[3] = {normalized ? kWidth : 1.0f, normalized ? kHeight : 1.0f,
                                        normalized ? kDepth : 1.0f};
                const float at[3] = {host.x[i] * scale[0], host.y[i] * scale[1],
                                     host.z[i] * scale[2]};
                return blended(at, sizes, dimensions, isLinear, mode, texelOf);
              },
              isLinear ? 13.0f / 128 : 0, __LINE__);
          CHECK(hipDestroyTextureObject(texture));
        }
  for (hipArray_t array : arrays)
    CHECK(hipFreeArray(array));
}

static void layersAndCubes() {
  const hipTextureDesc linear = descriptor(hipFilterModeLinear, hipAddressModeClamp, false);
  hipArray_t layers = makeArray(kWidth, kHeight, kDepth, hipArrayLayered);
  hipTextureObject_t texture = create(ofArray(layers), linear);
  for (int i = 0; i < kPlaces; ++i) {
    host.x[i] = float(i % kWidth) + 0.5f;
    host.y[i] = float(i % kHeight) + 0.5f;
    host.z[i] = float(i % kDepth);
  }
  run(texture, k2DLayered);
  expectAll([](int i) { return texelOf(i % kWidth, i % kHeight, i % kDepth); }, 0, __LINE__);
  CHECK(hipDestroyTextureObject(texture));
  CHECK(hipFreeArray(layers));

  layers = makeArray(kWidth, 0, kDepth, hipArrayLayered);
  texture = create(ofArray(layers), linear);
  run(texture, k1DLayered);
  expectAll([](int i) { return texelOf(i % kWidth, 0, i % kDepth); }, 0, __LINE__);
  CHECK(hipDestroyTextureObject(texture));
  CHECK(hipFreeArray(layers));

  // The middle of each texel of each face: +x, -x, +y, -y, +z, -z. The device library divides by
  // the axis with its sign, and so turns every second face.
  constexpr int kSize = 8;
  hipArray_t faces = makeArray(kSize, kSize, 6, hipArrayCubemap);
  texture = create(ofArray(faces), descriptor(hipFilterModeLinear, hipAddressModeClamp, true));
  for (int i = 0; i < kPlaces; ++i) {
    const int face = i % 6;
    const float s = (2 * float(i / 6 % kSize) + 1) / kSize - 1,
                t = (2 * float(i / 48 % kSize) + 1) / kSize - 1;
    const float directions[6][3] = {{1, -t, -s}, {-1, -t, s}, {s, 1, t},
                                    {s, -1, -t}, {s, -t, 1},  {-s, -t, -1}};
    host.x[i] = directions[face][0];
    host.y[i] = directions[face][1];
    host.z[i] = directions[face][2];
  }
  run(texture, kCube);
  expectAll(
      [](int i) {
        const int s = i / 6 % kSize, t = i / 48 % kSize;
        return i % 2 ? texelOf(kSize - 1 - s, kSize - 1 - t, i % 6) : texelOf(s, t, i % 6);
      },
      0.01f, __LINE__);
  CHECK(hipDestroyTextureObject(texture));
  CHECK(hipFreeArray(faces));
}

static void gathers() {
  hipArray_t array = makeArray(kWidth, kHeight, 0, 0);
  const hipTextureObject_t texture =
      create(ofArray(array), descriptor(hipFilterModeLinear, hipAddressModeClamp, false));
  for (int i = 0; i < kPlaces; ++i) {
    host.x[i] = float(i % 11) + 1.1f;
    host.y[i] = float(i % 6) + 1.1f;
  }
  run(texture, kGather);
  expectAll(
      [](int i) { // the first channel, which HIP 5.2's header counts as 1
        const float x = float(i % 11), right = std::fmin(x + 1, kWidth - 1);
        return float4(x, right, right, x);
      },
      0, __LINE__);
  CHECK(hipDestroyTextureObject(texture));
  CHECK(hipFreeArray(array));
}

static void normalizedReads() {
  struct Format {
    hipChannelFormatKind kind;
    int bits;
    float wanted[4];
  };
  const unsigned char bytes[8] = {0, 51, 0x80, 0xff, 0x7f, 0x80, 0x33, 1};
  const Format formats[] = {
      {hipChannelFormatKindUnsigned, 8, {0, 0.2f, 128 / 255.0f, 1}},
      {hipChannelFormatKindSigned, 8, {0, 51 / 127.0f, -1, -1 / 127.0f}},
      {hipChannelFormatKindUnsigned,
       16,
       {0x3300 / 65535.0f, 0xff80 / 65535.0f, 0x807f / 65535.0f, 0x0133 / 65535.0f}},
      {hipChannelFormatKindSigned,
       16,
       {0x3300 / 32767.0f, -128 / 32767.0f, -32641 / 32767.0f, 0x0133 / 32767.0f}}};
  for (const Format &format : formats) {
    const hipChannelFormatDesc desc =
        hipCreateChannelDesc(format.bits, format.bits, format.bits, format.bits, format.kind);
    hipArray_t array;
    CHECK(hipMallocArray(&array, &desc, 1, 1));
    CHECK(hipMemcpyToArray(array, 0, 0, bytes, size_t(format.bits) / 2, hipMemcpyHostToDevice));
    hipTextureDesc texture = descriptor(hipFilterModeLinear, hipAddressModeClamp, false);
    texture.readMode = hipReadModeNormalizedFloat;
    const hipTextureObject_t object = create(ofArray(array), texture);
    drawPlaces(1, 1, 1);
    run(object, k2D);
    expectAll(
        [&](int) {
          return float4(format.wanted[0], format.wanted[1], format.wanted[2], format.wanted[3]);
        },
        1e-7f, __LINE__);
    // A linear filter is none for integers.
    texture.readMode = hipReadModeElementType;
    hipTextureObject_t none;
    const hipResourceDesc resource = ofArray(array);
    EXPECT(hipCreateTextureObject(&none, &resource, &texture, nullptr) == hipErrorInvalidValue);
    CHECK(hipDestroyTextureObject(object));
    CHECK(hipFreeArray(array));
  }
}

static void integersAndMemory() {
  // Integers of 32 bits in pitched memory.
  int *pitched;
  size_t pitch;
  CHECK(hipMallocPitch(reinterpret_cast<void **>(&pitched), &pitch, kWidth * sizeof(int), kHeight));
  std::vector<int> values;
  for (int i = 0; i < kWidth * kHeight; ++i)
    values.push_back(i * 1000003 - 7);
  CHECK(hipMemcpy2D(pitched, pitch, values.data(), kWidth * sizeof(int), kWidth * sizeof(int),
                    kHeight, hipMemcpyHostToDevice));
  hipResourceDesc resource;
  memset(&resource, 0, sizeof(resource));
  resource.resType = hipResourceTypePitch2D;
  resource.res.pitch2D.devPtr = pitched;
  resource.res.pitch2D.desc = hipCreateChannelDesc<int>();
  resource.res.pitch2D.width = kWidth;
  resource.res.pitch2D.height = kHeight;
  resource.res.pitch2D.pitchInBytes = pitch;
  const hipTextureDesc point = descriptor(hipFilterModePoint, hipAddressModeClamp, false);
  hipTextureObject_t texture = create(resource, point);
  for (int i = 0; i < kPlaces; ++i) {
    host.x[i] = float(i % kWidth) + 0.5f;
    host.y[i] = float(i % kHeight) + 0.5f;
  }
  CHECK(hipMemcpy(places, &host, sizeof(host), hipMemcpyHostToDevice));
  auto *out = reinterpret_cast<int *>(onDevice);
  integers<<<kPlaces / 64, 64>>>(texture, places, out);
  std::vector<int> read(kPlaces);
  CHECK(hipMemcpy(read.data(), out, kPlaces * sizeof(int), hipMemcpyDeviceToHost));
  for (int i = 0; i < kPlaces; ++i)
    EXPECT(read[size_t(i)] == values[size_t(i % kHeight * kWidth + i % kWidth)]);
  hipResourceDesc told;
  CHECK(hipGetTextureObjectResourceDesc(&told, texture));
  EXPECT(told.res.pitch2D.devPtr == pitched);
  CHECK(hipDestroyTextureObject(texture));
  CHECK(hipFree(pitched));

  // A fetch from linear memory; outside are zeros.
  std::vector<float4> texels;
  for (int i = 0; i < 100; ++i)
    texels.push_back(texelOf(i, 1, 2));
  float4 *linear;
  CHECK(hipMalloc(&linear, texels.size() * sizeof(float4)));
  CHECK(hipMemcpy(linear, texels.data(), texels.size() * sizeof(float4), hipMemcpyHostToDevice));
  memset(&resource, 0, sizeof(resource));
  resource.resType = hipResourceTypeLinear;
  resource.res.linear.devPtr = linear;
  resource.res.linear.desc = hipCreateChannelDesc<float4>();
  resource.res.linear.sizeInBytes = texels.size() * sizeof(float4);
  texture = create(resource, point);
  for (int i = 0; i < kPlaces; ++i)
    host.x[i] = float(i);
  run(texture, kFetch);
  expectAll([](int i) { return i < 100 ? texelOf(i, 1, 2) : float4(0, 0, 0, 0); }, 0, __LINE__);
  CHECK(hipDestroyTextureObject(texture));
  CHECK(hipFree(linear));
}

static void levels() {
  const hipChannelFormatDesc format = hipCreateChannelDesc<float4>();
  constexpr int kSize = 16;
  hipMipmappedArray_t mipmap;
  CHECK(hipMallocMipmappedArray(&mipmap, &format, make_hipExtent(kSize, kSize, 0), 5));
  for (unsigned level = 0; level < 5; ++level) {
    hipArray_t array;
    CHECK(hipGetMipmappedArrayLevel(&array, mipmap, level));
    const size_t size = size_t(kSize) >> level;
    const std::vector<float4> texels(size * size, float4(float(level), 0, 0, 0));
    CHECK(hipMemcpy2DToArray(array, 0, 0, texels.data(), size * sizeof(float4),
                             size * sizeof(float4), size, hipMemcpyHostToDevice));
  }
  hipResourceDesc resource;
  memset(&resource, 0, sizeof(resource));
  resource.resType = hipResourceTypeMipmappedArray;
  resource.res.mipmap.mipmap = mipmap;
  for (bool isLinear : {false, true}) {
    hipTextureDesc texture = descriptor(hipFilterModeLinear, hipAddressModeWrap, true);
    texture.mipmapFilterMode = isLinear ? hipFilterModeLinear : hipFilterModePoint;
    texture.maxMipmapLevelClamp = 3;
    texture.mipmapLevelBias = 0.25f;
    const hipTextureObject_t object = create(resource, texture);
    drawPlaces(1, 1, 1);
    for (int i = 0; i < kPlaces; ++i)
      host.level[i] = float(i) / 64 - 1; // eighths of a level are weights
    auto levelOf = [&](float level) {
      level = std::fmin(std::fmax(level + 0.25f, 0), 3);
      return isLinear ? level : std::floor(level + 0.5f);
    };
    run(object, k2DLod);
    expectAll([&](int i) { return float4(levelOf(host.level[i]), 0, 0, 0); }, 0, __LINE__);
    // Steps of 2^l texels.
    std::vector<float> wanted;
    for (float &step : host.level) {
      const float level = std::floor((step + 1) / 2);
      wanted.push_back(levelOf(level));
      step = std::exp2(level) / kSize;
    }
    run(object, k2DGrad);
    expectAll([&](int i) { return float4(wanted[size_t(i)], 0, 0, 0); }, 0, __LINE__);
    CHECK(hipDestroyTextureObject(object));
  }
  CHECK(hipFreeMipmappedArray(mipmap));
}

static void surfaces() {
  hipArray_t from = makeArray(kWidth, kHeight, 0, hipArraySurfaceLoadStore),
             to = makeArray(kWidth, kHeight, 0, hipArraySurfaceLoadStore);
  hipSurfaceObject_t read, written;
  hipResourceDesc resource = ofArray(from);
  CHECK(hipCreateSurfaceObject(&read, &resource));
  resource = ofArray(to);
  CHECK(hipCreateSurfaceObject(&written, &resource));
  addOne<<<kHeight, kWidth>>>(read, written);
  CHECK(hipDeviceSynchronize());
  std::vector<float4> texels(kWidth * kHeight);
  CHECK(hipMemcpy2DFromArray(texels.data(), kWidth * sizeof(float4), to, 0, 0,
                             kWidth * sizeof(float4), kHeight, hipMemcpyDeviceToHost));
  for (int y = 0; y < kHeight; ++y)
    for (int x = 0; x < kWidth; ++x) {
      const float4 &texel = texels[size_t(y * kWidth + x)];
      EXPECT(texel.x == float(x) + 1 && texel.y == float(y) && texel.w == float(x));
    }
  // What a surface wrote is read as a texture.
  const hipTextureObject_t texture =
      create(ofArray(to), descriptor(hipFilterModePoint, hipAddressModeClamp, false));
  for (int i = 0; i < kPlaces; ++i) {
    host.x[i] = float(i % kWidth) + 0.5f;
    host.y[i] = float(i % kHeight) + 0.5f;
  }
  run(texture, k2D);
  expectAll(
      [](int i) { return float4(float(i % kWidth) + 1, float(i % kHeight), 0, float(i % kWidth)); },
      0, __LINE__);
  CHECK(hipDestroyTextureObject(texture));
  CHECK(hipDestroySurfaceObject(read));
  CHECK(hipDestroySurfaceObject(written));
  EXPECT(hipDestroySurfaceObject(read) == hipErrorInvalidValue);
  CHECK(hipFreeArray(from));
  CHECK(hipFreeArray(to));
}

static void wrongCalls() {
  const hipChannelFormatDesc format = hipCreateChannelDesc<float>();
  const hipChannelFormatDesc three = hipCreateChannelDesc(8, 8, 8, 0, hipChannelFormatKindUnsigned);
  hipArray_t array;
  EXPECT(hipMallocArray(nullptr, &format, 4, 4) == hipErrorInvalidValue);
  EXPECT(hipMallocArray(&array, &three, 4, 4) == hipErrorInvalidValue);
  EXPECT(hipMallocArray(&array, &format, 0, 4) == hipErrorInvalidValue);
  EXPECT(hipMallocArray(&array, &format, 20000, 4) == hipErrorInvalidValue);
  EXPECT(hipMalloc3DArray(&array, &format, make_hipExtent(4, 5, 6), hipArrayCubemap) ==
         hipErrorInvalidValue);
  CHECK(hipMallocArray(&array, &format, 4, 4));
  float texels[20] = {};
  EXPECT(hipMemcpy2DToArray(array, 0, 1, texels, 16, 16, 4, hipMemcpyHostToDevice) ==
         hipErrorInvalidValue);
  EXPECT(hipMemcpyToArray(array, 4, 0, texels, 64, hipMemcpyHostToDevice) == hipErrorInvalidValue);
  for (int i = 0; i < 20; ++i)
    texels[i] = float(i);
  CHECK(hipMemcpyToArray(array, 8, 1, texels, 40, hipMemcpyHostToDevice)); // over two rows' ends
  float back[10] = {};
  CHECK(hipMemcpyFromArray(back, array, 8, 1, 40, hipMemcpyDeviceToHost));
  EXPECT(!memcmp(back, texels, sizeof(back)));
  hipTextureObject_t texture;
  hipTextureDesc border = descriptor(hipFilterModePoint, hipAddressModeBorder, false);
  border.borderColor[1] = 0.5f;
  const hipResourceDesc resource = ofArray(array);
  EXPECT(hipCreateTextureObject(&texture, &resource, &border, nullptr) == hipErrorNotSupported);
  EXPECT(hipDestroyTextureObject(reinterpret_cast<hipTextureObject_t>(&border)) ==
         hipErrorInvalidValue);
  CHECK(hipFreeArray(array));
  EXPECT(hipFreeArray(array) == hipErrorInvalidValue);
}

int main() {
  hipDeviceProp_t properties;
  CHECK(hipGetDeviceProperties(&properties, 0));
  if (!properties.maxTexture1D) {
    const hipChannelFormatDesc format = hipCreateChannelDesc<float>();
    hipArray_t array;
    printf("no images: %s\n", hipGetErrorName(hipMallocArray(&array, &format, 4, 4)));
    return 0;
  }
  CHECK(hipMalloc(&places, sizeof(Places)));
  CHECK(hipMalloc(&onDevice, kPlaces * sizeof(float4)));
  filtersAndModes();
  layersAndCubes();
  gathers();
  normalizedReads();
  integersAndMemory();
  levels();
  surfaces();
  wrongCalls();
  // CHECK: PASS
  // NONE: rubia emulator: hipMallocArray: images are not supported on gfx90a
  // NONE: no images: hipErrorNotSupported
  printf("PASS\n");
}
