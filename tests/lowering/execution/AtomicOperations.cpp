// SPDX-License-Identifier: Apache-2.0
#include "tests/lowering/execution/AtomicOperations.h"
#include "tests/lowering/arithmetic/EdgeValues.h"
#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>

namespace rubia::lowering::test {

unsigned bitsOf(Format format) {
  return format == Format::F64 ? 64 : format == Format::F32 ? 32 : 16;
}

Wide masked(Wide value, unsigned bits) {
  return bits == 128 ? value : value & ((Wide(1) << bits) - 1);
}
static int64_t asSigned(Wide value, unsigned bits) {
  return int64_t(uint64_t(value) << (64 - bits)) >> (64 - bits);
}

constexpr Reference kAdd = [](Wide old, Wide b, Wide, unsigned) { return old + b; };
constexpr Reference kAnd = [](Wide old, Wide b, Wide, unsigned) { return old & b; };
constexpr Reference kOr = [](Wide old, Wide b, Wide, unsigned) { return old | b; };
constexpr Reference kXor = [](Wide old, Wide b, Wide, unsigned) { return old ^ b; };
constexpr Reference kExch = [](Wide, Wide b, Wide, unsigned) { return b; };
constexpr Reference kCas = [](Wide old, Wide b, Wide c, unsigned) { return old == b ? c : old; };
constexpr Reference kInc = [](Wide old, Wide b, Wide, unsigned) {
  return old >= b ? Wide(0) : old + 1;
};
constexpr Reference kDec = [](Wide old, Wide b, Wide, unsigned) {
  return old == 0 || old > b ? b : old - 1;
};
constexpr Reference kMin = [](Wide old, Wide b, Wide, unsigned) { return std::min(old, b); };
constexpr Reference kMax = [](Wide old, Wide b, Wide, unsigned) { return std::max(old, b); };
constexpr Reference kSignedMin = [](Wide old, Wide b, Wide, unsigned bits) {
  return asSigned(old, bits) < asSigned(b, bits) ? old : b;
};
constexpr Reference kSignedMax = [](Wide old, Wide b, Wide, unsigned bits) {
  return asSigned(old, bits) > asSigned(b, bits) ? old : b;
};

// Floats. Sums of 16-bit floats are rounded from f32, which has enough bits.
static float widen(Wide bits, Format format) {
  if (format == Format::BF16)
    return std::bit_cast<float>(uint32_t(bits) << 16);
  if (format == Format::F16)
    return float(std::bit_cast<_Float16>(uint16_t(bits)));
  return std::bit_cast<float>(uint32_t(bits));
}
static Wide narrow(float value, Format format) {
  if (format == Format::F16)
    return std::bit_cast<uint16_t>(_Float16(value));
  uint32_t bits = std::bit_cast<uint32_t>(value);
  if (format == Format::F32)
    return bits;
  if (value != value)
    return 0x7fc0;
  return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}
static Wide flushed(Wide bits) { return (bits & 0x7f800000) ? bits : bits & 0x80000000; }

static Wide addFloats(Wide old, Wide b, Format format, bool flushes) {
  if (format == Format::F64)
    return std::bit_cast<uint64_t>(std::bit_cast<double>(uint64_t(old)) +
                                   std::bit_cast<double>(uint64_t(b)));
  if (format != Format::F32 || !flushes)
    return narrow(widen(old, format) + widen(b, format), format);
  return flushed(narrow(widen(flushed(old), format) + widen(flushed(b), format), format));
}

static Wide selectFloat(Wide old, Wide b, Format format, bool maximum) {
  float x = widen(old, format), y = widen(b, format);
  if (x != x || y != y)
    return x != x ? b : old;
  if (x == y) // -0 is less than +0
    return std::signbit(x) != maximum ? old : b;
  return (x < y) != maximum ? old : b;
}

static bool isNan(Wide bits, Format format) {
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

bool Operation::adds() const { return strstr(name, "add"); }

unsigned Operation::atomicBits() const { return format == Format::Integer ? bits : bitsOf(format); }

Wide Operation::apply(Wide old, Wide b, Wide c, bool flushes) const {
  if (format == Format::Integer)
    return masked(reference(old, b, c, bits), bits);
  unsigned width = bitsOf(format);
  Wide result = 0;
  for (unsigned at = 0; at < bits * count; at += width) {
    Wide x = masked(old >> at, width), y = masked(b >> at, width);
    Wide element =
        adds() ? addFloats(x, y, format, flushes) : selectFloat(x, y, format, strstr(name, "max"));
    result |= element << at;
  }
  return result;
}

static const Operation kOperations[] = {
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

std::string Step::text() const {
  std::string space = place == Place::Global ? ".global" : place == Place::Shared ? ".shared" : "";
  return (isRed ? "red" : "atom") + semantics + scope + space + "." + operation->name + "." +
         operation->type;
}

static std::string registerOf(const Operation &operation, unsigned group, unsigned element) {
  const char *name = operation.bits == 16   ? "%h"
                     : operation.bits == 32 ? "%r"
                     : operation.bits == 64 ? "%d"
                                            : "%q";
  return name + std::to_string(group * 8 + element);
}

static std::string operandOf(const Operation &operation, unsigned group) {
  if (operation.count == 1)
    return registerOf(operation, group, 0);
  std::string text;
  for (unsigned i = 0; i < operation.count; ++i)
    text += (i ? ", " : "{") + registerOf(operation, group, i);
  return text + "}";
}

std::string Step::load(const std::string &base) const {
  std::string text;
  for (unsigned group = 1; group <= operation->sources; ++group)
    for (unsigned i = 0; i < operation->count; ++i)
      text += "ld.global.b" + std::to_string(operation->bits) + " " +
              registerOf(*operation, group, i) + ", [" + base + "+" +
              std::to_string(group * 16 + i * operation->bits / 8) + "];\n";
  return text;
}

std::string Step::execute(const std::string &address) const {
  return text() + " " + (isRed ? "" : operandOf(*operation, 3) + ", ") + "[" + address + "], " +
         operandOf(*operation, 1) +
         (operation->sources == 2 ? ", " + operandOf(*operation, 2) : "") + ";\n";
}

std::string Step::store(const std::string &base) const {
  std::string text;
  for (unsigned i = 0; !isRed && i < operation->count; ++i)
    text += "st.global.b" + std::to_string(operation->bits) + " [" + base + "+" +
            std::to_string(48 + i * operation->bits / 8) + "], " + registerOf(*operation, 3, i) +
            ";\n";
  return text;
}

std::vector<Step> allSteps() {
  using Place = Step::Place;
  const char *semantics[] = {"", ".relaxed", ".acquire", ".release", ".acq_rel"};
  const char *scopes[] = {".gpu", ".cta", ".cluster"};
  std::vector<Step> all;
  unsigned n = 0;
  for (const Operation &operation : kOperations)
    for (bool isRed : {false, true})
      for (Place place : {Place::Global, Place::Shared, Place::GenericGlobal, Place::GenericShared})
        for (bool isSystem : {false, true}) {
          if ((isRed && !operation.hasRed) || (isSystem && (isRed || place != Place::Global)))
            continue;
          if (isRed && (place == Place::GenericGlobal || place == Place::GenericShared))
            continue; // done as atom is
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

std::vector<Step> sampledSteps(size_t half) {
  std::vector<Step> steps = allSteps();
  if (std::getenv("RUBIA_TEST_LONG"))
    return steps;
  std::mt19937_64 random(3);
  std::erase_if(steps, [&](const Step &) { return (random() & 1) != (half & 1); });
  return steps;
}

static std::vector<uint64_t> edgesOf(Format format, unsigned bits) {
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

Wide anyValue(const Operation &operation, std::mt19937_64 &random) {
  unsigned width = std::min(operation.atomicBits(), 64u);
  std::vector<uint64_t> values = edgesOf(operation.format, operation.bits);
  Wide value = 0;
  for (unsigned at = 0; at < 128; at += width) {
    uint64_t element = random() % 4 ? values[random() % values.size()] : random();
    value |= masked(element, width) << at;
  }
  return value;
}

std::string show(Wide value) {
  char text[40];
  snprintf(text, sizeof text, "%016llx%016llx", (unsigned long long)(value >> 64),
           (unsigned long long)value);
  return text;
}

} // namespace rubia::lowering::test
