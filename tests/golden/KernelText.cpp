// SPDX-License-Identifier: Apache-2.0
#include "KernelText.h"
#include "MatrixInputs.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/xxhash.h"
#include <cstring>
#include <map>
#include <random>
#include <set>

using namespace llvm;

namespace rubia::golden {
namespace {

using Row = std::vector<std::string>;

// `each` and `do`: columns and their rows.
struct Table {
  std::vector<std::string> names;
  std::vector<Row> rows;
};

struct Line {
  unsigned number;
  StringRef text;      // with the directive's `//!` taken off
  StringRef directive; // its first word; empty: PTX
};

using Values = std::map<std::string, std::string, std::less<>>;

std::vector<StringRef> wordsOf(StringRef text) {
  SmallVector<StringRef> words;
  SplitString(text, words, " \t");
  return {words.begin(), words.end()};
}

std::optional<Table> tableOf(StringRef text) {
  auto [head, body] = text.split(':');
  Table table;
  for (StringRef name : split(head, ','))
    table.names.push_back(name.trim().str());
  for (StringRef rowText : split(body, ';')) {
    Row row;
    for (StringRef cell : wordsOf(rowText)) {
      row.push_back(cell == "-" ? "" : cell.str());
      std::replace(row.back().begin(), row.back().end(), '~', ' ');
    }
    if (row.size() != table.names.size())
      return std::nullopt;
    table.rows.push_back(std::move(row));
  }
  return table;
}

// Bytes from a rule. Random ones come from a seed that only the buffer's own name decides, so that
// kernels of one template get the same.
std::optional<std::vector<uint8_t>> contentsFrom(StringRef rule, size_t size, StringRef seed) {
  std::vector<uint8_t> bytes(size);
  std::mt19937_64 random(xxh3_64bits(seed));
  auto fill = [&](auto next) {
    for (size_t i = 0; i * sizeof(next(i)) < size; ++i) {
      auto value = next(i);
      memcpy(&bytes[i * sizeof(value)], &value, std::min(sizeof(value), size - i * sizeof(value)));
    }
  };
  static constexpr uint32_t kFloats[] = {
      0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x007fffff, 0x00800000, 0x80800000,
      0x3f800000, 0xbf800000, 0x3f7fffff, 0x3f800001, 0x4b800000, 0x7f7fffff, 0xff7fffff,
      0x7f800000, 0xff800000, 0x7fc00000, 0xffc01234, 0x7f800001, 0x33800000, 0x00400000};
  static constexpr uint64_t kDoubles[] = {
      0x0000000000000000, 0x8000000000000000, 0x0000000000000001, 0x8000000000000001,
      0x000fffffffffffff, 0x0010000000000000, 0x3ff0000000000000, 0xbff0000000000000,
      0x3fefffffffffffff, 0x4340000000000000, 0x7fefffffffffffff, 0xffefffffffffffff,
      0x7ff0000000000000, 0xfff0000000000000, 0x3ca0000000000000, 0x0008000000000000};
  static constexpr uint64_t kIntegers[] = {
      0x0000000000000000, 0x0000000000000001, 0x000000007fffffff, 0x0000000080000000,
      0x00000000ffffffff, 0x0000000100000000, 0x7fffffffffffffff, 0x8000000000000000,
      0x80000000ffffffff, 0xfffffffeffffffff, 0xffffffff00000000, 0xffffffff00000001,
      0xffffffff80000000, 0xfffffffffffffffe, 0xffffffffffffffff, 0xffffffffffffffff};
  static constexpr uint16_t kHalves[] = {0x0000, 0x8000, 0x0001, 0x8001, 0x03ff, 0x0400,
                                         0x3c00, 0xbc00, 0x3bff, 0x3c01, 0x6800, 0x7bff,
                                         0xfbff, 0x7c00, 0xfc00, 0x7e00, 0x1000, 0x0200};
  static constexpr uint16_t kBrains[] = {0x0000, 0x8000, 0x0001, 0x8001, 0x007f, 0x0080,
                                         0x3f80, 0xbf80, 0x3f7f, 0x3f81, 0x4380, 0x7f7f,
                                         0xff7f, 0x7f80, 0xff80, 0x7fc0, 0x3b80, 0x0040};
  auto among = [&](auto &values) { return values[random() % std::size(values)]; };
  if (rule == "zero")
    fill([](size_t) { return uint8_t(0); });
  else if (rule == "ones")
    fill([](size_t) { return uint8_t(0xff); });
  else if (rule == "fill")
    fill([](size_t) { return uint8_t(0xa5); });
  else if (rule == "index")
    fill([](size_t i) { return uint32_t(i); });
  else if (rule == "random")
    fill([&](size_t) { return random(); });
  else if (rule == "small") // 0..15, of 32 bits
    fill([&](size_t) { return uint32_t(random() % 16); });
  else if (rule == "integers") // of 64 bits, every other one among the edge values
    fill([&](size_t) { return random() % 2 ? among(kIntegers) : uint64_t(random()); });
  else if (rule == "f32")
    fill([&](size_t) { return among(kFloats); });
  else if (rule == "f64")
    fill([&](size_t) { return among(kDoubles); });
  else if (rule == "f16")
    fill([&](size_t) { return among(kHalves); });
  else if (rule == "bf16")
    fill([&](size_t) { return among(kBrains); });
  else
    return matrixElements(rule, size, random);
  return bytes;
}

/// The same, made once: kernels of one template have the same buffers, and most are not run.
const std::optional<std::vector<uint8_t>> &contentsOf(StringRef rule, size_t size, StringRef seed) {
  static std::map<std::tuple<std::string, size_t, std::string>, std::optional<std::vector<uint8_t>>>
      made;
  const auto [at, isNew] = made.try_emplace({rule.str(), size, seed.str()});
  if (isNew)
    at->second = contentsFrom(rule, size, seed);
  return at->second;
}

struct FloatFormat {
  StringRef name;
  unsigned bytes;
  uint64_t infinity;
};
constexpr FloatFormat kFormats[] = {{"f16", 2, 0x7c00},     {"f16x2", 2, 0x7c00},
                                    {"bf16", 2, 0x7f80},    {"bf16x2", 2, 0x7f80},
                                    {"f32", 4, 0x7f800000}, {"f64", 8, 0x7ff0000000000000}};
const FloatFormat *formatNamed(StringRef name) {
  const auto *found = find_if(kFormats, [&](const FloatFormat &f) { return f.name == name; });
  return found == std::end(kFormats) ? nullptr : found;
}

// One template and its expansion to one kernel.
class Template {
public:
  Template(StringRef file, std::vector<Line> lines) : file(file), lines(std::move(lines)) {}
  Error expand(KernelFilter isWanted, std::vector<KernelCase> &kernels);

private:
  Error wrong(const Line &line, const Twine &what) const {
    return createStringError(file + ":" + Twine(line.number) + ": " + what);
  }
  Error expandEach(ArrayRef<Table> tables, Values values, KernelFilter isWanted,
                   std::vector<KernelCase> &kernels);
  Expected<std::string> nameOf(const Values &values);
  Expected<KernelCase> instantiate(std::string name, Values values);
  Error applyHeader(const Line &line, StringRef arguments, KernelCase &kernel);
  Error applyLaunch(const Line &line, StringRef arguments, KernelCase &kernel);
  Error addParameter(const Line &line, StringRef arguments, KernelCase &kernel);
  Error addTensorMap(const Line &line, StringRef arguments, KernelCase &kernel);
  Error putLines(ArrayRef<Line> part, Values &values, std::string &text);
  Expected<std::string> substitute(const Line &line, StringRef text, const Values &values);
  std::optional<int64_t> evaluate(StringRef text, const Values &values) const;

  StringRef file;
  std::vector<Line> lines;
  // of the kernel at hand
  unsigned slotEnd = 0;
  std::string declarations, prologue, attributes, version, target;
  unsigned perThread = 0;
  std::string perThreadRule;
};

// A sum of products of names and numbers.
std::optional<int64_t> Template::evaluate(StringRef text, const Values &values) const {
  int64_t sum = 0;
  while (!text.empty()) {
    bool minus = text.consume_front("-");
    if (!minus)
      text.consume_front("+");
    StringRef product = text.take_until([](char c) { return c == '+' || c == '-'; });
    text = text.drop_front(product.size());
    int64_t value = minus ? -1 : 1;
    for (StringRef factor : split(product, '*')) {
      if (auto found = values.find(factor); found != values.end())
        factor = found->second;
      int64_t number;
      if (factor.getAsInteger(0, number))
        return std::nullopt;
      value *= number;
    }
    sum += value;
  }
  return sum;
}

Expected<std::string> Template::substitute(const Line &line, StringRef text, const Values &values) {
  std::string result;
  for (;;) {
    size_t start = text.find("${");
    result += text.take_front(start);
    if (start == StringRef::npos)
      return result;
    text = text.drop_front(start + 2);
    size_t end = text.find('}');
    StringRef name = text.take_front(end);
    if (end == StringRef::npos)
      return wrong(line, "'${' has no end");
    text = text.drop_front(end + 1);
    StringRef slot = name;
    if (auto found = values.find(name); found != values.end()) {
      result += found->second;
    } else if (slot.consume_front("slot")) {
      slot.consume_front("*");
      auto size = evaluate(slot, values);
      if (!size || *size <= 0 || *size > 16 || !isPowerOf2_64(uint64_t(*size)))
        return wrong(line, "not the size of a slot: " + slot);
      slotEnd = unsigned(alignTo(slotEnd, uint64_t(*size)) + uint64_t(*size));
      result += std::to_string(slotEnd - *size);
    } else if (auto number = evaluate(name, values)) {
      result += std::to_string(*number);
    } else {
      return wrong(line, "unknown: ${" + name + "}");
    }
  }
}

// Lines of PTX, and loops over them.
Error Template::putLines(ArrayRef<Line> part, Values &values, std::string &text) {
  for (size_t i = 0; i < part.size(); ++i) {
    const Line &line = part[i];
    auto content = substitute(line, line.text, values);
    if (!content)
      return content.takeError();
    if (line.directive.empty()) {
      text += *content + "\n";
      continue;
    }
    if (line.directive != "do")
      return wrong(line, "unexpected: " + line.directive);
    size_t end = i + 1;
    for (unsigned depth = 1; end < part.size(); ++end) {
      depth += part[end].directive == "do";
      depth -= part[end].directive == "end";
      if (!depth)
        break;
    }
    if (end == part.size())
      return wrong(line, "no end of this do");
    auto table = tableOf(StringRef(*content).drop_front(strlen("do")));
    if (!table)
      return wrong(line, "rows and names differ in number");
    for (const Row &row : table->rows) {
      Values inner = values;
      for (auto [name, value] : zip_equal(table->names, row))
        inner[name] = value;
      if (Error error = putLines(part.slice(i + 1, end - i - 1), inner, text))
        return error;
    }
    i = end;
  }
  return Error::success();
}

Error Template::applyLaunch(const Line &line, StringRef arguments, KernelCase &kernel) {
  for (StringRef word : wordsOf(arguments)) {
    auto [key, value] = word.split('=');
    auto dimensions = [&](std::array<uint32_t, 3> &to) {
      to = {1, 1, 1};
      size_t i = 0;
      for (StringRef number : split(value, ',')) {
        if (i == 3 || number.getAsInteger(10, to[i]))
          return false;
        ++i;
      }
      return true;
    };
    if (!(key == "grid"     ? dimensions(kernel.grid)
          : key == "block"  ? dimensions(kernel.block)
          : key == "shared" ? !value.getAsInteger(10, kernel.sharedBytes)
                            : (kernel.cooperative = word == "cooperative")))
      return wrong(line, "not understood: " + word);
  }
  return Error::success();
}

Error Template::addParameter(const Line &line, StringRef arguments, KernelCase &kernel) {
  KernelParameter parameter;
  StringRef rule, size, seed;
  if (line.directive == "param") {
    auto [declaration, value] = arguments.split('=');
    std::vector<StringRef> words = wordsOf(value);
    if (words.size() != 2)
      return wrong(line, "expected: param DECLARATION = RULE BYTES");
    rule = words[0], size = words[1], seed = declaration.trim();
    parameter.isBuffer = false;
    declarations += "  .param " + declaration.trim().str() + ",\n";
  } else {
    std::vector<StringRef> words = wordsOf(arguments);
    parameter.isResult = line.directive == "out";
    if (words.size() == 2 && parameter.isResult)
      words.push_back("fill");
    if (words.size() != 3)
      return wrong(line, "expected: " + line.directive + " NAME BYTES RULE");
    seed = words[0], size = words[1], rule = words[2];
    std::string name = words[0].str();
    parameter.name = name;
    declarations += "  .param .u64 " + name + "_param,\n";
    prologue += "  .reg .b64 " + name + ";\n  ld.param.u64 " + name + ", [" + name +
                "_param];\n  cvta.to.global.u64 " + name + ", " + name + ";\n";
  }
  size_t bytes = 0;
  if (size.getAsInteger(10, bytes) || bytes > 1 << 20)
    return wrong(line, "not a size: " + size);
  const auto &contents = contentsOf(rule, bytes, seed);
  if (!contents)
    return wrong(line, "unknown rule: " + rule);
  parameter.bytes = *contents;
  kernel.parameters.push_back(std::move(parameter));
  return Error::success();
}

Error Template::addTensorMap(const Line &line, StringRef arguments, KernelCase &kernel) {
  std::vector<StringRef> words = wordsOf(arguments);
  if (words.size() < 3 || words[1] != "=")
    return wrong(line, "expected: tensormap NAME = BUFFER KEY=VALUES...");
  TensorMapRequest request;
  request.buffer = words[2];
  for (StringRef word : ArrayRef(words).drop_front(3)) {
    auto [key, values] = word.split('=');
    std::pair<StringRef, std::vector<int64_t> *> fields[] = {
        {"type", &request.type},         {"dims", &request.dims},
        {"strides", &request.strides},   {"box", &request.box},
        {"elements", &request.elements}, {"interleave", &request.interleave},
        {"swizzle", &request.swizzle},   {"fill", &request.fill},
        {"lower", &request.lower},       {"upper", &request.upper},
        {"channels", &request.channels}, {"pixels", &request.pixels}};
    auto *field = find_if(fields, [&](auto &f) { return f.first == key; });
    if (field == std::end(fields))
      return wrong(line, "not understood: " + word);
    if (values.empty())
      continue;
    for (StringRef value : split(values, ','))
      if (value.getAsInteger(0, field->second->emplace_back()))
        return wrong(line, "not a number: " + value);
  }
  std::string name = words[0].str();
  declarations += "  .param .align 64 .b8 " + name + "_param[128],\n";
  prologue += "  .reg .b64 " + name + ";\n  mov.b64 " + name + ", " + name +
              "_param;\n  cvta.param.u64 " + name + ", " + name + ";\n";
  KernelParameter parameter;
  parameter.name = arguments.str(); // the digest is of all that was said
  parameter.tensorMap = std::move(request);
  parameter.isBuffer = false;
  parameter.bytes.resize(128);
  kernel.parameters.push_back(std::move(parameter));
  return Error::success();
}

Error Template::applyHeader(const Line &line, StringRef arguments, KernelCase &kernel) {
  if (line.directive == "launch")
    return applyLaunch(line, arguments, kernel);
  if (line.directive == "in" || line.directive == "out" || line.directive == "param")
    return addParameter(line, arguments, kernel);
  if (line.directive == "tensormap")
    return addTensorMap(line, arguments, kernel);
  if (line.directive == "nan") {
    kernel.nanType = arguments;
    if (!formatNamed(arguments))
      return wrong(line, "not a floating-point type: " + arguments);
    return Error::success();
  }
  if (line.directive == "target") {
    std::tie(version, target) = arguments.split(' ');
    return Error::success();
  }
  if (line.directive == "attributes") {
    attributes += arguments.str() + "\n";
    return Error::success();
  }
  if (line.directive == "per-thread") {
    std::vector<StringRef> words = wordsOf(arguments);
    if (words.size() != 2 || words[0].getAsInteger(10, perThread))
      return wrong(line, "expected: per-thread BYTES RULE");
    perThreadRule = words[1];
    return Error::success();
  }
  return wrong(line, "unknown directive: " + line.directive);
}

// Declares the thread's numbers, and where its inputs and results lie.
constexpr const char *kProlog = R"(  .reg .pred p<32>;
  .reg .b16 h<64>;
  .reg .b32 r<128>, tid, gid, lane;
  .reg .b64 d<64>, i, o;
  .reg .f32 f<64>;
  .reg .f64 e<64>;
  .reg .b128 q<8>;
  mov.u32 r0, %tid.z;
  mov.u32 r1, %ntid.y;
  mov.u32 r2, %tid.y;
  mad.lo.u32 r0, r0, r1, r2;
  mov.u32 r2, %ntid.x;
  mov.u32 tid, %tid.x;
  mad.lo.u32 tid, r0, r2, tid;
  mul.lo.u32 r1, r1, r2;
  mov.u32 r2, %ntid.z;
  mul.lo.u32 r1, r1, r2;
  mov.u32 r0, %ctaid.z;
  mov.u32 r2, %nctaid.y;
  mov.u32 r3, %ctaid.y;
  mad.lo.u32 r0, r0, r2, r3;
  mov.u32 r2, %nctaid.x;
  mov.u32 r3, %ctaid.x;
  mad.lo.u32 r0, r0, r2, r3;
  mad.lo.u32 gid, r0, r1, tid;
  mov.u32 lane, %laneid;
)";

// The first line is that of the directive `kernel`.
Expected<std::string> Template::nameOf(const Values &values) {
  auto content = substitute(lines.front(), lines.front().text, values);
  if (!content)
    return content.takeError();
  return StringRef(*content).drop_front(strlen("kernel")).trim().str();
}

Expected<KernelCase> Template::instantiate(std::string name, Values values) {
  KernelCase kernel;
  kernel.name = std::move(name);
  kernel.topic = sys::path::stem(file).str();
  slotEnd = perThread = 0;
  declarations.clear(), prologue.clear(), attributes.clear();
  version = "8.5", target = "sm_90";
  std::string module, body;
  for (size_t i = 1; i < lines.size(); ++i) {
    const Line &line = lines[i];
    if (line.directive == "each")
      continue;
    if (line.directive == "module" || line.directive == "body") {
      size_t end = i + 1;
      while (end < lines.size() && lines[end].directive != "module" &&
             lines[end].directive != "body")
        ++end;
      if (Error error = putLines(ArrayRef(lines).slice(i + 1, end - i - 1), values,
                                 line.directive == "body" ? body : module))
        return std::move(error);
      i = end - 1;
      continue;
    }
    if (line.directive.empty()) {
      if (!line.text.trim().empty() && !line.text.trim().starts_with("//"))
        return wrong(line, "PTX before 'body' or 'module'");
      continue;
    }
    auto content = substitute(line, line.text, values);
    if (!content)
      return content.takeError();
    StringRef arguments = StringRef(*content).drop_front(line.directive.size()).trim();
    if (Error error = applyHeader(line, arguments, kernel))
      return std::move(error);
  }
  size_t threads = size_t(kernel.block[0]) * kernel.block[1] * kernel.block[2] * kernel.grid[0] *
                   kernel.grid[1] * kernel.grid[2];
  Line line = lines.front();
  if (perThread) {
    line.directive = "in";
    if (Error error = addParameter(
            line, formatv("inputs {0} {1}", perThread * threads, perThreadRule).str(), kernel))
      return std::move(error);
    prologue += formatv("  mad.wide.u32 i, gid, {0}, inputs;\n", perThread);
  }
  if (slotEnd) {
    slotEnd = unsigned(alignTo(slotEnd, slotEnd > 8 ? 16 : PowerOf2Ceil(slotEnd)));
    line.directive = "out";
    if (Error error = addParameter(line, formatv("results {0}", slotEnd * threads).str(), kernel))
      return std::move(error);
    prologue += formatv("  mad.wide.u32 o, gid, {0}, results;\n", slotEnd);
  }
  if (none_of(kernel.parameters, [](const KernelParameter &p) { return p.isResult; }))
    return wrong(lines.front(), "a kernel without results");
  for (char c : kernel.name)
    kernel.entry += isAlnum(c) ? c : '_';
  kernel.text = ".version " + version + "\n.target " + target + "\n.address_size 64\n" + module +
                ".visible .entry " + kernel.entry + "(\n" +
                StringRef(declarations).drop_back(2).str() + ")\n" + attributes + "{\n" + kProlog +
                prologue + body + "  ret;\n}\n";
  return kernel;
}

Error Template::expandEach(ArrayRef<Table> tables, Values values, KernelFilter isWanted,
                           std::vector<KernelCase> &kernels) {
  if (tables.empty()) {
    auto name = nameOf(values);
    if (!name)
      return name.takeError();
    if (!isWanted(*name))
      return Error::success();
    auto kernel = instantiate(std::move(*name), std::move(values));
    if (!kernel)
      return kernel.takeError();
    kernels.push_back(std::move(*kernel));
    return Error::success();
  }
  for (const Row &row : tables.front().rows) {
    for (auto [name, value] : zip_equal(tables.front().names, row))
      values[name] = value;
    if (Error error = expandEach(tables.drop_front(), values, isWanted, kernels))
      return error;
  }
  return Error::success();
}

Error Template::expand(KernelFilter isWanted, std::vector<KernelCase> &kernels) {
  std::vector<Table> tables;
  for (const Line &line : lines) {
    if (line.directive != "each")
      continue;
    auto table = tableOf(line.text.drop_front(strlen("each")));
    if (!table)
      return wrong(line, "rows and names differ in number");
    tables.push_back(std::move(*table));
  }
  return expandEach(tables, {}, isWanted, kernels);
}

} // namespace

bool KernelCase::isRight(const std::vector<uint8_t> &got,
                         const std::vector<uint8_t> &expected) const {
  const FloatFormat *format = formatNamed(nanType);
  if (!format || got.size() != expected.size())
    return got == expected;
  auto isNan = [&](const uint8_t *at) {
    uint64_t bits = 0;
    memcpy(&bits, at, format->bytes);
    uint64_t sign = uint64_t(1) << (8 * format->bytes - 1);
    return (bits & (sign - 1)) > format->infinity;
  };
  for (size_t i = 0; i + format->bytes <= got.size(); i += format->bytes)
    if (memcmp(&got[i], &expected[i], format->bytes) != 0 &&
        !(isNan(&got[i]) && isNan(&expected[i])))
      return false;
  size_t rest = got.size() / format->bytes * format->bytes;
  return std::equal(got.begin() + rest, got.end(), expected.begin() + rest);
}

uint64_t KernelCase::digest() const {
  std::string all = text + entry;
  for (const auto &sizes : {grid, block})
    for (uint32_t size : sizes)
      all += "," + std::to_string(size);
  all += "," + std::to_string(sharedBytes) + "," + std::to_string(cooperative);
  for (const KernelParameter &p : parameters) {
    all += formatv(",{0}{1}{2}:", p.bytes.size(), p.isBuffer, p.isResult);
    all.append(p.bytes.begin(), p.bytes.end());
    if (p.tensorMap)
      all += p.name;
  }
  return xxh3_64bits(all);
}

Expected<std::vector<KernelCase>> expandKernels(StringRef fileName, StringRef text,
                                                KernelFilter isWanted) {
  std::vector<KernelCase> kernels;
  std::vector<Line> lines;
  auto expandLast = [&]() -> Error {
    if (lines.empty())
      return Error::success();
    return Template(fileName, std::move(lines)).expand(isWanted, kernels);
  };
  unsigned number = 0;
  for (StringRef text : split(text, '\n')) {
    Line line{++number, text, {}};
    if (StringRef directive = text.ltrim(); directive.consume_front("//!")) {
      line.text = directive.trim();
      line.directive = line.text.take_until(isSpace);
    }
    if (line.directive == "kernel") {
      if (Error error = expandLast())
        return std::move(error);
      lines.clear();
    } else if (lines.empty()) {
      continue; // the file's own comment
    }
    lines.push_back(line);
  }
  if (Error error = expandLast())
    return std::move(error);
  return kernels;
}

Expected<std::vector<KernelCase>> readKernels(StringRef folder, KernelFilter isWanted) {
  std::vector<std::string> paths;
  std::error_code error;
  for (sys::fs::directory_iterator entry(folder, error), end; entry != end && !error;
       entry.increment(error))
    if (sys::path::extension(entry->path()) == ".kernels")
      paths.push_back(entry->path());
  if (error)
    return createStringError(error, "cannot read " + folder);
  sort(paths);
  std::vector<KernelCase> kernels;
  std::set<std::string> names;
  std::string twice;
  auto isNewAndWanted = [&](StringRef name) {
    if (!names.insert(name.str()).second)
      twice = name.str();
    return isWanted(name);
  };
  for (const std::string &path : paths) {
    auto buffer = MemoryBuffer::getFile(path);
    if (!buffer)
      return createStringError(buffer.getError(), "cannot read " + path);
    auto expanded = expandKernels(path, (*buffer)->getBuffer(), isNewAndWanted);
    if (!expanded)
      return expanded.takeError();
    if (!twice.empty())
      return createStringError(path + ": two kernels are named " + twice);
    std::move(expanded->begin(), expanded->end(), std::back_inserter(kernels));
  }
  return kernels;
}

} // namespace rubia::golden
