// SPDX-License-Identifier: Apache-2.0
// Which folders the cache takes for its own, and that it leaves everything else alone.
#include "runtime/cache/CacheDirectory.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace llvm;
using namespace rubia::runtime;

namespace {

class CacheRootTest : public ::testing::Test {
protected:
  void SetUp() override {
    ASSERT_FALSE(sys::fs::createUniqueDirectory("rubia-root", base));
    root = (base + "/root").str();
    makeFolder(root);
  }
  void TearDown() override { (void)sys::fs::remove_directories(base); }

  static void makeFolder(const std::string &path) { ASSERT_EQ(mkdir(path.c_str(), 0755), 0); }
  static void put(const std::string &path, StringRef bytes = "somebody else's") {
    std::error_code error;
    raw_fd_ostream(path, error) << bytes;
    ASSERT_FALSE(error) << path;
  }
  static bool exists(const std::string &path) {
    struct stat status;
    return !lstat(path.c_str(), &status);
  }
  std::string marker() const { return root + "/CACHEDIR.TAG"; }
  // A whole cache of one entry, whose path is returned.
  std::string fill() {
    CacheDirectory cache(root);
    cache.write("key", payload);
    return cache.pathOf("key");
  }
  // Every operation that may remove something.
  void doEverything() {
    CacheDirectory cache(root, 1000);
    cache.write("key", payload);
    (void)cache.read("key");
    cache.evict(0, INT64_MAX);
    cache.recount();
    cache.sweep();
    {
      CompileLock lock(cache, "key", 0);
    }
    EXPECT_FALSE(cache.removeWithFolder());
  }
  // Runs in a child that is another user. Needs the right to become one.
  static int asUser(uid_t user, function_ref<bool()> action) {
    pid_t child = fork();
    if (child == 0)
      _exit(setuid(user) ? 2 : action() ? 0 : 1);
    int status = -1;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  SmallString<128> base;
  std::string root;
  std::vector<uint8_t> payload{1, 2, 3};
};

constexpr uid_t kOther = 12345;
#define NEEDS_ROOT                                                                                 \
  if (geteuid() != 0)                                                                              \
  GTEST_SKIP() << "only the superuser can become another user"

TEST_F(CacheRootTest, AnEmptyFolderIsAdoptedAndMarked) {
  fill();
  EXPECT_TRUE(exists(marker()));
  EXPECT_TRUE(CacheDirectory(root).read("key"));
  EXPECT_EQ(CacheDirectory(root).refusal(), "");
}

TEST_F(CacheRootTest, ManyProcessesAdoptAFolderAtOnce) {
  for (int round = 0; round < 20; ++round) {
    const std::string shared = root + std::to_string(round);
    makeFolder(shared);
    std::vector<pid_t> processes;
    for (int i = 0; i < 16; ++i) {
      processes.push_back(fork());
      if (processes.back() == 0) {
        CacheDirectory cache(shared);
        cache.write("key", payload); // and sweep
        // Who sweeps holds a lock that it finds for a moment, to see whether it is left behind.
        _exit(CompileLock(cache, std::to_string(i), 1000).owned() ? 0 : 1);
      }
    }
    for (pid_t process : processes) {
      int status = -1;
      ASSERT_EQ(waitpid(process, &status, 0), process);
      EXPECT_EQ(status, 0);
    }
  }
}

TEST_F(CacheRootTest, AFolderWithOtherFilesIsLeftAlone) {
  makeFolder(root + "/tmp");
  put(root + "/tmp/letter.txt");
  put(root + "/tmp/1.2.3");
  put(root + "/.profile");
  doEverything();
  EXPECT_TRUE(exists(root + "/tmp/letter.txt"));
  EXPECT_TRUE(exists(root + "/tmp/1.2.3"));
  EXPECT_TRUE(exists(root + "/.profile"));
  EXPECT_FALSE(exists(marker()));
  EXPECT_FALSE(exists(root + "/events"));
  EXPECT_NE(CacheDirectory(root).refusal().find("'.profile'"), std::string::npos);
}

TEST_F(CacheRootTest, AFolderWithNothingButTmpOfOthersIsLeftAlone) {
  makeFolder(root + "/tmp");
  put(root + "/tmp/letter.txt");
  doEverything();
  EXPECT_TRUE(exists(root + "/tmp/letter.txt"));
  EXPECT_FALSE(exists(marker()));
}

TEST_F(CacheRootTest, TheMarkerOfAnotherProgramIsNotOurs) {
  put(marker(), "Signature: 8a477f597d28d172789f06886806bc55\n");
  doEverything();
  std::error_code error;
  sys::fs::directory_iterator first(root, error);
  EXPECT_EQ(first->path(), marker());
  EXPECT_EQ(first.increment(error), sys::fs::directory_iterator());
  EXPECT_NE(CacheDirectory(root).refusal(), "");
}

// What versions without a marker left behind.
TEST_F(CacheRootTest, AnUnmarkedCacheIsAdoptedWithItsEntries) {
  fill();
  ASSERT_EQ(unlink(marker().c_str()), 0);
  ASSERT_EQ(rename((root + "/rubia-temporaries").c_str(), (root + "/tmp").c_str()), 0);
  put(root + "/tmp/1.2.3");
  put(root + "/tmp/" + std::string(62, 'a') + ".lock");
  ASSERT_EQ(chmod(root.c_str(), 0775), 0);
  CacheDirectory cache(root);
  EXPECT_TRUE(cache.read("key"));
  EXPECT_TRUE(exists(marker()));
  EXPECT_EQ(cache.sweep(), 0u); // what lies in tmp may be anybody's
  EXPECT_TRUE(exists(root + "/tmp/1.2.3"));
  struct stat status;
  ASSERT_EQ(stat(root.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0755u);
}

TEST_F(CacheRootTest, OnlyNamesOfOurFormAreRemoved) {
  std::string entry = fill();
  std::string temporaries = root + "/rubia-temporaries/", part = entry.substr(0, entry.rfind('/'));
  for (const char *name : {"1.2.3", "letter.txt", "1.2", "1.2.3.4", ".1.2.3", "notes.lock"})
    put(temporaries + name);
  put(temporaries + std::string(62, 'a') + ".lock");
  put(part + "/notes.rubia");
  put(part + "/letter.txt");
  put(root + "/letter.txt");
  ASSERT_EQ(symlink("/nonexistent", (temporaries + "4.5.6").c_str()), 0);
  CacheDirectory cache(root);
  EXPECT_EQ(cache.sweep(), 2u);
  for (const char *name : {"letter.txt", "1.2", "1.2.3.4", ".1.2.3", "notes.lock", "4.5.6"})
    EXPECT_TRUE(exists(temporaries + name)) << name;
  EXPECT_EQ(cache.evict(0, INT64_MAX), 1u);
  EXPECT_TRUE(exists(part + "/notes.rubia"));
  EXPECT_FALSE(cache.removeWithFolder());
  EXPECT_TRUE(exists(part + "/letter.txt"));
  EXPECT_TRUE(exists(root + "/letter.txt"));
  EXPECT_TRUE(exists(marker()));
}

TEST_F(CacheRootTest, AFolderOfOursGoesWhole) {
  fill();
  EXPECT_TRUE(CacheDirectory(root).removeWithFolder());
  EXPECT_FALSE(exists(root));
}

TEST_F(CacheRootTest, LinksBelowTheRootAreNotFollowed) {
  std::string entry = fill(), part = entry.substr(0, entry.rfind('/'));
  std::string elsewhere = (base + "/elsewhere").str();
  ASSERT_EQ(rename(part.c_str(), elsewhere.c_str()), 0);
  ASSERT_EQ(symlink(elsewhere.c_str(), part.c_str()), 0);
  ASSERT_EQ(sys::fs::remove_directories(root + "/rubia-temporaries"), std::error_code());
  std::string temporaries = (base + "/others").str();
  makeFolder(temporaries);
  put(temporaries + "/1.2.3");
  ASSERT_EQ(symlink(temporaries.c_str(), (root + "/rubia-temporaries").c_str()), 0);
  CacheDirectory cache(root);
  EXPECT_EQ(cache.find("key").miss, CacheDirectory::Miss::Distrusted);
  EXPECT_EQ(cache.evict(0, INT64_MAX), 0u);
  EXPECT_EQ(cache.sweep(), 0u);
  EXPECT_FALSE(cache.store({"key", "{}", payload, CacheEntry::Kind::Result, 0}));
  EXPECT_TRUE(exists(elsewhere + entry.substr(entry.rfind('/'))));
  EXPECT_TRUE(exists(temporaries + "/1.2.3"));
}

TEST_F(CacheRootTest, ARootThatIsALinkIsRefused) {
  fill();
  std::string link = (base + "/link").str();
  ASSERT_EQ(symlink(root.c_str(), link.c_str()), 0);
  CacheDirectory cache(link);
  EXPECT_NE(cache.refusal().find("link"), std::string::npos);
  EXPECT_FALSE(cache.read("key"));
  EXPECT_EQ(cache.evict(0, INT64_MAX), 0u);
  EXPECT_TRUE(CacheDirectory(root).read("key"));
}

TEST_F(CacheRootTest, ARootThatOthersMayWriteIsRefused) {
  fill();
  CacheDirectory cache(root);
  ASSERT_TRUE(cache.read("key"));
  for (mode_t mode : {0775, 0757, 0777}) {
    ASSERT_EQ(chmod(root.c_str(), mode), 0);
    EXPECT_FALSE(CacheDirectory(root).read("key"));
    EXPECT_FALSE(cache.read("key")) << "known before";
    EXPECT_NE(CacheDirectory(root).refusal().find("go-w"), std::string::npos);
  }
}

// Under umask 002 the user's folders are writable by the group.
TEST_F(CacheRootTest, AnEmptyFolderIsClosedToOthers) {
  ASSERT_EQ(chmod(root.c_str(), 0775), 0);
  mode_t before = umask(002);
  std::string entry = fill();
  umask(before);
  struct stat status;
  for (const std::string &path : {root, entry.substr(0, entry.rfind('/'))}) {
    ASSERT_EQ(stat(path.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 022, 0u) << path;
  }
  EXPECT_TRUE(CacheDirectory(root).read("key"));
}

TEST_F(CacheRootTest, TheSuperusersCacheIsReadByUsersAndNotChanged) {
  NEEDS_ROOT;
  ASSERT_EQ(chmod(base.c_str(), 0755), 0);
  std::string entry = fill(), left = root + "/rubia-temporaries/1.2.3";
  put(left);
  EXPECT_EQ(asUser(kOther,
                   [&] {
                     CacheDirectory cache(root);
                     bool isRead = cache.read("key").has_value() && cache.refusal().empty();
                     bool isStored = cache.store({"b", "{}", payload, CacheEntry::Kind::Result, 0});
                     return isRead && !isStored && !cache.sweep() && !cache.evict(0, INT64_MAX);
                   }),
            0);
  EXPECT_TRUE(exists(entry));
  EXPECT_TRUE(exists(left));
  // Without a marker too, as older versions made it.
  ASSERT_EQ(unlink(marker().c_str()), 0);
  EXPECT_EQ(asUser(kOther, [&] { return CacheDirectory(root).read("key").has_value(); }), 0);
  EXPECT_FALSE(exists(marker()));
}

TEST_F(CacheRootTest, TheFolderOfAnotherUserIsRefusedAlsoToTheSuperuser) {
  NEEDS_ROOT;
  std::string entry = fill();
  ASSERT_EQ(chown(root.c_str(), kOther, kOther), 0);
  doEverything();
  EXPECT_TRUE(exists(entry));
  EXPECT_NE(CacheDirectory(root).refusal().find("another user"), std::string::npos);
}

} // namespace
