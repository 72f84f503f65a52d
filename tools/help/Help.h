// SPDX-License-Identifier: Apache-2.0
// What the program says of itself, made of the commands' own options: help, manual pages and
// completions. And what it makes of a command line before the commands see it.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
class ParseError;
} // namespace CLI

namespace rubia::tools {

/// Puts the examples of each command below its help. A command without any keeps its help.
void addExamples(CLI::App &app);

/// The commands below `app` that people may use, by name.
std::vector<const CLI::App *> commandsOf(const CLI::App &app);
/// The options that people may use: those with dashes, without --help.
std::vector<const CLI::Option *> optionsOf(const CLI::App &command);
/// "stats" below "cache" -> "rubia cache stats".
std::string fullName(const CLI::App &command);
/// The words that an option takes; empty: it takes none, or any value.
std::vector<std::string> wordsOf(const CLI::Option &option);

/// A page for man(1): of the program if `command` is the top, else of a command.
std::string manualPage(const CLI::App &command);
/// rubia-environment(7).
std::string environmentPage();

/// A completion script. `shell` is bash, zsh or fish; empty: any other one.
std::string completionFor(const CLI::App &app, llvm::StringRef shell);

/// The text of a topic of `rubia help`; empty: there is none of that name.
std::string topicText(llvm::StringRef name);
/// (name, what it is about), for people.
std::vector<std::pair<std::string, std::string>> topics();

/// The words of a command line, with "--" in front of the name of the program that a command is to
/// start. So its arguments are its own, whether or not the user has written "--".
std::vector<std::string> withProgramSeparated(const CLI::App &app, std::vector<std::string> words);

/// A command that there is none of, or an option that its command lacks, with the nearest name that
/// there is. Empty: the command line has neither.
std::string unknownCommand(const CLI::App &app, llvm::ArrayRef<std::string> words);
std::string unknownOption(const CLI::App &app);
/// What CLI11 found wrong, with the command that it is about.
std::string usageProblem(const CLI::App &app, llvm::StringRef problem);

/// "0.1.0 (commit 1234abcd, LLVM 22.1.8, HIP 5 to 7, ABI 8)".
std::string versionText();

} // namespace rubia::tools
