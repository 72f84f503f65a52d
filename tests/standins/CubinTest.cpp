// SPDX-License-Identifier: Apache-2.0
// Cubins that hold PTX, written by standins/ and read by fatbin/. standins.py looks at what is in
// them, and runs them.
#include "fatbin/Cubin.h"
#include "fatbin/Container.h"
#include "ptx-frontend/Parser.h"
#include "standins/Cubin.h"
#include "tests/fatbin/FatbinWriter.h"
#include "llvm/ADT/StringExtras.h"
#include <chrono>
#include <cstring>
#include <gtest/gtest.h>

using namespace llvm;

namespace rubia::standins {
namespace {

const std::string kText = ".version 8.0\n.target sm_80\n.address_size 64\n"
                          ".visible .global .align 4 .u32 counter;\n"
                          ".visible .entry kernel(.param .u64 out) { ret; }\n";

std::vector<uint8_t> cubin() {
  return makeCubin(ptx::parse("text", kText).module, kText, {89, 0, false},
                   /*isRelocatable=*/false);
}

TEST(StandInCubin, IsAnImageOfPtx) {
  const std::vector<uint8_t> bytes = cubin();
  Expected<std::vector<fatbin::Image>> images = fatbin::readImages(bytes);
  ASSERT_TRUE(bool(images)) << toString(images.takeError());
  ASSERT_EQ(images->size(), 1u);
  EXPECT_EQ(images->front().kind, fatbin::ImageKind::Ptx);
  EXPECT_EQ(images->front().versionMajor, 8u);
  EXPECT_EQ(images->front().target(), "sm_80");
  Expected<std::string> text = fatbin::payload(images->front());
  ASSERT_TRUE(bool(text));
  EXPECT_EQ(*text, kText);
}

// NVIDIA's fatbinary compresses cubins.
TEST(StandInCubin, IsAnImageOfPtxInACompressedEntry) {
  const std::vector<uint8_t> bytes = cubin();
  for (fatbin::Compression compression : {fatbin::Compression::Lz4, fatbin::Compression::Zstd}) {
    const fatbin::test::Entry entry{2, 89, toStringRef(bytes).str(), compression},
        text{1, 80, kText, compression};
    const std::vector<uint8_t> container = fatbin::test::writeContainer({entry});
    Expected<std::vector<fatbin::Image>> images = fatbin::readImages(container);
    ASSERT_TRUE(bool(images)) << toString(images.takeError());
    ASSERT_EQ(images->size(), 1u);
    EXPECT_EQ(images->front().kind, fatbin::ImageKind::Ptx);
    EXPECT_EQ(images->front().versionMajor, 8u);
    EXPECT_EQ(images->front().sm, 89u);
    Expected<std::string> read = fatbin::payload(images->front());
    ASSERT_TRUE(bool(read)) << toString(read.takeError());
    EXPECT_EQ(*read, kText);
    // PTX that stands for itself is preferred, and then nothing is decompressed.
    const std::vector<uint8_t> both = fatbin::test::writeContainer({entry, text});
    images = fatbin::readImages(both);
    ASSERT_TRUE(bool(images)) << toString(images.takeError());
    EXPECT_EQ(images->front().kind, fatbin::ImageKind::Cubin);
    EXPECT_EQ(images->back().kind, fatbin::ImageKind::Ptx);
  }
}

// As ptxas 13.0 writes them for the same texts.
TEST(StandInCubin, LargeParametersHaveSizesOf32Bits) {
  auto attributes = [](unsigned bytes) {
    const std::string text = ".version 8.1\n.target sm_80\n.address_size 64\n"
                             ".visible .entry k(.param .u32 a, .param .align 16 .b8 p[" +
                             std::to_string(bytes) + "]) { ret; }\n";
    const std::vector<uint8_t> made =
        makeCubin(ptx::parse("text", text).module, text, {80, 0, false},
                  /*isRelocatable=*/false);
    return std::string(made.begin(), made.end());
  };
  auto has = [&](unsigned bytes, std::initializer_list<unsigned char> wanted) {
    return StringRef(attributes(bytes)).contains(std::string(wanted.begin(), wanted.end()));
  };
  EXPECT_TRUE(has(4336, {4, 0x17, 12, 0, 0, 0, 0, 0, 1, 0, 0x10, 0, 0, 0xf0, 0xc1, 0x43}));
  EXPECT_TRUE(has(4352, {4, 0x45, 12, 0, 0, 0, 0, 0, 1, 0, 0x10, 0, 0, 0x11, 0, 0}));
  EXPECT_TRUE(has(20000, {4, 0x45, 12, 0, 0, 0, 0, 0, 1, 0, 0x10, 0, 0x20, 0x4e, 0, 0}));
  EXPECT_TRUE(has(20000, {4, 0x45, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0}));
}

// Its size is taken from its headers.
TEST(StandInCubin, EndsWhereItsHeadersSay) {
  std::vector<uint8_t> bytes = cubin();
  const size_t size = bytes.size();
  bytes.resize(size + 4096, 0xaa);
  Expected<std::vector<fatbin::RawImage>> raw = fatbin::rawImages(bytes.data());
  ASSERT_TRUE(bool(raw)) << toString(raw.takeError());
  EXPECT_EQ(raw->front().bytes.size(), size);
}

TEST(StandInCubin, DamagedItIsNeverReadBeyondItsEnd) {
  const std::vector<uint8_t> good = cubin();
  size_t stillPtx = 0;
  for (size_t at = 0; at < good.size(); ++at)
    for (uint8_t value : {0x00, 0x01, 0x7f, 0x80, 0xff}) {
      // Of its size exactly, so that a sanitizer sees what is beyond.
      auto bytes = std::make_unique<uint8_t[]>(good.size());
      llvm::copy(good, bytes.get());
      bytes[at] = value;
      const ArrayRef<uint8_t> damaged(bytes.get(), good.size());
      if (std::optional<ArrayRef<uint8_t>> text = fatbin::ptxInCubin(damaged)) {
        EXPECT_TRUE(text->empty() ||
                    (text->begin() >= damaged.begin() && text->end() <= damaged.end()))
            << at;
        ++stillPtx;
      }
      Expected<std::vector<fatbin::Image>> images = fatbin::readImages(damaged);
      consumeError(images.takeError());
    }
  EXPECT_GT(stillPtx, good.size()); // most bytes are not of headers
  for (size_t size = 0; size < good.size(); ++size)
    (void)fatbin::ptxInCubin(ArrayRef(good).take_front(size));
}

// 65,000 sections that share a name which does not end: their names are not read to the end of the
// file each time, which took minutes.
TEST(StandInCubin, NamesWithoutAnEndCostNothing) {
  constexpr size_t kSections = 65000, kHeader = 64, kNames = 32 << 20;
  std::vector<uint8_t> bytes(kHeader + kSections * kHeader + kNames, 'x');
  std::fill_n(bytes.begin(), kHeader + kSections * kHeader, 0);
  auto put = [&](size_t at, auto value) { memcpy(&bytes[at], &value, sizeof(value)); };
  memcpy(bytes.data(), cubin().data(), kHeader);
  put(40, uint64_t(kHeader)); // e_shoff
  put(58, uint16_t(kHeader)); // e_shentsize
  put(60, uint16_t(kSections));
  put(62, uint16_t(1)); // e_shstrndx
  for (size_t i = 1; i < kSections; ++i) {
    put(kHeader + i * kHeader + 4, uint32_t(3)); // SHT_STRTAB
    put(kHeader + i * kHeader + 24, uint64_t(kHeader + kSections * kHeader));
    put(kHeader + i * kHeader + 32, uint64_t(kNames));
  }
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_FALSE(fatbin::ptxInCubin(bytes));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
}

TEST(StandInTarget, HasTheNamesOfPtx) {
  for (const char *name : {"sm_80", "sm_90a", "sm_100f", "sm_121"}) {
    std::optional<Target> target = targetNamed(name);
    ASSERT_TRUE(target) << name;
    EXPECT_EQ(target->name(), name);
    EXPECT_FALSE(target->isVirtual);
  }
  EXPECT_TRUE(targetNamed("compute_90a")->isVirtual);
  EXPECT_TRUE(targetNamed("lto_80")->isVirtual);
  for (const char *name : {"", "sm_", "sm_33", "sm_80a", "sm_90ab", "80", "gfx90a", "sm_-1"})
    EXPECT_FALSE(targetNamed(name)) << name;
}

} // namespace
} // namespace rubia::standins
