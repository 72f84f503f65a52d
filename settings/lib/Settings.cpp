// SPDX-License-Identifier: Apache-2.0
#include "settings/Settings.h"
#include "settings/ConfigFile.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <cstdlib>
#include <cstring>
#include <sys/auxv.h>

using namespace llvm;

namespace rubia::settings {

std::string alternatives(StringRef words) {
  std::string text;
  const size_t count = countWords(words);
  for (size_t i = 0; i < count; ++i)
    text += (i == 0 ? "" : i + 1 < count ? ", " : " or ") + std::string(spelling(wordAt(words, i)));
  return text;
}

std::optional<uint64_t> Number::parse(StringRef text) const {
  uint64_t value;
  text = text.trim();
  const bool isHex = text.consume_front("0x");
  if (text.getAsInteger(isHex ? 16 : 10, value) || value < least || value > most)
    return std::nullopt;
  return value;
}

std::string Number::expected() const {
  if (least == 0 && most == UINT64_MAX)
    return "a number";
  return "a number from " + std::to_string(least) + " to " + std::to_string(most);
}

std::optional<bool> Switch::parse(StringRef text) const {
  return text == "1" ? std::optional(true) : text == "0" ? std::optional(false) : std::nullopt;
}

std::optional<uint64_t> Size::parse(StringRef text) const {
  uint64_t value;
  if (text.consumeInteger(10, value) || text.size() > 1)
    return std::nullopt;
  unsigned shift = 0;
  if (!text.empty()) {
    const size_t unit = StringRef("KMGT").find(toUpper(text[0]));
    if (unit == StringRef::npos)
      return std::nullopt;
    shift = 10 * (unit + 1);
  }
  if (value > UINT64_MAX >> shift)
    return std::nullopt;
  return value << shift;
}

std::optional<double> Seconds::parse(StringRef text) const {
  double value;
  if (text.getAsDouble(value) || !(value >= 0))
    return std::nullopt;
  return value;
}

std::optional<unsigned> Capability::parse(StringRef text) const {
  auto [before, after] = text.split('.');
  unsigned major = 0, minor = 0;
  if (before.getAsInteger(10, major))
    return std::nullopt;
  if (text.contains('.')) {
    if (after.size() != 1 || after.getAsInteger(10, minor) || major > 99)
      return std::nullopt;
    major = major * 10 + minor;
  }
  return major >= 20 && major < 1000 ? std::optional(major) : std::nullopt;
}

// ---------- The environment

std::optional<StringRef> systemVariable(const char *name) {
  const char *value = secure_getenv(name);
  return value ? std::optional<StringRef>(value) : std::nullopt;
}

static bool isEnvironmentTrusted() { return !getauxval(AT_SECURE); }

// ---------- The rows

namespace {
enum class Invalid : uint8_t { Ignored, Refused };

struct Reader {
  Row row;
  Invalid invalid;
  bool (*accepts)(StringRef text);
};

std::vector<Reader> makeReaders() {
  constexpr Invalid Ignored = Invalid::Ignored, Refused = Invalid::Refused;
  std::vector<Reader> all;
  StringRef group;
  auto add = [&]<class Type>(Id id, const char *variable, const Type &type, StringRef words,
                             const char *defaultText, StringRef key, Invalid invalid,
                             const char *meaning, bool (*accepts)(StringRef)) {
    all.push_back({{id, group, variable, defaultText, meaning, key, words, type.expected()},
                   invalid,
                   accepts});
  };
#define SETTING_GROUP(Title) group = Title;
#define ROW(Variable, Name, Type, Words, Default, Key, Invalid, Meaning)                           \
  add(Id::Name, Variable, Type, Words, Default, Key, Invalid, Meaning,                             \
      [](StringRef text) { return (Type).parse(text).has_value(); });
#define SETTING(Variable, Name, Type, Default, Invalid, Meaning)                                   \
  ROW(Variable, Name, Type, "", Default, "", Invalid, Meaning)
#define WORD_SETTING(Variable, Name, Enum, Enumerators, Words, Default, Invalid, Meaning)          \
  ROW(Variable, Name, Word<Enum>(Words), Words, Default, "", Invalid, Meaning)
#define SET_SETTING(Variable, Name, Enum, Enumerators, Words, Default, Invalid, Meaning)           \
  ROW(Variable, Name, WordSet<Enum>(Words), Words, Default, "", Invalid, Meaning)
#define CODE_SETTING(Variable, Name, Enum, Enumerators, Words, Default, Key, Meaning)              \
  ROW(Variable, Name, Word<Enum>(Words), Words, Default, Key, Ignored, Meaning)
#include "settings/Settings.def"
#undef ROW
  return all;
}

// Never freed: programs call us after their static destructors have run.
const std::vector<Reader> &readers() {
  static const auto &all = *new std::vector<Reader>(makeReaders());
  return all;
}

const Reader &readerOf(Id id) { return readers()[size_t(id)]; }
} // namespace

ArrayRef<Row> rows() {
  static const auto &all = *[] {
    auto *made = new std::vector<Row>;
    for (const Reader &reader : readers())
      made->push_back(reader.row);
    return made;
  }();
  return all;
}

const Row &rowOf(Id id) { return readerOf(id).row; }

// ---------- Values

static std::optional<StringRef> valueOf(ArrayRef<std::pair<Id, std::string>> values, Id id) {
  for (const auto &[known, value] : values)
    if (known == id)
      return value;
  return std::nullopt;
}

std::optional<StringRef> Settings::given(Id id) const {
  if (std::optional<StringRef> value = valueOf(values, id))
    return value;
  if (std::optional<StringRef> value = systemVariable(rowOf(id).variable.data()))
    return value;
  return valueOf(configFile().values, id);
}

Source Settings::sourceOf(Id id) const {
  if (given(id).value_or("").empty())
    return Source::Default;
  return valueOf(values, id)                         ? Source::CommandLine
         : systemVariable(rowOf(id).variable.data()) ? Source::Environment
                                                     : Source::File;
}

template <class T> T::Value Settings::read(Id id, const T &type) const {
  if (std::optional<StringRef> text = given(id); text && !text->empty())
    if (auto value = type.parse(*text))
      return *value;
  const StringRef standard = rowOf(id).defaultText;
  return standard.empty() ? typename T::Value() : *type.parse(standard);
}

#define SETTING(Variable, Name, Type, ...)                                                         \
  decltype(Type)::Value Settings::Name() const { return read(Id::Name, Type); }
#include "settings/Settings.def"

Code Settings::code() const {
  Code result;
#define CODE_SETTING(Variable, Name, ...) result.Name = Name();
#include "settings/Code.def"
#undef CODE_SETTING
  return result;
}

static StringRef keyWord(StringRef words, size_t index) { return name(wordAt(words, index)); }

std::vector<std::pair<StringRef, StringRef>> Code::keyFields() const {
  return {
#define CODE_SETTING(Variable, Name, Enum, Enumerators, Words, Default, Key, Meaning)              \
  {Key, keyWord(Words, size_t(Name))},
#include "settings/Code.def"
#undef CODE_SETTING
  };
}

Settings &Settings::set(Id id, StringRef value) {
  llvm::erase_if(values, [&](const auto &entry) { return entry.first == id; });
  values.emplace_back(id, value.str());
  return *this;
}

bool Settings::set(StringRef variable, StringRef value) {
  for (const Reader &reader : readers())
    if (reader.row.variable == variable) {
      set(reader.row.id, value);
      return true;
    }
  return false;
}

bool Settings::isUsable(Id id) const {
  std::optional<StringRef> text = given(id);
  return text && !text->empty() && readerOf(id).accepts(*text);
}

// The word of a setting that the first wrong one of `text` may have been meant for; empty: none is
// near.
static StringRef nearestWord(const Row &row, StringRef text) {
  while (!row.words.empty() && !text.empty()) {
    const StringRef word = text.split(',').first.trim();
    text = text.split(',').second;
    if (word.empty() || indexOfWord(row.words, word) < countWords(row.words))
      continue;
    StringRef nearest;
    unsigned limit = word.size() / 2;
    for (size_t i = 0; i < countWords(row.words) && limit; ++i) {
      const StringRef known = spelling(wordAt(row.words, i));
      if (const unsigned distance = word.edit_distance(known, true, limit); distance <= limit) {
        limit = distance - 1; // what is no word is at least 1 away
        nearest = known;
      }
    }
    return nearest;
  }
  return "";
}

static std::string complaint(const Row &row, StringRef text, Source source) {
  const StringRef nearest = nearestWord(row, text);
  const std::string name =
      source == Source::File ? configFile().path + ": " + configKey(row) : row.variable.str();
  return (name + " is '" + text + "', expected " + row.expected +
          (nearest.empty() ? "" : " (did you mean " + nearest + "?)"))
      .str();
}

Error Settings::check(Id id) const {
  std::optional<StringRef> text = given(id);
  if (!text || text->empty() || readerOf(id).accepts(*text))
    return Error::success();
  return createStringError(inconvertibleErrorCode(), complaint(rowOf(id), *text, sourceOf(id)));
}

std::vector<std::string> Settings::assignments() const {
  std::vector<std::string> all;
  all.reserve(values.size());
  for (const auto &[id, value] : values)
    all.push_back((rowOf(id).variable + "=" + value).str());
  return all;
}

std::vector<std::string> Settings::environment() const {
  std::vector<std::string> all;
  for (char **variable = environ; isEnvironmentTrusted() && variable && *variable; ++variable) {
    const StringRef name = StringRef(*variable).split('=').first;
    if (none_of(values, [&](const auto &entry) { return rowOf(entry.first).variable == name; }))
      all.push_back(*variable);
  }
  llvm::append_range(all, assignments());
  return all;
}

// ---------- Problems

static std::string unknownVariable(StringRef name) {
  StringRef nearest;
  unsigned distance = (name.size() - strlen("RUBIA_")) / 2; // what is further away is not meant
  for (const Row &row : rows())
    if (row.variable.starts_with("RUBIA_"))
      if (unsigned d = name.edit_distance(row.variable, true, distance); d <= distance) {
        distance = d - (d > 0);
        nearest = row.variable;
        if (d == 0)
          break;
      }
  return (name + " is not a variable of Rubia's" +
          (nearest.empty() ? " (`rubia help environment` lists them)"
                           : ", did you mean " + nearest + "?"))
      .str();
}

std::vector<std::string> Settings::problems() const {
  std::vector<std::string> found = configFile().problems;
  if (!isEnvironmentTrusted())
    return found;
  for (const Reader &reader : readers()) {
    const Row &row = reader.row;
    std::optional<StringRef> text = given(row.id);
    if (reader.invalid == Invalid::Ignored && text && !text->empty() && !reader.accepts(*text))
      found.push_back(complaint(row, *text, sourceOf(row.id)) +
                      (row.defaultText.empty() ? "; it has no effect"
                                               : "; " + row.defaultText.str() + " is taken"));
  }
  for (char **variable = environ; variable && *variable; ++variable) {
    const StringRef name = StringRef(*variable).split('=').first;
    if (name.starts_with("RUBIA_") && !name.starts_with("RUBIA_TEST_") &&
        none_of(rows(), [&](const Row &row) { return row.variable == name; }))
      found.push_back(unknownVariable(name));
  }
  return found;
}

} // namespace rubia::settings
