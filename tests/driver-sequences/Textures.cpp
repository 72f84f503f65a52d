// SPDX-License-Identifier: Apache-2.0
// What texture and surface objects, references and arrays are refused for, and what becomes of
// kernels that use them after their end or in the wrong way.
#include "runtime/cuda/texture/Descriptors.h"
#include "tests/driver-sequences/Sequence.h"
#include <utility>

using namespace rubia::runtime::cuda;

namespace sequences {
namespace {

constexpr const char *kText = R"(.version 8.0
.target sm_80
.address_size 64
.global .texref reference;
.global .surfref surface;
.visible .entry sample(.param .u64 out, .param .u64 object, .param .f32 x, .param .f32 y)
{
  .reg .b32 %r<4>; .reg .f32 %f<2>; .reg .b64 %p<2>;
  ld.param.u64 %p0, [out];
  ld.param.u64 %p1, [object];
  ld.param.f32 %f0, [x];
  ld.param.f32 %f1, [y];
  tex.2d.v4.u32.f32 {%r0, %r1, %r2, %r3}, [%p1, {%f0, %f1}];
  st.global.v4.u32 [%p0], {%r0, %r1, %r2, %r3};
  ret;
}
.visible .entry fetch(.param .u64 out, .param .u64 object, .param .f32 x, .param .f32 y)
{
  .reg .b32 %r<5>; .reg .f32 %f0; .reg .b64 %p<2>;
  ld.param.u64 %p0, [out];
  ld.param.u64 %p1, [object];
  ld.param.f32 %f0, [x];
  cvt.rzi.s32.f32 %r4, %f0;
  tex.1d.v4.u32.s32 {%r0, %r1, %r2, %r3}, [%p1, {%r4}];
  st.global.v4.u32 [%p0], {%r0, %r1, %r2, %r3};
  ret;
}
.visible .entry sampleReference(.param .u64 out, .param .u64 object, .param .f32 x, .param .f32 y)
{
  .reg .b32 %r<4>; .reg .f32 %f<2>; .reg .b64 %p0;
  ld.param.u64 %p0, [out];
  ld.param.f32 %f0, [x];
  ld.param.f32 %f1, [y];
  tex.2d.v4.u32.f32 {%r0, %r1, %r2, %r3}, [reference, {%f0, %f1}];
  st.global.v4.u32 [%p0], {%r0, %r1, %r2, %r3};
  ret;
}
.visible .entry write(.param .u64 out, .param .u64 object, .param .f32 x, .param .f32 y)
{
  .reg .b32 %r<4>; .reg .f32 %f<2>; .reg .b64 %p<2>;
  ld.param.u64 %p0, [out];
  ld.param.u64 %p1, [object];
  ld.param.f32 %f0, [x];
  ld.param.f32 %f1, [y];
  cvt.rzi.s32.f32 %r0, %f0;
  cvt.rzi.s32.f32 %r1, %f1;
  mov.u32 %r2, 77;
  sust.b.2d.b32.zero [%p1, {%r0, %r1}], %r2;
  suld.b.2d.b32.zero %r3, [%p1, {%r0, %r1}];
  st.global.u32 [%p0], %r3;
  ret;
}
.visible .entry writeOrTrap(.param .u64 out, .param .u64 object, .param .f32 x, .param .f32 y)
{
  .reg .b32 %r<4>; .reg .f32 %f<2>; .reg .b64 %p<2>;
  ld.param.u64 %p1, [object];
  ld.param.f32 %f0, [x];
  ld.param.f32 %f1, [y];
  cvt.rzi.s32.f32 %r0, %f0;
  cvt.rzi.s32.f32 %r1, %f1;
  mov.u32 %r2, 77;
  sust.b.2d.b32.trap [%p1, {%r0, %r1}], %r2;
  ret;
}
)";

struct Lab : Setup {
  Pointer kernels = nullptr, out = nullptr;
  Lab() {
    cu("cuModuleLoadData", &kernels, static_cast<const void *>(kText));
    quiet("cuMemAlloc_v2", &out, size_t(16));
  }

  void run(const char *kernel, ObjectHandle object, float x, float y) {
    uint32_t words[4] = {0xcc, 0xcc, 0xcc, 0xcc};
    Pointer function = nullptr;
    int got = quiet("cuModuleGetFunction", &function, kernels, kernel);
    quiet("cuMemcpyHtoD_v2", out, static_cast<const void *>(words), sizeof(words));
    void *values[] = {&out, &object, &x, &y};
    int launched = got ? got
                       : quiet("cuLaunchKernel", function, 1u, 1u, 1u, 1u, 1u, 1u, 0u, kNone,
                               &values[0], static_cast<void **>(nullptr));
    int waited = quiet("cuCtxSynchronize");
    int copied = quiet("cuMemcpyDtoH_v2", static_cast<void *>(words), out, sizeof(words));
    say("%s: launch %d, wait %d, copy %d: %x %x %x %x", kernel, launched, waited, copied, words[0],
        words[1], words[2], words[3]);
  }
};

Pointer makeArray(const char *what, const Array3DDescriptor &descriptor) {
  Pointer array = nullptr;
  say("array %s: %d", what, quiet("cuArray3DCreate_v2", &array, &descriptor));
  return array;
}
int destroyArray(Pointer array) { return quiet("cuArrayDestroy", array); }

CopyParameters arrayCopy(int toType, Pointer to, int fromType, Pointer from, size_t width,
                         size_t height, size_t depth) {
  CopyParameters copy = {};
  copy.from.type = fromType;
  copy.to.type = toType;
  auto fill = [&](CopySide &side, int type, Pointer what) {
    (type == 1 ? side.host : type == 2 ? side.device : side.array) = what;
    side.pitch = type == 3 ? 0 : width;
    side.height = type == 3 ? 0 : height;
  };
  fill(copy.from, fromType, from);
  fill(copy.to, toType, to);
  copy.width = width;
  copy.height = height;
  copy.depth = depth;
  return copy;
}

// An array of 16 x 8 words, each with its number.
Pointer filledArray(unsigned flags = kArraySurface) {
  Pointer array = nullptr;
  const Array3DDescriptor descriptor = {16, 8, 0, kFormatU32, 1, flags};
  int made = quiet("cuArray3DCreate_v2", &array, &descriptor);
  uint32_t words[128];
  for (uint32_t i = 0; i < 128; ++i)
    words[i] = 0x100 + i;
  const CopyParameters copy = arrayCopy(3, array, 1, words, 64, 8, 1);
  int filled = quiet("cuMemcpy3D_v2", &copy);
  say("array %d, filled %d", made, filled);
  return array;
}

ResourceDescriptor resourceOf(Pointer array) {
  ResourceDescriptor resource = {};
  resource.array = static_cast<Array *>(array);
  return resource;
}
ResourceDescriptor linearResource(Pointer memory, int format, unsigned channels, size_t bytes) {
  ResourceDescriptor resource = {};
  resource.type = kResourceLinear;
  resource.linear = {memory, format, channels, bytes};
  return resource;
}
ResourceDescriptor pitchedResource(Pointer memory, size_t width, size_t height, size_t pitch) {
  ResourceDescriptor resource = {};
  resource.type = kResourcePitched;
  resource.pitched = {memory, kFormatU32, 1, width, height, pitch};
  return resource;
}
TextureDescriptor clamped() {
  TextureDescriptor texture = {};
  for (int &mode : texture.addressMode)
    mode = 1;
  return texture;
}

ObjectHandle texture(const char *what, const ResourceDescriptor &resource,
                     const TextureDescriptor &texture = clamped(),
                     const ViewDescriptor *view = nullptr) {
  ObjectHandle object = 0;
  say("texture %s: %d", what, quiet("cuTexObjectCreate", &object, &resource, &texture, view));
  return object;
}
ObjectHandle surface(const char *what, const ResourceDescriptor &resource) {
  ObjectHandle object = 0;
  say("surface %s: %d", what, quiet("cuSurfObjectCreate", &object, &resource));
  return object;
}

SEQUENCE(arrays_of_many_shapes) {
  Setup s;
  const struct {
    const char *what;
    Array3DDescriptor descriptor;
  } kShapes[] = {
      {"without a size", {0, 0, 0, kFormatFloat, 1, 0}},
      {"of depth without height", {8, 0, 3, kFormatFloat, 1, 0}},
      {"of 3 channels", {8, 8, 0, kFormatFloat, 3, 0}},
      {"of no channels", {8, 8, 0, kFormatFloat, 0, 0}},
      {"of an unknown format", {8, 8, 0, 4, 1, 0}},
      {"of layers without layers", {8, 8, 0, kFormatFloat, 1, kArrayLayered}},
      {"cube of 5 faces", {8, 8, 5, kFormatFloat, 1, kArrayCubemap}},
      {"cube of oblong faces", {8, 4, 6, kFormatFloat, 1, kArrayCubemap}},
      {"cubes of 7 faces", {8, 8, 7, kFormatFloat, 1, kArrayCubemap | kArrayLayered}},
      {"gathered in one dimension", {8, 0, 0, kFormatFloat, 1, kArrayGather}},
      {"gathered in layers", {8, 8, 2, kFormatFloat, 1, kArrayGather | kArrayLayered}},
      {"of depths", {8, 8, 0, kFormatFloat, 1, kArrayDepth}},
      {"of unknown flags", {8, 8, 0, kFormatFloat, 1, 0x200}},
      {"wide", {131072, 0, 0, kFormatU8, 1, 0}},
      {"too wide", {131073, 0, 0, kFormatU8, 1, 0}},
      {"too wide of two dimensions", {131073, 2, 0, kFormatU8, 1, 0}},
      {"too high", {2, 65537, 0, kFormatU8, 1, 0}},
      {"too deep", {2, 2, 16385, kFormatU8, 1, 0}},
      {"of too many layers", {8, 8, 2049, kFormatU8, 1, kArrayLayered}},
      {"of many cubes", {8, 8, 2046, kFormatU8, 1, kArrayLayered | kArrayCubemap}},
      {"of too many cubes", {8, 8, 2052, kFormatU8, 1, kArrayLayered | kArrayCubemap}},
      {"surface of many dimensions", {32769, 0, 2, kFormatU8, 1, kArraySurface | kArrayLayered}},
  };
  for (const auto &[what, descriptor] : kShapes)
    if (Pointer array = makeArray(what, descriptor))
      destroyArray(array);
  say("no result: %d",
      quiet("cuArray3DCreate_v2", static_cast<Pointer *>(nullptr), &kShapes[0].descriptor));
  Pointer array = nullptr;
  say("no descriptor: %d",
      quiet("cuArray3DCreate_v2", &array, static_cast<const Array3DDescriptor *>(nullptr)));
  const ArrayDescriptor plain = {8, 8, kFormatHalf, 3};
  say("plain array of 3 channels: %d", quiet("cuArrayCreate_v2", &array, &plain));
}

SEQUENCE(arrays_without_levels_or_end) {
  Setup s;
  const Array3DDescriptor descriptor = {16, 16, 0, kFormatFloat, 1, 0};
  for (unsigned levels : {0u, 1u, 5u, 6u, 99u}) {
    Pointer mipmapped = nullptr, level = nullptr;
    int made = quiet("cuMipmappedArrayCreate", &mipmapped, &descriptor, levels);
    say("%u levels: %d, level 4 %d, level 5 %d, destroyed %d", levels, made,
        made ? -1 : quiet("cuMipmappedArrayGetLevel", &level, mipmapped, 4u),
        made ? -1 : quiet("cuMipmappedArrayGetLevel", &level, mipmapped, 5u),
        made ? -1 : quiet("cuMipmappedArrayDestroy", mipmapped));
  }
  Pointer mipmapped = nullptr, level = nullptr;
  quiet("cuMipmappedArrayCreate", &mipmapped, &descriptor, 3u);
  cu("cuMipmappedArrayGetLevel", &level, mipmapped, 1u);
  say("a level destroyed: %d", destroyArray(level));
  cu("cuMipmappedArrayDestroy", mipmapped);
  say("no array destroyed: %d", destroyArray(nullptr));
  Array3DDescriptor asked = {};
  say("no array described: %d", quiet("cuArray3DGetDescriptor_v2", &asked, kNone));
  Pointer plane = nullptr;
  Pointer array = makeArray("plain", descriptor);
  say("plane 0 %d, plane 1 %d", quiet("cuArrayGetPlane", &plane, array, 0u),
      quiet("cuArrayGetPlane", &plane, array, 1u));
  char sparse[128];
  say("sparse properties %d", quiet("cuArrayGetSparseProperties", &sparse[0], array));
  say("destroyed %d", destroyArray(array));
}

SEQUENCE(copies_beyond_arrays) {
  Setup s;
  Pointer array = filledArray();
  char host[4096] = {};
  auto copy = [&](const char *what, const CopyParameters &parameters) {
    say("%s: %d", what, quiet("cuMemcpy3D_v2", &parameters));
  };
  copy("a row too long", arrayCopy(3, array, 1, host, 65, 1, 1));
  copy("a row too many", arrayCopy(3, array, 1, host, 64, 9, 1));
  copy("a slice too many", arrayCopy(3, array, 1, host, 64, 1, 2));
  copy("part of a texel", arrayCopy(3, array, 1, host, 62, 1, 1));
  CopyParameters parameters = arrayCopy(3, array, 1, host, 32, 1, 1);
  parameters.to.x = 33;
  copy("from within a texel", parameters);
  parameters.to.x = 36;
  copy("past the end of a row", parameters);
  parameters.to.x = 32;
  parameters.to.y = 8;
  copy("past the last row", parameters);
  parameters.to.y = 7;
  copy("to the last texels", parameters);
  parameters.to.z = 1;
  copy("to another slice", parameters);
  parameters.to.z = 0;
  parameters.to.lod = 1;
  copy("to a level", parameters);
  parameters.to.lod = 0;
  parameters.from.pitch = 16;
  copy("of a pitch below the width", parameters);
  copy("nothing", arrayCopy(3, array, 1, host, 0, 1, 1));
  copy("no array", arrayCopy(3, nullptr, 1, host, 16, 1, 1));
  copy("no host", arrayCopy(3, array, 1, nullptr, 16, 1, 1));
  say("bytes beyond: %d",
      quiet("cuMemcpyAtoH_v2", static_cast<void *>(host), array, size_t(60), size_t(8)));
  say("bytes of the second row: %d",
      quiet("cuMemcpyAtoH_v2", static_cast<void *>(host), array, size_t(64), size_t(4)));
  say("bytes within a texel: %d",
      quiet("cuMemcpyAtoH_v2", static_cast<void *>(host), array, size_t(2), size_t(4)));
  say("between arrays, beyond: %d",
      quiet("cuMemcpyAtoA_v2", array, size_t(32), array, size_t(0), size_t(64)));
  say("destroyed %d", destroyArray(array));
}

SEQUENCE(textures_of_memory) {
  Lab lab;
  Pointer memory = nullptr;
  quiet("cuMemAlloc_v2", &memory, size_t(16384));
  auto at = [&](size_t offset) {
    return static_cast<void *>(static_cast<char *>(memory) + offset);
  };
  texture("of linear memory", linearResource(memory, kFormatU32, 1, 64));
  texture("4 bytes into it", linearResource(at(4), kFormatU32, 1, 64));
  texture("512 bytes into it", linearResource(at(512), kFormatU32, 1, 64));
  texture("of no bytes", linearResource(memory, kFormatU32, 1, 0));
  texture("of half a texel", linearResource(memory, kFormatU32, 1, 2));
  texture("of 3 channels", linearResource(memory, kFormatU32, 3, 64));
  texture("of an unknown format", linearResource(memory, 99, 1, 64));
  texture("of nothing", linearResource(nullptr, kFormatU32, 1, 64));
  texture("beyond its end", linearResource(memory, kFormatU32, 1, 1 << 20));
  texture("of 2^29 bytes", linearResource(memory, kFormatU32, 1, size_t(1) << 29));
  texture("of pitched memory", pitchedResource(memory, 16, 4, 64));
  texture("4 bytes into pitched memory", pitchedResource(at(4), 16, 4, 64));
  texture("of a pitch of 100", pitchedResource(memory, 16, 4, 100));
  texture("of a pitch below the width", pitchedResource(memory, 16, 4, 32));
  texture("of no width", pitchedResource(memory, 0, 4, 64));
  texture("of no height", pitchedResource(memory, 16, 0, 64));
  texture("too wide", pitchedResource(memory, 131073, 1, 131073 * 4 + 28));
  texture("too high", pitchedResource(memory, 4, 65001, 64));
  surface("of linear memory", linearResource(memory, kFormatU32, 1, 64));
  surface("of pitched memory", pitchedResource(memory, 16, 4, 64));
}

SEQUENCE(textures_of_wrong_descriptors) {
  Lab lab;
  Pointer array = filledArray();
  const ResourceDescriptor resource = resourceOf(array);
  TextureDescriptor wrong = clamped();
  wrong.addressMode[0] = 4;
  texture("of an unknown address mode", resource, wrong);
  wrong = clamped();
  wrong.addressMode[2] = -1;
  texture("of a negative address mode", resource, wrong);
  wrong = clamped();
  wrong.filter = 2;
  texture("of an unknown filter", resource, wrong);
  wrong = clamped();
  wrong.mipmapFilter = 2;
  texture("of an unknown filter of levels", resource, wrong);
  wrong = clamped();
  wrong.flags = 0x100;
  texture("of unknown flags", resource, wrong);
  wrong = clamped();
  wrong.maxAnisotropy = 17;
  texture("of much anisotropy", resource, wrong);
  wrong = clamped();
  wrong.reserved[3] = 1;
  texture("of a reserved word", resource, wrong);
  wrong = clamped();
  wrong.flags = kStandardRgb;
  texture("of words with sRGB", resource, wrong);
  wrong = clamped();
  wrong.filter = 1;
  texture("of words with a linear filter", resource, wrong);
  wrong.flags = kReadAsInteger;
  texture("of integers with a linear filter", resource, wrong);
  ResourceDescriptor other = resource;
  other.flags = 1;
  texture("of a resource with flags", other);
  other.flags = 0;
  other.type = 7;
  texture("of an unknown resource", other);
  texture("of no array", resourceOf(nullptr));
  surface("of no array", resourceOf(nullptr));
  surface("of an unknown resource", other);
  Pointer plain = filledArray(0);
  surface("of an array that is none", resourceOf(plain));
  ObjectHandle object = 0;
  const TextureDescriptor fine = clamped();
  const ViewDescriptor *noView = nullptr;
  say("no result %d",
      quiet("cuTexObjectCreate", static_cast<ObjectHandle *>(nullptr), &resource, &fine, noView));
  say("no resource %d", quiet("cuTexObjectCreate", &object,
                              static_cast<const ResourceDescriptor *>(nullptr), &fine, noView));
  say("no descriptor %d", quiet("cuTexObjectCreate", &object, &resource,
                                static_cast<const TextureDescriptor *>(nullptr), noView));
}

SEQUENCE(views_that_do_not_fit) {
  Lab lab;
  Pointer array = filledArray();
  const ResourceDescriptor resource = resourceOf(array);
  auto view = [](int format, size_t width, size_t height) {
    ViewDescriptor result = {};
    result.format = format;
    result.width = width;
    result.height = height;
    return result;
  };
  constexpr int kViewU8x4 = 3, kViewU8 = 1, kViewU32 = 13, kViewS32 = 16, kViewHalf2 = 20,
                kViewFloat = 22, kViewFloat2 = 23, kViewBlocks = 25;
  ViewDescriptor asked = view(kViewU32, 16, 8);
  texture("as words", resource, clamped(), &asked);
  TextureDescriptor integers = clamped();
  integers.flags = kReadAsInteger;
  for (auto [what, format] :
       {std::pair("as signed words", kViewS32), std::pair("as bytes", kViewU8x4),
        std::pair("as halves", kViewHalf2), std::pair("as numbers", kViewFloat)}) {
    asked = view(format, 16, 8);
    lab.run("sample", texture(what, resource, integers, &asked), 3, 2);
    texture(what, resource, clamped(), &asked);
  }
  for (auto [what, format] :
       {std::pair("as one byte", kViewU8), std::pair("as two numbers", kViewFloat2),
        std::pair("as blocks", kViewBlocks), std::pair("as nothing", 0),
        std::pair("unknown", 99)}) {
    asked = view(format, 16, 8);
    texture(what, resource, clamped(), &asked);
  }
  asked = view(kViewU32, 8, 8);
  texture("narrow", resource, clamped(), &asked);
  asked = view(kViewU32, 16, 8);
  asked.depth = 1;
  texture("deep", resource, clamped(), &asked);
  asked.depth = 0;
  asked.lastLevel = 1;
  texture("of levels", resource, clamped(), &asked);
  asked.lastLevel = 0;
  asked.firstLayer = asked.lastLayer = 1;
  texture("of layers", resource, clamped(), &asked);
  asked = view(kViewU32, 16, 8);
  asked.reserved[0] = 1;
  texture("of a reserved word", resource, clamped(), &asked);
}

SEQUENCE(textures_after_their_end) {
  Lab lab;
  Pointer array = filledArray();
  const ObjectHandle object = texture("fine", resourceOf(array));
  lab.run("sample", object, 3, 2);
  say("destroyed %d", quiet("cuTexObjectDestroy", object));
  say("destroyed again %d", quiet("cuTexObjectDestroy", object));
  say("no texture destroyed %d", quiet("cuTexObjectDestroy", ObjectHandle(0)));
  say("unknown texture destroyed %d", quiet("cuTexObjectDestroy", ObjectHandle(0x12345)));
  say("destroyed as a surface %d", quiet("cuSurfObjectDestroy", object));
  ResourceDescriptor resource;
  TextureDescriptor descriptor;
  ViewDescriptor view;
  say("its resource %d", quiet("cuTexObjectGetResourceDesc", &resource, object));
  say("its descriptor %d", quiet("cuTexObjectGetTextureDesc", &descriptor, object));
  say("its view %d", quiet("cuTexObjectGetResourceViewDesc", &view, object));
  lab.run("sample", object, 3, 2);
  const ObjectHandle live = texture("fine", resourceOf(array));
  say("the view of one without %d", quiet("cuTexObjectGetResourceViewDesc", &view, live));
  say("its resource as a surface %d", quiet("cuSurfObjectGetResourceDesc", &resource, live));
  lab.run("sample", 0, 3, 2);
}

SEQUENCE(texture_of_memory_that_is_gone) {
  Lab lab;
  Pointer memory = nullptr;
  quiet("cuMemAlloc_v2", &memory, size_t(64 << 20));
  const ObjectHandle object = texture("fine", linearResource(memory, kFormatU32, 1, 64 << 20));
  lab.run("fetch", object, 1 << 24, 0);
  cu("cuMemFree_v2", memory);
  lab.run("fetch", object, 1000000, 0);
  lab.run("fetch", object, 0, 0);
}

SEQUENCE(texture_of_an_array_that_is_gone) {
  Lab lab;
  Pointer array = nullptr;
  const Array3DDescriptor descriptor = {4096, 4096, 0, kFormatU32, 1, 0};
  cu("cuArray3DCreate_v2", &array, &descriptor);
  const ObjectHandle object = texture("fine", resourceOf(array));
  lab.run("sample", object, 5000, 1);
  say("destroyed %d", destroyArray(array));
  lab.run("sample", object, 1000, 1000);
  cu("cuTexObjectDestroy", object);
}

SEQUENCE(texture_that_nobody_made) {
  Lab lab;
  lab.run("sample", 0x7fffffffffffull, 1, 1);
  lab.run("sample", 0, 1, 1);
}

SEQUENCE(surface_as_a_texture) {
  Lab lab;
  Pointer array = filledArray();
  const ObjectHandle object = surface("fine", resourceOf(array));
  lab.run("write", object, 4, 1);
  lab.run("write", object, 64, 1);
  lab.run("write", object, 4, 8);
  lab.run("write", object, -4, 1);
  lab.run("sample", object, 3, 2);
  say("destroyed as a texture %d", quiet("cuTexObjectDestroy", object));
  lab.run("write", object, 8, 1);
  say("destroyed %d", quiet("cuSurfObjectDestroy", object));
  say("destroyed again %d", quiet("cuSurfObjectDestroy", object));
  ResourceDescriptor resource;
  say("its resource %d", quiet("cuSurfObjectGetResourceDesc", &resource, object));
  lab.run("write", object, 4, 1);
}

SEQUENCE(texture_as_a_surface) {
  Lab lab;
  Pointer array = filledArray();
  const ObjectHandle object = texture("fine", resourceOf(array));
  lab.run("write", object, 4, 1);
  lab.run("sample", object, 1, 1);
}

SEQUENCE(surface_past_its_end) {
  Lab lab;
  Pointer array = filledArray();
  const ObjectHandle object = surface("fine", resourceOf(array));
  lab.run("writeOrTrap", object, 4, 1);
  lab.run("writeOrTrap", object, 64, 1);
  lab.run("writeOrTrap", object, 4, 1);
}

SEQUENCE(surface_between_texels) {
  Lab lab;
  Pointer array = filledArray();
  lab.run("write", surface("fine", resourceOf(array)), 2, 1);
  lab.run("sample", 0, 1, 1);
}

SEQUENCE(surface_that_is_none) {
  Lab lab;
  lab.run("write", 0, 4, 1);
  lab.run("sample", 0, 1, 1);
}

SEQUENCE(surface_of_an_array_that_is_gone) {
  Lab lab;
  Pointer array = nullptr;
  const Array3DDescriptor descriptor = {4096, 4096, 0, kFormatU32, 1, kArraySurface};
  cu("cuArray3DCreate_v2", &array, &descriptor);
  const ObjectHandle object = surface("fine", resourceOf(array));
  say("destroyed %d", destroyArray(array));
  lab.run("write", object, 400, 1000);
}

SEQUENCE(references_set_wrongly) {
  Lab lab;
  Pointer reference = nullptr, none = nullptr;
  cu("cuModuleGetTexRef", &reference, lab.kernels, "reference");
  say("of no such name %d", quiet("cuModuleGetTexRef", &none, lab.kernels, "nothing"));
  say("of a surface %d", quiet("cuModuleGetTexRef", &none, lab.kernels, "surface"));
  say("a surface of no such name %d", quiet("cuModuleGetSurfRef", &none, lab.kernels, "reference"));
  lab.run("sampleReference", 0, 1, 1);
  say("address mode 9: %d", quiet("cuTexRefSetAddressMode", reference, 0, 9));
  say("dimension 3: %d", quiet("cuTexRefSetAddressMode", reference, 3, 0));
  say("filter 9: %d", quiet("cuTexRefSetFilterMode", reference, 9));
  say("flags: %d", quiet("cuTexRefSetFlags", reference, 0x100u));
  say("format 99: %d", quiet("cuTexRefSetFormat", reference, 99, 1));
  say("3 channels: %d", quiet("cuTexRefSetFormat", reference, 3, 3));
  say("no array: %d", quiet("cuTexRefSetArray", reference, kNone, 1u));
  Pointer array = filledArray();
  say("no flags: %d", quiet("cuTexRefSetArray", reference, array, 0u));
  say("unknown flags: %d", quiet("cuTexRefSetArray", reference, array, 6u));
  say("an array: %d", quiet("cuTexRefSetArray", reference, array, 1u));
  lab.run("sampleReference", 0, 3, 2);
  say("its own format: %d", quiet("cuTexRefSetFormat", reference, 0x20, 1));
  lab.run("sampleReference", 0, 3, 2);
  Pointer surfaceReference = nullptr;
  cu("cuModuleGetSurfRef", &surfaceReference, lab.kernels, "surface");
  Pointer plain = filledArray(0);
  say("an array that is no surface: %d", quiet("cuSurfRefSetArray", surfaceReference, plain, 0u));
  say("flags: %d", quiet("cuSurfRefSetArray", surfaceReference, array, 1u));
  say("an array: %d", quiet("cuSurfRefSetArray", surfaceReference, array, 0u));
  Pointer got = nullptr;
  say("got: %d %s", quiet("cuSurfRefGetArray", &got, surfaceReference),
      got == array ? "the array" : "another");
}

} // namespace
} // namespace sequences
