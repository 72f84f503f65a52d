// SPDX-License-Identifier: Apache-2.0
#include "runtime/cache/CacheDirectory.h"
#include "runtime/cache/Patience.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/BLAKE3.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include <chrono>
#include <csignal>
#include <gtest/gtest.h>
#include <random>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace llvm;
using namespace rubia::runtime;

namespace {

class CacheDirectoryTest : public ::testing::Test {
protected:
  void SetUp() override {
    ASSERT_FALSE(sys::fs::createUniqueDirectory("rubia-cache", folder));
    cache.emplace(folder.str().str());
  }
  void TearDown() override { (void)sys::fs::remove_directories(folder); }

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

  static std::vector<uint8_t> noise(size_t size) {
    std::mt19937 random(size);
    std::vector<uint8_t> bytes(size);
    for (uint8_t &byte : bytes)
      byte = random();
    return bytes;
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
      CacheDirectory::Lookup lookup = cache->find("key");
      EXPECT_FALSE(lookup.entry) << "byte " << i << ", bit " << bit;
      EXPECT_EQ(lookup.miss, CacheDirectory::Miss::Damaged);
      EXPECT_FALSE(sys::fs::exists(path));
    }
  replace(path, good);
  EXPECT_TRUE(cache->read("key"));
}

TEST_F(CacheDirectoryTest, AFlippedByteInALargePayloadIsAMiss) {
  cache->write("key", noise(100'000));
  std::string path = file(), good = contents(path);
  ASSERT_GT(good.size(), 100'000u); // noise cannot be compressed
  for (size_t i = 0; i < good.size(); i += 64) {
    std::string bad = good;
    bad[i] ^= 1 << i / 64 % 8;
    EXPECT_FALSE(bool(expectedToOptional(decodeEntry(arrayRefFromStringRef(bad))))) << i;
  }
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

TEST_F(CacheDirectoryTest, EveryTruncationOfALargeEntryIsFound) {
  std::vector<uint8_t> good =
      cantFail(encodeEntry({"key", "{}", noise(4000), CacheEntry::Kind::Result, 0}));
  for (size_t size = 0; size < good.size(); ++size)
    EXPECT_FALSE(bool(expectedToOptional(decodeEntry(ArrayRef(good).take_front(size))))) << size;
}

// The digest that a writer of these bytes would have put in.
void seal(std::vector<uint8_t> &bytes) {
  constexpr size_t kDigestOffset = 120, kHeaderSize = 152;
  BLAKE3 hash;
  hash.update(ArrayRef(bytes).take_front(kDigestOffset));
  hash.update(ArrayRef(bytes).drop_front(kHeaderSize));
  Digest digest = hash.final<32>();
  llvm::copy(digest, bytes.begin() + kDigestOffset);
}

TEST_F(CacheDirectoryTest, WhoWroteItIsAskedBeforeAnythingIsDecompressed) {
  std::vector<uint8_t> bytes =
      cantFail(encodeEntry({"key", "{}", noise(300), CacheEntry::Kind::Result, 0}));
  bytes.back() ^= 1;
  seal(bytes);
  auto problemOf = [&](StringRef found) {
    auto check = [&](const CacheEntry &entry, const Digest &) {
      EXPECT_EQ(entry.key, "key");
      EXPECT_TRUE(entry.payload.empty());
      return found.str();
    };
    return toString(decodeEntry(bytes, check).takeError());
  };
  EXPECT_EQ(problemOf("is a stranger's"), "is a stranger's");
  EXPECT_EQ(problemOf(""), "cannot be decompressed");
}

TEST_F(CacheDirectoryTest, AnEntryThatSaysItIsHugeIsRefused) {
  constexpr size_t kPayloadSizeOffset = 48;
  std::vector<uint8_t> bytes =
      cantFail(encodeEntry({"key", "{}", noise(300), CacheEntry::Kind::Result, 0}));
  const uint64_t size = kMaxPayloadBytes + 1;
  memcpy(bytes.data() + kPayloadSizeOffset, &size, sizeof(size));
  seal(bytes);
  EXPECT_EQ(toString(decodeEntry(bytes).takeError()), "has the wrong size");
}

// With a digest that is right, as a faulty writer would leave it: refused, or taken as it is.
TEST_F(CacheDirectoryTest, ChangedAndSignedAnewIsRefusedOrRead) {
  constexpr size_t kHeaderSize = 152;
  const std::vector<uint8_t> good =
      cantFail(encodeEntry({"key", "{}", noise(300), CacheEntry::Kind::Result, 0}));
  std::mt19937 random(1);
  unsigned refused = 0, taken = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::vector<uint8_t> bytes = good;
    if (random() % 4 == 0)
      bytes.resize(kHeaderSize + random() % (bytes.size() - kHeaderSize));
    for (int n = 1 + random() % 3; n--;)
      bytes[random() % bytes.size()] ^= 1 << random() % 8;
    seal(bytes);
    Expected<CacheEntry> entry = decodeEntry(bytes);
    ++(entry ? taken : refused);
    if (!entry)
      consumeError(entry.takeError());
    else
      EXPECT_EQ(entry->payload, noise(300)); // it has a digest of its own
  }
  EXPECT_GT(refused, 10'000u);
  EXPECT_GT(taken, 0u); // metadata and lifetime may say anything
}

TEST_F(CacheDirectoryTest, SwappedEntriesAreMisses) {
  cache->write("one", payload);
  std::string one = cache->pathOf("one"), two = cache->pathOf("two");
  cache->write("two", {4, 5, 6});
  ASSERT_EQ(::rename(one.c_str(), (one + ".aside").c_str()), 0);
  ASSERT_EQ(::rename(two.c_str(), one.c_str()), 0);
  ASSERT_EQ(::rename((one + ".aside").c_str(), two.c_str()), 0);
  EXPECT_EQ(cache->find("one").miss, CacheDirectory::Miss::OtherKey);
  EXPECT_FALSE(cache->find("one").entry);
  EXPECT_FALSE(cache->find("two").entry);
}

// All keys have one digest: the text of the key decides.
TEST_F(CacheDirectoryTest, KeysWithTheSameDigestAreToldApart) {
  CacheDirectory colliding(folder.str().str(), 1 << 30,
                           [](ArrayRef<uint8_t>) { return Digest{1, 2, 3}; });
  colliding.write("one", payload);
  EXPECT_FALSE(colliding.read("two"));
  EXPECT_EQ(colliding.find("two").miss, CacheDirectory::Miss::OtherKey);
  colliding.write("two", {7});
  ASSERT_TRUE(colliding.read("two"));
  EXPECT_EQ(*colliding.read("two"), std::vector<uint8_t>{7});
  EXPECT_FALSE(colliding.read("one"));
}

TEST_F(CacheDirectoryTest, AnErrorIsKeptUntilItExpires) {
  uint64_t now = time(nullptr);
  cache->store({"key", "{}", payload, CacheEntry::Kind::Refused, now + 1000});
  ASSERT_TRUE(cache->find("key").entry);
  EXPECT_EQ(cache->find("key").entry->kind, CacheEntry::Kind::Refused);
  EXPECT_FALSE(cache->read("key")); // no payload to run
  for (uint64_t forEver : {now + 2 * 86400, UINT64_MAX}) {
    cache->store({"key", "{}", payload, CacheEntry::Kind::Refused, forEver});
    EXPECT_EQ(cache->find("key").miss, CacheDirectory::Miss::Expired);
  }
  cache->store({"key", "{}", payload, CacheEntry::Kind::Refused, now - 1});
  EXPECT_EQ(cache->find("key").miss, CacheDirectory::Miss::Expired);
  EXPECT_FALSE(cache->find("key").entry);
}

TEST_F(CacheDirectoryTest, WhatIsNoFileOfOurOwnIsNotRead) {
  cache->write("key", payload);
  std::string path = file(), aside = (folder + "/aside").str();
  auto distrusted = [&] {
    CacheDirectory::Lookup lookup = cache->find("key");
    return !lookup.entry && lookup.miss == CacheDirectory::Miss::Distrusted;
  };
  ASSERT_EQ(chmod(path.c_str(), 0664), 0);
  EXPECT_TRUE(distrusted()) << "others may write it";
  ASSERT_EQ(chmod(path.c_str(), 0644), 0);
  if (geteuid() == 0) {
    ASSERT_EQ(chown(path.c_str(), 12345, 12345), 0);
    EXPECT_TRUE(distrusted()) << "of another user";
    ASSERT_EQ(chown(path.c_str(), 0, 0), 0);
  }
  EXPECT_TRUE(cache->read("key"));
  ASSERT_EQ(::rename(path.c_str(), aside.c_str()), 0);
  ASSERT_EQ(symlink(aside.c_str(), path.c_str()), 0);
  EXPECT_TRUE(distrusted()) << "a link";
  ASSERT_EQ(unlink(path.c_str()), 0);
  ASSERT_EQ(mkfifo(path.c_str(), 0644), 0);
  EXPECT_TRUE(distrusted()) << "a FIFO";
  ASSERT_EQ(unlink(path.c_str()), 0);
  ASSERT_EQ(mkdir(path.c_str(), 0755), 0);
  EXPECT_TRUE(distrusted()) << "a folder";
  rmdir(path.c_str());
  ASSERT_EQ(symlink(aside.c_str(), path.c_str()), 0);
  cache->write("key", payload); // takes the place of the link
  EXPECT_TRUE(cache->read("key"));
}

TEST_F(CacheDirectoryTest, StaysBelowItsBoundAndKeepsWhatWasUsedLast) {
  constexpr uint64_t kBound = 200'000;
  CacheDirectory small(folder.str().str(), kBound);
  auto key = [](int i) { return "key " + std::to_string(i); };
  for (int i = 0; i < 100; ++i) {
    small.write(key(i), noise(10'000));
    timeval used[2]{{1000 + i, 0}, {1000 + i, 0}};
    utimes(small.pathOf(key(i)).c_str(), used);
    uint64_t total = 0;
    for (const CacheDirectory::File &f : small.files())
      total += f.bytes;
    ASSERT_LE(total, kBound);
  }
  EXPECT_TRUE(small.read(key(99)));
  EXPECT_TRUE(small.read(key(90)));
  EXPECT_FALSE(small.read(key(10)));
  small.write("too large", noise(300'000));
  EXPECT_FALSE(small.read("too large"));
  EXPECT_TRUE(small.read(key(99)));
}

TEST_F(CacheDirectoryTest, AHitMovesTheTimeOfLastUse) {
  cache->write("key", payload);
  timeval old[2]{{1000, 0}, {1000, 0}};
  ASSERT_EQ(utimes(file().c_str(), old), 0);
  EXPECT_EQ(cache->files().at(0).lastUse, 1000);
  ASSERT_TRUE(cache->read("key"));
  EXPECT_GT(cache->files().at(0).lastUse, time(nullptr) - 60);
}

TEST_F(CacheDirectoryTest, SweepsWhatIsHeldByNobody) {
  cache->write("key", payload);
  std::string left = (folder + "/rubia-temporaries/1.2.3").str();
  replace(left, "half of an entry");
  {
    CompileLock held(*cache, "another key", 0);
    ASSERT_TRUE(held.owned());
    EXPECT_EQ(cache->sweep(), 1u);
    EXPECT_FALSE(CompileLock(*cache, "another key", 0).owned());
  }
  EXPECT_EQ(cache->sweep(), 0u); // the lock took its file along
  EXPECT_TRUE(cache->read("key"));
}

TEST_F(CacheDirectoryTest, WhoWaitsForAStoppedOwnerGoesOn) {
  pid_t owner = fork();
  if (owner == 0) {
    CompileLock lock(*cache, "key", 0);
    raise(SIGSTOP);
    _exit(lock.owned() ? 0 : 1);
  }
  int status;
  ASSERT_EQ(waitpid(owner, &status, WUNTRACED), owner);
  auto start = std::chrono::steady_clock::now();
  EXPECT_FALSE(CompileLock(*cache, "key", 200).owned()); // it returns
  EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(200));
  kill(owner, SIGCONT);
  ASSERT_EQ(waitpid(owner, &status, 0), owner);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(CompileLock(*cache, "key", 200).owned());
}

// Asks every 20 ms for so long.
struct Waiter {
  using ms = std::chrono::milliseconds;
  Patience::Clock::time_point now{};
  Patience patience{ms(9000), now};

  bool ask(ms pause, bool isHeard) { return patience.isOver(now += pause, isHeard); }
  // When it was over.
  std::optional<ms> silence(ms length) {
    for (ms passed{20}; passed <= length; passed += ms(20))
      if (ask(ms(20), false))
        return passed;
    return std::nullopt;
  }
  void hear(std::chrono::seconds length) {
    for (auto i = length; i > i.zero(); --i) {
      EXPECT_FALSE(silence(ms(980)));
      EXPECT_FALSE(ask(ms(20), true));
    }
  }
};

TEST(Patience, SilenceIsBorneForAWhile) {
  Waiter waiter;
  EXPECT_EQ(waiter.silence(Waiter::ms(20000)), Waiter::ms(9000));
  Waiter other;
  other.hear(std::chrono::seconds(30));
  EXPECT_EQ(other.silence(Waiter::ms(20000)), Waiter::ms(9000)); // from the last sign of life on
}

TEST(Patience, OfWhoWorkedForLongMoreIsBorne) {
  Waiter waiter;
  waiter.hear(std::chrono::seconds(240));
  EXPECT_EQ(waiter.silence(Waiter::ms(100000)), Waiter::ms(60000));
}

TEST(Patience, TimeInWhichAWaiterDidNotRunIsNoSilence) {
  Waiter waiter;
  for (int i = 0; i < 20; ++i)
    EXPECT_FALSE(waiter.ask(Waiter::ms(10000), false)); // 100 ms of each
  EXPECT_EQ(waiter.silence(Waiter::ms(20000)), Waiter::ms(7000));
}

TEST_F(CacheDirectoryTest, AFullDescriptorTableIsAMiss) {
  cache->write("key", payload);
  rlimit old, none{0, 0};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &old), 0);
  none.rlim_max = old.rlim_max;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  CacheDirectory::Lookup lookup = cache->find("key");
  bool stored = cache->store({"other", "{}", payload, CacheEntry::Kind::Result, 0});
  setrlimit(RLIMIT_NOFILE, &old);
  EXPECT_EQ(lookup.miss, CacheDirectory::Miss::Unreadable);
  EXPECT_FALSE(lookup.entry);
  EXPECT_FALSE(stored);
  EXPECT_TRUE(cache->read("key"));
}

// SIGXFSZ would end the program.
TEST_F(CacheDirectoryTest, ALimitOfFileSizesCostsTheEntryOnly) {
  rlimit old, small{4096, 0};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &old), 0);
  small.rlim_max = old.rlim_max;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  bool stored = cache->store({"key", "{}", noise(100'000), CacheEntry::Kind::Result, 0});
  setrlimit(RLIMIT_FSIZE, &old);
  EXPECT_FALSE(stored);
  EXPECT_FALSE(cache->read("key"));
  EXPECT_EQ(cache->sweep(), 0u); // nothing is left behind
}

TEST_F(CacheDirectoryTest, AFolderThatCannotBeWrittenCostsNothing) {
  CacheDirectory nowhere("/proc/no-such-folder");
  nowhere.write("key", payload);
  EXPECT_FALSE(nowhere.read("key"));
}

} // namespace
