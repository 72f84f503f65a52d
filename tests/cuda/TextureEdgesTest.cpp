// SPDX-License-Identifier: Apache-2.0
// What an H200 gives at the edges of what textures are for: denormal coordinates, places between
// weights, texels that are no numbers, formats with a curve for some channels, gradients of views.
#include "runtime/cuda/texture/Descriptors.h"
#include "tests/cuda/LaunchFixture.h"
#include <array>
#include <bit>
#include <cmath>

namespace rubia::runtime::cuda {
namespace {

constexpr const char *kHead = R"(.version 7.0
.target sm_80
.address_size 64
)";
// Each kernel is one instruction. Parameters: results, texture, coordinates, two gradients.
std::string kernel(const std::string &name, const std::string &instruction) {
  std::string text = ".visible .entry " + name + "(.param .u64 out, .param .u64 texture";
  for (unsigned i = 0; i < 9; ++i)
    text += ", .param .f32 p" + std::to_string(i);
  text += ")\n{\n  .reg .f32 %f<9>;\n  .reg .b32 %r<4>, %i;\n  .reg .b64 %out, %tex;\n"
          "  ld.param.u64 %out, [out];\n  ld.param.u64 %tex, [texture];\n";
  for (unsigned i = 0; i < 9; ++i)
    text += "  ld.param.f32 %f" + std::to_string(i) + ", [p" + std::to_string(i) + "];\n";
  return text + "  cvt.rzi.s32.f32 %i, %f0;\n  " + instruction +
         "\n  st.global.v4.u32 [%out], {%r0, %r1, %r2, %r3};\n  ret;\n}\n";
}
const std::string kText =
    kHead + kernel("plane", "tex.2d.v4.u32.f32 {%r0, %r1, %r2, %r3}, [%tex, {%f0, %f1}];") +
    kernel("gather", "tld4.r.2d.v4.u32.f32 {%r0, %r1, %r2, %r3}, [%tex, {%f0, %f1}];") +
    kernel("fetch", "tex.1d.v4.u32.s32 {%r0, %r1, %r2, %r3}, [%tex, {%i}];") +
    kernel("cube", "tex.cube.v4.u32.f32 {%r0, %r1, %r2, %r3}, [%tex, {%f0, %f1, %f2, %f2}];") +
    kernel("cubeGrad",
           "tex.grad.cube.v4.u32.f32 {%r0, %r1, %r2, %r3}, [%tex, {%f0, %f1, %f2, %f2}], "
           "{%f3, %f4, %f5, %f5}, {%f6, %f7, %f8, %f8};") +
    kernel("line", "tex.grad.1d.v4.u32.f32 {%r0, %r1, %r2, %r3}, [%tex, {%f0}], {%f3}, {%f6};") +
    kernel("volume", "tex.grad.3d.v4.u32.f32 {%r0, %r1, %r2, %r3}, [%tex, {%f0, %f1, %f2, %f2}], "
                     "{%f3, %f4, %f5, %f5}, {%f6, %f7, %f8, %f8};");

uint32_t bitsOf(double value) { return std::bit_cast<uint32_t>(float(value)); }

class TextureEdges : public InContext {
protected:
  using Words = std::array<uint32_t, 4>;
  using Places = std::array<float, 9>;
  static constexpr int kClamp = 1, kBorder = 3;

  void SetUp() override {
    InContext::SetUp();
    ASSERT_EQ(cu("cuModuleLoadData", &module, static_cast<const void *>(kText.c_str())), kSuccess);
    out = allocate(16);
  }

  void fill(void *array, const void *texels, size_t rowBytes, size_t height, size_t depth) {
    Copy3D copy = {};
    copy.from.type = kMemoryHost;
    copy.from.host = const_cast<void *>(texels);
    copy.from.pitch = copy.widthInBytes = rowBytes;
    copy.from.height = copy.height = height;
    copy.depth = depth;
    copy.to.type = kMemoryArray;
    copy.to.array = array;
    ASSERT_EQ(cu("cuMemcpy3D_v2", static_cast<const Copy3D *>(&copy)), kSuccess);
  }
  /// Sizes of 0 are 1.
  ResourceDescriptor arrayOf(const Array3DDescriptor &descriptor, const void *texels,
                             size_t texelBytes) {
    ResourceDescriptor resource = {};
    resource.type = kResourceArray;
    EXPECT_EQ(cu("cuArray3DCreate_v2", &resource.array, &descriptor), kSuccess);
    fill(resource.array, texels, descriptor.width * texelBytes,
         std::max<size_t>(descriptor.height, 1), std::max<size_t>(descriptor.depth, 1));
    return resource;
  }
  /// Each texel of f32 is the number of its level.
  ResourceDescriptor levelsOf(size_t width, size_t height, size_t depth, unsigned levels,
                              unsigned flags = 0) {
    const Array3DDescriptor descriptor = {width, height, depth, kFormatFloat, 1, flags};
    ResourceDescriptor resource = {};
    resource.type = kResourceMipmapped;
    EXPECT_EQ(cu("cuMipmappedArrayCreate", &resource.mipmapped, &descriptor, levels), kSuccess);
    for (unsigned level = 0; level < levels; ++level) {
      const auto part = [&](size_t size) { return std::max<size_t>(size >> level, 1); };
      const size_t slices = flags & kArrayCubemap ? depth : part(depth);
      const std::vector<float> texels(part(width) * part(height) * slices, float(level));
      void *array = nullptr;
      EXPECT_EQ(cu("cuMipmappedArrayGetLevel", &array, resource.mipmapped, level), kSuccess);
      fill(array, texels.data(), part(width) * 4, part(height), slices);
    }
    return resource;
  }

  static TextureDescriptor sampler(int mode, bool isLinear, unsigned flags = 0) {
    TextureDescriptor texture = {};
    std::fill(std::begin(texture.addressMode), std::end(texture.addressMode), mode);
    texture.filter = isLinear;
    texture.flags = flags;
    texture.maxLevel = 16;
    return texture;
  }

  Words sample(const char *name, const ResourceDescriptor &resource,
               const TextureDescriptor &texture, const Places &places,
               const ViewDescriptor *view = nullptr) {
    ObjectHandle handle = 0;
    EXPECT_EQ(cu("cuTexObjectCreate", &handle, &resource, &texture, view), kSuccess);
    Function *function = nullptr;
    EXPECT_EQ(cu("cuModuleGetFunction", &function, module, name), kSuccess);
    Places at = places;
    void *values[11] = {&out, &handle};
    for (unsigned i = 0; i < 9; ++i)
      values[2 + i] = &at[i];
    EXPECT_EQ(cu("cuLaunchKernel", function, 1u, 1u, 1u, 1u, 1u, 1u, 0u,
                 static_cast<Stream *>(nullptr), static_cast<void **>(values),
                 static_cast<void **>(nullptr)),
              kSuccess);
    Words words = {};
    EXPECT_EQ(cu("cuMemcpyDtoH_v2", static_cast<void *>(words.data()), out, sizeof(words)),
              kSuccess);
    EXPECT_EQ(cu("cuTexObjectDestroy", handle), kSuccess);
    return words;
  }

  Module *module = nullptr;
  void *out = nullptr;
};

TEST_F(TextureEdges, DenormalCoordinatesAreZero) {
  const std::vector<float> ones(16, 1.0f);
  const ResourceDescriptor plane = arrayOf({4, 4, 0, kFormatFloat, 1, 0}, ones.data(), 4);
  for (unsigned flags : {0u, unsigned(kNormalizedCoordinates)})
    for (float x : {-1e-40f, -0.0f, 1e-40f})
      EXPECT_EQ(sample("plane", plane, sampler(kBorder, false, flags), {x, x})[0], bitsOf(1)) << x;
}

// x - 0.5 is no float there. -111.50000192 of 256 is a weight of 144, not a tie.
TEST_F(TextureEdges, WeightsAreOfTheExactPlace) {
  const std::vector<float> ones(16, 1.0f);
  const ResourceDescriptor plane = arrayOf({4, 4, 0, kFormatFloat, 1, 0}, ones.data(), 4);
  EXPECT_EQ(sample("plane", plane, sampler(kBorder, true), {0.0644531175f, 1.5f})[0],
            bitsOf(144 / 256.0));
}

// A texel whose weight is only rounded to 0 counts if it is no number, and not if its fraction is
// 0.
TEST_F(TextureEdges, TexelsWithoutAWeightThatAreNoNumbers) {
  std::vector<float> texels(16, 1.0f);
  texels[5] = INFINITY;
  const ResourceDescriptor plane = arrayOf({4, 4, 0, kFormatFloat, 1, 0}, texels.data(), 4);
  EXPECT_EQ(sample("plane", plane, sampler(kClamp, true), {2.28125f, 2.4921875f})[0], 0x7f800000u);
  EXPECT_EQ(sample("plane", plane, sampler(kClamp, true), {2.5f, 2.4921875f})[0], bitsOf(1));
}

TEST_F(TextureEdges, CurveOfStandardRgb) {
  const std::vector<uint8_t> bytes(4 * 16, 128);
  const TextureDescriptor curved = sampler(kClamp, false, kStandardRgb);
  const ResourceDescriptor four = arrayOf({4, 4, 0, kFormatU8, 4, kArrayGather}, bytes.data(), 4),
                           two = arrayOf({4, 4, 0, kFormatU8, 2, 0}, bytes.data(), 2);
  const Words ofFour = sample("plane", four, curved, {1.5f, 1.5f}),
              ofTwo = sample("plane", two, curved, {1.5f, 1.5f});
  EXPECT_NE(ofFour[0], bitsOf(128 / 255.0));
  EXPECT_EQ(ofFour[3], bitsOf(128 / 255.0));
  EXPECT_EQ(ofTwo, (Words{ofFour[0], bitsOf(128 / 255.0), 0, bitsOf(0)}));
  EXPECT_EQ(sample("gather", four, curved, {1.5f, 1.5f}),
            (Words{ofFour[0], ofFour[0], ofFour[0], ofFour[0]}));
}

TEST_F(TextureEdges, LinearMemoryHasATexel) {
  const uint32_t word = 7;
  ResourceDescriptor resource = {};
  resource.type = kResourceLinear;
  resource.linear = {allocate(256), kFormatU32, 1, 1};
  ASSERT_EQ(cu("cuMemcpyHtoD_v2", resource.linear.address, static_cast<const void *>(&word),
               sizeof(word)),
            kSuccess);
  const TextureDescriptor texture = sampler(kClamp, false, kReadAsInteger);
  EXPECT_EQ(sample("fetch", resource, texture, {0})[0], 7u);
  EXPECT_EQ(sample("fetch", resource, texture, {1})[0], 0u);
}

TEST_F(TextureEdges, PlacesOnFacesHave21Bits) {
  constexpr unsigned kSize = 11;
  std::vector<float> rows(6 * kSize * kSize);
  for (size_t i = 0; i < rows.size(); ++i)
    rows[i] = float(i / kSize % kSize);
  const ResourceDescriptor cube =
      arrayOf({kSize, kSize, 6, kFormatFloat, 1, kArrayCubemap}, rows.data(), 4);
  EXPECT_EQ(sample("cube", cube, sampler(kClamp, false, kNormalizedCoordinates),
                   {0.05f, -0.4545455f, 1})[0],
            bitsOf(7));
}

TEST_F(TextureEdges, ViewsBehindTheLastLevel) {
  const ResourceDescriptor levels = levelsOf(16, 16, 0, 3);
  ViewDescriptor view = {};
  view.format = 22; // CU_RES_VIEW_FORMAT_FLOAT_1X32
  view.width = view.height = 16;
  view.firstLevel = 5;
  view.lastLevel = 9;
  EXPECT_EQ(sample("plane", levels, sampler(kClamp, false, kNormalizedCoordinates), {0.5f, 0.5f},
                   &view)[0],
            bitsOf(2));
}

// 59 texels are 29.5 for the gradients of a view from level 1, not 29.
TEST_F(TextureEdges, GradientsOfViews) {
  const ResourceDescriptor levels = levelsOf(59, 0, 0, 6);
  ViewDescriptor view = {};
  view.format = 22;
  view.width = 59;
  view.firstLevel = 1;
  view.lastLevel = 5;
  TextureDescriptor texture = sampler(kClamp, false, kNormalizedCoordinates);
  texture.mipmapFilter = 1;
  EXPECT_EQ(sample("line", levels, texture,
                   {0.548014998f, 0, 0, -0.121217728f, 0, 0, 0.0587872639f}, &view)[0],
            bitsOf(734 / 256.0));
}

// Each way to the edge of a face is multiplied by the size, in ten bits, before they are added.
TEST_F(TextureEdges, GradientsOfCubeMaps) {
  const ResourceDescriptor levels = levelsOf(13, 13, 6, 4, kArrayCubemap);
  TextureDescriptor texture = sampler(kClamp, false, kNormalizedCoordinates);
  texture.mipmapFilter = 1;
  EXPECT_EQ(sample("cubeGrad", levels, texture,
                   {-0.760861278f, 0.702773213f, 0.382699847f, 0.234707773f, -0.0921494067f,
                    -0.0433778465f, 0.130223125f, -0.0339980051f, 0.0224457681f})[0],
            bitsOf(153 / 256.0));
}

// They are differences of coordinates, where NaN is 0 and an infinite number of texels is far.
TEST_F(TextureEdges, GradientsOfThreeDimensions) {
  const ResourceDescriptor levels = levelsOf(64, 32, 12, 6);
  TextureDescriptor texture = sampler(kClamp, false, kNormalizedCoordinates);
  texture.mipmapFilter = 1;
  EXPECT_EQ(sample("volume", levels, texture,
                   {0.469044149f, 0.209161758f, 0.68551141f, NAN, -0.0083093401f, -0.00552153448f,
                    -0.00484049413f, -0.00244143838f, -0.00215805159f})[0],
            bitsOf(1257 / 256.0));
  EXPECT_EQ(sample("volume", levels, texture,
                   {3e38f, 0.5f, 0.5f, 0.001f, 0.001f, 0.001f, 0.001f, 0.001f, 0.001f})[0],
            bitsOf(5));
}

} // namespace
} // namespace rubia::runtime::cuda
