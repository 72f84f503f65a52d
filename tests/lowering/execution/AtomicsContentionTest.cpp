// SPDX-License-Identifier: Apache-2.0
// All threads of a grid do the same atomic on one location, or all threads of a CTA on one in
// shared memory.
//
// What atom returned says in which order the threads came: each thread's operation is an edge from
// the value that it returned to the value that it must have made of it. The operations were atomic,
// in some order, exactly if these edges are a path from the first value to the last that takes
// every edge once (Euler). This needs no assumption about the operation, so that floats whose sum
// depends on the order are checked as strictly as integers. red returns nothing; its operands are
// chosen so that the order does not matter.
#include "tests/lowering/execution/AtomicOperations.h"
#include "tests/lowering/execution/Execution.h"
#include "llvm/ADT/STLExtras.h"
#include <bit>
#include <cstring>
#include <map>

using namespace rubia::lowering::test;

namespace {

constexpr unsigned kCtas = 4, kCtaThreads = 64, kThreads = kCtas * kCtaThreads;
// Of a step in the buffer: the location, what the CTAs find in shared memory at the end, and for
// each thread 16 unused bytes, its operands, and what was returned.
constexpr unsigned kRecord = 64, kRecords = 128, kStep = kRecords + kThreads * kRecord;

std::string kernelText(const std::vector<Step> &all) {
  std::string body;
  for (const Step &step : all) {
    body += step.load("%record");
    if (!step.inShared()) {
      body += step.execute("%step") + step.store("%record");
    } else {
      body += "@%first ld.global.v4.b32 {%r36, %r37, %r38, %r39}, [%step];\n"
              "@%first st.shared.v4.b32 [cell], {%r36, %r37, %r38, %r39};\n"
              "bar.sync 0;\n" +
              step.execute(step.place == Step::Place::Shared ? "cell" : "%generic") +
              step.store("%record") +
              "bar.sync 0;\n"
              "@%first ld.shared.v4.b32 {%r36, %r37, %r38, %r39}, [cell];\n"
              "@%first st.global.v4.b32 [%final], {%r36, %r37, %r38, %r39};\n";
    }
    for (const char *pointer : {"%step", "%final", "%record"})
      body +=
          std::string("add.u64 ") + pointer + ", " + pointer + ", " + std::to_string(kStep) + ";\n";
  }
  return std::string(".version 8.8\n.target sm_90\n.address_size 64\n") +
         ".shared .align 16 .b8 cell[16];\n.visible .entry k(.param .u64 p, .param .u32 n)\n{\n" +
         kStepRegisters + R"(
.reg .b64 %step, %final, %record, %generic; .reg .b32 %tid, %cta, %x; .reg .pred %first;
ld.param.u64 %step, [p];
cvta.to.global.u64 %step, %step;
mov.u32 %tid, %tid.x;
mov.u32 %cta, %ctaid.x;
mad.wide.u32 %final, %cta, 16, %step;
add.u64 %final, %final, 16;
mad.lo.u32 %x, %cta, 64, %tid;
mad.wide.u32 %record, %x, 64, %step;
add.u64 %record, %record, 128;
setp.eq.u32 %first, %tid, 0;
mov.u64 %generic, cell;
cvta.shared.u64 %generic, %generic;
)" + body +
         "}\n";
}

Wide get(const std::vector<uint32_t> &words, size_t byte) {
  Wide value;
  std::memcpy(&value, reinterpret_cast<const char *>(words.data()) + byte, 16);
  return value;
}
void put(std::vector<uint32_t> &words, size_t byte, Wide value) {
  std::memcpy(reinterpret_cast<char *>(words.data()) + byte, &value, 16);
}

// An element of a float format: a small whole number, or anything of moderate size.
Wide numberOf(Format format, std::mt19937_64 &random, bool whole) {
  float value = whole ? float(int(random() % 3) - 1)
                      : float(int(random() % 65536) - 32768) / float(1 << random() % 14);
  switch (format) {
  case Format::F16:
    return std::bit_cast<uint16_t>(_Float16(whole ? value : value / 16));
  case Format::BF16:
    return std::bit_cast<uint32_t>(value) >> 16;
  case Format::F64:
    return std::bit_cast<uint64_t>(whole ? double(value) : double(value) / 3);
  default:
    return std::bit_cast<uint32_t>(value);
  }
}

Wide operandFor(const Step &step, std::mt19937_64 &random) {
  const Operation &operation = *step.operation;
  if (operation.sources == 2) // compare and swap among few values
    return random() % 4 | Wide(random() % 2) << (operation.bits - 1);
  if (step.isRed && (operation.name == std::string("inc") || operation.name == std::string("dec")))
    return 37;
  if (operation.format == Format::Integer)
    return anyValue(operation, random);
  Wide value = 0;
  for (unsigned at = 0; at < 128; at += operation.atomicBits())
    value |= numberOf(operation.format, random, step.isRed && operation.adds()) << at;
  return value;
}

// See above. `edges`: from, to.
bool isOnePath(const std::vector<std::pair<Wide, Wide>> &edges, Wide first, Wide last) {
  std::map<Wide, int> numbers, surplus;
  std::vector<int> parent;
  auto number = [&](Wide value) {
    auto [place, isNew] = numbers.try_emplace(value, int(parent.size()));
    if (isNew)
      parent.push_back(int(parent.size()));
    return place->second;
  };
  auto root = [&](int n) {
    while (parent[size_t(n)] != n)
      n = parent[size_t(n)];
    return n;
  };
  number(first);
  for (auto [from, to] : edges) {
    int a = root(number(from)), b = root(number(to));
    parent[size_t(a)] = b;
    ++surplus[from];
    --surplus[to];
  }
  --surplus[first];
  ++surplus[last];
  for (size_t n = 0; n < parent.size(); ++n)
    if (root(int(n)) != root(0))
      return false;
  return llvm::all_of(surplus, [](auto &entry) { return entry.second == 0; });
}

void check(Form form, size_t half) {
  std::vector<Step> all = sampledSteps(half);
  std::mt19937_64 random(2);
  std::vector<uint32_t> before(all.size() * kStep / 4);
  for (size_t i = 0; i < all.size(); ++i) {
    put(before, i * kStep, operandFor(all[i], random));
    for (unsigned t = 0; t < kThreads; ++t)
      for (unsigned at : {16, 32})
        put(before, i * kStep + kRecords + t * kRecord + at, operandFor(all[i], random));
  }
  form.grid = {kCtas, 1, 1};
  form.block = {kCtaThreads, 1, 1};
  form.halfFilled = isWave64(form.arch);
  std::vector<uint32_t> after = run(kernelText(all), before, form).words;

  for (size_t i = 0; i < all.size(); ++i) {
    const Step &step = all[i];
    const Operation &operation = *step.operation;
    const unsigned bits = operation.bits * operation.count, width = operation.atomicBits();
    const Wide first = get(before, i * kStep);
    const unsigned groups = step.inShared() ? kCtas : 1, size = kThreads / groups;
    for (unsigned group = 0; group < groups; ++group) {
      const Wide last = get(after, i * kStep + (step.inShared() ? 16 * (group + 1) : 0));
      Wide folded = masked(first, bits);
      std::vector<std::vector<std::pair<Wide, Wide>>> edges(bits / width);
      for (unsigned t = group * size; t < (group + 1) * size; ++t) {
        size_t record = i * kStep + kRecords + t * kRecord;
        Wide b = masked(get(before, record + 16), bits), c = masked(get(before, record + 32), bits);
        folded = operation.apply(folded, b, c, !step.inShared());
        Wide old = masked(get(after, record + 48), bits);
        Wide made = operation.apply(old, b, c, !step.inShared());
        for (unsigned at = 0; at < bits; at += width)
          edges[at / width].emplace_back(masked(old >> at, width), masked(made >> at, width));
      }
      if (step.isRed) {
        EXPECT_TRUE(equal(masked(last, bits), folded, operation.format, bits))
            << step.text() << ": " << show(last) << ", expected " << show(folded);
        continue;
      }
      for (unsigned at = 0; at < bits; at += width)
        EXPECT_TRUE(
            isOnePath(edges[at / width], masked(first >> at, width), masked(last >> at, width)))
            << step.text() << ": from " << show(first) << " to " << show(last) << ", bit " << at;
      EXPECT_TRUE(bits == 128 || last >> bits == first >> bits) << step.text();
    }
  }
}

class AtomicsContention : public testing::TestWithParam<const char *> {};

TEST_P(AtomicsContention, OneOrderExplainsAll) {
  Form form;
  form.arch = GetParam();
  form.hostThreads = 2;
  check(form, size_t(llvm::find(kTargets, llvm::StringRef(GetParam())) - std::begin(kTargets)));
}

INSTANTIATE_TEST_SUITE_P(Targets, AtomicsContention, testing::ValuesIn(kTargets),
                         [](const auto &info) { return rubia::test::identifier(info.param); });

TEST(AtomicsContention, SafeForms) {
  Form form;
  form.arch = "gfx90a"; // loops for all that memory of the host does not do
  form.safeAtomics = true;
  check(form, 0);
}

// Threads count by compare and swap, and look at both halves of 128 bits at once; others overwrite
// them by plain atomic stores.
std::string countingKernel() {
  std::string body;
  struct Count {
    const char *type, *reg;
    unsigned offset;
  };
  for (const char *space : {"global", "shared"}) {
    std::string address = space == std::string("global") ? "%buf+" : "s+";
    for (Count count : {Count{"b16", "%rs", 2}, {"b32", "%r", 4}, {"b64", "%rd", 8}}) {
      std::string n = std::string(count.type).substr(1), label = space + n;
      std::string place = "[" + address + std::to_string(count.offset) + "]";
      body += "ld.relaxed.gpu." + std::string(space) + ".b" + n + " " + count.reg + "0, " + place +
              ";\n" + label + ":\nadd.u" + n + " " + count.reg + "1, " + count.reg + "0, 1;\n" +
              "atom." + space + ".cas.b" + n + " " + count.reg + "2, " + place + ", " + count.reg +
              "0, " + count.reg + "1;\nsetp.ne.u" + n + " %p0, " + count.reg + "2, " + count.reg +
              "0;\nmov.b" + n + " " + count.reg + "0, " + count.reg + "2;\n@%p0 bra " + label +
              ";\n";
    }
    std::string place = "[" + address + "16]", label = std::string(space) + "128";
    std::string name = space;
    // The upper half is three times the lower one, or the thread writes 1 to %buf+48.
    std::string inspect = "mov.b128 {%rd0, %rd1}, %q0;\nmul.lo.u64 %rd2, %rd0, 3;\n"
                          "setp.ne.u64 %p0, %rd1, %rd2;\n@%p0 st.global.u32 [%buf+48], 1;\n";
    body += "ld.acquire.gpu." + name + ".b128 %q0, " + place + ";\n" + label + ":\n" + inspect +
            "add.u64 %rd0, %rd0, 1;\nadd.u64 %rd1, %rd1, 3;\nmov.b128 %q1, {%rd0, %rd1};\n" +
            "atom.acq_rel.gpu." + name + ".cas.b128 %q2, " + place + ", %q0, %q1;\n" +
            "mov.b128 {%rd0, %rd1}, %q0;\nmov.b128 {%rd2, %rd3}, %q2;\n" +
            "setp.ne.u64 %p0, %rd0, %rd2;\nsetp.ne.or.u64 %p0, %rd1, %rd3, %p0;\n" +
            "mov.b128 %q0, %q2;\n@%p0 bra " + label + ";\n";
    place = "[" + address + "32]";
    body += "cvt.u64.u32 %rd0, %tid;\nmul.lo.u64 %rd1, %rd0, 3;\nmov.b128 %q0, {%rd0, %rd1};\n" +
            ("st.release.gpu." + name) + ".b128 " + place + ", %q0;\nld.volatile." + name +
            ".b128 %q0, " + place + ";\n" + inspect;
  }
  std::string ptx = executable(
      "setp.eq.u32 %p1, %tid, 0;\n.reg .b128 %q<3>;\n"
      "mov.b32 %r0, 0;\n" +
          [] {
            std::string zeroes;
            for (unsigned i = 0; i < 12; ++i)
              zeroes += "@%p1 st.shared.b32 [s+" + std::to_string(4 * i) + "], %r0;\n";
            return zeroes;
          }() +
          "bar.sync 0;\n" + body + R"(
bar.sync 0;
@!%p1 bra end;
mov.u32 %r0, %ctaid.x;
mad.wide.u32 %rd4, %r0, 32, %buf;
ld.shared.v4.b32 {%r0, %r1, %r2, %r3}, [s];
st.global.v4.b32 [%rd4+64], {%r0, %r1, %r2, %r3};
ld.shared.v4.b32 {%r0, %r1, %r2, %r3}, [s+16];
st.global.v4.b32 [%rd4+80], {%r0, %r1, %r2, %r3};
end:)",
      ".shared .align 16 .b8 s[48];");
  std::string old = ".version 8.0\n.target sm_80";
  return ptx.replace(ptx.find(old), old.size(), ".version 8.8\n.target sm_90");
}

void checkCounting(Form form, unsigned ctas, unsigned ctaThreads) {
  form.grid = {ctas, 1, 1};
  form.block = {ctaThreads, 1, 1};
  form.halfFilled = isWave64(form.arch);
  std::vector<uint32_t> words = run(countingKernel(), std::vector<uint32_t>(64), form).words;
  auto expectCounts = [&](unsigned at, uint32_t n) {
    EXPECT_EQ(std::vector<uint32_t>(words.begin() + at, words.begin() + at + 8),
              (std::vector<uint32_t>{n << 16, n, n, 0, n, 0, 3 * n, 0}));
  };
  expectCounts(0, ctas * ctaThreads);
  EXPECT_EQ(words[10], 3 * words[8]);
  EXPECT_EQ(words[12], 0u) << "halves of different values";
  for (unsigned cta = 0; cta < ctas; ++cta)
    expectCounts(16 + 8 * cta, ctaThreads);
}

TEST(AtomicsContention, CountingByCompareAndSwap) {
  for (const char *arch : kTargets)
    for (unsigned optLevel : {0, 3}) {
      Form form;
      form.arch = arch;
      form.optLevel = optLevel;
      form.hostThreads = 2;
      checkCounting(form, 4, 64);
    }
}

// The locks of 128-bit atomics order what they guard: also where nothing happens before it must.
TEST(AtomicsContention, CountingInAnyOrderThatTheCodeAllows) {
  for (const char *arch : kTargets) {
    Form form;
    form.arch = arch;
    form.orderSeed = 7;
    checkCounting(form, 2, 64);
  }
}

} // namespace
