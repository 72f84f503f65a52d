// SPDX-License-Identifier: Apache-2.0
// What programs hand to the driver: pointers without a size. The bytes are put right in front of an
// inaccessible page, so that reading one byte too many is a fault.

#include "FatbinWriter.h"
#include "llvm/ADT/StringExtras.h"
#include "gtest/gtest.h"
#include <sys/mman.h>
#include <unistd.h>

using namespace llvm;
using namespace rubia::fatbin;
using namespace rubia::fatbin::test;

namespace {

// A copy of bytes that ends where readable memory ends.
class EndOfMemory {
public:
  explicit EndOfMemory(ArrayRef<uint8_t> bytes) {
    size_t page = sysconf(_SC_PAGESIZE);
    size = (bytes.size() + page - 1) / page * page + page;
    base = static_cast<uint8_t *>(
        mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(base + size - page, page, PROT_NONE);
    data = base + size - page - bytes.size();
    memcpy(data, bytes.data(), bytes.size());
  }
  EndOfMemory(const EndOfMemory &) = delete;
  ~EndOfMemory() { munmap(base, size); }

  uint8_t *data;

private:
  uint8_t *base;
  size_t size;
};

Bytes bytesOf(StringRef text) { return Bytes(text.begin(), text.end()); }

// "kind size[ relocatable]; ..." or the error.
std::string dump(const void *image) {
  Expected<std::vector<RawImage>> images = rawImages(image);
  if (!images)
    return "error: " + toString(images.takeError());
  std::vector<std::string> parts;
  for (const RawImage &raw : *images) {
    const char *kinds[] = {"container", "cubin", "ptx"};
    parts.push_back(kinds[int(raw.kind)] + (" " + std::to_string(raw.bytes.size())) +
                    (raw.relocatable ? " relocatable" : ""));
  }
  return join(parts, "; ");
}

std::string dumpAtEnd(const Bytes &bytes) { return dump(EndOfMemory(bytes).data); }

struct Wrapper {
  uint32_t magic = 0x466243B1, version;
  const void *data;
  const void *fatbins;
};

TEST(RawImage, NullIsAnError) {
  EXPECT_EQ(dump(nullptr), "error: offset 0x0: the image is a null pointer");
}

TEST(RawImage, PtxEndsAtItsNul) {
  std::string text = ptxText(80);
  EXPECT_EQ(dumpAtEnd(bytesOf(StringRef(text.c_str(), text.size() + 1))),
            "ptx " + std::to_string(text.size()));
}

TEST(RawImage, ShortTextsAreNotReadBeyondTheirNul) {
  EXPECT_EQ(dumpAtEnd(bytesOf(StringRef(".\0", 2))), "ptx 1");
  EXPECT_EQ(dumpAtEnd(bytesOf(StringRef(" \n//\0", 5))), "ptx 4");
  const char *notOne = "error: offset 0x0: not a CUDA image: it starts with byte 0x";
  EXPECT_EQ(dumpAtEnd(bytesOf(StringRef("\0", 1))),
            notOne + std::string("00, and is no fatbin, cubin or PTX"));
  EXPECT_EQ(dumpAtEnd(bytesOf(StringRef(" \0", 2))),
            notOne + std::string("20, and is no fatbin, cubin or PTX"));
  EXPECT_EQ(dumpAtEnd(bytesOf(StringRef("/\0", 2))),
            notOne + std::string("2f, and is no fatbin, cubin or PTX"));
  EXPECT_EQ(dumpAtEnd(bytesOf(StringRef("P\0", 2))),
            notOne + std::string("50, and is no fatbin, cubin or PTX"));
  EXPECT_EQ(dumpAtEnd(bytesOf(StringRef("\x7f\0", 2))),
            notOne + std::string("7f, and is no fatbin, cubin or PTX"));
}

TEST(RawImage, TileIrIsNamed) {
  EXPECT_EQ(
      dumpAtEnd(bytesOf(StringRef("\x7fTileIR", 8))),
      "error: offset 0x0: CUDA Tile IR, which NVIDIA's driver alone compiles, is not supported");
}

TEST(RawImage, ContainerEndsWhereItsHeaderSays) {
  Bytes bytes = writeContainer({{1, 80, ptxText(80), Compression::Zstd}});
  EXPECT_EQ(dumpAtEnd(bytes), "container " + std::to_string(bytes.size()));
  Bytes empty = writeContainer({});
  EXPECT_EQ(dumpAtEnd(empty), "container 16");
}

TEST(RawImage, ContainerWithABrokenHeaderIsAnError) {
  Bytes bytes = writeContainer({});
  put<uint16_t>(bytes, 6, 15);
  EXPECT_EQ(dumpAtEnd(bytes), "error: offset 0x0: container header size is 15, expected 16 to 16");
  bytes = writeContainer({});
  put<uint16_t>(bytes, 4, 3);
  EXPECT_EQ(dumpAtEnd(bytes), "error: offset 0x0: unsupported container version 3");
  bytes = writeContainer({});
  put<uint64_t>(bytes, 8, ~uint64_t(0));
  EXPECT_EQ(dumpAtEnd(bytes), "error: offset 0x0: container claims 18446744073709551615 bytes of "
                              "entries, more than the limit of 1073741824");
}

TEST(RawImage, CubinEndsWhereItsHeadersSay) {
  Bytes bytes = writeCubin(80);
  EXPECT_EQ(dumpAtEnd(bytes), "cubin " + std::to_string(bytes.size()));
}

TEST(RawImage, OtherElfFilesAreErrors) {
  EXPECT_EQ(dumpAtEnd(writeElf({})),
            "error: offset 0x0: ELF file is for machine 62, not a cubin (machine 190)");
  Bytes bytes = writeCubin(80);
  bytes[4] = 1;
  EXPECT_EQ(dumpAtEnd(bytes),
            "error: offset 0x0: unsupported cubin: not a 64-bit little-endian ELF file");
}

TEST(RawImage, WrapperLeadsToItsContainer) {
  Bytes bytes = writeContainer({{1, 80, ptxText(80)}});
  Wrapper wrapper{.version = 1, .data = bytes.data(), .fatbins = nullptr};
  EXPECT_EQ(dump(&wrapper), "container " + std::to_string(bytes.size()));
  Expected<ArrayRef<uint8_t>> raw = rawImage(&wrapper);
  ASSERT_TRUE(bool(raw));
  EXPECT_EQ(raw->data(), bytes.data());
}

TEST(RawImage, WrapperMayHoldPtxOrACubin) {
  std::string text = ptxText(80);
  Wrapper ptx{.version = 1, .data = text.c_str(), .fatbins = nullptr};
  EXPECT_EQ(dump(&ptx), "ptx " + std::to_string(text.size()));
  Bytes cubin = writeCubin(90);
  Wrapper wrapper{.version = 1, .data = cubin.data(), .fatbins = nullptr};
  EXPECT_EQ(dump(&wrapper), "cubin " + std::to_string(cubin.size()));
}

TEST(RawImage, WrapperVersion2ListsTranslationUnits) {
  Bytes linked = writeContainer({{2, 80, toStringRef(writeCubin(80)).str()}});
  Bytes first = writeContainer({{1, 80, ptxText(80)}});
  Bytes second = writeContainer({{1, 80, ptxText(80) + "//"}});
  const void *list[] = {first.data(), second.data(), nullptr};
  std::string parts = "container " + std::to_string(first.size()) + " relocatable; container " +
                      std::to_string(second.size()) + " relocatable";
  Wrapper wrapper{.version = 2, .data = linked.data(), .fatbins = list};
  EXPECT_EQ(dump(&wrapper), "container " + std::to_string(linked.size()) + "; " + parts);

  // Compiled to PTX only: what was linked is a header of size 0.
  Bytes empty = writeContainer({});
  Wrapper ptxOnly{.version = 2, .data = empty.data(), .fatbins = list};
  EXPECT_EQ(dump(&ptxOnly), parts);
  Expected<ArrayRef<uint8_t>> raw = rawImage(&ptxOnly);
  ASSERT_FALSE(bool(raw));
  EXPECT_EQ(toString(raw.takeError()),
            "offset 0x0: unsupported: relocatable device code of 2 translation units");
}

TEST(RawImage, BrokenTranslationUnitIsNamed) {
  Bytes good = writeContainer({{1, 80, ptxText(80)}}), bad = writeContainer({});
  put<uint16_t>(bad, 4, 9);
  const void *list[] = {good.data(), bad.data(), nullptr};
  Wrapper wrapper{.version = 2, .data = nullptr, .fatbins = list};
  EXPECT_EQ(dump(&wrapper),
            "error: offset 0x0: translation unit 1: unsupported container version 9");
}

TEST(RawImage, BrokenWrappersAreErrors) {
  Wrapper null{.version = 1, .data = nullptr, .fatbins = nullptr};
  EXPECT_EQ(dump(&null), "error: offset 0x0: fatbin wrapper points to nothing");
  Wrapper newer{.version = 3, .data = nullptr, .fatbins = nullptr};
  EXPECT_EQ(dump(&newer), "error: offset 0x0: unsupported fatbin wrapper version 3");
  Wrapper nested{.version = 1, .data = &null, .fatbins = nullptr};
  EXPECT_EQ(dump(&nested),
            "error: offset 0x0: not a CUDA image: it starts with byte 0xb1, and is no "
            "fatbin, cubin or PTX");
  Wrapper nothing{.version = 2, .data = nullptr, .fatbins = nullptr};
  EXPECT_EQ(dump(&nothing), "");
  Expected<ArrayRef<uint8_t>> raw = rawImage(&nothing);
  ASSERT_FALSE(bool(raw));
  EXPECT_EQ(toString(raw.takeError()), "offset 0x0: fatbin wrapper holds no image");
}

// "kind target version", or the error.
std::string read(const Bytes &bytes) {
  Expected<std::vector<Image>> images = readImages(bytes);
  if (!images)
    return "error: " + toString(images.takeError());
  std::string out;
  for (const Image &image : *images)
    out += std::string(image.kind == ImageKind::Ptx ? "ptx " : "cubin ") + image.target() + " " +
           std::to_string(image.versionMajor) + "." + std::to_string(image.versionMinor) + ";";
  return out;
}

TEST(BareImage, PtxTellsVersionAndTarget) {
  EXPECT_EQ(read(bytesOf(ptxText(80))), "ptx sm_80 8.0;");
  EXPECT_EQ(read(bytesOf("/* a */ .version 9.1 // b\n.target sm_100f, debug\n")),
            "ptx sm_100f 9.1;");
  EXPECT_EQ(read(bytesOf(".version 7.8\n.target sm_90a")), "ptx sm_90a 7.8;");
  EXPECT_EQ(read(bytesOf(".version 7.8\n")), "ptx sm_? 7.8;");
  EXPECT_EQ(read(bytesOf(".version x\n.target sm_80")), "ptx sm_? 0.0;");
}

TEST(BareImage, TextThatIsNotPtxIsAnError) {
  const char *message = "error: offset 0x0: not a CUDA image: no fatbin, cubin or PTX";
  for (const char *text :
       {"", "/", "//", "/*", "/* .version", "// .version", ".versions 8.0", ".target sm_80"})
    EXPECT_EQ(read(bytesOf(text)), message) << text;
}

TEST(BareImage, CubinTellsItsArchitecture) {
  EXPECT_EQ(read(writeCubin(120)), "cubin sm_120 0.0;");
  Bytes older = writeCubin(0);
  older[8] = 7; // ABI version
  put<uint32_t>(older, 48, 0x00500550);
  EXPECT_EQ(read(older), "cubin sm_80 0.0;");
}

TEST(BareImage, TruncatedCubinIsAnError) {
  Bytes bytes = writeCubin(80);
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_EQ(StringRef(read(Bytes(bytes.begin(), bytes.begin() + size))).take_front(6), "error:")
        << size;
}

TEST(BareImage, SurvivesEveryBitFlipOfACubin) {
  Bytes bytes = writeCubin(80);
  size_t errors = 0;
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    Bytes flipped = bytes;
    flipped[bit / 8] ^= 1 << (bit % 8);
    Expected<std::vector<Image>> images = readImages(flipped);
    errors += !images;
    consumeError(images.takeError());
  }
  EXPECT_GT(errors, 100u);
}

TEST(BareImage, HostileCubins) {
  struct {
    size_t offset;
    uint64_t value;
    unsigned size;
    const char *message;
  } table[] = {
      {40, ~uint64_t(0) - 7, 8,
       "error: offset 0x0: cubin's section headers reach beyond 280 bytes"},
      {58, 63, 2, "error: offset 0x0: cubin's section headers are of 63 bytes, expected 64"},
      {60, 0xffff, 2, "error: offset 0x0: cubin's section headers reach beyond 280 bytes"},
      {56, 1, 2, "error: offset 0x0: cubin's program headers are of 0 bytes, expected 56"},
      {88 + 128 + 32, 300, 8, "error: offset 0x0: cubin's section 2 reaches beyond 280 bytes"},
      {88 + 128 + 24, ~uint64_t(0), 8,
       "error: offset 0x0: cubin's section 2 reaches beyond 280 bytes"},
  };
  Bytes good = writeCubin(80);
  ASSERT_EQ(good.size(), 280u);
  for (const auto &row : table) {
    Bytes bytes = good;
    for (unsigned i = 0; i < row.size; ++i)
      bytes[row.offset + i] = row.value >> (8 * i);
    EXPECT_EQ(read(bytes), row.message);
  }
  // No number of sections in the header: section 0 holds it.
  Bytes bytes = good;
  put<uint16_t>(bytes, 60, 0);
  put<uint64_t>(bytes, 88 + 32, uint64_t(1) << 60);
  EXPECT_EQ(read(bytes),
            "error: offset 0x0: cubin claims 1152921504606846976 sections in 280 bytes");
  put<uint64_t>(bytes, 88 + 32, 3);
  EXPECT_EQ(read(bytes), "cubin sm_80 0.0;");
}

} // namespace
