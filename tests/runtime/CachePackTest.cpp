// SPDX-License-Identifier: Apache-2.0
#include "runtime/cache/CachePack.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace llvm;
using namespace rubia::runtime;

namespace {

class CachePackTest : public ::testing::Test {
protected:
  void SetUp() override {
    ASSERT_FALSE(sys::fs::createUniqueDirectory("rubia-pack", folder));
    path = (folder + "/pack").str();
  }
  void TearDown() override { (void)sys::fs::remove_directories(folder); }

  static CacheEntry entry(int i) {
    return {"key " + std::to_string(i), "{}", std::vector<uint8_t>(i * 7, uint8_t(i)),
            CacheEntry::Kind::Result, 0};
  }
  static std::string contents(const std::string &path) {
    auto buffer = MemoryBuffer::getFile(path, false, false);
    return buffer ? (*buffer)->getBuffer().str() : "";
  }
  // Whether every key from 0 to `count` is found with its payload; nothing else may be.
  static bool allRight(const CachePack &pack, int count) {
    for (int i = 0; i < count; ++i) {
      auto found = pack.find("key " + std::to_string(i));
      if (!found) {
        consumeError(found.takeError());
        return false;
      }
      if (!*found)
        return false;
      EXPECT_EQ((*found)->payload, entry(i).payload); // wrong would be worse than missing
    }
    return true;
  }

  SmallString<128> folder;
  std::string path;
};

TEST_F(CachePackTest, GivesBackWhatWasWritten) {
  CachePackWriter writer;
  for (int i = 0; i < 50; ++i)
    writer.add(entry(i));
  ASSERT_FALSE(bool(writer.write(path)));
  CachePack pack = cantFail(CachePack::open(path));
  EXPECT_EQ(pack.rows().size(), 50u);
  EXPECT_TRUE(allRight(pack, 50));
  EXPECT_FALSE(cantFail(pack.find("another key")));
}

TEST_F(CachePackTest, APackThatOthersMayHaveWrittenIsRefused) {
  ASSERT_FALSE(bool(CachePackWriter().write(path)));
  auto problem = [&](const TrustedKeys &keys) {
    Expected<CachePack> pack = CachePack::open(path, keys);
    return pack ? "" : toString(pack.takeError());
  };
  EXPECT_EQ(problem({}), "");
  ASSERT_EQ(chmod(path.c_str(), 0664), 0);
  EXPECT_NE(problem({}).find("writable by others"), std::string::npos);
  // Where signatures are demanded they decide.
  EXPECT_NE(problem(TrustedKeys(std::vector<PublicKey>(1))).find("is not signed"),
            std::string::npos);
  ASSERT_EQ(chmod(path.c_str(), 0644), 0);
  if (geteuid() == 0) {
    ASSERT_EQ(chown(path.c_str(), 12345, 12345), 0);
    EXPECT_NE(problem({}).find("another user"), std::string::npos);
  }
}

TEST_F(CachePackTest, TheOrderOfEntriesDoesNotShow) {
  CachePackWriter forwards, backwards;
  for (int i = 0; i < 20; ++i) {
    forwards.add(entry(i));
    backwards.add(entry(19 - i));
  }
  ASSERT_FALSE(bool(forwards.write(path)));
  std::string first = contents(path);
  ASSERT_FALSE(bool(backwards.write(path)));
  EXPECT_EQ(first, contents(path));
}

TEST_F(CachePackTest, LeavesOutWhatExpires) {
  CachePackWriter writer;
  writer.add({"refused", "{}", {1}, CacheEntry::Kind::Refused, 1});
  writer.add(entry(1));
  ASSERT_FALSE(bool(writer.write(path)));
  EXPECT_EQ(cantFail(CachePack::open(path)).rows().size(), 1u);
}

TEST_F(CachePackTest, RefusesTwoEntriesOfOneKey) {
  CachePackWriter writer;
  writer.add(entry(1));
  writer.add(entry(1));
  EXPECT_NE(toString(writer.write(path)), "");
  EXPECT_FALSE(sys::fs::exists(path));
}

TEST_F(CachePackTest, AnEmptyPackIsAPack) {
  ASSERT_FALSE(bool(CachePackWriter().write(path)));
  EXPECT_FALSE(cantFail(cantFail(CachePack::open(path)).find("key")));
}

TEST_F(CachePackTest, EveryFlippedBitAndTruncationIsFound) {
  CachePackWriter writer;
  for (int i = 0; i < 3; ++i)
    writer.add(entry(i));
  ASSERT_FALSE(bool(writer.write(path)));
  std::string good = contents(path);
  auto detected = [&] {
    Expected<CachePack> pack = CachePack::open(path);
    if (!pack) {
      consumeError(pack.takeError());
      return true;
    }
    return !allRight(*pack, 3);
  };
  EXPECT_FALSE(detected());
  int file = open(path.c_str(), O_RDWR);
  ASSERT_GE(file, 0);
  for (size_t i = 0; i < good.size(); ++i)
    for (int bit = 0; bit < 8; ++bit) {
      const char bad = good[i] ^ 1 << bit;
      ASSERT_EQ(pwrite(file, &bad, 1, i), 1);
      EXPECT_TRUE(detected()) << "byte " << i << ", bit " << bit;
      ASSERT_EQ(pwrite(file, &good[i], 1, i), 1);
    }
  EXPECT_FALSE(detected());
  ASSERT_EQ(pwrite(file, "x", 1, good.size()), 1);
  EXPECT_TRUE(detected());
  for (size_t size = good.size(); size-- > 0;) {
    ASSERT_EQ(ftruncate(file, size), 0);
    EXPECT_TRUE(detected()) << size;
  }
  close(file);
}

TEST_F(CachePackTest, WhatIsNoPackIsAnErrorThatNamesIt) {
  Expected<CachePack> pack = CachePack::open(path);
  ASSERT_FALSE(bool(pack));
  EXPECT_NE(toString(pack.takeError()).find(path), std::string::npos);
  Expected<CachePack> device = CachePack::open("/dev/null");
  ASSERT_FALSE(bool(device));
  EXPECT_EQ(toString(device.takeError()), "/dev/null: not a cache pack");
}

} // namespace
