// SPDX-License-Identifier: Apache-2.0
// Copies of planes and volumes: pitches, beginnings, arrays, overlaps, ends.
#include "tests/driver-sequences/Sequence.h"
#include <algorithm>
#include <cstring>

namespace sequences {
namespace {

struct PlaneSide {
  size_t x, y;
  int type;
  Pointer host, device, array;
  size_t pitch;
};
struct Plane { // CUDA_MEMCPY2D
  PlaneSide from, to;
  size_t width, height;
};
struct ArrayShape { // CUDA_ARRAY3D_DESCRIPTOR
  size_t width, height, depth;
  int format; // 32: float, 8: signed 8 bits, 3: 32 bits unsigned
  unsigned channels, flags;
};
constexpr int kWord = 3;

/// Volumes of 4 x 4 x 4 words, each its number + 1 in `from`.
struct Lab : Plain {
  int words[64];
  Lab() {
    for (int i = 0; i < 64; ++i)
      words[i] = i + 1;
    quiet("cuMemcpyHtoD_v2", memory, static_cast<const void *>(words), sizeof(words));
  }
  static Pointer makeArray(ArrayShape shape) {
    Pointer array = kNone;
    cu("cuArray3DCreate_v2", &array, static_cast<const ArrayShape *>(&shape));
    return array;
  }
  /// Which words have changed: the first, the last, how many, and their sum.
  void sayChange(const char *what) {
    int now[64] = {};
    const int waited = quiet("cuCtxSynchronize");
    quiet("cuMemcpyDtoH_v2", Pointer(now), memory2, sizeof(now));
    int count = 0, begin = -1, end = -1, sum = 0;
    for (int i = 0; i < 64; ++i)
      if (now[i]) {
        begin = begin < 0 ? i : begin;
        end = i;
        ++count;
        sum += now[i];
      }
    say("%s: %d, %d words from %d to %d, sum %d", what, waited, count, begin, end, sum);
    quiet("cuMemsetD32_v2", memory2, 0u, size_t(64));
    quiet("cuCtxSynchronize"); // streams do not wait for the fill
  }
  CopyParameters volume(size_t width, size_t height, size_t depth) const {
    CopyParameters p = copyParameters(2, memory2, 2, memory, width);
    p.height = height;
    p.depth = depth;
    p.from.pitch = p.to.pitch = 16;
    p.from.height = p.to.height = 4;
    return p;
  }
};
int copy(const char *what, const CopyParameters &p) {
  const int code = quiet("cuMemcpy3D_v2", &p);
  say("%s: %d", what, code);
  return code;
}
int copy(const char *what, const Plane &p) {
  const int code = quiet("cuMemcpy2D_v2", &p);
  say("%s: %d, unaligned %d", what, code, quiet("cuMemcpy2DUnaligned_v2", &p));
  return code;
}

SEQUENCE(volumes_copied) {
  Lab s;
  copy("all", s.volume(16, 4, 4));
  s.sayChange("all");
  CopyParameters p = s.volume(8, 2, 2);
  p.from.x = 4;
  p.from.y = 1;
  p.from.z = 1;
  copy("from inside", p);
  s.sayChange("from inside");
  std::swap(p.from.x, p.to.x);
  std::swap(p.from.y, p.to.y);
  std::swap(p.from.z, p.to.z);
  copy("to inside", p);
  s.sayChange("to inside");
  p = s.volume(4, 1, 1);
  p.from.x = 2;
  copy("between words", p);
  s.sayChange("between words");
}

SEQUENCE(volumes_of_nothing) {
  Lab s;
  copy("no width", s.volume(0, 4, 4));
  copy("no height", s.volume(16, 0, 4));
  copy("no depth", s.volume(16, 4, 0));
  s.sayChange("nothing");
  CopyParameters p = s.volume(0, 0, 0);
  p.to.device = p.from.device = kNone;
  copy("of null", p);
  cu("cuMemcpy3D_v2", static_cast<const CopyParameters *>(nullptr));
  cu("cuMemcpy3DAsync_v2", static_cast<const CopyParameters *>(nullptr), s.stream);
}

SEQUENCE(volumes_with_wrong_pitches) {
  Lab s;
  CopyParameters p = s.volume(16, 2, 2);
  p.from.pitch = 8;
  copy("rows that overlap", p);
  p = s.volume(16, 2, 2);
  p.to.pitch = 12;
  copy("rows that overlap", p);
  p = s.volume(8, 2, 2);
  p.from.x = 12;
  copy("rows that go on in the next", p);
  p = s.volume(16, 2, 2);
  p.from.pitch = 0;
  copy("no pitch", p);
  p = s.volume(16, 1, 1);
  p.from.pitch = p.to.pitch = 0;
  p.from.height = p.to.height = 0;
  copy("one row without a pitch", p);
  p = s.volume(16, 3, 2);
  p.from.height = 2;
  copy("slices that overlap", p);
  p = s.volume(16, 3, 1);
  p.from.height = 2;
  copy("one slice that is higher", p);
  p = s.volume(16, 2, 2);
  p.to.height = 0;
  copy("no height", p);
  s.sayChange("what was copied");
}

SEQUENCE(volumes_beyond_their_end) {
  Lab s;
  CopyParameters p = s.volume(16, 4, 5);
  copy("a slice too many", p);
  p = s.volume(16, 5, 4);
  copy("a row too many", p);
  p = s.volume(16, 4, 4);
  p.to.z = 1;
  copy("to the second slice", p);
  p = s.volume(16, 4, 4);
  p.from.device = kNone;
  copy("from null", p);
  p = s.volume(16, 4, 4);
  p.to.device = kNone;
  copy("to null", p);
  s.sayChange("what was copied");
}

SEQUENCE(volumes_of_wrong_kinds) {
  Lab s;
  for (int type : {-1, 0, 1, 2, 3, 4, 5, 99}) {
    CopyParameters p = s.volume(16, 4, 4);
    p.from.type = type;
    p.from.host = s.words;
    say("type %d", type);
    copy("  from it", p);
    s.sayChange("  from it");
    p = s.volume(16, 4, 4);
    p.to.type = type;
    p.to.host = Pointer(s.host);
    copy("  to it", p);
    s.sayChange("  to it");
  }
  say("host %d %d", s.host[0], s.host[63]);
}

SEQUENCE(volumes_with_levels_of_detail) {
  Lab s;
  CopyParameters p = s.volume(16, 4, 4);
  p.from.lod = 1;
  copy("from level 1", p);
  p.from.lod = 0;
  p.to.lod = 1;
  copy("to level 1", p);
  p.to.lod = 0;
  p.from.reserved = &s;
  copy("with what is reserved", p);
  s.sayChange("what was copied");
}

SEQUENCE(volumes_of_arrays) {
  Lab s;
  Pointer array = Lab::makeArray({4, 4, 4, kWord, 1, 0});
  CopyParameters p = s.volume(16, 4, 4);
  p.to.type = 3;
  p.to.array = array;
  copy("to an array", p);
  p = s.volume(8, 2, 2);
  p.from.type = 3;
  p.from.array = array;
  p.from.x = 4;
  p.from.y = 1;
  p.from.z = 2;
  copy("from inside", p);
  s.sayChange("from inside");
  p.from.x = 2;
  copy("between texels", p);
  s.sayChange("between texels");
  p.from.x = 12;
  copy("beyond a row", p);
  p.from.x = 0;
  p.from.y = 3;
  copy("beyond the rows", p);
  p.from.y = 0;
  p.from.z = 3;
  copy("beyond the slices", p);
  p.from.z = 0;
  p.width = 6;
  copy("of half a texel", p);
  s.sayChange("of half a texel");
  p.width = 8;
  p.from.array = kNone;
  copy("of no array", p);
  cu("cuArrayDestroy", array);
}

SEQUENCE(volumes_between_arrays) {
  Lab s;
  Pointer one = Lab::makeArray({4, 4, 4, kWord, 1, 0}),
          two = Lab::makeArray({2, 4, 4, kWord, 2, 0}), bytes = Lab::makeArray({16, 4, 4, 1, 1, 0});
  CopyParameters p = s.volume(16, 4, 4);
  p.to.type = 3;
  p.to.array = one;
  copy("to one", p);
  for (Pointer to : {two, bytes}) {
    p = s.volume(16, 4, 4);
    p.from.type = p.to.type = 3;
    p.from.array = one;
    p.to.array = to;
    copy("to another kind", p);
    p = s.volume(16, 4, 4);
    p.from.type = 3;
    p.from.array = to;
    copy("back", p);
    s.sayChange("back");
  }
}

SEQUENCE(planes_of_arrays) {
  Lab s;
  Pointer array = Lab::makeArray({4, 4, 0, kWord, 1, 0}),
          line = Lab::makeArray({16, 0, 0, kWord, 1, 0});
  Plane p{{0, 0, 2, kNone, s.memory, kNone, 16}, {0, 0, 3, kNone, kNone, array, 0}, 16, 4};
  copy("to an array", p);
  Plane back{{4, 1, 3, kNone, kNone, array, 0}, {0, 0, 2, kNone, s.memory2, kNone, 16}, 8, 2};
  copy("from inside", back);
  s.sayChange("from inside");
  back.width = 16;
  copy("beyond a row", back);
  back.width = 8;
  back.height = 4;
  copy("beyond the rows", back);
  p.to.array = line;
  p.width = 64;
  p.height = 1;
  p.from.pitch = 64;
  copy("to a line", p);
  p.height = 2;
  copy("two rows to a line", p);
  cu("cuMemcpyAtoD_v2", s.memory2, line, size_t(4), size_t(16));
  s.sayChange("of a line");
  cu("cuMemcpyAtoD_v2", s.memory2, line, size_t(56), size_t(16));
  cu("cuMemcpyDtoA_v2", line, size_t(64), s.memory, size_t(4));
  cu("cuMemcpyAtoA_v2", line, size_t(0), line, size_t(32), size_t(32));
  cu("cuMemcpyAtoH_v2", Pointer(s.host), line, size_t(0), size_t(16));
  say("host %d", s.host[0]);
  cu("cuMemcpyHtoA_v2", line, size_t(2), static_cast<const void *>(s.words), size_t(4));
  cu("cuMemcpyAtoD_v2", s.memory2, kNone, size_t(0), size_t(4));
}

SEQUENCE(planes_with_wrong_pitches) {
  Lab s;
  const Plane good{
      {0, 0, 2, kNone, s.memory, kNone, 16}, {0, 0, 2, kNone, s.memory2, kNone, 16}, 16, 4};
  Plane p = good;
  p.from.pitch = 8;
  copy("rows that overlap", p);
  p = good;
  p.to.pitch = 0;
  copy("no pitch", p);
  p = good;
  p.height = 1;
  p.to.pitch = p.from.pitch = 0;
  copy("one row without a pitch", p);
  p = good;
  p.from.x = 8;
  copy("rows that go on in the next", p);
  p = good;
  p.height = 17;
  copy("beyond the end", p);
  p = good;
  p.from.type = 0;
  copy("from nothing", p);
  p = good;
  p.to.type = 9;
  copy("to what there is not", p);
  p = good;
  p.from.pitch = size_t(1) << 40;
  copy("a very long pitch", p);
  p = good;
  p.width = 0;
  copy("no width", p);
  p = good;
  p.height = 0;
  copy("no height", p);
  s.sayChange("what was copied");
  cu("cuMemcpy2D_v2", static_cast<const Plane *>(nullptr));
  cu("cuMemcpy2DAsync_v2", static_cast<const Plane *>(nullptr), s.stream);
}

SEQUENCE(planes_that_overlap) {
  Lab s;
  Plane p{
      {0, 0, 2, kNone, s.memory, kNone, 16}, {0, 0, 2, kNone, at(s.memory, 4), kNone, 16}, 8, 4};
  copy("beside themselves", p);
  cu("cuMemcpyDtoD_v2", s.memory2, s.memory, size_t(256));
  s.sayChange("the memory");
  cu("cuMemcpyDtoD_v2", s.memory, s.memory, size_t(256));
}

SEQUENCE(copies_beyond_their_end) {
  Lab s;
  cu("cuMemcpyDtoD_v2", s.memory2, s.memory, size_t(1) << 40);
  cu("cuMemcpyHtoD_v2", at(s.memory, 1 << 30), static_cast<const void *>(s.words), size_t(256));
  cu("cuMemcpyDtoH_v2", Pointer(s.words), kNone, size_t(4));
  cu("cuMemcpyDtoH_v2", kNone, s.memory, size_t(4));
  cu("cuMemcpyHtoD_v2", s.memory, static_cast<const void *>(nullptr), size_t(4));
  cu("cuMemcpy", s.memory2, Pointer(s.words), size_t(16));
  s.sayChange("from pageable memory");
  cu("cuMemcpyHtoD_v2", s.memory2, static_cast<const void *>(s.memory), size_t(16));
  s.sayChange("device to device by the name of the host");
  cu("cuMemcpyDtoH_v2", s.memory2, s.memory, size_t(16));
  s.sayChange("the other way round");
  cu("cuMemcpyDtoD_v2", s.memory2, Pointer(s.words), size_t(16));
  s.sayChange("pageable memory by the name of the device");
  cu("cuMemcpyDtoD_v2", s.memory2, Pointer(s.host), size_t(16));
  s.sayChange("pinned memory by the name of the device");
}

SEQUENCE(fills_beyond_their_end) {
  Lab s;
  using Byte = unsigned char;
  using Short = unsigned short;
  cu("cuMemsetD8_v2", s.memory2, Byte(1), size_t(1) << 40);
  cu("cuMemsetD16_v2", at(s.memory2, 1), Short(1), size_t(4));
  cu("cuMemsetD32_v2", at(s.memory2, 2), 1u, size_t(4));
  cu("cuMemsetD32_v2", kNone, 1u, size_t(4));
  cu("cuMemsetD2D32_v2", s.memory2, size_t(4), 1u, size_t(2), size_t(2));
  cu("cuMemsetD2D32_v2", s.memory2, size_t(6), 1u, size_t(1), size_t(2));
  cu("cuMemsetD2D16_v2", s.memory2, size_t(7), Short(1), size_t(1), size_t(2));
  cu("cuMemsetD2D8_v2", s.memory2, size_t(0), Byte(1), size_t(4), size_t(2));
  cu("cuMemsetD2D8_v2", s.memory2, size_t(0), Byte(1), size_t(4), size_t(1));
  cu("cuMemsetD2D32_v2", s.memory2, size_t(64), 7u, size_t(2), size_t(4));
  s.sayChange("what was filled");
  cu("cuMemsetD32_v2", Pointer(s.host), 5u, size_t(2));
  cu("cuCtxSynchronize");
  say("host %d %d", s.host[0], s.host[2]);
  cu("cuMemsetD32_v2", Pointer(s.words), 5u, size_t(2));
}

// ---------- Batches

struct Location { // CUmemLocation
  int type, id;
};
struct Operand { // CUmemcpy3DOperand: 1 memory, 2 an array
  int type;
  union {
    struct {
      Pointer pointer;
      size_t rowLength, layerHeight;
      Location location;
    };
    struct {
      Pointer array;
      size_t x, y, z;
    };
  };
};
struct Operation { // CUDA_MEMCPY3D_BATCH_OP
  Operand from, to;
  size_t width, height, depth;
  int order;
  unsigned flags;
};
static_assert(sizeof(Operand) == 40 && sizeof(Operation) == 112);

Operation operation(Pointer to, Pointer from, size_t width, size_t height, size_t depth) {
  Operation o{};
  o.from.type = o.to.type = 1;
  o.from.pointer = from;
  o.to.pointer = to;
  o.width = width;
  o.height = height;
  o.depth = depth;
  o.order = 1;
  return o;
}
int copyBatch(const char *what, Operation *list, size_t count, Pointer stream) {
  size_t failed = 77;
  const int second = quiet("cuMemcpy3DBatchAsync_v2", count, list, 0ull, stream);
  const int first = quiet("cuMemcpy3DBatchAsync", count, list, &failed, 0ull, stream);
  say("%s: %d, %d, %zd", what, second, first, ssize_t(failed));
  return second;
}

SEQUENCE(batch_of_volumes) {
  Lab s;
  Operation list[] = {operation(s.memory2, s.memory, 16, 4, 1),
                      operation(at(s.memory2, 128), at(s.memory, 64), 8, 2, 2)};
  list[1].to.rowLength = list[1].from.rowLength = 16;
  list[1].to.layerHeight = list[1].from.layerHeight = 2;
  copyBatch("two", list, 2, s.stream);
  s.sayChange("two");
  list[1].from.location = {1, 0};
  list[1].to.location = {1, 0};
  list[1].order = 3;
  copyBatch("with hints", list, 2, s.stream);
  s.sayChange("with hints");
  list[1].from.location = {1, 99};
  copyBatch("with a wrong hint", list, 2, s.stream);
  list[1].from.location = {9, 0};
  copyBatch("with no hint that there is", list, 2, s.stream);
  s.sayChange("what was copied");
}

SEQUENCE(batch_of_arrays) {
  Lab s;
  Pointer array = Lab::makeArray({4, 4, 4, kWord, 1, 0});
  Operation to = operation(kNone, s.memory, 4, 4, 4);
  to.to.type = 2;
  to.to.array = array;
  to.to.x = to.to.y = to.to.z = 0;
  copyBatch("to an array", &to, 1, s.stream);
  Operation from = operation(s.memory2, kNone, 2, 2, 2);
  from.from.type = 2;
  from.from.array = array;
  from.from.x = from.from.y = from.from.z = 1;
  copyBatch("from inside", &from, 1, s.stream);
  s.sayChange("from inside");
  from.from.x = 3;
  copyBatch("beyond a row", &from, 1, s.stream);
  from.from.x = 0;
  from.from.z = 3;
  copyBatch("beyond the slices", &from, 1, s.stream);
  from.from.z = 0;
  from.from.array = kNone;
  copyBatch("of no array", &from, 1, s.stream);
}

SEQUENCE(batch_of_volumes_refused) {
  Lab s;
  const Operation good = operation(s.memory2, s.memory, 16, 4, 1);
  auto attempt = [&](const char *what, Operation o) {
    Operation list[] = {good, o};
    copyBatch(what, list, 2, s.stream);
  };
  Operation o = good;
  o.height = 0;
  attempt("no height", o);
  o = good;
  o.depth = 0;
  attempt("no depth", o);
  o = good;
  o.from.pointer = kNone;
  attempt("from null", o);
  o = good;
  o.to.pointer = kNone;
  attempt("to null", o);
  o = good;
  o.order = 4;
  attempt("order 4", o);
  o = good;
  o.from.type = 0;
  attempt("from nothing", o);
  o = good;
  o.to.layerHeight = 2;
  attempt("lower layers", o);
  o = good;
  o.depth = 5;
  attempt("beyond the end", o);
  o = good;
  o.width = 1 << 20;
  attempt("rows beyond the end", o);
  s.sayChange("what was copied");
}

// A pitch of 0 is what begins at x and is copied, a height of 0 likewise.
SEQUENCE(volumes_without_pitches) {
  Lab s;
  for (const bool isFrom : {true, false})
    for (const size_t pitch : {size_t(16), size_t(0)})
      for (const size_t height : {size_t(4), size_t(0)})
        for (const size_t lines : {size_t(1), size_t(2)}) {
          CopyParameters p = s.volume(4, lines, lines);
          CopySide &side = isFrom ? p.from : p.to;
          side.pitch = pitch;
          side.height = height;
          side.x = 8;
          side.y = side.z = 1;
          const std::string what = std::string(isFrom ? "from" : "to") + ", pitch " +
                                   std::to_string(pitch) + ", height " + std::to_string(height) +
                                   ", " + std::to_string(lines) + " lines";
          copy(what.c_str(), p);
          s.sayChange(what.c_str());
        }
  Plane p = {{8, 2, 2, kNone, s.memory, kNone, 0}, {4, 1, 2, kNone, s.memory2, kNone, 0}, 4, 2};
  copy("planes", p);
  s.sayChange("planes");
}

} // namespace
} // namespace sequences
