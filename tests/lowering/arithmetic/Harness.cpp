#include "tests/lowering/arithmetic/Harness.h"
#include "codegen/Codegen.h"
#include "emulator/Emulator.h"
#include "lowering/Abi.h"
#include "ptx-frontend/Parser.h"
#include "tests/lowering/arithmetic/EdgeValues.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/raw_ostream.h"
#include <cstring>

using namespace llvm;

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

std::string kernelText(StringRef body, Kind result, ArrayRef<Kind> sources) {
  std::string text;
  raw_string_ostream os(text);
  os << ".version 8.8\n.target sm_100\n.address_size 64\n"
        ".visible .entry k(.param .u64 in0, .param .u64 in1, .param .u64 in2, .param .u64 in3,\n"
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

// ---------- Compilation

static Expected<std::unique_ptr<llvm::Module>> lowerText(StringRef ptx, const Compilation &setup,
                                                         LLVMContext &context) {
  ptx::ParseResult parsed = ptx::parse("test.ptx", ptx.str());
  if (!parsed.usable || parsed.hasErrors()) {
    std::string text = "does not parse:\n";
    for (const ptx::Diagnostic &diagnostic : parsed.diagnostics)
      text += ptx::format(diagnostic, "test.ptx", ptx);
    return createStringError(text);
  }
  std::vector<Unit> units = partition(parsed.module);
  if (units.size() != 1)
    return createStringError("expected one unit, found %zu", units.size());
  Options options;
  options.arch = setup.arch;
  options.nan = setup.nan;
  return lower(parsed.module, units[0], options, context);
}

template <typename T> static T take(Expected<T> value) {
  if (value)
    return std::move(*value);
  ADD_FAILURE() << toString(value.takeError());
  return T();
}

std::string lowerToIr(StringRef ptx, const Compilation &setup) {
  LLVMContext context;
  std::unique_ptr<llvm::Module> module = take(lowerText(ptx, setup, context));
  std::string text;
  raw_string_ostream os(text);
  if (module)
    module->print(os, nullptr);
  return text;
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

std::vector<uint8_t> compileToCode(StringRef ptx, const Compilation &setup) {
  LLVMContext context;
  std::unique_ptr<llvm::Module> module = take(lowerText(ptx, setup, context));
  if (!module)
    return {};
  Expected<codegen::CodeObject> object = codegen::compile(std::move(module), codegenOptions(setup));
  if (object)
    return std::vector<uint8_t>(object->bytes.begin(), object->bytes.end());
  ADD_FAILURE() << toString(object.takeError());
  return {};
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

std::vector<uint64_t> execute(ArrayRef<uint8_t> code, Kind result, ArrayRef<Kind> sources,
                              ArrayRef<Operands> tuples) {
  if (code.empty())
    return {};
  emulator::Memory memory;
  Expected<std::unique_ptr<emulator::CodeObject>> object = emulator::CodeObject::load(code, memory);
  if (!object) {
    ADD_FAILURE() << toString(object.takeError());
    return {};
  }
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
  launch.kernel = (*object)->kernel("k");
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
  const uint64_t kMost = 8192;
  uint64_t stride = combinations <= kMost ? 1 : combinations / kMost | 1;
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

void check(const Case &test, ArrayRef<Operands> tuples, const Compilation &setup,
           const Accept *accept) {
  SCOPED_TRACE(test.instruction);
  std::string body = "  " + test.instruction + ";";
  std::string text = kernelText(body, test.result, test.sources);
  expectDefinedEverywhere(lowerToIr(text, setup));
  std::vector<uint8_t> code = compileToCode(text, setup);
  std::vector<uint64_t> results = execute(code, test.result, test.sources, tuples);
  ASSERT_EQ(results.size(), tuples.size());
  unsigned failures = 0;
  for (size_t i = 0; i < tuples.size() && failures < 8; ++i) {
    const uint64_t *v = tuples[i].values;
    uint64_t expected = test.reference ? test.reference(v[0], v[1], v[2], v[3]) : 0;
    uint64_t got = results[i];
    bool equal = test.reference &&
                 (got == expected || (setup.nan == NanMode::Any && isNan(test.result, got) &&
                                      isNan(test.result, expected)));
    if (equal || (accept && (*accept)(got, expected, v[0], v[1])))
      continue;
    ++failures;
    ADD_FAILURE() << std::hex << "a " << v[0] << " b " << v[1] << " c " << v[2] << " e " << v[3]
                  << ": expected " << expected << ", found " << got;
  }
}

void check(const Case &test, const Compilation &setup) {
  check(test, operandsFor(test.sources), setup);
}

} // namespace rubia::lowering::test
