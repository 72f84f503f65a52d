// SPDX-License-Identifier: Apache-2.0
#include "FatbinWriter.h"
#include "llvm/ADT/StringExtras.h"
#include "gtest/gtest.h"
#include <zstd.h>

using namespace llvm;
using namespace rubia::fatbin;
using namespace rubia::fatbin::test;

namespace {

std::vector<Image> read(const Bytes &bytes) {
  Expected<std::vector<Image>> images = readContainer(bytes);
  if (images)
    return *images;
  ADD_FAILURE() << toString(images.takeError());
  return {};
}

std::string unpacked(const Image &image) {
  Expected<std::string> text = payload(image);
  return text ? *text : "error: " + toString(text.takeError());
}

TEST(FatbinContainer, ReadsEveryFieldOfAnEntry) {
  Entry entry{1,
              90,
              ptxText(90),
              Compression::Zstd,
              kFlag64Bit | kFlagDebug | kFlagArchSpecific,
              "/src/kernel.cu",
              " -g --return-at-end "};
  Bytes bytes = writeContainer({entry});
  std::vector<Image> images = read(bytes);
  ASSERT_EQ(images.size(), 1u);
  const Image &image = images[0];
  EXPECT_EQ(image.kind, ImageKind::Ptx);
  EXPECT_EQ(image.kindNumber, 1);
  EXPECT_EQ(image.compression, Compression::Zstd);
  EXPECT_EQ(image.target(), "sm_90a");
  EXPECT_EQ(image.versionMajor, 8u);
  EXPECT_EQ(image.versionMinor, 0u);
  EXPECT_EQ(image.flags, kFlag64Bit | kFlagDebug | kFlagArchSpecific | kFlagZstd);
  EXPECT_EQ(image.identifier, "/src/kernel.cu");
  EXPECT_EQ(image.options, " -g --return-at-end ");
  EXPECT_EQ(image.uncompressedSize, ptxText(90).size() + 1);
  EXPECT_EQ(image.offset, 16u);
  EXPECT_EQ(unpacked(image), ptxText(90));
}

TEST(FatbinContainer, KeepsTheOrderAndPlaceOfEntries) {
  Bytes first = writeEntry({1, 80, ptxText(80)});
  Bytes bytes = writeContainer({{1, 80, ptxText(80)}, {2, 80, toStringRef(writeCubin(80)).str()}});
  std::vector<Image> images = read(bytes);
  ASSERT_EQ(images.size(), 2u);
  EXPECT_EQ(images[0].offset, 16u);
  EXPECT_EQ(images[1].offset, 16 + first.size());
  EXPECT_EQ(images[1].kind, ImageKind::Cubin);
}

TEST(FatbinContainer, IgnoresWhatFollowsIt) {
  Bytes bytes = writeContainer({{1, 80, ptxText(80)}});
  size_t size = bytes.size();
  append(bytes, "trailing");
  EXPECT_EQ(read(bytes).size(), 1u);
  EXPECT_EQ(cantFail(containerSize(bytes)), size);
}

TEST(FatbinContainer, MayBeEmpty) { EXPECT_TRUE(read(writeContainer({})).empty()); }

TEST(FatbinContainer, SkipsWhatALongerContainerHeaderHolds) {
  Bytes entries = writeEntry({1, 80, ptxText(80)});
  Bytes bytes = wrapContainer(entries);
  put<uint16_t>(bytes, 6, 24);
  bytes.insert(bytes.begin() + 16, 8, 0xee);
  std::vector<Image> images = read(bytes);
  ASSERT_EQ(images.size(), 1u);
  EXPECT_EQ(images[0].offset, 24u);
}

TEST(FatbinContainer, UnpacksEveryCompression) {
  std::string cubin = toStringRef(writeCubin(86)).str();
  for (Compression compression : {Compression::Stored, Compression::Lz4, Compression::Zstd}) {
    Bytes bytes = writeContainer({{1, 86, ptxText(86), compression}, {2, 86, cubin, compression}});
    std::vector<Image> images = read(bytes);
    ASSERT_EQ(images.size(), 2u);
    EXPECT_EQ(images[0].compression, compression);
    EXPECT_EQ(unpacked(images[0]), ptxText(86));
    EXPECT_EQ(StringRef(unpacked(images[1])).take_front(cubin.size()), cubin);
  }
}

TEST(FatbinContainer, ReadsAtAnyAlignment) {
  Bytes bytes =
      writeContainer({{1, 80, ptxText(80), Compression::Lz4, kFlag64Bit, "a.cu", " -O3 "}});
  for (size_t shift = 1; shift < 8; ++shift) {
    Bytes shifted(shift);
    append(shifted, bytes);
    Expected<std::vector<Image>> images =
        readContainer(ArrayRef<uint8_t>(shifted).drop_front(shift));
    ASSERT_TRUE(bool(images));
    EXPECT_EQ(unpacked(images->front()), ptxText(80));
  }
}

TEST(FatbinContainer, OptionsOfACubinAreNotText) {
  Bytes bytes = writeContainer({{2, 100, toStringRef(writeCubin(100)).str(), Compression::Stored,
                                 0x1000011, "", std::string("\x00\x02\t\x00", 4)}});
  EXPECT_EQ(read(bytes)[0].options, "");
}

TEST(FatbinContainer, ListsEntriesOfUnknownKind) {
  Bytes bytes = writeContainer({{16, 80, "whatever"}, {1, 80, ptxText(80)}});
  std::vector<Image> images = read(bytes);
  ASSERT_EQ(images.size(), 2u);
  EXPECT_EQ(images[0].kind, ImageKind::Other);
  EXPECT_EQ(unpacked(images[0]), "error: offset 0x10: unsupported image kind 16");
  EXPECT_EQ(unpacked(images[1]), ptxText(80));
}

TEST(FatbinContainer, LtoIrIsListedAndUnsupported) {
  Bytes bytes = writeContainer({{8, 75, "scrambled", Compression::Lz4, kFlag64Bit | kFlagLtoIr}});
  std::vector<Image> images = read(bytes);
  ASSERT_EQ(images.size(), 1u);
  EXPECT_EQ(images[0].kind, ImageKind::LtoIr);
  Expected<std::string> text = payload(images[0]);
  ASSERT_FALSE(bool(text));
  Error error = text.takeError();
  EXPECT_TRUE(error.isA<UnsupportedImage>());
  EXPECT_EQ(toString(std::move(error)), "offset 0x10: unsupported: LTO-IR for sm_75 is scrambled");
}

TEST(FatbinContainer, TruncationAtEveryLengthIsAnError) {
  Bytes bytes = writeContainer({{1, 80, ptxText(80), Compression::Zstd, kFlag64Bit, "k.cu", " -g "},
                                {2, 80, toStringRef(writeCubin(80)).str()}});
  for (size_t size = 0; size < bytes.size(); ++size) {
    Bytes cut(bytes.begin(), bytes.begin() + size); // its own allocation, so that ASan sees the end
    Expected<std::vector<Image>> images = readContainer(cut);
    EXPECT_FALSE(bool(images)) << "at " << size;
    consumeError(images.takeError());
  }
}

// The same, with a container header that agrees with the truncated size: now the entries are cut
// off.
TEST(FatbinContainer, TruncationOfItsEntriesIsAnErrorExceptBetweenThem) {
  Bytes first = writeEntry({1, 80, ptxText(80), Compression::Lz4});
  Bytes all = first;
  append(all, writeEntry({1, 90, ptxText(90)}));
  for (size_t size = 0; size < all.size(); ++size) {
    Bytes bytes = wrapContainer(Bytes(all.begin(), all.begin() + size));
    Expected<std::vector<Image>> images = readContainer(bytes);
    EXPECT_EQ(bool(images), size == 0 || size == first.size()) << "at " << size;
    consumeError(images.takeError());
  }
}

TEST(FatbinContainer, TruncatedPayloadIsAnError) {
  for (Compression compression : {Compression::Lz4, Compression::Zstd}) {
    Bytes bytes = writeContainer({{1, 80, ptxText(80), compression}});
    Image image = read(bytes)[0];
    for (size_t size = 0; size < image.stored.size(); ++size) {
      Bytes cut(image.stored.begin(), image.stored.begin() + size);
      Image shorter = image;
      shorter.stored = cut;
      EXPECT_EQ(StringRef(unpacked(shorter)).take_front(6), "error:") << "at " << size;
    }
  }
}

// Nothing is asked of the outcome but that it is one: an image or an error, without a fault.
// Changes that matter are in the table of hostile inputs.
TEST(FatbinContainer, SurvivesEveryBitFlipOfItsHeaders) {
  for (Compression compression : {Compression::Stored, Compression::Lz4, Compression::Zstd}) {
    Bytes bytes = writeContainer(
        {{1, 80, ptxText(80), compression, kFlag64Bit, "k.cu", " -maxrregcount=32 "}});
    size_t headers = 16 + (bytes.size() - 16 - read(bytes)[0].stored.size());
    size_t errors = 0;
    for (size_t bit = 0; bit < headers * 8; ++bit) {
      Bytes flipped = bytes;
      flipped[bit / 8] ^= 1 << (bit % 8);
      Expected<std::vector<Image>> images = readContainer(flipped);
      if (!images) {
        ++errors;
        consumeError(images.takeError());
        continue;
      }
      for (const Image &image : *images) {
        Expected<std::string> text = payload(image);
        if (text) {
          EXPECT_LE(text->size(), image.uncompressedSize);
        }
        errors += !text;
        consumeError(text.takeError());
      }
    }
    EXPECT_GT(errors, 300u);
  }
}

TEST(FatbinPayload, SurvivesEveryBitFlipOfCompressedData) {
  for (Compression compression : {Compression::Lz4, Compression::Zstd}) {
    Bytes bytes = writeContainer({{1, 80, ptxText(80), compression}});
    Image image = read(bytes)[0];
    for (size_t bit = 0; bit < image.stored.size() * 8; ++bit) {
      Bytes flipped(image.stored.begin(), image.stored.end());
      flipped[bit / 8] ^= 1 << (bit % 8);
      Image damaged = image;
      damaged.stored = flipped;
      Expected<std::string> text = payload(damaged);
      if (text) {
        EXPECT_LE(text->size(), image.uncompressedSize);
      }
      consumeError(text.takeError());
    }
  }
}

TEST(FatbinPayload, HonestHighRatiosPass) {
  std::string table = ptxText(80) + std::string(3'000'000, ' ') + "//\n";
  for (Compression compression : {Compression::Lz4, Compression::Zstd}) {
    Bytes bytes = writeContainer({{1, 80, table, compression}});
    EXPECT_EQ(unpacked(read(bytes)[0]), table);
  }
}

} // namespace
