// Modules, libraries, kernels and launches, with the real compiler and the emulator behind the API.
#include "tests/cuda/Client.h"
#include <cstring>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace rubia::runtime::cuda {
namespace {

// out[i] = in[i] * factor + offset[0], one thread an element; and kernels with other needs.
constexpr const char *kPtx = R"(.version 7.0
.target sm_80
.address_size 64

.const .align 4 .u32 offset;
.global .align 8 .u64 table[4] = {1, 2, 3, 4};

.visible .entry scale(.param .u64 out, .param .u64 in, .param .u8 factor, .param .u32 n)
{
  .reg .pred %p<2>;
  .reg .b16 %h<2>;
  .reg .b32 %r<10>;
  .reg .b64 %d<8>;
  ld.param.u64 %d1, [out];
  ld.param.u64 %d2, [in];
  ld.param.u8 %h1, [factor];
  ld.param.u32 %r1, [n];
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mov.u32 %r4, %tid.x;
  mad.lo.s32 %r5, %r2, %r3, %r4;
  setp.ge.s32 %p1, %r5, %r1;
  @%p1 bra done;
  mul.wide.s32 %d3, %r5, 4;
  add.s64 %d4, %d2, %d3;
  ld.global.u32 %r6, [%d4];
  cvt.u32.u16 %r7, %h1;
  ld.const.u32 %r8, [offset];
  mad.lo.s32 %r9, %r6, %r7, %r8;
  add.s64 %d5, %d1, %d3;
  st.global.u32 [%d5], %r9;
done:
  ret;
}

.extern .shared .align 4 .b8 dynamic[];
.visible .entry reverse(.param .u64 out) .maxntid 256, 1, 1
{
  .reg .b32 %r<10>;
  .reg .b64 %d<6>;
  ld.param.u64 %d1, [out];
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, dynamic;
  shl.b32 %r4, %r1, 2;
  add.s32 %r5, %r3, %r4;
  st.shared.u32 [%r5], %r1;
  bar.sync 0;
  sub.s32 %r6, %r2, %r1;
  shl.b32 %r7, %r6, 2;
  add.s32 %r8, %r3, %r7;
  ld.shared.u32 %r9, [%r8+-4];
  mul.wide.u32 %d2, %r1, 4;
  add.s64 %d3, %d1, %d2;
  st.global.u32 [%d3], %r9;
  ret;
}

.visible .entry wild()
{
  .reg .b64 %d<2>;
  mov.u64 %d1, 64;
  st.global.u32 [%d1], 1;
  ret;
}

.visible .entry trapping()
{
  trap;
  ret;
}

.extern .func nowhere();
.visible .entry unlinked()
{
  call nowhere, ();
  ret;
}
)";

// A container with this text as its only entry, as fatbinary writes it without compression.
std::vector<uint64_t> container(std::string text, uint16_t kind, uint32_t sm) {
  text.resize((text.size() + 8) & ~size_t(7)); // NULs
  std::vector<uint64_t> words(2 + 8 + text.size() / 8, 0);
  auto *bytes = reinterpret_cast<char *>(words.data());
  auto put = [&](size_t offset, auto value) { memcpy(bytes + offset, &value, sizeof(value)); };
  put(0, uint32_t(0xba55ed50));
  put(4, uint16_t(1));
  put(6, uint16_t(16));
  put(8, uint64_t(64 + text.size()));
  put(16, kind);
  put(18, uint16_t(0x0101));
  put(20, uint32_t(64));
  put(24, uint64_t(text.size()));
  put(16 + 24, uint16_t(0));
  put(16 + 26, uint16_t(7));
  put(16 + 28, sm);
  put(16 + 40, uint64_t(0x11));
  memcpy(bytes + 16 + 64, text.data(), text.size());
  return words;
}

struct Wrapper {
  uint32_t magic = 0x466243b1, version = 1;
  const void *data;
  const void *filename = nullptr;
};

Library *load(const void *image) {
  Library *library = nullptr;
  int preserved = 1; // CU_LIBRARY_BINARY_IS_PRESERVED
  void *values[] = {reinterpret_cast<void *>(1)};
  EXPECT_EQ(cu("cuLibraryLoadData", &library, image, static_cast<int *>(nullptr),
               static_cast<void **>(nullptr), 0u, &preserved, static_cast<void **>(values), 1u),
            kSuccess);
  return library;
}

Function *kernel(Library *library, const char *name) {
  Function *found = nullptr;
  EXPECT_EQ(cu("cuLibraryGetKernel", &found, library, name), kSuccess) << name;
  return found;
}

Result launch(Function *function, unsigned grid, unsigned block, unsigned shared, void **values,
              void **extra = nullptr) {
  return cu("cuLaunchKernel", function, grid, 1u, 1u, block, 1u, 1u, shared,
            static_cast<Stream *>(nullptr), values, extra);
}

class Launch : public InContext {
protected:
  void SetUp() override {
    InContext::SetUp();
    image = container(kPtx, 1, 80);
    wrapper.data = image.data();
    library = load(&wrapper);
    ASSERT_TRUE(library);
  }
  std::vector<uint64_t> image;
  Wrapper wrapper{.data = nullptr};
  Library *library = nullptr;
};

std::vector<int> fetch(void *device, size_t count) {
  std::vector<int> out(count);
  EXPECT_EQ(cu("cuMemcpyDtoH_v2", static_cast<void *>(out.data()), device, count * 4), kSuccess);
  return out;
}

TEST_F(Launch, TakesAKernelOfALibrary) {
  const int n = 1000;
  std::vector<int> in(n);
  std::iota(in.begin(), in.end(), 0);
  void *from = allocate(n * 4), *to = allocate(n * 4), *constant = nullptr;
  size_t size = 0;
  ASSERT_EQ(cu("cuMemcpyHtoD_v2", from, static_cast<const void *>(in.data()), size_t(n * 4)),
            kSuccess);
  ASSERT_EQ(cu("cuLibraryGetGlobal", &constant, &size, library, "offset"), kSuccess);
  EXPECT_EQ(size, 4u);
  int offset = 5;
  ASSERT_EQ(cu("cuMemcpyHtoD_v2", constant, static_cast<const void *>(&offset), size_t(4)),
            kSuccess);

  uint8_t factor = 200;
  int count = n;
  void *values[] = {&to, &from, &factor, &count};
  ASSERT_EQ(launch(kernel(library, "scale"), 4, 256, 0, values), kSuccess);
  ASSERT_EQ(cu("cuCtxSynchronize"), kSuccess);
  std::vector<int> out = fetch(to, n);
  for (int i = 0; i < n; ++i)
    ASSERT_EQ(out[i], i * 200 + 5) << i;

  // The same, its parameters in one buffer as PTX lays them out.
  struct __attribute__((packed)) {
    void *to, *from;
    uint8_t factor, gap[3];
    int count;
  } buffer{to, from, 3, {}, n};
  size_t bytes = sizeof(buffer);
  void *extra[] = {reinterpret_cast<void *>(1), &buffer, reinterpret_cast<void *>(2), &bytes,
                   nullptr};
  ASSERT_EQ(launch(kernel(library, "scale"), 4, 256, 0, nullptr, extra), kSuccess);
  EXPECT_EQ(fetch(to, n)[10], 35);
  bytes = 8;
  EXPECT_EQ(launch(kernel(library, "scale"), 4, 256, 0, nullptr, extra), kInvalidValue);
  bytes = sizeof(buffer);
  EXPECT_EQ(launch(kernel(library, "scale"), 4, 256, 0, values, extra), kInvalidValue);
}

TEST_F(Launch, ParametersAndAttributesAreKnownWithoutCompiling) {
  Function *scale = kernel(library, "scale");
  const size_t expected[][2] = {{0, 8}, {8, 8}, {16, 1}, {20, 4}};
  size_t offset = 0, size = 0;
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(cu("cuKernelGetParamInfo", scale, i, &offset, &size), kSuccess);
    EXPECT_EQ(offset, expected[i][0]) << i;
    EXPECT_EQ(size, expected[i][1]) << i;
  }
  EXPECT_EQ(cu("cuKernelGetParamInfo", scale, size_t(4), &offset, &size), kInvalidValue);
  auto attribute = [&](const char *name, FunctionAttribute which) {
    int value = -1;
    EXPECT_EQ(cu("cuKernelGetAttribute", &value, int(which), kernel(library, name), 0), kSuccess);
    return value;
  };
  EXPECT_EQ(attribute("scale", kPtxVersion), 80);
  EXPECT_EQ(attribute("scale", kBinaryVersion), 80);
  EXPECT_EQ(attribute("scale", kMaxThreadsPerBlock), 1024);
  EXPECT_EQ(attribute("reverse", kMaxThreadsPerBlock), 256);
  EXPECT_EQ(attribute("scale", kMaxDynamicSharedSizeBytes), 48 << 10);
  EXPECT_GT(attribute("scale", kNumRegs), 0);
  EXPECT_EQ(attribute("unlinked", kNumRegs), 0); // cannot be compiled: it says so at its launch
  const char *name = nullptr;
  EXPECT_EQ(cu("cuKernelGetName", &name, scale), kSuccess);
  EXPECT_STREQ(name, "scale");
  Function *function = nullptr;
  EXPECT_EQ(cu("cuKernelGetFunction", &function, scale), kSuccess);
  int value = 0;
  EXPECT_EQ(cu("cuFuncGetAttribute", &value, int(kMaxThreadsPerBlock), function), kSuccess);
  EXPECT_EQ(value, 1024);
}

TEST_F(Launch, DynamicSharedMemoryIsLimitedAndCanBeAskedFor) {
  Function *reverse = kernel(library, "reverse");
  void *out = allocate(256 * 4);
  void *values[] = {&out};
  ASSERT_EQ(launch(reverse, 1, 256, 1024, values), kSuccess);
  std::vector<int> result = fetch(out, 256);
  for (int i = 0; i < 256; ++i)
    ASSERT_EQ(result[i], 255 - i);
  EXPECT_EQ(launch(reverse, 1, 256, 60000, values), kInvalidValue);
  ASSERT_EQ(cu("cuKernelSetAttribute", int(kMaxDynamicSharedSizeBytes), 60000, reverse, 0),
            kSuccess);
  EXPECT_EQ(launch(reverse, 1, 256, 60000, values), kSuccess);
  EXPECT_EQ(cu("cuKernelSetAttribute", int(kMaxDynamicSharedSizeBytes), 1 << 20, reverse, 0),
            kInvalidValue);
}

TEST_F(Launch, RefusesImpossibleShapes) {
  Function *scale = kernel(library, "scale");
  void *out = allocate(4);
  uint8_t factor = 1;
  int n = 0;
  void *values[] = {&out, &out, &factor, &n};
  EXPECT_EQ(launch(scale, 0, 256, 0, values), kInvalidValue);
  EXPECT_EQ(launch(scale, 1, 0, 0, values), kInvalidValue);
  EXPECT_EQ(launch(scale, 1, 2048, 0, values), kInvalidValue);
  EXPECT_EQ(launch(scale, 1, 32, 0, nullptr), kInvalidValue);
  EXPECT_EQ(launch(kernel(library, "reverse"), 1, 512, 4096, values), kInvalidValue); // .maxntid
  EXPECT_EQ(launch(nullptr, 1, 32, 0, values), kInvalidHandle);
  EXPECT_EQ(launch(scale, 1, 32, 0, values), kSuccess);
}

TEST_F(Launch, AKernelThatCannotBeCompiledFailsAlone) {
  Function *unlinked = kernel(library, "unlinked");
  EXPECT_EQ(launch(unlinked, 1, 1, 0, nullptr), kInvalidPtx);
  EXPECT_EQ(cu("cuCtxSynchronize"), kSuccess);
  void *out = allocate(4);
  void *values[] = {&out};
  EXPECT_EQ(launch(kernel(library, "reverse"), 1, 1, 4, values), kSuccess);
  EXPECT_EQ(cu("cuCtxSynchronize"), kSuccess);
}

TEST_F(Launch, AFaultSticks) {
  ASSERT_EQ(launch(kernel(library, "wild"), 1, 1, 0, nullptr), kSuccess);
  EXPECT_EQ(cu("cuCtxSynchronize"), kIllegalAddress);
  void *none = nullptr;
  EXPECT_EQ(cu("cuMemAlloc_v2", &none, size_t(16)), kIllegalAddress);
}

TEST_F(Launch, ATrapIsALaunchFailure) {
  ASSERT_EQ(launch(kernel(library, "trapping"), 1, 1, 0, nullptr), kSuccess);
  testing::internal::CaptureStderr();
  EXPECT_EQ(cu("cuCtxSynchronize"), kLaunchFailed);
  std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("thread (0, 0, 0) of CTA (0, 0, 0) executed trap"), std::string::npos)
      << said;
  EXPECT_EQ(cu("cuCtxSynchronize"), kLaunchFailed);
}

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

// Without its worker the library cannot compile; that is no fault of the image, and passes.
TEST(Trouble, OfTheWorkerIsTheSystems) {
  namespace fs = std::filesystem;
  fs::path folder = testing::TempDir() + "rubia-trouble-" + std::to_string(getpid());
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
TEST(Trouble, AddressesOfFunctionsAreWrittenOnceItIsOver) {
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

LaunchAttribute attributeOf(LaunchAttributeId id, int value) {
  LaunchAttribute attribute{};
  attribute.id = id;
  attribute.cluster = {unsigned(value), 1, 1};
  return attribute;
}

TEST_F(Launch, AttributesAreHonouredOrRefused) {
  Function *reverse = kernel(library, "reverse");
  void *out = allocate(256 * 4);
  void *values[] = {&out};
  auto with = [&](LaunchAttribute attribute) {
    LaunchConfig config{{1, 1, 1}, {32, 1, 1}, 128, nullptr, &attribute, 1};
    return cu("cuLaunchKernelEx", static_cast<const LaunchConfig *>(&config), reverse,
              static_cast<void **>(values), static_cast<void **>(nullptr));
  };
  EXPECT_EQ(with(attributeOf(kLaunchIgnore, 0)), kSuccess);
  EXPECT_EQ(with(attributeOf(kLaunchProgrammaticStreamSerialization, 1)), kSuccess);
  EXPECT_EQ(with(attributeOf(kLaunchClusterDimension, 1)), kSuccess);
  EXPECT_EQ(with(attributeOf(kLaunchClusterDimension, 2)), kNotSupported);
  EXPECT_EQ(with(attributeOf(kLaunchDeviceUpdatableKernelNode, 1)), kNotSupported);
  EXPECT_EQ(with(attributeOf(LaunchAttributeId(99), 0)), kNotSupported);
  Event *event = nullptr;
  ASSERT_EQ(cu("cuEventCreate", &event, 2u), kSuccess);
  LaunchAttribute completion{};
  completion.id = kLaunchCompletionEvent;
  completion.event = event;
  EXPECT_EQ(with(completion), kSuccess);
  EXPECT_EQ(cu("cuEventSynchronize", event), kSuccess);
}

// out: %gridid, %is_explicit_cluster, whether there is a workspace.
constexpr const char *kGridFacts = R"(.version 8.0
.target sm_90
.address_size 64
.visible .entry facts(.param .u64 out)
{
  .reg .pred %p1;
  .reg .b32 %r<4>;
  .reg .b64 %d<3>;
  ld.param.u64 %d1, [out];
  mov.u64 %d2, %gridid;
  st.global.u32 [%d1], %d2;
  mov.pred %p1, %is_explicit_cluster;
  selp.u32 %r1, 1, 0, %p1;
  st.global.u32 [%d1+4], %r1;
  mov.b32 %r1, %envreg1;
  mov.b32 %r2, %envreg2;
  or.b32 %r1, %r1, %r2;
  setp.ne.u32 %p1, %r1, 0;
  selp.u32 %r1, 1, 0, %p1;
  st.global.u32 [%d1+8], %r1;
  ret;
}
.extern .func nowhere();
.visible .entry unlinked() { call nowhere, (); ret; }
.visible .entry clusters() .reqnctapercluster 2 { ret; }
)";

TEST_F(Launch, GridsKnowHowTheyWereLaunched) {
  std::vector<uint64_t> image = container(kGridFacts, 1, 90);
  Wrapper wrapper{.data = image.data()};
  Library *library = load(&wrapper);
  ASSERT_TRUE(library);
  Function *facts = kernel(library, "facts");
  void *out = allocate(12);
  void *values[] = {&out};
  auto cooperative = [&](Function *function, unsigned grid, unsigned block) {
    return cu("cuLaunchCooperativeKernel", function, grid, 1u, 1u, block, 1u, 1u, 0u,
              static_cast<Stream *>(nullptr), static_cast<void **>(values));
  };
  ASSERT_EQ(launch(facts, 1, 1, 0, values), kSuccess);
  std::vector<int> plain = fetch(out, 3);
  EXPECT_EQ(plain[1], 0);
  EXPECT_EQ(plain[2], 0);

  ASSERT_EQ(cooperative(facts, 1, 1), kSuccess);
  std::vector<int> together = fetch(out, 3);
  EXPECT_NE(together[0], plain[0]);
  EXPECT_EQ(together[2], 1);
  EXPECT_EQ(cooperative(facts, 1 << 20, 32), kCooperativeLaunchTooLarge);
  // Why it cannot be launched at all comes first.
  EXPECT_EQ(cooperative(kernel(library, "unlinked"), 1, 1), kInvalidPtx);
  EXPECT_EQ(launch(kernel(library, "clusters"), 2, 1, 0, nullptr), kInvalidPtx);

  LaunchAttribute attribute = attributeOf(kLaunchClusterDimension, 1);
  LaunchConfig config{{1, 1, 1}, {1, 1, 1}, 0, nullptr, &attribute, 1};
  ASSERT_EQ(cu("cuLaunchKernelEx", static_cast<const LaunchConfig *>(&config), facts,
               static_cast<void **>(values), static_cast<void **>(nullptr)),
            kSuccess);
  EXPECT_EQ(fetch(out, 3)[1], 1);
}

TEST_F(Launch, ThreadsShareAContext) {
  Function *scale = kernel(library, "scale");
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      ASSERT_EQ(cu("cuCtxSetCurrent", context), kSuccess);
      int n = 64;
      void *memory = allocate(n * 4);
      ASSERT_EQ(cu("cuMemsetD32_v2", memory, 1u, size_t(n)), kSuccess);
      uint8_t factor = t + 2;
      void *values[] = {&memory, &memory, &factor, &n};
      ASSERT_EQ(cu("cuLaunchKernel_ptsz", scale, 2u, 1u, 1u, 32u, 1u, 1u, 0u,
                   static_cast<Stream *>(nullptr), static_cast<void **>(values),
                   static_cast<void **>(nullptr)),
                kSuccess);
      ASSERT_EQ(cu("cuStreamSynchronize_ptsz", static_cast<Stream *>(nullptr)), kSuccess);
      EXPECT_EQ(fetch(memory, n), std::vector<int>(n, t + 2));
    });
  for (std::thread &thread : threads)
    thread.join();
}

TEST_F(Launch, OccupancyIsHips) {
  int blocks = 0, grid = 0, block = 0;
  Function *reverse = kernel(library, "reverse");
  ASSERT_EQ(cu("cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags", &blocks, reverse, 128,
               size_t(0), 0u),
            kSuccess);
  EXPECT_GT(blocks, 0);
  ASSERT_EQ(cu("cuOccupancyMaxPotentialBlockSize", &grid, &block, reverse,
               static_cast<void *>(nullptr), size_t(0), 0),
            kSuccess);
  EXPECT_GT(grid, 0);
  EXPECT_LE(block, 256); // .maxntid
  EXPECT_GT(block, 0);
  size_t shared = 0;
  ASSERT_EQ(cu("cuOccupancyAvailableDynamicSMemPerBlock", &shared, reverse, 2, 128), kSuccess);
  EXPECT_EQ(shared, 32u << 10);
}

TEST_F(Launch, LibrariesEndWithTheirKernels) {
  Function *scale = kernel(library, "scale");
  Function *none = nullptr;
  EXPECT_EQ(cu("cuLibraryGetKernel", &none, library, "no such kernel"), kNotFound);
  EXPECT_EQ(none, nullptr);
  void *address = nullptr;
  EXPECT_EQ(cu("cuLibraryGetGlobal", &address, static_cast<size_t *>(nullptr), library, "missing"),
            kNotFound);
  unsigned count = 0;
  EXPECT_EQ(cu("cuLibraryGetKernelCount", &count, library), kSuccess);
  EXPECT_EQ(count, 5u);
  EXPECT_EQ(cu("cuLibraryUnload", library), kSuccess);
  EXPECT_EQ(cu("cuLibraryUnload", library), kInvalidHandle);
  EXPECT_EQ(launch(scale, 1, 1, 0, nullptr), kInvalidHandle);
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

using Modules = InContext;

TEST_F(Modules, LoadPtxText) {
  Module *module = nullptr;
  ASSERT_EQ(cu("cuModuleLoadData", &module, static_cast<const void *>(kPtx)), kSuccess);
  Function *function = nullptr;
  ASSERT_EQ(cu("cuModuleGetFunction", &function, module, "reverse"), kSuccess);
  void *out = allocate(64 * 4);
  void *values[] = {&out};
  EXPECT_EQ(launch(function, 1, 64, 256, values), kSuccess);
  EXPECT_EQ(fetch(out, 64)[0], 63);
  void *table = nullptr;
  size_t bytes = 0;
  ASSERT_EQ(cu("cuModuleGetGlobal_v2", &table, &bytes, module, "table"), kSuccess);
  EXPECT_EQ(bytes, 32u);
  EXPECT_EQ(fetch(table, 8), (std::vector<int>{1, 0, 2, 0, 3, 0, 4, 0}));
  Module *owner = nullptr;
  EXPECT_EQ(cu("cuFuncGetModule", &owner, function), kSuccess);
  EXPECT_EQ(owner, module);
  EXPECT_EQ(cu("cuModuleGetFunction", &function, module, "none"), kNotFound);
  EXPECT_EQ(cu("cuModuleUnload", module), kSuccess);
  EXPECT_EQ(cu("cuModuleUnload", module), kInvalidHandle);
}

size_t filesWith(const std::string &folder, const char *text) {
  size_t count = 0;
  for (const auto &entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file())
      continue;
    std::ifstream file(entry.path(), std::ios::binary);
    std::string bytes((std::istreambuf_iterator<char>(file)), {});
    count += bytes.find(text) != std::string::npos;
  }
  return count;
}

// Maxima in memory of the host need a loop on this GPU (gfx1100): kernels are compiled again for it
// once the program has such memory, and only those that have such an atomic.
void testSafeAtomics(void *(*allocateOnHost)()) {
  std::string cache = testing::TempDir() + "rubia-safe-" + std::to_string(getpid());
  setenv("RUBIA_CACHE_DIR", cache.c_str(), 1); // nothing has been compiled yet
  const char *text = R"(.version 7.0
.target sm_80
.address_size 64
.visible .entry highest(.param .u64 p)
{
  .reg .b32 %r<2>;
  .reg .b64 %d<2>;
  ld.param.u64 %d1, [p];
  mov.u32 %r1, %tid.x;
  red.global.max.u32 [%d1], %r1;
  ret;
}
.visible .entry total(.param .u64 p)
{
  .reg .b64 %d<2>;
  ld.param.u64 %d1, [p];
  red.global.add.u32 [%d1], 1;
  ret;
})";
  Module *module = nullptr;
  ASSERT_EQ(cu("cuModuleLoadData", &module, static_cast<const void *>(text)), kSuccess);
  Function *highest = nullptr, *total = nullptr;
  ASSERT_EQ(cu("cuModuleGetFunction", &highest, module, "highest"), kSuccess);
  ASSERT_EQ(cu("cuModuleGetFunction", &total, module, "total"), kSuccess);
  auto runBoth = [&](void *word) {
    void *values[] = {&word};
    EXPECT_EQ(cu("cuMemsetD32_v2", word, 0u, size_t(1)), kSuccess);
    EXPECT_EQ(launch(highest, 2, 64, 0, values), kSuccess);
    EXPECT_EQ(launch(total, 2, 64, 0, values), kSuccess);
    EXPECT_EQ(fetch(word, 1)[0], 63 + 128);
  };
  runBoth(allocate(4));
  EXPECT_EQ(filesWith(cache, "atomics=safe"), 0u);
  runBoth(allocateOnHost());
  for (int wait = 0; wait < 100 && !filesWith(cache, "atomics=safe"); ++wait)
    usleep(50'000); // it is stored after it is used
  EXPECT_EQ(filesWith(cache, "atomics=safe"), 1u);
  std::filesystem::remove_all(cache);
}

TEST_F(Modules, AtomicsAreSafeOnceTheHostHasTheMemoryToo) {
  testSafeAtomics([] {
    void *managed = nullptr;
    EXPECT_EQ(cu("cuMemAllocManaged", &managed, size_t(4), 1u), kSuccess);
    return managed;
  });
}

// The memory may be another context's.
TEST_F(Modules, AtomicsAreSafeInAllContexts) {
  testSafeAtomics([] {
    void *managed = nullptr;
    Context *own = nullptr, *other = nullptr;
    EXPECT_EQ(cu("cuCtxGetCurrent", &own), kSuccess);
    EXPECT_EQ(cu("cuCtxCreate_v2", &other, 0u, 0), kSuccess);
    EXPECT_EQ(cu("cuMemAllocManaged", &managed, size_t(4), 1u), kSuccess);
    EXPECT_EQ(cu("cuCtxSetCurrent", own), kSuccess);
    return managed;
  });
}

// Kernels may be given pinned memory without anybody having asked for its device pointer.
TEST_F(Modules, AtomicsAreSafeOnPinnedMemory) {
  testSafeAtomics([] {
    void *pinned = nullptr;
    EXPECT_EQ(cu("cuMemAllocHost_v2", &pinned, size_t(64)), kSuccess);
    return static_cast<void *>(static_cast<char *>(pinned) + 16);
  });
}

TEST_F(Modules, LoadFiles) {
  std::string path = testing::TempDir() + "rubia-module-" + std::to_string(getpid()) + ".ptx";
  FILE *file = fopen(path.c_str(), "w");
  ASSERT_TRUE(file);
  fputs(kPtx, file);
  fclose(file);
  Module *module = nullptr;
  EXPECT_EQ(cu("cuModuleLoad", &module, path.c_str()), kSuccess);
  unlink(path.c_str());
  EXPECT_EQ(cu("cuModuleLoad", &module, path.c_str()), kFileNotFound);
}

// Whatever its headers say, nothing beyond the file's end is read.
TEST_F(Modules, LyingFilesAreInvalidImages) {
  std::string path = testing::TempDir() + "rubia-lying-" + std::to_string(getpid());
  auto loadFile = [&](std::string bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
    Module *module = nullptr;
    Library *library = nullptr;
    Result asModule = cu("cuModuleLoad", &module, path.c_str());
    Result asLibrary = cu("cuLibraryLoadFromFile", &library, path.c_str(),
                          static_cast<int *>(nullptr), static_cast<void **>(nullptr), 0u,
                          static_cast<int *>(nullptr), static_cast<void **>(nullptr), 0u);
    EXPECT_EQ(asModule, asLibrary);
    return asModule;
  };
  std::vector<uint64_t> words = container(kPtx, 1, 80);
  std::string whole(reinterpret_cast<char *>(words.data()), words.size() * 8);
  EXPECT_EQ(loadFile(whole), kSuccess);
  EXPECT_EQ(loadFile(whole + "what follows"), kSuccess);
  for (size_t size : {0, 1, 4, 8, 15, 16, 17, 40, 100, 1000})
    EXPECT_EQ(loadFile(whole.substr(0, size)), kInvalidImage) << size;
  EXPECT_EQ(loadFile(whole.substr(0, whole.size() - 1)), kInvalidImage);
  uint64_t huge = uint64_t(1) << 29; // far beyond the file's last page
  std::string lying = whole;
  memcpy(lying.data() + 8, &huge, sizeof(huge));
  EXPECT_EQ(loadFile(lying), kInvalidImage);
  Wrapper pointers{.data = reinterpret_cast<void *>(0x1000)}; // means nothing in a file
  EXPECT_EQ(loadFile({reinterpret_cast<char *>(&pointers), sizeof(pointers)}), kInvalidImage);
  EXPECT_EQ(loadFile("\x7f"
                     "ELF"),
            kInvalidImage);
  unlink(path.c_str());
}

TEST_F(Modules, BadPtxIsReportedInTheJitLog) {
  char log[512] = "";
  int options[] = {kJitErrorLogBuffer, kJitErrorLogBufferSizeBytes};
  void *values[] = {log, reinterpret_cast<void *>(sizeof(log))};
  Module *module = nullptr;
  const char *text = ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry k( {";
  EXPECT_EQ(cu("cuModuleLoadDataEx", &module, static_cast<const void *>(text), 2u, options,
               static_cast<void **>(values)),
            kInvalidPtx);
  EXPECT_TRUE(strstr(log, ":4:")) << log; // the line
  EXPECT_EQ(reinterpret_cast<size_t>(values[1]), strlen(log));
}

TEST_F(Modules, OnePtxTextCanBeLinked) {
  struct State;
  State *state = nullptr;
  ASSERT_EQ(
      cu("cuLinkCreate_v2", 0u, static_cast<int *>(nullptr), static_cast<void **>(nullptr), &state),
      kSuccess);
  auto add = [&](int type, const char *text) {
    return cu("cuLinkAddData_v2", state, type, const_cast<char *>(text), strlen(text) + 1, "input",
              0u, static_cast<int *>(nullptr), static_cast<void **>(nullptr));
  };
  void *image = nullptr;
  size_t size = 0;
  EXPECT_EQ(cu("cuLinkComplete", state, &image, &size), kInvalidValue); // nothing was added
  EXPECT_EQ(add(1, kPtx), kSuccess);
  EXPECT_EQ(add(1, kPtx), kNotSupported);
  EXPECT_EQ(add(0, kPtx), kNotSupported);
  ASSERT_EQ(cu("cuLinkComplete", state, &image, &size), kSuccess);
  EXPECT_EQ(size, strlen(kPtx) + 1);
  Module *module = nullptr;
  Function *function = nullptr;
  ASSERT_EQ(cu("cuModuleLoadData", &module, static_cast<const void *>(image)), kSuccess);
  EXPECT_EQ(cu("cuLinkDestroy", state), kSuccess);
  EXPECT_EQ(cu("cuLinkDestroy", state), kInvalidHandle);
  EXPECT_EQ(cu("cuModuleGetFunction", &function, module, "scale"), kSuccess);
}

TEST_F(Modules, ImagesWithoutPtxAreNoBinaryForTheGpu) {
  Module *module = nullptr;
  std::vector<uint64_t> image = container("\x7f"
                                          "ELF machine code",
                                          2, 90);
  EXPECT_EQ(cu("cuModuleLoadData", &module, static_cast<const void *>(image.data())),
            kNoBinaryForGpu);
  const char *rubbish = "this is no module";
  EXPECT_NE(cu("cuModuleLoadData", &module, static_cast<const void *>(rubbish)), kSuccess);
}

} // namespace
} // namespace rubia::runtime::cuda
