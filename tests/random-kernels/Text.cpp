// SPDX-License-Identifier: Apache-2.0
// Kernels as PTX.
#include "Program.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Support/xxhash.h"
#include <map>
#include <set>

using namespace llvm;

namespace rubia::random_kernels {

const char *const kModuleHead = ".version 8.1\n.target sm_90\n.address_size 64\n";

std::string nameOf(const Kernel &kernel) { return "k" + utostr(kernel.seed); }

std::vector<uint8_t> initialResults(const Kernel &kernel) {
  std::vector<uint8_t> bytes(kernel.resultBytes());
  for (unsigned i = 0; i < kernel.cellsOffset(); ++i)
    bytes[i] = uint8_t((i * 0x9e3779b1u) >> 24);
  for (unsigned i = 0; i < kCells; ++i)
    for (unsigned k = 0; k < 8; ++k)
      bytes[kernel.cellsOffset() + 8 * i + k] = uint8_t(kernel.globalCells.initial[i] >> (8 * k));
  return bytes;
}

unsigned sizeOf(const std::vector<Statement> &statements) {
  unsigned size = 0;
  for (const Statement &statement : statements) {
    size += 1 + sizeOf(statement.body) + sizeOf(statement.orElse);
    for (const auto &one : statement.cases)
      size += sizeOf(one);
  }
  return size;
}

namespace {

constexpr const char *kLetters = "phrdfexbyz";

std::string nameOf(Register reg) {
  return std::string("%") + kLetters[unsigned(reg.kind)] + utostr(reg.index);
}

const char *registerType(Kind kind) {
  switch (bitsOf(kind)) {
  case 1:
    return ".pred";
  case 16:
    return ".b16";
  case 32:
    return ".b32";
  default:
    return ".b64";
  }
}

// Which registers are read before they are written, whatever way is taken, and how many there are
// of each kind.
class Registers {
public:
  std::array<unsigned, kKindCount> count = {};
  std::vector<Register> undefined;

  void parameters(ArrayRef<Register> given) {
    for (Register reg : given)
      define(reg);
  }
  void read(Register reg) {
    note(reg);
    if (!defined.contains(key(reg))) {
      undefined.push_back(reg);
      define(reg);
    }
  }
  void walk(const std::vector<Statement> &statements) {
    for (const Statement &statement : statements) {
      for (const Operand &operand : statement.sources)
        if (operand.reg)
          read(*operand.reg);
      if (statement.guard && statement.guard->reg)
        read(*statement.guard->reg);
      if (statement.address.index)
        read(*statement.address.index);
      if (statement.what == Statement::What::Loop)
        for (Register reg : statement.destinations)
          define(reg);
      for (const auto *body : {&statement.body, &statement.orElse})
        inner(*body);
      for (const auto &body : statement.cases)
        inner(body);
      for (Register reg : statement.destinations) {
        if (statement.guard)
          read(reg); // it may keep its value
        define(reg);
      }
    }
  }

private:
  static unsigned key(Register reg) { return unsigned(reg.kind) << 24 | reg.index; }
  void note(Register reg) {
    unsigned &most = count[unsigned(reg.kind)];
    most = std::max(most, reg.index + 1);
  }
  void define(Register reg) {
    note(reg);
    defined.insert(key(reg));
  }
  void inner(const std::vector<Statement> &statements) {
    auto before = defined;
    walk(statements);
    // What was given a value at the start stays.
    std::set<unsigned> given;
    for (Register reg : undefined)
      given.insert(key(reg));
    defined = std::move(before);
    defined.insert(given.begin(), given.end());
  }
  std::set<unsigned> defined;
};

class Writer {
public:
  Writer(const Kernel &kernel, raw_ostream &os) : kernel(kernel), os(os) {}
  void write();

private:
  const Kernel &kernel;
  raw_ostream &os;
  std::string name = nameOf(kernel);
  unsigned labels = 0, temporaries = 0;
  std::string indent = "  ";
  std::vector<std::string> leaves; // labels behind the loops around

  std::string label() { return "L" + utostr(kernel.seed) + "_" + utostr(labels++); }
  std::string temporary32() { return "%t" + utostr(temporaries++); }
  std::string temporary64() { return "%u" + utostr(temporaries++); }
  raw_ostream &line() { return os << indent; }

  std::string textOf(const Operand &operand, Kind kind);
  Kind kindOfConstant(const Statement &statement, unsigned index);
  std::string guardOf(const Statement &statement);
  std::string list(const Statement &statement);
  std::string addressOf(const Address &address, std::string &space);
  void statements(const std::vector<Statement> &all);
  void statement(const Statement &statement);
  void scalar(const Statement &statement);
  void memory(const Statement &statement);
  void barrier(const Statement &statement);
  void warp(const Statement &statement);
  void branch(const Statement &statement);
  void loop(const Statement &statement);
  void switches(const Statement &statement);
  void call(const Statement &statement);
  void function(unsigned index);
  void declare(const Registers &registers);
  void body();
};

// ---------- Operands

// A constant is written as the instruction's type reads it: the last word of the mnemonic says.
Kind Writer::kindOfConstant(const Statement &statement, unsigned index) {
  StringRef word = statement.word;
  if (word == "shl.b64" || word == "shl.b16" || word.starts_with("shr") ||
      word.starts_with("bfe") || (word.starts_with("bfi") && index >= 2))
    return index == 0 || (word.starts_with("bfi") && index == 1)
               ? (word.ends_with("64")   ? Kind::B64
                  : word.ends_with("16") ? Kind::B16
                                         : Kind::B32)
               : Kind::B32;
  if (word.starts_with("slct")) { // the type of the first two is the second word from the end
    if (index == 2)
      return word.ends_with("f32") ? Kind::F32 : Kind::B32;
    word = word.rsplit('.').first;
  }
  if (word.starts_with("cvt.pack") || word.starts_with("prmt"))
    return Kind::B32;
  if (word.contains(".wide.") && index == 2)
    return word.ends_with("16") ? Kind::B32 : Kind::B64;
  if (word.contains("copysign") && index == 0)
    return word.ends_with("64") ? Kind::B64 : Kind::B32;
  if (word.contains("xorsign"))
    return Kind::B32;
  StringRef type = word.rsplit('.').second;
  if (type == "f32")
    return Kind::F32;
  if (type == "f64")
    return Kind::F64;
  if (type.ends_with("64"))
    return Kind::B64;
  return type.ends_with("16") ? Kind::B16 : Kind::B32;
}

std::string Writer::textOf(const Operand &operand, Kind kind) {
  if (operand.reg)
    return (operand.negated ? "!" : "") + nameOf(*operand.reg);
  switch (kind) {
  case Kind::F32:
    return formatv("0f{0:X-8}", uint32_t(operand.bits)).str();
  case Kind::F64:
    return formatv("0d{0:X-16}", operand.bits).str();
  case Kind::B64:
    return itostr(int64_t(operand.bits));
  case Kind::B16:
    return itostr(int16_t(operand.bits));
  default:
    return itostr(int32_t(operand.bits));
  }
}

std::string Writer::guardOf(const Statement &statement) {
  if (!statement.guard)
    return "";
  return std::string("@") + (statement.guard->negated ? "!" : "") + nameOf(*statement.guard->reg) +
         " ";
}

// The registers of a vector access.
std::string Writer::list(const Statement &statement) {
  std::vector<std::string> names;
  for (Register reg : statement.destinations)
    names.push_back(nameOf(reg));
  if (statement.what == Statement::What::Store)
    for (const Operand &operand : statement.sources)
      names.push_back(nameOf(*operand.reg));
  if (names.size() == 1 && !StringRef(statement.word).starts_with("v"))
    return names[0];
  return "{" + join(names, ", ") + "}";
}

// ---------- Statements

void Writer::scalar(const Statement &statement) {
  line() << guardOf(statement) << statement.word << " ";
  for (auto [i, reg] : enumerate(statement.destinations)) {
    os << (i ? "|" : "") << nameOf(reg);
    if (i == 0 && !statement.selectors.empty() && !statement.selectors[0].empty())
      os << "." << statement.selectors[0];
  }
  for (auto [i, operand] : enumerate(statement.sources)) {
    os << ", " << textOf(operand, kindOfConstant(statement, unsigned(i)));
    if (i + 1 < statement.selectors.size() && !statement.selectors[i + 1].empty())
      os << "." << statement.selectors[i + 1];
  }
  os << ";\n";
}

// Prints what computes the address.
std::string Writer::addressOf(const Address &address, std::string &space) {
  static constexpr const char *kSpaces[] = {".global", ".global", ".param",  ".const", ".global",
                                            ".shared", ".local",  ".shared", ".global"};
  static constexpr const char *kBases[] = {"%input",    "%uniform",  "",
                                           "%constant", "%global",   "%shared",
                                           "%local",    "%exchange", "%output"};
  space = address.generic ? "" : kSpaces[unsigned(address.space)];
  if (address.space == Space::Param)
    return "[values+" + utostr(address.offset) + "]";
  bool narrow = address.space == Space::Shared || address.space == Space::Local ||
                address.space == Space::Exchange;
  std::string base = kBases[unsigned(address.space)];
  const char *bits = narrow ? "32" : "64";
  auto temporary = [&] { return narrow ? temporary32() : temporary64(); };
  if (address.space == Space::Exchange && address.partner != Address::Partner::Self) {
    std::string other = temporary32();
    if (address.partner == Address::Partner::Xor)
      line() << "xor.b32 " << other << ", %thread, " << address.distance << ";\n";
    else {
      line() << "add.u32 " << other << ", %thread, " << address.distance << ";\n";
      line() << "rem.u32 " << other << ", " << other << ", " << kernel.block << ";\n";
    }
    base = temporary32();
    line() << "mad.lo.u32 " << base << ", " << other << ", " << kExchangeBytes
           << ", %exchangebase;\n";
  }
  if (address.index) {
    std::string slot = temporary32(), sum = temporary();
    line() << "and.b32 " << slot << ", " << nameOf(*address.index) << ", " << address.indexMask
           << ";\n";
    if (narrow)
      line() << "mad.lo.u32 " << sum << ", " << slot << ", " << address.scale << ", " << base
             << ";\n";
    else
      line() << "mad.wide.u32 " << sum << ", " << slot << ", " << address.scale << ", " << base
             << ";\n";
    base = sum;
  }
  if (address.generic) {
    std::string generic = temporary64();
    if (narrow) {
      line() << "cvt.u64.u32 " << generic << ", " << base << ";\n";
      base = generic;
      generic = temporary64();
    }
    line() << "cvta" << kSpaces[unsigned(address.space)] << ".u64 " << generic << ", " << base
           << ";\n";
    base = generic;
  }
  (void)bits;
  return "[" + base + (address.offset ? "+" + utostr(address.offset) : "") + "]";
}

void Writer::memory(const Statement &statement) {
  using What = Statement::What;
  std::string space, address;
  const std::string how = statement.selectors.empty() ? "" : statement.selectors[0];
  switch (statement.what) {
  case What::Load:
    address = addressOf(statement.address, space);
    if (how == ".nc")
      line() << guardOf(statement) << "ld" << space << ".nc." << statement.word;
    else
      line() << guardOf(statement) << "ld" << how << space << "." << statement.word;
    os << " " << list(statement) << ", " << address << ";\n";
    return;
  case What::Store:
    address = addressOf(statement.address, space);
    line() << guardOf(statement) << "st" << how << space << "." << statement.word << " " << address
           << ", " << list(statement) << ";\n";
    return;
  case What::Atomic:
    address = addressOf(statement.address, space);
    line() << "atom" << how << space << "." << statement.word << " "
           << nameOf(statement.destinations[0]) << ", " << address;
    for (const Operand &operand : statement.sources)
      os << ", " << nameOf(*operand.reg);
    os << ";\n";
    return;
  default:
    break;
  }
  const bool shared = statement.address.space == Space::Shared;
  const std::string cell = "[" + (shared ? "cells" + utostr(kernel.seed) : std::string("%cells")) +
                           "+" + utostr(8 * statement.count) + "]";
  line() << guardOf(statement) << "red" << how << (shared ? ".shared." : ".global.")
         << statement.word << " " << cell << ", "
         << textOf(statement.sources[0],
                   StringRef(statement.word).ends_with("64") ? Kind::B64 : Kind::B32)
         << ";\n";
}

void Writer::barrier(const Statement &statement) {
  if (statement.what == Statement::What::Cell) {
    line() << "bar.sync 0;\n";
    line() << "ld.shared.b64 " << nameOf(statement.destinations[0]) << ", [cells" << kernel.seed
           << "+" << 8 * statement.count << "];\n";
    line() << "bar.sync 0;\n";
    return;
  }
  line() << statement.word << " ";
  if (!statement.destinations.empty())
    os << nameOf(statement.destinations[0]) << ", ";
  os << "0";
  if (!statement.sources.empty())
    os << ", " << textOf(statement.sources[0], Kind::Pred);
  os << ";\n";
}

void Writer::warp(const Statement &statement) {
  StringRef word = statement.word;
  if (word == "activemask.b32") {
    line() << "bar.warp.sync " << textOf(statement.sources.back(), Kind::B32) << ";\n";
    line() << word << " " << nameOf(statement.destinations[0]) << ";\n";
    return;
  }
  line() << word << " ";
  for (auto [i, reg] : enumerate(statement.destinations))
    os << (i ? "|" : "") << nameOf(reg);
  for (auto [i, operand] : enumerate(statement.sources))
    os << (i || !statement.destinations.empty() ? ", " : "") << textOf(operand, Kind::B32);
  os << ";\n";
}

void Writer::branch(const Statement &statement) {
  std::string join = label(), other = statement.orElse.empty() ? join : label();
  Operand condition = *statement.guard;
  condition.negated = !condition.negated;
  line() << "@" << textOf(condition, Kind::Pred) << (statement.uniform ? " bra.uni " : " bra ")
         << other << ";\n";
  statements(statement.body);
  if (!statement.orElse.empty()) {
    line() << (statement.uniform ? "bra.uni " : "bra ") << join << ";\n";
    os << other << ":\n";
    statements(statement.orElse);
  }
  os << join << ":\n";
}

void Writer::loop(const Statement &statement) {
  std::string head = label(), behind = label(), limit = temporary32();
  std::string counter = nameOf(statement.destinations[0]), more = "%m" + utostr(temporaries++);
  if (!statement.sources.empty()) {
    line() << "and.b32 " << limit << ", " << textOf(statement.sources[0], Kind::B32) << ", 3;\n";
    line() << "add.u32 " << limit << ", " << limit << ", 1;\n";
  }
  line() << "mov.u32 " << counter << ", 0;\n";
  os << head << ":\n";
  leaves.push_back(behind);
  statements(statement.body);
  leaves.pop_back();
  line() << "add.u32 " << counter << ", " << counter << ", 1;\n";
  line() << "setp.lt.u32 " << more << ", " << counter << ", "
         << (statement.sources.empty() ? utostr(statement.count) : limit) << ";\n";
  if (statement.voting)
    line() << "vote.sync.any.pred " << more << ", " << more << ", 0xffffffff;\n";
  line() << "@" << more << " bra " << head << ";\n";
  os << behind << ":\n";
}

void Writer::switches(const Statement &statement) {
  std::string index = temporary32(), targets = label() + "_targets", join = label();
  std::vector<std::string> names;
  for (size_t i = 0; i < statement.cases.size(); ++i)
    names.push_back(label());
  line() << "and.b32 " << index << ", " << textOf(statement.sources[0], Kind::B32) << ", "
         << statement.cases.size() - 1 << ";\n";
  os << targets << ": .branchtargets " << llvm::join(names, ", ") << ";\n";
  line() << "brx.idx " << index << ", " << targets << ";\n";
  for (auto [i, body] : enumerate(statement.cases)) {
    os << names[i] << ":\n";
    statements(body);
    if (i + 1 < statement.cases.size())
      line() << "bra " << join << ";\n";
  }
  os << join << ":\n";
}

void Writer::call(const Statement &statement) {
  const Function &function = kernel.functions[statement.count];
  line() << "{\n";
  for (auto [i, kind] : enumerate(function.parameters))
    line() << "  .param .b" << bitsOf(kind) << " a" << i << ";\n";
  if (function.structure)
    line() << "  .param .align 8 .b8 result[" << 8 * function.results.size() << "];\n";
  else
    line() << "  .param .b" << bitsOf(function.results[0]) << " result;\n";
  std::vector<std::string> names;
  for (auto [i, kind] : enumerate(function.parameters)) {
    line() << "  st.param.b" << bitsOf(kind) << " [a" << i << "], "
           << textOf(statement.sources[i], kind) << ";\n";
    names.push_back("a" + utostr(i));
  }
  const std::string callee = name + "_f" + utostr(statement.count);
  if (kernel.indirect) {
    std::vector<std::string> parameters;
    for (Kind kind : function.parameters)
      parameters.push_back(".param .b" + utostr(bitsOf(kind)) + " _");
    const std::string result =
        function.structure ? ".param .align 8 .b8 _[" + utostr(8 * function.results.size()) + "]"
                           : ".param .b" + utostr(bitsOf(function.results[0])) + " _";
    line() << "  .reg .b64 %callee;\n";
    line() << "  ld.global.u64 %callee, [" << name << "_functions+" << 8 * statement.count
           << "];\n";
    line() << "  kind: .callprototype (" << result << ") _ (" << join(parameters, ", ") << ");\n";
    line() << "  call (result), %callee, (" << join(names, ", ") << "), kind;\n";
  } else {
    line() << "  call (result), " << callee << ", (" << join(names, ", ") << ");\n";
  }
  for (auto [i, reg] : enumerate(statement.destinations))
    line() << "  ld.param.b" << bitsOf(reg.kind) << " " << nameOf(reg) << ", [result+" << 8 * i
           << "];\n";
  line() << "}\n";
}

void Writer::statement(const Statement &statement) {
  using What = Statement::What;
  switch (statement.what) {
  case What::Scalar:
    return scalar(statement);
  case What::Pack:
  case What::Unpack: {
    bool packing = statement.what == What::Pack;
    std::vector<std::string> parts;
    if (packing)
      for (const Operand &operand : statement.sources)
        parts.push_back(nameOf(*operand.reg));
    else
      for (Register reg : statement.destinations)
        parts.push_back(nameOf(reg));
    std::string all = "{" + join(parts, ", ") + "}";
    std::string one = nameOf(packing ? statement.destinations[0] : *statement.sources[0].reg);
    line() << "mov." << statement.word << " " << (packing ? one : all) << ", "
           << (packing ? all : one) << ";\n";
    return;
  }
  case What::Special:
    line() << "mov.u32 " << nameOf(statement.destinations[0]) << ", " << statement.word << ";\n";
    return;
  case What::Load:
  case What::Store:
  case What::Atomic:
  case What::Reduce:
    return memory(statement);
  case What::Cell:
  case What::Barrier:
    return barrier(statement);
  case What::Warp:
    return warp(statement);
  case What::If:
    return branch(statement);
  case What::Loop:
    return loop(statement);
  case What::Leave:
    line() << guardOf(statement) << "bra " << leaves.back() << ";\n";
    return;
  case What::Switch:
    return switches(statement);
  case What::Call:
    return call(statement);
  }
}

void Writer::statements(const std::vector<Statement> &all) {
  indent += "  ";
  for (const Statement &one : all)
    statement(one);
  indent.resize(indent.size() - 2);
}

// ---------- Functions and the kernel

void Writer::declare(const Registers &registers) {
  for (unsigned k = 0; k < kKindCount; ++k)
    if (registers.count[k])
      os << "  .reg " << registerType(Kind(k)) << " %" << kLetters[k] << "<" << registers.count[k]
         << ">;\n";
  if (temporaries)
    os << "  .reg .b32 %t<" << temporaries << ">;\n  .reg .b64 %u<" << temporaries
       << ">;\n  .reg .pred %m<" << temporaries << ">;\n";
  for (Register reg : registers.undefined)
    if (reg.kind == Kind::Pred)
      os << "  setp.ne.u32 " << nameOf(reg) << ", 0, 0;\n";
    else
      os << "  mov.b" << bitsOf(reg.kind) << " " << nameOf(reg) << ", 0;\n";
}

void Writer::function(unsigned index) {
  const Function &function = kernel.functions[index];
  Registers registers;
  std::vector<Register> given;
  std::array<unsigned, kKindCount> count = {};
  for (Kind kind : function.parameters)
    given.push_back({kind, count[unsigned(kind)]++});
  registers.parameters(given);
  registers.walk(function.body);
  for (Register reg : function.returned)
    registers.read(reg);
  os << ".func (";
  if (function.structure)
    os << ".param .align 8 .b8 result[" << 8 * function.results.size() << "]";
  else
    os << ".param .b" << bitsOf(function.results[0]) << " result";
  os << ") " << name << "_f" << index << "(";
  for (auto [i, kind] : enumerate(function.parameters))
    os << (i ? ", " : "") << ".param .b" << bitsOf(kind) << " a" << i;
  os << ") {\n";
  std::string text;
  raw_string_ostream inner(text);
  Writer writer(kernel, inner);
  writer.labels = labels;
  writer.indent = "";
  writer.statements(function.body);
  labels = writer.labels;
  temporaries = writer.temporaries;
  declare(registers);
  for (auto [i, reg] : enumerate(given))
    os << "  ld.param.b" << bitsOf(reg.kind) << " " << nameOf(reg) << ", [a" << i << "];\n";
  os << text;
  for (auto [i, reg] : enumerate(function.returned))
    os << "  st.param.b" << bitsOf(reg.kind) << " [result+" << 8 * i << "], " << nameOf(reg)
       << ";\n";
  os << "  ret;\n}\n";
}

bool uses(const std::string &text, StringRef name) { return StringRef(text).contains(name); }

void Writer::write() {
  for (unsigned i = 0; i < kernel.functions.size(); ++i)
    function(i);
  if (kernel.indirect && !kernel.functions.empty()) {
    std::vector<std::string> names;
    for (unsigned i = 0; i < kernel.functions.size(); ++i)
      names.push_back(name + "_f" + utostr(i));
    os << ".global .align 8 .u64 " << name << "_functions[" << names.size() << "] = {"
       << join(names, ", ") << "};\n";
  }
  temporaries = 0;
  std::string text;
  {
    raw_string_ostream inner(text);
    Writer writer(kernel, inner);
    writer.labels = labels;
    writer.indent = "";
    writer.statements(kernel.body);
    temporaries = writer.temporaries;
  }
  Registers registers;
  registers.walk(kernel.body);
  std::string seed = utostr(kernel.seed);
  bool cells = uses(text, "[cells");
  if (uses(text, "%constant")) {
    std::vector<std::string> bytes;
    for (uint8_t byte : kernel.constant)
      bytes.push_back(utostr(byte));
    os << ".const .align 16 .b8 constant" << seed << "[" << kConstBytes << "] = {"
       << join(bytes, ", ") << "};\n";
  }
  if (uses(text, "%shared"))
    os << ".shared .align 16 .b8 own" << seed << "[" << kernel.block * kSharedBytes << "];\n";
  if (uses(text, "%exchange"))
    os << ".shared .align 16 .b8 exchanged" << seed << "[" << kernel.block * kExchangeBytes
       << "];\n";
  if (cells)
    os << ".shared .align 16 .b8 cells" << seed << "[" << 8 * kCells << "];\n";
  os << ".visible .entry " << name
     << "(.param .u64 input, .param .u64 output, .param .align 16 .b8 values[" << kParamBytes
     << "]) {\n";
  if (uses(text, "%local"))
    os << "  .local .align 16 .b8 array[" << kLocalBytes << "];\n";
  os << "  .reg .b32 %thread, %index, %shared, %local, %exchange, %exchangebase;\n"
        "  .reg .b64 %input, %uniform, %constant, %global, %output, %cells, %offset;\n"
        "  .reg .pred %first;\n";
  declare(registers);
  os << "  mov.u32 %thread, %tid.x;\n  mov.u32 %index, %ctaid.x;\n"
     << "  mad.lo.u32 %index, %index, " << kernel.block << ", %thread;\n"
     << "  ld.param.u64 %input, [input];\n  cvta.to.global.u64 %input, %input;\n"
     << "  ld.param.u64 %output, [output];\n  cvta.to.global.u64 %output, %output;\n";
  if (uses(text, "%uniform"))
    os << "  add.u64 %uniform, %input, " << kernel.threads() * kInputBytes << ";\n";
  os << "  mad.wide.u32 %input, %index, " << kInputBytes << ", %input;\n";
  if (uses(text, "%cells"))
    os << "  add.u64 %cells, %output, " << kernel.cellsOffset() << ";\n";
  if (uses(text, "%global"))
    os << "  mad.wide.u32 %global, %index, " << kGlobalBytes << ", %output;\n";
  os << "  add.u64 %output, %output, " << kernel.outputOffset() << ";\n"
     << "  mad.wide.u32 %output, %index, " << kernel.outputWords * 8 << ", %output;\n";
  if (uses(text, "%constant"))
    os << "  mov.u64 %constant, constant" << seed << ";\n";
  if (uses(text, "%shared"))
    os << "  mov.u32 %shared, own" << seed << ";\n  mad.lo.u32 %shared, %thread, " << kSharedBytes
       << ", %shared;\n";
  if (uses(text, "%exchange"))
    os << "  mov.u32 %exchangebase, exchanged" << seed << ";\n  mad.lo.u32 %exchange, %thread, "
       << kExchangeBytes << ", %exchangebase;\n";
  if (uses(text, "%local"))
    os << "  mov.u32 %local, array;\n";
  if (cells) {
    os << "  setp.eq.u32 %first, %thread, 0;\n";
    for (unsigned i = 0; i < kCells; ++i)
      os << "  mov.b64 %offset, " << int64_t(kernel.sharedCells.initial[i])
         << ";\n  @%first st.shared.b64 [cells" << seed << "+" << 8 * i << "], %offset;\n";
    os << "  bar.sync 0;\n";
  }
  os << text << "  ret;\n}\n";
}

} // namespace

std::string textOf(const Kernel &kernel) {
  std::string text;
  raw_string_ostream os(text);
  Writer(kernel, os).write();
  return text;
}

Program programOf(const Kernel &kernel) {
  return {nameOf(kernel), kModuleHead + textOf(kernel), kernel.grid, kernel.block, kernel.input,
          kernel.param,   initialResults(kernel)};
}

uint64_t digestOf(const Kernel &kernel) {
  std::string all = textOf(kernel) + utostr(kernel.grid) + "," + utostr(kernel.block);
  for (const std::vector<uint8_t> *bytes : {&kernel.input, &kernel.param})
    all.append(bytes->begin(), bytes->end());
  return xxh3_64bits(all);
}

} // namespace rubia::random_kernels
