// SPDX-License-Identifier: Apache-2.0
#include "lowering/lib/analysis/MmaForm.h"
#include <cassert>
#include <utility>

using namespace llvm;

namespace rubia::ptx::Op {
extern const Operation Mma, MmaBlockScale, MmaSp, MmaSpBlockScale, Wgmma, WgmmaSp, WmmaLoad,
    WmmaMma, WmmaStore;
} // namespace rubia::ptx::Op
namespace rubia::ptx::Mod {
extern const Modifier A, And, B, BlockScale, C, Col, KindF8f6f4, KindMxf4, KindMxf4nvf4,
    KindMxf8f6f4, Row, Satfinite, ScaleVec1X, ScaleVec4X, Sp, SpOrderedMetadata;
} // namespace rubia::ptx::Mod

namespace rubia::lowering {
namespace {

// The numbers of `.m16n8k16`; nothing for `.m8n8` and other shapes without k.
bool parseShape(StringRef text, MmaForm &form) {
  return text.consume_front(".m") && !text.consumeInteger(10, form.m) && text.consume_front("n") &&
         !text.consumeInteger(10, form.n) && text.consume_front("k") &&
         !text.consumeInteger(10, form.k) && text.empty();
}

void takeTypes(const ptx::Spelling &spelling, MmaForm &form) {
  if (form.kind == MmaKind::WmmaLoad || form.kind == MmaKind::WmmaStore) {
    ptx::Type type = spelling.type();
    if (form.loaded == MmaMatrix::A)
      form.a = type;
    else if (form.loaded == MmaMatrix::B)
      form.b = type;
    else if (form.loaded == MmaMatrix::C)
      form.c = type;
    else
      form.d = type;
    return;
  }
  form.d = spelling.type(0);
  if (form.kind == MmaKind::WmmaMma && spelling.type(2) == ptx::Type::None) {
    form.a = form.b = ptx::Type::F16; // wmma.mma...f32.f16: D, C
    form.c = spelling.type(1);
    return;
  }
  form.a = spelling.type(1);
  form.b = spelling.type(2);
  form.c = form.kind == MmaKind::Wgmma ? form.d : spelling.type(3);
  form.scale = spelling.type(4);
}

void takeLayouts(const ptx::Spelling &spelling, MmaForm &form) {
  bool hasFirst = false;
  for (ptx::Modifier mod : spelling.modifiers) {
    if (mod != ptx::Mod::Row && mod != ptx::Mod::Col)
      continue;
    MmaLayout layout = mod == ptx::Mod::Row ? MmaLayout::Row : MmaLayout::Col;
    if (!hasFirst)
      form.aLayout = form.bLayout = layout;
    form.bLayout = layout;
    hasFirst = true;
  }
}

std::optional<MmaKind> kindOf(const ptx::Instruction &inst) {
  const ptx::Operation op = inst.op();
  if (op == ptx::Op::Mma || op == ptx::Op::MmaBlockScale || op == ptx::Op::MmaSp ||
      op == ptx::Op::MmaSpBlockScale)
    return MmaKind::Mma;
  if (op == ptx::Op::WmmaMma)
    return MmaKind::WmmaMma;
  if (op == ptx::Op::WmmaLoad)
    return MmaKind::WmmaLoad;
  if (op == ptx::Op::WmmaStore)
    return MmaKind::WmmaStore;
  if (op == ptx::Op::Wgmma || op == ptx::Op::WgmmaSp)
    return MmaKind::Wgmma;
  return std::nullopt;
}

MmaMatrix loadedBy(const ptx::Spelling &spelling) {
  if (spelling.has(ptx::Mod::A))
    return MmaMatrix::A;
  if (spelling.has(ptx::Mod::B))
    return MmaMatrix::B;
  return spelling.has(ptx::Mod::C) ? MmaMatrix::C : MmaMatrix::D;
}

unsigned scalesOf(const ptx::Spelling &spelling) {
  if (!spelling.has(ptx::Mod::BlockScale))
    return 0;
  if (spelling.has(ptx::Mod::ScaleVec1X) || spelling.has(ptx::Mod::KindMxf8f6f4))
    return 1;
  return spelling.has(ptx::Mod::ScaleVec4X) ? 4 : 2;
}

bool isFactor(MmaMatrix matrix) { return matrix == MmaMatrix::A || matrix == MmaMatrix::B; }

// ---------- m8n8k4 of f16. Lane = 16 high + 4 product + x.

MatrixPlace quadPairPlace(const MmaForm &form, MmaMatrix matrix, FragmentPlace at) {
  const unsigned product = at.lane % 16 / 4, x = at.lane % 4, high = at.lane / 16;
  const unsigned i = at.reg * form.elementsPerRegister(matrix) + at.element;
  switch (matrix) {
  case MmaMatrix::A:
    return form.aLayout == MmaLayout::Row ? MatrixPlace{x + 4 * high, i, product}
                                          : MatrixPlace{i + 4 * high, x, product};
  case MmaMatrix::B:
    return form.bLayout == MmaLayout::Col ? MatrixPlace{i, x + 4 * high, product}
                                          : MatrixPlace{x, i + 4 * high, product};
  default:
    if (form.elementBits(matrix) == 16)
      return {x + 4 * high, i, product};
    return {(x & 1) + (i & 2) + 4 * high, (i & 4) + (x & 2) + (i & 1), product};
  }
}

FragmentPlace quadPairFragment(const MmaForm &form, MmaMatrix matrix, MatrixPlace at) {
  unsigned x, high, i;
  if (isFactor(matrix)) {
    const bool isA = matrix == MmaMatrix::A;
    const bool alongK = isA ? form.aLayout == MmaLayout::Row : form.bLayout == MmaLayout::Col;
    const unsigned outer = isA ? at.row : at.column, inner = isA ? at.column : at.row;
    high = outer / 4;
    x = alongK ? outer % 4 : inner;
    i = alongK ? inner : outer % 4;
  } else if (form.elementBits(matrix) == 16) {
    x = at.row % 4, high = at.row / 4, i = at.column;
  } else {
    x = (at.row & 1) + (at.column & 2);
    high = at.row / 4;
    i = (at.row & 2) + (at.column & 4) + (at.column & 1);
  }
  const unsigned perRegister = form.elementsPerRegister(matrix);
  return {16 * high + 4 * at.product + x, i / perRegister, i % perRegister};
}

// ---------- All other forms of mma and wgmma. Lane = 32 warp + 4 g + t.

MatrixPlace regularPlace(const MmaForm &form, MmaMatrix matrix, FragmentPlace at) {
  const unsigned warp = at.lane / 32, g = at.lane % 32 / 4, t = at.lane % 4;
  const unsigned e = form.elementsPerRegister(matrix);
  const unsigned halves = form.m == 8 ? 1 : 2; // a register has rows 0 to 7 or 8 to 15
  switch (matrix) {
  case MmaMatrix::A:
    return {16 * warp + g + 8 * (at.reg % halves), 4 * e * (at.reg / halves) + t * e + at.element};
  case MmaMatrix::B:
    return {4 * e * at.reg + t * e + at.element, g};
  default:
    // Two columns each: as elements of a register of f16, else as two registers.
    const unsigned pair = e == 2 ? at.reg : at.reg / 2;
    const unsigned inPair = e == 2 ? at.element : at.reg % 2;
    return {16 * warp + g + 8 * (pair % halves), 8 * (pair / halves) + 2 * t + inPair};
  }
}

FragmentPlace regularFragment(const MmaForm &form, MmaMatrix matrix, MatrixPlace at) {
  const unsigned e = form.elementsPerRegister(matrix);
  const unsigned halves = form.m == 8 ? 1 : 2;
  const unsigned warp = at.row / 16, g = at.row % 8, half = at.row % 16 / 8;
  switch (matrix) {
  case MmaMatrix::A:
    return {32 * warp + 4 * g + at.column % (4 * e) / e, at.column / (4 * e) * halves + half,
            at.column % e};
  case MmaMatrix::B:
    return {4 * at.column + at.row % (4 * e) / e, at.row / (4 * e), at.row % e};
  default:
    const unsigned pair = at.column / 8 * halves + half, inPair = at.column % 2;
    const unsigned lane = 32 * warp + 4 * g + at.column % 8 / 2;
    return e == 2 ? FragmentPlace{lane, pair, inPair} : FragmentPlace{lane, 2 * pair + inPair, 0};
  }
}

// Of the transposed product.
MmaMatrix transposed(MmaMatrix matrix) {
  if (!isFactor(matrix))
    return matrix;
  return matrix == MmaMatrix::A ? MmaMatrix::B : MmaMatrix::A;
}

} // namespace

std::optional<MmaForm> MmaForm::of(const ptx::Instruction &inst) {
  const ptx::Spelling &spelling = *inst.spelling;
  std::optional<MmaKind> kind = kindOf(inst);
  MmaForm form;
  if (!kind || !parseShape(textOf(spelling.first(ptx::ModCategory::Shape)), form))
    return std::nullopt;
  form.kind = *kind;
  form.loaded = loadedBy(spelling);
  takeTypes(spelling, form);
  takeLayouts(spelling, form);
  form.satfinite = spelling.has(ptx::Mod::Satfinite);
  if (form.a == ptx::Type::B1)
    form.bitOperation = spelling.has(ptx::Mod::And) ? MmaBitOperation::And : MmaBitOperation::Xor;
  form.rounding = spelling.first(ptx::ModCategory::Rounding);
  form.hasOrderedMetadata = spelling.has(ptx::Mod::SpOrderedMetadata);
  form.isSparse = form.hasOrderedMetadata || spelling.has(ptx::Mod::Sp);
  if (form.isSparse) // d, a, b, c, e, f; wgmma: d, a, b, e, f
    form.selector = unsigned(inst.operands[form.kind == MmaKind::Wgmma ? 4 : 5].bits);
  for (ptx::Modifier mod :
       {ptx::Mod::KindF8f6f4, ptx::Mod::KindMxf8f6f4, ptx::Mod::KindMxf4, ptx::Mod::KindMxf4nvf4})
    if (spelling.has(mod))
      form.dataKind = mod;
  form.scalesPerRow = scalesOf(spelling);
  return form;
}

bool MmaForm::isQuadPairs() const {
  return kind == MmaKind::Mma && m == 8 && k == 4 && a == ptx::Type::F16;
}

ptx::Type MmaForm::typeOf(MmaMatrix matrix) const {
  switch (matrix) {
  case MmaMatrix::A:
    return a;
  case MmaMatrix::B:
    return b;
  case MmaMatrix::C:
    return c;
  case MmaMatrix::D:
    return d;
  }
}

unsigned MmaForm::elementBits(MmaMatrix matrix) const {
  const ptx::Type type = typeOf(matrix);
  if (type == ptx::Type::TF32)
    return 32;
  const bool inBytes = dataKind == ptx::Mod::KindF8f6f4 || dataKind == ptx::Mod::KindMxf8f6f4;
  return isFactor(matrix) && inBytes ? 8 : ptx::sizeInBits(type);
}

unsigned MmaForm::elementsPerRegister(MmaMatrix matrix) const {
  return registerBits(matrix) / elementBits(matrix);
}

unsigned MmaForm::rows(MmaMatrix matrix) const { return matrix == MmaMatrix::B ? k : m; }

unsigned MmaForm::columns(MmaMatrix matrix) const {
  if (matrix != MmaMatrix::A)
    return n;
  return isSparse ? k / 2 : k;
}

unsigned MmaForm::copies(MmaMatrix matrix) const {
  // Eight registers of two for all shapes. PTX ISA: wmma-load, fragments of f16.
  if (!isWmma() || !isFactor(matrix) || typeOf(matrix) != ptx::Type::F16)
    return 1;
  return 512 / (rows(matrix) * columns(matrix));
}

unsigned MmaForm::registers(MmaMatrix matrix) const {
  const unsigned products = isQuadPairs() ? 4 : 1;
  const unsigned perMatrix = rows(matrix) * columns(matrix) * products * copies(matrix);
  // Each warp of a warpgroup has all of B only in memory.
  return perMatrix / (lanes() * elementsPerRegister(matrix));
}

MmaForm MmaForm::tile() const {
  MmaForm tile = *this;
  tile.kind = MmaKind::Mma;
  if (isTransposed()) {
    std::swap(tile.m, tile.n);
    std::swap(tile.a, tile.b);
  }
  tile.aLayout = MmaLayout::Row, tile.bLayout = MmaLayout::Col;
  if (tile.m > 16)
    tile.m = 16;
  tile.n = 8;
  return tile;
}

unsigned MmaForm::tileRows() const { return m == 32 || isTransposed() ? 2 : 1; }
unsigned MmaForm::tileColumns() const { return m == 16 && n == 16 ? 2 : 1; }

MatrixPlace MmaForm::placeOf(MmaMatrix matrix, FragmentPlace at) const {
  if (isQuadPairs())
    return quadPairPlace(*this, matrix, at);
  if (!isWmma())
    return regularPlace(*this, matrix, at);
  const MmaForm part = tile();
  const MmaMatrix inTile = isTransposed() ? transposed(matrix) : matrix;
  at.reg %= registers(matrix) / copies(matrix);
  const unsigned index = at.reg / part.registers(inTile);
  at.reg %= part.registers(inTile);
  MatrixPlace place = regularPlace(part, inTile, at);
  // There are several tiles in one direction only.
  if (inTile != MmaMatrix::B && tileRows() > 1)
    place.row += index * part.m;
  if (inTile != MmaMatrix::A && tileColumns() > 1)
    place.column += index * part.n;
  if (isTransposed())
    std::swap(place.row, place.column);
  return place;
}

FragmentPlace MmaForm::fragmentOf(MmaMatrix matrix, MatrixPlace place) const {
  if (isQuadPairs())
    return quadPairFragment(*this, matrix, place);
  if (!isWmma())
    return regularFragment(*this, matrix, place);
  const MmaForm part = tile();
  const MmaMatrix inTile = isTransposed() ? transposed(matrix) : matrix;
  if (isTransposed())
    std::swap(place.row, place.column);
  unsigned index = 0;
  if (inTile != MmaMatrix::B && tileRows() > 1) {
    index = place.row / part.m;
    place.row %= part.m;
  }
  if (inTile != MmaMatrix::A && tileColumns() > 1) {
    index = place.column / part.n;
    place.column %= part.n;
  }
  FragmentPlace at = regularFragment(part, inTile, place);
  at.reg += index * part.registers(inTile);
  return at;
}

// ---------- Sparse forms

unsigned MmaForm::nibblesPerRow() const {
  switch (elementBits(MmaMatrix::A)) {
  case 32: // one of two
    return k / 2;
  case 4: // two pairs of four
    return k / 8;
  default: // two of four
    return k / 4;
  }
}

MetadataPlace MmaForm::metadataOf(unsigned row, unsigned stored) const {
  assert(isSparse);
  const unsigned bits = elementBits(MmaMatrix::A), nibbles = nibblesPerRow();
  const unsigned warp = row / 16, g = row % 8, half = row % 16 / 8;
  MetadataPlace place;
  unsigned nibble, inNibble;
  if (bits == 32) { // 0x4 is the first of the two, 0xe the second
    nibble = stored, inNibble = 1;
    place.base = 2 * stored;
    place.width = 1;
  } else if (bits == 4) {
    nibble = stored / 4, inNibble = stored / 2 % 2 * 2;
    place.base = 8 * nibble + stored % 2;
    place.scale = 2;
  } else {
    nibble = stored / 2, inNibble = stored % 2 * 2;
    place.base = 4 * nibble;
  }
  unsigned t;
  if (bits >= 16) { // a word has a quarter or half of two rows
    t = nibbles == 4 ? selector : 2 * selector + nibble / 4;
    place.shift = 16 * half + nibble % 4 * 4 + inNibble;
  } else { // a word has half a row, or all
    t = nibbles == 8 ? 2 * selector + half : 2 * (nibble / 8) + half;
    place.shift = nibble % 8 * 4 + inNibble;
  }
  place.lane = 32 * warp + 4 * g + t;
  return place;
}

} // namespace rubia::lowering
