// SPDX-License-Identifier: Apache-2.0
// Functions that are compiled once: units have their machine code, and kernels the registers that
// it needs.
#include "codegen/lib/speed/KeptFunctions.h"
#include "codegen/ReadyFunctions.h"
#include "tests/Targets.h"
#include "tests/codegen/ModuleFromText.h"
#include "llvm/IR/Instructions.h"
#include "llvm/Support/xxhash.h"
#include <algorithm>
#include <thread>
#include <vector>

using namespace llvm;
using namespace rubia::codegen;
using namespace rubia::codegen::test;

namespace {

// A function of a loop that keeps many values at once, and a kernel that keeps some around the
// call.
std::string textOf(StringRef mark, StringRef body, StringRef kernel = "k",
                   StringRef factor = "%y") {
  return (R"(
target triple = "amdgcn-amd-amdhsa"
declare i32 @llvm.amdgcn.workitem.id.x()
define internal [2 x i32] @sampler(i64 %from, i32 %x, i32 %y) noinline nounwind norecurse )" +
          mark + " {\n" + body + R"(}
define amdgpu_kernel void @)" +
          kernel + R"((ptr addrspace(1) %p, i64 %from, i32 %y) nounwind {
  %lane = call i32 @llvm.amdgcn.workitem.id.x()
  %to = getelementptr i32, ptr addrspace(1) %p, i32 %lane
  %before = load i32, ptr addrspace(1) %to
  %r = call [2 x i32] @sampler(i64 %from, i32 %lane, i32 )" +
          factor + R"()
  %r0 = extractvalue [2 x i32] %r, 0
  %r1 = extractvalue [2 x i32] %r, 1
  %sum = add i32 %r0, %r1
  %all = xor i32 %sum, %before
  store i32 %all, ptr addrspace(1) %to
  ret void
}
)")
      .str();
}

std::string loads() {
  std::string text = "  %p = inttoptr i64 %from to ptr addrspace(1)\n"
                     "  %q = getelementptr i32, ptr addrspace(1) %p, i32 %x\n";
  for (int i = 0; i < 40; ++i)
    text += "  %a" + std::to_string(i) + " = getelementptr i32, ptr addrspace(1) %q, i32 " +
            std::to_string(i * 33) + "\n  %v" + std::to_string(i) +
            " = load i32, ptr addrspace(1) %a" + std::to_string(i) + "\n";
  text += "  %s0 = mul i32 %v0, %y\n";
  for (int i = 1; i < 40; ++i)
    text += "  %m" + std::to_string(i) + " = mul i32 %s" + std::to_string(i - 1) + ", %v" +
            std::to_string(40 - i) + "\n  %s" + std::to_string(i) + " = xor i32 %m" +
            std::to_string(i) + ", %v" + std::to_string(i) + "\n";
  return text + "  %r0 = insertvalue [2 x i32] poison, i32 %s39, 0\n"
                "  %r = insertvalue [2 x i32] %r0, i32 %s7, 1\n"
                "  ret [2 x i32] %r\n";
}

/// The attribute, with a name that no other body has.
std::string markOf(StringRef body) {
  return "\"rubia-kept\"=\"" + std::to_string(xxh3_64bits(body)) + "\"";
}

/// The length of the longest piece that both have, in words.
size_t commonWords(ArrayRef<uint8_t> a, ArrayRef<uint8_t> b) {
  size_t longest = 0;
  std::vector<size_t> before(b.size() / 4 + 1), now(before.size());
  for (size_t i = 0; i + 4 <= a.size(); i += 4) {
    for (size_t j = 0; j + 4 <= b.size(); j += 4) {
      now[j / 4 + 1] = a.slice(i, 4) == b.slice(j, 4) ? before[j / 4] + 1 : 0;
      longest = std::max(longest, now[j / 4 + 1]);
    }
    before.swap(now);
  }
  return longest;
}

class KeptFunctions : public testing::TestWithParam<const char *> {
protected:
  CodeObject compiled(const std::string &text) {
    return ModuleSource().mustCompile(text, optionsFor(GetParam()));
  }
};

TEST_P(KeptFunctions, AreCompiledOnce) {
  const std::string body = loads();
  const unsigned before = keptFunctionCount();
  const CodeObject first = compiled(textOf(markOf(body), body));
  EXPECT_EQ(keptFunctionCount(), before + 1);
  const CodeObject other = compiled(textOf(markOf(body), body, "other"));
  EXPECT_EQ(keptFunctionCount(), before + 1);
  EXPECT_EQ(first.bytes, compiled(textOf(markOf(body), body)).bytes);
  // A constant that all calls pass makes it another function.
  compiled(textOf(markOf(body), body, "k", "7"));
  EXPECT_EQ(keptFunctionCount(), before + 2);
}

/// Uses a table as long as it lives.
struct UsedTable {
  explicit UsedTable(ArrayRef<uint8_t> table) { cantFail(useReadyFunctions(table)); }
  ~UsedTable() { cantFail(useReadyFunctions({})); }
};

// A thread that keeps nothing yet stands for another process.
TEST_P(KeptFunctions, AreTakenFromATableOfTheBuild) {
  const std::string text = textOf(markOf(loads()), loads());
  CodeObject first, second;
  std::vector<uint8_t> table;
  std::thread([&] {
    first = compiled(text);
    ReadyFunctions functions;
    functions.addKept();
    EXPECT_EQ(functions.size(), 1u);
    table = functions.table();
  }).join();
  const UsedTable used(table);
  const unsigned before = keptFunctionCount();
  std::thread([&] {
    second = compiled(text);
    EXPECT_EQ(keptFunctionCount(), before);
    compiled(textOf(markOf(loads()), loads(), "k", "7"));
    EXPECT_EQ(keptFunctionCount(), before + 1) << "it is another function";
  }).join();
  EXPECT_EQ(first.bytes, second.bytes);
}

TEST_P(KeptFunctions, OfADamagedTableAreAnError) {
  std::vector<uint8_t> table;
  const std::string text = textOf(markOf(loads()), loads());
  std::thread([&] {
    compiled(text);
    ReadyFunctions functions;
    functions.addKept();
    table = functions.table();
  }).join();
  std::vector<uint8_t> other = table;
  ++other[0];
  for (ArrayRef<uint8_t> wrong : {ArrayRef(table).take_front(20), ArrayRef(other)})
    EXPECT_EQ(toString(useReadyFunctions(wrong)), "no table of compiled functions");
  for (size_t left : {table.size() - 1, table.size() - 60, size_t(36), size_t(37)}) {
    const UsedTable used(ArrayRef(table).take_front(left));
    std::thread([&] {
      ModuleSource source;
      Expected<CodeObject> object = source.compile(text, optionsFor(GetParam()));
      ASSERT_FALSE(bool(object)) << left;
      EXPECT_TRUE(StringRef(toString(object.takeError())).contains("is damaged")) << left;
    }).join();
  }
}

TEST_P(KeptFunctions, HaveTheCodeAndTheRegistersOfOthers) {
  for (StringRef factor : {"%y", "7"}) {
    const CodeObject kept = compiled(textOf(markOf(loads()), loads(), "k", factor)),
                     plain = compiled(textOf("", loads(), "k", factor));
    ASSERT_EQ(kept.kernels.size(), 1u);
    ASSERT_EQ(plain.kernels.size(), 1u);
    EXPECT_EQ(kept.kernels[0].vgprs, plain.kernels[0].vgprs);
    EXPECT_EQ(kept.kernels[0].sgprs, plain.kernels[0].sgprs);
    EXPECT_EQ(kept.kernels[0].scratchBytes, 0u);
    EXPECT_EQ(plain.kernels[0].scratchBytes, 0u);
    // The function's code: the kernel's is shorter.
    EXPECT_GT(commonWords(kept.bytes, plain.bytes), 150u) << factor.str();
  }
}

/// A function of three results, of which a kernel writes some into variables, and reads the last.
std::string textOfThree(StringRef mark, bool readsFirst) {
  return (R"(
target triple = "amdgcn-amd-amdhsa"
declare i32 @llvm.amdgcn.workitem.id.x()
define internal [3 x i32] @sampler(i64 %from, i32 %x) noinline nounwind norecurse )" +
          mark + R"( {
  %p = inttoptr i64 %from to ptr addrspace(1)
  %q = getelementptr i32, ptr addrspace(1) %p, i32 %x
  %u = load i32, ptr addrspace(1) %q
  %far = getelementptr i32, ptr addrspace(1) %q, i32 64
  %v = load i32, ptr addrspace(1) %far
  %w = mul i32 %v, %x
  %r0 = insertvalue [3 x i32] poison, i32 %u, 0
  %r1 = insertvalue [3 x i32] %r0, i32 7, 1
  %r = insertvalue [3 x i32] %r1, i32 %w, 2
  ret [3 x i32] %r
}
define amdgpu_kernel void @k(ptr addrspace(1) %p, i64 %from, i1 %some) nounwind {
  %first = alloca i32, addrspace(5)
  %last = alloca i32, addrspace(5)
  %lane = call i32 @llvm.amdgcn.workitem.id.x()
  %to = getelementptr i32, ptr addrspace(1) %p, i32 %lane
  br i1 %some, label %call, label %done
call:
  %called = call [3 x i32] @sampler(i64 %from, i32 %lane)
  br label %done
done:
  %r = phi [3 x i32] [ zeroinitializer, %0 ], [ %called, %call ]
  %r0 = extractvalue [3 x i32] %r, 0
  %r2 = extractvalue [3 x i32] %r, 2
  store i32 %r0, ptr addrspace(5) %first
  store i32 %r2, ptr addrspace(5) %last
  %read = load i32, ptr addrspace(5) )" +
          (readsFirst ? "%first" : "%last") + R"(
  store i32 %read, ptr addrspace(1) %to
  ret void
}
)")
      .str();
}

TEST_P(KeptFunctions, LackResultsThatNobodyReads) {
  constexpr StringRef kThree = "\"rubia-kept\"=\"three\"";
  const unsigned before = keptFunctionCount();
  const CodeObject first = compiled(textOfThree(kThree, true)),
                   last = compiled(textOfThree(kThree, false));
  EXPECT_EQ(keptFunctionCount(), before + 2);
  const CodeObject plain = compiled(textOfThree("", true));
  EXPECT_EQ(first.kernels.at(0).vgprs, plain.kernels.at(0).vgprs);
  EXPECT_EQ(first.kernels.at(0).sgprs, plain.kernels.at(0).sgprs);
  EXPECT_NE(first.bytes, last.bytes);
}

constexpr StringRef kWithStack = R"(
  %a = alloca [64 x i32], addrspace(5)
  %i = and i32 %x, 63
  %p = getelementptr i32, ptr addrspace(5) %a, i32 %i
  store volatile i32 %y, ptr addrspace(5) %p
  %v = load volatile i32, ptr addrspace(5) %p
  %low = trunc i64 %from to i32
  %sum = add i32 %v, %low
  %r0 = insertvalue [2 x i32] poison, i32 %sum, 0
  %r = insertvalue [2 x i32] %r0, i32 %x, 1
  ret [2 x i32] %r
)";

TEST_P(KeptFunctions, HaveTheirStack) {
  const unsigned before = keptFunctionCount();
  const CodeObject kept = compiled(textOf(markOf(kWithStack), kWithStack.str())),
                   plain = compiled(textOf("", kWithStack.str()));
  compiled(textOf(markOf(kWithStack), kWithStack.str(), "other"));
  EXPECT_EQ(keptFunctionCount(), before + 1);
  EXPECT_EQ(kept.kernels.at(0).scratchBytes, plain.kernels.at(0).scratchBytes);
  EXPECT_GE(kept.kernels.at(0).scratchBytes, 256u);
}

// Who needs more of the hardware than its arguments would not get it in another unit.
TEST_P(KeptFunctions, OthersStayAsTheyAre) {
  const std::string body = R"(
  %id = call i32 @llvm.amdgcn.workitem.id.x()
  %r0 = insertvalue [2 x i32] poison, i32 %id, 0
  %r = insertvalue [2 x i32] %r0, i32 %y, 1
  ret [2 x i32] %r
)";
  EXPECT_EQ(compiled(textOf(markOf(body), body)).bytes, compiled(textOf("", body)).bytes);
}

// LLVM finds that the function does not read an argument, and passes the others in other registers.
TEST_P(KeptFunctions, OfUnreadArgumentsStayAsTheyAre) {
  const std::string body = R"(
  %place = alloca i32, addrspace(5)
  store i32 %x, ptr addrspace(5) %place
  %p = inttoptr i64 %from to ptr addrspace(1)
  %v = load i32, ptr addrspace(1) %p
  %r0 = insertvalue [2 x i32] poison, i32 %v, 0
  %r = insertvalue [2 x i32] %r0, i32 %y, 1
  ret [2 x i32] %r
)";
  EXPECT_EQ(compiled(textOf(markOf(body), body)).bytes, compiled(textOf("", body)).bytes);
}

// Callers keep values in all registers that a function does not write. It may not write more than
// LLVM knows: here assembly does not say what it writes.
TEST_P(KeptFunctions, AreRefusedWhereTheyWriteMoreThanCallersKnow) {
  struct Hidden {
    StringLiteral code, clobber, name;
  };
  std::vector<Hidden> all = {{"v_mov_b32 v78, 0", "~{v78}", "v78"},
                             {"s_mov_b32 s44, 0", "~{s44}", "scalar register 44"},
                             {"s_mov_b32 m0, 0", "~{m0}", "scalar register 124"},
                             {"s_mov_b64 vcc, 0", "~{vcc}", "scalar register 106"},
                             {"s_cmp_eq_u32 s0, 0", "~{scc}", "scc"}};
  if (rubia::test::rowOf(GetParam()).accumulators != rubia::targets::Accumulators::None)
    all.push_back({"v_accvgpr_write_b32 a5, v0", "~{a5}", "a5"});
  for (const Hidden &hidden : all)
    for (bool isTold : {true, false}) {
      const std::string body = "  call void asm sideeffect \"" + hidden.code.str() + "\", \"" +
                               (isTold ? hidden.clobber.str() : "") + R"("()
  %low = trunc i64 %from to i32
  %sum = xor i32 %low, %x
  %r0 = insertvalue [2 x i32] poison, i32 %sum, 0
  %r = insertvalue [2 x i32] %r0, i32 %y, 1
  ret [2 x i32] %r
)";
      const unsigned before = keptFunctionCount();
      Expected<CodeObject> object =
          ModuleSource().compile(textOf(markOf(body), body), optionsFor(GetParam()));
      const std::string error = object ? "" : toString(object.takeError());
      EXPECT_EQ(keptFunctionCount(), before + isTold) << hidden.code.str();
      EXPECT_EQ(error.empty(), isTold) << hidden.code.str() << ": " << error;
      if (!isTold)
        EXPECT_TRUE(StringRef(error).contains(hidden.name) &&
                    StringRef(error).contains("would not know"))
            << error;
    }
}

// ---------- Bodies that are not there yet

class LaterBodies : public KeptFunctions {
protected:
  /// A unit with loads() as a function that lacks it.
  static std::string unfinished(StringRef name, StringRef kernel = "k") {
    return textOf(("\"rubia-body-later\" \"rubia-kept\"=\"" + name + "\"").str(), "  unreachable\n",
                  kernel);
  }
  Options options(unsigned optLevel = 3) {
    Options options = optionsFor(GetParam());
    options.optLevel = optLevel;
    options.giveBody = [this](Function &function) {
      ++given;
      function.removeFnAttr(kBodyLater);
      function.begin()->eraseFromParent();
      const std::unique_ptr<Module> other = source.parse(textOf("", loads()));
      Function &from = *other->getFunction("sampler");
      function.splice(function.begin(), &from);
      for (Argument &argument : from.args())
        argument.replaceAllUsesWith(function.getArg(argument.getArgNo()));
      return Error::success();
    };
    return options;
  }
  ModuleSource source;
  unsigned given = 0;
};

TEST_P(LaterBodies, AreGivenOnce) {
  const CodeObject first = source.mustCompile(unfinished("once"), options());
  EXPECT_EQ(given, 1u);
  source.mustCompile(unfinished("once", "other"), options());
  EXPECT_EQ(source.mustCompile(unfinished("once"), options()).bytes, first.bytes);
  EXPECT_EQ(given, 1u);
  const std::string atOnce = textOf("\"rubia-kept\"=\"at once\"", loads());
  EXPECT_EQ(source.mustCompile(atOnce, options()).bytes, first.bytes);
  EXPECT_EQ(given, 1u);
}

TEST_P(LaterBodies, AreGivenWhereNoCodeIsKept) {
  const std::string text = unfinished("not kept");
  source.mustCompile(text, options());
  given = 0;
  const CodeObject plain = source.mustCompile(textOf("", loads()), options(1));
  EXPECT_EQ(source.mustCompile(text, options(1)).bytes, plain.bytes);
  EXPECT_EQ(given, 1u);
  for (EmitKind kind : {EmitKind::Llvm, EmitKind::Assembly}) {
    Expected<std::string> emitted = emit(source.parse(text), options(), kind);
    ASSERT_TRUE(bool(emitted)) << toString(emitted.takeError());
    Expected<std::string> whole = emit(source.parse(textOf("", loads())), options(), kind);
    ASSERT_TRUE(bool(whole)) << toString(whole.takeError());
    EXPECT_NEAR(double(emitted->size()), double(whole->size()), 200); // attributes
  }
  EXPECT_EQ(given, 3u);
  // Kernels that differ in what LLVM passes on.
  source.mustCompile(text + "define amdgpu_kernel void @small() nounwind "
                            "\"amdgpu-flat-work-group-size\"=\"1,64\" { ret void }\n",
                     options());
  EXPECT_EQ(given, 4u);
  // A unit that is divided.
  Options divided = options();
  divided.instructionsPerPart = 1;
  source.mustCompile(text + R"(
@table = constant [2 x ptr] [ptr @one, ptr @two]
define void @one() noinline nounwind { ret void }
define void @two() noinline nounwind { ret void }
)",
                     divided);
  EXPECT_EQ(given, 5u);
}

TEST_P(LaterBodies, AreMissedByName) {
  Expected<CodeObject> object = source.compile(unfinished("missed"), optionsFor(GetParam()));
  ASSERT_FALSE(bool(object));
  EXPECT_NE(toString(object.takeError()).find("sampler"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Targets, LaterBodies, testing::ValuesIn(rubia::test::testTargets()),
                         [](const auto &info) { return rubia::test::identifier(info.param); });

INSTANTIATE_TEST_SUITE_P(Targets, KeptFunctions, testing::ValuesIn(rubia::test::testTargets()),
                         [](const auto &info) { return rubia::test::identifier(info.param); });

} // namespace
