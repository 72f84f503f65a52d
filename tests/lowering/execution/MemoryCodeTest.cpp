// SPDX-License-Identifier: Apache-2.0
// Which machine instructions memory accesses become: atomics that the target has (LLVM expands one
// whose metadata a pass dropped), state spaces that LLVM must not lose, loads by the scalar unit,
// and the cache controls of scopes.
#include "codegen/Codegen.h"
#include "lowering/Lowering.h"
#include "ptx-frontend/Parser.h"
#include "tests/lowering/execution/Execution.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

using namespace llvm;
using namespace rubia;
using namespace rubia::lowering::test;

namespace rubia::settings::AtomicsMode {
extern const Word Fast, Safe;
} // namespace rubia::settings::AtomicsMode
namespace rubia::targets::Fact {
extern const GenerationFact addsF32InMemory;
} // namespace rubia::targets::Fact

namespace {

// Kernels k0, k1, ... with these bodies, each a unit of its own.
std::string moduleOf(ArrayRef<std::string> bodies) {
  std::string text = ".version 8.8\n.target sm_90\n.address_size 64\n.const .b32 c[64];\n"
                     ".shared .align 16 .b8 s[64];\n";
  for (const auto &[n, body] : enumerate(bodies))
    text += ".visible .entry k" + std::to_string(n) + R"((.param .u64 p, .param .u64 q)
{
.reg .b16 %h<8>; .reg .b32 %r<8>; .reg .b64 %d<8>; .reg .b64 %p, %q; .reg .f32 %f<8>;
.reg .b64 %thread; .reg .b32 %tid; .reg .f64 %e<8>;
ld.param.u64 %p, [p];
ld.param.u64 %q, [q];
mov.u32 %tid, %tid.x;
cvt.u64.u32 %thread, %tid;
shl.b64 %thread, %thread, 4;
add.u64 %d7, %p, %thread;
ld.global.b16 %h1, [%d7]; ld.global.b32 %r1, [%d7]; ld.global.b64 %d1, [%d7];
ld.global.f32 %f1, [%d7]; ld.global.f64 %e1, [%d7];
)" + body + "\n}\n";
  return text;
}

std::vector<std::string> assemblyOf(ArrayRef<std::string> bodies, const char *arch, bool safe) {
  std::string text = moduleOf(bodies);
  ptx::ParseResult parsed = ptx::parse("test.ptx", text);
  for (const ptx::Diagnostic &diagnostic : parsed.diagnostics)
    ADD_FAILURE() << ptx::format(diagnostic, "test.ptx", text);
  std::vector<std::string> result;
  for (const lowering::Unit &unit : lowering::partition(parsed.module)) {
    LLVMContext context;
    lowering::Options options;
    options.arch = arch;
    options.code.set(safe ? settings::AtomicsMode::Safe : settings::AtomicsMode::Fast);
    auto module = lowering::lower(parsed.module, unit, options, context);
    if (!module) {
      ADD_FAILURE() << toString(module.takeError());
      break;
    }
    codegen::Options codegenOptions;
    codegenOptions.arch = arch;
    auto assembly = codegen::emit(std::move(*module), codegenOptions, codegen::EmitKind::Assembly);
    if (!assembly) {
      ADD_FAILURE() << toString(assembly.takeError());
      break;
    }
    result.push_back(std::move(*assembly));
  }
  return result;
}

bool isModern(StringRef arch) { return rubia::test::rowOf(arch).atomicsReachHost; }
bool addsF32(StringRef arch) { return targets::Fact::addsF32InMemory(rubia::test::rowOf(arch)); }
bool addsF64(StringRef arch) {
  return rubia::test::rowOf(arch).accumulators == rubia::targets::Accumulators::Shared;
}
bool addsHalves(StringRef arch) {
  return rubia::test::rowOf(arch).accumulators != rubia::targets::Accumulators::None ||
         isModern(arch);
}

struct Rule {
  const char *ptx, *instruction; // a part of the mnemonic
  // Whether the target has it, for the fast and for the safe form.
  bool (*fast)(StringRef arch), (*safe)(StringRef arch);
};
constexpr auto kAll = [](StringRef) { return true; };
constexpr auto kModern = [](StringRef arch) { return isModern(arch); };
constexpr auto kNone = [](StringRef) { return false; };

// docs/architecture.md "Memory model" has this table.
const Rule kRules[] = {
    {"red.global.add.u32 [%p], %r1;", "atomic_add", kAll, kAll},
    {"red.global.max.s32 [%p], %r1;", "atomic_s?max", kAll, kModern},
    {"red.global.inc.u32 [%p], %r1;", "atomic_inc", kAll, kModern},
    {"red.global.xor.b64 [%p], %d1;", "atomic_xor", kAll, kModern},
    {"red.sys.global.xor.b64 [%p], %d1;", "atomic_xor", kNone, kNone},
    {"red.global.add.f32 [%p], %f1;", "global_atomic_add_f32", addsF32, kModern},
    {"red.sys.global.add.f32 [%p], %f1;", "atomic_add_f32", kNone, kNone},
    {"red.add.f32 [%p], %f1;", "(flat|global)_atomic_add_f32", addsF32, kModern},
    {"red.shared.add.f32 [s], %f1;", "ds_add_f32", kAll, kAll},
    {"red.global.add.f64 [%p], %e1;", "global_atomic_add_f64", addsF64,
     [](StringRef arch) { return addsF64(arch) && isModern(arch); }},
    {"red.shared.add.f64 [s], %e1;", "ds_add_f64", addsF64, addsF64},
    {"red.global.add.noftz.f16x2 [%p], %r1;", "global_atomic_pk_add_f16", addsHalves, kModern},
    {"red.shared.add.noftz.f16x2 [s], %r1;", "ds_pk_add_f16", kModern, kModern},
    {"red.global.add.noftz.bf16x2 [%p], %r1;", "global_atomic_pk_add_bf16", kModern, kModern},
    {"red.shared.add.noftz.bf16x2 [s], %r1;", "ds_pk_add_bf16", kModern, kModern},
    {"red.global.add.noftz.v4.bf16x2 [%p], {%r1, %r1, %r1, %r1};", "global_atomic_pk_add_bf16",
     kModern, kModern},
    {"red.global.add.noftz.v4.f16 [%p], {%h1, %h1, %h1, %h1};", "global_atomic_pk_add_f16",
     addsHalves, kModern},
    {"red.global.add.noftz.f16 [%p], %h1;", "pk_add", kNone, kNone},
    // Spaces.
    {"ld.u32 %r0, [%d7]; st.global.u32 [%p], %r0;", "flat_load_", kAll, kAll},
    {"ld.global.u32 %r0, [%d7]; st.global.u32 [%p], %r0;", "flat_(load|store|atomic)", kNone,
     kNone},
    {"cvta.to.global.u64 %d0, %d7; st.global.u32 [%d0], %r1;", "flat_(load|store|atomic)", kNone,
     kNone},
    {"cvta.shared.u64 %d0, s; st.u32 [%d0], %r1;", "flat_(load|store|atomic)", kNone,
     kNone}, // inferred
    {"ld.shared.u32 %r0, [%r1]; st.global.u32 [%p], %r0;", "ds_(read|load)_b32", kAll, kAll},
    {"ld.const.u32 %r0, [c+4]; st.global.u32 [%p], %r0;", "s_load_(dword|b32) s", kAll, kAll},
    {"ld.global.nc.u32 %r0, [%q+68]; st.global.u32 [%p], %r0;", "s_load_.* (0x44|68)", kAll, kAll},
};

class MemoryCode : public testing::TestWithParam<std::tuple<const char *, bool>> {};

TEST_P(MemoryCode, Instructions) {
  auto [arch, safe] = GetParam();
  std::vector<std::string> bodies;
  for (const Rule &rule : kRules)
    bodies.push_back(rule.ptx);
  std::vector<std::string> assembly = assemblyOf(bodies, arch, safe);
  ASSERT_EQ(assembly.size(), std::size(kRules));
  for (const auto &[n, rule] : enumerate(kRules))
    EXPECT_EQ(
        testing::internal::RE::PartialMatch(assembly[n], testing::internal::RE(rule.instruction)),
        (safe ? rule.safe : rule.fast)(arch))
        << rule.ptx << ": " << rule.instruction;
}

INSTANTIATE_TEST_SUITE_P(Targets, MemoryCode,
                         testing::Combine(testing::ValuesIn(kTargets), testing::Bool()),
                         [](const auto &info) {
                           return rubia::test::identifier(std::get<0>(info.param)) +
                                  (std::get<1>(info.param) ? "Safe" : "Fast");
                         });

} // namespace
