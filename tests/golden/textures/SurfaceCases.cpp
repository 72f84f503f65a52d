// SPDX-License-Identifier: Apache-2.0
#include "tests/golden/textures/SurfaceCases.h"
#include "tests/golden/textures/Random.h"
#include <bit>
#include <cmath>
#include <cstring>

namespace rubia::golden {

namespace {

struct SurfaceFormat {
  const char *name;
  int code;
  unsigned bytes; // of a channel
};
constexpr SurfaceFormat kFormats[] = {
    {"u8", 1, 1},  {"u16", 2, 2},  {"u32", 3, 4},    {"s8", 8, 1},
    {"s16", 9, 2}, {"s32", 10, 4}, {"f16", 0x10, 2}, {"f32", 0x20, 4},
};

unsigned channelBytes(int format) {
  for (const SurfaceFormat &known : kFormats)
    if (known.code == format)
      return known.bytes;
  return (format - 0xc0) / 3 % 2 ? 2 : 1; // normalised: u8, u16, s8, s16 of 1, 2 and 4 channels
}

std::string geometryName(unsigned dimensions) { return std::to_string(dimensions) + "d"; }
const char *vectorName(unsigned elements) {
  return elements == 4 ? ".v4" : elements == 2 ? ".v2" : "";
}

struct List {
  std::vector<SurfaceCase> all;

  void add(SurfaceCase c, const std::string &format) {
    c.name = c.instruction + " " + format;
    all.push_back(std::move(c));
  }

  void stores() {
    for (const SurfaceFormat &format : kFormats)
      for (unsigned channels : {1u, 2u, 4u})
        for (unsigned elements : {1u, 2u, 4u})
          store(2, elements, format.code, channels, format.name + ("x" + std::to_string(channels)));
    for (int i = 0; i < 12; ++i)
      store(2, 4, 0xc0 + i, 1u << i % 3, "normalized" + std::to_string(i));
    for (unsigned dimensions : {1u, 3u})
      store(dimensions, 2, 9, 2, "s16x2");
  }
  void store(unsigned dimensions, unsigned elements, int format, unsigned channels,
             const std::string &name) {
    SurfaceCase c;
    c.instruction = "sust.p." + geometryName(dimensions) + vectorName(elements) + ".b32.zero";
    c.dimensions = dimensions;
    c.elements = elements;
    c.format = format;
    c.channels = channels;
    add(c, name);
  }

  void reductions() {
    for (const char *operation : {"add", "min", "max", "and", "or"})
      for (const SurfaceFormat &format : kFormats)
        for (unsigned channels : {1u, 4u}) {
          if (channels == 4 && format.code != 1 && format.code != 3)
            continue;
          SurfaceCase c;
          c.instruction = std::string("sured.p.") + operation + ".2d.b32.zero";
          c.format = format.code;
          c.channels = channels;
          add(c, format.name + ("x" + std::to_string(channels)));
        }
    for (const char *operation : {"min", "max"})
      for (int format : {3, 10}) {
        SurfaceCase c;
        c.instruction = std::string("sured.p.") + operation + ".2d.b64.zero";
        c.elementBytes = 8;
        c.format = format;
        c.channels = 2;
        add(c, format == 3 ? "u32x2" : "s32x2");
      }
    const struct {
      const char *operation, *type;
    } kBytes[] = {{"add", "u32"}, {"add", "s32"}, {"add", "u64"}, {"min", "u32"}, {"min", "s32"},
                  {"min", "u64"}, {"min", "s64"}, {"max", "u32"}, {"max", "s32"}, {"max", "u64"},
                  {"max", "s64"}, {"and", "b32"}, {"or", "b32"}};
    unsigned turn = 0;
    for (const auto &[operation, type] : kBytes) {
      SurfaceCase c;
      c.dimensions = 1 + turn++ % 3;
      c.instruction = std::string("sured.b.") + operation + "." + geometryName(c.dimensions) + "." +
                      type + ".zero";
      c.elementBytes = type[1] == '6' ? 8 : 4;
      c.countsBytes = true;
      c.format = 3;
      c.channels = c.elementBytes / 4;
      add(c, "u32x" + std::to_string(c.channels));
    }
  }
};

// Words on the edges of what formats hold.
uint32_t operand(Random &random) {
  constexpr int32_t kEdges[] = {0,      1,      -1,     126,   127,     128,       129,       255,
                                256,    -127,   -128,   -129,  32767,   32768,     65535,     65536,
                                -32767, -32768, -32769, 65534, 1 << 24, INT32_MAX, INT32_MIN, 254};
  const uint32_t kNumbers[] = {0x7f800000, 0xff800000, 0x7fc00000, 0xffc00000, 0x7f800001,
                               0x7fffffff, 0x7fa00000, 0x477fe000, 0x477fefff, 0x477ff000,
                               0x477fffff, 0x47800000, 0xc77ff000, 0x33000000, 0x33000001,
                               0x33800000, 0x32ffffff, 0x38800000, 0x387fffff, 0x387fe000};
  switch (random.below(6)) {
  case 0:
    return uint32_t(kEdges[random.below(std::size(kEdges))]);
  case 1:
    return kNumbers[random.below(std::size(kNumbers))];
  case 2: { // a half, exactly between two, or beside that
    const uint32_t bits = (random.below(47) + 100) << 23 | (random.below(2048) << 12);
    return (bits + random.below(3) - 1) | random.below(2) << 31;
  }
  case 3:
    return std::bit_cast<uint32_t>(random.unit() * 2.5f - 1.25f);
  case 4:
    return uint32_t(int32_t(random.below(600)) - 300);
  default:
    return random.next();
  }
}

} // namespace

const std::vector<SurfaceCase> &surfaceCases() {
  static const std::vector<SurfaceCase> cases = [] {
    List list;
    list.stores();
    list.reductions();
    return list.all;
  }();
  return cases;
}

unsigned texelBytes(const SurfaceCase &c) { return channelBytes(c.format) * c.channels; }

std::vector<uint8_t> bytesBefore(const SurfaceCase &c) {
  Random random(c.name + "/before");
  std::vector<uint8_t> bytes(size_t(256) * texelBytes(c));
  for (uint8_t &byte : bytes)
    byte = uint8_t(random.next() >> 13);
  return bytes;
}

std::vector<int32_t> coordinatesOf(const SurfaceCase &c) {
  std::vector<int32_t> words(size_t(4) * kSurfaceThreads);
  const int width = int(c.width()), height = int(std::max(c.height(), 1u)),
            bytes = int(texelBytes(c));
  for (int i = 0; i < int(kSurfaceThreads); ++i) {
    int32_t *at = &words[size_t(4) * i];
    at[0] = i % width;
    at[1] = i / width % height;
    at[2] = i / width / height;
    if (i >= 256) { // outside
      const int far[] = {-1, width, 1 << 20, INT32_MIN / 64};
      at[0] = far[i % 4];
      at[1] = at[2] = 0;
    }
    if (c.countsBytes)
      at[0] *= bytes;
  }
  return words;
}

std::vector<uint32_t> operandsOf(const SurfaceCase &c) {
  Random random(c.name + "/operands");
  std::vector<uint32_t> words(size_t(4) * kSurfaceThreads);
  for (uint32_t &word : words)
    word = operand(random);
  return words;
}

std::string kernelTextOf(const SurfaceCase &c) {
  const char *at = c.dimensions == 1   ? "{%r4}"
                   : c.dimensions == 2 ? "{%r4, %r5}"
                                       : "{%r4, %r5, %r6, %r6}";
  const char *value = c.elementBytes == 8 ? "%p7"
                      : c.elements == 4   ? "{%r8, %r9, %r10, %r11}"
                      : c.elements == 2   ? "{%r8, %r9}"
                                          : "%r8";
  return std::string(R"(.version 8.1
.target sm_80
.address_size 64
.visible .entry k(.param .u64 surface, .param .u64 at, .param .u64 operands)
{
  .reg .b32 %r<12>;
  .reg .b64 %p<8>;
  .reg .pred %q;
  ld.param.u64 %p1, [surface];
  ld.param.u64 %p2, [at];
  ld.param.u64 %p3, [operands];
  mov.u32 %r0, %ctaid.x;
  mov.u32 %r1, %ntid.x;
  mov.u32 %r2, %tid.x;
  mad.lo.u32 %r0, %r0, %r1, %r2;
  mul.wide.u32 %p4, %r0, 16;
  add.u64 %p2, %p2, %p4;
  add.u64 %p3, %p3, %p4;
  ld.global.v4.b32 {%r4, %r5, %r6, %r7}, [%p2];
  ld.global.v4.b32 {%r8, %r9, %r10, %r11}, [%p3];
  ld.global.b64 %p7, [%p3];
  )") + c.instruction +
         " [%p1, " + at + "], " + value + ";\n  ret;\n}\n";
}

} // namespace rubia::golden
