// SPDX-License-Identifier: Apache-2.0
// The one reader of environment variables, made of the rows of Settings.def. A setting is what the
// command line gives, else what the environment has, else what the file with settings has
// (ConfigFile.h), else its default. Nothing is read from the environment, nor from a file, of a
// program with rights that its caller lacks (AT_SECURE).
#pragma once

#include "settings/Code.h"
#include "settings/Words.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace rubia::settings {

/// Where a value came from.
enum class Source : uint8_t { Default, File, Environment, CommandLine };

class Settings {
public:
  /// What the environment has, each time it is asked, and what the file has.
  Settings() = default;

  /// The value of a row: of a Text; of a Number, Size or Capability ("8.9" is 89); of a Switch; of
  /// Seconds. The function must fit the type of the row.
  std::string text(Setting setting) const;
  uint64_t number(Setting setting) const;
  bool isOn(Setting setting) const;
  double seconds(Setting setting) const;
  /// The same of a WORD_SETTING or CODE_SETTING, and of a SET_SETTING.
  Word word(Setting setting) const;
  WordSet words(Setting setting) const;
  /// Whether the setting of the word has it: settings.is(DeviceChoice::Hip), of a SET_SETTING
  /// settings.has(EmulatorCheck::Order).
  bool is(Word wanted) const { return word(wanted.setting) == wanted; }
  bool has(Word wanted) const { return words(wanted.setting).has(wanted); }
  Code code() const;

  /// Puts a value in front of the environment's; an empty one stands for the default.
  Settings &set(Setting setting, llvm::StringRef value);
  /// False: there is no such variable.
  bool set(llvm::StringRef variable, llvm::StringRef value);

  /// The text, empty or not; nullopt: not set.
  std::optional<llvm::StringRef> given(Setting setting) const;
  /// Where given() has it from. An empty value stands for the default.
  Source sourceOf(Setting setting) const;
  /// Set, not empty, and of the setting's type.
  bool isUsable(Setting setting) const;
  /// "RUBIA_X is 'y', expected a or b", if it is set to what makes no sense.
  llvm::Error check(Setting setting) const;

  /// What set() was told, as NAME=VALUE.
  std::vector<std::string> assignments() const;
  /// For a child: the environment with these in it.
  std::vector<std::string> environment() const;

  /// One sentence, without its end, for each variable with an invalid value that is ignored, and
  /// each whose name begins with RUBIA_ and is none of ours. RUBIA_TEST_... belongs to the tests.
  std::vector<std::string> problems() const;

private:
  template <class T> T read(Setting setting) const;
  std::vector<std::pair<Setting, std::string>> values;
};

/// An environment variable that is not Rubia's own, such as HOME; nullopt: not set.
std::optional<llvm::StringRef> systemVariable(const char *name);

/// A row, for documentation and for the command line.
struct Row {
  Setting id;
  llvm::StringRef group, variable, defaultText, meaning;
  llvm::StringRef key;   // of settings that change code
  llvm::StringRef words; // as in the row; empty where the type has none
  std::string expected;
};
llvm::ArrayRef<Row> rows(); // in the order of their numbers
const Row &rowOf(Setting setting);
/// As it stands in keys and on the command line.
llvm::StringRef textOf(Word word);

/// docs/environment.md.
std::string environmentAsMarkdown();
/// `rubia help environment`.
std::string environmentAsText();

} // namespace rubia::settings
