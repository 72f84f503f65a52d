// SPDX-License-Identifier: Apache-2.0
// What nvcc makes of a small kernel, where there is an nvcc. Its output is never part of the
// repository.

#include "fatbin/File.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"
#include <cstdlib>

using namespace llvm;
using namespace rubia::fatbin;

namespace {

class Nvcc : public testing::Test {
protected:
  void SetUp() override {
    if (StringRef(RUBIA_NVCC).empty() || !sys::fs::can_execute(RUBIA_NVCC))
      GTEST_SKIP() << "no nvcc on this machine";
    ASSERT_FALSE(sys::fs::createUniqueDirectory("rubia-nvcc", folder));
    std::error_code error;
    raw_fd_ostream source(path("k.cu"), error);
    source << "__device__ int table[100000];\n"
              "__global__ void bump(int *p) { p[threadIdx.x] += table[p[0]]; }\n"
              "#ifdef MAIN\n"
              "int main() { bump<<<1, 32>>>(nullptr); return 0; }\n"
              "#endif\n";
    ASSERT_FALSE(error);
  }

  void TearDown() override {
    if (!folder.empty())
      (void)sys::fs::remove_directories(folder);
  }

  std::string path(StringRef name) { return (folder + "/" + name).str(); }

  // Compiles k.cu with `options` into `output` and reads that: one "kind target compression size"
  // for every image.
  std::string compiled(const std::string &options, StringRef output) {
    std::string command = std::string(RUBIA_NVCC) + " " + options + " " + path("k.cu") + " -o " +
                          path(output) + " >" + path("log") + " 2>&1";
    if (std::system(command.c_str()))
      return "nvcc failed: " + command;
    Expected<ImageFile> file = readFile(path(output));
    if (!file)
      return toString(file.takeError());
    std::vector<std::string> lines = file->problems;
    for (const FileImage &image : file->images)
      lines.push_back(line(image));
    return join(lines, "\n");
  }

  static std::string line(const FileImage &file) {
    const Image &image = file.image;
    const char *kinds[] = {"ptx", "cubin", "lto-ir", "other"};
    const char *compressions[] = {"stored", "lz4", "zstd", "unknown"};
    std::string text = std::string(kinds[int(image.kind)]) + " " + image.target() + " " +
                       compressions[int(image.compression)];
    if (!file.section.empty())
      text += " " + file.section;
    if (image.kind == ImageKind::LtoIr)
      return text;
    Expected<std::string> bytes = payload(image);
    if (!bytes)
      return text + ": " + toString(bytes.takeError());
    // The image itself has to agree with the entry's header about its architecture and size.
    Expected<std::vector<Image>> bare = readImages(arrayRefFromStringRef(*bytes));
    if (!bare)
      return text + ": " + toString(bare.takeError());
    if (bare->front().sm != image.sm || bare->front().stored.size() != bytes->size())
      return text + ": image differs from its header";
    if (image.kind == ImageKind::Ptx && bytes->find(".entry _Z4bumpPi(") == std::string::npos)
      return text + ": kernel not found";
    return text;
  }

  SmallString<64> folder;
};

TEST_F(Nvcc, Fatbins) {
  EXPECT_EQ(compiled("-fatbin -gencode arch=compute_80,code=compute_80", "a.fatbin"),
            "ptx sm_80 zstd");
  EXPECT_EQ(compiled("-fatbin -gencode arch=compute_80,code=[sm_80,compute_80]", "a.fatbin"),
            "cubin sm_80 stored\nptx sm_80 zstd");
  EXPECT_EQ(compiled("-fatbin -gencode arch=compute_80,code=sm_80 -gencode "
                     "arch=compute_90,code=sm_90",
                     "a.fatbin"),
            "cubin sm_80 stored\ncubin sm_90 stored");
}

TEST_F(Nvcc, CompressionModes) {
  std::string both = "-fatbin -gencode arch=compute_80,code=[sm_80,compute_80] ";
  EXPECT_EQ(compiled(both + "-compress-mode=speed", "a.fatbin"),
            "cubin sm_80 stored\nptx sm_80 lz4");
  EXPECT_EQ(compiled(both + "-compress-mode=size", "a.fatbin"), "cubin sm_80 zstd\nptx sm_80 zstd");
  EXPECT_EQ(compiled(both + "-compress-mode=none", "a.fatbin"),
            "cubin sm_80 stored\nptx sm_80 stored");
}

TEST_F(Nvcc, ArchitectureSpecificTargets) {
  EXPECT_EQ(compiled("-fatbin -gencode arch=compute_90a,code=[sm_90a,compute_90a]", "a.fatbin"),
            "cubin sm_90a stored\nptx sm_90a zstd");
}

TEST_F(Nvcc, PtxAndCubins) {
  EXPECT_EQ(compiled("-ptx -arch=compute_86", "a.ptx"), "ptx sm_86 stored");
  EXPECT_EQ(compiled("-cubin -arch=sm_86", "a.cubin"), "cubin sm_86 stored");
  EXPECT_EQ(compiled("-cubin -rdc=true -arch=sm_86", "a.cubin"), "cubin sm_86 stored");
}

TEST_F(Nvcc, ObjectsLibrariesAndPrograms) {
  std::string arch = "-gencode arch=compute_80,code=compute_80 ";
  EXPECT_EQ(compiled("-c " + arch, "a.o"), "ptx sm_80 zstd .nv_fatbin");
  EXPECT_EQ(compiled("-c -rdc=true " + arch, "a.o"), "ptx sm_80 zstd __nv_relfatbin");
  EXPECT_EQ(compiled("-lib " + arch, "a.a"), "ptx sm_80 zstd .nv_fatbin");
  EXPECT_EQ(compiled("-shared -cudart none -Xcompiler -fPIC " + arch, "a.so"),
            "ptx sm_80 zstd .nv_fatbin");
  // Every program also has the empty container of a device link.
  EXPECT_EQ(compiled("-DMAIN " + arch, "a"), "ptx sm_80 zstd .nv_fatbin");
}

TEST_F(Nvcc, OptionsAndIdentifiersAreRead) {
  compiled("-fatbin -lineinfo -gencode arch=compute_80,code=compute_80", "a.fatbin");
  Expected<ImageFile> file = readFile(path("a.fatbin"));
  ASSERT_TRUE(bool(file)) << toString(file.takeError());
  EXPECT_EQ(file->images[0].image.options, " --generate-line-info ");
  EXPECT_EQ(sys::path::filename(file->images[0].image.identifier), "k.cu");
  EXPECT_EQ(file->images[0].image.versionMajor >= 7, true);
}

} // namespace
