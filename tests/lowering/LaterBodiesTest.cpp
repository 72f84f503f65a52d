// SPDX-License-Identifier: Apache-2.0
// The sampler's bodies: units have none of them until somebody asks, and a name stands for one
// body.
#include "lowering/LaterBodies.h"
#include "Lowered.h"
#include "tests/Targets.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/IR/DebugInfo.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Support/xxhash.h"
#include <set>
#include <type_traits>

using namespace llvm;
using namespace rubia;
using namespace rubia::lowering;
using namespace rubia::lowering::test;

namespace rubia::settings::DebugInfoMode {
extern const Word Registers;
} // namespace rubia::settings::DebugInfoMode

namespace {

constexpr StringRef kName = "rubia-kept", kLater = "rubia-body-later";

// Bodies that call functions of the sampler: small ones, and large ones.
constexpr const char *kSmall = "ld.param.u64 %rd0, [p]; ld.param.u32 %r0, [n];"
                               "tex.1d.v4.u32.s32 {%r1, %r2, %r3, %r4}, [%rd0, {%r0}];"
                               "tex.2d.v4.u32.s32 {%r1, %r2, %r3, %r4}, [%rd0, {%r0, %r1}];"
                               "suld.b.2d.b32.zero %r1, [%rd0, {%r2, %r3}];"
                               "sust.p.2d.b32.zero [%rd0, {%r2, %r3}], %r1;"
                               "st.global.u32 [%rd0], %r1; ret;";
constexpr const char *kLarge = "ld.param.u64 %rd0, [p]; ld.param.u32 %r0, [n]; mov.b32 %f0, %r0;"
                               "tex.2d.v4.u32.f32 {%r1, %r2, %r3, %r4}, [%rd0, {%f0, %f0}];"
                               "tex.1d.v4.u32.f32 {%r1, %r2, %r3, %r4}, [%rd0, {%f0}];"
                               "tld4.r.2d.v4.u32.f32 {%r1, %r2, %r3, %r4}, [%rd0, {%f0, %f0}];"
                               "st.global.u32 [%rd0], %r1; ret;";

std::vector<Function *> samplersOf(Module &module) {
  std::vector<Function *> found;
  for (Function &function : module)
    if (function.hasFnAttribute(kName))
      found.push_back(&function);
  return found;
}

// What code generation keeps: without lines, and without its name.
std::string bodyOf(Function &function) {
  stripDebugInfo(function);
  function.removeFnAttr(kName);
  std::string text;
  raw_string_ostream os(text);
  function.print(os);
  // Numbers that a module has given: of attributes and metadata.
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    plain += text[i];
    if (text[i] == '#' || text[i] == '!')
      while (i + 1 < text.size() && isDigit(text[i + 1]))
        ++i;
  }
  for (unsigned index : function.getAttributes().indexes())
    plain += function.getAttributes().getAsString(index) + "\n";
  return plain;
}

struct Unfinished {
  LLVMContext context;
  LaterBodies later;
  std::unique_ptr<Module> module;

  Unfinished(const ptx::Module &ptxModule, const Options &options) {
    auto made = lower(ptxModule, partition(ptxModule)[0], options, context, later);
    if (made)
      module = std::move(*made);
    else
      ADD_FAILURE() << toString(made.takeError());
  }
  void finish() {
    for (Function *function : samplersOf(*module))
      if (Error error = later.give(*function))
        ADD_FAILURE() << toString(std::move(error));
  }
};

TEST(LaterBodies, AreNotThereUntilTheyAreGiven) {
  const ptx::Module ptxModule = parsed(kernel(kLarge));
  for (const char *arch : {"gfx1100", "gfx942"}) {
    Unfinished unit(ptxModule, forArch(arch));
    ASSERT_TRUE(unit.module);
    const std::vector<Function *> samplers = samplersOf(*unit.module);
    EXPECT_EQ(samplers.size(), 6u);
    for (Function *function : samplers) {
      EXPECT_TRUE(function->hasFnAttribute(kLater));
      EXPECT_EQ(function->getInstructionCount(), 1u);
    }
    EXPECT_LT(unit.module->getInstructionCount(), 1000u);
    unit.finish();
    for (Function *function : samplers)
      EXPECT_FALSE(function->hasFnAttribute(kLater));
    EXPECT_GT(unit.module->getInstructionCount(), 20000u);
  }
}

TEST(LaterBodies, AreThoseThatUnitsHaveAtOnce) {
  const ptx::Module ptxModule = parsed(kernel(kSmall));
  for (const char *arch : {"gfx1100", "gfx942"})
    for (bool namesRegisters : {false, true}) {
      Options options = forArch(arch);
      if (namesRegisters)
        options.code.set(settings::DebugInfoMode::Registers);
      LLVMContext context;
      auto atOnce = lower(ptxModule, partition(ptxModule)[0], options, context);
      ASSERT_TRUE(bool(atOnce));
      Unfinished unit(ptxModule, options);
      ASSERT_TRUE(unit.module);
      unit.finish();
      std::vector<Function *> expected = samplersOf(**atOnce), given = samplersOf(*unit.module);
      ASSERT_EQ(expected.size(), given.size());
      for (size_t i = 0; i < given.size(); ++i) {
        EXPECT_EQ(bool(expected[i]->getSubprogram()), bool(given[i]->getSubprogram()));
        EXPECT_EQ(bodyOf(*expected[i]), bodyOf(*given[i]));
      }
    }
}

// A judgement is that of lower() for all that a test lowers (Lowered.h).
TEST(LaterBodies, AreOfNoConcernToJudgements) { EXPECT_TRUE(lowered(kernel(kSmall)).module); }

// A lane of a workgroup of 1,024 threads has 128 registers on CDNA 2 to 4, and 192 on RDNA 3.
TEST(LaterBodies, LeaveRegistersWhereKernelsHaveFew) {
  const auto limitOf = [](const char *arch, const char *directive) {
    const ptx::Module ptxModule = parsed(kernel(kSmall, "", directive));
    Unfinished unit(ptxModule, forArch(arch));
    std::set<std::string> limits;
    for (const Function *function : samplersOf(*unit.module))
      limits.insert(function->getFnAttribute("amdgpu-num-vgpr").getValueAsString().str());
    return limits;
  };
  EXPECT_EQ(limitOf("gfx942", ""), std::set<std::string>{"56"}); // which LLVM doubles
  EXPECT_EQ(limitOf("gfx90a", ".maxntid 1024"), std::set<std::string>{"56"});
  EXPECT_EQ(limitOf("gfx942", ".maxntid 256"), std::set<std::string>{""});
  EXPECT_EQ(limitOf("gfx1100", ""), std::set<std::string>{""});
}

// ---------- One body for a name

class Bodies {
public:
  /// False: this form of the unit cannot be had.
  bool add(const std::string &text, const Options &options) {
    const ptx::Module ptxModule = parsed(text);
    LLVMContext context;
    context.setDiscardValueNames(true);
    auto module = lower(ptxModule, partition(ptxModule)[0], options, context);
    if (!module) {
      consumeError(module.takeError());
      return false;
    }
    for (Function *function : samplersOf(**module)) {
      const std::string name = function->getFnAttribute(kName).getValueAsString().str();
      EXPECT_FALSE(name.empty());
      const uint64_t body = xxh3_64bits(bodyOf(*function));
      const auto [known, isNew] = byName.try_emplace(name, body);
      EXPECT_EQ(known->second, body) << name << "\n" << text;
      different.insert(body);
    }
    return true;
  }
  size_t names() const { return byName.size(); }
  size_t bodies() const { return different.size(); }

private:
  StringMap<uint64_t> byName;
  std::set<uint64_t> different;
};

// Units that have nothing in common but the sampler.
std::vector<std::string> kernelsWith(const std::string &body) {
  const std::string shared = ".shared .align 16 .b8 buffer[4096];";
  return {
      kernel(body),
      kernel("add.ftz.f32 %f1, %f2, %f3;" + body),
      kernel("bar.sync 0; mov.u64 %rd5, buffer; ld.shared.u32 %r5, [%rd5];" + body, shared),
      kernel("mov.u32 %r5, %cluster_ctarank;" + body, shared, ".reqnctapercluster 2"),
      kernel("{ .reg .b32 %v; vote.sync.ballot.b32 %v, 1, -1; }" + body, ".global .b32 g[64];",
             ".maxntid 64"),
      ".version 7.0\n.target sm_70\n" +
          kernel(body, "", ".reqntid 96").substr(withHeader("").find(".address_size")),
  };
}

// All words of all settings, one at a time.
std::vector<Options> optionsFor(const std::string &arch) {
  std::vector<Options> all = {forArch(arch)};
  const auto add = [&](auto change) {
    all.push_back(forArch(arch));
    change(all.back());
  };
  static_assert(std::is_trivially_copyable_v<settings::Code>); // it has a byte for each
  for (size_t setting = 0; setting < sizeof(settings::Code); ++setting)
    for (uint8_t word = 0; word < 8; ++word) {
      settings::Code code;
      reinterpret_cast<uint8_t *>(&code)[setting] = word;
      if (code.isValid() && code != settings::Code())
        add([&](Options &options) { options.code = code; });
    }
  add([](Options &options) { options.fit = Fit::FewThreads; });
  add([](Options &options) { options.fit = Fit::WithoutMatrixUnit; });
  add([](Options &options) { options.spinLimit = 1000; });
  return all;
}

// With each word two of the kernels: the first one, and another one in turn. Where all targets are
// asked for, all kernels.
TEST(SamplerNames, StandForOneBodyEach) {
  Bodies bodies;
  const std::vector<std::string> kernels = kernelsWith(kSmall);
  for (const char *arch : rubia::test::wantsAllTargets() ? rubia::test::allTargets()
                                                         : std::vector{"gfx1100", "gfx942"})
    for (auto [turn, options] : enumerate(optionsFor(arch)))
      for (auto [number, text] : enumerate(kernels))
        if (number == 0 || number == 1 + turn % (kernels.size() - 1) || turn == 0 ||
            rubia::test::wantsAllTargets())
          bodies.add(text, options);
  EXPECT_GE(bodies.bodies(), 8u);
  EXPECT_GT(bodies.names(), bodies.bodies());
}

TEST(SamplerNames, OfLargeFunctionsToo) {
  Bodies bodies;
  for (const std::string &text : kernelsWith(kLarge))
    EXPECT_TRUE(bodies.add(text, forArch("gfx1100")));
  EXPECT_EQ(bodies.names(), 12u); // denormals are flushed or not
}

} // namespace
