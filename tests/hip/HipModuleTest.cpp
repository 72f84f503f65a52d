// SPDX-License-Identifier: Apache-2.0
// Modules from the forms in which HIP programs carry code objects: an ELF file, clang's offload
// bundle, a compressed bundle.
#define __HIP_PLATFORM_AMD__ 1
#include "tests/emulator/Fixture.h"
#include "llvm/Object/OffloadBundle.h"
#include "llvm/Support/Compression.h"
#include "llvm/Support/MemoryBuffer.h"
#include <hip/hip_runtime_api.h>
#include <sys/mman.h>
#include <unistd.h>

namespace {

using Bytes = std::vector<uint8_t>;

std::string bundleOf(const std::string &id, const Bytes &object) {
  std::string file = "__CLANG_OFFLOAD_BUNDLE__";
  auto number = [&](uint64_t value) {
    file.append(reinterpret_cast<const char *>(&value), sizeof(value));
  };
  number(1);
  const uint64_t offset = (file.size() + 24 + id.size() + 15) / 16 * 16;
  number(offset);
  number(object.size());
  number(id.size());
  file += id;
  file.resize(offset);
  file.append(object.begin(), object.end());
  return file;
}

/// What the kernel "k" of the image writes, or the error of loading it.
std::string runImage(const void *image) {
  hipModule_t module;
  if (hipError_t error = hipModuleLoadData(&module, image))
    return hipGetErrorName(error);
  hipFunction_t function;
  int *out = nullptr, value = 0;
  if (hipModuleGetFunction(&function, module, "k") ||
      hipMalloc(reinterpret_cast<void **>(&out), sizeof(int)))
    return "set-up failed";
  void *arguments[] = {&out};
  if (hipModuleLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, arguments, nullptr) ||
      hipDeviceSynchronize() || hipMemcpy(&value, out, sizeof(value), hipMemcpyDeviceToHost) ||
      hipFree(out) || hipModuleUnload(module))
    return "the launch failed";
  return std::to_string(value);
}

TEST(HipModule, LoadsBundlesAsWellAsElfFiles) {
  using namespace rubia::emulator::test;
  const Bytes object = compile("kernel void k(global int *out) { out[0] = 42; }", "gfx1100");
  EXPECT_EQ(runImage(object.data()), "42");
  const Bytes generic = compile("kernel void k(global int *out) { out[0] = 43; }", "gfx11-generic");
  EXPECT_EQ(runImage(generic.data()), "43");
  const std::string plain = bundleOf("hipv4-amdgcn-amd-amdhsa--gfx1100", object);
  EXPECT_EQ(runImage(plain.data()), "42");
  for (uint16_t version : {2, 3}) {
    auto buffer = llvm::MemoryBuffer::getMemBuffer(plain, "", false);
    auto compressed = llvm::object::CompressedOffloadBundle::compress(
        llvm::compression::Params(llvm::compression::Format::Zstd), *buffer, version);
    ASSERT_TRUE(bool(compressed)) << llvm::toString(compressed.takeError());
    EXPECT_EQ(runImage((*compressed)->getBufferStart()), "42") << version;
  }
}

// A file whose headers speak of more than there is, at the end of what may be read.
TEST(HipModule, RefusesSizesBeyondWhatCanBeRead) {
  using namespace rubia::emulator::test;
  const Bytes object = compile("kernel void k(global int *out) { out[0] = 42; }", "gfx1100");
  const size_t page = 4096, mapped = (object.size() + page - 1) / page * page;
  auto *pages = static_cast<uint8_t *>(
      mmap(nullptr, mapped + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(pages, MAP_FAILED);
  ASSERT_EQ(mprotect(pages + mapped, page, PROT_NONE), 0);
  uint8_t *image = pages + (mapped - object.size()) / 16 * 16;
  std::copy(object.begin(), object.end(), image);
  EXPECT_EQ(runImage(image), "42");
  for (size_t field : {size_t(32), size_t(40)}) // of the program headers, of the section headers
    for (uint64_t value : {uint64_t(object.size()), uint64_t(1) << 40, ~uint64_t(0) - 63}) {
      std::copy(object.begin(), object.end(), image);
      std::memcpy(image + field, &value, sizeof(value));
      EXPECT_EQ(runImage(image), "hipErrorInvalidImage") << field << " " << value;
    }
  const std::string bundle = "__CLANG_OFFLOAD_BUNDLE__" + std::string(8, '\xff');
  uint8_t *end = pages + mapped - bundle.size();
  std::copy(bundle.begin(), bundle.end(), end);
  EXPECT_EQ(runImage(end), "hipErrorInvalidImage");
  munmap(pages, mapped + page);
}

TEST(HipModule, LaunchesKernelsWithoutArguments) {
  using namespace rubia::emulator::test;
  const Bytes object = compile("kernel void k(void) {}", "gfx1100");
  hipModule_t module;
  hipFunction_t function;
  ASSERT_EQ(hipModuleLoadData(&module, object.data()), hipSuccess);
  ASSERT_EQ(hipModuleGetFunction(&function, module, "k"), hipSuccess);
  size_t size = 0;
  void *extra[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, nullptr, HIP_LAUNCH_PARAM_BUFFER_SIZE, &size,
                   HIP_LAUNCH_PARAM_END};
  EXPECT_EQ(hipModuleLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, extra),
            hipSuccess);
  EXPECT_EQ(hipModuleLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr),
            hipSuccess);
  // Blocks and grids that are too large, and nothing.
  auto launched = [&](unsigned grid, unsigned blockX, unsigned blockZ, unsigned shared) {
    return hipModuleLaunchKernel(function, grid, 1, 1, blockX, 1, blockZ, shared, nullptr, nullptr,
                                 nullptr);
  };
  for (unsigned block : {1025u, 1u << 16, 0u})
    EXPECT_EQ(launched(1, block, 1, 0), hipErrorInvalidValue);
  EXPECT_EQ(launched(1, 1u << 31, 2, 0), hipErrorInvalidValue);
  EXPECT_EQ(launched(0, 1, 1, 0), hipErrorInvalidValue);
  EXPECT_EQ(launched(1, 1, 1, 65537), hipErrorInvalidValue);
  EXPECT_EQ(launched(~0u, 1024, 1, 0), hipErrorInvalidConfiguration);
  EXPECT_EQ(hipDeviceSynchronize(), hipSuccess);
  EXPECT_EQ(hipModuleUnload(module), hipSuccess);
}

// A copy that waits tells of the fault that it waited for.
// An unload waits for what is launched before it, and a graph may be launched behind it.
TEST(HipModule, StaysForGraphsWithItsKernels) {
  using namespace rubia::emulator::test;
  const Bytes object = compile("kernel void k(global int *out) { out[0] = 42; }", "gfx1100");
  hipModule_t module;
  hipFunction_t function;
  hipStream_t stream;
  hipGraph_t graph;
  hipGraphExec_t executable;
  int *out = nullptr, value = 0;
  ASSERT_EQ(hipModuleLoadData(&module, object.data()), hipSuccess);
  ASSERT_EQ(hipModuleGetFunction(&function, module, "k"), hipSuccess);
  ASSERT_EQ(hipMalloc(reinterpret_cast<void **>(&out), sizeof(int)), hipSuccess);
  ASSERT_EQ(hipStreamCreate(&stream), hipSuccess);
  void *arguments[] = {&out};
  ASSERT_EQ(hipStreamBeginCapture(stream, hipStreamCaptureModeRelaxed), hipSuccess);
  ASSERT_EQ(hipModuleLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, arguments, nullptr),
            hipSuccess);
  ASSERT_EQ(hipStreamEndCapture(stream, &graph), hipSuccess);
  ASSERT_EQ(hipGraphInstantiate(&executable, graph, nullptr, nullptr, 0), hipSuccess);
  ASSERT_EQ(hipModuleUnload(module), hipSuccess);
  EXPECT_EQ(hipModuleGetFunction(&function, module, "k"), hipErrorInvalidHandle);
  EXPECT_EQ(hipGraphLaunch(executable, stream), hipSuccess);
  EXPECT_EQ(hipStreamSynchronize(stream), hipSuccess);
  EXPECT_EQ(hipMemcpy(&value, out, sizeof(value), hipMemcpyDeviceToHost), hipSuccess);
  EXPECT_EQ(value, 42);
  EXPECT_EQ(hipGraphExecDestroy(executable), hipSuccess);
  EXPECT_EQ(hipGraphDestroy(graph), hipSuccess);
  EXPECT_EQ(hipStreamDestroy(stream), hipSuccess);
  EXPECT_EQ(hipFree(out), hipSuccess);
}

TEST(HipModule, TellsOfFaults) {
  using namespace rubia::emulator::test;
  const Bytes object = compile("kernel void k(global int *out) { out[0] = 42; }", "gfx1100");
  hipModule_t module;
  hipFunction_t function;
  void *memory, *nowhere = nullptr, *arguments[] = {&nowhere};
  int word = 0;
  ASSERT_EQ(hipMalloc(&memory, 4), hipSuccess);
  ASSERT_EQ(hipModuleLoadData(&module, object.data()), hipSuccess);
  ASSERT_EQ(hipModuleGetFunction(&function, module, "k"), hipSuccess);
  ASSERT_EQ(hipLaunchHostFunc(nullptr, [](void *) { usleep(100000); }, nullptr), hipSuccess);
  EXPECT_EQ(hipModuleLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, arguments, nullptr),
            hipSuccess);
  EXPECT_EQ(hipMemcpy(&word, memory, 4, hipMemcpyDeviceToHost), hipErrorIllegalAddress);
  EXPECT_EQ(hipMemset(memory, 0, 4), hipErrorIllegalAddress); // as all from then on
  EXPECT_EQ(hipDeviceReset(), hipSuccess);
  EXPECT_EQ(hipMemset(memory, 0, 4), hipSuccess);
  EXPECT_EQ(hipFree(memory), hipSuccess);
  EXPECT_EQ(hipModuleUnload(module), hipSuccess);
}

TEST(HipModule, RefusesCodeForOtherProcessors) {
  using namespace rubia::emulator::test;
  const Bytes object = compile("kernel void k(global int *out) { out[0] = 42; }", "gfx1201");
  EXPECT_EQ(runImage(object.data()), "hipErrorNoBinaryForGpu");
  const std::string bundle = bundleOf("hipv4-amdgcn-amd-amdhsa--gfx1201", object);
  EXPECT_EQ(runImage(bundle.data()), "hipErrorNoBinaryForGpu");
}

} // namespace
