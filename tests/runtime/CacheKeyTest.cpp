// SPDX-License-Identifier: Apache-2.0
#include "lowering/Abi.h"
#include "runtime/cache/CacheDirectory.h"
#include "settings/Settings.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include <cstdlib>
#include <gtest/gtest.h>
#include <set>

using namespace rubia::runtime;

namespace rubia::settings::NanMode {
extern const Word Canonical;
} // namespace rubia::settings::NanMode

namespace settings = rubia::settings;

namespace {

TEST(CacheKey, EachFieldAloneMakesAnotherKey) {
  const Digest image{1}, other{2};
  const settings::Code plain;
  const std::string keys[] = {
      codeObjectKey(image, 89, 0, "gfx1100", plain, "abc"),
      codeObjectKey(other, 89, 0, "gfx1100", plain, "abc"),
      codeObjectKey(image, 90, 0, "gfx1100", plain, "abc"),
      codeObjectKey(image, 89, 1, "gfx1100", plain, "abc"),
      codeObjectKey(image, 89, 0, "gfx1101", plain, "abc"),
      codeObjectKey(image, 89, 0, "gfx1100", plain, "abd"),
      manifestKey(image, 89, "abc"),
      manifestKey(other, 89, "abc"),
      manifestKey(image, 90, "abc"),
      manifestKey(image, 89, "abd"),
  };
  EXPECT_EQ(std::set<std::string>(std::begin(keys), std::end(keys)).size(), std::size(keys));
  EXPECT_EQ(keys[0], codeObjectKey(image, 89, 0, "gfx1100", plain, "abc"));
}

// Whatever rows there are, each value of each makes a key of its own.
TEST(CacheKey, EachSettingThatChangesCodeIsInIt) {
  std::set<std::string> keys{codeObjectKey({}, 89, 0, "gfx1100", {}, "abc")};
  size_t values = 1;
  for (const settings::Row &row : settings::rows())
    for (size_t i = 0; !row.key.empty() && i < settings::countWords(row.words); ++i) {
      const std::string_view word = settings::wordAt(row.words, i);
      const std::string key =
          codeObjectKey({}, 89, 0, "gfx1100",
                        settings::Settings().set(row.id, settings::name(word)).code(), "abc");
      EXPECT_EQ(fieldOfKey(key, row.key), llvm::StringRef(settings::name(word)));
      keys.insert(key);
      values += i > 0;
    }
  EXPECT_EQ(keys.size(), values);
  EXPECT_GT(values, 5u);
}

// The names and words stand in every cache that there is. Rows that are added come behind.
TEST(CacheKey, BeginsAsItAlwaysDid) {
  const std::string key = codeObjectKey({0xab}, 89, 7, "gfx942", {}, "id");
  EXPECT_TRUE(llvm::StringRef(key).starts_with(
      "rubia cache key\nabi=" + std::to_string(rubia::abi::kVersion) + "\ncompiler=id\nimage=ab" +
      std::string(62, '0') +
      "\ncapability=89\nkind=code\nunit=7\narch=gfx942\nnan=any\natomics=fast\n"
      "warp-form=auto\ncontract=nvidia\nshared-memory=lds\n"))
      << key;
}

// docs/cache.md names what environment.md does not.
TEST(CacheKey, FieldsAreDocumented) {
  auto page = llvm::MemoryBuffer::getFile(RUBIA_DOCS "/cache.md");
  ASSERT_TRUE(bool(page));
  const llvm::StringRef section = (*page)->getBuffer().split("## Key").second.split("##").first;
  for (auto [name, value] : fieldsOfKey(codeObjectKey({}, 89, 0, "gfx1100", {}, "id"))) {
    const bool isSetting =
        llvm::any_of(settings::rows(), [&](const settings::Row &row) { return row.key == name; });
    EXPECT_EQ(section.contains(("`" + name + "`").str()), !isSetting) << name.str();
  }
}

TEST(CacheKey, FieldsAreFoundByName) {
  const std::string key =
      codeObjectKey({0xab}, 89, 7, "gfx942", {settings::NanMode::Canonical}, "id");
  EXPECT_EQ(fieldOfKey(key, "arch"), "gfx942");
  EXPECT_EQ(fieldOfKey(key, "unit"), "7");
  EXPECT_EQ(fieldOfKey(key, "nan"), "canonical");
  EXPECT_EQ(fieldOfKey(key, "atomics"), "fast");
  EXPECT_EQ(fieldOfKey(key, "contract"), "nvidia");
  EXPECT_EQ(fieldOfKey(key, "compiler"), "id");
  EXPECT_EQ(fieldOfKey(key, "image").substr(0, 4), "ab00");
  EXPECT_EQ(fieldOfKey(key, "no such field"), "");
}

TEST(CacheKey, CudasOwnVariablesHold) {
  for (const char *name : {"RUBIA_CACHE_MAX_SIZE", "RUBIA_CACHE_DIR", "RUBIA_CACHE_DISABLE"})
    unsetenv(name);
  EXPECT_EQ(cacheMaxBytes(), uint64_t(4) << 30);
  setenv("CUDA_CACHE_MAXSIZE", "1000000", 1);
  EXPECT_EQ(cacheMaxBytes(), 1'000'000u);
  setenv("RUBIA_CACHE_MAX_SIZE", "2M", 1);
  EXPECT_EQ(cacheMaxBytes(), 2u << 20);
  setenv("RUBIA_CACHE_MAX_SIZE", "much", 1);
  EXPECT_EQ(cacheMaxBytes(), 1'000'000u);
  std::string folder = testing::TempDir() + "rubia-cuda-cache";
  setenv("CUDA_CACHE_PATH", folder.c_str(), 1);
  EXPECT_EQ(cacheDirectory(), folder + "/rubia");
  setenv("CUDA_CACHE_DISABLE", "1", 1);
  EXPECT_EQ(cacheDirectory(), std::nullopt);
}

} // namespace
