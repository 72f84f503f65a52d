// SPDX-License-Identifier: Apache-2.0
// What a warp does at once, on drawn registers of the state.
#include "MatrixGenerator.h"
#include <algorithm>
#include <numeric>

namespace rubia::random_kernels {

// ---------- Words

void MatrixGenerator::scalar() {
  const unsigned count = 1 + number(3);
  for (unsigned i = 0; i < count; ++i) {
    const std::string op =
        random.oneOf({"add.u32", "xor.b32", "mul.lo.u32", "sub.u32", "min.u32", "or.b32"}).str();
    const std::vector<std::string> names = any(3);
    put("{0}{1} {2}, {3}, {4};", guard, op, names[0], names[1], names[2]);
  }
}

// Products are computed with such numbers too, by all lanes.
void MatrixGenerator::laneNumbers() {
  const std::vector<std::string> names = any(2);
  put("{0}mov.u32 {1}, %laneid;", guard, names[0]);
  put("{0}and.b32 {1}, {2}, {3};", guard, names[1], names[0],
      random.pick(std::array{28u, 3u, 16u, 31u}));
}

void MatrixGenerator::divergentLanes() {
  const std::vector<std::string> names = any(2);
  const std::string first = label(), second = label();
  const bool hasElse = random.chance(50);
  put("setp.lt.u32 %q1, {0}, {1};", names[0], names[1]);
  put("@%q1 bra {0};", first);
  scalar();
  if (hasElse) {
    put("bra {0};", second);
    put("{0}:", first);
    scalar();
    put("{0}:", second);
  } else {
    put("{0}:", first);
  }
  join();
}

void MatrixGenerator::shuffle() {
  const std::string mode = random.oneOf({"bfly", "idx", "down", "up"}).str();
  const std::vector<std::string> names = any(2);
  const unsigned lane = number(32);
  put("{0}shfl.sync.{1}.b32 {2}, {3}, {4}, {5}, -1;", guard, mode, names[0], names[1], lane,
      random.chance(50) ? 31 : 0);
}

void MatrixGenerator::sum() {
  const std::string op = random.oneOf({"add.s32", "max.u32", "min.s32", "xor.b32"}).str();
  const std::vector<std::string> names = any(2);
  put("{0}redux.sync.{1} {2}, {3}, -1;", guard, op, names[0], names[1]);
}

// ---------- Products

void MatrixGenerator::integerProduct() {
  struct Shape {
    const char *name;
    unsigned a, b, c, bits;
  };
  static constexpr Shape kShapes[] = {{"m8n8k16", 1, 1, 2, 8},  {"m16n8k16", 2, 1, 4, 8},
                                      {"m16n8k32", 4, 2, 4, 8}, {"m16n8k32", 4, 2, 4, 8},
                                      {"m8n8k32", 1, 1, 2, 4},  {"m16n8k32", 2, 1, 4, 4},
                                      {"m16n8k64", 4, 2, 4, 4}};
  const Shape shape = random.pick(kShapes);
  const std::vector<std::string> d = different(shape.c);
  std::vector<std::string> a = any(shape.a), b = any(shape.b), c = any(shape.c);
  switch (number(5)) { // results that are sources too
  case 0:
    c = d;
    break;
  case 1:
    c = d;
    std::reverse(c.begin(), c.end());
    break;
  case 2:
    for (unsigned i = 0; i < shape.a; ++i)
      a[i] = d[i % shape.c];
    break;
  case 3:
    for (unsigned i = 0; i < shape.b; ++i)
      b[i] = d[i % shape.c];
    c = d;
    break;
  default:
    break;
  }
  const std::string signA = random.oneOf({"s", "u"}).str(), signB = random.oneOf({"s", "u"}).str();
  const std::string limit = random.oneOf({"", "", ".satfinite"}).str();
  put("{0}mma.sync.aligned.{1}.row.col{2}.s32.{3}{5}.{4}{5}.s32 {6}, {7}, {8}, {9};", guard,
      shape.name, limit, signA, signB, shape.bits, list(d), list(a), list(b), list(c));
}

void MatrixGenerator::binaryProduct() {
  struct Shape {
    const char *name;
    unsigned a, b, c;
  };
  static constexpr Shape kShapes[] = {
      {"m8n8k128", 1, 1, 2}, {"m16n8k128", 2, 1, 4}, {"m16n8k256", 4, 2, 4}};
  const Shape shape = random.pick(kShapes);
  const std::string op = random.oneOf({"xor", "and"}).str();
  const std::vector<std::string> d = different(shape.c), a = any(shape.a), b = any(shape.b),
                                 c = random.chance(40) ? d : any(shape.c);
  put("{0}mma.sync.aligned.{1}.row.col.s32.b1.b1.s32.{2}.popc {3}, {4}, {5}, {6};", guard,
      shape.name, op, list(d), list(a), list(b), list(c));
}

// Two of the numbers -2 to 2.
void MatrixGenerator::smallHalves(const std::string &result, bool isBf16) {
  put("and.b32 %t0, {0}, 3; shr.u32 %t1, {0}, 7; and.b32 %t1, %t1, 3;", reg());
  put("sub.s32 %t0, %t0, 1; sub.s32 %t1, %t1, 2;");
  put("cvt.rn.f32.s32 %f0, %t0; cvt.rn.f32.s32 %f1, %t1; cvt.rn.{0}x2.f32 {1}, %f1, %f0;",
      isBf16 ? "bf16" : "f16", result);
}

void MatrixGenerator::floatProduct() {
  struct Shape {
    const char *name, *type;
    unsigned a, b;
  };
  static constexpr Shape kShapes[] = {{"m16n8k8", "f16", 2, 1},   {"m16n8k16", "f16", 4, 2},
                                      {"m16n8k16", "f16", 4, 2},  {"m16n8k8", "bf16", 2, 1},
                                      {"m16n8k16", "bf16", 4, 2}, {"m16n8k4", "tf32", 2, 1},
                                      {"m16n8k8", "tf32", 4, 2}};
  const Shape shape = random.pick(kShapes);
  const std::string type = shape.type;
  const std::vector<std::string> a = named("%a", shape.a), b = named("%b", shape.b);
  for (const std::vector<std::string> *factor : {&a, &b})
    for (const std::string &name : *factor)
      if (type == "tf32")
        put("and.b32 %t0, {0}, 7; sub.s32 %t0, %t0, 3; cvt.rn.f32.s32 %f0, %t0; mov.b32 {1}, %f0;",
            reg(), name);
      else
        smallHalves(name, type == "bf16");
  std::vector<std::string> c = named("%c", 4);
  for (const std::string &name : c)
    put("and.b32 %t0, {0}, 255; cvt.rn.f32.s32 {1}, %t0;", reg(), name);
  const unsigned count = 1 + number(3);
  for (unsigned i = 0; i < count; ++i) {
    std::vector<std::string> d = c;
    if (random.chance(30))
      std::rotate(d.begin(), d.begin() + 1 + number(3), d.end());
    put("{0}mma.sync.aligned.{1}.row.col.f32.{2}.{2}.f32 {3}, {4}, {5}, {6};", guard, shape.name,
        type, list(d), list(a), list(b), list(c));
    c = d;
  }
  for (const std::string &name : c)
    put("cvt.rzi.s32.f32 %t0, {0}; xor.b32 {1}, {1}, %t0;", name, reg());
}

void MatrixGenerator::halfProduct() {
  const bool isLong = random.chance(50);
  const std::vector<std::string> a = named("%a", isLong ? 4 : 2), b = named("%b", isLong ? 2 : 1),
                                 c = named("%h", 2);
  for (const std::vector<std::string> *part : {&a, &b, &c})
    for (const std::string &name : *part)
      smallHalves(name, false);
  const unsigned count = 1 + number(2);
  for (unsigned i = 0; i < count; ++i)
    put("{0}mma.sync.aligned.m16n8k{1}.row.col.f16.f16.f16.f16 {2}, {3}, {4}, {2};", guard,
        isLong ? 16 : 8, list(c), list(a), list(b));
  for (const std::string &name : c)
    put("xor.b32 {0}, {0}, {1};", reg(), name);
}

void MatrixGenerator::doubleProduct() {
  put("and.b32 %t0, {0}, 15; cvt.rn.f64.u32 %e0, %t0;", reg());
  put("and.b32 %t0, {0}, 15; cvt.rn.f64.u32 %e1, %t0;", reg());
  put("cvt.rn.f64.u32 %e2, {0};", reg());
  put("{0}mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {{%e2, %e3}, {{%e0}, {{%e1}, {{%e2, "
      "%e2};",
      guard);
  const std::vector<std::string> names = different(2);
  put("{0}cvt.rzi.s64.f64 %d0, %e2; {0}cvt.u32.u64 {1}, %d0;", guard, names[0]);
  put("{0}cvt.rzi.s64.f64 %d0, %e3; {0}cvt.u32.u64 {1}, %d0;", guard, names[1]);
}

// ---------- Matrices in shared memory

// %t0 and %d0: a row of the warp's own tile, of any lane.
void MatrixGenerator::rowAddress(unsigned row) {
  put("shl.b32 %t0, {0}, 4; and.b32 %t0, %t0, 0x3f0; add.u32 %t0, %t0, %tile;", reg());
  put("add.u32 %t0, %t0, {0}; cvt.u64.u32 %d0, %t0; cvta.shared.u64 %d0, %d0;", row);
}

void MatrixGenerator::loadMatrix() {
  rowAddress(random.pick(std::array{0u, 16u, 32u, 48u, 112u, 256u}));
  const unsigned count = random.pick(std::array{1u, 2u, 4u, 4u});
  const bool isGeneric = random.chance(30);
  const std::string order = random.oneOf({"", ".trans"}).str();
  put("{0}ldmatrix.sync.aligned.m8n8.x{1}{2}{3}.b16 {4}, [{5}];", guard, count, order,
      isGeneric ? "" : ".shared", list(different(count)), isGeneric ? "%d0" : "%t0");
}

// No two lanes' rows are the same.
void MatrixGenerator::storeMatrix() {
  const unsigned count = random.pick(std::array{1u, 2u, 4u}), swapped = number(32);
  const unsigned offset = random.pick(std::array{0u, 512u, 1024u});
  const std::string order = random.oneOf({"", ".trans"}).str();
  put("xor.b32 %t0, %lane, {0}; shl.b32 %t0, %t0, 4; add.u32 %t0, %t0, %tile;", swapped);
  join();
  put("{0}stmatrix.sync.aligned.m8n8.x{1}{2}.shared.b16 [%t0+{3}], {4};", guard, count, order,
      offset, list(any(count)));
  join();
}

void MatrixGenerator::transpose() {
  const std::vector<std::string> names = any(2);
  put("{0}movmatrix.sync.aligned.m8n8.trans.b16 {1}, {2};", guard, names[0], names[1]);
}

// ---------- Guards and calls

void MatrixGenerator::guarded() {
  static constexpr Draw kDraws[] = {&MatrixGenerator::integerProduct,
                                    &MatrixGenerator::binaryProduct, &MatrixGenerator::loadMatrix,
                                    &MatrixGenerator::transpose, &MatrixGenerator::sum};
  setWarpPredicate();
  guard = random.chance(50) ? "@%q4 " : "@!%q4 ";
  const unsigned count = 1 + number(2);
  for (unsigned i = 0; i < count; ++i)
    (this->*random.pick(kDraws))();
  guard.clear();
  join();
}

// A function with a product of its own, in a loop or not.
void MatrixGenerator::call() {
  const std::string name =
      "f" + std::to_string(kernel.seed) + "_" + std::to_string(kernel.functions.size());
  const bool hasLoop = random.chance(50), isByte = random.chance(50);
  const std::string sign = random.oneOf({"s", "u"}).str();
  std::string body = ".func (.param .align 8 .b8 result[8]) " + name + "(";
  for (unsigned i = 0; i < 6; ++i)
    body += (i ? ", .param .u32 a" : ".param .u32 a") + std::to_string(i);
  body += ")\n{\n  .reg .b32 %x<10>;\n  .reg .pred %y;\n";
  for (unsigned i = 0; i < 6; ++i)
    body += llvm::formatv("  ld.param.u32 %x{0}, [a{0}];\n", i).str();
  body += hasLoop ? "  mov.u32 %x8, 0;\nAGAIN:\n" : "";
  body += llvm::formatv("  mma.sync.aligned.m16n8k{0}.row.col.s32.{1}{2}.s{2}.s32 {{%x0, %x1, %x2, "
                        "%x3}, {{%x0, %x1, %x4, %x5}, {{%x2, %x5}, {{%x3, %x2, %x1, %x0};\n",
                        isByte ? 32 : 64, sign, isByte ? 8 : 4)
              .str();
  if (hasLoop)
    body += "  mov.u32 %x9, %x4;\n  mov.u32 %x4, %x0;\n  mov.u32 %x5, %x9;\n"
            "  add.u32 %x8, %x8, 1;\n  setp.lt.u32 %y, %x8, 3;\n  @%y bra AGAIN;\n";
  body += "  xor.b32 %x0, %x0, %x2;\n  st.param.u32 [result], %x0;\n"
          "  xor.b32 %x1, %x1, %x3;\n  st.param.u32 [result+4], %x1;\n  ret;\n}\n";
  kernel.functions.push_back(std::move(body));

  text += "  { .param .align 8 .b8 result[8];\n";
  for (unsigned i = 0; i < 6; ++i)
    put(".param .u32 a{0}; st.param.u32 [a{0}], {1};", i, reg());
  put("call (result), {0}, (a0, a1, a2, a3, a4, a5);", name);
  const std::vector<std::string> names = different(2);
  put("ld.param.u32 {0}, [result]; ld.param.u32 {1}, [result+4]; }", names[0], names[1]);
}

} // namespace rubia::random_kernels
