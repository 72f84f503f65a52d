// SPDX-License-Identifier: Apache-2.0
// What PTX defines, or leaves harmless, and LLVM does not: an optimiser that may assume that it
// never happens deletes the branches of programs that test for it afterwards. One kernel for each
// family executes the operation first and tests for the case behind it.
#include "tests/lowering/arithmetic/EdgeValues.h"
#include "tests/lowering/arithmetic/Harness.h"
#include "tests/lowering/arithmetic/HostFloat.h"
#include <cmath>

using namespace rubia::lowering::test;

namespace {
// `operation` writes t from a and b; then a branch on %case decides between t and 4919.
std::string tested(const std::string &operation, const std::string &condition) {
  return ".reg .pred %case, %other;\n .reg .b32 t;\n " + operation + ";\n " + condition +
         ";\n @%case bra Caught;\n mov.b32 d, t;\n bra Done;\nCaught:\n mov.b32 d, 4919;\nDone:\n"
         " mov.b32 d, d";
}

constexpr uint64_t kCaught = 4919;
} // namespace

TEST(UndefinedInLlvm, DivisionByZero) {
  for (const char *operation : {"div.u32", "rem.u32", "div.s32", "rem.s32"})
    check({tested(std::string(operation) + " t, a, b", "setp.eq.u32 %case, b, 0"),
           Kind::I32,
           {Kind::I32, Kind::I32},
           [=](uint64_t a, uint64_t b, uint64_t, uint64_t) -> uint64_t {
             if (b == 0)
               return kCaught;
             bool isSigned = operation[4] == 's', remainder = operation[0] == 'r';
             int64_t x = isSigned ? int32_t(a) : int64_t(a), y = isSigned ? int32_t(b) : int64_t(b);
             return uint32_t(remainder ? x % y : x / y);
           }});
}

TEST(UndefinedInLlvm, MostNegativeByMinusOne) {
  for (bool remainder : {false, true})
    check({tested(std::string(remainder ? "rem" : "div") + ".s32 t, a, b",
                  "setp.eq.s32 %other, a, 0x80000000;\n setp.eq.and.s32 %case, b, -1, %other"),
           Kind::I32,
           {Kind::I32, Kind::I32},
           [=](uint64_t a, uint64_t b, uint64_t, uint64_t) -> uint64_t {
             if (a == 0x80000000 && b == 0xffffffff)
               return kCaught;
             if (b == 0)
               return 0xffffffff;
             int64_t x = int32_t(a), y = int32_t(b);
             return uint32_t(remainder ? x % y : x / y);
           }});
}

TEST(UndefinedInLlvm, ShiftBeyondTheWidth) {
  for (const char *operation : {"shl.b32", "shr.u32", "shr.s32"})
    check({tested(std::string(operation) + " t, a, b", "setp.ge.u32 %case, b, 32"),
           Kind::I32,
           {Kind::I32, Kind::I32},
           [=](uint64_t a, uint64_t b, uint64_t, uint64_t) -> uint64_t {
             if (b >= 32)
               return kCaught;
             return uint32_t(operation[2] == 'l'   ? a << b
                             : operation[4] == 's' ? int64_t(int32_t(a)) >> b
                                                   : a >> b);
           }});
}

TEST(UndefinedInLlvm, FloatToIntegerOverflow) {
  check({tested("cvt.rzi.s32.f32 t, a", "setp.geu.f32 %case, a, 0f4F000000"),
         Kind::I32,
         {Kind::F32},
         [](uint64_t a, uint64_t, uint64_t, uint64_t) -> uint64_t {
           float x = f32(a);
           if (!(x < 0x1p31f))
             return kCaught;
           return x < -0x1p31f ? 0x80000000 : uint32_t(int32_t(x));
         }});
  // 64-bit results take LLVM's own conversion.
  check({tested(".reg .b64 u;\n cvt.rzi.u64.f32 u, a;\n cvt.u32.u64 t, u",
                "setp.ltu.f32 %case, a, 0f00000000"),
         Kind::I32,
         {Kind::F32},
         [](uint64_t a, uint64_t, uint64_t, uint64_t) -> uint64_t {
           float x = f32(a);
           if (!(x >= 0))
             return kCaught;
           return uint32_t(x >= 0x1p64f ? ~0ull : uint64_t(x));
         }});
}

// A register that was never written has some value: every reading gives the same one.
TEST(UndefinedInLlvm, UninitialisedRegister) {
  check(
      {".reg .b32 %never;\n .reg .pred p, q;\n .reg .b32 x, y;\n setp.ge.u32 p, %never, a;\n"
       " setp.lt.u32 q, %never, a;\n selp.b32 x, 1, 0, p;\n selp.b32 y, 1, 0, q;\n add.u32 d, x, y",
       Kind::I32,
       {Kind::I32},
       [](uint64_t, uint64_t, uint64_t, uint64_t) -> uint64_t { return 1; }});
  check({".reg .b32 %never, %copy;\n .reg .pred p;\n mov.b32 %copy, %never;\n"
         " setp.eq.u32 p, %copy, %never;\n @p bra Same;\n mov.b32 d, 1;\n bra Done;\nSame:\n"
         " mov.b32 d, 2;\nDone:\n mov.b32 d, d",
         Kind::I32,
         {Kind::I32},
         [](uint64_t, uint64_t, uint64_t, uint64_t) -> uint64_t { return 2; }});
  // A division by it must not make the rest unreachable.
  check({".reg .b32 %never, t;\n div.u32 t, a, %never;\n and.b32 t, t, 0;\n add.u32 d, t, a",
         Kind::I32,
         {Kind::I32},
         [](uint64_t a, uint64_t, uint64_t, uint64_t) { return a; }});
}

// Shared memory that was never written has some value too, also where its address is in a register.
// Without care, the branch makes all that follows unreachable.
TEST(UndefinedInLlvm, UnwrittenMemory) {
  for (const char *load : {"ld.shared.b32 t, [%memory]",
                           ".reg .b32 at;\n mov.b32 at, %memory;\n ld.shared.b32 t, [at]",
                           ".reg .b64 at;\n cvta.shared.u64 at, %memory;\n ld.b32 t, [at]"})
    check({std::string(".shared .align 4 .b8 %memory[16];\n .reg .pred p;\n .reg .b32 t;\n ") +
               load + ";\n setp.ge.u32 p, t, a;\n @p bra Greater;\nGreater:\n mov.b32 d, 7",
           Kind::I32,
           {Kind::I32},
           [](uint64_t, uint64_t, uint64_t, uint64_t) -> uint64_t { return 7; }});
}

// Address 0 of shared memory is an address like any other.
TEST(UndefinedInLlvm, AddressZero) {
  check({".shared .align 4 .b8 %memory[4096];\n .reg .pred %case;\n .reg .b32 %at, t;\n"
         " and.b32 %at, %thread, 3;\n and.b32 %at, %at, a;\n shl.b32 %at, %at, 2;\n"
         " mov.b32 t, %memory;\n add.u32 %at, %at, t;\n st.shared.b32 [%at], 7;\n ld.shared.b32 t, "
         "[%at];\n "
         "setp.eq.u32 %case, %at, 0;\n"
         " @%case bra Caught;\n mov.b32 d, t;\n bra Done;\nCaught:\n mov.b32 d, 4919;\nDone:\n"
         " mov.b32 d, d",
         Kind::I32,
         {Kind::I32},
         [](uint64_t, uint64_t, uint64_t, uint64_t) { return kCaught; }},
        {{{0}}, {{0x10}}, {{0xffffff00}}});
  // A null pointer to global memory faults when it is executed, so the branch is looked for.
  std::string text = kernelText(
      ".reg .b64 %pointer;\n .reg .b32 t;\n .reg .pred %case;\n mov.b64 %pointer, a;\n"
      " ld.global.b32 t, [%pointer];\n setp.eq.u64 %case, %pointer, 0;\n @%case bra Caught;\n"
      " mov.b32 d, t;\n bra Done;\nCaught:\n mov.b32 d, 4919;\nDone:\n mov.b32 d, d;",
      Kind::I32, {Kind::I64});
  EXPECT_NE(emitAssembly(text).find("0x1337"), std::string::npos);
  std::string generic = text;
  generic.replace(generic.find("ld.global.b32 t"), 15, "ld.b32 t");
  EXPECT_NE(emitAssembly(generic).find("0x1337"), std::string::npos);
}
