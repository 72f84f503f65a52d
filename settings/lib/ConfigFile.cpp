// SPDX-License-Identifier: Apache-2.0
#define TOML_EXCEPTIONS 0
#include "settings/ConfigFile.h"
#include "input/File.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <charconv>
#include <sys/auxv.h>
#include <toml++/toml.h>

using namespace llvm;

namespace rubia::settings {

namespace Id {
extern const Setting config;
}

namespace {
constexpr StringLiteral kPrefix = "RUBIA_";
constexpr uint64_t kMaxBytes = 1 << 20;

// Settings are not nested. toml++ 3.3 makes a table of each part of a dotted key, however many
// there are, and a table frees those in it by a call of its own.
constexpr size_t kMostLevels = 256;

// How deep keys and values are nested at most: what opens a level, outside of texts and comments.
size_t mostLevels(StringRef text) {
  size_t levels = 0;
  while (!text.empty()) {
    const char c = text.front();
    if (c == '#') {
      text = text.drop_until([](char one) { return one == '\n'; });
      continue;
    }
    if (c != '"' && c != '\'') {
      levels += c == '.' || c == '[' || c == '{';
      text = text.drop_front();
      continue;
    }
    const std::string quote(text.starts_with(std::string(3, c)) ? 3 : 1, c);
    text = text.drop_front(quote.size());
    while (!text.starts_with(quote) && !(quote.size() == 1 && text.starts_with("\n")) &&
           !text.empty())
      text = text.substr(c == '"' && text.front() == '\\' ? 2 : 1);
    text = text.substr(quote.size());
    if (quote.size() == 3) // up to two quotes may belong to the text
      text = text.substr(std::min<size_t>(text.find_first_not_of(c), 2));
  }
  return levels;
}

const Row *rowOfKey(StringRef key) {
  const auto found = find_if(rows(), [&](const Row &row) { return configKey(row) == key; });
  return found == rows().end() ? nullptr : found;
}

std::string nearestKey(StringRef key) {
  std::string nearest;
  unsigned limit = key.size() / 2 + 1;
  for (const Row &row : rows())
    if (const std::string known = configKey(row); !known.empty())
      if (const unsigned distance = key.edit_distance(known, true, limit); distance < limit) {
        limit = distance;
        nearest = known;
      }
  return nearest;
}

// What joins several values of one setting, as in its variable; 0: it has one.
char separatorOf(const Row &row) {
  const StringRef expected = row.expected;
  return expected.contains("with commas") || expected.contains("[,") ? ','
         : expected.contains("[:")                                   ? ':'
         : expected.contains("[;")                                   ? ';'
                                                                     : '\0';
}

// The fewest digits that stand for the number.
std::string shortest(double number) {
  char text[32];
  return std::string(text, std::to_chars(text, std::end(text), number).ptr);
}

// A value as the variable would have it; nullopt: of a kind that no variable has.
std::optional<std::string> textOf(const toml::node &node, const Row &row) {
  if (const auto *text = node.as_string())
    return text->get();
  if (const auto *number = node.as_integer())
    return std::to_string(number->get());
  if (const auto *number = node.as_floating_point())
    return shortest(number->get());
  if (const auto *truth = node.as_boolean())
    return truth->get() ? "1" : "0";
  const toml::array *list = node.as_array();
  const char separator = separatorOf(row);
  if (!list || !separator)
    return std::nullopt;
  std::string joined;
  for (const toml::node &element : *list) {
    if (element.is_array())
      return std::nullopt;
    std::optional<std::string> text = textOf(element, row);
    if (!text)
      return std::nullopt;
    joined += (joined.empty() ? "" : std::string(1, separator)) + *text;
  }
  return joined;
}

StringRef chosenPath() { return systemVariable(rowOf(Id::config).variable.data()).value_or(""); }

std::string defaultPath() {
  const StringRef folder = systemVariable("XDG_CONFIG_HOME").value_or("");
  if (folder.starts_with("/")) // XDG Base Directory Specification: a relative one is ignored
    return (folder + "/rubia/rubia.toml").str();
  const StringRef home = systemVariable("HOME").value_or("");
  return home.starts_with("/") ? (home + "/.config/rubia/rubia.toml").str() : "";
}

ConfigFile read() {
  if (getauxval(AT_SECURE))
    return {};
  ConfigFile nothing;
  nothing.path = chosenPath().empty() ? defaultPath() : chosenPath().str();
  if (nothing.path.empty())
    return nothing;
  auto file = input::readFile(nothing.path, kMaxBytes);
  if (file)
    return parseConfig((*file)->getBuffer(), nothing.path);
  handleAllErrors(file.takeError(), [&](const ErrorInfoBase &error) {
    const std::error_code code = error.convertToErrorCode();
    const bool isAbsent =
        code == std::errc::no_such_file_or_directory || code == std::errc::not_a_directory;
    if (!chosenPath().empty() || !isAbsent)
      nothing.problems.push_back(error.message() + "; no settings are read");
  });
  return nothing;
}
} // namespace

std::string configKey(const Row &row) {
  StringRef name = row.variable;
  return row.id != Id::config && name.consume_front(kPrefix) ? name.lower() : "";
}

ConfigFile parseConfig(StringRef text, StringRef path) {
  ConfigFile file;
  file.path = path.str();
  if (mostLevels(text) > kMostLevels) {
    file.problems.push_back((path + ": is nested too deep; no settings are read").str());
    return file;
  }
  const toml::parse_result parsed = toml::parse(std::string_view(text), path.str());
  if (!parsed) {
    const toml::parse_error &error = parsed.error();
    file.problems.push_back(formatv("{0}:{1}:{2}: {3}; no settings are read", path,
                                    error.source().begin.line, error.source().begin.column,
                                    StringRef(error.description()))
                                .str());
    return file;
  }
  file.isThere = true;
  for (const auto &[key, node] : parsed.table()) {
    const std::string place = formatv("{0}:{1}: ", path, key.source().begin.line).str();
    const StringRef name = key.str();
    const Row *row = rowOfKey(name);
    if (!row) {
      const std::string nearest = nearestKey(name);
      file.problems.push_back(
          place + "'" + name.str() + "' is no setting" +
          (nearest.empty() ? " (`rubia config` lists them)" : ", did you mean " + nearest + "?"));
      continue;
    }
    std::optional<std::string> value = textOf(node, *row);
    if (!value)
      file.problems.push_back(place + name.str() + " is of a wrong kind, expected " +
                              row->expected + "; it has no effect");
    else // whether it makes sense is said as of the environment's: Settings::check, problems
      file.values.emplace_back(row->id, std::move(*value));
  }
  return file;
}

const ConfigFile &configFile() {
  // Never freed: programs call us after their static destructors have run.
  static const auto &file = *new ConfigFile(read());
  return file;
}

} // namespace rubia::settings
