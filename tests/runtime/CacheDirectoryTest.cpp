#include "runtime/CacheDirectory.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include <gtest/gtest.h>

using namespace llvm;
using namespace rubia::runtime;

namespace {

class CacheDirectoryTest : public ::testing::Test {
protected:
  void SetUp() override {
    ASSERT_FALSE(sys::fs::createUniqueDirectory("rubia-cache", folder));
    cache.emplace(folder.str().str());
  }
  void TearDown() override { sys::fs::remove_directories(folder); }

  // The only entry in the folder.
  std::string file() {
    std::error_code error;
    std::string found;
    for (sys::fs::recursive_directory_iterator i(folder, error), end; i != end && !error;
         i.increment(error))
      if (StringRef(i->path()).ends_with(".rubia")) {
        EXPECT_TRUE(found.empty());
        found = i->path();
      }
    return found;
  }
  static std::string contents(const std::string &path) {
    auto buffer = MemoryBuffer::getFile(path, false, false);
    return buffer ? (*buffer)->getBuffer().str() : "";
  }
  static void replace(const std::string &path, StringRef bytes) {
    std::error_code error;
    raw_fd_ostream(path, error) << bytes;
    ASSERT_FALSE(error);
  }

  SmallString<128> folder;
  std::optional<CacheDirectory> cache;
  std::vector<uint8_t> payload{1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
};

TEST_F(CacheDirectoryTest, GivesBackWhatWasWritten) {
  EXPECT_FALSE(cache->read("key"));
  cache->write("key", payload);
  ASSERT_TRUE(cache->read("key"));
  EXPECT_EQ(*cache->read("key"), payload);
  EXPECT_FALSE(cache->read("another key"));
  cache->write("key", {}); // replaces
  ASSERT_TRUE(cache->read("key"));
  EXPECT_TRUE(cache->read("key")->empty());
}

TEST_F(CacheDirectoryTest, EveryFlippedBitIsAMiss) {
  cache->write("key", payload);
  std::string path = file(), good = contents(path);
  ASSERT_FALSE(good.empty());
  for (size_t i = 0; i < good.size(); ++i)
    for (int bit = 0; bit < 8; ++bit) {
      std::string bad = good;
      bad[i] ^= 1 << bit;
      replace(path, bad);
      EXPECT_FALSE(cache->read("key")) << "byte " << i << ", bit " << bit;
    }
  replace(path, good);
  EXPECT_TRUE(cache->read("key"));
}

TEST_F(CacheDirectoryTest, EveryTruncationIsAMissAndTheFileGoes) {
  cache->write("key", payload);
  std::string path = file(), good = contents(path);
  for (size_t size = 0; size < good.size(); ++size) {
    replace(path, StringRef(good).take_front(size));
    EXPECT_FALSE(cache->read("key")) << size;
    EXPECT_FALSE(sys::fs::exists(path)) << size;
  }
  replace(path, good + "x");
  EXPECT_FALSE(cache->read("key"));
}

TEST_F(CacheDirectoryTest, AnEntryOfAnotherKeyIsNotTaken) {
  cache->write("key", payload);
  std::string path = file(), good = contents(path);
  sys::fs::remove(path);
  cache->write("yek", payload);
  replace(file(), good); // as if two keys had one digest
  EXPECT_FALSE(cache->read("yek"));
}

TEST_F(CacheDirectoryTest, AFolderThatCannotBeWrittenCostsNothing) {
  CacheDirectory nowhere("/proc/no-such-folder");
  nowhere.write("key", payload);
  EXPECT_FALSE(nowhere.read("key"));
}

} // namespace
