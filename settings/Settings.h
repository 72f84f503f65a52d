// SPDX-License-Identifier: Apache-2.0
// The one reader of environment variables, made of the rows of Settings.def. A setting is what the
// command line gives, else what the environment has, else what the file with settings has
// (ConfigFile.h), else its default. Nothing is read from the environment, nor from a file, of a
// program with rights that its caller lacks (AT_SECURE).
#pragma once

#include "settings/Code.h"
#include "settings/Types.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"
#include <utility>
#include <vector>

namespace rubia::settings {

#define CODE_SETTING(...) // Code.h
#define WORD_SETTING(Variable, Name, Enum, Enumerators, Words, Default, Invalid, Meaning)          \
  RUBIA_WORD_ENUMERATION(Enum, Enumerators, Words)
#define SET_SETTING WORD_SETTING
#include "settings/Settings.def"

enum class Id : uint8_t {
#define SETTING(Variable, Name, ...) Name,
#include "settings/Settings.def"
};

/// Where a value came from.
enum class Source : uint8_t { Default, File, Environment, CommandLine };

class Settings {
public:
  /// What the environment has, each time it is asked, and what the file has.
  Settings() = default;

#define SETTING(Variable, Name, Type, ...) decltype(Type)::Value Name() const;
#include "settings/Settings.def"
  Code code() const;

  /// Puts a value in front of the environment's; an empty one stands for the default.
  Settings &set(Id id, llvm::StringRef value);
  /// False: there is no such variable.
  bool set(llvm::StringRef variable, llvm::StringRef value);

  /// The text, empty or not; nullopt: not set.
  std::optional<llvm::StringRef> given(Id id) const;
  /// Where given() has it from. An empty value stands for the default.
  Source sourceOf(Id id) const;
  /// Set, not empty, and of the setting's type.
  bool isUsable(Id id) const;
  /// "RUBIA_X is 'y', expected a or b", if it is set to what makes no sense.
  llvm::Error check(Id id) const;

  /// What set() was told, as NAME=VALUE.
  std::vector<std::string> assignments() const;
  /// For a child: the environment with these in it.
  std::vector<std::string> environment() const;

  /// One sentence, without its end, for each variable with an invalid value that is ignored, and
  /// each whose name begins with RUBIA_ and is none of ours. RUBIA_TEST_... belongs to the tests.
  std::vector<std::string> problems() const;

private:
  template <class T> T::Value read(Id id, const T &type) const;
  std::vector<std::pair<Id, std::string>> values;
};

/// An environment variable that is not Rubia's own, such as HOME; nullopt: not set.
std::optional<llvm::StringRef> systemVariable(const char *name);

/// A row, for documentation and for the command line.
struct Row {
  Id id;
  llvm::StringRef group, variable, defaultText, meaning;
  llvm::StringRef key;   // of settings that change code
  llvm::StringRef words; // as in the row; empty where the type has none
  std::string expected;
};
llvm::ArrayRef<Row> rows(); // in the order of Id
const Row &rowOf(Id id);

/// docs/environment.md.
std::string environmentAsMarkdown();
/// `rubia help environment`.
std::string environmentAsText();

} // namespace rubia::settings
