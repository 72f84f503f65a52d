// SPDX-License-Identifier: Apache-2.0
// Modules of files, images and linked text; which form of their atomics is launched.
#include "tests/cuda/LaunchFixture.h"
#include <bit>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <unistd.h>

namespace rubia::runtime::cuda {
namespace {

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

// What cudart asks for a __managed__ variable.
TEST_F(Modules, ManagedVariablesAreManagedMemory) {
  Module *module = nullptr;
  const char *text = ".version 8.0\n.target sm_80\n.address_size 64\n"
                     ".visible .global .align 4 .b32 plain;\n"
                     ".visible .global .attribute(.managed) .align 4 .b32 both[3] = {1, 2, 3};\n";
  ASSERT_EQ(cu("cuModuleLoadData", &module, static_cast<const void *>(text)), kSuccess);
  for (const auto &[name, isManaged] : {std::pair("plain", 0u), std::pair("both", 1u)}) {
    void *address = nullptr, *host = nullptr;
    unsigned managed = 2;
    ASSERT_EQ(cu("cuModuleGetGlobal_v2", &address, static_cast<size_t *>(nullptr), module, name),
              kSuccess);
    void *last = static_cast<char *>(address) + (isManaged ? 11 : 3);
    EXPECT_EQ(
        cu("cuPointerGetAttribute", static_cast<void *>(&managed), int(kPointerIsManaged), last),
        kSuccess);
    EXPECT_EQ(managed, isManaged) << name;
    cu("cuPointerGetAttribute", static_cast<void *>(&host), int(kPointerHostPointer), last);
    EXPECT_EQ(host, isManaged ? last : nullptr) << name;
  }
  EXPECT_EQ(cu("cuModuleUnload", module), kSuccess);
}

// Sixty values live at once in `many`.
std::string manyValues() {
  std::string loads, stores;
  for (int i = 0; i < 60; ++i) {
    const std::string reg = "%r" + std::to_string(i), place = "[%p+" + std::to_string(4 * i) + "]";
    loads += "  ld.volatile.global.u32 " + reg + ", " + place + ";\n";
    stores = "  st.volatile.global.u32 " + place + ", " + reg + ";\n" + stores;
  }
  return ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry many(.param .u64 p)\n{\n"
         "  .reg .b32 %r<60>;\n  .reg .b64 %p;\n  ld.param.u64 %p, [p];\n" +
         loads + stores + "  ret;\n}\n";
}

int registersOf(Function *function) {
  int registers = 0;
  EXPECT_EQ(cu("cuFuncGetAttribute", &registers, int(kNumRegs), function), kSuccess);
  return registers;
}

// nvcc records -fmad=false and -Xptxas -O0 beside the PTX, and NVIDIA's driver heeds them (an
// H200).
TEST_F(Modules, FuseWhatTheOptionsOfAContainerLetThem) {
  const std::string text = ".version 8.0\n.target sm_80\n.address_size 64\n"
                           ".visible .entry k(.param .u64 p)\n{\n"
                           "  .reg .f32 %f<4>;\n  .reg .b64 %p;\n  ld.param.u64 %p, [p];\n"
                           "  ld.global.f32 %f0, [%p];\n  ld.global.f32 %f1, [%p+4];\n"
                           "  mul.f32 %f2, %f0, %f1;\n  sub.f32 %f3, %f2, 0f3f800000;\n"
                           "  st.global.f32 [%p+8], %f3;\n  ret;\n}\n";
  const float factors[] = {1 + 0x1p-13f, 1 - 0x1p-13f};
  for (const auto &[options, expected] :
       {std::pair("", -0x1p-26f), std::pair(" --fmad false ", 0.0f), std::pair("-O0  ", 0.0f)}) {
    const std::vector<uint64_t> image = container(text, 1, 80, options);
    Module *module = nullptr;
    ASSERT_EQ(cu("cuModuleLoadData", &module, static_cast<const void *>(image.data())), kSuccess);
    Function *function = nullptr;
    ASSERT_EQ(cu("cuModuleGetFunction", &function, module, "k"), kSuccess);
    void *memory = allocate(12);
    ASSERT_EQ(cu("cuMemcpyHtoD_v2", memory, static_cast<const void *>(factors), size_t(8)),
              kSuccess);
    void *values[] = {&memory};
    ASSERT_EQ(launch(function, 1, 1, 0, values), kSuccess);
    EXPECT_EQ(std::bit_cast<float>(fetch(memory, 3)[2]), expected) << options;
    EXPECT_EQ(cu("cuModuleUnload", module), kSuccess);
  }
}

// CU_JIT_MAX_REGISTERS of modules, libraries and linked code, and what a container says.
TEST_F(Modules, KeepALimitOfRegisters) {
  const std::string text = manyValues();
  int option = kJitMaxRegisters;
  void *limit = reinterpret_cast<void *>(40);
  auto inModule = [](Module *module) {
    Function *function = nullptr;
    EXPECT_EQ(cu("cuModuleGetFunction", &function, module, "many"), kSuccess);
    const int registers = registersOf(function);
    EXPECT_EQ(cu("cuModuleUnload", module), kSuccess);
    return registers;
  };
  Module *module = nullptr;
  ASSERT_EQ(cu("cuModuleLoadData", &module, static_cast<const void *>(text.c_str())), kSuccess);
  EXPECT_GE(inModule(module), 60);
  ASSERT_EQ(cu("cuModuleLoadDataEx", &module, static_cast<const void *>(text.c_str()), 1u, &option,
               &limit),
            kSuccess);
  EXPECT_EQ(inModule(module), 40);

  const std::vector<uint64_t> recorded = container(text, 1, 80, " -O3 -maxrregcount=40 ");
  ASSERT_EQ(cu("cuModuleLoadData", &module, static_cast<const void *>(recorded.data())), kSuccess);
  EXPECT_EQ(inModule(module), 40);

  Library *library = nullptr;
  Function *kernel = nullptr;
  ASSERT_EQ(cu("cuLibraryLoadData", &library, static_cast<const void *>(text.c_str()), &option,
               &limit, 1u, static_cast<int *>(nullptr), static_cast<void **>(nullptr), 0u),
            kSuccess);
  ASSERT_EQ(cu("cuLibraryGetKernel", &kernel, library, "many"), kSuccess);
  int registers = 0;
  EXPECT_EQ(cu("cuKernelGetAttribute", &registers, int(kNumRegs), kernel, 0), kSuccess);
  EXPECT_EQ(registers, 40);
  EXPECT_EQ(cu("cuLibraryUnload", library), kSuccess);

  void *state = nullptr, *image = nullptr;
  size_t size = 0;
  ASSERT_EQ(cu("cuLinkCreate_v2", 1u, &option, &limit, &state), kSuccess);
  ASSERT_EQ(cu("cuLinkAddData_v2", state, 1, const_cast<char *>(text.c_str()), text.size() + 1,
               "many", 0u, static_cast<int *>(nullptr), static_cast<void **>(nullptr)),
            kSuccess);
  ASSERT_EQ(cu("cuLinkComplete", state, &image, &size), kSuccess);
  ASSERT_EQ(cu("cuModuleLoadData", &module, static_cast<const void *>(image)), kSuccess);
  EXPECT_EQ(cu("cuLinkDestroy", state), kSuccess);
  EXPECT_EQ(inModule(module), 40);
}

// What a kernel prints stands in memory of its module, and is read when it has ended.
TEST_F(Modules, AreUnloadedWhenTheirKernelsHaveEnded) {
  const char *text = R"(.version 7.0
.target sm_80
.address_size 64
.extern .func (.param .b32 printed) vprintf(.param .b64 format, .param .b64 values);
.global .align 1 .b8 text[6] = {108, 97, 116, 101, 10, 0};
.visible .entry late()
{
  .reg .pred %p;
  .reg .b64 %start, %now, %text;
  mov.u64 %start, %globaltimer;
again:
  mov.u64 %now, %globaltimer;
  sub.u64 %now, %now, %start;
  setp.lt.u64 %p, %now, 100000000;
  @%p bra again;
  mov.u64 %text, text;
  cvta.global.u64 %text, %text;
  {
    .param .b64 format;
    .param .b64 values;
    .param .b32 printed;
    st.param.b64 [format], %text;
    st.param.b64 [values], 0;
    call.uni (printed), vprintf, (format, values);
  }
  ret;
}
)";
  for (const bool isLibrary : {false, true}) {
    Module *module = nullptr;
    Library *library = nullptr;
    Function *function = nullptr;
    if (isLibrary) {
      library = load(text);
      function = kernel(library, "late");
    } else {
      ASSERT_EQ(cu("cuModuleLoadData", &module, static_cast<const void *>(text)), kSuccess);
      ASSERT_EQ(cu("cuModuleGetFunction", &function, module, "late"), kSuccess);
    }
    testing::internal::CaptureStdout();
    EXPECT_EQ(launch(function, 1, 1, 0, nullptr), kSuccess);
    EXPECT_EQ(isLibrary ? cu("cuLibraryUnload", library) : cu("cuModuleUnload", module), kSuccess);
    EXPECT_EQ(testing::internal::GetCapturedStdout(), "late\n");
  }
}

// Programs look so for the files that they keep compiled kernels in.
TEST_F(Modules, AnAbsentFileIsToldByItsCodeAlone) {
  const std::string folder = testing::TempDir() + "rubia-absent-" + std::to_string(getpid());
  const std::string path = folder + "/kernel.ptx";
  auto loaded = [&](const char *function) {
    void *made = nullptr;
    testing::internal::CaptureStderr();
    const Result result = function == std::string("cuModuleLoad")
                              ? cu(function, &made, path.c_str())
                              : cu(function, &made, path.c_str(), static_cast<int *>(nullptr),
                                   static_cast<void **>(nullptr), 0u, static_cast<int *>(nullptr),
                                   static_cast<void **>(nullptr), 0u);
    const std::string told = testing::internal::GetCapturedStderr();
    return std::pair(result, told.find(path) != std::string::npos);
  };
  std::filesystem::create_directories(folder);
  for (const char *function : {"cuModuleLoad", "cuLibraryLoadFromFile"}) {
    EXPECT_EQ(loaded(function), std::pair(kFileNotFound, false)) << function;
    std::ofstream(path) << "no PTX";
    EXPECT_EQ(loaded(function).second, true) << function;
    std::filesystem::remove(path);
  }
  std::filesystem::remove_all(folder);
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

// A compiler newer than Rubia writes so a file whose functions nothing uses. Of text that is wrong
// nothing is left either.
TEST_F(Modules, NewerTextWithoutKernelsIsAModule) {
  const std::string newer = ".version 9.5\n.target sm_89\n.address_size 64\n";
  for (const auto &[text, expected] :
       {std::pair(newer, kSuccess), {newer + ".visible .entry k( {", kInvalidPtx}}) {
    Module *module = nullptr;
    EXPECT_EQ(cu("cuModuleLoadData", &module, static_cast<const void *>(text.c_str())), expected);
  }
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
