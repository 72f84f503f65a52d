// Every operation of atom and red on every type, width and state space, on all targets, by the fast
// and by the safe form. One kernel executes all of them, so that each target is compiled for twice.
//
// "Exact": each thread has a location of its own and operands of its own, edge values among them;
// the host computes what memory and the returned value must be.
#include "tests/lowering/arithmetic/EdgeValues.h"
#include "tests/lowering/execution/Execution.h"
#include "llvm/ADT/STLExtras.h"
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>

using namespace rubia::lowering::test;

namespace {

using Wide = unsigned __int128;

// What an element is made of, for the arithmetic and for the comparison of NaNs.
enum class Format { Integer, F16, BF16, F32, F64 };

unsigned bitsOf(Format format) {
  return format == Format::F64 ? 64 : format == Format::F32 ? 32 : 16;
}

struct Machine {
  bool flushes;         // addition of f32 outside of shared memory
  bool flushesOperands; // only of what the instruction has, not of memory
};

using Reference = Wide (*)(Wide old, Wide b, Wide c, unsigned bits, const Machine &);

struct Operation {
  const char *name, *type; // "add.noftz.v2", "f16"
  unsigned bits;           // of an element of the PTX type
  unsigned count;          // of elements
  Format format;
  Reference reference; // of integers; floats have theirs by name
  unsigned sources = 1;
  bool hasShared = true, hasRed = true;
};

Wide masked(Wide value, unsigned bits) {
  return bits == 128 ? value : value & ((Wide(1) << bits) - 1);
}
int64_t asSigned(Wide value, unsigned bits) {
  return int64_t(uint64_t(value) << (64 - bits)) >> (64 - bits);
}

constexpr Reference kAdd = [](Wide old, Wide b, Wide, unsigned, const Machine &) {
  return old + b;
};
constexpr Reference kAnd = [](Wide old, Wide b, Wide, unsigned, const Machine &) {
  return old & b;
};
constexpr Reference kOr = [](Wide old, Wide b, Wide, unsigned, const Machine &) { return old | b; };
constexpr Reference kXor = [](Wide old, Wide b, Wide, unsigned, const Machine &) {
  return old ^ b;
};
constexpr Reference kExch = [](Wide, Wide b, Wide, unsigned, const Machine &) { return b; };
constexpr Reference kCas = [](Wide old, Wide b, Wide c, unsigned, const Machine &) {
  return old == b ? c : old;
};
constexpr Reference kInc = [](Wide old, Wide b, Wide, unsigned, const Machine &) {
  return old >= b ? Wide(0) : old + 1;
};
constexpr Reference kDec = [](Wide old, Wide b, Wide, unsigned, const Machine &) {
  return old == 0 || old > b ? b : old - 1;
};
constexpr Reference kMin = [](Wide old, Wide b, Wide, unsigned, const Machine &) {
  return std::min(old, b);
};
constexpr Reference kMax = [](Wide old, Wide b, Wide, unsigned, const Machine &) {
  return std::max(old, b);
};
constexpr Reference kSignedMin = [](Wide old, Wide b, Wide, unsigned bits, const Machine &) {
  return asSigned(old, bits) < asSigned(b, bits) ? old : b;
};
constexpr Reference kSignedMax = [](Wide old, Wide b, Wide, unsigned bits, const Machine &) {
  return asSigned(old, bits) > asSigned(b, bits) ? old : b;
};

// Floats. Sums of 16-bit floats are rounded from f32, which has enough bits.
float widen(Wide bits, Format format) {
  if (format == Format::BF16)
    return std::bit_cast<float>(uint32_t(bits) << 16);
  if (format == Format::F16)
    return float(std::bit_cast<_Float16>(uint16_t(bits)));
  return std::bit_cast<float>(uint32_t(bits));
}
Wide narrow(float value, Format format) {
  if (format == Format::F16)
    return std::bit_cast<uint16_t>(_Float16(value));
  uint32_t bits = std::bit_cast<uint32_t>(value);
  if (format == Format::F32)
    return bits;
  if (value != value)
    return 0x7fc0;
  return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}
Wide flushed(Wide bits) { return (bits & 0x7f800000) ? bits : bits & 0x80000000; }

Wide addFloats(Wide old, Wide b, Format format, const Machine &machine) {
  if (format == Format::F64)
    return std::bit_cast<uint64_t>(std::bit_cast<double>(uint64_t(old)) +
                                   std::bit_cast<double>(uint64_t(b)));
  if (format == Format::F32 && (machine.flushes || machine.flushesOperands))
    b = flushed(b);
  if (format == Format::F32 && machine.flushes)
    old = flushed(old);
  Wide sum = narrow(widen(old, format) + widen(b, format), format);
  return format == Format::F32 && machine.flushes ? flushed(sum) : sum;
}

Wide selectFloat(Wide old, Wide b, Format format, bool maximum) {
  float x = widen(old, format), y = widen(b, format);
  if (x != x || y != y)
    return x != x ? b : old;
  if (x == y) // -0 is less than +0
    return std::signbit(x) != maximum ? old : b;
  return (x < y) != maximum ? old : b;
}

bool isNan(Wide bits, Format format) {
  if (format == Format::F64)
    return std::isnan(std::bit_cast<double>(uint64_t(bits)));
  return format != Format::Integer && std::isnan(widen(bits, format));
}

bool equal(Wide x, Wide y, Format format, unsigned bits) {
  if (format == Format::Integer)
    return x == y;
  unsigned width = bitsOf(format);
  for (unsigned at = 0; at < bits; at += width) {
    Wide a = masked(x >> at, width), b = masked(y >> at, width);
    if (a != b && !(isNan(a, format) && isNan(b, format)))
      return false;
  }
  return true;
}

Wide apply(const Operation &operation, Wide old, Wide b, Wide c, const Machine &machine) {
  unsigned bits = operation.bits * operation.count;
  if (operation.format == Format::Integer)
    return masked(operation.reference(old, b, c, bits, machine), bits);
  unsigned width = bitsOf(operation.format);
  Wide result = 0;
  for (unsigned at = 0; at < bits; at += width) {
    Wide x = masked(old >> at, width), y = masked(b >> at, width);
    Wide element = strstr(operation.name, "add")
                       ? addFloats(x, y, operation.format, machine)
                       : selectFloat(x, y, operation.format, strstr(operation.name, "max"));
    result |= element << at;
  }
  return result;
}

const Operation kOperations[] = {
    {"and", "b32", 32, 1, Format::Integer, kAnd},
    {"or", "b32", 32, 1, Format::Integer, kOr},
    {"xor", "b32", 32, 1, Format::Integer, kXor},
    {"and", "b64", 64, 1, Format::Integer, kAnd},
    {"or", "b64", 64, 1, Format::Integer, kOr},
    {"xor", "b64", 64, 1, Format::Integer, kXor},
    {"exch", "b32", 32, 1, Format::Integer, kExch, 1, true, false},
    {"exch", "b64", 64, 1, Format::Integer, kExch, 1, true, false},
    {"exch", "b128", 128, 1, Format::Integer, kExch, 1, true, false},
    {"cas", "b16", 16, 1, Format::Integer, kCas, 2, true, false},
    {"cas", "b32", 32, 1, Format::Integer, kCas, 2, true, false},
    {"cas", "b64", 64, 1, Format::Integer, kCas, 2, true, false},
    {"cas", "b128", 128, 1, Format::Integer, kCas, 2, true, false},
    {"add", "u32", 32, 1, Format::Integer, kAdd},
    {"add", "s32", 32, 1, Format::Integer, kAdd},
    {"add", "u64", 64, 1, Format::Integer, kAdd},
    {"inc", "u32", 32, 1, Format::Integer, kInc},
    {"dec", "u32", 32, 1, Format::Integer, kDec},
    {"min", "u32", 32, 1, Format::Integer, kMin},
    {"max", "u32", 32, 1, Format::Integer, kMax},
    {"min", "s32", 32, 1, Format::Integer, kSignedMin},
    {"max", "s32", 32, 1, Format::Integer, kSignedMax},
    {"min", "u64", 64, 1, Format::Integer, kMin},
    {"max", "u64", 64, 1, Format::Integer, kMax},
    {"min", "s64", 64, 1, Format::Integer, kSignedMin},
    {"max", "s64", 64, 1, Format::Integer, kSignedMax},
    {"add", "f32", 32, 1, Format::F32, nullptr},
    {"add", "f64", 64, 1, Format::F64, nullptr},
    {"add.noftz", "f16", 16, 1, Format::F16, nullptr},
    {"add.noftz", "bf16", 16, 1, Format::BF16, nullptr},
    {"add.noftz", "f16x2", 32, 1, Format::F16, nullptr},
    {"add.noftz", "bf16x2", 32, 1, Format::BF16, nullptr},
    {"add.v2", "f32", 32, 2, Format::F32, nullptr, 1, false},
    {"add.v4", "f32", 32, 4, Format::F32, nullptr, 1, false},
    {"add.noftz.v2", "f16", 16, 2, Format::F16, nullptr, 1, false},
    {"min.noftz.v4", "f16", 16, 4, Format::F16, nullptr, 1, false},
    {"max.noftz.v8", "f16", 16, 8, Format::F16, nullptr, 1, false},
    {"max.noftz.v2", "bf16", 16, 2, Format::BF16, nullptr, 1, false},
    {"add.noftz.v4", "bf16", 16, 4, Format::BF16, nullptr, 1, false},
    {"min.noftz.v8", "bf16", 16, 8, Format::BF16, nullptr, 1, false},
    {"max.noftz.v2", "f16x2", 32, 2, Format::F16, nullptr, 1, false},
    {"add.noftz.v4", "f16x2", 32, 4, Format::F16, nullptr, 1, false},
    {"min.noftz.v2", "bf16x2", 32, 2, Format::BF16, nullptr, 1, false},
    {"add.noftz.v4", "bf16x2", 32, 4, Format::BF16, nullptr, 1, false},
};

enum class Place { Global, Shared, GenericGlobal, GenericShared };
constexpr Place kPlaces[] = {Place::Global, Place::Shared, Place::GenericGlobal,
                             Place::GenericShared};

// One instruction of the kernel.
struct Step {
  const Operation *operation;
  Place place;
  bool isRed;
  std::string semantics, scope;

  bool inShared() const { return place == Place::Shared || place == Place::GenericShared; }
  std::string text() const {
    std::string space = place == Place::Global   ? ".global"
                        : place == Place::Shared ? ".shared"
                                                 : "";
    return (isRed ? "red" : "atom") + semantics + scope + space + "." + operation->name + "." +
           operation->type;
  }
};

// All operations in all places; semantics and scopes take turns, .sys is there for every operation.
std::vector<Step> steps() {
  const char *semantics[] = {"", ".relaxed", ".acquire", ".release", ".acq_rel"};
  const char *scopes[] = {".gpu", ".cta", ".cluster"};
  std::vector<Step> all;
  unsigned n = 0;
  for (const Operation &operation : kOperations)
    for (bool isRed : {false, true})
      for (Place place : kPlaces)
        for (bool isSystem : {false, true}) {
          if ((isRed && !operation.hasRed) || (isSystem && place != Place::Global))
            continue;
          if (!operation.hasShared && (place == Place::Shared || place == Place::GenericShared))
            continue;
          const char *chosen = semantics[n % 5];
          if (isRed && chosen != semantics[1] && chosen != semantics[3])
            chosen = n % 2 ? "" : ".release";
          all.push_back({&operation, place, isRed, chosen,
                         isSystem           ? ".sys"
                         : *chosen || n % 4 ? scopes[n % 3]
                                            : ""});
          ++n;
        }
  return all;
}

constexpr unsigned kTuples = 256;
constexpr unsigned kRecordWords = 20; // memory, b, c, returned value, memory after: 16 bytes each

// The kernel: thread t has the t-th record of each step.
std::string kernelText(const std::vector<Step> &all) {
  std::string body;
  for (const auto &[index, step] : llvm::enumerate(all)) {
    const Operation &operation = *step.operation;
    std::string n = std::to_string(operation.bits);
    const char *name = operation.bits == 16   ? "%h"
                       : operation.bits == 32 ? "%r"
                       : operation.bits == 64 ? "%d"
                                              : "%q";
    auto reg = [&](unsigned group, unsigned element) {
      return name + std::to_string(group * 8 + element);
    };
    auto list = [&](unsigned group) {
      if (operation.count == 1)
        return reg(group, 0);
      std::string text;
      for (unsigned i = 0; i < operation.count; ++i)
        text += (i ? ", " : "{") + reg(group, i);
      return text + "}";
    };
    auto each = [&](const std::function<std::string(unsigned, std::string)> &line) {
      for (unsigned i = 0; i < operation.count; ++i)
        body += line(i, std::to_string(i * operation.bits / 8)) + "\n";
    };
    for (unsigned group = 1; group <= operation.sources; ++group)
      each([&](unsigned i, std::string at) {
        return "ld.global.b" + n + " " + reg(group, i) + ", [%record+" +
               std::to_string(group * 16) + "+" + at + "];";
      });
    std::string address = "%record";
    if (step.inShared()) {
      body += "ld.global.v4.b32 {%r30, %r31, %r32, %r33}, [%record];\n"
              "st.shared.v4.b32 [%cell], {%r30, %r31, %r32, %r33};\n";
      address = step.place == Place::Shared ? "%cell" : "%generic";
    }
    body += step.text() + " " + (step.isRed ? "" : list(3) + ", ") + "[" + address + "], " +
            list(1) + (operation.sources == 2 ? ", " + list(2) : "") + ";\n";
    if (!step.isRed)
      each([&](unsigned i, std::string at) {
        return "st.global.b" + n + " [%record+48+" + at + "], " + reg(3, i) + ";";
      });
    body += std::string("ld.") + (step.inShared() ? "shared" : "global") +
            ".v4.b32 {%r30, %r31, %r32, %r33}, [" + (step.inShared() ? "%cell" : "%record") +
            "];\nst.global.v4.b32 [%record+64], {%r30, %r31, %r32, %r33};\n" +
            "add.u64 %record, %record, " + std::to_string(kTuples * kRecordWords * 4) + ";\n";
  }
  return R"(.version 8.8
.target sm_90
.address_size 64
.shared .align 16 .b8 cells[4096];
.visible .entry k(.param .u64 p, .param .u32 n)
{
.reg .b16 %h<40>; .reg .b32 %r<40>; .reg .b64 %d<40>; .reg .b128 %q<40>;
.reg .b64 %record, %generic; .reg .b32 %tid, %cell, %x;
ld.param.u64 %record, [p];
cvta.to.global.u64 %record, %record;
mov.u32 %tid, %tid.x;
mov.u32 %x, %ctaid.x;
mad.lo.u32 %x, %x, 64, %tid;
mad.wide.u32 %record, %x, 80, %record;
mov.u32 %cell, cells;
mad.lo.u32 %cell, %tid, 16, %cell;
cvt.u64.u32 %generic, %cell;
cvta.shared.u64 %generic, %generic;
)" + body +
         "}\n";
}

std::vector<uint64_t> valuesFor(Format format, unsigned bits) {
  switch (format) {
  case Format::F16:
    return f16Edges();
  case Format::BF16:
    return bf16Edges();
  case Format::F32:
    return f32Edges();
  case Format::F64:
    return f64Edges();
  case Format::Integer:
    break;
  }
  return integerEdges(std::min(bits, 64u));
}

void put(uint32_t *words, Wide value) { std::memcpy(words, &value, 16); }
Wide get(const uint32_t *words) {
  Wide value;
  std::memcpy(&value, words, 16);
  return value;
}

std::string show(Wide value) {
  char text[40];
  snprintf(text, sizeof text, "%016llx%016llx", (unsigned long long)(value >> 64),
           (unsigned long long)value);
  return text;
}

std::vector<uint32_t> initialRecords(const std::vector<Step> &all) {
  std::vector<uint32_t> words(all.size() * kTuples * kRecordWords);
  std::mt19937_64 random(1);
  for (size_t i = 0; i < all.size(); ++i) {
    const Operation &operation = *all[i].operation;
    unsigned width = operation.format == Format::Integer ? std::min(operation.bits, 64u)
                                                         : bitsOf(operation.format);
    std::vector<uint64_t> values = valuesFor(operation.format, operation.bits);
    auto any = [&] {
      Wide value = 0;
      for (unsigned at = 0; at < 128; at += width) {
        uint64_t element = random() % 4 ? values[random() % values.size()] : random();
        value |= masked(element, width) << at;
      }
      return value;
    };
    for (unsigned t = 0; t < kTuples; ++t) {
      uint32_t *record = &words[(i * kTuples + t) * kRecordWords];
      Wide old = any(), b = any();
      if (operation.sources == 2 && t % 2) // a comparison that holds
        b = old;
      put(record, old);
      put(record + 4, b);
      put(record + 8, any());
    }
  }
  return words;
}

// What addition of f32 does with denormals; docs/hardware-assumptions.md.
Machine machineFor(const std::string &arch, const Step &step) {
  if (step.inShared())
    return {false, false};
  bool hasInstructionThatKeeps = arch.starts_with("gfx12") && step.scope != ".sys";
  return {!hasInstructionThatKeeps, hasInstructionThatKeeps};
}

class AtomicsMatrix : public testing::TestWithParam<std::tuple<const char *, bool>> {};

TEST_P(AtomicsMatrix, Exact) {
  auto [arch, safe] = GetParam();
  std::vector<Step> all = steps();
  std::vector<uint32_t> before = initialRecords(all);
  Form form;
  form.arch = arch;
  form.safeAtomics = safe;
  form.halfFilled = form.arch.starts_with("gfx9");
  form.grid = {kTuples / 64, 1, 1};
  form.block = {64, 1, 1};
  std::vector<uint32_t> after = run(kernelText(all), before, form).words;
  unsigned failures = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    const Operation &operation = *all[i].operation;
    unsigned bits = operation.bits * operation.count;
    Machine machine = machineFor(arch, all[i]);
    for (unsigned t = 0; t < kTuples; ++t) {
      size_t record = (i * kTuples + t) * kRecordWords;
      Wide old = get(&before[record]), b = get(&before[record + 4]), c = get(&before[record + 8]);
      Wide expected =
          apply(operation, masked(old, bits), masked(b, bits), masked(c, bits), machine);
      if (bits < 128)
        expected |= old >> bits << bits; // the neighbourhood stays
      Wide memory = get(&after[record + 16]), returned = get(&after[record + 12]);
      bool right = equal(masked(memory, bits), masked(expected, bits), operation.format, bits) &&
                   (bits == 128 || memory >> bits == expected >> bits) &&
                   (all[i].isRed || masked(returned, bits) == masked(old, bits));
      if (!right && ++failures <= 20)
        ADD_FAILURE() << all[i].text() << " of " << show(old) << ", " << show(b) << ", " << show(c)
                      << ": memory " << show(memory) << ", expected " << show(expected)
                      << ", returned " << show(returned);
    }
  }
  EXPECT_EQ(failures, 0u);
}

INSTANTIATE_TEST_SUITE_P(Targets, AtomicsMatrix,
                         testing::Combine(testing::ValuesIn(kTargets), testing::Bool()),
                         [](const auto &info) {
                           return std::string(std::get<0>(info.param)) +
                                  (std::get<1>(info.param) ? "Safe" : "Fast");
                         });

} // namespace
