// SPDX-License-Identifier: Apache-2.0
#include "runtime/worker/sampler/SamplerText.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"

using namespace llvm;

namespace rubia::runtime {
namespace {

struct Geometry {
  const char *name, *place;
  const char *slope = nullptr; // of a gradient; null: gradients are rare
  bool hasLevels = true;
};

constexpr Geometry kGeometries[] = {
    {"1d", "{%f0}", nullptr, false},
    {"2d", "{%f0, %f1}", "{%f4, %f5}"},
    {"3d", "{%f0, %f1, %f2, %f2}", "{%f4, %f5, %f6, %f6}"},
    {"a1d", "{%r0, %f0}", nullptr, false},
    {"a2d", "{%r0, %f0, %f1, %f1}"},
    {"cube", "{%f0, %f1, %f2, %f2}"},
    {"acube", "{%r0, %f0, %f1, %f2}"},
};

constexpr std::pair<const char *, const char *> kSurfaces[] = {
    {"1d", "{%r0}"},
    {"2d", "{%r0, %r1}"},
    {"3d", "{%r0, %r1, %r2, %r2}"},
    {"a1d", "{%r0, %r1}"},
    {"a2d", "{%r0, %r1, %r2, %r2}"},
};

class Text {
public:
  Text() : text(".version 8.0\n.target sm_80\n.address_size 64\n") {}

  bool flushes = false; // kernels of --use_fast_math: the sampler is called with another mode

  /// A kernel that stores the first results of an instruction, which are in %x0 to %x3.
  void add(const Twine &instruction, unsigned results) {
    text += (".visible .entry k" + Twine(count++) +
             "(.param .u64 to, .param .u64 from, .param .u64 object) {\n"
             "  .reg .b32 %r<4>, %x<4>; .reg .f32 %f<8>; .reg .b64 %to, %from, %object;\n"
             "  ld.param.u64 %to, [to]; ld.param.u64 %from, [from]; ld.param.u64 %object, "
             "[object];\n"
             "  ld.global.v4.u32 {%r0, %r1, %r2, %r3}, [%from];\n"
             "  ld.global.v4.f32 {%f0, %f1, %f2, %f3}, [%from+16];\n"
             "  ld.global.v4.f32 {%f4, %f5, %f6, %f7}, [%from+32];\n  " +
             instruction + "\n")
                .str();
    if (flushes)
      text += "  add.ftz.f32 %f7, %f7, %f7; st.global.f32 [%to+16], %f7;\n";
    for (unsigned i = 0; i < results; ++i)
      text += ("  st.global.u32 [%to+" + Twine(4 * i) + "], %x" + Twine(i) + ";\n").str();
    text += "  ret;\n}\n";
  }
  void addSample(const Twine &kind, const Twine &operands, ArrayRef<unsigned> resultCounts) {
    const std::string instruction =
        ("tex." + kind + " {%x0, %x1, %x2, %x3}, [%object, " + operands + ";").str();
    for (unsigned results : resultCounts)
      add(instruction, results);
  }
  std::string take() { return std::move(text); }

private:
  std::string text;
  unsigned count = 0;
};

} // namespace

static void addAll(Text &text) {
  text.addSample("1d.v4.u32.s32", "{%r0}]", {1, 2, 4});
  for (const Geometry &geometry : kGeometries) {
    const std::string type = geometry.name + std::string(".v4.u32.f32");
    text.addSample(type, geometry.place + Twine("]"), {1, 4});
    if (geometry.hasLevels)
      text.addSample("level." + type, geometry.place + Twine("], %f3"), {1, 4});
    if (geometry.slope)
      text.addSample("grad." + type,
                     geometry.place + Twine("], ") + geometry.slope + ", " + geometry.slope,
                     {1, 4});
  }
  text.addSample("2d.v4.u32.f32", "{%f0, %f1}]", {2}); // vectors of two, as of a flow
  for (const auto &[name, place] : kSurfaces) {
    const std::string at = (Twine(", [%object, ") + place + "];").str();
    for (const char *type : {"b8", "b16", "b32"})
      text.add("suld.b." + Twine(name) + "." + type + ".trap %x0" + at, 1);
    text.add("suld.b." + Twine(name) + ".v2.b32.trap {%x0, %x1}" + at, 2);
    text.add("suld.b." + Twine(name) + ".v4.b32.trap {%x0, %x1, %x2, %x3}" + at, 4);
  }
}

std::string samplerText() {
  Text text;
  addAll(text);
  text.flushes = true;
  addAll(text);
  return text.take();
}

} // namespace rubia::runtime
