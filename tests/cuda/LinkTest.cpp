// SPDX-License-Identifier: Apache-2.0
// cuLink*: what is added in other forms than PTX text, and what programs give that does not live as
// long as the state. tests/driver-sequences/Linking.cpp has the rest, as an H100 does it.
#include "tests/cuda/LaunchFixture.h"
#include <gtest/gtest.h>
#include <thread>

namespace rubia::runtime::cuda {
namespace {

enum Input : int { kCubin, kPtxText, kFatbin, kObject, kLibrary };

std::string unit(const std::string &body) {
  return ".version 7.0\n.target sm_80\n.address_size 64\n" + body;
}

const std::string kMain = unit(R"(.extern .func (.reg .u32 r) value();
.visible .entry main(.param .u64 out)
{
  .reg .b32 %r<2>;
  .reg .b64 %d<2>;
  ld.param.u64 %d1, [out];
  call (%r1), value, ();
  st.global.u32 [%d1], %r1;
  ret;
}
)");
std::string giving(int value, const std::string &callee = "") {
  return unit(callee + ".visible .func (.reg .u32 r) value()\n{\n mov.u32 r, " +
              std::to_string(value) + ";\n ret;\n}\n");
}

std::string asText(const std::vector<uint64_t> &words) {
  return {reinterpret_cast<const char *>(words.data()), words.size() * 8};
}

/// An archive, as far as anybody looks: members begin at even places.
std::string archive(const std::vector<std::string> &members) {
  std::string text = "!<arch>\n";
  for (const std::string &member : members)
    text += std::string(58, ' ') + "`\n" + "\x7f" + "ELF, in which lies" + "\n" + member;
  return text;
}

class LinkTest : public InContext {
protected:
  void SetUp() override {
    InContext::SetUp();
    // The array is the program's again when the state is there.
    int options[] = {kJitErrorLogBuffer, kJitErrorLogBufferSizeBytes};
    ASSERT_EQ(cu("cuLinkCreate_v2", 2u, options, static_cast<void **>(values), &state), kSuccess);
    options[0] = options[1] = kJitWallTime;
  }

  Result add(Input type, const std::string &bytes, const char *name = "input") {
    return cu("cuLinkAddData_v2", state, int(type), const_cast<char *>(bytes.data()), bytes.size(),
              name, 0u, static_cast<int *>(nullptr), static_cast<void **>(nullptr));
  }
  Result complete() { return cu("cuLinkComplete", state, &image, &size); }

  /// What `main` of the finished image stores.
  int result() {
    Module *module = nullptr;
    Function *function = nullptr;
    EXPECT_EQ(cu("cuModuleLoadData", &module, static_cast<const void *>(image)), kSuccess);
    EXPECT_EQ(cu("cuModuleGetFunction", &function, module, "main"), kSuccess);
    void *out = nullptr;
    EXPECT_EQ(cu("cuMemAlloc_v2", &out, size_t(4)), kSuccess);
    void *parameters[] = {&out};
    EXPECT_EQ(launch(function, 1, 1, 0, parameters), kSuccess);
    return fetch(out, 1)[0];
  }

  char log[4096] = "";
  void *values[2] = {log, reinterpret_cast<void *>(sizeof(log))};
  void *state = nullptr, *image = nullptr;
  size_t size = 0;
};

// The last bytes of a container are NULs.
TEST_F(LinkTest, FatbinsAreLinked) {
  EXPECT_EQ(add(kFatbin, asText(container(kMain, 1, 80))), kSuccess) << log;
  EXPECT_EQ(add(kObject, asText(container(giving(5), 1, 80))), kSuccess) << log;
  ASSERT_EQ(complete(), kSuccess) << log;
  EXPECT_EQ(result(), 5);
}

TEST_F(LinkTest, OfAnArchiveOnlyWhatIsNeededIsLinked) {
  // Two definitions of `main`, and one symbol that nobody defines: none of it is needed.
  const std::string library =
      archive({asText(container(kMain, 1, 80)),
               asText(container(giving(6, ".extern .func next();\n.visible .func through()\n{\n "
                                          "call next, ();\n ret;\n}\n"),
                                1, 80)),
               asText(container(unit(".visible .func next()\n{\n ret;\n}\n"), 1, 80)),
               asText(container(unit(".extern .func nowhere();\n.visible .func other()\n{\n call "
                                     "nowhere, ();\n ret;\n}\n"),
                                1, 80))});
  EXPECT_EQ(add(kLibrary, library), kSuccess) << log;
  EXPECT_EQ(add(kPtxText, kMain), kSuccess) << log;
  ASSERT_EQ(complete(), kSuccess) << log;
  EXPECT_EQ(result(), 6);
}

TEST_F(LinkTest, OfAnObjectFileAllIsLinked) {
  const std::string object = archive({asText(container(kMain, 1, 80))});
  EXPECT_EQ(add(kPtxText, kMain), kSuccess) << log;
  EXPECT_EQ(add(kObject, object), kInvalidSource);
  EXPECT_TRUE(strstr(log, "multiple definition of 'main'")) << log;
}

// Beyond 1 MiB an input is checked alone when it is added, and with the others in the end.
TEST_F(LinkTest, OfManyInputsEachIsCheckedOnce) {
  std::string padding;
  while (padding.size() < 400 << 10)
    padding += "// A line that says nothing, as there are many in what compilers write.\n";
  EXPECT_EQ(add(kPtxText, padding + kMain), kSuccess) << log;
  EXPECT_EQ(add(kPtxText, padding + giving(7)), kSuccess) << log;
  EXPECT_EQ(add(kPtxText, padding + unit("nonsense")), kInvalidPtx);
  EXPECT_TRUE(strstr(log, "nonsense")) << log;
  EXPECT_EQ(add(kPtxText, padding + unit(".visible .func other() { ret; }\n")), kSuccess) << log;
  EXPECT_EQ(add(kPtxText, giving(8)), kSuccess) << log;
  EXPECT_EQ(complete(), kInvalidSource);
  EXPECT_TRUE(strstr(log, "multiple definition of 'value'")) << log;
}

TEST_F(LinkTest, TheLogNamesWhatNobodyDefines) {
  EXPECT_EQ(add(kPtxText, kMain), kSuccess) << log;
  EXPECT_EQ(complete(), kInvalidSource);
  EXPECT_TRUE(strstr(log, "value")) << log;
  EXPECT_EQ(image, nullptr);
  EXPECT_EQ(reinterpret_cast<size_t>(values[1]), strlen(log));
}

// Of the values only the lengths of what was written are left; the buffers are as large as before.
TEST_F(LinkTest, LogsKeepTheirSizes) {
  const std::string wrong = unit(".visible .entry k() {\n  nonsense;\n}\n");
  EXPECT_EQ(add(kPtxText, wrong, "n"), kInvalidPtx);
  const size_t length = strlen(log);
  EXPECT_EQ(add(kPtxText, unit(".visible .entry k() { ret; }\n")), kSuccess);
  const std::string longer(length + 100, 'n');
  EXPECT_EQ(add(kFatbin,
                asText(container("\x7f"
                                 "ELF",
                                 2, 90)),
                longer.c_str()),
            kNoBinaryForGpu);
  EXPECT_GT(strlen(log), longer.size());
  EXPECT_EQ(reinterpret_cast<size_t>(values[1]), strlen(log));
  values[1] = nullptr; // the program's own business
  EXPECT_EQ(add(kFatbin,
                asText(container("\x7f"
                                 "ELF",
                                 2, 90)),
                "short"),
            kNoBinaryForGpu);
  EXPECT_EQ(reinterpret_cast<size_t>(values[1]), strlen(log));
}

// What links nothing changes nothing: its errors name the input and its own lines.
TEST_F(LinkTest, ASingleInputIsItself) {
  EXPECT_EQ(add(kPtxText, unit("// one\n// two\n.visible .entry k() {\n  nonsense;\n}\n"), "mine"),
            kInvalidPtx);
  EXPECT_TRUE(strstr(log, "mine:7:")) << log;
  // What linking cannot read.
  EXPECT_EQ(add(kPtxText, unit(".global .u32 a, b;\n.visible .entry k() { ret; }\n")), kSuccess)
      << log;
  EXPECT_EQ(complete(), kSuccess) << log;
}

// Each input is compiled alone; errors name it and its own lines, whatever lies in front.
TEST_F(LinkTest, ErrorsNameTheInput) {
  EXPECT_EQ(add(kPtxText, kMain, "caller"), kSuccess) << log;
  EXPECT_EQ(add(kPtxText, unit("// one\n// two\n.visible .entry k() {\n  nonsense;\n}\n"), "mine"),
            kInvalidPtx);
  EXPECT_TRUE(strstr(log, "mine:7:")) << log;
  EXPECT_FALSE(strstr(log, "<linked>")) << log;
  EXPECT_EQ(add(kPtxText,
                unit(".visible .entry k() {\n.reg .b32 r;\ncall (r), value, ();\nret;\n}\n"),
                "undeclared"),
            kInvalidPtx);
  EXPECT_TRUE(strstr(log, "undeclared:6:")) << log;
  // The beginning of a name decides nothing.
  EXPECT_EQ(add(kPtxText, ".version x\n", "cannot be linked: x"), kInvalidPtx) << log;
  EXPECT_EQ(add(kPtxText, giving(8)), kSuccess) << log;
  EXPECT_EQ(complete(), kSuccess) << log;
  EXPECT_EQ(result(), 8);
}

TEST_F(LinkTest, UnitsOfDifferentTargetsRunTogether) {
  std::string old =
      unit(".visible .entry old()\n{\n.reg .b32 r;\nshfl.up.b32 r, r, 1, 0;\nret;\n}\n");
  old.replace(old.find("7.0"), 3, "6.0");
  old.replace(old.find("sm_80"), 5, "sm_60");
  EXPECT_EQ(add(kPtxText, old), kSuccess) << log;
  EXPECT_EQ(add(kPtxText, kMain), kSuccess) << log;
  EXPECT_EQ(add(kPtxText, giving(9)), kSuccess) << log;
  EXPECT_EQ(complete(), kSuccess) << log;
  EXPECT_EQ(result(), 9);
}

// CTAs store, meet, and read what the next one stored. libcudadevrt's functions call the driver's
// so; an unused one of them needs what nobody has.
TEST_F(LinkTest, GridsMeetByTheDriversFunctions) {
  const std::string runtime =
      unit(R"(.extern .func (.param .b64 h) __cuda_syscall_CGS_get_intrinsic_handle(.param .b32 s);
.extern .func (.param .b32 e) __cuda_syscall_CGS_sync(.param .b64 h, .param .b32 f);
.visible .func (.param .b32 e) meet()
{
  .reg .b32 %e;
  .reg .b64 %h;
  { .param .b32 s; .param .b64 h; st.param.b32 [s], 1;
    call.uni (h), __cuda_syscall_CGS_get_intrinsic_handle, (s); ld.param.b64 %h, [h]; }
  { .param .b64 h; .param .b32 f; .param .b32 e; st.param.b64 [h], %h; st.param.b32 [f], 0;
    call.uni (e), __cuda_syscall_CGS_sync, (h, f); ld.param.b32 %e, [e]; }
  st.param.b32 [e], %e;
  ret;
}
)");
  const std::string grid = unit(R"(.extern .func (.param .b32 e) meet();
.visible .entry grid(.param .u64 out)
{
  .reg .pred %p;
  .reg .b32 %r<8>;
  .reg .b64 %d<6>;
  ld.param.u64 %d1, [out];
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %nctaid.x;
  mov.u32 %r3, %ntid.x;
  mov.u32 %r4, %tid.x;
  mad.lo.u32 %r5, %r1, %r3, %r4;
  mul.wide.u32 %d2, %r5, 4;
  add.u64 %d2, %d1, %d2;
  mov.u32 %r7, 3;
Round:
  st.global.u32 [%d2], %r5;
  { .param .b32 e; call.uni (e), meet, (); ld.param.b32 %r6, [e]; }
  add.u32 %r1, %r1, 1;
  rem.u32 %r1, %r1, %r2;
  mad.lo.u32 %r5, %r1, %r3, %r4;
  mul.wide.u32 %d3, %r5, 4;
  add.u64 %d3, %d1, %d3;
  ld.relaxed.gpu.global.u32 %r5, [%d3];
  add.u32 %r5, %r5, %r6;
  { .param .b32 e; call.uni (e), meet, (); ld.param.b32 %r6, [e]; }
  add.u32 %r5, %r5, %r6;
  mov.u32 %r1, %ctaid.x;
  sub.u32 %r7, %r7, 1;
  setp.ne.u32 %p, %r7, 0;
  @%p bra Round;
  st.global.u32 [%d2], %r5;
  ret;
}
)");
  EXPECT_EQ(add(kPtxText, grid), kSuccess) << log;
  EXPECT_EQ(add(kPtxText, runtime), kSuccess) << log;
  ASSERT_EQ(complete(), kSuccess) << log;
  Module *module = nullptr;
  Function *function = nullptr;
  ASSERT_EQ(cu("cuModuleLoadData", &module, static_cast<const void *>(image)), kSuccess);
  ASSERT_EQ(cu("cuModuleGetFunction", &function, module, "grid"), kSuccess);
  constexpr unsigned kCtas = 5, kThreads = 96;
  void *out = allocate(4 * kCtas * kThreads);
  void *parameters[] = {&out};
  ASSERT_EQ(cu("cuLaunchCooperativeKernel", function, kCtas, 1u, 1u, kThreads, 1u, 1u, 0u,
               static_cast<Stream *>(nullptr), static_cast<void **>(parameters)),
            kSuccess);
  const std::vector<int> got = fetch(out, kCtas * kThreads);
  for (unsigned i = 0; i < kCtas * kThreads; ++i)
    ASSERT_EQ(unsigned(got[i]), (i + 3 * kThreads) % (kCtas * kThreads)) << i;
}

// CUDA promises nothing here; it must not crash.
TEST_F(LinkTest, ThreadsShareAState) {
  const std::string text = unit(".visible .entry k() { ret; }\n");
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      cu("cuCtxSetCurrent", context);
      for (int i = 0; i < 5; ++i) {
        const std::string own =
            unit(".visible .func f" + std::to_string(t * 10 + i) + "() { ret; }\n");
        const Result result = add(kPtxText, own);
        EXPECT_TRUE(result == kSuccess || result == kInvalidHandle) << result;
      }
      if (t == 3) {
        EXPECT_EQ(cu("cuLinkDestroy", state), kSuccess);
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(add(kPtxText, text), kInvalidHandle);
}

TEST_F(LinkTest, WhatIsRefusedIsMissedInTheEnd) {
  EXPECT_EQ(add(kPtxText, giving(1) + kMain.substr(kMain.find(".visible"))), kSuccess) << log;
  EXPECT_EQ(add(kFatbin, asText(container("\x7f"
                                          "ELF",
                                          2, 90))),
            kNoBinaryForGpu);
  EXPECT_TRUE(strstr(log, "SASS")) << log;
  EXPECT_EQ(complete(), kNoBinaryForGpu);
  EXPECT_EQ(image, nullptr);
}

TEST_F(LinkTest, FilesOfTheHostHaveNothingToLink) {
  EXPECT_EQ(add(kObject, archive({"no code for a GPU"})), kSuccess) << log;
  EXPECT_EQ(add(kLibrary, "neither an object nor an archive"), kInvalidImage);
}

// What nvcc -rdc=true registers: an empty container, and one for each unit. Tables of functions, as
// virtual functions have them, lie in one unit, the functions in others.
class Units : public InContext {
protected:
  Library *load(const std::vector<std::string> &texts) {
    for (const std::string &text : texts)
      containers.push_back(container(text, 1, 80));
    return loadContainers();
  }
  Library *loadContainers() {
    for (const auto &unit : containers)
      pointers.push_back(unit.data());
    pointers.push_back(nullptr);
    wrapper = {.version = 2, .data = linked, .filename = pointers.data()};
    return cuda::load(&wrapper);
  }

  /// What a kernel stores for each of 4 threads; empty: it was not launched.
  static std::vector<int> run(Library *library, const char *name) {
    void *out = allocate(16), *parameters[] = {&out};
    return launch(kernel(library, name), 1, 4, 0, parameters) ? std::vector<int>() : fetch(out, 4);
  }

  uint64_t linked[2] = {0x00100001ba55ed50, 0};
  std::vector<std::vector<uint64_t>> containers;
  std::vector<const void *> pointers;
  Wrapper wrapper{.data = nullptr};
};

const std::string kShapes = unit(R"(
.extern .global .align 4 .u32 calls;
.extern .func (.reg .u32 r) square(.reg .u32 x);
.extern .func (.reg .u32 r) line(.reg .u32 x);
.visible .global .align 8 .u64 table[4] = {square, line, square, line};
.func (.reg .u32 r) local(.reg .u32 x)
{
  add.u32 r, x, 100;
  ret;
}
.visible .entry measure(.param .u64 out)
{
  .reg .b32 %r<4>;
  .reg .b64 %d<6>;
  ld.param.u64 %d1, [out];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %d2, %r1, 8;
  mov.u64 %d3, table;
  add.u64 %d3, %d3, %d2;
  ld.global.u64 %d4, [%d3];
  call (%r2), local, (%r1);
shape: .callprototype (.reg .u32 _) _ (.reg .u32 _);
  call (%r3), %d4, (%r2), shape;
  mul.wide.u32 %d2, %r1, 4;
  add.u64 %d1, %d1, %d2;
  st.global.u32 [%d1], %r3;
  ret;
}
)");
const std::string kSquare = unit(R"(
.extern .global .align 4 .u32 calls;
.extern .const .align 4 .u32 scale;
.func (.reg .u32 r) local(.reg .u32 x)
{
  .reg .u32 s;
  ld.const.u32 s, [scale];
  mul.lo.u32 r, x, s;
  ret;
}
.visible .func (.reg .u32 r) square(.reg .u32 x)
{
  .reg .u32 n;
  atom.global.add.u32 n, [calls], 1;
  mul.lo.u32 r, x, x;
  call (r), local, (r);
  ret;
}
)");
const std::string kLine = unit(R"(
.visible .global .align 4 .u32 calls = 40;
.visible .const .align 4 .u32 scale = 3;
.visible .func (.reg .u32 r) line(.reg .u32 x)
{
  mov.u32 r, x;
  ret;
}
.visible .entry count(.param .u64 out)
{
  .reg .b32 %r<3>;
  .reg .b64 %d<3>;
  ld.param.u64 %d1, [out];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %d2, %r1, 4;
  add.u64 %d1, %d1, %d2;
  ld.global.u32 %r2, [calls];
  st.global.u32 [%d1], %r2;
  ret;
}
)");

TEST_F(Units, OfAProgramAreLinked) {
  Library *library = load({kShapes, kSquare, kLine});
  ASSERT_TRUE(library);
  EXPECT_EQ(run(library, "measure"), (std::vector<int>{100 * 100 * 3, 101, 102 * 102 * 3, 103}));
  EXPECT_EQ(run(library, "count"), (std::vector<int>{42, 42, 42, 42}));
}

// A variable of a unit that is left out is no memory of zeros. What needs nothing of it runs.
TEST_F(Units, ThatAreLeftOutCostTheKernelsThatNeedThem) {
  const std::string user = unit(R"(.extern .global .align 4 .u32 shared_var;
.visible .global .align 8 .u64 address = shared_var;
.visible .entry direct(.param .u64 out)
{
  .reg .b32 r;
  ld.global.u32 r, [shared_var];
  ret;
}
.visible .entry through(.param .u64 out)
{
  .reg .b64 r;
  ld.global.u64 r, [address];
  ret;
}
)");
  const std::string alone = kLine.substr(kLine.find(".visible"));
  std::vector<uint64_t> damaged = container(giving(1), 1, 80);
  damaged[2] = (damaged[2] & ~0xffff0000ull) | 0x09990000; // the version of the entry
  for (const std::vector<uint64_t> &other : {container("\x7f"
                                                       "ELF",
                                                       2, 80),
                                             damaged}) {
    pointers.clear();
    containers = {container(user + alone, 1, 80), other};
    testing::internal::CaptureStderr();
    Library *library = loadContainers();
    ASSERT_TRUE(library);
    EXPECT_EQ(run(library, "direct"), std::vector<int>());
    EXPECT_EQ(run(library, "through"), std::vector<int>());
    EXPECT_EQ(run(library, "count"), (std::vector<int>{40, 40, 40, 40}));
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_NE(said.find("left out of a program's linked code: unit 2: "), std::string::npos)
        << said;
    EXPECT_NE(said.find("kernel 'direct': no translation unit"), std::string::npos) << said;
    EXPECT_NE(said.find("defines the variable 'shared_var'"), std::string::npos) << said;
  }
}

TEST_F(Units, WithoutASymbolCostTheKernelsThatNeedIt) {
  Library *library = load({kShapes, kLine});
  ASSERT_TRUE(library);
  EXPECT_EQ(run(library, "measure"), std::vector<int>());
  EXPECT_EQ(run(library, "count"), (std::vector<int>{40, 40, 40, 40}));
}

} // namespace
} // namespace rubia::runtime::cuda
