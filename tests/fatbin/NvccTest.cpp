// SPDX-License-Identifier: Apache-2.0
// What nvcc makes of a small kernel, where there is an nvcc. Its output is never part of the
// repository.

#include "fatbin/File.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Path.h"
#include "gtest/gtest.h"

using namespace llvm;
using namespace rubia::fatbin;

namespace {

class Nvcc : public testing::Test {
protected:
  void SetUp() override {
    if (StringRef(RUBIA_NVCC_OUTPUTS).empty())
      GTEST_SKIP() << "no nvcc on this machine";
  }

  static std::string path(StringRef name) { return (RUBIA_NVCC_OUTPUTS "/" + name).str(); }

  // What nvcc has made (CMakeLists.txt): one "kind target compression size" for every image.
  static std::string images(StringRef name) {
    Expected<ImageFile> file = readFile(path(name));
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
};

TEST_F(Nvcc, Fatbins) {
  EXPECT_EQ(images("ptx.fatbin"), "ptx sm_80 zstd");
  EXPECT_EQ(images("both.fatbin"), "cubin sm_80 stored\nptx sm_80 zstd");
  EXPECT_EQ(images("two.fatbin"), "cubin sm_80 stored\ncubin sm_90 stored");
}

TEST_F(Nvcc, CompressionModes) {
  EXPECT_EQ(images("speed.fatbin"), "cubin sm_80 stored\nptx sm_80 lz4");
  EXPECT_EQ(images("size.fatbin"), "cubin sm_80 zstd\nptx sm_80 zstd");
  EXPECT_EQ(images("none.fatbin"), "cubin sm_80 stored\nptx sm_80 stored");
}

TEST_F(Nvcc, ArchitectureSpecificTargets) {
  EXPECT_EQ(images("specific.fatbin"), "cubin sm_90a stored\nptx sm_90a zstd");
}

TEST_F(Nvcc, PtxAndCubins) {
  EXPECT_EQ(images("k.ptx"), "ptx sm_86 stored");
  EXPECT_EQ(images("k.cubin"), "cubin sm_86 stored");
  EXPECT_EQ(images("relocatable.cubin"), "cubin sm_86 stored");
}

TEST_F(Nvcc, ObjectsLibrariesAndPrograms) {
  EXPECT_EQ(images("k.o"), "ptx sm_80 zstd .nv_fatbin");
  EXPECT_EQ(images("relocatable.o"), "ptx sm_80 zstd __nv_relfatbin");
  EXPECT_EQ(images("k.a"), "ptx sm_80 zstd .nv_fatbin");
  EXPECT_EQ(images("k.so"), "ptx sm_80 zstd .nv_fatbin");
  // Every program also has the empty container of a device link.
  EXPECT_EQ(images("program"), "ptx sm_80 zstd .nv_fatbin");
}

TEST_F(Nvcc, OptionsAndIdentifiersAreRead) {
  Expected<ImageFile> file = readFile(path("lines.fatbin"));
  ASSERT_TRUE(bool(file)) << toString(file.takeError());
  EXPECT_EQ(file->images[0].image.options, " --generate-line-info ");
  EXPECT_EQ(sys::path::filename(file->images[0].image.identifier), "nvcc_kernel.cu");
  EXPECT_EQ(file->images[0].image.versionMajor >= 7, true);
}

} // namespace
