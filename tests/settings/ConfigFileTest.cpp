// SPDX-License-Identifier: Apache-2.0
#include "settings/ConfigFile.h"
#include <gtest/gtest.h>

namespace rubia::settings::Id {
extern const Setting config;
} // namespace rubia::settings::Id

using namespace rubia::settings;

static std::string valuesIn(const char *text) {
  std::string all;
  for (const auto &[id, value] : parseConfig(text, "f").values)
    all += rowOf(id).variable.str() + "=" + value + ";";
  return all;
}

static std::string problemsIn(const char *text) {
  std::string all;
  for (const std::string &problem : parseConfig(text, "f").problems)
    all += problem + "\n";
  return all;
}

TEST(ConfigFile, EveryKindOfValueIsThatOfTheVariable) {
  EXPECT_EQ(valuesIn("arch = \"gfx942\""), "RUBIA_ARCH=gfx942;");
  EXPECT_EQ(valuesIn("worker_processes = 4"), "RUBIA_WORKER_PROCESSES=4;");
  EXPECT_EQ(valuesIn("emulator_timeout = 2.5"), "RUBIA_EMULATOR_TIMEOUT=2.5;");
  EXPECT_EQ(valuesIn("cache_disable = true"), "RUBIA_CACHE_DISABLE=1;");
  EXPECT_EQ(valuesIn("cache_disable = false"), "RUBIA_CACHE_DISABLE=0;");
  EXPECT_EQ(valuesIn("arch = [\"gfx942\", \"gfx1100\"]"), "RUBIA_ARCH=gfx942,gfx1100;");
  EXPECT_EQ(valuesIn("emulator_check = [\"races\", \"memory\"]"),
            "RUBIA_EMULATOR_CHECK=races,memory;");
  EXPECT_EQ(valuesIn("cache_packs = [\"/a\", \"/b\"]"), "RUBIA_CACHE_PACKS=/a:/b;");
}

TEST(ConfigFile, WhatIsNestedDeepIsNotRead) {
  const std::string tooDeep = "f: is nested too deep; no settings are read\n";
  std::string dots;
  for (unsigned i = 0; i < 500'000; ++i)
    dots += "a.";
  EXPECT_EQ(problemsIn((dots + "a = 1").c_str()), tooDeep);
  EXPECT_EQ(problemsIn(("[" + dots + "a]").c_str()), tooDeep);
  EXPECT_EQ(problemsIn(("x = [\"\"\"a\"\"\"\", {" + dots + "a = 1}]").c_str()), tooDeep);
  EXPECT_EQ(problemsIn(("x = ['\\', {" + dots + "a = 1}]").c_str()), tooDeep);
  // In texts and comments there is no level.
  EXPECT_EQ(valuesIn(("arch = \"" + dots + "\\\"" + dots + "\" # " + dots).c_str()),
            "RUBIA_ARCH=" + dots + "\"" + dots + ";");
  EXPECT_EQ(valuesIn(("arch = '''" + dots + "'''''\ndevice = \"hip\"").c_str()),
            "RUBIA_ARCH=" + dots + "'';RUBIA_DEVICE=hip;");
}

TEST(ConfigFile, WhatHasNoEffectIsNamedWithItsLine) {
  EXPECT_EQ(problemsIn("\narhc = \"gfx942\""), "f:2: 'arhc' is no setting, did you mean arch?\n");
  EXPECT_EQ(problemsIn("config = \"other\""),
            "f:1: 'config' is no setting (`rubia config` lists them)\n");
  EXPECT_EQ(problemsIn("device = [\"hip\"]"), "f:1: device is of a wrong kind, expected auto, hip "
                                              "or emulator; it has no effect\n");
  EXPECT_EQ(problemsIn("[device]\narch = 1"), "f:1: device is of a wrong kind, expected auto, hip "
                                              "or emulator; it has no effect\n");
  const std::string broken = problemsIn("arch = ");
  EXPECT_EQ(broken.substr(0, 4), "f:1:");
  EXPECT_NE(broken.find("; no settings are read"), std::string::npos) << broken;
  EXPECT_EQ(valuesIn("nan = \"canonical\"\narch = "), "");
}

TEST(ConfigFile, EveryVariableOfRubiasHasAKeyOfItsOwn) {
  std::string all;
  size_t keys = 0;
  for (const Row &row : rows()) {
    const std::string key = configKey(row);
    EXPECT_EQ(key.empty(), !row.variable.starts_with("RUBIA_") || row.id == Id::config)
        << row.variable.str();
    if (key.empty())
      continue;
    all += key + " = \"\"\n";
    ++keys;
  }
  EXPECT_EQ(parseConfig(all, "f").values.size(), keys);
}
