// SPDX-License-Identifier: Apache-2.0
// Products of matrices in software, against the reference of reference/MatrixReference.h: every
// type, shape and modifier, with numbers of all kinds.
#include "lowering/lib/analysis/MmaForm.h"
#include "ptx-frontend/Parser.h"
#include "reference/MatrixReference.h"
#include "tests/lowering/execution/Execution.h"
#include <map>
#include <random>
#include <regex>

using namespace rubia;
using namespace rubia::lowering;
using namespace rubia::lowering::test;
using ptx::Type;

namespace rubia::settings::MmaMode {
extern const Word H100;
} // namespace rubia::settings::MmaMode

namespace {

constexpr unsigned kLanes = 32, kThreads = 64;

const char *nameOf(Type type) {
  static const std::map<Type, const char *> names = {
      {Type::F16, "f16"}, {Type::BF16, "bf16"}, {Type::TF32, "tf32"}, {Type::F32, "f32"},
      {Type::F64, "f64"}, {Type::E4M3, "e4m3"}, {Type::E5M2, "e5m2"}, {Type::S8, "s8"},
      {Type::U8, "u8"},   {Type::S4, "s4"},     {Type::U4, "u4"},     {Type::B1, "b1"},
      {Type::S32, "s32"}};
  return names.at(type);
}

// A spelling whose operands follow from its form.
struct Product {
  std::string spelling;
  MmaForm form;
  unsigned words[3]; // of A, B, C in a lane; D has as many as it has registers
  unsigned dWords;

  explicit Product(const std::string &spelling, unsigned selector = 0);
  unsigned inputWords() const { return words[0] + words[1] + words[2] + 1; }
  std::string kernel() const;
};

const char *heldAs(Type type) {
  return type == Type::F64 ? "f64" : type == Type::F32 ? "f32" : "b32";
}

std::string names(const std::string &prefix, unsigned count) {
  std::string text = "{";
  for (unsigned i = 0; i < count; ++i)
    text += (i ? ", " : "") + prefix + std::to_string(i);
  return text + "}";
}

// What the table says of the fragments' sizes, from the numbers in the spelling.
MmaForm formOf(const std::string &spelling, unsigned selector) {
  // The parser insists on the right number of registers, so that it is asked until it agrees.
  for (unsigned d : {4, 2, 8})
    for (unsigned a : {4, 2, 1, 8})
      for (unsigned b : {2, 1, 4, 8})
        for (unsigned c : {4, 2, 8}) {
          auto registers = [&](llvm::StringRef word, unsigned count) {
            return names(word == "f64" ? "%d" : word == "f32" ? "%f" : "%r", count);
          };
          llvm::SmallVector<llvm::StringRef> words;
          llvm::StringRef(spelling).split(words, '.');
          const bool isDouble = spelling.find("f64") != std::string::npos;
          llvm::StringRef cWord = words.back() == "popc" ? "s32" : words.back();
          llvm::StringRef dWord = words.back() == "popc" ? "s32" : words[words.size() - 4];
          std::string factor = isDouble ? "f64" : "b32";
          std::string text =
              ".version 9.0\n.target sm_90\n.address_size 64\n.entry k() {\n"
              ".reg .b32 %r<9>; .reg .f32 %f<9>; .reg .f64 %d<9>;\n" +
              spelling + " " + registers(dWord, d) + ", " + registers(factor, a) + ", " +
              registers(factor, b) + ", " + registers(cWord, c) +
              (spelling.starts_with("mma.sp") ? ", %r0, " + std::to_string(selector) : "") +
              ";\nret;\n}\n";
          ptx::ParseResult result = ptx::parse("test.ptx", text);
          if (result.diagnostics.empty())
            return *MmaForm::of(result.module.functions.front()->body.front());
        }
  ADD_FAILURE() << "not understood: " << spelling;
  return {};
}

Product::Product(const std::string &spelling, unsigned selector)
    : spelling(spelling), form(formOf(spelling, selector)) {
  MmaMatrix all[] = {MmaMatrix::A, MmaMatrix::B, MmaMatrix::C};
  for (unsigned i = 0; i < 3; ++i)
    words[i] = form.registers(all[i]) * form.registerBits(all[i]) / 32;
  words[0] += words[0] % 2; // f64 stays aligned
  words[1] += words[1] % 2;
  dWords = form.registers(MmaMatrix::D) * form.registerBits(MmaMatrix::D) / 32;
}

std::string Product::kernel() const {
  std::string body = ".reg .b32 %e; .reg .b64 %from, %to;";
  auto declare = [&](const char *prefix, Type type, unsigned count) {
    body +=
        ".reg ." + std::string(heldAs(type)) + " %" + prefix + "<" + std::to_string(count) + ">;";
  };
  const char *prefixes[] = {"ma", "mb", "mc"};
  const MmaMatrix all[] = {MmaMatrix::A, MmaMatrix::B, MmaMatrix::C};
  body += "mad.wide.u32 %from, %tid, " + std::to_string(4 * (inputWords() + inputWords() % 2)) +
          ", %buf;";
  unsigned at = 0;
  for (unsigned i = 0; i < 3; ++i) {
    const Type type = form.typeOf(all[i]);
    const unsigned size = form.registerBits(all[i]) / 8;
    declare(prefixes[i], type, form.registers(all[i]));
    for (unsigned r = 0; r < form.registers(all[i]); ++r)
      body += "ld.global." + std::string(heldAs(type)) + " %" + prefixes[i] + std::to_string(r) +
              ", [%from+" + std::to_string(4 * at + r * size) + "];";
    at += words[i];
  }
  body += "ld.global.b32 %e, [%from+" + std::to_string(4 * at) + "];";
  declare("md", form.d, form.registers(MmaMatrix::D));
  body += spelling + " " + names("%md", form.registers(MmaMatrix::D)) + ", " +
          names("%ma", form.registers(MmaMatrix::A)) + ", " +
          names("%mb", form.registers(MmaMatrix::B)) + ", " +
          names("%mc", form.registers(MmaMatrix::C)) +
          (form.isSparse ? ", %e, " + std::to_string(form.selector) : "") + ";";
  body += "mad.wide.u32 %to, %tid, " + std::to_string(4 * dWords) + ", %buf;";
  const unsigned first = 4 * kThreads * (inputWords() + inputWords() % 2);
  const unsigned size = form.registerBits(MmaMatrix::D) / 8;
  for (unsigned r = 0; r < form.registers(MmaMatrix::D); ++r)
    body += "st.global." + std::string(heldAs(form.d)) + " [%to+" +
            std::to_string(first + r * size) + "], %md" + std::to_string(r) + ";";
  // What has these forms.
  return std::regex_replace(executable(body + "ret;"),
                            std::regex("\\.version [0-9.]+\\s+\\.target [a-z_0-9]+"),
                            ".version 9.0\n.target sm_90");
}

using Matrix = std::map<std::tuple<unsigned, unsigned, unsigned>, uint64_t>;

uint64_t elementAt(llvm::ArrayRef<uint32_t> words, unsigned bits, unsigned index) {
  uint64_t value = 0;
  const unsigned at = index * bits;
  value = words[at / 32] >> at % 32;
  if (bits == 64)
    return uint64_t(words[at / 32 + 1]) << 32 | words[at / 32];
  return bits == 32 ? value : value & ((1u << bits) - 1);
}

Matrix gather(const MmaForm &form, MmaMatrix matrix, llvm::ArrayRef<uint32_t> warp, unsigned stride,
              unsigned first) {
  Matrix elements;
  const unsigned perRegister = form.elementsPerRegister(matrix);
  for (unsigned lane = 0; lane < kLanes; ++lane)
    for (unsigned r = 0; r < form.registers(matrix); ++r)
      for (unsigned i = 0; i < perRegister; ++i) {
        MatrixPlace at = form.placeOf(matrix, {lane, r, i});
        elements[{at.product, at.row, at.column}] = elementAt(
            warp.slice(lane * stride + first), form.elementBits(matrix), r * perRegister + i);
      }
  return elements;
}

// Random bits, or numbers near 1 with the same sign half of the time.
uint32_t randomWord(Type type, unsigned round, std::mt19937 &random) {
  uint32_t word = random();
  if (round == 0)
    return word;
  switch (type) {
  case Type::F16:
    return (word & 0x8fff8fff) | 0x34003400;
  case Type::BF16:
    return (word & 0x83ff83ff) | 0x3c003c00;
  case Type::TF32:
  case Type::F32:
    return (word & 0x83ffffff) | 0x3c000000;
  default:
    return word;
  }
}

// The first warp has random bits, the second numbers near 1.
std::vector<uint32_t> inputsFor(const Product &product) {
  std::mt19937 random(1);
  const unsigned stride = product.inputWords() + product.inputWords() % 2;
  std::vector<uint32_t> words(kThreads * (stride + product.dWords));
  static constexpr uint32_t kTwoOfFour[] = {4, 8, 9, 12, 13, 14};
  for (unsigned thread = 0; thread < kThreads; ++thread) {
    uint32_t *to = &words[thread * stride];
    const unsigned round = thread / kLanes;
    const Type types[] = {product.form.a, product.form.b, product.form.c};
    for (unsigned i = 0; i < 3; ++i)
      for (unsigned w = 0; w < product.words[i]; ++w) {
        *to = randomWord(types[i], round, random);
        if (types[i] == Type::F64 && w % 2 && round)
          *to = (*to & 0x800fffff) | 0x3fe00000;
        ++to;
      }
    for (unsigned nibble = 0; nibble < 8; ++nibble)
      *to = *to << 4 |
            (product.form.a == Type::TF32 ? (random() % 2 ? 14 : 4) : kTwoOfFour[random() % 6]);
  }
  return words;
}

reference::MatrixProduct referenceOf(const MmaForm &form) {
  reference::MatrixProduct product;
  product.a = nameOf(form.a), product.b = nameOf(form.b);
  product.c = nameOf(form.c), product.d = nameOf(form.d);
  product.unit = form.isQuadPairs() ? reference::MatrixProduct::Unit::Quads
                                    : reference::MatrixProduct::Unit::Mma;
  product.satfinite = form.satfinite;
  product.isAnd = form.bitOperation == MmaBitOperation::And;
  product.rounding = form.rounding == ptx::Mod::None ? "rn" : textOf(form.rounding).drop_front();
  return product;
}

bool isNan(Type type, uint64_t bits) {
  return type == Type::F64 && (bits & ~(uint64_t(1) << 63)) > uint64_t(0x7ff) << 52;
}

// The D of a warp by the reference.
void checkWarp(const Product &product, llvm::ArrayRef<uint32_t> inputs,
               llvm::ArrayRef<uint32_t> results) {
  const MmaForm &form = product.form;
  const unsigned stride = product.inputWords() + product.inputWords() % 2;
  Matrix a = gather(form, MmaMatrix::A, inputs, stride, 0);
  Matrix b = gather(form, MmaMatrix::B, inputs, stride, product.words[0]);
  Matrix c = gather(form, MmaMatrix::C, inputs, stride, product.words[0] + product.words[1]);
  Matrix d = gather(form, MmaMatrix::D, results, product.dWords, 0);
  const reference::MatrixProduct expected = referenceOf(form);
  unsigned wrong = 0;
  for (auto &[at, got] : d) {
    auto [number, row, column] = at;
    std::vector<uint64_t> x, y;
    for (unsigned k = 0; k < form.columns(MmaMatrix::A); ++k) {
      unsigned inB = k;
      if (form.isSparse) {
        MetadataPlace place = form.metadataOf(row, k);
        uint32_t word = inputs[place.lane * stride + product.inputWords() - 1];
        inB = place.base + place.scale * (word >> place.shift & ((1u << place.width) - 1));
      }
      x.push_back(a.at({number, row, k}));
      y.push_back(b.at({number, inB, column}));
    }
    uint64_t want =
        llvm::cantFail(reference::matrixElement(expected, x, y, c.at({number, row, column})));
    if (got != want && !(isNan(form.d, got) && isNan(form.d, want)) && ++wrong <= 3)
      ADD_FAILURE() << product.spelling << " row " << row << " column " << column << ": "
                    << std::hex << got << ", expected " << want;
  }
  EXPECT_EQ(wrong, 0u);
}

void check(const Product &product, const Form &how) {
  const unsigned stride = product.inputWords() + product.inputWords() % 2;
  std::vector<uint32_t> inputs = inputsFor(product);
  std::vector<uint32_t> results = run(product.kernel(), inputs, how).words;
  ASSERT_EQ(results.size(), inputs.size());
  for (unsigned warp = 0; warp < kThreads / kLanes; ++warp)
    checkWarp(product, llvm::ArrayRef(inputs).slice(warp * kLanes * stride, kLanes * stride),
              llvm::ArrayRef(results).slice(kThreads * stride + warp * kLanes * product.dWords,
                                            kLanes * product.dWords));
}

Form threads(const char *arch, bool halfFilled = false, bool packed = false) {
  Form form;
  form.arch = arch;
  form.halfFilled = halfFilled;
  form.packed = packed;
  form.block = {kThreads, 1, 1};
  form.mma = settings::MmaMode::H100;
  return form;
}

} // namespace

// Every kind of product, in wave32.
TEST(SoftwareMma, AllTypesInWave32) {
  for (const char *spelling : {
           "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
           "mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16",
           "mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32",
           "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32",
           "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32",
           "mma.sync.aligned.m16n8k16.row.col.f16.e5m2.e4m3.f16",
           "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64",
           "mma.sync.aligned.m16n8k16.row.col.rz.f64.f64.f64.f64",
           "mma.sync.aligned.m16n8k8.row.col.rp.f64.f64.f64.f64",
           "mma.sync.aligned.m16n8k4.row.col.rm.f64.f64.f64.f64",
           "mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.u8.s32",
           "mma.sync.aligned.m8n8k16.row.col.s32.u8.s8.s32",
           "mma.sync.aligned.m16n8k64.row.col.s32.s4.u4.s32",
           "mma.sync.aligned.m8n8k32.row.col.satfinite.s32.u4.u4.s32",
           "mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.xor.popc",
           "mma.sync.aligned.m8n8k128.row.col.s32.b1.b1.s32.and.popc",
           "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f16",
           "mma.sync.aligned.m8n8k4.col.row.f16.f16.f16.f16",
           "mma.sync.aligned.m8n8k4.row.row.f32.f16.f16.f32",
       })
    check(Product(spelling), threads("gfx1100"));
}

TEST(SoftwareMma, AllSparseTypesInWave32) {
  check(Product("mma.sp.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16", 3), threads("gfx1100"));
  check(Product("mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.bf16.bf16.f32", 1),
        threads("gfx1100"));
  check(Product("mma.sp.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", 2), threads("gfx1100"));
  check(Product("mma.sp.sync.aligned.m16n8k16.row.col.f32.tf32.tf32.f32", 1), threads("gfx1100"));
  check(Product("mma.sp.sync.aligned.m16n8k64.row.col.f32.e5m2.e5m2.f32"), threads("gfx1100"));
  check(Product("mma.sp.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32", 1), threads("gfx1100"));
  check(Product("mma.sp.sync.aligned.m16n8k64.row.col.satfinite.s32.u8.u8.s32"),
        threads("gfx1100"));
  check(Product("mma.sp.sync.aligned.m16n8k64.row.col.s32.u4.s4.s32", 1), threads("gfx1100"));
  check(Product("mma.sp.sync.aligned.m16n8k128.row.col.s32.s4.s4.s32"), threads("gfx1100"));
}

// Each target and warp form has one of each way to exchange and to add.
TEST(SoftwareMma, OnAllTargets) {
  const Product products[] = {Product("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"),
                              Product("mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32")};
  for (const char *arch : kTargets)
    for (const Product &product : products) {
      check(product, threads(arch, isWave64(arch)));
      if (isWave64(arch))
        check(product, threads(arch, false, true));
    }
}

// ---------- wmma: from memory to memory, whatever its fragments are

namespace {

struct Tile {
  unsigned rows, columns;
  Type type;
  bool isRowMajor;
  unsigned padding;   // of the stride, in elements
  unsigned first = 0; // bit of the buffer

  unsigned stride() const { return (isRowMajor ? columns : rows) + padding; }
  unsigned bits() const { return type == Type::TF32 ? 32 : ptx::sizeInBits(type); }
  unsigned size() const { return (isRowMajor ? rows : columns) * stride() * bits(); }
  unsigned placeOf(unsigned row, unsigned column) const {
    return first / bits() + (isRowMajor ? row * stride() + column : column * stride() + row);
  }
};

struct Whole {
  unsigned m, n, k;
  Type a, c, d;
  const char *layouts; // of A, B, C, D: "rccr"
  bool isPadded;
  const char *suffix = ""; // .satfinite
  const char *operation = "";
};

void checkWhole(const Whole &whole, const Form &how) {
  auto layout = [&](unsigned i) { return whole.layouts[i] == 'r' ? "row" : "col"; };
  auto padding = [&](Type type) {
    return whole.isPadded ? 128 / Tile{1, 1, type, true, 0}.bits() : 0u;
  };
  Tile tiles[] = {{whole.m, whole.k, whole.a, whole.layouts[0] == 'r', padding(whole.a)},
                  {whole.k, whole.n, whole.a, whole.layouts[1] == 'r', padding(whole.a)},
                  {whole.m, whole.n, whole.c, whole.layouts[2] == 'r', padding(whole.c)},
                  {whole.m, whole.n, whole.d, whole.layouts[3] == 'r', padding(whole.d)}};
  unsigned end = 0;
  for (Tile &tile : tiles) {
    tile.first = end;
    end += (tile.size() + 255) / 256 * 256;
  }
  const std::string shape = ".m" + std::to_string(whole.m) + "n" + std::to_string(whole.n) + "k" +
                            std::to_string(whole.k);
  std::string body = ".reg .b64 %tiles; .reg .b32 %warp; shr.u32 %warp, %tid, 5;"
                     "mad.wide.u32 %tiles, %warp, " +
                     std::to_string(end / 8) + ", %buf;";
  const char *names4[] = {"wa", "wb", "wc", "wd"};
  std::string fragments[4];
  for (unsigned i = 0; i < 4; ++i) {
    const unsigned count = i < 2 && whole.a == Type::F16
                               ? 8
                               : tiles[i].rows * tiles[i].columns * tiles[i].bits() / 32 /
                                     (tiles[i].type == Type::F64 ? 64 : 32);
    fragments[i] = names("%" + std::string(names4[i]), count);
    body += ".reg ." + std::string(heldAs(tiles[i].type)) + " %" + names4[i] + "<" +
            std::to_string(count) + ">;";
  }
  auto at = [&](unsigned i) {
    std::string text = "[%tiles+" + std::to_string(tiles[i].first / 8) + "]";
    return whole.isPadded ? text + ", " + std::to_string(tiles[i].stride()) : text;
  };
  for (unsigned i = 0; i < 3; ++i)
    body += "wmma.load." + std::string(1, "abc"[i]) + ".sync.aligned." + layout(i) + shape +
            ".global." + nameOf(tiles[i].type) + " " + fragments[i] + ", " + at(i) + ";";
  const std::string types = whole.a == Type::F16
                                ? "." + std::string(nameOf(whole.d)) + "." + nameOf(whole.c)
                                : "." + std::string(nameOf(whole.d)) + "." + nameOf(whole.a) + "." +
                                      nameOf(whole.a) + "." + nameOf(whole.c);
  body += "wmma.mma" + std::string(whole.operation) + ".sync.aligned." + layout(0) + "." +
          layout(1) + shape + types + whole.suffix + " " + fragments[3] + ", " + fragments[0] +
          ", " + fragments[1] + ", " + fragments[2] + ";";
  body += "wmma.store.d.sync.aligned." + std::string(layout(3)) + shape + ".global." +
          nameOf(whole.d) + " " +
          (whole.isPadded ? "[%tiles+" + std::to_string(tiles[3].first / 8) + "], " + fragments[3] +
                                ", " + std::to_string(tiles[3].stride())
                          : at(3) + ", " + fragments[3]) +
          ";ret;";
  SCOPED_TRACE("wmma" + shape + types + " " + whole.layouts);

  std::mt19937 random(7);
  const unsigned warps = kThreads / kLanes;
  std::vector<uint32_t> words(warps * end / 32);
  for (uint32_t &word : words)
    word = randomWord(whole.a, 1, random);
  std::vector<uint32_t> results = run(executable(body), words, how).words;
  ASSERT_EQ(results.size(), words.size());

  reference::MatrixProduct product;
  product.a = product.b = nameOf(whole.a);
  product.c = nameOf(whole.c), product.d = nameOf(whole.d);
  product.unit = reference::MatrixProduct::Unit::Wmma;
  product.satfinite = *whole.suffix;
  product.isAnd = llvm::StringRef(whole.operation).contains("and");
  std::vector<uint32_t> expected = words;
  auto put = [&](llvm::MutableArrayRef<uint32_t> warp, unsigned bits, unsigned index,
                 uint64_t value) {
    if (bits == 64)
      warp[2 * index + 1] = uint32_t(value >> 32);
    uint32_t &word = warp[index * bits / 32];
    const unsigned shift = index * bits % 32;
    const uint32_t mask = bits >= 32 ? ~0u : (1u << bits) - 1;
    word = (word & ~(mask << shift)) | (uint32_t(value) & mask) << shift;
  };
  for (unsigned warp = 0; warp < warps; ++warp) {
    llvm::ArrayRef<uint32_t> mine = llvm::ArrayRef(words).slice(warp * end / 32, end / 32);
    auto element = [&](const Tile &tile, unsigned row, unsigned column) {
      return elementAt(mine, tile.bits(), tile.placeOf(row, column));
    };
    for (unsigned row = 0; row < whole.m; ++row)
      for (unsigned column = 0; column < whole.n; ++column) {
        std::vector<uint64_t> x, y;
        for (unsigned k = 0; k < whole.k; ++k) {
          x.push_back(element(tiles[0], row, k));
          y.push_back(element(tiles[1], k, column));
        }
        put(llvm::MutableArrayRef(expected).slice(warp * end / 32, end / 32), tiles[3].bits(),
            tiles[3].placeOf(row, column),
            llvm::cantFail(
                reference::matrixElement(product, x, y, element(tiles[2], row, column))));
      }
  }
  // What lies between the rows of D stays as it was.
  EXPECT_EQ(results, expected);
}

} // namespace

TEST(SoftwareWmma, FromMemoryToMemory) {
  for (const Whole &whole :
       {Whole{16, 16, 16, Type::F16, Type::F32, Type::F32, "rccr", true},
        {16, 16, 16, Type::F16, Type::F16, Type::F32, "crrc", false},
        {8, 32, 16, Type::F16, Type::F32, Type::F16, "rrcr", false},
        {8, 32, 16, Type::F16, Type::F16, Type::F16, "ccrc", true},
        {32, 8, 16, Type::F16, Type::F16, Type::F16, "rcrr", true},
        {32, 8, 16, Type::BF16, Type::F32, Type::F32, "crcc", false},
        {8, 32, 16, Type::BF16, Type::F32, Type::F32, "rcrc", true},
        {16, 16, 8, Type::TF32, Type::F32, Type::F32, "rrcr", true},
        {16, 16, 8, Type::TF32, Type::F32, Type::F32, "ccrr", false},
        {8, 8, 4, Type::F64, Type::F64, Type::F64, "crcr", false},
        {16, 16, 16, Type::S8, Type::S32, Type::S32, "rccr", false, ".satfinite"},
        {8, 32, 16, Type::U8, Type::S32, Type::S32, "crrc", true},
        {32, 8, 16, Type::S8, Type::S32, Type::S32, "rrrr", false},
        {8, 8, 32, Type::U4, Type::S32, Type::S32, "rcrc", false, ".satfinite"},
        {8, 8, 128, Type::B1, Type::S32, Type::S32, "rccr", false, "", ".xor.popc"},
        {8, 8, 128, Type::B1, Type::S32, Type::S32, "rcrr", true, "", ".and.popc"}})
    checkWhole(whole, threads("gfx1100"));
  const Whole turned = {8, 32, 16, Type::F16, Type::F32, Type::F32, "crrc", true};
  checkWhole(turned, threads("gfx942", true));
  checkWhole(turned, threads("gfx90a", false, true));
}
