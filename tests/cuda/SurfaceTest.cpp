// SPDX-License-Identifier: Apache-2.0
// Arrays and surfaces, with the compiler and the emulator behind the API: copies of all kinds, what
// kernels write by surfaces, and what the next launch reads by textures.
#include "runtime/cuda/texture/Descriptors.h"
#include "tests/cuda/LaunchFixture.h"
#include <numeric>

namespace rubia::runtime::cuda {
namespace {

// Kernels of one thread each texel of 16 x 8: (%tid.x, %ctaid.x).
constexpr const char *kHead = R"(.version 8.1
.target sm_80
.address_size 64
.global .surfref reference;
)";
std::string kernelText(const std::string &name, const std::string &body) {
  return ".visible .entry " + name + R"((.param .u64 surface, .param .u64 out)
{
  .reg .pred %p<4>;
  .reg .b16 %h<8>;
  .reg .b32 %r<12>;
  .reg .b64 %d<8>;
  ld.param.u64 %d0, [surface];
  ld.param.u64 %d1, [out];
  mov.u32 %r0, %tid.x;
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mad.lo.u32 %r3, %r1, %r2, %r0;
  mul.wide.u32 %d2, %r3, 4;
  add.u64 %d1, %d1, %d2;
  mul.lo.u32 %r4, %r0, 4;
)" + body +
         "\n  ret;\n}\n";
}

std::string text() {
  std::string all = kHead;
  all += kernelText("store", "mad.lo.u32 %r5, %r1, 1000, %r0;"
                             "sust.b.2d.b32.trap [%d0, {%r4, %r1}], %r5;");
  all += kernelText("storeReference", "mad.lo.u32 %r5, %r1, 1000, %r0;"
                                      "sust.b.2d.b32.trap [reference, {%r4, %r1}], %r5;");
  all += kernelText("load", "suld.b.2d.b32.trap %r5, [%d0, {%r4, %r1}]; st.global.u32 [%d1], %r5;");
  for (const std::string mode : {"zero", "clamp"}) { // of the 16 x 8 from (-4, -2) on
    const std::string start = "add.s32 %r4, %r4, -16; add.s32 %r1, %r1, -2;";
    all += kernelText("load_" + mode, start + "suld.b.2d.b32." + mode +
                                          " %r5, [%d0, {%r4, %r1}]; st.global.u32 [%d1], %r5;");
    all += kernelText("store_" + mode,
                      start + "mov.u32 %r5, 7; sust.b.2d.b32." + mode + " [%d0, {%r4, %r1}], %r5;");
  }
  all += kernelText("wide_clamp", R"(
  mul.lo.u32 %r4, %r0, 8; add.s32 %r4, %r4, -16;
  suld.b.2d.v2.b32.clamp {%r5, %r6}, [%d0, {%r4, %r1}];
  mad.lo.u32 %r5, %r6, 1000, %r5; st.global.u32 [%d1], %r5;)");
  all += kernelText("misaligned", "add.s32 %r4, %r4, 2; suld.b.2d.b32.zero %r5, [%d0, {%r4, %r1}];"
                                  "st.global.u32 [%d1], %r5;");
  all += kernelText("outside", "add.s32 %r4, %r4, 4; suld.b.2d.b32.trap %r5, [%d0, {%r4, %r1}];"
                               "st.global.u32 [%d1], %r5;");
  // All widths: what a texel of 16 bytes has is read in four ways and summed up.
  all += kernelText("widths", R"(
  mul.lo.u32 %r4, %r0, 16;
  suld.b.2d.v4.b32.trap {%r5, %r6, %r7, %r8}, [%d0, {%r4, %r1}];
  suld.b.2d.v2.b64.trap {%d3, %d4}, [%d0, {%r4, %r1}];
  suld.b.2d.v4.b16.trap {%h0, %h1, %h2, %h3}, [%d0, {%r4, %r1}];
  suld.b.2d.v2.b8.trap {%h4, %h5}, [%d0, {%r4, %r1}];
  suld.b.2d.b64.trap %d5, [%d0, {%r4, %r1}];
  xor.b32 %r5, %r5, %r6; xor.b32 %r5, %r5, %r7; xor.b32 %r5, %r5, %r8;
  xor.b64 %d3, %d3, %d4; mov.b64 {%r6, %r7}, %d3; xor.b32 %r6, %r6, %r7;
  setp.ne.u32 %p0, %r5, %r6;
  mov.b32 %r8, {%h0, %h1}; mov.b32 %r9, {%h2, %h3}; mov.b64 %d4, {%r8, %r9};
  setp.ne.u64 %p1, %d4, %d5;
  cvt.u32.u16 %r8, %h4; cvt.u32.u16 %r9, %h5; mad.lo.u32 %r8, %r9, 256, %r8;
  cvt.u32.u16 %r9, %h0; setp.ne.u32 %p2, %r8, %r9;
  or.pred %p0, %p0, %p1; or.pred %p0, %p0, %p2;
  @%p0 mov.u32 %r5, 0;
  st.global.u32 [%d1], %r5;
  add.s32 %r5, %r5, 1; cvt.u16.u32 %h0, %r5; mov.b64 %d4, {%r5, %r5};
  sust.b.2d.v2.b32.trap [%d0, {%r4, %r1}], {%r5, %r5};
  add.s32 %r6, %r4, 8;
  sust.b.2d.v2.b16.trap [%d0, {%r6, %r1}], {%h0, %h0};
  add.s32 %r6, %r4, 12;
  sust.b.2d.v4.b8.trap [%d0, {%r6, %r1}], {%h0, %h0, %h0, %h0};)");
  // Each column is one texel: all rows and threads of a column meet there.
  all += kernelText("reduce", R"(
  mov.u32 %r6, 0;
  sured.b.add.2d.u32.trap [%d0, {%r4, %r6}], %r1;
  mov.u32 %r6, 1;
  sured.b.min.2d.s32.trap [%d0, {%r4, %r6}], %r1;
  mov.u32 %r6, 2;
  sured.b.max.2d.u32.trap [%d0, {%r4, %r6}], %r1;
  mov.u32 %r6, 3;
  sured.b.or.2d.b32.trap [%d0, {%r4, %r6}], %r1;
  mov.u32 %r6, 4;
  sured.b.and.2d.b32.trap [%d0, {%r4, %r6}], %r1;
  mov.u32 %r6, 8;
  sured.b.add.2d.u32.zero [%d0, {%r4, %r6}], %r1;)");
  all += kernelText("sizes", "suq.width.b32 %r5, [%d0]; suq.height.b32 %r6, [%d0];"
                             "mad.lo.u32 %r5, %r5, 1000, %r6; st.global.u32 [%d1], %r5;");
  all += kernelText("layers", "suld.b.a2d.b32.zero %r5, [%d0, {%r1, %r4, 1, 1}];"
                              "st.global.u32 [%d1], %r5;");
  all += kernelText("volume", "suld.b.3d.b32.zero %r5, [%d0, {%r4, 2, %r1, %r1}];"
                              "st.global.u32 [%d1], %r5;");
  // Texels far from the first one, of rows as long and volumes as deep as there are.
  all += kernelText("far", R"(
  .reg .f32 %f<2>;
  sub.u32 %r4, 131071, %r0; and.b32 %r1, %r1, 1;
  cvt.rn.f32.u32 %f0, %r4; cvt.rn.f32.u32 %f1, %r1;
  tex.2d.v4.u32.f32 {%r5, %r6, %r7, %r8}, [%d0, {%f0, %f1}];
  shl.b32 %r4, %r4, 2;
  suld.b.2d.b32.zero %r6, [%d0, {%r4, %r1}];
  setp.ne.u32 %p0, %r5, %r6; @%p0 mov.u32 %r5, 0;
  st.global.u32 [%d1], %r5;)");
  all += kernelText("deep", "sub.u32 %r1, 16384, %r1; and.b32 %r5, %r0, 1; shl.b32 %r5, %r5, 2;"
                            "suld.b.3d.b32.zero %r5, [%d0, {%r5, 1, %r1, %r1}];"
                            "st.global.u32 [%d1], %r5;");
  all += kernelText("sample", R"(
  .reg .f32 %f<2>;
  cvt.rn.f32.u32 %f0, %r0; cvt.rn.f32.u32 %f1, %r1;
  tex.2d.v4.u32.f32 {%r5, %r6, %r7, %r8}, [%d0, {%f0, %f1}];
  st.global.u32 [%d1], %r5;)");
  return all;
}

constexpr unsigned kWidth = 16, kHeight = 8;

class Surfaces : public InContext {
protected:
  void SetUp() override {
    InContext::SetUp();
    const std::string ptx = text();
    ASSERT_EQ(cu("cuModuleLoadData", &module, static_cast<const void *>(ptx.c_str())), kSuccess);
    out = allocate(kWidth * kHeight * 4);
  }

  Array *makeArray(const Array3DDescriptor &descriptor) {
    Array *array = nullptr;
    EXPECT_EQ(cu("cuArray3DCreate_v2", &array, &descriptor), kSuccess);
    return array;
  }
  Array *makePlane(unsigned channels = 1) {
    return makeArray({kWidth, kHeight, 0, kFormatU32, channels, kArraySurface});
  }
  static ResourceDescriptor resourceOf(Array *array) {
    ResourceDescriptor resource = {};
    resource.type = kResourceArray;
    resource.array = array;
    return resource;
  }
  ObjectHandle surfaceOf(Array *array) {
    const ResourceDescriptor resource = resourceOf(array);
    ObjectHandle handle = 0;
    EXPECT_EQ(cu("cuSurfObjectCreate", &handle, &resource), kSuccess);
    return handle;
  }

  // A copy of whole slices between the host and an array.
  static Result copy(Array *array, void *host, bool toArray, size_t rowBytes, size_t rows,
                     size_t slices = 1, size_t x = 0, size_t y = 0, size_t z = 0) {
    Copy3D copy = {};
    CopySide3D &ofArray = toArray ? copy.to : copy.from, &ofHost = toArray ? copy.from : copy.to;
    ofArray.type = kMemoryArray;
    ofArray.array = array;
    ofArray.xInBytes = x;
    ofArray.y = y;
    ofArray.z = z;
    ofHost.type = kMemoryHost;
    ofHost.host = host;
    ofHost.pitch = copy.widthInBytes = rowBytes;
    ofHost.height = copy.height = rows;
    copy.depth = slices;
    return cu("cuMemcpy3D_v2", static_cast<const Copy3D *>(&copy));
  }
  std::vector<uint32_t> contents(Array *array, size_t rowWords = kWidth, size_t rows = kHeight,
                                 size_t slices = 1) {
    std::vector<uint32_t> words(rowWords * rows * slices);
    EXPECT_EQ(copy(array, words.data(), false, rowWords * 4, rows, slices), kSuccess);
    return words;
  }
  void fill(Array *array, std::vector<uint32_t> words, size_t rowWords = kWidth,
            size_t rows = kHeight) {
    EXPECT_EQ(copy(array, words.data(), true, rowWords * 4, rows, words.size() / rowWords / rows),
              kSuccess);
  }

  Result start(const char *kernel, ObjectHandle handle) {
    Function *function = nullptr;
    EXPECT_EQ(cu("cuModuleGetFunction", &function, module, kernel), kSuccess);
    void *values[] = {&handle, &out};
    return launch(function, kHeight, kWidth, 0, values);
  }
  std::vector<uint32_t> run(const char *kernel, ObjectHandle handle) {
    EXPECT_EQ(start(kernel, handle), kSuccess);
    std::vector<uint32_t> words(kWidth * kHeight);
    EXPECT_EQ(cu("cuMemcpyDtoH_v2", static_cast<void *>(words.data()), out, words.size() * 4),
              kSuccess);
    return words;
  }
  template <class At> static std::vector<uint32_t> plane(At at) {
    std::vector<uint32_t> words;
    for (int y = 0; y < int(kHeight); ++y)
      for (int x = 0; x < int(kWidth); ++x)
        words.push_back(uint32_t(at(x, y)));
    return words;
  }

  Module *module = nullptr;
  void *out = nullptr;
};

std::vector<uint32_t> counting(size_t count, uint32_t first = 0) {
  std::vector<uint32_t> words(count);
  std::iota(words.begin(), words.end(), first);
  return words;
}

TEST_F(Surfaces, WhatIsStoredIsReadAsTexture) {
  Array *array = makePlane();
  const ObjectHandle surface = surfaceOf(array);
  ASSERT_EQ(start("store", surface), kSuccess);
  const ResourceDescriptor resource = resourceOf(array);
  TextureDescriptor texture = {};
  texture.flags = kReadAsInteger;
  ObjectHandle sampled = 0;
  ASSERT_EQ(cu("cuTexObjectCreate", &sampled, &resource,
               static_cast<const TextureDescriptor *>(&texture),
               static_cast<const ViewDescriptor *>(nullptr)),
            kSuccess);
  const auto expected = plane([](int x, int y) { return 1000 * y + x; });
  EXPECT_EQ(run("sample", sampled), expected);
  EXPECT_EQ(run("load", surface), expected);
  EXPECT_EQ(contents(array), expected);
  EXPECT_EQ(cu("cuSurfObjectDestroy", surface), kSuccess);
  EXPECT_EQ(cu("cuTexObjectDestroy", sampled), kSuccess);
  EXPECT_EQ(cu("cuArrayDestroy", array), kSuccess);
  EXPECT_EQ(cu("cuArrayDestroy", array), kInvalidHandle);
}

TEST_F(Surfaces, References) {
  SurfaceReference *reference = nullptr;
  ASSERT_EQ(cu("cuModuleGetSurfRef", &reference, module, "reference"), kSuccess);
  Array *array = makePlane(), *bound = nullptr;
  ASSERT_EQ(cu("cuSurfRefSetArray", reference, array, 0u), kSuccess);
  EXPECT_EQ(cu("cuSurfRefGetArray", &bound, reference), kSuccess);
  EXPECT_EQ(bound, array);
  ASSERT_EQ(start("storeReference", 0), kSuccess);
  EXPECT_EQ(contents(array), plane([](int x, int y) { return 1000 * y + x; }));
}

TEST_F(Surfaces, ZeroAndClamp) {
  Array *array = makePlane();
  fill(array, counting(kWidth * kHeight, 100));
  const ObjectHandle surface = surfaceOf(array);
  auto inside = [](int x, int y) { return x >= 4 && y >= 2; };
  EXPECT_EQ(run("load_zero", surface),
            plane([&](int x, int y) { return inside(x, y) ? 100 + 16 * (y - 2) + x - 4 : 0; }));
  EXPECT_EQ(run("load_clamp", surface), plane([&](int x, int y) {
              return 100 + 16 * std::max(y - 2, 0) + std::max(x - 4, 0);
            }));
  ASSERT_EQ(start("store_zero", surface), kSuccess);
  EXPECT_EQ(contents(array), plane([&](int x, int y) {
              return x < int(kWidth) - 4 && y < int(kHeight) - 2 ? 7 : 100 + 16 * y + x;
            }));
}

// Rows of 15 words end within an access of two, and the last whole one counts (an H200).
TEST_F(Surfaces, WideAccessesClampToTheLastWholeOne) {
  Array *array = makeArray({kWidth - 1, kHeight, 0, kFormatU32, 1, kArraySurface});
  fill(array, counting((kWidth - 1) * kHeight), kWidth - 1);
  EXPECT_EQ(run("wide_clamp", surfaceOf(array)), plane([](int x, int y) {
              const int first = 15 * y + 2 * std::clamp(x - 2, 0, 6);
              return 1000 * (first + 1) + first;
            }));
}

TEST_F(Surfaces, TrapEndsTheKernel) {
  Array *array = makePlane();
  const ObjectHandle surface = surfaceOf(array);
  EXPECT_EQ(start("outside", surface), kSuccess);
  EXPECT_EQ(cu("cuCtxSynchronize"), kIllegalAddress);
}

TEST_F(Surfaces, MisalignedAccessesEndTheKernel) {
  EXPECT_EQ(start("misaligned", surfaceOf(makePlane())), kSuccess);
  EXPECT_EQ(cu("cuCtxSynchronize"), kMisalignedAddress);
}

TEST_F(Surfaces, AllWidths) {
  Array *array = makePlane(4);
  std::vector<uint32_t> words(4 * kWidth * kHeight);
  for (size_t i = 0; i < words.size(); ++i)
    words[i] = uint32_t(0x9e3779b9 * (i + 1));
  fill(array, words, 4 * kWidth);
  const ObjectHandle surface = surfaceOf(array);
  std::vector<uint32_t> sums = plane([&](int x, int y) {
    const uint32_t *texel = &words[size_t(y) * 4 * kWidth + size_t(x) * 4];
    return texel[0] ^ texel[1] ^ texel[2] ^ texel[3];
  });
  EXPECT_EQ(run("widths", surface), sums);
  std::vector<uint32_t> stored;
  for (uint32_t sum : sums) {
    const uint32_t word = sum + 1, half = word & 0xffff, byte = word & 0xff;
    stored.insert(stored.end(), {word, word, half * 0x10001, byte * 0x01010101});
  }
  EXPECT_EQ(contents(array, 4 * kWidth), stored);
}

TEST_F(Surfaces, Reductions) {
  Array *array = makePlane();
  fill(array, plane([](int, int y) { return y == 4 ? 0xff : y == 1 ? 1000 : 0; }));
  ASSERT_EQ(start("reduce", surfaceOf(array)), kSuccess);
  EXPECT_EQ(contents(array), plane([](int, int y) {
              const int kRows[] = {28, 0, 7, 7, 0, 0, 0, 0};
              return kRows[y];
            }));
}

TEST_F(Surfaces, Queries) {
  EXPECT_EQ(run("sizes", surfaceOf(makePlane())), std::vector<uint32_t>(kWidth * kHeight, 16008));
}

TEST_F(Surfaces, LayersAndVolumes) {
  Array *layers = makeArray({kWidth, 3, 4, kFormatU32, 1, kArraySurface | kArrayLayered});
  fill(layers, counting(kWidth * 3 * 4), kWidth, 3);
  EXPECT_EQ(run("layers", surfaceOf(layers)),
            plane([](int x, int layer) { return layer < 4 ? layer * 48 + 16 + x : 0; }));
  Array *volume = makeArray({kWidth, 3, 4, kFormatU32, 1, kArraySurface});
  fill(volume, counting(kWidth * 3 * 4), kWidth, 3);
  EXPECT_EQ(run("volume", surfaceOf(volume)),
            plane([](int x, int z) { return z < 4 ? z * 48 + 32 + x : 0; }));
}

TEST_F(Surfaces, FarTexels) {
  constexpr int kLong = 131072, kDeep = 16385;
  Array *wide = makeArray({kLong, 2, 0, kFormatU32, 1, kArraySurface});
  fill(wide, counting(2 * kLong), kLong, 2);
  const ResourceDescriptor resource = resourceOf(wide);
  TextureDescriptor texture = {};
  for (int &mode : texture.addressMode)
    mode = 1; // clamp
  ObjectHandle sampled = 0;
  ASSERT_EQ(cu("cuTexObjectCreate", &sampled, &resource,
               static_cast<const TextureDescriptor *>(&texture),
               static_cast<const ViewDescriptor *>(nullptr)),
            kSuccess);
  EXPECT_EQ(run("far", sampled),
            plane([](int x, int y) { return (y % 2) * kLong + kLong - 1 - x; }));
  Array *deep = makeArray({2, 2, kDeep, kFormatU32, 1, kArraySurface});
  fill(deep, counting(4 * kDeep), 2, 2);
  EXPECT_EQ(run("deep", surfaceOf(deep)),
            plane([](int x, int z) { return (kDeep - 1 - z) * 4 + 2 + x % 2; }));
}

// Boxes that begin and end anywhere, through columns of the array's memory.
TEST_F(Surfaces, CopiesOfParts) {
  constexpr size_t kRow = 29, kRows = 7, kSlices = 5;
  for (const int format : {kFormatU8, kFormatU32}) {
    const size_t texel = format == kFormatU8 ? 1 : 4;
    Array *array = makeArray({kRow, kRows, kSlices, format, 1, 0});
    Array *other = makeArray({kRow, kRows, kSlices, format, 1, 0});
    std::vector<uint8_t> bytes(kRow * kRows * kSlices * texel), back(bytes.size());
    for (size_t i = 0; i < bytes.size(); ++i)
      bytes[i] = uint8_t(i * 7 + i / 251);
    ASSERT_EQ(copy(array, bytes.data(), true, kRow * texel, kRows, kSlices), kSuccess);
    ASSERT_EQ(copy(other, back.data(), true, kRow * texel, kRows, kSlices), kSuccess); // zeros
    // A box to the other array, moved.
    Copy3D box = {};
    box.from.type = box.to.type = kMemoryArray;
    box.from.array = array;
    box.to.array = other;
    box.from.xInBytes = 3 * texel;
    box.from.y = 1;
    box.from.z = 2;
    box.to.xInBytes = 10 * texel;
    box.to.y = 2;
    box.to.z = 1;
    box.widthInBytes = 19 * texel;
    box.height = 4;
    box.depth = 3;
    ASSERT_EQ(cu("cuMemcpy3D_v2", static_cast<const Copy3D *>(&box)), kSuccess);
    ASSERT_EQ(copy(other, back.data(), false, kRow * texel, kRows, kSlices), kSuccess);
    std::vector<uint8_t> expected(bytes.size());
    for (size_t z = 0; z < 3; ++z)
      for (size_t y = 0; y < 4; ++y)
        for (size_t x = 0; x < 19 * texel; ++x)
          expected[((z + 1) * kRows + y + 2) * kRow * texel + 10 * texel + x] =
              bytes[((z + 2) * kRows + y + 1) * kRow * texel + 3 * texel + x];
    EXPECT_EQ(back, expected);
    // And what does not lie inside.
    box.to.xInBytes = 11 * texel;
    EXPECT_EQ(cu("cuMemcpy3D_v2", static_cast<const Copy3D *>(&box)), kInvalidValue);
    EXPECT_EQ(copy(array, bytes.data(), true, texel, 1, 1, 0, kRows, 0), kInvalidValue);
    EXPECT_EQ(copy(array, bytes.data(), true, texel, 1, 1, 0, 0, kSlices), kInvalidValue);
    EXPECT_EQ(cu("cuArrayDestroy", array), kSuccess);
    EXPECT_EQ(copy(array, bytes.data(), true, texel, 1), kInvalidHandle);
  }
}

TEST_F(Surfaces, CopiesOfRows) {
  const ArrayDescriptor descriptor = {100, 0, kFormatU32, 1};
  Array *array = nullptr, *other = nullptr;
  ASSERT_EQ(cu("cuArrayCreate_v2", &array, &descriptor), kSuccess);
  ASSERT_EQ(cu("cuArrayCreate_v2", &other, &descriptor), kSuccess);
  const std::vector<uint32_t> words = counting(100, 5);
  void *memory = allocate(400);
  std::vector<uint32_t> back(100);
  const auto *data = static_cast<const void *>(words.data());
  auto *target = static_cast<void *>(back.data());
  Stream *none = nullptr;
  ASSERT_EQ(cu("cuMemcpyHtoA_v2", array, size_t(0), data, size_t(400)), kSuccess);
  ASSERT_EQ(cu("cuMemcpyAtoA_v2", other, size_t(40), array, size_t(0), size_t(360)), kSuccess);
  ASSERT_EQ(cu("cuMemcpyAtoD_v2", memory, other, size_t(40), size_t(360)), kSuccess);
  ASSERT_EQ(cu("cuMemcpyDtoA_v2", other, size_t(0), memory, size_t(40)), kSuccess);
  ASSERT_EQ(cu("cuMemcpyAtoH_v2", target, other, size_t(0), size_t(400)), kSuccess);
  for (unsigned i = 0; i < 100; ++i)
    EXPECT_EQ(back[i], 5 + (i < 10 ? i : i - 10)) << i;
  ASSERT_EQ(cu("cuMemcpyHtoAAsync_v2", other, size_t(0), data, size_t(400), none), kSuccess);
  ASSERT_EQ(cu("cuMemcpyAtoHAsync_v2", target, other, size_t(0), size_t(400), none), kSuccess);
  ASSERT_EQ(cu("cuStreamSynchronize", none), kSuccess);
  EXPECT_EQ(back, words);
  // The same in the thread's own stream.
  ASSERT_EQ(cu("cuMemcpyHtoA_v2_ptds", array, size_t(0), data, size_t(400)), kSuccess);
  ASSERT_EQ(cu("cuMemcpyAtoA_v2_ptds", other, size_t(40), array, size_t(0), size_t(360)), kSuccess);
  ASSERT_EQ(cu("cuMemcpyAtoD_v2_ptds", memory, other, size_t(40), size_t(360)), kSuccess);
  ASSERT_EQ(cu("cuMemcpyDtoA_v2_ptds", other, size_t(0), memory, size_t(40)), kSuccess);
  ASSERT_EQ(cu("cuMemcpyAtoH_v2_ptds", target, other, size_t(0), size_t(400)), kSuccess);
  for (unsigned i = 0; i < 100; ++i)
    EXPECT_EQ(back[i], 5 + (i < 10 ? i : i - 10)) << i;
  ASSERT_EQ(cu("cuMemcpyHtoAAsync_v2_ptsz", other, size_t(0), data, size_t(400), none), kSuccess);
  ASSERT_EQ(cu("cuMemcpyAtoHAsync_v2_ptsz", target, other, size_t(0), size_t(400), none), kSuccess);
  ASSERT_EQ(cu("cuStreamSynchronize_ptsz", none), kSuccess);
  EXPECT_EQ(back, words);
  EXPECT_EQ(cu("cuMemcpyHtoA_v2", array, size_t(4), data, size_t(400)), kInvalidValue);
}

TEST_F(Surfaces, ArraysTellWhatTheyAre) {
  Array *array = makeArray({8, 8, 12, kFormatHalf, 2, kArrayCubemap | kArrayLayered});
  Array3DDescriptor descriptor = {};
  EXPECT_EQ(cu("cuArray3DGetDescriptor_v2", &descriptor, array), kSuccess);
  EXPECT_EQ(descriptor.depth, 12u);
  EXPECT_EQ(descriptor.flags, unsigned(kArrayCubemap | kArrayLayered));
  ArrayDescriptor plain = {};
  EXPECT_EQ(cu("cuArrayGetDescriptor_v2", &plain, array), kSuccess);
  EXPECT_EQ(plain.channels, 2u);
  ArrayMemoryRequirements needs = {};
  EXPECT_EQ(cu("cuArrayGetMemoryRequirements", &needs, array, 0), kInvalidValue);
  Array *planeOfArray = nullptr;
  EXPECT_EQ(cu("cuArrayGetPlane", &planeOfArray, array, 0u), kInvalidValue);
  uint32_t sparse[16];
  EXPECT_EQ(cu("cuArrayGetSparseProperties", static_cast<void *>(sparse), array), kInvalidValue);
  size_t width = 0;
  EXPECT_EQ(cu("cuDeviceGetTexture1DLinearMaxWidth", &width, int(kFormatFloat), 1u, 0), kSuccess);
  EXPECT_EQ(width, size_t(1) << 27);

  const Array3DDescriptor mip = {16, 4, 0, kFormatU8, 1, 0};
  MipmappedArray *levels = nullptr;
  ASSERT_EQ(cu("cuMipmappedArrayCreate", &levels, &mip, 99u), kSuccess);
  Array *level = nullptr;
  EXPECT_EQ(cu("cuMipmappedArrayGetLevel", &level, levels, 4u), kSuccess);
  EXPECT_EQ(cu("cuArray3DGetDescriptor_v2", &descriptor, level), kSuccess);
  EXPECT_EQ(descriptor.width, 1u);
  EXPECT_EQ(descriptor.height, 1u);
  EXPECT_EQ(cu("cuArrayDestroy", level), kSuccess); // it ends with its array
  EXPECT_EQ(cu("cuMipmappedArrayGetLevel", &level, levels, 5u), kInvalidValue);
  EXPECT_EQ(cu("cuMipmappedArrayGetMemoryRequirements", &needs, levels, 0), kInvalidValue);
  EXPECT_EQ(cu("cuMipmappedArrayGetSparseProperties", static_cast<void *>(sparse), levels),
            kInvalidValue);
  EXPECT_EQ(cu("cuMipmappedArrayDestroy", levels), kSuccess);
  EXPECT_EQ(cu("cuMipmappedArrayDestroy", levels), kInvalidHandle);
}

// An H200 takes them, and their descriptor has the flag.
TEST_F(Surfaces, ArraysForVideoAreAsOthers) {
  Array3DDescriptor video = {};
  EXPECT_EQ(cu("cuArray3DGetDescriptor_v2", &video,
               makeArray({8, 0, 2, kFormatFloat, 1, kArrayLayered | kArrayVideo})),
            kSuccess);
  EXPECT_EQ(video.flags, kArrayLayered | kArrayVideo);
}

TEST_F(Surfaces, RefusesArraysThatCannotBe) {
  auto make = [](Array3DDescriptor descriptor) {
    Array *array = nullptr;
    return cu("cuArray3DCreate_v2", &array, static_cast<const Array3DDescriptor *>(&descriptor));
  };
  EXPECT_EQ(make({0, 0, 0, kFormatFloat, 1, 0}), kInvalidValue);
  EXPECT_EQ(make({8, 8, 0, kFormatFloat, 3, 0}), kInvalidValue);
  EXPECT_EQ(make({8, 4, 6, kFormatFloat, 1, kArrayCubemap}), kInvalidValue);
  EXPECT_EQ(make({8, 8, 5, kFormatFloat, 1, kArrayCubemap}), kInvalidValue);
  EXPECT_EQ(make({8, 8, 0, kFormatFloat, 1, kArrayLayered}), kInvalidValue);
  EXPECT_EQ(make({8, 8, 2, kFormatFloat, 1, kArrayLayered | kArrayGather}), kInvalidValue);
  EXPECT_EQ(make({8, 8, 0, kFormatFloat, 1, kArraySparse}), kNotSupported);
  // 32 bits count the bytes of a slice.
  EXPECT_EQ(make({131072, 8192, 0, kFormatFloat, 4, 0}), kNotSupported);
  Array *plain = makeArray({8, 8, 0, kFormatFloat, 1, 0});
  const ResourceDescriptor resource = resourceOf(plain);
  ObjectHandle handle = 0;
  EXPECT_EQ(cu("cuSurfObjectCreate", &handle, &resource), kSuccess); // as an H100 answers
  EXPECT_EQ(cu("cuSurfObjectDestroy", handle), kSuccess);
}

} // namespace
} // namespace rubia::runtime::cuda
