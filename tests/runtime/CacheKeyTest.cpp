#include "runtime/CacheDirectory.h"
#include <cstdlib>
#include <gtest/gtest.h>
#include <set>

using namespace rubia::runtime;

namespace {

TEST(CacheKey, EachFieldAloneMakesAnotherKey) {
  const Digest image{1}, other{2};
  const CompileOptions plain;
  const std::string keys[] = {
      codeObjectKey(image, 89, 0, "gfx1100", plain, "abc"),
      codeObjectKey(other, 89, 0, "gfx1100", plain, "abc"),
      codeObjectKey(image, 90, 0, "gfx1100", plain, "abc"),
      codeObjectKey(image, 89, 1, "gfx1100", plain, "abc"),
      codeObjectKey(image, 89, 0, "gfx1101", plain, "abc"),
      codeObjectKey(image, 89, 0, "gfx1100", {true, false}, "abc"),
      codeObjectKey(image, 89, 0, "gfx1100", {false, true}, "abc"),
      codeObjectKey(image, 89, 0, "gfx1100", {true, true}, "abc"),
      codeObjectKey(image, 89, 0, "gfx1100", {.warpForm = rubia::abi::WarpFormChoice::Packed},
                    "abc"),
      codeObjectKey(image, 89, 0, "gfx1100", {.contractNever = true}, "abc"),
      codeObjectKey(image, 89, 0, "gfx1100", plain, "abd"),
      manifestKey(image, 89, "abc"),
      manifestKey(other, 89, "abc"),
      manifestKey(image, 90, "abc"),
      manifestKey(image, 89, "abd"),
  };
  EXPECT_EQ(std::set<std::string>(std::begin(keys), std::end(keys)).size(), std::size(keys));
  EXPECT_EQ(keys[0], codeObjectKey(image, 89, 0, "gfx1100", plain, "abc"));
}

TEST(CacheKey, FieldsAreFoundByName) {
  const std::string key = codeObjectKey({0xab}, 89, 7, "gfx942", {true, false}, "id");
  EXPECT_EQ(fieldOfKey(key, "arch"), "gfx942");
  EXPECT_EQ(fieldOfKey(key, "unit"), "7");
  EXPECT_EQ(fieldOfKey(key, "nan"), "canonical");
  EXPECT_EQ(fieldOfKey(key, "atomics"), "fast");
  EXPECT_EQ(fieldOfKey(key, "contract"), "nvidia");
  EXPECT_EQ(fieldOfKey(key, "compiler"), "id");
  EXPECT_EQ(fieldOfKey(key, "image").substr(0, 4), "ab00");
  EXPECT_EQ(fieldOfKey(key, "no such field"), "");
}

TEST(CacheKey, OptionsComeFromTheEnvironment) {
  setenv("RUBIA_NAN", "canonical", 1);
  setenv("RUBIA_WARP_FORM", "packed", 1);
  setenv("RUBIA_SAFE_ATOMICS", "1", 1);
  setenv("RUBIA_CONTRACT", "never", 1);
  EXPECT_EQ(CompileOptions::fromEnvironment(),
            (CompileOptions{true, true, rubia::abi::WarpFormChoice::Packed, true}));
  setenv("RUBIA_NAN", "cannonical", 1);
  setenv("RUBIA_SAFE_ATOMICS", "yes", 1);
  setenv("RUBIA_WARP_FORM", "full", 1);
  setenv("RUBIA_CONTRACT", "always", 1);
  testing::internal::CaptureStderr();
  EXPECT_EQ(CompileOptions::fromEnvironment(), CompileOptions());
  EXPECT_EQ(
      testing::internal::GetCapturedStderr(),
      "rubia: RUBIA_NAN is 'cannonical', expected any or canonical; any is taken\n"
      "rubia: RUBIA_SAFE_ATOMICS is 'yes', expected 0 or 1; 0 is taken\n"
      "rubia: RUBIA_WARP_FORM is 'full', expected auto or half-filled or packed; auto is taken\n"
      "rubia: RUBIA_CONTRACT is 'always', expected nvidia or never; nvidia is taken\n");
}

TEST(CacheKey, SizesHaveUnits) {
  EXPECT_EQ(parseSize("0"), 0u);
  EXPECT_EQ(parseSize("1234"), 1234u);
  EXPECT_EQ(parseSize("3k"), 3072u);
  EXPECT_EQ(parseSize("4G"), uint64_t(4) << 30);
  for (const char *bad : {"", "G", "4GB", "-1", "1.5G", "99999999999T", "4X"})
    EXPECT_FALSE(parseSize(bad)) << bad;
}

TEST(CacheKey, CudasOwnVariablesHold) {
  for (const char *name : {"RUBIA_CACHE_MAX_SIZE", "RUBIA_CACHE_DIR", "RUBIA_CACHE_DISABLE"})
    unsetenv(name);
  EXPECT_EQ(cacheMaxBytes(), uint64_t(4) << 30);
  setenv("CUDA_CACHE_MAXSIZE", "1000000", 1);
  EXPECT_EQ(cacheMaxBytes(), 1'000'000u);
  setenv("RUBIA_CACHE_MAX_SIZE", "2M", 1);
  EXPECT_EQ(cacheMaxBytes(), 2u << 20);
  std::string folder = testing::TempDir() + "rubia-cuda-cache";
  setenv("CUDA_CACHE_PATH", folder.c_str(), 1);
  EXPECT_EQ(cacheDirectory(), folder + "/rubia");
  setenv("CUDA_CACHE_DISABLE", "1", 1);
  EXPECT_EQ(cacheDirectory(), std::nullopt);
}

} // namespace
