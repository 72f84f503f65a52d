// SPDX-License-Identifier: Apache-2.0
// MmaForm: what is read from an instruction, and where elements lie. All of the parser's forms that
// have fragments are here, with the registers that the table gives each operand.
#include "lowering/lib/analysis/MmaForm.h"
#include "ptx-frontend/Parser.h"
#include "gmock/gmock.h"
#include <map>
#include <set>
#include <tuple>

using namespace rubia;
using namespace rubia::lowering;
using ptx::Type;

namespace rubia::ptx::Mod {
extern const Modifier Rz;
} // namespace rubia::ptx::Mod

namespace {

std::string registersOf(Type type, unsigned count) {
  std::string text = "{";
  const char *name = type == Type::F64 ? "%d0" : type == Type::F32 ? "%f0" : "%r0";
  for (unsigned i = 0; i < count; ++i)
    text += (i ? ", " : "") + std::string(name);
  return text + "}";
}

// The form of the only instruction; parsing must succeed.
MmaForm formOf(const std::string &instruction, const char *target = "sm_120a") {
  std::string text =
      ".version 9.0\n.target " + std::string(target) +
      "\n.address_size 64\n.entry k() {\n"
      ".reg .b32 %r<2>; .reg .f32 %f<2>; .reg .f64 %d<2>; .reg .b64 %rd<2>; .reg .b16 %h<2>;\n" +
      instruction + "\nret;\n}\n";
  ptx::ParseResult result = ptx::parse("test.ptx", text);
  EXPECT_TRUE(result.diagnostics.empty()) << instruction;
  if (!result.diagnostics.empty())
    return {};
  std::optional<MmaForm> form = MmaForm::of(result.module.functions.front()->body.front());
  EXPECT_TRUE(form) << instruction;
  return form.value_or(MmaForm());
}

// Spelling, types of the registers of D, A, B, C and how many of them there are.
struct Row {
  const char *spelling;
  Type d;
  unsigned dCount;
  Type ab;
  unsigned aCount, bCount;
  Type c;
  unsigned cCount;
  const char *tail = ""; // metadata, selector, scales
};

constexpr Type kBits = Type::B32;
constexpr char kMetadata[] = ", %r0, 0";
constexpr char kScales[] = ", %r0, {0, 1}, %r1, {0, 1}";

const Row kDense[] = {
    {"mma.sync.aligned.m8n8k4.row.col.f16.f16.f16.f16", kBits, 4, kBits, 2, 2, kBits, 4},
    {"mma.sync.aligned.m8n8k4.col.row.f32.f16.f16.f16", Type::F32, 8, kBits, 2, 2, kBits, 4},
    {"mma.sync.aligned.m8n8k4.row.row.f32.f16.f16.f32", Type::F32, 8, kBits, 2, 2, Type::F32, 8},
    {"mma.sync.aligned.m8n8k4.col.col.f32.f16.f16.f32", Type::F32, 8, kBits, 2, 2, Type::F32, 8},
    {"mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16", kBits, 2, kBits, 2, 1, kBits, 2},
    {"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", Type::F32, 4, kBits, 4, 2, Type::F32, 4},
    {"mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32", Type::F32, 4, kBits, 2, 1, Type::F32, 4},
    {"mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32", Type::F32, 4, kBits, 2, 1, Type::F32, 4},
    {"mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", Type::F32, 4, kBits, 4, 2, Type::F32, 4},
    {"mma.sync.aligned.m16n8k16.row.col.f32.e4m3.e5m2.f32", Type::F32, 4, kBits, 2, 1, Type::F32,
     4},
    {"mma.sync.aligned.m16n8k32.row.col.f16.e5m2.e4m3.f16", kBits, 2, kBits, 4, 2, kBits, 2},
    {"mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e2m3.e2m1.f32", Type::F32, 4, kBits, 4, 2,
     Type::F32, 4},
    {"mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64", Type::F64, 2, Type::F64, 1, 1, Type::F64,
     2},
    {"mma.sync.aligned.m16n8k4.row.col.rz.f64.f64.f64.f64", Type::F64, 4, Type::F64, 2, 1,
     Type::F64, 4},
    {"mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64", Type::F64, 4, Type::F64, 4, 2, Type::F64,
     4},
    {"mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64", Type::F64, 4, Type::F64, 8, 4, Type::F64,
     4},
    {"mma.sync.aligned.m8n8k16.row.col.s32.u8.s8.s32", kBits, 2, kBits, 1, 1, kBits, 2},
    {"mma.sync.aligned.m16n8k16.row.col.satfinite.s32.s8.s8.s32", kBits, 4, kBits, 2, 1, kBits, 4},
    {"mma.sync.aligned.m16n8k32.row.col.s32.u8.u8.s32", kBits, 4, kBits, 4, 2, kBits, 4},
    {"mma.sync.aligned.m8n8k32.row.col.s32.u4.s4.s32", kBits, 2, kBits, 1, 1, kBits, 2},
    {"mma.sync.aligned.m16n8k32.row.col.s32.s4.s4.s32", kBits, 4, kBits, 2, 1, kBits, 4},
    {"mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32", kBits, 4, kBits, 4, 2, kBits, 4},
    {"mma.sync.aligned.m8n8k128.row.col.s32.b1.b1.s32.xor.popc", kBits, 2, kBits, 1, 1, kBits, 2},
    {"mma.sync.aligned.m16n8k128.row.col.s32.b1.b1.s32.and.popc", kBits, 4, kBits, 2, 1, kBits, 4},
    {"mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.xor.popc", kBits, 4, kBits, 4, 2, kBits, 4},
    {"mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.f32.e2m1.e2m1.f32.ue8m0", Type::F32,
     4, kBits, 4, 2, Type::F32, 4, kScales},
    {"mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.f32.e4m3.e2m1.f32.ue8m0",
     Type::F32, 4, kBits, 4, 2, Type::F32, 4, kScales},
};

const Row kWmma[] = {
    {"wmma.mma.sync.aligned.row.col.m16n16k16.f32.f16", Type::F32, 8, kBits, 8, 8, kBits, 4},
    {"wmma.mma.sync.aligned.row.col.m8n32k16.f16.f32", kBits, 4, kBits, 8, 8, Type::F32, 8},
    {"wmma.mma.sync.aligned.col.row.m32n8k16.f16.f16", kBits, 4, kBits, 8, 8, kBits, 4},
    {"wmma.mma.sync.aligned.row.row.m16n16k16.s32.s8.s8.s32", kBits, 8, kBits, 2, 2, kBits, 8},
    {"wmma.mma.sync.aligned.row.row.m8n32k16.s32.u8.u8.s32", kBits, 8, kBits, 1, 4, kBits, 8},
    {"wmma.mma.sync.aligned.row.row.m32n8k16.s32.u8.u8.s32", kBits, 8, kBits, 4, 1, kBits, 8},
    {"wmma.mma.sync.aligned.row.row.m16n16k16.f32.bf16.bf16.f32", Type::F32, 8, kBits, 4, 4,
     Type::F32, 8},
    {"wmma.mma.sync.aligned.row.row.m8n32k16.f32.bf16.bf16.f32", Type::F32, 8, kBits, 2, 8,
     Type::F32, 8},
    {"wmma.mma.sync.aligned.row.row.m32n8k16.f32.bf16.bf16.f32", Type::F32, 8, kBits, 8, 2,
     Type::F32, 8},
    {"wmma.mma.sync.aligned.row.row.m16n16k8.f32.tf32.tf32.f32", Type::F32, 8, kBits, 4, 4,
     Type::F32, 8},
    {"wmma.mma.sync.aligned.row.row.m8n8k4.f64.f64.f64.f64", Type::F64, 2, Type::F64, 1, 1,
     Type::F64, 2},
    {"wmma.mma.sync.aligned.row.col.m8n8k32.s32.s4.s4.s32", kBits, 2, kBits, 1, 1, kBits, 2},
    {"wmma.mma.and.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32", kBits, 2, kBits, 1, 1, kBits,
     2},
};

const Row kSparse[] = {
    {"mma.sp.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16", kBits, 2, kBits, 2, 2, kBits, 2,
     ", %r0, 3"},
    {"mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.bf16.bf16.f32", Type::F32, 4,
     kBits, 4, 4, Type::F32, 4, ", %r0, 1"},
    {"mma.sp.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", Type::F32, 4, kBits, 2, 2, Type::F32,
     4, ", %r0, 2"},
    {"mma.sp.sync.aligned.m16n8k16.row.col.f32.tf32.tf32.f32", Type::F32, 4, kBits, 4, 4, Type::F32,
     4, ", %r0, 1"},
    {"mma.sp.sync.aligned.m16n8k64.row.col.f32.e4m3.e4m3.f32", Type::F32, 4, kBits, 4, 4, Type::F32,
     4, kMetadata},
    {"mma.sp.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32", kBits, 4, kBits, 2, 2, kBits, 4,
     ", %r0, 1"},
    {"mma.sp.sync.aligned.m16n8k64.row.col.s32.u8.s8.s32", kBits, 4, kBits, 4, 4, kBits, 4,
     kMetadata},
    {"mma.sp.sync.aligned.m16n8k64.row.col.s32.u4.s4.s32", kBits, 4, kBits, 2, 2, kBits, 4,
     ", %r0, 1"},
    {"mma.sp.sync.aligned.m16n8k128.row.col.s32.u4.s4.s32", kBits, 4, kBits, 4, 4, kBits, 4,
     kMetadata},
};

MmaForm formOf(const Row &row) {
  return formOf(std::string(row.spelling) + " " + registersOf(row.d, row.dCount) + ", " +
                registersOf(row.ab, row.aCount) + ", " + registersOf(row.ab, row.bCount) + ", " +
                registersOf(row.c, row.cCount) + row.tail + ";");
}

using Place = std::tuple<unsigned, unsigned, unsigned>;

// Every element of the matrix is held as often as the form says, and the inverse finds it.
void expectCovers(const MmaForm &form, MmaMatrix matrix) {
  std::map<Place, unsigned> held;
  for (unsigned lane = 0; lane < form.lanes(); ++lane)
    for (unsigned reg = 0; reg < form.registers(matrix); ++reg)
      for (unsigned i = 0; i < form.elementsPerRegister(matrix); ++i) {
        FragmentPlace at{lane, reg, i};
        MatrixPlace place = form.placeOf(matrix, at);
        ASSERT_LT(place.row, form.rows(matrix));
        ASSERT_LT(place.column, form.columns(matrix));
        if (!held[{place.product, place.row, place.column}]++)
          ASSERT_EQ(form.fragmentOf(matrix, place), at);
      }
  const unsigned products = form.isQuadPairs() ? 4 : 1;
  EXPECT_EQ(held.size(), form.rows(matrix) * form.columns(matrix) * products);
  for (auto &[place, count] : held)
    ASSERT_EQ(count, form.copies(matrix));
}

void expectFragments(const Row &row) {
  SCOPED_TRACE(row.spelling);
  MmaForm form = formOf(row);
  ASSERT_NE(form.k, 0u);
  EXPECT_EQ(form.registers(MmaMatrix::A), row.aCount);
  EXPECT_EQ(form.registers(MmaMatrix::B), row.bCount);
  EXPECT_EQ(form.registers(MmaMatrix::C), row.cCount);
  EXPECT_EQ(form.registers(MmaMatrix::D), row.dCount);
  for (MmaMatrix matrix : {MmaMatrix::A, MmaMatrix::B, MmaMatrix::C, MmaMatrix::D})
    expectCovers(form, matrix);
}

} // namespace

TEST(MmaForm, FragmentsCoverTheirMatrices) {
  for (const Row &row : kDense)
    expectFragments(row);
  for (const Row &row : kWmma)
    expectFragments(row);
  for (const Row &row : kSparse)
    expectFragments(row);
}

// PTX ISA: warp-level-matrix-fragment-mma-16816-float and its neighbours.
TEST(MmaForm, ElementsLieWhereTheManualHasThem) {
  MmaForm half = formOf(kDense[5]); // m16n8k16 f16; lane 6: group 1, thread 2 of it
  EXPECT_EQ(half.placeOf(MmaMatrix::A, {6, 1, 1}), (MatrixPlace{9, 5}));
  EXPECT_EQ(half.placeOf(MmaMatrix::A, {6, 2, 0}), (MatrixPlace{1, 12}));
  EXPECT_EQ(half.placeOf(MmaMatrix::B, {6, 1, 1}), (MatrixPlace{13, 1}));
  EXPECT_EQ(half.placeOf(MmaMatrix::D, {6, 3, 0}), (MatrixPlace{9, 5}));

  MmaForm bytes = formOf("mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32 {%r0, %r0, %r0, %r0}, "
                         "{%r0, %r0, %r0, %r0}, {%r0, %r0}, {%r0, %r0, %r0, %r0};");
  EXPECT_EQ(bytes.a, Type::U8);
  EXPECT_EQ(bytes.b, Type::S8);
  EXPECT_EQ(bytes.placeOf(MmaMatrix::A, {6, 2, 3}), (MatrixPlace{1, 27}));
  EXPECT_EQ(bytes.placeOf(MmaMatrix::B, {6, 1, 3}), (MatrixPlace{27, 1}));

  MmaForm quads = formOf(kDense[1]); // col.row; lane 22: product 1, thread 2 of the upper half
  EXPECT_EQ(quads.aLayout, MmaLayout::Col);
  EXPECT_EQ(quads.bLayout, MmaLayout::Row);
  EXPECT_EQ(quads.placeOf(MmaMatrix::A, {22, 1, 1}), (MatrixPlace{7, 2, 1}));
  EXPECT_EQ(quads.placeOf(MmaMatrix::B, {22, 1, 0}), (MatrixPlace{2, 6, 1}));
  EXPECT_EQ(quads.placeOf(MmaMatrix::D, {22, 7, 0}), (MatrixPlace{6, 7, 1}));
  EXPECT_EQ(quads.placeOf(MmaMatrix::C, {22, 2, 1}), (MatrixPlace{6, 5, 1}));

  MmaForm group = formOf("wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 {%f0, %f0, %f0, %f0, "
                         "%f0, %f0, %f0, %f0}, %rd0, %rd1, 1, 1, 1, 0, 0;",
                         "sm_90a");
  EXPECT_EQ(group.registers(MmaMatrix::D), 8u);
  EXPECT_EQ(group.registers(MmaMatrix::A), 4u);
  EXPECT_EQ(group.placeOf(MmaMatrix::D, {70, 7, 0}), (MatrixPlace{41, 13}));
  expectCovers(group, MmaMatrix::D);
  expectCovers(group, MmaMatrix::A);
}

TEST(MmaForm, ModifiersAreRead) {
  EXPECT_TRUE(formOf(kDense[17]).satfinite);
  EXPECT_FALSE(formOf(kDense[18]).satfinite);
  EXPECT_EQ(formOf(kDense[13]).rounding, ptx::Mod::Rz);
  EXPECT_EQ(formOf(kDense[22]).bitOperation, MmaBitOperation::Xor);
  EXPECT_EQ(formOf(kDense[23]).bitOperation, MmaBitOperation::And);
  EXPECT_EQ(formOf(kWmma[12]).bitOperation, MmaBitOperation::And);
  EXPECT_EQ(formOf(kDense[25]).scalesPerRow, 2u);
  EXPECT_EQ(formOf(kDense[26]).scalesPerRow, 1u);
  EXPECT_EQ(formOf(kDense[26]).scale, Type::UE8M0);
  EXPECT_EQ(formOf(kSparse[0]).selector, 3u);
  EXPECT_FALSE(formOf(kSparse[0]).hasOrderedMetadata);
  EXPECT_TRUE(formOf(kSparse[1]).hasOrderedMetadata);

  MmaForm mixed = formOf(kWmma[0]);
  EXPECT_EQ(mixed.d, Type::F32);
  EXPECT_EQ(mixed.c, Type::F16);
  EXPECT_EQ(mixed.a, Type::F16);

  MmaForm load =
      formOf("wmma.load.b.sync.aligned.col.m8n32k16.shared.s8 {%r0, %r0, %r0, %r0}, [%rd0], %r1;");
  EXPECT_EQ(load.kind, MmaKind::WmmaLoad);
  EXPECT_EQ(load.loaded, MmaMatrix::B);
  EXPECT_EQ(load.aLayout, MmaLayout::Col);
  EXPECT_EQ(load.registers(MmaMatrix::B), 4u);
  EXPECT_FALSE(MmaForm::of(ptx::parse("x", ".version 9.0\n.target sm_90\n.address_size 64\n"
                                           ".entry k() { ret; }")
                               .module.functions.front()
                               ->body.front()));
}

// A load's fragment is the one that the product takes.
TEST(MmaForm, LoadsAndProductsAgree) {
  MmaForm product = formOf(kWmma[1]);
  MmaForm load = formOf("wmma.load.a.sync.aligned.row.m8n32k16.global.f16 "
                        "{%r0, %r0, %r0, %r0, %r0, %r0, %r0, %r0}, [%rd0];");
  for (unsigned lane = 0; lane < 32; ++lane)
    for (unsigned reg = 0; reg < 8; ++reg)
      EXPECT_EQ(product.placeOf(MmaMatrix::A, {lane, reg, 1}),
                load.placeOf(MmaMatrix::A, {lane, reg, 1}));
}

// Ordered positions of two of four, one of two, and two pairs of four.
TEST(MmaForm, MetadataNamesEachColumnOnce) {
  for (const Row &row : kSparse) {
    SCOPED_TRACE(row.spelling);
    MmaForm form = formOf(row);
    std::set<std::tuple<unsigned, unsigned>> bits;
    for (unsigned r = 0; r < form.m; ++r)
      for (unsigned stored = 0; stored < form.k / 2; ++stored) {
        MetadataPlace place = form.metadataOf(r, stored);
        ASSERT_LT(place.lane, 32u);
        ASSERT_LE(place.shift + place.width, 32u);
        EXPECT_EQ(place.lane / 4, r % 8);
        // What the last position names is still in the same group of columns.
        const unsigned last = place.base + place.scale * ((1u << place.width) - 1);
        EXPECT_EQ(last * form.nibblesPerRow() / form.k, place.base * form.nibblesPerRow() / form.k);
        bits.insert({place.lane, place.shift});
      }
    // A position is read for one element, with 4 bits for the two of a pair.
    EXPECT_EQ(bits.size(), form.m * form.k / (form.elementBits(MmaMatrix::A) == 4 ? 4 : 2));
  }
}

// Rows 3 and 11 with selector 3; two words of a selector; PTX ISA: sparse matrix storage.
TEST(MmaForm, MetadataLiesWhereTheManualHasIt) {
  MetadataPlace place = formOf(kSparse[0]).metadataOf(11, 5);
  EXPECT_EQ(place.lane, 15u);
  EXPECT_EQ(place.shift, 16u + 2 * 4 + 2);
  EXPECT_EQ(place.base, 8u);
  place = formOf(kSparse[1]).metadataOf(3, 10);
  EXPECT_EQ(place.lane, 4 * 3 + 2 + 1u);
  EXPECT_EQ(place.shift, 4u);
  EXPECT_EQ(place.base, 20u);
  place = formOf(kSparse[6]).metadataOf(11, 17); // 8 bits, k64
  EXPECT_EQ(place.lane, 4 * 3 + 2 + 1u);
  EXPECT_EQ(place.shift, 2u);
  EXPECT_EQ(place.base, 32u);
  place = formOf(kSparse[2]).metadataOf(3, 1); // tf32: 0x4 and 0xe differ in their bit 1
  EXPECT_EQ(place.lane, 14u);
  EXPECT_EQ(place.shift, 5u);
  EXPECT_EQ(place.base, 2u);
  place = formOf(kSparse[7]).metadataOf(9, 7); // 4 bits, k64: the second pair of nibble 1
  EXPECT_EQ(place.lane, 4 + 2 + 1u);
  EXPECT_EQ(place.shift, 6u);
  EXPECT_EQ(place.base, 9u);
  EXPECT_EQ(place.scale, 2u);
}
