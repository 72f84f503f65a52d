// SPDX-License-Identifier: Apache-2.0
// Arrays and texture objects in the form of the driver API, views of them, and every copy.
// RUN: env RUBIA_ARCH=gfx1030 %hiplib %each-version %programs/arrays | FileCheck %s
#include "Inputs/check.h"
#include <cmath>
#include <cstring>
#include <dlfcn.h>
#include <vector>

constexpr size_t kWidth = 10, kHeight = 4, kCount = kWidth * kHeight;

__global__ void readBytes(hipTextureObject_t texture, float4 *out) {
  const float4 texel =
      tex2D<float4>(texture, float(threadIdx.x % 10) + 0.5f, float(threadIdx.x / 10) + 0.5f);
  out[threadIdx.x] = texel;
}
__global__ void readLevel(hipTextureObject_t texture, float *out) {
  out[threadIdx.x] = tex2DLod<float>(texture, 0.5f, 0.5f, float(threadIdx.x));
}

template <typename... Arguments> static hipError_t call(const char *name, Arguments... arguments) {
  auto function = reinterpret_cast<hipError_t (*)(Arguments...)>(dlsym(RTLD_DEFAULT, name));
  EXPECT(function); // later headers declare it
  return function(arguments...);
}

static bool isFirst; // HIP 5, whose memory types have other numbers
static hipMemoryType ofHost() { return hipMemoryType(isFirst ? 0 : 1); }
static hipMemoryType ofDevice() { return hipMemoryType(isFirst ? 1 : 2); }
static hipMemoryType ofArray() { return hipMemoryType(isFirst ? 2 : 10); }

static hipArray_t makeBytes() {
  HIP_ARRAY3D_DESCRIPTOR descriptor;
  memset(&descriptor, 0, sizeof(descriptor));
  descriptor.Width = kWidth;
  descriptor.Height = kHeight;
  descriptor.Format = HIP_AD_FORMAT_UNSIGNED_INT8;
  descriptor.NumChannels = 4;
  hipArray_t array;
  CHECK(hipArray3DCreate(&array, &descriptor));
  return array;
}
static std::vector<unsigned char> pattern(unsigned factor) {
  std::vector<unsigned char> bytes;
  for (size_t i = 0; i < 4 * kCount; ++i)
    bytes.push_back(static_cast<unsigned char>(i * factor + 3));
  return bytes;
}
static std::vector<unsigned char> contents(hipArray_t array) {
  std::vector<unsigned char> bytes(4 * kCount);
  CHECK(hipMemcpyAtoH(bytes.data(), array, 0, bytes.size()));
  return bytes;
}

static void descriptions() {
  hipArray_t array = makeBytes();
  HIP_ARRAY_DESCRIPTOR flat;
  CHECK(call("hipArrayGetDescriptor", &flat, array));
  EXPECT(flat.Width == kWidth && flat.Height == kHeight && flat.NumChannels == 4);
  HIP_ARRAY3D_DESCRIPTOR whole;
  CHECK(call("hipArray3DGetDescriptor", &whole, array));
  EXPECT(whole.Depth == 0 && whole.Format == HIP_AD_FORMAT_UNSIGNED_INT8);
  hipChannelFormatDesc format;
  hipExtent extent;
  unsigned flags;
  CHECK(call("hipArrayGetInfo", &format, &extent, &flags, array));
  EXPECT(format.x == 8 && format.w == 8 && format.f == hipChannelFormatKindUnsigned);
  EXPECT(extent.width == kWidth && extent.height == kHeight && flags == 0);
  hipChannelFormatDesc again;
  CHECK(hipGetChannelDesc(&again, array));
  EXPECT(!memcmp(&again, &format, sizeof(format)));
  CHECK(hipArrayDestroy(array));
  EXPECT(hipArrayDestroy(array) == hipErrorInvalidValue);
  int limit;
  CHECK(hipDeviceGetAttribute(&limit, hipDeviceAttributeMaxTexture2DWidth, 0));
  EXPECT(limit == 16384);
  size_t width;
  CHECK(call("hipDeviceGetTexture1DLinearMaxWidth", &width,
             static_cast<const hipChannelFormatDesc *>(&format), 0));
  EXPECT(width == size_t(1) << 28);
}

static void copies() {
  hipArray_t first = makeBytes(), second = makeBytes();
  const std::vector<unsigned char> bytes = pattern(7), others = pattern(11);
  CHECK(hipMemcpyHtoA(first, 0, bytes.data(), bytes.size()));
  EXPECT(contents(first) == bytes);
  // Of a row's middle on, over rows' ends.
  CHECK(hipMemcpyHtoA(second, 0, others.data(), others.size()));
  CHECK(call("hipMemcpyAtoA", second, size_t(24), first, size_t(52), size_t(100)));
  std::vector<unsigned char> wanted = others;
  memcpy(wanted.data() + 24, bytes.data() + 52, 100);
  EXPECT(contents(second) == wanted);
  EXPECT(call("hipMemcpyAtoA", second, size_t(64), first, size_t(0), size_t(100)) ==
         hipErrorInvalidValue);
  void *device;
  CHECK(hipMalloc(&device, 160));
  CHECK(call("hipMemcpyAtoD", device, first, size_t(8), size_t(152)));
  CHECK(call("hipMemcpyDtoA", second, size_t(0), device, size_t(152)));
  memcpy(wanted.data(), bytes.data() + 8, 152);
  EXPECT(contents(second) == wanted);
  CHECK(call("hipMemcpy2DArrayToArray", second, size_t(4), size_t(1),
             static_cast<hipArray_const_t>(first), size_t(8), size_t(2), size_t(12), size_t(2),
             hipMemcpyDeviceToDevice));
  for (size_t y = 0; y < 2; ++y)
    memcpy(wanted.data() + 40 * (y + 1) + 4, bytes.data() + 40 * (y + 2) + 8, 12);
  EXPECT(contents(second) == wanted);
  // In stream order.
  hipStream_t stream;
  CHECK(hipStreamCreate(&stream));
  CHECK(call("hipMemcpyHtoAAsync", second, size_t(0), static_cast<const void *>(others.data()),
             others.size(), stream));
  std::vector<unsigned char> back(160);
  CHECK(call("hipMemcpyAtoHAsync", static_cast<void *>(back.data()), second, size_t(0), back.size(),
             stream));
  CHECK(hipStreamSynchronize(stream));
  EXPECT(back == others);
  CHECK(hipMemcpy2DToArrayAsync(second, 0, 0, bytes.data(), 40, 40, kHeight, hipMemcpyHostToDevice,
                                stream));
  CHECK(hipMemcpy2DFromArrayAsync(back.data(), 40, second, 0, 0, 40, kHeight, hipMemcpyDeviceToHost,
                                  stream));
  CHECK(hipStreamSynchronize(stream));
  EXPECT(back == bytes);
  CHECK(hipStreamDestroy(stream));
  // The driver's forms.
  hip_Memcpy2D box;
  memset(&box, 0, sizeof(box));
  box.srcMemoryType = ofArray();
  box.srcArray = first;
  box.srcXInBytes = 4;
  box.srcY = 1;
  box.dstMemoryType = ofHost();
  box.dstHost = back.data();
  box.dstPitch = 20;
  box.WidthInBytes = 16;
  box.Height = 3;
  CHECK(hipMemcpyParam2D(&box));
  for (size_t y = 0; y < 3; ++y)
    EXPECT(!memcmp(back.data() + 20 * y, bytes.data() + 40 * (y + 1) + 4, 16));
  box.srcY = 2;
  EXPECT(hipMemcpyParam2D(&box) == hipErrorInvalidValue); // beyond the array
  box.srcY = 0;
  box.dstMemoryType = ofDevice();
  box.dstDevice = device;
  CHECK(hipMemcpyParam2D(&box));
  CHECK(hipMemcpy(back.data(), device, 60, hipMemcpyDeviceToHost));
  EXPECT(!memcmp(back.data() + 20, bytes.data() + 44, 16));
  // A node of a graph.
  hipMemcpy3DParms copy;
  memset(&copy, 0, sizeof(copy));
  copy.srcArray = first;
  copy.dstArray = second;
  copy.dstPos = make_hipPos(1, 1, 0);
  copy.extent = make_hipExtent(3, 2, 1);
  copy.kind = hipMemcpyDeviceToDevice;
  hipGraph_t graph;
  hipGraphNode_t node;
  hipGraphExec_t executable;
  CHECK(hipGraphCreate(&graph, 0));
  CHECK(hipGraphAddMemcpyNode(&node, graph, nullptr, 0, &copy));
  CHECK(hipGraphInstantiate(&executable, graph, nullptr, nullptr, 0));
  CHECK(hipMemcpyHtoA(second, 0, others.data(), others.size()));
  CHECK(hipGraphLaunch(executable, nullptr));
  CHECK(hipDeviceSynchronize());
  wanted = others;
  for (size_t y = 0; y < 2; ++y)
    memcpy(wanted.data() + 40 * (y + 1) + 4, bytes.data() + 40 * y, 12);
  EXPECT(contents(second) == wanted);
  CHECK(hipGraphExecDestroy(executable));
  CHECK(hipGraphDestroy(graph));
  CHECK(hipFree(device));
  CHECK(hipFreeArray(first));
  CHECK(hipFreeArray(second));
}

static std::vector<float4> read(hipTextureObject_t texture) {
  float4 *out;
  std::vector<float4> texels(kCount);
  (void)hipGetLastError(); // HIP 7 keeps those of calls that were to fail
  CHECK(hipMalloc(&out, kCount * sizeof(float4)));
  readBytes<<<1, kCount>>>(texture, out);
  CHECK(hipGetLastError());
  CHECK(hipMemcpy(texels.data(), out, kCount * sizeof(float4), hipMemcpyDeviceToHost));
  CHECK(hipFree(out));
  return texels;
}

static void objects() {
  hipArray_t array = makeBytes();
  const std::vector<unsigned char> bytes = pattern(13);
  CHECK(hipMemcpyHtoA(array, 0, bytes.data(), bytes.size()));
  HIP_RESOURCE_DESC resource;
  memset(&resource, 0, sizeof(resource));
  resource.resType = HIP_RESOURCE_TYPE_ARRAY;
  resource.res.array.hArray = array;
  HIP_TEXTURE_DESC texture;
  memset(&texture, 0, sizeof(texture));
  for (auto &mode : texture.addressMode)
    mode = HIP_TR_ADDRESS_MODE_CLAMP;
  // Bytes are numbers of [0, 1] unless a flag says otherwise; sRGB is made linear, but for alpha.
  for (bool isCurved : {false, true}) {
    texture.flags = isCurved ? HIP_TRSF_SRGB : 0;
    hipTextureObject_t object;
    CHECK(hipTexObjectCreate(&object, &resource, &texture, nullptr));
    const std::vector<float4> texels = read(object);
    for (size_t i = 0; i < kCount; ++i) {
      const float *texel = reinterpret_cast<const float *>(&texels[i]);
      for (size_t c = 0; c < 4; ++c) {
        double value = bytes[4 * i + c] / 255.0;
        if (isCurved && c < 3)
          value = value <= 0.04045 ? value / 12.92 : std::pow((value + 0.055) / 1.055, 2.4);
        EXPECT(std::fabs(double(texel[c]) - value) < 1e-6);
      }
    }
    HIP_TEXTURE_DESC told;
    CHECK(hipTexObjectGetTextureDesc(&told, object));
    EXPECT(told.flags == texture.flags && told.addressMode[1] == HIP_TR_ADDRESS_MODE_CLAMP);
    HIP_RESOURCE_DESC where;
    CHECK(hipTexObjectGetResourceDesc(&where, object));
    EXPECT(where.res.array.hArray == array);
    HIP_RESOURCE_VIEW_DESC none;
    EXPECT(hipTexObjectGetResourceViewDesc(&none, object) == hipErrorInvalidValue);
    CHECK(hipTexObjectDestroy(object));
    EXPECT(hipTexObjectDestroy(object) == hipErrorInvalidValue);
  }
  // The same bytes as signed ones.
  HIP_RESOURCE_VIEW_DESC view;
  memset(&view, 0, sizeof(view));
  view.format = HIP_RES_VIEW_FORMAT_SINT_4X8;
  view.width = kWidth;
  view.height = kHeight;
  texture.flags = 0;
  hipTextureObject_t object;
  CHECK(hipTexObjectCreate(&object, &resource, &texture, &view));
  const std::vector<float4> texels = read(object);
  for (size_t i = 0; i < kCount; ++i)
    EXPECT(texels[i].x == std::fmax(float(static_cast<signed char>(bytes[4 * i])) / 127, -1.0f));
  HIP_RESOURCE_VIEW_DESC told;
  CHECK(hipTexObjectGetResourceViewDesc(&told, object));
  EXPECT(told.format == view.format && told.width == kWidth);
  CHECK(hipTexObjectDestroy(object));
  view.width = 5;
  EXPECT(hipTexObjectCreate(&object, &resource, &texture, &view) == hipErrorInvalidValue);
  view.width = kWidth;
  view.format = HIP_RES_VIEW_FORMAT_SINT_2X8;
  EXPECT(hipTexObjectCreate(&object, &resource, &texture, &view) == hipErrorInvalidValue);
  view.format = HIP_RES_VIEW_FORMAT_UNSIGNED_BC1;
  EXPECT(hipTexObjectCreate(&object, &resource, &texture, &view) == hipErrorNotSupported);
  CHECK(hipArrayDestroy(array));
  EXPECT(hipTexObjectCreate(&object, &resource, &texture, nullptr) == hipErrorInvalidValue);
}

// A view of levels 1 and 2 of three.
static void levelsOfAView() {
  HIP_ARRAY3D_DESCRIPTOR descriptor;
  memset(&descriptor, 0, sizeof(descriptor));
  descriptor.Width = descriptor.Height = 8;
  descriptor.Format = HIP_AD_FORMAT_FLOAT;
  descriptor.NumChannels = 1;
  hipMipmappedArray_t mipmap;
  CHECK(hipMipmappedArrayCreate(&mipmap, &descriptor, 3));
  for (unsigned level = 0; level < 3; ++level) {
    hipArray_t array;
    CHECK(hipMipmappedArrayGetLevel(&array, mipmap, level));
    const std::vector<float> texels(64, float(level) + 10);
    CHECK(hipMemcpyHtoA(array, 0, texels.data(), (64 >> 2 * level) * sizeof(float)));
    EXPECT(hipArrayDestroy(array) == hipErrorInvalidValue); // it goes with the others
  }
  hipArray_t none;
  EXPECT(hipMipmappedArrayGetLevel(&none, mipmap, 3) == hipErrorInvalidValue);
  HIP_RESOURCE_DESC resource;
  memset(&resource, 0, sizeof(resource));
  resource.resType = HIP_RESOURCE_TYPE_MIPMAPPED_ARRAY;
  resource.res.mipmap.hMipmappedArray = mipmap;
  HIP_TEXTURE_DESC texture;
  memset(&texture, 0, sizeof(texture));
  texture.flags = HIP_TRSF_NORMALIZED_COORDINATES;
  texture.maxMipmapLevelClamp = 10;
  HIP_RESOURCE_VIEW_DESC view;
  memset(&view, 0, sizeof(view));
  view.width = view.height = 8;
  view.firstMipmapLevel = 1;
  view.lastMipmapLevel = 2;
  hipTextureObject_t object;
  CHECK(hipTexObjectCreate(&object, &resource, &texture, &view));
  float *out, values[4];
  (void)hipGetLastError();
  CHECK(hipMalloc(&out, sizeof(values)));
  readLevel<<<1, 4>>>(object, out);
  CHECK(hipGetLastError());
  CHECK(hipMemcpy(values, out, sizeof(values), hipMemcpyDeviceToHost));
  for (int level = 0; level < 4; ++level)
    EXPECT(values[level] == (level == 0 ? 11.0f : 12.0f));
  CHECK(hipTexObjectDestroy(object));
  CHECK(hipMipmappedArrayDestroy(mipmap));
  CHECK(hipFree(out));
}

int main() {
  int version;
  CHECK(hipRuntimeGetVersion(&version));
  isFirst = version < 60000000;
  descriptions();
  copies();
  objects();
  levelsOfAView();
  // CHECK: PASS
  printf("PASS\n");
}
