// SPDX-License-Identifier: Apache-2.0
// Tensor copies, which are done at once, and changes of tensor maps.
// PTX ISA: tensor-tiled-mode, tensor-im2col-mode, tensor-swizzling-modes, tensormap-replace.
//
// Of an interleaved tensor each pixel is a row, of 16 or 32 bytes. Its first dimension is of
// pixels, and its last but one of slices, one of which is copied.
#include "reference/TensorMap.h"
#include "reference/lib/interpreter/Cta.h"
#include "reference/lib/interpreter/Decode.h"
#include "reference/lib/interpreter/Mbarrier.h"
#include "llvm/ADT/STLExtras.h"
#include <cstring>

using namespace llvm;

namespace rubia::ptx::Op {
extern const Operation CpAsyncBulkPrefetchTensor, CpAsyncBulkTensor, CpReduceAsyncBulkTensor,
    TensormapCpFenceproxy, TensormapReplace;
} // namespace rubia::ptx::Op
namespace rubia::ptx::Mod {
extern const Modifier Add, And, BoxDim, BulkGroup, Dec, ElementStride, Elemtype, FillMode,
    Geometry1d, Geometry2d, Geometry3d, Geometry4d, Geometry5d, GlobalAddress, GlobalDim,
    GlobalStride, Im2col, Im2colNoOffs, Inc, InterleaveLayout, Max, Min, MulticastCluster, Or, Rank,
    SwizzleMode, Xor;
} // namespace rubia::ptx::Mod

namespace rubia::reference::interpreter {
namespace {

namespace Mod = ptx::Mod;
using ptx::Modifier;
using ptx::StateSpace;

// By the number of an element's type.
struct ElementType {
  unsigned bytes;
  const char *text;     // as arithmetic has it
  const char *bitsText; // as logic has it
  bool isFloat;
};
constexpr ElementType kTypes[] = {
    {1, "u8", "b8", false},   {2, "u16", "b16", false}, {4, "u32", "b32", false},
    {4, "s32", "b32", false}, {8, "u64", "b64", false}, {8, "s64", "b64", false},
    {2, "f16", "b16", true},  {4, "f32", "b32", true},  {4, "f32", "b32", true},
    {8, "f64", "b64", true},  {2, "bf16", "b16", true}, {4, "f32", "b32", true},
    {4, "f32", "b32", true}};
constexpr unsigned kF32Ftz = 8, kTf32 = 11, kTf32Ftz = 12;
constexpr unsigned kPiece = 16, kRow = 128;    // bytes: what swizzling moves, and within what
constexpr int64_t kMaxSize = int64_t(1) << 31; // that an H100 copies of

struct Copy {
  unsigned rank = 1;
  bool isStore = false, isIm2col = false;
  std::string operation; // of a reduction: `add`; empty: none
  unsigned offsets = 0;  // sources: [map][shared][coordinates][mbarrier][offsets]; 0: none
  /// Of a reduction, by the element's type; those that there are not are empty.
  std::vector<std::optional<Reference>> references;
};

/// One copy of one thread.
class Tensor {
public:
  Tensor(Warp &warp, const Micro &micro, const Copy &copy, unsigned lane)
      : warp(warp), micro(micro), copy(copy), lane(lane) {}
  /// The bytes that an mbarrier is charged with; none after fail().
  std::optional<uint64_t> run();

private:
  bool read();
  bool row(std::array<int64_t, TensorMap::kMaxRank> at);
  bool element(uint64_t shared, int64_t column, uint64_t address, bool isInside);
  uint64_t loaded(uint64_t word) const;
  uint64_t filler() const { return map.fill ? 0x7ff77ff77ff77ff7 : 0; }
  int64_t sizeOf(unsigned i) const { return map.sizes[i]; }
  /// The dimension with the first row, and those that rows are of.
  unsigned first() const { return map.interleave ? 0 : 1; }
  bool isOfRows(unsigned i) const {
    return i >= first() && !(map.interleave && i == copy.rank - 2);
  }
  /// Where the bounding box of an image ends, of im2col's n-th dimension.
  int64_t boxEnd(unsigned n) const { return sizeOf(first() + n) + map.upperCorner[n]; }
  const char *whyNotCopied() const;
  bool fail(const Twine &reason) {
    warp.fail(reason, lane);
    return false;
  }
  unsigned rowElements() const {
    return map.interleave ? map.interleave * kPiece / bytes
                          : unsigned(copy.isIm2col ? map.channels : map.box[0]);
  }
  int64_t rowBegins() const { return map.interleave ? 0 : start[0]; }
  int64_t rowSize() const { return map.interleave ? rowElements() : sizeOf(0); }

  Warp &warp;
  const Micro &micro;
  const Copy &copy;
  const unsigned lane;
  TensorMap map;
  unsigned bytes = 0; // of an element
  uint64_t shared = 0, rowsDone = 0;
  std::array<int64_t, TensorMap::kMaxRank> start = {};
  std::array<int64_t, 3> offsets = {};
};

/// As the driver would write it.
TensorMap fromZero(TensorMap map) {
  const auto count = [](auto &field) { field = field ? field : 1; };
  map.magic = TensorMap::kMagic;
  count(map.rank);
  for (unsigned i = 0; i < TensorMap::kMaxRank; ++i) {
    count(map.sizes[i]);
    count(map.box[i]);
    count(map.elementStrides[i]);
  }
  return map;
}

bool Tensor::read() {
  const uint64_t address = warp.source(micro, 0)[lane] + uint64_t(int64_t(micro.sources[0].offset));
  const uint8_t *place = nullptr;
  for (unsigned i = 0; i < sizeof(map); i += 8) {
    place = warp.memory(StateSpace::None, address + i, 8, lane);
    if (!place)
      return false;
    memcpy(reinterpret_cast<uint8_t *>(&map) + i, place, 8);
  }
  if (map.magic == 0) // a kernel made it of zeros, in which these fields are 1
    map = fromZero(map);
  if (map.magic != TensorMap::kMagic || !map.rank || map.rank > TensorMap::kMaxRank ||
      map.type >= std::size(kTypes))
    return fail("the tensor map is none that Rubia's driver has made");
  if (map.rank != copy.rank || bool(map.isIm2col) != copy.isIm2col)
    return fail("the tensor map is for another mode or number of dimensions");
  bytes = kTypes[map.type].bytes;
  shared = warp.source(micro, 1)[lane] + uint64_t(int64_t(micro.sources[1].offset));
  if (shared % kRow)
    return fail("the address in shared memory is no multiple of 128");
  for (unsigned i = 0; i < copy.rank; ++i) {
    start[i] = int32_t(warp.source(micro, 2 + i)[lane]);
    if (copy.isStore && start[i] < 0)
      return fail("a coordinate of what is written is negative");
  }
  if (const char *why = whyNotCopied())
    return fail(why);
  if (!map.interleave && start[0] * bytes % kPiece)
    return fail("the innermost coordinate is no multiple of 16 bytes");
  for (unsigned i = 0; copy.offsets && i < copy.rank - 2; ++i)
    offsets[i] = uint16_t(warp.source(micro, copy.offsets + i)[lane]);
  return true;
}

// Which reductions an H200 has of a type.
static bool hasReduction(unsigned type, StringRef operation) {
  constexpr unsigned kU16 = 1, kU32 = 2, kU64 = 4, kS64 = 5, kF16 = 6, kBf16 = 10;
  const bool isOrder = operation == "min" || operation == "max";
  if (type <= kU16)
    return false;
  if (type == kU32)
    return true;
  if (type <= kU64)
    return operation != "inc" && operation != "dec";
  if (type == kS64)
    return isOrder;
  return operation == "add" || (isOrder && (type == kF16 || type == kBf16));
}

// What an H100 refuses of a map; kernels may have changed it.
const char *Tensor::whyNotCopied() const {
  if (!copy.operation.empty() && !hasReduction(map.type, copy.operation))
    return "the tensor's type has no such reduction";
  if (map.interleave > 2 || (map.interleave && map.rank < 3))
    return "the tensor map has a wrong interleaving";
  const unsigned unit = map.interleave == 2 ? 2 * kPiece : kPiece;
  if (map.base % unit)
    return "the tensor's address is misaligned";
  for (unsigned i = 0; i < copy.rank; ++i) {
    if (sizeOf(i) == 0 || sizeOf(i) > kMaxSize)
      return "a size of the tensor is 0 or above 2^31";
    if (i && map.strides[i - 1] % unit)
      return "a stride of the tensor is misaligned";
    if (isOfRows(i) && (!map.elementStrides[i] || (!copy.isIm2col && !map.box[i])))
      return "a box or element stride is 0";
  }
  if (!map.interleave && (rowElements() * bytes % kPiece ||
                          (map.swizzle && rowElements() * bytes > kPiece << map.swizzle)))
    return "the box's innermost dimension is no multiple of 16 bytes, or wider than the swizzle";
  if (!copy.isStore && map.fill && !kTypes[map.type].isFloat)
    return "NaN fills what is no floating-point type";
  for (unsigned i = 0; copy.isIm2col && i < copy.rank - 2; ++i) {
    if (copy.isStore && (map.lowerCorner[i] < 0 || map.upperCorner[i] > 0))
      return "what is written leaves the image";
    if (start[first() + i] < map.lowerCorner[i] || start[first() + i] >= boxEnd(i))
      return "the first pixel lies outside of the image's bounding box";
  }
  return nullptr;
}

// A load rounds tf32 to the nearest even; all of its NaNs are one.
uint64_t Tensor::loaded(uint64_t word) const {
  if (map.type < kTf32)
    return word;
  if ((word & 0x7fffffff) > 0x7f800000)
    return 0x7fffe000;
  return (word + 0xfff + (word >> 13 & 1)) & 0xffffe000;
}

bool Tensor::element(uint64_t place, int64_t column, uint64_t address, bool isInside) {
  if (copy.isStore) { // whole pieces are written
    const int64_t ends = int64_t(alignTo(uint64_t(rowSize()) * bytes, kPiece));
    if (!isInside || column < 0 || column * bytes >= ends)
      return true;
  }
  const uint64_t mask = (1u << map.swizzle) - 1;
  place ^= (place / kRow & mask) * kPiece;
  uint8_t *here = warp.memory(StateSpace::Shared, place, bytes, lane);
  if (!here)
    return false;
  if (!copy.isStore && (!isInside || column < 0 || column >= rowSize())) {
    const uint64_t word = filler();
    memcpy(here, &word, bytes);
    return true;
  }
  uint8_t *there = warp.memory(StateSpace::Global, address + uint64_t(column * bytes), bytes, lane);
  if (!there)
    return false;
  uint64_t theirs = 0, ours = 0;
  memcpy(&theirs, there, bytes);
  memcpy(&ours, here, bytes);
  if (!copy.isStore) {
    ours = loaded(theirs);
    memcpy(here, &ours, bytes);
    return true;
  }
  if (copy.operation == "inc")
    ours = theirs >= ours ? 0 : theirs + 1;
  else if (copy.operation == "dec")
    ours = theirs == 0 || theirs > ours ? ours : theirs - 1;
  else if (!copy.operation.empty()) {
    const std::optional<Reference> &reference = copy.references[map.type];
    if (!reference)
      return fail("unsupported: this reduction of " + Twine(kTypes[map.type].text));
    ReferenceInputs inputs;
    inputs.source[0] = theirs;
    inputs.source[1] = ours;
    ours = uint64_t((*reference)(inputs).bits);
  }
  memcpy(there, &ours, bytes);
  return true;
}

bool Tensor::row(std::array<int64_t, TensorMap::kMaxRank> at) {
  bool isInside = true;
  uint64_t address = map.base;
  for (unsigned i = first(); i < copy.rank; ++i) {
    isInside &= at[i] >= 0 && at[i] < sizeOf(i);
    address += uint64_t(at[i]) * (i ? map.strides[i - 1] : map.interleave * kPiece);
  }
  const uint64_t pitch =
      map.swizzle && !map.interleave ? kPiece << map.swizzle : rowElements() * bytes;
  const uint64_t place = shared + rowsDone++ * pitch;
  for (unsigned i = 0; i < rowElements(); ++i)
    if (!element(place + i * bytes, rowBegins() + i, address, isInside))
      return false;
  return true;
}

std::optional<uint64_t> Tensor::run() {
  if (!read())
    return std::nullopt;
  std::array<int64_t, TensorMap::kMaxRank> at = start;
  if (copy.isIm2col) { // pixel after pixel of a box, then of that of the next image
    const unsigned inImage = copy.rank - 2;
    for (unsigned pixel = 0; pixel < map.pixels; ++pixel) {
      auto place = at;
      for (unsigned n = 0; n < inImage; ++n)
        place[first() + n] += offsets[n];
      if (!row(place))
        return std::nullopt;
      unsigned n = 0;
      for (; n < inImage; ++n) {
        const unsigned i = first() + n;
        at[i] += map.elementStrides[i];
        if (at[i] < boxEnd(n))
          break;
        at[i] = map.lowerCorner[n];
      }
      if (n == inImage)
        at[copy.rank - 1] += map.elementStrides[copy.rank - 1];
    }
    return rowsDone * rowElements() * bytes;
  }
  std::array<unsigned, TensorMap::kMaxRank> index = {};
  for (;;) {
    if (!row(at))
      return std::nullopt;
    unsigned i = first();
    for (; i < copy.rank; ++i) {
      if (!isOfRows(i))
        continue;
      at[i] += map.elementStrides[i];
      if (++index[i] * map.elementStrides[i] < map.box[i])
        break;
      index[i] = 0;
      at[i] = start[i];
    }
    if (i >= copy.rank)
      return rowsDone * rowElements() * bytes;
  }
}

void copyTensor(Warp &warp, const Micro &micro) {
  const auto &copy = *static_cast<const Copy *>(micro.data);
  for (unsigned lane = 0; lane < kLanes && !warp.hasFailed(); ++lane) {
    if (!(warp.active >> lane & 1))
      continue;
    const std::optional<uint64_t> bytes = Tensor(warp, micro, copy, lane).run();
    const unsigned mbarrier = 2 + copy.rank;
    if (bytes && !copy.isStore)
      completeBytes(warp,
                    warp.source(micro, mbarrier)[lane] +
                        uint64_t(int64_t(micro.sources[mbarrier].offset)),
                    lane, *bytes);
  }
}

void decodeTensor(Decoder &decoder, bool reduces) {
  const ptx::Spelling &spelling = decoder.spelling();
  ArrayRef<ptx::Operand> operands = decoder.inst().operands;
  auto &copy = decoder.code.keep<Copy>();
  const Modifier kRanks[] = {Mod::Geometry1d, Mod::Geometry2d, Mod::Geometry3d, Mod::Geometry4d,
                             Mod::Geometry5d};
  copy.rank =
      1 + unsigned(find(kRanks, spelling.first(ptx::ModCategory::Geometry)) - std::begin(kRanks));
  copy.isStore = spelling.has(Mod::BulkGroup);
  copy.isIm2col = spelling.has(Mod::Im2col) || spelling.has(Mod::Im2colNoOffs);
  if (copy.rank > TensorMap::kMaxRank || spelling.has(Mod::MulticastCluster))
    return decoder.unsupported("a tensor copy of this form");
  if (reduces)
    for (Modifier mod :
         {Mod::Add, Mod::Min, Mod::Max, Mod::Inc, Mod::Dec, Mod::And, Mod::Or, Mod::Xor})
      if (spelling.has(mod))
        copy.operation = ptx::textOf(mod).drop_front().str();
  const bool isLogic = is_contained({"and", "or", "xor"}, copy.operation);
  for (auto [number, type] : enumerate(kTypes)) {
    auto &reference = copy.references.emplace_back();
    if (!reduces || number == kTf32Ftz) // of which nothing was recorded
      continue;
    const char *rounding = copy.operation != "add" || !type.isFloat ? "."
                           : number == kF32Ftz                      ? ".rn.ftz."
                                                                    : ".rn.";
    auto found = referenceFor(copy.operation + rounding + (isLogic ? type.bitsText : type.text));
    if (found)
      reference = std::move(*found);
    else
      consumeError(found.takeError()); // said where such a tensor comes
  }
  const ptx::Operand &tensor = operands[copy.isStore ? 0 : 1],
                     &shared = operands[copy.isStore ? 1 : 0];
  ArrayRef<ptx::Operand> parts = tensor.elements();
  if (parts.size() < 2)
    return decoder.unsupported("a tensor without coordinates");
  decoder.source(parts[0], ptx::Type::B64);
  decoder.source(shared, ptx::Type::B64);
  for (const ptx::Operand &part : parts.drop_front())
    decoder.source(part, ptx::Type::S32);
  if (decoder.sources.size() != 2 + copy.rank)
    return decoder.unsupported("another number of coordinates");
  if (!copy.isStore)
    decoder.source(operands[2], ptx::Type::B64);
  if (spelling.has(Mod::Im2col)) {
    copy.offsets = unsigned(decoder.sources.size());
    decoder.source(operands[3], ptx::Type::U16);
    if (decoder.sources.size() != copy.offsets + copy.rank - 2)
      return decoder.unsupported("another number of offsets");
  }
  decoder.micro.data = &copy;
  decoder.execute(copyTensor);
}
void decodeCopy(Decoder &decoder) { decodeTensor(decoder, false); }
void decodeReduction(Decoder &decoder) { decodeTensor(decoder, true); }

void nothing(Warp &, const Micro &) {}
void decodeHint(Decoder &decoder) { decoder.execute(nothing); }

// ---------- Tensor maps

struct Field {
  const Modifier &mod;
  size_t offset;
  unsigned bytes, count;
  uint64_t kept;  // bits of the value, with
  int64_t before; // added to the value for that,
  unsigned added; // and after it
};
constexpr uint64_t kAll = ~uint64_t(0);
// An H100 keeps eight bits of one less than a box, three of one less than an element stride, and
// 36 of a stride's pieces of 16 bytes. Ranks are counted from 0.
constexpr Field kFields[] = {
    {Mod::GlobalAddress, offsetof(TensorMap, base), 8, 1, kAll, 0, 0},
    {Mod::Rank, offsetof(TensorMap, rank), 1, 1, kAll, 1, 0},
    {Mod::GlobalStride, offsetof(TensorMap, strides), 8, TensorMap::kMaxRank - 1, 0xfffffffff0, 0,
     0},
    {Mod::GlobalDim, offsetof(TensorMap, sizes), 4, TensorMap::kMaxRank, kAll, 0, 0},
    {Mod::BoxDim, offsetof(TensorMap, box), 2, TensorMap::kMaxRank, 0xff, -1, 1},
    {Mod::ElementStride, offsetof(TensorMap, elementStrides), 1, TensorMap::kMaxRank, 7, -1, 1},
    {Mod::Elemtype, offsetof(TensorMap, type), 1, 1, kAll, 0, 0},
    {Mod::InterleaveLayout, offsetof(TensorMap, interleave), 1, 1, kAll, 0, 0},
    {Mod::SwizzleMode, offsetof(TensorMap, swizzle), 1, 1, kAll, 0, 0},
    {Mod::FillMode, offsetof(TensorMap, fill), 1, 1, kAll, 0, 0}};

struct Replacement {
  const Field *field;
  StateSpace space;
  size_t offset;
};
void replace(Warp &warp, const Micro &micro) {
  const auto &[field, space, offset] = *static_cast<const Replacement *>(micro.data);
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if (!(warp.active >> lane & 1))
      continue;
    const uint64_t address =
        warp.source(micro, 0)[lane] + uint64_t(int64_t(micro.sources[0].offset)) + offset;
    uint8_t *place = warp.memory(space, address, field->bytes, lane);
    if (!place)
      return;
    uint64_t value =
        ((warp.source(micro, 1)[lane] + uint64_t(field->before)) & field->kept) + field->added;
    if (field->mod == Mod::GlobalDim && !uint32_t(value)) // no size, but 1 in a map of zeros
      value = ~uint64_t(0);
    memcpy(place, &value, field->bytes);
  }
}

void decodeReplace(Decoder &decoder) {
  const ptx::Spelling &spelling = decoder.spelling();
  ArrayRef<ptx::Operand> operands = decoder.inst().operands;
  unsigned ordinal = 0;
  if (operands.size() == 3) {
    if (operands[1].kind != ptx::Operand::Kind::Integer)
      return decoder.unsupported("a dimension that is no constant");
    ordinal = unsigned(operands[1].bits);
  }
  const auto *field = find_if(kFields, [&](const Field &known) { return spelling.has(known.mod); });
  if (field == std::end(kFields) || ordinal >= field->count)
    return decoder.unsupported("this field of a tensor map");
  decoder.source(operands[0], ptx::Type::B64);
  decoder.source(operands.back(), ptx::Type::B64);
  auto &replacement = decoder.code.keep<Replacement>();
  replacement = {field, spelling.space(), field->offset + size_t(ordinal) * field->bytes};
  decoder.micro.data = &replacement;
  decoder.execute(replace);
}

// 128 bytes from shared to global memory, for all of the warp.
void copyMap(Warp &warp, const Micro &micro) {
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if (!(warp.active >> lane & 1))
      continue;
    for (unsigned i = 0; i < sizeof(TensorMap); i += 8) {
      const auto at = [&](unsigned n) {
        return warp.source(micro, n)[lane] + uint64_t(int64_t(micro.sources[n].offset)) + i;
      };
      const uint8_t *from = warp.memory(StateSpace::Shared, at(1), 8, lane);
      uint8_t *to = from ? warp.memory(StateSpace::Global, at(0), 8, lane) : nullptr;
      if (!to)
        return;
      memcpy(to, from, 8);
    }
  }
}

void decodeCopyMap(Decoder &decoder) {
  decoder.source(decoder.inst().operands[0], ptx::Type::B64);
  decoder.source(decoder.inst().operands[1], ptx::Type::B64);
  decoder.execute(copyMap);
}

constexpr Family kFamilies[] = {
    {ptx::Op::CpAsyncBulkTensor, decodeCopy},
    {ptx::Op::CpReduceAsyncBulkTensor, decodeReduction},
    {ptx::Op::CpAsyncBulkPrefetchTensor, decodeHint},
    {ptx::Op::TensormapReplace, decodeReplace},
    {ptx::Op::TensormapCpFenceproxy, decodeCopyMap},
};

} // namespace

ArrayRef<Family> tensorCopies() { return kFamilies; }

} // namespace rubia::reference::interpreter
