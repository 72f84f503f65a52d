// SPDX-License-Identifier: Apache-2.0
#include "settings/Settings.h"
#include "settings/ConfigFile.h"
#include "settings/Types.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <cassert>
#include <cstdlib>
#include <cstring>
#include <sys/auxv.h>
#include <variant>

using namespace llvm;

namespace rubia::settings {

std::string alternatives(StringRef words) {
  std::string text;
  const size_t count = countWords(words);
  for (size_t i = 0; i < count; ++i)
    text += (i == 0 ? "" : i + 1 < count ? ", " : " or ") + std::string(spelling(wordAt(words, i)));
  return text;
}

std::optional<uint8_t> OneOf::parse(StringRef text) const {
  const size_t index = indexOfWord(words, text);
  return index < countWords(words) ? std::optional(uint8_t(index)) : std::nullopt;
}

std::optional<uint32_t> AnyOf::parse(StringRef text) const {
  uint32_t bits = 0;
  while (!text.empty()) {
    auto [word, rest] = text.split(',');
    text = rest;
    if (word = word.trim(); word.empty())
      continue;
    const size_t index = indexOfWord(words, word);
    if (index == countWords(words))
      return std::nullopt;
    bits |= 1u << index;
  }
  return bits;
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

std::optional<uint64_t> Capability::parse(StringRef text) const {
  auto [before, after] = text.split('.');
  unsigned major = 0, minor = 0;
  if (before.getAsInteger(10, major))
    return std::nullopt;
  if (text.contains('.')) {
    if (after.size() != 1 || after.getAsInteger(10, minor) || major > 99)
      return std::nullopt;
    major = major * 10 + minor;
  }
  return major >= 20 && major < 1000 ? std::optional<uint64_t>(major) : std::nullopt;
}

// ---------- The environment

std::optional<StringRef> systemVariable(const char *name) {
  const char *value = secure_getenv(name);
  return value ? std::optional<StringRef>(value) : std::nullopt;
}

static bool isEnvironmentTrusted() { return !getauxval(AT_SECURE); }

// ---------- The names

namespace {
enum class RowNumber : uint8_t {
#define SETTING(Variable, Name, ...) Name,
#include "settings/Settings.def"
};

constexpr Word wordWith(Setting setting, const OneOf &all, std::string_view text) {
  uint8_t index = 0;
  while (wordAt(all.words, index) != text)
    ++index;
  return {setting, index};
}
} // namespace

namespace Id {
#define SETTING(Variable, Name, ...) extern const Setting Name = Setting(RowNumber::Name);
#include "settings/Settings.def"
} // namespace Id

#define WORD_SETTING(Variable, Name, Choice, Words, ...)                                           \
  namespace Choice {                                                                               \
  static constexpr Setting kSetting = Setting(RowNumber::Name);                                    \
  static constexpr OneOf kWords(Words);                                                            \
  }
#define SET_SETTING WORD_SETTING
#include "settings/Settings.def"

#define WORD(Name, Text) extern const Word Name = wordWith(kSetting, kWords, Text);
#define WORD_SETTING(Variable, Name, Choice, Words, ...)                                           \
  namespace Choice {                                                                               \
  Words                                                                                            \
  }
#define SET_SETTING WORD_SETTING
#include "settings/Settings.def"

// ---------- The rows

namespace {
enum class Invalid : uint8_t { Ignored, Refused };

// What the types of settings are parsed into.
using Value = std::variant<std::string, uint64_t, bool, double, uint8_t, uint32_t>;

struct Reader {
  Row row;
  Invalid invalid;
  Value (*none)(); // the value of a row without a default, if nothing is set
  std::optional<Value> (*parse)(StringRef text);
  bool accepts(StringRef text) const { return parse(text).has_value(); }
};

std::vector<Reader> makeReaders() {
  constexpr Invalid Ignored = Invalid::Ignored, Refused = Invalid::Refused;
  std::vector<Reader> all;
  StringRef group;
#define SETTING_GROUP(Title) group = Title;
#define ROW(Variable, Name, Type, Words, Default, Key, Invalid, Meaning)                           \
  all.push_back({{Id::Name, group, Variable, Default, Meaning, Key, Words, (Type).expected()},     \
                 Invalid,                                                                          \
                 [] { return Value(decltype(Type)::Value()); },                                    \
                 [](StringRef text) {                                                              \
                   auto value = (Type).parse(text);                                                \
                   return value ? std::optional<Value>(std::move(*value)) : std::nullopt;          \
                 }});
#define SETTING(Variable, Name, Type, Default, Invalid, Meaning)                                   \
  ROW(Variable, Name, Type, "", Default, "", Invalid, Meaning)
#define WORD_SETTING(Variable, Name, Choice, Words, Default, Invalid, Meaning)                     \
  ROW(Variable, Name, OneOf(Words), OneOf(Words).words, Default, "", Invalid, Meaning)
#define SET_SETTING(Variable, Name, Choice, Words, Default, Invalid, Meaning)                      \
  ROW(Variable, Name, AnyOf(Words), AnyOf(Words).words, Default, "", Invalid, Meaning)
#define CODE_SETTING(Variable, Name, Choice, Words, Default, Key, Meaning)                         \
  ROW(Variable, Name, OneOf(Words), OneOf(Words).words, Default, Key, Ignored, Meaning)
#include "settings/Settings.def"
#undef ROW
  return all;
}

// Never freed: programs call us after their static destructors have run.
const std::vector<Reader> &readers() {
  static const auto &all = *new std::vector<Reader>(makeReaders());
  return all;
}

const Reader &readerOf(Setting setting) { return readers()[size_t(setting)]; }
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

const Row &rowOf(Setting setting) { return readerOf(setting).row; }

StringRef textOf(Word word) { return name(wordAt(rowOf(word.setting).words, word.index)); }

// ---------- Values

static std::optional<StringRef> valueOf(ArrayRef<std::pair<Setting, std::string>> values,
                                        Setting id) {
  for (const auto &[known, value] : values)
    if (known == id)
      return value;
  return std::nullopt;
}

std::optional<StringRef> Settings::given(Setting id) const {
  if (std::optional<StringRef> value = valueOf(values, id))
    return value;
  if (std::optional<StringRef> value = systemVariable(rowOf(id).variable.data()))
    return value;
  return valueOf(configFile().values, id);
}

Source Settings::sourceOf(Setting id) const {
  if (given(id).value_or("").empty())
    return Source::Default;
  return valueOf(values, id)                         ? Source::CommandLine
         : systemVariable(rowOf(id).variable.data()) ? Source::Environment
                                                     : Source::File;
}

template <class T> T Settings::read(Setting setting) const {
  const Reader &reader = readerOf(setting);
  Value value = reader.none();
  assert(std::holds_alternative<T>(value) && "the setting is of another type");
  std::optional<Value> parsed;
  if (std::optional<StringRef> text = given(setting); text && !text->empty())
    parsed = reader.parse(*text);
  if (!parsed && !reader.row.defaultText.empty())
    parsed = reader.parse(reader.row.defaultText);
  return std::get<T>(parsed ? std::move(*parsed) : std::move(value));
}

std::string Settings::text(Setting setting) const { return read<std::string>(setting); }
uint64_t Settings::number(Setting setting) const { return read<uint64_t>(setting); }
bool Settings::isOn(Setting setting) const { return read<bool>(setting); }
double Settings::seconds(Setting setting) const { return read<double>(setting); }
Word Settings::word(Setting setting) const { return {setting, read<uint8_t>(setting)}; }
WordSet Settings::words(Setting setting) const { return {setting, read<uint32_t>(setting)}; }

// ---------- Settings of code

namespace {
constexpr Setting kCodeRows[] = {
#define CODE_SETTING(Variable, Name, ...) Id::Name,
#include "settings/Settings.def"
};

size_t codeRowOf(Setting setting) {
  const size_t row = size_t(setting) - size_t(kCodeRows[0]); // they follow each other
  assert(row < std::size(kCodeRows) && "the setting does not change code");
  return row;
}
} // namespace

Code::Code() {
  static_assert(std::size(kCodeRows) <= kMostRows);
  for (Setting setting : kCodeRows) {
    const Row &row = rowOf(setting);
    words[codeRowOf(setting)] = uint8_t(indexOfWord(row.words, row.defaultText));
  }
}

Word Code::wordOf(Setting setting) const { return {setting, words[codeRowOf(setting)]}; }

Code &Code::set(Word word) {
  words[codeRowOf(word.setting)] = word.index;
  return *this;
}

bool Code::isValid() const {
  for (Setting setting : kCodeRows)
    if (wordOf(setting).index >= countWords(rowOf(setting).words))
      return false;
  return all_of(drop_begin(words, std::size(kCodeRows)), [](uint8_t byte) { return byte == 0; });
}

std::vector<std::pair<StringRef, StringRef>> Code::keyFields() const {
  std::vector<std::pair<StringRef, StringRef>> fields;
  for (Setting setting : kCodeRows)
    fields.emplace_back(rowOf(setting).key, textOf(wordOf(setting)));
  return fields;
}

Code Settings::code() const {
  Code result;
  for (Setting setting : kCodeRows)
    result.set(word(setting));
  return result;
}

// ---------- Values that are given

Settings &Settings::set(Setting id, StringRef value) {
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

bool Settings::isUsable(Setting id) const {
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

Error Settings::check(Setting id) const {
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
