// SPDX-License-Identifier: Apache-2.0
// Text -> Module: what the nodes say.

#include "Dump.h"
#include "ptx-frontend/Lines.h"
#include "ptx-frontend/Printer.h"
#include <gtest/gtest.h>

namespace rubia::ptx::Op {
extern const Operation Cvt;
} // namespace rubia::ptx::Op

using namespace rubia::ptx;

namespace rubia::ptx::Mod {
extern const Modifier Approx, Ftz, Rn, Sat;
} // namespace rubia::ptx::Mod

namespace {

ParseResult parsed(const std::string &text) {
  ParseResult result = parse("t.ptx", text);
  EXPECT_EQ(messages(result), "") << text;
  return result;
}

struct Case {
  const char *input, *expected;
};

// Instructions of kernel 'k' as they are printed, joined by " | ".
void checkBodies(std::initializer_list<Case> cases) {
  for (const Case &c : cases) {
    ParseResult result = parsed(inKernel(c.input));
    const Function *k = result.module.function("k");
    ASSERT_TRUE(k);
    std::string out;
    for (const Instruction &instruction : k->body)
      out += (out.empty() ? "" : " | ") + print(result.module, *k, instruction);
    EXPECT_EQ(out, c.expected) << c.input;
  }
}

const Operand &lastOperand(const ParseResult &result) {
  return result.module.function("k")->body.back().operands.back();
}

std::string header = ".version 8.0\n.target sm_80\n.address_size 64\n";

TEST(PtxParser, ReadsInstructions) {
  checkBodies({
      {"add.s32 %r1, %r2, %r3;", "add.s32 %r1, %r2, %r3;"},
      {"@%p1 bra L; L: ret;", "@%p1 bra L; | ret;"},
      {"@!%p1 exit;", "@!%p1 exit;"},
      {"ld.global.v4.f32 {%f1, _, %f3, %f4}, [%rd1+16];",
       "ld.global.v4.f32 {%f1, _, %f3, %f4}, [%rd1+16];"},
      {"ld.global.u32 %r1, [%rd1+-4];", "ld.global.u32 %r1, [%rd1+-4];"},
      {"st.shared.u32 [sv+4*2], %r1;", "st.shared.u32 [sv+8], %r1;"},
      {"ld.param.u64 %rd1, [p0];", "ld.param.u64 %rd1, [p0];"},
      {"mov.u64 %rd1, gv+4;", "mov.u64 %rd1, gv+4;"},
      {"mov.u64 %rd1, fn;", "mov.u64 %rd1, fn;"},
      {"mov.u32 %r1, %tid.x;", "mov.u32 %r1, %tid.x;"},
      {"mov.b64 {%r1, %r2}, %rd1;", "mov.b64 {%r1, %r2}, %rd1;"},
      {"setp.lt.s32 %p1|%p2, %r1, 5;", "setp.lt.s32 %p1|%p2, %r1, 5;"},
      {"atom.global.add.u32 _, [%rd1], 1;", "atom.global.add.u32 _, [%rd1], 1;"},
      {"ld .global .u32 %r1, [%rd1];", "ld.global.u32 %r1, [%rd1];"},
      {"ld.relaxed.gpu.u64 {%rd1}, [%rd2];", "ld.relaxed.gpu.u64 {%rd1}, [%rd2];"},
      {"add.f32.rn %f1, %f2, %f3;", "add.f32.rn %f1, %f2, %f3;"},
      {"call.uni (%r1), fn, (%r2);", "call.uni (%r1), fn, (%r2);"},
      {"membar.gl; trap;", "membar.gl; | trap;"},
  });
}

TEST(PtxParser, EvaluatesConstantExpressions) {
  checkBodies({
      {"mov.s32 %s1, 1+2*3;", "mov.s32 %s1, 7;"},
      {"mov.s32 %s1, (1+2)*3;", "mov.s32 %s1, 9;"},
      {"mov.s32 %s1, -5/2;", "mov.s32 %s1, -2;"},
      {"mov.s32 %s1, 7%4;", "mov.s32 %s1, 3U;"},
      {"mov.s32 %s1, 1<<4|3;", "mov.s32 %s1, 19;"},
      {"mov.s32 %s1, ~0;", "mov.s32 %s1, 18446744073709551615U;"},
      {"mov.s32 %s1, -7 % 3;", "mov.s32 %s1, 0U;"},
      {"mov.s32 %s1, 1 << 65;", "mov.s32 %s1, 2;"},
      {"mov.s32 %s1, -8 >> 65;", "mov.s32 %s1, -4;"},
      {"mov.s32 %s1, -1 & -2;", "mov.s32 %s1, -2;"},
      {"mov.s32 %s1, !(~1);", "mov.s32 %s1, 0;"},
      {"mov.s32 %s1, !5;", "mov.s32 %s1, 0;"},
      {"mov.s32 %s1, 3 > 2 && 1 != 2;", "mov.s32 %s1, 1;"},
      {"mov.s32 %s1, 1 ? 2 : 3;", "mov.s32 %s1, 2;"},
      {"mov.s32 %s1, 0 ? 2 : 0 ? 3 : 4;", "mov.s32 %s1, 4;"},
      {"mov.u32 %u1, 0x10;", "mov.u32 %u1, 16;"},
      {"mov.u32 %u1, 017;", "mov.u32 %u1, 15;"},
      {"mov.u32 %u1, 0b101;", "mov.u32 %u1, 5;"},
      {"mov.u32 %u1, 5U;", "mov.u32 %u1, 5U;"},
      {"mov.u64 %rd1, 0xffffffffffffffff;", "mov.u64 %rd1, 18446744073709551615U;"},
      {"mov.s64 %rd1, (.s64)0x8000000000000000;", "mov.s64 %rd1, (.s64)0x8000000000000000;"},
      {"mov.s64 %rd1, (.u64)-1 > 0;", "mov.s64 %rd1, 1;"},
      {"mov.s64 %rd1, -1 > 0;", "mov.s64 %rd1, 0;"},
      {"mov.s64 %rd1, (.s64)0x8000000000000000 / -1;", "mov.s64 %rd1, (.s64)0x8000000000000000;"},
      {"mov.u32 %u1, WARP_SZ-1;", "mov.u32 %u1, 31;"},
      {"mov.f32 %f1, 1.5;", "mov.f32 %f1, 0d3FF8000000000000;"},
      {"mov.f32 %f1, -1.5;", "mov.f32 %f1, 0dBFF8000000000000;"},
      {"mov.f32 %f1, 0f7FC00001;", "mov.f32 %f1, 0f7FC00001;"},
      {"mov.f64 %fd1, 1.0+2.0;", "mov.f64 %fd1, 0d4008000000000000;"},
      {"mov.b32 %r1, 0f3F800000;", "mov.b32 %r1, 0f3F800000;"},
  });
}

TEST(PtxParser, ResolvesRegisterRanges) {
  ParseResult result = parsed(header + ".entry k() { .reg .b32 %a<3>, x, %b<2>; .reg .f64 %a1x;\n"
                                       "mov.b32 %a2, %b1; mov.b32 x, %a0; ret; }");
  const Function &k = *result.module.function("k");
  ASSERT_EQ(k.registers.size(), 7u);
  EXPECT_EQ(k.registerName(2), "%a2");
  EXPECT_EQ(k.registerName(3), "x");
  EXPECT_EQ(k.registerName(5), "%b1");
  EXPECT_EQ(k.registers[6].type, Type::F64);
  EXPECT_EQ(k.body[0].operands[0].reg, 2u);
  EXPECT_EQ(k.body[0].operands[1].reg, 5u);
  EXPECT_EQ(k.body[1].operands[0].reg, 3u);
  EXPECT_EQ(k.body[1].operands[1].reg, 0u);
}

// The number of a register is read eight digits at once: what stands before it must not matter.
TEST(PtxParser, NumbersRegistersByTheirLastDigits) {
  for (const char *prefix :
       {"%r", "%a$", "%_", "%$", "%abcdefg", "%abcdefgh", "%abcdefghijklmno", "%a1b", "r", "$"}) {
    std::string name = prefix;
    ParseResult result =
        parsed(header + ".entry k() { .reg .b32 " + name + "<12346>; mov.b32 " + name + "7," +
               name + "12345; mov.b32 " + name + "010 ,\t" + name + "0; ret; }");
    const Function &k = *result.module.function("k");
    EXPECT_EQ(k.body[0].operands[0].reg, 7u) << name;
    EXPECT_EQ(k.body[0].operands[1].reg, 12345u) << name;
    EXPECT_EQ(k.body[1].operands[0].reg, 10u) << name;
    EXPECT_EQ(k.body[1].operands[1].reg, 0u) << name;
  }
}

TEST(PtxParser, LetsInnerScopesHideOuterOnes) {
  ParseResult result = parsed(header + R"(.entry k() {
    .reg .b32 %r<3>;
    { .reg .b64 %r1; mov.b64 %r1, 1; { .reg .f32 %r<2>; mov.f32 %r1, 1.0; mov.b32 %r2, 1; } }
    { .reg .u16 %r<2>; mov.u16 %r0, 1; mov.b32 %r2, 1; }
    mov.b32 %r1, 1; })");
  const Function &k = *result.module.function("k");
  auto typeOf = [&](unsigned i) { return k.registers[k.body[i].operands[0].reg].type; };
  EXPECT_EQ(typeOf(0), Type::B64);
  EXPECT_EQ(typeOf(1), Type::F32);
  EXPECT_EQ(typeOf(2), Type::B32);
  EXPECT_EQ(typeOf(3), Type::U16);
  EXPECT_EQ(typeOf(4), Type::B32);
  EXPECT_EQ(typeOf(5), Type::B32);
  EXPECT_EQ(k.body[5].operands[0].reg, 1u);
}

TEST(PtxParser, FindsLabelsInTheirScope) {
  ParseResult result = parsed(header + R"(.entry k() {
    { bra L; L: bra L; bra M; }
    { L: bra L; }
    M: L: bra L; })");
  const Function &k = *result.module.function("k");
  ASSERT_EQ(k.labels.size(), 4u);
  uint32_t targets[] = {1, 1, 4, 3, 4};
  for (unsigned i = 0; i < 5; ++i)
    EXPECT_EQ(k.labels[k.body[i].operands[0].label].instruction, targets[i]) << i;
}

TEST(PtxParser, ReadsVectorRegisters) {
  ParseResult result = parsed(inKernel(".reg .v4 .f32 v; mov.f32 v.x, v.w; mov.f32 v.r, v.a;\n"
                                       "ld.global.v4.f32 v, [%rd1];"));
  const Function &k = *result.module.function("k");
  EXPECT_EQ(k.body[0].operands[0].component, 0);
  EXPECT_EQ(k.body[0].operands[1].component, 3);
  EXPECT_EQ(k.body[1].operands[1].component, 3);
  EXPECT_EQ(k.body[2].operands[0].component, 0xff);
  EXPECT_EQ(k.registers[k.body[2].operands[0].reg].vectorWidth, 4);
}

TEST(PtxParser, ReadsKernelSignatures) {
  ParseResult result = parsed(header + R"(
.visible .entry k(
    .param .u64 .ptr .global .align 16 k_param_0,
    .param .align 8 .b8 k_param_1[24],
    .param .f32 k_param_2)
.maxntid 16, 16
.minnctapersm 2
.maxnreg 64
.reqnctapercluster 2
.explicitcluster
{ ret; })");
  const Function &k = *result.module.function("k");
  EXPECT_TRUE(k.isKernel && k.hasBody && k.valid);
  EXPECT_EQ(k.linkage, Linkage::Visible);
  ASSERT_EQ(k.parameters.size(), 3u);
  const Variable &pointer = *k.parameters[0];
  EXPECT_TRUE(pointer.isPointer);
  EXPECT_EQ(pointer.pointerSpace, StateSpace::Global);
  EXPECT_EQ(pointer.pointerAlignment, 16u);
  EXPECT_EQ(pointer.sizeInBytes, 8u);
  EXPECT_EQ(k.parameters[1]->sizeInBytes, 24u);
  EXPECT_EQ(k.parameters[1]->alignment, 8u);
  EXPECT_EQ(k.parameters[1]->elementCount, 24u);
  EXPECT_EQ(k.parameters[2]->alignment, 4u);
  EXPECT_EQ(k.parameters[2]->function, &k);
  EXPECT_EQ(k.attributes.maxThreads[0], 16u);
  EXPECT_EQ(k.attributes.maxThreads[1], 16u);
  EXPECT_EQ(k.attributes.maxThreads[2], 1u);
  EXPECT_EQ(k.attributes.requiredThreads[0], 0u);
  EXPECT_EQ(k.attributes.minBlocksPerMultiprocessor, 2u);
  EXPECT_EQ(k.attributes.maxRegisters, 64u);
  EXPECT_EQ(k.attributes.requiredCluster[0], 2u);
  EXPECT_TRUE(k.attributes.explicitCluster);
}

TEST(PtxParser, MergesDeclarationsAndDefinitions) {
  ParseResult result = parsed(header + R"(
.func (.param .b32 r) f(.param .b32 a);
.entry k() { .param .b32 x; .param .b32 y; call (y), f, (x); ret; }
.func (.param .b32 result) f(.param .b32 argument) { ret; }
.extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);
.func g() .noreturn { trap; })");
  ASSERT_EQ(result.module.functions.size(), 4u);
  const Function &f = *result.module.function("f");
  EXPECT_TRUE(f.hasBody);
  EXPECT_EQ(f.parameters[0]->name, "argument");
  EXPECT_EQ(result.module.function("k")->body[0].operands[1].function(), &f);
  EXPECT_FALSE(result.module.function("vprintf")->hasBody);
  EXPECT_EQ(result.module.function("vprintf")->linkage, Linkage::Extern);
  EXPECT_TRUE(result.module.function("g")->attributes.noReturn);
  EXPECT_EQ(result.module.function("nosuch"), nullptr);
}

TEST(PtxParser, ReadsRegisterParameters) {
  ParseResult result =
      parsed(header + ".func (.reg .u32 r) f(.reg .u32 a, .reg .v2 .f32 v) { mov.u32 r, a; ret; }");
  const Function &f = *result.module.function("f");
  EXPECT_EQ(f.results[0]->reg, 0u);
  EXPECT_EQ(f.parameters[0]->reg, 1u);
  EXPECT_EQ(f.registers[2].vectorWidth, 2);
  EXPECT_EQ(f.body[0].operands[1].reg, 1u);
}

TEST(PtxParser, ReadsIndirectCallsAndBranches) {
  ParseResult result = parsed(header + R"(
.func (.param .b32 r) f(.param .b32 a);
.entry k(.param .u32 n) {
  .reg .b32 %r<3>; .reg .b64 %rd<2>; .param .b32 x; .param .b32 y;
  proto: .callprototype (.param .b32 _) _ (.param .b32 _) .noreturn;
  list: .calltargets f;
  targets: .branchtargets A, B, A;
  call (y), %rd1, (x), proto;
  call (y), %rd1, (x), list;
  brx.idx %r1, targets;
A:
  ret;
B:
  exit;
})");
  const Function &k = *result.module.function("k");
  ASSERT_EQ(k.prototypes.size(), 2u);
  EXPECT_TRUE(k.prototypes[0].noReturn);
  EXPECT_EQ(k.prototypes[0].results.size(), 1u);
  EXPECT_TRUE(k.prototypes[1].isTargetList);
  EXPECT_EQ(k.prototypes[1].targets[0]->name, "f");
  EXPECT_EQ(k.body[0].operands[3].prototype, 0u);
  EXPECT_EQ(k.body[1].operands[3].prototype, 1u);
  EXPECT_EQ(k.body[2].operands[1].labels(), (llvm::ArrayRef<LabelId>{0, 1, 0}));
}

TEST(PtxParser, ReadsVariables) {
  ParseResult result = parsed(header + R"(
.visible .global .align 16 .b8 a[4][8];
.global .v4 .f32 b;
.extern .shared .align 16 .b8 dynamic[];
.weak .const .u16 c;
.common .global .u32 d;
.visible .global .attribute(.managed) .u32 e;
.global .texref t;
.shared .u64 f, g[2];)");
  struct {
    const char *name;
    uint64_t size, count;
    uint32_t alignment;
    Linkage linkage;
  } expected[] = {
      {"a", 32, 32, 16, Linkage::Visible},    {"b", 16, 1, 16, Linkage::Internal},
      {"dynamic", 0, 0, 16, Linkage::Extern}, {"c", 2, 1, 2, Linkage::Weak},
      {"d", 4, 1, 4, Linkage::Common},        {"e", 4, 1, 4, Linkage::Visible},
      {"t", 8, 1, 8, Linkage::Internal},      {"f", 8, 1, 8, Linkage::Internal},
      {"g", 16, 2, 8, Linkage::Internal},
  };
  ASSERT_EQ(result.module.variables.size(), std::size(expected));
  for (size_t i = 0; i < std::size(expected); ++i) {
    const Variable &v = *result.module.variables[i];
    EXPECT_EQ(v.name, expected[i].name);
    EXPECT_EQ(v.sizeInBytes, expected[i].size) << expected[i].name;
    EXPECT_EQ(v.elementCount, expected[i].count) << expected[i].name;
    EXPECT_EQ(v.alignment, expected[i].alignment) << expected[i].name;
    EXPECT_EQ(v.linkage, expected[i].linkage) << expected[i].name;
  }
  EXPECT_TRUE(result.module.variables[2]->incomplete);
  EXPECT_TRUE(result.module.variables[5]->managed);
  EXPECT_EQ(result.module.variables[6]->type, Type::TexRef);
}

std::string bytesOf(const Variable &v) {
  std::string out;
  for (uint8_t byte : v.initializer)
    out += (out.empty() ? "" : " ") + std::to_string(byte);
  return out;
}

TEST(PtxParser, ReadsInitialisers) {
  Case cases[] = {
      {".global .u8 x[4] = {1, 2};", "1 2 0 0"},
      {".global .u8 x[] = {1, 300, -1};", "1 44 255"},
      {".global .u16 x = 0x1234;", "52 18"},
      {".global .u8 x[2][2] = {{1}, {2, 3}};", "1 0 2 3"},
      {".global .u8 x[][2] = {{1}, {2, 3}, {4}};", "1 0 2 3 4 0"},
      {".global .f32 x = 1.0;", "0 0 128 63"},
      {".global .b32 x = 0f7FC00001;", "1 0 192 127"},
      {".global .f64 x = 0f3F800000;", "0 0 0 0 0 0 240 63"},
      {".global .v2 .u8 x = {5, 6};", "5 6"},
      {".global .v2 .u8 x[2] = {{5, 6}, {7}};", "5 6 7 0"},
      {".const .u8 x = 1+2*3;", "7"},
      {".global .u32 x = 0;", ""},
      {".global .b8 x[1000000000000] = {0, 0};", ""},
      // Plain numbers, and what is none between them.
      {".global .u8 x[9] = {1, 2,3,  4, 0, 010, 0x10, 11U, 12};", "1 2 3 4 0 8 16 11 12"},
      {".global .u8 x[] = {1, 2, // three\n3, 4, /* five */ 5, 6 , 7, 8, 1+8, 10,};",
       "1 2 3 4 5 6 7 8 9 10"},
      {".global .b32 x[] = {1, 999999999, 4294967295, 10};",
       "1 0 0 0 255 201 154 59 255 255 255 255 10 0 0 0"},
      {".global .b16 x[2][2] = {{1, 2,}, {65537, 3}};", "1 0 2 0 1 0 3 0"},
      {".global .u64 x[2] = {1, 999999999999,};", "1 0 0 0 0 0 0 0 255 15 165 212 232 0 0 0"},
  };
  for (const Case &c : cases) {
    ParseResult result = parsed(header + c.input);
    ASSERT_EQ(result.module.variables.size(), 1u);
    const Variable &v = *result.module.variables[0];
    EXPECT_EQ(bytesOf(v), c.expected) << c.input;
    EXPECT_EQ(v.initialized, *c.expected != 0) << c.input;
    EXPECT_EQ(v.initializer.size(), v.initialized ? v.sizeInBytes : 0) << c.input;
  }
}

TEST(PtxParser, ReadsAddressesInInitialisers) {
  ParseResult result = parsed(header + R"(
.global .u32 g;
.func f();
.global .u64 x[5] = {g, g+8, generic(g)+4, f, 7};
.global .u8 y[3] = {0xff(g), 0xff00(generic(g)+4), 9};)");
  const Variable &g = *result.module.variables[0], &x = *result.module.variables[1],
                 &y = *result.module.variables[2];
  ASSERT_EQ(x.relocations.size(), 4u);
  EXPECT_EQ(x.relocations[0].variable, &g);
  EXPECT_EQ(x.relocations[1].addend, 8);
  EXPECT_EQ(x.relocations[1].offset, 8u);
  EXPECT_TRUE(x.relocations[2].generic);
  EXPECT_EQ(x.relocations[2].addend, 4);
  EXPECT_EQ(x.relocations[3].function, result.module.function("f"));
  EXPECT_EQ(x.initializer[32], 7);
  ASSERT_EQ(y.relocations.size(), 2u);
  EXPECT_EQ(y.relocations[0].width, 1);
  EXPECT_EQ(y.relocations[0].mask, 0xffu);
  EXPECT_EQ(y.relocations[1].mask, 0xff00u);
  EXPECT_TRUE(y.relocations[1].generic);
  EXPECT_EQ(y.initializer[2], 9);
}

TEST(PtxParser, ReadsTheHeader) {
  ParseResult result = parsed(".version 8.0\n.target sm_90a, texmode_independent, debug\n");
  EXPECT_TRUE(result.usable);
  EXPECT_EQ(result.module.versionMajor, 8u);
  EXPECT_EQ(result.module.versionMinor, 0u);
  EXPECT_EQ(result.module.sm, 90u);
  EXPECT_EQ(result.module.smVariant, 'a');
  EXPECT_TRUE(result.module.texmodeIndependent && result.module.debug);
  EXPECT_EQ(result.module.addressSize, 64u);
  EXPECT_FALSE(parse("t", "").usable);
  EXPECT_FALSE(parse("t", "hello").usable);
  EXPECT_FALSE(parse("t", ".version x\n.target sm_80").usable);
  EXPECT_FALSE(parse("t", ".version 8.0\n.target sm_x").usable);
}

TEST(PtxParser, KeepsSourceLines) {
  ParseResult result = parsed(header + R"(
.file 1 "a.cu"
.file 2 "b.h", 123, 456
.entry k() {
  .reg .b32 x;
  mov.b32 x, 1;
  .loc 1 10 3
  mov.b32 x, 2;
  .loc 2 20 5, function_name $L__info_string0, inlined_at 1 10 3
  mov.b32 x, 3;
  .loc 2 21 5, function_name $L__info_string0+7, inlined_at 1 11 1
  mov.b32 x, 4;
}
.section .debug_str { $L__info_string0: .b8 97, 0 })");
  const Module &m = result.module;
  ASSERT_EQ(m.files.size(), 2u);
  EXPECT_EQ(m.files[1].path, "b.h");
  const Function &k = *m.function("k");
  EXPECT_EQ(k.body[0].sourceLine, kNone);
  const SourceLine &first = m.sourceLines[k.body[1].sourceLine];
  EXPECT_EQ(first.line, 10u);
  EXPECT_EQ(first.inlinedAt, kNone);
  const SourceLine &second = m.sourceLines[k.body[2].sourceLine];
  EXPECT_EQ(second.file, 2u);
  EXPECT_EQ(second.inlinedAt, k.body[1].sourceLine);
  EXPECT_EQ(second.inlinedFunction, "$L__info_string0");
  const SourceLine &third = m.sourceLines[k.body[3].sourceLine];
  EXPECT_EQ(m.sourceLines[third.inlinedAt].line, 11u);
}

TEST(PtxParser, ReadsSpellings) {
  ParseResult result = parsed(inKernel("cvt.rn.ftz.f32.s32 %f1, %r1; ld.shared.v2.u32 {%r1,%r2}, "
                                       "[%r3]; ld.shared.v2.u32 {%r1,%r2}, [%r3];"));
  const Function &k = *result.module.function("k");
  const Spelling &cvt = *k.body[0].spelling;
  EXPECT_EQ(cvt.op, Op::Cvt);
  EXPECT_EQ(cvt.type(0), Type::F32);
  EXPECT_EQ(cvt.type(1), Type::S32);
  EXPECT_EQ(cvt.type(2), Type::None);
  EXPECT_TRUE(cvt.has(Mod::Ftz));
  EXPECT_FALSE(cvt.has(Mod::Sat));
  EXPECT_EQ(cvt.first(ModCategory::Rounding), Mod::Rn);
  EXPECT_EQ(k.body[1].spelling->space(), StateSpace::Shared);
  EXPECT_EQ(k.body[1].spelling->vectorWidth(), 2u);
  EXPECT_EQ(k.body[1].spelling, k.body[2].spelling);
}

// What old versions and targets mean without writing it.
TEST(PtxParser, AddsImpliedModifiers) {
  struct {
    const char *version, *target, *instruction;
    bool approx, ftz;
  } cases[] = {
      {"1.3", "sm_13", "div.f32 f, f, f", true, true},
      {"1.0", "sm_10", "sin.f32 f, f", true, true},
      {"1.3", "sm_13", "sqrt.f32 f, f", true, true},
      {"1.3", "sm_13", "div.f64 d, d, d", false, false},
      {"1.4", "sm_13", "div.approx.f32 f, f, f", true, true},
      {"1.4", "sm_13", "div.full.f32 f, f, f", false, true},
      {"1.4", "sm_10", "add.f32 f, f, f", false, true},
      {"1.4", "sm_10", "add.ftz.f32 f, f, f", false, true},
      {"2.0", "sm_13", "mad.f32 f, f, f, f", false, true},
      {"2.0", "sm_20", "add.f32 f, f, f", false, false},
      {"1.4", "sm_13", "add.f64 d, d, d", false, false},
      {"1.4", "sm_13", "rsqrt.approx.f64 d, d", true, false},
      {"1.4", "sm_13", "setp.lt.f32 p, f, f", false, true},
      {"1.4", "sm_13", "slct.u32.f32 r, r, r, f", false, true},
      {"1.4", "sm_13", "selp.f32 f, f, f, p", false, false},
      {"1.4", "sm_13", "mov.f32 f, f", false, false},
      {"1.4", "sm_13", "cvt.rzi.s32.f32 r, f", false, true},
      {"1.4", "sm_13", "cvt.f64.f32 d, f", false, false},
      {"1.5", "sm_13", "cvt.rn.f32.f64 f, d", false, true},
  };
  for (const auto &c : cases) {
    ParseResult result =
        parse("t", std::string(".version ") + c.version + "\n.target " + c.target +
                       "\n.entry k() { .reg .f32 f; .reg .f64 d; .reg .u32 r; .reg .pred p;\n" +
                       c.instruction + "; }");
    EXPECT_EQ(messages(result), "") << c.instruction;
    ASSERT_EQ(result.module.functions[0]->body.size(), 1u);
    const Spelling &spelling = *result.module.functions[0]->body[0].spelling;
    EXPECT_EQ(spelling.has(Mod::Approx), c.approx) << c.version << ' ' << c.instruction;
    EXPECT_EQ(spelling.has(Mod::Ftz), c.ftz) << c.version << ' ' << c.instruction;
    EXPECT_NE(print(result.module).find(c.instruction), std::string::npos); // as written
  }
}

TEST(PtxParser, GivesAliasesTheirFunction) {
  ParseResult result = parsed(header + ".func f() { ret; } .func g(); .alias g, f;");
  EXPECT_EQ(result.module.function("g")->aliasOf, result.module.function("f"));
}

TEST(PtxParser, SkipsWhatHasNoEffect) {
  parsed(header + R"(
.section .debug_info { .b32 .debug_abbrev .b8 1,2 }
.pragma "nounroll";
# 1 "file"
.entry k() .pragma "x"; { .pragma "used_bytes_mask 0xf"; /* c */ ret; // d
}
)");
}

TEST(PtxParser, ConvertsNumbersOfPlaces) {
  EXPECT_EQ(lineAndColumn("ab\ncd\n", 0), (std::pair<uint32_t, uint32_t>(1, 1)));
  EXPECT_EQ(lineAndColumn("ab\ncd\n", 4), (std::pair<uint32_t, uint32_t>(2, 2)));
  EXPECT_EQ(lineAndColumn("ab\ncd\n", 6), (std::pair<uint32_t, uint32_t>(3, 1)));
}

TEST(PtxParser, ConvertsPlacesOfItsText) {
  const std::string texts[] = {".version 7.0\n.target sm_70\n.address_size 64\n",
                               ".version 7.0\n.target sm_70\n\n\n.address_size 64 // end"};
  for (const std::string &text : texts) {
    ParseResult result = parse("k.ptx", text);
    for (uint32_t place = 0; place <= text.size(); ++place)
      EXPECT_EQ(lineAndColumn(result.module, place), lineAndColumn(text, place)) << place;
  }
  EXPECT_EQ(lineAndColumn(Module(), 5), (std::pair<uint32_t, uint32_t>(0, 0)));
}

TEST(PtxParser, KeepsOperandPlaces) {
  std::string text = inKernel("add.s32 %r1, %r2, 77;");
  EXPECT_EQ(lastOperand(parsed(text)).place, text.find("77"));
}

} // namespace
