// SPDX-License-Identifier: Apache-2.0
#include "tests/lowering/arithmetic/Harness.h"
#include "codegen/Codegen.h"
#include "emulator/Emulator.h"
#include "lowering/Abi.h"
#include "ptx-frontend/Parser.h"
#include "tests/executed-operations/ExecutedOperations.h"
#include "tests/lowering/arithmetic/EdgeValues.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/raw_ostream.h"
#include <cstring>
#include <tuple>

using namespace llvm;

namespace rubia::settings::NanMode {
extern const Word Any;
} // namespace rubia::settings::NanMode

namespace rubia::lowering::test {

unsigned bitsOf(Kind kind) {
  switch (kind) {
  case Kind::Pred:
    return 1;
  case Kind::I8:
    return 8;
  case Kind::I16:
  case Kind::F16:
  case Kind::BF16:
    return 16;
  case Kind::I32:
  case Kind::F32:
  case Kind::F16x2:
  case Kind::BF16x2:
    return 32;
  case Kind::I64:
  case Kind::F64:
  case Kind::F32x2:
    return 64;
  }
  return 0;
}

bool isNan(Kind kind, uint64_t bits) {
  switch (kind) {
  case Kind::F16:
    return (bits & 0x7fff) > 0x7c00;
  case Kind::BF16:
    return (bits & 0x7fff) > 0x7f80;
  case Kind::F32:
    return (bits & 0x7fffffff) > 0x7f800000;
  case Kind::F64:
    return (bits & 0x7fffffffffffffff) > 0x7ff0000000000000;
  default:
    return false;
  }
}

// ---------- PTX

// Predicates and bytes lie in 32-bit words; all others as they are.
static unsigned storedBits(Kind kind) {
  return std::max(bitsOf(kind) < 16 ? 32u : 0u, bitsOf(kind));
}

static const char *const kHeader = ".version 9.3\n.target sm_100\n.address_size 64\n";

static std::string entryText(StringRef name, StringRef body, Kind result, ArrayRef<Kind> sources) {
  std::string text;
  raw_string_ostream os(text);
  os << ".visible .entry " << name
     << "(.param .u64 in0, .param .u64 in1, .param .u64 in2, .param .u64 in3,\n"
        "  .param .u64 out, .param .u32 count)\n{\n"
        "  .reg .pred %pOut;\n  .reg .b32 %thread, %block, %size, %count;\n"
        "  .reg .b64 %address, %base;\n  .reg .pred %outside;\n";
  auto declare = [&](StringRef name, Kind kind) {
    if (kind == Kind::Pred)
      os << "  .reg .pred " << name << ";\n  .reg .b32 %word_" << name << ";\n";
    else
      os << "  .reg .b" << storedBits(kind) << ' ' << name << ";\n";
  };
  const StringRef kNames[] = {"a", "b", "c", "e"};
  declare("d", result);
  for (unsigned n = 0; n < sources.size(); ++n)
    declare(kNames[n], sources[n]);
  os << "  mov.u32 %thread, %tid.x;\n  mov.u32 %block, %ctaid.x;\n  mov.u32 %size, %ntid.x;\n"
        "  mad.lo.s32 %thread, %block, %size, %thread;\n  ld.param.u32 %count, [count];\n"
        "  setp.ge.u32 %outside, %thread, %count;\n  @%outside ret;\n";
  auto address = [&](StringRef parameter, Kind kind) {
    os << "  ld.param.u64 %base, [" << parameter << "];\n  cvta.to.global.u64 %base, %base;\n"
       << "  mul.wide.u32 %address, %thread, " << storedBits(kind) / 8
       << ";\n  add.s64 %address, %base, %address;\n";
  };
  for (unsigned n = 0; n < sources.size(); ++n) {
    address("in" + std::to_string(n), sources[n]);
    bool isPredicate = sources[n] == Kind::Pred;
    os << "  ld.global.b" << storedBits(sources[n]) << ' ' << (isPredicate ? "%word_" : "")
       << kNames[n] << ", [%address];\n";
    if (isPredicate)
      os << "  setp.ne.b32 " << kNames[n] << ", %word_" << kNames[n] << ", 0;\n";
  }
  os << body << "\n";
  if (result == Kind::Pred)
    os << "  selp.b32 %word_d, 1, 0, d;\n";
  address("out", result);
  os << "  st.global.b" << storedBits(result) << " [%address], "
     << (result == Kind::Pred ? "%word_d" : "d") << ";\n  ret;\n}\n";
  return text;
}

std::string kernelText(StringRef body, Kind result, ArrayRef<Kind> sources) {
  return kHeader + entryText("k", body, result, sources);
}

// ---------- Compilation

static Expected<ptx::ParseResult> parseText(StringRef ptx) {
  ptx::ParseResult parsed = ptx::parse("test.ptx", ptx.str());
  if (!parsed.usable || parsed.hasErrors()) {
    std::string text = "does not parse:\n";
    for (const ptx::Diagnostic &diagnostic : parsed.diagnostics)
      text += ptx::format(diagnostic, "test.ptx", ptx);
    return createStringError(text);
  }
  return parsed;
}

static Options loweringOptions(const Compilation &setup) {
  Options options;
  options.arch = setup.arch;
  options.code.set(setup.nan);
  options.code.set(setup.flush);
  return options;
}

static Expected<std::unique_ptr<llvm::Module>> lowerText(StringRef ptx, const Compilation &setup,
                                                         LLVMContext &context) {
  Expected<ptx::ParseResult> parsed = parseText(ptx);
  if (!parsed)
    return parsed.takeError();
  std::vector<Unit> units = partition(parsed->module);
  if (units.size() != 1)
    return createStringError("expected one unit, found %zu", units.size());
  return lower(parsed->module, units[0], loweringOptions(setup), context);
}

template <typename T> static T take(Expected<T> value) {
  if (value)
    return std::move(*value);
  ADD_FAILURE() << toString(value.takeError());
  return T();
}

static std::string print(const llvm::Module &module) {
  std::string text;
  raw_string_ostream os(text);
  module.print(os, nullptr);
  return text;
}

std::string lowerToIr(StringRef ptx, const Compilation &setup) {
  LLVMContext context;
  std::unique_ptr<llvm::Module> module = take(lowerText(ptx, setup, context));
  return module ? print(*module) : "";
}

std::string loweringError(StringRef ptx, const Compilation &setup) {
  LLVMContext context;
  Expected<std::unique_ptr<llvm::Module>> module = lowerText(ptx, setup, context);
  return module ? "" : toString(module.takeError());
}

static codegen::Options codegenOptions(const Compilation &setup) {
  codegen::Options options;
  options.arch = setup.arch;
  options.optLevel = setup.optLevel;
  return options;
}

static std::vector<uint8_t> compile(std::unique_ptr<llvm::Module> module,
                                    const Compilation &setup) {
  if (!module)
    return {};
  Expected<codegen::CodeObject> object = codegen::compile(std::move(module), codegenOptions(setup));
  if (object)
    return std::vector<uint8_t>(object->bytes.begin(), object->bytes.end());
  ADD_FAILURE() << toString(object.takeError());
  return {};
}

std::vector<uint8_t> compileToCode(StringRef ptx, const Compilation &setup) {
  LLVMContext context;
  std::vector<uint8_t> code = compile(take(lowerText(ptx, setup, context)), setup);
  if (Expected<ptx::ParseResult> parsed = parseText(ptx))
    rubia::test::noteCompiled(code, partition(parsed->module).front());
  else
    consumeError(parsed.takeError()); // lowerText() has reported it
  return code;
}

std::string emitAssembly(StringRef ptx, const Compilation &setup) {
  LLVMContext context;
  std::unique_ptr<llvm::Module> module = take(lowerText(ptx, setup, context));
  if (!module)
    return "";
  return take(codegen::emit(std::move(module), codegenOptions(setup), codegen::EmitKind::Assembly));
}

void expectDefinedEverywhere(StringRef ir) {
  const StringSet<> forbidden = {"nsw",     "nuw",  "exact",  "inbounds", "nnan",
                                 "ninf",    "nsz",  "arcp",   "contract", "afn",
                                 "reassoc", "fast", "fptosi", "fptoui"};
  auto isForbidden = [&](StringRef word) { return forbidden.contains(word); };
  SmallVector<StringRef> lines, words;
  ir.split(lines, '\n');
  for (StringRef line : lines)
    if (!line.starts_with("declare") && !line.starts_with("attributes") &&
        !line.trim().starts_with(";")) {
      words.clear();
      line.split(words, ' ');
      EXPECT_TRUE(none_of(words, isForbidden)) << "undefined behaviour in " << line.str();
    }
}

// ---------- Execution

namespace {
// The kernel's parameters, as PTX lays them out, and what the launcher adds.
struct Arguments {
  uint64_t in[4];
  uint64_t out;
  uint32_t count;
  uint32_t padding;
  abi::LaunchArguments launch;
};
} // namespace

static std::vector<uint64_t> execute(const emulator::CodeObject &object, StringRef kernel,
                                     emulator::Memory &memory, Kind result, ArrayRef<Kind> sources,
                                     ArrayRef<Operands> tuples) {
  const uint32_t kThreads = 256;
  Arguments arguments = {};
  auto allocate = [&](Kind kind) {
    return static_cast<uint8_t *>(
        take(memory.allocate(tuples.size() * storedBits(kind) / 8, emulator::MemoryKind::Device)));
  };
  for (unsigned n = 0; n < sources.size(); ++n) {
    unsigned size = storedBits(sources[n]) / 8;
    uint8_t *buffer = allocate(sources[n]);
    for (size_t i = 0; i < tuples.size(); ++i)
      memcpy(buffer + i * size, &tuples[i].values[n], size);
    arguments.in[n] = reinterpret_cast<uint64_t>(buffer);
  }
  uint8_t *out = allocate(result);
  memset(out, 0xa5, tuples.size() * storedBits(result) / 8);
  arguments.out = reinterpret_cast<uint64_t>(out);
  arguments.count = tuples.size();
  uint32_t blocks = (tuples.size() + kThreads - 1) / kThreads;
  arguments.launch.ntid[0] = kThreads;
  arguments.launch.ntid[1] = arguments.launch.ntid[2] = 1;
  arguments.launch.nctaid[0] = blocks;
  arguments.launch.nctaid[1] = arguments.launch.nctaid[2] = 1;

  emulator::Launch launch;
  launch.kernel = object.kernel(kernel);
  EXPECT_TRUE(launch.kernel);
  if (!launch.kernel)
    return {};
  launch.grid = {blocks, 1, 1};
  launch.block = {kThreads, 1, 1}; // waves of 64 lanes are packed: there are no barriers
  launch.kernarg = ArrayRef(reinterpret_cast<const uint8_t *>(&arguments), sizeof(arguments));
  launch.hostThreads = 1;
  Expected<emulator::Statistics> statistics = emulator::run(launch, memory);
  if (!statistics) {
    ADD_FAILURE() << toString(statistics.takeError());
    return {};
  }
  std::vector<uint64_t> results(tuples.size());
  unsigned size = storedBits(result) / 8;
  for (size_t i = 0; i < tuples.size(); ++i)
    memcpy(&results[i], out + i * size, size);
  return results;
}

std::vector<uint64_t> execute(ArrayRef<uint8_t> code, Kind result, ArrayRef<Kind> sources,
                              ArrayRef<Operands> tuples) {
  if (code.empty())
    return {};
  emulator::Memory memory;
  std::unique_ptr<emulator::CodeObject> object = take(emulator::CodeObject::load(code, memory));
  rubia::test::noteExecuted(code);
  return object ? execute(*object, "k", memory, result, sources, tuples) : std::vector<uint64_t>();
}

// Each value in the low half, with one far from it in the high half.
static std::vector<uint64_t> pairsOf(const std::vector<uint64_t> &edges, unsigned halfBits) {
  std::vector<uint64_t> pairs;
  for (size_t i = 0; i < edges.size(); ++i)
    pairs.push_back(edges[i] | edges[(i * 7 + 5) % edges.size()] << halfBits);
  return pairs;
}

static std::vector<uint64_t> edgesOf(Kind kind) {
  switch (kind) {
  case Kind::Pred:
    return {0, 1};
  case Kind::F16:
    return f16Edges();
  case Kind::BF16:
    return bf16Edges();
  case Kind::F16x2:
    return pairsOf(f16Edges(), 16);
  case Kind::BF16x2:
    return pairsOf(bf16Edges(), 16);
  case Kind::F32x2:
    return pairsOf(f32Edges(), 32);
  case Kind::F32:
    return f32Edges();
  case Kind::F64:
    return f64Edges();
  default:
    return integerEdges(bitsOf(kind));
  }
}

std::vector<Operands> operandsFor(ArrayRef<Kind> sources) {
  std::vector<std::vector<uint64_t>> edges;
  for (Kind kind : sources)
    edges.push_back(edgesOf(kind));
  uint64_t combinations = 1;
  for (const std::vector<uint64_t> &values : edges)
    combinations *= values.size();
  // At most 8192 of all combinations, spread evenly by a stride that is prime to most counts.
  std::vector<Operands> tuples;
  const uint64_t kMax = 8192;
  uint64_t stride = combinations <= kMax ? 1 : combinations / kMax | 1;
  for (uint64_t index = 0; index < combinations; index += stride) {
    Operands tuple;
    uint64_t rest = index;
    for (unsigned n = 0; n < sources.size(); ++n) {
      tuple.values[n] = edges[n][rest % edges[n].size()];
      rest /= edges[n].size();
    }
    tuples.push_back(tuple);
  }
  std::mt19937_64 engine(42);
  for (unsigned i = 0; i < 512; ++i) {
    Operands tuple;
    for (unsigned n = 0; n < sources.size(); ++n) {
      unsigned bits = storedBits(sources[n]);
      tuple.values[n] = sources[n] == Kind::Pred ? engine() & 1
                        : bits == 64             ? engine()
                                                 : engine() & ((uint64_t(1) << bits) - 1);
    }
    tuples.push_back(tuple);
  }
  return tuples;
}

// ---------- Comparison

namespace {
struct Pending {
  std::string instruction;
  Kind result;
  std::vector<Kind> sources;
  std::vector<Operands> tuples;
  std::vector<uint64_t> expected; // empty: `accept` decides alone
  Accept accept;                  // may be null
};

// Most of the time of a compilation goes into what each module costs, so the cases of a test are
// kernels of one. They are compiled and executed when the test ends, or there are kMax.
class Batch : public testing::EmptyTestEventListener {
public:
  static Batch &get() {
    static Batch *const batch = [] {
      auto *fresh = new Batch;
      testing::UnitTest::GetInstance()->listeners().Append(fresh); // which deletes it
      return fresh;
    }();
    return *batch;
  }

  void add(Pending fresh, const Compilation &setup) {
    const auto key = [](const Compilation &c) { return std::tie(c.arch, c.optLevel, c.nan); };
    if (cases.size() == kMax || key(setup) != key(common))
      flush();
    common = setup;
    cases.push_back(std::move(fresh));
  }

private:
  static constexpr size_t kMax = 32;
  void OnTestEnd(const testing::TestInfo &) override { flush(); }
  void flush();
  void run(const ptx::Module &module, const Unit &unit, ArrayRef<unsigned> members);
  void compare(const Pending &test, ArrayRef<uint64_t> results) const;

  Compilation common;
  std::vector<Pending> cases;
};
} // namespace

static std::string entryName(unsigned index) { return "k" + std::to_string(index); }

void Batch::flush() {
  std::string text = kHeader;
  for (auto [index, test] : enumerate(cases))
    text += entryText(entryName(index), "  " + test.instruction + ";", test.result, test.sources);
  // Each must be executed in the denormal mode that it has in a unit of its own.
  struct Group {
    Unit unit;
    std::vector<unsigned> members;
  };
  Group groups[2];
  std::vector<Unit> units;
  Expected<ptx::ParseResult> parsed = parseText(text);
  if (parsed)
    units = partition(parsed->module);
  else
    ADD_FAILURE() << toString(parsed.takeError());
  if (units.size() != cases.size())
    ADD_FAILURE() << cases.size() << " cases, " << units.size() << " units";
  else
    for (auto [index, unit] : enumerate(units)) {
      SCOPED_TRACE(cases[index].instruction);
      LLVMContext context;
      auto module = take(lower(parsed->module, unit, loweringOptions(common), context));
      if (!module)
        continue;
      expectDefinedEverywhere(print(*module));
      const bool flushes = module->getFunction(entryName(index))
                               ->getFnAttribute("denormal-fp-math-f32")
                               .getValueAsString()
                               .starts_with("preserve-sign");
      Group &group = groups[flushes];
      group.unit.kernels.push_back(unit.kernels[0]);
      group.members.push_back(index);
    }
  for (const Group &group : groups)
    if (!group.members.empty())
      run(parsed->module, group.unit, group.members);
  cases.clear();
}

void Batch::run(const ptx::Module &module, const Unit &unit, ArrayRef<unsigned> members) {
  LLVMContext context;
  const std::vector<uint8_t> code =
      compile(take(lower(module, unit, loweringOptions(common), context)), common);
  emulator::Memory memory;
  std::unique_ptr<emulator::CodeObject> object;
  if (!code.empty())
    object = take(emulator::CodeObject::load(code, memory));
  for (unsigned index : members) {
    const Pending &test = cases[index];
    SCOPED_TRACE(test.instruction + " for " + common.arch);
    if (object)
      compare(test,
              execute(*object, entryName(index), memory, test.result, test.sources, test.tuples));
    else
      ADD_FAILURE() << "no code";
  }
  rubia::test::noteExecuted(unit);
}

void Batch::compare(const Pending &test, ArrayRef<uint64_t> results) const {
  ASSERT_EQ(results.size(), test.tuples.size());
  unsigned failures = 0;
  for (size_t i = 0; i < results.size() && failures < 8; ++i) {
    const uint64_t *v = test.tuples[i].values;
    const bool hasReference = !test.expected.empty();
    const uint64_t expected = hasReference ? test.expected[i] : 0, got = results[i];
    const bool equal = hasReference && (got == expected ||
                                        (common.nan == settings::NanMode::Any &&
                                         isNan(test.result, got) && isNan(test.result, expected)));
    if (equal || (test.accept && test.accept(got, expected, v[0], v[1])))
      continue;
    ++failures;
    ADD_FAILURE() << std::hex << "a " << v[0] << " b " << v[1] << " c " << v[2] << " e " << v[3]
                  << ": expected " << expected << ", found " << got;
  }
}

// The reference is evaluated at once: it may refer to what its caller has on the stack.
void check(const Case &test, ArrayRef<Operands> tuples, const Compilation &setup,
           const Accept *accept) {
  Pending pending = {test.instruction, test.result, test.sources,
                     tuples.vec(),     {},          accept ? *accept : Accept()};
  if (test.reference)
    for (const Operands &tuple : tuples)
      pending.expected.push_back(
          test.reference(tuple.values[0], tuple.values[1], tuple.values[2], tuple.values[3]));
  Batch::get().add(std::move(pending), setup);
}

void check(const Case &test, const Compilation &setup) {
  check(test, operandsFor(test.sources), setup);
}

} // namespace rubia::lowering::test
