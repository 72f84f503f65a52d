// SPDX-License-Identifier: Apache-2.0
// Textures on linear memory, with the compiler and the emulator behind the API: objects, references
// and what kernels read by them. Results of an NVIDIA GPU are in tests/golden/textures.
#include "lowering/Abi.h"
#include "runtime/cuda/texture/Descriptors.h"
#include "tests/cuda/LaunchFixture.h"
#include <atomic>
#include <barrier>
#include <bit>
#include <cmath>
#include <numeric>
#include <thread>

namespace rubia::runtime::cuda {
namespace {

// Each thread reads the texel of layer %tid.x.
constexpr const char *kLayers = R"(.version 7.0
.target sm_80
.address_size 64
.visible .entry layers(.param .u64 out, .param .u64 texture)
{
  .reg .f32 %f;
  .reg .b32 %r<8>;
  .reg .b64 %d<4>;
  ld.param.u64 %d1, [out];
  ld.param.u64 %d2, [texture];
  mov.u32 %r0, %tid.x;
  mov.f32 %f, 0f00000000;
  tex.a1d.v4.u32.f32 {%r2, %r3, %r4, %r5}, [%d2, {%r0, %f}];
  txq.height.b32 %r3, [%d2]; // of one dimension, the layers
  mul.wide.u32 %d3, %r0, 16;
  add.u64 %d1, %d1, %d3;
  st.global.v4.u32 [%d1], {%r2, %r3, %r4, %r5};
  ret;
}
)";

// Reads far left of a texture.
constexpr const char *kBorder = R"(.version 7.0
.target sm_80
.address_size 64
.visible .entry border(.param .u64 out, .param .u64 texture)
{
  .reg .f32 %f<5>;
  .reg .b64 %d<3>;
  ld.param.u64 %d1, [out];
  ld.param.u64 %d2, [texture];
  mov.f32 %f0, 0fC1200000;
  tex.1d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%d2, {%f0}];
  st.global.v4.f32 [%d1], {%f1, %f2, %f3, %f4};
  ret;
}
)";

// Each thread reads texel %tid.x - 2 and writes its four words.
constexpr const char *kFetch = R"(.version 7.0
.target sm_80
.address_size 64

.global .texref reference;

.visible .entry byObject(.param .u64 out, .param .u64 texture)
{
  .reg .b32 %r<8>;
  .reg .b64 %d<4>;
  ld.param.u64 %d1, [out];
  ld.param.u64 %d2, [texture];
  mov.u32 %r0, %tid.x;
  add.s32 %r1, %r0, -2;
  tex.1d.v4.u32.s32 {%r2, %r3, %r4, %r5}, [%d2, {%r1}];
  mul.wide.u32 %d3, %r0, 16;
  add.u64 %d1, %d1, %d3;
  st.global.v4.u32 [%d1], {%r2, %r3, %r4, %r5};
  ret;
}

.visible .entry byReference(.param .u64 out)
{
  .reg .b32 %r<8>;
  .reg .b64 %d<4>;
  ld.param.u64 %d1, [out];
  mov.u32 %r0, %tid.x;
  add.s32 %r1, %r0, -2;
  tex.1d.v4.u32.s32 {%r2, %r3, %r4, %r5}, [reference, {%r1}];
  mul.wide.u32 %d3, %r0, 16;
  add.u64 %d1, %d1, %d3;
  st.global.v4.u32 [%d1], {%r2, %r3, %r4, %r5};
  ret;
}

.func (.param .align 16 .b8 result[16]) callee(.param .u64 texture, .param .u32 at)
{
  .reg .b32 %r<8>;
  .reg .b64 %d<4>;
  ld.param.u64 %d2, [texture];
  ld.param.u32 %r1, [at];
  tex.1d.v4.u32.s32 {%r2, %r3, %r4, %r5}, [%d2, {%r1}];
  st.param.v4.u32 [result], {%r2, %r3, %r4, %r5};
  ret;
}

// Threads have the handle of table[%tid.x % 4], half of them by a function.
.visible .entry byManyHandles(.param .u64 out, .param .u64 table)
{
  .reg .pred %p<2>;
  .reg .b32 %r<8>;
  .reg .b64 %d<6>;
  ld.param.u64 %d1, [out];
  ld.param.u64 %d2, [table];
  mov.u32 %r0, %tid.x;
  and.b32 %r1, %r0, 3;
  mul.wide.u32 %d3, %r1, 8;
  add.u64 %d3, %d2, %d3;
  ld.global.u64 %d4, [%d3];
  add.s32 %r1, %r0, -2;
  and.b32 %r6, %r0, 16;
  setp.ne.u32 %p1, %r6, 0;
  @%p1 bra called;
  tex.1d.v4.u32.s32 {%r2, %r3, %r4, %r5}, [%d4, {%r1}];
  bra done;
called:
  {
    .param .u64 handle;
    .param .u32 index;
    .param .align 16 .b8 texel[16];
    st.param.u64 [handle], %d4;
    st.param.u32 [index], %r1;
    call (texel), callee, (handle, index);
    ld.param.v4.u32 {%r2, %r3, %r4, %r5}, [texel];
  }
done:
  mul.wide.u32 %d3, %r0, 16;
  add.u64 %d1, %d1, %d3;
  st.global.v4.u32 [%d1], {%r2, %r3, %r4, %r5};
  ret;
}

.visible .entry halves(.param .u64 out, .param .u64 texture)
{
  .reg .b16 %h<4>;
  .reg .b32 %r<8>;
  .reg .b64 %d<4>;
  .reg .pred %p<2>;
  ld.param.u64 %d1, [out];
  ld.param.u64 %d2, [texture];
  mov.u32 %r0, %tid.x;
  add.s32 %r1, %r0, -2;
  tex.1d.v4.f16.s32 {%h0, %h1, %h2, %h3}, [%d2, %r1];
  tex.1d.v2.f16x2.s32 {%r4, %r5}, [%d2, {%r1}];
  mov.b32 %r2, {%h0, %h1};
  mov.b32 %r3, {%h2, %h3};
  mul.wide.u32 %d3, %r0, 16;
  add.u64 %d1, %d1, %d3;
  st.global.v4.u32 [%d1], {%r2, %r3, %r4, %r5};
  ret;
}

// Two rows of 32 words: their numbers times a factor.
.visible .entry write(.param .u64 out, .param .u64 memory, .param .u32 factor)
{
  .reg .b32 %r<8>;
  .reg .b64 %d<4>;
  ld.param.u64 %d1, [memory];
  ld.param.u32 %r1, [factor];
  mov.u32 %r0, %tid.x;
  mul.wide.u32 %d3, %r0, 4;
  add.u64 %d1, %d1, %d3;
  mul.lo.u32 %r2, %r0, %r1;
  st.global.u32 [%d1], %r2;
  mad.lo.u32 %r2, %r1, 32, %r2;
  st.global.u32 [%d1+128], %r2;
  ret;
}

// Each thread reads its texel of row 1.
.visible .entry plane(.param .u64 out, .param .u64 texture)
{
  .reg .b32 %r<8>;
  .reg .f32 %f<4>;
  .reg .b64 %d<4>;
  ld.param.u64 %d1, [out];
  ld.param.u64 %d2, [texture];
  mov.u32 %r0, %tid.x;
  cvt.rn.f32.u32 %f0, %r0;
  mov.f32 %f1, 0f3F800000; // 1
  tex.2d.v4.u32.f32 {%r2, %r3, %r4, %r5}, [%d2, {%f0, %f1}];
  mul.wide.u32 %d3, %r0, 16;
  add.u64 %d1, %d1, %d3;
  st.global.v4.u32 [%d1], {%r2, %r3, %r4, %r5};
  ret;
}
)";

constexpr unsigned kThreads = 32, kTexels = 20;
struct Texel {
  uint32_t words[4];
  bool operator==(const Texel &) const = default;
};

class Textures : public InContext {
protected:
  void SetUp() override {
    InContext::SetUp();
    ASSERT_EQ(cu("cuModuleLoadData", &module, static_cast<const void *>(kFetch)), kSuccess);
    out = allocate(kThreads * sizeof(Texel));
  }

  void *upload(const void *data, size_t bytes) {
    void *memory = allocate(bytes);
    EXPECT_EQ(cu("cuMemcpyHtoD_v2", memory, data, bytes), kSuccess);
    return memory;
  }

  static ResourceDescriptor linear(void *address, int format, unsigned channels, size_t bytes) {
    ResourceDescriptor resource = {};
    resource.type = kResourceLinear;
    resource.linear = {address, format, channels, bytes};
    return resource;
  }

  ObjectHandle create(const ResourceDescriptor &resource, unsigned flags = 0) {
    TextureDescriptor texture = {};
    texture.flags = flags;
    ObjectHandle handle = 0;
    EXPECT_EQ(cu("cuTexObjectCreate", &handle, &resource,
                 static_cast<const TextureDescriptor *>(&texture),
                 static_cast<const ViewDescriptor *>(nullptr)),
              kSuccess);
    return handle;
  }

  template <class... Arguments> std::vector<Texel> run(const char *kernel, Arguments... arguments) {
    Function *function = nullptr;
    EXPECT_EQ(cu("cuModuleGetFunction", &function, module, kernel), kSuccess);
    void *values[] = {&out, &arguments...};
    EXPECT_EQ(cu("cuLaunchKernel", function, 1u, 1u, 1u, kThreads, 1u, 1u, 0u,
                 static_cast<Stream *>(nullptr), static_cast<void **>(values),
                 static_cast<void **>(nullptr)),
              kSuccess);
    std::vector<Texel> texels(kThreads);
    EXPECT_EQ(cu("cuMemcpyDtoH_v2", static_cast<void *>(texels.data()), out,
                 texels.size() * sizeof(Texel)),
              kSuccess);
    return texels;
  }

  // What the kernels must give of texels of which the function tells.
  template <class TexelAt> static std::vector<Texel> expected(TexelAt texelAt) {
    std::vector<Texel> all(kThreads);
    for (unsigned i = 2; i < 2 + kTexels; ++i)
      all[i] = texelAt(i - 2);
    return all;
  }

  Module *module = nullptr;
  void *out = nullptr;
};

uint32_t bitsOf(double value) { return std::bit_cast<uint32_t>(float(value)); }

TEST_F(Textures, WordsOfLinearMemory) {
  std::vector<uint32_t> words(4 * kTexels);
  for (size_t i = 0; i < words.size(); ++i)
    words[i] = uint32_t(0x9e3779b9 * (i + 1));
  void *memory = upload(words.data(), words.size() * 4);
  for (int format : {kFormatFloat, kFormatU32, kFormatS32})
    for (unsigned channels : {1u, 2u, 4u}) {
      ObjectHandle texture = create(linear(memory, format, channels, kTexels * 4 * channels));
      EXPECT_EQ(run("byObject", texture), expected([&](unsigned i) {
                  Texel texel = {};
                  for (unsigned c = 0; c < channels; ++c)
                    texel.words[c] = words[i * channels + c];
                  return texel;
                }))
          << format << " " << channels;
      EXPECT_EQ(cu("cuTexObjectDestroy", texture), kSuccess);
      EXPECT_EQ(cu("cuTexObjectDestroy", texture), kSuccess); // as an H100 answers
    }
}

// A texture of memory has what the last kernel wrote there.
TEST_F(Textures, WhatKernelsWriteInMemory) {
  void *memory = allocate(2 * kThreads * 4);
  ResourceDescriptor rows = {};
  rows.type = kResourcePitched;
  rows.pitched = {memory, kFormatU32, 1, kThreads, 2, kThreads * 4};
  const ObjectHandle line = create(linear(memory, kFormatU32, 1, kTexels * 4), kReadAsInteger);
  const ObjectHandle plane = create(rows, kReadAsInteger);
  for (unsigned factor : {3u, 7u}) {
    (void)run("write", memory, factor);
    EXPECT_EQ(run("byObject", line), expected([&](unsigned i) { return Texel{{factor * i}}; }));
    const std::vector<Texel> found = run("plane", plane);
    for (unsigned i = 0; i < kThreads; ++i)
      EXPECT_EQ(found[i], Texel{{factor * (kThreads + i)}}) << i;
  }
}

// Channels of 8 and 16 bits, as numbers and as integers.
TEST_F(Textures, NarrowChannelsOfLinearMemory) {
  std::vector<uint8_t> bytes(8 * kTexels);
  for (size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = uint8_t(0x80 + i * 37);
  void *memory = upload(bytes.data(), bytes.size());
  const struct {
    int format;
    unsigned bytes;
    bool isSigned;
  } kFormats[] = {
      {kFormatU8, 1, false}, {kFormatS8, 1, true}, {kFormatU16, 2, false}, {kFormatS16, 2, true}};
  for (const auto &format : kFormats)
    for (unsigned channels : {1u, 2u, 4u})
      for (bool asInteger : {false, true}) {
        const unsigned texelBytes = format.bytes * channels;
        ObjectHandle texture = create(linear(memory, format.format, channels, kTexels * texelBytes),
                                      asInteger ? kReadAsInteger : 0);
        EXPECT_EQ(run("byObject", texture), expected([&](unsigned i) {
                    Texel texel = {};
                    for (unsigned c = 0; c < channels; ++c) {
                      uint32_t raw = 0;
                      memcpy(&raw, &bytes[i * texelBytes + c * format.bytes], format.bytes);
                      const unsigned shift = 32 - 8 * format.bytes;
                      const int value = format.isSigned ? int(raw << shift) >> shift : int(raw);
                      const int most = (1 << (8 * format.bytes - format.isSigned)) - 1;
                      texel.words[c] = asInteger ? uint32_t(value)
                                                 : bitsOf(std::max(value, -most) / double(most));
                    }
                    return texel;
                  }))
            << format.format << " " << channels << " " << asInteger;
        EXPECT_EQ(cu("cuTexObjectDestroy", texture), kSuccess);
      }
}

TEST_F(Textures, HalvesOfLinearMemory) {
  // 1.0, -2.0, 0.333, the least denormal, the largest.
  const uint16_t kHalves[] = {0x3c00, 0xc000, 0x3555, 0x0001, 0x7bff};
  const double kValues[] = {1, -2, 0.333251953125, 0x1p-24, 65504};
  std::vector<uint16_t> halves(4 * kTexels);
  for (size_t i = 0; i < halves.size(); ++i)
    halves[i] = kHalves[i % 5];
  void *memory = upload(halves.data(), halves.size() * 2);
  ObjectHandle texture = create(linear(memory, kFormatHalf, 4, halves.size() * 2));
  EXPECT_EQ(run("byObject", texture), expected([&](unsigned i) {
              Texel texel;
              for (unsigned c = 0; c < 4; ++c)
                texel.words[c] = bitsOf(kValues[(4 * i + c) % 5]);
              return texel;
            }));
  EXPECT_EQ(run("halves", texture), expected([&](unsigned i) {
              const uint16_t *h = &halves[4 * i];
              const uint32_t low = h[0] | uint32_t(h[1]) << 16, high = h[2] | uint32_t(h[3]) << 16;
              return Texel{{low, high, low, high}};
            }));
}

TEST_F(Textures, ThreadsWithDifferentHandles) {
  std::vector<uint32_t> words(512);
  for (size_t i = 0; i < words.size(); ++i)
    words[i] = uint32_t(i * i + 1);
  void *memory = upload(words.data(), words.size() * 4);
  ObjectHandle table[4];
  for (unsigned i = 0; i < 4; ++i)
    table[i] = create(linear(static_cast<char *>(memory) + 512 * i,
                             i == 3 ? kFormatU16 : kFormatU32, 1, 4 * kTexels),
                      kReadAsInteger);
  void *handles = upload(table, sizeof(table));
  const std::vector<Texel> texels = run("byManyHandles", handles);
  for (unsigned i = 2; i < 2 + kTexels; ++i) {
    const unsigned index = i - 2, which = i % 4;
    const uint32_t word = which == 3 ? words[384 + index / 2] >> 16 * (index % 2) & 0xffff
                                     : words[128 * which + index];
    EXPECT_EQ(texels[i], (Texel{{word, 0, 0, 0}})) << i;
  }
}

TEST_F(Textures, ReferencesAreBoundAgain) {
  TextureReference *reference = nullptr;
  ASSERT_EQ(cu("cuModuleGetTexRef", &reference, module, "reference"), kSuccess);
  TextureReference *again = nullptr;
  EXPECT_EQ(cu("cuModuleGetTexRef", &again, module, "reference"), kSuccess);
  EXPECT_EQ(again, reference);
  EXPECT_EQ(cu("cuModuleGetTexRef", &again, module, "byObject"), kNotFound);
  void *address = nullptr;
  size_t size = 0;
  EXPECT_EQ(cu("cuModuleGetGlobal_v2", &address, &size, module, "reference"), kNotFound);
  EXPECT_EQ(run("byReference"), std::vector<Texel>(kThreads)); // nothing is bound

  std::vector<uint32_t> words(4 * kTexels);
  for (size_t i = 0; i < words.size(); ++i)
    words[i] = uint32_t(i + 7);
  void *memory = upload(words.data(), words.size() * 4);
  size_t offset = 1;
  ASSERT_EQ(cu("cuTexRefSetFormat", reference, int(kFormatU32), 1), kSuccess);
  ASSERT_EQ(cu("cuTexRefSetAddress_v2", &offset, reference, memory, size_t(kTexels * 4)), kSuccess);
  EXPECT_EQ(offset, 0u);
  EXPECT_EQ(run("byReference"), expected([&](unsigned i) { return Texel{{words[i], 0, 0, 0}}; }));
  ASSERT_EQ(cu("cuTexRefSetFormat", reference, int(kFormatU16), 2), kSuccess);
  ASSERT_EQ(cu("cuTexRefSetFlags", reference, unsigned(kReadAsInteger)), kSuccess);
  EXPECT_EQ(run("byReference"),
            expected([&](unsigned i) { return Texel{{words[i] & 0xffff, words[i] >> 16, 0, 0}}; }));
  EXPECT_EQ(cu("cuTexRefGetAddress_v2", &address, reference), kSuccess);
  EXPECT_EQ(address, memory);
  int format = 0, channels = 0;
  EXPECT_EQ(cu("cuTexRefGetFormat", &format, &channels, reference), kSuccess);
  EXPECT_EQ(format, int(kFormatU16));
  EXPECT_EQ(channels, 2);
  EXPECT_EQ(cu("cuTexRefDestroy", reference), kInvalidHandle); // it is the module's
  // Memory that does not begin at a multiple of 16 bytes.
  ASSERT_EQ(cu("cuTexRefSetAddress_v2", &offset, reference,
               static_cast<void *>(static_cast<char *>(memory) + 8), size_t(kTexels * 4 - 8)),
            kSuccess);
  EXPECT_EQ(offset, 8u);
  EXPECT_EQ(run("byReference"),
            expected([&](unsigned i) { return Texel{{words[i] & 0xffff, words[i] >> 16, 0, 0}}; }));
  ASSERT_EQ(
      cu("cuTexRefSetAddress_v2", &offset, reference, static_cast<void *>(nullptr), size_t(0)),
      kSuccess);
  EXPECT_EQ(run("byReference"), std::vector<Texel>(kThreads));
}

// A cube map needs tables, which there are none of where nothing is bound.
TEST_F(Textures, ReferencesOfCubeMapsThatNothingIsBoundTo) {
  std::string ptx = kFetch;
  for (size_t at; (at = ptx.find("tex.1d.v4.u32.s32 {%r2, %r3, %r4, %r5}, [reference, {%r1}]")) !=
                  std::string::npos;)
    ptx.replace(at, strlen("tex.1d.v4.u32.s32 {%r2, %r3, %r4, %r5}, [reference, {%r1}]"),
                "tex.cube.v4.u32.f32 {%r2, %r3, %r4, %r5}, [reference, "
                "{0f3F800000, 0f00000000, 0f00000000, 0f00000000}]");
  ASSERT_NE(ptx, kFetch);
  ASSERT_EQ(cu("cuModuleLoadData", &module, static_cast<const void *>(ptx.c_str())), kSuccess);
  EXPECT_EQ(run("byReference"), std::vector<Texel>(kThreads));
}

// What programs of CUDA 9 to 11 have.
TEST_F(Textures, ReferencesOfOldPtx) {
  const std::string head = ".version 7.0\n.target sm_80\n";
  ASSERT_EQ(std::string(kFetch).compare(0, head.size(), head), 0);
  std::vector<uint32_t> words(kTexels);
  std::iota(words.begin(), words.end(), 7);
  void *memory = upload(words.data(), words.size() * 4);
  for (const char *old : {".version 6.0\n.target sm_61\n", ".version 6.5\n.target sm_75\n",
                          ".version 7.8\n.target sm_80\n"}) {
    const std::string ptx = old + std::string(kFetch).substr(head.size());
    ASSERT_EQ(cu("cuModuleLoadData", &module, static_cast<const void *>(ptx.c_str())), kSuccess);
    TextureReference *reference = nullptr;
    ASSERT_EQ(cu("cuModuleGetTexRef", &reference, module, "reference"), kSuccess);
    size_t offset = 1;
    ASSERT_EQ(cu("cuTexRefSetFormat", reference, int(kFormatU32), 1), kSuccess);
    ASSERT_EQ(cu("cuTexRefSetFlags", reference, unsigned(kReadAsInteger)), kSuccess);
    ASSERT_EQ(cu("cuTexRefSetAddress_v2", &offset, reference, memory, size_t(kTexels * 4)),
              kSuccess);
    EXPECT_EQ(run("byReference"), expected([&](unsigned i) { return Texel{{words[i], 0, 0, 0}}; }))
        << old;
  }
}

TEST_F(Textures, TellsWhatTheyWereMadeOf) {
  void *memory = allocate(4096);
  const ResourceDescriptor resource = linear(memory, kFormatFloat, 2, 4096);
  ObjectHandle texture = create(resource, kReadAsInteger);
  ResourceDescriptor same = {};
  EXPECT_EQ(cu("cuTexObjectGetResourceDesc", &same, texture), kSuccess);
  EXPECT_EQ(memcmp(&same, &resource, sizeof(same)), 0);
  TextureDescriptor description = {};
  EXPECT_EQ(cu("cuTexObjectGetTextureDesc", &description, texture), kSuccess);
  EXPECT_EQ(description.flags, unsigned(kReadAsInteger));
  ViewDescriptor view;
  EXPECT_EQ(cu("cuTexObjectGetResourceViewDesc", &view, texture), kSuccess);
  EXPECT_EQ(cu("cuTexObjectGetResourceDesc", &same, ObjectHandle(12345)), kInvalidValue);
  EXPECT_EQ(cu("cuTexObjectDestroy", texture), kSuccess);
}

// A kernel may still run that was launched with what is destroyed.
TEST_F(Textures, AreNotTakenAgainAtOnce) {
  const ResourceDescriptor resource = linear(allocate(64), kFormatU32, 1, 64);
  std::vector<ObjectHandle> living(255);
  for (ObjectHandle &handle : living)
    handle = create(resource);
  const ObjectHandle first = create(resource);
  EXPECT_EQ(cu("cuTexObjectDestroy", first), kSuccess);
  living.push_back(create(resource));
  EXPECT_NE(living.back(), first);
  for (ObjectHandle handle : living)
    EXPECT_EQ(cu("cuTexObjectDestroy", handle), kSuccess);
}

// A view has its layers and no others; the last one stands for those behind it.
TEST_F(Textures, ViewsOfLayers) {
  ASSERT_EQ(cu("cuModuleLoadData", &module, static_cast<const void *>(kLayers)), kSuccess);
  const Array3DDescriptor descriptor = {1, 0, 4, kFormatU32, 1, kArrayLayered};
  ResourceDescriptor resource = {};
  ASSERT_EQ(cu("cuArray3DCreate_v2", &resource.array, &descriptor), kSuccess);
  const uint32_t texels[] = {10, 11, 12, 13};
  Copy3D copy = {};
  copy.from.type = kMemoryHost;
  copy.from.host = const_cast<uint32_t *>(texels);
  copy.from.pitch = copy.widthInBytes = 4;
  copy.from.height = copy.height = 1;
  copy.depth = 4;
  copy.to.type = kMemoryArray;
  copy.to.array = resource.array;
  ASSERT_EQ(cu("cuMemcpy3D_v2", static_cast<const Copy3D *>(&copy)), kSuccess);
  TextureDescriptor texture = {};
  texture.flags = kReadAsInteger;
  const struct {
    unsigned first, last;
  } kViews[] = {{0, 3}, {1, 2}, {0, 0}, {3, 3}, {0, UINT32_MAX}};
  for (auto [first, last] : kViews) {
    ViewDescriptor view = {};
    view.format = 13; // CU_RES_VIEW_FORMAT_UINT_1X32
    view.width = 1;
    view.depth = 4;
    view.firstLayer = first;
    view.lastLayer = last;
    ObjectHandle handle = 0;
    ASSERT_EQ(cu("cuTexObjectCreate", &handle, static_cast<const ResourceDescriptor *>(&resource),
                 static_cast<const TextureDescriptor *>(&texture),
                 static_cast<const ViewDescriptor *>(&view)),
              kSuccess);
    const std::vector<Texel> found = run("layers", handle);
    for (unsigned i = 0; i < kThreads; ++i)
      EXPECT_EQ(found[i], (Texel{{10 + std::min({first + i, last, 3u}),
                                  std::min(last, UINT32_MAX - 1) - first + 1, 0, 0}}))
          << first << " " << last << " " << i;
    EXPECT_EQ(cu("cuTexObjectDestroy", handle), kSuccess);
  }
  EXPECT_EQ(cu("cuArrayDestroy", resource.array), kSuccess);
}

// 0.5 lies between two normalised numbers: an H200 takes the smaller one.
TEST_F(Textures, BordersOfAHalf) {
  ASSERT_EQ(cu("cuModuleLoadData", &module, static_cast<const void *>(kBorder)), kSuccess);
  const struct {
    int format;
    double most;
  } kFormats[] = {{kFormatU8, 255}, {kFormatS16, 32767}};
  for (auto [format, most] : kFormats) {
    const Array3DDescriptor descriptor = {1, 0, 0, format, 4, 0};
    ResourceDescriptor resource = {};
    ASSERT_EQ(cu("cuArray3DCreate_v2", &resource.array, &descriptor), kSuccess);
    TextureDescriptor texture = {};
    for (int &mode : texture.addressMode)
      mode = 3; // CU_TR_ADDRESS_MODE_BORDER
    const float border[] = {0.5f, 0.25f, 1, 0};
    std::copy(std::begin(border), std::end(border), texture.border);
    ObjectHandle handle = 0;
    ASSERT_EQ(cu("cuTexObjectCreate", &handle, static_cast<const ResourceDescriptor *>(&resource),
                 static_cast<const TextureDescriptor *>(&texture),
                 static_cast<const ViewDescriptor *>(nullptr)),
              kSuccess);
    EXPECT_EQ(
        run("border", handle)[0],
        (Texel{{bitsOf((most - 1) / 2 / most), bitsOf(std::round(most / 4) / most), bitsOf(1), 0}}))
        << format;
    EXPECT_EQ(cu("cuTexObjectDestroy", handle), kSuccess);
    EXPECT_EQ(cu("cuArrayDestroy", resource.array), kSuccess);
  }
}

// Of two threads that destroy an array at once, one does; the other is told that there is none.
TEST_F(Textures, ArraysEndOnce) {
  constexpr unsigned kRounds = 1000;
  void *context = nullptr;
  ASSERT_EQ(cu("cuCtxGetCurrent", &context), kSuccess);
  const Array3DDescriptor descriptor = {16, 16, 0, kFormatU32, 1, 0};
  for (bool isMipmapped : {false, true}) {
    std::atomic<void *> array = nullptr;
    std::atomic<unsigned> successes = 0, others = 0;
    std::barrier together(2);
    auto destroy = [&](unsigned round) {
      together.arrive_and_wait();
      const Result result =
          cu(isMipmapped ? "cuMipmappedArrayDestroy" : "cuArrayDestroy", array.load());
      ++(result == kSuccess ? successes : others);
      EXPECT_TRUE(result == kSuccess || result == kInvalidHandle) << round;
      together.arrive_and_wait();
    };
    std::thread second([&] {
      EXPECT_EQ(cu("cuCtxSetCurrent", context), kSuccess);
      for (unsigned round = 0; round < kRounds; ++round)
        destroy(round);
    });
    for (unsigned round = 0; round < kRounds; ++round) {
      void *made = nullptr;
      EXPECT_EQ(isMipmapped ? cu("cuMipmappedArrayCreate", &made, &descriptor, 2u)
                            : cu("cuArray3DCreate_v2", &made, &descriptor),
                kSuccess);
      array = made;
      destroy(round);
    }
    second.join();
    EXPECT_EQ(successes, kRounds);
    EXPECT_EQ(others, kRounds);
  }
}

TEST_F(Textures, RefusesWhatIsWrong) {
  void *memory = allocate(4096);
  TextureDescriptor texture = {};
  ObjectHandle handle = 0;
  auto make = [&](const ResourceDescriptor &resource) {
    return cu("cuTexObjectCreate", &handle, &resource,
              static_cast<const TextureDescriptor *>(&texture),
              static_cast<const ViewDescriptor *>(nullptr));
  };
  EXPECT_EQ(make(linear(memory, kFormatFloat, 3, 4096)), kInvalidValue);
  EXPECT_EQ(make(linear(memory, 99, 1, 4096)), kInvalidValue);
  EXPECT_EQ(make(linear(nullptr, kFormatFloat, 1, 4096)), kInvalidValue);
  EXPECT_EQ(make(linear(static_cast<char *>(memory) + 8, kFormatFloat, 1, 64)), kInvalidValue);
  texture.addressMode[0] = 4;
  EXPECT_EQ(make(linear(memory, kFormatFloat, 1, 4096)), kInvalidValue);
  texture = {};
  ResourceDescriptor resource = linear(memory, kFormatFloat, 1, 4096);
  resource.flags = 1;
  EXPECT_EQ(make(resource), kInvalidValue);
  resource = {};
  EXPECT_EQ(make(resource), kInvalidValue); // no array
}

} // namespace
} // namespace rubia::runtime::cuda
