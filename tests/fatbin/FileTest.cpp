// SPDX-License-Identifier: Apache-2.0
#include "fatbin/File.h"
#include "FatbinWriter.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "gtest/gtest.h"

using namespace llvm;
using namespace rubia::fatbin;
using namespace rubia::fatbin::test;

namespace {

Bytes bytesOf(StringRef text) { return Bytes(text.begin(), text.end()); }

Expected<ImageFile> read(const Bytes &bytes, StringRef name = "file") {
  return readBuffer(MemoryBuffer::getMemBufferCopy(toStringRef(bytes), name));
}

// One line for every image, "place: target, first line of PTX", and for every problem; or the
// error.
std::string dump(const Bytes &bytes, StringRef name = "file") {
  Expected<ImageFile> file = read(bytes, name);
  if (!file)
    return "error: " + toString(file.takeError());
  std::vector<std::string> lines;
  for (const FileImage &image : file->images) {
    Expected<std::string> text = payload(image.image);
    std::string what = text ? image.image.target() : toString(text.takeError());
    lines.push_back(file->place(image) + ": " + what);
  }
  for (const std::string &problem : file->problems)
    lines.push_back("problem: " + problem);
  return join(lines, "\n");
}

Bytes container(unsigned sm) { return writeContainer({{1, sm, ptxText(sm), Compression::Zstd}}); }

TEST(ImageFile, BarePtx) {
  EXPECT_EQ(dump(bytesOf(ptxText(86)), "k.ptx"), "k.ptx, offset 0x0: sm_86");
  EXPECT_EQ(dump(bytesOf(ptxText(86)), "no-suffix"), "no-suffix, offset 0x0: sm_86");
  // The PTX parser will say what is wrong with it.
  EXPECT_EQ(dump(bytesOf("nonsense"), "k.ptx"), "k.ptx, offset 0x0: sm_?");
}

TEST(ImageFile, BareFatbin) {
  Bytes bytes = container(80);
  append(bytes, container(90));
  EXPECT_EQ(dump(container(80)), "file, offset 0x10: sm_80");
  EXPECT_EQ(dump(bytes), "file, offset 0x10: sm_80\nfile, offset 0x" +
                             utohexstr(container(80).size() + 16, true) + ": sm_90");
}

TEST(ImageFile, BareCubin) {
  EXPECT_EQ(dump(writeCubin(80), "k.cubin"), "k.cubin, offset 0x0: sm_80");
  Expected<ImageFile> file = read(writeCubin(80));
  ASSERT_TRUE(bool(file));
  EXPECT_EQ(file->description(), "no PTX: only SASS for sm_80");
}

TEST(ImageFile, ElfSections) {
  Bytes padded(24); // linkers may put zeros between containers
  append(padded, container(80));
  padded.resize(padded.size() + 16);
  append(padded, container(90));
  Bytes hidden = bytesOf("some data, then an unaligned container");
  append(hidden, container(75));
  Bytes elf = writeElf({{".data", bytesOf("nothing")},
                        {".nv_fatbin", padded},
                        {".rodata", hidden},
                        {"__nv_relfatbin", container(86)},
                        {".nvFatBinSegment", Bytes(24, 1)}});
  Expected<ImageFile> file = read(elf, "app");
  ASSERT_TRUE(bool(file)) << toString(file.takeError());
  EXPECT_TRUE(file->problems.empty());
  EXPECT_EQ(file->containers, 4u);
  ASSERT_EQ(file->images.size(), 4u);
  const char *expected[][2] = {{"sm_80", ".nv_fatbin"},
                               {"sm_90", ".nv_fatbin"},
                               {"sm_75", ".rodata"},
                               {"sm_86", "__nv_relfatbin"}};
  for (size_t i = 0; i < 4; ++i) {
    const FileImage &image = file->images[i];
    EXPECT_EQ(image.image.target(), expected[i][0]);
    EXPECT_EQ(image.section, expected[i][1]);
    EXPECT_EQ(image.image.offset, image.container + 16);
    EXPECT_TRUE(startsWithContainer(file->bytes().drop_front(image.container)));
  }
  EXPECT_EQ(file->description(), "PTX for sm_75, sm_80, sm_86, sm_90");
}

TEST(ImageFile, ElfWithoutSectionHeaders) {
  Bytes elf = writeElf({{".nv_fatbin", container(80)}});
  put<uint64_t>(elf, 40, 0);
  put<uint16_t>(elf, 60, 0);
  put<uint16_t>(elf, 62, 0);
  EXPECT_EQ(dump(elf), "file, offset 0x50: sm_80");
}

TEST(ImageFile, CoffSections) {
  Bytes hidden = bytesOf("data");
  append(hidden, container(75));
  Bytes coff = writeCoff({{".nv_fatb", container(80)}, {".rdata", hidden}});
  EXPECT_EQ(dump(coff, "k.obj"),
            "k.obj, section .nv_fatb, offset 0x74: sm_80\nk.obj, section .rdata, offset 0x" +
                utohexstr(100 + container(80).size() + 20, true) + ": sm_75");
}

TEST(ImageFile, ArchivesAreReadThroughAndThrough) {
  Bytes object = writeElf({{"__nv_relfatbin", container(80)}});
  Bytes inner = writeArchive({{"deep.o", object}});
  Bytes archive = writeArchive({{"odd.txt", bytesOf("odd")},
                                {"a.o", object},
                                {"inner.a", inner},
                                {"k.ptx", bytesOf(ptxText(75))},
                                {"b.fatbin", container(90)}});
  Expected<ImageFile> file = read(archive, "lib.a");
  ASSERT_TRUE(bool(file)) << toString(file.takeError());
  EXPECT_TRUE(file->problems.empty());
  std::vector<std::string> places;
  for (const FileImage &image : file->images) {
    places.push_back(image.member + " " + image.section + " " + image.image.target());
    EXPECT_LE(file->bytes().data() + image.image.offset, image.image.stored.data());
  }
  EXPECT_EQ(join(places, "\n"), "a.o __nv_relfatbin sm_80\ninner.a/deep.o __nv_relfatbin sm_80\n"
                                "k.ptx  sm_75\nb.fatbin  sm_90");
  EXPECT_EQ(StringRef(file->place(file->images[1])).split(", offset").first,
            "lib.a(inner.a/deep.o), section __nv_relfatbin");
}

TEST(ImageFile, ArchivesMayNotBeNestedForever) {
  Bytes archive = writeArchive({{"k.ptx", bytesOf(ptxText(80))}});
  for (int i = 0; i < 8; ++i)
    archive = writeArchive({{"x.a", archive}});
  std::string message = dump(archive);
  EXPECT_EQ(message, "error: file(x.a/x.a/x.a/x.a/x.a/x.a/x.a/x.a), offset 0x220: archives "
                     "are nested more than 8 deep");
}

TEST(ImageFile, TruncatedArchiveKeepsItsWholeMembers) {
  Bytes archive = writeArchive({{"a.ptx", bytesOf(ptxText(80))}, {"b.ptx", bytesOf(ptxText(90))}});
  archive.resize(archive.size() - 10);
  EXPECT_EQ(dump(archive), "file(a.ptx), offset 0x44: sm_80\n"
                           "problem: file, offset 0xac: member b.ptx reaches beyond its archive");
}

TEST(ImageFile, ThinArchivesAreUnsupported) {
  EXPECT_EQ(
      dump(bytesOf("!<thin>\n")),
      "error: file, offset 0x0: unsupported: a thin archive holds only the names of its members");
}

TEST(ImageFile, OneDamagedContainerDoesNotHideTheOthers) {
  Bytes damaged = container(86);
  put<uint16_t>(damaged, 16 + 2, 0x0907); // entry version
  Bytes cut = container(75);
  put<uint64_t>(cut, 8, 1 << 20);
  Bytes section = container(80);
  size_t second = section.size();
  append(section, damaged);
  size_t third = section.size();
  append(section, cut);
  size_t fourth = section.size();
  append(section, container(90));
  Bytes elf = writeElf({{".nv_fatbin", section}});
  uint64_t start = 64;
  auto at = [&](uint64_t offset) { return "0x" + utohexstr(start + offset, true); };
  EXPECT_EQ(dump(writeArchive({{"a.o", elf}}), "l.a").substr(0, 4), "l.a(");
  EXPECT_EQ(dump(elf, "app"), "app, section .nv_fatbin, offset " + at(16) + ": sm_80\n" +
                                  "app, section .nv_fatbin, offset " + at(fourth + 16) +
                                  ": sm_90\n" + "problem: app, section .nv_fatbin, offset " +
                                  at(second + 16) + ": unsupported entry version 0x907\n" +
                                  "problem: app, section .nv_fatbin, offset " + at(third) +
                                  ": container claims 1048576 bytes of entries, but only " +
                                  std::to_string(section.size() - third - 16) +
                                  " follow its header");
}

// A program that reads containers, as this project's own do, is no damaged one.
TEST(ImageFile, TheFirstBytesOfAContainerAmongConstantsAreNone) {
  auto constants = [](uint64_t size, StringRef behind) {
    Bytes bytes = container(80);
    bytes.resize(16);
    put<uint64_t>(bytes, 8, size);
    append(bytes, behind);
    bytes.resize(bytes.size() + 64);
    return bytes;
  };
  const char *none = "error: file: no CUDA code: no fatbin, cubin or PTX in it";
  EXPECT_EQ(dump(writeElf({{".rodata", constants(0x316d720064252e00, "container expected")}})),
            none);
  EXPECT_EQ(dump(writeElf({{".rodata", constants(12, "container expected")}})), none);
  Bytes startAlone = container(80);
  startAlone.resize(8);
  EXPECT_EQ(dump(writeElf({{".rodata", startAlone}})), none);
  // What stands behind them is found.
  Bytes section = constants(uint64_t(1) << 40, "other constants");
  const std::string start = utohexstr(64 + section.size() + 16, true);
  append(section, container(90));
  EXPECT_EQ(dump(writeElf({{".rodata", section}})),
            "file, section .rodata, offset 0x" + start + ": sm_90");
  // An entry follows, so the size is what is damaged.
  Bytes damaged = container(86);
  put<uint64_t>(damaged, 8, uint64_t(1) << 40);
  EXPECT_EQ(dump(writeElf({{".rodata", damaged}})),
            "error: file, section .rodata, offset 0x40: container claims 1099511627776 bytes of "
            "entries, but only " +
                std::to_string(damaged.size() - 16) + " follow its header");
}

TEST(ImageFile, OtherBytesAmongContainersAreAProblem) {
  Bytes section = container(80);
  size_t end = section.size();
  append(section, "rubbish ");
  append(section, container(90));
  append(section, "more");
  EXPECT_EQ(dump(writeElf({{".nv_fatbin", section}})),
            "file, section .nv_fatbin, offset 0x50: sm_80\n"
            "file, section .nv_fatbin, offset 0x" +
                utohexstr(64 + end + 8 + 16, true) +
                ": sm_90\n"
                "problem: file, section .nv_fatbin, offset 0x" +
                utohexstr(64 + end, true) +
                ": container expected\n"
                "problem: file, section .nv_fatbin, offset 0x" +
                utohexstr(64 + section.size() - 4, true) + ": container expected");
}

TEST(ImageFile, FilesWithoutCudaSaySo) {
  const char *message = "error: file: no CUDA code: no fatbin, cubin or PTX in it";
  EXPECT_EQ(dump({}), message);
  EXPECT_EQ(dump(bytesOf("int main() {}\n")), message);
  EXPECT_EQ(dump(writeElf({{".data", bytesOf("nothing")}})), message);
  EXPECT_EQ(dump(writeArchive({{"a.txt", bytesOf("text")}})), message);
  EXPECT_EQ(dump(writeElf({{".nv_fatbin", writeContainer({})}})),
            "error: file: no CUDA code: its fatbin containers are empty");
  Expected<ImageFile> file = read(bytesOf("x"));
  Error error = file.takeError();
  EXPECT_TRUE(error.isA<NoImages>());
  consumeError(std::move(error));
}

// A map of shapes, for example. LLVM takes it for an object of an unknown machine.
TEST(ImageFile, DataBehindTwoZeroBytesIsNoBrokenObject) {
  Bytes data = bytesOf(StringRef("\0\0\x27\x0a and more", 13));
  EXPECT_EQ(dump(data), "error: file: no CUDA code: no fatbin, cubin or PTX in it");
  data.resize(16);
  append_range(data, container(80));
  EXPECT_EQ(dump(data), "file, offset 0x20: sm_80");
}

// The prebuilt examples are real programs: linked, stripped, their kernels compiled by nvcc.
TEST(ImageFile, ReadsThePrebuiltExamples) {
  for (auto [name, kernel] : {std::pair("vector_add_driver", ".entry vectorAdd("),
                              std::pair("collatz_driver", ".entry collatz(")}) {
    Expected<ImageFile> file = readFile(std::string(RUBIA_PREBUILT_EXAMPLES "/") + name);
    ASSERT_TRUE(bool(file)) << toString(file.takeError());
    EXPECT_TRUE(file->problems.empty());
    EXPECT_EQ(file->description(), "PTX for sm_80");
    ASSERT_EQ(file->images.size(), 1u);
    EXPECT_EQ(file->images[0].section, ".nv_fatbin");
    EXPECT_EQ(file->images[0].image.compression, Compression::Zstd);
    Expected<std::string> text = payload(file->images[0].image);
    ASSERT_TRUE(bool(text)) << toString(text.takeError());
    EXPECT_NE(text->find(kernel), std::string::npos);
  }
}

TEST(ImageFile, AMissingFileIsASystemError) {
  Expected<ImageFile> file = readFile("/nonexistent/file");
  ASSERT_FALSE(bool(file));
  handleAllErrors(file.takeError(), [](const ErrorInfoBase &error) {
    EXPECT_EQ(error.convertToErrorCode(), std::errc::no_such_file_or_directory);
    EXPECT_EQ(error.message(), "/nonexistent/file: No such file or directory");
  });
}

// LLVM's readers get the same treatment as ours: nothing here may crash or read out of bounds.
TEST(ImageFile, SurvivesTruncationAndBitFlips) {
  Bytes object = writeElf({{".data", bytesOf("data")}, {".nv_fatbin", container(80)}});
  Bytes coff = writeCoff({{".nv_fatb", container(80)}});
  Bytes archive = writeArchive({{"a.o", object}, {"b.obj", coff}});
  for (const Bytes &good : {object, coff, archive}) {
    for (size_t size = 0; size < good.size(); ++size)
      consumeError(read(Bytes(good.begin(), good.begin() + size)).takeError());
    size_t found = 0;
    for (size_t bit = 0; bit < good.size() * 8; ++bit) {
      Bytes flipped = good;
      flipped[bit / 8] ^= 1 << (bit % 8);
      Expected<ImageFile> file = read(flipped);
      if (file)
        found += file->images.size();
      consumeError(file.takeError());
    }
    EXPECT_GT(found, good.size());
  }
}

} // namespace
