// SPDX-License-Identifier: Apache-2.0
#include "settings/Settings.h"
#include "settings/Types.h"
#include "llvm/ADT/StringExtras.h"
#include <cstdlib>
#include <gtest/gtest.h>
#include <set>
#include <type_traits>

using namespace llvm;

namespace rubia::settings::Id {
extern const Setting arch, atomics, device, emulatorCheck, nan;
} // namespace rubia::settings::Id
namespace rubia::settings::AtomicsMode {
extern const Word Safe;
} // namespace rubia::settings::AtomicsMode
namespace rubia::settings::ContractMode {
extern const Word Never;
} // namespace rubia::settings::ContractMode
namespace rubia::settings::EmulatorCheck {
extern const Word Memory, Order, Races;
} // namespace rubia::settings::EmulatorCheck
namespace rubia::settings::NanMode {
extern const Word Any, Canonical;
} // namespace rubia::settings::NanMode
namespace rubia::settings::SharedMemory {
extern const Word Device;
} // namespace rubia::settings::SharedMemory
namespace rubia::settings::WarpFormChoice {
extern const Word Packed;
} // namespace rubia::settings::WarpFormChoice

namespace rubia::settings::test {

// Environment variables of one test.
class Environment {
public:
  Environment(std::initializer_list<std::pair<const char *, const char *>> wanted) {
    for (auto [name, value] : wanted) {
      names.push_back(name);
      setenv(name, value, 1);
    }
  }
  ~Environment() {
    for (const char *name : names)
      unsetenv(name);
  }

private:
  std::vector<const char *> names;
};

TEST(Settings, RowsAreWellFormed) {
  std::set<StringRef> variables, keys;
  for (const Row &row : rows()) {
    EXPECT_EQ(rowOf(row.id).variable, row.variable);
    EXPECT_TRUE(variables.insert(row.variable).second) << row.variable.str();
    EXPECT_TRUE(row.variable.starts_with("RUBIA_") || row.variable.starts_with("CUDA_"));
    EXPECT_FALSE(row.meaning.empty());
    EXPECT_FALSE(row.meaning.contains('|')) << "it would end a cell of the table";
    EXPECT_FALSE(row.meaning.contains("](")) << "help would show the link; write `docs/targets.md`";
    if (!row.defaultText.empty()) { // else reading it would fail
      EXPECT_TRUE(Settings().set(row.id, row.defaultText).isUsable(row.id)) << row.variable.str();
    }
    if (!row.key.empty()) {
      EXPECT_TRUE(keys.insert(row.key).second);
      EXPECT_FALSE(row.words.empty());
    }
  }
  EXPECT_GT(variables.size(), 40u);
}

TEST(Settings, ComeFromTheEnvironment) {
  EXPECT_EQ(Settings().code(), Code());
  Environment environment{{"RUBIA_NAN", "canonical"},
                          {"RUBIA_WARP_FORM", "packed"},
                          {"RUBIA_SAFE_ATOMICS", "1"},
                          {"RUBIA_CONTRACT", "never"},
                          {"RUBIA_SHARED_MEMORY", "device"}};
  Code expected;
  expected.set(NanMode::Canonical);
  expected.set(AtomicsMode::Safe);
  expected.set(WarpFormChoice::Packed);
  expected.set(ContractMode::Never);
  expected.set(SharedMemory::Device);
  EXPECT_EQ(Settings().code(), expected);
}

TEST(Settings, WhatIsGivenGoesBeforeTheEnvironment) {
  Environment environment{{"RUBIA_ARCH", "gfx942"}, {"RUBIA_NAN", "canonical"}};
  Settings settings;
  settings.set(Id::arch, "gfx1201").set(Id::nan, "any");
  EXPECT_EQ(settings.text(Id::arch), "gfx1201");
  EXPECT_EQ(settings.word(Id::nan), NanMode::Any);
  EXPECT_EQ(settings.set(Id::arch, "").text(Id::arch), ""); // as if it were not set
  EXPECT_EQ(Settings().text(Id::arch), "gfx942");
}

TEST(Settings, AChildGetsThem) {
  Environment environment{{"RUBIA_ARCH", "gfx942"}, {"HOME", "/home"}};
  Settings settings;
  settings.set(Id::arch, "gfx1201").set(Id::atomics, "safe");
  const std::vector<std::string> child = settings.environment();
  EXPECT_TRUE(is_contained(child, "RUBIA_ARCH=gfx1201"));
  EXPECT_FALSE(is_contained(child, "RUBIA_ARCH=gfx942"));
  EXPECT_TRUE(is_contained(child, "RUBIA_SAFE_ATOMICS=safe"));
  EXPECT_TRUE(is_contained(child, "HOME=/home"));
  EXPECT_EQ(settings.assignments().size(), 2u);
  EXPECT_TRUE(settings.set("RUBIA_NAN", "canonical"));
  EXPECT_FALSE(settings.set("RUBIA_NAAN", "canonical"));
}

TEST(Settings, WordsHaveTwoSpellings) {
  EXPECT_EQ(Settings().set(Id::atomics, "1").word(Id::atomics), AtomicsMode::Safe);
  EXPECT_EQ(Settings().set(Id::atomics, "safe").word(Id::atomics), AtomicsMode::Safe);
  EXPECT_EQ(Settings().set(Id::atomics, "0").code().keyFields()[1].second, "fast");
}

TEST(Settings, CodeHasAWordOfEachRow) {
  const Code standard, canonical{NanMode::Canonical};
  EXPECT_TRUE(standard.is(NanMode::Any) && canonical.is(NanMode::Canonical));
  EXPECT_FALSE(standard == canonical);
  EXPECT_EQ(canonical.wordOf(Id::nan), NanMode::Canonical);
  EXPECT_TRUE(canonical.isValid());
  EXPECT_FALSE(Code().set({Id::nan, 2}).isValid()); // `any` and `canonical` are all
  // The compile worker gets it byte by byte.
  Code foreign;
  static_assert(std::is_trivially_copyable_v<Code>);
  std::fill_n(reinterpret_cast<uint8_t *>(&foreign), sizeof(foreign), 0);
  EXPECT_TRUE(foreign.isValid());
  *(reinterpret_cast<uint8_t *>(&foreign) + sizeof(foreign) - 1) = 1; // beyond the rows
  EXPECT_FALSE(foreign.isValid());
}

TEST(Settings, SizesHaveUnits) {
  EXPECT_EQ(Size().parse("0"), 0u);
  EXPECT_EQ(Size().parse("1234"), 1234u);
  EXPECT_EQ(Size().parse("3k"), 3072u);
  EXPECT_EQ(Size().parse("4G"), uint64_t(4) << 30);
  for (const char *bad : {"", "G", "4GB", "-1", "1.5G", "99999999999T", "4X"})
    EXPECT_FALSE(Size().parse(bad)) << bad;
}

TEST(Settings, NumbersHaveBounds) {
  EXPECT_EQ(Number(1, 10).parse("10"), 10u);
  EXPECT_EQ(Number(1, 16).parse("0x10"), 16u);
  for (const char *bad : {"", "0", "11", "-1", "1.5", "x", "0x", "99999999999999999999"})
    EXPECT_FALSE(Number(1, 10).parse(bad)) << bad;
}

TEST(Settings, CapabilitiesAreNumbersOfTwoForms) {
  EXPECT_EQ(Capability().parse("8.9"), 89u);
  EXPECT_EQ(Capability().parse("89"), 89u);
  EXPECT_EQ(Capability().parse("13.0"), 130u);
  for (const char *bad : {"", "8.", ".9", "8.10", "8.9.1", "1.9", "1000", "high"})
    EXPECT_FALSE(Capability().parse(bad)) << bad;
}

TEST(Settings, SetsOfWords) {
  auto checks = Settings().set(Id::emulatorCheck, " races, memory,").words(Id::emulatorCheck);
  EXPECT_TRUE(checks.has(EmulatorCheck::Races) && checks.has(EmulatorCheck::Memory));
  EXPECT_FALSE(checks.has(EmulatorCheck::Order));
  EXPECT_TRUE(Settings().set(Id::emulatorCheck, "").words(Id::emulatorCheck).empty());
  EXPECT_EQ(
      toString(Settings().set(Id::emulatorCheck, "races,rice").check(Id::emulatorCheck)),
      "RUBIA_EMULATOR_CHECK is 'races,rice', expected one or more of memory, races, "
      "uninitialised, barriers, warps, all, leaks or order, with commas (did you mean races?)");
  EXPECT_EQ(toString(Settings().set(Id::emulatorCheck, "all,x").check(Id::emulatorCheck)),
            "RUBIA_EMULATOR_CHECK is 'all,x', expected one or more of memory, races, "
            "uninitialised, barriers, warps, all, leaks or order, with commas");
}

TEST(Settings, WhatMakesNoSenseIsReportedAndIgnored) {
  Environment environment{{"RUBIA_NAN", "cannonical"},
                          {"RUBIA_SAFE_ATOMICS", "yes"},
                          {"RUBIA_WARP_FORM", "full"},
                          {"RUBIA_WORKER_PROCESSES", "0"},
                          {"RUBIA_CACHE_DIR", ""}};
  EXPECT_EQ(Settings().code(), Code());
  EXPECT_EQ(
      join(Settings().problems(), "\n"),
      "RUBIA_NAN is 'cannonical', expected any or canonical (did you mean canonical?); any is "
      "taken\n"
      "RUBIA_SAFE_ATOMICS is 'yes', expected 0 or 1; 0 is taken\n"
      "RUBIA_WARP_FORM is 'full', expected auto, half-filled, packed or checked; auto is taken\n"
      "RUBIA_WORKER_PROCESSES is '0', expected a number from 1 to 1024; it has no effect");
}

TEST(Settings, WhatIsRefusedIsAnErrorOfItsUser) {
  Environment environment{{"RUBIA_DEVICE", "gpu"}};
  EXPECT_TRUE(Settings().problems().empty());
  EXPECT_EQ(toString(Settings().check(Id::device)),
            "RUBIA_DEVICE is 'gpu', expected auto, hip or emulator");
  EXPECT_FALSE(bool(Settings().check(Id::arch)));
}

TEST(Settings, MisspeltVariablesAreReportedWithTheNearest) {
  const std::pair<const char *, const char *> kCases[] = {
      {"RUBIA_NANN", ", did you mean RUBIA_NAN?"},
      {"RUBIA_EMULATR_CHECK", ", did you mean RUBIA_EMULATOR_CHECK?"},
      {"RUBIA_CACHE_SIZE", ", did you mean RUBIA_CACHE_DIR?"},
      {"RUBIA_WARPFORM", ", did you mean RUBIA_WARP_FORM?"},
      {"RUBIA_", " (`rubia help environment` lists them)"},
      {"RUBIA_SOMETHING_ELSE_ALTOGETHER", " (`rubia help environment` lists them)"}};
  for (auto [name, suggestion] : kCases) {
    Environment environment{{name, "1"}};
    EXPECT_EQ(join(Settings().problems(), "\n"),
              std::string(name) + " is not a variable of Rubia's" + suggestion);
  }
  Environment others{{"RUBIA_TEST_ANYTHING", "1"}, {"CUDA_ANYTHING", "1"}, {"rubia_nan", "1"}};
  EXPECT_TRUE(Settings().problems().empty());
}

TEST(Settings, TextForPeopleHasAllOfThem) {
  const std::string page = environmentAsMarkdown(), text = environmentAsText();
  for (const Row &row : rows()) {
    EXPECT_TRUE(StringRef(page).contains("| `" + row.variable.str() + "` |"));
    EXPECT_TRUE(StringRef(text).contains("  " + row.variable.str() + ": "));
    if (!row.key.empty()) {
      EXPECT_TRUE(StringRef(page).contains("| `--" + row.key.str() + "` |"));
    }
  }
}

} // namespace rubia::settings::test
