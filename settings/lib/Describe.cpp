// SPDX-License-Identifier: Apache-2.0
// The table for people: a page of documentation, and a help text.
#include "settings/Settings.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace rubia::settings {

// `docs/cache.md` -> [cache.md](cache.md), which is beside the page.
static std::string linked(StringRef text) {
  constexpr StringLiteral kBegin = "`docs/", kEnd = ".md`";
  auto [before, rest] = text.split(kBegin);
  auto [page, after] = rest.split(kEnd);
  if (before.size() == text.size())
    return text.str();
  return (before + "[" + page + ".md](" + page + ".md)").str() + linked(after);
}

// "atomics=fast|safe"
static std::string keyLine(const Row &row) {
  std::string text = row.key.str() + "=";
  for (size_t i = 0, count = countWords(row.words); i < count; ++i)
    text += (i ? "|" : "") + std::string(name(wordAt(row.words, i)));
  return text;
}

std::string environmentAsMarkdown() {
  std::string text =
      R"(# Environment variables

This page is generated from `settings/Settings.def`: `rubia help environment --markdown > docs/environment.md`.
A test compares the two. `rubia help environment` prints the table.

- An invalid value is reported on stderr with what was expected, and has no effect. Where going on would mislead, it
  is an error.
- An empty value is as if the variable were not set.
- A variable that begins with `RUBIA_` and is not in this table is reported with the nearest name.
- `RUBIA_TEST_...` belongs to Rubia's own tests.

A variable that begins with `RUBIA_` may also stand in a file, in TOML. `cache_max_size = "8G"` there is as
`RUBIA_CACHE_MAX_SIZE=8G`. Options go before the environment, the environment goes before the file. The file is
the first of these:

1. what `RUBIA_CONFIG` names;
2. `XDG_CONFIG_HOME/rubia/rubia.toml`;
3. `~/.config/rubia/rubia.toml`.

`rubia config` shows each value and where it came from.

A program may have rights that its caller lacks: set-user-ID, set-group-ID, file capabilities (the kernel's AT_SECURE).
It takes nothing from the environment, and reads no such file. It runs with the defaults, without a cache directory,
and its compile worker gets an empty environment.

| variable | expected | default | meaning |
| --- | --- | --- | --- |
)";
  StringRef group;
  for (const Row &row : rows()) {
    if (row.group != group)
      text += ("| **" + (group = row.group) + "** | | | |\n").str();
    text += "| `" + row.variable.str() + "` | " + row.expected + " | " +
            (row.defaultText.empty() ? "" : "`" + row.defaultText.str() + "`") + " | " +
            linked(row.meaning) + " |\n";
  }
  text += R"(
## What changes code

Each of these is a line of the key under which a code object is cached ([cache.md](cache.md)). Each is also an option
of all commands that compile.

| variable | line of the key | option |
| --- | --- | --- |
)";
  for (const Row &row : rows())
    if (!row.key.empty())
      text +=
          "| `" + row.variable.str() + "` | `" + keyLine(row) + "` | `--" + row.key.str() + "` |\n";
  // A bar would end the cell.
  std::string escaped;
  bool isCode = false;
  StringRef rest = text;
  for (size_t i = 0; i < rest.size(); ++i) {
    isCode = rest[i] == '\n' ? false : rest[i] == '`' ? !isCode : isCode;
    escaped += rest[i] == '|' && isCode ? "\\|" : std::string(1, rest[i]);
  }
  return escaped;
}

// Lines of at most 100 characters, each after `indent` spaces.
static std::string wrapped(StringRef text, unsigned indent) {
  constexpr size_t kWidth = 100;
  std::string result, line;
  auto flush = [&] {
    if (!line.empty())
      result += std::string(indent, ' ') + line + "\n";
    line.clear();
  };
  for (; !text.empty(); text = text.split(' ').second) {
    const StringRef word = text.split(' ').first;
    if (indent + line.size() + 1 + word.size() > kWidth)
      flush();
    line += (line.empty() ? "" : " ") + word.str();
  }
  flush();
  return result;
}

static std::string withoutBackticks(StringRef text) {
  std::string plain = text.str();
  llvm::erase(plain, '`');
  return plain;
}

std::string environmentAsText() {
  std::string text = "Environment variables (docs/environment.md). An empty value is as if the "
                     "variable were not set.\n";
  StringRef group;
  for (const Row &row : rows()) {
    if (row.group != group)
      text += ("\n" + (group = row.group) + ":\n").str();
    text += "  " + row.variable.str() + ": " + row.expected +
            (row.defaultText.empty() ? "" : "; default " + row.defaultText.str()) +
            (row.key.empty() ? "" : "; option --" + row.key.str()) + "\n" +
            wrapped(withoutBackticks(row.meaning), 6);
  }
  return text;
}

} // namespace rubia::settings
