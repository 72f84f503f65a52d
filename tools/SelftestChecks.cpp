// SPDX-License-Identifier: Apache-2.0
// The table of checks. Inputs are chosen where the possible behaviours part: each case names what
// it tells apart.
#include "targets/Generation.h"
#include "tools/Selftest.h"

namespace rubia::targets::Fact {
extern const GenerationFact productsFlush16;
} // namespace rubia::targets::Fact

namespace rubia::tools {

bool SelftestCheck::appliesTo(llvm::StringRef arch) const {
  const targets::Target *target = targets::find(arch);
  if (!target)
    return false;
  switch (targets) {
  case All:
    return true;
  case Dot2:
    return target->hasDot2;
  case Dot2Flushes:
    return target->hasDot2 && targets::Fact::productsFlush16(*target);
  case Dot2Keeps:
    return target->hasDot2 && !targets::Fact::productsFlush16(*target);
  case MfmaInOrder:
    return target->generation == targets::Generation::Cdna4;
  case MfmaPairwise:
    return target->generation == targets::Generation::Cdna1 ||
           target->generation == targets::Generation::Cdna2;
  case MfmaAligned:
    return target->generation == targets::Generation::Cdna3;
  case MfmaFlushes:
    return target->hasMfma() && targets::Fact::productsFlush16(*target);
  case MfmaKeeps:
    return target->hasMfma() && !targets::Fact::productsFlush16(*target);
  case Wmma:
    return target->matrix == targets::Matrix::Wmma;
  }
  return false;
}

// What several checks compute.
static std::string ofFloat(const std::string &intrinsic) {
  return "%fa = bitcast i32 %a to float\n"
         "%f = call float @llvm.amdgcn." +
         intrinsic +
         "(float %fa)\n"
         "%r = bitcast float %f to i32";
}
static const char *const kLdsAdd =
    R"(%fb = bitcast i32 %b to float
        %slot = getelementptr float, ptr addrspace(3) @lds, i32 %lane
        store i32 %a, ptr addrspace(3) %slot
        %old = atomicrmw fadd ptr addrspace(3) %slot, float %fb syncscope("workgroup") monotonic, !amdgpu.ignore.denormal.mode !0
        %r = load i32, ptr addrspace(3) %slot)";
static const char *const kDot2 =
    R"(%ha = bitcast i32 %a to <2 x half>
        %hb = bitcast i32 %b to <2 x half>
        %fc = bitcast i32 %c to float
        %f = call float @llvm.amdgcn.fdot2(<2 x half> %ha, <2 x half> %hb, float %fc, i1 false)
        %r = bitcast float %f to i32)";
static const char *const kMfma =
    R"(%ha = bitcast i64 %a to <4 x half>
        %hb = bitcast i64 %b to <4 x half>
        %low = trunc i64 %c to i32
        %fc = bitcast i32 %low to float
        %c1 = insertelement <4 x float> poison, float %fc, i32 0
        %cv = shufflevector <4 x float> %c1, <4 x float> poison, <4 x i32> zeroinitializer
        %d = call <4 x float> @llvm.amdgcn.mfma.f32.4x4x4f16(<4 x half> %ha, <4 x half> %hb, <4 x float> %cv, i32 0, i32 0, i32 0)
        %f = extractelement <4 x float> %d, i32 0
        %bits = bitcast float %f to i32
        %r = zext i32 %bits to i64)";

// Pairs of workgroups: each thread of the first writes its slot, all elements the same number,
// until its partner in the second has read it %b times. %r of the readers counts vectors with
// different elements. Slots are %a bytes apart; %c is the number of the case, each of which has
// slots of its own. Should the two not run at the same time, both end all the same, and the highest
// bit of %r is set.
static std::string tearing(const std::string &type, const std::string &load,
                           const std::string &store) {
  return R"(%pair = lshr i32 %group, 1
        %role = and i32 %group, 1
        %firstOfPair = mul i32 %pair, 64
        %number = add i32 %firstOfPair, %lane
        %distance = mul i32 %number, %a
        %region = mul i32 %c, 524288
        %offset = add i32 %distance, %region
        %slot = getelementptr i8, ptr addrspace(1) @slots, i32 %offset
        %regionCounters = mul i32 %c, 128
        %counterIndex = add i32 %regionCounters, %pair
        %counter = getelementptr i32, ptr addrspace(1) @counters, i32 %counterIndex
        %isReader = icmp ne i32 %role, 0
        br i1 %isReader, label %reader, label %writer
      writer:
        %i = phi i32 [ 1, %entry ], [ %nextI, %writer ]
        %i1 = insertelement )" +
         type + R"( poison, i32 %i, i32 0
        %is = shufflevector )" +
         type + " %i1, " + type + " poison, " + type + " zeroinitializer\n" + store + R"(
        %nextI = add i32 %i, 1
        %done = load atomic i32, ptr addrspace(1) %counter syncscope("agent") monotonic, align 4
        %isFew = icmp ult i32 %i, 50000000
        %isWaiting = icmp ult i32 %done, 64
        %goesOn = and i1 %isFew, %isWaiting
        br i1 %goesOn, label %writer, label %end
      reader:
        %tries = phi i32 [ 0, %entry ], [ %nextTries, %reader ]
        %reads = phi i32 [ 0, %entry ], [ %nextReads, %reader ]
        %torn = phi i32 [ 0, %entry ], [ %nextTorn, %reader ]
)" + load +
         R"(
        %first = extractelement )" +
         type + R"( %v, i32 0
        %first1 = insertelement )" +
         type + R"( poison, i32 %first, i32 0
        %firsts = shufflevector )" +
         type + " %first1, " + type + " poison, " + type + R"( zeroinitializer
        %different = xor )" +
         type + R"( %v, %firsts
        %any = call i32 @llvm.vector.reduce.or()" +
         type + R"( %different)
        %isTorn = icmp ne i32 %any, 0
        %tornNow = zext i1 %isTorn to i32
        %nextTorn = add i32 %torn, %tornNow
        %isWritten = icmp ne i32 %first, 0
        %readNow = zext i1 %isWritten to i32
        %nextReads = add i32 %reads, %readNow
        %nextTries = add i32 %tries, 1
        %isEarly = icmp ult i32 %nextTries, 50000000
        %isMore = icmp ult i32 %nextReads, %b
        %readsOn = and i1 %isEarly, %isMore
        br i1 %readsOn, label %reader, label %finished
      finished:
        %finishedBefore = atomicrmw add ptr addrspace(1) %counter, i32 1 syncscope("agent") monotonic
        %isMissing = icmp ult i32 %nextReads, %b
        %missing = select i1 %isMissing, i32 -2147483648, i32 0
        %bad = or i32 %missing, %nextTorn
        br label %end
      end:
        %r = phi i32 [ 0, %writer ], [ %bad, %finished ])";
}
static std::string tearing8() {
  return tearing(
      "<2 x i32>",
      R"(%v8 = load atomic i64, ptr addrspace(1) %slot syncscope("agent") monotonic, align 8
        %v = bitcast i64 %v8 to <2 x i32>)",
      R"(%i8 = bitcast <2 x i32> %is to i64
        store atomic i64 %i8, ptr addrspace(1) %slot syncscope("agent") monotonic, align 8)");
}
static std::string tearing16() {
  return tearing("<4 x i32>",
                 "%v = load volatile <4 x i32>, ptr addrspace(1) %slot, align 16, !tbaa !3",
                 "store volatile <4 x i32> %is, ptr addrspace(1) %slot, align 16, !tbaa !3");
}

static const SelftestCheck kChecks[] = {
    {"f32-flush-after-rounding",
     SelftestCheck::All,
     SelftestCheck::Flush,
     32,
     R"(%fa = bitcast i32 %a to float
        %fb = bitcast i32 %b to float
        %fc = bitcast i32 %c to float
        %f = call float @llvm.fma.f32(float %fa, float %fb, float %fc)
        %r = bitcast float %f to i32)",
     {
         {0x19800000, 0x99800000, 0x00800000, 0x00800000}, // rounds up to 2^-126
         {0x19800000, 0x9a800000, 0x00800000, 0x00800000}, // a tie at the precision of denormals
         {0x19800000, 0x9b000000, 0x00800000, 0x00000000}, // one unit below
     }},
    {"f32-compare-flush",
     SelftestCheck::All,
     SelftestCheck::Flush,
     32,
     R"(%fa = bitcast i32 %a to float
        %fb = bitcast i32 %b to float
        %f = fcmp oeq float %fa, %fb
        %r = zext i1 %f to i32)",
     {{0x00000001, 0x00000000, 0, 1}, {0x007fffff, 0x80000001, 0, 1}, {0x00800000, 0, 0, 0}}},
    {"rcp-f32-denormal",
     SelftestCheck::All,
     SelftestCheck::Keep,
     32,
     ofFloat("rcp.f32"),
     {{0x00200000, 0, 0, 0x7f800000}, {0x80000001, 0, 0, 0xff800000}, {0x7f000000, 0, 0, 0}}},
    {"rsq-f32-denormal",
     SelftestCheck::All,
     SelftestCheck::Keep,
     32,
     ofFloat("rsq.f32"),
     {{0x00200000, 0, 0, 0x7f800000}, {0x80000001, 0, 0, 0xff800000}}},
    {"sqrt-f32-denormal",
     SelftestCheck::All,
     SelftestCheck::Keep,
     32,
     ofFloat("sqrt.f32"),
     {{0x00200000, 0, 0, 0}, {0x80000001, 0, 0, 0x80000000}}},
    {"log-f32-denormal",
     SelftestCheck::All,
     SelftestCheck::Keep,
     32,
     ofFloat("log.f32"),
     {{0x00200000, 0, 0, 0xff800000}, {0x00000001, 0, 0, 0xff800000}}},
    {"exp-f32-denormal",
     SelftestCheck::All,
     SelftestCheck::Keep,
     32,
     ofFloat("exp2.f32"),
     {{0xc3000000, 0, 0, 0}, {0xc2fc0000, 0, 0, 0x00800000}}}, // -128, -126
    {"rcp-f32-last-bit",
     SelftestCheck::All,
     SelftestCheck::Keep,
     32,
     ofFloat("rcp.f32"),
     {{0x40400000, 0, 0, 0x3eaaaaab},
      {0x40e00000, 0, 0, 0x3e124925},
      {0x3f800001, 0, 0, 0x3f7ffffe},
      {0x3fffffff, 0, 0, 0x3f000001}}},
    {"rsq-f32-last-bit",
     SelftestCheck::All,
     SelftestCheck::Keep,
     32,
     ofFloat("rsq.f32"),
     {{0x40000000, 0, 0, 0x3f3504f3},
      {0x40400000, 0, 0, 0x3f13cd3a},
      {0x40a00000, 0, 0, 0x3ee4f92e},
      {0x3f800001, 0, 0, 0x3f7fffff}}},
    {"sqrt-f32-last-bit",
     SelftestCheck::All,
     SelftestCheck::Keep,
     32,
     ofFloat("sqrt.f32"),
     {{0x40000000, 0, 0, 0x3fb504f3},
      {0x40400000, 0, 0, 0x3fddb3d7},
      {0x40a00000, 0, 0, 0x400f1bbd},
      {0x3f7fffff, 0, 0, 0x3f7fffff}}},
    {"log-f32-last-bit",
     SelftestCheck::All,
     SelftestCheck::Keep,
     32,
     ofFloat("log.f32"),
     {{0x40400000, 0, 0, 0x3fcae00d},
      {0x40a00000, 0, 0, 0x40149a78},
      {0x3f800001, 0, 0, 0x3438aa3a},
      {0x3f7fffff, 0, 0, 0xb3b8aa3c}}},
    {"exp-f32-last-bit",
     SelftestCheck::All,
     SelftestCheck::Keep,
     32,
     ofFloat("exp2.f32"),
     {{0x3f000000, 0, 0, 0x3fb504f3},
      {0x3dcccccd, 0, 0, 0x3f892fdf},
      {0xbf333333, 0, 0, 0x3f1d9624},
      {0x33800000, 0, 0, 0x3f800000}}},
    {"sin-f32-last-bit",
     SelftestCheck::All,
     SelftestCheck::Keep,
     32,
     ofFloat("sin.f32"),
     {{0x3dcccccd, 0, 0, 0x3f167918}, {0x3e000000, 0, 0, 0x3f3504f3}, {0x3f000000, 0, 0, 0}}},
    {"sin-f32-range",
     SelftestCheck::All,
     SelftestCheck::Keep,
     32,
     ofFloat("sin.f32"),
     {{0x43808000, 0, 0, 0}, {0xc3960000, 0, 0, 0}, {0x501502f9, 0, 0, 0}}}, // 257, -300, 1e10
    {"cos-f32-range",
     SelftestCheck::All,
     SelftestCheck::Keep,
     32,
     R"(%fa = bitcast i32 %a to float
        %f = call float @llvm.amdgcn.cos.f32(float %fa)
        %r = bitcast float %f to i32)",
     {{0x43808000, 0, 0, 0x3f800000}, {0xc3962000, 0, 0, 0x3f800000}}},
    {"rcp-f64-approximation",
     SelftestCheck::All,
     SelftestCheck::Keep,
     64,
     R"(%fa = bitcast i64 %a to double
        %f = call double @llvm.amdgcn.rcp.f64(double %fa)
        %r = bitcast double %f to i64)",
     {{0x4008000000000000, 0, 0, 0x3fd5555555555555}}},
    {"rsq-f64-approximation",
     SelftestCheck::All,
     SelftestCheck::Keep,
     64,
     R"(%fa = bitcast i64 %a to double
        %f = call double @llvm.amdgcn.rsq.f64(double %fa)
        %r = bitcast double %f to i64)",
     {{0x4000000000000000, 0, 0, 0x3fe6a09e667f3bcd}, {1, 0, 0, 0x6180000000000000}}},
    {"sqrt-f64-approximation",
     SelftestCheck::All,
     SelftestCheck::Keep,
     64,
     R"(%fa = bitcast i64 %a to double
        %f = call double @llvm.amdgcn.sqrt.f64(double %fa)
        %r = bitcast double %f to i64)",
     {{0x4000000000000000, 0, 0, 0x3ff6a09e667f3bcd}}},
    {"clamp",
     SelftestCheck::All,
     SelftestCheck::Keep,
     32,
     R"(%r = call i32 asm "v_mul_f32_e64 $0, 1.0, $1 clamp", "=v,v"(i32 %a))",
     {{0x80000000, 0, 0, 0},
      {0x7fc00000, 0, 0, 0},
      {0xbf800000, 0, 0, 0},
      {0x40000000, 0, 0, 0x3f800000},
      {0x00000001, 0, 0, 0x00000001}}},
    {"nan-payload",
     SelftestCheck::All,
     SelftestCheck::Keep,
     32,
     R"(%r = call i32 asm "v_fma_f32 $0, $1, $2, $3", "=v,v,v,v"(i32 %a, i32 %b, i32 %c))",
     {{0x7fc00001, 0x7fc00002, 0x7fc00003, 0x7fc00001},
      {0x3f800000, 0xffc00002, 0x7fc00003, 0xffc00002},
      {0x3f800000, 0x7f800001, 0x7fc00003, 0x7fc00001},
      {0x7f800000, 0x00000000, 0x7fc00003, 0x7fc00003},
      {0x7f800000, 0x00000000, 0x3f800000, 0xffc00000}}},
    {"min-signed-zero",
     SelftestCheck::All,
     SelftestCheck::Keep,
     32,
     R"(%fa = bitcast i32 %a to float
        %fb = bitcast i32 %b to float
        %f = call float @llvm.minnum.f32(float %fa, float %fb)
        %r = bitcast float %f to i32)",
     {{0, 0x80000000, 0, 0x80000000}, {0x80000000, 0, 0, 0x80000000}}},
    {"div-scale",
     SelftestCheck::All,
     SelftestCheck::Keep,
     32,
     R"(%fa = bitcast i32 %a to float
        %fb = bitcast i32 %b to float
        %pair = call {float, i1} @llvm.amdgcn.div.scale.f32(float %fa, float %fb, i1 false)
        %f = extractvalue {float, i1} %pair, 0
        %r = bitcast float %f to i32)",
     {{0x3f800000, 0x40400000, 0, 0x40400000},
      {0x00800000, 0x7f000000, 0,
       0x5f000000}, // a tiny quotient, a denominator with a tiny reciprocal
      {0x3f800000, 0x00000001, 0, 0x15000000}}},
    {"div-fmas",
     SelftestCheck::All,
     SelftestCheck::Keep,
     32,
     R"(%fa = bitcast i32 %a to float
        %fb = bitcast i32 %b to float
        %fc = bitcast i32 %c to float
        %f = call float @llvm.amdgcn.div.fmas.f32(float %fa, float %fb, float %fc, i1 true)
        %r = bitcast float %f to i32)",
     {{0x3f800000, 0x3f800000, 0x00000000, 0x1f800000},
      {0x3f800000, 0x3f800000, 0x40400000, 0x60800000}}},
    {"div-fixup",
     SelftestCheck::All,
     SelftestCheck::Keep,
     32,
     R"(%fa = bitcast i32 %a to float
        %fb = bitcast i32 %b to float
        %fc = bitcast i32 %c to float
        %f = call float @llvm.amdgcn.div.fixup.f32(float %fa, float %fb, float %fc)
        %r = bitcast float %f to i32)",
     {{0x3f800000, 0x00000001, 0x7f7fffff, 0x3f800000},
      {0x3f800000, 0x00000000, 0x40400000, 0x7f800000}}},
    {"fract",
     SelftestCheck::All,
     SelftestCheck::Keep,
     32,
     R"(%fa = bitcast i32 %a to float
        %f = call float @llvm.amdgcn.fract.f32(float %fa)
        %r = bitcast float %f to i32)",
     {{0xb0000000, 0, 0, 0x3f7fffff},
      {0x7f800000, 0, 0, 0xffc00000},
      {0x3fe00000, 0, 0, 0x3f400000}}},
    {"bpermute-inactive",
     SelftestCheck::All,
     SelftestCheck::Keep,
     32,
     R"(%odd = and i32 %lane, 1
        %isOdd = icmp ne i32 %odd, 0
        br i1 %isOdd, label %inner, label %join
      inner:
        %before = sub i32 %lane, 1
        %address = shl i32 %before, 2
        %got = call i32 @llvm.amdgcn.ds.bpermute(i32 %address, i32 %a)
        br label %join
      join:
        %r = phi i32 [ %got, %inner ], [ 0, %entry ])",
     {{0x12345678, 0, 0, 0}}},
    {"ds-add-f32-denormal",
     SelftestCheck::All,
     SelftestCheck::Keep,
     32,
     kLdsAdd,
     {{0x00000001, 0x00000001, 0, 2}, {0x00800000, 0x80000001, 0, 0x007fffff}}},
    {"ds-add-f32-flush",
     SelftestCheck::All,
     SelftestCheck::Flush,
     32,
     kLdsAdd,
     {{0x00000001, 0x00000001, 0, 0}, {0x00800000, 0x80000001, 0, 0x00800000}}},
    {"dot2-order",
     SelftestCheck::Dot2,
     SelftestCheck::Keep,
     32,
     kDot2,
     {
         {0x0c003c00, 0x0c003c00, 0x33000000,
          0x3f800000}, // 1 + 2^-24 + 2^-25: one rounding gives more
         {0x3c000c00, 0x3c000c00, 0x33000000, 0x3f800001}, // the same with the products swapped
     }},
    {"dot2-denormal-mi200",
     SelftestCheck::Dot2Flushes,
     SelftestCheck::Keep,
     32,
     kDot2,
     {{0x00010000, 0x3c000000, 0x00000000, 0x00000000}}},
    {"dot2-denormal",
     SelftestCheck::Dot2Keeps,
     SelftestCheck::Keep,
     32,
     kDot2,
     {{0x00010000, 0x3c000000, 0x00000000, 0x33800000}}},
    {"mfma-order",
     SelftestCheck::MfmaInOrder,
     SelftestCheck::Keep,
     64,
     kMfma,
     {
         {0x000000000c003c00, 0x000000000c003c00, 0x33000000, 0x3f800000},
         {0x000000003c000c00, 0x000000003c000c00, 0x33000000, 0x3f800001},
         {0x0000000000003c00, 0x0000000000003c00, 0xa1800000, 0x3f800000}, // 1 - 2^-60
     }},
    {"mfma-order-mi200",
     SelftestCheck::MfmaPairwise,
     SelftestCheck::Keep,
     64,
     kMfma,
     {
         {0x000000000c003c00, 0x000000000c003c00, 0x33000000, 0x3f800000},
         {0x000000003c000c00, 0x000000003c000c00, 0x33000000, 0x3f800000},
         {0x0000000000003c00, 0x0000000000003c00, 0xa1800000, 0x3f800000},
     }},
    {"mfma-order-mi300",
     SelftestCheck::MfmaAligned,
     SelftestCheck::Keep,
     64,
     kMfma,
     {
         {0x000000000c003c00, 0x000000000c003c00, 0x33000000, 0x3f800000},
         {0x000000003c000c00, 0x000000003c000c00, 0x33000000, 0x3f800000},
         {0x0000000000003c00, 0x0000000000003c00, 0xa1800000, 0x3f7fffff}, // rounded down
     }},
    {"mfma-denormal-mi200",
     SelftestCheck::MfmaFlushes,
     SelftestCheck::Keep,
     64,
     kMfma,
     {
         {0x0000000000000001, 0x0000000000003c00, 0x00000000, 0}, // a denormal half
         {0x0000000000000000, 0x0000000000000000, 0x00000001, 0}, // a denormal addend
     }},
    {"mfma-denormal-mi300",
     SelftestCheck::MfmaKeeps,
     SelftestCheck::Keep,
     64,
     kMfma,
     {
         {0x0000000000000001, 0x0000000000003c00, 0x00000000, 0x33800000}, // a denormal half
         {0x0000000000000000, 0x0000000000000000, 0x00000001, 1},          // a denormal addend
     }},
    {"wmma-order",
     SelftestCheck::Wmma,
     SelftestCheck::Keep,
     64,
     R"(%a1 = insertelement <4 x i64> zeroinitializer, i64 %a, i32 0
        %b1 = insertelement <4 x i64> zeroinitializer, i64 %b, i32 0
        %ha = bitcast <4 x i64> %a1 to <16 x half>
        %hb = bitcast <4 x i64> %b1 to <16 x half>
        %low = trunc i64 %c to i32
        %fc = bitcast i32 %low to float
        %c1 = insertelement <8 x float> poison, float %fc, i32 0
        %cv = shufflevector <8 x float> %c1, <8 x float> poison, <8 x i32> zeroinitializer
        %d = call <8 x float> @llvm.amdgcn.wmma.f32.16x16x16.f16.v8f32.v16f16(<16 x half> %ha, <16 x half> %hb, <8 x float> %cv)
        %f = extractelement <8 x float> %d, i32 0
        %bits = bitcast float %f to i32
        %r = zext i32 %bits to i64)",
     {
         {0x000000000c003c00, 0x000000000c003c00, 0x33000000, 0x3f800000},
         {0x000000003c000c00, 0x000000003c000c00, 0x33000000, 0x3f800001},
         {0x0000000000000001, 0x0000000000003c00, 0x00000000, 0x33800000},
         {0x0000000000000000, 0x0000000000000000, 0x00000001, 1},
     }},
    // Slots side by side, and slots in lines of their own.
    {"whole-8-bytes",
     SelftestCheck::All,
     SelftestCheck::Keep,
     32,
     tearing8(),
     {{8, 2000, 0, 0}, {248, 2000, 1, 0}},
     64},
    {"whole-16-bytes",
     SelftestCheck::All,
     SelftestCheck::Keep,
     32,
     tearing16(),
     {{16, 2000, 2, 0}, {240, 2000, 3, 0}},
     64},
};

llvm::ArrayRef<SelftestCheck> selftestChecks() { return kChecks; }

} // namespace rubia::tools
