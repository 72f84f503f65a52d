// SPDX-License-Identifier: Apache-2.0
#include "tests/driver-sequences/TextureLab.h"
#include <algorithm>
#include <string>

using namespace rubia::runtime::cuda;

namespace sequences {
namespace {

// Each kernel executes one instruction, at (x, y, z) of layer 1, and stores its result. %f3 to %f8
// are the gradients.
constexpr struct {
  const char *name, *instruction, *operands;
} kKernels[] = {
    {"d1", "tex.1d.v4.u32.f32", "[%p1, {%f0}]"},
    {"d2", "tex.2d.v4.u32.f32", "[%p1, {%f0, %f1}]"},
    {"level", "tex.level.2d.v4.u32.f32", "[%p1, {%f0, %f1}], %f2"},
    {"d3", "tex.3d.v4.u32.f32", "[%p1, {%f0, %f1, %f2, %f2}]"},
    {"layer1", "tex.a1d.v4.u32.f32", "[%p1, {%r4, %f0}]"},
    {"layer2", "tex.a2d.v4.u32.f32", "[%p1, {%r4, %f0, %f1, %f1}]"},
    {"cube", "tex.cube.v4.u32.f32", "[%p1, {%f0, %f1, %f2, %f2}]"},
    {"layerCube", "tex.acube.v4.u32.f32", "[%p1, {%r4, %f0, %f1, %f2}]"},
    {"firstGradient", "tex.grad.2d.v4.u32.f32",
     "[%p1, {%f0, %f1}], {%f2, 0f3E000000}, {0f3D000000, 0f3E800000}"},
    {"lastGradient", "tex.grad.2d.v4.u32.f32",
     "[%p1, {%f0, %f1}], {0f3E800000, 0f3D000000}, {0f3D000000, %f2}"},
    {"gradient", "tex.grad.2d.v4.u32.f32", "[%p1, {%f0, %f1}], {%f2, %f2}, {%f2, %f2}"},
    {"gather", "tld4.g.2d.v4.u32.f32", "[%p1, {%f0, %f1}]"},
    {"gradients", "tex.grad.2d.v4.u32.f32", "[%p1, {%f0, %f1}], {%f3, %f4}, {%f6, %f7}"},
    {"cubeGradient", "tex.grad.cube.v4.u32.f32",
     "[%p1, {%f0, %f1, %f2, %f2}], {%f3, %f4, %f5, %f5}, {%f6, %f7, %f8, %f8}"},
};

std::string textOfKernels() {
  std::string text = ".version 8.0\n.target sm_80\n.address_size 64\n";
  for (const auto &[name, instruction, operands] : kKernels) {
    text += std::string(".visible .entry ") + name +
            "(.param .u64 out, .param .u64 object, .param .align 4 .b8 at[36])\n"
            "{\n  .reg .b32 %r<5>; .reg .f32 %f<9>; .reg .b64 %p<2>;\n"
            "  ld.param.u64 %p0, [out];\n  ld.param.u64 %p1, [object];\n";
    for (int i = 0; i < 9; ++i)
      text += "  ld.param.f32 %f" + std::to_string(i) + ", [at+" + std::to_string(4 * i) + "];\n";
    text += "  mov.u32 %r4, 1;\n  " + std::string(instruction) + " {%r0, %r1, %r2, %r3}, " +
            operands + ";\n  st.global.v4.u32 [%p0], {%r0, %r1, %r2, %r3};\n  ret;\n}\n";
  }
  return text;
}

int fill(Pointer array, const Array3DDescriptor &shape, const std::vector<uint32_t> &words,
         unsigned texelBytes, unsigned level) {
  const auto shrunk = [&](size_t size) { return std::max<size_t>(size >> level, 1); };
  const bool isLayered = shape.flags & (kArrayLayered | kArrayCubemap);
  const size_t slices = isLayered ? shape.depth : shrunk(shape.depth),
               texels = shrunk(shape.width) * shrunk(shape.height) * std::max<size_t>(slices, 1);
  std::vector<uint32_t> contents(texels * texelBytes / 4 + 4);
  for (size_t i = 0; i < contents.size(); ++i)
    contents[i] = words[i % words.size()] + (level << 20);
  CopyParameters copy = {};
  copy.from.type = 1;
  copy.from.host = contents.data();
  copy.from.pitch = copy.width = shrunk(shape.width) * texelBytes;
  copy.from.height = copy.height = shrunk(shape.height);
  copy.to.type = 3;
  copy.to.array = static_cast<Array *>(array);
  copy.depth = std::max<size_t>(slices, 1);
  return quiet("cuMemcpy3D_v2", &copy);
}

} // namespace

TextureLab::TextureLab() {
  const std::string text = textOfKernels();
  cu("cuModuleLoadData", &kernels, static_cast<const void *>(text.c_str()));
  quiet("cuMemAlloc_v2", &out, size_t(16));
}

void TextureLab::sample(const char *what, const char *kernel, ObjectHandle object, float x, float y,
                        float z, const Gradients &gradients) {
  uint32_t words[4] = {0xcc, 0xcc, 0xcc, 0xcc};
  Pointer function = nullptr;
  quiet("cuMemcpyHtoD_v2", out, static_cast<const void *>(words), sizeof(words));
  float at[9] = {x, y, z};
  std::copy(gradients.byX, gradients.byX + 3, at + 3);
  std::copy(gradients.byY, gradients.byY + 3, at + 6);
  void *values[] = {&out, &object, at};
  int status = quiet("cuModuleGetFunction", &function, kernels, kernel);
  if (!status)
    status = quiet("cuLaunchKernel", function, 1u, 1u, 1u, 1u, 1u, 1u, 0u, kNone, &values[0],
                   static_cast<void **>(nullptr));
  if (!status)
    status = quiet("cuMemcpyDtoH_v2", static_cast<void *>(words), out, sizeof(words));
  say("  %s at %g %g %g: %d: %08x %08x %08x %08x", what, double(x), double(y), double(z), status,
      words[0], words[1], words[2], words[3]);
}

Filled::Filled(const Array3DDescriptor &shape, const std::vector<uint32_t> &words,
               unsigned texelBytes, unsigned levels) {
  int status = 0;
  if (!levels) {
    status = quiet("cuArray3DCreate_v2", &resource.array, &shape);
    status = status ? status : fill(resource.array, shape, words, texelBytes, 0);
  } else {
    resource.type = kResourceMipmapped;
    status = quiet("cuMipmappedArrayCreate", &resource.mipmapped, &shape, levels);
    for (unsigned level = 0; level < levels && !status; ++level) {
      Pointer array = nullptr;
      status = quiet("cuMipmappedArrayGetLevel", &array, resource.mipmapped, level);
      status = status ? status : fill(array, shape, words, texelBytes, level);
    }
  }
  if (status)
    say("not filled: %d", status);
}

Filled::~Filled() {
  if (resource.type == kResourceMipmapped)
    quiet("cuMipmappedArrayDestroy", resource.mipmapped);
  else
    quiet("cuArrayDestroy", resource.array);
}

Asked::Asked(int x, int y, int z, int filter, unsigned flags) : TextureDescriptor{} {
  addressMode[0] = x;
  addressMode[1] = y;
  addressMode[2] = z;
  this->filter = filter;
  this->flags = flags;
  withBorder(0.3125f, -0.75f, 2.125f, 0.625f);
}

Asked &Asked::withBorder(float first, float second, float third, float fourth) {
  const float colors[] = {first, second, third, fourth};
  for (int i = 0; i < 4; ++i)
    border[i] = colors[i];
  return *this;
}

Asked &Asked::withLevels(int filter, float last, unsigned anisotropy) {
  mipmapFilter = filter;
  maxLevel = last;
  maxAnisotropy = anisotropy;
  return *this;
}

ObjectHandle texture(const Filled &filled, const Asked &asked, const ViewDescriptor *view) {
  ObjectHandle object = 0;
  const TextureDescriptor &descriptor = asked;
  if (int status = quiet("cuTexObjectCreate", &object, &filled.resource, &descriptor, view))
    say("texture: %d", status);
  return object;
}

} // namespace sequences
