// SPDX-License-Identifier: Apache-2.0
// Signatures, and packs that carry one. What libsodium does right is not tested again, but that we
// ask it the right thing.
#include "runtime/cache/CachePack.h"
#include "settings/Settings.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdlib>
#include <gtest/gtest.h>
#include <sys/stat.h>

using namespace llvm;
using namespace rubia::runtime;

namespace {

class SignatureTest : public ::testing::Test {
protected:
  void SetUp() override {
    ASSERT_FALSE(sys::fs::createUniqueDirectory("rubia-signature", folder));
    ASSERT_FALSE(bool(SigningKey::generate(path("a"))));
    ASSERT_FALSE(bool(SigningKey::generate(path("b"))));
  }
  void TearDown() override {
    unsetenv("RUBIA_CACHE_PUBLIC_KEYS");
    (void)sys::fs::remove_directories(folder);
  }

  std::string path(StringRef name) { return (folder + "/" + name).str(); }
  static std::string contents(const std::string &path) {
    auto buffer = MemoryBuffer::getFile(path, false, false);
    return buffer ? (*buffer)->getBuffer().str() : "";
  }
  static void replace(const std::string &path, StringRef bytes) {
    std::error_code error;
    raw_fd_ostream(path, error) << bytes;
    ASSERT_FALSE(error);
  }
  // As if RUBIA_CACHE_PUBLIC_KEYS were this.
  static TrustedKeys trusted(const std::string &keys) {
    setenv("RUBIA_CACHE_PUBLIC_KEYS", keys.c_str(), 1);
    return TrustedKeys::from({});
  }
  std::string writePack(const SigningKey *signer) {
    CachePackWriter writer;
    writer.add({"key", "{}", {1, 2, 3}, CacheEntry::Kind::Result, 0});
    EXPECT_FALSE(bool(writer.write(path("pack"), signer)));
    return contents(path("pack"));
  }
  // The error's text, or what was signed by whom.
  std::string open(const TrustedKeys &keys) {
    Expected<CachePack> pack = CachePack::open(path("pack"), keys);
    if (!pack)
      return toString(pack.takeError());
    EXPECT_TRUE(cantFail(pack->find("key")));
    return "signer " + pack->signer();
  }

  SmallString<128> folder;
  const Digest digest{1, 2, 3};
};

TEST_F(SignatureTest, HoldsForWhatWasSignedOnly) {
  SigningKey key = cantFail(SigningKey::read(path("a")));
  TrustedKeys keys = trusted(path("a.pub"));
  auto signature = key.sign(Signed::Pack, digest);
  EXPECT_EQ(keys.problemOf(signature, Signed::Pack, digest), "");
  EXPECT_EQ(keys.problemOf(signature, Signed::Entry, digest), "has a wrong signature");
  EXPECT_EQ(keys.problemOf(signature, Signed::Pack, Digest{1, 2, 4}), "has a wrong signature");
  EXPECT_EQ(keys.problemOf({}, Signed::Pack, digest), "is not signed");
  EXPECT_EQ(TrustedKeys().problemOf({}, Signed::Pack, digest), "");
  for (size_t i = 0; i < signature.size(); ++i)
    for (int bit = 0; bit < 8; ++bit) {
      auto bad = signature;
      bad[i] ^= 1 << bit;
      EXPECT_NE(keys.problemOf(bad, Signed::Pack, digest), "") << i << " " << bit;
      EXPECT_NE(TrustedKeys().problemOf(bad, Signed::Pack, digest), "") << i << " " << bit;
    }
}

TEST_F(SignatureTest, TrustsWhomItIsTold) {
  auto signature = cantFail(SigningKey::read(path("a"))).sign(Signed::Entry, digest);
  auto problem = [&](const std::string &keys) {
    return trusted(keys).problemOf(signature, Signed::Entry, digest);
  };
  const std::string digits = StringRef(contents(path("a.pub"))).trim().str();
  EXPECT_EQ(digits, signerOf(signature));
  EXPECT_EQ(problem(path("a.pub")), "");
  EXPECT_EQ(problem(digits), "");
  EXPECT_EQ(problem(path("b.pub") + ":" + digits), "");
  EXPECT_EQ(problem(folder.str().str()), ""); // both
  EXPECT_EQ(problem(path("b.pub")), "is signed by " + digits + ", who is not trusted");
  testing::internal::CaptureStderr();
  EXPECT_EQ(problem(path("none.pub")), "is signed by " + digits + ", who is not trusted");
  EXPECT_NE(testing::internal::GetCapturedStderr().find("none.pub: No such file"),
            std::string::npos);
  EXPECT_EQ(problem(""), ""); // nobody demands anything
}

TEST_F(SignatureTest, KeysAreNotOverwrittenAndTheSecretOneIsSecret) {
  const std::string before = contents(path("a"));
  Error error = SigningKey::generate(path("a"));
  EXPECT_EQ(toString(std::move(error)), path("a") + ": File exists");
  EXPECT_EQ(contents(path("a")), before);
  EXPECT_NE(before, contents(path("b")));
  struct stat status;
  ASSERT_EQ(stat(path("a").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  Expected<SigningKey> none = SigningKey::read(path("pack"));
  EXPECT_EQ(toString(none.takeError()), path("pack") + ": No such file or directory");
  replace(path("pack"), "0123");
  Expected<SigningKey> bad = SigningKey::read(path("pack"));
  EXPECT_EQ(toString(bad.takeError()), path("pack") + ": holds no secret key");
}

TEST_F(SignatureTest, APackIsOpenedAccordingToItsSigner) {
  SigningKey key = cantFail(SigningKey::read(path("a")));
  TrustedKeys a = trusted(path("a.pub")), b = trusted(path("b.pub"));
  const std::string unsignedPack = writePack(nullptr);
  EXPECT_EQ(open({}), "signer ");
  EXPECT_EQ(open(a), path("pack") + ": the cache pack is not signed");
  const std::string pack = writePack(&key);
  EXPECT_EQ(pack.substr(0, unsignedPack.size()), unsignedPack);
  EXPECT_EQ(pack.size(), unsignedPack.size() + kSignatureBytes);
  EXPECT_EQ(pack, writePack(&key)); // the same bytes each time
  const std::string digits = StringRef(contents(path("a.pub"))).trim().str();
  EXPECT_EQ(open({}), "signer " + digits);
  EXPECT_EQ(open(a), "signer " + digits);
  EXPECT_NE(open(b).find("not trusted"), std::string::npos);
  for (size_t i = unsignedPack.size(); i < pack.size(); ++i) {
    std::string bad = pack;
    bad[i] ^= 1;
    replace(path("pack"), bad);
    EXPECT_NE(open(a).find("the cache pack "), std::string::npos) << i;
    EXPECT_NE(open({}).find("the cache pack "), std::string::npos) << i;
    replace(path("pack"), pack.substr(0, i));
    EXPECT_NE(open(a).find("the cache pack "), std::string::npos) << i;
  }
}

// The signature of one pack does not make another one trusted.
TEST_F(SignatureTest, ASignatureCannotBeMoved) {
  SigningKey key = cantFail(SigningKey::read(path("a")));
  const std::string signature = writePack(&key).substr(writePack(nullptr).size());
  CachePackWriter writer;
  writer.add({"key", "{}", {6, 6, 6}, CacheEntry::Kind::Result, 0});
  ASSERT_FALSE(bool(writer.write(path("pack"))));
  replace(path("pack"), contents(path("pack")) + signature);
  EXPECT_EQ(open(trusted(path("a.pub"))), path("pack") + ": the cache pack has a wrong signature");
}

} // namespace
