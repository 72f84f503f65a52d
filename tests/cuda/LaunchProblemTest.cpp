// SPDX-License-Identifier: Apache-2.0
// What goes wrong outside of kernels: broken devices, a worker that is not there, the end of the
// program.
#include "tests/cuda/LaunchFixture.h"
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace rubia::runtime::cuda {
namespace {

TEST(Reset, MendsABrokenDevice) {
  ASSERT_EQ(cu("cuInit", 0u), kSuccess);
  Context *context = nullptr;
  ASSERT_EQ(cu("cuDevicePrimaryCtxRetain", &context, 0), kSuccess);
  ASSERT_EQ(cu("cuCtxSetCurrent", context), kSuccess);
  Library *library = load(kPtx);
  auto fill = [&] {
    void *out = allocate(256 * 4);
    void *values[] = {&out};
    EXPECT_EQ(cu("cuLaunchKernel_ptsz", kernel(library, "reverse"), 1u, 1u, 1u, 256u, 1u, 1u, 1024u,
                 static_cast<Stream *>(nullptr), static_cast<void **>(values),
                 static_cast<void **>(nullptr)),
              kSuccess);
    EXPECT_EQ(cu("cuStreamSynchronize_ptsz", static_cast<Stream *>(nullptr)), kSuccess);
    EXPECT_EQ(fetch(out, 256)[0], 255);
  };
  for (int i = 0; i < 2; ++i) {
    fill();
    ASSERT_EQ(launch(kernel(library, i ? "trapping" : "wild"), 1, 1, 0, nullptr), kSuccess);
    Result fault = i ? kLaunchFailed : kIllegalAddress;
    EXPECT_EQ(cu("cuCtxSynchronize"), fault);
    void *none = nullptr;
    EXPECT_EQ(cu("cuMemAlloc_v2", &none, size_t(16)), fault);
    ASSERT_EQ(cu("cuDevicePrimaryCtxReset_v2", 0), kSuccess);
  }
  fill();
}

// Once `go` is not 0 it fails an assertion. And a kernel that just ends.
constexpr const char *kWaitingPtx = R"(.version 7.0
.target sm_80
.address_size 64
.extern .func __assertfail(.param .b64 message, .param .b64 file, .param .b32 line,
  .param .b64 function, .param .b64 charSize);
.global .align 1 .b8 text[2] = {120, 0};
.visible .entry waiting(.param .u64 go)
{
  .reg .pred %p;
  .reg .b32 %r;
  .reg .b64 %d<4>;
  ld.param.u64 %d1, [go];
again:
  ld.volatile.global.u32 %r, [%d1];
  setp.eq.u32 %p, %r, 0;
  @%p bra again;
  mov.u64 %d2, text;
  cvta.global.u64 %d3, %d2;
  {
    .param .b64 message;
    .param .b64 file;
    .param .b32 line;
    .param .b64 function;
    .param .b64 charSize;
    st.param.b64 [message], %d3;
    st.param.b64 [file], %d3;
    st.param.b32 [line], 1;
    st.param.b64 [function], %d3;
    st.param.b64 [charSize], 1;
    call __assertfail, (message, file, line, function, charSize);
  }
  ret;
}
.visible .entry ending()
{
  ret;
}
)";

// What another stream does says nothing about a kernel that still runs.
TEST(LaunchProblem, AnAssertionIsFoundBesideAStreamThatIsDone) {
  ASSERT_EQ(cu("cuInit", 0u), kSuccess);
  Context *context = nullptr;
  ASSERT_EQ(cu("cuDevicePrimaryCtxRetain", &context, 0), kSuccess);
  ASSERT_EQ(cu("cuCtxSetCurrent", context), kSuccess);
  Library *library = load(kWaitingPtx);
  Function *waiting = kernel(library, "waiting"), *ending = kernel(library, "ending");
  for (const bool synchronizes : {false, true}) {
    Stream *slow = nullptr, *quick = nullptr;
    ASSERT_EQ(cu("cuStreamCreate", &slow, 1u), kSuccess);
    ASSERT_EQ(cu("cuStreamCreate", &quick, 1u), kSuccess);
    volatile uint32_t *go = nullptr;
    ASSERT_EQ(
        cu("cuMemAllocHost_v2", reinterpret_cast<void **>(const_cast<uint32_t **>(&go)), size_t(4)),
        kSuccess);
    *go = 0;
    void *address = const_cast<uint32_t *>(go), *values[] = {&address};
    auto launchOn = [&](Stream *stream, Function *function, void **arguments) {
      return cu("cuLaunchKernel", function, 1u, 1u, 1u, 1u, 1u, 1u, 0u, stream, arguments,
                static_cast<void **>(nullptr));
    };
    ASSERT_EQ(launchOn(slow, waiting, values), kSuccess);
    ASSERT_EQ(launchOn(quick, ending, nullptr), kSuccess);
    if (synchronizes)
      EXPECT_EQ(cu("cuStreamSynchronize", quick), kSuccess);
    else
      while (Result result = cu("cuStreamQuery", quick))
        ASSERT_EQ(result, kNotReady);
    EXPECT_EQ(cu("cuStreamQuery", slow), kNotReady);
    __atomic_store_n(go, 1, __ATOMIC_RELEASE);
    EXPECT_EQ(cu("cuStreamSynchronize", slow), kAssert);
    ASSERT_EQ(cu("cuDevicePrimaryCtxReset_v2", 0), kSuccess);
  }
}

// One thread unloads modules while another one looks at their trap records.
TEST(LaunchProblem, ModulesMayGoWhileTheirTrapsAreLookedAt) {
  ASSERT_EQ(cu("cuInit", 0u), kSuccess);
  Context *context = nullptr;
  ASSERT_EQ(cu("cuDevicePrimaryCtxRetain", &context, 0), kSuccess);
  ASSERT_EQ(cu("cuCtxSetCurrent", context), kSuccess);
  std::atomic<bool> ends = false;
  std::thread looking([&] {
    EXPECT_EQ(cu("cuCtxSetCurrent", context), kSuccess);
    while (!ends)
      EXPECT_EQ(cu("cuStreamSynchronize", static_cast<Stream *>(nullptr)), kSuccess);
  });
  for (int i = 0; i < 200; ++i) {
    Module *module = nullptr;
    Function *function = nullptr;
    ASSERT_EQ(cu("cuModuleLoadData", &module, static_cast<const void *>(kWaitingPtx)), kSuccess);
    ASSERT_EQ(cu("cuModuleGetFunction", &function, module, "ending"), kSuccess);
    ASSERT_EQ(cu("cuLaunchKernel", function, 1u, 1u, 1u, 1u, 1u, 1u, 0u,
                 static_cast<Stream *>(nullptr), static_cast<void **>(nullptr),
                 static_cast<void **>(nullptr)),
              kSuccess);
    ASSERT_EQ(cu("cuModuleUnload", module), kSuccess);
  }
  ends = true;
  looking.join();
}

// The emulator knows of each block of a pool: its size, and that it is gone.
TEST(LaunchProblem, PooledMemoryIsCheckedLikeOther) {
  for (const bool freed : {false, true}) {
    ASSERT_EQ(cu("cuInit", 0u), kSuccess);
    Context *context = nullptr;
    ASSERT_EQ(cu("cuDevicePrimaryCtxRetain", &context, 0), kSuccess);
    ASSERT_EQ(cu("cuCtxSetCurrent", context), kSuccess);
    Library *library = load(kPtx);
    Stream *none = nullptr;
    auto fill = [&](size_t bytes, bool isFreed) {
      void *out = nullptr;
      EXPECT_EQ(cu("cuMemAllocAsync", &out, bytes, none), kSuccess);
      if (isFreed)
        EXPECT_EQ(cu("cuMemFreeAsync", out, none), kSuccess);
      void *values[] = {&out};
      EXPECT_EQ(cu("cuLaunchKernel", kernel(library, "reverse"), 1u, 1u, 1u, 256u, 1u, 1u, 1024u,
                   none, static_cast<void **>(values), static_cast<void **>(nullptr)),
                kSuccess);
      return cu("cuCtxSynchronize");
    };
    EXPECT_EQ(fill(1024, false), kSuccess);
    EXPECT_EQ(fill(freed ? 1024 : 1020, freed), kIllegalAddress);
    ASSERT_EQ(cu("cuDevicePrimaryCtxReset_v2", 0), kSuccess);
  }
}

// Without its worker the library cannot compile; that is no fault of the image, and passes.
TEST(LaunchProblem, OfTheWorkerIsTheSystems) {
  namespace fs = std::filesystem;
  fs::path folder = testing::TempDir() + "rubia-problem-" + std::to_string(getpid());
  fs::create_directory(folder);
  fs::path worker = folder / "rubia-worker";
  fs::copy_file(fs::path(RUBIA_LIBCUDA).parent_path() / "rubia-worker", worker);
  fs::permissions(worker, fs::perms::owner_read);
  library(); // sets the environment
  setenv("RUBIA_CACHE_DIR", (folder / "cache").c_str(), 1);
  setenv("RUBIA_WORKER", worker.c_str(), 1);
  ASSERT_EQ(cu("cuInit", 0u), kSuccess);
  Context *context = nullptr;
  ASSERT_EQ(cu("cuCtxCreate_v2", &context, 0u, 0), kSuccess);
  Module *module = nullptr;
  Library *library = nullptr;
  EXPECT_EQ(cu("cuModuleLoadData", &module, static_cast<const void *>(kPtx)), kOperatingSystem);
  EXPECT_EQ(cu("cuLibraryLoadData", &library, static_cast<const void *>(kPtx),
               static_cast<int *>(nullptr), static_cast<void **>(nullptr), 0u,
               static_cast<int *>(nullptr), static_cast<void **>(nullptr), 0u),
            kOperatingSystem);
  fs::permissions(worker, fs::perms::owner_all);
  EXPECT_EQ(cu("cuModuleLoadData", &module, static_cast<const void *>(kPtx)), kSuccess);
  fs::remove_all(folder);
}

// The compiler cannot be had when the addresses of functions are first wanted: they are written
// later.
TEST(LaunchProblem, AddressesOfFunctionsAreWrittenOnceItIsOver) {
  const char *text = R"(.version 7.0
.target sm_80
.address_size 64
.func answer(.param .b64 p)
{
  .reg .b64 %d;
  ld.param.u64 %d, [p];
  st.global.u32 [%d], 42;
  ret;
}
.visible .global .align 8 .u64 table[1] = {answer};
.visible .entry k(.param .u64 p)
{
  .reg .b64 %d<3>;
  ld.param.u64 %d1, [p];
  ld.global.u64 %d2, [table];
  {
    .param .b64 a;
    st.param.b64 [a], %d1;
    proto: .callprototype _ (.param .b64 _);
    call %d2, (a), proto;
  }
  ret;
})";
  namespace fs = std::filesystem;
  fs::path folder = testing::TempDir() + "rubia-addresses-" + std::to_string(getpid());
  fs::create_directory(folder);
  fs::path worker = folder / "rubia-worker";
  fs::copy_file(fs::path(RUBIA_LIBCUDA).parent_path() / "rubia-worker", worker);
  library(); // sets the environment
  setenv("RUBIA_CACHE_DIR", (folder / "cache").c_str(), 1);
  setenv("RUBIA_WORKER", worker.c_str(), 1);
  Module *module = nullptr;
  auto load = [&] {
    Context *context = nullptr;
    return cu("cuInit", 0u) == kSuccess && cu("cuCtxCreate_v2", &context, 0u, 0) == kSuccess &&
           cu("cuModuleLoadData", &module, static_cast<const void *>(text)) == kSuccess;
  };
  pid_t child = fork(); // for the manifest
  if (!child)
    _exit(load() ? 7 : 1);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_EQ(WEXITSTATUS(status), 7);
  fs::permissions(worker, fs::perms::owner_read);
  ASSERT_TRUE(load());
  void *table = nullptr, *word = nullptr;
  size_t size = 0;
  uint64_t address = 1;
  auto readAddress = [&] {
    ASSERT_EQ(cu("cuMemcpyDtoH_v2", static_cast<void *>(&address), table, size), kSuccess);
  };
  ASSERT_EQ(cu("cuModuleGetGlobal_v2", &table, &size, module, "table"), kSuccess);
  ASSERT_EQ(size, sizeof(address));
  readAddress();
  EXPECT_EQ(address, 0u);

  fs::permissions(worker, fs::perms::owner_all);
  Function *k = nullptr;
  ASSERT_EQ(cu("cuModuleGetFunction", &k, module, "k"), kSuccess);
  ASSERT_EQ(cu("cuMemAlloc_v2", &word, size_t(4)), kSuccess);
  void *values[] = {&word};
  EXPECT_EQ(launch(k, 1, 1, 0, values), kSuccess);
  EXPECT_EQ(fetch(word, 1)[0], 42);
  readAddress();
  EXPECT_NE(address, 0u);
  fs::remove_all(folder);
}

// Registered before libcuda is loaded, as cudart's handlers are: runs after everything of
// libcuda's.
Library *lateLibrary = nullptr;
void unloadLate() {
  bool fine = cu("cuLibraryUnload", lateLibrary) == kSuccess &&
              cu("cuDevicePrimaryCtxRelease", 0) == kSuccess;
  _exit(fine ? 42 : 1);
}

TEST(Exit, WithWorkUnderWayIsQuiet) {
  EXPECT_EXIT(
      {
        atexit(unloadLate);
        Context *context = nullptr;
        cu("cuInit", 0u);
        cu("cuDevicePrimaryCtxRetain", &context, 0);
        cu("cuCtxSetCurrent", context);
        lateLibrary = load(kPtx);
        void *out = allocate(256 * 4);
        void *values[] = {&out};
        for (int i = 0; i < 100; ++i)
          EXPECT_EQ(launch(kernel(lateLibrary, "reverse"), 16, 256, 1024, values), kSuccess);
        exit(testing::Test::HasFailure());
      },
      testing::ExitedWithCode(42), "");
}

} // namespace
} // namespace rubia::runtime::cuda
