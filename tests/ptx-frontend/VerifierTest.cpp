// SPDX-License-Identifier: Apache-2.0
// Operands against rows: what is legal and what is not, decided as ptxas 13.0 decides it.

#include "Dump.h"
#include <gtest/gtest.h>

using namespace rubia::ptx;

namespace {

// The first message for a body of kernel 'k'.
std::string check(llvm::StringRef body) {
  ParseResult result = parse("t.ptx", inKernel(body));
  EXPECT_TRUE(result.usable);
  const Function *k = result.module.function("k");
  EXPECT_EQ(k->valid, result.diagnostics.empty()) << body.str();
  return result.diagnostics.empty() ? "" : result.diagnostics[0].message;
}

TEST(PtxVerifier, AcceptsWhatPtxasAccepts) {
  for (const char *body : {
           // Bits fit everything of their size, signedness does not matter.
           "add.f32 %r1, %r2, %r3;",
           "add.u32 %s1, %s2, %u1;",
           "and.b32 %f1, %f2, %r1;",
           "mov.b32 %u1, %f1;",
           "mov.f32 %f1, %r1;",
           "mul.wide.u32 %rd1, %r1, %r2;",
           "shl.b64 %rd1, %rd2, %r1;",
           "shr.u16 %h1, %h2, %r1;",
           "bfe.u64 %rd1, %rd2, %r1, %r2;",
           // ld, st and cvt take wider registers.
           "ld.global.u16 %r1, [%rd1];",
           "ld.global.f32 %rd1, [%rd1];",
           "ld.global.b32 %f1, [%rd1];",
           "ld.global.f32 %r1, [%rd1];",
           "ld.global.b16 %f1, [%rd1];",
           "ld.global.u8 %c1, [%rd1];",
           "st.global.u8 [%rd1], %h1;",
           "st.global.b32 [%rd1], %fd1;",
           "st.global.f32 [%rd1], %rd1;",
           "cvt.u32.u16 %r1, %r2;",
           "cvt.u16.u32 %r1, %r2;",
           "cvt.u32.u8 %r1, %c1;",
           "cvt.rn.f32.s32 %r1, %r1;",
           "cvt.sat.u8.s32 %r1, %r2;",
           // Constants.
           "add.s32 %r1, %r2, 5000000000;",
           "add.u32 %r1, %r2, -1;",
           "add.f32 %f1, %f2, 1.0;",
           "mov.b32 %r1, 0f3F800000;",
           "mov.b64 %rd1, 0d3FF0000000000000;",
           "mov.pred %p1, -1;",
           "st.global.f32 [%rd1], 1.0;",
           "st.global.v2.u32 [%rd1], {5, %r1};",
           "selp.f32 %f1, 1.0, 0.0, %p1;",
           "setp.eq.s32 %p1, 1, %r2;",
           // Predicates.
           "mov.pred %p1, !%p2;",
           "and.pred %p1, %p2, !%p3;",
           "not.pred %p1, %p3;",
           "setp.eq.and.s32 %p1, %r1, %r2, !%p2;",
           "setp.eq.s32 _|%p2, %r1, %r2;",
           "setp.eq.s32 %p1|_, %r1, %r2;",
           "selp.b32 %r1, %r2, %r3, !%p1;",
           "vote.sync.ballot.b32 %r1, !%p1, -1;",
           "bar.red.popc.u32 %r1, 0, 64, !%p1;",
           // Special registers.
           "mov.u32 %r1, %tid.x;",
           "mov.u16 %h1, %tid.x;",
           "cvt.u32.u16 %r1, %tid.x;",
           "mov.u64 %rd1, %clock64;",
           "mov.b32 %r1, %laneid;",
           // Addresses.
           "mov.u64 %rd1, gv+4;",
           "mov.u32 %r1, sv;",
           "mov.u64 %rd1, k;",
           "mov.u64 %rd1, p0;",
           "cvta.global.u64 %rd1, gv;",
           "cvta.to.shared.u64 %rd1, %rd2;",
           "ld.u32 %r1, [gv];",
           "ld.global.u32 %r1, [%r1];",
           "ld.shared.u32 %r1, [%r1];",
           "ld.shared::cta.u32 %r1, [sv];",
           "ld.local.u32 %r1, [0];",
           // Vectors.
           "mov.b64 {%r1, _}, %rd1;",
           "mov.b64 %rd1, {%r1, 1};",
           "mov.b64 %rd1, {%h1, %h2, %h3, %h4};",
           "mov.b32 {%c1, %c2, %c3, %c0}, %r1;",
           "mov.b64 {%f1, %f2}, %rd1;",
           "ld.global.v2.u32 {%r1, _}, [%rd1];",
           // Calls.
           "call (%r1), fn, (%r2);",
           "call (%r1), fn, (5);",
           "call (_), fn, (5);",
           "{ .param .b32 q; call (%r1), fn, (q); }",
           "{ .param .b32 a; .param .align 8 .b8 s[16]; call (%r1), fp, (a, s); }",
           "@%p1 call (%r1), fn, (%r2);",
       })
    EXPECT_EQ(check(body), "") << body;
}

struct Case {
  const char *body, *message;
};

TEST(PtxVerifier, RejectsWrongTypes) {
  for (const Case &c : std::initializer_list<Case>{
           {"add.s32 %f1, %r2, %r3;",
            "operand 1 of 'add.s32' is '%f1' of type .f32, expected .s32"},
           {"add.f32 %u1, %f2, %f3;",
            "operand 1 of 'add.f32' is '%u1' of type .u32, expected .f32"},
           {"add.s16 %r1, %h2, %h3;",
            "operand 1 of 'add.s16' is '%r1' of type .b32, expected .s16"},
           {"mov.u32 %r1, %f1;", "operand 2 of 'mov.u32' is '%f1' of type .f32, expected .u32"},
           {"mov.b32 %p1, %r1;", "operand 1 of 'mov.b32' is '%p1' of type .pred, expected .b32"},
           {"shl.b32 %r1, %r2, %rd1;",
            "operand 3 of 'shl.b32' is '%rd1' of type .b64, expected .u32"},
           {"mul.wide.u32 %r1, %r1, %r2;",
            "operand 1 of 'mul.wide.u32' is '%r1' of type .b32, expected .u64"},
           {"ld.global.u64 %r1, [%rd1];",
            "operand 1 of 'ld.global.u64' is '%r1' of type .b32, expected .u64"},
           {"ld.global.u32 %f1, [%rd1];",
            "operand 1 of 'ld.global.u32' is '%f1' of type .f32, expected .u32"},
           {"cvt.u16.u32 %h1, %h2;",
            "operand 2 of 'cvt.u16.u32' is '%h2' of type .b16, expected .u32"},
           {"selp.b32 %r1, %r2, %r3, %r4;",
            "operand 4 of 'selp.b32' is '%r4' of type .b32, expected .pred"},
           {"atom.add.u32 %r1, [%rd1], %f1;",
            "operand 3 of 'atom.add.u32' is '%f1' of type .f32, expected .u32"},
           {"add.f32 %f1, %f2, 1;",
            "operand 3 of 'add.f32' is an integer, expected a .f32 constant"},
           {"add.s32 %r1, %r2, 1.0;",
            "operand 3 of 'add.s32' is a floating point constant, expected .s32"},
           {"mov.b32 %r1, 1.0;",
            "operand 2 of 'mov.b32' is a floating point constant, expected .b32"},
           {"lop3.b32 %r1, %r2, %r3, %r4, %r5;",
            "operand 5 of 'lop3.b32' must be an integer constant"},
           {"@%r1 ret;", "guard '%r1' is no predicate but has type .b32"},
       })
    EXPECT_EQ(check(c.body), c.message) << c.body;
}

TEST(PtxVerifier, RejectsWrongOperands) {
  for (const Case &c : std::initializer_list<Case>{
           {"add.s32 %r1, %r2;", "'add.s32' takes 3 operands, found 2"},
           {"add.s32 %r1, %r2, %r3, %r4;", "'add.s32' takes 3 operands, found 4"},
           {"bar.sync;", "'bar.sync' takes 1 to 2 operands, found 0"},
           {"ret %r1;", "'ret' takes 0 operands, found 1"},
           {"add.s32 5, %r2, %r3;", "operand 1 of 'add.s32' must be a register, found a constant"},
           {"mov.u32 %tid.x, %r1;",
            "operand 1 of 'mov.u32' is the special register '%tid.x', which cannot be written"},
           {"mov.u32 _, %r1;", "operand 1 of 'mov.u32' cannot be '_'"},
           {"add.u32 %r1, %tid.x, 1;",
            "operand 2 of 'add.u32' cannot be the special register '%tid.x'"},
           {"mov.u32 %r1, %tid;",
            "operand 2 of 'mov.u32' is the vector '%tid', expected a component of it"},
           {"mov.u64 %rd1, %tid.x;",
            "operand 2 of 'mov.u64' is '%tid.x' of type .u32, expected .u64"},
           {"add.u64 %rd1, %rd2, gv;", "operand 3 of 'add.u64' cannot be the address of a name"},
           {"add.s32 %r1|%p1, %r2, %r3;", "operand 1 of 'add.s32' cannot be a pair"},
           {"add.s32 %r1, !%r2, %r3;", "'!' takes a predicate"},
           {"add.s32 %r1, {%r1, %r2}, %r3;", "operand 2 of 'add.s32' cannot be a vector"},
           {"add.s32 %r1, [%rd2], %r3;", "operand 2 of 'add.s32' cannot be an address in brackets"},
           {"ld.global.u32 %r1, %rd1;",
            "operand 2 of 'ld.global.u32' must be an address in brackets"},
           {"vadd.s32.s32.s32 %r1, %r2.b4, %r3;",
            "operand 2 of 'vadd.s32.s32.s32' has a selector other than .b0 to .b3, .h0 and .h1"},
           {"add.s32 %r1, %r2.b0, %r3;", "operand 2 of 'add.s32' cannot have a selector"},
           {"add.s32 %r1, -%r2, %r3;", "operand 2 of 'add.s32' cannot be negated"},
           {"and.pred %p1, -%p2, %p3;", "'-' takes a number or a register of integers"},
           {"st.global.u32 [%rd1].unified, %r1;",
            "operand 1 of 'st.global.u32' cannot be '.unified'"},
           {"add.s16x2 %r1, %r2, 5;", "'add.s16x2' needs sm_90, the module is for sm_80"},
           {"ldmatrix.sync.aligned.m8n8.x1.shared.b16 %r1, [%rd1];",
            "operand 1 of 'ldmatrix.sync.aligned.m8n8.x1.shared.b16' must be a vector of one "
            "element"},
           {"bfe.u32 %r1, %r2, 256, 1;",
            "operand 3 of 'bfe.u32' is a constant outside of 0 to 255"},
           {"setp.eq.and.s32 %p1, %r1, %r2;", "'setp.eq.and.s32' takes 4 operands, found 3"},
           {".reg .v2 .f32 v; mov.f32 %f1, v;",
            "operand 2 of 'mov.f32' is the vector 'v', expected a component of it"},
           {"bar.sync 16;", "operand 1 of 'bar.sync' is 16, expected 0 to 15"},
           {"bar.sync 0, 33;", "operand 2 of 'bar.sync' is no multiple of the warp size"},
       })
    EXPECT_EQ(check(c.body), c.message) << c.body;
}

TEST(PtxVerifier, RejectsWrongVectors) {
  for (const Case &c : std::initializer_list<Case>{
           {"ld.global.v2.u32 {%r1, %r2, %r3}, [%rd1];",
            "operand 1 of 'ld.global.v2.u32' is a vector of 3 elements, expected 2"},
           {"ld.global.v4.u32 %r1, [%rd1];",
            "operand 1 of 'ld.global.v4.u32' must be a vector of 4 elements"},
           {"ld.global.u32 {%r1, %r2}, [%rd1];", "operand 1 of 'ld.global.u32' cannot be a vector"},
           {"st.global.v2.u32 [%rd1], {%f2, %f1};",
            "operand 2 of 'st.global.v2.u32' is '%f2' of type .f32, expected .u32"},
           {"st.global.v2.u32 [%rd1], {%r1, %f1};", ""}, // .b32 and .f32: bits
           {"mov.b64 %rd1, {%u1, %f1};",
            "operand 2 of 'mov.b64' is a vector of registers of types .u32 and .f32"},
           {"mov.b64 {%r1, %r2, %r3}, %rd1;",
            "operand 1 of 'mov.b64' is a vector of 3 elements, expected 2 or 4"},
           {"mov.b64 %rd1, {%r1, %h2};",
            "operand 2 of 'mov.b64' contains '%h2' of type .b16, expected 32 bits"},
           {"mov.b32 %r1, {%h1, %h2, %h3, %h4};",
            "operand 2 of 'mov.b32' contains '%h1' of type .b16, expected 8 bits"},
           {"mov.b64 %rd1, {%r1, _};", "operand 2 of 'mov.b64' cannot contain '_'"},
           {"ld.global.v2.b32 {%u1, %f1}, [%rd1];",
            "operand 1 of 'ld.global.v2.b32' is a vector of registers of types .u32 and .f32"},
           {"ld.global.v2.b32 {%r1, %rd2}, [%rd1];",
            "operand 1 of 'ld.global.v2.b32' is a vector of registers of types .b32 and .b64"},
           {"ld.global.v2.b32 {_, _}, [%rd1];",
            "operand 1 of 'ld.global.v2.b32' is a vector of nothing but '_'"},
           {"mov.b64 {%r1, %r2}, {%r3, %r4};", "'mov.b64' cannot move a vector to a vector"},
           {"mov.u64 %rd1, {%r1, %r2};", "operand 2 of 'mov.u64' cannot be a vector"},
           {".reg .v2 .u32 v; st.global.v2.u32 [%rd1], -v;",
            "operand 2 of 'st.global.v2.u32' cannot be negated"},
           {".reg .v2 .u32 v; st.global.v2.u32 [%rd1], v.b0;",
            "operand 2 of 'st.global.v2.u32' cannot have a selector"},
           {"st.global.v2.u32 [%rd1], {%r1.b0, %r2};",
            "operand 2 of 'st.global.v2.u32' cannot have a selector"},
           {"mov.b64 %rd1, {%r1.b0, %r2};", "operand 2 of 'mov.b64' cannot have a selector"},
           {"mov.b64 %rd1, {%r1, -%r2};", "operand 2 of 'mov.b64' cannot be negated"},
           {".reg .v2 .b32 v; mov.b64 %rd1, {%r1, v};",
            "operand 2 of 'mov.b64' is the vector 'v', expected a component of it"},
           {".reg .v2 .pred v; @v.y ret;", "a predicate cannot be a vector"},
           {".reg .v2 .b64 v; ld.global.u32 %r1, [v];",
            "operand 2 of 'ld.global.u32' is the vector 'v', expected a component of it"},
           {".reg .v2 .b64 v; tex.1d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [v, {%f5}];",
            "operand 2 of 'tex.1d.v4.f32.f32' is the vector 'v', expected a component of it"},
           {"txq.width.b32 %r1, [%rd1+4];", "operand 2 of 'txq.width.b32' has an offset"},
       })
    EXPECT_EQ(check(c.body), c.message) << c.body;
}

TEST(PtxVerifier, RejectsWrongAddresses) {
  for (const Case &c : std::initializer_list<Case>{
           {"ld.global.u32 %r1, [sv];",
            "operand 2 of 'ld.global.u32' is 'sv' in .shared, expected .global"},
           {"ld.u32 %r1, [p0];",
            "operand 2 of 'ld.u32' is 'p0' in .param, expected a generic address"},
           {"cvta.shared.u64 %rd1, gv;",
            "operand 2 of 'cvta.shared.u64' is 'gv' in .global, expected .shared"},
           {"ld.global.u32 %r1, [%f1];",
            "operand 2 of 'ld.global.u32' has the address '%f1' of type .f32, expected an integer "
            "of at most 64 bits"},
           {"ld.global.u32 %r1, [16];",
            "operand 2 of 'ld.global.u32' is a constant address, which only .local has"},
           {"st.param.u32 [p0], %r1;",
            "operand 1 of 'st.param.u32' writes the kernel parameter 'p0'"},
           {"mov.f32 %f1, gv;", "operand 2 of 'mov.f32' is an address, expected .f32"},
       })
    EXPECT_EQ(check(c.body), c.message) << c.body;
}

TEST(PtxVerifier, RejectsWrongCalls) {
  for (const Case &c : std::initializer_list<Case>{
           {"call fn, (%r2);", "call of 'fn' has 0 results, expected 1"},
           {"call (%r1), fn;", "call of 'fn' has 0 arguments, expected 1"},
           {"call (%r1), fn, (%r2, %r3);", "call of 'fn' has 2 arguments, expected 1"},
           {"call (%r1), fn, (%rd2);",
            "argument 1 of the call of 'fn' is '%rd2' of type .b64, expected .reg .u32"},
           {"call (%f1), fn, (%r2);",
            "result 1 of the call of 'fn' is '%f1' of type .f32, expected .reg .u32"},
           {"call (%r1), fn, (1.0);",
            "argument 1 of the call of 'fn' is a constant, expected .reg .u32"},
           {"{ .param .b64 q; call (%r1), fn, (q); }",
            "argument 1 of the call of 'fn' is 'q', .param .b64, expected .reg .u32"},
           {"{ .param .b32 a; .param .align 4 .b8 s[16]; call (%r1), fp, (a, s); }",
            "argument 2 of the call of 'fp' is 's', .param .align 4 .b8[16], expected .param "
            ".align "
            "8 .b8[16]"},
           {"call (%r1), fn, (%r2.b0);",
            "argument 1 of the call of 'fn' is a part of '%r2', expected .reg .u32"},
           {"call (%r1), fn, (-%r2);",
            "argument 1 of the call of 'fn' is the negated '%r2', expected .reg .u32"},
           {".reg .v2 .u32 v; call (%r1), fn, (v);",
            "argument 1 of the call of 'fn' is the vector 'v' of type .u32, expected .reg .u32"},
           {".reg .v2 .u32 v; call (v.x), fn, (%r1);",
            "result 1 of the call of 'fn' is a part of 'v', expected .reg .u32"},
           {"pr: .callprototype (.reg .u32 _) _ (.reg .v2 .u32 _); call (%r1), %rd1, (1), pr;",
            "argument 1 of the call of 'pr' is a constant, expected .reg .v2 .u32"},
           {"pr: .callprototype (.reg .u32 _) _ (.reg .v2 .u32 _); call (%r1), %rd1, (%r1), pr;",
            "argument 1 of the call of 'pr' is '%r1' of type .b32, expected .reg .v2 .u32"},
           {"pr: .callprototype (.reg .u32 _) _ (.reg .v2 .u32 _); .reg .v2 .u32 v; call (%r1), "
            "%rd1, (v), pr;",
            ""},
           {".reg .v2 .u64 v; pr: .callprototype (.reg .u32 _) _ (.reg .u32 _); call (%r1), v.x, "
            "(%r1), pr;",
            "the function address is no plain register but a part of 'v'"},
           {"call k, (%rd1);", "a kernel cannot be called"},
           {"call (%r1), %rd1, (%r2);", "an indirect call needs a prototype"},
           {"call (%r1), %r1, (%r2);", "the function address '%r1' has type .b32"},
           {"pr: .callprototype (.reg .u32 _) _ (.reg .u32 _); call (%r1), %rd1, (%rd2), pr;",
            "argument 1 of the call of 'pr' is '%rd2' of type .b64, expected .reg .u32"},
           {"call;", "call without a function"},
       })
    EXPECT_EQ(check(c.body), c.message) << c.body;
}

// A spelling that was refused in one kernel is refused in the next.
TEST(PtxVerifier, RemembersNoRefusedSpelling) {
  ParseResult result = parse("t", ".version 1.4\n.target sm_10\n"
                                  ".entry a() { .reg .b32 d; popc.b32 d, d; popc.b32 d, d; }\n"
                                  ".entry b() { .reg .b32 d; popc.b32 d, d; ret; }\n");
  EXPECT_EQ(messages(result), "3:27: 'popc.b32' needs PTX 2.0, the module is of version 1.4\n"
                              "4:27: 'popc.b32' needs PTX 2.0, the module is of version 1.4");
  EXPECT_FALSE(result.module.function("a")->valid);
  EXPECT_FALSE(result.module.function("b")->valid);
}

TEST(PtxVerifier, ChecksVersions) {
  struct {
    const char *version, *target, *body, *message;
  } cases[] = {
      {"1.4", "sm_13", "popc.b32 %r1, %r2;",
       "'popc.b32' needs PTX 2.0, the module is of version 1.4"},
      {"8.0", "sm_60", "nanosleep.u32 5;", "'nanosleep.u32' needs sm_70, the module is for sm_60"},
      {"8.0", "sm_80", "shfl.up.b32 %r1, %r2, 1, 0;",
       "'shfl.up.b32' is not available since PTX 6.4 for sm_70 and later"},
      {"6.3", "sm_70", "shfl.up.b32 %r1, %r2, 1, 0;", ""},
      {"8.0", "sm_60", "vote.ballot.b32 %r1, %p1;", ""},
      {"1.3", "sm_13", "div.f32 %f1, %f2, %f3;", ""},
      {"1.1", "sm_11", "atom.shared.add.u32 %r1, [%r2], 1;",
       "'atom.shared.add.u32' needs PTX 1.2, the module is of version 1.1"},
      {"1.2", "sm_11", "red.shared.add.u32 [%r2], 1;",
       "'red.shared.add.u32' needs sm_12, the module is for sm_11"},
      {"2.0", "sm_13", "atom.shared.add.u64 %fd1, [%r2], 1;",
       "'atom.shared.add.u64' needs sm_20, the module is for sm_13"},
      {"1.4", "sm_13", "atom.add.u32 %r1, [%r2], 1;",
       "'atom.add.u32' needs PTX 2.0, the module is of version 1.4"},
      {"8.7", "sm_100", "ld.v8.u32 {%r1, %r1, %r1, %r1, %r1, %r1, %r1, %r1}, [%r2];",
       "'ld.v8.u32' needs PTX 8.8, the module is of version 8.7"},
      {"8.8", "sm_90", "ld.v8.u32 {%r1, %r1, %r1, %r1, %r1, %r1, %r1, %r1}, [%r2];",
       "'ld.v8.u32' needs sm_100, the module is for sm_90"},
      {"8.8", "sm_100", "ld.shared.v8.u32 {%r1, %r1, %r1, %r1, %r1, %r1, %r1, %r1}, [%r2];",
       "modifier '.v8' is not allowed in 'ld.shared.v8.u32' in kernel 'k'"},
      {"8.8", "sm_100", "ld.shared.L2::128B.u32 %r1, [%r2];",
       "modifier '.L2::128B' is not allowed in 'ld.shared.L2::128B.u32' in kernel 'k'"},
      {"1.4", "sm_13", "div.f32 %f1, %f2, %f3;", "'div.f32' is not available since PTX 1.4"},
      {"2.0", "sm_20", "sin.f32 %f1, %f2;", "'sin.f32' is not available since PTX 1.4"},
      {"3.2", "sm_20", "mad.f32 %f1, %f2, %f3, %f4;",
       "'mad.f32' is not available since PTX 3.2 for sm_20 and later"},
      {"2.0", "sm_20", "mad.f32 %f1, %f2, %f3, %f4;", ""},
      {"7.8", "sm_90", "cvt.rn.satfinite.e4m3x2.f32 %h1, %f1, %f2;", ""},
      {"7.8", "sm_89", "cvt.rn.satfinite.e4m3x2.f32 %h1, %f1, %f2;",
       "'cvt.rn.satfinite.e4m3x2.f32' needs PTX 8.1, the module is of version 7.8"},
      {"8.1", "sm_89", "cvt.rn.satfinite.e4m3x2.f32 %h1, %f1, %f2;", ""},
      {"2.0", "sm_13", "mad.f32 %f1, %f2, %f3, %f4;", ""},
      {"1.4", "sm_10, map_f64_to_f32", "mul.f64 %fd1, %fd1, %fd1;", ""},
  };
  for (auto &c : cases) {
    ParseResult result =
        parse("t", std::string(".version ") + c.version + "\n.target " + c.target +
                       "\n.entry k() { .reg .b16 %h<2>; .reg .b32 %r<4>; .reg .f32 %f<5>; "
                       ".reg .f64 %fd<2>; .reg .pred %p<2>;\n" +
                       c.body + "}");
    std::string all;
    for (const Diagnostic &d : result.diagnostics)
      all += (all.empty() ? "" : "\n") + d.message;
    EXPECT_EQ(all, c.message) << c.version << ' ' << c.target << ' ' << c.body;
  }
}

} // namespace
