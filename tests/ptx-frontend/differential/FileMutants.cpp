// SPDX-License-Identifier: Apache-2.0
// A file is a list of lines, a line a list of tokens; every mutation is a change of one of them.

#include "FileMutants.h"
#include "fatbin/File.h"
#include "llvm/ADT/StringExtras.h"

using llvm::ArrayRef;
using llvm::StringRef;

namespace rubia::test {

llvm::Expected<std::vector<PtxFile>> readPtx(ArrayRef<std::string> paths, size_t maxBytes) {
  std::vector<PtxFile> files;
  for (StringRef path : paths) {
    llvm::Expected<fatbin::ImageFile> file = fatbin::readFile(path);
    if (!file)
      return file.takeError();
    for (const fatbin::FileImage &entry : file->images) {
      if (entry.image.kind != fatbin::ImageKind::Ptx || entry.image.uncompressedSize > maxBytes)
        continue;
      llvm::Expected<std::string> text = fatbin::payload(entry.image);
      if (!text)
        return text.takeError();
      if (StringRef(*text).contains("ret;")) // not only declarations
        files.push_back({file->place(entry), std::move(*text)});
    }
  }
  return files;
}

namespace {

enum class FileMutation : uint8_t {
  LoseLine,
  DoubleLine,
  SwapLines,
  ForeignLine,
  ForeignLines,
  LoseToken,
  DoubleToken,
  ExchangeToken, // for another one of the file
  RenameUse,     // one occurrence of a name becomes another name of the file
  RenameAll,     // all occurrences: two things have one name
  Undeclared,
  Version,
  Target,
};
constexpr unsigned kFileMutations = unsigned(FileMutation::Target) + 1;

StringRef nameOf(FileMutation mutation) {
  static constexpr StringRef kNames[kFileMutations] = {
      "lose line",  "double line",  "swap lines",     "foreign line", "foreign lines",
      "lose token", "double token", "exchange token", "rename use",   "rename all",
      "undeclared", "version",      "target"};
  return kNames[unsigned(mutation)];
}

using Lines = std::vector<std::string>;

Lines linesOf(StringRef text) {
  Lines lines;
  while (!text.empty()) {
    StringRef line;
    std::tie(line, text) = text.split('\n');
    StringRef trimmed = line.trim();
    if (!trimmed.empty() && !trimmed.starts_with("//"))
      lines.push_back(line.str());
  }
  return lines;
}

bool isWordCharacter(char c) {
  return llvm::isAlnum(c) || c == '_' || c == '$' || c == '%' || c == '.' || c == ':';
}

struct Token {
  size_t line, begin, size;
};

std::vector<Token> tokensOf(const Lines &lines) {
  std::vector<Token> tokens;
  for (size_t number = 0; number < lines.size(); ++number) {
    StringRef line = lines[number];
    line = line.take_front(line.find("//"));
    for (size_t i = 0; i < line.size();) {
      size_t begin = i++;
      if (llvm::isSpace(line[begin]))
        continue;
      while (isWordCharacter(line[begin]) && i < line.size() && isWordCharacter(line[i]))
        ++i;
      tokens.push_back({number, begin, i - begin});
    }
  }
  return tokens;
}

class Mutator {
public:
  Mutator(StringRef text, Random &random)
      : random(random), lines(linesOf(text)), tokens(tokensOf(lines)) {
    for (const Token &token : tokens)
      if (char c = textOf(token)[0]; llvm::isAlpha(c) || c == '%' || c == '$' || c == '_')
        names.push_back(token);
  }

  bool usable() const { return lines.size() > 6 && names.size() > 6; }

  void apply(FileMutation mutation, const Lines &other) {
    size_t line = random.below(lines.size());
    switch (mutation) {
    case FileMutation::LoseLine:
      lines.erase(lines.begin() + line);
      return;
    case FileMutation::DoubleLine:
      lines.insert(lines.begin() + line, std::string(lines[line]));
      return;
    case FileMutation::SwapLines:
      std::swap(lines[line], lines[random.below(lines.size())]);
      return;
    case FileMutation::ForeignLine:
      lines.insert(lines.begin() + line, random.pick(other));
      return;
    case FileMutation::ForeignLines: {
      size_t from = random.below(other.size()),
             count = std::min(1 + random.below(8), other.size() - from);
      lines.insert(lines.begin() + line, other.begin() + from, other.begin() + from + count);
      return;
    }
    case FileMutation::LoseToken:
      replace(random.pick(tokens), "");
      return;
    case FileMutation::DoubleToken: {
      Token token = random.pick(tokens);
      replace(token, textOf(token) + " " + textOf(token));
      return;
    }
    case FileMutation::ExchangeToken:
      replace(random.pick(tokens), textOf(random.pick(tokens)));
      return;
    case FileMutation::RenameUse:
      replace(random.pick(names), textOf(random.pick(names)));
      return;
    case FileMutation::RenameAll: {
      std::string from = textOf(random.pick(names)), to = textOf(random.pick(names));
      for (size_t i = names.size(); i--;) // from behind, so that places stay right
        if (textOf(names[i]) == from)
          replace(names[i], to);
      return;
    }
    case FileMutation::Undeclared:
      replace(random.pick(names), "undeclared");
      return;
    case FileMutation::Version:
      replaceDirective(".version ",
                       random.oneOf({"1.4", "2.3", "3.2", "5.0", "6.3", "8.0", "9.0"}));
      return;
    case FileMutation::Target:
      replaceDirective(".target ", random.oneOf({"sm_20", "sm_35", "sm_53", "sm_70", "sm_75",
                                                 "sm_90a", "sm_120"}));
      return;
    }
  }

  std::string text() const { return llvm::join(lines, "\n") + "\n"; }

private:
  Random &random;
  Lines lines;
  std::vector<Token> tokens, names;

  std::string textOf(const Token &token) const {
    return lines[token.line].substr(token.begin, token.size);
  }
  void replace(Token token, const std::string &text) {
    lines[token.line].replace(token.begin, token.size, text);
  }
  void replaceDirective(StringRef directive, StringRef value) {
    for (std::string &line : lines)
      if (StringRef(line).starts_with(directive)) {
        line = (directive + value).str();
        return;
      }
  }
};

} // namespace

std::vector<Case> makeFileCases(ArrayRef<PtxFile> files, unsigned mutants, uint64_t seed) {
  std::vector<Case> cases;
  for (const PtxFile &file : files)
    cases.push_back({file.text, "real file"});
  Random random(seed);
  for (unsigned i = 0; i < mutants && !files.empty(); ++i) {
    const PtxFile &file = files[random.below(files.size())];
    Lines other = linesOf(files[random.below(files.size())].text);
    Mutator mutator(file.text, random);
    auto mutation = FileMutation(i % kFileMutations);
    if (!mutator.usable() || other.empty())
      continue;
    mutator.apply(mutation, other);
    cases.push_back({mutator.text(), nameOf(mutation).str()});
  }
  return cases;
}

llvm::Error judgeFiles(Ptxas &ptxas, std::vector<Case> &cases) {
  for (Case &c : cases) {
    c.ours = ourVerdict(c.text);
    llvm::Expected<Verdict> theirs = ptxas.judgeFile(c.text);
    if (!theirs)
      return theirs.takeError();
    c.theirs = *theirs;
  }
  return llvm::Error::success();
}

} // namespace rubia::test
