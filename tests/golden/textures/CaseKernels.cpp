// SPDX-License-Identifier: Apache-2.0
// The kernels of the cases (Cases.h): each has one texture instruction.
#include "tests/golden/textures/Cases.h"
#include <string_view>

namespace rubia::golden {

static constexpr int kOffsets[][3] = {{0, 0, 0}, {-8, 7, -3}, {1, -2, 5}};

std::string kernelOf(const TextureCase &c) {
  const char *geometry = c.shape == Shape::Linear    ? "1d"
                         : c.shape == Shape::Pitched ? "2d"
                                                     : nameOf(c.shape);
  constexpr const char *kAsks[] = {"f32", "s32", "level", "grad", "gather", ""};
  if (c.ask == Ask::Query)
    return "t_query";
  std::string name = std::string("t_") + geometry + "_" + kAsks[int(c.ask)];
  if (c.ask == Ask::Gather)
    name += std::to_string(c.component);
  if (c.offsets)
    name += "_o" + std::to_string(c.offsets);
  return name;
}

// Offsets as an instruction of so many dimensions has them.
static std::string offsetText(const char *geometry, const int (&offsets)[3]) {
  const std::string x = std::to_string(offsets[0]), y = std::to_string(offsets[1]),
                    z = std::to_string(offsets[2]);
  const std::string_view name = geometry;
  if (name == "1d" || name == "a1d")
    return ", {" + x + "}";
  return name == "3d" ? ", {" + x + ", " + y + ", " + z + ", " + z + "}"
                      : ", {" + x + ", " + y + "}";
}

static std::string kernel(const std::string &name, const std::string &instruction) {
  return ".visible .entry " + name +
         R"((.param .u64 out, .param .u64 tex, .param .u64 at, .param .u64 more)
{
  .reg .b32 %r<12>;
  .reg .f32 %c<4>, %d<8>;
  .reg .b64 %p<8>;
  ld.param.u64 %p0, [out];
  ld.param.u64 %p1, [tex];
  ld.param.u64 %p2, [at];
  ld.param.u64 %p3, [more];
  mov.u32 %r0, %ctaid.x;
  mov.u32 %r1, %ntid.x;
  mov.u32 %r2, %tid.x;
  mad.lo.u32 %r0, %r0, %r1, %r2;
  mul.wide.u32 %p4, %r0, 16;
  add.u64 %p2, %p2, %p4;
  add.u64 %p0, %p0, %p4;
  mul.wide.u32 %p5, %r0, 32;
  add.u64 %p3, %p3, %p5;
  ld.global.v4.b32 {%r4, %r5, %r6, %r7}, [%p2];
  mov.b32 %c0, %r4;
  mov.b32 %c1, %r5;
  mov.b32 %c2, %r6;
  mov.b32 %c3, %r7;
  ld.global.v4.f32 {%d0, %d1, %d2, %d3}, [%p3];
  ld.global.v4.f32 {%d4, %d5, %d6, %d7}, [%p3+16];
  )" + instruction +
         R"(
  st.global.v4.b32 [%p0], {%r8, %r9, %r10, %r11};
  ret;
}
)";
}

std::string textureKernels() {
  std::string text = ".version 8.0\n.target sm_80\n.address_size 64\n";
  const std::string d = "{%r8, %r9, %r10, %r11}, [%p1, ";
  const struct {
    const char *geometry, *floats, *integers, *dx, *dy;
  } kGeometries[] = {
      {"1d", "{%c0}", "{%r4}", "{%d0}", "{%d4}"},
      {"2d", "{%c0, %c1}", "{%r4, %r5}", "{%d0, %d1}", "{%d4, %d5}"},
      {"3d", "{%c0, %c1, %c2, %c2}", "{%r4, %r5, %r6, %r6}", "{%d0, %d1, %d2, %d3}",
       "{%d4, %d5, %d6, %d7}"},
      {"a1d", "{%r4, %c1}", "{%r4, %r5}", "{%d0}", "{%d4}"},
      {"a2d", "{%r4, %c1, %c2, %c2}", "{%r4, %r5, %r6, %r6}", "{%d0, %d1}", "{%d4, %d5}"},
      {"cube", "{%c0, %c1, %c2, %c2}", nullptr, "{%d0, %d1, %d2, %d3}", "{%d4, %d5, %d6, %d7}"},
      {"acube", "{%r4, %c1, %c2, %c3}", nullptr, "{%d0, %d1, %d2, %d3}", "{%d4, %d5, %d6, %d7}"},
  };
  for (const auto &g : kGeometries) {
    const std::string form = std::string(g.geometry) + ".v4.u32.";
    for (unsigned i = 0; i < std::size(kOffsets); ++i) {
      if (i && !g.integers)
        continue; // cube maps have none
      const std::string name = std::string("t_") + g.geometry + "_",
                        end = i ? "_o" + std::to_string(i) : "",
                        offsets = i ? offsetText(g.geometry, kOffsets[i]) : "";
      text +=
          kernel(name + "f32" + end, "tex." + form + "f32 " + d + g.floats + "]" + offsets + ";");
      if (g.integers)
        text += kernel(name + "s32" + end,
                       "tex." + form + "s32 " + d + g.integers + "]" + offsets + ";");
      text += kernel(name + "level" + end,
                     "tex.level." + form + "f32 " + d + g.floats + "], %d0" + offsets + ";");
      text += kernel(name + "grad" + end, "tex.grad." + form + "f32 " + d + g.floats + "], " +
                                              g.dx + ", " + g.dy + offsets + ";");
    }
  }
  for (unsigned component = 0; component < 4; ++component)
    for (unsigned i = 0; i < std::size(kOffsets); ++i)
      text +=
          kernel("t_2d_gather" + std::to_string(component) + (i ? "_o" + std::to_string(i) : ""),
                 std::string("tld4.") + "rgba"[component] + ".2d.v4.u32.f32 " + d + "{%c0, %c1}]" +
                     (i ? offsetText("2d", kOffsets[i]) : "") + ";");
  text += kernel("t_query", R"(mov.b32 %r3, %d0;
  txq.level.width.b32 %r8, [%p1], %r3;
  txq.level.height.b32 %r9, [%p1], %r3;
  txq.level.depth.b32 %r10, [%p1], %r3;
  txq.width.b32 %r11, [%p1];)");
  return text;
}

} // namespace rubia::golden
