// Modules from the forms in which HIP programs carry code objects: an ELF file, clang's offload
// bundle, a compressed bundle.
#define __HIP_PLATFORM_AMD__ 1
#include "tests/emulator/Fixture.h"
#include "llvm/Object/OffloadBundle.h"
#include "llvm/Support/Compression.h"
#include "llvm/Support/MemoryBuffer.h"
#include <hip/hip_runtime_api.h>

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
  if (!haveCompiler())
    GTEST_SKIP() << "no clang";
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

TEST(HipModule, RefusesCodeForOtherProcessors) {
  using namespace rubia::emulator::test;
  if (!haveCompiler())
    GTEST_SKIP() << "no clang";
  const Bytes object = compile("kernel void k(global int *out) { out[0] = 42; }", "gfx1201");
  EXPECT_EQ(runImage(object.data()), "hipErrorInvalidImage");
  const std::string bundle = bundleOf("hipv4-amdgcn-amd-amdhsa--gfx1201", object);
  EXPECT_EQ(runImage(bundle.data()), "hipErrorInvalidImage");
}

} // namespace
